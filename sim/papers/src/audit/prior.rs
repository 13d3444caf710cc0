//! The releases of a federated prior: a real server and collectors, and one agent whose joint
//! vector is present or absent.
//!
//! There are two features, two candidates and three agents. If present, agent 1 sends the longest
//! joint vector there is, ‖d‖ = C with u = 1; in every other pair of releases it sends a billion
//! times as much, which the clip reduces to the same. If absent, it sends nothing, or something
//! that is not a number. The others send zeros. In odd releases all but agent 0 send to a
//! collector. γ is 1 instead of the usual ¼: the clip coordinate is then as long as the innovation
//! itself, and an audit of few runs sees whether Δ counts it (at ¼ it is 3 % of Δ).
//!
//! The claim is exact: J Gaussians of multiplier z equal one Gaussian of multiplier z/√J.

use sordino_core::federated::prior::{
    Config, Filter, Parameters, Plan, PriorError, Public, PublicState, Tables, event,
    l2_sensitivity, scratch_len, storage_len,
};
use sordino_core::federated::{Counters, Server, ServerError, ServerNumbers, ServerState};
use sordino_core::math::Scalar;
use sordino_core::privacy::accountant::analytic;
use sordino_core::privacy::{Event, NoiseSource, SourceKind};

use super::claim::Claim;
use super::defect::Defect;
use super::error::{AuditError, RunError};
use super::ledger::AuditLedger;
use super::outcome::{EPSILONS, Report};
use super::play::{Play, Size};
use super::release::{Shard, Step};

const AGENTS: u32 = 3;
/// The audited agent.
const AUDITED: u32 = 1;
const FEATURES: usize = 2;
/// Length of a joint vector, in numbers.
const JOINT: usize = FEATURES + 1;
const GAMMA: f64 = 1.0;
/// Φ of the two candidates, and their Ḡ.
const ROWS: [f64; 4] = [1.0, 0.0, 0.0, 1.0];
const GRAM: [f64; 4] = [0.5, 0.0, 0.0, 0.5];
const DESIGNS: [u32; 2] = [0, 1];

/// A claim about the releases of a federated prior, and how hard the audit looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriorAudit {
    /// Noise multiplier claimed for every release.
    pub noise_multiplier: f64,
    /// Number of releases claimed.
    pub releases: u32,
    /// Runs for each of the two neighbours.
    pub runs: u32,
    /// Probability that a correct mechanism is rejected, over all tests together.
    pub error: f64,
    /// Seed of the scenario.
    pub seed: u64,
}

impl PriorAudit {
    /// Three releases that together are nearly 2-GDP, where 5 % less noise moves δ most: 120,000
    /// runs see it.
    pub const fn standard(seed: u64) -> Self {
        PriorAudit {
            noise_multiplier: 0.9,
            releases: 3,
            runs: 120_000,
            error: 1e-6,
            seed,
        }
    }

    /// The event that one release is claimed to cost.
    pub const fn event(&self) -> Event {
        event(self.noise_multiplier)
    }

    /// The claimed cost of all releases.
    pub fn claim(&self) -> Claim {
        let all = self.noise_multiplier / Scalar::sqrt(f64::from(self.releases));
        Claim(EPSILONS.map(|epsilon| analytic::delta(all, epsilon)))
    }

    /// Runs the audit with noise of this kind on `threads` cores.
    ///
    /// **Errors**: [`AuditError`].
    pub fn run(
        &self,
        defect: Defect,
        kind: SourceKind,
        threads: usize,
    ) -> Result<Report, AuditError> {
        let size = Size {
            runs: self.runs,
            error: self.error,
            seed: self.seed,
            threads,
        };
        size.judged(&self.claim(), kind, &|| Federation::new(self, defect))
    }
}

/// A federation with its storage, to be played again and again.
struct Federation {
    config: Config,
    claimed: f64,
    charged: Option<Event>,
    defect: Defect,
    rounds: Vec<u32>,
    multipliers: Vec<f64>,
    numbers: ServerNumbers<f64>,
    posterior: Vec<f64>,
    scratch: Vec<f64>,
    shard: Shard,
}

