//! `sordino optimize`: Bayesian optimisation of a user's own command, without privacy.
//!
//! | module | what it holds |
//! |---|---|
//! | `arguments` | what is asked |
//! | `folder` | what is kept, and how a search goes on |
//! | `picture` | best so far |
//! | [`sordino_host::search`] | which point next |
//! | [`sordino_host::tune::command`] | one run of the command |

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use sordino_core::prior::Reading;
use sordino_experiment::progress::log::{self, Line, Log, note};
use sordino_experiment::text::{chain, significant};
use sordino_host::files::read_text;
use sordino_host::prior::PriorFile;
use sordino_host::search::{Head, Search, SearchError, VALUE_MAX};
use sordino_host::space::{BYTES_MAX, Goal, Point, Space, SpaceError, SpaceFile};
use sordino_host::text::{cut, exact};
use sordino_host::tune::command::{Errors, Failure, Job, run};
use sordino_host::tune::score;
use sordino_host::tune::stop::Stop;

use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::{Format, print, print_json};

mod arguments;
mod begun;
mod folder;
mod picture;

pub use arguments::Arguments;
use begun::Standing;
use folder::{Folder, recommended, result};
use picture::digits;

/// The longest pause before a command is tried again.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Questions that may fail in a row, after all tries, before the run ends.
const FAILED_MAX: usize = 10;
/// The same before any question was answered, so that a command that never works is soon told of;
/// as many as run at a time, if those are more. So it is of another command than that of the values
/// known, until it has given one.
const FAILED_FIRST_MAX: usize = 3;

/// So many values that are all one are no accident.
const SAME_MIN: usize = 3;

/// The most characters of a command's last line that are shown.
const LINE_SHOWN_MAX: usize = 60;

/// The end of the long help: a space file.
pub fn long_help() -> String {
    format!("A space file:\n\n{}", arguments::EXAMPLE)
}

/// Why a question has no value, as what the command did.
enum NoValue {
    /// It failed at this point.
    Failed(String),
    /// The shell has no such command (127), or may not run it (126): no failure of a point.
    NoCommand(String),
}

/// A question that a command was asked, and what became of it; nothing if the run was stopped.
type Answer = (Point, Option<Result<f64, NoValue>>);

/// Asks until as many values are known as were wanted.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    arguments.log.begin();
    if arguments.command.trim().is_empty() {
        return Err(CliError::input(
            "--command: is empty; admissible: what measures a point, as in --command 'python train.py'; nothing was run",
        ));
    }
    let stop =
        Stop::on_signals().map_err(|error| CliError::failure(format!("signals: {error}")))?;
    let text = read_text(&arguments.space, BYTES_MAX).map_err(CliError::input)?;
    let file =
        SpaceFile::parse(&arguments.space.display().to_string(), &text).map_err(CliError::input)?;
    let context = arguments.context(&file.space)?;
    let goal = file.goal.unwrap_or(Goal::Minimize);
    let head = Head::new(
        file.space.clone(),
        goal,
        arguments.seed.or(file.seed).unwrap_or(0),
    );
    searchable(arguments, &text, &head)?;
    told_of(&file);
    let named = arguments.prior.as_deref();
    let prior = named
        .map(|named| begun::prior(named, &arguments.out))
        .transpose()?;
    let (folder, search) = Folder::open(&arguments.out, &head, prior.as_ref(), arguments.resume)?;
    named.zip(prior.as_ref()).map_or(Ok(()), |(named, file)| {
        begun::keep(named, file, &arguments.out)
    })?;
    let standing = begun::standing(&arguments.command, search.len(), &arguments.out)?;
    prior
        .iter()
        .for_each(|prior| told_of_prior(prior, file.value.as_deref()));
    let wanted = wanted(arguments, &search);
    if search.len() >= wanted {
        note(&format!(
            "{} values are known, and {wanted} are wanted, those included: nothing is left to run; a larger --evaluations goes on",
            search.len()
        ));
    }
    let mut course = Course {
        arguments,
        context,
        wanted,
        value: file.value.as_deref(),
        folder,
        search,
        running: 0,
        failed: 0,
        standing,
        doubted: Vec::new(),
        read_file: prior.as_ref().and_then(|prior| {
            let reading = Reading::of(Some(prior.label.self_test));
            reading.uses_file().then_some(true)
        }),
    };
    let ended = course.run(&stop);
    course.publish()?;
    ended?;
    course.tell()?;
    if arguments.log == Log::Json {
        log::done(Some(&arguments.out), None);
    }
    Ok(())
}

