//! The command line: arguments in, exit code out.
//!
//! | module | command |
//! |---|---|
//! | [`sordino_lab::command`] | `sordino run`, and bare `sordino`; `--part`, `--data`, Ctrl-C |
//! | `sweep` | `sordino sweep` |
//! | `merge` | `sordino merge` of what `--part` left |
//! | `list` | `sordino list` |
//! | `scenario` | `sordino scenario`, `sordino init` |
//! | `export` | `sordino export` |
//! | `report` | `sordino report` |
//! | `compare` | `sordino compare` |
//! | `unfinished` | what it says about a folder that is not complete |
//! | `prior` | `sordino prior`: files of what others learned |
//! | `privacy` | `sordino privacy` |
//! | `audit` | `sordino audit` |
//! | `reproduce` | `sordino reproduce` |
//! | `optimize` | `sordino optimize` |
//! | `tune` | `sordino tune` |
//! | `handover` | `sordino serve`, `join` and the others of `sordino-net`; `cluster` and `worker` of `sordino-cluster` |
//! | `ledger` | the ledger of commands that release something |
//! | `charges` | `sordino ledger`: what such a ledger holds |
//!
//! Errors, numbers among the arguments and results are those of every program of this family
//! ([`sordino_experiment::command_line`]). Results go to standard output, progress and errors to
//! standard error. Exit codes: 0 done, 2 usage or bad input, 130 after Ctrl-C, 143 after SIGTERM, 1
//! anything else.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod audit;
mod charges;
mod compare;
mod export;
mod handover;
mod ledger;
mod list;
mod merge;
mod optimize;
mod prior;
mod privacy;
mod report;
mod reproduce;
mod scenario;
mod sweep;
mod tune;
mod unfinished;

pub use handover::{PROGRAMS, Program};
use sordino_experiment::command_line::{ended, parsed};
use sordino_lab::command::run;

/// Private Bayesian optimisation: tune together, keep your data.
///
/// Without a command: `sordino run default`.
#[derive(Debug, Parser)]
#[command(name = "sordino", version, max_term_width = 100, after_help = handover::HELP)]
#[command(override_usage = "sordino [COMMAND]")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Execute a scenario, print its table, write a run folder
    Run(run::Arguments),
    /// Execute a grid of settings under several seeds, each in a run folder, with an index
    Sweep(sweep::Arguments),
    /// Put the parts of a run or a sweep together into the folder of the undivided one
    Merge(merge::Arguments),
    /// List the scenarios that are compiled in, by trust model (some read data: `--data`)
    List,
    /// Explain the keys of scenarios
    Scenario(scenario::Arguments),
    /// Write a scenario to start from: every key with its meaning; it runs as it is
    Init(scenario::Init),
    /// Print the constants that a device needs to take part: a Rust module or a C header
    Export(export::Arguments),
    /// Write the page of a run folder or of a sweep: one HTML file that needs no network
    Report(report::Arguments),
    /// Compare run folders over the same functions: paired differences, one picture
    Compare(compare::Arguments),
    /// Publish what studies learned as a file with an ε on it, and look at such files
    Prior(prior::Arguments),
    /// Show what ledgers hold: releases, what they cost, what is left of the budget
    Ledger(charges::Arguments),
    /// Compute what releases cost
    Privacy(privacy::Arguments),
    /// Test whether the shipped release path leaks more than claimed; exit code 1 if so
    Audit(audit::Arguments),
    /// Reproduce results of the papers: expected, measured, holds
    Reproduce(reproduce::Arguments),
    /// Find the best parameters of your own command, without privacy
    #[command(after_long_help = optimize::long_help())]
    Optimize(optimize::Arguments),
    /// Tune your own training command and publish one private result
    #[command(after_help = tune::PRECONDITION, after_long_help = tune::long_help())]
    Tune(tune::Arguments),
}

/// The declaration of the command line, from which manual pages and completions are made.
pub fn program() -> clap::Command {
    <Arguments as clap::CommandFactory>::command()
}

