//! An experiment that judges itself.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use serde::Serialize;
use sordino_experiment::metrics::Paired;
use sordino_experiment::text::significant;

/// A bound as printed: as it was written, or with four digits if it was computed. The comparison
/// uses all digits.
fn bound_text(bound: f64) -> String {
    let text = bound.to_string();
    if text.len() > 6 {
        significant(bound, 4)
    } else {
        text
    }
}

/// One statement and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Band {
    /// What is measured.
    pub name: String,
    /// Where the value must lie, in words or as an interval.
    pub expected: String,
    /// The value that came out.
    pub measured: f64,
    /// Whether the value lies there. A NaN lies nowhere.
    pub holds: bool,
}

impl Band {
    /// `measured` must lie in [low, high].
    pub fn within(name: impl Into<String>, measured: f64, low: f64, high: f64) -> Self {
        let expected = format!("in [{}, {}]", bound_text(low), bound_text(high));
        Band {
            name: name.into(),
            expected,
            measured,
            holds: (low..=high).contains(&measured),
        }
    }

    /// `measured` must be what a paper prints with two decimals.
    pub fn printed(name: impl Into<String>, measured: f64, printed: f64) -> Self {
        let expected = format!("{printed:.2}");
        Band {
            name: name.into(),
            holds: format!("{measured:.2}") == expected,
            expected,
            measured,
        }
    }

    /// `measured` must be smaller than `bound`.
    pub fn below(name: impl Into<String>, measured: f64, bound: f64) -> Self {
        Band {
            name: name.into(),
            expected: format!("< {}", bound_text(bound)),
            measured,
            holds: measured < bound,
        }
    }

    /// The first of two methods must be smaller, run by run: what is measured is the upper end of
    /// the 95 % interval of the paired differences, which must be below 0. A single pair has no
    /// interval and shows no order.
    pub fn order(name: impl Into<String>, difference: &Paired) -> Self {
        Band::below(
            name,
            difference.mean + difference.half_width.unwrap_or(f64::INFINITY),
            0.0,
        )
    }

    /// `measured` must be larger than `bound`.
    pub fn above(name: impl Into<String>, measured: f64, bound: f64) -> Self {
        Band {
            name: name.into(),
            expected: format!("> {}", bound_text(bound)),
            measured,
            holds: measured > bound,
        }
    }
}

/// How an experiment is executed. Nothing but `runs` changes a number.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Runs (functions); `None` is the experiment's own number.
    pub runs: Option<u32>,
    /// Threads for arithmetic; `None` is all cores.
    pub threads: Option<NonZeroUsize>,
    /// Where data files lie, for experiments that read some.
    pub data: Option<PathBuf>,
}

/// What an experiment found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Name in the catalogue.
    pub experiment: &'static str,
    /// Number of runs.
    pub runs: u32,
    /// The number of runs for which the bands are.
    pub runs_of_bands: u32,
    /// The statements, in order.
    pub bands: Vec<Band>,
    /// Remarks that a reader must know as well; printed as text, one paragraph each.
    pub remarks: Vec<String>,
    /// Pictures and tables: (name, text).
    #[serde(skip)]
    pub files: Vec<(String, String)>,
}

impl Report {
    /// Whether there were fewer runs than the bands are for, so that some may fail by chance.
    pub fn has_few_runs(&self) -> bool {
        self.runs < self.runs_of_bands
    }

    /// Number of bands that do not hold.
    pub fn failed(&self) -> usize {
        self.bands.iter().filter(|band| !band.holds).count()
    }
}

/// Why an experiment could not be carried out, in one line.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ReproduceError(Box<dyn std::error::Error + Send + Sync>);

impl ReproduceError {
    /// From any error.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        ReproduceError(error.into())
    }
}

/// An entry of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Paper and part, as in `ldp/student-t`.
    pub name: &'static str,
    /// One line for people: what the experiment shows, how long it takes.
    pub description: &'static str,
    /// The default number of runs.
    pub runs: u32,
    /// Whether it reads the data that `--data` names.
    pub reads_data: bool,
    /// Carries out the measurement; the second argument is the number of runs.
    pub measure: fn(&Options, u32) -> Result<Outcome, ReproduceError>,
}

