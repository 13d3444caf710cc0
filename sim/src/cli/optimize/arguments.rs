//! The arguments of `sordino optimize`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use sordino_host::space::{Point, Space, Values};

use sordino_experiment::command_line::Format;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::number::{duration, whole};
use sordino_experiment::progress::log::Log;

/// `sordino optimize`.
///
/// Asks your own command for values, one point after another, each chosen from all values so far.
/// What was asked and answered is on the disk before anything is made of it, so a run that was
/// killed goes on with --resume.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// TOML file with the parameters and their ranges; --help shows one
    #[arg(long, value_name = "FILE")]
    pub space: PathBuf,
    /// Command that measures a point, run by `sh -c`: it gets the parameters as variables
    /// `SORDINO_<NAME>` and as one line of JSON on standard input; the last line it prints is the
    /// value. Processes that it starts end with it
    #[arg(long, value_name = "COMMAND")]
    pub command: String,
    /// Number of values to learn, those of an earlier run included
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1, 10_000))]
    pub evaluations: u32,
    /// Seed of the first questions [default: the `seed` of the space file, or 0]
    #[arg(long, value_name = "SEED", value_parser = whole::<u64>(0, i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Number of commands at a time. A question counts those under way, so questions depend on the
    /// order in which commands end; with one at a time they depend on the values alone
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole::<u16>(1, 1024))]
    pub jobs: u16,
    /// Folder for what was asked and answered, the best point and a picture
    #[arg(long, value_name = "DIR", default_value = "sordino-optimize")]
    pub out: PathBuf,
    /// Go on in the folder; questions that were under way are asked again first
    #[arg(long)]
    pub resume: bool,
    /// Prior file to begin with: what others learned of the same parameters (`sordino prior show`).
    /// Nothing is told to them. Or the address of a campaign's file, as its server prints it: what
    /// is fetched is kept in the folder
    #[arg(long, value_name = "FILE|URL")]
    pub prior: Option<String>,
    /// Value of a parameter that the space file calls context: the same in every question of this
    /// run, and in what it says is best. With --resume it may be another one
    #[arg(long, value_name = "NAME=VALUE")]
    pub given: Vec<String>,
    /// Kill a command that takes longer, with what it started, and count it as failed [default:
    /// none]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time_limit: Option<Duration>,
    /// How often a command that fails is tried again for the same point, after 1 s, 2 s, 4 s, … of
    /// at most a minute; one that ends with NaN has answered, and is not
    #[arg(long, value_name = "TIMES", default_value = "3", value_parser = whole::<u32>(0, 1000))]
    pub retries: u32,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Progress on standard error, for people or as JSON lines, among which the command's own
    /// standard error is not shown: its last line is quoted where it fails
    #[arg(long, value_enum, default_value_t)]
    pub log: Log,
}

/// A space file as `--help` shows it.
pub const EXAMPLE: &str = "\
goal = \"minimize\"          # or \"maximize\"
value = \"validation loss\"  # free words, shown with the results

[parameters.rate]          # SORDINO_RATE, and in the JSON on standard input
low = 1e-4
high = 1
scale = \"log\"              # or \"linear\", the default

[parameters.depth]
low = 1
high = 8
integer = true

[parameters.kind]
choices = [\"adam\", \"sgd\"]  # texts, numbers, truth values; `ordered = true` if they stand in an order

[parameters.load]          # given by --given load=0.5, not searched
low = 0
high = 1
context = true
";

/// The value that a text of `--given` is: a choice that reads so, or else a number or a truth
/// value, or a text.
fn value_of(space: &Space, name: &str, text: &str) -> Value {
    let written = Value::from(text);
    let is_choice = space.parameters().iter().any(|parameter| {
        let is_one = matches!(&parameter.values, Values::Choices { choices, .. } if choices.contains(&written));
        parameter.name == name && is_one
    });
    if is_choice {
        return written;
    }
    // JSON has no `.5` and no `+1`.
    let number = text.parse::<f64>().ok().filter(|x| x.is_finite());
    serde_json::from_str(text).unwrap_or_else(|_| number.map_or(written, Value::from))
}

impl Arguments {
    /// The values of the parameters that are given.
    ///
    /// **Errors**: no NAME=VALUE, or one that the space does not admit.
    pub fn context(&self, space: &Space) -> Result<Value, CliError> {
        let mut point = Point::new();
        for given in &self.given {
            let Some((name, text)) = given.split_once('=') else {
                return Err(CliError::input(format!(
                    "--given {given}: admissible: NAME=VALUE, as in --given load=0.5"
                )));
            };
            let value = value_of(space, name, text);
            if point.insert(name.to_owned(), value).is_some() {
                return Err(CliError::input(format!("--given {name}: given twice")));
            }
        }
        let context = Value::Object(point);
        match space.context(&context) {
            Ok(_) => Ok(context),
            Err(error) => {
                let needed = space
                    .parameters()
                    .iter()
                    .filter(|parameter| parameter.context);
                let needed: Vec<String> = needed
                    .map(|parameter| format!("--given {}=VALUE", parameter.name))
                    .collect();
                let needed = if needed.is_empty() {
                    "no --given".into()
                } else {
                    needed.join(" ")
                };
                Err(CliError::input(format!(
                    "{error}; this space takes {needed}; nothing was run"
                )))
            }
        }
    }
}
