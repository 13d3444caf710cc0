//! `sordino prior export`: a file as constants for a device.

use std::fmt::Write;

use clap::{Args, ValueEnum};
use sordino_core::optimizer::CANDIDATES_MAX;
use sordino_core::prior::{PriorNumbers, PublicPrior, attach_len};
use sordino_experiment::text::significant_up;
use sordino_host::prior::{PriorFile, points};
use sordino_host::space::{Goal, Values};
use sordino_host::text::commented;

use super::file::OfFile;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::number::whole;
use sordino_experiment::command_line::{print, print_bytes};

/// `sordino prior export`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    of: OfFile,
    /// Language of the constants
    #[arg(long, value_enum)]
    lang: Language,
    /// Write a list of candidates as well, both as a search reads them and in the parameters' own
    /// numbers: all points of a space that has no more, else this many that cover it. Not in `bin`
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1, CANDIDATES_MAX as u64))]
    candidates: Option<u32>,
}

/// What reads the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    /// A module for `sordino_core::prior::PublicPrior`
    Rust,
    /// A header with arrays
    C,
    /// Little-endian numbers alone, for a place in flash: M and D as 32-bit numbers, lengthscale,
    /// self-test, landmarks, weights, covariance
    Bin,
}

/// Prints the constants.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    if arguments.candidates.is_some() && arguments.lang == Language::Bin {
        return Err(CliError::input(
            "--candidates: not in `bin`; admissible: with --lang rust or --lang c",
        ));
    }
    let file = arguments.of.load()?;
    let dim = file.landmarks.len() / file.features().max(1);
    let candidates = arguments
        .candidates
        .map(|count| Candidates::new(&file, count))
        .transpose()?;
    let factor = factor(&file, dim)?;
    let lists = [
        ("LANDMARKS", &file.landmarks),
        ("WEIGHTS", &file.weights),
        ("COVARIANCE", &file.covariance),
        ("FACTOR", &factor),
    ];
    match arguments.lang {
        Language::Rust => print(
            &(rust(&file, dim, lists) + &candidates.map_or(String::new(), |list| list.rust(dim))),
        ),
        Language::C => {
            print(&(c(&file, dim, lists) + &candidates.map_or(String::new(), |list| list.c())))
        }
        Language::Bin => print_bytes(&bin(&file, dim)),
    }
}

/// The factor of the landmarks, with the bits that a device would compute.
fn factor(file: &PriorFile, dim: usize) -> Result<Vec<f32>, CliError> {
    let numbers = PriorNumbers {
        dim,
        landmarks: &file.landmarks,
        lengthscale: file.label.lengthscale,
        weights: &file.weights,
        covariance: &file.covariance,
        self_test: file.label.self_test as f32,
    };
    let mut storage = vec![0.0; attach_len(file.features())];
    let prior = PublicPrior::attach(numbers, &mut storage).map_err(CliError::input)?;
    Ok(prior.factor().to_vec())
}

/// What every reader should know, a line each.
fn facts(file: &PriorFile, dim: usize) -> Vec<String> {
    let label = &file.label;
    let mut lines = vec![
        format!(
            "A prior file of {} contributors; digest {}",
            label.contributors,
            file.digest()
        ),
        format!(
            "epsilon {} at delta {}{}",
            significant_up(label.epsilon, 4),
            label.delta,
            if label.simulated {
                "; simulated, protects nobody"
            } else {
                ""
            }
        ),
        format!(
            "{} landmarks of {dim} coordinates from 0 to 1:",
            file.features()
        ),
    ];
    lines.extend(coordinates(file));
    let value = label.value.as_deref().unwrap_or("a value");
    lines.push(match label.goal {
        Goal::Minimize => format!("Larger is better to a search: give it the negative of {value}"),
        Goal::Maximize => format!("Larger is better: give a search {value} as it is"),
    });
    lines
}

