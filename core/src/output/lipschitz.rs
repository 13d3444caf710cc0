//! Pure ε for the value of a tuned regularisation constant, on promises of the owner that nobody
//! checks: public training set, exact minimiser, 1-Lipschitz convex training loss, an L-Lipschitz
//! validation loss clamped to [0, g*].
//!
//! If they hold, the guarantee holds for every data set and whatever chose the constant. Kusner,
//! Gardner, Garnett, Weinberger 2015, Algorithm 3. The term (λmax − λmin)L/(λmaxλmin) does not fall
//! with m: a useful scale (below 0.1) takes ε above 225, 23, 4 on \[.01, .1\], \[.1, 1\], \[.5, 2\]
//! at L = 1/4.
//!
//! ```
//! use sordino_core::output::lipschitz::LipschitzTuning;
//! use sordino_core::privacy::Epsilon;
//!
//! let (loss_max, records, lipschitz) = (1.0, 1000, 0.25);
//! let (regularization_min, regularization_max, epsilon) = (0.5, 2.0, Epsilon::new(4.0)?);
//! let tuning = LipschitzTuning { loss_max, records, lipschitz, regularization_min, regularization_max, epsilon };
//! let expected = 0.5 / 1000.0 + 1.5 * 0.25 / (2.0 * 0.5); // min{g*, L/λmin}/m + (λmax − λmin)L/(λmaxλmin)
//! assert!((tuning.sensitivity() - expected).abs() < 1e-15 && (tuning.scale() - expected / 4.0).abs() < 1e-15);
//! assert!(LipschitzTuning { regularization_min: 0.0, ..tuning }.checked().is_err());
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use super::Checked;
use super::prior_conditional::{ReleaseError, SCALES, SCALES_ADMISSIBLE, laplace};
use crate::parameter::{ConfigError, check};
use crate::privacy::{Epsilon, NoiseSource, Release};

/// What Algorithm 3 tunes: regularised learning with a Lipschitz loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LipschitzTuning {
    /// g* > 0: the loss of a record is clamped to [0, g*].
    pub loss_max: f64,
    /// Number of records m ≥ 1.
    pub records: u32,
    /// Lipschitz constant L > 0 of the loss.
    pub lipschitz: f64,
    /// Smallest regularisation λmin > 0.
    pub regularization_min: f64,
    /// Largest regularisation λmax > λmin.
    pub regularization_max: f64,
    /// ε of the release.
    pub epsilon: Epsilon,
}

impl LipschitzTuning {
    /// Checks every range: losses and constants in [1e-100, 1e100], where no product of a
    /// sensitivity overflows to one in which a term is missing.
    ///
    /// **Errors**: [`ConfigError`].
    pub fn checked(self) -> Result<Checked<Self>, ConfigError> {
        let scale = |field, x: f64| check(field, x, SCALES.contains(&x), SCALES_ADMISSIBLE);
        scale("loss_max", self.loss_max)?;
        check("records", f64::from(self.records), self.records >= 1, "1..")?;
        scale("lipschitz", self.lipschitz)?;
        let low = self.regularization_min;
        let high = self.regularization_max;
        scale("regularization_min", low)?;
        scale("regularization_max", high)?;
        check(
            "regularization_max",
            high,
            high >= low,
            "[regularization_min, 1e100]",
        )?;
        Ok(Checked(self))
    }

    /// min{g*, L/λmin}/m + (λmax − λmin)L/(λmaxλmin), as printed.
    pub fn paper_sensitivity(&self) -> f64 {
        let low = self.regularization_min;
        let high = self.regularization_max;
        self.loss_max.min(self.lipschitz / low) / f64::from(self.records)
            + (high - low) * self.lipschitz / (high * low)
    }

    /// The same, at most g*: a mean of clamped losses cannot move further. (Ours.)
    pub fn sensitivity(&self) -> f64 {
        self.paper_sensitivity().min(self.loss_max)
    }

    /// Sensitivity over ε.
    pub fn scale(&self) -> f64 {
        self.sensitivity() / self.epsilon.value()
    }

    /// Theorem 8: the release lies within a·scale of the value, with probability 1 − e^{−a},
    /// exactly.
    pub fn gap(&self, a: f64) -> f64 {
        a * self.scale()
    }
}

