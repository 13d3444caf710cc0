//! `sordino prior export`: a file as constants for a device.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sordino_core::digest::Digest;
use sordino_core::optimizer::CANDIDATES_MAX;
use sordino_core::prior::{PriorNumbers, PublicPrior, attach_len};
use sordino_experiment::files::write_atomically;
use sordino_experiment::progress::log::note;
use sordino_experiment::text::significant_up;
use sordino_host::prior::PriorFile;
use sordino_host::space::{Goal, Values};
use sordino_host::text::commented;

use self::candidates::Candidates;
use self::lists::{floats, numbers};
use super::file::OfFile;
use super::label;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::number::whole;
use sordino_experiment::command_line::print_bytes;

mod candidates;
mod lists;
mod names;

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
    /// Write into this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
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
    check_out(&arguments.of.file, arguments.out.as_deref())?;
    let file = arguments.of.load()?;
    let dim = file.landmarks.len() / file.features().max(1);
    let candidates = arguments
        .candidates
        .map(|count| Candidates::new(&file, count))
        .transpose()?;
    let factor = factor(&file, dim)?;
    let worth = label::worth(&file)?;
    if worth.is_nothing {
        note(&format!("{}: worth {}", arguments.of.file, worth.words));
    }
    let of = Exported {
        lists: [
            ("LANDMARKS", &file.landmarks),
            ("WEIGHTS", &file.weights),
            ("COVARIANCE", &file.covariance),
            ("FACTOR", &factor),
        ],
        dim,
        worth: worth.words,
        digest: digest(&file, candidates.as_ref()),
        has_list: candidates.is_some(),
        file: &file,
    };
    let list =
        |form: &dyn Fn(&Candidates) -> String| candidates.as_ref().map_or(String::new(), form);
    let exported = match arguments.lang {
        Language::Rust => (of.rust() + &list(&|list| list.rust(dim))).into_bytes(),
        Language::C => (of.c() + &list(&Candidates::c)).into_bytes(),
        Language::Bin => bin(&file, dim),
    };
    let Some(path) = &arguments.out else {
        return print_bytes(&exported);
    };
    write_atomically(path, &exported)
        .map_err(|error| CliError::failure(format!("{}: {error}", path.display())))?;
    note(&format!("{} is written", path.display()));
    Ok(())
}

/// Refuses to take the place of another file: of one that somebody paid for, say.
fn check_out(of: &str, out: Option<&Path>) -> Result<(), CliError> {
    let Some(out) = out else {
        return Ok(());
    };
    match (Path::new(of).canonicalize(), out.canonicalize()) {
        (Ok(of), Ok(place)) if of == place => Err(CliError::input(format!(
            "--out {}: the prior file itself; admissible: another name",
            out.display()
        ))),
        (_, Ok(_)) => Err(CliError::input(format!(
            "--out {}: exists already, and nothing is overwritten; remove it, or name another file",
            out.display()
        ))),
        _ => Ok(()),
    }
}

/// What an export is made of, beside its candidates.
struct Exported<'a> {
    file: &'a PriorFile,
    dim: usize,
    /// What the file is worth, in words.
    worth: String,
    digest: Digest,
    /// Whether the list of candidates is exported as well.
    has_list: bool,
    lists: [(&'static str, &'a Vec<f32>); 4],
}

