//! Agents of a federated prior side by side in one arena, and the collector of their joint vectors.

use std::ops::Range;
use std::sync::Arc;

use sordino_core::federated::prior::agent::{Agent, AgentState, Input, Output, log_len, workspace_len};
use sordino_core::federated::prior::{Collector, Draw, Terms, levels};
use sordino_core::federated::transcript::AgentLeaf;
use sordino_core::federated::{CollectorStorage, Counters, ServerError, Share, Wiped, Workspace};
use sordino_core::math::Scalar;
use sordino_core::wire::{self, Kind, ScalarTag};

use super::super::blocks;
use super::super::error::DriverError;
use super::super::fabric::{Crew, Partial, Snapshot};
use super::super::shard::{Collects, Round};
use super::context::PriorContext;
use crate::progress::{Stage, Step};
use crate::record::is_report_round;
use crate::scenario::Method;
use crate::world::fault::FaultCounts;

/// The common draw w_t, M numbers, and Φw_t, one for each candidate; shared by all members.
pub type CommonDraw<T> = Arc<(Vec<T>, Vec<T>)>;

/// What all members are told.
#[derive(Clone)]
pub enum PriorOrder<T> {
    /// A round of queries; round 0 is that of the initial points.
    Query {
        /// t = 0..=T.
        round: u32,
        /// Nothing before the first release.
        draw: Option<CommonDraw<T>>,
    },
    /// Contributions to a release.
    Release {
        /// The round after which it is made.
        round: u32,
        /// Which release.
        release: u32,
        /// κ and C.
        terms: Terms<T>,
        /// w, M numbers.
        weights: Arc<[T]>,
        /// z of this release.
        noise_multiplier: f64,
        /// The opening of all agents.
        share: Arc<Share<Wiped<u8>>>,
    },
}

/// Consecutive agents: a few words of state and a slice of `logs` each, and a workspace that keeps their factors, or one
/// for all that is rebuilt from the logs; the same bits.
pub struct PriorShard<T> {
    context: Arc<PriorContext<T>>,
    first: u32,
    states: Vec<AgentState>,
    logs: Vec<T>,
    workspaces: Vec<T>,
    kept: bool,
    best: Vec<f64>,
    late: Vec<(u32, Vec<u8>)>,
}

impl Collects for Collector<'_> {
    fn take<T: Scalar>(&mut self, agent: u32, release: u32, vector: &[T]) -> Result<(), ServerError> {
        self.upload(agent, release, vector)
    }
}

/// Numbers of the log of one agent.
fn log_of<T: Scalar>(context: &PriorContext<T>) -> usize {
    log_len(context.config().design_len(), context.rounds() as usize)
}

impl<T: Scalar> Crew for PriorShard<T> {
    type Context = PriorContext<T>;
    type Order = PriorOrder<T>;
    type State = AgentState;

    fn enrolled(context: &PriorContext<T>) -> u32 {
        context.config().parameters().agents
    }

    fn muster(
        context: &Arc<PriorContext<T>>,
        agents: Range<u32>,
        snapshot: Option<&Snapshot<AgentState>>,
    ) -> Result<Self, DriverError> {
        let (length, seed) = (log_of(context), context.base.run.seed);
        let (m, public) = (context.config().features(), context.public());
        let rank = if public.prior_rows.is_empty() { m } else { public.prior_rank };
        let workspace = workspace_len(length / 2, m, rank, levels(&context.models));
        let kept = workspace * size_of::<T>() * Self::enrolled(context) as usize <= context.base.workspace_bytes;
        let mut shard = PriorShard {
            first: agents.start,
            states: agents.clone().map(|agent| AgentState::new(agent, seed)).collect(),
            logs: vec![T::ZERO; length * agents.len()],
            workspaces: vec![T::ZERO; workspace * if kept { agents.len() } else { 1 }],
            kept,
            best: vec![f64::NEG_INFINITY; agents.len()],
            late: Vec::new(),
            context: context.clone(),
        };
        let Some(snapshot) = snapshot else { return Ok(shard) };
        let mut bytes = &snapshot.logs[..];
        for (i, state) in (0..).zip(&snapshot.states) {
            let filled = 2 * state.observations() as usize;
            let split = bytes.split_at_checked(filled * T::BYTES).filter(|_| filled <= length);
            let (log, rest) = split.ok_or(DriverError::Snapshot { agent: i })?;
            bytes = rest;
            if !agents.contains(&i) {
                continue;
            }
            let place = (i - agents.start) as usize;
            for (x, bytes) in shard.logs[place * length..].iter_mut().zip(log.chunks_exact(T::BYTES)) {
                *x = T::read_le(bytes);
            }
            shard.states[place] = state.clone();
            shard.best[place] = *snapshot.best.get(i as usize).ok_or(DriverError::Snapshot { agent: i })?;
        }
        shard.late = snapshot.late.iter().filter(|(agent, _)| agents.contains(agent)).cloned().collect();
        Ok(shard)
    }

