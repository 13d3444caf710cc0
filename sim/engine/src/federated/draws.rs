//! Methods that share draws, or nothing: what is asked of their agents, and what their server makes
//! of the answers.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use sordino_core::federated::{
    Agent, AgentState, AgentStorage, Aggregation, Collector, Draws, Input, Output, Public, log_len,
    workspace_len,
};
use sordino_core::math::{Scalar, read_all_le};
use sordino_experiment::progress::Stage;
use sordino_experiment::record::Source;
use sordino_host::server::{SimulatedSources, StoredServer};

use super::arena::AgentSlot;
use super::collective::{Call, Order, Partial};
use super::context::MethodContext;
use super::error::DriverError;
use super::host::{self, ServerHost};
use super::link::Reach;
use super::run::{Federated, Released};
use super::shard::{self, Agents, Collected, Numbers, Query, Turn};

impl<T: Scalar> Agents for MethodContext<T> {
    type Number = T;
    type Order = Order<T>;
    type State = AgentState;
    type View<'v> = Public<'v, T>;
    type Collector<'c> = Collector<'c, Draws<'c>>;

    fn base(&self) -> &MethodContext<T> {
        self
    }

    fn lengths(&self) -> Result<[usize; 2], DriverError> {
        Ok([log_len(&self.config), workspace_len(&self.public()?)])
    }

    fn fresh(&self, agent: u32) -> AgentState {
        AgentState::new(agent, self.run.seed)
    }

    fn call(&self, order: &Order<T>) -> Call {
        let upload_len = self.config.parameters().feature_count as usize;
        Call {
            round: order.round,
            coins: order.round,
            queries: true,
            upload_len,
        }
    }

    fn view(&self) -> Result<Public<'_, T>, DriverError> {
        self.public()
    }

    fn collector<'c>(
        &'c self,
        order: &Order<T>,
        agents: Range<u32>,
        numbers: &'c mut Numbers,
    ) -> Result<Option<Collector<'c, Draws<'c>>>, DriverError> {
        let Some(share) = &order.share else {
            return Ok(None);
        };
        let other = DriverError::Check("an order without the sample of a member's own agents");
        let share = share.part(agents).ok_or(other)?;
        shard::collector(
            Draws::new(&self.config, share.broadcast())?,
            &share,
            numbers,
        )
        .map(Some)
    }

    /// One round: until the agent uploads, waits, is away or is done.
    fn act(
        &self,
        public: Public<'_, T>,
        order: &Order<T>,
        turn: &mut Turn<'_, T, Collector<'_, Draws<'_>>>,
        slot: AgentSlot<'_, T, AgentState>,
    ) -> Result<(), DriverError> {
        let AgentSlot {
            agent: index,
            state,
            log,
            workspace,
            best,
        } = slot;
        let reach = turn.reaches(index, order.broadcast.is_some());
        let mut agent = Agent::attach(&public, state, AgentStorage { log, workspace })?;
        let (mut input, queries) = match (&order.broadcast, reach) {
            _ if order.round == 0 => (Input::Start, self.config.parameters().initial_points),
            (_, Reach::Away) => (Input::Missed, 0),
            (Some(vectors), Reach::Broadcast) => (
                Input::Broadcast {
                    vectors,
                    maximum: order.maximum,
                },
                1,
            ),
            _ => (Input::NoBroadcast, 1),
        };
        let mut leaf = turn.leaf(index, queries);
        loop {
            match agent.handle(input)? {
                Output::Evaluate {
                    candidate, number, ..
                } => {
                    let source = order.source(reach == Reach::Broadcast, candidate);
                    let query = Query {
                        candidate,
                        number,
                        source,
                    };
                    input = Input::Observed(turn.evaluate(&mut leaf, best, query)?);
                }
                Output::Upload(vector) => return turn.upload(leaf, order.round, vector),
                Output::Wait | Output::Done => {
                    turn.silent(leaf);
                    return Ok(());
                }
            }
        }
    }

    fn collected(collector: Collector<'_, Draws<'_>>) -> Collected {
        shard::sums(collector)
    }
}

impl<T> Order<T> {
    /// Whose choice a query of this round is; `reached` tells whether the broadcast arrived.
    fn source(&self, reached: bool, candidate: u32) -> Source {
        match (self.round, self.maximum) {
            (0, _) => Source::Initial,
            (_, Some(maximum)) if reached && maximum == candidate => Source::Server,
            _ => Source::Own,
        }
    }
}

impl<T: Scalar> MethodContext<T> {
    /// Whether uploads are collected at the end of round t: nobody uploads what nobody will read.
    fn collects(&self, round: u32) -> bool {
        let p = self.config.parameters();
        p.aggregation != Aggregation::None && round < p.rounds
    }
}

impl<T: Scalar> Federated for MethodContext<T> {
    type Server = ServerHost<T>;
    /// The server, and the vectors of its last broadcast, little-endian.
    type Stored = (StoredServer, Vec<u8>);

    fn server(
        self: &Arc<Self>,
        path: Option<&Path>,
        stored: Option<(StoredServer, Vec<u8>)>,
    ) -> Result<ServerHost<T>, DriverError> {
        let sources = SimulatedSources::new(self.run.seed);
        let (stored, broadcast) = stored.unzip();
        let broadcast: Vec<T> = read_all_le(&broadcast.unwrap_or_default()).collect();
        let stored = stored.map(|server| (server, &broadcast[..]));
        Ok(ServerHost::new(
            Arc::new(self.config.clone()),
            sources,
            host::ledger(self, path)?,
            stored,
        )?)
    }

    fn releases_after(&self, _: &ServerHost<T>, round: u32) -> bool {
        self.collects(round)
    }

    fn query(&self, server: &mut ServerHost<T>, round: u32) -> Result<Order<T>, DriverError> {
        let regions = &self.config.parameters().regions;
        let broadcast: Option<Arc<[T]>> = server.broadcast().map(Arc::from);
        let mut maximum = None;
        if let Some(vectors) = &broadcast {
            let mut point = vec![T::ZERO; self.config.broadcast_len() + regions.splits().len()];
            maximum = Some(
                self.public()?
                    .maximize(regions, vectors, &mut point)
                    .candidate,
            );
        }
        let share = host::opened(server, self.collects(round))?;
        Ok(Order {
            round,
            broadcast,
            maximum,
            share,
            source: server.kind(),
        })
    }

    fn close<'s>(
        &self,
        server: &'s mut ServerHost<T>,
        round: u32,
        partials: &mut [Partial],
    ) -> Result<Released<'s, T>, DriverError> {
        if !self.collects(round) {
            return Ok(None);
        }
        host::close(server, partials)
    }

    fn store(&self, server: &mut ServerHost<T>) -> Result<impl Serialize, DriverError> {
        host::stored(server)
    }

    fn spent(&self, server: &ServerHost<T>) -> Result<Stage, DriverError> {
        host::spent(self, server.ledger(), server.state().releases())
    }

    fn sync(&self, server: &mut ServerHost<T>) -> Result<(), DriverError> {
        Ok(server.sync()?)
    }
}
