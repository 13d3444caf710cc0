//! The template for devices, built as its reader builds it: for three targets, with both parties
//! and with one, and run in QEMU. Its federation is what `sordino export` writes of the scenario
//! beside it; that its frames are accepted, and the same under another agreement refused, its own
//! server asserts with core's code for servers.
//!
//! For each other kind of agent the folder is copied, `sordino export` writes its
//! `src/federation.rs`, and what the device ends with is compared with what the example
//! `template_member` ends with here, over the servers of `sordino-host`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Report, cargo, root, target_folder};
use crate::{once, tools};

/// Ways to run it, and what it then prints when its parties come to their end.
const RUNS: [(&[&str], &[&str]); 4] = [
    (&[], &["reporter: 4", "agent: 9"]),
    (
        &["--no-default-features", "--features", "agent"],
        &["agent: 9"],
    ),
    (
        &["--no-default-features", "--features", "reporter"],
        &["reporter: 4"],
    ),
    (&["--example", "one_file"], &["one file: 9"]),
];

/// The template's federation: a scenario, and what is written of it.
const FEDERATION: [&str; 2] = [
    "templates/embassy-agent/federation.toml",
    "templates/embassy-agent/src/federation.rs",
];

/// The scenario of a member of a federated prior, and who its servers may be.
const MEMBER: (&str, [&str; 2]) = (
    "templates/embassy-agent/member.toml",
    ["one-server", "two-servers"],
);

/// A module that no agent is of, and what is said about it.
const NEITHER: (&str, &str) = (
    "pub type Number = f32;\n",
    "says neither of an agent that shares draws nor of a member",
);

/// Builds and runs `templates/embassy-agent`.
pub fn run(report: &mut Report) {
    report.step("template for devices: its federation", federation);
    report.step("template for devices", || {
        let folder = root().join("templates/embassy-agent");
        built(&folder)?;
        for (words, end) in RUNS {
            let mut command = in_folder(
                &folder,
                &["run", "--release", "--locked", "--target", tools::M4F],
            );
            let said = process::run(command.args(words))?;
            // All of it, and nothing of a party that was left out.
            if said.lines().count() != end.len()
                || end
                    .iter()
                    .any(|line| !said.lines().any(|found| found == *line))
            {
                return Err(format!(
                    "with {words:?} the template says {said:?}, not {end:?}"
                ));
            }
        }
        Ok(format!(
            "{} ways to run it on M4F come to their end, 3 targets",
            RUNS.len()
        ))
    });
    for trust in MEMBER.1 {
        report.step(&format!("template for devices: a member, {trust}"), || {
            member(trust)
        });
    }
    report.step("template for devices: a site of a campaign", site);
    report.step(
        "template for devices: a federation of no agent is refused",
        neither,
    );
}

/// Builds the template for its three targets, in a folder of its own.
pub fn build() -> Result<(), String> {
    let folder = root().join("templates/embassy-agent");
    for triple in [tools::M4F, tools::M0, tools::RISCV] {
        let words = ["build", "--release", "--locked", "--target", triple];
        process::run(&mut in_folder(&folder, &words))?;
    }
    Ok(())
}

/// A command of cargo in a copy of the template, or in the template itself.
fn in_folder(folder: &Path, words: &[&str]) -> Command {
    let mut command = cargo(words);
    command
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target_folder().join("template"));
    command
}

/// Builds it for the targets that are not run. What another folder of the same name left is thrown
/// away: cargo would take it for this one's.
fn built(folder: &Path) -> Result<(), String> {
    let mut clean = in_folder(folder, &["clean", "-q", "-p", "embassy-agent", "--release"]);
    process::run(clean.args([
        "--target",
        tools::M4F,
        "--target",
        tools::M0,
        "--target",
        tools::RISCV,
    ]))?;
    for triple in [tools::M0, tools::RISCV] {
        process::run(&mut in_folder(
            folder,
            &["build", "--release", "--locked", "--target", triple],
        ))?;
    }
    Ok(())
}

