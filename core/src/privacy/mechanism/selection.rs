//! Choosing one of many candidates by integer utilities: pure ε, no exponential in floating point.
//!
//! | mechanism | acceptance | guarantee |
//! |---|---|---|
//! | [`Selection::permute_and_flip`] | candidates in random order, each with probability e^(−ε(u*−u)/(2Δ)) | pure ε; never worse than the next |
//! | [`Selection::exponential`] | uniform candidates, the same coin, until one is accepted | ε and δ = e^(−200) for the bounded loop |
//!
//! **Theorem.** If no utility changes by more than Δ between neighbours, both are ε-private
//! (McSherry, Talwar 2007; McKenna, Sheldon 2020, Theorem 1). The coins are exact:
//! Bernoulli(e^(−numerator/denominator)) in integers.
//!
//! A gap too wide for 64 bits is cut: that is max(u, u* − cut), whose sensitivity is again ≤ Δ.
//!
//! **Assumed**: candidates public and chosen without the data; utilities computed for *all* of them
//! (a crash or NaN of one candidate changes its utility by more than Δ: abort the whole release by
//! a public rule, or account for it). **Not closed**: the number of coins depends on the utilities,
//! so the time does.
//!
//! **Example**: that of [`Selection`].

use core::fmt;

use crate::privacy::epsilon::Epsilon;
use crate::privacy::event::{Event, NeighboringRelation, Release};
use crate::random::exact::Bits;
use crate::random::{NoiseError, NoiseSource};

/// Why nothing was selected.
///
/// **Example**: that of [`Selection`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SelectionError {
    /// There are no candidates to choose from.
    NoCandidates,
    /// The sensitivity is outside 1..=2⁴⁰.
    Sensitivity(u64),
    /// The scratch slice is not as long as the utilities.
    Scratch {
        /// Length of the slice given.
        len: usize,
        /// Number of candidates.
        candidates: usize,
    },
    /// The source of noise failed; nothing leaves.
    Noise(NoiseError),
}

impl fmt::Display for SelectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SelectionError::NoCandidates => f.write_str("no candidates to select from"),
            SelectionError::Sensitivity(x) => {
                write!(f, "sensitivity {x} is not in 1..=1099511627776")
            }
            SelectionError::Scratch { len, candidates } => {
                write!(f, "scratch of {len} for {candidates} candidates")
            }
            SelectionError::Noise(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for SelectionError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            SelectionError::Noise(error) => error.source(),
            _ => None,
        }
    }
}

impl From<NoiseError> for SelectionError {
    fn from(e: NoiseError) -> Self {
        SelectionError::Noise(e)
    }
}

/// Uniform proposals for each candidate before the exponential mechanism gives up: (1−1/n)^(200n) <
/// e^(−200).
const ATTEMPTS_PER_CANDIDATE: u64 = 200;
/// e^(−200), rounded up.
const GIVE_UP_DELTA: f64 = 1.4e-87;

/// Private selection on integer utilities.
///
/// ```
/// use sordino_core::privacy::mechanism::selection::{Selection, SelectionError};
/// use sordino_core::privacy::{Epsilon, NeighboringRelation, Simulated};
/// use sordino_core::random::Stream;
///
/// let selection = Selection::new(1, Epsilon::new(1.0)?, NeighboringRelation::ReplaceOne)?;
/// let (utilities, mut order) = ([3, 100, 60], [0; 3]);
/// let source = &mut Simulated::new(Stream::from_seed(1));
/// // The coin of the next best comes up with probability e^(−ε·40/2), about 2e-9.
/// assert_eq!(*selection.permute_and_flip(&utilities, &mut order, source)?.value(), 1);
/// assert_eq!(selection.permute_and_flip(&[], &mut [], source), Err(SelectionError::NoCandidates));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    sensitivity: u64,
    epsilon: Epsilon,
    relation: NeighboringRelation,
}

