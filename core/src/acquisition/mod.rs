//! Which candidate next.
//!
//! | module | rule |
//! |---|---|
//! | [`upper_confidence_bound`] | the argmax of mean + width · std |
//! | [`log_expected_improvement`] | the argmax of the logarithm of the expected improvement |
//! | [`maximize`] | how any of them is maximised over a box |
//! | [`thompson`] | the argmax of a function drawn as weights of features |

pub mod log_expected_improvement;
pub mod maximize;
pub mod thompson;
pub mod upper_confidence_bound;

/// The best of the candidates looked at; ties go to the lowest index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Maximum<T> {
    /// Its index.
    pub candidate: u32,
    /// Its value.
    pub value: T,
}
