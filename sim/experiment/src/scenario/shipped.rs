//! The scenarios compiled into the program.

use super::federated::Scenario;
use super::reader::ScenarioError;

/// A scenario that needs no file.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its name on the command line.
    pub name: &'static str,
    /// Text of the scenario, TOML.
    pub text: &'static str,
}

/// Conclusions from scenarios of real data, by name; they hold for the scenario as shipped, with
/// any seed, number of runs and methods. `docs/real-data.md` has the numbers.
const CONCLUSIONS: &[(&str, &str)] = &[
    (
        "planes",
        "private sharing pays here with dp-prior alone: a quarter less summed regret than ts and a fifth less than \
         prior-noise, which shares nothing; dp-fts-de is not better than ts. One year of one city's flights, 10 paired runs: \
         no statement about other data.",
    ),
    (
        "employment",
        "private sharing pays here with dp-prior alone: less than half the summed regret of ts and of prior-noise, which \
         shares nothing; dp-fts-de has half as much again as ts. Industries overlap, some are sums of others; 10 paired runs: \
         no statement about other data.",
    ),
    (
        "wages",
        "nothing is gained by sharing: what dp-prior gains against ts, prior-noise gains too, and it shares nothing (of 10 \
         paired runs); a short series decides its best setting by chance, so that there is little to share.",
    ),
];

/// The conclusion, if this is a shipped scenario in which only seed, runs and methods were changed.
pub fn conclusion(scenario: &Scenario) -> Option<&'static str> {
    let (_, said) = CONCLUSIONS
        .iter()
        .find(|(name, _)| *name == scenario.name)?;
    let mut shipped = Shipped::find(&scenario.name)?.parse(&[]).ok()?;
    (shipped.seed, shipped.runs) = (scenario.seed, scenario.runs);
    shipped
        .federation
        .methods
        .clone_from(&scenario.federation.methods);
    shipped.federation.observations = scenario.federation.observations;
    // There is none where no method asks for it.
    shipped.prior = shipped.prior.filter(|_| scenario.prior.is_some());
    (shipped == *scenario).then_some(said)
}

macro_rules! shipped {
    ($($name:literal)+) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../../scenarios/", $name, ".toml")) }),+]
    };
}

/// All of them, in the order of `sordino list`.
pub const SHIPPED: &[Shipped] = shipped!(
    "default" "gp-2d" "fleet" "firmware" "winequality" "landmine" "planes" "employment" "wages" "fedhpo" "outsourced-grid" "outsourced-branin" "outsourced-hdb"
    "outsourced-loans" "faults" "hartmann6" "differ-smooth" "differ-outliers" "differ-camps" "differ-points" "differ-absent" "ldp-se"
    "ldp-matern" "ldp-student-t" "ldp-light-sensor" "ldp-stocks" "output-gp" "output-winequality"
);

impl Shipped {
    /// The shipped scenario of this name.
    pub fn find(name: &str) -> Option<&'static Shipped> {
        SHIPPED.iter().find(|shipped| shipped.name == name)
    }

    /// The scenario of the trust model `federated`, with settings applied.
    pub fn parse(&self, settings: &[String]) -> Result<Scenario, ScenarioError> {
        Scenario::parse(self.name, self.text, settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conclusions_are_told_of_what_is_shipped_and_of_nothing_else() {
        for (name, said) in CONCLUSIONS {
            let parse = |settings: &[&str]| {
                let settings: Vec<String> = settings
                    .iter()
                    .map(|setting| (*setting).to_owned())
                    .collect();
                Shipped::find(name).unwrap().parse(&settings).unwrap()
            };
            assert_eq!(conclusion(&parse(&[])), Some(*said));
            assert_eq!(
                conclusion(&parse(&[
                    "seed=1",
                    "runs=3",
                    "federation.methods=[\"ts\", \"fts\"]"
                ])),
                Some(*said)
            );
            assert_eq!(conclusion(&parse(&["privacy.noise_multiplier=2"])), None);
            assert_eq!(conclusion(&parse(&["objective.noise_variance=0.1"])), None);
            assert_eq!(conclusion(&parse(&["prior.releases=[0]"])), None);
        }
        assert_eq!(
            conclusion(&Shipped::find("winequality").unwrap().parse(&[]).unwrap()),
            None
        );
    }
}
