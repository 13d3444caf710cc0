//! The collective of the simulator over a network: one member, which holds all agents by their
//! doors.
//!
//! The simulator asks round by round, a network exchanges epoch by epoch: the answers of an epoch
//! hold the steps of all its rounds, and what was uploaded waits for the order that takes it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use sordino_core::digest::Digest;
use sordino_core::federated::exchange::Protocol;
use sordino_core::federated::transcript::steps_max;
use sordino_engine::federated::DriverError;
use sordino_engine::federated::blocks;
use sordino_engine::federated::collective::{Collective, Partial};
use sordino_engine::federated::lent::Snapshots;
use sordino_engine::federated::link::Collects;
use sordino_engine::federated::regret_counts::RegretCounts;
use sordino_engine::federated::shard::Shard;
use sordino_engine::federated::turn::Numbers;
use sordino_experiment::world::fault::FaultCounts;
use sordino_host::shares::{Asked, Collection};
use tokio::time::Instant;

use super::error::RehearsalError;
use super::second::Second;
use super::simulated::Rehearsed;
use crate::agent::SLOT_BYTES;
use crate::door::OfferError;
use crate::party::Number;
use crate::rounds::{Rounds, Upload};
use crate::shares::Shared;

/// One step of the transcript, of all agents: leaves, and best values.
type Slot = (Vec<Digest>, Vec<f64>);

/// What is done with a frame before it is announced.
pub(super) type Offer<'r> = Box<dyn FnMut(&[u8]) -> Result<(), OfferError> + Send + 'r>;

/// The one member of the collective.
pub(super) struct Network<'r, T, M> {
    method: Arc<M>,
    protocol: &'r Protocol,
    rounds: &'r mut Rounds,
    deadline_ms: u64,
    /// Makes public what follows from a frame, before it is announced.
    offer: Offer<'r>,
    /// The helper, where there are two servers.
    second: Option<Second>,
    /// The shares of the last epoch.
    asked: Option<Asked>,
    /// The epoch whose answers are here.
    epoch: Option<u32>,
    steps: VecDeque<Slot>,
    uploads: Vec<(u32, Vec<T>)>,
    pub(super) times: Vec<Duration>,
    pub(super) failed: Option<RehearsalError>,
}

