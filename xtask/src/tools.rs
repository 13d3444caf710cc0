//! What the embedded steps need beside cargo: targets, an emulator, an instruction counter, node.
//! Named when missing, never skipped in silence.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::process::{self, tools_folder};

/// The targets beside the host.
pub const M4F: &str = "thumbv7em-none-eabihf";
/// Cortex-M0 code: no floating-point unit, no division, no compare-and-swap.
pub const M0: &str = "thumbv6m-none-eabi";
/// A Cortex-M33 with floating-point unit.
pub const M33: &str = "thumbv8m.main-none-eabihf";
/// Cortex-M4 code whose functions take numbers in integer registers: what `-mfloat-abi=softfp`
/// links with.
pub const M4_SOFT: &str = "thumbv7em-none-eabi";
/// RISC-V with multiplication, atomics and compressed instructions.
pub const RISCV: &str = "riscv32imac-unknown-none-elf";
/// WebAssembly without a system.
pub const WASM: &str = "wasm32-unknown-unknown";

/// Held while a program is looked for and built: two that did it at a time would build it twice.
static BUILDING: Mutex<()> = Mutex::new(());

const TARGETS: [&str; 6] = [M4F, M0, M33, M4_SOFT, RISCV, WASM];

/// Adds the targets that are missing.
pub fn targets() -> Result<String, String> {
    for target in TARGETS {
        if !installed(target) {
            process::run(Command::new("rustup").args(["target", "add", target])).map_err(|error| {
                format!("target {target} is missing; get it with `rustup target add {target}` ({error})")
            })?;
        }
    }
    Ok(TARGETS.join(", "))
}

fn installed(target: &str) -> bool {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output();
    output.is_ok_and(|out| {
        out.status.success() && Path::new(String::from_utf8_lossy(&out.stdout).trim()).is_dir()
    })
}

/// Finds the broker of the tests, or installs it. It lies where only root looks, and has no
/// `--version`.
pub fn broker() -> Result<String, String> {
    found_or_installed("mosquitto", "mosquitto", || {
        ["/usr/sbin/mosquitto", "mosquitto"]
            .iter()
            .find_map(|name| first_line(name, "-h"))
    })
}

/// Finds what signs certificates in a test, or installs it. It has no `--version` either.
pub fn openssl() -> Result<String, String> {
    found_or_installed("openssl", "openssl", || first_line("openssl", "version"))
}

/// The first line of what a program says to this word, whatever its exit code.
fn first_line(name: &str, word: &str) -> Option<String> {
    let output = Command::new(name)
        .arg(word)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .next()
        .map(str::to_owned)
}
/// Runs apt-get, which asks nothing.
fn apt(arguments: &[&str]) -> Result<String, String> {
    process::run(
        Command::new("apt-get")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(arguments),
    )
}

fn install(package: &str) -> Result<(), String> {
    apt(&["update"])?;
    apt(&["install", "--yes", "--no-install-recommends", package]).map(|_| ())
}

/// Finds a program, or installs its Debian package where that is possible, and returns its version
/// line.
pub fn program(name: &str, package: &str) -> Result<String, String> {
    found_or_installed(name, package, || version(name))
}

fn found_or_installed(
    name: &str,
    package: &str,
    said: impl Fn() -> Option<String>,
) -> Result<String, String> {
    if said().is_none() && may_install() {
        install(package)?;
    }
    said().ok_or_else(|| {
        format!("{name} is missing; on Debian or Ubuntu get it with `sudo apt-get install {package}`, on macOS with `brew install {}`", brew(package))
    })
}

/// Installs packages from PyPI into an environment under `target/tools`, once, and gives the folder
/// of their programs.
pub fn python(packages: &[&str]) -> Result<PathBuf, String> {
    let folder = tools_folder().join("python");
    let programs = folder.join("bin");
    if !programs.join("pip").is_file() {
        process::run(Command::new("python3").args(["-m", "venv"]).arg(&folder)).map_err(|error| {
            format!("python3 with venv is missing; on Debian or Ubuntu `sudo apt-get install python3-venv` ({error})")
        })?;
    }
    let mut command = Command::new(programs.join("pip"));
    command
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .args(packages);
    process::run(&mut command)?;
    Ok(programs)
}

/// How a tool is built that runs for seconds: unoptimised, three of them take 240 seconds of a
/// processor to build.
const UNOPTIMISED: [&str; 2] = ["--locked", "--debug"];

/// A program of the same name as its crate: the one that is installed, or one built into
/// `target/tools`, once.
pub fn installed_by_cargo(name: &str, options: &[&str]) -> Result<PathBuf, String> {
    if version(name).is_some() {
        return Ok(PathBuf::from(name));
    }
    let _alone = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tools_folder();
    let program = folder.join("bin").join(name);
    if !program.is_file() {
        let mut command = process::cargo(&["install", name, "--quiet", "--root"]);
        process::run(command.arg(&folder).args(UNOPTIMISED).args(options))?;
    }
    Ok(program)
}

/// Whether a program says that it is of exactly this version.
fn is_of(program: &Path, exact: &str) -> bool {
    let said = version(&program.to_string_lossy()).unwrap_or_default();
    said.split_whitespace().next_back() == Some(exact)
}

/// A program of the same name as its crate, of exactly this version, built into `target/tools`
/// once: what it writes is compared byte for byte.
pub fn pinned(name: &str, exact: &str) -> Result<PathBuf, String> {
    let _alone = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tools_folder();
    let program = folder.join("bin").join(name);
    if !is_of(&program, exact) {
        let pin = format!("={exact}");
        let words = [
            "install",
            name,
            "--quiet",
            "--force",
            "--version",
            &pin,
            "--root",
        ];
        process::run(process::cargo(&words).arg(&folder).args(UNOPTIMISED))?;
    }
    if is_of(&program, exact) {
        Ok(program)
    } else {
        Err(format!("{} is not version {exact}", program.display()))
    }
}

/// Finds the two fonts that figures are drawn and measured with, or installs them where that is
/// possible.
pub fn fonts() -> Result<String, String> {
    const FONTS: [(&str, &str); 2] = [
        (
            "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
            "fonts-dejavu-core",
        ),
        (
            "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
            "fonts-liberation",
        ),
    ];
    let missing = || {
        FONTS
            .iter()
            .filter(|(file, _)| !Path::new(file).exists())
            .map(|(_, package)| *package)
    };
    if missing().next().is_some() && may_install() {
        let mut install = Command::new("apt-get");
        install.env("DEBIAN_FRONTEND", "noninteractive").args([
            "install",
            "--yes",
            "--no-install-recommends",
        ]);
        process::run(install.args(missing()))?;
    }
    // Where they lie elsewhere, as on macOS, the tests that draw say whether they were found.
    let left: Vec<&str> = missing().collect();
    Ok(if left.is_empty() {
        "DejaVu Sans, Liberation Sans".to_owned()
    } else {
        format!("without {}", left.join(", "))
    })
}

fn brew(package: &str) -> &str {
    match package {
        "qemu-system-arm" => "qemu",
        "nodejs" => "node",
        other => other,
    }
}

fn version(name: &str) -> Option<String> {
    let output = Command::new(name)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output
        .status
        .success()
        .then(|| format!("{name} {}", text.lines().next().unwrap_or_default().trim()))
}

/// Debian or a descendant, and allowed to install.
fn may_install() -> bool {
    let root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|out| out.stdout.trim_ascii() == b"0");
    root && Path::new("/etc/debian_version").exists()
}
