//! The constants of a site of a campaign: what a device holds of it in its flash.

use std::fmt::Write as _;

use sordino_core::federated::exchange::Agreement;
use sordino_host::text::commented;

use super::Language;
use super::constants::{ExportError, bytes};

/// A campaign as a device is compiled with it.
pub struct CampaignExport<'a> {
    /// What its owner reads first: what is searched, who sees what, and ε.
    pub said: &'a str,
    /// Whether smaller values are better, so that a site gives them with the other sign.
    pub minimises: bool,
    /// What all parties agree on.
    pub agreement: &'a Agreement,
    /// Landmarks, M × D coordinates in the unit box.
    pub landmarks: &'a [f64],
    /// Points that fill the space, coordinates row by row: what a search with the file chooses from.
    pub points: &'a [f64],
    /// The same in the space's numbers, one a parameter: a category by its place in the list of its names.
    pub numbers: &'a [Vec<f64>],
    /// Parameters in their order, and what each number means.
    pub parameters: &'a [(String, String)],
}

/// An array: what it is, its name, the type of its numbers, and its rows.
type Array = (&'static str, &'static str, Number, Vec<String>);

/// The types of numbers, as both languages name them.
#[derive(Clone, Copy)]
enum Number {
    Byte,
    Single,
    Double,
}

impl Number {
    fn name(self, language: Language) -> &'static str {
        match (language, self) {
            (Language::C, Number::Byte) => "unsigned char",
            (Language::C, Number::Single) => "float",
            (Language::C, Number::Double) => "double",
            (Language::Rust, Number::Byte) => "u8",
            (Language::Rust, Number::Single) => "f32",
            (Language::Rust, Number::Double) => "f64",
        }
    }
}

/// Rows of numbers, one a line.
fn rows(numbers: &[f64], width: usize, write: impl Fn(f64) -> String) -> Vec<String> {
    numbers.chunks(width).map(|row| row.iter().map(|x| write(*x)).collect::<Vec<_>>().join(", ")).collect()
}

impl CampaignExport<'_> {
    /// The constants as a source file.
    ///
    /// **Errors**: [`ExportError::Format`].
    pub fn text(&self, language: Language) -> Result<String, ExportError> {
        let dim = self.agreement.dim as usize;
        let agreement = postcard::to_allocvec(self.agreement).map_err(ExportError::Format)?;
        let single = |x: f64| match language {
            Language::C => format!("{:?}f", x as f32),
            Language::Rust => format!("{:?}", x as f32),
        };
        let double = |x: f64| format!("{x:?}");
        let of_bytes =
            |values: &[u8]| bytes(values).lines().map(|line| line.trim().trim_end_matches(',').to_owned()).collect();
        let numbers: Vec<f64> = self.numbers.concat();
        let arrays: [Array; 5] = [
            (
                "digest of the agreement; frames carry its first 64 bits",
                "DIGEST",
                Number::Byte,
                of_bytes(&self.agreement.digest().0),
            ),
            ("the agreement, all that the parties have in common", "AGREEMENT", Number::Byte, of_bytes(&agreement)),
            (
                "the landmarks in the unit box, one a line",
                "LANDMARKS",
                Number::Double,
                rows(self.landmarks, dim, double),
            ),
            (
                "points that fill the space, in the unit box, one a line",
                "POINTS",
                Number::Single,
                rows(self.points, dim, single),
            ),
            (
                "the same points in numbers of the parameters, one a line",
                "NUMBERS",
                Number::Double,
                rows(&numbers, self.parameters.len(), double),
            ),
        ];
        let lengths =
            [self.agreement.digest().0.len(), agreement.len(), self.landmarks.len(), self.points.len(), numbers.len()];
        let constants = [
            ("D, coordinates of a point", "DIM", dim),
            ("M, features, one for each landmark", "FEATURES", self.landmarks.len() / dim),
            ("parameters of the space", "PARAMETERS", self.parameters.len()),
            (
                "releases, each with a frame down, what it is made with, and a contribution up",
                "RELEASES",
                self.agreement.protocol.epochs() as usize,
            ),
            (
                "first points, as many as everybody is expected to have; three at least",
                "FIRST_POINTS",
                self.agreement.protocol.initial_points() as usize,
            ),
        ];
        let mut out = self.head(language);
        for (doc, name, value) in constants {
            out += &match language {
                Language::C => format!("/* {doc} */\n#define SORDINO_{name} {value}u\n"),
                Language::Rust => format!("/// {doc}.\npub const {name}: usize = {value};\n"),
            };
        }
        for ((doc, name, number, rows), len) in arrays.iter().zip(lengths) {
            let of = number.name(language);
            let rows: String = rows.iter().map(|row| format!("    {row},\n")).collect();
            out += &match language {
                Language::C => format!(
                    "/* {doc} */\n#define SORDINO_{name}_LEN {len}u\nstatic const {of} SORDINO_{name}[{len}] = {{\n{rows}}};\n"
                ),
                Language::Rust => {
                    format!("/// {doc}.\n#[rustfmt::skip]\npub static {name}: [{of}; {len}] = [\n{rows}];\n")
                }
            };
        }
        Ok(out
            + match language {
                Language::C => TAIL_OF_C,
                Language::Rust => TAIL_OF_RUST,
            })
    }

    /// What the file is, and what the numbers of a point mean.
    fn head(&self, language: Language) -> String {
        // Its letters are those of terminals, and a compiler reads this.
        let asked = [("ε", "epsilon"), ("δ", "delta"), ("≤", "<=")];
        let asked = asked.iter().fold(self.said.trim_end().to_owned(), |said, (from, to)| said.replace(from, to));
        let mut said =
            format!("A site of a campaign, for a device: written by `sordino terms`, not by hand.\n\n{asked}\n\n");
        said += match self.minimises {
            true => "Smaller values are better here: a site gives -value. Numbers of a point:\n",
            false => "Larger values are better here: a site gives its values as they are. Numbers of a point:\n",
        };
        for (name, meaning) in self.parameters {
            // A string has no end.
            let _ = writeln!(said, "  {name}: {meaning}");
        }
        let lines = |begin: &str| {
            said.lines()
                .map(|line| format!("{begin} {}", commented(line)).trim_end().to_owned() + "\n")
                .collect::<String>()
        };
        match language {
            Language::C => format!("/*\n{} */\n#ifndef SORDINO_EXPORT_H\n#define SORDINO_EXPORT_H\n\n", lines(" *")),
            Language::Rust => lines("//!") + USES_OF_RUST,
        }
    }
}

const USES_OF_RUST: &str = "\nuse sordino_core::federated::exchange::{Agreement, AgreementError};\n\n";
const TAIL_OF_RUST: &str = "\n/// What all parties agree on. **Errors**: none for the bytes above.\n\
    pub fn agreement() -> Result<Agreement, AgreementError> {\n    Agreement::from_bytes(&AGREEMENT)\n}\n";
const TAIL_OF_C: &str = "/* a sordino_site_settings of sordino.h */\n\
    #define SORDINO_SITE_SETTINGS \\\n    { \\\n\
    \x20       .agreement = SORDINO_AGREEMENT, \\\n        .agreement_len = SORDINO_AGREEMENT_LEN, \\\n\
    \x20       .digest = SORDINO_DIGEST, \\\n        .landmarks = SORDINO_LANDMARKS, \\\n\
    \x20       .landmarks_len = SORDINO_LANDMARKS_LEN, \\\n    }\n\n#endif\n";