impl Federation {
    /// The federation of a claim, or the defective one that is run instead.
    fn new(audit: &PriorAudit, defect: Defect) -> Result<Self, AuditError> {
        let mut multiplier = audit.noise_multiplier;
        let mut releases = audit.releases;
        match defect {
            Defect::None | Defect::PrivateRadius(_) => {}
            Defect::NoiseFactor(factor) => multiplier *= factor,
            Defect::RoundsRun(run) => releases = run,
            // Noise for C alone, under vectors of norm C√(1 + γ²).
            Defect::ClipCoordinateLeftOut => multiplier /= Scalar::sqrt(1.0 + GAMMA * GAMMA),
            other => return Err(AuditError::NoSuchControl(other)),
        }
        let parameters = Parameters {
            designs: 2,
            clip_weight: GAMMA,
            grid_exponent: 16,
            ..Parameters::usual(AGENTS, FEATURES as u32, 1, 0.01)
        };
        let config = Config::new(parameters).map_err(AuditError::Config)?;
        Ok(Federation {
            numbers: ServerNumbers::sized(JOINT, AGENTS),
            config,
            claimed: audit.noise_multiplier,
            charged: (defect == Defect::None).then(|| audit.event()),
            defect,
            rounds: (0..releases).collect(),
            multipliers: vec![multiplier; releases as usize],
            posterior: vec![0.0; storage_len(FEATURES)],
            scratch: vec![0.0; scratch_len(FEATURES, config.design_len())],
            shard: (
                vec![0; JOINT],
                vec![0; AGENTS as usize - 1],
                Counters::default(),
            ),
        })
    }
}

impl Play for Federation {
    fn play<S: NoiseSource>(
        &mut self,
        run: u32,
        present: bool,
        source: &mut S,
    ) -> Result<f64, AuditError> {
        let mut posterior =
            PublicState::new(self.config, &mut self.posterior[..]).map_err(refused(run))?;
        let mut state = ServerState::new();
        let mut ledger = AuditLedger::new(self.charged);
        let mut total = 0.0;
        let plan = Plan {
            rounds: &self.rounds,
            noise_multipliers: &self.multipliers,
        };
        let tables = Tables {
            gram: &GRAM,
            designs: &DESIGNS,
            ..Tables::NONE
        };
        let public = Public::new(&self.config, &ROWS, tables).map_err(refused(run))?;
        let filter =
            Filter::new(plan, public, &mut posterior, &mut self.scratch).map_err(refused(run))?;
        let attached = Server::attach(filter, &mut state, self.numbers.lend());
        let mut server = attached.map_err(AuditError::in_run(run, 0))?;
        for release in 0..self.multipliers.len() as u32 {
            let mut step = Step {
                server: &mut server,
                index: release,
                source: &mut *source,
            };
            let defect = self.defect;
            let shard = &mut self.shard;
            let mut x = play(&mut step, present, shard, &mut ledger)
                .map_err(AuditError::in_run(run, release))?;
            if let (Defect::PrivateRadius(rest), false) = (defect, present) {
                x *= rest;
            }
            total += (2.0 * x - 1.0) / (2.0 * self.claimed * self.claimed);
        }
        let expected = self.multipliers.len() as u32;
        let error = match (ledger.charges() == expected, total.is_finite()) {
            (true, true) => return Ok(total),
            (_, false) => RunError::NotFinite(total),
            (false, _) => RunError::Answer {
                expected: "one charge for each release",
            },
        };
        Err(AuditError::in_run(run, expected.saturating_sub(1))(error))
    }
}

/// The error of a run that refused before its first release.
fn refused(run: u32) -> impl Fn(PriorError) -> AuditError {
    move |error| AuditError::in_run(run, 0)(ServerError::from(error))
}

