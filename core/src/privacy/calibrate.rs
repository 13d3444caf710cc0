//! From a target (ε, δ) back to parameters, each by a monotone search whose end is checked: what is
//! returned meets the target by the accountant's own word.
//!
//! | function | returns | direction |
//! |---|---|---|
//! | [`noise_multiplier`] | smallest z | from above |
//! | [`rounds`] | most releases | from below, exact |
//! | [`sampling_probability`] | largest q | from below |
//!
//! For unsampled Gaussian releases [`super::accountant::analytic`] is exact; these use the Rényi
//! accountant.
//!
//! **Example**: that of [`Target`].

use core::fmt;

use super::accountant::order::{ORDER_COUNT, ORDERS, Row, epsilon};
use super::accountant::rdp::{delta_of, divergences, left_of};
use super::accountant::{AccountantError, add_up, analytic::bisect};
use super::event::Event;
use super::sampling::SamplingProbability;

/// Why there is no answer.
///
/// **Example**: that of [`Target`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum CalibrateError {
    /// Not even the most cautious parameter in range meets the target.
    Unattainable {
        /// The most cautious parameter tried.
        at: f64,
        /// The ε at that parameter.
        epsilon: f64,
    },
    /// The target ε is not positive and finite.
    TargetEpsilon(f64),
    /// The event or δ is out of range.
    Accountant(AccountantError),
}

impl fmt::Display for CalibrateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CalibrateError::Unattainable { at, epsilon } => {
                write!(
                    f,
                    "the target cannot be met: at {at} epsilon is still {epsilon}"
                )
            }
            CalibrateError::TargetEpsilon(x) => {
                write!(f, "target epsilon {x} is not positive and finite")
            }
            CalibrateError::Accountant(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for CalibrateError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            CalibrateError::Accountant(error) => error.source(),
            _ => None,
        }
    }
}

impl From<AccountantError> for CalibrateError {
    fn from(e: AccountantError) -> Self {
        CalibrateError::Accountant(e)
    }
}

/// The least noise multiplier that a search returns; less may meet a large ε.
pub const MULTIPLIER_MIN: f64 = 0.05;
/// The largest noise multiplier that a search returns.
pub const MULTIPLIER_MAX: f64 = 1e6;
/// The least sampling probability that a search returns.
pub const PROBABILITY_MIN: f64 = 1e-9;

/// A target to meet.
///
/// ```
/// use sordino_core::privacy::calibrate::{self, CalibrateError, Target};
/// use sordino_core::privacy::{Event, SamplingProbability};
///
/// let target = Target::new(3.0, 1e-5)?;
/// let q = SamplingProbability::new(0.1)?;
/// let noise_multiplier = calibrate::noise_multiplier(&target, q, 100)?;
/// let event = Event::sampled(q.value(), noise_multiplier);
/// assert!(target.epsilon_of(&event, 100)? <= target.epsilon());
/// assert_eq!(calibrate::rounds(&target, &event)?, 100); // the search the other way round agrees
/// assert_eq!(Target::new(0.0, 1e-5), Err(CalibrateError::TargetEpsilon(0.0)));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    epsilon: f64,
    delta: f64,
}

impl Target {
    /// A target: ε > 0 and finite, δ in (0, 1).
    pub fn new(epsilon: f64, delta: f64) -> Result<Self, CalibrateError> {
        if !(epsilon > 0.0 && epsilon.is_finite()) {
            return Err(CalibrateError::TargetEpsilon(epsilon));
        }
        if !(delta > 0.0 && delta < 1.0) {
            return Err(AccountantError::Delta(delta).into());
        }
        Ok(Target { epsilon, delta })
    }

    /// The ε to stay within.
    pub const fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// The δ to stay within.
    pub const fn delta(&self) -> f64 {
        self.delta
    }

