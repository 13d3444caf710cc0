//! The trust models by their names: values of the key `trust`.

/// Who may see what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// A trusted server sees every agent's vector; the others only what it releases.
    Federated,
    /// A curator holds the inputs; whoever optimises sees a projection of them.
    Outsourced,
    /// Nobody is trusted: every user perturbs the own reward.
    Local,
    /// One party tunes on its own data and publishes the result.
    Output,
}

impl Trust {
    /// All, in the order of `sordino list`.
    pub const ALL: [Trust; 4] = [Trust::Federated, Trust::Outsourced, Trust::Local, Trust::Output];

    /// The value of the key `trust`.
    pub const fn name(self) -> &'static str {
        match self {
            Trust::Federated => "federated",
            Trust::Outsourced => "outsourced",
            Trust::Local => "local",
            Trust::Output => "output",
        }
    }

    /// One line for people.
    pub const fn description(self) -> &'static str {
        match self {
            Trust::Federated => "a trusted server aggregates; readers of its broadcasts are not trusted",
            Trust::Outsourced => "a curator holds the inputs; whoever optimises is not trusted",
            Trust::Local => "nobody is trusted: every user perturbs the own reward",
            Trust::Output => "one party tunes on its own data; readers of the result are not trusted",
        }
    }
}
