//! Where a rehearsal takes place: loopback, and what lies between.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use sordino_core::federated::transcript::steps_max;
use sordino_host::entropy::NoEntropy;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::error::RehearsalError;
use super::options::Options;
use crate::agent::SLOT_BYTES;
use crate::chaos;
use crate::door::{self, Counts, Door, Limits, Offered};
use crate::enrolment::Enrolment;
use crate::identity::{Identity, Sealer};
use crate::invitation::Invitation;
use crate::keys;
use crate::shares::{self, MaskKey};
use crate::terms::Terms;

/// Agents as tasks.
pub(super) type Agents = JoinSet<Result<(), RehearsalError>>;

/// A bad network in front of an address, which ends with the others.
async fn cut(
    between: &mut JoinSet<Result<(), NoEntropy>>,
    back: SocketAddr,
    cuts: Arc<AtomicU64>,
) -> Result<SocketAddr, RehearsalError> {
    let front = TcpListener::bind(("127.0.0.1", 0))
        .await
        .map_err(RehearsalError::Listen)?;
    let address = front.local_addr().map_err(RehearsalError::Listen)?;
    between.spawn(async move {
        chaos::cut(front, back, cuts).await;
        Ok(())
    });
    Ok(address)
}

/// Where a rehearsal takes place: a server's key, a list of keys, and what lies between.
pub(super) struct Place {
    pub(super) identity: Identity,
    pub(super) enrolment: Arc<Enrolment>,
    /// What agents call: the listener, or the bad network in front of it.
    pub(super) address: String,
    pub(super) cuts: Arc<AtomicU64>,
    pub(super) deaths: Arc<AtomicU64>,
    /// The bad network and the ends of a bridge. They end with their run: the next one has the same
    /// names on a broker.
    between: JoinSet<Result<(), NoEntropy>>,
}

impl Place {
    pub(super) async fn open(
        terms: &Terms,
        options: &Options,
    ) -> Result<(Place, TcpListener), RehearsalError> {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .map_err(RehearsalError::Listen)?;
        let mut address = listener.local_addr().map_err(RehearsalError::Listen)?;
        let cuts = Arc::new(AtomicU64::new(0));
        let mut between = JoinSet::new();
        if options.chaos {
            address = cut(&mut between, address, cuts.clone()).await?;
        }
        #[cfg(feature = "mqtt")]
        if let Some(broker) = &options.broker {
            let front = TcpListener::bind(("127.0.0.1", 0))
                .await
                .map_err(RehearsalError::Listen)?;
            let back = std::mem::replace(
                &mut address,
                front.local_addr().map_err(RehearsalError::Listen)?,
            );
            between.spawn(crate::bridge::far(back.to_string(), broker.clone()));
            between.spawn(crate::bridge::near(front, broker.clone()));
        }
        let enrolment =
            Arc::new(Enrolment::in_memory().trusting(shares::trust(&terms.agreement.protocol)));
        for slot in 0..terms.agreement.protocol.agents() {
            enrolment.admit(slot, &token(slot));
        }
        let address = address.to_string();
        let deaths = Arc::new(AtomicU64::new(0));
        let identity = Identity::generate()?;
        let place = Place {
            identity,
            enrolment,
            address,
            cuts,
            deaths,
            between,
        };
        Ok((place, listener))
    }

    /// A bad network in front of an address.
    pub(super) async fn cut(&mut self, back: SocketAddr) -> Result<SocketAddr, RehearsalError> {
        cut(&mut self.between, back, self.cuts.clone()).await
    }

    pub(super) fn door(
        &self,
        terms: &Terms,
        listener: TcpListener,
        requests: mpsc::Sender<crate::rounds::Request>,
        offered: watch::Receiver<Option<Offered>>,
    ) -> Result<impl Future<Output = ()> + Send + use<>, RehearsalError> {
        let agreement = &terms.agreement;
        let door = Door {
            deployment: agreement.deployment,
            offered,
            terms: terms.to_bytes()?.into(),
            body_max: terms.upload_bytes_max() + SLOT_BYTES * steps_max(&agreement.protocol),
            enrolment: self.enrolment.clone(),
            authority: None,
            tells_joined: false,
            requests,
            limits: Limits {
                per_key: 64,
                strangers: Limits::default().connections,
                ..Limits::default()
            },
            counts: Arc::new(Counts::default()),
        };
        Ok(door::serve(listener, keys::always(&self.identity)?, door))
    }

    pub(super) fn sealer(&self, terms: &Terms) -> Sealer {
        // Nothing of a rehearsal is secret, and it has no folder.
        Sealer::new(&terms.agreement.digest().0)
    }

    pub(super) fn invitation(
        &self,
        terms: &Terms,
        slot: u32,
        helper: Option<MaskKey>,
    ) -> Result<Invitation, RehearsalError> {
        let address = self.address.clone();
        let deployment = terms.agreement.deployment;
        let pins = vec![self.identity.fingerprint()?];
        let token = Some(token(slot));
        Ok(Invitation {
            address,
            deployment,
            slot,
            terms: terms.digest(),
            pins,
            token,
            helper,
        })
    }
}

/// A token for a rehearsal; it protects nothing.
pub(super) fn token(slot: u32) -> [u8; 16] {
    let mut token = [0; 16];
    token[..4].copy_from_slice(&slot.to_le_bytes());
    token
}
