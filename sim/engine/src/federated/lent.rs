//! The state of agents, lent by their holder: a checkpoint is written straight from it, without a
//! copy.
//!
//! The stored form is one [`Snapshot`] of all agents, no matter which member held which of them.

use serde::ser::{Error as _, SerializeSeq};
use serde::{Deserialize, Serialize, Serializer};
use sordino_core::federated::AgentState;

/// The whole state of consecutive agents: states, logs, and frames still on their way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot<S = AgentState> {
    /// The first agent.
    pub first: u32,
    /// States of all agents, in order.
    pub states: Vec<S>,
    /// Their logs, little-endian, only what is filled, one after the other.
    pub logs: Vec<u8>,
    /// Their best noise-free values so far.
    pub best: Vec<f64>,
    /// Frames that missed a deadline, with their sender.
    pub late: Vec<(u32, Vec<u8>)>,
}

/// Logs of consecutive agents, wherever they lie and in whatever format.
pub trait Logs {
    /// Number of bytes of all of them.
    fn bytes(&self) -> usize;

    /// Hands out all bytes in order, little-endian numbers, only what is filled; ends early with
    /// the first error.
    ///
    /// **Errors**: the first that `take` returns.
    fn each(&self, take: &mut dyn FnMut(&[u8]) -> Result<(), Stop>) -> Result<(), Stop>;
}

/// The reader of the bytes wants no more of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop;

impl Logs for Vec<u8> {
    fn bytes(&self) -> usize {
        self.len()
    }

    fn each(&self, take: &mut dyn FnMut(&[u8]) -> Result<(), Stop>) -> Result<(), Stop> {
        take(self)
    }
}

/// The state of consecutive agents: the numbers of a [`Snapshot`], borrowed from where they lie.
pub struct Lent<'a, S> {
    /// The first agent.
    pub first: u32,
    /// States of all agents, in order.
    pub states: &'a [S],
    /// Their logs, in the order of agents.
    pub logs: &'a dyn Logs,
    /// Their best noise-free values so far.
    pub best: &'a [f64],
    /// Frames that missed a deadline, with their sender.
    pub late: &'a [(u32, Vec<u8>)],
}

// A derive would ask that states can be copied, too.
impl<S> Clone for Lent<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Lent<'_, S> {}

impl<S> Snapshot<S> {
    /// The same state, lent.
    pub fn lent(&self) -> Lent<'_, S> {
        let Snapshot {
            first,
            states,
            logs,
            best,
            late,
        } = self;
        Lent {
            first: *first,
            states,
            logs,
            best,
            late,
        }
    }
}

/// What one member holds.
enum Held<'a, S> {
    Lent(Lent<'a, S>),
    Own(Snapshot<S>),
}

impl<S> Held<'_, S> {
    fn lent(&self) -> Lent<'_, S> {
        match self {
            Held::Lent(lent) => *lent,
            Held::Own(snapshot) => snapshot.lent(),
        }
    }
}

/// The state of several members' agents; stored as one [`Snapshot`] of them all.
pub struct Snapshots<'a, S>(Vec<Held<'a, S>>);

impl<'a, S> Snapshots<'a, S> {
    /// The state of members that lend theirs, in any order.
    pub fn lent(members: impl Iterator<Item = Lent<'a, S>>) -> Self {
        Self::sorted(members.map(Held::Lent).collect())
    }

    /// The state of members whose agents were copied, in any order.
    pub fn own(snapshots: Vec<Snapshot<S>>) -> Self {
        Self::sorted(snapshots.into_iter().map(Held::Own).collect())
    }

    fn sorted(mut held: Vec<Held<'a, S>>) -> Self {
        held.sort_by_key(|held| held.lent().first);
        Snapshots(held)
    }
}

impl<S: Serialize> Serialize for Lent<'_, S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        joined(&[self], serializer)
    }
}

impl<S: Serialize> Serialize for Snapshots<'_, S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        let lent: Vec<Lent<'_, S>> = self.0.iter().map(Held::lent).collect();
        joined(&lent.iter().collect::<Vec<_>>(), serializer)
    }
}

