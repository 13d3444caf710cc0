//! Tables of values measured on real data, compiled in. `sim/experiment/data/` has the tables,
//! their licences, and the program that makes them from public packages.

use serde::{Deserialize, Serialize};

/// Stored values are whole multiples of one over this.
const STEPS: f64 = 1e4;

/// A table that is compiled in: what each of its agents sees at every setting; more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Measured {
    /// Aeroplanes, each of which trains a model of how late its next flight arrives.
    #[serde(rename = "planes")]
    Planes,
    /// Industries, each of which forecasts its employment in the next month.
    #[serde(rename = "employment")]
    Employment,
    /// Women, for each of whom the next wage is forecast from her earlier ones.
    #[serde(rename = "wages")]
    Wages,
}

impl Measured {
    /// All tables, in the order of scenario keys.
    pub const ALL: [Measured; 3] = [Measured::Planes, Measured::Employment, Measured::Wages];

    /// Name of the file with its settings, beside which its values lie.
    pub const fn file(self) -> &'static str {
        match self {
            Measured::Planes => "planes-settings.csv",
            Measured::Employment => "employment-settings.csv",
            Measured::Wages => "wages-settings.csv",
        }
    }

    /// Its settings, a CSV file with a header: one column for each input.
    pub const fn settings(self) -> &'static str {
        match self {
            Measured::Planes => include_str!("../../data/planes-settings.csv"),
            Measured::Employment => include_str!("../../data/employment-settings.csv"),
            Measured::Wages => include_str!("../../data/wages-settings.csv"),
        }
    }

    /// Agent by agent, two bytes for each setting, the lower one first: a signed number of
    /// ten-thousandths.
    pub const fn bytes(self) -> &'static [u8] {
        match self {
            Measured::Planes => include_bytes!("../../data/planes-values.bin"),
            Measured::Employment => include_bytes!("../../data/employment-values.bin"),
            Measured::Wages => include_bytes!("../../data/wages-values.bin"),
        }
    }

    /// Number of its agents.
    pub fn agents(self) -> u32 {
        let settings = self.settings().lines().count() - 1;
        (self.bytes().len() / 2 / settings) as u32
    }

    /// Its values in their unit, agent by agent.
    pub fn values(self) -> Vec<f64> {
        let pairs = self.bytes().as_chunks().0.iter();
        pairs
            .map(|pair| f64::from(i16::from_le_bytes(*pair)) / STEPS)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use sordino_core::digest::Frame;

    use super::*;

    /// SHA-256 of settings and values, by `sha256sum`.
    const EXPECTED: [(&str, &str); 3] = [
        (
            "5ac1d48b6ce0951707688b4abe7f466edd6d6d673ee42dd74fb665100c8983d3",
            "e8177393eb864dcf7a0e297467cff189d6c14ce7aaaf8242ae4509d6344cd1d7",
        ),
        (
            "1ccb4fb2415c82267ba71f9d38d1e876318e6a901d8d45503e6b3938697cff71",
            "8aa99b0b83dcf2323c37c18a0f81b83491798fbdb4d3efc03924433968613726",
        ),
        (
            "d97c8dca398bccad8eb21ffcdb7c7869b3c77e7277f93504b07db415bb36a84a",
            "afed13c854bf639f50bba34e4681d4aa46e40a8cb3d30e77a737a295fa3fa761",
        ),
    ];

    fn digest(bytes: &[u8]) -> String {
        let mut digest = Frame::leaf();
        digest.bytes(bytes);
        digest.end().to_string()
    }

    /// Written by `sim/experiment/data/tables.py` from packages whose digests it checks.
    #[test]
    fn tables_are_the_ones_that_the_script_wrote() {
        let found =
            Measured::ALL.map(|table| (digest(table.settings().as_bytes()), digest(table.bytes())));
        let expected = EXPECTED.map(|(settings, values)| (settings.to_owned(), values.to_owned()));
        assert_eq!(found, expected);
        for table in Measured::ALL {
            let values = table.values();
            let settings = table.settings().lines().count() - 1;
            assert_eq!(values.len(), settings * table.agents() as usize);
            assert!(values.iter().all(|value| value.abs() <= 1.0));
        }
    }
}
