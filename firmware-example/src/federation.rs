//! One agent through a federation of which everything else is a script: the server's broadcasts,
//! the values of its own observations, and what the other agents are known by, their leaves of the
//! transcript.
//!
//! The agent decides for itself, so the chain of digests comes out as in `sordino run firmware`
//! only if every query and every uploaded weight has the same bits.
//!
//! **Script** (`federation.bin`, written by `cargo xtask firmware --write`): a postcard [`Header`];
//! then for every round t = 0..=T the agent's observed values (`f32`, little-endian: N_init in
//! round 0, then one), the other agents' leaves (32 bytes each, in agent order), and after every
//! round but the last the broadcast (P·M `f32`).

use core::fmt;

use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::digest::combine;
use sordino_core::domain::Candidates;
use sordino_core::features::{RandomFourier, random_fourier};
use sordino_core::federated::transcript::{AgentLeaf, BLOCK, BlockLeaf, link};
use sordino_core::federated::{
    Agent, AgentState, AgentStorage, Config, Input, Output, Public, storage_len,
};
use sordino_core::kernel::Stationary;
use sordino_core::math::Scalar;
use sordino_core::random::RunSeed;

/// The script that is checked in.
pub const SCRIPT: &[u8] = include_bytes!("../federation.bin");

/// What all parties agree on, and which of them is the one here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The agent here.
    pub agent: u32,
    /// Seed of the run: the agent's own draws.
    pub seed: RunSeed,
    /// What all parties agree on.
    pub config: Config,
    /// Points along one axis of the grid of candidates.
    pub points_per_axis: u32,
    /// Public seed of the features.
    pub feature_seed: u64,
    /// Run, for the features.
    pub run_index: u32,
    /// Kernel of the features.
    pub kernel: Stationary,
    /// Its lengthscale.
    pub lengthscale: f64,
    /// Its signal variance.
    pub signal_variance: f64,
    /// Features rescaled to one norm.
    pub unit_norm: bool,
}

/// Why a script could not be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptError {
    /// The header does not decode, or a number in it is not admissible.
    Header,
    /// The script ends early or goes on after its end.
    Length,
    /// More agents than one block of the transcript.
    TooLarge,
    /// Storage too short.
    Storage {
        /// Numbers needed.
        needed: usize,
    },
    /// The agent refused, or wanted something that its round does not hold.
    Agent {
        /// Round of the script, 1-based.
        round: u32,
    },
}

/// One round, for the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Number t of the round, 1-based.
    pub round: u32,
    /// The last query of the round.
    pub query: u32,
    /// What was observed there.
    pub value: f32,
    /// Observations so far.
    pub observations: u32,
    /// Digest of what the agent did in the round, its upload included.
    pub leaf: Digest,
    /// The chain up to here, over all agents and broadcasts.
    pub chain: Digest,
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Round {
            round,
            query,
            value,
            observations,
            leaf,
            chain,
        } = self;
        write!(
            f,
            "round {round}  query {query:>3}  value {value:>12.9}  observations {observations:>2}  leaf "
        )?;
        leaf.0
            .iter()
            .take(8)
            .try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("  chain ")?;
        chain
            .0
            .iter()
            .take(8)
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What `sordino run` prints for an execution of one method in one run whose chain ends here.
pub fn execution_digest(chain: &Digest) -> Digest {
    let method = combine([chain].into_iter());
    combine([&method].into_iter())
}

/// The configuration of a script.
///
/// **Errors**: [`ScriptError::Header`].
pub fn config(script: &[u8]) -> Result<Config, ScriptError> {
    postcard::take_from_bytes::<Header>(script)
        .map(|(header, _)| header.config)
        .map_err(|_| ScriptError::Header)
}

/// Plays a script; calls `each` after every round and returns the last link of the chain.
///
/// `storage` holds the agent's numbers, the features and one broadcast.
///
/// **Errors**: [`ScriptError`].
pub fn play(
    script: &[u8],
    storage: &mut [f32],
    mut each: impl FnMut(&Round),
) -> Result<Digest, ScriptError> {
    with_agent(script, storage, |header, mut script, agent, broadcast| {
        let mut chain = Digest::default();
        for round in 0..=header.config.parameters().rounds {
            chain = one_round(
                header,
                round,
                &mut script,
                agent,
                broadcast,
                &chain,
                &mut each,
            )?;
        }
        if script.0.is_empty() {
            Ok(chain)
        } else {
            Err(ScriptError::Length)
        }
    })
}

