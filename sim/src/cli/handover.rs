//! Commands of real federations: carried out by the program `sordino-net` beside this one, as git and cargo do it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use super::error::CliError;

/// What `sordino-net` does.
pub const COMMANDS: [&str; 7] = ["serve", "invite", "join", "revoke", "replay", "promise", "rehearse"];
/// The program beside this one.
const PROGRAM: &str = "sordino-net";

/// What `--help` says at its end.
pub const HELP: &str = "Real federations, by the program sordino-net (cargo build --release -p sordino-net): \
                        serve, invite, join, revoke, replay, promise, rehearse";

/// Whether a command line, the program's name included, is one for `sordino-net`.
pub fn is_for_net(arguments: &[OsString]) -> bool {
    arguments.get(1).is_some_and(|command| COMMANDS.iter().any(|ours| command == ours))
}

/// Becomes `sordino-net` with the same arguments: the one beside this program, or else the one that is found in `PATH`.
///
/// **Returns** only if there is none, or it cannot be started.
pub fn hand_over(arguments: &[OsString]) -> CliError {
    let beside = std::env::current_exe().map(|own| own.with_file_name(PROGRAM)).ok().filter(|path| path.is_file());
    let program = beside.unwrap_or_else(|| PathBuf::from(PROGRAM));
    let command = arguments.get(1).map(|command| command.to_string_lossy().into_owned()).unwrap_or_default();
    let error = Command::new(&program).args(arguments.iter().skip(1)).exec();
    if error.kind() == std::io::ErrorKind::NotFound {
        return CliError::failure(format!(
            "`sordino {command}` is carried out by {PROGRAM}, which is neither beside this program nor in PATH; build it \
             with: cargo build --release -p {PROGRAM}"
        ));
    }
    CliError::failure(format!("{}: {error}", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_of_real_federations_are_handed_over() {
        let line = |words: &[&str]| -> Vec<OsString> { words.iter().map(OsString::from).collect() };
        assert!(is_for_net(&line(&["sordino", "serve", "x.toml"])) && is_for_net(&line(&["sordino", "join"])));
        for words in [&["sordino"][..], &["sordino", "run", "serve"], &["sordino", "servex"], &["serve"]] {
            assert!(!is_for_net(&line(words)), "{words:?}");
        }
    }
}
