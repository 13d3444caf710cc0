//! The helper of a rehearsal: the door of a real one, before sources that a seed decides.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sordino_core::digest::Digest;
use sordino_core::math::Scalar;
use sordino_engine::federated::DriverError;
use sordino_engine::federated::context::MethodContext;
use sordino_engine::federated::host::ledger;
use sordino_host::files::FileError;
use sordino_host::server::SimulatedSources;
use sordino_host::shares::{Asked, Collection, Helper, HelperPlan, Keep, Question};
use sordino_host::signature::Fingerprint;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::error::RehearsalError;
use super::place::Place;
use crate::enrolment::Enrolment;
use crate::help::desk::{Desk, Enrolling, Help, Refused};
use crate::help::door::{self, HelpDoor};
use crate::help::gate::{Admits, Gate, LedBy};
use crate::help::line::{Line, LineError};
use crate::identity::Identity;
use crate::keys;
use crate::shares::{self, MaskKey};
use crate::terms::Terms;

/// Shown by the leader of a rehearsal; it protects nothing.
const TOKEN: [u8; 16] = [7; 16];

/// A rehearsal keeps nothing.
struct Nowhere;

impl Keep for Nowhere {
    fn keep(&mut self, _stored: &[u8]) -> Result<(), FileError> {
        Ok(())
    }
}

/// A helper that knows its terms beforehand.
struct Known {
    desk: Desk<SimulatedSources, Nowhere>,
    terms: Digest,
}

impl Help for Known {
    fn begin(&mut self, terms: &[u8], _leader: &LedBy) -> Result<MaskKey, Refused> {
        Terms::from_bytes(terms, Some(&self.terms))?;
        Ok(self.desk.key())
    }

    fn knows(&mut self, _pins: &[Fingerprint]) -> Result<(), Refused> {
        Ok(())
    }

    fn enrol(&mut self, agents: &[Enrolling]) -> Result<(), Refused> {
        self.desk.enrol(agents)
    }

    fn answer(&mut self, question: &Question) -> Result<Vec<u8>, Refused> {
        self.desk.answer(question)
    }
}

/// The second server of a rehearsal, as its leader sees it.
pub(super) struct Second {
    line: Line,
    /// The key of the helper's masks.
    pub(super) key: MaskKey,
    plan: HelperPlan,
    agents: u32,
    enrolment: Arc<Enrolment>,
    /// The door, and what an answer is told to.
    _beside: JoinSet<()>,
}

impl Second {
    /// A helper on loopback that has the terms; nothing where there is one server.
    ///
    /// **Errors**: [`RehearsalError`].
    pub(super) async fn open<T: Scalar>(
        terms: &Terms,
        base: &MethodContext<T>,
        place: &mut Place,
        chaos: bool,
    ) -> Result<Option<Self>, RehearsalError> {
        let agreement = &terms.agreement;
        let Some(plan) = shares::plan(agreement).map_err(Refused::from)? else {
            return Ok(None);
        };
        let agents = agreement.protocol.agents();
        let sources = SimulatedSources::of_helper(base.run.seed);
        let helper = Helper::open(
            plan.clone(),
            Vec::new(),
            sources,
            ledger(base, None)?,
            Nowhere,
            None,
        );
        let secret =
            sordino_core::federated::shares::SecretKey::new(*sordino_host::entropy::secret()?);
        let desk = Desk::new(
            secret,
            helper.map_err(Refused::from)?,
            agents,
            Default::default(),
            None,
        )?;
        let identity = Identity::generate()?;
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .map_err(RehearsalError::Listen)?;
        let address = listener.local_addr().map_err(RehearsalError::Listen)?;
        let (ends, mut ended) = mpsc::channel(16);
        let door = HelpDoor {
            gate: Arc::new(Gate::new(Admits::Token(TOKEN), None)),
            bind: Arc::new(Mutex::new(Box::new(|_leader| Ok(())))),
            help: Arc::new(Mutex::new(Known {
                desk,
                terms: terms.digest(),
            })),
            delay: Duration::ZERO,
            ends,
        };
        let mut beside = JoinSet::new();
        beside.spawn(door::serve(listener, keys::always(&identity)?, door));
        beside.spawn(async move { while ended.recv().await.is_some() {} });
        let address = if chaos {
            place.cut(address).await?
        } else {
            address
        };
        let leader = Identity::generate()?;
        let mut line = Line::new(
            &address.to_string(),
            &[identity.fingerprint()?],
            agreement.deployment,
            &leader,
        )?;
        let key = line
            .begun(Some(&TOKEN), &terms.to_bytes()?.into())
            .await
            .map_err(LineError::from)?;
        let enrolment = place.enrolment.clone();
        Ok(Some(Second {
            line,
            key,
            plan,
            agents,
            enrolment,
            _beside: beside,
        }))
    }

    /// Before the first share of an epoch; nothing where it has no release.
    pub(super) fn collection(&self, epoch: u32) -> Option<Collection> {
        self.plan.collection(epoch)
    }

    /// What the helper answers to a question.
    ///
    /// **Errors**: what the helper refuses.
    pub(super) async fn answer(&mut self, asked: &Asked) -> Result<Vec<u8>, RehearsalError> {
        let question = asked.question();
        if question.set.len() != self.agents as usize {
            return Err(DriverError::Check("an agent of a rehearsal sent no share").into());
        }
        let enrolment = &self.enrolment;
        Ok(self
            .line
            .answered(question, |agents| enrolment.masks(agents))
            .await?
            .to_vec())
    }
}
