//! What a file's self-test says about how to read it.

use crate::math::Scalar;

/// From this self-test on the file is trusted from the first question.
const TRUSTED_FROM: f64 = 1.0;
/// Below this self-test the file is not read.
const UNREAD_BELOW: f64 = -1.0;
/// From this self-test on the second question beside a trusted file is the file's as well.
const ASKED_AGAIN_FROM: f64 = 3.0;
/// Questions that cover the box where no file is trusted.
const FIRST_QUESTIONS: usize = 3;
/// Odds of τ = 1 where the self-test does not speak against the file.
const ODDS: f64 = 19.0;

/// How a file is read: a function of its self-test B.
///
/// ```
/// use sordino_core::prior::Reading;
/// assert_eq!(Reading::of(Some(7.5)), Reading::Trusted);
/// assert_eq!(Reading::of(Some(-0.5)), Reading::Doubted);
/// assert_eq!((Reading::of(Some(-3.0)), Reading::of(None::<f64>)), (Reading::Unread, Reading::Alone));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Reading {
    /// There is no file.
    Alone,
    /// B < −1, or NaN: the search is that without a file.
    Unread,
    /// −1 ≤ B < 1: three questions without the file, then with it, hypotheses averaged.
    Doubted,
    /// B ≥ 1: the file from the first question on, the hypothesis of largest weight. Where B < 3
    /// the second question covers the box ([`covers_box`]).
    Trusted,
}

impl Reading {
    /// The reading of a file with this self-test; of none where there is no file.
    pub fn of<T: Scalar>(self_test: Option<T>) -> Self {
        match self_test {
            None => Reading::Alone,
            Some(b) if b >= T::from_f64(TRUSTED_FROM) => Reading::Trusted,
            Some(b) if b >= T::from_f64(UNREAD_BELOW) => Reading::Doubted,
            Some(_) => Reading::Unread,
        }
    }

    /// Whether hypotheses with τ = 1 are formed.
    pub fn uses_file(self) -> bool {
        matches!(self, Reading::Doubted | Reading::Trusted)
    }
}

/// Whether the question after so many values covers the box, whatever they are: the first three
/// where no file is trusted, and the second beside one that is trusted with B < 3.
///
/// A file's best points lie together, and their values are alike on a plateau and in a pit. What a
/// file of noise says shows at one point elsewhere: docs/prior-files.md, "Worthless files", has
/// what that is worth, and what it costs.
///
/// ```
/// use sordino_core::prior::covers_box;
/// let questions = |self_test: Option<f64>| [0, 1, 2, 3].map(|values| covers_box(self_test, values));
/// assert_eq!(questions(Some(3.0)), [false; 4]);
/// assert_eq!(questions(Some(1.0)), [false, true, false, false]);
/// assert_eq!(questions(Some(0.9)), [true, true, true, false]);
/// assert_eq!(questions(None), questions(Some(-9.0)));
/// ```
pub fn covers_box<T: Scalar>(self_test: Option<T>, values: usize) -> bool {
    match (Reading::of(self_test), self_test) {
        (Reading::Trusted, Some(b)) => values == 1 && b < T::from_f64(ASKED_AGAIN_FROM),
        _ => values < FIRST_QUESTIONS,
    }
}

/// ln(1 − p) and ln(p/2) at odds of 19·e^{min(B, 0)} to 1; B ≥ 1 has p = .95 as well.
pub(super) fn ln_trust<T: Scalar>(self_test: T) -> (T, T) {
    let odds = T::from_f64(ODDS) * self_test.min(T::ZERO).exp();
    let whole = T::ONE + odds;
    (-whole.ln(), (odds / (whole + whole)).ln())
}
