//! Candidates by a design of points: keys that several kinds of objectives share.

use sordino_core::domain::DIM_MAX;

use super::keys::keys;
use super::reader::{Problem, Section};
use super::rule::{Ruled, names, one_of, whole};
use crate::benchmark::Design;

names!(Design: "sobol" "latin-hypercube" "grid" "list");

/// The most candidates: every agent weighs all of them in every query.
const CANDIDATES_MAX: u64 = 20_000;

keys! {
    /// The list of candidates, public and the same for all agents.
    #[derive(Copy)]
    pub struct DesignConfig(dim: usize) {
        /// How candidates are placed: points of a sequence, of a hypercube, of a regular grid; or the rows of `--data FILE.csv`.
        design: Design [is Design::Sobol]
            in Design::RULE => if corners(dim) <= CANDIDATES_MAX { Design::RULE } else { one_of(&["sobol", "latin-hypercube", "list"]) };
        /// How many; of a grid the most, which it does not exceed; of a list no key.
        candidates: u32 [is 1000] in whole(2, CANDIDATES_MAX)
            => whole(if design == Design::Grid { corners(dim) } else { 2 }, CANDIDATES_MAX);
        /// Decides the sequence's shift and the hypercube's slices.
        design_seed: u64 [is 0];
    }
}

/// Points of the smallest grid.
fn corners(dim: usize) -> u64 {
    1 << dim.min(DIM_MAX)
}
