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
    /// Points that fill the space, coordinates row by row: what a search with the file chooses
    /// from.
    pub points: &'a [f64],
    /// The same in the space's numbers, one a parameter: a category by its place in the list of its
    /// names.
    pub numbers: &'a [Vec<f64>],
    /// Parameters in their order, and what each number means.
    pub parameters: &'a [(String, String)],
}

/// Numbers of an array, as they are written.
enum Numbers<'a> {
    Bytes(&'a [u8]),
    /// In single precision, so many a line.
    Single(&'a [f64], usize),
    /// In double precision, so many a line.
    Double(&'a [f64], usize),
}

impl Numbers<'_> {
    /// Their type, as a language names it.
    fn name(&self, language: Language) -> &'static str {
        match (self, language) {
            (Numbers::Bytes(_), Language::C) => "unsigned char",
            (Numbers::Single(..), Language::C) => "float",
            (Numbers::Double(..), Language::C) => "double",
            (Numbers::Bytes(_), Language::Rust) => "u8",
            (Numbers::Single(..), Language::Rust) => "f32",
            (Numbers::Double(..), Language::Rust) => "f64",
        }
    }

    fn len(&self) -> usize {
        match self {
            Numbers::Bytes(all) => all.len(),
            Numbers::Single(all, _) | Numbers::Double(all, _) => all.len(),
        }
    }

    /// All of them in lines.
    fn lines(&self, language: Language) -> String {
        let suffix = if language == Language::C { "f" } else { "" };
        match self {
            Numbers::Bytes(all) => bytes(all),
            Numbers::Single(all, width) => {
                lines(all, *width, |x| format!("{:?}{suffix}", x as f32))
            }
            Numbers::Double(all, width) => lines(all, *width, |x| format!("{x:?}")),
        }
    }
}

fn lines(all: &[f64], width: usize, write: impl Fn(f64) -> String) -> String {
    all.chunks(width)
        .map(|row| {
            let numbers: Vec<String> = row.iter().map(|x| write(*x)).collect();
            format!("    {},\n", numbers.join(", "))
        })
        .collect()
}

/// A constant in a language: what it is, its name and value.
fn constant(language: Language, doc: &str, name: &str, value: usize) -> String {
    match language {
        Language::C => format!("/* {doc} */\n#define SORDINO_{name} {value}u\n"),
        Language::Rust => format!("/// {doc}.\npub const {name}: usize = {value};\n"),
    }
}

/// An array in a language: what it is, its name and numbers.
fn array(language: Language, doc: &str, name: &str, numbers: &Numbers<'_>) -> String {
    let of = numbers.name(language);
    let len = numbers.len();
    let lines = numbers.lines(language);
    match language {
        Language::C => format!(
            "/* {doc} */\n#define SORDINO_{name}_LEN {len}u\nstatic const {of} SORDINO_{name}[{len}] = {{\n{lines}}};\n"
        ),
        Language::Rust => format!(
            "/// {doc}.\n#[rustfmt::skip]\npub static {name}: [{of}; {len}] = [\n{lines}];\n"
        ),
    }
}

