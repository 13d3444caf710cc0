//! A worker: waits for a head, holds what it is asked to hold, and starts over when the head is
//! gone.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use rayon::ThreadPool;
use sordino_experiment::pool;
use sordino_experiment::progress::log;

use crate::keeper::{Keeper, Next, memory, takes_part, with_keeper};
use crate::link::{Asked, LinkError, WorkerLink};
use crate::message::{Answer, Ask, MessageError, Question, Reply, State, decode, encode};

/// Between two looks whether the head is there.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Between two attempts to reach it.
const RETRY_EVERY: Duration = Duration::from_millis(100);

/// How a worker works.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Where the head is, such as `tcp/head:7447`.
    pub connect: String,
    /// Threads for arithmetic; none means all cores.
    pub threads: Option<NonZeroUsize>,
    /// The data that the scenario reads, on this machine.
    pub data: Option<PathBuf>,
    /// What people call it.
    pub name: String,
    /// Whether it waits for another run when one is complete.
    pub stay: bool,
}

/// Why a worker ended.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The network, or its address.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// What arrived is no message of this version.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// No threads to compute on.
    #[error(transparent)]
    Threads(#[from] pool::PoolError),
}

/// What one connection came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Complete,
    HeadLost,
}

impl Worker {
    /// Works until a run is complete, or for ever if it stays.
    ///
    /// **Errors**: [`WorkerError`]; a head that is not there is waited for.
    pub fn work(&self) -> Result<(), WorkerError> {
        let pool = pool::pool(self.threads)?;
        let mut told = false;
        loop {
            let link = match WorkerLink::connect(&self.connect) {
                Ok(link) => link,
                // Nobody is there, or is there no more.
                Err(LinkError::Unreached(why) | LinkError::Gone(why)) => {
                    if !told {
                        log::note(&format!("waiting for the head at {}: {why}", self.connect));
                    }
                    told = true;
                    std::thread::sleep(RETRY_EVERY);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            log::note(&format!("connected to the head at {}", self.connect));
            told = false;
            match self.serve(&link, &pool)? {
                End::Complete if !self.stay => return Ok(()),
                End::Complete => log::note("the run is complete; waiting for another"),
                End::HeadLost => log::note("the head is gone; what was held for it is dropped"),
            }
        }
    }

    fn state(&self, pool: &ThreadPool) -> State {
        let threads = pool.current_num_threads() as u32;
        State {
            name: self.name.clone(),
            threads,
            memory: memory(),
            ..State::default()
        }
    }

    /// Answers one head.
    fn serve(&self, link: &WorkerLink, pool: &ThreadPool) -> Result<End, WorkerError> {
        let mut first = None;
        loop {
            let Some((asked, question)) = (match first.take() {
                Some(first) => Some(first),
                None => next(link)?,
            }) else {
                return Ok(End::HeadLost);
            };
            let state = self.state(pool);
            let Ask::Scenario { text, identity } = &question.ask else {
                let (answer, done) = match question.ask {
                    Ask::Done => (Answer::Yes, true),
                    _ => (Answer::Afresh, false),
                };
                reply(asked, &Reply { state, answer })?;
                if done {
                    return Ok(End::Complete);
                }
                continue;
            };
            let scenario = match takes_part(text, identity, self.data.as_deref()) {
                Ok(scenario) => scenario,
                Err(why) => {
                    log::note(&format!("takes no part: {why}"));
                    reply(
                        asked,
                        &Reply {
                            state,
                            answer: Answer::Other(why),
                        },
                    )?;
                    continue;
                }
            };
            log::note(&format!(
                "scenario {}: {} agents",
                scenario.name, scenario.federation.agents
            ));
            let mut way_back = Some(asked);
            let tools = (pool, state.clone());
            let ended = with_keeper(
                &scenario,
                self.data.as_deref(),
                question.head,
                tools,
                |mut keeper| {
                    let taken = Reply {
                        state: keeper.state(),
                        answer: Answer::Yes,
                    };
                    way_back
                        .take()
                        .map_or(Ok(()), |asked| reply(asked, &taken))?;
                    keep(link, &mut keeper)
                },
            );
            match ended {
                Ok(Ok(Kept::Over(end))) => return Ok(end),
                Ok(Ok(Kept::Again(asked, question))) => first = Some((asked, question)),
                Ok(Err(error)) => return Err(error),
                Err(why) => {
                    let reply_to = way_back.take();
                    reply_to.map_or(Ok(()), |asked| {
                        reply(
                            asked,
                            &Reply {
                                state,
                                answer: Answer::Cannot(why),
                            },
                        )
                    })?;
                }
            }
        }
    }
}

/// How the questions about one scenario ended.
enum Kept {
    Over(End),
    Again(Asked, Question),
}

fn keep(link: &WorkerLink, keeper: &mut Keeper<'_>) -> Result<Kept, WorkerError> {
    while let Some((asked, question)) = next(link)? {
        let (answer, next) = keeper.take(&question);
        match next {
            Next::Listen => reply(asked, &answer)?,
            Next::Afresh => return Ok(Kept::Again(asked, question)),
            Next::End => {
                reply(asked, &answer)?;
                return Ok(Kept::Over(End::Complete));
            }
        }
    }
    Ok(Kept::Over(End::HeadLost))
}

/// The next question; nothing if the head is gone.
fn next(link: &WorkerLink) -> Result<Option<(Asked, Question)>, WorkerError> {
    loop {
        match link.hear(LOOK_EVERY) {
            Some(asked) => {
                let question = decode(&asked.bytes())?;
                return Ok(Some((asked, question)));
            }
            None if link.is_up() => {}
            None => return Ok(None),
        }
    }
}

/// Answers. That the head has gone in the meantime shows when the worker waits for its next
/// question.
fn reply(asked: Asked, reply: &Reply) -> Result<(), WorkerError> {
    let bytes = encode(reply)?;
    if let Err(error) = asked.answer(bytes) {
        log::note(&format!("an answer was not delivered: {error}"));
    }
    Ok(())
}
