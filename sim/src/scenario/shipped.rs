//! The scenarios compiled into the program.

use super::any::AnyScenario;
use super::federated::Scenario;
use super::reader::ScenarioError;

/// A scenario that needs no file.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// All of them, in the order of `sordino list`.
pub const SHIPPED: &[Shipped] = &[
    Shipped { name: "default", text: include_str!("../../scenarios/default.toml") },
    Shipped { name: "gp-2d", text: include_str!("../../scenarios/gp-2d.toml") },
    Shipped { name: "fleet", text: include_str!("../../scenarios/fleet.toml") },
    Shipped { name: "firmware", text: include_str!("../../scenarios/firmware.toml") },
    Shipped { name: "winequality", text: include_str!("../../scenarios/winequality.toml") },
    Shipped { name: "landmine", text: include_str!("../../scenarios/landmine.toml") },
    Shipped { name: "outsourced-grid", text: include_str!("../../scenarios/outsourced-grid.toml") },
    Shipped { name: "outsourced-branin", text: include_str!("../../scenarios/outsourced-branin.toml") },
    Shipped { name: "outsourced-hdb", text: include_str!("../../scenarios/outsourced-hdb.toml") },
    Shipped { name: "outsourced-loans", text: include_str!("../../scenarios/outsourced-loans.toml") },
    Shipped { name: "faults", text: include_str!("../../scenarios/faults.toml") },
    Shipped { name: "differ-smooth", text: include_str!("../../scenarios/differ-smooth.toml") },
    Shipped { name: "differ-outliers", text: include_str!("../../scenarios/differ-outliers.toml") },
    Shipped { name: "differ-camps", text: include_str!("../../scenarios/differ-camps.toml") },
    Shipped { name: "differ-points", text: include_str!("../../scenarios/differ-points.toml") },
    Shipped { name: "differ-absent", text: include_str!("../../scenarios/differ-absent.toml") },
    Shipped { name: "ldp-se", text: include_str!("../../scenarios/ldp-se.toml") },
    Shipped { name: "ldp-matern", text: include_str!("../../scenarios/ldp-matern.toml") },
    Shipped { name: "ldp-student-t", text: include_str!("../../scenarios/ldp-student-t.toml") },
    Shipped { name: "ldp-light-sensor", text: include_str!("../../scenarios/ldp-light-sensor.toml") },
    Shipped { name: "ldp-stocks", text: include_str!("../../scenarios/ldp-stocks.toml") },
    Shipped { name: "output-gp", text: include_str!("../../scenarios/output-gp.toml") },
    Shipped { name: "output-winequality", text: include_str!("../../scenarios/output-winequality.toml") },
];

impl Shipped {
    /// The shipped scenario of this name.
    pub fn find(name: &str) -> Option<&'static Shipped> {
        SHIPPED.iter().find(|shipped| shipped.name == name)
    }

    /// The scenario of whichever trust model, with settings applied.
    pub fn load(&self, settings: &[String]) -> Result<AnyScenario, ScenarioError> {
        AnyScenario::parse(self.name, self.text, settings)
    }

    /// The scenario of the trust model `federated`, with settings applied.
    pub fn parse(&self, settings: &[String]) -> Result<Scenario, ScenarioError> {
        Scenario::parse(self.name, self.text, settings)
    }
}
