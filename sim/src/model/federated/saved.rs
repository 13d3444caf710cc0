//! A method as it is stored between two rounds.

use serde::{Deserialize, Serialize};
use sordino_core::federated::ServerState;
use sordino_core::math::Scalar;
use sordino_host::server::StoredServer;

use super::fabric::Snapshot;
use crate::record::MethodRun;

/// A method between two rounds. It is written from a borrowed server state, which is no copy, and read into one.
#[derive(Serialize, Deserialize)]
pub struct Saved<S = ServerState> {
    /// The server, and how far its ledger was written.
    pub server: StoredServer<S>,
    broadcast: Vec<u8>,
    /// Books of the method so far.
    pub books: MethodRun,
    /// States of all agents.
    pub agents: Snapshot,
}

impl<'s> Saved<&'s ServerState> {
    /// A method as it is between two rounds; `vectors` of the last broadcast, empty if it did not take place.
    pub fn new<T: Scalar>(
        server: StoredServer<&'s ServerState>,
        vectors: &[T],
        books: &MethodRun,
        agents: Snapshot,
    ) -> Self {
        let mut broadcast = vec![0; vectors.len() * T::BYTES];
        broadcast.chunks_exact_mut(T::BYTES).zip(vectors).for_each(|(bytes, x)| x.write_le(bytes));
        Saved { server, broadcast, books: books.clone(), agents }
    }
}

impl Saved {
    /// The vectors of the last broadcast.
    pub fn broadcast<T: Scalar>(&self) -> Vec<T> {
        self.broadcast.chunks_exact(T::BYTES).map(T::read_le).collect()
    }
}
