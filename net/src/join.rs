//! Taking part with an invitation: the library's door for agents on computers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sordino_core::math::Scalar;
use sordino_core::random::RunSeed;
use sordino_core::wire::ScalarTag;
use sordino_host::entropy::{NoEntropy, deployment};
use sordino_host::files::{FileError, read_bounded, write_atomically};
use sordino_sim::text::chain;

use crate::agent::{AgentEnd, HostAgent, Query};
use crate::identity::{Identity, IdentityError, lock_folder, private_folder};
use crate::invitation::Invitation;
use crate::link::{Link, LinkError};
use crate::progress::note;
use crate::terms::{Shared, TERMS_BYTES_MAX, Terms, TermsError};

/// The longest pause while the server cannot be reached.
const RETRY_MAX: Duration = Duration::from_secs(10);

/// The longest that a question waits: less than a server keeps it, or a proxy a silent connection.
pub const WAIT_MAX: Duration = Duration::from_secs(25);

/// Why an agent could not take part, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The same agent runs already.
    #[error("{}: this agent runs already", path.display())]
    Busy {
        /// Path of its folder.
        path: PathBuf,
    },
    /// Its folder cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its key cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The server refuses.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The terms are not those of the invitation, or do not fit together.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// The system gives no randomness.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The agent stopped early.
    #[error(transparent)]
    Agent(#[from] AgentEnd),
}

/// How an agent takes part.
#[derive(Clone, Debug)]
pub struct Joining {
    /// What it was given.
    pub invitation: Invitation,
    /// Where its key and its state are kept; the same folder continues.
    pub folder: PathBuf,
    /// The most ε it contributes to; never more than the terms say, which is what counts without it.
    pub epsilon_max: Option<f64>,
    /// How long a question to the server may wait for an answer; [`WAIT_MAX`] at most counts.
    pub wait: Duration,
}

/// What an agent did.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// Index of the agent.
    pub agent: u32,
    /// Rounds it gave an upload to.
    pub given: Vec<u32>,
    /// Points it evaluated.
    pub observations: u32,
    /// The digest of all broadcasts it received.
    pub chain: sordino_core::digest::Digest,
}

/// Takes part until the federation is over; `evaluate` gives the value at a point of the unit box. Killed at any moment
/// and called again with the same folder, it goes on where it was.
///
/// **Errors**: [`JoinError`]. A server that cannot be reached is none: it is tried again.
pub async fn join<F: Future<Output = Result<f64, String>>>(
    joining: &Joining,
    evaluate: impl FnMut(Query) -> F,
) -> Result<Joined, JoinError> {
    let (folder, invitation) = (&joining.folder, &joining.invitation);
    // It holds what was observed.
    private_folder(folder)?;
    let Some(_lock) = lock_folder(folder)? else {
        return Err(JoinError::Busy { path: folder.clone() });
    };
    let identity = Identity::open(&folder.join("agent.key"))?;
    let tls = identity.client(&invitation.pins)?;
    let mut link = Link::new(&invitation.address, invitation.deployment, tls, joining.wait.min(WAIT_MAX));
    let mut pause = Duration::from_millis(50);
    loop {
        match link.enrol(invitation.slot, &invitation.token).await {
            Ok(()) => break,
            Err(error @ (LinkError::Status { .. } | LinkError::Answer { .. })) => return Err(error.into()),
            Err(error) => {
                note(&format!("waiting for the server at {}: {}", invitation.address, chain(&error)));
                tokio::time::sleep(error.pause(pause)).await;
                pause = (2 * pause).min(RETRY_MAX);
            }
        }
    }
    let terms = terms(folder, invitation, &mut link).await?;
    match terms.agreement.scalar {
        ScalarTag::F32 => take_part::<f32, F>(joining, &terms, &mut link, evaluate).await,
        _ => take_part::<f64, F>(joining, &terms, &mut link, evaluate).await,
    }
}

/// The terms, fetched once; always compared with the invitation.
async fn terms(folder: &Path, invitation: &Invitation, link: &mut Link) -> Result<Terms, JoinError> {
    let path = folder.join("terms.bin");
    match read_bounded(&path, TERMS_BYTES_MAX) {
        Ok(bytes) => return Ok(Terms::from_bytes(&bytes, Some(&invitation.terms))?),
        Err(error) if !error.is_missing() => return Err(error.into()),
        Err(_missing) => {}
    }
    loop {
        match link.terms().await {
            Ok(bytes) => {
                let terms = Terms::from_bytes(&bytes, Some(&invitation.terms))?;
                write_atomically(&path, &bytes)?;
                return Ok(terms);
            }
            Err(error @ (LinkError::Status { .. } | LinkError::Answer { .. })) => return Err(error.into()),
            Err(error) => tokio::time::sleep(error.pause(Duration::from_millis(200))).await,
        }
    }
}

async fn take_part<T: Scalar, F: Future<Output = Result<f64, String>>>(
    joining: &Joining,
    terms: &Terms,
    link: &mut Link,
    evaluate: impl FnMut(Query) -> F,
) -> Result<Joined, JoinError> {
    // Its own draws, from its own entropy; only a new agent uses it.
    let seed = RunSeed::new(deployment()?, joining.invitation.slot);
    let file = Some(joining.folder.join("agent.bin"));
    let mut agent = HostAgent::open(&Shared::<T>::new(terms)?, joining.invitation.slot, seed, file)?;
    let most = [joining.epsilon_max, terms.agreement.announced.epsilon_max];
    agent.limit(most.into_iter().flatten().reduce(f64::min));
    agent.run(link, evaluate).await?;
    let (given, observations) = (agent.given().to_vec(), agent.state().observations());
    Ok(Joined { agent: joining.invitation.slot, given, observations, chain: agent.exchange().have().chain })
}
