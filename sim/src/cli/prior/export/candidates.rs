//! Points to choose from, as constants: in coordinates, and in numbers of the parameters.

use sordino_core::digest::Digest;
use sordino_experiment::command_line::error::CliError;
use sordino_host::prior::{PriorFile, points};
use sordino_host::space::Values;
use sordino_host::text::commented;

use super::lists::{floats, numbers, row};
use super::names;

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
pub(super) struct Candidates {
    /// What the parameters are called, in words.
    names: String,
    /// An identifier for each parameter.
    places: Vec<String>,
    count: usize,
    /// N × D coordinates, as a search reads them.
    coordinates: Vec<f32>,
    /// N × P numbers of the parameters, as people count; a choice is its index.
    numbers: Vec<f32>,
}

impl Candidates {
    /// Points that cover the space of a file.
    pub(super) fn new(file: &PriorFile, count: u32) -> Result<Self, CliError> {
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
            places: names::constants(parameters.iter().map(|parameter| parameter.name.as_str())),
            names: commented(&names.join(", ")),
            count: list.len(),
            coordinates,
            numbers,
        })
    }

    /// What gives an index its meaning, beside the file.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(&(&self.coordinates, &self.numbers))
    }

    /// Rows of the parameters' numbers, a line each.
    fn rows(&self, open: char, close: char, one: impl Fn(&[f32]) -> String) -> String {
        let width = self.places.len().max(1);
        let rows = self.numbers.chunks(width);
        rows.map(|row| format!("    {open}{}{close},\n", one(row)))
            .collect()
    }

    /// Where each parameter is in such a row, a line each.
    fn places(&self, one: impl Fn(&str, usize) -> String) -> String {
        let places = self.places.iter().zip(0..);
        places.map(|(name, place)| one(name, place)).collect()
    }

    pub(super) fn rust(&self, dim: usize) -> String {
        let Candidates {
            names,
            count,
            coordinates,
            ..
        } = self;
        let width = self.places.len();
        let places = self.places(|name, place| format!("    pub const {name}: usize = {place};\n"));
        let rows = self.rows('[', ']', |own| row(own, ""));
        let list = numbers(coordinates);
        let len = coordinates.len();
        format!(
            "\n/// N, the number of candidates.\npub const CANDIDATE_COUNT: usize = {count};\n\n/// What `Newcomer::new` chooses \
             from: {count} × {dim} coordinates.\npub static CANDIDATES: [f32; {len}] = [\n{list}];\n\n/// Where a parameter is \
             in a row of `POINTS`.\npub mod at {{\n{places}}}\n\n/// The same points in numbers of the parameters, a row \
             each: {names}.\npub static POINTS: [[f32; {width}]; {count}] = [\n{rows}];\n"
        )
    }

    pub(super) fn c(&self) -> String {
        let Candidates {
            names,
            count,
            coordinates,
            ..
        } = self;
        let width = self.places.len();
        let places =
            self.places(|name, place| format!("#define SORDINO_PRIOR_AT_{name} {place}\n"));
        let rows = self.rows('{', '}', |own| row(own, "f"));
        let list = floats(coordinates);
        let len = coordinates.len();
        format!(
            "#define SORDINO_PRIOR_CANDIDATES {count}\n/* Numbers of all of them: candidates_len of the settings. */\n#define \
             SORDINO_PRIOR_CANDIDATES_LEN {len}\n/* What sordino_newcomer_open chooses from. */\nstatic const float \
             SORDINO_PRIOR_CANDIDATES_OF[SORDINO_PRIOR_CANDIDATES_LEN] = {{\n{list}}};\n/* Where a parameter is in a row of \
             SORDINO_PRIOR_POINTS_OF. */\n{places}/* The same points in numbers of the parameters, a row each: {names}. \
             */\nstatic const float SORDINO_PRIOR_POINTS_OF[{count}][{width}] = {{\n{rows}}};\n"
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
