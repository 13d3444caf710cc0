//! `sordino-net join`: takes part, with a command of the user's for measuring.

use std::io::{IsTerminal, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use clap::{Args, ValueEnum};
use sordino_engine::federated::export::Language;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print;
use sordino_experiment::progress::log::Log;
use sordino_experiment::text::{chain, significant};
use sordino_host::files::{read_text, write_privately};
use sordino_host::ledger::contributions::Contributions;
use sordino_host::space::{Point, environment};
use sordino_host::text::{cut, plain};
use sordino_host::tune::command::{Errors, Failure, Job, run};
use sordino_host::tune::stop::Stop;

use super::common;
use super::signals::{Ends, Signals};
use crate::agent::replay::AGENT;
use crate::agent::{Best, Query};
use crate::asked::Asked;
use crate::data::Data;
use crate::folder::PRIOR;
use crate::invitation::{Invitation, NoInvitation};
use crate::join::{Joining, WAIT_MAX, fetched, join, trusted};
use crate::progress::{done, note};
use crate::provision;
use crate::shares::MaskKey;

/// An invitation is read up to this length.
pub(super) const INVITATION_BYTES_MAX: u64 = 4096;

/// Arguments of `join`.
#[derive(Clone, Debug, Args)]
pub struct Join {
    /// The whole line that `sordino invite` printed; @FILE or - (standard input) keeps its token
    /// from others on this machine, who may read the arguments of every process
    #[arg(value_name = "INVITATION|@FILE|-")]
    invitation: String,
    /// Command that measures a point, run by `sh`. In a campaign it gets every parameter in its own
    /// unit, as variables SORDINO_RATE, … and as one line of JSON, {"rate": 0.01, …}, on standard
    /// input; of a scenario coordinates in [0, 1] as SORDINO_X0, SORDINO_X1, … and {"x0": 0.25,
    /// "x1": 0.5}. The last line it prints is the value: what `sordino terms` calls better is
    /// better, of a scenario what is larger
    #[arg(long)]
    command: String,
    /// Where key and state are kept; start again with the same folder to go on [default:
    /// ./sordino-agent-RUN-SLOT]
    #[arg(long)]
    folder: Option<PathBuf>,
    /// A certificate that the authority in the terms signed, in PEM, for a federation served with
    /// --ca
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Contribute to no more than this ε, and go on with what others share [default: what the terms
    /// say, if that is at most 1; beyond, it asks on a terminal and refuses elsewhere]
    #[arg(long, value_name = "EPSILON")]
    max_epsilon: Option<f64>,
    /// Agree to no terms with a larger δ [default: 1/(10 N), which no federation may exceed]
    #[arg(long, value_name = "DELTA")]
    max_delta: Option<f64>,
    /// Take part only if this is the key of the helper's masks, 64 hexadecimal digits: whoever runs
    /// the helper tells it, not the server
    #[arg(long, value_name = "KEY")]
    helper_key: Option<MaskKey>,
    /// How many evaluations this site makes in all, 1 to 200; in a campaign [default: 30, or as it
    /// began]
    #[arg(long, value_name = "EVALUATIONS", value_parser = clap::value_parser!(u32).range(1..=200))]
    evaluations: Option<u32>,
    /// Name of the data that the values come from. What federations get of data of one name is
    /// added up in the user's state folder and held against --max-epsilon, before anything is sent.
    /// Names that differ in case or white space are one [default: none: federations joined from one
    /// folder without a name count as if they got the same data, agents of one federation as if
    /// different]
    #[arg(long, value_name = "NAME", alias = "data-name")]
    dataset: Option<String>,
    /// Folder of that count; not the agent's own, and no backup of it may be put back [default:
    /// $XDG_STATE_HOME/sordino, or ~/.local/state/sordino]
    #[arg(long, value_name = "DIR")]
    counter: Option<PathBuf>,
    /// How often a command that fails is tried again for the same point, after 1 s, 2 s, 4 s, … of
    /// at most a minute
    #[arg(long, value_name = "TIMES", default_value_t = 3)]
    retries: u32,
    /// Kill a command that takes longer, with what it started, and count it as failed [default:
    /// none]
    #[arg(long, value_name = "TIME", value_parser = common::duration)]
    time_limit: Option<Duration>,
    /// End when the server has not answered for this long, with exit code 1; the same command goes
    /// on. A server that says "later" (503) has not answered [default: none, it is tried again for
    /// ever]
    #[arg(long, value_name = "TIME", value_parser = common::duration)]
    give_up_after: Option<Duration>,
    /// Progress on standard error: lines for people, or JSON objects
    #[arg(long, value_enum, default_value_t)]
    log: Log,
    /// Print every point and its value: these are observations, so not for a log that others read
    #[arg(long)]
    show_values: bool,
}

/// Executes the command.
pub fn execute(arguments: &Join) -> Result<ExitCode, CliError> {
    arguments.log.begin();
    if arguments
        .max_epsilon
        .is_some_and(|most| !(most > 0.0 && most.is_finite()))
    {
        return Err(CliError::input(
            "--max-epsilon: a number above 0 is expected",
        ));
    }
    if arguments
        .max_delta
        .is_some_and(|most| !(most > 0.0 && most < 1.0))
    {
        return Err(CliError::input(
            "--max-delta: a number between 0 and 1 is expected",
        ));
    }
    no_braces(&arguments.command)?;
    let invitation = invitation(&arguments.invitation)?;
    if let Some(expected) = arguments
        .helper_key
        .filter(|expected| invitation.helper != Some(*expected))
    {
        let found = invitation
            .helper
            .map_or("none".to_owned(), |found| found.to_string());
        return Err(CliError::input(format!(
            "--helper-key {expected}: the invitation names {found}; nothing was sent"
        )));
    }
    let folder = arguments.folder.clone().unwrap_or_else(|| {
        PathBuf::from(format!(
            "sordino-agent-{:016x}-{}",
            invitation.deployment, invitation.slot
        ))
    });
    let begun = folder.clone();
    let signals = Signals::of(Ends::Unfinished, move || kept(&begun))?;
    let certified = common::certified(arguments.certificate.as_ref(), arguments.key.as_ref());
    let show = arguments.show_values;
    let epsilon_max = arguments.max_epsilon;
    let delta_max = arguments.max_delta;
    let is_seen = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let asked = is_seen.then_some(ask as fn(&str) -> bool);
    let evaluations = arguments.evaluations;
    let wait = WAIT_MAX;
    let data = Some(data(arguments)?);
    let joining = Joining {
        invitation,
        folder,
        certified,
        epsilon_max,
        asked,
        delta_max,
        evaluations,
        data,
        wait,
        give_up: arguments.give_up_after,
    };
    let joined = join(&joining, |query| measure(arguments, query));
    let joined = match signals.or_done(joined)? {
        ControlFlow::Continue(joined) => joined,
        ControlFlow::Break(code) => return Ok(code),
    };
    let joined = joined.map_err(CliError::failure)?;
    let mut told = match &joined.best {
        Some(best) if show => {
            format!(
                "best: {} at ({}), point {}\n",
                best.value,
                at(&best.point, best.named.as_ref()),
                best.number + 1
            )
        }
        Some(best) => {
            let path = joining.folder.join("best.json");
            write_privately(&path, format!("{}\n", best_json(best)?).as_bytes())
                .map_err(CliError::failure)?;
            format!("best: in {}\n", path.display())
        }
        None => String::new(),
    };
    if let Some(file) = &joined.file {
        let path = joining.folder.join(PRIOR);
        // It may not have been possible so far, and what is named is there.
        file.save(&path).map_err(CliError::failure)?;
        told += &format!(
            "what all sites learned: {}; sordino prior show says what it is worth\n",
            path.display()
        );
    }
    let last = format!(
        "agent {}: {}, sent to {}, chain {}\n{told}",
        joined.agent,
        counted(
            joined.observations as usize,
            "point measured",
            "points measured"
        ),
        counted(joined.given.len(), "round", "rounds"),
        joined.chain
    );
    print(&last)?;
    done(&last, &joining.folder);
    Ok(ExitCode::SUCCESS)
}

/// A number of things, in words.
fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// What is kept of an agent that is stopped, and how to go on.
fn kept(folder: &Path) -> String {
    if folder.join(AGENT).exists() {
        let folder = folder.display();
        format!("{folder} has what was measured: the same command goes on")
    } else {
        "nothing was measured yet: the same command begins again".to_owned()
    }
}

/// The data of these arguments, and where what it gave is counted.
fn data(arguments: &Join) -> Result<Data, CliError> {
    let place = match &arguments.counter {
        Some(folder) => folder.join("contributions"),
        None => Contributions::of_user().map_err(|error| {
            CliError::failure(format!(
                "{error}; --counter names a folder for the count of what data gave"
            ))
        })?,
    };
    let here = std::env::current_dir().map_err(|error| {
        CliError::failure(format!("the folder that this was started in: {error}"))
    })?;
    Ok(Data {
        name: arguments.dataset.clone(),
        place,
        here,
    })
}

/// Arguments of `terms`.
#[derive(Clone, Debug, Args)]
pub struct Terms {
    /// The whole line that `sordino invite` printed; @FILE or - (standard input) keeps its token
    /// from others on this machine, who may read the arguments of every process
    #[arg(value_name = "INVITATION|@FILE|-")]
    invitation: String,
    /// Text for people, one JSON object, or what a device of a campaign is compiled with
    #[arg(long, value_enum, default_value_t)]
    format: TermsFormat,
    /// Write what a device with the firmware `firmware-networked` is given before its first boot:
    /// the invitation, a secret that is drawn here, of a campaign its landmarks and points. Whoever
    /// reads the file can be the device
    #[arg(long, value_name = "FILE")]
    device: Option<PathBuf>,
    /// Where the device finds the server, an IPv4 address with its port [default: the invitation's]
    #[arg(long, value_name = "ADDRESS:PORT", requires = "device")]
    server: Option<String>,
}

/// As what terms are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum TermsFormat {
    /// Sentences for people
    #[default]
    Text,
    /// One JSON object
    Json,
    /// Of a campaign: constants for a device as a header for C
    C,
    /// Of a campaign: constants for a device as a module for Rust
    Rust,
}

/// Fetches the terms of an invitation and prints what is asked for. Nothing is agreed to, and no
/// token is shown.
pub fn terms(arguments: &Terms) -> Result<ExitCode, CliError> {
    let invitation = invitation(&arguments.invitation)?;
    let signals = Signals::of(Ends::Unfinished, || "nothing was agreed to".to_owned())?;
    let terms = match signals.or_done(fetched(&invitation, WAIT_MAX))? {
        ControlFlow::Continue(terms) => terms,
        ControlFlow::Break(code) => return Ok(code),
    };
    let terms = terms.map_err(CliError::failure)?;
    trusted(&terms, &invitation).map_err(CliError::failure)?;
    let asked = Asked::of(&terms, &invitation).map_err(CliError::failure)?;
    if let Some(path) = &arguments.device {
        let written = provision::write(path, &terms, &invitation, arguments.server.as_deref());
        written
            .map_err(|error| CliError::input(format!("--device {}: {error}", path.display())))?;
        note(&format!(
            "what a device is given: {}; only one device may have it",
            path.display()
        ));
    }
    let constants = |language| {
        terms
            .constants(&asked.to_string(), language)
            .map_err(CliError::input)
    };
    match arguments.format {
        TermsFormat::Text => print(&asked.to_string()),
        TermsFormat::Json => print(&format!(
            "{}\n",
            serde_json::to_string(&asked).map_err(CliError::failure)?
        )),
        TermsFormat::C => print(&constants(Language::C)?),
        TermsFormat::Rust => print(&constants(Language::Rust)?),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Asks the person at the terminal whether to agree to this sentence. Only `yes` does.
fn ask(sentence: &str) -> bool {
    const QUESTION: &str = "Do you agree? (yes or no; --max-epsilon sets a limit of your own)";
    let mut answer = String::new();
    let mut shown = std::io::stderr();
    let told = match Log::chosen() {
        Log::Text => write!(shown, "{sentence}.\n{QUESTION} ").and_then(|()| shown.flush()),
        // A line of the log like every other.
        Log::Json => {
            note(&format!("{sentence}. {QUESTION}"));
            Ok(())
        }
    };
    told.and_then(|()| std::io::stdin().read_line(&mut answer))
        .is_ok()
        && answer.trim() == "yes"
}

/// The invitation that an argument is, or names.
fn invitation(argument: &str) -> Result<Invitation, CliError> {
    let line = match (argument, argument.strip_prefix('@')) {
        ("-", _) => {
            let mut line = String::new();
            std::io::stdin()
                .take(INVITATION_BYTES_MAX)
                .read_to_string(&mut line)
                .map_err(CliError::failure)?;
            line
        }
        (_, Some(path)) => read_text(Path::new(path), INVITATION_BYTES_MAX)
            .map_err(|error| CliError::input(format!("invitation: {}", chain(&error))))?,
        (line, None) => line.to_owned(),
    };
    line.parse()
        .map_err(|error: NoInvitation| CliError::input(format!("invitation: {error}")))
}

/// The best point as programs read it: by names and in units, where there are any.
fn best_json(best: &Best) -> Result<serde_json::Value, CliError> {
    match &best.named {
        Some(point) => {
            Ok(serde_json::json!({"number": best.number, "point": point, "value": best.value}))
        }
        None => serde_json::to_value(best).map_err(CliError::failure),
    }
}

/// A point as people read it: by its names, which are the server's words, or coordinates.
fn at(point: &[f64], named: Option<&Point>) -> String {
    let parts: Vec<String> = match named {
        Some(named) => named
            .iter()
            .map(|(name, value)| plain(&format!("{name} = {value}")))
            .collect(),
        None => point.iter().map(|x| significant(*x, 4)).collect(),
    };
    parts.join(", ")
}

/// Refuses a command with the places for coordinates of earlier versions: everybody on a machine
/// can read the text of a process's command.
fn no_braces(command: &str) -> Result<(), CliError> {
    for (at, _) in command.match_indices("{x") {
        let rest = &command[at + "{x".len()..];
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        if digits > 0 && rest[digits..].starts_with('}') {
            let number = &rest[..digits];
            return Err(CliError::input(format!(
                "--command: {{x{number}}} is not replaced, because everybody on this machine can read the commands of processes: write \
                 $SORDINO_X{number} (quoted with ' for --command, not with \"), or read {{\"x{number}\": …}} from standard input"
            )));
        }
    }
    Ok(())
}

/// The point by names: those of its space, or x0, x1, … of the unit box.
fn names(query: &Query) -> Point {
    query.named.clone().unwrap_or_else(|| {
        query
            .point
            .iter()
            .enumerate()
            .map(|(i, x)| (format!("x{i}"), (*x).into()))
            .collect()
    })
}

/// The longest pause before a command is tried again.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Runs the command for one point, again if it fails.
async fn measure(arguments: &Join, query: Query) -> Result<f64, String> {
    let mut pause = Duration::from_secs(1);
    let mut failed = 0;
    loop {
        let error = match once(arguments, &query).await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        if failed == arguments.retries {
            return Err(error);
        }
        failed += 1;
        note(&format!(
            "{}: {error}; tried again in {} s ({failed} of {} times)",
            which(&query),
            pause.as_secs(),
            arguments.retries
        ));
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(PAUSE_MAX);
    }
}

/// Which point of how many this is, in words.
fn which(query: &Query) -> String {
    let Query {
        agent,
        number,
        evaluations,
        ..
    } = query;
    format!("agent {agent}: point {} of {evaluations}", number + 1)
}

/// Runs the command for one point.
async fn once(arguments: &Join, query: &Query) -> Result<f64, String> {
    let command = &arguments.command;
    let show = arguments.show_values;
    let at = if show {
        format!(" at ({})", at(&query.point, query.named.as_ref()))
    } else {
        String::new()
    };
    let last = match ran(arguments, &names(query)).await {
        Ok(last) => last,
        Err(Failure::NoNumber) => String::new(),
        Err(error) => return Err(format!("`{command}`{at} {}", why(&error, arguments))),
    };
    match last.parse::<f64>() {
        // A contribution of a larger one would be none.
        Ok(value) if value.abs() <= query.value_max => {
            let what = if show {
                format!("{at}: {value}")
            } else {
                " measured".into()
            };
            note(&format!("{}{what}", which(query)));
            Ok(value)
        }
        _ => Err(format!(
            "`{command}`{at} {}",
            no_value(&last, query.value_max, show)
        )),
    }
}

/// Characters of a last line that are shown.
const SHOWN: usize = 80;

/// What is wrong with a last line that is no value, in words. The line itself, which may tell an
/// observation, is in them only if it is to be shown.
fn no_value(line: &str, value_max: f64, show: bool) -> String {
    if line.is_empty() {
        return "printed nothing where a number is expected".to_owned();
    }
    let what = match line.parse::<f64>() {
        Ok(value) if value.is_finite() => "a number that is too large",
        Ok(_) => "NaN or an infinity",
        Err(_) => "a last line that is no number",
    };
    let line = if show {
        format!(", `{}`", cut(line, SHOWN))
    } else {
        "; --show-values shows it (it may tell an observation)".to_owned()
    };
    format!(
        "printed {what}{line}; admissible: a number from -{most} to {most}",
        most = significant(value_max, 1)
    )
}

/// Why a command gave no last line, in words.
fn why(error: &Failure, arguments: &Join) -> String {
    match (error, arguments.time_limit) {
        (Failure::TimeOut, Some(limit)) => {
            format!("took longer than {} s and was killed", limit.as_secs_f64())
        }
        (Failure::TimeOut, None) => "ended, and something that it had started went on".to_owned(),
        _ => error.to_string(),
    }
}

/// A command that runs on a thread of its own, and ends with whoever waits for it.
struct Running {
    stop: Arc<Stop>,
    /// Nobody sends; the other end is gone when the command is.
    ended: Receiver<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.wish();
        // Its process group may take a moment, and is not left behind.
        let _ = self.ended.recv();
    }
}

/// The last line that the command prints. The point is in its environment and on its standard
/// input, which only the owner of the process can read.
async fn ran(arguments: &Join, point: &Point) -> Result<String, Failure> {
    let command = arguments.command.clone();
    let input = format!("{}\n", serde_json::Value::from(point.clone()));
    let variables = environment(point);
    let time_max = arguments.time_limit.unwrap_or(Duration::MAX);
    let stop = Stop::never();
    let stopped = stop.clone();
    let (ends, ended) = channel::<()>();
    let _running = Running { stop, ended };
    let running = tokio::task::spawn_blocking(move || {
        let _until_here = ends;
        let job = Job {
            command: &command,
            input: &input,
            variables: &variables,
            time_max,
            errors: match Log::chosen() {
                Log::Text => Errors::Shown,
                // Lines of a command among those of the log would be none that a program reads.
                Log::Json => Errors::Quoted,
            },
        };
        run(&job, &stopped)
    });
    running
        .await
        .unwrap_or_else(|lost| Err(Failure::NotStarted(lost.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One sentence was said of all of them, and none showed the line.
    #[test]
    fn what_is_no_value_says_which_it_is_and_shows_its_line_only_if_asked() {
        let range = "; admissible: a number from -1e14 to 1e14";
        for (line, what) in [
            ("1e39", "printed a number that is too large"),
            ("nan", "printed NaN or an infinity"),
            ("-inf", "printed NaN or an infinity"),
            ("score: 0.5", "printed a last line that is no number"),
        ] {
            let shown = format!("{what}, `{line}`{range}");
            assert_eq!(no_value(line, 1e14, true), shown);
            let hidden = no_value(line, 1e14, false);
            assert!(
                hidden.starts_with(what) && hidden.ends_with(range),
                "{hidden}"
            );
            assert!(!hidden.contains(line), "{hidden}");
        }
        let nothing = "printed nothing where a number is expected";
        assert_eq!(no_value("", 1e14, true), nothing);
        assert!(no_value(&"x".repeat(1000), 1e14, true).len() < 200);
        assert_eq!(counted(1, "round", "rounds"), "1 round");
        assert_eq!(counted(0, "round", "rounds"), "0 rounds");
    }

    #[test]
    fn a_point_is_data_and_never_text_of_a_command() {
        let point = [0.1, 1.0, 1e-300, 0.123_456_789_012_345_68];
        let query = Query {
            agent: 0,
            candidate: 0,
            number: 0,
            evaluations: 20,
            point: point.to_vec(),
            named: None,
            value_max: 1e135,
        };
        assert_eq!(which(&query), "agent 0: point 1 of 20");
        let named = names(&query);
        let read: serde_json::Value =
            serde_json::from_str(&serde_json::Value::from(named.clone()).to_string()).unwrap();
        for (i, (x, (name, text))) in point.iter().zip(environment(&named)).enumerate() {
            assert_eq!(
                read[format!("x{i}")].as_f64().unwrap().to_bits(),
                x.to_bits(),
                "{i}"
            );
            assert_eq!(
                (name, text.parse::<f64>().unwrap().to_bits()),
                (format!("SORDINO_X{i}"), x.to_bits())
            );
        }
        // In units, whatever they are.
        let units = serde_json::json!({"kind": "a; rm -rf $HOME", "rate": 0.01});
        let in_units = Query {
            named: units.as_object().cloned(),
            ..query
        };
        assert_eq!(
            environment(&names(&in_units))[0],
            ("SORDINO_KIND".into(), "a; rm -rf $HOME".into())
        );
        for (command, number) in [
            ("echo {x0}", "0"),
            ("a '{x}' {x12}{y}", "12"),
            ("{x{x3}", "3"),
        ] {
            let said = no_braces(command).unwrap_err().to_string();
            assert!(
                said.contains(&format!("{{x{number}}} is not replaced")),
                "{said}"
            );
            assert!(said.contains(&format!("$SORDINO_X{number} ")), "{said}");
        }
        // Negative control: braces of a shell or of awk.
        for command in [
            "awk '{ print $1 }'",
            "echo ${x0}x {x} {xy} x0} {x1",
            "echo {x,0}",
        ] {
            if command.contains("${x0}") {
                assert!(
                    no_braces(command).is_err(),
                    "a shell's own variable x0 looks the same"
                );
            } else {
                no_braces(command).unwrap();
            }
        }
    }
}
