//! What the program says on standard error while it works: a bar on a terminal, a line for every
//! tenth elsewhere, JSON lines if asked for. No wait is silent: a slow stage is named repeatedly.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::log::{self, Line, Log};
use super::{BudgetLeft, Progress, Stage, Step};
use crate::text::{significant, significant_down, significant_up};

/// Least time between two `progress` lines of JSON.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// What happened last.
#[derive(Debug)]
struct Last {
    what: String,
    step: Option<Step>,
    epsilon: (Option<f64>, Option<f64>),
    at: Instant,
    written: Option<Instant>,
    /// Units already done when this process began.
    found: u64,
}

#[derive(Debug)]
struct Shared {
    start: Instant,
    log: Log,
    bar: Option<ProgressBar>,
    unit: &'static str,
    done: AtomicU64,
    total: u64,
    ended: AtomicBool,
    last: Mutex<Last>,
}

/// Tells people or programs about the progress of an execution.
#[derive(Debug)]
pub struct ProgressWriter {
    shared: Arc<Shared>,
    ticker: Option<JoinHandle<()>>,
}

impl ProgressWriter {
    /// A writer for a command that counts up to `total`, with the unit's name in the plural.
    pub fn new(command: &str, scenario: &str, unit: &'static str, total: u64) -> Self {
        let log = Log::chosen();
        let what = "the functions".to_owned();
        let bar = (log == Log::Text && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            let template =
                format!("{{bar:24}} {{percent:>3}} %  {{elapsed}}, {{eta}} left, {{per_sec}} {unit}  {{wide_msg}}");
            bar.set_style(ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message(format!("waiting for {what}"));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        let now = Instant::now();
        let last = Last {
            what,
            step: None,
            epsilon: (None, None),
            at: now,
            written: None,
            found: 0,
        };
        let shared = Arc::new(Shared {
            start: now,
            log,
            bar,
            unit,
            done: AtomicU64::new(0),
            total,
            ended: AtomicBool::new(false),
            last: Mutex::new(last),
        });
        if log == Log::Json {
            let version = Some(env!("CARGO_PKG_VERSION"));
            let total = Some(total).filter(|total| *total > 0);
            let unit = Some(unit);
            Line {
                event: "start",
                command: Some(command),
                version,
                scenario: Some(scenario),
                total,
                unit,
                ..Line::default()
            }
            .write();
        }
        let ticker = shared.bar.is_none().then(|| {
            let shared = shared.clone();
            std::thread::spawn(move || shared.tick())
        });
        ProgressWriter { shared, ticker }
    }

    /// Shows a message for people.
    pub fn note(&self, text: &str) {
        match &self.shared.bar {
            Some(bar) => bar.suspend(|| log::note(text)),
            None => log::note(text),
        }
    }

    /// Reports an event of a sweep; people are shown only the failures.
    pub fn event(&self, line: Line<'_>) {
        match self.shared.log {
            Log::Json => line.write(),
            Log::Text => {
                if let Some(message) = line.message {
                    self.note(&format!("{}: {message}", line.folder.unwrap_or("")));
                }
            }
        }
    }

    /// Takes the bar away.
    pub fn finish(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        if let Some(ticker) = self.ticker.take() {
            ticker.thread().unpark();
            let _ = ticker.join();
        }
        if let Some(bar) = &self.shared.bar {
            bar.finish_and_clear();
        }
    }

    /// A writer for one run folder of a sweep, which puts the folder's name first.
    pub fn of_folder<'t>(&'t self, name: &'t str) -> FolderWriter<'t> {
        FolderWriter { writer: self, name }
    }

    fn members(&self, step: &Step, who: &str, name: &str) {
        let said = match step.stage {
            Stage::Agents { done, of } => {
                format!("waiting for {who}; {done} of {of} agents are done")
            }
            _ => format!("waiting for {who}"),
        };
        self.shared
            .awaits(Some(*step), format!("{}: {said}", place(step, name)));
    }

    fn step(&self, step: &Step, name: &str) {
        let place = place(step, name);
        let awaits = |what: String| {
            self.shared
                .awaits(Some(*step), format!("{place}: waiting for {what}"))
        };
        match step.stage {
            Stage::Agents { done: 0, of } => awaits(format!("{of} agents")),
            Stage::Agents { done, of } => awaits(format!("agents, {done} of {of} are done")),
            Stage::Release => awaits("the ledger and the noise of the release".to_owned()),
            Stage::Checkpoint => awaits("the checkpoint to be written and synced".to_owned()),
            Stage::Done { epsilon, budget } => {
                let said = match (epsilon, budget) {
                    (Some(epsilon), None) => {
                        format!("{place}; ε {} spent", significant_up(epsilon, 3))
                    }
                    (Some(epsilon), Some(BudgetLeft { left, most })) => format!(
                        "{place}; ε {} spent; of the budget {} of {} left",
                        significant_up(epsilon, 3),
                        significant_down(left, 3),
                        significant(most, 3)
                    ),
                    _ => place,
                };
                self.shared.done.fetch_add(1, Ordering::Relaxed);
                let left = budget.map(|budget| budget.left);
                self.shared.moved(
                    1,
                    Some(*step),
                    said,
                    (epsilon, left),
                    step.round == step.rounds,
                );
            }
        }
    }
}

impl Drop for ProgressWriter {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Progress for ProgressWriter {
    fn advance(&self, step: &Step) {
        self.step(step, "");
    }

    fn awaits(&self, step: &Step, who: &str) {
        self.members(step, who, "");
    }

    fn found(&self, steps: u64) {
        self.shared.found(steps);
    }

    fn job(&self, name: &str) {
        self.shared.job(name.to_owned());
    }
}

/// Reports on one run folder among many.
#[derive(Clone, Copy, Debug)]
pub struct FolderWriter<'t> {
    writer: &'t ProgressWriter,
    name: &'t str,
}

impl Progress for FolderWriter<'_> {
    fn advance(&self, step: &Step) {
        self.writer.step(step, self.name);
    }

    fn awaits(&self, step: &Step, who: &str) {
        self.writer.members(step, who, self.name);
    }

    fn found(&self, steps: u64) {
        self.writer.found(steps);
    }

    fn job(&self, name: &str) {
        self.writer.shared.job(format!("{}: {name}", self.name));
    }
}

/// How far an execution has come, in words; `name` is that of its folder, if it is one of many.
fn place(step: &Step, name: &str) -> String {
    let Step {
        run,
        method,
        round,
        rounds,
        ..
    } = step;
    format!(
        "{name}{}run {}, {method}, round {round} of {rounds}",
        if name.is_empty() { "" } else { ": " },
        run + 1
    )
}

impl Shared {
    fn last(&self) -> MutexGuard<'_, Last> {
        self.last
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Counts what was finished before this process began: it is done, and says nothing of the
    /// rate.
    fn found(&self, steps: u64) {
        if steps == 0 {
            return;
        }
        let done = self.done.fetch_add(steps, Ordering::Relaxed) + steps;
        if let Some(bar) = &self.bar {
            bar.inc(steps);
            bar.reset_eta();
        }
        let mut last = self.last();
        last.found += steps;
        if self.log == Log::Json && done == self.total {
            self.progress("progress", &last, None);
        }
    }

