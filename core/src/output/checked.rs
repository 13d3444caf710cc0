//! Constants whose ranges hold.

use core::ops::Deref;

/// Constants that passed their own check, and cannot be changed any more: only these release
/// anything.
///
/// Formulas need no check and stand on the constants themselves; a release with a nonsensical
/// sensitivity would be noised for another guarantee than it names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checked<T>(pub(super) T);

impl<T> Deref for Checked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
