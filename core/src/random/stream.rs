//! Named generators: every simulated draw has an address.
//!
//! A stream is keyed by (run seed, [`Party`], [`Purpose`], round). No generator is shared, so a
//! draw does not depend on who else drew before, on threads, or on which methods run beside it:
//! methods of one run are paired by construction.
//!
//! **Layout, frozen by the vectors below** (changing it is "Value-breaking"):
//! 1. run seed = mix(mix(scenario seed + γ) ⊕ run index + γ), γ = 0x9E3779B97F4A7C15, mix = the
//!    finaliser of SplitMix64 (Steele, Lea, Flood 2014): ten runs are a prefix of thirty.
//! 2. The words (run seed, party, purpose · 2³² + round) are absorbed by two lanes, a ← mix((a + γ)
//!    ⊕ word) and b ← mix((b + γ′) ⊕ word·γ), γ′ = 0xD1B54A32D192ED03, both from 0: 128 bits, so
//!    that 10⁹ streams stay distinct.
//! 3. The state of xoshiro256++ is (mix(a), mix(b), mix(a + b·γ), mix((a ⊕ rot₃₂ b) + 1)).
//!
//! ```
//! use sordino_core::random::{Party, Purpose, RunSeed};
//!
//! let seed = RunSeed::new(7, 0);
//! let first = seed.stream(Party::Agent(3), Purpose::OwnDraw, 5).word();
//! assert_eq!(first, seed.stream(Party::Agent(3), Purpose::OwnDraw, 5).word()); // an address, not a position
//! assert_ne!(first, seed.stream(Party::Agent(4), Purpose::OwnDraw, 5).word());
//! ```

use rand_core::{SeedableRng, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use crate::math::Scalar;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xd1b5_4a32_d192_ed03;

#[inline]
const fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// The party that draws, a part of a stream's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// Agent, reporter or user with this index.
    Agent(u32),
    /// Server, curator or learner.
    Server,
    /// What surrounds the parties: objectives, faults.
    World,
    /// The second of two servers.
    Helper,
}

impl Party {
    const fn code(self) -> u64 {
        match self {
            Party::Agent(n) => n as u64,
            Party::Server => 1 << 32,
            Party::World => 2 << 32,
            Party::Helper => 3 << 32,
        }
    }
}

/// What for. The numbers are part of the key and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// The function to be optimised.
    Objective = 1,
    /// An agent's own deviation from the common function.
    Perturbation = 2,
    /// Noise of an observation; the round is the observation's number.
    ObservationNoise = 3,
    /// Points queried before the first proposal.
    InitialPoints = 4,
    /// The coin between an own draw and the server's vector.
    Mixing = 5,
    /// The agent's own posterior draw.
    OwnDraw = 6,
    /// The weights an agent uploads.
    WeightDraw = 7,
    /// Selection coins and noise of a release: simulation only.
    Release = 8,
    /// Frequencies and phases of public features.
    Features = 9,
    /// Faults of links and machines.
    Faults = 10,
    /// A random policy, random search.
    RandomPolicy = 11,
    /// Random projections and dictionaries.
    Projection = 12,
    /// Candidate lists and data splits.
    Candidates = 13,
    /// Restarts of a numerical search.
    Restarts = 14,
}

/// The seed of one run, from which every stream of it begins.
///
/// In a simulation everybody knows it, and with it all coins and all noise that are drawn from it,
/// which is why no private release takes noise from a [`Stream`]. An agent of a real federation
/// draws its choices from a seed of its own, `RunSeed::new(bits, 0)` with 64 bits of the device's
/// entropy, and keeps it secret: who knows it can tell when the agent followed a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSeed(u64);

impl RunSeed {
    /// Seed of run `run_index` of a scenario.
    pub const fn new(scenario_seed: u64, run_index: u32) -> Self {
        RunSeed(mix((mix(scenario_seed.wrapping_add(GOLDEN))
            ^ run_index as u64)
            .wrapping_add(GOLDEN)))
    }

    /// The 64 bits, for messages.
    pub const fn value(self) -> u64 {
        self.0
    }

    const fn absorb(self, party: Party, purpose: Purpose, round: u32) -> (u64, u64) {
        let words = [self.0, party.code(), (purpose as u64) << 32 | round as u64];
        let mut a = 0u64;
        let mut b = 0u64;
        let mut i = 0;
        while i < words.len() {
            a = mix(a.wrapping_add(GOLDEN) ^ words[i]);
            b = mix(b.wrapping_add(SECOND) ^ words[i].wrapping_mul(GOLDEN));
            i += 1;
        }
        (a, b)
    }

