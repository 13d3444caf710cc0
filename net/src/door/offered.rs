//! What a door has for anybody, and what it counts.

use std::sync::atomic::AtomicU64;

use axum::body::Bytes;
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

    /// What is offered once the last frame, with this header, is announced, and `released` are the
    /// sums of all releases so far: all but the file itself, which comes beside it if there is one.
    ///
    /// **Errors**: [`OfferError`].
    pub fn after<T: Number, P: Party<T>>(
        party: &P,
        header: Header,
        released: &[T],
    ) -> Result<(Self, Option<PriorFile>), OfferError> {
        let mut offered = Offered::default();
        let file = party.file(released)?;
        if let Some(file) = &file {
            offered.numbers = beside(header, Kind::Prior, &file.numbers())?;
        }
        // Where a budget skipped releases there are numbers of one that never comes.
        let is_open = header.round < party.agreement().protocol.epochs();
        if let Some(numbers) = if is_open {
            party.opening(released)?
        } else {
            None
        } {
            offered.opening = Some((header.round, beside(header, Kind::Opening, &numbers)?));
        }
        Ok((offered, file))
    }
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
