//! Interrupted and resumed: the same bits, the same ledger, every release charged once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sordino_engine::federated::{self, DriverError, ledger};
use sordino_engine::{DriverKind, Options};
use sordino_experiment::journal::{Journal, JournalError};
use sordino_experiment::progress::{Progress, Stage, Step};
use sordino_experiment::record::MethodRun;
use sordino_experiment::scenario::Scenario;

use crate::util::{StopAfter, charges, scratch, small};

fn execute(
    scenario: &Scenario,
    journal: Option<Journal>,
    stop_after: u32,
    driver: DriverKind,
) -> Result<Vec<MethodRun>, DriverError> {
    let progress = StopAfter::new(stop_after);
    let options = Options {
        driver,
        journal: journal.map(Arc::new),
        stop: progress.stop.clone(),
        ..Options::default()
    };
    federated::run(scenario, &options, &progress)
}

/// One method in one run, and a folder in which it was stopped after nine rounds.
fn stopped(name: &str) -> (Scenario, PathBuf) {
    let scenario = small("", &["federation.methods=[\"dp-fts-de\"]", "runs=1"]);
    let folder = scratch(name);
    let journal = Journal::create(&folder, &scenario.resolved(), None).unwrap();
    assert!(matches!(
        execute(&scenario, Some(journal), 9, DriverKind::Lockstep),
        Err(DriverError::Interrupted)
    ));
    (scenario, folder)
}

/// Goes on to the end.
fn resume(scenario: &Scenario, folder: &Path) -> Result<Vec<MethodRun>, DriverError> {
    let journal = Journal::resume(folder, &scenario.resolved(), None).unwrap();
    execute(scenario, Some(journal), u32::MAX, DriverKind::Lockstep)
}

/// Runs in pieces of `piece` rounds until it is done; returns results, ledger, number of pieces.
fn in_pieces(scenario: &Scenario, folder: &Path, piece: u32) -> (Vec<MethodRun>, String, u32) {
    let mut journal = Journal::create(folder, &scenario.resolved(), None).unwrap();
    for pieces in 1.. {
        // Whoever continues may be another driver with another number of shards.
        let driver = if pieces % 2 == 0 {
            DriverKind::Tokio
        } else {
            DriverKind::Lockstep
        };
        match execute(scenario, Some(journal), piece, driver) {
            Ok(results) => {
                let journal = Journal::resume(folder, &scenario.resolved(), None).unwrap();
                let ledger = ledger::joined(&journal, &results).unwrap();
                journal.discard().unwrap();
                return (results, ledger, pieces);
            }
            Err(DriverError::Interrupted) => {
                journal = Journal::resume(folder, &scenario.resolved(), None).unwrap()
            }
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!()
}

#[test]
fn pieces_of_any_length_make_the_same_run() {
    let methods = "federation.methods=[\"ts\",\"fts-de\",\"dp-fts-de\",\"prior\",\"dp-prior\"]";
    let plan = [
        "prior.points_per_axis=12",
        "prior.releases=[0, 0, 4, 5]",
        methods,
    ];
    let faults = [
        "faults.dropout=0.2",
        "faults.straggler=0.2",
        "faults.duplicate=0.2",
    ];
    // Three blocks of the transcript.
    let blocks = [
        "federation.agents=2500",
        "federation.rounds=11",
        "runs=1",
        "surrogate.own_draw=features",
    ];
    for settings in [
        &plan[..],
        &[&plan[..], &faults].concat(),
        &[&plan[..], &blocks].concat(),
    ] {
        let scenario = small("", settings);
        let reference = execute(&scenario, None, u32::MAX, DriverKind::Lockstep).unwrap();
        let (whole, ledger, pieces) = in_pieces(&scenario, &scratch("resume-whole"), u32::MAX);
        assert_eq!((&whole, pieces), (&reference, 1));
        let releases: u32 = reference.iter().map(|run| run.releases).sum();
        assert_eq!(charges(&ledger), u64::from(releases));
        // 6 and 7 stop before and after the last release of the prior's.
        for piece in [5, 6, 7, 31] {
            let folder = scratch("resume-pieces");
            let (results, pieces_ledger, pieces) = in_pieces(&scenario, &folder, piece);
            assert!(pieces > 1);
            assert_eq!(results, reference, "pieces of {piece}");
            assert_eq!(pieces_ledger, ledger, "pieces of {piece}");
            assert!(!folder.join("state").exists());
        }
    }
}

/// Counts what was found and what was done, as a bar does, and stops after so many rounds.
struct Bar {
    stop: StopAfter,
    counted: AtomicU64,
}

impl Progress for Bar {
    fn advance(&self, step: &Step) {
        if matches!(step.stage, Stage::Done { .. }) {
            self.counted.fetch_add(1, Ordering::Relaxed);
        }
        self.stop.advance(step);
    }

    fn found(&self, steps: u64) {
        self.counted.fetch_add(steps, Ordering::Relaxed);
    }
}

#[test]
fn the_progress_of_a_resumed_run_counts_what_was_done_before() {
    let scenario = small("", &["federation.methods=[\"ts\",\"dp-fts-de\"]", "runs=2"]);
    let total = scenario.steps();
    for driver in [DriverKind::Lockstep, DriverKind::Tokio] {
        let folder = scratch("resume-progress");
        let mut journal = Some(Journal::create(&folder, &scenario.resolved(), None).unwrap());
        // Within the first method, within a later one, to the end, and once more when all is done.
        for (pieces, rounds) in [9, 40, u32::MAX, u32::MAX].into_iter().enumerate() {
            let bar = Bar {
                stop: StopAfter::new(rounds),
                counted: AtomicU64::new(0),
            };
            let options = Options {
                driver,
                journal: journal.take().map(Arc::new),
                stop: bar.stop.stop.clone(),
                ..Options::default()
            };
            let ended = federated::run(&scenario, &options, &bar);
            let counted = bar.counted.into_inner();
            match ended {
                Ok(_) => assert_eq!((counted, pieces >= 2), (total, true)),
                Err(DriverError::Interrupted) => {
                    let least = [9, 40][pieces];
                    assert!((least..total).contains(&counted), "{counted} of {total}");
                }
                Err(error) => panic!("{error}"),
            }
            drop(options);
            journal = Some(Journal::resume(&folder, &scenario.resolved(), None).unwrap());
        }
    }
}

#[test]
fn another_scenario_is_refused_with_the_difference() {
    let folder = scratch("resume-other");
    let one = small("", &[]);
    let other = small("", &["privacy.noise_multiplier=2.5"]);
    assert!(matches!(
        Journal::resume(&folder, &one.resolved(), None),
        Err(JournalError::NothingToResume { .. })
    ));
    Journal::create(&folder, &one.resolved(), None).unwrap();
    let error = Journal::resume(&folder, &other.resolved(), None)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("noise_multiplier = 1.0") && error.contains("noise_multiplier = 2.5"),
        "{error}"
    );
}

/// The head says what the parts belong to; half of one says nothing about the data.
#[test]
fn a_head_that_is_no_digest_is_damaged_and_not_of_other_data() {
    let folder = scratch("resume-head");
    let scenario = small("", &[]).resolved();
    Journal::create(&folder, &scenario, None).unwrap();
    let path = folder.join("state/head");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..31]).unwrap();
    let error = Journal::resume(&folder, &scenario, None).unwrap_err();
    assert!(
        matches!(&error, JournalError::Damaged { path: found, .. } if *found == path),
        "{error}"
    );
    // What it advises helps.
    std::fs::remove_file(&path).unwrap();
    Journal::resume(&folder, &scenario, None).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), whole);
    // Negative control: a digest of something else.
    std::fs::write(&path, [7; 32]).unwrap();
    assert!(matches!(
        Journal::resume(&folder, &scenario, None),
        Err(JournalError::OtherData { .. })
    ));
}

