//! What `sordino tune` tells: before anything runs, and at the end. Public constants and the
//! release, nothing else.

use serde_json::json;
use sordino_core::output::WorstCase;
use sordino_core::privacy::Event;
use sordino_experiment::progress::log;
use sordino_experiment::text::significant;
use sordino_host::files::write_atomically;
use sordino_host::ledger::{Ledger, loss};
use sordino_host::tune::score::Reading;

use super::arguments::{Arguments, ScoreForm};
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::{Format, print};

/// What the guarantee rests on, where everybody sees it.
pub const PRECONDITION: &str = "Training data must be public or disjoint from the scored records: one scored record is \
                                protected, training records are not.";

/// Probability with which the stated distance to the best candidate may be exceeded.
const GAP_FAILURE: f64 = 0.05;

/// How a score is taken, what can be hoped for, and what it rests on.
pub fn announce(arguments: &Arguments, mechanism: &WorstCase, reading: Reading, count: u32) {
    log::say(PRECONDITION);
    let (low, high) = arguments.range();
    let width = arguments.width();
    // How many scores are clamped depends on the data: nobody is told.
    let better = if arguments.minimize {
        "lower is better"
    } else {
        "larger is better"
    };
    let usual = if arguments.score_range.is_none() && arguments.score == ScoreForm::Number {
        ": give --score-range LOW,HIGH if yours are others, and --minimize for a loss"
    } else {
        ""
    };
    log::say(&format!(
        "scores are taken in [{low}, {high}], {better}; one outside counts as the nearer end{usual}"
    ));
    let sensitivity = significant(mechanism.scale().sensitivity(), 3);
    let promise = "that is your promise; if it is false, the guarantee is void";
    match (reading, arguments.records) {
        (Reading::Fraction(records), _) => {
            log::say(&format!(
                "one of {records} scored records changes COUNT in COUNT/{records} by at most one: {promise}"
            ));
        }
        (Reading::Decimals(decimals), Some(records)) => {
            let mean = significant(width / f64::from(records), 3);
            log::say(&format!(
                "one of {records} scored records moves a score by at most {mean}: {promise}. Every score must be \
                 printed with at least {decimals} decimals, zeros included; rounded so, one record moves it by at \
                 most {sensitivity}"
            ));
        }
        _ => log::say(&format!(
            "one record may move a score through its whole range, {sensitivity}; see --records"
        )),
    }
    let share = arguments.epsilon * (1.0 - arguments.value_share);
    let gap = mechanism.candidate_gap(share, GAP_FAILURE);
    log::say(&format!(
        "{count} candidates; the chosen one scores within {} of the best with probability 95 %; noise of scale {} on \
         its score",
        significant(gap, 3),
        significant(mechanism.noise_scale(), 3)
    ));
    if gap >= width {
        log::say("that is the whole range: at this epsilon the choice is nearly a uniform draw");
    }
}

/// What leaves: the choice, its score, how the noise was made.
pub struct Release {
    /// The chosen candidate.
    pub parameters: serde_json::Value,
    /// Its noised score, in the user's direction.
    pub score: f64,
    /// How the noise was made.
    pub kind: String,
}

/// Writes the release into the file that was asked for and prints it.
///
/// **Errors**: one of the two could not be done; the other was.
pub fn publish(
    arguments: &Arguments,
    mechanism: &WorstCase,
    events: &[Event],
    ledger: &Ledger,
    release: &Release,
) -> Result<(), CliError> {
    let (epsilon, delta) = events
        .iter()
        .filter_map(loss)
        .fold((0.0, 0.0), |sum, more| (sum.0 + more.0, sum.1 + more.1));
    let spent = ledger.spent().map_err(CliError::failure)?;
    let epsilon_max = ledger.terms().epsilon_max.unwrap_or(f64::INFINITY);
    let left = (epsilon_max - spent.epsilon).max(0.0);
    let protects = match arguments.records {
        Some(records) => format!("one of {records} scored records"),
        None => "one scored record".to_owned(),
    };
    let whole = json!({
        "parameters": release.parameters,
        "score": release.score,
        "noise_scale": mechanism.noise_scale(),
        "epsilon": epsilon,
        "delta": delta,
        "neighboring_relation": "replace_one",
        "protects": protects,
        "training_records": "not protected",
        "records_promised": arguments.records,
        "dataset": arguments.dataset,
        "epsilon_spent": spent.epsilon,
        "delta_spent": spent.delta,
        "epsilon_left": left,
        "epsilon_max": epsilon_max,
        "releases": spent.charges,
        "ledger": arguments.ledger.path().display().to_string(),
        "noise": release.kind,
    });
    let object = serde_json::to_string_pretty(&whole).map_err(CliError::failure)? + "\n";
    let written = arguments
        .out
        .as_ref()
        .map_or(Ok(()), |path| write_atomically(path, object.as_bytes()));
    match arguments.format {
        Format::Json => print(&object)?,
        Format::Text => {
            let mut text = String::new();
            for (name, value) in release.parameters.as_object().into_iter().flatten() {
                text.push_str(&format!("{name} = {value}\n"));
            }
            let promised = if arguments.records.is_some() {
                ", if the score is made of them as promised"
            } else {
                ""
            };
            text.push_str(&format!(
                "score = {} (noise of scale {})\nepsilon = {epsilon}, delta = {delta:e}, under replacing {protects}\
                 {promised}; training records are not protected; {}\ndata set {:?}: epsilon {} of {epsilon_max} spent \
                 in {} releases, {left} left\n",
                significant(release.score, 6),
                significant(mechanism.noise_scale(), 3),
                release.kind,
                arguments.dataset,
                spent.epsilon,
                spent.charges,
            ));
            print(&text)?;
        }
    }
    written.map_err(|error| {
        CliError::failure(format!(
            "the result was charged and printed, but not written: {error}"
        ))
    })
}
