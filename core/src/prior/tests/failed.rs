//! Candidates that have no value.

use super::*;
use crate::optimizer;

/// A function whose file is good, and a list on which a region around the file's best cannot work.
struct World {
    candidates: Vec<f64>,
    values: Vec<f64>,
    file: File,
}

/// Where a file of `self_test` believes the best, everything up to this distance fails.
const REACH: f64 = 0.25;

fn world(self_test: f64) -> World {
    let candidates = points(200, 2);
    let distance = |x: &[f64]| ((x[0] - 0.3).powi(2) + (x[1] - 0.6).powi(2)).sqrt();
    let values: Vec<f64> = candidates.chunks(2).map(|x| -distance(x)).collect();
    let mut file = File::of(&candidates, 2, &values, 0.3, 12, 0.01);
    file.self_test = self_test;
    World {
        candidates,
        values,
        file,
    }
}

impl World {
    fn works(&self, candidate: usize) -> bool {
        self.values[candidate] < -REACH
    }

    /// Asks `count` times and tells what comes of it.
    fn ask(&self, search: &mut Newcomer<'_, f64, Vec<f64>>, count: usize) -> Vec<usize> {
        let ask = |_| {
            let candidate = search.suggest();
            if self.works(candidate) {
                search.observe(candidate, self.values[candidate]).unwrap();
            } else {
                search.fail(candidate).unwrap();
            }
            candidate
        };
        (0..count).map(ask).collect()
    }

    fn with(&self, act: impl FnOnce(&PublicPrior<'_, f64>)) {
        let mut storage = self.file.storage();
        act(&PublicPrior::attach(self.file.numbers(), &mut storage).unwrap());
    }
}

/// A fifth of all candidates fail, among them all that the file believes in.
#[test]
fn a_region_that_fails_does_not_stop_a_search() {
    for self_test in [-5.0, 0.3, 5.0] {
        let world = world(self_test);
        let failing = (0..200).filter(|i| !world.works(*i)).count();
        assert!(failing > 30, "{failing}");
        world.with(|prior| {
            let mut search = search(&world.candidates, 2, Some(prior), (16, 8));
            let mut asked = world.ask(&mut search, 16);
            assert!((1..=4).contains(&search.failed()), "{self_test}: {asked:?}");
            asked.sort_unstable();
            asked.dedup();
            assert_eq!(asked.len(), 16, "one was asked twice");
            // What it finds is next to the region's edge.
            let (best, mean) = search.best().unwrap();
            assert!(
                world.works(best) && world.values[best] > -REACH - 0.12,
                "{best} {mean}"
            );
        });
    }
}

/// Negative control: without the worst value in its place, what failed is asked all around.
#[test]
fn candidates_that_are_only_left_out_would_use_up_a_search() {
    let world = world(5.0);
    world.with(|prior| {
        let mut open: Vec<usize> = (0..200).collect();
        let mut log: Vec<(usize, f64)> = Vec::new();
        let mut failed = 0;
        for _ in 0..16 {
            let list: Vec<f64> = open
                .iter()
                .flat_map(|i| world.candidates[2 * i..][..2].to_vec())
                .collect();
            let place = |candidate: &usize| open.iter().position(|i| i == candidate).unwrap();
            let log_here: Vec<(usize, f64)> = log.iter().map(|(c, y)| (place(c), *y)).collect();
            let room = vec![0.0; storage_len(prior.count(), 16, 8)];
            let settings = NewcomerSettings::default();
            let search = Newcomer::resume(&list, 2, Some(prior), settings, 16, room, log_here);
            let candidate = open[search.unwrap().suggest()];
            if world.works(candidate) {
                log.push((candidate, world.values[candidate]));
            } else {
                open.retain(|i| *i != candidate);
                failed += 1;
            }
        }
        assert!(failed > 12, "{failed}");
    });
}

#[test]
fn a_log_with_failures_gives_the_same_bits() {
    for self_test in [-5.0, 0.3, 5.0] {
        let world = world(self_test);
        world.with(|prior| {
            let mut live = search(&world.candidates, 2, Some(prior), (16, 8));
            for step in 0..14 {
                world.ask(&mut live, 1);
                let log: Vec<LogEntry<f64>> = live.log().collect();
                assert_eq!(
                    (log.len(), live.len() + live.failed()),
                    (step + 1, step + 1)
                );
                let room = vec![f64::NAN; storage_len(prior.count(), 16, 3)];
                let settings = NewcomerSettings::default();
                let resumed =
                    Newcomer::resume(&world.candidates, 2, Some(prior), settings, 16, room, log);
                let mut resumed = resumed.unwrap();
                assert_eq!(resumed.best(), live.best(), "{self_test} {step}");
                assert_eq!(resumed.trust(), live.trust());
                assert_eq!(resumed.suggest(), live.suggest());
                // Its own model, too.
                let asked = |search: &mut Newcomer<'_, f64, Vec<f64>>| {
                    let own = vec![0.0; optimizer::storage_len(2, 16)];
                    OwnModel::fit(search, own).and_then(|mut own| own.suggest(search))
                };
                assert_eq!(asked(&mut resumed), asked(&mut live));
            }
        });
    }
}