/// Which coordinate every parameter is, and what its values become.
fn coordinates(file: &PriorFile) -> Vec<String> {
    let (Ok(space), Ok(encoding)) = (file.label.space.core(), file.encoding()) else {
        return Vec::new();
    };
    let first: Vec<f64> = (0..space.dim())
        .map(|axis| space.from_unit(axis, 0.0).unwrap_or(0.0))
        .collect();
    let mut lines = Vec::new();
    let mut next = 0;
    for (axis, parameter) in file.label.space.parameters().iter().enumerate() {
        let at = |number: f64| {
            let mut numbers = first.clone();
            numbers[axis] = number;
            encoding.coordinates(&numbers)
        };
        let width = encoding.width(axis);
        let what = match (&parameter.values, width) {
            (Values::Choices { choices, .. }, 1) => {
                let pairs = choices
                    .iter()
                    .enumerate()
                    .map(|(i, choice)| format!("{choice} {}", at(i as f64)[next]));
                format!(
                    "coordinate {next}: {}",
                    pairs.collect::<Vec<_>>().join(", ")
                )
            }
            (Values::Choices { choices, .. }, _) => {
                let names: Vec<String> = choices.iter().map(ToString::to_string).collect();
                format!(
                    "coordinates {next} to {}: 1 for the one of {}, else 0",
                    next + width - 1,
                    names.join(", ")
                )
            }
            (Values::Number { low, high, log, .. }, _) => format!(
                "coordinate {next}: {low} {}, {high} {}, evenly between in {}",
                at(*low)[next],
                at(*high)[next],
                if *log { "its logarithm" } else { "itself" }
            ),
        };
        lines.push(format!("  {}: {what}", parameter.name));
        next += width;
    }
    lines
}

/// Numbers in lines, so that they are read back to the bit.
fn numbers(list: &[f32]) -> String {
    let mut out = String::new();
    for line in list.chunks(8) {
        let line: Vec<String> = line.iter().map(|x| format!("{x:?}")).collect();
        // A String takes every write.
        let _ = writeln!(out, "    {},", line.join(", "));
    }
    out
}

/// The same in C, of type `float`.
fn floats(list: &[f32]) -> String {
    numbers(list).replace(',', "f,")
}

fn rust(file: &PriorFile, dim: usize, lists: [(&str, &Vec<f32>); 4]) -> String {
    let mut out = String::new();
    facts(file, dim)
        .iter()
        .for_each(|line| out.push_str(&format!("//! {}\n", commented(line))));
    // A device that does not name one of these pays nothing for it.
    out.push_str("\n#![allow(dead_code)]\n\nuse sordino_core::prior::PriorNumbers;\n\n");
    out.push_str(&format!(
        "/// M, the number of landmarks: the first number of `storage_len`, the only one of `attach_len`.\npub const LANDMARK_COUNT: \
         usize = {};\n/// D, the coordinates of a landmark and of a candidate.\npub const DIM: usize = {dim};\n\n",
        file.features()
    ));
    for (name, list) in lists {
        if name == "FACTOR" {
            out.push_str(
                "/// With it `PublicPrior::attach_with_factor` takes no storage for long.\npub ",
            );
        }
        out.push_str(&format!(
            "static {name}: [f32; {}] = [\n{}];\n\n",
            list.len(),
            numbers(list)
        ));
    }
    out.push_str(&format!(
        "/// What `PublicPrior::attach` reads.\npub static NUMBERS: PriorNumbers<'static, f32> = PriorNumbers {{\n    dim: \
         {dim},\n    landmarks: &LANDMARKS,\n    lengthscale: {:?},\n    weights: &WEIGHTS,\n    covariance: \
         &COVARIANCE,\n    self_test: {:?},\n}};\n",
        file.label.lengthscale, file.label.self_test as f32
    ));
    out
}

fn c(file: &PriorFile, dim: usize, lists: [(&str, &Vec<f32>); 4]) -> String {
    let lines: Vec<String> = facts(file, dim)
        .iter()
        .map(|line| format!(" * {}", commented(line)))
        .collect();
    let mut out = format!(
        "/*\n{}\n *\n * Include it after sordino.h, in one file.\n */\n",
        lines.join("\n")
    );
    out.push_str(&format!(
        "#define SORDINO_PRIOR_DIM {dim}\n#define SORDINO_PRIOR_LANDMARKS {}\n",
        file.features()
    ));
    out.push_str(&format!(
        "#define SORDINO_PRIOR_LENGTHSCALE {:?}f\n",
        file.label.lengthscale
    ));
    out.push_str(&format!(
        "#define SORDINO_PRIOR_SELF_TEST {:?}f\n",
        file.label.self_test as f32
    ));
    let mut members = String::new();
    for (name, list) in lists {
        let text = floats(list);
        let len = list.len();
        out.push_str(&format!(
            "static const float SORDINO_PRIOR_{name}_OF[{len}] = {{\n{text}}};\n"
        ));
        members.push_str(&format!(",\n    SORDINO_PRIOR_{name}_OF, {len}"));
    }
    out.push_str(&format!(
        "/* What sordino_prior_attach reads; without the last two it computes the factor, and keeps it in memory. */\nstatic \
         const sordino_prior_numbers SORDINO_PRIOR_NUMBERS = {{\n    SORDINO_PRIOR_DIM, SORDINO_PRIOR_LENGTHSCALE, \
         SORDINO_PRIOR_SELF_TEST{members},\n}};\n"
    ));
    out
}