    /// ε of `rounds` releases of one event, at the target's δ, of which the event's own δ is taken;
    /// infinite where nothing is left of it.
    pub fn epsilon_of(&self, event: &Event, rounds: u32) -> Result<f64, AccountantError> {
        let mut row = Row::ZERO;
        divergences(event, &mut row)?;
        Ok(self.convert(&row, delta_of(event), rounds))
    }

    fn convert(&self, row: &Row, delta: f64, rounds: u32) -> f64 {
        let mut least = f64::INFINITY;
        let left = left_of(self.delta, add_up(0.0, rounds, delta));
        if !(left > 0.0) {
            return least;
        }
        for i in 0..ORDER_COUNT {
            // As much as a filter that adds them one by one, each sum rounded up by at most two
            // units.
            let spent = row.0[i]
                * f64::from(rounds)
                * (1.0 + (2.0 * f64::from(rounds) + 2.0) * f64::EPSILON);
            let epsilon = epsilon(ORDERS[i], spent, left);
            if epsilon < least {
                least = epsilon;
            }
        }
        least
    }
}

/// The smallest noise multiplier from [`MULTIPLIER_MIN`] to [`MULTIPLIER_MAX`] for `rounds`
/// Poisson-sampled Gaussian releases; the value returned meets the target, one 1e-6 smaller does
/// not (or is the least).
///
/// **Cost**: about 40 evaluations of the accountant.
pub fn noise_multiplier(
    target: &Target,
    sampling_probability: SamplingProbability,
    rounds: u32,
) -> Result<f64, CalibrateError> {
    let q = sampling_probability.value();
    let epsilon = |z: f64| target.epsilon_of(&Event::sampled(q, z), rounds);
    let low = MULTIPLIER_MIN;
    let mut high = 1.0;
    if epsilon(low)? <= target.epsilon {
        return Ok(low);
    }
    while epsilon(high)? > target.epsilon {
        if high == MULTIPLIER_MAX {
            return Err(CalibrateError::Unattainable {
                at: high,
                epsilon: epsilon(high)?,
            });
        }
        high = (2.0 * high).min(MULTIPLIER_MAX);
    }
    let low = if high > 1.0 { high / 2.0 } else { low };
    Ok(search(low, high, |z| {
        epsilon(z).is_ok_and(|e| e <= target.epsilon)
    }))
}

