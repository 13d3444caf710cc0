//! From a target (ε, δ) back to parameters by the tight accountant; what is returned meets the
//! target by its word.
//!
//! The Rényi accountant's answer ([`crate::privacy::calibrate`]) is the start: it is a bound too,
//! so it meets the target already. Where no order of it meets the target (a δ far below ε), the
//! search starts at what the same releases need if everybody is in each, which is exact, or at the
//! least sampling probability. It goes from there towards less noise, more rounds or more agents,
//! and the end that was *seen* to meet the target is returned: [`noise_multiplier`] the smallest
//! and [`sampling_probability`] the largest, both 1e-4 fine; [`rounds`] the most.
//!
//! **Cost**: 20 to 40 evaluations of the accountant, up to 110 from such a start.
//!
//! ```
//! use sordino_core::privacy::SamplingProbability;
//! use sordino_core::privacy::accountant::pld;
//! use sordino_core::privacy::calibrate::{self, Target};
//!
//! let (target, q) = (Target::new(2.0, 1e-5)?, SamplingProbability::new(0.1)?);
//! let tight = pld::calibrate::noise_multiplier(&target, q, 100)?;
//! assert!(tight < calibrate::noise_multiplier(&target, q, 100)?); // the same promise with less noise
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

#![cfg(feature = "alloc")]

use crate::math::Scalar;
use crate::privacy::accountant::analytic;
use crate::privacy::calibrate::{
    self, CalibrateError, MULTIPLIER_MAX, MULTIPLIER_MIN, PROBABILITY_MIN, Target,
};
use crate::privacy::{Event, SamplingProbability};

use super::Options;

/// Relative fineness of z and q.
const FINE: f64 = 1e-4;

/// Whether this number of releases stays within (ε, δ). An error of the accountant is a no.
fn fits(event: &Event, rounds: u32, target: &Target) -> bool {
    let loss = super::epsilon(&[(*event, rounds)], target.delta(), &Options::default());
    loss.is_ok_and(|loss| loss.epsilon <= target.epsilon())
}

/// The smallest noise multiplier, at least [`MULTIPLIER_MIN`].
///
/// **Errors**: as [`calibrate::noise_multiplier`].
pub fn noise_multiplier(
    target: &Target,
    q: SamplingProbability,
    rounds: u32,
) -> Result<f64, CalibrateError> {
    let enough = |z: f64| fits(&Event::sampled(q.value(), z), rounds, target);
    let mut high = match calibrate::noise_multiplier(target, q, rounds) {
        Err(missed @ CalibrateError::Unattainable { .. }) => {
            // T releases on everybody are one of multiplier z/√T; a sample only costs less.
            let alone = analytic::noise_multiplier(target.epsilon(), target.delta())
                .unwrap_or(MULTIPLIER_MAX);
            let everybody = alone * Scalar::sqrt(f64::from(rounds)) * (1.0 + FINE);
            let start = Scalar::min(everybody, MULTIPLIER_MAX);
            if !enough(start) {
                return Err(missed);
            }
            start
        }
        found => found?,
    };
    let mut low = high;
    while low > MULTIPLIER_MIN {
        low = (0.8 * low).max(MULTIPLIER_MIN);
        if !enough(low) {
            break;
        }
        high = low;
    }
    while high - low > FINE * high {
        let middle = 0.5 * (low + high);
        if enough(middle) {
            high = middle
        } else {
            low = middle
        }
    }
    Ok(high)
}

/// The most releases, at most 10⁹; 0 if not even one fits.
///
/// **Errors**: as [`calibrate::rounds`].
pub fn rounds(target: &Target, event: &Event) -> Result<u32, CalibrateError> {
    const MOST: u32 = 1_000_000_000;
    let enough = |count: u32| fits(event, count, target);
    let mut low = calibrate::rounds(target, event)?.min(MOST);
    if low == MOST {
        return Ok(MOST);
    }
    let mut high = low.max(1);
    while enough(high) {
        if high == MOST {
            return Ok(MOST);
        }
        (low, high) = (high, high.saturating_mul(2).min(MOST));
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if enough(middle) {
            low = middle
        } else {
            high = middle
        }
    }
    Ok(low)
}

