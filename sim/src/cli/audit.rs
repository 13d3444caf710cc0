//! `sordino audit`: the shipped release path and, beside it, defects that must be rejected.
//!
//! Every shipped path is audited twice: with noise that the seed repeats, and with secret noise as
//! a deployment draws it, which differs every time. The error probability holds for either. A
//! control is run as often as its defect needs to show.

use std::num::NonZeroUsize;

use clap::Args;
use serde::Serialize;
use sordino_core::privacy::SourceKind;
use sordino_papers::audit::{
    AuditError, Claim, Defect, GaussianAudit, LocalAudit, PriorAudit, PublicationAudit, Report,
    VoteAudit,
};

use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::number::{threads, whole};
use sordino_experiment::command_line::{Format, print, print_json};

/// `sordino audit`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Runs for each of the two neighbours; 200,000 see 5 % less noise
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = whole::<u32>(5_000, 10_000_000))]
    runs: u32,
    /// Seed of the simulated noise; results with secret noise differ every time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>(0, u64::MAX))]
    seed: u64,
    /// Threads; changes no result [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads)]
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

/// A path, what is broken in it, and the number of runs from which that shows.
struct Case {
    mechanism: Mechanism,
    noise: Noise,
    name: &'static str,
    defect: Defect,
    seen_from: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Mechanism {
    /// 40 broadcasts of a server.
    Gaussian,
    /// One clamped report.
    Laplace,
    /// Three releases of a federated prior.
    Prior,
    /// One release of a vote.
    Vote,
    /// A prior file of two releases, from studies to the file.
    Publication,
    /// One of a single release.
    Upload,
}

impl Mechanism {
    const fn name(self) -> &'static str {
        match self {
            Mechanism::Gaussian => "gaussian",
            Mechanism::Laplace => "laplace",
            Mechanism::Prior => "prior",
            Mechanism::Vote => "vote",
            Mechanism::Publication => "publication",
            Mechanism::Upload => "upload",
        }
    }
}

/// What coins and noise are drawn with.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Noise {
    /// Streams of the seed.
    Seeded,
    /// A generator seeded by the system.
    Secret,
}

impl Noise {
    const fn name(self) -> &'static str {
        match self {
            Noise::Seeded => "seeded",
            Noise::Secret => "secret",
        }
    }
}

const fn case(mechanism: Mechanism, name: &'static str, defect: Defect, seen_from: u32) -> Case {
    Case {
        mechanism,
        noise: Noise::Seeded,
        name,
        defect,
        seen_from,
    }
}

const fn secret(case: Case) -> Case {
    Case {
        noise: Noise::Secret,
        ..case
    }
}