impl Selection {
    /// A mechanism: `sensitivity` Δ in 1..=2⁴⁰, the most any utility changes between neighbours
    /// under `relation`.
    pub fn new(
        sensitivity: u64,
        epsilon: Epsilon,
        relation: NeighboringRelation,
    ) -> Result<Self, SelectionError> {
        if sensitivity == 0 || sensitivity > 1 << 40 {
            return Err(SelectionError::Sensitivity(sensitivity));
        }
        Ok(Selection {
            sensitivity,
            epsilon,
            relation,
        })
    }

    /// What permute-and-flip costs.
    pub fn event(&self) -> Event {
        Event::PureEpsilon {
            epsilon: self.epsilon.value(),
            relation: self.relation,
        }
    }

    /// What the exponential mechanism with its bounded loop costs.
    pub fn exponential_event(&self) -> Event {
        Event::ApproximateEpsilon {
            epsilon: self.epsilon.value(),
            delta: GIVE_UP_DELTA,
            relation: self.relation,
        }
    }

    /// Visits candidates in random order and accepts each with its coin; a best one is accepted for
    /// certain, so at most n coins fall.
    ///
    /// **Parameters**: `order` scratch as long as the utilities.
    pub fn permute_and_flip<S: NoiseSource>(
        &self,
        utilities: &[i64],
        order: &mut [u32],
        source: &mut S,
    ) -> Result<Release<u32, S::Provenance>, SelectionError> {
        let best = *utilities.iter().max().ok_or(SelectionError::NoCandidates)?;
        let candidates = utilities.len();
        if order.len() != candidates {
            return Err(SelectionError::Scratch {
                len: order.len(),
                candidates,
            });
        }
        order.iter_mut().zip(0..).for_each(|(slot, i)| *slot = i);
        let mut bits = Bits::new(source);
        // The whole permutation first: only the coins then depend on the utilities.
        for i in 0..candidates {
            let j = i + bits.below((candidates - i) as u64)? as usize;
            order.swap(i, j);
        }
        for candidate in order.iter() {
            if self.accept(best, utilities[*candidate as usize], &mut bits)? {
                return Ok(Release::new(*candidate, self.event()));
            }
        }
        // A best candidate is accepted with probability one.
        Err(NoiseError::Exhausted.into())
    }

    /// Proposes candidates uniformly until one is accepted: probability ∝ e^(εu/(2Δ)).
    pub fn exponential<S: NoiseSource>(
        &self,
        utilities: &[i64],
        source: &mut S,
    ) -> Result<Release<u32, S::Provenance>, SelectionError> {
        let best = *utilities.iter().max().ok_or(SelectionError::NoCandidates)?;
        let candidates = utilities.len() as u64;
        let mut bits = Bits::new(source);
        for _ in 0..ATTEMPTS_PER_CANDIDATE.saturating_mul(candidates) {
            let candidate = bits.below(candidates)? as u32;
            if self.accept(best, utilities[candidate as usize], &mut bits)? {
                return Ok(Release::new(candidate, self.exponential_event()));
            }
        }
        Err(NoiseError::Exhausted.into())
    }

