//! A method of somebody's own, as an exchange carries it.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// Everything public about a method whose code is somebody's own: how much of it there is, and
/// which one it is. What its agents and its server do is in a program that has both, so only a
/// rehearsal runs it.
///
/// **Privacy**: nothing is claimed. Its releases have no event, so a server does not serve it and
/// an agent does not join it.
///
/// ```
/// use sordino_core::digest::Digest;
/// use sordino_core::federated::exchange::{OwnProtocol, Protocol};
///
/// let digest = Digest::of(&"rumour, version 1");
/// let own = OwnProtocol { agents: 5, rounds: 8, initial_points: 2, offset: 0.0, message_len: 3, released_max: 64, digest };
/// let protocol = Protocol::Own(own);
/// assert_eq!((protocol.epochs(), protocol.last_round(3)), (8, 3)); // one round an epoch
/// assert_eq!(protocol.event(0), Ok(None)); // protects nobody
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnProtocol {
    /// N, enrolled agents.
    pub agents: u32,
    /// T, queries of an agent after its initial points.
    pub rounds: u32,
    /// Queries of an agent before the first round.
    pub initial_points: u32,
    /// c₀, which its agents may subtract from what they observe, unit y.
    pub offset: f64,
    /// Numbers of a message; 0 without a server.
    pub message_len: u32,
    /// The most numbers that its server may send after a round.
    pub released_max: u32,
    /// Names the method and its version.
    pub digest: Digest,
}
