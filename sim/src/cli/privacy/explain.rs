//! `sordino privacy explain`: who is protected from whom, in plain words.

use clap::Args;
use serde::Serialize;

use super::super::{print, print_json, run};
use super::{CliError, Format};
use crate::model::MODELS;
use crate::record::Explanation;

/// `sordino privacy explain`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A name from `sordino list`, or a TOML file
    #[arg(value_name = "SCENARIO|FILE")]
    scenario: String,
    /// Replace a value of the scenario, as in privacy.noise_multiplier=2; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The answer: sentences under five questions.
#[derive(Serialize)]
struct Answer {
    scenario: String,
    trust: String,
    #[serde(flatten)]
    explanation: Explanation,
    simulation: &'static str,
}

const SIMULATION: &str =
    "Runs of this scenario are simulations: the seed reveals the noise, so what they print is not private.";

/// Prints.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let scenario = run::load(&arguments.scenario, &arguments.settings)?;
    let (head, explanation) = (scenario.head(), scenario.explain()?);
    let answer = Answer { scenario: head.name, trust: head.trust, explanation, simulation: SIMULATION };
    match arguments.format {
        Format::Json => print_json(&answer),
        Format::Text => print(&answer.text()),
    }
}

impl Answer {
    fn text(&self) -> String {
        let found = MODELS.iter().find(|model| model.name == self.trust);
        let description = found.map_or("", |model| model.description);
        let mut out = format!("{}: {} ({description})\n", self.scenario, self.trust);
        for (title, sentences) in self.explanation.questions() {
            out.push_str(&format!("\n{title}\n"));
            sentences.iter().for_each(|sentence| out.push_str(&format!("  - {sentence}\n")));
        }
        out.push_str(&format!("\n{}\n", self.simulation));
        out
    }
}
