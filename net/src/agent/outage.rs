//! A server that cannot be reached: since when, when its agent's owner is told of it, and when the
//! agent gives up.
//!
//! It is told at first, after a minute, and then whenever it has lasted twice as long, at least once
//! a day.

use std::time::Duration;

use tokio::time::Instant;

use crate::progress::spoken;

/// After how long an outage is told a second time.
const TOLD_AGAIN: Duration = Duration::from_secs(60);
/// The longest time in which nothing is said of an outage that lasts.
const SILENT_MAX: Duration = Duration::from_secs(86_400);

/// What is known of a server that does not answer.
#[derive(Debug)]
pub(crate) struct Outage {
    /// It is told first when the next attempt is this far away.
    told_at: Duration,
    since: Option<Instant>,
    told: bool,
    /// How long it has lasted when it is told next.
    due: Duration,
}

/// The server has been away for longer than its agent's owner waits for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the server at {address} has not answered for {}, as long as --give-up-after says: {error}; nothing is lost, the same command goes on",
    spoken(.silent.as_millis() as u64)
)]
pub struct GaveUp {
    /// Where the server should be.
    pub address: String,
    /// How long it did not answer.
    pub silent: Duration,
    /// Why it did not.
    pub error: String,
}

impl Outage {
    /// The server has answered so far; a failure is told when the next attempt is this far away.
    pub(crate) fn told_at(told_at: Duration) -> Self {
        Outage {
            told_at,
            since: None,
            told: false,
            due: Duration::ZERO,
        }
    }

    /// An attempt failed, and the next one comes after this pause: for how long none succeeded, if
    /// that is to be told now.
    pub(crate) fn failed(&mut self, next: Duration) -> Option<Duration> {
        let silent = self.since.get_or_insert_with(Instant::now).elapsed();
        self.is_due(silent, next).then_some(silent)
    }

    fn is_due(&mut self, silent: Duration, next: Duration) -> bool {
        if (!self.told && next < self.told_at) || silent < self.due {
            return false;
        }
        self.told = true;
        self.due = (silent + silent.min(SILENT_MAX)).max(TOLD_AGAIN);
        true
    }

    /// Whether it was told, and the server has not answered since.
    pub(crate) fn is_told(&self) -> bool {
        self.told
    }

    /// For how long nothing was heard, if that is at least as long as an owner waits.
    pub(crate) fn lasts(&self, give_up: Option<Duration>) -> Option<Duration> {
        let silent = self.since?.elapsed();
        (silent >= give_up?).then_some(silent)
    }

    /// The server has answered: for how long it had not, if that was told.
    pub(crate) fn ended(&mut self) -> Option<Duration> {
        let told_at = self.told_at;
        let Outage { since, told, .. } = std::mem::replace(self, Outage::told_at(told_at));
        since.filter(|_| told).map(|since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For how long the server was away each time that it was told, of attempts every ten seconds.
    fn told(told_at: u64, seconds: u64) -> Vec<u64> {
        let mut outage = Outage::told_at(Duration::from_secs(told_at));
        let pauses = [1, 2, 4, 8].into_iter().chain(std::iter::repeat(10));
        let mut now = 0;
        let mut told = Vec::new();
        for pause in pauses {
            if now > seconds {
                return told;
            }
            if outage.is_due(Duration::from_secs(now), Duration::from_secs(pause)) {
                told.push(now);
            }
            now += pause;
        }
        told
    }

    #[test]
    fn an_outage_is_told_at_growing_intervals_and_not_at_every_attempt() {
        assert_eq!(told(2, 600), [1, 65, 135, 275, 555]);
        assert_eq!(told(0, 100), [0, 65]);
        // Never more than a day of silence.
        let long = told(2, 10 * 86_400);
        let gaps: Vec<u64> = long.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| *gap <= 86_400 + 10), "{gaps:?}");
        assert!(long.len() < 25, "{long:?}");
    }

    #[test]
    fn what_was_told_is_taken_back_and_an_owner_s_patience_ends() {
        let mut outage = Outage::told_at(Duration::from_secs(2));
        assert_eq!(outage.lasts(Some(Duration::ZERO)), None, "it has answered");
        assert_eq!(outage.failed(Duration::from_secs(1)), None);
        assert_eq!(outage.ended(), None, "nobody was told");
        assert!(outage.failed(Duration::from_secs(2)).is_some());
        assert_eq!(outage.lasts(None), None, "nobody set an end");
        assert!(outage.lasts(Some(Duration::ZERO)).is_some());
        assert_eq!(outage.lasts(Some(Duration::from_secs(3600))), None);
        assert!(outage.ended().is_some());
        assert_eq!(outage.ended(), None, "once");
    }
}
