//! The parts of an execution that many processes share: which process does which job.
//!
//! **The cut**: jobs are counted in the order of sweep points, then of runs, then of methods, and
//! dealt like cards to the n parts; each deal begins one part later than the one before, so that a
//! method is not always dealt to the same part: job j goes to part (j + ⌊j/n⌋) mod n + 1. The
//! numbers of jobs of two parts differ by at most one.

use std::fmt;
use std::str::FromStr;

/// The most parts of an execution.
const PARTS_MAX: u32 = 100_000;

/// Part i of n, written `i/n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    number: u32,
    of: u32,
}

/// A part that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no part; admissible: I/N with whole numbers 1 ≤ I ≤ N ≤ {PARTS_MAX}, as in 2/3")]
pub struct NoPart(String);

impl Part {
    /// Part `number`, from 1 on, of `of` parts.
    ///
    /// **Errors**: `NoPart` unless 1 ≤ `number` ≤ `of` ≤ `PARTS_MAX`.
    pub fn new(number: u32, of: u32) -> Result<Self, NoPart> {
        let admissible = 1 <= number && number <= of && of <= PARTS_MAX;
        if admissible {
            Ok(Part { number, of })
        } else {
            Err(NoPart(format!("{number}/{of}")))
        }
    }

    /// Number i of the part, from 1 on.
    pub const fn number(self) -> u32 {
        self.number
    }

    /// n, the number of all parts.
    pub const fn of(self) -> u32 {
        self.of
    }

    /// True if job `job`, counted from 0 over the whole execution, belongs to this part.
    pub const fn takes(self, job: u64) -> bool {
        let of = self.of as u64;
        (job + job / of) % of + 1 == self.number as u64
    }
}

impl FromStr for Part {
    type Err = NoPart;

    fn from_str(text: &str) -> Result<Self, NoPart> {
        let numbers = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.trim().parse().ok()?, of.trim().parse().ok()?)));
        match numbers {
            Some((number, of)) => Part::new(number, of),
            None => Err(NoPart(sordino_experiment::text::Quoted(text).to_string())),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// A part's jobs in one scenario, which may be one of many of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The part whose jobs are meant.
    pub part: Part,
    /// The number of the scenario's first job in the whole execution.
    pub first: u64,
}

impl Share {
    /// True if job `job` of the scenario, counted from 0, belongs to the part.
    pub const fn takes(self, job: u64) -> bool {
        self.part.takes(self.first + job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_belongs_to_one_part_and_parts_are_even() {
        for of in 1..=9 {
            for jobs in [1u64, 8, 40, 97] {
                let parts: Vec<Part> = (1..=of)
                    .map(|number| Part::new(number, of).unwrap())
                    .collect();
                let counts: Vec<usize> = parts
                    .iter()
                    .map(|part| (0..jobs).filter(|job| part.takes(*job)).count())
                    .collect();
                assert!(
                    (0..jobs).all(|job| parts.iter().filter(|part| part.takes(job)).count() == 1)
                );
                assert!(
                    counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1,
                    "{of} {jobs}: {counts:?}"
                );
            }
        }
        // As many parts as methods: each part has each method in turn. Dealt without the shift it
        // would have one.
        let part = Part::new(2, 4).unwrap();
        let methods: Vec<u64> = (0..16)
            .filter(|job| part.takes(*job))
            .map(|job| job % 4)
            .collect();
        assert_eq!(methods, [1, 0, 3, 2]);
        let share = Share { part, first: 4 };
        assert!((0..12).all(|job| share.takes(job) == part.takes(job + 4)));
    }

    #[test]
    fn a_part_is_read_as_it_is_written_and_nothing_else() {
        assert_eq!("2/3".parse::<Part>().unwrap().to_string(), "2/3");
        for text in [
            "0/3",
            "4/3",
            "1/0",
            "3",
            "1/3/3",
            "a/3",
            "-1/3",
            "1/100001",
            "",
            "1/99999999999",
        ] {
            let said = text.parse::<Part>().unwrap_err().to_string();
            assert!(said.contains("admissible: I/N"), "{text}: {said}");
        }
    }
}
