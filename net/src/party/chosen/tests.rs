//! Agents by their choices: coins, rounds that were missed, and what is refused.

use sordino_core::digest::Digest;
use sordino_core::federated::exchange::{Announced, OwnProtocol};
use sordino_core::kernel::Stationary;
use sordino_core::wire::ScalarTag;
use sordino_experiment::scenario::KernelConfig;

use super::*;

/// Follows what it was told, or tosses its coins; sends the next toss, and how much it has
/// observed.
struct Tossing;

impl Chooser for Tossing {
    fn next(&self, sight: &Sight<'_>, coins: &mut Stream) -> u32 {
        let tossed = coins.below(sight.ground.count());
        sight.broadcast.map_or(tossed, |told| told[0] as u32)
    }

    fn message(&self, sight: &Sight<'_>, coins: &mut Stream) -> Vec<f64> {
        vec![f64::from(coins.below(1000)), sight.log.len() as f64]
    }
}

const SEED: RunSeed = RunSeed::new(5, 0);

/// Two initial points, then three rounds over 16 candidates.
fn party() -> Arc<Chosen<f64, Tossing>> {
    let agents = 3;
    let rounds = 3;
    let initial_points = 2;
    let offset = 1.0;
    let digest = Digest::default();
    let own = OwnProtocol {
        agents,
        rounds,
        initial_points,
        offset,
        message_len: 2,
        released_max: 4,
        digest,
    };
    let announced = Announced {
        epsilon_max: None,
        delta: 1e-5,
        deadline_ms: 1,
        may_close_early: true,
    };
    let protocol = Protocol::Own(own);
    let candidates = Digest::default();
    let scalar = ScalarTag::F64;
    let agreement = Agreement {
        protocol,
        candidates,
        dim: 1,
        scalar,
        deployment: 1,
        announced,
    };
    let kernel = KernelConfig {
        kernel: Stationary::SquaredExponential,
        lengthscale: 0.2,
        signal_variance: 1.0,
    };
    let ground = Ground {
        agents,
        rounds,
        initial_points,
        dim: 1,
        candidates: (0..16).map(|x| f64::from(x) / 16.0).collect(),
        kernel,
        noise_variance: 0.01,
        constant: offset,
        rows: vec![1.0; 16],
        columns: 1,
        searched: None,
    };
    Chosen::of(agreement, ground, Tossing)
}

/// An agent with its log.
struct Seated {
    party: Arc<Chosen<f64, Tossing>>,
    state: KeptChoices<f64>,
    log: Vec<f64>,
}

impl Seated {
    fn new() -> Self {
        let party = party();
        Seated {
            state: party.fresh(1, SEED),
            log: vec![0.0; party.lengths().unwrap()[0]],
            party,
        }
    }