/// Bands and remarks, before they have a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The statements, in order.
    pub bands: Vec<Band>,
    /// Remarks that a reader must know as well.
    pub remarks: Vec<String>,
    /// Pictures and tables, written into the folder that `--out` names: (name, text).
    pub files: Vec<(String, String)>,
}

impl Experiment {
    /// Checks that these options fit the experiment.
    ///
    /// **Errors**: data that the experiment does not read.
    pub fn check(&self, options: &Options) -> Result<(), ReproduceError> {
        match options.data.as_ref().filter(|_| !self.reads_data) {
            Some(path) => {
                let path = path.display();
                let name = self.name;
                Err(ReproduceError::new(format!(
                    "--data {path}: `{name}` reads no data; omit --data"
                )))
            }
            None => Ok(()),
        }
    }

    /// Carries out the experiment.
    ///
    /// **Errors**: data that are missing, malformed, or not read; too few runs for the experiment.
    pub fn execute(&self, options: &Options) -> Result<Report, ReproduceError> {
        self.check(options)?;
        let runs = options.runs.unwrap_or(self.runs);
        let Outcome {
            bands,
            remarks,
            files,
        } = (self.measure)(options, runs)?;
        Ok(Report {
            experiment: self.name,
            runs,
            runs_of_bands: self.runs,
            bands,
            remarks,
            files,
        })
    }
}

#[cfg(test)]
mod tests {
    use sordino_core::random::{Stream, normal};

    use super::*;

    /// The mean alone said that the first is smaller; the interval beside it said that nobody
    /// knows.
    #[test]
    fn an_order_holds_only_if_the_paired_interval_says_so() {
        let of = |differences: &[f64]| {
            Band::order("x", &Paired::of(differences, &vec![0.0; differences.len()]))
        };
        assert!(of(&[-1.0, -1.2, -0.8, -1.1, -0.9]).holds);
        assert!(!of(&[1.0, 1.2, 0.8, 1.1, 0.9]).holds, "negative control");
        let doubtful = [-3.0, 2.0, -2.5, 2.9, -1.0];
        assert!(doubtful.iter().sum::<f64>() < 0.0 && !of(&doubtful).holds);
        assert!(!of(&[-1.0]).holds && !of(&[-1.0]).measured.is_nan());
    }

    /// The ends of q and z were judged by "the ratio of the means is above .9", which four runs of
    /// noise meet nearly always; an order they meet in one case of forty.
    #[test]
    fn noise_meets_a_ratio_with_room_and_no_order() {
        let mut stream = Stream::from_seed(7);
        let mut sums = [0.0; 8];
        let [mut ratios, mut orders] = [0; 2];
        for _ in 0..400 {
            normal::fill(&mut stream, &mut sums);
            let regrets = sums.map(|noise: f64| 3.0 + 0.3 * noise);
            let (first, second) = regrets.split_at(4);
            let mean = |of: &[f64]| of.iter().sum::<f64>() / 4.0;
            ratios += u32::from(Band::above("x", mean(second) / mean(first), 0.9).holds);
            orders += u32::from(Band::order("x", &Paired::of(first, second)).holds);
        }
        // 400·.025 = 10, standard deviation 3.1.
        assert!(
            ratios > 340 && (1..=22).contains(&orders),
            "{ratios} {orders}"
        );
    }

    #[test]
    fn bands_judge_and_nan_never_holds() {
        assert!(Band::below("x", 1.0, 2.0).holds && !Band::below("x", 2.0, 2.0).holds);
        assert!(Band::above("x", 3.0, 2.0).holds && Band::within("x", 2.0, 2.0, 2.0).holds);
        assert!(
            Band::printed("x", 9.908_479, 9.91).holds && !Band::printed("x", 9.916, 9.91).holds
        );
        assert!(!Band::printed("x", f64::NAN, 9.91).holds);
        let nan = f64::NAN;
        assert!(!Band::below("x", nan, 2.0).holds && !Band::above("x", nan, 2.0).holds);
        assert!(!Band::within("x", nan, f64::NEG_INFINITY, f64::INFINITY).holds);
    }
}