/// Refuses a space that no search has, where it is written.
///
/// **Errors**: such a space.
fn searchable(arguments: &Arguments, text: &str, head: &Head) -> Result<(), CliError> {
    let source = arguments.space.display().to_string();
    let Err(error) = Search::new(head.clone()) else {
        return Ok(());
    };
    let what = format!("{}; nothing was run", chain(&error));
    Err(match &error {
        SearchError::Column { name } | SearchError::Space(SpaceError::Values { name, .. }) => {
            CliError::input(SpaceFile::refusal(&source, text, name, what))
        }
        _ => CliError::input(format!("{source}: {what}")),
    })
}

/// Says which keys of the file are another command's, and what it does not say.
fn told_of(file: &SpaceFile) {
    let others = file.of_lists();
    if !others.is_empty() {
        note(&format!(
            "{} of the space file: for `sordino tune`, not used here",
            others.join(", ")
        ));
    }
    if file.goal.is_none() {
        note("the space file names no goal: smaller values are better");
    }
}

/// Says what the search begins with, and what of it; `value` is what the space file calls its
/// value.
fn told_of_prior(file: &PriorFile, value: Option<&str>) {
    let label = &file.label;
    let read = match Reading::of(Some(label.self_test)) {
        Reading::Trusted => "the search begins with it",
        Reading::Doubted => "the search weighs it by its own first values",
        _ => "its self-test speaks against it, and the search does not read it",
    };
    note(&format!(
        "prior file: {} contributors of {}; {read}",
        label.contributors, label.dataset
    ));
    if let (Some(theirs), Some(own)) = (&label.value, value)
        && theirs != own
    {
        note(&format!(
            "prior file: of values named `{theirs}`, and the space file's are named `{own}`: that they are the same, only you know"
        ));
    }
    if label.simulated {
        note(
            "prior file: of a simulation, whose noise can be predicted: it protects none of its contributors, whatever its ε",
        );
    }
}

/// Number of values to learn: no more than there are points.
fn wanted(arguments: &Arguments, search: &Search) -> usize {
    let wanted = arguments.evaluations as usize;
    let points = search
        .head()
        .space
        .core()
        .ok()
        .and_then(|space| space.count());
    match points.and_then(|points| usize::try_from(points).ok()) {
        Some(points) if points < wanted => {
            note(&format!(
                "the space has {points} points: {points} evaluations"
            ));
            points
        }
        _ => wanted,
    }
}

/// A search under way, and the commands that run for it.
struct Course<'a> {
    arguments: &'a Arguments,
    context: Value,
    wanted: usize,
    value: Option<&'a str>,
    folder: Folder,
    search: Search,
    running: usize,
    /// Questions that failed in a row.
    failed: usize,
    standing: Standing,
    /// Questions at which a command on trial failed. They stay under way until it gives a value:
    /// then they have failed, otherwise nothing of them is kept.
    doubted: Vec<Point>,
    /// Whether the last question was asked by the file, as it was told; nothing without one, or of
    /// one that is not read.
    read_file: Option<bool>,
}