    /// Counts a finished job.
    fn job(&self, what: String) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.moved(1, None, what, (None, None), done == self.total);
    }

    /// Notes that a stage of a round begins.
    fn awaits(&self, step: Option<Step>, what: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.clone());
        }
        let mut last = self.last();
        (last.what, last.step, last.at) = (what, step, Instant::now());
    }

    /// Notes that `more` units are done.
    fn moved(
        &self,
        more: u64,
        step: Option<Step>,
        what: String,
        epsilon: (Option<f64>, Option<f64>),
        ends: bool,
    ) {
        let done = self.done.load(Ordering::Relaxed);
        let total = self.total.max(1);
        if let Some(bar) = &self.bar {
            bar.set_message(what);
            bar.inc(more);
            return;
        }
        let mut last = self.last();
        let now = Instant::now();
        (last.what, last.step, last.epsilon, last.at) = (what, step, epsilon, now);
        match self.log {
            Log::Json => {
                if ends
                    || last
                        .written
                        .is_none_or(|written| now - written >= PROGRESS_EVERY)
                {
                    last.written = Some(now);
                    self.progress("progress", &last, None);
                }
            }
            Log::Text => {
                let tenth = done * 10 / total;
                if tenth > done.saturating_sub(more) * 10 / total && done < total {
                    last.written = Some(now);
                    let share = tenth * 10;
                    log::say(&format!("{share:>3} %  {}{}", last.what, self.left(&last)));
                }
            }
        }
    }

    /// Rate in units a second, and the seconds left.
    fn rate(&self, last: &Last) -> Option<(f64, f64)> {
        let done = self.done.load(Ordering::Relaxed);
        let total = self.total;
        let here = done.saturating_sub(last.found);
        let rate = here as f64 / self.start.elapsed().as_secs_f64();
        (here > 0 && rate > 0.0).then(|| (rate, total.saturating_sub(done) as f64 / rate))
    }

    fn left(&self, last: &Last) -> String {
        self.rate(last).map_or(String::new(), |(rate, left)| {
            format!(
                " ({} {}/s, about {left:.0} s left)",
                significant(rate, 3),
                self.unit
            )
        })
    }

    fn progress(&self, event: &str, last: &Last, waited: Option<Duration>) {
        let rate = self.rate(last);
        let step = last.step.as_ref();
        let total = self.total;
        Line {
            event,
            run: step.map(|step| step.run),
            method: step.map(|step| step.method.name()),
            round: step.map(|step| step.round),
            rounds: step.map(|step| step.rounds),
            epsilon_spent: last.epsilon.0,
            epsilon_left: last.epsilon.1,
            what: Some(&last.what),
            waited_seconds: waited.map(|waited| milli(waited.as_secs_f64())),
            done: Some(self.done.load(Ordering::Relaxed)),
            total: Some(total).filter(|total| *total > 0),
            unit: Some(self.unit),
            rate: rate.map(|(rate, _)| milli(rate)),
            remaining_seconds: rate.map(|(_, left)| milli(left)),
            ..Line::default()
        }
        .write();
    }

    /// Names what the run waits for while there is nothing else to report.
    fn tick(&self) {
        let every = Duration::from_secs(if self.log == Log::Json { 5 } else { 30 });
        while !self.ended.load(Ordering::Relaxed) {
            std::thread::park_timeout(Duration::from_secs(1));
            let mut last = self.last();
            let now = Instant::now();
            let spoken = last.written.unwrap_or(self.start);
            if now - spoken < every || self.ended.load(Ordering::Relaxed) {
                continue;
            }
            last.written = Some(now);
            match self.log {
                Log::Json => self.progress("waiting", &last, Some(now - last.at)),
                Log::Text => log::say(&format!("       {}{}", last.what, self.left(&last))),
            }
        }
    }
}

fn milli(x: f64) -> f64 {
    (x * 1e3).round() / 1e3
}
