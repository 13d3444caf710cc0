//! The trust models by their names: values of the key `trust`.

use super::rule::names;

names! {
    /// Who may see what.
    pub enum Trust {
        /// A trusted server sees every agent's vector; the others only what it releases.
        Federated = "federated",
        /// A curator holds the inputs; whoever optimises sees a projection of them.
        Outsourced = "outsourced",
        /// Nobody is trusted: every user perturbs its own reward.
        Local = "local",
        /// One party tunes on its own data and publishes the result.
        Output = "output",
    }
}

impl Trust {
    /// One line for people.
    pub const fn description(self) -> &'static str {
        match self {
            Trust::Federated => "a trusted server aggregates; readers of its broadcasts are not trusted",
            Trust::Outsourced => "a curator holds the inputs; whoever optimises is not trusted",
            Trust::Local => "nobody is trusted: every user perturbs its own reward",
            Trust::Output => "one party tunes on its own data; readers of the result are not trusted",
        }
    }
}
