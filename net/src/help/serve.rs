//! A helper as a process: secret noise, a budget of its own, files from which it goes on after
//! being killed at any moment.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sordino_core::federated::shares::Trust;
use sordino_host::files::create_privately;
use sordino_host::ledger::{CounterPlace, Ledger, Options};
use sordino_host::server::SystemSources;
use sordino_host::shares::{Helper, HelperError, HelperPlan, Kept, Question};
use sordino_host::signature::Fingerprint;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use super::desk::{Desk, Enrolling, Help, Refused};
use super::door::{self, HelpDoor};
use super::folder::{ANSWERS, HelpFolder, HelpFolderError, LEDGER};
use super::gate::{Admits, Gate, LedBy};
use crate::admission;
use crate::enrolment;
use crate::keys;
use crate::progress::{note, told_of_key};
use crate::shares::{self, MaskKey};
use crate::terms::Terms;

/// How a helper runs.
pub struct Helping {
    /// Where it listens, `HOST:PORT`.
    pub listen: String,
    /// Where its leader finds it; where it listens if none.
    pub address: Option<String>,
    /// The certificate of an authority that says by certificates who the leader is, in DER; a token
    /// says it if none.
    pub authority: Option<Vec<u8>>,
    /// Where the second count of its ledger is kept.
    pub counter: CounterPlace,
    /// The most ε of terms that it agrees to; what the terms say if none.
    pub epsilon_max: Option<f64>,
    /// From a question to its answer: longer than an answer takes, so that the time of the noise
    /// does not show.
    pub delay: Duration,
    /// How long it stays after the last answer, to repeat it.
    pub linger: Duration,
}

/// Why a helper ended.
#[derive(Debug, thiserror::Error)]
pub enum HelpError {
    /// Its folder cannot be used.
    #[error(transparent)]
    Folder(#[from] HelpFolderError),
    /// What it keeps does not fit together, or cannot be written.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It cannot listen.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// Where it should have listened.
        address: String,
        /// What the system says.
        #[source]
        error: std::io::Error,
    },
    /// Its door was lost: it panicked.
    #[error("the door of this helper was lost; nothing was answered that was not charged")]
    Lost,
}

/// A refusal names no more agents than this; the next one names others.
const SHUT_OUT_MAX: usize = 1 << 12;

type System = Desk<SystemSources, Kept>;

/// What a helper's door hands requests to: nothing but a folder until there are terms.
struct Office {
    folder: HelpFolder,
    counter: CounterPlace,
    epsilon_max: Option<f64>,
    open: Option<(System, Terms)>,
    /// Keys of this helper that the leader knows.
    pins: Option<Vec<Fingerprint>>,
}

/// What a helper of these terms plans; whoever trusts one server has none.
fn plan(terms: &Terms) -> Result<HelperPlan, Refused> {
    if shares::trust(&terms.agreement.protocol) == Trust::OneServer {
        return Err(Refused::OneServer);
    }
    shares::plan(&terms.agreement)?.ok_or(Refused::OneServer)
}

/// What goes wrong with the files of a helper.
fn unusable(error: impl std::fmt::Display) -> Refused {
    Refused::Unusable(error.to_string())
}

impl Office {
    /// Opens everything that belongs to these terms.
    fn desk(&self, terms: &Terms) -> Result<System, Refused> {
        let plan = plan(terms)?;
        let agreement = &terms.agreement;
        let agents = agreement.protocol.agents();
        let data = format!("federation {:016x}, as its helper", agreement.deployment);
        let charged = admission::ledger_of(terms, &data)?;
        let next = plan.events().take(1).collect();
        let options = Options {
            counter: self.counter.clone(),
            another: false,
            next,
        };
        let path = self.folder.path().join(LEDGER);
        create_privately(&path, b"")?;
        let ledger = Ledger::open_secret(&path, &charged, &options).map_err(HelperError::from)?;
        ledger.notes().iter().for_each(|told| note(told));
        let keep = Kept(self.folder.path().join(ANSWERS));
        let stored = self.folder.answers().map_err(unusable)?;
        let sources = SystemSources::new().map_err(HelperError::from)?;
        let helper = Helper::open(plan, Vec::new(), sources, ledger, keep, stored.as_deref())?;
        let secret = self.folder.masks().map_err(unusable)?;
        let known = self.folder.agents().map_err(unusable)?;
        Desk::new(
            secret,
            helper,
            agents,
            known,
            Some(self.folder.agents_path()),
        )
    }

    /// Refuses a question that names agents whom the owner shut out.
    fn admit(&self, question: &Question) -> Result<(), Refused> {
        // A line that cannot be read may name anybody: nothing is answered.
        let out = enrolment::all_revoked(self.folder.path()).map_err(unusable)?;
        let named = question.set.iter().map(|contributor| contributor.agent);
        let agents: Vec<u32> = named
            .filter(|agent| out.contains(agent))
            .take(SHUT_OUT_MAX)
            .collect();
        if agents.is_empty() {
            Ok(())
        } else {
            Err(Refused::ShutOut { agents })
        }
    }

    fn opened(&mut self) -> Result<&mut System, Refused> {
        self.open
            .as_mut()
            .map(|(desk, _)| desk)
            .ok_or(Refused::NoTerms)
    }

    /// Whether every release of the plan was answered.
    fn is_done(&self) -> bool {
        self.open
            .as_ref()
            .is_some_and(|(desk, terms)| desk.answered() >= terms.agreement.protocol.epochs())
    }
}