    fn with<R>(
        &mut self,
        act: impl FnOnce(&mut Choosing<'_, f64, Tossing>) -> Result<R, ChosenError>,
    ) -> Result<R, PartyError> {
        self.party
            .with(&mut self.state, [&mut self.log, &mut []], act)
    }

    /// Takes a frame, makes its queries, and says which they were and what it gives.
    fn epoch(&mut self, frame: Frame<'_, f64>) -> (Vec<u32>, Vec<f64>) {
        self.with(|agent| agent.enter(frame)).unwrap();
        let mut queries = Vec::new();
        loop {
            let next = self.with(|agent| match agent.next()? {
                Next::Query { candidate, .. } => Ok(Err(candidate)),
                Next::Give(message) => Ok(Ok(message.to_vec())),
            });
            match next.unwrap() {
                Ok(message) => return (queries, message),
                Err(candidate) => {
                    // Asked again, it asks the same.
                    let again = self.with(|agent| {
                        Ok(matches!(agent.next()?, Next::Query { candidate: same, .. } if same == candidate))
                    });
                    assert!(again.unwrap());
                    queries.push(candidate);
                    self.with(|agent| agent.observed(f64::from(candidate)))
                        .unwrap();
                }
            }
        }
    }
}

#[test]
fn coins_go_on_from_query_to_message_and_a_missed_round_is_made_up_for() {
    let mut agent = Seated::new();
    let coins = |round| SEED.stream(Address::Agent(1), Purpose::RandomPolicy, round);
    let (first, message) = agent.epoch(Frame::Start);
    assert_eq!(
        (first.len(), message),
        (2, vec![f64::from(coins(0).below(1000)), 2.0])
    );
    // Told where to look, it looks there, and its coins are tossed all the same.
    let mut tossed = coins(1);
    tossed.below(16);
    assert_eq!(
        agent.epoch(Frame::Released(&[7.0])),
        (vec![7], vec![f64::from(tossed.below(1000)), 3.0])
    );
    // The frame of a round that is over: nothing is asked for and nothing given; what it told was
    // for that round.
    agent
        .with(|agent| agent.enter(Frame::Missed(Some(&[9.0]))))
        .unwrap();
    let (made_up, message) = agent.epoch(Frame::Nothing);
    assert_eq!(
        (made_up, message),
        (vec![coins(2).below(16), coins(3).below(16)], Vec::new())
    );
    assert!(Chosen::<f64, Tossing>::standing(&agent.state).is_done);
    let refused = agent.with(|agent| agent.enter(Frame::Nothing)).unwrap_err();
    assert!(
        matches!(
            refused,
            PartyError::Chosen(ChosenError::Frame {
                taken: 4,
                frames: 4
            })
        ),
        "{refused}"
    );
}

#[test]
fn what_no_release_and_no_value_can_be_is_refused_and_changes_nothing() {
    let mut agent = Seated::new();
    let refused = agent.with(|agent| agent.enter(Frame::Nothing)).unwrap_err();
    assert!(
        matches!(
            refused,
            PartyError::Chosen(ChosenError::Frame { taken: 0, .. })
        ),
        "{refused}"
    );
    assert!(
        agent.with(|agent| agent.observed(1.0)).is_err(),
        "nothing was asked for"
    );
    agent.epoch(Frame::Start);
    let before = agent.state.clone();
    for numbers in [&[f64::NAN][..], &[1.0; 5]] {
        let refused = agent
            .with(|agent| agent.enter(Frame::Released(numbers)))
            .unwrap_err();
        assert!(
            matches!(refused, PartyError::Chosen(ChosenError::Released { .. })),
            "{refused}"
        );
        assert_eq!(agent.state, before);
    }
    // Negative control, and a place that is no candidate.
    agent
        .with(|agent| agent.enter(Frame::Released(&[16.0])))
        .unwrap();
    let refused = agent.with(|agent| agent.next().map(|_| ())).unwrap_err();
    let outside = ChosenError::Candidate {
        round: 1,
        candidate: 16,
        count: 16,
    };
    assert!(
        matches!(&refused, PartyError::Chosen(error) if *error == outside),
        "{refused}"
    );
}

#[test]
fn a_stored_state_that_no_agent_has_is_refused_by_name() {
    let refused = |change: fn(&mut Seated)| {
        let mut agent = Seated::new();
        agent.epoch(Frame::Start);
        change(&mut agent);
        agent.with(|_| Ok(())).err().map(|error| error.to_string())
    };
    assert_eq!(refused(|_| {}), None);
    for (what, change) in [
        (
            "the agent",
            (|agent| agent.state.agent = 3) as fn(&mut Seated),
        ),
        ("the frames", |agent| agent.state.frames = 5),
        ("the candidate", |agent| agent.state.asked = Some(16)),
        ("the observations", |agent| agent.state.observations = 6),
        ("the log", |agent| agent.log[0] = 16.0),
        ("the log", |agent| agent.log[0] = 0.5),
        ("the log", |agent| agent.log[3] = f64::INFINITY),
        ("the message", |agent| agent.state.message.push(1.0)),
        ("5 released numbers", |agent| {
            agent.state.released = Some(vec![1.0; 5])
        }),
    ] {
        let error = refused(change).unwrap_or_default();
        assert!(error.contains(what), "{what}: {error}");
    }
}
