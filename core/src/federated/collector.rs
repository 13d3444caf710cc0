//! Collecting: from uploads to integer sums, for all agents or for a shard of them.
//!
//! The only thing a federation adds up are integers, so shards may collect anywhere, in any order,
//! and be merged: the sums are the same. A collector is inside the trust boundary: it knows who was
//! selected.

use super::encoding::{Counters, Encoding, SELECTED, UPLOADED};
use super::errors::ServerError;
use super::partial::{Opening, Partial, Share};
use crate::math::Scalar;
use crate::privacy::encode::Outcome;

/// Numbers of a collector, borrowed: the sums of a release and one byte for each agent of its
/// range. Prints their lengths, never what they hold.
///
/// **Example**: that of [`Collector`].
pub struct CollectorStorage<'a> {
    /// Integer sums of the contributions, as many as a release has numbers.
    pub sums: &'a mut [i64],
    /// Flags of the agents `first..first + flags.len()`.
    pub flags: &'a mut [u8],
    /// Counts of the broadcast.
    pub counters: &'a mut Counters,
}

impl core::fmt::Debug for CollectorStorage<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "CollectorStorage {{ coordinates: {}, agents: {} }}",
            self.sums.len(),
            self.flags.len()
        )
    }
}

/// Takes the uploads of consecutive agents for one broadcast.
///
/// A server collects by itself; a fleet gives each shard a collector with its share of the secret
/// sample ([`super::Server::share`]) and sums of its own, and merges what they finish with
/// ([`super::Server::merge`]).
///
/// ```
/// use sordino_core::federated::{Collector, CollectorStorage, Counters, Draws, Partial, PartialError, ServerError, Share};
/// # use sordino_core::{domain::Regions, federated::*, privacy::Simulated, random::Stream};
/// # let config = Config::new(Parameters::usual(4, Regions::whole(1)?, 5, 16, Aggregation::private(6.0, 0.5, 1.0)?))?;
/// # let (mut all, mut noise, mut agents, mut out) = ([0; 16], [0; 16], [0; 4], [0.0; 16]);
/// # let storage = ServerStorage { sums: &mut all, noise: &mut noise, flags: &mut agents, vectors: &mut out };
/// # let mut state = ServerState::new();
/// # let mut server = Server::attach(&config, &mut state, storage)?;
/// # server.handle(ServerInput::Open, &mut Simulated::new(Stream::from_seed(1)))?;
///
/// // A server of four agents that was opened, as in its example; a shard takes the uploads of agents 2 and 3.
/// let share: Share<_> = server.share(2..4)?; // holds the `Opening` and who is in the sample
/// let (mut sums, mut flags, mut counters) = ([0; 16], [0; 2], Counters::default());
/// let storage = CollectorStorage { sums: &mut sums, flags: &mut flags, counters: &mut counters };
/// let mut shard = Collector::new(Draws::new(&config, 0)?, &share, storage)?;
/// shard.upload(2, 0, &[0.5; 16])?;
/// shard.upload(3, 0, &[0.5; 16])?;
/// let partial: Partial<_, _> = shard.finish();
/// assert_eq!(partial.agents(), 2..4);
/// server.merge(&partial)?;
/// assert_eq!(server.state().counters().received, 2);
/// assert_eq!(server.merge(&partial), Err(ServerError::Partial(PartialError::Counted { agent: 2 })));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Collector<'a, E> {
    encoding: E,
    opening: Opening,
    first: u32,
    storage: CollectorStorage<'a>,
}

