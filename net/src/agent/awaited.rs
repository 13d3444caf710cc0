//! What an agent waits for, for the person who started it.

use std::fmt;
use std::time::Duration;

use sordino_core::federated::exchange::{Agreement, Have};
use sordino_experiment::text::chain;
use tokio::time::Instant;

use crate::link::{Link, LinkError};
use crate::progress::{event, note, spoken};
use crate::rounds::Asked;

/// What an agent waits for is told when it has waited this long.
pub(super) const TOLD_AFTER: Duration = Duration::from_secs(2);

/// That another number of agents has joined is told no more often than this.
const JOINED_AGAIN: Duration = Duration::from_secs(5);

/// The first question to a server that did not answer waits no longer than this.
const BACK_SOON: Duration = Duration::from_secs(1);

/// What an agent waits for, or no longer does.
#[derive(Clone, Debug, PartialEq)]
pub enum Awaited {
    /// The server, which does not answer.
    Server {
        /// Where it should be.
        address: String,
        /// For how long it has not answered.
        silent: Duration,
        /// The pause before the next attempt; later ones grow to ten seconds, or to what the server
        /// asks for.
        next: Duration,
        /// Why it does not answer.
        error: String,
    },
    /// Nothing: the server answers again.
    Back {
        /// Where the server is.
        address: String,
        /// For how long it had not answered.
        silent: Duration,
    },
    /// Nothing: it has the last frame, and its server refuses to hear so.
    Left {
        /// Where the server is.
        address: String,
        /// What the server says.
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
    /// Nothing: the count of its data has no room for a contribution to this round.
    Uncounted {
        /// The round to which it contributes nothing.
        round: u32,
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
        /// The round closes within this time, unless it is held.
        closes: Duration,
    },
    /// The deadline of the round.
    Deadline {
        /// The round that is open.
        round: u32,
        /// The round closes within this time, unless it is held.
        closes: Duration,
    },
}
/// A round as people count them, from 1.
fn said(round: &u32) -> u32 {
    round + 1
}

/// A length of time in words.
fn time(time: &Duration) -> String {
    spoken(time.as_millis() as u64)
}

/// When a round closes, as far as an agent knows: it is not told how many answers a round needs.
fn within(closes: &Duration) -> String {
    match time(closes).as_str() {
        "0 s" => "whose time is over: it may be held for more answers".to_owned(),
        closes => format!("within {closes} unless it is held for more answers"),
    }
}

/// For how long a server has not answered.
fn away(silent: &Duration) -> String {
    match time(silent).as_str() {
        "0 s" => "does not answer".to_owned(),
        silent => format!("has not answered for {silent}"),
    }
}

/// When the next attempt is made.
fn soon(next: &Duration) -> String {
    match time(next).as_str() {
        "0 s" => "at once".to_owned(),
        next => format!("in {next}"),
    }
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Awaited::Server {
                address,
                silent,
                next,
                error,
            } => write!(
                f,
                "waiting for the server at {address}, which {}; next attempt {}, later ones every 10 s, or \
                 as the server asks: {error}",
                away(silent),
                soon(next)
            ),
            Awaited::Back { address, silent } => write!(
                f,
                "the server at {address} answers again, after {}",
                time(silent)
            ),
            Awaited::Left { address, error } => write!(
                f,
                "goes on without the server at {address}, which it needs no more: {error}"
            ),
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
                "ε = {epsilon_max} admits no further contribution after {given}: from round {} on it contributes nothing, and \
                 goes on with what others share",
                said(round)
            ),
            Awaited::Uncounted { round } => write!(
                f,
                "the count of its data holds fewer contributions than it agreed to: to round {} it contributes nothing. Started \
                 again, it agrees again",
                said(round)
            ),
            Awaited::Late { round } => write!(
                f,
                "round {} was over when its contribution arrived: unless it had arrived before, no release contains it; it is \
                 counted as sent all the same",
                said(round)
            ),
            Awaited::Agents {
                round,
                joined,
                agents,
                closes,
            } if joined < agents => write!(
                f,
                "waiting for other agents: {joined} of {agents} have joined; round {} closes {}",
                said(round),
                within(closes)
            ),
            Awaited::Agents { round, closes, .. } => {
                write!(
                    f,
                    "waiting for answers of other agents; round {} closes {}",
                    said(round),
                    within(closes)
                )
            }
            Awaited::Deadline { round, closes } => {
                write!(
                    f,
                    "waiting for the end of round {}, {}",
                    said(round),
                    within(closes)
                )
            }
        }
    }
}

impl Awaited {
    /// Tells it to the owner of this agent; as JSON a server that is lost or back is an event.
    pub(crate) fn tell(&self, agent: u32) {
        let text = format!("agent {agent}: {self}");
        let (name, address, silent, error) = match self {
            Awaited::Server {
                address,
                silent,
                error,
                ..
            } => ("server_lost", address, silent, Some(error)),
            Awaited::Back { address, silent } => ("server_back", address, silent, None),
            _ => return note(&text),
        };
        let fields = [
            ("agent", agent.into()),
            ("server", address.as_str().into()),
            ("silent_seconds", silent.as_secs_f64().into()),
            ("error", error.cloned().into()),
        ];
        event(name, &text, fields);
    }