/// The fields of a [`Snapshot`], each over all members, one after the other.
fn joined<S: Serialize, Z: Serializer>(
    members: &[&Lent<'_, S>],
    serializer: Z,
) -> Result<Z::Ok, Z::Error> {
    (
        members.first().map_or(0, |lent| lent.first),
        Chain {
            parts: members.iter().map(|lent| lent.states).collect::<Vec<_>>(),
        },
        JoinedLogs(members.iter().map(|lent| lent.logs).collect()),
        Chain {
            parts: members.iter().map(|lent| lent.best).collect(),
        },
        Chain {
            parts: members.iter().map(|lent| lent.late).collect(),
        },
    )
        .serialize(serializer)
}

/// Slices as one list.
struct Chain<'a, V> {
    parts: Vec<&'a [V]>,
}

impl<V: Serialize> Serialize for Chain<'_, V> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        let mut list =
            serializer.serialize_seq(Some(self.parts.iter().map(|part| part.len()).sum()))?;
        self.parts
            .iter()
            .copied()
            .flatten()
            .try_for_each(|value| list.serialize_element(value))?;
        list.end()
    }
}

/// Logs as one list of bytes.
struct JoinedLogs<'a>(Vec<&'a dyn Logs>);

impl Serialize for JoinedLogs<'_> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        let mut list =
            serializer.serialize_seq(Some(self.0.iter().map(|logs| logs.bytes()).sum()))?;
        for logs in &self.0 {
            let mut refused = None;
            let mut given = 0;
            let taken = logs.each(&mut |bytes| {
                given += bytes.len();
                bytes
                    .iter()
                    .try_for_each(|byte| list.serialize_element(byte))
                    .map_err(|error| {
                        refused = Some(error);
                        Stop
                    })
            });
            if let Some(error) = refused {
                return Err(error);
            }
            if taken.is_err() || given != logs.bytes() {
                return Err(Z::Error::custom("logs of another length than they say"));
            }
        }
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(first: u32, agents: u32) -> Snapshot<u64> {
        let range = first..first + agents;
        Snapshot {
            first,
            states: range.clone().map(|agent| 1 << (agent % 60)).collect(),
            logs: range
                .clone()
                .flat_map(|agent| vec![agent as u8; 8 * (agent % 3) as usize])
                .collect(),
            best: range
                .clone()
                .map(|agent| 1.0 / f64::from(agent + 1))
                .collect(),
            late: range
                .filter(|agent| agent % 5 == 0)
                .map(|agent| (agent, vec![7; agent as usize]))
                .collect(),
        }
    }

    /// The bytes are those of one snapshot of all agents, no matter which member holds which and in
    /// what order they come.
    #[test]
    fn parts_are_stored_as_one_snapshot_of_all() {
        let whole = snapshot(0, 20);
        let expected = postcard::to_allocvec(&whole).unwrap();
        assert_eq!(postcard::to_allocvec(&whole.lent()).unwrap(), expected);
        let parts = [snapshot(13, 7), snapshot(0, 4), snapshot(4, 9)];
        let lent = Snapshots::lent(parts.iter().map(Snapshot::lent));
        assert_eq!(postcard::to_allocvec(&lent).unwrap(), expected);
        let own = Snapshots::own(parts.to_vec());
        assert_eq!(postcard::to_allocvec(&own).unwrap(), expected);
        assert_eq!(
            postcard::from_bytes::<Snapshot<u64>>(&expected).unwrap(),
            whole
        );
        // Negative control: without one of the parts.
        assert_ne!(
            postcard::to_allocvec(&Snapshots::own(parts[..2].to_vec())).unwrap(),
            expected
        );
    }

    #[test]
    fn logs_that_say_a_wrong_length_are_refused() {
        struct Short;
        impl Logs for Short {
            fn bytes(&self) -> usize {
                3
            }
            fn each(&self, take: &mut dyn FnMut(&[u8]) -> Result<(), Stop>) -> Result<(), Stop> {
                take(&[1, 2])
            }
        }
        let lent = Lent::<u64> {
            first: 0,
            states: &[],
            logs: &Short,
            best: &[],
            late: &[],
        };
        assert!(postcard::to_allocvec(&lent).is_err());
    }
}
