//! Prior files on real tables (`docs/prior-files.md`): newcomers with a file beside newcomers
//! alone, and beside its twins.
//!
//! One run is one repetition: other newcomers, other contributors, another file. 66 contributors of
//! ten random points, each in a unit of its own; nothing is chosen. Every ratio and difference is
//! paired against `alone` within a repetition.
//!
//! Those who made the file go on with it as well, as the sites of a campaign do: ten evaluations of
//! a search alone, their contribution, and [`ROUNDS`] more with the file.
//!
//! The twins say what the file's releases are worth: a file of noise at the same ε, one of nothing,
//! one of studies whose points and values do not belong together, and the rival, a file of noised
//! votes.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::thread;

use sordino_experiment::benchmark::Measured;
use sordino_experiment::metrics::{Estimate, Paired};
use sordino_experiment::progress::Progress;
use sordino_experiment::progress::writer::ProgressWriter;
use sordino_experiment::text::significant;
use sordino_lab::newcomers::{
    Conditions, Continued, EVALUATIONS, FirstPoints, NEWCOMERS, Origin, Parties, ROUNDS,
    Repetition, continued, each, repetitions,
};

use super::{Band, Experiment, Options, Outcome, ReproduceError};

/// The catalogue's entries.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "file/employment",
        description: "newcomers with the file of 66 industries, alone, and with its twins (10 runs, minutes)",
        runs: 10,
        reads_data: false,
        measure: employment,
    },
    Experiment {
        name: "file/planes",
        description: "newcomers with the file of 66 planes, alone, and with its twins (10 runs, minutes)",
        runs: 10,
        reads_data: false,
        measure: planes,
    },
    Experiment {
        name: "file/wages",
        description: "newcomers with the file of 66 women's forecasts: a start, and little more (10 runs, minutes)",
        runs: 10,
        reads_data: false,
        measure: wages,
    },
];

/// Contributors of every file.
const CONTRIBUTORS: usize = 66;

/// What is expected at one ε, as mean ratios of summed regret over alone. Bands are three standard
/// errors of ten repetitions around what was measured, rounded outwards.
struct Expected {
    epsilon: f64,
    /// Newcomers with the file.
    file: RangeInclusive<f64>,
    /// What the file is expected ahead of, pair by pair.
    ahead_of: &'static [Rival],
    /// The most with a file of noise.
    noise_max: f64,
    /// The most with a file of contributors whose values are permuted.
    permuted_max: f64,
    /// Contributors who go on with the file.
    contributors: RangeInclusive<f64>,
}

/// What newcomers with the file are compared with.
#[derive(Clone, Copy)]
enum Rival {
    Alone,
    With(Origin),
}

const BOTH: &[Rival] = &[Rival::Alone, Rival::With(Origin::Votes)];

fn employment(options: &Options, runs: u32) -> Result<Outcome, ReproduceError> {
    let first = Expected {
        epsilon: 1.0,
        file: 0.15..=0.35,
        ahead_of: BOTH,
        noise_max: 1.3,
        permuted_max: 1.05,
        contributors: 0.4..=0.7,
    };
    let quarter = Expected {
        epsilon: 0.25,
        file: 0.2..=0.6,
        ahead_of: BOTH,
        noise_max: 1.4,
        permuted_max: 1.15,
        contributors: 0.5..=1.0,
    };
    measured(Measured::Employment, options, runs, &[first, quarter])
}

fn planes(options: &Options, runs: u32) -> Result<Outcome, ReproduceError> {
    let first = Expected {
        epsilon: 1.0,
        file: 0.25..=0.45,
        ahead_of: BOTH,
        noise_max: 1.3,
        permuted_max: 1.05,
        contributors: 0.7..=1.05,
    };
    let quarter = Expected {
        epsilon: 0.25,
        file: 0.3..=0.8,
        ahead_of: BOTH,
        noise_max: 1.35,
        permuted_max: 1.55,
        contributors: 0.8..=1.2,
    };
    measured(Measured::Planes, options, runs, &[first, quarter])
}

/// At ε = ¼ the file is ahead of nobody for certain: seven files of ten are not trusted.
fn wages(options: &Options, runs: u32) -> Result<Outcome, ReproduceError> {
    let first = Expected {
        epsilon: 1.0,
        file: 0.65..=0.95,
        ahead_of: BOTH,
        noise_max: 1.3,
        permuted_max: 1.05,
        contributors: 0.9..=1.4,
    };
    let quarter = Expected {
        epsilon: 0.25,
        file: 0.7..=1.05,
        ahead_of: &[],
        noise_max: 1.3,
        permuted_max: 1.3,
        contributors: 0.9..=1.35,
    };
    measured(Measured::Wages, options, runs, &[first, quarter])
}