    /// Whether it is the same wait: times and reasons may differ.
    fn is_as(&self, other: &Awaited) -> bool {
        match (self, other) {
            (
                Awaited::Begin { .. }
                | Awaited::Spent { .. }
                | Awaited::Uncounted { .. }
                | Awaited::Late { .. },
                _,
            ) => self == other,
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

    /// Whether it is the same wait, for another number of agents that have joined.
    fn is_as_but_joined(&self, other: &Awaited) -> bool {
        match (self, other) {
            (Awaited::Begin { .. }, Awaited::Begin { .. }) => true,
            (Awaited::Agents { round, .. }, Awaited::Agents { round: before, .. }) => {
                round == before
            }
            _ => false,
        }
    }
}

/// Tells each wait once.
pub(super) struct Teller {
    tell: Box<dyn FnMut(Awaited) + Send>,
    told: Option<(Awaited, Instant)>,
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

    /// Within how much time a round of this length closes, unless its server holds it. One in which
    /// nothing is measured may be shorter.
    fn closes(&self, deadline_ms: u64) -> Duration {
        Duration::from_millis(deadline_ms).saturating_sub(self.opened.elapsed())
    }

    /// Tells something that is not a wait.
    pub(super) fn say(&mut self, said: Awaited) {
        (self.tell)(said);
    }

    /// Tells what is awaited, unless it was told last. A server that says another number of agents
    /// at every question fills no log.
    pub(super) fn tell(&mut self, awaited: Awaited) {
        let is_told = self.told.as_ref().is_some_and(|(told, at)| {
            told.is_as(&awaited) || (told.is_as_but_joined(&awaited) && at.elapsed() < JOINED_AGAIN)
        });
        if !is_told {
            self.told = Some((awaited.clone(), Instant::now()));
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

    /// Tells that the server has not answered for some time.
    pub(super) fn lost(
        &mut self,
        address: &str,
        silent: Duration,
        next: Duration,
        error: &LinkError,
    ) {
        self.told = None;
        self.say(Awaited::Server {
            address: address.to_owned(),
            silent,
            next,
            error: chain(error),
        });
    }

    /// Tells that the server refuses an agent that needs it no more.
    pub(super) fn left(&mut self, address: &str, why: &(dyn std::error::Error + 'static)) {
        self.say(Awaited::Left {
            address: address.to_owned(),
            error: chain(why),
        });
    }

    /// Tells that the server answers again.
    pub(super) fn back(&mut self, address: &str, silent: Duration) {
        self.say(Awaited::Back {
            address: address.to_owned(),
            silent,
        });
    }
}

/// Asks for the frame after those that the agent has, and tells what is awaited if there is no
/// answer soon. If it was told that the server `is_lost`, the question does not wait for long.
///
/// **Errors**: [`LinkError`].
pub(super) async fn ask(
    link: &mut Link,
    have: &Have,
    teller: Option<&mut Teller>,
    agreement: &Agreement,
    is_lost: bool,
) -> Result<Asked, LinkError> {
    let joined = link.joined();
    // Who was told that the server is gone is told soon that it is back.
    let wait = if is_lost { BACK_SOON } else { Duration::MAX };
    let mut asking = std::pin::pin!(link.ask_for(have, wait));
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

    /// "has not answered for 0 s; next attempt in 0 s", and a round that was held closed "in 0 s at
    /// the latest".
    #[test]
    fn no_time_is_said_as_a_number_of_seconds() {
        let lost = Awaited::Server {
            address: "a:1".into(),
            silent: Duration::from_millis(3),
            next: Duration::from_millis(50),
            error: "refused".into(),
        };
        let held = Awaited::Deadline {
            round: 0,
            closes: Duration::ZERO,
        };
        assert_eq!(
            [lost, held].map(|awaited| awaited.to_string()),
            [
                "waiting for the server at a:1, which does not answer; next attempt at once, later ones every 10 s, or as the server \
                 asks: refused",
                "waiting for the end of round 1, whose time is over: it may be held for more answers",
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn each_wait_is_told_once_until_it_is_another() {
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
        let later = Awaited::Deadline {
            round: 1,
            closes: Duration::from_secs(90),
        };
        for awaited in [agents(1), agents(1)] {
            teller.tell(awaited);
        }
        // A server that says another number each time.
        for _ in 0..10 {
            teller.tell(agents(2));
            teller.tell(agents(1));
        }
        tokio::time::advance(JOINED_AGAIN).await;
        teller.tell(agents(2));
        teller.tell(agents(2));
        let address = "wards.example:8443";
        let seconds = Duration::from_secs;
        teller.lost(address, seconds(45), seconds(600), &LinkError::Silence);
        teller.back(address, seconds(50));
        for awaited in [agents(2), later.clone(), later] {
            teller.tell(awaited);
        }
        let lost = "waiting for the server at wards.example:8443, which has not answered for 45 s; next attempt in 10 min, \
                    later ones every 10 s, or as the server asks: no answer in time";
        let answers = "waiting for answers of other agents; round 1 closes within 10 min unless it is held for more answers";
        assert_eq!(
            *heard.lock().unwrap(),
            [
                "waiting for other agents: 1 of 2 have joined; round 1 closes within 10 min unless it is held for more answers",
                answers,
                lost,
                "the server at wards.example:8443 answers again, after 50 s",
                answers,
                "waiting for the end of round 2, within 90 s unless it is held for more answers",
            ]
        );
    }
}