/// A copy of the template with another federation. It lies as deep below the root as the template,
/// so that paths to core hold.
fn copy(name: &str, module: &str) -> Result<PathBuf, String> {
    let from = root().join("templates/embassy-agent");
    let to = root().join("target").join(name);
    let removed = match to.exists() {
        true => fs::remove_dir_all(&to),
        false => Ok(()),
    };
    removed
        .and_then(|()| copy_folder(&from, &to))
        .and_then(|()| fs::write(to.join("src/federation.rs"), module))
        .map_err(|error| format!("{}: {error}", to.display()))?;
    Ok(to)
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true if entry.file_name() == "target" => {}
            true => copy_folder(&entry.path(), &place)?,
            false => fs::copy(entry.path(), place).map(|_| ())?,
        }
    }
    Ok(())
}

/// A member of a federated prior ends on a device with what it ends with here.
fn member(trust: &str) -> Result<String, String> {
    let set = format!("privacy.trust=\"{trust}\"");
    let module = exported(MEMBER.0, &["--set", &set])?;
    let folder = copy(&format!("template-{trust}"), &module)?;
    let path = folder.join("src/federation.rs").display().to_string();
    let mut example = Command::new(once::example("template_member")?);
    let here = process::run(example.arg(&path).current_dir(root()))?;
    ends_as(&folder, &here)
}

/// A device says what a host said.
fn ends_as(folder: &Path, here: &str) -> Result<String, String> {
    built(folder)?;
    let words = [
        "run",
        "--release",
        "--locked",
        "--target",
        tools::M4F,
        "--no-default-features",
        "--features",
        "agent",
    ];
    let there = process::run(&mut in_folder(folder, &words))?;
    if here.lines().count() != 2 || here != there {
        return Err(format!("the device says {there:?}, and a host {here:?}"));
    }
    Ok(format!(
        "{} on M4F and here, 3 targets",
        here.lines().next().unwrap_or_default()
    ))
}

/// A site of a campaign ends on a device with what hosts' functions end with here; its module is
/// the one that `sordino terms` writes.
fn site() -> Result<String, String> {
    let example = once::example("template_site")?;
    let module = process::run(Command::new(&example).arg("module"))?;
    let here = process::run(&mut Command::new(&example))?;
    ends_as(&copy("template-site", &module)?, &here)
}

/// A wrong module ends in a sentence, not in a device of the wrong kind.
fn neither() -> Result<String, String> {
    let folder = copy("template-neither", NEITHER.0)?;
    let output = in_folder(
        &folder,
        &["check", "--release", "--locked", "--target", tools::M4F],
    )
    .output();
    let output = output.map_err(|error| format!("cargo: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() || !said.contains(NEITHER.1) {
        return Err(format!("it is not refused with {:?}: {said}", NEITHER.1));
    }
    Ok("with a sentence, before anything is compiled".to_owned())
}

/// What `sordino export` writes of a scenario in Rust. The program is called as the template's
/// README says, but for its words about the federation's number and deadline.
fn exported(scenario: &str, more: &[&str]) -> Result<String, String> {
    let mut sordino = Command::new(once::program("sordino")?);
    sordino.args(["export", scenario, "--lang", "rust"]);
    process::run(sordino.args(more).current_dir(root()))
}

/// Whether the module that is checked in is the one that is written.
fn federation() -> Result<String, String> {
    let [scenario, module] = FEDERATION;
    let written = exported(scenario, &[])?;
    let kept =
        fs::read_to_string(root().join(module)).map_err(|error| format!("{module}: {error}"))?;
    if written != kept {
        return Err(format!(
            "{module} is another: `cargo run --release -- export {scenario} --lang rust > {module}`"
        ));
    }
    Ok(format!(
        "{} lines as `sordino export` writes them",
        kept.lines().count()
    ))
}
