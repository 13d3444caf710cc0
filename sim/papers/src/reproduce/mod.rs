//! Results of the papers, reproduced: a catalogue of experiments that judge themselves.
//!
//! An experiment measures and states *bands*: what is expected, what was measured, whether it
//! holds. A band is about an ordering or a ratio that is stable over seeds, never about one digit
//! of one run. An ordering of two methods holds if the interval of their paired differences says
//! so. Where a paper's claim does not hold, the band says what holds instead and shows it.
//!
//! | module | experiments |
//! |---|---|
//! | `experiment` | the type of an experiment: bands, options, a report |
//! | `dp_fts_de` | `dp-fts-de/…`: Dai, Low, Jaillet 2021 |
//! | `ldp` | `ldp/…`: Zhou, Tan 2021 |
//! | `po_gp_ucb` | `po-gp-ucb/…`: Kharkovskii, Dai, Low 2020 |
//! | `dp_bo` | `dp-bo/…`: Kusner, Gardner, Garnett, Weinberger 2015 |
//! | `beyond` | `beyond/…`: the federated prior, which is from no paper |
//! | `file` | `file/…`: prior files beside their twins, on the same tables |
//! | `real` | `real/…`: agents' own real data, where sharing pays and where it does not |
//! | `variants` | several settings of one federated scenario, compared run by run |

pub(crate) mod beyond;
pub(crate) mod dp_bo;
pub(crate) mod dp_fts_de;
mod experiment;
pub(crate) mod file;
pub(crate) mod ldp;
pub(crate) mod po_gp_ucb;
pub(crate) mod real;
pub(crate) mod variants;

pub use experiment::{Band, Experiment, Options, Outcome, Report, ReproduceError};

/// All experiments, in the order in which they are listed.
pub const CATALOGUE: &[&[Experiment]] = &[
    dp_fts_de::EXPERIMENTS,
    po_gp_ucb::EXPERIMENTS,
    ldp::EXPERIMENTS,
    dp_bo::EXPERIMENTS,
    beyond::EXPERIMENTS,
    real::EXPERIMENTS,
    file::EXPERIMENTS,
];

impl Experiment {
    /// All experiments.
    pub fn all() -> impl Iterator<Item = &'static Experiment> {
        CATALOGUE.iter().copied().flatten()
    }

    /// The experiment of this name.
    pub fn find(name: &str) -> Option<&'static Experiment> {
        Self::all().find(|experiment| experiment.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo xtask reproduce` reads the catalogue as people do.
    #[test]
    fn the_catalogue_says_which_experiments_need_data() {
        for experiment in Experiment::all() {
            assert_eq!(
                experiment.description.contains("needs --data"),
                experiment.reads_data,
                "{}",
                experiment.name
            );
        }
    }

    #[test]
    fn names_are_unique_and_json_has_its_keys() {
        let mut names: Vec<&str> = Experiment::all()
            .map(|experiment| experiment.name)
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        let report = Report {
            runs: 1,
            runs_of_bands: 1,
            experiment: "a/b",
            bands: vec![Band::below("x", 1.0, 2.0)],
            remarks: vec!["r".into()],
            files: vec![("f".into(), "t".into())],
        };
        let json = serde_json::to_string(&report).unwrap();
        let expected = r#"{"experiment":"a/b","runs":1,"runs_of_bands":1,"bands":[{"name":"x","expected":"< 2","measured":1.0,"holds":true}],"remarks":["r"]}"#;
        assert_eq!(json, expected);
    }
}
