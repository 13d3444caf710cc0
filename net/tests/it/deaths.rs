//! Kill −9 again and again: a process that comes back, for all tests that kill.

use std::process::ExitStatus;
use std::time::Duration;

use super::util::Process;

/// A process that is killed and begun again, and how often it was killed.
pub struct Mortal<'a> {
    begin: Box<dyn Fn() -> Process + 'a>,
    process: Option<Process>,
    pub kills: u32,
}

impl<'a> Mortal<'a> {
    /// Begins the process.
    pub fn new(begin: impl Fn() -> Process + 'a) -> Self {
        let process = Some(begin());
        Mortal {
            begin: Box::new(begin),
            process,
            kills: 0,
        }
    }

    /// Kills it; false of one that has ended by itself, or is dead.
    pub fn dies(&mut self) -> bool {
        let Some(mut process) = self.process.take_if(|process| !process.is_over()) else {
            return false;
        };
        process.kill();
        self.kills += 1;
        true
    }

    /// Begins it again if it was killed.
    pub fn returns(&mut self) {
        let begin = &self.begin;
        self.process.get_or_insert_with(begin);
    }

    /// Kills it, and begins it again after this time; false of one that has ended by itself.
    pub fn falls(&mut self, dead_for: Duration) -> bool {
        let died = self.dies();
        if died {
            std::thread::sleep(dead_for);
            self.returns();
        }
        died
    }

    /// How it ended by itself.
    pub fn ended(mut self) -> ExitStatus {
        self.process
            .take()
            .expect("begun again after its last death")
            .ended()
    }
}