/// What fails changes no unit: y₁ is the first value told, wherever it stands.
#[test]
fn unit_and_offset_change_no_question_where_some_fail() {
    let world = world(5.0);
    world.with(|prior| {
        let ask = |a: f64, b: f64| {
            let values = world.values.iter().map(|y| a * y + b).collect();
            let scaled = World {
                candidates: world.candidates.clone(),
                values: world.values.clone(),
                file: world.file.clone(),
            };
            let told: Vec<f64> = values;
            let mut search = search(&scaled.candidates, 2, Some(prior), (12, 8));
            (0..12)
                .map(|_| {
                    let candidate = search.suggest();
                    if scaled.works(candidate) {
                        search.observe(candidate, told[candidate]).unwrap();
                    } else {
                        search.fail(candidate).unwrap();
                    }
                    candidate
                })
                .collect::<Vec<usize>>()
        };
        let usual = ask(1.0, 0.0);
        for (a, b) in [(3.7, -200.0), (1e150, 1e152), (0.02, 30.0)] {
            assert_eq!(ask(a, b), usual, "{a} {b}");
        }
        // Negative control.
        assert_ne!(ask(-1.0, 0.0), usual);
    });
}

#[test]
fn a_failure_takes_a_row_and_what_is_refused_changes_nothing() {
    let candidates = points(5, 1);
    let mut search = search(&candidates, 1, None, (3, 1));
    let nowhere = NewcomerError::Candidate {
        index: 5,
        candidates: 5,
    };
    assert_eq!(search.fail(5), Err(nowhere));
    assert_eq!(
        (search.len(), search.failed(), search.capacity()),
        (0, 0, 3)
    );
    search.fail(2).unwrap();
    // The first value may be any that is finite: the failed one has none.
    search.observe(0, -1e308).unwrap();
    let far = NewcomerError::Value { value: 1.5e308 };
    assert_eq!(search.observe(1, 1.5e308), Err(far));
    search.fail(4).unwrap();
    assert_eq!((search.len(), search.failed()), (1, 2));
    let next = search.suggest();
    let full = NewcomerError::Full { capacity: 3 };
    assert_eq!(
        (search.fail(1), search.observe(1, 1.0)),
        (Err(full), Err(full))
    );
    assert_eq!(
        (search.len(), search.failed(), search.suggest()),
        (1, 2, next)
    );
    assert!([1, 3].contains(&next));
}

