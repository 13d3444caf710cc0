//! Attempts to reach a server: how long to wait before the next one, and when there is to be none.
//!
//! This one place decides it, for an agent that joins and for one that takes part.
//!
//! | who | waits | ends |
//! |---|---|---|
//! | an agent | 20 or 50 ms, twice as long each time, ten seconds at most; longer if the server says so | when its owner's patience (`--give-up-after`) is over |
//! | an agent that is over: it needs its server no more | the same, whatever the server says | after five seconds, or when the server refuses it, and that is no failure |
//!
//! The owner's patience is the time since an answer was due. A server that says "not now" (408,
//! 429, 500 and more) has not answered. It cannot put the end of the patience off: the agent tries
//! once more when its owner's time is over, and then gives up.

use std::time::Duration;

use sordino_experiment::text::chain;
use tokio::time::Instant;

use super::outage::Outage;
use crate::link::LinkError;
use crate::progress::spoken;

/// The longest pause between two attempts, unless the server asks for more.
pub(crate) const PAUSE_MAX: Duration = Duration::from_secs(10);
/// For how long an agent that is over tries to tell its server so.
const LAST_WORD: Duration = Duration::from_secs(5);

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

/// What follows an attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Another one, after this pause.
    Again(Duration),
    /// None: the agent needs its server no more.
    Leave,
    /// None: the owner waits no longer than this.
    GiveUp(Duration),
}

/// Attempts to reach one server.
#[derive(Debug)]
pub(crate) struct Attempts {
    first: Duration,
    pause: Duration,
    give_up: Option<Duration>,
    /// Since when the agent has tried although it is over.
    over: Option<Instant>,
    outage: Outage,
}

impl Attempts {
    /// Before the first one. The pause after it is `first`; an outage is told when the next attempt
    /// is at least `told_at` away; nobody gives up if `give_up` is none.
    pub(crate) fn new(first: Duration, told_at: Duration, give_up: Option<Duration>) -> Self {
        Attempts {
            first,
            pause: first,
            give_up,
            over: None,
            outage: Outage::told_at(told_at),
        }
    }

    /// An attempt. That of an agent that is over takes no longer than is left of its last word.
    ///
    /// **Errors**: those of the request; [`LinkError::Silence`].
    pub(crate) async fn attempt<R>(
        &mut self,
        is_over: bool,
        request: impl Future<Output = Result<R, LinkError>>,
    ) -> Result<R, LinkError> {
        if !is_over {
            return request.await;
        }
        let until = *self.over.get_or_insert_with(Instant::now) + LAST_WORD;
        tokio::time::timeout_at(until, request)
            .await
            .unwrap_or(Err(LinkError::Silence))
    }

    /// The attempt failed; its answer was due at `due`. What follows, and for how long the server
    /// has not answered, if that is to be told.
    pub(crate) fn failed(&mut self, error: &LinkError, due: Instant) -> (Then, Option<Duration>) {
        if let Some(over) = self.over {
            if error.is_refusal() {
                return (Then::Leave, None);
            }
            let left = LAST_WORD.saturating_sub(over.elapsed());
            let pause = self.longer().min(left);
            return if left.is_zero() {
                (Then::Leave, None)
            } else {
                (Then::Again(pause), self.outage.failed(due, pause))
            };
        }
        let mut pause = error.pause(self.longer());
        let told = self.outage.failed(due, pause);
        if let (Some(give_up), Some(silent)) = (self.give_up, self.outage.silent()) {
            if silent >= give_up {
                return (Then::GiveUp(silent), told);
            }
            pause = pause.min(give_up - silent);
        }
        (Then::Again(pause), told)
    }

    /// The pause after this attempt; the one after the next is longer.
    fn longer(&mut self) -> Duration {
        let longer = (2 * self.pause).min(PAUSE_MAX);
        std::mem::replace(&mut self.pause, longer)
    }

    /// The server has answered: for how long it had not, if that was told.
    pub(crate) fn reached(&mut self) -> Option<Duration> {
        self.pause = self.first;
        self.over = None;
        self.outage.ended()
    }