/// Opens, collects, charges, releases. Returns the release along the agent's joint vector, in units
/// of the sensitivity that the server declares; the agent's contribution is 1 in these units.
fn play<S: NoiseSource>(
    step: &mut Step<'_, '_, Filter<'_, f64, &mut [f64]>, S>,
    present: bool,
    shard: &mut Shard,
    ledger: &mut AuditLedger,
) -> Result<f64, RunError> {
    step.open()?;
    let terms = step.server.method().terms().ok_or(RunError::Answer {
        expected: "the terms of the release",
    })?;
    let own = step.index as usize % FEATURES;
    step.collect(shard, uploads(step.index, own, present, terms.clip_radius))?;
    let sensitivity = l2_sensitivity(step.server.method().posterior().config(), &terms);
    step.release(ledger, |sums| {
        let along = sums[own] + GAMMA * sums[FEATURES];
        along / Scalar::sqrt(1.0 + GAMMA * GAMMA) / sensitivity
    })
}

/// What every agent sends to a release, if anything.
fn uploads(
    release: u32,
    own: usize,
    present: bool,
    clip_radius: f64,
) -> impl Fn(u32) -> Option<[f64; JOINT]> {
    let scale = if release & 2 == 0 {
        clip_radius
    } else {
        1e9 * clip_radius
    };
    let mut whole = [0.0; JOINT];
    (whole[own], whole[FEATURES]) = (scale, GAMMA * scale);
    move |agent| match agent {
        AUDITED if present => Some(whole),
        AUDITED => (release & 2 != 0).then_some([f64::NAN; JOINT]),
        _ => Some([0.0; JOINT]),
    }
}

#[cfg(test)]
mod tests {
    use sordino_core::privacy::Simulated;
    use sordino_core::random::{Party, Purpose, RunSeed};

    use super::*;

    fn run(defect: Defect, runs: u32, kind: SourceKind) -> Report {
        PriorAudit {
            runs,
            ..PriorAudit::standard(1)
        }
        .run(defect, kind, 2)
        .unwrap()
    }

    #[test]
    fn the_shipped_prior_passes_and_the_broken_are_rejected() {
        let shipped = run(Defect::None, 120_000, SourceKind::Simulation);
        println!("shipped: {:+.4}", shipped.margin());
        assert!(!shipped.rejected(), "{shipped:?}");
        for (defect, runs) in [
            (Defect::NoiseFactor(0.95), 120_000),
            (Defect::RoundsRun(4), 20_000),
            (Defect::ClipCoordinateLeftOut, 5_000),
            (Defect::PrivateRadius(0.5), 5_000),
        ] {
            let report = run(defect, runs, SourceKind::Simulation);
            println!("{defect:?}: {:+.4}", report.margin());
            assert!(report.rejected(), "{defect:?}: {report:?}");
        }
    }

    #[test]
    fn the_prior_passes_on_secret_noise_and_has_no_other_controls() {
        assert!(!run(Defect::None, 5_000, SourceKind::Secret).rejected());
        assert!(run(Defect::NoiseFactor(0.6), 5_000, SourceKind::Secret).rejected());
        let audit = PriorAudit {
            runs: 1_000,
            ..PriorAudit::standard(1)
        };
        let refused = audit
            .run(Defect::KnownCoins, SourceKind::Simulation, 2)
            .unwrap_err();
        assert!(
            matches!(refused, AuditError::NoSuchControl(Defect::KnownCoins)),
            "{refused}"
        );
        // The claim is the tight one of as many Gaussians: that of one is another.
        let one = PriorAudit {
            releases: 1,
            ..audit
        }
        .claim();
        assert!(audit.claim() != one);
    }

    /// The ledger finds a server that charges an event other than the claimed one, before any
    /// statistics.
    #[test]
    fn what_the_prior_charges_is_what_is_claimed() {
        let audit = PriorAudit {
            runs: 1_000,
            ..PriorAudit::standard(1)
        };
        let mut federation = Federation::new(&audit, Defect::NoiseFactor(0.9)).unwrap();
        federation.charged = Some(audit.event());
        let source =
            &mut Simulated::new(RunSeed::new(1, 0).stream(Party::Server, Purpose::Release, 1));
        match federation.play(0, true, source) {
            Err(AuditError::Run {
                error: RunError::Charge { claimed, .. },
                ..
            }) => assert_eq!(claimed, audit.event()),
            other => panic!("{other:?}"),
        }
    }
}