/// Bands and remarks on one table at each ε.
fn measured(
    table: Measured,
    options: &Options,
    runs: u32,
    all_expected: &[Expected],
) -> Result<Outcome, ReproduceError> {
    let parties = Parties::measured(table).map_err(ReproduceError::new)?;
    let threads = options
        .threads
        .or_else(|| thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get);
    let total = 2 * u64::from(runs) * all_expected.len() as u64;
    let writer = ProgressWriter::new("reproduce", table.file(), "repetitions", total);
    let mut outcome = Outcome::default();
    let mut csv = "epsilon,repetition,origin,self_test,summed_regret\n".to_owned();
    for expected in all_expected {
        let conditions = Conditions {
            contributors: CONTRIBUTORS,
            epsilon: expected.epsilon,
            own_units: true,
        };
        let told = || writer.job(&format!("a repetition at ε = {}", expected.epsilon));
        let all = repetitions(&parties, &conditions, &Origin::ALL, runs, threads, &told);
        let all = all.map_err(ReproduceError::new)?;
        judge(expected, &all, &mut outcome);
        let going_on = each(runs, threads, &told, &|number| {
            continued(&parties, &conditions, FirstPoints::Searched, number)
        });
        let going_on = going_on.map_err(ReproduceError::new)?;
        judge_contributors(expected, &going_on, &mut outcome);
        going_on.iter().enumerate().for_each(|(number, continued)| {
            csv.push_str(&contributor_rows(expected.epsilon, number, continued));
        });
        all.iter().enumerate().for_each(|(number, repetition)| {
            csv.push_str(&rows(expected.epsilon, number, repetition))
        });
    }
    outcome.remarks.push(format!(
        "Regret of {NEWCOMERS} newcomers, summed over their first {EVALUATIONS} evaluations. Simulated noise, and one table: \
         repetitions differ in who is new, who contributes, in points, units and noise."
    ));
    outcome.files.push(("repetitions.csv".to_owned(), csv));
    Ok(outcome)
}

/// Summed regrets with the file of this origin, by repetition.
fn summed(all: &[Repetition], origin: Origin) -> Vec<f64> {
    all.iter()
        .map(|repetition| repetition.summed(origin))
        .collect()
}

/// The same over the summed regret of newcomers alone: mean and standard error.
fn ratio(all: &[Repetition], origin: Origin) -> Estimate {
    let ratios: Vec<f64> = all
        .iter()
        .map(|repetition| repetition.summed(origin) / repetition.summed_alone())
        .collect();
    Estimate::of(&ratios)
}

/// What is judged at one ε, and what a reader must know beside it.
fn judge(expected: &Expected, all: &[Repetition], outcome: &mut Outcome) {
    let at = format!("ε = {}", expected.epsilon);
    let alone: Vec<f64> = all.iter().map(Repetition::summed_alone).collect();
    outcome.bands.push(Band::within(
        format!("{at}: file / alone"),
        ratio(all, Origin::Studies).mean,
        *expected.file.start(),
        *expected.file.end(),
    ));
    for rival in expected.ahead_of {
        let (name, than) = match rival {
            Rival::Alone => ("alone", alone.clone()),
            Rival::With(origin) => (origin.name(), summed(all, *origin)),
        };
        let name = format!("{at}, paired: file minus {name}, upper end of 95 %");
        let file = summed(all, Origin::Studies);
        outcome
            .bands
            .push(Band::order(name, &Paired::of(&file, &than)));
    }
    for (origin, bound) in [
        (Origin::Noise, expected.noise_max),
        (Origin::Permuted, expected.permuted_max),
    ] {
        outcome.bands.push(Band::below(
            format!("{at}: {origin} / alone"),
            ratio(all, origin).mean,
            bound,
        ));
    }
    for origin in Origin::ALL {
        let Estimate {
            mean,
            standard_error,
        } = ratio(all, origin);
        let error = standard_error.map_or(String::new(), |error| {
            format!(" ({})", significant(error, 2))
        });
        let trusted = all.iter().flat_map(|repetition| &repetition.guided);
        let trusted = trusted
            .filter(|guided| guided.origin == origin && guided.self_test >= 1.0)
            .count();
        let ahead = Paired::of(&summed(all, origin), &alone).smaller;
        outcome.remarks.push(format!(
            "{at}: {origin} / alone {}{error}, ahead in {ahead} of {} repetitions; B is at least 1 in {trusted}.",
            significant(mean, 3),
            all.len()
        ));
    }
}

