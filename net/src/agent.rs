//! An agent on a computer: core's machine and exchange with their storage, a budget of its own, and
//! a file from which it goes on after being killed at any moment.
//!
//! It takes one step at a time and stores its state after each that matters: an agent restored from
//! the file asks again, repeats its last answer, or evaluates the same point again. A journal of
//! the steps ([`crate::journal`]) grows beside the file; [`replay`] repeats them and compares.

pub(crate) mod attempts;
mod awaited;
mod budget;
mod counted;
mod hidden;
pub(crate) mod masks;
mod outage;
pub mod replay;
mod stored;
mod watched;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use sordino_core::federated::exchange::{AgentExchange, FrameError, Heard, Millis, Seal, Want};
use sordino_core::federated::{Frame, Member, Next, ServerError};
use sordino_core::math::write_all_le;
use sordino_core::privacy::budget::BudgetError;
use sordino_core::random::RunSeed;
use sordino_core::wire::{self, Header, Kind, ScalarTag, WireError};
use sordino_experiment::text::significant;
use sordino_host::files::FileError;
use sordino_host::ledger::contributions::{Contributions, ContributionsError};
use sordino_host::prior::PriorFile;
use sordino_host::space::Point;
use tokio::time::Instant;

use crate::journal::{Journal, JournalError, Step};
use crate::link::{Link, LinkError};
use crate::party::{Number, Party, PartyError, Standing, value_max};
use crate::rounds::Asked;
use crate::stored::VersionError;
use crate::terms::{Difference, TermsError};
use sordino_host::hex::hex;

pub use attempts::GaveUp;
use attempts::{Attempts, Then, gave_up};
pub use awaited::Awaited;
use masks::{MaskError, Masks};
pub(crate) use watched::SLOT_BYTES;
use watched::Watched;

/// After a failed request: this long at first, twice as long each time ([`attempts`]).
const RETRY: Duration = Duration::from_millis(20);
/// After a frame that had come before: this long at first, twice as long each time, up to
/// [`AGAIN_MAX`].
const AGAIN: Duration = Duration::from_millis(50);
/// The longest pause after a frame that had come before.
const AGAIN_MAX: Duration = Duration::from_secs(1);

/// What an agent did in one step.
enum Did {
    /// All that there was to do.
    All,
    /// Something without its server.
    Own,
    /// It heard from its server.
    Heard,
    /// It heard from its server what it had heard before.
    HeardAgain,
}

/// A point whose value the agent wants to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Index of the agent.
    pub agent: u32,
    /// Index of the candidate.
    pub candidate: u32,
    /// How many observations were made before.
    pub number: u32,
    /// How many the agent makes in all, if it misses no round.
    pub evaluations: u32,
    /// Its coordinates in the unit box, D numbers; of a campaign the numbers of its space, one a
    /// parameter.
    pub point: Vec<f64>,
    /// The same by the names and in the units of a campaign's space; none of the unit box.
    pub named: Option<Point>,
    /// The largest size of a value that the agent takes, in the number format of its federation.
    pub value_max: f64,
}

