//! Methods whose agents are a [`Chooser`] of the simulator: votes, and methods of somebody's own.
//!
//! An agent makes the queries of an epoch, whose round it knows by the number of its observations,
//! and then has its message. What it missed it makes up for in the next epoch.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sordino_core::federated::exchange::{Agreement, Protocol};
use sordino_core::federated::{Frame, Member, Next};
use sordino_core::random::{Party as Address, Purpose, RunSeed, Stream};
use sordino_engine::federated::custom::shard::initial;
use sordino_engine::federated::custom::{Chooser, Ground, Sight};

use super::{Number, Party, PartyError, Standing};
use crate::terms::TermsError;

/// Why such an agent refuses something; it is then as before.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChosenError {
    /// A frame before the first or after the last.
    #[error("a frame that does not come after {taken} of {frames} frames")]
    Frame {
        /// Frames taken before.
        taken: u32,
        /// Frames of the whole federation.
        frames: u32,
    },
    /// Numbers that no release of these terms can be.
    #[error("{len} released numbers, {bad} of them not finite: no release of these terms has such")]
    Released {
        /// How many there are.
        len: usize,
        /// How many are not finite.
        bad: usize,
    },
    /// A value that is no number, or that was not asked for.
    #[error("the value {0} is not finite, or was not asked for")]
    Value(f64),
    /// It wants to measure something that is no candidate.
    #[error("round {round}: queries candidate {candidate}; admissible: below {count}")]
    Candidate {
        /// The round it is in.
        round: u32,
        /// What it asked for.
        candidate: u32,
        /// The number of candidates.
        count: u32,
    },
    /// It wants to send something that its server does not take.
    #[error(
        "round {round}: sends {len} numbers, {bad} of them not finite; admissible: {expected} finite numbers"
    )]
    Message {
        /// The round at whose end it is sent.
        round: u32,
        /// How many numbers there are.
        len: usize,
        /// How many are not finite.
        bad: usize,
        /// How many there must be.
        expected: usize,
    },
    /// Stored numbers that no agent of these terms has.
    #[error("stored numbers that no agent of these terms has: {what}")]
    State {
        /// Which of its numbers.
        what: &'static str,
    },
}

/// A method's agents by their choices, with what all of them know.
pub struct Chosen<T, V> {
    agreement: Agreement,
    ground: Ground,
    points: Vec<T>,
    pub(super) chooser: V,
}

/// An agent as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptChoices<T> {
    agent: u32,
    seed: RunSeed,
    observations: u32,
    /// Frames that it has taken.
    frames: u32,
    /// The candidate that is being measured.
    asked: Option<u32>,
    /// What the last frame made known, until the first round of its epoch is over.
    released: Option<Vec<T>>,
    /// Whether its server waits for a message in this epoch.
    gives: bool,
    /// That message, when the queries are made; empty before, and where there is none.
    message: Vec<T>,
    /// Whether all its queries are made; as it was after the last step.
    is_done: bool,
}

/// Refuses a stored state of which `what` does not hold.
fn judge(holds: bool, what: &'static str) -> Result<(), ChosenError> {
    if holds {
        Ok(())
    } else {
        Err(ChosenError::State { what })
    }
}

