//! `sordino audit`: the shipped release path and, in the same breath, what must be rejected.

use std::num::NonZeroUsize;

use clap::Args;
use serde::Serialize;

use super::error::CliError;
use super::{Format, print, print_json};
use crate::study::audit::{Defect, GaussianAudit, Report, laplace};

/// `sordino audit`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Runs for each of the two neighbours; 200,000 see 5 % less noise
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(5_000..=10_000_000))]
    runs: u32,
    /// Seed of the simulated noise
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Threads; changes no result [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Probability that a correct mechanism is rejected.
const ERROR: f64 = 1e-6;
/// ε of the local report audited.
const LOCAL_EPSILON: f64 = 1.0;
/// Reports for each run of the other: one costs what a single round does.
const REPORTS_PER_RUN: u32 = 5;

/// A path, what is broken in it, and from how many runs on that is seen.
struct Case {
    mechanism: Mechanism,
    name: &'static str,
    defect: Defect,
    seen_from: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Mechanism {
    /// 40 rounds of the sampled grid Gaussian.
    Gaussian,
    /// One clamped report.
    Laplace,
}

const fn case(mechanism: Mechanism, name: &'static str, defect: Defect, seen_from: u32) -> Case {
    Case { mechanism, name, defect, seen_from }
}

/// The shipped paths first; among controls of less noise the finer first.
const CASES: [Case; 12] = [
    case(Mechanism::Gaussian, "shipped", Defect::None, 0),
    case(Mechanism::Laplace, "shipped", Defect::None, 0),
    case(Mechanism::Gaussian, "noise 5 % low", Defect::NoiseFactor(0.95), 200_000),
    case(Mechanism::Gaussian, "noise 15 % low", Defect::NoiseFactor(0.85), 20_000),
    case(Mechanism::Gaussian, "noise 40 % low", Defect::NoiseFactor(0.6), 5_000),
    case(Mechanism::Gaussian, "44 rounds charged as 40", Defect::RoundsRun(44), 200_000),
    case(Mechanism::Gaussian, "q = 0.3 run as 0.25", Defect::SampledWith(0.3), 20_000),
    case(Mechanism::Gaussian, "no subsampling", Defect::SampledWith(1.0), 5_000),
    case(Mechanism::Gaussian, "halved sensitivity", Defect::SensitivityFactor(2.0), 5_000),
    case(Mechanism::Laplace, "noise 10 % low", Defect::NoiseFactor(0.9), 20_000),
    case(Mechanism::Laplace, "halved sensitivity", Defect::SensitivityFactor(2.0), 5_000),
    case(Mechanism::Laplace, "no clamp", Defect::NoClamp(5.0), 5_000),
];

#[derive(Serialize)]
struct Line {
    mechanism: Mechanism,
    case: &'static str,
    /// Nothing if it was not run: too fine for so few runs.
    rejected: Option<bool>,
    expected: Option<bool>,
    /// Largest lower bound on δ less the δ claimed.
    margin: Option<f64>,
    needs_runs: u32,
}

#[derive(Serialize)]
struct Answer {
    runs: u32,
    rounds: u32,
    local_reports: u32,
    confidence: f64,
    smallest_defect_seen: Option<&'static str>,
    passed: bool,
    lines: Vec<Line>,
    simulation: &'static str,
}

const SIMULATION: &str = "simulation: not private; an audit finds defects and never certifies their absence";

/// Runs every case; exit code 1 if a shipped path is rejected or a control is not.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let threads = arguments.threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let gaussian = GaussianAudit { runs: arguments.runs, error: ERROR, ..GaussianAudit::standard(arguments.seed) };
    let reports = arguments.runs.saturating_mul(REPORTS_PER_RUN);
    let mut lines = Vec::new();
    for case in &CASES {
        let report = if arguments.runs < case.seen_from {
            None
        } else {
            Some(match case.mechanism {
                Mechanism::Gaussian => gaussian.run(case.defect, threads).map_err(CliError::failure)?,
                Mechanism::Laplace => laplace(LOCAL_EPSILON, reports, case.defect, arguments.seed, ERROR)
                    .ok_or_else(|| CliError::failure("the local mechanism cannot be built"))?,
            })
        };
        lines.push(Line {
            mechanism: case.mechanism,
            case: case.name,
            rejected: report.as_ref().map(Report::rejected),
            expected: report.as_ref().map(|_| case.defect != Defect::None),
            margin: report.as_ref().map(Report::margin),
            needs_runs: case.seen_from,
        });
    }
    let answer = Answer {
        runs: arguments.runs,
        rounds: gaussian.rounds,
        local_reports: reports,
        confidence: 1.0 - ERROR,
        smallest_defect_seen: smallest(&lines),
        passed: passed(&lines),
        lines,
        simulation: SIMULATION,
    };
    match arguments.format {
        Format::Json => print_json(&answer)?,
        Format::Text => print(&text(&answer, &gaussian))?,
    }
    if answer.passed {
        Ok(())
    } else {
        Err(CliError::failure("the audit failed: see what came out otherwise than expected"))
    }
}

/// Every case that was run came out as expected.
fn passed(lines: &[Line]) -> bool {
    lines.iter().all(|line| line.rejected == line.expected)
}

/// The finest lack of Gaussian noise that was rejected here.
fn smallest(lines: &[Line]) -> Option<&'static str> {
    lines
        .iter()
        .find(|line| {
            line.mechanism == Mechanism::Gaussian && line.rejected == Some(true) && line.case.starts_with("noise")
        })
        .map(|line| line.case)
}

