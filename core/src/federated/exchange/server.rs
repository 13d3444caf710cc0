//! The server's side: whose answer is lacking, what to say to whom, when a round ends.

use super::agreement::{Agreement, header};
use super::{Have, Millis, after};
use crate::digest::Digest;
use crate::math::Scalar;
use crate::wire::{Header, Kind, WireError, decode, encode, prefix};

/// How agents are told to come back.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The longest that an agent is sent away for, ≥ 1 ms.
    pub ask_again_ms: u64,
    /// Over how long agents are spread behind an announcement.
    pub spread_ms: u64,
}

/// The time of a round, announced before it begins.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Time at which the round begins.
    pub opened: Millis,
    /// When it ends, even if some agents have not answered.
    pub deadline: Millis,
    /// Whether it ends before, when all have answered. **That nobody was absent is then visible.**
    pub may_close_early: bool,
}

/// What to say to "what comes after what I have?"
///
/// **Example**: that of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The frame of this round: the next one, or the current one again because the agent's answer
    /// is missing.
    Frame {
        /// Round of the frame.
        round: u32,
    },
    /// Nothing new; come back after this time.
    Later {
        /// Time to wait, in milliseconds.
        after_ms: u64,
    },
    /// Not an enrolled agent.
    NotYou,
    /// What the agent has is not what this server sent.
    Fork {
        /// Frames up to which they were compared.
        frames: u32,
    },
    /// The agent has more than this server has made. If the server can see that it sealed it, its
    /// disk is older than its last release, and **it must stop**.
    Ahead {
        /// Frames that the agent has.
        frames: u32,
    },
}

/// What to say to "here is mine".
///
/// **Example**: that of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It is taken; said for every vector alike.
    Taken,
    /// It was taken before.
    Already,
    /// The round, or this attempt at it, is over: ask what comes next.
    Over,
    /// Another sender than the frame says, or none that is enrolled.
    NotYou,
    /// Not now; come back after this time.
    Later {
        /// Time to wait, in milliseconds.
        after_ms: u64,
    },
}

/// When something is due.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// The deadline has passed.
    Close,
    /// All have answered, and the terms admit to end early.
    CloseEarly,
    /// Nothing is due before this moment.
    At(Millis),
}

const ANSWERED: u8 = 1;

/// Who has answered the round that is open. `F` holds one byte for each agent, N in all.
///
/// The history is the caller's: digests after 0, 1, … frames.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Debug)]
pub struct ServerExchange<F> {
    deployment: u64,
    agreement: Digest,
    pace: Pace,
    round: u32,
    attempt: u16,
    chain: Digest,
    period: Period,
    is_open: bool,
    answered: u32,
    flags: F,
}

impl<F: AsRef<[u8]> + AsMut<[u8]>> ServerExchange<F> {
    /// The exchange of a server that has not begun a round yet.
    pub fn new(agreement: &Agreement, pace: Pace, mut flags: F) -> Self {
        flags.as_mut().fill(0);
        let digest = agreement.digest();
        let never = Millis(u64::MAX);
        ServerExchange {
            deployment: agreement.deployment,
            agreement: digest,
            pace,
            round: 0,
            attempt: 0,
            chain: digest,
            period: Period {
                opened: never,
                deadline: never,
                may_close_early: false,
            },
            is_open: false,
            answered: 0,
            flags,
        }
    }

    /// Begins a round, for the first time or, after a restart, again: nobody has answered. `chain`
    /// is the digest after the frame of this round.
    pub fn begin(&mut self, round: u32, attempt: u16, chain: Digest, period: Period) {
        self.flags.as_mut().fill(0);
        (self.round, self.attempt, self.chain, self.period) = (round, attempt, chain, period);
        (self.answered, self.is_open) = (0, true);
    }

    /// The round that is open ends at this later moment; answers that were taken stay. For a round
    /// that too few agents have answered to be released.
    pub fn postpone(&mut self, deadline: Millis) {
        self.period.deadline = self.period.deadline.max(deadline);
    }

    /// No further answers to this round.
    pub fn close(&mut self) {
        self.is_open = false;
    }

