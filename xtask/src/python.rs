//! The Python module as its users get it: a wheel, installed into a virtual environment, asked by
//! pytest and compared with the command line.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Report, cargo, root, target_folder};
use crate::{once, tools};

/// What the step takes from PyPI.
const PACKAGES: [&str; 5] = [
    "maturin>=1.9,<2",
    "pytest>=8",
    "numpy>=1.22",
    "pandas>=1.4",
    "safetensors>=0.4",
];

/// Where the crate is: a workspace of its own, with a lock of its own.
const MANIFEST: [&str; 2] = ["--manifest-path", "python/Cargo.toml"];

/// A command of cargo in the workspace of the crate.
fn of_module(words: &[&str]) -> Command {
    cargo(&[&words[..1], &MANIFEST, &words[1..]].concat())
}

/// Formatting, lints and documentation of the crate, as the repository's are checked.
fn habits() -> Result<String, String> {
    let folder = target_folder();
    process::run(&mut of_module(&["fmt", "--check"]))?;
    let lints = [
        "clippy",
        "--locked",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    process::run(of_module(&lints).env("CARGO_TARGET_DIR", &folder))?;
    let pages = ["doc", "--locked", "--no-deps"];
    process::run(
        of_module(&pages)
            .env("CARGO_TARGET_DIR", &folder)
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    Ok(String::new())
}

/// Checks the crate; builds, installs and tests the wheel.
pub fn run(report: &mut Report) {
    report.step("Python module: formatting, lints, documentation", habits);
    report.step("Python module", || {
        let environment = environment()?;
        let program = |name: &str| Command::new(environment.join("bin").join(name));
        let sordino = once::program("sordino")?;
        let wheels = target_folder().join("wheels");
        // Wheels of other versions would be installed as well.
        let _ = std::fs::remove_dir_all(&wheels);
        let mut maturin = program("maturin");
        // The profile of the tests: what they built is built.
        maturin.args([
            "build",
            "--quiet",
            "--manifest-path",
            "python/Cargo.toml",
            "--profile",
            "dev",
            "--out",
        ]);
        process::run(
            maturin
                .arg(&wheels)
                .current_dir(root())
                .env("CARGO_TARGET_DIR", target_folder()),
        )?;
        let wheel = wheel(&wheels)?;
        let install = [
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--force-reinstall",
        ];
        process::run(program("pip").args(install).arg(&wheel))?;
        let mut pytest = program("python");
        pytest
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
            .current_dir(root().join("python/tests"));
        let said = process::run(pytest.env("SORDINO", sordino))?;
        let last = said
            .lines()
            .rfind(|line| line.contains("passed"))
            .unwrap_or("no tests");
        Ok(format!(
            "{}, {}",
            last.trim_matches(['=', ' ']),
            wheel.file_name().unwrap_or_default().to_string_lossy()
        ))
    });
}

/// The virtual environment with what the step needs, made if it is not there.
fn environment() -> Result<PathBuf, String> {
    tools::program("python3", "python3-venv")?;
    let folder = target_folder().join("python");
    if !folder.join("bin/pip").is_file() {
        process::run(Command::new("python3").args(["-m", "venv"]).arg(&folder)).map_err(|error| {
            format!(
                "no virtual environment; on Debian or Ubuntu get it with `sudo apt-get install python3-venv` ({error})"
            )
        })?;
    }
    let mut pip = Command::new(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"])
        .args(PACKAGES);
    process::run(&mut pip)
        .map_err(|error| format!("{} from PyPI: {error}", PACKAGES.join(", ")))?;
    Ok(folder)
}

/// The one wheel in a folder.
fn wheel(folder: &Path) -> Result<PathBuf, String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut wheels = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "whl"));
    wheels
        .next()
        .ok_or_else(|| format!("{}: no wheel", folder.display()))
}
