//! What a rehearsal wants to know about an agent besides its uploads; never present in a real federation.

use sordino_core::digest::Digest;
use sordino_core::federated::exchange::Protocol;
use sordino_core::federated::transcript::AgentLeaf;
use sordino_core::math::Scalar;

/// Bytes of one step of the transcript: a leaf, and the agent's best value after it.
pub const SLOT_BYTES: usize = 32 + 8;

/// Steps of the transcript in one epoch at most; what follows every upload in a rehearsal has room for so many.
pub fn slots(protocol: &Protocol) -> usize {
    (0..=protocol.epochs()).map(|epoch| steps(protocol, epoch).count()).max().unwrap_or(1)
}

/// One step of the transcript.
#[derive(Clone, Copy)]
enum Step {
    /// The queries of a round; `gives` if the upload belongs to it.
    Round { round: u32, gives: bool },
    /// A contribution to a release after this round.
    Release { round: u32 },
}

/// The steps of an epoch, in the order of the simulator's transcript.
fn steps(protocol: &Protocol, epoch: u32) -> impl Iterator<Item = Step> + use<> {
    let first = epoch.checked_sub(1).map_or(0, |before| protocol.last_round(before) + 1);
    let last = protocol.last_round(epoch);
    // Draws, ballots and messages are given with the queries of their round; the releases of a prior have steps of their own.
    let gives = matches!(protocol, Protocol::Draws(_) | Protocol::Vote(_) | Protocol::Own(_));
    let release = (!gives && epoch < protocol.epochs()).then_some(Step::Release { round: last });
    (first..=last).map(move |round| Step::Round { round, gives }).chain(release)
}

/// What an agent has observed, as its simulation knows it.
pub(super) struct Watched<T> {
    protocol: Protocol,
    observe: Box<dyn Fn(u32, u32) -> [f64; 2] + Send>,
    /// Candidate, value as measured, best value without noise so far.
    observations: Vec<(u32, T, f64)>,
}

impl<T: Scalar> Watched<T> {
    pub(super) fn new(protocol: &Protocol, observe: impl Fn(u32, u32) -> [f64; 2] + Send + 'static) -> Self {
        Watched { protocol: protocol.clone(), observe: Box::new(observe), observations: Vec::new() }
    }

    /// The next observation was made, at this candidate.
    pub(super) fn observed(&mut self, candidate: u32) {
        let [measured, value] = (self.observe)(candidate, self.observations.len() as u32);
        let best = self.observations.last().map_or(f64::NEG_INFINITY, |(.., best)| *best);
        self.observations.push((candidate, T::from_f64(measured), best.max(value)));
    }

    /// Appends the steps of an epoch that ended with this upload, and as many empty ones as there is room for.
    pub(super) fn append(&self, agent: u32, epoch: u32, upload: &[T], frame: &mut Vec<u8>) {
        let end = frame.len() + SLOT_BYTES * slots(&self.protocol);
        for step in steps(&self.protocol, epoch) {
            let (leaf, observed) = self.leaf(agent, step, upload);
            let best = observed.checked_sub(1).and_then(|last| self.observations.get(last));
            frame.extend_from_slice(&leaf.0);
            frame.extend_from_slice(&best.map_or(f64::NEG_INFINITY, |(.., best)| *best).to_le_bytes());
        }
        frame.resize(end, 0);
    }

    /// The leaf of a step, and the observations made until then.
    fn leaf(&self, agent: u32, step: Step, upload: &[T]) -> (Digest, usize) {
        let first = self.protocol.initial_points() as usize;
        let until = |round: u32| first + round as usize;
        let (round, from, gives) = match step {
            Step::Round { round: 0, gives } => (0, 0, gives),
            Step::Round { round, gives } => (round, until(round - 1), gives),
            Step::Release { round } => (round, until(round), true),
        };
        let (until, gives) = (until(round), if gives { upload } else { &[] });
        let mut leaf = AgentLeaf::new(agent, round, (until - from) as u32);
        for (candidate, measured, _) in self.observations.iter().take(until).skip(from) {
            leaf.observation(*candidate, *measured);
        }
        (leaf.end(gives), until)
    }
}
