//! A server that cannot be reached: since when, and when its agent's owner is told of it.
//!
//! It is told at first, after a minute, and then whenever it has lasted twice as long, at least
//! once a day. An outage that follows another one soon is told after a pause, which is a minute at
//! first, twice as long each time, and an hour at most: a server that comes and goes fills no log.

use std::time::Duration;

use tokio::time::Instant;

/// After how long an outage is told a second time.
const TOLD_AGAIN: Duration = Duration::from_secs(60);
/// The longest time in which nothing is said of an outage that lasts.
const SILENT_MAX: Duration = Duration::from_secs(86_400);
/// The longest time in which no further outage of a server that comes and goes is told.
const QUIET_MAX: Duration = Duration::from_secs(3600);

/// What is known of a server that does not answer.
#[derive(Debug)]
pub(crate) struct Outage {
    /// It is told first when the next attempt is this far away.
    told_at: Duration,
    since: Option<Instant>,
    told: bool,
    /// How long it has lasted when it is told next.
    due: Duration,
    /// When an outage was last told for the first time, and how long none is from then on.
    quiet: Option<(Instant, Duration)>,
}

impl Outage {
    /// The server has answered so far; a failure is told when the next attempt is this far away.
    pub(crate) fn told_at(told_at: Duration) -> Self {
        Outage {
            told_at,
            since: None,
            told: false,
            due: Duration::ZERO,
            quiet: None,
        }
    }

    /// An attempt failed whose answer was due at `due`, and the next one comes after this pause:
    /// for how long there was no answer, if that is to be told now.
    pub(crate) fn failed(&mut self, due: Instant, next: Duration) -> Option<Duration> {
        let silent = self.since.get_or_insert(due).elapsed();
        self.is_due(silent, next).then_some(silent)
    }

    fn is_due(&mut self, silent: Duration, next: Duration) -> bool {
        if (!self.told && next < self.told_at) || silent < self.due {
            return false;
        }
        if !self.told && self.is_quiet() {
            return false;
        }
        self.told = true;
        self.due = (silent + silent.min(SILENT_MAX)).max(TOLD_AGAIN);
        true
    }

    /// Whether the last outage was told so recently that another one is not told yet. If not, how
    /// long the next ones are not is settled.
    fn is_quiet(&mut self) -> bool {
        let pause = match self.quiet {
            Some((at, pause)) if at.elapsed() < pause => return true,
            Some((at, pause)) if at.elapsed() < 2 * pause => (2 * pause).min(QUIET_MAX),
            _ => TOLD_AGAIN,
        };
        self.quiet = Some((Instant::now(), pause));
        false
    }

    /// Whether it was told, and the server has not answered since.
    pub(crate) fn is_told(&self) -> bool {
        self.told
    }

    /// For how long the server has not answered; nothing if it has.
    pub(crate) fn silent(&self) -> Option<Duration> {
        self.since.map(|since| since.elapsed())
    }

    /// The server has answered: for how long it had not, if that was told.
    pub(crate) fn ended(&mut self) -> Option<Duration> {
        self.due = Duration::ZERO;
        let since = self.since.take();
        let told = std::mem::take(&mut self.told);
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

    #[tokio::test(start_paused = true)]
    async fn what_was_told_is_taken_back() {
        let mut outage = Outage::told_at(Duration::from_secs(2));
        assert_eq!(outage.silent(), None, "it has answered");
        assert_eq!(outage.failed(Instant::now(), Duration::from_secs(1)), None);
        assert_eq!(outage.ended(), None, "nobody was told");
        // The attempt took its time, and the server was silent for all of it.
        let due = Instant::now();
        tokio::time::advance(Duration::from_secs(45)).await;
        let silent = Some(Duration::from_secs(45));
        assert_eq!(outage.failed(due, Duration::from_secs(2)), silent);
        assert_eq!(outage.silent(), silent);
        assert_eq!(outage.ended(), silent);
        assert_eq!(outage.ended(), None, "once");
    }

    /// Two lines each time that a server went away: one that comes and goes every ten seconds
    /// filled a log.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_comes_and_goes_is_told_of_less_and_less() {
        let mut outage = Outage::told_at(Duration::ZERO);
        let start = Instant::now();
        let mut told = Vec::new();
        for _ in 0..2000 {
            let silent = outage.failed(Instant::now(), Duration::from_secs(1));
            told.extend(silent.map(|_| start.elapsed().as_secs()));
            tokio::time::advance(Duration::from_secs(10)).await;
            assert_eq!(outage.ended().is_some(), silent.is_some());
        }
        assert_eq!(
            told,
            [0, 60, 180, 420, 900, 1860, 3780, 7380, 10980, 14580, 18180]
        );
        // After a long time of peace it begins again.
        tokio::time::advance(2 * QUIET_MAX).await;
        assert!(outage.failed(Instant::now(), Duration::ZERO).is_some());
        outage.ended();
        tokio::time::advance(TOLD_AGAIN).await;
        assert!(outage.failed(Instant::now(), Duration::ZERO).is_some());
    }
}