impl Help for Office {
    fn begin(&mut self, terms: &[u8], caller: &LedBy) -> Result<MaskKey, Refused> {
        let terms = Terms::from_bytes(terms, None)?;
        let run = terms.agreement.deployment;
        if let LedBy::Certificate(led) = caller
            && *led != run
        {
            return Err(Refused::OtherRun {
                run,
                caller: *caller,
            });
        }
        if let Some((desk, known)) = &self.open {
            return match known.difference(&terms) {
                Some(difference) => Err(Refused::OtherTerms { difference }),
                None => Ok(desk.key()),
            };
        }
        plan(&terms)?;
        let admitted = admission::admit(&terms)?;
        if let Some(most) = self.epsilon_max.filter(|most| !(admitted.epsilon <= *most)) {
            return Err(Refused::Epsilon {
                epsilon: admitted.epsilon,
                delta: admitted.delta,
                most,
            });
        }
        self.folder.keep(&terms).map_err(unusable)?;
        let desk = self.desk(&terms)?;
        note(&format!(
            "agrees to the terms {}: {admitted}",
            terms.digest()
        ));
        let key = desk.key();
        self.open = Some((desk, terms));
        Ok(key)
    }

    fn knows(&mut self, pins: &[Fingerprint]) -> Result<(), Refused> {
        if self.pins.as_deref() != Some(pins) {
            self.folder.set_pins_of_leader(pins)?;
            self.pins = Some(pins.to_vec());
        }
        Ok(())
    }

    fn enrol(&mut self, agents: &[Enrolling]) -> Result<(), Refused> {
        self.opened()?.enrol(agents)
    }

    fn answer(&mut self, question: &Question) -> Result<Vec<u8>, Refused> {
        let before = self.opened()?.answered();
        // What was answered is said again, whoever was shut out since: another answer would be
        // another release.
        if question.epoch >= before {
            self.admit(question)?;
        }
        let desk = self.opened()?;
        let answer = desk.answer(question)?;
        if desk.answered() > before {
            note(&format!(
                "answered for epoch {}: {} agents; charged",
                question.epoch,
                question.set.len()
            ));
        }
        Ok(answer)
    }
}

/// Helps until every release was answered, and for a while longer.
///
/// **Errors**: [`HelpError`]; in every case nothing left that was not charged.
pub async fn serve(path: &Path, helping: Helping) -> Result<(), HelpError> {
    let folder = HelpFolder::begin(path, helping.authority.as_deref())?;
    let listener = TcpListener::bind(&helping.listen).await;
    let listener = listener.map_err(|error| HelpError::Listen {
        address: helping.listen.clone(),
        error,
    })?;
    let url = folder.set_address(helping.address.as_ref().unwrap_or(&helping.listen))?;
    let leader = folder.leader()?;
    let terms = folder.terms()?;
    let key = folder.mask_key()?;
    let present = folder
        .identity
        .fingerprint()
        .map_err(HelpFolderError::from)?;
    let (show, shown) = watch::channel(folder.identity.server().map_err(HelpFolderError::from)?);
    let admits = match folder.authority()? {
        Some(leaders) => Admits::Authority(leaders),
        None => Admits::Token(folder.token()?),
    };
    let gate = Arc::new(Gate::new(admits, leader));
    let pins = folder.pins_of_leader()?;
    let mut office = Office {
        folder,
        counter: helping.counter,
        epsilon_max: helping.epsilon_max,
        open: None,
        pins,
    };
    let file = path.join("url");
    match (leader, terms) {
        (Some(_), Some(terms)) => office.open = Some((office.desk(&terms)?, terms)),
        // Terms without a leader: handed over once more, or a death came between.
        _ => note(&format!(
            "no leader yet; it says: sordino serve … --helper @FILE, with what {} says ({}, key {present})",
            file.display(),
            url.address
        )),
    }
    note(&format!(
        "helping at {}; agents are told the key {key}, and may ask you for it",
        url.address
    ));
    let over = office.is_done();
    let office = Arc::new(Mutex::new(office));
    let (ends, mut ended) = mpsc::channel(16);
    let at = path.to_owned();
    let bind: door::Bind = Box::new(move |leader| Ok(HelpFolder::bind(&at, leader)?));
    let bind = Arc::new(Mutex::new(bind));
    let delay = helping.delay;
    let door = HelpDoor {
        gate,
        bind,
        help: office.clone(),
        delay,
        ends,
    };
    let mut beside = tokio::task::JoinSet::new();
    beside.spawn(door::serve(listener, shown, door));
    let keys = path.to_owned();
    beside.spawn(async move { keys::follow(&keys, present, show, told_of_key).await });
    until_done(&office, &mut ended, over, helping.linger).await
}

/// Waits until every release was answered and the linger is over, or something ends the helper.
async fn until_done(
    office: &Mutex<Office>,
    ended: &mut mpsc::Receiver<Option<Refused>>,
    mut over: bool,
    linger: Duration,
) -> Result<(), HelpError> {
    loop {
        let told = match over {
            false => ended.recv().await,
            true => match tokio::time::timeout(linger, ended.recv()).await {
                Ok(told) => told,
                Err(_elapsed) => return Ok(()),
            },
        };
        match told {
            None => return Err(HelpError::Lost),
            Some(Some(refused)) => return Err(refused.into()),
            Some(None) => {
                over = office
                    .lock()
                    .map_err(|_poisoned| HelpError::Lost)?
                    .is_done()
            }
        }
    }
}
