//! `sordino prior show` and `verify`: a file's label, for people and programs.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use sordino_core::federated::shares::Trust;
use sordino_core::prior::{Reading, covers_box};
use sordino_experiment::files::write_atomically;
use sordino_experiment::progress::log::note;
use sordino_experiment::text::{percent_at_most, significant, significant_up};
use sordino_host::prior::label::best_guess;
use sordino_host::prior::worth::{Quartiles, WITH, WITHOUT, Worth, reading, worth as simulated};
use sordino_host::prior::{Label, PriorFile};
use sordino_host::signature::Fingerprint;
use sordino_host::space::{Goal, Parameter, Values};
use sordino_host::text::plain;

use super::file::OfFile;
use super::picture;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::{Format, print, print_json};

/// `sordino prior show`.
#[derive(Clone, Debug, Args)]
pub struct Show {
    #[command(flatten)]
    of: OfFile,
    /// Draw what the file believes along each parameter into this file; its name ends with .svg
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// `sordino prior verify`.
#[derive(Clone, Debug, Args)]
pub struct Verify {
    #[command(flatten)]
    of: OfFile,
    /// The key that must have signed the file, 64 hexadecimal digits
    #[arg(long, value_name = "FINGERPRINT", value_parser = fingerprint)]
    key: Option<Fingerprint>,
}

fn fingerprint(text: &str) -> Result<Fingerprint, String> {
    text.parse()
        .map_err(|_| "admissible: a fingerprint of 64 hexadecimal digits".to_owned())
}

/// What the range of evaluations saved is not.
const OF_ITSELF: &str = "which is what the file believes of itself: choose between files by other things than these numbers";

/// Prints the label.
pub fn show(arguments: &Show) -> Result<(), CliError> {
    let file = arguments.of.load()?;
    told_of_delta(&file);
    if let Some(path) = &arguments.out {
        if path.extension().is_none_or(|extension| extension != "svg") {
            return Err(CliError::input(format!(
                "--out {}: admissible: a name that ends with .svg",
                path.display()
            )));
        }
        let drawn = picture::along_parameters(&file)?;
        write_atomically(path, drawn.as_bytes())
            .map_err(|error| CliError::failure(format!("{}: {error}", path.display())))?;
        note(&format!("{} is written", path.display()));
    }
    match arguments.format {
        Format::Json => print_json(&facts(&file)?),
        Format::Text => print(&text(&file)?),
    }
}

/// Says that a file is whole, or refuses it.
pub fn verify(arguments: &Verify) -> Result<(), CliError> {
    let file = arguments.of.load()?;
    // Whether the numbers are a posterior is found out by a reader.
    simulated(&file).map_err(CliError::input)?;
    told_of_delta(&file);
    let signer = signed_by(&file, arguments.key)?;
    let digest = file.digest();
    let epsilon = significant_up(file.label.epsilon, 4);
    let delta = significant(file.label.delta, 3);
    let costs = match file.label.simulated {
        true => format!(
            "SIMULATED: its noise can be predicted, and it protects nobody. Secret noise of the same size would cost ε {epsilon} at \
             δ = {delta}"
        ),
        false => format!(
            "the noise multipliers that it states cost no more than ε {epsilon} at δ = {delta}, as it says; {WORD}"
        ),
    };
    print(&format!(
        "whole: digest {digest} of label and numbers\n{costs}\n{signer}\n"
    ))
}

/// What no reader of a file can check.
const WORD: &str =
    "that such noise was added, and how many contributed, is the word of who wrote it";

/// Says where a δ is larger than `publish` takes: a tenth of a chance that somebody's data are
/// shown whole.
fn told_of_delta(file: &PriorFile) {
    let label = &file.label;
    if !label.simulated && label.delta * 10.0 * f64::from(label.contributors) > 1.0 {
        note(&format!(
            "δ = {} is more than a tenth of 1 by {} contributors, which `publish` refuses: ε says little beside it",
            significant(label.delta, 3),
            label.contributors
        ));
    }
}

/// Who signed a file, in words, or that it was not who was asked for.
fn signed_by(file: &PriorFile, asked: Option<Fingerprint>) -> Result<String, CliError> {
    match (file.signer(), asked) {
        (Some(signer), Some(asked)) if signer == asked => {
            Ok(format!("signed by {signer}, as expected"))
        }
        (Some(signer), Some(asked)) => Err(CliError::failure(format!(
            "signed by {signer}, not by {asked}"
        ))),
        (None, Some(asked)) => Err(CliError::failure(format!(
            "not signed, and so not by {asked}"
        ))),
        (Some(signer), None) => Ok(format!(
            "signed by {signer}: compare this with what the publisher says"
        )),
        (None, None) => Ok(
            "not signed: who wrote it is not known, compare the digest with the publisher's"
                .to_owned(),
        ),
    }
}

/// What a file is worth.
pub(super) struct Valued {
    /// As a label says it.
    pub(super) words: String,
    /// Whether it saves nobody anything.
    pub(super) is_nothing: bool,
}

/// What a file is worth, by a simulation on its own posterior.
pub(super) fn worth(file: &PriorFile) -> Result<Valued, CliError> {
    let found = simulated(file).map_err(CliError::input)?;
    Ok(Valued {
        words: worth_in_words(file, &found),
        is_nothing: reading(file) == "not read" || found.saved() == 0,
    })
}

/// Data set, publisher and day.
pub(super) fn origin(label: &Label) -> String {
    let by = label.by.as_ref();
    let by = by.map_or(String::new(), |by| format!(", by {by}"));
    let day = label.published.as_ref();
    let day = day.map_or(String::new(), |day| format!(", {day}"));
    format!("{}{by}{day}", label.dataset)
}

/// The label as JSON.
pub fn facts(file: &PriorFile) -> Result<Value, CliError> {
    sordino_host::prior::worth::facts(file).map_err(CliError::input)
}

/// The label in words.
pub fn text(file: &PriorFile) -> Result<String, CliError> {
    let label = &file.label;
    let mut out = String::new();
    let mut line =
        |name: &str, what: String| out.push_str(&format!("{name:<14} {}\n", plain(&what)));
    let value = label.value.as_deref().unwrap_or("value");
    let goal = if label.goal == Goal::Minimize {
        "smaller is better"
    } else {
        "larger is better"
    };
    line("value", format!("{value}, {goal}"));
    for parameter in label.space.parameters() {
        line("parameter", shown(parameter));
    }
    line("data set", origin(label));
    if let Some(note) = &label.note {
        line("note", note.clone());
    }
    let many = if label.releases == 1 { "" } else { "s" };
    line(
        "contributors",
        format!(
            "{}, in {} release{many}{}",
            label.contributors,
            label.releases,
            if label.simulated {
                ""
            } else {
                "; of a campaign so many were enrolled, and how many of them answered is not told"
            }
        ),
    );
    if label.simulated {
        line(
            "protected",
            "NOBODY: this is a simulation, whose noise can be predicted".into(),
        );
    } else {
        let makers = match label.trust {
            Trust::OneServer => "; not against who made it",
            Trust::TwoServers => {
                " and against each of the two servers that made it; not against both together"
            }
        };
        line(
            "protected",
            format!(
                "each contributor (one study, or one site), against every reader of this file{makers}"
            ),
        );
    }
    let epsilon = significant_up(label.epsilon, 4);
    let delta = significant(label.delta, 3);
    if label.simulated {
        line(
            "ε",
            format!("none. Secret noise of the same size would cost {epsilon} at δ = {delta}"),
        );
    } else {
        cost(label, &mut line);
    }
    let worth = worth(file)?;
    line("worth", worth.words);
    if !worth.is_nothing {
        line("", OF_ITSELF.into());
    }
    line("digest", file.digest());
    line(
        "signed by",
        file.signer()
            .map_or("nobody".into(), |signer| signer.to_string()),
    );
    if !label.simulated {
        line("", WORD.into());
    }
    Ok(out)
}

/// What a file costs those whom it protects.
fn cost(label: &Label, line: &mut impl FnMut(&str, String)) {
    let epsilon = significant_up(label.epsilon, 4);
    let delta = significant(label.delta, 3);
    line(
        "ε",
        format!(
            "{epsilon} at δ = {delta}, of this file alone: whether a contributor was used or counted as nothing"
        ),
    );
    line(
        "",
        format!(
            "{} at the same δ: between any two things it may have contributed",
            significant_up(label.replace_epsilon, 4)
        ),
    );
    let guess = best_guess(&label.noise_multipliers).unwrap_or(1.0);
    line(
        "",
        format!(
            "a guess whether one was used is right at most {} % of the time, where both are as likely beforehand",
            percent_at_most(guess)
        ),
    );
}

fn worth_in_words(file: &PriorFile, worth: &Worth) -> String {
    let saved = worth.saved();
    let b = significant(file.label.self_test, 3);
    match (reading(file), saved) {
        ("not read", _) => format!(
            "nothing at this ε and number of contributors: a search does not read it (B = {b})"
        ),
        ("trusted", 0) => {
            format!(
                "nothing, by a simulation on its own posterior (B = {b}); a search begins with it all the same"
            )
        }
        (_, 0) => format!(
            "nothing, by a simulation on its own posterior (B = {b}); a search covers the space first, and then weighs the file by \
             its own values"
        ),
        (read, _) => {
            let read = if read == "trusted" {
                ""
            } else {
                "; a search weighs it by its own first values"
            };
            let accident = accident(file.label.self_test);
            let saves = saves(worth.quartiles());
            format!("{saves}, by a simulation on its own posterior (B = {b}{accident}){read}")
        }
    }
}

/// What the middle half of newcomers save, in words.
fn saves(Quartiles { lower, upper, .. }: Quartiles) -> String {
    let most = WITHOUT - WITH;
    let or_more = if upper >= most { " or more" } else { "" };
    let many = if upper == 1 { "" } else { "s" };
    match (lower, upper) {
        (_, 0) => "saves three in four newcomers nothing".into(),
        (lower, upper) if lower == upper => {
            format!("saves half of newcomers {upper}{or_more} evaluation{many}")
        }
        (lower, upper) => {
            let few = if lower == 0 {
                "none".to_owned()
            } else {
                format!("{lower} or fewer")
            };
            format!(
                "saves half of newcomers {lower} to {upper} evaluation{many}, a quarter {few} and a quarter {upper} or more"
            )
        }
    }
}

/// What a self-test that is trusted by little may be (`docs/prior-files.md` counts files of noise),
/// and what a search does about it.
fn accident(self_test: f64) -> &'static str {
    let read = Some(self_test as f32);
    if Reading::of(read) == Reading::Trusted && covers_box(read, 1) {
        ", as one file of noise in ten has by accident: the second question covers the space"
    } else {
        ""
    }
}