    /// Writes the frame that announces a round: what was broadcast after the round before, nothing
    /// if there was no broadcast. `before` is the digest after the frames of all rounds before.
    /// Nothing begins by it.
    ///
    /// **Returns** the length of the frame and the digest after it, c_{t+1} of
    /// [`after`](super::after): the `chain` of [`ServerExchange::begin`].
    ///
    /// **Errors**: [`WireError::Buffer`] below [`frame_len_max`](crate::wire::frame_len_max) bytes,
    /// and [`WireError::TooLong`].
    pub fn frame<T: Scalar>(
        &self,
        round: u32,
        attempt: u16,
        before: &Digest,
        broadcast: Option<&[T]>,
        out: &mut [u8],
    ) -> Result<(usize, Digest), WireError> {
        let kind = if broadcast.is_some() {
            Kind::Broadcast
        } else {
            Kind::NoBroadcast
        };
        let numbers = broadcast.unwrap_or_default();
        let bare = Header {
            attempt,
            ..header(self.deployment, &self.agreement, kind, 0, round)
        };
        // What is hashed is what is sent: a first writing, whose chain is not hashed, gives the
        // bytes.
        let used = encode(bare, numbers, out)?;
        let (first, payload) = decode(out.get(..used).unwrap_or_default(), u32::MAX)?;
        let chain = after(before, &first, &payload);
        Ok((
            encode(
                Header {
                    chain: prefix(&chain),
                    ..bare
                },
                numbers,
                out,
            )?,
            chain,
        ))
    }

    /// The round that is open or was last.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// Agents that have answered: public, unlike anything else that is counted.
    pub fn answered(&self) -> u32 {
        self.answered
    }

    /// Number of agents N.
    pub fn agents(&self) -> u32 {
        self.flags.as_ref().len() as u32
    }

    /// "What comes after what I have?", asked by the agent that the link says it is. `history`
    /// holds the digests after 0, 1, …, round + 1 frames.
    pub fn asked(&self, who: u32, have: &Have, history: &[Digest], now: Millis) -> Answer {
        let Some(flag) = self.flags.as_ref().get(who as usize) else {
            return Answer::NotYou;
        };
        let frames = have.frames;
        match history.get(frames as usize) {
            None => Answer::Ahead { frames },
            Some(chain) if *chain != have.chain => Answer::Fork { frames },
            Some(_) if frames <= self.round => Answer::Frame { round: frames },
            Some(_) if self.is_open && flag & ANSWERED == 0 => Answer::Frame { round: self.round },
            Some(_) => Answer::Later {
                after_ms: self.come_back(who, now),
            },
        }
    }

    /// How long an agent is sent away for: until after the deadline, each at its own moment, or for
    /// [`Pace::ask_again_ms`] at most.
    fn come_back(&self, who: u32, now: Millis) -> u64 {
        // Multiples of the golden ratio modulo 1 are spread evenly, however many there are.
        let place = u64::from(who.wrapping_mul(0x9e37_79b9));
        let own = self.pace.spread_ms.saturating_mul(place) >> 32;
        self.period
            .deadline
            .after(own)
            .since(now)
            .clamp(1, self.pace.ask_again_ms.max(1))
    }

    /// "Here is mine": what to answer at once, or nothing if the vector is to be taken; then say
    /// [`ServerExchange::took`].
    ///
    /// A frame without numbers is an answer as well: its sender has nothing to give, and counts as
    /// absent.
    pub fn given(&self, who: u32, header: &Header, now: Millis) -> Option<Reply> {
        let Some(flag) = self.flags.as_ref().get(who as usize) else {
            return Some(Reply::NotYou);
        };
        let known =
            header.deployment == self.deployment && header.config == prefix(&self.agreement);
        if header.agent != who || !known || header.kind != Kind::Upload {
            return Some(Reply::NotYou);
        }
        if header.round != self.round
            || header.attempt != self.attempt
            || header.chain != prefix(&self.chain)
        {
            return Some(Reply::Over);
        }
        match (flag & ANSWERED == ANSWERED, self.is_open) {
            (true, _) => Some(Reply::Already),
            (false, false) => Some(Reply::Over),
            (false, true) if now >= self.period.deadline => Some(Reply::Over),
            (false, true) => None,
        }
    }

    /// The answer of this agent was taken.
    pub fn took(&mut self, who: u32) {
        if let Some(flag) = self.flags.as_mut().get_mut(who as usize)
            && *flag & ANSWERED == 0
        {
            *flag |= ANSWERED;
            self.answered += 1;
        }
    }

    /// Whether the round ends now. Only what is public decides: the time, and whether *all* have
    /// answered, never whether those have whom the sample selected.
    pub fn due(&self, now: Millis) -> Due {
        let Period {
            deadline,
            may_close_early,
            ..
        } = self.period;
        if now >= deadline {
            Due::Close
        } else if may_close_early && self.answered == self.agents() {
            Due::CloseEarly
        } else {
            Due::At(deadline)
        }
    }
}
