//! A fifth trust model, whole: this file, and a line that names it. Everything else is what the
//! other four have: scenarios in TOML, `--set`, refusals, tables of keys, schema and starter; jobs,
//! journal, folder, page, README, summary, resuming after a kill, what is shown of an unfinished
//! run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use sordino_core::digest::{Digest, Frame, combine};
use sordino_core::random::{Party, Purpose, RunSeed};
use sordino_engine::{MODELS, Model, ModelError, Options, TrustModel, jobs};
use sordino_experiment::journal::Journal;
use sordino_experiment::metrics::Estimate;
use sordino_experiment::progress::Progress;
use sordino_experiment::record::{Explanation, MethodSummary, Record, Summary};
use sordino_experiment::scenario::keys::{Key, Preset, Table};
use sordino_experiment::scenario::rule::{Rule, whole};
use sordino_experiment::scenario::unused::Unused;
use sordino_experiment::scenario::{
    self, Head, Problem, ScenarioError, Section, SectionTables, json_schema, starter,
};
use sordino_lab::execute::{self, ExecuteError, Place, executed};
use sordino_report::columns::Columns;
use sordino_report::page::Shown;
use sordino_report::read::RunFiles;
use sordino_report::readme::readme;
use sordino_report::results::Results;
use sordino_report::rows::number;
use sordino_report::view::{Panels, View};

use crate::util::{StopAfter, files, scratch, settings, text};

/// Everybody guesses a number below `sides`; what is published is how far off the guess was.
#[derive(Clone, Debug)]
struct Toy {
    head: Head,
    sides: u32,
}

/// The line that names it.
fn models() -> Vec<&'static TrustModel> {
    MODELS.iter().copied().chain([&TRUST]).collect()
}

/// Nobody is trusted with the guess.
const TRUST: TrustModel = TrustModel {
    name: "toy",
    description: "nobody is trusted with a guess",
    sections,
    read: |root| Ok(Box::new(read(root)?)),
};

const SIDES: Rule = whole(2, 1000);

fn sections() -> Vec<SectionTables> {
    let preset = Preset::Constant("100".to_owned());
    let keys = vec![Key {
        name: "sides",
        rule: SIDES,
        preset,
        sentence: "Numbers to guess from.",
    }];
    vec![SectionTables {
        name: "game",
        about: "The game.",
        tables: vec![Table {
            kinds: Vec::new(),
            keys,
        }],
        many: false,
    }]
}

fn read(mut root: Section) -> Result<Toy, Problem> {
    let head = Head::take_before(&mut root, &["game"], TRUST.name)?;
    let mut game = root.section("game")?;
    game.only(&sections()[0].tables[0].keys)?;
    Ok(Toy {
        head,
        sides: game.required("sides", &SIDES, Some(100))?,
    })
}

/// A run with its guess, and how far off that was.
type Guessed = ((u32, u32), u32);

/// Columns of `rounds.csv`.
fn columns() -> Columns<'static, Guessed> {
    Columns::new()
        .told("run", "0-based", |((run, _), _): &Guessed| run.to_string())
        .told("method", "the guess", |((_, guess), _)| {
            format!("guess-{guess}")
        })
        .told("round", "0: there is one", |_| "0".to_owned())
        .told("off", "how far off it was", |(_, off)| off.to_string())
}

impl Model for Toy {
    fn head(&self) -> Head {
        self.head.clone()
    }

    fn resolved(&self) -> String {
        format!(
            "{}[game]\nsides = {}\n",
            toml::to_string(&self.head).unwrap(),
            self.sides
        )
    }