    fn range(&self) -> Range<u32> {
        self.first..self.first + self.states.len() as u32
    }

    fn advance(&mut self, order: &PriorOrder<T>) -> Result<Partial, DriverError> {
        match order {
            PriorOrder::Query { round, draw } => {
                let draw = draw.as_deref().map(|(weights, values)| Draw { weights, values });
                self.query(*round, draw)
            }
            PriorOrder::Release { .. } => self.contribute(order),
        }
    }

    fn snapshot(&self) -> Snapshot<AgentState> {
        let length = self.logs.len() / self.states.len().max(1);
        let mut logs = Vec::new();
        for (state, log) in self.states.iter().zip(self.logs.chunks(length.max(1))) {
            for x in &log[..2 * state.observations() as usize] {
                let start = logs.len();
                logs.resize(start + T::BYTES, 0);
                x.write_le(&mut logs[start..]);
            }
        }
        let (first, states, best, late) = (self.first, self.states.clone(), self.best.clone(), self.late.clone());
        Snapshot { first, states, logs, best, late }
    }

    fn step(context: &PriorContext<T>, order: &PriorOrder<T>, stage: Stage) -> Step {
        let (PriorOrder::Query { round, .. } | PriorOrder::Release { round, .. }) = order;
        context.base.step(*round, stage)
    }
}

/// The workspaces of agents one after the other: each its own, or one that is lent to all.
struct Workspaces<'w, T> {
    rest: &'w mut [T],
    length: usize,
    kept: bool,
}

impl<'w, T> Workspaces<'w, T> {
    fn of(all: &'w mut [T], kept: bool, agents: usize) -> Self {
        let length = all.len() / if kept { agents.max(1) } else { 1 };
        Workspaces { rest: all, length, kept }
    }

    fn next(&mut self) -> Workspace<'_, T> {
        if !self.kept {
            return Workspace::Lent(self.rest);
        }
        let (own, rest) = std::mem::take(&mut self.rest).split_at_mut(self.length);
        self.rest = rest;
        Workspace::Kept(own)
    }
}

impl<T: Scalar> PriorShard<T> {
    /// What missed its deadline arrives first.
    fn begin<C: Collects>(&mut self, collector: Option<C>, incoming: &mut [T]) -> Result<Round<C>, DriverError> {
        let leaves = Vec::with_capacity(self.states.len());
        let mut round = Round { collector, leaves, faults: FaultCounts::default(), held: Vec::new(), late: Vec::new() };
        for (_, frame) in std::mem::take(&mut self.late) {
            round.deliver(&self.context.base, &frame, incoming)?;
        }
        Ok(round)
    }

    fn partial<C>(&mut self, round: Round<C>, report: bool) -> (Option<C>, Partial) {
        let Round { collector, leaves, faults, late, .. } = round;
        self.late.extend(late);
        let (agents, run) = (self.range(), &self.context.base.run);
        let optima = &run.optima[agents.start as usize..];
        let regrets: Vec<f64> = self.best.iter().zip(optima).map(|(best, optimum)| optimum - best).collect();
        let pieces = blocks::cut(agents.start, Self::enrolled(&self.context), &leaves, &regrets);
        let regrets = if report { regrets } else { Vec::new() };
        (collector, Partial { agents, collected: None, pieces, regrets, faults })
    }

