//! `sordino privacy explain`: who is protected from whom, in plain words.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use sordino_engine::{self as model, MODELS, Model};
use sordino_experiment::command_line::chosen::scenario_text;
use sordino_experiment::record::Explanation;
use sordino_experiment::scenario::set_once;

use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print::{Format, print, print_json};
use sordino_lab::command::run;

/// `sordino privacy explain`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A name from `sordino list`, or a TOML file
    #[arg(value_name = "SCENARIO|FILE")]
    scenario: String,
    /// Replace a value of the scenario, as in privacy.noise_multiplier=2; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Data file or folder, as for sordino run, of scenarios whose agents come from their data
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The answer: sentences under four questions.
#[derive(Serialize)]
struct Answer {
    scenario: String,
    trust: String,
    #[serde(flatten)]
    explanation: Explanation,
    simulation: &'static str,
}

const SIMULATION: &str = "Runs of this scenario are simulations: the seed reveals the noise, so what they print is not private.";

/// Prints what a scenario promises and to whom.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let answer = Answer::of(&*resolved(arguments)?)?;
    match arguments.format {
        Format::Json => print_json(&answer),
        Format::Text => print(&answer.text()),
    }
}

/// The scenario, completed from its data where it does not say something itself.
fn resolved(arguments: &Arguments) -> Result<Box<dyn Model>, CliError> {
    set_once(&arguments.settings)?;
    let data = arguments.data.as_deref();
    if data.is_none() {
        // Most scenarios can be explained without their data.
        let (source, text) = scenario_text(&arguments.scenario)?;
        if let Ok(scenario) = model::parse(&source, &text, &arguments.settings) {
            return Ok(scenario);
        }
    }
    run::scenario(&arguments.scenario, &arguments.settings, data)
}

impl Answer {
    fn of(scenario: &dyn Model) -> Result<Self, CliError> {
        let head = scenario.head();
        let explanation = scenario.explain()?;
        Ok(Answer {
            scenario: head.name,
            trust: head.trust,
            explanation,
            simulation: SIMULATION,
        })
    }

    fn text(&self) -> String {
        let found = MODELS.iter().find(|model| model.name == self.trust);
        let description = found.map_or("", |model| model.description);
        let mut out = format!("{}: {} ({description})\n", self.scenario, self.trust);
        for (title, sentences) in self.explanation.questions() {
            out.push_str(&format!("\n{title}\n"));
            sentences
                .iter()
                .for_each(|sentence| out.push_str(&format!("  - {sentence}\n")));
        }
        out.push_str(&format!("\n{}\n", self.simulation));
        out
    }
}

#[cfg(test)]
mod tests {
    use sordino_experiment::scenario::{Scenario, Shipped};

    use super::*;

    /// Ten agents had δ = .079, and only `run` said what that means.
    #[test]
    fn explain_says_the_caution_that_run_says() {
        let answer = |agents: u32, delta: f64| {
            let agents = format!("federation.agents={agents}");
            let delta = format!("privacy.delta={delta}");
            let settings = vec![agents, delta, "federation.splits=[1]".into()];
            let text = Shipped::find("default").unwrap().text;
            let said = Scenario::parse("default", text, &settings)
                .unwrap()
                .cautions();
            let scenario = "default".to_owned();
            let data = None;
            let format = Format::Text;
            let scenario = resolved(&Arguments {
                scenario,
                settings,
                data,
                format,
            })
            .unwrap();
            (Answer::of(&*scenario).unwrap(), said)
        };
        let (few, said) = answer(10, 0.079);
        assert_eq!(said.len(), 1);
        assert!(few.text().contains(&said[0]), "{}", few.text());
        assert!(serde_json::to_string(&few).unwrap().contains(&said[0]));
        // Negative control: at a small δ there is nothing to say.
        let (many, nothing) = answer(1000, 1e-5);
        assert!(
            nothing.is_empty() && !many.text().contains(&said[0]),
            "{nothing:?}"
        );
    }
}
