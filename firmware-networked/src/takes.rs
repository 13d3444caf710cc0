//! What a link sees of a party, whatever its method.

use sordino_core::digest::Digest;
use sordino_core::federated::exchange::{AgentExchange, Millis, Reply, Seal, Want};
use sordino_core::wire::Header;

use crate::fatal::Fatal;

/// What a party tells at its end.
#[derive(Clone, Copy, Default)]
pub struct Told {
    /// Rounds that were contributed to.
    pub given: u32,
    /// Points that were measured.
    pub observations: u32,
    /// Masks that were used, those included whose share was never sent.
    pub masks: u32,
    /// The digest of its history.
    pub chain: Digest,
}

/// What is done with a party once it is put together.
pub type Taking<'t> = dyn FnMut(&mut dyn TakesPart) -> Result<(), Fatal> + 't;

/// What a party may lack that its server offers to everybody.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// What this release is made with.
    Opening(u32),
    /// The numbers of the file after the last release.
    File,
}

/// A party of either method, as its link sees it.
pub trait TakesPart {
    /// How it stands with its server.
    fn exchange(&mut self) -> &mut AgentExchange;

    /// What there is to tell at the end.
    fn told(&self) -> Told;

    /// Makes everything durable that a reset needs.
    ///
    /// **Errors**: [`Fatal::Flash`].
    fn save(&mut self) -> Result<(), Fatal>;

    /// A frame of the server, not stored yet, but for the release in it. Whether there is something
    /// to store: there is not where it is of another round.
    ///
    /// **Errors**: [`Fatal`].
    fn heard(&mut self, bytes: &[u8], current: u32, seal: Seal) -> Result<bool, Fatal>;

    /// One observation, or the end of the round; not stored yet, but for the observation itself.
    ///
    /// **Errors**: [`Fatal`].
    fn work(&mut self) -> Result<(), Fatal>;

    /// Writes this round's answer: how many bytes. What it contributes to, and the mask that hides
    /// it, are stored before it can leave.
    ///
    /// **Errors**: [`Fatal`].
    fn answer(&mut self, header: Header, out: &mut [u8]) -> Result<usize, Fatal>;

    /// What it must have before it goes on, of parties that do not compute it.
    fn lacks(&self) -> Option<Lack> {
        None
    }

    /// Whether all that it still owes its server is a last word, which nobody may wait for any
    /// more.
    fn is_over(&self) -> bool {
        false
    }

    /// A piece of what it lacks, `from` so many bytes of its beginning.
    ///
    /// **Errors**: [`Fatal`].
    fn piece(&mut self, _from: usize, _bytes: &[u8]) -> Result<(), Fatal> {
        Ok(())
    }

    /// All so many bytes of it came, or there is none: whether it is what was lacking.
    ///
    /// **Errors**: [`Fatal`].
    fn came(&mut self, _len: Option<usize>) -> Result<bool, Fatal> {
        Ok(true)
    }

    /// What to do at this moment.
    fn want(&mut self, now: Millis) -> Want {
        self.exchange().want(now)
    }

    /// What the server said to an answer.
    fn replied(&mut self, round: u32, reply: Reply, now: Millis) {
        self.exchange().told(round, reply, now);
    }
}
