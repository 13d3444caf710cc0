//! What an agent waits for, for the person who started it.

use std::fmt;
use std::time::Duration;

use sordino_core::federated::exchange::{Agreement, Have};
use tokio::time::Instant;

use crate::link::{Link, LinkError};
use crate::progress::spoken;
use crate::rounds::Asked;

/// What an agent waits for is told when it has waited this long.
pub(super) const TOLD_AFTER: Duration = Duration::from_secs(2);

/// What an agent waits for, or no longer does.
#[derive(Clone, Debug, PartialEq)]
pub enum Awaited {
    /// The server, which does not answer.
    Server {
        /// The pause before the next attempt; later ones grow to ten seconds, or to what the server
        /// says.
        next: Duration,
        /// Why it does not answer.
        error: String,
    },
    /// The first round: the server waits for agents, or for a time.
    Begin {
        /// Agents that have joined, where the server says so.
        joined: Option<u32>,
        /// Agents of the federation.
        agents: u32,
    },
    /// Nothing: it contributes nothing more, because of the ε that it accepts.
    Spent {
        /// The first round to which it contributes nothing.
        round: u32,
        /// Rounds to which it has contributed.
        given: u32,
        /// The ε that it accepts.
        epsilon_max: f64,
    },
    /// Nothing: the round was over when its contribution arrived.
    Late {
        /// The round that was over.
        round: u32,
    },
    /// Other agents, where a round may close early.
    Agents {
        /// The round that is open.
        round: u32,
        /// Agents that have joined, this one among them.
        joined: u32,
        /// Agents of the federation.
        agents: u32,
        /// The round closes after this time at the latest.
        closes: Duration,
    },
    /// The deadline of the round.
    Deadline {
        /// The round that is open.
        round: u32,
        /// The deadline comes after this time at the latest.
        closes: Duration,
    },
}
/// A length of time in words.
fn time(time: &Duration) -> String {
    spoken(time.as_millis() as u64)
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Awaited::Server { next, error } => {
                write!(
                    f,
                    "waiting for the server; next attempt in {}, then every 10 s: {error}",
                    time(next)
                )
            }
            Awaited::Begin {
                joined: Some(joined),
                agents,
            } => {
                write!(
                    f,
                    "waiting for the first round: {joined} of {agents} agents have joined"
                )
            }
            Awaited::Begin { joined: None, .. } => {
                write!(
                    f,
                    "waiting for the first round, which begins when enough agents have joined"
                )
            }
            Awaited::Spent {
                round,
                given,
                epsilon_max,
            } => write!(
                f,
                "ε = {epsilon_max} admits no further contribution after {given}: from round {round} on it contributes nothing, and \
                 goes on with what others share"
            ),
            Awaited::Late { round } => write!(
                f,
                "round {round} was over when its contribution arrived: unless it had arrived before, no release contains it; it is \
                 counted as sent all the same"
            ),
            Awaited::Agents {
                round,
                joined,
                agents,
                closes,
            } if joined < agents => write!(
                f,
                "waiting for other agents: {joined} of {agents} have joined; round {round} closes in {} at the latest",
                time(closes)
            ),
            Awaited::Agents { round, closes, .. } => {
                write!(
                    f,
                    "waiting for answers of other agents; round {round} closes in {} at the latest",
                    time(closes)
                )
            }
            Awaited::Deadline { round, closes } => {
                write!(
                    f,
                    "waiting for the deadline of round {round}, in {} at the latest",
                    time(closes)
                )
            }
        }
    }
}

impl Awaited {
    /// Whether it is the same wait: times and reasons may differ.
    fn is_as(&self, other: &Awaited) -> bool {
        match (self, other) {
            (Awaited::Server { .. }, Awaited::Server { .. }) => true,
            (Awaited::Begin { .. } | Awaited::Spent { .. } | Awaited::Late { .. }, _) => {
                self == other
            }
            (
                Awaited::Agents { round, joined, .. },
                Awaited::Agents {
                    round: before,
                    joined: were,
                    ..
                },
            ) => (round, joined) == (before, were),
            (Awaited::Deadline { round, .. }, Awaited::Deadline { round: before, .. }) => {
                round == before
            }
            _ => false,
        }
    }
}