    /// The stream at this address, from its beginning.
    pub fn stream(self, party: Party, purpose: Purpose, round: u32) -> Stream {
        let (a, b) = self.absorb(party, purpose, round);
        let state = [
            mix(a),
            mix(b),
            mix(a.wrapping_add(b.wrapping_mul(GOLDEN))),
            mix((a ^ b.rotate_left(32)).wrapping_add(1)),
        ];
        let mut seed = [0u8; 32];
        for (out, word) in seed.chunks_exact_mut(8).zip(state) {
            out.copy_from_slice(&word.to_le_bytes());
        }
        Stream(Xoshiro256PlusPlus::from_seed(seed))
    }

    /// One uniform 64-bit word with an address, without a generator: for tables too large to draw,
    /// such as a perturbation for every agent and point. `index` takes the place of the round.
    pub const fn word(self, party: Party, purpose: Purpose, index: u32) -> u64 {
        let (a, b) = self.absorb(party, purpose, index);
        mix(a ^ b)
    }
}

/// One named generator: xoshiro256++ (Blackman and Vigna 2018). Not cryptographic: its state can be
/// recovered from outputs. A private release does not accept it; see [`RunSeed`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// A stream from a bare 64-bit seed, for public features and examples.
    pub fn from_seed(seed: u64) -> Self {
        RunSeed(seed).stream(Party::World, Purpose::Features, 0)
    }

    /// A uniform 64-bit word.
    #[inline]
    pub fn word(&mut self) -> u64 {
        match self.0.try_next_u64() {
            Ok(word) => word,
        }
    }

    /// Uniform in [0, 1). One word.
    #[inline]
    pub fn unit<T: Scalar>(&mut self) -> T {
        T::unit(self.word())
    }

    /// Uniform integer in 0..n (0 if n = 0). One word; the bias is below n·2⁻⁶⁴.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        ((u128::from(self.word()) * u128::from(n)) >> 64) as u32
    }
}

impl TryRng for Stream {
    type Error = rand_core::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok((self.word() >> 32) as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.word())
    }
    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Self::Error> {
        for chunk in dst.chunks_mut(8) {
            let word = self.word().to_le_bytes();
            chunk.iter_mut().zip(word).for_each(|(to, from)| *to = from);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_frozen() {
        let run = RunSeed::new(0, 0);
        let mut stream = run.stream(Party::Agent(3), Purpose::OwnDraw, 7);
        let words = [stream.word(), stream.word()];
        let word = run.word(Party::Agent(3), Purpose::Perturbation, 7);
        assert_eq!((run.value(), words, word), FROZEN);
    }
    const FROZEN: (u64, [u64; 2], u64) = (
        12035550249420947055,
        [16755772327042409541, 2013174434602582803],
        10987905521017724196,
    );

    #[test]
    fn every_part_of_the_address_matters() {
        let run = RunSeed::new(1, 0);
        let base = run.stream(Party::Agent(0), Purpose::Mixing, 0);
        for other in [
            run.stream(Party::Agent(1), Purpose::Mixing, 0),
            run.stream(Party::Server, Purpose::Mixing, 0),
            run.stream(Party::Agent(0), Purpose::OwnDraw, 0),
            run.stream(Party::Agent(0), Purpose::Mixing, 1),
            RunSeed::new(1, 1).stream(Party::Agent(0), Purpose::Mixing, 0),
            RunSeed::new(2, 0).stream(Party::Agent(0), Purpose::Mixing, 0),
        ] {
            assert_ne!(base, other);
        }
        assert_eq!(base, run.stream(Party::Agent(0), Purpose::Mixing, 0));
    }

    #[test]
    fn below_is_uniform() {
        // Chi-square over 10 cells, 100,000 draws: 9 degrees of freedom, 99.99 % quantile 33.7.
        let mut stream = Stream::from_seed(5);
        let mut count = [0u32; 10];
        (0..100_000).for_each(|_| count[stream.below(10) as usize] += 1);
        let chi2: f64 = count
            .iter()
            .map(|c| (f64::from(*c) - 1e4) * (f64::from(*c) - 1e4) / 1e4)
            .sum();
        assert!(chi2 < 33.7, "{chi2}");
        assert_eq!(stream.below(0), 0);
    }
}
