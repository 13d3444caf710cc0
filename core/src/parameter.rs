//! Checks of numbers in configurations, and the one answer to a number outside its range.
//!
//! **Example**: where one arises, [`crate::privacy::NoiseMultiplier`].

use core::fmt;
use core::ops::RangeInclusive;

/// A parameter outside its admissible range; the configuration it was meant for does not exist.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ConfigError {
    /// Name of the parameter, as its field is called.
    pub field: &'static str,
    /// The value given.
    pub value: f64,
    /// The range it must lie in.
    pub admissible: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} = {} is outside {}",
            self.field, self.value, self.admissible
        )
    }
}

impl core::error::Error for ConfigError {}

/// `value`, of a parameter called `field`, is what `admissible` says: written so that NaN does not
/// hold.
pub(crate) fn check(
    field: &'static str,
    value: f64,
    holds: bool,
    admissible: &'static str,
) -> Result<(), ConfigError> {
    if holds {
        Ok(())
    } else {
        Err(ConfigError {
            field,
            value,
            admissible,
        })
    }
}

/// A count within `range`, which `admissible` spells out.
pub(crate) fn whole(
    field: &'static str,
    value: u32,
    range: RangeInclusive<u32>,
    admissible: &'static str,
) -> Result<(), ConfigError> {
    check(field, f64::from(value), range.contains(&value), admissible)
}

/// A configuration `$config(Parameters)`, which exists only if `$config::new` found every number in
/// its range: also one that is read.
macro_rules! checked {
    ($config:ident) => {
        impl<'de> ::serde::Deserialize<'de> for $config {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                $config::new(<Parameters as ::serde::Deserialize>::deserialize(
                    deserializer,
                )?)
                .map_err(<D::Error as ::serde::de::Error>::custom)
            }
        }

        impl $config {
            /// The checked parameters.
            pub const fn parameters(&self) -> &Parameters {
                &self.0
            }
        }
    };
}
pub(crate) use checked;

/// A stored state that its party cannot be in: of another configuration, rolled back in part, or
/// not a state at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct StateError {
    /// The phase the state says it is in.
    pub phase: &'static str,
    /// Name of the number that does not belong to it.
    pub field: &'static str,
    /// The number found.
    pub found: u64,
    /// The least that is admissible.
    pub least: u64,
    /// The most that is admissible.
    pub most: u64,
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StateError {
            phase,
            field,
            found,
            least,
            most,
        } = self;
        write!(
            f,
            "stored state in phase {phase}: {field} {found} is outside {least}..={most}"
        )
    }
}

impl core::error::Error for StateError {}

/// A number of a stored state, called `field`, is within what its phase admits.
pub(crate) fn stored(
    phase: &'static str,
    field: &'static str,
    found: u64,
    admissible: RangeInclusive<u64>,
) -> Result<(), StateError> {
    if admissible.contains(&found) {
        return Ok(());
    }
    Err(StateError {
        phase,
        field,
        found,
        least: *admissible.start(),
        most: *admissible.end(),
    })
}