/// Executes one command line, the program's name included.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(program) = handover::program_of(&arguments) {
        return handover::hand_over(program, &arguments).report();
    }
    let Arguments { command } = match parsed(with_command(arguments)) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    ended(match command {
        Command::Run(arguments) => run::execute(&arguments),
        Command::Sweep(arguments) => sweep::execute(&arguments),
        Command::Merge(arguments) => merge::execute(&arguments),
        Command::List => list::execute(),
        Command::Scenario(arguments) => scenario::execute(&arguments),
        Command::Init(arguments) => scenario::init(&arguments),
        Command::Export(arguments) => export::execute(&arguments),
        Command::Report(arguments) => report::execute(&arguments),
        Command::Compare(arguments) => compare::execute(&arguments),
        Command::Prior(arguments) => prior::execute(&arguments),
        Command::Ledger(arguments) => charges::execute(&arguments),
        Command::Privacy(arguments) => privacy::execute(&arguments),
        Command::Audit(arguments) => audit::execute(&arguments),
        Command::Reproduce(arguments) => reproduce::execute(&arguments),
        Command::Optimize(arguments) => optimize::execute(&arguments),
        Command::Tune(arguments) => tune::execute(&arguments),
    })
}

/// `sordino` alone is `sordino run`, and what that takes for options that are not given.
fn with_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if arguments.len() == 1 {
        arguments.push("run".into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use sordino_experiment::command_line::error::CliError;
    use sordino_experiment::command_line::number;

    use super::*;
    use std::path::{Path, PathBuf};

    /// The command lines of a text's fences: `sordino …`, comments cut off, continued lines joined,
    /// quotes respected.
    fn commands(text: &str) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        let mut inside = false;
        let joined = text.replace("\\\n", " ");
        for line in joined.lines() {
            if line.trim_start().starts_with("```") {
                inside = !inside;
            }
            let line = line.trim_start().trim_start_matches("$ ");
            if !inside || !line.starts_with("sordino ") {
                continue;
            }
            let mut words = Vec::new();
            let mut word = String::new();
            let mut quote = None;
            for letter in line
                .split(" #")
                .next()
                .unwrap_or_default()
                .chars()
                .chain([' '])
            {
                match (letter, quote) {
                    ('"' | '\'', None) => quote = Some(letter),
                    (letter, Some(mark)) if letter == mark => quote = None,
                    (' ', None) if word.is_empty() => {}
                    (' ', None) => words.push(std::mem::take(&mut word)),
                    _ => word.push(letter),
                }
            }
            // Where the output goes is for the shell, and no word of the program.
            words.truncate(
                words
                    .iter()
                    .position(|word| word == ">")
                    .unwrap_or(words.len()),
            );
            found.push(words);
        }
        found
    }

    #[test]
    fn the_program_alone_runs_with_the_defaults_of_its_command_line() {
        let parsed = |words: &[&str]| {
            let words = with_command(words.iter().map(OsString::from).collect());
            format!("{:?}", Arguments::try_parse_from(words).unwrap().command)
        };
        // Once it wrote a checkpoint after every round: zero is the default of a number, and not
        // that of the option.
        assert_eq!(parsed(&["sordino"]), parsed(&["sordino", "run"]));
        assert!(
            parsed(&["sordino"]).contains("checkpoint_every: 5.0"),
            "{}",
            parsed(&["sordino"])
        );
        assert!(
            Arguments::try_parse_from(["sordino"]).is_err(),
            "no second place has defaults"
        );
    }

    fn parses(words: &[String]) -> Result<(), String> {
        if handover::program_of(&words.iter().map(OsString::from).collect::<Vec<_>>()).is_some() {
            return Ok(());
        }
        match Arguments::try_parse_from(words) {
            Err(error) if error.use_stderr() => Err(format!("{words:?}: {error}")),
            _ => Ok(()),
        }
    }

    /// Every number that an option of a command takes: its option, numbers outside its range, what
    /// is admissible.
    const NUMBERS: &[(&str, &[&str], &str)] = &[
        (
            "run --seed",
            &["-1", "1.5", "x", "9223372036854775808"],
            "a whole number from 0 to 9223372036854775807",
        ),
        (
            "run --runs",
            &["0", "-1", "100001"],
            "a whole number from 1 to 100000",
        ),
        (
            "run --threads",
            &["0", "-1", "1025", "99999999"],
            "a whole number from 1 to 1024",
        ),
        (
            "run --part",
            &["0/2", "3/2", "-1/2", "2"],
            "I/N with whole numbers 1 ≤ I ≤ N ≤ 100000",
        ),
        (
            "run --checkpoint-every",
            &["-1", "nan", "inf", "86401"],
            "a number of seconds from 0 to 86400",
        ),
        (
            "prior verify --key",
            &["ab", "2f0c", "wards.key"],
            "a fingerprint of 64 hexadecimal digits",
        ),
        (
            "sweep --runs",
            &["0", "-1", "100001"],
            "a whole number from 1 to 100000",
        ),
        (
            "sweep --threads",
            &["0", "-1", "1025"],
            "a whole number from 1 to 1024",
        ),
        (
            "sweep --part",
            &["0/2", "-1/2"],
            "I/N with whole numbers 1 ≤ I ≤ N ≤ 100000",
        ),
        (
            "sweep --checkpoint-every",
            &["-1", "-inf"],
            "a number of seconds from 0 to 86400",
        ),
        (
            "export --deployment",
            &["-1", "12", "zzzzzzzzzzzzzzzz"],
            "16 hexadecimal digits",
        ),
        (
            "export --deadline-ms",
            &["0", "-1", "31536000001"],
            "a whole number from 1 to 31536000000",
        ),
        ("report --width", &["-84mm", "39mm", "84"], "40 to 1000 mm"),
        ("compare --width", &["-84mm", "1001mm"], "40 to 1000 mm"),
        (
            "prior publish --epsilon",
            &["-1", "0", "257", "NaN"],
            "a number from 1e-5 to 256",
        ),
        (
            "prior publish --delta",
            &["-1", "0", "1"],
            "a number in (0, 1)",
        ),
        (
            "prior publish --max-epsilon",
            &["-1", "0", "1e7"],
            "a number from 1e-5 to 1e6",
        ),
        (
            "prior publish --releases",
            &["-1", "0", "65"],
            "a whole number from 1 to 64",
        ),
        (
            "prior export --candidates",
            &["-1", "0", "10001"],
            "a whole number from 1 to 10000",
        ),
        (
            "prior publish --features",
            &["-1", "1", "1025"],
            "a whole number from 2 to 1024",
        ),
        (
            "privacy epsilon --sampling-probability",
            &["-0.1", "0", "1.1", "NaN"],
            "a probability in (0, 1]",
        ),
        (
            "privacy epsilon --noise-multiplier",
            &["-1", "0", "inf"],
            "a number from 0.001 to 1e6",
        ),
        (
            "privacy epsilon --rounds",
            &["-1", "0", "1000000001", "1e3"],
            "a whole number from 1 to 1000000000",
        ),
        (
            "privacy epsilon --delta",
            &["-1", "0", "1"],
            "a number in (0, 1)",
        ),
        (
            "privacy delta --sampling-probability",
            &["-0.1", "2"],
            "a probability in (0, 1]",
        ),
        (
            "privacy delta --noise-multiplier",
            &["-1", "0"],
            "a number from 0.001 to 1e6",
        ),
        (
            "privacy delta --rounds",
            &["-1", "0"],
            "a whole number from 1 to 1000000000",
        ),
        (
            "privacy delta --epsilon",
            &["-1", "1000001", "NaN"],
            "a number from 0 to 1e6",
        ),
        (
            "privacy compare --sampling-probability",
            &["-0.1", "2"],
            "a probability in (0, 1]",
        ),
        (
            "privacy compare --noise-multiplier",
            &["-1", "0"],
            "a number from 0.001 to 1e6",
        ),
        (
            "privacy compare --rounds",
            &["-1", "0"],
            "a whole number from 1 to 1000000000",
        ),
        (
            "privacy compare --delta",
            &["-1", "0", "1"],
            "a number in (0, 1)",
        ),
        (
            "privacy calibrate --epsilon",
            &["-1", "0", "inf"],
            "a number from 1e-6 to 1e6",
        ),
        (
            "privacy calibrate --delta",
            &["-1", "0", "1"],
            "a number in (0, 1)",
        ),
        (
            "privacy calibrate --sampling-probability",
            &["-0.1", "2"],
            "a probability in (0, 1]",
        ),
        (
            "privacy calibrate --noise-multiplier",
            &["-1", "0"],
            "a number from 0.001 to 1e6",
        ),
        (
            "privacy calibrate --rounds",
            &["-1", "0"],
            "a whole number from 1 to 1000000000",
        ),
        (
            "audit --runs",
            &["-1", "4999", "10000001"],
            "a whole number from 5000 to 10000000",
        ),
        (
            "audit --seed",
            &["-1", "x"],
            "a whole number from 0 to 18446744073709551615",
        ),
        (
            "audit --threads",
            &["0", "-1", "1025"],
            "a whole number from 1 to 1024",
        ),
        (
            "reproduce --runs",
            &["0", "-1", "100001"],
            "a whole number from 1 to 100000",
        ),
        (
            "reproduce --threads",
            &["0", "-1", "1025"],
            "a whole number from 1 to 1024",
        ),
        (
            "optimize --evaluations",
            &["-1", "0", "10001"],
            "a whole number from 1 to 10000",
        ),
        (
            "optimize --seed",
            &["-1", "x", "9223372036854775808"],
            "a whole number from 0 to 9223372036854775807",
        ),
        (
            "optimize --jobs",
            &["-1", "0", "1025"],
            "a whole number from 1 to 1024",
        ),
        (
            "optimize --time-limit",
            &["0s", "5w", "1.5h"],
            "a whole number with its unit, between 1ms and 365d, as in 200ms, 90s, 15m, 2h",
        ),
        (
            "optimize --retries",
            &["-1", "1001"],
            "a whole number from 0 to 1000",
        ),
        (
            "tune --epsilon",
            &["-1", "0", "257", "NaN"],
            "a number from 1e-5 to 256",
        ),
        (
            "tune --max-epsilon",
            &["-1", "0", "1e7"],
            "a number from 1e-5 to 1e6",
        ),
        (
            "tune --value-share",
            &["-1", "0", "1"],
            "a number from 0.01 to 0.99",
        ),
        (
            "tune --score-range",
            &["-1", "0", "3,1", "NaN"],
            "G > 0, or LOW,HIGH with LOW < HIGH",
        ),
        (
            "tune --records",
            &["-1", "0", "4294967296"],
            "a whole number from 1 to 4294967295",
        ),
        (
            "tune --decimals",
            &["-1", "301"],
            "a whole number from 0 to 300",
        ),
        (
            "tune --timeout",
            &["-1", "0", "inf"],
            "a number of seconds from 0.01 to 1e7",
        ),
        (
            "tune --jobs",
            &["-1", "0", "1025"],
            "a whole number from 1 to 1024",
        ),
    ];

    /// What other options take: texts, paths, lists that are read later.
    const TEXTS: [&str; 21] = [
        "by", "command", "data", "dataset", "date", "figure", "from", "given", "ledger", "method",
        "methods", "name", "note", "out", "prior", "seeds", "set", "sign", "space", "svg", "trust",
    ];

    /// The options that take a value which is none of a few words, as in `privacy epsilon --delta`.
    fn options(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        for inner in command.get_subcommands() {
            options(inner, &format!("{path}{} ", inner.get_name()), found);
        }
        let free = |argument: &&clap::Arg| {
            argument.get_action().takes_values() && argument.get_possible_values().is_empty()
        };
        let named = command
            .get_arguments()
            .filter(free)
            .filter_map(clap::Arg::get_long);
        found.extend(
            named
                .filter(|long| !TEXTS.contains(long))
                .map(|long| format!("{path}--{long}")),
        );
    }

    #[test]
    fn every_number_of_the_command_line_is_refused_with_its_range() {
        let mut all = Vec::new();
        options(&program(), "", &mut all);
        let tested: Vec<&str> = NUMBERS.iter().map(|(option, _, _)| *option).collect();
        assert_eq!(
            all.iter()
                .filter(|option| !tested.contains(&option.as_str()))
                .collect::<Vec<_>>(),
            [""; 0]
        );
        for (option, wrong, admissible) in NUMBERS {
            let long = option.rsplit(' ').next().unwrap();
            for value in *wrong {
                let words = ["sordino"]
                    .into_iter()
                    .chain(option.split(' '))
                    .chain([*value])
                    .map(OsString::from);
                let error = Arguments::try_parse_from(number::joined(words)).unwrap_err();
                let error = CliError::usage(&error, "sordino");
                assert!(error.is_input(), "{option} {value}");
                for needed in [*admissible, "admissible: ", &format!("'{value}'"), long] {
                    assert!(
                        error.to_string().contains(needed),
                        "{option} {value}: {error}\nexpected {needed}"
                    );
                }
            }
        }
    }

    fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                pages(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_command_of_the_documentation_is_understood() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut paths = vec![
            root.join("README.md"),
            root.join("sim/experiment/scenarios/README.md"),
        ];
        pages(&root.join("docs"), &mut paths);
        let mut count = 0;
        for path in paths {
            for mut words in commands(&std::fs::read_to_string(&path).unwrap()) {
                // Stands for the key that a reader has.
                words
                    .iter_mut()
                    .filter(|word| *word == "KEY")
                    .for_each(|word| *word = "0".repeat(64));
                count += 1;
                if let Err(error) = parses(&words) {
                    panic!("{}: {error}", path.display());
                }
            }
        }
        assert!(count >= 40, "{count}");
        let wrong = commands(
            "```sh\nsordino run default --rums 3   # three\nsordino tune --space 'a b' \\\n  --x\n```",
        );
        assert_eq!(wrong[0], ["sordino", "run", "default", "--rums", "3"]);
        assert_eq!(wrong[1], ["sordino", "tune", "--space", "a b", "--x"]);
        assert!(wrong.iter().all(|words| parses(words).is_err()));
    }
}