/// The shipped paths first; among controls of less noise the finer first.
const CASES: [Case; 40] = [
    case(Mechanism::Gaussian, "shipped", Defect::None, 0),
    case(Mechanism::Laplace, "shipped", Defect::None, 0),
    case(Mechanism::Prior, "shipped", Defect::None, 0),
    case(Mechanism::Vote, "shipped", Defect::None, 0),
    case(Mechanism::Publication, "shipped", Defect::None, 0),
    case(Mechanism::Upload, "shipped", Defect::None, 0),
    secret(case(Mechanism::Gaussian, "shipped", Defect::None, 0)),
    secret(case(Mechanism::Laplace, "shipped", Defect::None, 0)),
    secret(case(Mechanism::Prior, "shipped", Defect::None, 0)),
    secret(case(Mechanism::Vote, "shipped", Defect::None, 0)),
    secret(case(Mechanism::Publication, "shipped", Defect::None, 0)),
    secret(case(Mechanism::Upload, "shipped", Defect::None, 0)),
    case(
        Mechanism::Gaussian,
        "noise 5 % low",
        Defect::NoiseFactor(0.95),
        200_000,
    ),
    case(
        Mechanism::Gaussian,
        "noise 15 % low",
        Defect::NoiseFactor(0.85),
        20_000,
    ),
    case(
        Mechanism::Gaussian,
        "noise 40 % low",
        Defect::NoiseFactor(0.6),
        5_000,
    ),
    secret(case(
        Mechanism::Gaussian,
        "noise 40 % low",
        Defect::NoiseFactor(0.6),
        5_000,
    )),
    case(
        Mechanism::Gaussian,
        "44 rounds charged as 40",
        Defect::RoundsRun(44),
        200_000,
    ),
    case(
        Mechanism::Gaussian,
        "q = 0.3 run as 0.25",
        Defect::SampledWith(0.3),
        20_000,
    ),
    case(
        Mechanism::Gaussian,
        "no subsampling",
        Defect::SampledWith(1.0),
        5_000,
    ),
    case(
        Mechanism::Gaussian,
        "one agent counted twice",
        Defect::CountedTwice,
        5_000,
    ),
    case(
        Mechanism::Gaussian,
        "coins of a known seed",
        Defect::KnownCoins,
        5_000,
    ),
    case(
        Mechanism::Gaussian,
        "noise of one sign",
        Defect::NoiseOfOneSign,
        5_000,
    ),
    case(
        Mechanism::Laplace,
        "noise 10 % low",
        Defect::NoiseFactor(0.9),
        20_000,
    ),
    case(
        Mechanism::Laplace,
        "halved sensitivity",
        Defect::SensitivityFactor(2.0),
        5_000,
    ),
    case(Mechanism::Laplace, "no clamp", Defect::NoClamp(5.0), 5_000),
    case(
        Mechanism::Prior,
        "noise 5 % low",
        Defect::NoiseFactor(0.95),
        120_000,
    ),
    case(
        Mechanism::Prior,
        "noise 15 % low",
        Defect::NoiseFactor(0.85),
        20_000,
    ),
    secret(case(
        Mechanism::Prior,
        "noise 40 % low",
        Defect::NoiseFactor(0.6),
        5_000,
    )),
    case(
        Mechanism::Prior,
        "4 releases charged as 3",
        Defect::RoundsRun(4),
        20_000,
    ),
    case(
        Mechanism::Prior,
        "clip coordinate left out",
        Defect::ClipCoordinateLeftOut,
        5_000,
    ),
    case(
        Mechanism::Prior,
        "radius of private data",
        Defect::PrivateRadius(0.5),
        5_000,
    ),
    case(
        Mechanism::Vote,
        "noise 5 % low",
        Defect::NoiseFactor(0.95),
        120_000,
    ),
    case(
        Mechanism::Vote,
        "noise 15 % low",
        Defect::NoiseFactor(0.85),
        20_000,
    ),
    case(
        Mechanism::Vote,
        "one vote counted twice",
        Defect::CountedTwice,
        5_000,
    ),
    case(
        Mechanism::Publication,
        "noise 15 % low",
        Defect::NoiseFactor(0.85),
        20_000,
    ),
    case(
        Mechanism::Publication,
        "space of private data",
        Defect::SpaceOfPrivateData,
        5_000,
    ),
    case(
        Mechanism::Publication,
        "3 releases charged as 2",
        Defect::Uncharged,
        20_000,
    ),
    case(
        Mechanism::Upload,
        "2 releases charged as 1",
        Defect::Uncharged,
        5_000,
    ),
    case(
        Mechanism::Upload,
        "noise 5 % low",
        Defect::NoiseFactor(0.95),
        120_000,
    ),
    case(
        Mechanism::Upload,
        "clip coordinate left out",
        Defect::ClipCoordinateLeftOut,
        200_000,
    ),
];