#[test]
fn damaged_files_are_refused_by_name() {
    let (scenario, folder) = stopped("resume-damaged");
    let newest = std::fs::read_dir(folder.join("state"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "checkpoint"))
        .max()
        .unwrap();
    let bytes = std::fs::read(&newest).unwrap();
    for (damage, expected) in [
        (bytes[..bytes.len() - 1].to_vec(), "digest"),
        (bytes[..10].to_vec(), "too short"),
        (
            bytes
                .iter()
                .enumerate()
                .map(|(i, b)| if i == 200 { b ^ 1 } else { *b })
                .collect(),
            "digest",
        ),
        (Vec::new(), "too short"),
    ] {
        std::fs::write(&newest, damage).unwrap();
        let error = resume(&scenario, &folder).unwrap_err().to_string();
        assert!(
            error.contains(expected) && error.contains("checkpoint"),
            "{error}"
        );
    }
    // As the message says: without the damaged file an older checkpoint serves.
    std::fs::remove_file(&newest).unwrap();
    let whole = execute(&scenario, None, u32::MAX, DriverKind::Lockstep).unwrap();
    assert_eq!(resume(&scenario, &folder).unwrap(), whole);
}

#[test]
fn a_ledger_that_does_not_fit_stops_everything() {
    for (tamper, expected) in [
        ("{\"schema\":9,\"sequence\":0,\"event\":null}\n", "line 1"),
        ("nonsense\n", "line 1"),
        ("", ""),
    ] {
        let (scenario, folder) = stopped("resume-ledger");
        let path = folder.join("state/run-00000.dp-fts-de.ledger.jsonl");
        let good = std::fs::read_to_string(&path).unwrap();
        assert!(good.lines().count() >= 3);
        if expected.is_empty() {
            // A charge whose line was cut off was never acted upon: written again.
            std::fs::write(&path, format!("{good}{{\"schema\":1,\"seq")).unwrap();
            resume(&scenario, &folder).unwrap();
            // What it is for, and one line for each release.
            assert_eq!(
                std::fs::read_to_string(&path).unwrap().lines().count(),
                1 + 14
            );
        } else {
            std::fs::write(&path, tamper).unwrap();
            let error = resume(&scenario, &folder).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}

/// Before the mend: z = 9 written over 1 in 12 lines was accepted on resume, and published in
/// `ledger.jsonl`.
#[test]
fn a_ledger_edited_to_a_cheaper_noise_is_refused() {
    let (scenario, folder) = stopped("resume-cheaper");
    let path = folder.join("state/run-00000.dp-fts-de.ledger.jsonl");
    let good = std::fs::read_to_string(&path).unwrap();
    let cheaper = good.replace("\"noise_multiplier\":1.0", "\"noise_multiplier\":9.0");
    assert_ne!(good, cheaper);
    std::fs::write(&path, cheaper).unwrap();
    let error = resume(&scenario, &folder).unwrap_err().to_string();
    assert!(
        error.contains("line 2") && error.contains("chain"),
        "{error}"
    );
    // Negative control: as it was, it goes on.
    std::fs::write(&path, good).unwrap();
    resume(&scenario, &folder).unwrap();
}