impl Course<'_> {
    /// Asks and waits, until enough is known or too much failed.
    fn run(&mut self, stop: &Stop) -> Result<(), CliError> {
        let arguments = self.arguments;
        let space = self.search.head().space.clone();
        let (sender, answers) = channel();
        std::thread::scope(|scope| {
            // What was under way when an earlier run ended.
            let mut waiting = self.search.pending();
            waiting.reverse();
            let ended = loop {
                let room = self.running < usize::from(arguments.jobs) && stop.wishes() == 0;
                let next = if room {
                    self.next(&mut waiting)
                } else {
                    Ok(None)
                };
                match next {
                    Ok(Some(point)) => {
                        self.running += 1;
                        let space = &space;
                        let sender = Sender::clone(&sender);
                        scope.spawn(move || {
                            let answer = asked(arguments, space, &point, stop);
                            // Nobody waits for it after an error.
                            drop(sender.send((point, answer)));
                        });
                    }
                    Ok(None) if self.running == 0 => break Ok(()),
                    Ok(None) => {
                        if let Err(error) = self.wait(&answers) {
                            break Err(error);
                        }
                    }
                    Err(error) => break Err(error),
                }
            };
            if ended.is_err() {
                stop.wish();
            }
            ended
        })?;
        // A signal that comes with the last value interrupts nothing.
        if stop.wishes() > 0 && !self.has_all() {
            let out = arguments.out.display();
            let known = self.search.len();
            let kept = match known {
                1 => "1 value is kept".to_owned(),
                _ => format!("{known} values are kept"),
            };
            let why = format!(
                "interrupted: every command was ended; {kept} in {out}; the same command with --resume goes on"
            );
            return Err(CliError::interrupted(why, stop.exit_code()));
        }
        match self.doubted.len() {
            0 => Ok(()),
            _ => Err(self.given_up("gave no value")),
        }
    }

    /// The next question, if there is to be one.
    fn next(&mut self, waiting: &mut Vec<Point>) -> Result<Option<Point>, CliError> {
        if self.search.len() + self.running >= self.wanted {
            return Ok(None);
        }
        let point = match waiting.pop() {
            Some(point) => point,
            None if self.exhausted() => return Ok(None),
            None => {
                let point = self.search.ask(&self.context).map_err(CliError::failure)?;
                self.folder.record(&self.search)?;
                self.told_of_file();
                point
            }
        };
        let at = self.search.len() + self.search.failed() + self.doubted.len() + self.running + 1;
        note(&format!(
            "question {at}: {}; waiting for {}",
            shown(&point),
            commands(self.running + 1)
        ));
        Ok(Some(point))
    }

    /// Whether there is nothing left to ask.
    fn has_all(&self) -> bool {
        self.search.len() >= self.wanted || (self.search.pending().is_empty() && self.exhausted())
    }

    /// Whether every point of the space was asked.
    fn exhausted(&self) -> bool {
        let points = self
            .search
            .head()
            .space
            .core()
            .ok()
            .and_then(|space| space.count());
        points.is_some_and(|points| {
            (self.search.len() + self.search.failed() + self.search.pending().len()) as u64
                >= points
        })
    }

    /// Waits for one command to end, and writes down what it said.
    fn wait(&mut self, answers: &Receiver<Answer>) -> Result<(), CliError> {
        let (point, answer) = answers.recv().map_err(CliError::failure)?;
        self.running -= 1;
        let shown = shown(&point);
        match answer {
            None => return Ok(()),
            Some(Ok(value)) => {
                self.search
                    .tell(&Value::Object(point), value)
                    .map_err(CliError::failure)?;
                self.failed = 0;
                self.folder.record(&self.search)?;
                self.has_measured()?;
                let best = self.best()?.map_or(value, |(_, best)| best);
                note(&format!(
                    "{} of {}: {} at {shown}; best {}",
                    self.search.len(),
                    self.wanted,
                    significant(value, digits(&self.search)),
                    significant(best, digits(&self.search))
                ));
                self.progress(value, best);
            }
            Some(Err(NoValue::NoCommand(why))) => {
                let out = self.arguments.out.display();
                return Err(CliError::failure(format!(
                    "the command {why}: the shell does not find it (127) or may not run it (126); no question counts as \
                     failed, and --resume goes on in {out}"
                )));
            }
            Some(Err(NoValue::Failed(why))) => {
                self.failed += 1;
                if self.standing == Standing::OnTrial {
                    self.doubted.push(point);
                } else {
                    self.fail(point)?;
                }
                note(&format!("no value at {shown}: the command {why}"));
                if self.failed >= self.failed_max() {
                    return Err(self.given_up(&why));
                }
            }
        }
        self.publish()
    }

    fn publish(&self) -> Result<(), CliError> {
        self.folder.publish(&self.search, &self.context, self.value)
    }

    /// The best value where the parameters that are given have the values of this run.
    fn best(&self) -> Result<Option<(Point, f64)>, CliError> {
        let best = self.search.best_given(&self.context);
        best.map_err(CliError::failure)
    }

    /// Says when values speak against the file, and when they no longer do.
    fn told_of_file(&mut self) {
        let reads = self.search.reads_file();
        if reads == self.read_file {
            return;
        }
        if let (Some(reads), Some(_)) = (reads, self.read_file) {
            note(if reads {
                "prior file: your values speak for it again, and it is read"
            } else {
                "prior file: your values speak against it, or say enough by themselves; the search goes on without it"
            });
        }
        self.read_file = reads;
    }

    /// A question under way has failed for good.
    fn fail(&mut self, point: Point) -> Result<(), CliError> {
        self.search
            .fail(&Value::Object(point))
            .map_err(CliError::failure)?;
        self.folder.record(&self.search)
    }

    /// The command has given a value: it is that of the search, and where it failed before, it is
    /// the point that failed.
    fn has_measured(&mut self) -> Result<(), CliError> {
        if self.standing != Standing::Known {
            begun::keep_command(&self.arguments.command, &self.arguments.out)?;
            self.standing = Standing::Known;
        }
        std::mem::take(&mut self.doubted)
            .into_iter()
            .try_for_each(|point| self.fail(point))
    }

    /// The end of a run of which too much failed, the last question as `why` says.
    fn given_up(&self, why: &str) -> CliError {
        let failed = self.failed;
        let out = self.arguments.out.display();
        let kept = if self.standing == Standing::OnTrial {
            format!(
                "it is another command than that of the {} values in {out}, so none of these questions counts as failed, and \
                 --resume asks them again; if the points are what fails, remove {out}/{}",
                self.search.len(),
                begun::COMMAND
            )
        } else {
            format!("what was learned is in {out}, and --resume goes on")
        };
        CliError::failure(format!(
            "{failed} questions in a row failed, the last because the command {why}; {kept}"
        ))
    }

    /// A line for programs that watch; people have read it.
    fn progress(&self, value: f64, best: f64) {
        if Log::chosen() == Log::Json {
            Line {
                event: "progress",
                done: Some(self.search.len() as u64),
                total: Some(self.wanted as u64),
                unit: Some("evaluations"),
                value: Some(value),
                best: Some(best),
                ..Line::default()
            }
            .write();
        }
    }

    /// Questions in a row that may fail.
    fn failed_max(&self) -> usize {
        let at_once = usize::from(self.arguments.jobs);
        if self.search.is_empty() || self.standing == Standing::OnTrial {
            at_once.clamp(FAILED_FIRST_MAX, FAILED_MAX)
        } else {
            FAILED_MAX
        }
    }

    /// Says that all values are one: the command may not read its parameters.
    fn told_of_one_value(&self) {
        let mut values = self.search.history().map(|(_, value)| value);
        let first = values.next();
        if self.search.len() >= SAME_MIN && values.all(|value| Some(value) == first) {
            note(&format!(
                "all {} values are {}: does the command read its parameters (SORDINO_<NAME>, or JSON on standard input)?",
                self.search.len(),
                first.map_or_else(String::new, exact)
            ));
        }
    }

    /// The results on standard output.
    fn tell(&self) -> Result<(), CliError> {
        if self.search.is_empty() {
            return Err(CliError::failure("no question was answered"));
        }
        self.told_of_one_value();
        if self.arguments.format == Format::Json {
            return print_json(&result(&self.search, &self.context, self.value)?);
        }
        let name = self.value.unwrap_or("value");
        let mut text = match self.best()? {
            Some((point, best)) => format!(
                "best {name}: {} at {}\n",
                significant(best, digits(&self.search)),
                shown(&point)
            ),
            None => format!("no {name} was measured with what is given\n"),
        };
        if let Some((point, mean)) = recommended(&self.search, &self.context)? {
            text.push_str(&format!(
                "recommended: {}, where the model expects {}{}\n",
                shown(&point),
                significant(mean, digits(&self.search) - 2),
                match self.search.head().prior {
                    Some(_) => ", by your values alone",
                    None => "",
                }
            ));
        }
        let failed = match self.search.failed() {
            0 => String::new(),
            1 => ", 1 question failed".to_owned(),
            count => format!(", {count} questions failed"),
        };
        let count = self.search.len();
        let out = self.arguments.out.display();
        print(&format!(
            "{text}{count} evaluations{failed}; best.json, history.csv and best.svg are in {out}\n"
        ))
    }
}