impl Checked<LipschitzTuning> {
    /// The mean validation loss plus Laplace noise, with what it costs and how its noise was made.
    ///
    /// **Errors**: [`ReleaseError`]; nothing was released then.
    pub fn release_value<S: NoiseSource>(
        &self,
        value: f64,
        source: &mut S,
    ) -> Result<Release<f64, S::Provenance>, ReleaseError> {
        laplace(
            value.clamp(0.0, self.loss_max),
            self.sensitivity(),
            self.epsilon,
            source,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::SourceKind;
    use crate::random::{Simulated, Stream};

    const SETTING: fn(f64) -> LipschitzTuning = |epsilon| LipschitzTuning {
        loss_max: 1.0,
        records: 40,
        lipschitz: 0.25,
        regularization_min: 0.5,
        regularization_max: 2.0,
        epsilon: Epsilon::new(epsilon).unwrap(), // invariant: tests pass constants
    };

    #[test]
    fn the_cap_is_the_clamp() {
        let wide = LipschitzTuning {
            regularization_min: 0.01,
            regularization_max: 0.1,
            ..SETTING(1.0)
        };
        assert!(wide.paper_sensitivity() > 22.0 && wide.sensitivity() == 1.0);
        assert!((SETTING(1.0).sensitivity() - (0.5 / 40.0 + 0.375)).abs() < 1e-15);
        let nan = f64::NAN;
        assert!(
            LipschitzTuning {
                regularization_max: 0.1,
                ..SETTING(1.0)
            }
            .checked()
            .is_err()
        );
        assert!(
            LipschitzTuning {
                loss_max: nan,
                ..SETTING(1.0)
            }
            .checked()
            .is_err()
        );
        assert!(
            LipschitzTuning {
                records: 0,
                ..SETTING(1.0)
            }
            .checked()
            .is_err()
        );
        assert!(
            LipschitzTuning {
                regularization_min: 0.0,
                ..SETTING(1.0)
            }
            .checked()
            .is_err()
        );
        let mut source = Simulated::new(Stream::from_seed(1));
        let checked = SETTING(1.0).checked().unwrap();
        assert_eq!(
            checked.release_value(nan, &mut source),
            Err(ReleaseError::NotFinite { index: 0 })
        );
        assert_eq!(
            checked
                .release_value(0.5, &mut source)
                .map(|release| release.kind()),
            Ok(SourceKind::Simulation)
        );
    }

    /// Before the mend λmaxλmin overflowed here, the second term was 0, and a release that claimed
    /// pure ε had a thousandth of the noise it needed.
    #[test]
    fn no_term_of_the_sensitivity_vanishes() {
        let wide = LipschitzTuning {
            records: 1000,
            lipschitz: 1e5,
            regularization_min: 1e200,
            regularization_max: 1e300,
            ..SETTING(1.0)
        };
        assert!(
            wide.sensitivity() < 0.002 * (wide.lipschitz / wide.regularization_min),
            "what is lost"
        );
        assert_eq!(wide.checked().unwrap_err().field, "regularization_min");
        let small = 1e-101;
        let large = 1e101;
        for (bad, field) in [
            (
                LipschitzTuning {
                    loss_max: large,
                    ..SETTING(1.0)
                },
                "loss_max",
            ),
            (
                LipschitzTuning {
                    lipschitz: small,
                    ..SETTING(1.0)
                },
                "lipschitz",
            ),
            (
                LipschitzTuning {
                    regularization_min: small,
                    ..SETTING(1.0)
                },
                "regularization_min",
            ),
            (
                LipschitzTuning {
                    regularization_max: large,
                    ..SETTING(1.0)
                },
                "regularization_max",
            ),
        ] {
            assert_eq!(bad.checked().unwrap_err().field, field);
        }
        // At every corner of what is admissible the terms are those of another order of the same
        // arithmetic.
        for code in 0..16 {
            let end = |bit: u32| if code >> bit & 1 == 1 { 1e100 } else { 1e-100 };
            let lipschitz = end(0);
            let low = end(1);
            let loss_max = end(2);
            let high = if code >> 3 == 1 { 1e100 } else { low };
            let corner = LipschitzTuning {
                loss_max,
                lipschitz,
                regularization_min: low,
                regularization_max: high,
                ..SETTING(1.0)
            };
            let truth = (loss_max.min(lipschitz / low) / 40.0
                + lipschitz / low * (1.0 - low / high))
                .min(loss_max);
            let found = corner.checked().unwrap().sensitivity();
            assert!(
                (found / truth - 1.0).abs() < 1e-12,
                "{corner:?} {found:e} {truth:e}"
            );
        }
    }

    /// Before the mend a sensitivity of 1.5 subnormal steps was read as one of a whole number of
    /// them, and one of 0 released the sign of the value as that of a zero.
    #[test]
    fn a_step_that_is_no_number_is_refused() {
        let mut source = Simulated::new(Stream::from_seed(1));
        let mut released = |value, sensitivity| {
            laplace(value, sensitivity, Epsilon::new(1.0).unwrap(), &mut source)
                .map(|release| *release.value())
        };
        for sensitivity in [0.0, 7e-318, 1e-300, 1e300, f64::INFINITY, f64::NAN, -1.0] {
            for value in [-1.0, 1.0] {
                assert_eq!(
                    released(value, sensitivity),
                    Err(ReleaseError::Scale),
                    "{value} {sensitivity:e}"
                );
            }
        }
        assert!(released(1.0, 1e-280).is_ok() && released(1.0, 1e280).is_ok());
    }
}
