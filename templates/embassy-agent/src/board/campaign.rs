//! The server that the emulator plays for a site of a campaign: its releases, what they are made
//! with and its file are made up.

use sordino_core::digest::Digest;
use sordino_core::federated::exchange::Agreement;
use sordino_core::wire::{self, Header, Kind, ScalarTag, prefix};

use super::link::Frame;
use super::made_up;
use crate::config::{FILE_NUMBERS, FRAME, NUMBERS, OPENING};
use crate::federation::{FEATURES, LANDMARKS};

/// The releases of the campaign.
pub struct Served<'a>(&'a Agreement);

impl<'a> Served<'a> {
    /// Before the first.
    pub fn new(agreement: &'a Agreement) -> Self {
        Served(agreement)
    }

    /// Takes the answer to a release, and says what is released.
    pub fn release(&mut self, release: u32, given: &[f64], behind: &[u8]) -> [f64; NUMBERS] {
        let norm: f64 = given.iter().take(FEATURES).map(|x| x * x).sum();
        assert!(
            given.len() == NUMBERS && behind.is_empty() && release < self.0.protocol.epochs(),
            "a contribution"
        );
        assert!(norm > 0.0, "a contribution that says nothing");
        core::array::from_fn(|i| ((i + release as usize) % 5) as f64 - 2.0)
    }

    /// What a release is made with.
    pub fn opening(&self, (agreement, chain): (&Agreement, Digest), release: u32) -> Frame {
        let mut numbers = [0.0; OPENING];
        let mut bytes = [0; FRAME];
        made_up::opening(release, &mut numbers);
        let header = header(agreement, chain, Kind::Opening, release);
        let len = wire::encode(header, &numbers, &mut bytes).expect("the buffer holds any frame");
        (bytes, len)
    }

    /// Writes the numbers of the file: how many bytes.
    pub fn file(
        &self,
        (agreement, chain): (&Agreement, Digest),
        round: u32,
        out: &mut [u8],
    ) -> usize {
        let mut numbers = [0.0; FILE_NUMBERS];
        made_up::file(&LANDMARKS, FEATURES, &mut numbers);
        wire::encode(header(agreement, chain, Kind::Prior, round), &numbers, out)
            .expect("the buffer holds the file")
    }
}

fn header(agreement: &Agreement, chain: Digest, kind: Kind, round: u32) -> Header {
    let deployment = agreement.deployment;
    let config = prefix(&agreement.digest());
    let chain = prefix(&chain);
    let version = wire::VERSION;
    let scalar = ScalarTag::F64;
    Header {
        version,
        kind,
        scalar,
        deployment,
        config,
        chain,
        agent: 0,
        round,
        attempt: 0,
        len: 0,
    }
}