fn text(answer: &Answer, gaussian: &GaussianAudit) -> String {
    let mut out = format!(
        "n = {} runs for each neighbour of {} rounds at q = {}, z = {}; {} local reports at ε = {LOCAL_EPSILON}\n\
         confidence 1 - {ERROR:e}: a correct mechanism is rejected with at most that remainder\n\n",
        answer.runs, answer.rounds, gaussian.sampling_probability, gaussian.noise_multiplier, answer.local_reports
    );
    for line in &answer.lines {
        let mechanism = match line.mechanism {
            Mechanism::Gaussian => "gaussian",
            Mechanism::Laplace => "laplace",
        };
        let verdict = match (line.rejected, line.rejected == line.expected) {
            (None, _) => format!("not run: needs {} runs", line.needs_runs),
            (Some(rejected), good) => format!(
                "{}{} (measured δ less claimed at most {:+.4})",
                if good { "" } else { "FAIL: " },
                if rejected { "rejected" } else { "not rejected" },
                line.margin.unwrap_or(f64::NAN)
            ),
        };
        out.push_str(&format!("{mechanism:8}  {:24}  {verdict}\n", line.case));
    }
    out.push_str(&format!(
        "\nsmallest defect seen at this n: {}\n{}\n",
        answer.smallest_defect_seen.unwrap_or("none"),
        answer.simulation
    ));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(case: &'static str, rejected: Option<bool>, expected: Option<bool>) -> Line {
        Line { mechanism: Mechanism::Gaussian, case, rejected, expected, margin: Some(0.0), needs_runs: 0 }
    }

    #[test]
    fn fails_if_the_shipped_path_is_rejected_or_a_control_is_not() {
        let shipped = || line("shipped", Some(false), Some(false));
        let skipped = || line("noise 5 % low", None, None);
        let lines = [shipped(), skipped(), line("noise 15 % low", Some(true), Some(true))];
        assert!(passed(&lines));
        assert_eq!(smallest(&lines), Some("noise 15 % low"));
        assert!(!passed(&[line("shipped", Some(true), Some(false))]));
        assert!(!passed(&[shipped(), line("noise 15 % low", Some(false), Some(true))]));
        assert_eq!(smallest(&[shipped(), skipped()]), None);
    }
}
