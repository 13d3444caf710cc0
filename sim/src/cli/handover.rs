//! Commands that the programs beside this one, `sordino-net` and `sordino-cluster`, carry out, in
//! the way of git and cargo.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use sordino_experiment::command_line::error::CliError;

/// A program beside this one.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name, which is also that of its package.
    pub name: &'static str,
    /// The commands that it carries out.
    pub commands: &'static [&'static str],
}

/// All programs beside this one.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "sordino-net",
        commands: &[
            "serve",
            "help-serve",
            "invite",
            "terms",
            "join",
            "fetch",
            "status",
            "rotate",
            "revoke",
            "replay",
            "promise",
            "verify",
            "rehearse",
        ],
    },
    Program {
        name: "sordino-cluster",
        commands: &["cluster", "worker"],
    },
];

/// What `--help` says at its end.
pub const HELP: &str = "Real federations, by the program sordino-net (cargo build --release -p sordino-net): \
                        serve, help-serve, invite, terms, join, fetch, status, rotate, revoke, replay, promise, verify, rehearse\n\n\
                        One federation on many machines, by the program sordino-cluster (cargo build --release -p \
                        sordino-cluster): cluster, worker";

/// The program that a command line is for, the program's name included; nothing if it is for this
/// one.
pub fn program_of(arguments: &[OsString]) -> Option<&'static Program> {
    let command = arguments.get(1)?;
    PROGRAMS
        .iter()
        .find(|program| program.commands.iter().any(|theirs| command == theirs))
}

/// The program of this name beside this one, or else the bare name, to be found in `PATH`.
pub fn beside(program: &str) -> PathBuf {
    let beside = std::env::current_exe()
        .map(|own| own.with_file_name(program))
        .ok()
        .filter(|path| path.is_file());
    beside.unwrap_or_else(|| PathBuf::from(program))
}

/// Becomes a program with the same arguments: the one beside this program, or else the one that is
/// found in `PATH`.
///
/// **Returns** only if there is none, or it cannot be started.
pub fn hand_over(program: &Program, arguments: &[OsString]) -> CliError {
    let name = program.name;
    let path = beside(program.name);
    let command = arguments
        .get(1)
        .map(|command| command.to_string_lossy().into_owned())
        .unwrap_or_default();
    let error = Command::new(&path).args(arguments.iter().skip(1)).exec();
    if error.kind() == std::io::ErrorKind::NotFound {
        return CliError::failure(format!(
            "`sordino {command}` is carried out by {name}, which is neither beside this program nor in PATH; in \
             the repository's folder: cargo install --locked --path {}",
            name.trim_start_matches("sordino-")
        ));
    }
    CliError::failure(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_of_other_programs_are_handed_over() {
        let of = |words: &[&str]| {
            let line: Vec<OsString> = words.iter().map(OsString::from).collect();
            program_of(&line).map(|program| program.name)
        };
        assert_eq!(of(&["sordino", "serve", "x.toml"]), Some("sordino-net"));
        assert_eq!(of(&["sordino", "join"]), Some("sordino-net"));
        assert_eq!(
            of(&["sordino", "cluster", "default"]),
            Some("sordino-cluster")
        );
        assert_eq!(of(&["sordino", "worker"]), Some("sordino-cluster"));
        for words in [
            &["sordino"][..],
            &["sordino", "run", "serve"],
            &["sordino", "servex"],
            &["serve"],
        ] {
            assert_eq!(of(words), None, "{words:?}");
        }
    }
}