fn bin(file: &PriorFile, dim: usize) -> Vec<u8> {
    let sizes = [file.features() as u32, dim as u32].map(u32::to_le_bytes);
    let numbers = [file.label.lengthscale, file.label.self_test as f32];
    let tensors = [&file.landmarks, &file.weights, &file.covariance];
    let numbers = numbers
        .iter()
        .chain(tensors.into_iter().flatten())
        .map(|x| x.to_le_bytes());
    sizes.into_iter().chain(numbers).flatten().collect()
}

/// Whether the whole numbers of a parameter are what they are in single precision.
fn is_exact(values: &Values) -> bool {
    match values {
        Values::Number {
            low,
            high,
            integer: true,
            ..
        } => low.abs().max(high.abs()) <= f64::from(1 << 24),
        _ => true,
    }
}

/// A list of points to choose from.
struct Candidates {
    /// What the parameters are called, in words.
    names: String,
    count: usize,
    /// N × D coordinates, as a search reads them.
    coordinates: Vec<f32>,
    /// N × P numbers of the parameters, as people count; a choice is its index.
    numbers: Vec<f32>,
}

impl Candidates {
    /// Points that cover the space of a file.
    fn new(file: &PriorFile, count: u32) -> Result<Self, CliError> {
        let parameters = file.label.space.parameters();
        if let Some(given) = parameters.iter().find(|parameter| parameter.context) {
            let why = "is given with each question, so candidates are a device's own";
            return Err(CliError::input(format!(
                "--candidates: {} {why}",
                given.name
            )));
        }
        if let Some(wide) = parameters
            .iter()
            .find(|parameter| !is_exact(&parameter.values))
        {
            let why = "has whole numbers beyond 2^24, which single precision rounds: write candidates of your own";
            return Err(CliError::input(format!(
                "--candidates: {} {why}",
                wide.name
            )));
        }
        let encoding = file.encoding().map_err(CliError::input)?;
        let list = points(&file.label.space, count).map_err(CliError::input)?;
        let coordinates = list
            .iter()
            .flat_map(|numbers| encoding.coordinates(numbers))
            .map(|x| x as f32)
            .collect();
        let numbers = list.iter().flatten().map(|x| *x as f32).collect();
        let names: Vec<String> = parameters
            .iter()
            .map(|parameter| match &parameter.values {
                Values::Choices { .. } => format!("{} (0 is the first choice)", parameter.name),
                Values::Number { .. } => parameter.name.clone(),
            })
            .collect();
        Ok(Candidates {
            names: commented(&names.join(", ")),
            count: list.len(),
            coordinates,
            numbers,
        })
    }

    fn rust(&self, dim: usize) -> String {
        let Candidates {
            names,
            count,
            coordinates,
            numbers: own,
        } = self;
        let width = own.len() / count.max(&1);
        format!(
            "\n/// N, the number of candidates.\npub const CANDIDATE_COUNT: usize = {count};\n\n/// What `Newcomer::new` chooses \
             from: {count} × {dim} coordinates.\npub static CANDIDATES: [f32; {}] = [\n{}];\n\n/// The same points in numbers of \
             the parameters, {width} each: {names}.\npub static POINTS: [f32; {}] = [\n{}];\n",
            coordinates.len(),
            numbers(coordinates),
            own.len(),
            numbers(own)
        )
    }

    fn c(&self) -> String {
        let Candidates {
            names,
            count,
            coordinates,
            numbers: own,
        } = self;
        format!(
            "#define SORDINO_PRIOR_CANDIDATES {count}\n/* What sordino_newcomer_open chooses from. */\nstatic const float \
             SORDINO_PRIOR_CANDIDATES_OF[{}] = {{\n{}}};\n/* The same points in numbers of the parameters, {} each: {names}. \
             */\nstatic const float SORDINO_PRIOR_POINTS_OF[{}] = {{\n{}}};\n",
            coordinates.len(),
            floats(coordinates),
            own.len() / count.max(&1),
            own.len(),
            floats(own)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_that_single_precision_rounds_are_found() {
        let number = |high: f64, integer| Values::Number {
            low: 1.0,
            high,
            log: false,
            integer,
        };
        assert!(is_exact(&number(16_777_216.0, true)) && !is_exact(&number(16_777_217.0, true)));
        assert!(
            is_exact(&number(1e12, false)),
            "a length is rounded, and nobody minds"
        );
    }
}
