//! What a door has for anybody, and what it counts.

use std::sync::atomic::AtomicU64;

use axum::body::Bytes;
use sordino_core::federated::exchange::Protocol;
use sordino_core::math::Scalar;
use sordino_core::wire::{self, Header, Kind, ScalarTag, WireError};
use sordino_host::prior::PriorFile;

use crate::party::{Number, Party, PartyError};

/// Why there is nothing that could be offered.
#[derive(Debug, thiserror::Error)]
pub enum OfferError {
    /// What was released makes no file, or nothing to make another release with.
    #[error(transparent)]
    Party(#[from] PartyError),
    /// No frame holds it.
    #[error("what is offered beside a frame: {0}")]
    Frame(#[from] WireError),
}

/// What anybody may fetch, a function of what was announced: it costs nobody anything more, whoever
/// reads it.
#[derive(Clone, Debug, Default)]
pub struct Offered {
    /// The file of a campaign's releases so far; empty if there is none.
    pub file: Bytes,
    /// Its numbers, a frame in single precision; empty if there is none.
    pub numbers: Bytes,
    /// What the release that is open is made with, a frame, and its round; nothing after the last,
    /// and of other methods.
    pub opening: Option<(u32, Bytes)>,
    /// No round is announced yet by this server: one that a device knows of may come again.
    pub is_waiting: bool,
}

impl Offered {
    /// What is offered before a server has announced its first round. Also after a restart, when
    /// that round may have been announced before.
    pub fn nothing_yet() -> Self {
        Offered {
            is_waiting: true,
            ..Offered::default()
        }
    }
}

/// What follows from the releases of a campaign, frame by frame; nothing of other methods.
pub(crate) struct Offering<T> {
    /// The sums of all releases so far.
    released: Vec<T>,
}

impl<T: Number> Offering<T> {
    /// Once these frames, from the first one on, were announced.
    ///
    /// **Errors**: [`OfferError::Frame`].
    pub(crate) fn resumed<P: Party<T>>(party: &P, frames: &[Bytes]) -> Result<Self, OfferError> {
        let mut offering = Offering {
            released: Vec::new(),
        };
        if is_offered(party) {
            for frame in frames {
                offering.absorb(party, frame)?;
            }
        }
        Ok(offering)
    }

    /// What is offered once this frame, the next one, is announced as well: all but the file
    /// itself, which comes beside it if there is one.
    ///
    /// **Errors**: [`OfferError`].
    pub(crate) fn after<P: Party<T>>(
        &mut self,
        party: &P,
        frame: &[u8],
    ) -> Result<(Offered, Option<PriorFile>), OfferError> {
        let mut offered = Offered::default();
        if !is_offered(party) {
            return Ok((offered, None));
        }
        let header = self.absorb(party, frame)?;
        let file = party.file(&self.released)?;
        if let Some(file) = &file {
            offered.numbers = beside(header, Kind::Prior, &file.numbers())?;
        }
        // Where a budget skipped releases there are numbers of one that never comes.
        let is_open = header.round < party.agreement().protocol.epochs();
        if let Some(numbers) = if is_open {
            party.opening(&self.released)?
        } else {
            None
        } {
            offered.opening = Some((header.round, beside(header, Kind::Opening, &numbers)?));
        }
        Ok((offered, file))
    }

    /// Takes in the sums of a frame, if it has some.
    fn absorb<P: Party<T>>(&mut self, party: &P, frame: &[u8]) -> Result<Header, WireError> {
        let (header, payload) = wire::decode(frame, party.agreement().frame_numbers_max())?;
        if header.kind == Kind::Broadcast {
            let mut sums = vec![T::ZERO; header.len as usize];
            payload.read(&mut sums)?;
            self.released.extend(sums);
        }
        Ok(header)
    }
}

/// Whether anything follows from the releases of this method that anybody may fetch.
fn is_offered<T: Number, P: Party<T>>(party: &P) -> bool {
    matches!(party.agreement().protocol, Protocol::Campaign(_))
}

/// Numbers that follow from a frame with this header, as a frame of another kind: the same bytes
/// however often the round is begun.
fn beside<T: Scalar>(header: Header, kind: Kind, numbers: &[T]) -> Result<Bytes, WireError> {
    let scalar = ScalarTag::of::<T>();
    let mut bytes = vec![0; wire::frame_len_max(scalar, numbers.len())];
    let len = wire::encode(
        Header {
            kind,
            scalar,
            attempt: 0,
            ..header
        },
        numbers,
        &mut bytes,
    )?;
    bytes.truncate(len);
    Ok(bytes.into())
}

/// What a door counts, for metrics.
#[derive(Debug, Default)]
pub struct Counts {
    /// Handshakes that failed.
    pub tls_failures: AtomicU64,
    /// Requests by the first digit of their status: 2, 4, 5.
    pub requests: [AtomicU64; 3],
}