fn commands(count: usize) -> String {
    if count == 1 {
        "1 command".into()
    } else {
        format!("{count} commands")
    }
}

/// A point as people read it.
fn shown(point: &Point) -> String {
    let mut parts = Vec::new();
    for (name, value) in point {
        let value = match (value.as_f64(), value.as_str()) {
            (Some(x), _) if x.fract() != 0.0 => significant(x, 4),
            (_, Some(text)) => text.to_owned(),
            _ => value.to_string(),
        };
        parts.push(format!("{name} = {value}"));
    }
    parts.join(", ")
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok()
}

/// What is probably wrong with a line that is no number.
fn hint(line: &str) -> &'static str {
    if is_number(&line.replacen(',', ".", 1)) {
        "; decimals follow a point"
    } else if line.starts_with(['{', '[', '"']) {
        "; print the number alone, not as JSON"
    } else if line
        .split(|c: char| c.is_whitespace() || c == '=' || c == ':')
        .any(is_number)
    {
        "; print the number alone"
    } else {
        ""
    }
}

/// Runs the command for one point, again if it fails; nothing if the run is stopped.
fn asked(
    arguments: &Arguments,
    space: &Space,
    point: &Point,
    stop: &Stop,
) -> Option<Result<f64, NoValue>> {
    let mut pause = Duration::from_secs(1);
    let mut tries = 0;
    let input = Value::Object(point.clone()).to_string() + "\n";
    let job = Job {
        command: &arguments.command,
        input: &input,
        variables: &space.environment(point),
        time_max: arguments.time_limit.unwrap_or(Duration::MAX),
        // Lines of a command among those of the log would be none that a program reads.
        errors: match Log::chosen() {
            Log::Text => Errors::Shown,
            Log::Json => Errors::Quoted,
        },
    };
    loop {
        let line = run(&job, stop);
        let why = match line
            .as_deref()
            .map_err(Failure::clone)
            .and_then(score::number)
        {
            Ok(value) if value.abs() <= VALUE_MAX => return Some(Ok(value)),
            // The machine did what it should: another try would give the same.
            Ok(value) => {
                let value = exact(value);
                let why = format!("printed {value}; admissible: a number up to {VALUE_MAX:e}");
                return Some(Err(NoValue::Failed(why)));
            }
            Err(why @ Failure::NoNumber) => match &line {
                Ok(line) => format!(
                    "{why}, which is `{}`{}",
                    cut(line, LINE_SHOWN_MAX),
                    hint(line)
                ),
                Err(_) => why.to_string(),
            },
            // An answer as well: a training that diverges diverges again.
            Err(why @ Failure::NotFinite) => {
                return Some(Err(NoValue::Failed(why.to_string())));
            }
            Err(Failure::Interrupted) => return None,
            Err(
                why @ Failure::Exit {
                    code: Some(126 | 127),
                    ..
                },
            ) => {
                return Some(Err(NoValue::NoCommand(why.to_string())));
            }
            Err(why) => why.to_string(),
        };
        if tries == arguments.retries {
            return Some(Err(NoValue::Failed(why)));
        }
        tries += 1;
        let seconds = pause.as_secs();
        let all = arguments.retries;
        note(&format!(
            "{}: the command {why}; tried again in {seconds} s ({tries} of {all} times)",
            shown(point)
        ));
        let start = Instant::now();
        while start.elapsed() < pause {
            if stop.wishes() > 0 {
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        pause = (2 * pause).min(PAUSE_MAX);
    }
}
