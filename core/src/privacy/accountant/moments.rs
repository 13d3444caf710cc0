//! The classic moments accountant, the one papers print.
//!
//! **Equation**: ε = min over λ = 1..32 of (Σ α(λ) + ln(1/δ))/λ, α(λ) = λ·r(λ+1). Rényi divergences
//! at integer orders 2..33 and the conversion of Abadi et al. 2016; 30 to 50 % above the truth.
//!
//! **Source**: Abadi et al. 2016, Theorem 2; Dai, Low, Jaillet 2021, §5.
//!
//! **Example**: that of [`MomentsAccountant`].

use serde::{Deserialize, Serialize};

use super::order::{ROUND_UP, check_delta};
use super::{
    Accountant, AccountantError, PrivacySpent, Quality, StoredError, add_up, judge, poisson,
};
use crate::math::Scalar;
use crate::privacy::event::{Event, NeighboringRelation};

const MOMENTS: usize = 32;

/// Adds up log moments of Gaussian and Poisson-sampled Gaussian releases.
///
/// **Numerics**: every addition rounds up, by at most 2 units in the last place: what is spent is
/// never less than the sum of what was charged. ε is pushed up by 1e-11, as by the Rényi
/// accountant.
///
/// ```
/// use sordino_core::privacy::accountant::MomentsAccountant;
/// use sordino_core::privacy::{Event, NeighboringRelation};
///
/// let mut accountant = MomentsAccountant::new();
/// accountant.compose(&Event::Gaussian { noise_multiplier: 4.0, relation: NeighboringRelation::ReplaceOne }, 8)?;
/// // α(λ) = λ(λ + 1)/(2z²) for a Gaussian: the equation above with numbers.
/// let of = |lambda: f64| (8.0 * lambda * (lambda + 1.0) / (2.0 * 16.0) - f64::ln(1e-5)) / lambda;
/// let least = (1..=32).map(f64::from).map(of).fold(f64::INFINITY, f64::min);
/// assert!((accountant.epsilon(1e-5)?.epsilon / least - 1.0).abs() < 1e-9);
/// # Ok::<(), sordino_core::privacy::accountant::AccountantError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct MomentsAccountant {
    log_moments: [f64; MOMENTS],
    releases: u64,
    /// Releases whose first moment is positive.
    costly: u64,
    relation: Option<NeighboringRelation>,
}

/// What an accountant is stored as, before it is believed.
#[derive(Deserialize)]
struct Stored {
    log_moments: [f64; MOMENTS],
    releases: u64,
    costly: u64,
    relation: Option<NeighboringRelation>,
}

impl TryFrom<Stored> for MomentsAccountant {
    type Error = StoredError;

    /// Refuses what no sequence of charges leads to: it would lower the next sum.
    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let Stored {
            log_moments,
            releases,
            costly,
            relation,
        } = stored;
        if let Some(place) = log_moments.iter().position(|moment| !(*moment >= 0.0)) {
            return Err(StoredError::Negative {
                place,
                value: log_moments[place],
            });
        }
        judge(&log_moments, releases, costly, relation.is_some())?;
        Ok(MomentsAccountant {
            log_moments,
            releases,
            costly,
            relation,
        })
    }
}

impl Default for MomentsAccountant {
    fn default() -> Self {
        Self::new()
    }
}

impl MomentsAccountant {
    /// An accountant that has spent nothing.
    pub const fn new() -> Self {
        MomentsAccountant {
            log_moments: [0.0; MOMENTS],
            releases: 0,
            costly: 0,
            relation: None,
        }
    }

    /// Adds `count` releases of one event.
    ///
    /// **Errors**: [`AccountantError::InvalidEvent`], [`AccountantError::UnsupportedEvent`] (not
    /// Gaussian), [`AccountantError::MixedRelations`]; the accountant is unchanged.
    pub fn compose(&mut self, event: &Event, count: u32) -> Result<(), AccountantError> {
        if !event.is_valid() {
            return Err(AccountantError::InvalidEvent(*event));
        }
        let (q, z) = match *event {
            Event::Gaussian {
                noise_multiplier, ..
            } => (1.0, noise_multiplier),
            Event::PoissonSampledGaussian {
                sampling_probability,
                noise_multiplier,
                ..
            } => (sampling_probability, noise_multiplier),
            _ => return Err(AccountantError::UnsupportedEvent(*event)),
        };
        event.relation().adds_to(self.relation)?;
        if count == 0 {
            return Ok(());
        }
        self.relation = Some(event.relation());
        let mut first = 0.0;
        for (moment, lambda) in self.log_moments.iter_mut().zip(1u8..) {
            let divergence = poisson::divergence(q, z, f64::from(lambda) + 1.0);
            if lambda == 1 {
                first = divergence;
            }
            // count·λ is a whole number below 2³⁷: exact.
            *moment = add_up(*moment, f64::from(count) * f64::from(lambda), divergence);
        }
        self.releases = self.releases.saturating_add(count.into());
        if first > 0.0 {
            self.costly = self.costly.saturating_add(count.into());
        }
        Ok(())
    }

