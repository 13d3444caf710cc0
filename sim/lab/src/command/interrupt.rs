//! Ctrl-C and SIGTERM: finish the round, write a checkpoint, say how to go on. A second one ends
//! the program at once.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use sordino_experiment::progress::log;
use sordino_host::tune::stop::Stop;

use sordino_experiment::command_line::error::CliError;

/// Signals belong to the whole program, and so does which of them came.
static STOP: OnceLock<Arc<Stop>> = OnceLock::new();

/// What follows the first one.
const TOLD: &str =
    "interrupted: finishing the round and writing a checkpoint (once more to stop at once)";

/// A flag that the first interrupt sets.
pub fn flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = flag.clone();
    let stop = Stop::on_signals_telling(move |stop| {
        if stop.wishes() > 1 {
            return ControlFlow::Break(stop.exit_code());
        }
        set.store(true, Ordering::Relaxed);
        // By a thread of its own: a standard error that nobody reads keeps whoever writes to it,
        // and this thread is to hear the second one. Without a thread it is not said.
        let _told = std::thread::Builder::new().spawn(|| log::note(TOLD));
        ControlFlow::Continue(())
    });
    match stop {
        Ok(stop) => drop(STOP.set(stop)),
        // An interrupt then ends the program: the last checkpoint is still there.
        Err(error) => log::note(&format!("signals: {error}")),
    }
    flag
}

/// The command that goes on: the same arguments, into the same folder, with `--resume`.
pub fn command(arguments: &[String], folder: &Path) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut skip = false;
    for (i, argument) in arguments.iter().enumerate() {
        if skip || argument == "--resume" || argument.starts_with("--out=") {
            skip = false;
        } else if argument == "--out" {
            skip = true;
        } else if i == 0 {
            words.push("sordino".into());
        } else {
            words.push(quoted(argument));
        }
    }
    if words.len() == 1 {
        words.push("run".into());
    }
    format!(
        "{} --out {} --resume",
        words.join(" "),
        quoted(&folder.display().to_string())
    )
}

/// What is left of an interrupted run.
pub const KEPT: &str = "interrupted; what is finished is kept";

/// The error of an execution that was interrupted: what is left of it, and the command that goes
/// on.
pub fn ended(what: &str, folder: &Path) -> CliError {
    let words: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let code = STOP.get().map_or(1, |stop| stop.exit_code());
    CliError::interrupted(
        format!("{what}; to go on: {}", command(&words, folder)),
        code,
    )
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = word
        .chars()
        .all(|c| c.is_alphanumeric() || "-_./=,:+".contains(c));
    if plain && !word.is_empty() {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_repeats_the_arguments() {
        let words = |list: &[&str]| list.iter().map(|w| w.to_string()).collect::<Vec<_>>();
        let path = Path::new("runs/a b");
        assert_eq!(
            command(&words(&["/x/sordino"]), path),
            "sordino run --out 'runs/a b' --resume"
        );
        assert_eq!(
            command(
                &words(&[
                    "sordino", "run", "x.toml", "--out", "old", "--set", "a=[1, 2]", "--resume"
                ]),
                path
            ),
            "sordino run x.toml --set 'a=[1, 2]' --out 'runs/a b' --resume"
        );
    }
}
