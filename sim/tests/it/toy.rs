//! A fifth trust model, whole: this file, and a line that names it. Everything else is what the other four have: jobs,
//! journal, folder, page, README, summary, resuming, what is shown of an unfinished run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use sordino_core::digest::{Digest, Frame, combine};
use sordino_core::random::{Party, Purpose, RunSeed};
use sordino_sim::journal::Journal;
use sordino_sim::metrics::Estimate;
use sordino_sim::model::{Jobs, Model, ModelError, Options, jobs};
use sordino_sim::progress::Progress;
use sordino_sim::record::{Explanation, MethodSummary, Record, Summary};
use sordino_sim::report::page::Shown;
use sordino_sim::report::pictured::Pictured;
use sordino_sim::report::rows::{csv, number};
use sordino_sim::scenario::{Head, Trust};
use sordino_sim::study::execute::{self, ExecuteError, Place};

use crate::util::{files, scratch};

/// Everybody guesses a number below `sides`; what is published is how far off the guess was.
#[derive(Clone, Debug)]
struct Toy {
    head: Head,
    sides: u32,
}

impl Model for Toy {
    fn head(&self) -> Head {
        self.head.clone()
    }

    fn resolved(&self) -> String {
        format!(
            "name = \"{}\"\nseed = {}\nruns = {}\nsides = {}\n",
            self.head.name, self.head.seed, self.head.runs, self.sides
        )
    }

    fn reads(&self) -> Option<&'static str> {
        None
    }

    fn jobs(&self) -> Jobs {
        jobs::jobs(&self.head, 2)
    }

    fn run(&self, options: &Options, progress: &dyn Progress) -> Result<Record, ModelError> {
        let jobs: Vec<(u32, u32)> = (0..self.head.runs).flat_map(|run| [(run, 0), (run, 1)]).collect();
        let name = |(run, guess): &(u32, u32)| (*run, format!("guess-{guess}"));
        let results: Vec<u32> = jobs::execute(&jobs, options, progress, name, |(run, guess)| {
            let drawn =
                RunSeed::new(self.head.seed, *run).stream(Party::World, Purpose::Objective, 0).below(self.sides);
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
            let own: Vec<f64> = results.iter().skip(guess).step_by(2).map(|off| f64::from(*off)).collect();
            let (name, measures) = (format!("guess-{guess}"), vec![Estimate::of(&own).measure("off")]);
            MethodSummary { name, guarantee: "none".into(), measures, ..MethodSummary::default() }
        });
        let summary = Summary::new(&self.head, &combine(digests.iter()), methods.collect());
        let cells = |method: &MethodSummary| vec![method.name.clone(), number(Some(method.measures[0].mean))];
        let rows = jobs.iter().zip(&results).map(|((run, guess), off)| [run, guess, off].map(u32::to_string));
        Ok(Pictured {
            head: &self.head,
            resolved: self.resolved(),
            explanation: self.explain()?,
            facts: vec![("sides", self.sides.to_string())],
            shown: Shown {
                columns: vec!["method".into(), "off".into()],
                rows: summary.methods.iter().map(cells).collect(),
                ..Shown::default()
            },
            line: "How far off.".into(),
            charts: Vec::new(),
            ruler: None,
            rounds: csv(["run", "method", "off"], rows),
            columns: &[("run", "0-based"), ("method", "the guess"), ("off", "how far off it was")],
            summary,
        }
        .record())
    }

    fn explain(&self) -> Result<Explanation, ModelError> {
        let nothing = || vec!["Nothing.".to_owned()];
        Ok(Explanation { protected: nothing(), relation: nothing(), not_protected: nothing(), cost: nothing() })
    }

    fn finished(&self, journal: &Journal) -> Result<Option<Box<dyn Model>>, ModelError> {
        jobs::finished(self, journal, |shorter| &mut shorter.head)
    }
}

fn toy(seed: u64) -> Toy {
    let (name, description) = ("toy".to_owned(), "a game of guessing".to_owned());
    Toy { head: Head { trust: Trust::Local, name, description, seed, runs: 5 }, sides: 100 }
}

/// Stops after so many jobs.
struct StopAfter(AtomicU32, Arc<AtomicBool>);

impl Progress for StopAfter {
    fn job(&self, _name: &str) {
        self.1.store(self.0.fetch_sub(1, Ordering::Relaxed) <= 1, Ordering::Relaxed);
    }
}

fn run(model: &Toy, folder: &Path, jobs: u32) -> Result<Option<Record>, ExecuteError> {
    let Place::Open(folder, journal) = execute::begin_or_resume(folder, model, None)? else {
        return Ok(None);
    };
    let stop = Arc::new(AtomicBool::new(false));
    let options = Options { threads: std::num::NonZeroUsize::new(1), stop: stop.clone(), ..Options::default() };
    execute::execute(model, folder, journal, options, &StopAfter(AtomicU32::new(jobs), stop)).map(Some)
}

#[test]
fn a_fifth_trust_model_is_interrupted_shown_resumed_and_complete() {
    let place = |name: &str| -> PathBuf { scratch("toy").join(name) };
    let (whole, pieces) = (place("whole"), scratch("toy-pieces").join("pieces"));
    let record = run(&toy(1), &whole, u32::MAX).unwrap().unwrap();
    let names = ["README.md", "regret.svg", "report.html", "rounds.csv", "scenario.toml", "summary.json", "table.txt"];
    assert!(files(&whole).keys().map(|path| path.to_str().unwrap()).eq(names), "{:?}", files(&whole).keys());
    assert_eq!(
        Summary::parse(std::str::from_utf8(&files(&whole)[Path::new("summary.json")]).unwrap()),
        Ok(record.summary.clone())
    );
    for needed in ["Who is protected from whom", "guess-1", "a game of guessing"] {
        assert!(record.files.iter().any(|file| file.0 == "report.html" && file.1.contains(needed)), "{needed}");
    }
    // Five jobs are two runs and a half: what is shown of them is a prefix.
    let stopped = run(&toy(1), &pieces, 5);
    assert!(matches!(stopped, Err(ExecuteError::Model(ModelError::Interrupted))));
    let journal = Arc::new(Journal::look(&pieces, &toy(1).resolved()).unwrap());
    let shorter = toy(1).finished(&journal).unwrap().unwrap();
    assert_eq!((shorter.head().runs, shorter.jobs().count), (2, 4));
    let options = Options { journal: Some(journal), stop: Arc::new(AtomicBool::new(true)), ..Options::default() };
    let shown = shorter.run(&options, &()).unwrap();
    assert!(shown.file("report.html").contains("Unfinished: 2 of 5 runs. a game of guessing"));
    assert!(record.file("rounds.csv").starts_with(shown.file("rounds.csv")));
    // Another scenario is refused, the same goes on to the same folder, and then there is nothing to do.
    assert!(matches!(run(&toy(2), &pieces, u32::MAX), Err(ExecuteError::Journal(_))));
    run(&toy(1), &pieces, u32::MAX).unwrap().unwrap();
    assert!(files(&pieces) == files(&whole) && run(&toy(1), &pieces, u32::MAX).unwrap().is_none());
}