/// Plays a script up to the end of round `last` < T and hands on the waiting agent, the broadcast
/// that it waits for and the value it will observe.
///
/// **Errors**: [`ScriptError`].
pub fn play_until(
    script: &[u8],
    storage: &mut [f32],
    last: u32,
    then: impl FnOnce(&mut Agent<'_, f32>, &[f32], f32),
) -> Result<(), ScriptError> {
    with_agent(script, storage, |header, mut script, agent, broadcast| {
        let mut chain = Digest::default();
        for round in 0..=last {
            chain = one_round(
                header,
                round,
                &mut script,
                agent,
                broadcast,
                &chain,
                &mut |_| {},
            )?;
        }
        then(agent, broadcast, script.number()?);
        Ok(())
    })
}

/// Reads the header and puts a fresh agent together with the rest of the script and the place for
/// broadcasts.
fn with_agent<R>(
    script: &[u8],
    storage: &mut [f32],
    act: impl FnOnce(&Header, Reader<'_>, &mut Agent<'_, f32>, &mut [f32]) -> Result<R, ScriptError>,
) -> Result<R, ScriptError> {
    let (header, body) =
        postcard::take_from_bytes::<Header>(script).map_err(|_| ScriptError::Header)?;
    let parameters = header.config.parameters();
    let dim = parameters.regions.splits().len();
    let m = parameters.feature_count as usize;
    if parameters.agents > BLOCK {
        return Err(ScriptError::TooLarge);
    }
    let features_len = random_fourier::storage_len(dim, m);
    let broadcast_len = header.config.broadcast_len();
    let short = ScriptError::Storage {
        needed: features_len + broadcast_len,
    };
    let (features, rest) = storage.split_at_mut_checked(features_len).ok_or(short)?;
    let (broadcast, own) = rest.split_at_mut_checked(broadcast_len).ok_or(short)?;
    let public = public(&header, dim, features).ok_or(ScriptError::Header)?;
    let needed = features_len + broadcast_len + storage_len(&public);
    let mut state = AgentState::new(header.agent, header.seed);
    let own = AgentStorage::split(&public, own).map_err(|_| ScriptError::Storage { needed })?;
    let mut agent = Agent::attach(&public, &mut state, own).map_err(|_| ScriptError::Header)?;
    act(&header, Reader(body), &mut agent, broadcast)
}

/// Takes the agent through round t and returns the next link of the chain; `broadcast` is replaced
/// by the next one.
fn one_round(
    header: &Header,
    round: u32,
    script: &mut Reader<'_>,
    agent: &mut Agent<'_, f32>,
    broadcast: &mut [f32],
    previous: &Digest,
    each: &mut impl FnMut(&Round),
) -> Result<Digest, ScriptError> {
    let parameters = header.config.parameters();
    let observations = if round == 0 {
        parameters.initial_points
    } else {
        1
    };
    let mut leaf = AgentLeaf::new(header.agent, round, observations);
    let mut input = if round == 0 {
        Input::Start
    } else {
        Input::Broadcast {
            vectors: broadcast,
            maximum: None,
        }
    };
    let mut query = 0;
    let mut value = 0.0;
    let leaf = loop {
        match agent
            .handle(input)
            .map_err(|_| ScriptError::Agent { round })?
        {
            Output::Evaluate { candidate, .. } => {
                value = script.number()?;
                query = candidate;
                leaf.observation(candidate, value);
                input = Input::Observed(value);
            }
            Output::Upload(weights) => break leaf.end(weights),
            Output::Wait | Output::Done => break leaf.end::<f32>(&[]),
        }
    };
    let block = block_leaf(header, &leaf, script)?;
    let released = if round < parameters.rounds {
        broadcast
    } else {
        &mut []
    };
    for x in released.iter_mut() {
        *x = script.number()?;
    }
    let chain = link(previous, round, [block].into_iter(), released);
    each(&Round {
        round,
        query,
        value,
        observations: agent.state().observations(),
        leaf,
        chain,
    });
    Ok(chain)
}

/// The leaf of the only block: the agent's own among those of the script. Apart, so that its frame
/// does not lie on the stack beside that of the round.
#[inline(never)]
fn block_leaf(
    header: &Header,
    own: &Digest,
    script: &mut Reader<'_>,
) -> Result<Digest, ScriptError> {
    let agents = header.config.parameters().agents;
    let mut block = BlockLeaf::new(0, agents);
    for agent in 0..agents {
        block.agent(&if agent == header.agent {
            *own
        } else {
            script.digest()?
        });
    }
    Ok(block.end())
}

/// Draws the features into `storage` and puts the public context around them: nothing cached.
fn public<'a>(header: &'a Header, dim: usize, storage: &'a mut [f32]) -> Option<Public<'a, f32>> {
    let m = header.config.parameters().feature_count as usize;
    random_fourier::draw(
        header.feature_seed,
        header.run_index,
        header.kernel,
        &[header.lengthscale],
        dim,
        m,
        storage,
    )
    .ok()?;
    let features = RandomFourier::new(
        dim,
        m,
        f32::from_f64(header.signal_variance),
        header.unit_norm,
        &*storage,
    );
    Public::streamed(
        &header.config,
        Candidates::grid(header.points_per_axis, dim).ok()?,
        features.ok()?,
    )
    .ok()
}

/// What is left of the script.
struct Reader<'s>(&'s [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], ScriptError> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(ScriptError::Length)?;
        self.0 = rest;
        Ok(*head)
    }

    fn number(&mut self) -> Result<f32, ScriptError> {
        self.take().map(f32::from_le_bytes)
    }

    fn digest(&mut self) -> Result<Digest, ScriptError> {
        self.take().map(Digest)
    }
}