    fn reads(&self) -> Option<&'static str> {
        None
    }

    fn unused(&self, _keys: &[&str]) -> Vec<Unused> {
        Vec::new()
    }

    fn jobs(&self) -> Vec<String> {
        vec!["guess-0".into(), "guess-1".into()]
    }

    fn compute(&self, options: &Options, progress: &dyn Progress) -> Result<Record, ModelError> {
        let jobs: Vec<(u32, u32)> = (0..self.head.runs)
            .flat_map(|run| [(run, 0), (run, 1)])
            .collect();
        let name = |(run, guess): &(u32, u32)| (*run, format!("guess-{guess}"));
        let results: Vec<u32> = jobs::execute(&jobs, options, progress, name, |(run, guess)| {
            let drawn = RunSeed::new(self.head.seed, *run)
                .stream(Party::World, Purpose::Objective, 0)
                .below(self.sides);
            std::thread::sleep(Duration::from_millis(
                std::env::var_os(SLOW).map_or(0, |_| 20),
            ));
            Ok(drawn.abs_diff(*guess))
        })?;
        let digests: Vec<Digest> = results
            .iter()
            .map(|off| {
                let mut frame = Frame::leaf();
                frame.u32(*off);
                frame.end()
            })
            .collect();
        let methods = (0..2).map(|guess| {
            let own: Vec<f64> = results
                .iter()
                .skip(guess)
                .step_by(2)
                .map(|off| f64::from(*off))
                .collect();
            let name = format!("guess-{guess}");
            let measures = vec![Estimate::of(&own).measure("off")];
            MethodSummary {
                name,
                guarantee: "none".into(),
                measures,
                ..MethodSummary::default()
            }
        });
        let summary = Summary::new(&self.head, &combine(digests.iter()), methods.collect());
        let columns = columns();
        let rows = jobs.iter().copied().zip(results.iter().copied());
        let files = vec![
            ("rounds.csv", columns.csv(rows)),
            ("README.md", readme(TRUST.name, &[], columns.meanings(), "")),
        ];
        Ok(Record {
            summary,
            files,
            priors: Vec::new(),
        })
    }

    fn view(&self, files: RunFiles<'_>) -> Result<View, ModelError> {
        let results = Results::read(files).map_err(ModelError::input)?;
        let columns = Columns::<MethodSummary>::new()
            .text("method", |method| method.name.clone())
            .number("off", |method| number(Some(method.measures[0].mean)));
        let shown = Shown::of(&columns, &results.summary.methods);
        Ok(View {
            facts: vec![("sides", self.sides.to_string())],
            shown,
            below: String::new(),
            panels: Panels::new("How far off.".into(), Vec::new()),
            compared: "off".into(),
            sections: String::new(),
        })
    }

    fn explain(&self) -> Result<Explanation, ModelError> {
        let nothing = || vec!["Nothing.".to_owned()];
        Ok(Explanation {
            protected: nothing(),
            relation: nothing(),
            not_protected: nothing(),
            cost: nothing(),
        })
    }

    fn finished(&self, journal: &Journal) -> Result<Option<Box<dyn Model>>, ModelError> {
        jobs::finished(self, journal, |shorter| &mut shorter.head)
    }
}

const TOML: &str = "trust = \"toy\"\nname = \"toy\"\ndescription = \"a game of guessing\"\nruns = 5\n[game]\nsides = 100\n";

fn parse(set: &[&str]) -> Result<Box<dyn Model>, ScenarioError> {
    scenario::parse(&models(), "toy.toml", TOML, &settings(set))
}

fn toy(seed: u64) -> Box<dyn Model> {
    parse(&[&format!("seed={seed}")]).unwrap()
}

fn run(model: &dyn Model, folder: &Path, jobs: u32) -> Result<Option<Record>, ExecuteError> {
    let Place::Open(run) = execute::begin_or_resume(folder, model, None)? else {
        return Ok(None);
    };
    let progress = StopAfter::new(jobs);
    let options = Options {
        threads: std::num::NonZeroUsize::new(1),
        stop: progress.stop.clone(),
        ..Options::default()
    };
    run.execute(model, &options, &progress).map(Some)
}

#[test]
fn a_fifth_trust_model_is_interrupted_shown_resumed_and_complete() {
    let place = |name: &str| -> PathBuf { scratch("toy").join(name) };
    let whole = place("whole");
    let pieces = scratch("toy-pieces").join("pieces");
    let record = run(&*toy(1), &whole, u32::MAX).unwrap().unwrap();
    let names = [
        "README.md",
        "regret.svg",
        "report.html",
        "rounds.csv",
        "scenario.toml",
        "summary.json",
        "table.txt",
    ];
    assert!(
        files(&whole)
            .keys()
            .map(|path| path.to_str().unwrap())
            .eq(names),
        "{:?}",
        files(&whole).keys()
    );
    assert_eq!(
        Summary::parse(text(&files(&whole)[Path::new("summary.json")])),
        Ok(record.summary.clone())
    );
    for needed in [
        "Who is protected from whom",
        "guess-1",
        "a game of guessing",
    ] {
        assert!(
            record
                .files
                .iter()
                .any(|file| file.0 == "report.html" && file.1.contains(needed)),
            "{needed}"
        );
    }
    // Five jobs are two runs and a half: what is shown of them is a prefix.
    let stopped = run(&*toy(1), &pieces, 5);
    assert!(matches!(
        stopped,
        Err(ExecuteError::Model(ModelError::Interrupted))
    ));
    let journal = Arc::new(Journal::look(&pieces, &toy(1).resolved()).unwrap());
    let shorter = toy(1).finished(&journal).unwrap().unwrap();
    assert_eq!((shorter.head().runs, shorter.steps().count), (2, 4));
    let options = Options {
        journal: Some(journal),
        stop: Arc::new(AtomicBool::new(true)),
        ..Options::default()
    };
    let shown = executed(&*shorter, &options, &()).unwrap();
    assert!(
        shown
            .file("report.html")
            .contains("Unfinished: 2 of 5 runs. a game of guessing")
    );
    assert!(
        record
            .file("rounds.csv")
            .starts_with(shown.file("rounds.csv"))
    );
    // Another scenario is refused, the same goes on to the same folder, and then there is nothing
    // to do.
    assert!(matches!(
        run(&*toy(2), &pieces, u32::MAX),
        Err(ExecuteError::Journal(_))
    ));
    run(&*toy(1), &pieces, u32::MAX).unwrap().unwrap();
    assert!(files(&pieces) == files(&whole) && run(&*toy(1), &pieces, u32::MAX).unwrap().is_none());
}

