//! Which candidate next.
//!
//! | module | rule |
//! |---|---|
//! | [`upper_confidence_bound`] | the argmax of mean + width · std |
//! | [`log_expected_improvement`] | the argmax of the logarithm of the expected improvement |
//! | [`maximize`] | how any of them is maximised over a box |
//! | [`rule`] | any of the two above by name, or a function of your own |
//! | [`thompson`] | the argmax of a function drawn as weights of features |
//! | [`outline`] | the same for a host that asks many times: most rows in single precision only |
//!
//! **Example**: that of [`upper_confidence_bound`]; over a box, that of [`maximize::Searching`].

pub mod log_expected_improvement;
pub mod maximize;
pub mod outline;
pub mod rule;
pub mod thompson;
pub mod upper_confidence_bound;

pub use outline::Outline;
pub use rule::{Acquisition, Rule};

use crate::math::Scalar;

/// The best of the candidates looked at; ties go to the lowest index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Maximum<T> {
    /// Index of the candidate with that value.
    pub candidate: u32,
    /// Largest value of the acquisition.
    pub value: T,
}

impl<T: Scalar> Maximum<T> {
    /// Nothing looked at yet: candidate 0 at −∞.
    pub(crate) fn none() -> Self {
        Maximum {
            candidate: 0,
            value: -T::INFINITY,
        }
    }

    /// Looks at the values of the candidates from `start` on. Four running maxima first, without a
    /// chain of comparisons; an index is only searched for where something is larger than before. A
    /// NaN is never larger.
    pub(crate) fn look(&mut self, start: u32, values: &[T]) {
        let (fours, rest) = values.as_chunks::<4>();
        let mut lane = [self.value; 4];
        for four in fours {
            for i in 0..4 {
                lane[i] = lane[i].max(four[i]);
            }
        }
        let largest = lane
            .iter()
            .chain(rest)
            .fold(self.value, |largest, x| largest.max(*x));
        if largest > self.value
            && let Some((index, value)) = values.iter().enumerate().find(|(_, x)| **x == largest)
        {
            *self = Maximum {
                candidate: start + index as u32,
                value: *value,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_looked_at_as_values_one_after_the_other() {
        let zoo = [0.0, -0.0, 1.0, 2.0, 2.0, -1.0, f64::NAN, f64::NEG_INFINITY];
        let mut stream = crate::random::Stream::from_seed(3);
        for _ in 0..2000 {
            let values: [f64; 23] = core::array::from_fn(|_| zoo[stream.below(8) as usize]);
            let mut plain = Maximum::none();
            for (i, value) in values.iter().enumerate() {
                if *value > plain.value {
                    plain = Maximum {
                        candidate: i as u32,
                        value: *value,
                    };
                }
            }
            let mut blocks = Maximum::none();
            let size = 1 + stream.below(9);
            for (i, block) in values.chunks(size as usize).enumerate() {
                blocks.look(i as u32 * size, block);
            }
            assert_eq!(
                (plain.candidate, plain.value.to_bits()),
                (blocks.candidate, blocks.value.to_bits())
            );
        }
    }
}