    /// Whether the last attempt was that of an agent that is over.
    pub(crate) fn is_last_word(&self) -> bool {
        self.over.is_some()
    }

    /// Whether an outage was told that lasts.
    pub(crate) fn is_told(&self) -> bool {
        self.outage.is_told()
    }
}

/// Why an agent gave up.
pub(crate) fn gave_up(address: &str, silent: Duration, error: &LinkError) -> GaveUp {
    GaveUp {
        address: address.to_owned(),
        silent,
        error: chain(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(20);

    fn attempts(give_up: Option<u64>) -> Attempts {
        Attempts::new(FIRST, PAUSE_MAX, give_up.map(Duration::from_secs))
    }

    /// An hour, as long as a server may ask for.
    const AN_HOUR: LinkError = LinkError::Busy {
        status: 503,
        after_ms: 3_600_000,
    };

    /// Attempts that take this long each: how they end, and when.
    async fn ends(
        attempts: &mut Attempts,
        error: &LinkError,
        takes: u64,
        is_over: bool,
    ) -> (Then, u64) {
        let start = Instant::now();
        loop {
            let due = Instant::now();
            let silent = async {
                tokio::time::sleep(Duration::from_secs(takes)).await;
                Err::<(), _>(LinkError::Silence)
            };
            assert!(attempts.attempt(is_over, silent).await.is_err());
            match attempts.failed(error, due).0 {
                Then::Again(pause) => tokio::time::sleep(pause).await,
                Then::GiveUp(silent) => {
                    // Timers have milliseconds.
                    let silent = Duration::from_secs(silent.as_secs());
                    return (Then::GiveUp(silent), start.elapsed().as_secs());
                }
                Then::Leave => return (Then::Leave, start.elapsed().as_secs()),
            }
        }
    }

    /// Each attempt took twenty seconds if packets were swallowed, so that the end was 160 seconds
    /// away, and an owner's patience was over before: an agent that was over failed at every start.
    #[tokio::test(start_paused = true)]
    async fn an_agent_that_is_over_leaves_after_five_seconds_whatever_the_server_does() {
        for give_up in [None, Some(1), Some(3)] {
            for (error, takes) in [
                (LinkError::Silence, 20),
                (LinkError::Silence, 0),
                (AN_HOUR, 0),
            ] {
                let ended = ends(&mut attempts(give_up), &error, takes, true).await;
                assert_eq!(ended, (Then::Leave, 5), "{give_up:?} {error}");
            }
        }
        for status in [403, 404] {
            let reason = String::new();
            let refused = LinkError::Status { status, reason };
            let ended = ends(&mut attempts(None), &refused, 0, true).await;
            assert_eq!(ended, (Then::Leave, 0), "trying again changes nothing");
        }
        // Negative control: one that is not over.
        let ended = ends(&mut attempts(Some(3)), &LinkError::Silence, 20, false).await;
        assert_eq!(ended, (Then::GiveUp(Duration::from_secs(20)), 20));
    }

    /// An hour was slept before anybody looked at `--give-up-after`.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_says_later_does_not_put_the_end_of_patience_off() {
        let ended = ends(&mut attempts(Some(60)), &AN_HOUR, 0, false).await;
        assert_eq!(ended, (Then::GiveUp(Duration::from_secs(60)), 60));
        // Nobody set an end: the server is left alone for as long as it asks.
        let mut patient = attempts(None);
        let (then, _) = patient.failed(&AN_HOUR, Instant::now());
        assert_eq!(then, Then::Again(Duration::from_secs(3600)));
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_until_the_server_answers() {
        let mut attempts = attempts(None);
        let mut pauses = || {
            let pause = |_| match attempts.failed(&LinkError::Silence, Instant::now()).0 {
                Then::Again(pause) => pause.as_millis() as u64,
                _ => 0,
            };
            let pauses: Vec<u64> = (0..11).map(pause).collect();
            attempts.reached();
            pauses
        };
        let grown = [20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10_000, 10_000];
        assert_eq!(pauses(), grown);
        assert_eq!(pauses(), grown);
    }
}