#[derive(Serialize)]
struct Line {
    mechanism: Mechanism,
    noise: Noise,
    case: &'static str,
    /// Runs for each neighbour; none if it was not run, because its defect is too fine for this
    /// number of runs.
    runs: Option<u32>,
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

const SIMULATION: &str =
    "simulation: not private; an audit finds defects and never certifies their absence";

/// Runs every case; exit code 1 if a shipped path is rejected or a control is not, and if any of
/// them has no outcome.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let gaussian = GaussianAudit {
        runs: arguments.runs,
        error: ERROR,
        ..GaussianAudit::standard(arguments.seed)
    };
    let claim = gaussian.claim()?;
    let mut lines = Vec::new();
    for case in &CASES {
        let report = if arguments.runs < case.seen_from {
            None
        } else {
            Some(measure(case, arguments, &claim)?)
        };
        lines.push(Line {
            mechanism: case.mechanism,
            noise: case.noise,
            case: case.name,
            runs: report.as_ref().map(|report| report.runs),
            rejected: report.as_ref().map(Report::rejected),
            expected: report.as_ref().map(|_| case.defect != Defect::None),
            margin: report.as_ref().map(Report::margin),
            needs_runs: case.seen_from,
        });
    }
    let answer = Answer {
        runs: arguments.runs,
        rounds: gaussian.rounds,
        local_reports: arguments.runs.saturating_mul(REPORTS_PER_RUN),
        confidence: 1.0 - ERROR,
        smallest_defect_seen: smallest(&lines),
        passed: failures(&lines).is_empty(),
        lines,
        simulation: SIMULATION,
    };
    match arguments.format {
        Format::Json => print_json(&answer)?,
        Format::Text => print(&text(&answer, &gaussian))?,
    }
    match failures(&answer.lines).as_slice() {
        [] => Ok(()),
        failures => Err(CliError::failure(format!(
            "the audit failed: {}",
            failures.join("; ")
        ))),
    }
}

/// One case: what is shipped as often as was asked for, a control as often as it needs.
fn measure(case: &Case, arguments: &Arguments, claim: &Claim) -> Result<Report, AuditError> {
    let threads = arguments
        .threads
        .or_else(|| std::thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get);
    let runs = if case.defect == Defect::None {
        arguments.runs
    } else {
        case.seen_from
    };
    let kind = match case.noise {
        Noise::Seeded => SourceKind::Simulation,
        Noise::Secret => SourceKind::Secret,
    };
    match case.mechanism {
        Mechanism::Gaussian => {
            let audit = GaussianAudit {
                runs,
                error: ERROR,
                ..GaussianAudit::standard(arguments.seed)
            };
            audit.run(claim, case.defect, kind, threads)
        }
        Mechanism::Laplace => {
            let epsilon = LOCAL_EPSILON;
            let runs = runs.saturating_mul(REPORTS_PER_RUN);
            LocalAudit {
                epsilon,
                runs,
                error: ERROR,
                seed: arguments.seed,
            }
            .run(case.defect, kind, threads)
        }
        Mechanism::Prior => {
            let audit = PriorAudit {
                runs,
                error: ERROR,
                ..PriorAudit::standard(arguments.seed)
            };
            audit.run(case.defect, kind, threads)
        }
        Mechanism::Vote => {
            let audit = VoteAudit {
                runs,
                error: ERROR,
                ..VoteAudit::standard(arguments.seed)
            };
            audit.run(case.defect, kind, threads)
        }
        Mechanism::Publication => {
            let audit = PublicationAudit {
                runs,
                error: ERROR,
                ..PublicationAudit::standard(arguments.seed)
            };
            audit.run(case.defect, kind, threads)
        }
        Mechanism::Upload => {
            let audit = PublicationAudit {
                runs,
                error: ERROR,
                ..PublicationAudit::one_upload(arguments.seed)
            };
            audit.run(case.defect, kind, threads)
        }
    }
}

