//! Everything that is read from outside, read after random edits: an answer or one line of refusal,
//! never a panic.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mutate`] | seeded edits that know a little of the format |
//! | `ledger` | edits under a chain that is mended, too |
//! | `prior` | edits under a digest that is mended, too |
//! | `refusal` | how a target says that it reads nothing |
//! | [`targets`] | what is read, what it is read from, what must hold |
//!
//! A target begins from seeds that the program makes itself and from the files of
//! `tests/corpus/TARGET/`: what once went wrong stays there. The tests do a few hundred to a few
//! thousand edits of every target; `cargo xtask fuzz` goes on for as long as it is asked to. Edits
//! are a function of (target, seed, number): a finding is repeated by its numbers, and written to a
//! file besides.

mod ledger;
pub mod mutate;
mod prior;
mod refusal;
pub mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use sordino_core::random::Stream;

pub use refusal::Refusal;
pub use targets::{TARGETS, Target};

/// What the edits of a target led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of edits tried.
    pub cases: u64,
    /// Read, and what must hold of the result held.
    pub read: u64,
    /// Refused in one line.
    pub refused: u64,
}

/// An input that broke a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the broken promise.
    pub what: String,
    /// Input that breaks it.
    pub input: Vec<u8>,
}

/// The committed files of a target, in the order of their names.
pub fn corpus(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target.name);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .collect();
    paths.sort();
    paths
        .into_iter()
        .filter_map(|path| std::fs::read(&path).ok().map(|bytes| (path, bytes)))
        .collect()
}

/// Reads one input. `Ok(true)` if it was read, `Ok(false)` if it was refused as it should be.
///
/// **Errors**: the promise that was broken.
pub fn check(target: &Target, input: &[u8]) -> Result<bool, Finding> {
    let what = match catch_unwind(AssertUnwindSafe(|| (target.check)(input))) {
        Ok(Ok(())) => return Ok(true),
        Ok(Err(Refusal::Line(message))) => {
            // One line that is not endless.
            if message.lines().count() == 1
                && message.chars().count() < 2000
                && !message.trim().is_empty()
            {
                return Ok(false);
            }
            format!("the refusal is not one short line: {message}")
        }
        Ok(Err(Refusal::Broken(what))) => what,
        Err(_) => "it panicked".into(),
    };
    Err(Finding {
        what,
        input: input.to_vec(),
    })
}

/// Reads the corpus, the seeds, then edits of both until `more` says no; `more` is asked with the
/// tally before each.
///
/// **Errors**: the first finding, with the number of its edit.
pub fn search(
    target: &Target,
    seed: u64,
    mut more: impl FnMut(&Tally) -> bool,
) -> Result<Tally, Finding> {
    let mut inputs = (target.seeds)();
    inputs.extend(corpus(target).into_iter().map(|(_, bytes)| bytes));
    let mut tally = Tally::default();
    for input in &inputs {
        check(target, input)?;
    }
    while more(&tally) {
        let mut stream = Stream::from_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ tally.cases);
        let input = mutate::mutate(&inputs, target.form, &mut stream);
        tally.cases += 1;
        match check(target, &input) {
            Ok(true) => tally.read += 1,
            Ok(false) => tally.refused += 1,
            Err(finding) => {
                let what = format!(
                    "{} (target {}, seed {seed}, edit {})",
                    finding.what,
                    target.name,
                    tally.cases - 1
                );
                return Err(Finding { what, ..finding });
            }
        }
    }
    Ok(tally)
}