/// Of all that gives the index of a candidate its meaning: the file, goal and units included, and
/// the list.
fn digest(file: &PriorFile, candidates: Option<&Candidates>) -> Digest {
    Digest::of(&(file.digest(), candidates.map(Candidates::digest)))
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
fn facts(exported: &Exported<'_>) -> Vec<String> {
    let Exported {
        file, dim, worth, ..
    } = exported;
    let label = &file.label;
    let mut lines = vec![
        format!(
            "A prior file of {} contributors; digest of its label and numbers, as `sordino prior show` has it: {}",
            label.contributors,
            file.digest()
        ),
        format!("Data set {}", label::origin(label)),
        format!("Worth: {}", worth.replace('ε', "epsilon")),
        format!(
            "epsilon {} at delta {}, of a contributor that is used or counts as nothing (zero-out neighbours); between any two \
             things that it may hold, epsilon {} at the same delta{}",
            significant_up(label.epsilon, 4),
            label.delta,
            significant_up(label.replace_epsilon, 4),
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

/// The bytes of a digest in lines.
fn hexadecimal(digest: &Digest) -> String {
    let line = |bytes: &[u8]| {
        let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:#04x}")).collect();
        format!("    {},\n", bytes.join(", "))
    };
    digest.0.chunks(8).map(line).collect()
}

/// What a larger value is to a search: 1 as it is, -1 the negative.
fn sign(file: &PriorFile) -> f32 {
    match file.label.goal {
        Goal::Minimize => -1.0,
        Goal::Maximize => 1.0,
    }
}

impl Exported<'_> {
    /// What a digest is of, and what it is for.
    fn of_the_digest(&self, how: &str, name: &str) -> String {
        if self.has_list {
            return format!(
                "Of this export: of the digest above together with its list of candidates. Store a log {how}: if it differs, erase the log, whose indices are \
                 other points now."
            );
        }
        format!(
            "Of this export, made of the digest above and not the same. Store a log {how}, and with a digest of {name} and your own list of candidates where that may \
             change: if it differs, erase the log."
        )
    }

    fn rust(&self) -> String {
        let Exported {
            file, dim, lists, ..
        } = self;
        let mut out = String::new();
        facts(self)
            .iter()
            .for_each(|line| out.push_str(&format!("//! {}\n", commented(line))));
        // A device that does not name one of these pays nothing for it.
        out.push_str("\n#![allow(dead_code)]\n\nuse sordino_core::prior::PriorNumbers;\n\n");
        out.push_str(&format!(
            "/// M, the number of landmarks: the first number of `storage_len`, the only one of `attach_len`.\npub const \
             LANDMARK_COUNT: usize = {};\n/// D, the coordinates of a landmark and of a candidate.\npub const DIM: usize = \
             {dim};\n/// A search maximises: tell it `SIGN * measured`.\npub const SIGN: f32 = {:?};\n/// {}\npub const DIGEST: [u8; 32] = [\n{}];\n\n",
            file.features(),
            sign(file),
            self.of_the_digest("under it", "DIGEST"),
            hexadecimal(&self.digest)
        ));
        for (name, list) in lists {
            if *name == "FACTOR" {
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

    fn c(&self) -> String {
        let Exported {
            file, dim, lists, ..
        } = self;
        let lines: Vec<String> = facts(self)
            .iter()
            .map(|line| format!(" * {}", commented(line)))
            .collect();
        let mut out = format!(
            "/*\n{}\n *\n * Include it after sordino.h, in one file.\n */\n",
            lines.join("\n")
        );
        out.push_str(&format!(
            "#define SORDINO_PRIOR_DIM {dim}\n#define SORDINO_PRIOR_LANDMARKS {}\n#define SORDINO_PRIOR_LENGTHSCALE \
             {:?}f\n#define SORDINO_PRIOR_SELF_TEST {:?}f\n/* A search maximises: tell it SORDINO_PRIOR_SIGN * measured. \
             */\n#define SORDINO_PRIOR_SIGN ({:?}f)\n",
            file.features(),
            file.label.lengthscale,
            file.label.self_test as f32,
            sign(file)
        ));
        out.push_str(&format!(
            "/* {} */\nstatic const uint8_t SORDINO_PRIOR_DIGEST[32] = {{\n{}}};\n",
            self.of_the_digest("with it", "SORDINO_PRIOR_DIGEST"),
            hexadecimal(&self.digest)
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
            "/* What sordino_prior_attach reads; without the last two it computes the factor, and keeps it in memory. \
             */\nstatic const sordino_prior_numbers SORDINO_PRIOR_NUMBERS = {{\n    SORDINO_PRIOR_DIM, \
             SORDINO_PRIOR_LENGTHSCALE, SORDINO_PRIOR_SELF_TEST{members},\n}};\n"
        ));
        out
    }
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