/// The most releases of one event within the target, at most 2³¹; 0 if not even one fits.
pub fn rounds(target: &Target, event: &Event) -> Result<u32, CalibrateError> {
    let mut row = Row::ZERO;
    divergences(event, &mut row)?;
    let fits = |count: u32| target.convert(&row, delta_of(event), count) <= target.epsilon;
    let mut low = 0u32;
    let mut high = 1u32 << 31;
    if fits(high) {
        return Ok(high);
    }
    // fits(low) and not fits(high)
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The largest sampling probability for `rounds` releases at this noise multiplier; what is
/// returned meets the target.
pub fn sampling_probability(
    target: &Target,
    noise_multiplier: f64,
    rounds: u32,
) -> Result<SamplingProbability, CalibrateError> {
    let epsilon = |q: f64| target.epsilon_of(&Event::sampled(q, noise_multiplier), rounds);
    if epsilon(1.0)? <= target.epsilon {
        return Ok(SamplingProbability::ONE);
    }
    let least = PROBABILITY_MIN;
    if epsilon(least)? > target.epsilon {
        return Err(CalibrateError::Unattainable {
            at: least,
            epsilon: epsilon(least)?,
        });
    }
    // On −q the search goes upwards. The end is a multiple of 2⁻⁶⁴ only if it is checked after
    // rounding up.
    let q = -search(-1.0, -least, |q| {
        SamplingProbability::new(-q)
            .is_ok_and(|q| epsilon(q.value()).is_ok_and(|e| e <= target.epsilon))
    });
    SamplingProbability::new(q).map_err(|_| CalibrateError::TargetEpsilon(target.epsilon))
}

/// Bisection to 1.5e-8 of the first interval; the end returned was checked.
fn search(low: f64, high: f64, mut enough: impl FnMut(f64) -> bool) -> f64 {
    let mut left = 0;
    bisect(low, high, |x| {
        left += 1;
        // After 26 halvings refuse, which keeps the checked end.
        left <= 26 && enough(x)
    })
}

#[cfg(test)]
mod tests {
    use super::super::accountant::RdpAccountant;
    use super::super::event::NeighboringRelation;
    use super::*;

    fn q(value: f64) -> SamplingProbability {
        SamplingProbability::new(value).unwrap()
    }

    /// What an event spends of δ is not there for the conversion: by the accountant that adds them
    /// one by one.
    #[test]
    fn an_event_with_a_delta_of_its_own_leaves_less() {
        let target = Target::new(3.0, 1e-5).unwrap();
        let event = |delta| Event::ApproximateEpsilon {
            epsilon: 0.1,
            delta,
            relation: NeighboringRelation::ReplaceSpecial,
        };
        assert_eq!(rounds(&target, &event(1e-3)), Ok(0));
        assert_eq!(target.epsilon_of(&event(1e-3), 1), Ok(f64::INFINITY));
        let found = rounds(&target, &event(1e-6)).unwrap();
        assert!((1..10).contains(&found), "{found}");
        let spent = |count| {
            let mut accountant = RdpAccountant::new();
            accountant.compose(&event(1e-6), count).unwrap();
            accountant.epsilon(1e-5).map(|spent| spent.epsilon)
        };
        assert!(spent(found).is_ok_and(|epsilon| epsilon <= 3.0));
        assert!(spent(found + 1).is_err() || spent(found + 1).is_ok_and(|epsilon| epsilon > 3.0));
        let least = Target::new(0.3, 1e-5).unwrap();
        let z = noise_multiplier(&least, SamplingProbability::ONE, u32::MAX).unwrap();
        assert!(z > 524_288.0 && z <= MULTIPLIER_MAX, "{z}");
    }

    #[test]
    fn every_answer_meets_its_target_and_is_close_to_the_edge() {
        let target = Target::new(8.362_5, 200f64.powf(-1.1)).unwrap();
        let z = noise_multiplier(&target, q(0.25), 40).unwrap();
        assert!(
            (z - 1.0).abs() < 1e-3,
            "notes/privacy.md: 8.362 at z = 1, found {z}"
        );
        assert!(target.epsilon_of(&Event::sampled(0.25, z), 40).unwrap() <= 8.362_5);
        assert!(
            target
                .epsilon_of(&Event::sampled(0.25, z * (1.0 - 1e-6)), 40)
                .unwrap()
                > 8.362_5
        );
        assert_eq!(rounds(&target, &Event::sampled(0.25, 1.0)).unwrap(), 40);
        let p = sampling_probability(&target, 1.0, 40).unwrap().value();
        assert!(
            (p - 0.25).abs() < 1e-3
                && target.epsilon_of(&Event::sampled(p, 1.0), 40).unwrap() <= 8.362_5
        );
    }

    #[test]
    fn edges() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Target::new(bad, 0.1).is_err());
        }
        assert!(Target::new(1.0, 0.0).is_err() && Target::new(1.0, 1.0).is_err());
        let target = Target::new(1.0, 1e-5).unwrap();
        assert_eq!(rounds(&target, &Event::sampled(0.5, 0.1)).unwrap(), 0);
        assert_eq!(rounds(&target, &Event::sampled(0.0, 1.0)).unwrap(), 1 << 31);
        assert_eq!(
            sampling_probability(&target, 1e3, 1).unwrap(),
            SamplingProbability::ONE
        );
        assert!(matches!(
            sampling_probability(&target, 0.0, 1),
            Err(CalibrateError::Accountant(_))
        ));
        assert_eq!(
            noise_multiplier(&target, SamplingProbability::ZERO, 10).unwrap(),
            0.05
        );
    }
}