fn shown(parameter: &Parameter) -> String {
    let context = if parameter.context {
        ", given with each question"
    } else {
        ""
    };
    // What a space has to say alike.
    let scale = match &parameter.values {
        Values::Number { log: true, .. } => ", on a logarithmic scale",
        Values::Choices { ordered: true, .. } => ", in this order",
        _ => "",
    };
    format!(
        "{}: {}{scale}{context}",
        parameter.name,
        parameter.values.admissible()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_half_of_newcomers_save_is_said_as_a_range() {
        for (lower, upper, said) in [
            (
                3,
                12,
                "3 to 12 evaluations, a quarter 3 or fewer and a quarter 12 or more",
            ),
            (
                0,
                1,
                "0 to 1 evaluation, a quarter none and a quarter 1 or more",
            ),
            (
                9,
                21,
                "9 to 21 evaluations, a quarter 9 or fewer and a quarter 21 or more",
            ),
            (4, 4, "4 evaluations"),
            (21, 21, "21 or more evaluations"),
        ] {
            let median = lower;
            let found = saves(Quartiles {
                lower,
                median,
                upper,
            });
            assert_eq!(found, format!("saves half of newcomers {said}"));
        }
        let none = Quartiles {
            lower: 0,
            median: 0,
            upper: 0,
        };
        assert!(saves(none).contains("three in four newcomers nothing"));
    }

    #[test]
    fn a_self_test_that_noise_may_have_is_told_of() {
        for (self_test, is_told) in [(0.9, false), (1.0, true), (2.9, true), (3.0, false)] {
            assert_eq!(!accident(self_test).is_empty(), is_told, "{self_test}");
        }
    }
}