/// Why an agent ended early. Its file is as it was after its last step.
#[derive(Debug, thiserror::Error)]
pub enum AgentEnd {
    /// The machine refused.
    #[error(transparent)]
    Machine(#[from] PartyError),
    /// What the server sent is no frame, or one that must not be believed.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A frame that does not decode, or cannot be written.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The public numbers do not fit.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// Its file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its file is of a newer program.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// Its journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Its file holds something other than this agent under these terms.
    #[error("the agent's file: {what}")]
    NotOurs {
        /// What is wrong with it.
        what: &'static str,
    },
    /// Its folder is another agent's, or was begun under other terms.
    #[error("{}: this agent was begun under other terms ({difference}): go on with its own invitation, or join in another folder", path.display())]
    OtherTerms {
        /// The file that shows it.
        path: PathBuf,
        /// The first field that differs.
        difference: Difference,
    },
    /// The server does not know this agent's key, or has shut it out.
    #[error("the server does not know this agent's key, or has shut it out")]
    Refused,
    /// The server knows another history than this agent.
    #[error("the server has another history than this agent: nothing is sent to it any more")]
    Fork,
    /// The server gave an answer that trying again will not change.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The loss that this agent accepts cannot be accounted for.
    #[error("this agent's own budget: {0}")]
    Budget(#[from] BudgetError),
    /// What the releases of these terms cost is unknown: nothing is given to them.
    #[error("what a release costs: {0}")]
    Cost(#[source] Box<ServerError>),
    /// There is no mask for its contribution, or no share of it.
    #[error(transparent)]
    Mask(#[from] MaskError),
    /// What its data gave cannot be counted.
    #[error(transparent)]
    Count(#[from] ContributionsError),
    /// The server did not answer for as long as its owner waits.
    #[error(transparent)]
    GaveUp(#[from] GaveUp),
    /// The evaluation gave up.
    #[error("no value: {0}")]
    Evaluation(String),
    /// The evaluation gave what the agent cannot compute with. Nothing was recorded: the same point
    /// is asked for again.
    #[error(
        "the value of point {} is {value:e}; admissible: a number from -{1} to {1}",
        number + 1,
        significant(*value_max, 1)
    )]
    Value {
        /// How many observations were made before.
        number: u32,
        /// The value given.
        value: f64,
        /// The largest size of a value in the number format of the federation.
        value_max: f64,
    },
}

/// The best point that an agent has seen: private to it, like every observation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// Which of its measurements it was, from 0.
    pub number: u32,
    /// The point, in [0, 1]^D; of a campaign in the numbers of its space, one a parameter.
    pub point: Vec<f64>,
    /// The same by the names and in the units of a campaign's space; none of the unit box.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named: Option<Point>,
    /// What was measured there.
    pub value: f64,
}

/// An agent with its numbers.
pub struct HostAgent<T: Number, P: Party<T>> {
    shared: Arc<P>,
    state: P::State,
    exchange: AgentExchange,
    log: Vec<T>,
    workspace: Vec<T>,
    /// Rounds it gave an upload to.
    given: Vec<u32>,
    /// The round whose answer came when it was over, unless it was taken since.
    late: Option<u32>,
    /// What hides its contributions, where there are two servers.
    masks: Option<Masks>,
    count: Option<Contributions>,
    epsilon_max: Option<f64>,
    /// Whether it was told that this ε admits nothing more.
    told_spent: bool,
    file: Option<PathBuf>,
    journal: Option<Journal>,
    watched: Option<Watched<T>>,
    start: Instant,
    teller: Option<awaited::Teller>,
    give_up: Option<Duration>,
    /// Whether the file of the releases that it has learned lies beside its own.
    learned_is_stored: bool,
    /// SHA-256 of its file, as it was written last.
    stored: Option<[u8; 32]>,
}

impl<T: Number, P: Party<T>> HostAgent<T, P> {
    /// Agent `agent`, as its file has it, or before its first point if there is no file; only then
    /// is `seed` used, for the agent's own draws.
    ///
    /// **Errors**: [`AgentEnd`].
    pub fn open(
        shared: &Arc<P>,
        agent: u32,
        seed: RunSeed,
        file: Option<PathBuf>,
    ) -> Result<Self, AgentEnd> {
        let [log, workspace] = shared.lengths()?;
        let mut made = HostAgent {
            state: shared.fresh(agent, seed),
            exchange: AgentExchange::new(shared.agreement(), agent),
            log: vec![T::ZERO; log],
            workspace: vec![T::ZERO; workspace],
            given: Vec::new(),
            late: None,
            masks: None,
            count: None,
            epsilon_max: None,
            told_spent: false,
            watched: None,
            start: Instant::now(),
            teller: None,
            give_up: None,
            learned_is_stored: true,
            stored: None,
            shared: shared.clone(),
            file: None,
            journal: None,
        };
        if let Some(file) = file {
            made.keep(file, seed)?;
        }
        // Refuses now what it would refuse later.
        made.with(|_| Ok(()))?;
        Ok(made)
    }

    /// The most ε this agent contributes to, at the announced δ; beyond it its answers hold no
    /// numbers, and it goes on with what others share.
    pub fn limit(&mut self, epsilon_max: Option<f64>) {
        self.epsilon_max = epsilon_max;
    }

    /// How long the agent waits for a server that does not answer; for ever if none.
    pub(crate) fn give_up_after(&mut self, silent: Option<Duration>) {
        self.give_up = silent;
    }

    /// Tells from now on what the agent waits for: each thing once, until it waits for another.
    pub fn telling(&mut self, tell: impl FnMut(Awaited) + Send + 'static) {
        self.teller = Some(awaited::Teller::new(Box::new(tell)));
    }

    /// Rehearsals only, where no round is missed: every answer is followed by the leaves of the
    /// transcript and the best values of its rounds. `observe` gives the value of a candidate at an
    /// observation, as it was measured and without noise.
    pub fn watch(&mut self, observe: impl Fn(u32, u32) -> [f64; 2] + Send + 'static) {
        let mut watched = Watched::new(&self.shared.agreement().protocol, observe);
        for number in 0..self.standing().observations {
            watched.observed(self.log[2 * number as usize].to_u32());
        }
        self.watched = Some(watched);
    }

    /// The state of its exchange with the server.
    pub fn exchange(&self) -> &AgentExchange {
        &self.exchange
    }

    /// Where its machine stands.
    pub fn standing(&self) -> Standing {
        P::standing(&self.state)
    }

    /// Whether all its queries are made: all that remains is to tell the server so.
    pub fn is_done(&self) -> bool {
        self.standing().is_done
    }

    /// Rounds it gave an upload to.
    pub fn given(&self) -> &[u32] {
        &self.given
    }

    /// Sets how many evaluations it makes in all; false where the terms say how many.
    ///
    /// **Errors**: those of its machine.
    pub fn evaluate(&mut self, evaluations: u32) -> Result<bool, AgentEnd> {
        let taken = P::evaluate(&mut self.state, evaluations);
        // What it is to do is known from now on.
        self.with(|_| Ok(()))?;
        Ok(taken)
    }

    /// Whether it has all frames and its server knows: it needs the server no more.
    pub fn has_all(&self) -> bool {
        self.exchange.want(Millis(0)) == Want::Done
    }

    /// Whether it has the last frame: whatever is left to do, nothing more is asked of its server
    /// or given to it.
    pub(crate) fn has_last(&self) -> bool {
        self.exchange.have().frames > self.shared.agreement().protocol.epochs()
    }

    /// The file of the releases that it has learned; nothing where there is none.
    ///
    /// **Errors**: those of its machine.
    pub fn learned(&self) -> Result<Option<PriorFile>, AgentEnd> {
        Ok(self.shared.learned(&self.state)?)
    }

    /// The best value measured so far; the first of equal ones.
    pub fn best(&self) -> Option<Best> {
        let values = (0..)
            .zip(self.log.chunks_exact(2))
            .take(self.standing().observations as usize);
        let best = values.fold(
            None,
            |best: Option<(u32, &[T])>, (number, entry)| match best {
                Some((_, most)) if entry[1] <= most[1] => best,
                _ => Some((number, entry)),
            },
        );
        best.map(|(number, entry)| {
            let point = self.shared.point(entry[0].to_u32());
            let named = self.shared.named(entry[0].to_u32());
            Best {
                number,
                point,
                named,
                value: self.shared.measured(entry[1]),
            }
        })
    }

    fn with<R>(
        &mut self,
        act: impl FnOnce(&mut P::Member<'_>) -> Result<R, P::Refusal>,
    ) -> Result<R, AgentEnd> {
        let numbers = [&mut self.log[..], &mut self.workspace[..]];
        Ok(self.shared.with(&mut self.state, numbers, act)?)
    }

    /// Whether all that is left to tell its server is that it has the last frame.
    fn needs_no_server(&self) -> bool {
        self.is_done() || self.has_last()
    }

    fn now(&self) -> Millis {
        Millis(self.start.elapsed().as_millis() as u64)
    }

    /// Takes part until the federation is over.
    ///
    /// **Errors**: [`AgentEnd`]. A failed connection is not an error: it is tried again.
    pub async fn run<F: Future<Output = Result<f64, String>>>(
        &mut self,
        link: &mut Link,
        mut evaluate: impl FnMut(Query) -> F,
    ) -> Result<(), AgentEnd> {
        let numbers = self.shared.agreement().protocol.released_len();
        link.admit(wire::frame_len_max(ScalarTag::of::<T>(), numbers));
        let mut attempts = Attempts::new(RETRY, awaited::TOLD_AFTER, self.give_up);
        let mut again = AGAIN;
        loop {
            let frames = self.exchange.have().frames;
            let did = match self.step(link, &mut attempts, &mut evaluate).await {
                Err(refused @ AgentEnd::Refused) if self.needs_no_server() => {
                    self.left(link, &refused);
                    return self.leave(&mut evaluate).await;
                }
                did => did?,
            };
            match did {
                Ok(Did::All) => return Ok(()),
                Ok(Did::Own) => {}
                Ok(Did::Heard) => self.reached(link, &mut attempts),
                Ok(Did::HeardAgain) => {
                    self.reached(link, &mut attempts);
                    // A server that repeats itself is not answered at the speed of the network.
                    tokio::time::sleep(again).await;
                    again = (2 * again).min(AGAIN_MAX);
                }
                Err(error @ LinkError::Status { .. }) if !self.needs_no_server() => {
                    return Err(AgentEnd::Link(error));
                }
                Err(error) => match self.lost(link, &mut attempts, &error) {
                    Then::Again(pause) => tokio::time::sleep(pause).await,
                    Then::GiveUp(silent) => {
                        return Err(gave_up(link.address(), silent, &error).into());
                    }
                    Then::Leave => {
                        if error.is_refusal() {
                            self.left(link, &error);
                        }
                        return self.leave(&mut evaluate).await;
                    }
                },
            }
            if self.exchange.have().frames > frames {
                again = AGAIN;
            }
            self.store()?;
        }
    }

    /// Goes on without its server, which refuses it or is gone. The last answer only says that the
    /// last frame has arrived: nobody misses it. What it gave is counted before it is sent, and
    /// nothing more is given.
    async fn leave<F: Future<Output = Result<f64, String>>>(
        &mut self,
        evaluate: &mut impl FnMut(Query) -> F,
    ) -> Result<(), AgentEnd> {
        while self.evaluated(evaluate).await? {
            self.store()?;
        }
        Ok(())
    }

    /// What is to be done next, or why the server gave no answer.
    async fn step<F: Future<Output = Result<f64, String>>>(
        &mut self,
        link: &mut Link,
        attempts: &mut Attempts,
        evaluate: &mut impl FnMut(Query) -> F,
    ) -> Result<Result<Did, LinkError>, AgentEnd> {
        match self.exchange.want(self.now()) {
            // With the last frame it may go on without its server.
            Want::Done => Ok(Ok(match self.evaluated(evaluate).await? {
                true => Did::Own,
                false => Did::All,
            })),
            Want::Refused => Err(AgentEnd::Refused),
            Want::Wait(until) => {
                if let Some(teller) = &mut self.teller {
                    teller.waits(self.shared.agreement(), self.exchange.have(), link.joined());
                }
                tokio::time::sleep(Duration::from_millis(until.since(self.now()).max(1))).await;
                Ok(Ok(Did::Own))
            }
            Want::Work => {
                self.work(evaluate).await?;
                Ok(Ok(Did::Own))
            }
            Want::Ask(have) => {
                let is_over = self.needs_no_server();
                let is_lost = attempts.is_told();
                let agreement = self.shared.agreement();
                let asking = awaited::ask(link, &have, self.teller.as_mut(), agreement, is_lost);
                match attempts.attempt(is_over, asking).await {
                    Ok(asked) => self.heard(asked).map(Ok),
                    Err(error) => Ok(Err(error)),
                }
            }
            Want::Give(header) => {
                let frame = self.answer(header)?;
                let giving = link.give(header.round, header.agent, frame);
                let given = attempts.attempt(self.needs_no_server(), giving).await;
                Ok(given.map(|reply| {
                    self.says_taken(header.round, reply);
                    self.exchange.told(header.round, reply, self.now());
                    Did::Heard
                }))
            }
        }
    }

    /// The server has answered.
    fn reached(&mut self, link: &Link, attempts: &mut Attempts) {
        let silent = attempts.reached();
        if let (Some(silent), Some(teller)) = (silent, &mut self.teller) {
            teller.back(link.address(), silent);
        }
    }

    /// The server has not answered: what follows.
    fn lost(&mut self, link: &Link, attempts: &mut Attempts, error: &LinkError) -> Then {
        let (then, silent) = attempts.failed(error, link.due());
        if let (Then::Again(next), Some(silent), Some(teller)) = (then, silent, &mut self.teller) {
            teller.lost(link.address(), silent, next, error);
        }
        then
    }

    /// The server refuses, and the agent needs it no more.
    fn left(&mut self, link: &Link, why: &(dyn std::error::Error + 'static)) {
        if let Some(teller) = &mut self.teller {
            teller.left(link.address(), why);
        }
    }

    /// Takes an answer.
    fn heard(&mut self, asked: Asked) -> Result<Did, AgentEnd> {
        let (bytes, current, seal) = match asked {
            Asked::Frame {
                bytes,
                current,
                seal,
            } => (bytes, current, seal),
            Asked::Later { after_ms } => {
                self.exchange.later(after_ms, self.now());
                return Ok(Did::Heard);
            }
            Asked::NotYou => return Err(AgentEnd::Refused),
            Asked::Fork | Asked::Unsealed => return Err(AgentEnd::Fork),
        };
        Ok(match self.enter(&bytes, current, seal)? {
            true => Did::Heard,
            false => Did::HeardAgain,
        })
    }

    /// Takes a frame, from the server or from a journal: true if it was the next one, false if it
    /// had come before.
    fn enter(&mut self, bytes: &[u8], current: u32, seal: Seal) -> Result<bool, AgentEnd> {
        let (header, payload) = wire::decode(bytes, self.shared.agreement().frame_numbers_max())?;
        let mut vectors = vec![T::ZERO; header.len as usize];
        payload.read(&mut vectors)?;
        let before = self.exchange.clone();
        if let Some(teller) = &mut self.teller {
            teller.opened();
        }
        let heard = match self.exchange.frame(&header, &payload, current, seal) {
            // An older frame that came late says nothing.
            Err(FrameError::Round { .. }) => return Ok(false),
            heard => heard.map_err(AgentEnd::Frame)?,
        };
        let numbers = (header.kind == Kind::Broadcast).then_some(&vectors[..]);
        let frame = match (heard, numbers) {
            (Heard::Again, _) => return Ok(false),
            (Heard::Missed, numbers) => Frame::Missed(numbers),
            (Heard::Enter, _) if header.round == 0 => Frame::Start,
            (Heard::Enter, Some(numbers)) => Frame::Released(numbers),
            (Heard::Enter, None) => Frame::Nothing,
        };
        if let Err(error) = self.with(|member| member.enter(frame)) {
            self.exchange = before;
            return Err(error);
        }
        self.learned_is_stored = false;
        self.says_late(header.round);
        let missed = heard == Heard::Missed;
        self.wrote(|| Step::Frame {
            round: header.round,
            missed,
            bytes: hex(bytes),
        })?;
        Ok(true)
    }

    /// Adds a step to the journal, if there is one.
    fn wrote(&mut self, step: impl FnOnce() -> Step) -> Result<(), AgentEnd> {
        match &mut self.journal {
            Some(journal) => Ok(journal.write(&step())?),
            None => Ok(()),
        }
    }

    /// The point to be measured; none if the queries of this epoch are made.
    fn query(&mut self) -> Result<Option<Query>, AgentEnd> {
        let next = self.with(|member| match member.next()? {
            Next::Query { candidate, number } => Ok(Some((candidate, number))),
            Next::Give(_) => Ok(None),
        })?;
        let agent = self.standing().agent;
        let evaluations = self.shared.evaluations(&self.state);
        Ok(next.map(|(candidate, number)| {
            let point = self.shared.point(candidate);
            let named = self.shared.named(candidate);
            Query {
                agent,
                candidate,
                number,
                evaluations,
                point,
                named,
                value_max: value_max::<T>(),
            }
        }))
    }

    /// The value at the point that was to be measured.
    fn observed(&mut self, y: T) -> Result<(), AgentEnd> {
        self.with(|member| member.observed(y))
    }

    /// The numbers of this epoch's upload; none if there is nothing to give.
    fn upload(&mut self) -> Result<Vec<T>, AgentEnd> {
        self.with(|member| match member.next()? {
            Next::Give(numbers) => Ok(numbers.to_vec()),
            Next::Query { .. } => Ok(Vec::new()),
        })
    }

    /// One observation, or the end of the round.
    async fn work<F: Future<Output = Result<f64, String>>>(
        &mut self,
        evaluate: &mut impl FnMut(Query) -> F,
    ) -> Result<(), AgentEnd> {
        if !self.evaluated(evaluate).await? {
            self.exchange.made();
        }
        Ok(())
    }

    /// One observation; false if the queries of this epoch are made.
    async fn evaluated<F: Future<Output = Result<f64, String>>>(
        &mut self,
        evaluate: &mut impl FnMut(Query) -> F,
    ) -> Result<bool, AgentEnd> {
        let Some(query) = self.query()? else {
            return Ok(false);
        };
        let candidate = query.candidate;
        let number = query.number;
        let value_max = query.value_max;
        let value = evaluate(query).await.map_err(AgentEnd::Evaluation)?;
        if !(value.abs() <= value_max) {
            return Err(AgentEnd::Value {
                number,
                value,
                value_max,
            });
        }
        let y = T::from_f64(value);
        if let Some(watched) = &mut self.watched {
            watched.observed(candidate);
        }
        self.observed(y)?;
        self.wrote(|| Step::Value {
            number,
            candidate,
            value: y.to_f64(),
        })?;
        Ok(true)
    }

    /// The frame of this round's answer; without numbers if there is nothing to give.
    fn answer(&mut self, header: Header) -> Result<Bytes, AgentEnd> {
        let mut upload = self.upload()?;
        if !upload.is_empty() && !self.given.contains(&header.round) {
            if !self.affords(header.round)? {
                upload.clear();
                self.says_spent(header.round);
            } else if self.counts(header.round)? {
                // Counted before it leaves; a repeat of the same round is the same contribution.
                self.given.push(header.round);
                self.wrote(|| Step::Upload {
                    round: header.round,
                    sha256: digest_of(&upload),
                })?;
                self.store()?;
            } else {
                upload.clear();
                self.says_uncounted(header.round);
            }
        }
        let (numbers, behind) = self.hidden(header.round, &upload)?;
        let mut frame = vec![0; wire::frame_len_max(ScalarTag::of::<T>(), numbers.len())];
        let used = wire::encode(header, numbers, &mut frame)?;
        frame.truncate(used);
        frame.extend(behind);
        if let Some(watched) = &self.watched {
            watched.append(self.standing().agent, header.round, &upload, &mut frame);
        }
        Ok(frame.into())
    }
}

/// SHA-256 of numbers, little-endian, as a journal names an upload.
fn digest_of<T: Number>(numbers: &[T]) -> String {
    let mut bytes = vec![0; numbers.len() * T::BYTES];
    write_all_le(numbers, &mut bytes);
    hex(&Sha256::digest(&bytes))
}
