//! The agents of a rehearsal: tasks of this process, each with a key of its own, which may die and
//! go on from their files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sordino_core::federated::shares::PublicKey;
use sordino_core::random::Stream;
use sordino_engine::federated::context::RunContext;
use sordino_host::files::create_folders_privately;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::error::RehearsalError;
use super::place::{Agents, Place, token};
use crate::agent::HostAgent;
use crate::agent::masks::{MaskError, Masks};
use crate::identity::Identity;
use crate::link::{Link, LinkError};
use crate::party::{Number, Party};
use crate::shares::MaskKey;

/// Agents that enrol at one time.
const ENROLLING_MAX: usize = 64;
/// An agent that dies lives for at least this long,
const LIFE_MIN_MS: u64 = 1;
/// and for this much longer at most.
const LIFE_MORE_MS: u32 = 30;

/// One agent, as all its lives know it.
struct Seat<T: Number, P> {
    shared: Arc<P>,
    run: Arc<RunContext<T>>,
    agent: u32,
    /// The folder of all agents; nothing if none dies.
    folder: Option<PathBuf>,
    /// The key of the helper's masks, where there are two servers.
    helper: Option<MaskKey>,
}

/// All agents from `first` on as tasks, each with a key of its own.
pub(super) fn all<T: Number, P: Party<T>>(
    place: &Place,
    shared: &Arc<P>,
    run: &Arc<RunContext<T>>,
    helper: Option<MaskKey>,
    folder: Option<PathBuf>,
    first: u32,
) -> Result<Agents, RehearsalError> {
    let agreement = shared.agreement();
    let free = Arc::new(Semaphore::new(ENROLLING_MAX));
    let pins = [place.identity.fingerprint()?];
    let deployment = agreement.deployment;
    let mut agents = JoinSet::new();
    for agent in first..agreement.protocol.agents() {
        let tls = Identity::generate()?.client(&pins)?;
        let address = place.address.clone();
        let line = move || Link::new(&address, deployment, tls.clone(), Duration::from_secs(10));
        let free = free.clone();
        let deaths = place.deaths.clone();
        let seat = Seat {
            shared: shared.clone(),
            run: run.clone(),
            agent,
            folder: folder.clone(),
            helper,
        };
        agents.spawn(async move {
            let permit = free.acquire().await;
            let mut masks = seat.masks()?;
            let public = masks.as_ref().map(Masks::public);
            let enrolled = enrol(&mut line(), agent, public.as_ref()).await;
            enrolled.map_err(|error| RehearsalError::Enrol { agent, error })?;
            drop(permit);
            let mut lives = Stream::from_seed(u64::from(agent));
            let mut died = 0;
            loop {
                let life = seat.live(masks.take(), line());
                if seat.folder.is_none() {
                    return life.await;
                }
                // A little longer after each death, so that the slowest machine gets through.
                let length = LIFE_MIN_MS + u64::from(lives.below(LIFE_MORE_MS)) + died;
                let length = Duration::from_millis(length);
                match tokio::time::timeout(length, life).await {
                    Ok(ended) => return ended,
                    Err(_elapsed) => {
                        died += 1;
                        deaths.fetch_add(1, Ordering::Relaxed);
                        // What it knew of its masks died with it.
                        masks = seat.masks()?;
                    }
                };
            }
        });
    }
    Ok(agents)
}

impl<T: Number, P: Party<T>> Seat<T, P> {
    /// What hides its contributions: as its folder has it, or of this process alone.
    fn masks(&self) -> Result<Option<Masks>, MaskError> {
        let Some(helper) = self.helper.map(|key| key.public()) else {
            return Ok(None);
        };
        let agreement = self.shared.agreement();
        let made = match &self.folder {
            Some(folder) => self.masks_in(folder, &helper),
            None => Masks::in_memory(agreement, &helper),
        };
        made.map(Some)
    }

    fn masks_in(&self, folder: &Path, helper: &PublicKey) -> Result<Masks, MaskError> {
        let folder = folder.join(format!("{}-masks", self.agent));
        create_folders_privately(&folder)?;
        Masks::open(&folder, self.shared.agreement(), helper)
    }

    /// One life from what its file holds to the end, on a line of its own.
    async fn live(&self, masks: Option<Masks>, mut line: Link) -> Result<(), RehearsalError> {
        let agent = self.agent;
        let failed = |error| RehearsalError::Agent { agent, error };
        let file = self
            .folder
            .as_ref()
            .map(|folder| folder.join(format!("{agent}.bin")));
        let mut party =
            HostAgent::open(&self.shared, agent, self.run.seed, file).map_err(failed)?;
        party.mask(masks);
        let world = self.run.clone();
        let objective = &self.run.objective;
        party.watch(move |candidate, number| {
            [
                world.objective.observe(agent, candidate, number),
                world.objective.value(agent, candidate),
            ]
        });
        let ended = party.run(&mut line, |query| {
            let measured = objective.observe(agent, query.candidate, query.number);
            std::future::ready(Ok(self.shared.in_units(measured)))
        });
        ended.await.map_err(failed)
    }
}

/// Shows the token until it was seen.
async fn enrol(link: &mut Link, agent: u32, masks: Option<&PublicKey>) -> Result<(), LinkError> {
    loop {
        match link.enrol_with(agent, Some(&token(agent)), masks).await {
            Err(
                LinkError::Connect(_) | LinkError::Http(_) | LinkError::Silence | LinkError::Body,
            ) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            other => return other,
        }
    }
}