    /// True with probability e^(−ε(best − utility)/(2Δ)).
    fn accept<S: NoiseSource>(
        &self,
        best: i64,
        utility: i64,
        bits: &mut Bits<'_, S>,
    ) -> Result<bool, NoiseError> {
        let numerator = best
            .abs_diff(utility)
            .saturating_mul(self.epsilon.numerator());
        bits.bernoulli_exp(numerator, 2 * self.sensitivity * Epsilon::DENOMINATOR)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::random::{Simulated, Stream};
    use std::vec;
    use std::vec::Vec;

    fn selection(sensitivity: u64, epsilon: f64) -> Selection {
        Selection::new(
            sensitivity,
            Epsilon::new(epsilon).unwrap(),
            NeighboringRelation::ReplaceOne,
        )
        .unwrap()
    }

    /// Law of permute-and-flip by all orders of at most four candidates.
    fn flip_law(accept: &[f64]) -> Vec<f64> {
        fn visit(left: Vec<usize>, alive: f64, accept: &[f64], law: &mut [f64]) {
            for (place, candidate) in left.iter().enumerate() {
                let share = alive / left.len() as f64;
                law[*candidate] += share * accept[*candidate];
                let mut rest = left.clone();
                rest.remove(place);
                visit(rest, share * (1.0 - accept[*candidate]), accept, law);
            }
        }
        let mut law = vec![0.0; accept.len()];
        visit((0..accept.len()).collect(), 1.0, accept, &mut law);
        law
    }

    fn chi2(count: &[u32], law: &[f64]) -> f64 {
        let n: f64 = count.iter().map(|c| f64::from(*c)).sum();
        count
            .iter()
            .zip(law)
            .map(|(c, p)| (f64::from(*c) - n * p).powi(2) / (n * p))
            .sum()
    }

    /// 3 degrees of freedom: 99.99 % quantile 21.1.
    const LIMIT: f64 = 21.1;

    #[test]
    fn both_have_their_law_and_the_test_can_fail() {
        let utilities = [5i64, 3, 2, 5];
        let accept: Vec<f64> = utilities
            .iter()
            .map(|u| (-((5 - u) as f64) * 0.8 / 2.0).exp())
            .collect();
        let total: f64 = accept.iter().sum();
        let mut flip = [0u32; 4];
        let mut exponential = [0u32; 4];
        let mut source = Simulated::new(Stream::from_seed(12));
        let m = selection(1, 0.8);
        for _ in 0..100_000 {
            let mut order = [0; 4];
            flip[*m
                .permute_and_flip(&utilities, &mut order, &mut source)
                .unwrap()
                .value() as usize] += 1;
            exponential[*m.exponential(&utilities, &mut source).unwrap().value() as usize] += 1;
        }
        let flip_law = flip_law(&accept);
        let law = accept.iter().map(|a| a / total).collect::<Vec<_>>();
        assert!(chi2(&flip, &flip_law) < LIMIT && chi2(&exponential, &law) < LIMIT);
        assert!(
            chi2(&flip, &law) > LIMIT,
            "the two laws differ and the test sees it"
        );
    }

    #[test]
    fn permute_and_flip_is_private_by_enumeration() {
        // All neighbours of integer utilities within Δ = 1, exactly: the ratio never exceeds e^ε.
        let epsilon = 0.8f64;
        let law = |u: &[i64]| {
            let best = *u.iter().max().unwrap();
            flip_law(
                &u.iter()
                    .map(|x| (-((best - x) as f64) * epsilon / 2.0).exp())
                    .collect::<Vec<_>>(),
            )
        };
        let mut worst = 0.0f64;
        for code in 0..27 {
            let shift = [code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1];
            let a = [4i64, 3, 4];
            let b = [4 + shift[0], 3 + shift[1], 4 + shift[2]];
            for (p, q) in law(&a).iter().zip(law(&b)) {
                worst = worst.max((p / q).ln().abs());
            }
        }
        assert!(worst <= epsilon + 1e-12 && worst > 0.5 * epsilon, "{worst}");
    }

    #[test]
    fn extremes_are_handled() {
        let mut source = Simulated::new(Stream::from_seed(3));
        let m = selection(1, 256.0);
        let mut order = [0; 2];
        for _ in 0..100 {
            let release = m
                .permute_and_flip(&[i64::MIN, i64::MAX], &mut order, &mut source)
                .unwrap();
            assert_eq!(*release.value(), 1);
        }
        assert_eq!(*m.exponential(&[7], &mut source).unwrap().value(), 0);
        assert_eq!(
            m.exponential(&[], &mut source).unwrap_err(),
            SelectionError::NoCandidates
        );
        assert_eq!(
            m.permute_and_flip(&[], &mut [], &mut source).unwrap_err(),
            SelectionError::NoCandidates
        );
        assert!(m.permute_and_flip(&[1], &mut order, &mut source).is_err());
        let relation = NeighboringRelation::ReplaceOne;
        assert!(Selection::new(0, Epsilon::new(1.0).unwrap(), relation).is_err());
        assert!(Selection::new(u64::MAX, Epsilon::new(1.0).unwrap(), relation).is_err());
    }
}
