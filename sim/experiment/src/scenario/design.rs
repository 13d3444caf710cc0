//! Candidates placed by a design of points: keys that several kinds of objectives share.

use sordino_core::domain::DIM_MAX;

use super::keys::keys;
use super::reader::{Problem, Section};
use super::rule::{Ruled, names, one_of, whole};
use crate::benchmark::Design;

names!(Design: "sobol" "latin-hypercube" "grid" "list");

/// The most candidates allowed: every agent evaluates all of them in every query.
const CANDIDATES_MAX: u64 = 20_000;

keys! {
    /// The list of candidates, public and the same for all agents.
    pub struct DesignConfig(dim: usize) {
        /// How candidates are placed: by a Sobol' sequence, a Latin hypercube or a regular grid; or
        /// the rows of `--data FILE.csv`.
        design: Design [is Design::Sobol]
            in Design::RULE => if corners(dim) <= CANDIDATES_MAX { Design::RULE } else { one_of(&["sobol", "latin-hypercube", "list"]) };
        /// Number of candidates; for a grid an upper limit; not for a list, which has its own
        /// length.
        candidates: u32 [is 1000] in whole(2, CANDIDATES_MAX)
            => whole(if design == Design::Grid { corners(dim) } else { 2 }, CANDIDATES_MAX);
        /// Seed of the sequence's shift and of the hypercube's slices.
        design_seed: u64 [is 0];
        /// SHA-256 of the list of candidates, filled in from `--data`: a run folder says which list
        /// it was made from.
        list_digest: Option<String> [none "the 64 hexadecimal digits"];
    }
}

impl DesignConfig {
    /// Checks what no single key can know.
    pub(super) fn check(&self) -> Result<(), Problem> {
        match &self.list_digest {
            Some(digest) if self.design != Design::List => Err(Problem::value(
                "objective.list_digest",
                digest,
                "no value unless `objective.design` is \"list\"",
            )),
            Some(digest) => hexadecimal("objective.list_digest", digest),
            None => Ok(()),
        }
    }
}

/// Refuses a text that is not a SHA-256.
pub(super) fn hexadecimal(key: &str, text: &str) -> Result<(), Problem> {
    let digits = text
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase());
    if text.len() == 64 && digits {
        Ok(())
    } else {
        Err(Problem::value(
            key,
            text,
            "64 hexadecimal digits, small letters",
        ))
    }
}

/// Number of points of the smallest grid.
fn corners(dim: usize) -> u64 {
    1 << dim.min(DIM_MAX)
}
