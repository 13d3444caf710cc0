//! What the leader of two servers sums: opened shares, with the noise of the helper in them.

use super::{Encoding, Server};
use crate::federated::errors::ServerError;
use crate::federated::estimator::Estimator;
use crate::federated::shares::Opened;
use crate::math::Scalar;

impl<T: Scalar, M: Estimator<T>> Server<'_, T, M> {
    /// Adds what a leader opened of two servers' shares ([`crate::federated::shares`]), with the
    /// helper's noise in it.
    ///
    /// **Privacy**: whoever knows the masks chooses what opens. So nothing here depends on a number
    /// of it: sums wrap around, and they are judged by the release, which is charged, when they
    /// hold this server's noise.
    ///
    /// **Errors**: [`ServerError::UnexpectedInput`] unless collecting; [`ServerError::Answers`] for
    /// one too many; [`ServerError::Partial`] for another broadcast, modulus or length, or too many
    /// agents. Nothing changed then.
    pub fn take(&mut self, opened: Opened<'_>) -> Result<(), ServerError> {
        let (opening, encoding) = self.collecting("take")?;
        let broadcast = opening.broadcast;
        let answers = self.state.answers + 1;
        if answers >= encoding.noises() {
            return Err(ServerError::Answers {
                broadcast,
                found: answers,
                expected: encoding.noises() - 1,
            });
        }
        let left = encoding
            .agents()
            .saturating_sub(self.state.counters.received);
        opened.judge(broadcast, left, encoding)?;
        self.storage
            .sums
            .iter_mut()
            .zip(opened.sums())
            .for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
        self.state.counters.received += opened.agents();
        self.state.answers = answers;
        Ok(())
    }
}