impl<'a, E: Encoding> Collector<'a, E> {
    /// A collector for the opening and the agents of `share`, in storage that may hold anything:
    /// sums and counters are set to zero, nobody has uploaded.
    ///
    /// **Parameters**: `encoding` of the release that the share was opened for, as the server has
    /// it.
    ///
    /// **Errors**: [`ServerError::Storage`] if the sums are not those of a release, the flags not
    /// one byte for each agent of the share, or these agents not all enrolled;
    /// [`ServerError::Reconfigured`] if the share was made under another encoding, or for another
    /// broadcast than it.
    pub fn new<F: AsRef<[u8]>>(
        encoding: E,
        share: &Share<F>,
        storage: CollectorStorage<'a>,
    ) -> Result<Self, ServerError> {
        let len = storage.sums.len();
        let expected = encoding.sums_len();
        if len != expected {
            return Err(ServerError::Storage {
                what: "sums",
                len,
                expected,
            });
        }
        let sample = share.flags.as_ref();
        let len = storage.flags.len();
        let expected = sample.len();
        if len != expected {
            return Err(ServerError::Storage {
                what: "flags",
                len,
                expected,
            });
        }
        let opening = share.opening;
        let first = share.first;
        let end = (first as usize).saturating_add(expected);
        let agents = encoding.agents() as usize;
        if end > agents {
            return Err(ServerError::Storage {
                what: "flags",
                len: end,
                expected: agents,
            });
        }
        if opening.configuration != encoding.configuration() || !encoding.is_of(opening.broadcast) {
            return Err(ServerError::Reconfigured {
                broadcast: opening.broadcast,
            });
        }
        storage.sums.fill(0);
        storage
            .flags
            .iter_mut()
            .zip(sample)
            .for_each(|(own, told)| *own = told & SELECTED);
        *storage.counters = Counters::ZERO;
        Ok(Collector {
            encoding,
            opening,
            first,
            storage,
        })
    }

    /// No further uploads: what was taken, for [`super::Server::merge`].
    pub fn finish(self) -> Partial<&'a [u8], &'a [i64]> {
        let CollectorStorage {
            sums,
            flags,
            counters,
        } = self.storage;
        Partial {
            opening: self.opening,
            first: self.first,
            flags,
            sums,
            counters: *counters,
        }
    }

    /// Takes one upload, or refuses it by name.
    ///
    /// **Errors**: [`ServerError`]; nothing changed then.
    pub fn upload<T: Scalar>(
        &mut self,
        agent: u32,
        broadcast: u32,
        vector: &[T],
    ) -> Result<(), ServerError> {
        let upload = Upload {
            agent,
            broadcast,
            vector,
        };
        take(
            &self.encoding,
            self.opening.broadcast,
            self.first,
            &mut self.storage,
            upload,
        )
    }
}

/// What an agent sends, and for which broadcast.
pub(super) struct Upload<'a, T> {
    pub(super) agent: u32,
    pub(super) broadcast: u32,
    pub(super) vector: &'a [T],
}

/// Lines "clip" and "sum": a refused upload is an error to its sender; a vector without a finite
/// norm counts as zero and nobody is told. `storage` begins with agent `first`; `collected` is the
/// broadcast that is collected for.
pub(super) fn take<T: Scalar, E: Encoding>(
    encoding: &E,
    collected: u32,
    first: u32,
    storage: &mut CollectorStorage<'_>,
    upload: Upload<'_, T>,
) -> Result<(), ServerError> {
    let Upload {
        agent,
        broadcast,
        vector,
    } = upload;
    let flag = agent
        .checked_sub(first)
        .and_then(|i| storage.flags.get_mut(i as usize));
    let Some(flag) = flag else {
        return Err(ServerError::UnknownAgent {
            agent,
            agents: encoding.agents(),
        });
    };
    if broadcast != collected {
        return Err(ServerError::WrongBroadcast {
            agent,
            found: broadcast,
            expected: collected,
        });
    }
    let expected = encoding.upload_len();
    if vector.len() != expected {
        return Err(ServerError::VectorLength {
            agent,
            len: vector.len(),
            expected,
        });
    }
    if *flag & UPLOADED != 0 {
        return Err(ServerError::DuplicateUpload { agent, broadcast });
    }
    // Every vector takes the same way, selected or not: how long a reply takes must not tell the
    // secret sample. Nothing from here on branches on the coin; `tests/tests/it/upload_work.rs`
    // counts the instructions.
    let selected = *flag & SELECTED & u8::from(encoding.carries_vectors());
    let outcome = encoding.add_if(selected == SELECTED, agent, vector, storage.sums)?;
    *flag |= UPLOADED;
    storage.counters.received += 1;
    storage.counters.clipped +=
        u32::from(selected) & u32::from(matches!(outcome, Outcome::Clipped));
    storage.counters.zeroed += u32::from(selected) & u32::from(matches!(outcome, Outcome::Zeroed));
    Ok(())
}