/// What the four have by their tables of keys.
#[test]
fn a_fifth_trust_model_is_read_refused_and_told_like_the_others() {
    let scenario = parse(&["game.sides=6", "runs=3"]).unwrap();
    let resolved = scenario.resolved();
    assert!(
        resolved.contains("trust = \"toy\"") && resolved.ends_with("[game]\nsides = 6\n"),
        "{resolved}"
    );
    let again = scenario::parse(&models(), "again", &resolved, &[]).unwrap();
    assert_eq!(
        (again.resolved(), again.head()),
        (resolved, scenario.head())
    );
    for (setting, message) in [
        (
            "game.sides=1",
            "`game.sides = 1` is not admissible; admissible: a whole number from 2 to 1000",
        ),
        (
            "game.side=7",
            "unknown key `game.side`; did you mean `sides`?",
        ),
        ("gmae.sides=7", "unknown key `gmae`; did you mean `game`?"),
        (
            "trust=toys",
            "\"federated\", \"outsourced\", \"local\", \"output\", \"toy\"",
        ),
        ("trust=local", "unknown key `game`"),
    ] {
        let error = parse(&[setting]).unwrap_err().to_string();
        assert!(error.contains(message), "{setting}: {error}");
    }
    let line = scenario::parse(&models(), "toy.toml", &TOML.replace("100", "1"), &[]).unwrap_err();
    assert_eq!(line.line, Some(6));
    // The program's own models do not know it.
    assert!(
        scenario::parse(MODELS, "toy.toml", TOML, &[])
            .unwrap_err()
            .to_string()
            .contains("\"toy\"")
    );
    assert!(TRUST.keys_text().contains("Numbers to guess from."));
    let schema = json_schema(&models());
    assert_eq!(
        schema["oneOf"][4]["properties"]["game"]["properties"]["sides"]["maximum"],
        1000
    );
    let begun = starter(&TRUST, |scenario| scenario.resolved()).unwrap();
    assert!(
        scenario::parse(&models(), "starter", &begun, &[]).is_ok()
            && begun.contains("# sides = 100"),
        "{begun}"
    );
}

/// In the environment of a process that is there to be killed: its folder; whether jobs take their
/// time.
const KILLED: &str = "SORDINO_TOY";
const SLOW: &str = "SORDINO_TOY_SLOW";

/// Not a test of its own: what the next one kills.
#[test]
fn runs_for_the_test_that_kills_it() {
    if let Some(folder) = std::env::var_os(KILLED) {
        run(&*toy(1), Path::new(&folder), u32::MAX).unwrap();
    }
}

#[test]
fn a_fifth_trust_model_is_killed_and_resumed_to_the_same_folder() {
    let scratch = scratch("toy-killed");
    let whole = scratch.join("whole");
    let killed = scratch.join("killed");
    run(&*toy(1), &whole, u32::MAX).unwrap().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "toy::runs_for_the_test_that_kills_it"])
        .env(KILLED, &killed)
        .env(SLOW, "1")
        .spawn()
        .unwrap();
    let done = || {
        let names = std::fs::read_dir(killed.join("state"))
            .into_iter()
            .flatten()
            .flatten();
        names
            .filter(|entry| {
                entry
                    .path()
                    .extension()
                    .is_some_and(|ending| ending == "done")
            })
            .count()
    };
    let began = Instant::now();
    while done() < 3 {
        assert!(began.elapsed() < Duration::from_secs(180) && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        (3..10).contains(&done()) && !killed.join("summary.json").exists(),
        "killed within the run"
    );
    run(&*toy(1), &killed, u32::MAX).unwrap().unwrap();
    assert!(files(&killed) == files(&whole));
}
