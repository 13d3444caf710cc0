//! Numbers of a release that are checked once, where they come in, and travel as what they are.
//!
//! **Example**: that of [`NoiseMultiplier`].

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::parameter::{ConfigError, check};

macro_rules! quantity {
    ($(#[$meta:meta])* $Name:ident, $field:literal, $low:literal to $high:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $Name(f64);

        impl $Name {
            /// The smallest and the largest that is admissible.
            pub const RANGE: (f64, f64) = ($low, $high);

            /// The number, if it is in [`Self::RANGE`].
            ///
            /// **Errors**: [`ConfigError`] if it is outside or NaN.
            pub fn new(value: f64) -> Result<Self, ConfigError> {
                let admissible = concat!("[", $low, ", ", $high, "]");
                check($field, value, ($low..=$high).contains(&value), admissible).map(|()| $Name(value))
            }

            /// The number itself.
            pub const fn value(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $Name {
            type Error = ConfigError;
            fn try_from(value: f64) -> Result<Self, ConfigError> {
                Self::new(value)
            }
        }

        impl From<$Name> for f64 {
            fn from(quantity: $Name) -> f64 {
                quantity.0
            }
        }

        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

quantity! {
    /// z: the standard deviation of the noise over the L2 sensitivity of the release. Below the
    /// range a release protects nobody in any useful sense; above, it says nothing. Every grid of
    /// 2^10 to 2^24 units has an integer radius for it.
    ///
    /// ```
    /// use sordino_core::privacy::NoiseMultiplier;
    ///
    /// assert_eq!(NoiseMultiplier::new(1.1)?.value(), 1.1);
    /// assert!(NoiseMultiplier::new(0.0).is_err()); // the error names field, value and range
    /// # Ok::<(), sordino_core::parameter::ConfigError>(())
    /// ```
    NoiseMultiplier, "noise_multiplier", 0.05 to 1e3
}

quantity! {
    /// S: the norm to which one agent's joint vector is clipped, in the unit of the vector.
    ///
    /// ```
    /// use sordino_core::privacy::ClippingNorm;
    ///
    /// assert_eq!(ClippingNorm::new(11.0)?.value(), 11.0);
    /// assert!(ClippingNorm::new(f64::NAN).is_err());
    /// # Ok::<(), sordino_core::parameter::ConfigError>(())
    /// ```
    ClippingNorm, "clipping_norm", 1e-6 to 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::SamplingProbability;
    use crate::privacy::mechanism::gaussian::GridGaussian;

    #[test]
    fn a_quantity_is_in_its_range_or_is_not() {
        for x in [0.05, 1.0, 1e3] {
            assert_eq!(NoiseMultiplier::new(x).map(NoiseMultiplier::value), Ok(x));
        }
        for x in [0.049, 1000.5, 0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert!(NoiseMultiplier::new(x).is_err(), "{x}");
        }
        let error = ClippingNorm::new(2e6).unwrap_err();
        assert_eq!(
            (error.field, error.admissible),
            ("clipping_norm", "[1e-6, 1e6]")
        );
    }

    /// It is stored as the number, and what is stored is checked again.
    #[test]
    fn a_quantity_is_stored_as_its_number() {
        let mut bytes = [0; 16];
        let z = NoiseMultiplier::new(1.5).unwrap();
        let stored = postcard::to_slice(&z, &mut bytes).unwrap().to_vec();
        assert_eq!(
            postcard::to_slice(&1.5f64, &mut bytes).unwrap(),
            &stored[..]
        );
        assert_eq!(postcard::from_bytes::<NoiseMultiplier>(&stored), Ok(z));
        let stored = postcard::to_slice(&0.0f64, &mut bytes).unwrap();
        assert!(postcard::from_bytes::<NoiseMultiplier>(stored).is_err());
    }

    /// What a mechanism on the grid asks of a multiplier holds for all of them.
    #[test]
    fn every_multiplier_has_a_radius_on_every_grid() {
        for m in 10..=24 {
            for z in [NoiseMultiplier::RANGE.0, 1.0, NoiseMultiplier::RANGE.1] {
                assert!(
                    GridGaussian::new(m, z, SamplingProbability::ONE, 1).is_ok(),
                    "{z} on 2^{m}"
                );
            }
        }
    }
}