/// The largest sampling probability.
///
/// **Errors**: as [`calibrate::sampling_probability`].
pub fn sampling_probability(
    target: &Target,
    z: f64,
    rounds: u32,
) -> Result<SamplingProbability, CalibrateError> {
    // Probabilities are rounded up to their grid first: what is judged is what is returned.
    let enough = |q: SamplingProbability| fits(&Event::sampled(q.value(), z), rounds, target);
    let mut best = match calibrate::sampling_probability(target, z, rounds) {
        Err(missed @ CalibrateError::Unattainable { .. }) => {
            SamplingProbability::new(PROBABILITY_MIN)
                .ok()
                .filter(|least| enough(*least))
                .ok_or(missed)?
        }
        found => found?,
    };
    let mut low = best.value();
    let mut high = best.value();
    while high < 1.0 {
        high = (1.25 * high).min(1.0);
        match SamplingProbability::new(high) {
            Ok(q) if enough(q) => (best, low) = (q, high),
            Ok(_) | Err(_) => break,
        }
    }
    while high - low > FINE * high {
        let middle = 0.5 * (low + high);
        match SamplingProbability::new(middle) {
            Ok(q) if enough(q) => (best, low) = (q, middle),
            Ok(_) | Err(_) => high = middle,
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_meets_the_target_and_the_next_one_misses() {
        let target = Target::new(4.0, 1e-5).unwrap();
        let q = SamplingProbability::new(0.25).unwrap();
        let z = noise_multiplier(&target, q, 40).unwrap();
        assert!(
            fits(&Event::sampled(0.25, z), 40, &target)
                && !fits(&Event::sampled(0.25, z * 0.9997), 40, &target)
        );
        assert!(z < calibrate::noise_multiplier(&target, q, 40).unwrap() * 0.97);
        let event = Event::sampled(0.25, z);
        let most = rounds(&target, &event).unwrap();
        assert!(fits(&event, most, &target) && !fits(&event, most + 1, &target) && most >= 40);
        let largest = sampling_probability(&target, z, 40).unwrap().value();
        assert!(
            (largest / 0.25 - 1.0).abs() < 1e-3 && fits(&Event::sampled(largest, z), 40, &target)
        );
    }

    /// At a δ far below ε no order of Rényi's meets the target, and exact losses do.
    #[test]
    fn a_target_that_renyi_cannot_meet_is_met() {
        let target = Target::new(0.01, 1e-12).unwrap();
        let everybody = SamplingProbability::ONE;
        assert!(calibrate::noise_multiplier(&target, everybody, 1).is_err());
        let exact = analytic::noise_multiplier(0.01, 1e-12).unwrap();
        let z = noise_multiplier(&target, everybody, 1).unwrap();
        assert!((z / exact - 1.0).abs() < 3e-4, "{z} in place of {exact}");
        let half = SamplingProbability::new(0.5).unwrap();
        let sampled = noise_multiplier(&target, half, 4).unwrap();
        assert!(sampled < 2.0 * exact * 0.6 && fits(&Event::sampled(0.5, sampled), 4, &target));
        assert!(calibrate::sampling_probability(&target, sampled, 4).is_err());
        let q = sampling_probability(&target, sampled, 4).unwrap().value();
        assert!((q / 0.5 - 1.0).abs() < 1e-3, "{q}");
        // So many releases need more than the largest multiplier of everybody, and less of a
        // sample.
        let few = SamplingProbability::new(1e-3).unwrap();
        let z = noise_multiplier(&target, few, 3_000_000).unwrap();
        assert!(z < 2000.0 && fits(&Event::sampled(few.value(), z), 3_000_000, &target));
        // Beyond the range of multipliers nothing is promised.
        let missed = noise_multiplier(&Target::new(1e-9, 1e-12).unwrap(), everybody, 1);
        assert!(matches!(missed, Err(CalibrateError::Unattainable { .. })));
    }
}