/// Tells each wait once.
pub(super) struct Teller {
    tell: Box<dyn FnMut(Awaited) + Send>,
    told: Option<Awaited>,
    /// When the frame of the round was heard: the round was open by then.
    opened: Instant,
}

impl Teller {
    /// Nothing was told yet.
    pub(super) fn new(tell: Box<dyn FnMut(Awaited) + Send>) -> Self {
        Teller {
            tell,
            told: None,
            opened: Instant::now(),
        }
    }

    /// A frame was heard.
    pub(super) fn opened(&mut self) {
        self.opened = Instant::now();
    }

    /// In how much time a round of this length closes at the latest.
    fn closes(&self, deadline_ms: u64) -> Duration {
        Duration::from_millis(deadline_ms).saturating_sub(self.opened.elapsed())
    }

    /// Tells something that is not a wait.
    pub(super) fn say(&mut self, said: Awaited) {
        (self.tell)(said);
    }

    /// Tells what is awaited, unless it was told last.
    pub(super) fn tell(&mut self, awaited: Awaited) {
        if !self.told.as_ref().is_some_and(|told| told.is_as(&awaited)) {
            self.told = Some(awaited.clone());
            (self.tell)(awaited);
        }
    }

    /// Tells what is awaited while the server has nothing new: agents, where it says how many have
    /// joined, else the end of the round.
    pub(super) fn waits(&mut self, agreement: &Agreement, have: &Have, joined: Option<u32>) {
        let announced = agreement.announced;
        let agents = agreement.protocol.agents();
        // Before the first frame there is no round.
        let Some(round) = have.frames.checked_sub(1) else {
            return self.tell(Awaited::Begin {
                joined: joined.filter(|_| announced.may_close_early),
                agents,
            });
        };
        let closes = self.closes(announced.deadline_ms);
        self.tell(match joined.filter(|_| announced.may_close_early) {
            Some(joined) => Awaited::Agents {
                round,
                joined,
                agents,
                closes,
            },
            None => Awaited::Deadline { round, closes },
        });
    }

    /// The server has answered: if it is lost again, that is told again.
    pub(super) fn reached(&mut self) {
        if matches!(self.told, Some(Awaited::Server { .. })) {
            self.told = None;
        }
    }
}

/// Asks for the frame after those that the agent has, and tells what is awaited if there is no
/// answer soon.
///
/// **Errors**: [`LinkError`].
pub(super) async fn ask(
    link: &mut Link,
    have: &Have,
    teller: Option<&mut Teller>,
    agreement: &Agreement,
) -> Result<Asked, LinkError> {
    let joined = link.joined();
    let mut asking = std::pin::pin!(link.ask(have));
    match tokio::time::timeout(TOLD_AFTER, &mut asking).await {
        Ok(asked) => asked,
        Err(_elapsed) => {
            if let Some(teller) = teller {
                teller.waits(agreement, have, joined);
            }
            asking.await
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn each_wait_is_told_once_until_it_is_another() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let list = heard.clone();
        let mut teller = Teller::new(Box::new(move |awaited| {
            list.lock().unwrap().push(awaited.to_string())
        }));
        let closes = Duration::from_secs(600);
        let agents = |joined| Awaited::Agents {
            round: 0,
            joined,
            agents: 2,
            closes,
        };
        let lost = |seconds| Awaited::Server {
            next: Duration::from_secs(seconds),
            error: "no connection".into(),
        };
        let later = Awaited::Deadline {
            round: 1,
            closes: Duration::from_secs(90),
        };
        for awaited in [
            agents(1),
            agents(1),
            agents(2),
            lost(2),
            lost(4),
            agents(2),
            later.clone(),
            later,
        ] {
            teller.tell(awaited);
        }
        teller.tell(lost(2));
        teller.reached();
        teller.tell(lost(2));
        let lost = "waiting for the server; next attempt in 2 s, then every 10 s: no connection";
        let answers = "waiting for answers of other agents; round 0 closes in 10 min at the latest";
        assert_eq!(
            *heard.lock().unwrap(),
            [
                "waiting for other agents: 1 of 2 have joined; round 0 closes in 10 min at the latest",
                answers,
                lost,
                answers,
                "waiting for the deadline of round 1, in 90 s at the latest",
                lost,
                lost,
            ]
        );
    }
}
