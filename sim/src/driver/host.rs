//! The server with its numbers, and the books of one method: transcript, regret, charges.

use sordino_core::digest::Digest;
use sordino_core::federated::transcript::link;
use sordino_core::federated::{
    Aggregation, Server, ServerInput, ServerOutput, ServerState, ServerStorage, storage_lens,
};
use sordino_core::math::Scalar;
use sordino_core::privacy::budget::{BudgetError, Filter};
use sordino_core::random::{Party, Purpose, Simulated};
use sordino_core::wire;

use super::context::MethodContext;
use super::shard::Shard;
use super::{DriverError, MethodRun};

/// The server of one federation, owning its numbers.
pub struct ServerHost<T> {
    state: ServerState,
    sums: Vec<i64>,
    noise: Vec<i64>,
    flags: Vec<u8>,
    vectors: Vec<T>,
    incoming: Vec<T>,
    source: Simulated,
    filter: Filter,
    broadcast: bool,
}

impl<T: Scalar> ServerHost<T> {
    /// A server before broadcast 0, with the budget of its scenario.
    pub fn new(method: &MethodContext<T>) -> Result<Self, DriverError> {
        let (sums, noise, flags, vectors) = storage_lens(&method.config);
        let (epsilon_max, delta) = method.budget;
        Ok(ServerHost {
            state: ServerState::new(),
            sums: vec![0; sums],
            noise: vec![0; noise],
            flags: vec![0; flags],
            vectors: vec![T::ZERO; vectors],
            incoming: vec![T::ZERO; method.config.parameters().feature_count as usize],
            source: release_source(method, 0),
            filter: Filter::new(epsilon_max, delta).map_err(DriverError::Budget)?,
            broadcast: false,
        })
    }

    /// The vectors of the last round's broadcast; nothing if it did not take place.
    pub fn broadcast(&self) -> Option<&[T]> {
        self.broadcast.then_some(&self.vectors[..])
    }

    fn attach<'a>(
        &'a mut self,
        method: &'a MethodContext<T>,
    ) -> Result<(Server<'a, T>, &'a mut Simulated), DriverError> {
        let storage = ServerStorage {
            sums: &mut self.sums,
            noise: &mut self.noise,
            flags: &mut self.flags,
            vectors: &mut self.vectors,
        };
        let server = Server::attach(&method.config, &mut self.state, storage).map_err(DriverError::Server)?;
        Ok((server, &mut self.source))
    }

    /// Opens the next broadcast with its own stream of coins and noise, unless the budget refuses it: then nothing is
    /// drawn, and the agents will go on alone.
    pub fn open(&mut self, method: &MethodContext<T>) -> Result<(), DriverError> {
        self.source = release_source(method, self.state.broadcast());
        let event = self.attach(method)?.0.event();
        let admitted = match event.map(|event| self.filter.admits(&event)) {
            None | Some(Ok(())) => true,
            Some(Err(BudgetError::Exhausted { .. })) => false,
            Some(Err(error)) => return Err(DriverError::Budget(error)),
        };
        self.broadcast = admitted;
        let (mut server, source) = self.attach(method)?;
        let input = if admitted { ServerInput::Open } else { ServerInput::Skip };
        server.handle(input, source).map_err(DriverError::Server)?;
        Ok(())
    }

    /// Takes the frames of one shard, whenever they arrive.
    pub fn collect(&mut self, method: &MethodContext<T>, shard: &Shard<T>) -> Result<(), DriverError> {
        if !self.broadcast {
            return Ok(());
        }
        let mut incoming = std::mem::take(&mut self.incoming);
        let (mut server, source) = self.attach(method)?;
        for frame in shard.frames() {
            let (header, payload) = wire::decode(frame, incoming.len() as u32).map_err(DriverError::Wire)?;
            if header.run != method.run.seed.value() || header.config != method.config_id {
                return Err(DriverError::ForeignFrame { run: header.run, config: header.config });
            }
            payload.read(&mut incoming).map_err(DriverError::Wire)?;
            let input = ServerInput::Upload { agent: header.agent, broadcast: header.round, vector: &incoming };
            server.handle(input, source).map_err(DriverError::Server)?;
        }
        self.incoming = incoming;
        Ok(())
    }

    /// Closes the broadcast: charge, release.
    pub fn close(&mut self, method: &MethodContext<T>) -> Result<(), DriverError> {
        if !self.broadcast {
            return Ok(());
        }
        let (mut server, source) = self.attach(method)?;
        let charge = match server.handle(ServerInput::Close, source).map_err(DriverError::Server)? {
            ServerOutput::Charge(event) => Some(event),
            _ => None,
        };
        if let Some(event) = charge {
            self.filter.charge(&event).map_err(DriverError::Budget)?;
            let (mut server, source) = self.attach(method)?;
            server.handle(ServerInput::Charged, source).map_err(DriverError::Server)?;
        }
        Ok(())
    }
}

/// Coins and noise of broadcast s: simulation, not private.
fn release_source<T>(method: &MethodContext<T>, broadcast: u32) -> Simulated {
    Simulated::new(method.run.seed.stream(Party::Server, Purpose::Release, broadcast))
}

/// What is written down of a method while it runs.
pub struct Books {
    run: MethodRun,
    agents: u32,
}

impl Books {
    /// Empty books.
    pub fn new<T>(method: &MethodContext<T>) -> Self {
        Books {
            run: MethodRun {
                method: method.method,
                run: method.run.index,
                digest: Digest::default(),
                chain: Vec::new(),
                regret: Vec::new(),
                regret_quantiles: Vec::new(),
                releases: 0,
                clipped_share: Vec::new(),
                selected_share: Vec::new(),
            },
            agents: method.config.parameters().agents,
        }
    }

    /// Ends round t: regret of the agents, the next link of the chain. `shards` in order, `last` if nothing is
    /// broadcast after the round.
    pub fn end_round<T: Scalar>(
        &mut self,
        method: &MethodContext<T>,
        shards: &[Shard<T>],
        server: &ServerHost<T>,
        last: bool,
    ) {
        let mut regrets: Vec<f64> = Vec::with_capacity(self.agents as usize);
        for shard in shards {
            let optima = &method.run.optima[shard.first() as usize..];
            regrets.extend(shard.best().iter().zip(optima).map(|(best, optimum)| optimum - best));
        }
        // A serial sum in agent order: the same bits for any number of shards.
        self.run.regret.push(regrets.iter().sum::<f64>() / regrets.len() as f64);
        regrets.sort_by(f64::total_cmp);
        let at = |share: f64| regrets[((regrets.len() - 1) as f64 * share + 0.5) as usize];
        self.run.regret_quantiles.push([at(0.1), at(0.5), at(0.9)]);
        let broadcast = server.broadcast().filter(|_| !last).unwrap_or(&[]);
        let round = self.run.chain.len() as u32;
        let leaves = shards.iter().flat_map(|shard| shard.leaves());
        self.run.digest = link(&self.run.digest, round, leaves, broadcast);
        self.run.chain.push(self.run.digest);
        if !broadcast.is_empty() && matches!(method.config.parameters().aggregation, Aggregation::Private { .. }) {
            let counters = server.state.counters();
            let selected = f64::from(counters.selected);
            self.run.releases = server.state.releases();
            self.run.selected_share.push(selected / f64::from(self.agents));
            self.run.clipped_share.push(f64::from(counters.clipped) / selected.max(1.0));
        }
    }

    /// The finished books.
    pub fn close(self) -> MethodRun {
        self.run
    }
}