impl<T: Number, V: Chooser + 'static> Chosen<T, V> {
    /// The agents of an agreement over the candidates of this ground. Nobody but this crate makes
    /// any, so that nobody's own choices reach a real door.
    pub(crate) fn of(agreement: Agreement, ground: Ground, chooser: V) -> Arc<Self> {
        let points = ground.candidates.iter().map(|x| T::from_f64(*x)).collect();
        Arc::new(Chosen {
            agreement,
            ground,
            points,
            chooser,
        })
    }

    /// The round of an agent's next query.
    fn round(&self, observations: u32) -> u32 {
        observations
            .checked_sub(self.ground.initial_points)
            .map_or(0, |after| after + 1)
    }

    /// The rounds of the epoch whose frame was taken last; nothing before the first.
    fn epoch(&self, frames: u32) -> Option<(u32, u32)> {
        let epoch = frames.checked_sub(1)?;
        let protocol = &self.agreement.protocol;
        Some((
            epoch
                .checked_sub(1)
                .map_or(0, |before| protocol.last_round(before) + 1),
            protocol.last_round(epoch),
        ))
    }

    /// Whether a release may be these numbers.
    fn admits(&self, numbers: &[T]) -> Result<(), ChosenError> {
        let protocol = &self.agreement.protocol;
        let len = numbers.len();
        let bad = numbers.iter().filter(|x| !x.to_f64().is_finite()).count();
        let fits = match protocol {
            Protocol::Own(_) => len <= protocol.released_len(),
            _ => len == protocol.released_len(),
        };
        if fits && bad == 0 {
            Ok(())
        } else {
            Err(ChosenError::Released { len, bad })
        }
    }

    /// Refuses a state that no agent of these terms can have.
    fn check(&self, state: &KeptChoices<T>, log: &[T]) -> Result<(), ChosenError> {
        let count = self.ground.count();
        judge(state.agent < self.ground.agents, "the agent")?;
        judge(
            state.frames <= self.agreement.protocol.epochs() + 1,
            "the frames",
        )?;
        judge(
            state.asked.is_none_or(|asked| asked < count),
            "the candidate that is measured",
        )?;
        let entries = log.chunks_exact(2).take(state.observations as usize);
        judge(
            entries.len() == state.observations as usize,
            "the observations",
        )?;
        judge(
            log.chunks_exact(2)
                .take(state.observations as usize)
                .all(|entry| {
                    entry[0].to_u32() < count
                        && entry[0] == T::from_u32(entry[0].to_u32())
                        && entry[1].to_f64().is_finite()
                }),
            "the log",
        )?;
        let len = state.message.len();
        judge(
            len == 0 || len == self.agreement.protocol.upload_len(),
            "the message",
        )?;
        state
            .released
            .as_deref()
            .map_or(Ok(()), |released| self.admits(released))
    }
}

impl<T: Number, V: Chooser + 'static> Party<T> for Chosen<T, V> {
    type State = KeptChoices<T>;
    type Refusal = ChosenError;
    type Member<'m> = Choosing<'m, T, V>;

    fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    fn points(&self) -> &[T] {
        &self.points
    }

    fn fresh(&self, agent: u32, seed: RunSeed) -> KeptChoices<T> {
        let asked = None;
        let released = None;
        let message = Vec::new();
        KeptChoices {
            agent,
            seed,
            observations: 0,
            frames: 0,
            asked,
            released,
            gives: false,
            message,
            is_done: false,
        }
    }

    fn standing(state: &KeptChoices<T>) -> Standing {
        Standing {
            agent: state.agent,
            observations: state.observations,
            is_done: state.is_done,
        }
    }

    fn lengths(&self) -> Result<[usize; 2], TermsError> {
        Ok([
            2 * (self.ground.initial_points as usize + self.ground.rounds as usize),
            0,
        ])
    }

    fn with<R>(
        &self,
        state: &mut KeptChoices<T>,
        [log, _]: [&mut [T]; 2],
        act: impl FnOnce(&mut Choosing<'_, T, V>) -> Result<R, ChosenError>,
    ) -> Result<R, PartyError> {
        self.check(state, log)?;
        let done = act(&mut Choosing {
            party: self,
            state: &mut *state,
            log,
        })?;
        let all = state.frames > self.agreement.protocol.epochs();
        state.is_done = all && self.round(state.observations) > self.ground.rounds;
        Ok(done)
    }

    /// Such an agent keeps what it measures, and subtracts c₀ where it computes.
    fn measured(&self, logged: T) -> f64 {
        logged.to_f64()
    }
}

/// An agent at work: what all know, its state and its log, all borrowed.
pub struct Choosing<'m, T, V> {
    party: &'m Chosen<T, V>,
    state: &'m mut KeptChoices<T>,
    log: &'m mut [T],
}

impl<T: Number, V: Chooser + 'static> Choosing<'_, T, V> {
    /// What it has observed: candidates and values.
    fn observed_so_far(&self) -> Vec<(u32, f64)> {
        let entries = self
            .log
            .chunks_exact(2)
            .take(self.state.observations as usize);
        entries
            .map(|entry| (entry[0].to_u32(), entry[1].to_f64()))
            .collect()
    }

    /// Its own coins of a round.
    fn coins(&self, round: u32) -> Stream {
        self.state.seed.stream(
            Address::Agent(self.state.agent),
            Purpose::RandomPolicy,
            round,
        )
    }

    /// What it was told for a round: a release is told for the first round of its epoch.
    fn told(&self, round: u32) -> Option<Vec<f64>> {
        let first = self.party.epoch(self.state.frames).map(|(first, _)| first);
        let released = self
            .state
            .released
            .as_deref()
            .filter(|_| first == Some(round))?;
        Some(released.iter().map(|x| x.to_f64()).collect())
    }

