//! One build for tests, examples and programs of this machine. With the features of one package
//! alone, cargo compiles everything below it again, so whoever needs a program takes it from here.

use std::path::PathBuf;
use std::process::Command;

use crate::process::{self, cargo, target_folder};

/// Packages with tests that run here, and what they are tested with. `xtask` is not among them,
/// which runs while they are built, and the page and the Python module have steps of their own.
const SELECTION: [&str; 30] = [
    "--features",
    "sordino-net/mqtt",
    "-p",
    "sordino-core",
    "-p",
    "sordino-c",
    "-p",
    "sordino-host",
    "-p",
    "sordino-experiment",
    "-p",
    "sordino-report",
    "-p",
    "sordino-engine",
    "-p",
    "sordino-lab",
    "-p",
    "sordino-papers",
    "-p",
    "sordino-sim",
    "-p",
    "sordino-net",
    "-p",
    "sordino-cluster",
    "-p",
    "sordino-figures",
    "-p",
    "sordino-tests",
    "-p",
    "firmware-example",
];

/// A verb of cargo, and of what of these packages.
pub fn of_all(words: &[&str]) -> Command {
    cargo(&[words, &SELECTION].concat())
}

/// Builds all programs and examples, which costs nothing after the tests. Examples among what is
/// asked for make cargo count the features of `dev-dependencies`, as it does for tests.
///
/// **Errors**: what does not compile.
pub fn build() -> Result<(), String> {
    process::run(&mut of_all(&["build", "--quiet", "--bins", "--examples"])).map(|_| ())
}

/// A program of these packages, built.
///
/// **Errors**: as [`build`].
pub fn program(name: &str) -> Result<PathBuf, String> {
    build()?;
    Ok(target_folder()
        .join("debug")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// An example of these packages, built.
///
/// **Errors**: as [`build`].
pub fn example(name: &str) -> Result<PathBuf, String> {
    program(&format!("examples/{name}"))
}
