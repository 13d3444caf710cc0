//! A handed-in method: what is asked of its agents, and what its server makes of the answers.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sordino_core::federated::Counters;
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose};
use sordino_experiment::progress::Stage;

use super::super::collective::Partial;
use super::super::error::DriverError;
use super::super::run::{Federated, Released};
use super::Message;
use super::context::CustomContext;
use super::shard::{CustomOrder, sendable};

/// The state of its server: what it keeps, and what it sent last.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Server<T> {
    kept: Vec<f64>,
    /// Empty if nothing was sent.
    broadcast: Vec<f64>,
    /// The same in the format of the agents; never stored.
    #[serde(skip)]
    sent: Vec<T>,
}

impl<T: Scalar> CustomContext<T> {
    /// Whether messages are collected at the end of round t.
    fn collects(&self, round: u32) -> bool {
        self.server().is_some() && round < self.ground.rounds
    }
}

impl<T: Scalar> Federated for CustomContext<T> {
    type Server = Server<T>;
    type Stored = Server<T>;

    fn server(
        self: &Arc<Self>,
        _: Option<&Path>,
        stored: Option<Server<T>>,
    ) -> Result<Server<T>, DriverError> {
        Ok(stored.unwrap_or(Server {
            kept: Vec::new(),
            broadcast: Vec::new(),
            sent: Vec::new(),
        }))
    }

    /// Nothing that a ledger would know of: no guarantee is claimed.
    fn releases_after(&self, _: &Server<T>, _: u32) -> bool {
        false
    }

    fn query(&self, server: &mut Server<T>, round: u32) -> Result<CustomOrder, DriverError> {
        let broadcast = Some(std::mem::take(&mut server.broadcast))
            .filter(|sent| !sent.is_empty())
            .map(Arc::from);
        Ok(CustomOrder {
            round,
            broadcast,
            collecting: self.collects(round),
        })
    }

    fn close<'s>(
        &self,
        server: &'s mut Server<T>,
        round: u32,
        partials: &mut [Partial],
    ) -> Result<Released<'s, T>, DriverError> {
        if !self.collects(round) {
            return Ok(None);
        }
        let mut messages: Vec<Message> = partials
            .iter_mut()
            .flat_map(|partial| partial.messages.drain(..))
            .collect();
        server.combine(self, round, &mut messages)?;
        Ok(Some((&server.sent[..], Counters::default())).filter(|(sent, _)| !sent.is_empty()))
    }

    fn store(&self, server: &mut Server<T>) -> Result<impl Serialize, DriverError> {
        Ok(&*server)
    }

    fn spent(&self, _: &Server<T>) -> Result<Stage, DriverError> {
        Ok(Stage::Done {
            epsilon: None,
            budget: None,
        })
    }

    fn sync(&self, _: &mut Server<T>) -> Result<(), DriverError> {
        Ok(())
    }
}

impl<T: Scalar> Server<T> {
    /// What goes out after a round, in the format of the agents; empty if nothing does.
    fn combine(
        &mut self,
        context: &CustomContext<T>,
        round: u32,
        messages: &mut [Message],
    ) -> Result<(), DriverError> {
        self.sent.clear();
        let Some(server) = context.server() else {
            return Ok(());
        };
        messages.sort_by_key(|message| (message.agent, message.round));
        let mut coins = context
            .base
            .run
            .seed
            .stream(Party::Server, Purpose::RandomPolicy, round);
        let numbers = server.combine(&context.ground, messages, &mut self.kept, &mut coins);
        sendable(context, round, &numbers, None, || "the server".to_owned())?;
        self.sent.extend(numbers.into_iter().map(T::from_f64));
        self.broadcast = self.sent.iter().map(|x| x.to_f64()).collect();
        Ok(())
    }
}