    /// ε at δ; `order` is λ + 1.
    pub fn epsilon(&self, delta: f64) -> Result<PrivacySpent, AccountantError> {
        check_delta(delta)?;
        let mut spent = PrivacySpent {
            epsilon: 0.0,
            delta,
            quality: Quality::Upper,
            order: None,
            at_edge: false,
            releases: self.releases,
        };
        if self.log_moments.iter().all(|moment| *moment == 0.0) {
            return Ok(spent);
        }
        spent.epsilon = f64::INFINITY;
        for (moment, lambda) in self.log_moments.iter().zip(1u8..) {
            let epsilon = (moment - Scalar::ln(delta)) / f64::from(lambda) * ROUND_UP;
            if epsilon < spent.epsilon {
                spent.epsilon = epsilon;
                spent.order = Some(f64::from(lambda) + 1.0);
                spent.at_edge = lambda as usize == MOMENTS;
            }
        }
        if spent.epsilon.is_finite() {
            Ok(spent)
        } else {
            Err(AccountantError::NoFiniteEpsilon {
                delta,
                delta_spent: 0.0,
            })
        }
    }

    /// δ at ε ≥ 0: min over λ of e^(Σ α(λ) − λε), at most 1; the equation of
    /// [`MomentsAccountant::epsilon`] solved for δ.
    pub fn delta(&self, epsilon: f64) -> Result<f64, AccountantError> {
        if !(epsilon >= 0.0) {
            return Err(AccountantError::Epsilon(epsilon));
        }
        if self.log_moments.iter().all(|moment| *moment == 0.0) {
            return Ok(0.0);
        }
        let mut least = 0.0;
        for (moment, lambda) in self.log_moments.iter().zip(1u8..) {
            let most = f64::from(lambda) * epsilon;
            // What ε is pushed up by, the exponent is pushed up by as well. NaN, of two infinities,
            // lowers nothing.
            least = Scalar::min(least, moment - most + (ROUND_UP - 1.0) * (moment + most));
        }
        Ok(Scalar::min(Scalar::exp(least) * ROUND_UP, 1.0))
    }
}

impl Accountant for MomentsAccountant {
    fn supports(&self, event: &Event) -> bool {
        matches!(
            event,
            Event::Gaussian { .. } | Event::PoissonSampledGaussian { .. }
        )
    }

    fn compose(&mut self, event: &Event, count: u32) -> Result<(), AccountantError> {
        self.compose(event, count)
    }

    fn epsilon(&self, delta: f64) -> Result<PrivacySpent, AccountantError> {
        self.epsilon(delta)
    }

    fn delta(&self, epsilon: f64) -> Result<f64, AccountantError> {
        self.delta(epsilon)
    }

