//! Which candidate next.
//!
//! | module | rule |
//! |---|---|
//! | [`thompson`] | the argmax of a function drawn as weights of features |

pub mod thompson;

/// The best of the candidates looked at; ties go to the lowest index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Maximum<T> {
    /// Its index.
    pub candidate: u32,
    /// Its value.
    pub value: T,
}