#[test]
fn what_failed_is_asked_last_and_is_never_the_best() {
    for file in [false, true] {
        let candidates = points(4, 1);
        let values = [1.0, 4.0, 2.0, 3.0];
        let known = File::of(&candidates, 1, &values, 0.2, 3, 0.01);
        let mut storage = known.storage();
        let prior = PublicPrior::attach(known.numbers(), &mut storage).unwrap();
        let mut search = search(&candidates, 1, file.then_some(&prior), (20, 2));
        search.suggest();
        search.fail(1).unwrap();
        search.observe(1, 4.0).unwrap();
        assert_eq!(search.best(), None, "told as well, and failed");
        for candidate in [0, 2, 3] {
            search.observe(candidate, values[candidate]).unwrap();
        }
        // All were visited.
        for _ in 0..6 {
            let asked = search.suggest();
            assert_ne!(asked, 1);
            search.observe(asked, values[asked]).unwrap();
            assert_eq!(search.best().unwrap().0, 3);
        }
        search.fail(0).unwrap();
        let own = vec![0.0; optimizer::storage_len(1, 20)];
        let asked = OwnModel::fit(&search, own).unwrap().suggest(&mut search);
        assert_eq!(asked, Ok(2), "the first that did not fail");
        for candidate in [2, 3] {
            search.fail(candidate).unwrap();
        }
        // Nothing is left: a question all the same, and nothing to use.
        assert!(search.suggest() < 4);
        assert_eq!(search.best(), None);
    }
}

#[test]
fn where_everything_fails_all_are_asked_and_numbers_stay_finite() {
    for self_test in [-5.0, 0.3, 5.0] {
        let mut world = world(self_test);
        world.candidates.truncate(2 * 12);
        world.values = vec![0.0; 12];
        world.with(|prior| {
            let mut search = search(&world.candidates, 2, Some(prior), (15, 5));
            let mut asked = world.ask(&mut search, 12);
            asked.sort_unstable();
            assert_eq!(asked, (0..12).collect::<Vec<_>>());
            assert!(search.suggest() < 12 && search.trust().is_finite());
            assert_eq!(
                (search.best(), search.len(), search.failed()),
                (None, 0, 12)
            );
        });
    }
}

/// A value that was told by mistake is gone once its entry is left out of the log.
#[test]
fn a_mistake_is_taken_back_by_the_log_without_it() {
    let world = world(5.0);
    world.with(|prior| {
        let settings = NewcomerSettings::noisy();
        let room = || vec![0.0; storage_len(prior.count(), 12, 8)];
        let resume = |log: &[LogEntry<f64>]| {
            let log = log.iter().copied();
            Newcomer::resume(&world.candidates, 2, Some(prior), settings, 12, room(), log).unwrap()
        };
        let mut mistaken = resume(&[]);
        world.ask(&mut mistaken, 4);
        let sound: Vec<LogEntry<f64>> = mistaken.log().collect();
        let candidate = mistaken.suggest();
        mistaken.observe(candidate, 9999.0).unwrap();
        // A sentinel is the best value of all, and no candidate looks as good beside it.
        assert_eq!(mistaken.best().unwrap().0, candidate);
        assert!(mistaken.best().unwrap().1 > 100.0);
        let mut mended = resume(&sound);
        assert_eq!(mended.suggest(), candidate, "the same question");
        let mut never = resume(&sound);
        assert_eq!(world.ask(&mut mended, 8), world.ask(&mut never, 8));
        assert!(mended.best().unwrap().1 < 0.1);
    });
}

/// Every candidate that can be listed has room in a slot, and comes back to the bit.
#[test]
fn a_slot_holds_the_last_of_all_candidates() {
    use crate::digest::Digest;
    use crate::optimizer::CANDIDATES_MAX;
    use crate::snapshot::{SnapshotError, max_bytes, read, write};
    let agreement = Digest::of(&"a file and its list");
    let mut slot = [0xff; max_bytes::<LogEntry<f64>>()];
    let told = |candidate, value| LogEntry::Told { candidate, value };
    let failed = |candidate| LogEntry::Failed::<f64> { candidate };
    let last = CANDIDATES_MAX - 1;
    for entry in [told(0, -0.0), told(last, f64::MIN), failed(last)] {
        write(&entry, 3, &agreement, &mut slot).unwrap();
        let found = read::<LogEntry<f64>>(&slot, &agreement).unwrap();
        assert_eq!(found, Some((3, entry)));
    }
    let beyond = write(&told(usize::MAX, 1.0), 3, &agreement, &mut slot);
    assert!(matches!(beyond, Err(SnapshotError::Slot { .. })));
}
