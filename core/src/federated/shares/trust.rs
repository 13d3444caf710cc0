//! Who is trusted with contributions.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

/// Who is trusted with contributions: one server, or either one of two.
///
/// ```
/// use sordino_core::federated::shares::Trust;
///
/// assert_eq!("two-servers".parse(), Ok(Trust::TwoServers));
/// assert_eq!((Trust::OneServer.to_string(), Trust::TwoServers.noises()), ("one-server".into(), 2));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Trust {
    /// A server that sees every contribution, and adds the noise.
    #[default]
    OneServer,
    /// A leader and a helper, each with noise and ledger of its own; one of them is honest.
    TwoServers,
}

impl Trust {
    /// Every kind of trust, by the name that scenarios and terms give it.
    pub const NAMES: [(&'static str, Trust); 2] = [
        ("one-server", Trust::OneServer),
        ("two-servers", Trust::TwoServers),
    ];

    /// How many servers each add the whole noise.
    pub const fn noises(self) -> u32 {
        match self {
            Trust::OneServer => 1,
            Trust::TwoServers => 2,
        }
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Trust::OneServer => "one-server",
            Trust::TwoServers => "two-servers",
        })
    }
}

impl FromStr for Trust {
    type Err = &'static str;
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Trust::NAMES.into_iter().find(|(known, _)| *known == name);
        found
            .map(|(_, trust)| trust)
            .ok_or("admissible: one-server, two-servers")
    }
}