/// Every case that was run and came out otherwise than expected, in words.
fn failures(lines: &[Line]) -> Vec<String> {
    let wrong = lines.iter().filter(|line| line.rejected != line.expected);
    wrong
        .map(|line| {
            let verdict = if line.rejected == Some(true) {
                "was rejected"
            } else {
                "was not rejected"
            };
            format!(
                "{} ({} noise): \"{}\" {verdict}",
                line.mechanism.name(),
                line.noise.name(),
                line.case
            )
        })
        .collect()
}

/// The finest lack of Gaussian noise that was rejected here.
fn smallest(lines: &[Line]) -> Option<&'static str> {
    lines
        .iter()
        .find(|line| {
            line.mechanism == Mechanism::Gaussian
                && line.rejected == Some(true)
                && line.case.ends_with("% low")
        })
        .map(|line| line.case)
}

fn text(answer: &Answer, gaussian: &GaussianAudit) -> String {
    let mut out = format!(
        "n = {} runs for each neighbour of {} rounds at q = {}, z = {}; {} local reports at ε = {LOCAL_EPSILON}; \
         controls as often as they need\n\
         confidence 1 - {ERROR:e}: a correct mechanism is rejected with at most that remainder\n\n",
        answer.runs,
        answer.rounds,
        gaussian.sampling_probability,
        gaussian.noise_multiplier,
        answer.local_reports
    );
    for line in &answer.lines {
        let verdict = match (line.rejected, line.rejected == line.expected) {
            (None, _) => format!("not run: needs {} runs", line.needs_runs),
            (Some(rejected), good) => format!(
                "{}{} (measured δ less claimed at most {:+.4})",
                if good { "" } else { "FAIL: " },
                if rejected { "rejected" } else { "not rejected" },
                line.margin.unwrap_or(f64::NAN)
            ),
        };
        let mechanism = line.mechanism.name();
        let noise = line.noise.name();
        out.push_str(&format!(
            "{mechanism:11}  {noise:6}  {:24}  {verdict}\n",
            line.case
        ));
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
    use std::process::ExitCode;

    fn line(case: &'static str, rejected: Option<bool>, expected: Option<bool>) -> Line {
        Line {
            mechanism: Mechanism::Gaussian,
            noise: Noise::Seeded,
            case,
            runs: rejected.map(|_| 5_000),
            rejected,
            expected,
            margin: Some(0.0),
            needs_runs: 0,
        }
    }

    #[test]
    fn fails_by_name_if_the_shipped_path_is_rejected_or_a_control_is_not() {
        let shipped = || line("shipped", Some(false), Some(false));
        let skipped = || line("noise 5 % low", None, None);
        let lines = [
            shipped(),
            skipped(),
            line("noise 15 % low", Some(true), Some(true)),
        ];
        assert!(failures(&lines).is_empty());
        assert_eq!(smallest(&lines), Some("noise 15 % low"));
        let rejected = failures(&[line("shipped", Some(true), Some(false))]);
        assert_eq!(
            rejected,
            ["gaussian (seeded noise): \"shipped\" was rejected"]
        );
        let passed = failures(&[shipped(), line("noise 15 % low", Some(false), Some(true))]);
        assert_eq!(
            passed,
            ["gaussian (seeded noise): \"noise 15 % low\" was not rejected"]
        );
        assert_eq!(smallest(&[shipped(), skipped()]), None);
    }

    /// Before the mend the program panicked (exit code 101) or passed.
    #[test]
    fn an_audit_without_an_outcome_ends_with_code_1() {
        let seed = 1;
        let audit = GaussianAudit {
            noise_multiplier: 1e6,
            runs: 5_000,
            ..GaussianAudit::standard(seed)
        };
        let claim = GaussianAudit {
            rounds: 1,
            ..GaussianAudit::standard(seed)
        }
        .claim()
        .unwrap();
        let refused = audit
            .run(&claim, Defect::None, SourceKind::Simulation, 1)
            .unwrap_err();
        assert_eq!(CliError::from(refused).report(), ExitCode::from(1));
    }
}
