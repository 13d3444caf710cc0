//! Tuning a user's training command: candidates in, scores out. [`sordino_core::output::Publisher`]
//! decides what leaves; nothing here prints a score.
//!
//! | module | what it holds |
//! |---|---|
//! | [`space`] | the public list of candidates |
//! | [`command`] | one run of the command: its last line, or what went wrong |
//! | [`score`] | what that line means, under public rules |
//! | [`stop`] | signals that end a command in order |

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub mod command;
pub mod score;
pub mod space;
pub mod stop;

use command::{Errors, Failure, Job};
use score::{Reading, Value};
use space::CandidateList;
use stop::Stop;

/// What is evaluated, and how.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The candidates.
    pub space: &'a CandidateList,
    /// Run by `sh -c`, once for each candidate.
    pub command: &'a str,
    /// How its last line is read.
    pub reading: Reading,
    /// How long one run may take.
    pub time_max: Duration,
    /// Let the command's standard error through.
    pub show_errors: bool,
    /// Number of runs at a time; at least one.
    pub jobs: usize,
}

/// What became of one candidate.
pub type Outcome = Result<Value, Failure>;

/// The evaluation was interrupted; every command has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

impl Plan<'_> {
    /// Evaluates every candidate, even if others fail. The results are in the order of the
    /// candidates, however many run at a time. `done` is called after each run with the number of
    /// runs done and, if this one failed, the reason.
    ///
    /// **Errors**: [`Interrupted`].
    pub fn evaluate(
        &self,
        stop: &Stop,
        done: &(dyn Fn(usize, Option<&Failure>) + Sync),
    ) -> Result<Vec<Outcome>, Interrupted> {
        let count = self.space.count();
        let next = AtomicUsize::new(0);
        let results: Mutex<(usize, Vec<Option<Outcome>>)> = Mutex::new((0, vec![None; count]));
        let work = || {
            while stop.wishes() == 0 {
                let candidate = next.fetch_add(1, Ordering::Relaxed);
                if candidate >= count {
                    break;
                }
                let result = self.run(candidate, stop);
                if result == Err(Failure::Interrupted) {
                    break;
                }
                let mut all = results.lock().unwrap_or_else(PoisonError::into_inner);
                all.0 += 1;
                // Under the lock, so that the counts are told in order.
                done(all.0, result.as_ref().err());
                all.1[candidate] = Some(result);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.jobs.min(count) {
                scope.spawn(work);
            }
            work();
        });
        let (_, results) = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        if stop.wishes() > 0 {
            return Err(Interrupted);
        }
        results
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .ok_or(Interrupted)
    }

    fn run(&self, candidate: usize, stop: &Stop) -> Outcome {
        let job = Job {
            command: self.command,
            input: &self.space.json(candidate).to_string(),
            variables: &self.space.environment(candidate),
            time_max: self.time_max,
            errors: if self.show_errors {
                Errors::Shown
            } else {
                Errors::Discarded
            },
        };
        self.reading.read(&command::run(&job, stop)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan<'a>(space: &'a CandidateList, command: &'a str, jobs: usize) -> Plan<'a> {
        let time_max = Duration::from_secs(20);
        Plan {
            space,
            command,
            reading: Reading::Number,
            time_max,
            show_errors: false,
            jobs,
        }
    }

    #[test]
    fn results_do_not_depend_on_how_many_run_at_a_time() {
        let text =
            "design = \"grid\"\n[parameters.x]\nlow = 0\nhigh = 6\ninteger = true\npoints = 7";
        let space = CandidateList::parse("s", text).unwrap();
        // The last is done first; one fails.
        let command = "sleep 0.$((6 - SORDINO_X)); test $SORDINO_X != 3 && echo 0.$SORDINO_X";
        let told = Mutex::new(Vec::new());
        let note = |count: usize, failure: Option<&Failure>| {
            told.lock().unwrap().push((count, failure.is_some()))
        };
        let parallel = plan(&space, command, 7)
            .evaluate(&Stop::never(), &note)
            .unwrap();
        let told = told.into_inner().unwrap();
        assert_eq!(
            told.iter().map(|told| told.0).collect::<Vec<_>>(),
            [1, 2, 3, 4, 5, 6, 7]
        );
        assert_eq!(told.iter().filter(|told| told.1).count(), 1);
        let serial = plan(&space, command, 1)
            .evaluate(&Stop::never(), &|_, _| {})
            .unwrap();
        assert_eq!(serial, parallel);
        assert_eq!(serial[6], Ok(Value::Number(0.6)));
        assert_eq!(
            serial[3],
            Err(Failure::Exit {
                code: Some(1),
                words: String::new()
            })
        );
    }

    #[test]
    fn a_stop_ends_every_command() {
        let space =
            CandidateList::parse("s", "candidates = 4\n[parameters.x]\nlow = 0\nhigh = 1").unwrap();
        let stop = Stop::never();
        let wisher = stop.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            wisher.wish();
        });
        let file = std::env::temp_dir().join(format!("sordino-stop-{}", std::process::id()));
        let command = format!("(sleep 3; echo alive > {}) & sleep 600", file.display());
        assert_eq!(
            plan(&space, &command, 2).evaluate(&stop, &|_, _| {}),
            Err(Interrupted)
        );
        std::thread::sleep(Duration::from_secs(4));
        assert!(!file.exists());
    }
}
