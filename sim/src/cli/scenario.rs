//! `sordino scenario keys` and `sordino init`: the keys of scenarios, and a scenario to start from.

use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand, builder::PossibleValuesParser, builder::TypedValueParser};
use sordino_engine::{MODELS, TrustModel};
use sordino_experiment::scenario::{json_schema, starter};

use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::{print, print_json};

/// `sordino scenario`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print every key of a scenario: what it admits, its default, what it means
    Keys(Keys),
}

#[derive(Debug, Args)]
struct Keys {
    /// Only keys of this trust model [default: all]
    #[arg(long, value_parser = trusts(), conflicts_with = "json_schema")]
    trust: Option<&'static TrustModel>,
    /// As JSON schema, for editors
    #[arg(long)]
    json_schema: bool,
}

/// `sordino init`.
#[derive(Debug, Args)]
pub struct Init {
    /// The file to write, which must not exist
    file: PathBuf,
    /// Trust model: who may see what
    #[arg(long, value_parser = trusts(), default_value = MODELS[0].name)]
    trust: &'static TrustModel,
}

fn trusts() -> impl TypedValueParser<Value = &'static TrustModel> {
    PossibleValuesParser::new(MODELS.iter().map(|trust| trust.name)).try_map(|name| {
        MODELS
            .iter()
            .copied()
            .find(|trust| trust.name == name)
            .ok_or("no trust model")
    })
}

/// Prints the keys.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let Command::Keys(keys) = &arguments.command;
    if keys.json_schema {
        return print_json(&json_schema(MODELS));
    }
    let trusts = keys.trust.map_or(MODELS.to_vec(), |trust| vec![trust]);
    print(
        &trusts
            .into_iter()
            .map(TrustModel::keys_text)
            .collect::<Vec<_>>()
            .join("\n"),
    )
}

/// Writes the file.
pub fn init(arguments: &Init) -> Result<(), CliError> {
    let path = arguments.file.display();
    let refused =
        |error: std::io::Error| CliError::input(format!("{path}: cannot be written: {error}"));
    let text = starter(arguments.trust, |scenario| scenario.resolved())?;
    let file = std::fs::File::create_new(&arguments.file);
    if matches!(&file, Err(error) if error.kind() == ErrorKind::AlreadyExists) {
        return Err(CliError::input(format!(
            "{path}: exists already; name a new file, nothing is overwritten"
        )));
    }
    let mut file = file.map_err(refused)?;
    file.write_all(text.as_bytes()).map_err(refused)?;
    print(&format!(
        "{path} is written; to run it: sordino run {path}\n"
    ))
}