    fn relation(&self) -> Option<NeighboringRelation> {
        self.relation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composing_is_adding() {
        let event = Event::sampled(0.25, 1.0);
        let mut once = MomentsAccountant::new();
        let mut many = MomentsAccountant::new();
        once.compose(&event, 40).unwrap();
        (0..40).for_each(|_| many.compose(&event, 1).unwrap());
        let a = once.epsilon(1e-5).unwrap();
        let b = many.epsilon(1e-5).unwrap();
        assert!((a.epsilon - b.epsilon).abs() < 1e-12 && a.order == b.order && a.releases == 40);
        assert_eq!(MomentsAccountant::new().epsilon(0.5).unwrap().epsilon, 0.0);
        assert!(
            once.epsilon(0.0).is_err()
                && once.epsilon(1.0).is_err()
                && once.epsilon(f64::NAN).is_err()
        );
        let pure = Event::PureEpsilon {
            epsilon: 1.0,
            relation: NeighboringRelation::ReplaceSpecial,
        };
        assert!(matches!(
            once.compose(&pure, 1),
            Err(AccountantError::UnsupportedEvent(_))
        ));
    }

    #[test]
    fn stored_data_is_not_believed() {
        let event = Event::Gaussian {
            noise_multiplier: 2.0,
            relation: NeighboringRelation::ReplaceSpecial,
        };
        let mut accountant = MomentsAccountant::new();
        accountant.compose(&event, 0).unwrap();
        assert_eq!(
            accountant,
            MomentsAccountant::new(),
            "no release is no charge and fixes no relation"
        );
        accountant.compose(&event, 3).unwrap();
        for honest in [accountant, MomentsAccountant::new()] {
            let mut bytes = [0u8; 300];
            let used = postcard::to_slice(&honest, &mut bytes).unwrap().len();
            assert_eq!(
                postcard::from_bytes::<MomentsAccountant>(&bytes[..used]),
                Ok(honest)
            );
            // A negative moment, NaN, moments of nothing: each would lower the loss or hide one.
            let first = 0..8;
            let releases = 8 * MOMENTS;
            for moment in [-1000.0, -f64::MIN_POSITIVE, f64::NAN] {
                let mut forged = bytes;
                forged[first.clone()].copy_from_slice(&f64::to_le_bytes(moment));
                assert!(
                    postcard::from_bytes::<MomentsAccountant>(&forged[..used]).is_err(),
                    "{moment}"
                );
            }
            let mut forged = bytes;
            forged[releases] = 3 - forged[releases];
            assert!(postcard::from_bytes::<MomentsAccountant>(&forged[..used]).is_err());
        }
    }

    #[test]
    fn stored_moments_must_be_those_that_charges_lead_to() {
        let event = Event::Gaussian {
            noise_multiplier: 2.0,
            relation: NeighboringRelation::ReplaceSpecial,
        };
        let mut accountant = MomentsAccountant::new();
        accountant.compose(&event, 1000).unwrap();
        let stored = |change: fn(&mut [f64; MOMENTS])| {
            let mut log_moments = accountant.log_moments;
            change(&mut log_moments);
            let releases = accountant.releases;
            let costly = accountant.costly;
            let relation = accountant.relation;
            MomentsAccountant::try_from(Stored {
                log_moments,
                releases,
                costly,
                relation,
            })
        };
        assert_eq!(stored(|_| ()), Ok(accountant));
        let nothing = stored(|moments| *moments = [0.0; MOMENTS]);
        assert_eq!(
            nothing,
            Err(StoredError::Contradiction {
                releases: 1000,
                costly: 1000
            })
        );
        assert_eq!(
            stored(|moments| moments[7] = 0.0),
            Err(StoredError::Falling { place: 7 })
        );
        assert!(matches!(
            stored(|moments| moments[3] = -1.0),
            Err(StoredError::Negative { place: 3, .. })
        ));
    }

    /// The slack for rounding grew with the releases that are claimed, without a bound.
    #[test]
    fn many_claimed_releases_do_not_excuse_a_moment_that_falls() {
        let event = Event::Gaussian {
            noise_multiplier: 2.0,
            relation: NeighboringRelation::ReplaceSpecial,
        };
        let mut accountant = MomentsAccountant::new();
        accountant.compose(&event, 1000).unwrap();
        let mut log_moments = accountant.log_moments;
        let relation = accountant.relation;
        let honest = Stored {
            log_moments,
            releases: u64::MAX,
            costly: 1000,
            relation,
        };
        assert!(MomentsAccountant::try_from(honest).is_ok(), "the control");
        log_moments[7] = 0.0;
        let read = MomentsAccountant::try_from(Stored {
            log_moments,
            releases: u64::MAX,
            costly: 1000,
            relation,
        });
        assert_eq!(read, Err(StoredError::Falling { place: 7 }));
    }

    #[test]
    fn what_is_spent_is_never_below_the_sum() {
        // 2⁻⁵⁶ is a unit of every moment from 1/16 to 2¹⁰, and 128-bit integers say what the sum
        // is.
        let unit = 1.0 / (1u64 << 56) as f64;
        let event = Event::Gaussian {
            noise_multiplier: 2.0,
            relation: NeighboringRelation::ReplaceSpecial,
        };
        let mut one = MomentsAccountant::new();
        one.compose(&event, 1).unwrap();
        let charged = |i: usize| {
            f64::from(i as u32 + 1) * poisson::divergence(1.0, 2.0, f64::from(i as u32 + 2))
        };
        let integer = |x: f64| (x / unit) as u128;
        let mut accountant = MomentsAccountant::new();
        let mut below = 0;
        let mut plain = [0.0; MOMENTS];
        for n in 1..200u32 {
            accountant.compose(&event, 1).unwrap();
            for (i, sum) in plain.iter_mut().enumerate() {
                let exact = u128::from(n) * integer(charged(i));
                assert!(
                    integer(accountant.log_moments[i]) >= exact,
                    "{n} releases, moment {i}"
                );
                *sum += charged(i);
                below += u32::from(integer(*sum) < exact);
            }
        }
        assert!(
            below > 1000,
            "the plain sum was below the exact one {below} times"
        );
    }
}