impl CampaignExport<'_> {
    /// The constants as a source file.
    ///
    /// **Errors**: [`ExportError::Format`].
    pub fn text(&self, language: Language) -> Result<String, ExportError> {
        let dim = self.agreement.dim as usize;
        let agreement = postcard::to_allocvec(self.agreement).map_err(ExportError::Format)?;
        let digest = self.agreement.digest().0;
        let protocol = &self.agreement.protocol;
        let numbers = self.numbers.concat();
        let first = "first points, as many as everybody is expected to have; three at least";
        let releases =
            "releases, each with a frame down, what it is made with, and a contribution up";
        let constants = [
            ("D, coordinates of a point", "DIM", dim),
            (
                "M, features, one for each landmark",
                "FEATURES",
                self.landmarks.len() / dim,
            ),
            (
                "parameters of the space",
                "PARAMETERS",
                self.parameters.len(),
            ),
            (releases, "RELEASES", protocol.epochs() as usize),
            (first, "FIRST_POINTS", protocol.initial_points() as usize),
        ];
        let frames = "digest of the agreement; frames carry its first 64 bits";
        let same = "the same points in numbers of the parameters, one a line";
        let arrays = [
            (frames, "DIGEST", Numbers::Bytes(&digest)),
            (
                "the agreement, all that the parties have in common",
                "AGREEMENT",
                Numbers::Bytes(&agreement),
            ),
            (
                "the landmarks in the unit box, one a line",
                "LANDMARKS",
                Numbers::Double(self.landmarks, dim),
            ),
            (
                "points that fill the space, in the unit box, one a line",
                "POINTS",
                Numbers::Single(self.points, dim),
            ),
            (
                same,
                "NUMBERS",
                Numbers::Double(&numbers, self.parameters.len()),
            ),
        ];
        let constants = constants.map(|(doc, name, value)| constant(language, doc, name, value));
        let sign = match language {
            Language::C => format!(
                "/* whether smaller values are better: a site gives them with the other sign */\n#define SORDINO_MINIMISES {}\n",
                u8::from(self.minimises)
            ),
            Language::Rust => format!(
                "/// Whether smaller values are better: a site gives them with the other sign.\npub const MINIMISES: bool = {};\n",
                self.minimises
            ),
        };
        let arrays = arrays.map(|(doc, name, numbers)| array(language, doc, name, &numbers));
        let tail = if language == Language::C {
            TAIL_OF_C
        } else {
            TAIL_OF_RUST
        };
        Ok(self.head(language) + &constants.concat() + &sign + &arrays.concat() + tail)
    }

    /// What the file is, and what the numbers of a point mean.
    fn head(&self, language: Language) -> String {
        // Its orders are those of terminals, and a compiler reads this.
        let asked = [("ε", "epsilon"), ("δ", "delta"), ("≤", "<=")];
        let asked = asked
            .iter()
            .fold(self.said.trim_end().to_owned(), |said, (from, to)| {
                said.replace(from, to)
            });
        let mut said = format!(
            "A site of a campaign, for a device: written by `sordino terms`, not by hand.\n\n{asked}\n\n"
        );
        said += match self.minimises {
            true => "Smaller values are better here: a site gives -value. Numbers of a point:\n",
            false => {
                "Larger values are better here: a site gives its values as they are. Numbers of a point:\n"
            }
        };
        for (name, meaning) in self.parameters {
            // A string has no end.
            let _ = writeln!(said, "  {name}: {meaning}");
        }
        match language {
            Language::C => format!(
                "/*\n{} */\n#ifndef SORDINO_EXPORT_H\n#define SORDINO_EXPORT_H\n\n",
                comment(" *", &said)
            ),
            Language::Rust => comment("//!", &said) + USES_OF_RUST,
        }
    }
}

/// The lines of a text, each behind what begins a line of a comment.
fn comment(begin: &str, text: &str) -> String {
    text.lines()
        .map(|line| format!("{begin} {}", commented(line)).trim_end().to_owned() + "\n")
        .collect()
}

const USES_OF_RUST: &str =
    "\nuse sordino_core::federated::exchange::{Agreement, AgreementError};\n\n";
const TAIL_OF_RUST: &str = "\n/// What all parties agree on. **Errors**: none for the bytes above.\n\
    pub fn agreement() -> Result<Agreement, AgreementError> {\n    Agreement::from_bytes(&AGREEMENT)\n}\n";
const TAIL_OF_C: &str = "/* a sordino_site_settings of sordino.h */\n\
    #define SORDINO_SITE_SETTINGS \\\n    { \\\n\
    \x20       .agreement = SORDINO_AGREEMENT, \\\n        .agreement_len = SORDINO_AGREEMENT_LEN, \\\n\
    \x20       .digest = SORDINO_DIGEST, \\\n        .landmarks = SORDINO_LANDMARKS, \\\n\
    \x20       .landmarks_len = SORDINO_LANDMARKS_LEN, \\\n    }\n\n#endif\n";