    /// Takes every agent through the queries of a round: until it waits, is away or is done.
    fn query(&mut self, t: u32, draw: Option<Draw<'_, T>>) -> Result<Partial, DriverError> {
        let context = self.context.clone();
        let (base, config, public) = (&context.base, context.config(), context.public());
        let objective = &*base.run.objective;
        let mut incoming = vec![T::ZERO; config.contribution_len()];
        let mut round = self.begin::<Collector<'_>>(None, &mut incoming)?;
        let (range, initial) = (self.range(), config.parameters().initial_points);
        let logs = self.logs.chunks_exact_mut(log_of(&context));
        let mut workspaces = Workspaces::of(&mut self.workspaces, self.kept, self.states.len());
        for (((index, state), log), best) in range.zip(&mut self.states).zip(logs).zip(&mut self.best) {
            let fate = base.faults.fate(base.run.seed, index, base.config.region_of_agent(index), t);
            round.faults.absent += u32::from(fate.absent);
            round.faults.broadcasts_lost += u32::from(!fate.absent && fate.broadcast_lost && draw.is_some());
            let mut agent =
                Agent::attach(config, &public, &context.models, context.rounds(), state, log, workspaces.next())
                    .map_err(DriverError::PriorAgent)?;
            let (mut input, observations) = match draw.filter(|_| !fate.broadcast_lost) {
                _ if t == 0 => (Input::Start, initial),
                _ if fate.absent => (Input::Missed, 0),
                Some(draw) => (Input::Draw(draw), 1),
                None => (Input::NoDraw, 1),
            };
            let mut record = AgentLeaf::new(index, t, observations);
            while let Output::Evaluate(candidate) = agent.handle(input).map_err(DriverError::PriorAgent)? {
                let answer = objective.query(index, candidate, agent.state().observations())?;
                let y = T::from_f64(answer.y);
                *best = best.max(answer.value);
                record.observation(candidate, y);
                input = Input::Observed(y - context.offset());
            }
            round.leaves.push(record.end::<T>(&[]));
        }
        Ok(self.partial(round, is_report_round(t, context.rounds())).1)
    }

    /// Lets every agent that is there contribute to a release.
    ///
    /// Links have coins of their own in a release, those of "round" T + 1 + j, so that releases after the same round do
    /// not lose the same vectors.
    fn contribute(&mut self, order: &PriorOrder<T>) -> Result<Partial, DriverError> {
        let PriorOrder::Release { round: t, release, terms, weights, noise_multiplier, share } = order else {
            return Err(DriverError::Check("an order to query where a release was meant"));
        };
        let context = self.context.clone();
        let (base, config, public) = (&context.base, context.config(), context.public());
        let (range, len) = (self.range(), config.contribution_len());
        let share = share.part(range.clone());
        let share = share.ok_or(DriverError::Check("an order without the opening of a member's own agents"))?;
        let (mut sums, mut flags, mut counters) = (vec![0; len], vec![0; range.len()], Counters::default());
        let storage = CollectorStorage { sums: &mut sums, flags: &mut flags, counters: &mut counters };
        let collector =
            Collector::new(config, terms, *noise_multiplier, &share, storage).map_err(DriverError::Release)?;
        let (mut incoming, silence) = (vec![T::ZERO; len], vec![T::ZERO; len]);
        let mut frame = vec![0; wire::frame_len_max(ScalarTag::of::<T>(), len)];
        let mut round = self.begin(Some(collector), &mut incoming)?;
        let logs = self.logs.chunks_exact_mut(log_of(&context));
        let mut workspaces = Workspaces::of(&mut self.workspaces, self.kept, self.states.len());
        for ((index, state), log) in range.zip(&mut self.states).zip(logs) {
            let workspace = workspaces.next();
            let region = base.config.region_of_agent(index);
            let absent = base.faults.fate(base.run.seed, index, region, *t).absent;
            let link = base.faults.fate(base.run.seed, index, region, context.rounds() + 1 + release);
            let record = AgentLeaf::new(index, *t, 0);
            round.faults.absent += u32::from(absent);
            round.faults.broadcasts_lost += u32::from(!absent && link.broadcast_lost);
            if absent || link.broadcast_lost {
                round.leaves.push(record.end::<T>(&[]));
                continue;
            }
            let mut agent = Agent::attach(config, &public, &context.models, context.rounds(), state, log, workspace)
                .map_err(DriverError::PriorAgent)?;
            let input = Input::Terms { terms: *terms, weights };
            let Output::Upload(vector) = agent.handle(input).map_err(DriverError::PriorAgent)? else {
                return Err(DriverError::Check("an agent that was given terms sent nothing"));
            };
            let vector = if base.method == Method::PriorNoise { &silence[..] } else { vector };
            let header = base.frame_header(Kind::Upload, index, *release);
            let used = wire::encode(header, vector, &mut frame).map_err(DriverError::Wire)?;
            round.leaves.push(record.end(vector));
            round.send(base, &link, index, &mut frame[..used], &mut incoming)?;
        }
        for frame in std::mem::take(&mut round.held) {
            round.deliver(base, &frame, &mut incoming)?;
        }
        let (collector, partial) = self.partial(round, false);
        Ok(Partial { collected: collector.map(|collector| collector.finish().to_owned()), ..partial })
    }
}
