//! The scenarios compiled into the program.

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

macro_rules! shipped {
    ($($name:literal)+) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../../scenarios/", $name, ".toml")) }),+]
    };
}

/// All of them, in the order of `sordino list`.
pub const SHIPPED: &[Shipped] = shipped!(
    "default" "gp-2d" "fleet" "firmware" "winequality" "landmine" "outsourced-grid" "outsourced-branin" "outsourced-hdb"
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
