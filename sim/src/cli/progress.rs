//! Progress on standard error: a bar on a terminal, a line for every tenth elsewhere.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::driver::{Method, Progress};

/// Shows how many rounds of all methods and runs are done, and what is awaited.
pub struct Bar {
    bar: Option<ProgressBar>,
    total: u64,
    runs: u32,
    done: AtomicU64,
}

impl Bar {
    /// A bar for `runs` runs of `methods` methods of `rounds` rounds after the initial one.
    pub fn new(runs: u32, methods: usize, rounds: u32) -> Self {
        let total = u64::from(runs) * methods as u64 * (u64::from(rounds) + 1);
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            let template = "{bar:28} {percent:>3} %  {elapsed} so far, {eta} left  {wide_msg}";
            bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message("waiting for the objectives");
            bar.enable_steady_tick(std::time::Duration::from_millis(200));
            bar
        });
        Bar { bar, total, runs, done: AtomicU64::new(0) }
    }

    /// A bar whose length the first job tells.
    pub fn of_jobs() -> Self {
        let bar = Bar::new(1, 1, 0);
        if let Some(bar) = &bar.bar {
            bar.set_message("");
        }
        bar
    }

    /// `done` of `total` jobs are done, the last was `what`.
    pub fn job(&self, done: u64, total: u64, what: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_length(total);
                bar.set_position(done);
                bar.set_message(what.to_owned());
            }
            None => {
                let tenth = |done: u64| done * 10 / total.max(1);
                if tenth(done) > tenth(done.saturating_sub(1)) && done < total {
                    eprintln!("{:>3} %  {what}", tenth(done) * 10);
                }
            }
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Bar {
    fn advance(&self, run: u32, method: Method, round: u32, waiting_for: &str) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let what = || format!("run {} of {}, {method}, round {round}: waiting for {waiting_for}", run + 1, self.runs);
        match &self.bar {
            Some(bar) => {
                bar.set_message(what());
                bar.inc(1);
            }
            None => {
                let tenth = |done: u64| done * 10 / self.total.max(1);
                if tenth(done) > tenth(done - 1) && done < self.total {
                    eprintln!("{:>3} %  {}", tenth(done) * 10, what());
                }
            }
        }
    }
}