impl<'r, T: Number, M: Rehearsed<T>> Network<'r, T, M> {
    pub(super) fn new(
        method: Arc<M>,
        protocol: &'r Protocol,
        rounds: &'r mut Rounds,
        deadline_ms: u64,
        (offer, second): (Offer<'r>, Option<Second>),
    ) -> Self {
        let epoch = None;
        let asked = None;
        let steps = VecDeque::new();
        let uploads = Vec::new();
        let times = Vec::new();
        Network {
            method,
            protocol,
            rounds,
            deadline_ms,
            offer,
            second,
            asked,
            epoch,
            steps,
            uploads,
            times,
            failed: None,
        }
    }

    /// The helper's answer to the shares that an order takes; nothing where there is one server.
    async fn answered(
        &mut self,
        order: &M::Order,
    ) -> Result<Option<(Asked, Vec<u8>)>, RehearsalError> {
        let (Some(second), Some(_release)) = (&mut self.second, self.method.takes(order)) else {
            return Ok(None);
        };
        let asked = self.asked.take().ok_or(DriverError::Check(
            "a release for which no share was collected",
        ))?;
        let answer = self.rounds.meanwhile(second.answer(&asked)).await??;
        Ok(Some((asked, answer)))
    }

    async fn take(&mut self, order: M::Order) -> Result<Partial, RehearsalError> {
        let until = self.method.epoch(&order);
        while self.epoch.is_none_or(|epoch| epoch < until) {
            let epoch = self.epoch.map_or(0, |epoch| epoch + 1);
            let method = self.method.clone();
            self.exchange(epoch, method.frame(&order, epoch).as_deref())
                .await?;
            self.epoch = Some(epoch);
        }
        let count = self.protocol.agents();
        let missing = DriverError::Check("an order for which no agent has answered");
        let (leaves, best) = self.steps.pop_front().ok_or(missing)?;
        let base = self.method.base();
        let regrets: Vec<f64> = (0..)
            .zip(&best)
            .map(|(agent, best)| base.run.optimum(agent) - best)
            .collect();
        let answered = self.answered(&order).await?;
        let mut numbers = Numbers::default();
        // Two servers take no vectors.
        let mut collector = match answered {
            Some(_) => None,
            None => self.method.collector(&order, 0..count, &mut numbers)?,
        };
        if let (Some(collector), Some(release)) = (&mut collector, self.method.takes(&order)) {
            for (agent, upload) in self.uploads.drain(..) {
                collector
                    .take(agent, release, &upload)
                    .map_err(DriverError::Server)?;
            }
        }
        let collected = collector.map(M::collected).unwrap_or_default();
        Ok(Partial {
            agents: 0..count,
            collected: collected.sums,
            pieces: blocks::cut(0, count, &leaves, &regrets),
            regrets: RegretCounts::of(&regrets),
            faults: FaultCounts::default(),
            observations: Vec::new(),
            messages: collected.messages,
            answered,
        })
    }

    /// One epoch: announces its frame, and keeps what agents answer.
    async fn exchange(&mut self, epoch: u32, numbers: Option<&[T]>) -> Result<(), RehearsalError> {
        let count = self.protocol.agents() as usize;
        let (frame, chain) = self.rounds.frame(epoch, 0, numbers)?;
        (self.offer)(&frame)?;
        let start = Instant::now();
        let slots = steps_max(self.protocol);
        let mut steps = vec![
            (
                vec![Digest::default(); count],
                vec![f64::NEG_INFINITY; count]
            );
            slots
        ];
        let mut incoming = vec![T::ZERO; self.protocol.upload_len()];
        let uploads = &mut self.uploads;
        uploads.clear();
        self.rounds
            .announce(epoch, 0, frame, chain, self.deadline_ms, true)?;
        let mut collection = self
            .second
            .as_ref()
            .and_then(|second| second.collection(epoch));
        let take = |upload: &Upload<'_>| {
            let who = upload.who as usize;
            if upload.header.len > 0 {
                upload
                    .payload
                    .read(&mut incoming)
                    .map_err(|error| error.to_string())?;
                uploads.push((upload.who, incoming.clone()));
            }
            if let (Some(Shared { attempt, share }), Some(collection)) =
                (Shared::read(upload.share), &mut collection)
            {
                collection
                    .add(upload.who, attempt, share)
                    .map_err(|error| error.to_string())?;
            }
            for ((leaves, best), slot) in steps
                .iter_mut()
                .zip(upload.trailer.chunks_exact(SLOT_BYTES))
            {
                let (leaf, value) = slot.split_at(32);
                leaves[who].0.copy_from_slice(leaf);
                best[who] = f64::from_le_bytes(
                    value
                        .try_into()
                        .map_err(|_| "a trailer of another length")?,
                );
            }
            Ok(())
        };
        let complete = self.rounds.collect(self.deadline_ms, take).await?;
        self.times.push(start.elapsed());
        if !complete {
            let answered = self.rounds.status().borrow().answered;
            return Err(RehearsalError::Deadline {
                round: epoch,
                answered,
            });
        }
        self.asked = collection.map(Collection::ask);
        self.steps = steps.into();
        Ok(())
    }
}

impl<T: Number, M: Rehearsed<T>> Collective<Shard<M>> for &mut Network<'_, T, M> {
    type Error = DriverError;

    async fn round(&mut self, order: M::Order) -> Result<Vec<Partial>, DriverError> {
        match self.take(order).await {
            Ok(partial) => Ok(vec![partial]),
            Err(RehearsalError::Driver(error)) => Err(error),
            Err(error) => {
                self.failed = Some(error);
                Err(DriverError::WorkerLost)
            }
        }
    }

    async fn snapshot(&mut self) -> Result<Snapshots<'_, M::State>, DriverError> {
        Err(DriverError::Check(
            "agents of a network keep their own state",
        ))
    }
}
