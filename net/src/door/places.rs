//! How many connections a key has at one time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use sordino_host::signature::Fingerprint;
use tokio::sync::oneshot;

/// Connections of a key, the oldest first: its number, and what ends it.
type Connections = VecDeque<(u64, oneshot::Sender<()>)>;

/// The open connections of every key. A key that opens one more than it may have loses its oldest:
/// that is the one of which a device that lost its power does not know any more.
#[derive(Clone, Default)]
pub(super) struct Places(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    next: u64,
    of: BTreeMap<Fingerprint, Connections>,
}

/// The place of one connection, which is free again when this is dropped.
pub(super) struct Place {
    places: Places,
    key: Fingerprint,
    number: u64,
    ends: oneshot::Receiver<()>,
}

impl Places {
    /// A place for one more connection of a key that may have `most` of them, at least one.
    pub(super) fn take(&self, key: Fingerprint, most: u32) -> Place {
        let (end, ends) = oneshot::channel();
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = open.next;
        open.next += 1;
        let connections = open.of.entry(key).or_default();
        while connections.len() >= most.max(1) as usize {
            // Its end is heard where it is served; one that has ended hears nothing.
            connections.pop_front();
        }
        connections.push_back((number, end));
        Place {
            places: self.clone(),
            key,
            number,
            ends,
        }
    }
}

impl Place {
    /// Waits until the place is another connection's.
    pub(super) async fn lost(&mut self) {
        // The sender is dropped and says nothing.
        let _dropped = (&mut self.ends).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.places.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connections) = open.of.get_mut(&self.key) {
            connections.retain(|(number, _)| *number != self.number);
            if connections.is_empty() {
                open.of.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_connection_of_a_key_makes_place_and_none_of_another_key() {
        let (places, key) = (Places::default(), |byte: u8| Fingerprint::of(&[byte; 32]));
        let mut other = places.take(key(2), 2);
        let [mut first, mut second, mut third] = [0; 3].map(|_| places.take(key(1), 2));
        let is_lost =
            |place: &mut Place| place.ends.try_recv() == Err(oneshot::error::TryRecvError::Closed);
        assert_eq!(
            [&mut first, &mut second, &mut third, &mut other].map(is_lost),
            [true, false, false, false]
        );
        // One that lost its place takes none along.
        drop(first);
        let fourth = places.take(key(1), 2);
        assert_eq!([&mut second, &mut third].map(is_lost), [true, false]);
        drop((second, third, fourth, other));
        assert!(places.0.lock().unwrap().of.is_empty());
    }
}