    /// Whether a query of this epoch is still to be made.
    fn is_due(&self, observations: u32) -> bool {
        let last = self.party.epoch(self.state.frames).map(|(_, last)| last);
        last.is_some_and(|last| self.party.round(observations) <= last)
    }

    /// What it measures next.
    fn choose(&self) -> Result<u32, ChosenError> {
        let ground = &self.party.ground;
        let log = self.observed_so_far();
        let round = self.party.round(self.state.observations);
        let broadcast = self.told(round);
        let sight = Sight {
            ground,
            agent: self.state.agent,
            round,
            log: &log,
            broadcast: broadcast.as_deref(),
        };
        if round == 0 {
            return Ok(initial(self.state.seed, &sight));
        }
        let candidate = self.party.chooser.next(&sight, &mut self.coins(round));
        let count = ground.count();
        if candidate < count {
            Ok(candidate)
        } else {
            Err(ChosenError::Candidate {
                round,
                candidate,
                count,
            })
        }
    }

    /// What it sends when these are its observations, the last ones of an epoch. The coins of the
    /// round go on behind those of its query.
    fn message(&self, log: &[(u32, f64)]) -> Result<Vec<T>, ChosenError> {
        let party = self.party;
        let expected = self.party.agreement.protocol.upload_len();
        if !self.state.gives || expected == 0 {
            return Ok(Vec::new());
        }
        let ground = &party.ground;
        let agent = self.state.agent;
        let round = party.round((log.len() as u32).saturating_sub(1));
        let broadcast = self.told(round);
        let mut coins = self.coins(round);
        let sight = Sight {
            ground,
            agent,
            round,
            log,
            broadcast: broadcast.as_deref(),
        };
        if let Some(before) = log.len().checked_sub(1).filter(|_| round > 0) {
            let _chosen_before = party.chooser.next(
                &Sight {
                    log: &log[..before],
                    ..sight
                },
                &mut coins,
            );
        }
        let message: Vec<T> = party
            .chooser
            .message(&sight, &mut coins)
            .into_iter()
            .map(T::from_f64)
            .collect();
        let len = message.len();
        let bad = message.iter().filter(|x| !x.to_f64().is_finite()).count();
        let admissible = len == expected && bad == 0;
        if admissible {
            Ok(message)
        } else {
            Err(ChosenError::Message {
                round,
                len,
                bad,
                expected,
            })
        }
    }
}

impl<T: Number, V: Chooser + 'static> Member<T> for Choosing<'_, T, V> {
    type Error = ChosenError;

    fn enter(&mut self, frame: Frame<'_, T>) -> Result<(), ChosenError> {
        let taken = self.state.frames;
        let epochs = self.party.agreement.protocol.epochs();
        if taken > epochs || (taken == 0) != (frame == Frame::Start) {
            return Err(ChosenError::Frame {
                taken,
                frames: epochs + 1,
            });
        }
        frame
            .numbers()
            .map_or(Ok(()), |numbers| self.party.admits(numbers))?;
        self.state.released = frame.numbers().map(<[T]>::to_vec);
        self.state.gives = taken < epochs && !matches!(frame, Frame::Missed(_));
        (self.state.frames, self.state.message) = (taken + 1, Vec::new());
        Ok(())
    }

    fn next(&mut self) -> Result<Next<'_, T>, ChosenError> {
        let number = self.state.observations;
        if !self.is_due(number) {
            return Ok(Next::Give(&self.state.message));
        }
        let candidate = match self.state.asked {
            Some(asked) => asked,
            None => self.choose()?,
        };
        self.state.asked = Some(candidate);
        Ok(Next::Query { candidate, number })
    }

    fn observed(&mut self, value: T) -> Result<(), ChosenError> {
        let refused = ChosenError::Value(value.to_f64());
        let candidate = self
            .state
            .asked
            .filter(|_| value.to_f64().is_finite())
            .ok_or(refused.clone())?;
        let place = 2 * self.state.observations as usize;
        let made = self.state.observations + 1;
        let mut log = self.observed_so_far();
        log.push((candidate, value.to_f64()));
        let message = if self.is_due(made) {
            Vec::new()
        } else {
            self.message(&log)?
        };
        let entry = self.log.get_mut(place..place + 2).ok_or(refused)?;
        entry.copy_from_slice(&[T::from_u32(candidate), value]);
        (
            self.state.observations,
            self.state.asked,
            self.state.message,
        ) = (made, None, message);
        // Told once, for the first round.
        if self
            .party
            .epoch(self.state.frames)
            .is_some_and(|(first, _)| self.party.round(made) > first)
        {
            self.state.released = None;
        }
        Ok(())
    }
}