/// Contributors with the file of their own first points, and without it.
fn judge_contributors(expected: &Expected, all: &[Continued], outcome: &mut Outcome) {
    let at = format!("ε = {}", expected.epsilon);
    let ratios: Vec<f64> = all.iter().map(Continued::ratio).collect();
    let Estimate {
        mean,
        standard_error,
    } = Estimate::of(&ratios);
    outcome.bands.push(Band::within(
        format!("{at}: contributors with the file / alone"),
        mean,
        *expected.contributors.start(),
        *expected.contributors.end(),
    ));
    let error = standard_error.map_or(String::new(), |error| {
        format!(" ({})", significant(error, 2))
    });
    outcome.remarks.push(format!(
        "{at}: contributors with the file / alone {}{error}, summed over the {ROUNDS} evaluations after their contribution.",
        significant(mean, 3)
    ));
}

/// Lines of the same table, for contributors with the file and alone.
fn contributor_rows(epsilon: f64, number: usize, continued: &Continued) -> String {
    let [alone, guided] =
        [&continued.alone, &continued.guided].map(|regrets| regrets.iter().sum::<f64>());
    let self_test = continued.self_test;
    format!(
        "{epsilon},{number},contributors alone,,{alone}\n{epsilon},{number},contributors,{self_test},{guided}\n"
    )
}

/// Lines of a table, one for each file and one for alone.
fn rows(epsilon: f64, number: usize, repetition: &Repetition) -> String {
    let mut out = format!("{epsilon},{number},alone,,{}\n", repetition.summed_alone());
    for guided in &repetition.guided {
        let summed: f64 = guided.regrets.iter().sum();
        out.push_str(&format!(
            "{epsilon},{number},{},{},{summed}\n",
            guided.origin, guided.self_test
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use sordino_lab::newcomers::Guided;

    use super::*;

    /// Ten repetitions in which newcomers with a file have this share of the regret of those alone,
    /// and a little more each time.
    fn all(share: f64) -> Vec<Repetition> {
        let alone = [1.0; EVALUATIONS];
        let guided = |origin, share: f64, number: usize| {
            let regrets = [share + 0.01 * number as f64; EVALUATIONS];
            Guided {
                origin,
                self_test: number as f64,
                regrets,
            }
        };
        let shares = [
            (Origin::Studies, share),
            (Origin::Votes, 0.9),
            (Origin::Noise, 1.0),
            (Origin::Permuted, 1.0),
        ];
        (0..10)
            .map(|number| Repetition {
                alone,
                guided: shares.map(|(o, share)| guided(o, share, number)).to_vec(),
            })
            .collect()
    }

    #[test]
    fn a_file_is_judged_against_alone_and_votes_pair_by_pair() {
        let judged = |share: f64| {
            let expected = Expected {
                epsilon: 1.0,
                file: 0.2..=0.4,
                ahead_of: BOTH,
                noise_max: 1.1,
                permuted_max: 1.1,
                contributors: 0.2..=0.4,
            };
            let mut outcome = Outcome::default();
            judge(&expected, &all(share), &mut outcome);
            let of = |regret: f64| Continued {
                self_test: 2.0,
                alone: vec![1.0; ROUNDS],
                guided: vec![regret; ROUNDS],
            };
            judge_contributors(&expected, &[of(share), of(share + 0.02)], &mut outcome);
            outcome
        };
        let good = judged(0.3);
        assert_eq!(good.bands.len(), 6);
        assert!(good.bands.iter().all(|band| band.holds), "{:?}", good.bands);
        assert!(
            (good.bands[0].measured - 0.345).abs() < 1e-9,
            "{:?}",
            good.bands[0]
        );
        assert!(
            good.remarks[0].ends_with("ahead in 10 of 10 repetitions; B is at least 1 in 9."),
            "{}",
            good.remarks[0]
        );
        // Negative control: a file that is no better than votes.
        let bad: Vec<bool> = judged(0.9).bands.iter().map(|band| band.holds).collect();
        assert_eq!(bad, [false, true, false, true, true, false]);
    }
}
