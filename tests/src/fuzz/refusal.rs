//! How a target says that it reads nothing, and where it writes what it reads.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Why an input gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It was refused, in these words.
    Line(String),
    /// It was read, and what must hold of the result does not.
    Broken(String),
}

/// What must hold of a result does not.
pub(super) fn broken(what: &str) -> Result<(), Refusal> {
    Err(Refusal::Broken(what.into()))
}

/// The words of an error.
pub(super) fn line(error: impl std::fmt::Display) -> Refusal {
    Refusal::Line(error.to_string())
}

pub(super) fn place(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER
        .get_or_init(|| std::env::temp_dir().join(format!("sordino-fuzz-{}", std::process::id())));
    // Targets run side by side in the tests.
    let thread = format!("{:?}", std::thread::current().id());
    let own = folder.join(thread.replace(['(', ')'], "-"));
    std::fs::create_dir_all(&own).expect("a temporary folder");
    own.join(name)
}

pub(super) fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("a temporary file");
}
