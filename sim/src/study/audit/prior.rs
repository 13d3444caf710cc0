//! The releases of a federated prior: a real server and collectors, and one agent whose joint vector is present or absent.
//!
//! There are two features, two candidates and three agents. If present, agent 1 sends the longest joint vector there
//! is, ‖d‖ = C with u = 1; in every other pair of releases it sends a billion times as much, which the clip reduces to
//! the same. If absent, it sends nothing, or something that is not a number. The others send zeros. In odd releases all
//! but agent 0 send to a collector. γ is 1 instead of the usual ¼: the clip coordinate is then as long as the
//! innovation itself, and an audit of few runs sees whether Δ counts it (at ¼ it is 3 % of Δ).
//!
//! The claim is exact: J Gaussians of multiplier z equal one Gaussian of multiplier z/√J.

use sordino_core::federated::prior::server::{Input, Output, Plan, ReleaseError, Server, ServerState};
use sordino_core::federated::prior::{
    Collector, Config, Parameters, Public, PublicState, ServerNumbers, Tables, Terms, event, l2_sensitivity,
    storage_len,
};
use sordino_core::federated::{CollectorStorage, Counters};
use sordino_core::math::Scalar;
use sordino_core::privacy::accountant::analytic;
use sordino_core::privacy::{Event, Ledger, NoiseSource, Simulated, SourceKind};
use sordino_core::random::{Party, Purpose, RunSeed};
use sordino_host::entropy;

use super::claim::Claim;
use super::defect::Defect;
use super::error::{AuditError, RunError, check_error};
use super::judge::judge;
use super::ledger::AuditLedger;
use super::outcome::{EPSILONS, Report};
use super::workers::gather;

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
    /// Three releases that together are nearly 2-GDP, where 5 % less noise moves δ most: 120,000 runs see it.
    pub const fn standard(seed: u64) -> Self {
        PriorAudit { noise_multiplier: 0.9, releases: 3, runs: 120_000, error: 1e-6, seed }
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
    pub fn run(&self, defect: Defect, kind: SourceKind, threads: usize) -> Result<Report, AuditError> {
        match kind {
            SourceKind::Simulation => self.run_with(defect, threads, &|present, run| {
                let seed = RunSeed::new(self.seed.wrapping_mul(2).wrapping_add(u64::from(present)), run);
                Ok(Simulated::new(seed.stream(Party::Server, Purpose::Release, 1)))
            }),
            SourceKind::Secret => {
                self.run_with(defect, threads, &|_, _| entropy::system().map_err(AuditError::Entropy))
            }
        }
    }

    fn run_with<S: NoiseSource>(
        &self,
        defect: Defect,
        threads: usize,
        source: &(impl Fn(bool, u32) -> Result<S, AuditError> + Sync),
    ) -> Result<Report, AuditError> {
        check_error(self.error)?;
        let scores = |present: bool| {
            gather(self.runs, threads, &|part| {
                let mut federation = Federation::new(self, defect)?;
                part.map(|run| federation.play(run, present, &mut source(present, run)?)).collect()
            })
        };
        Ok(judge(&scores(true)?, &scores(false)?, &self.claim().0, self.error))
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
}

impl Federation {
    /// The federation of a claim, or the defective one that is run instead.
    fn new(audit: &PriorAudit, defect: Defect) -> Result<Self, AuditError> {
        let (mut multiplier, mut releases) = (audit.noise_multiplier, audit.releases);
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
            numbers: ServerNumbers::new(&config),
            config,
            claimed: audit.noise_multiplier,
            charged: (defect == Defect::None).then(|| audit.event()),
            defect,
            rounds: (0..releases).collect(),
            multipliers: vec![multiplier; releases as usize],
            posterior: vec![0.0; storage_len(FEATURES)],
        })
    }

    /// Plays all releases of one run; returns the summed log-likelihood ratio of the claimed mechanism.
    fn play<S: NoiseSource>(&mut self, run: u32, present: bool, source: &mut S) -> Result<f64, AuditError> {
        let failed = |round: u32| move |error: RunError| AuditError::Run { run, round, error };
        let begun = PublicState::new(self.config, &mut self.posterior[..]);
        let mut posterior = begun.map_err(|error| failed(0)(ReleaseError::from(error).into()))?;
        let (mut state, mut ledger, mut total) = (ServerState::new(), AuditLedger::new(self.charged), 0.0);
        let plan = Plan { rounds: &self.rounds, noise_multipliers: &self.multipliers };
        let tables = Tables { gram: &GRAM, designs: &DESIGNS, ..Tables::NONE };
        let public =
            Public::new(&self.config, &ROWS, tables).map_err(|error| failed(0)(ReleaseError::from(error).into()))?;
        let attached = Server::attach(plan, public, &mut state, &mut posterior, self.numbers.lend());
        let mut server = attached.map_err(|error| failed(0)(error.into()))?;
        for (release, multiplier) in (0..).zip(&self.multipliers) {
            let mut step = Step { config: &self.config, server: &mut server, release, source: &mut *source };
            let mut x = step.play(present, *multiplier, &mut ledger).map_err(failed(release))?;
            if let (Defect::PrivateRadius(rest), false) = (self.defect, present) {
                x *= rest;
            }
            total += (2.0 * x - 1.0) / (2.0 * self.claimed * self.claimed);
        }
        let expected = self.multipliers.len() as u32;
        let error = match (ledger.charges() == expected, total.is_finite()) {
            (true, true) => return Ok(total),
            (_, false) => RunError::NotFinite(total),
            (false, _) => RunError::Answer { expected: "one charge for each release" },
        };
        Err(failed(expected.saturating_sub(1))(error))
    }
}

/// One release of one run.
struct Step<'s, 'a, 'p, S> {
    config: &'s Config,
    server: &'s mut Server<'a, f64, &'p mut [f64]>,
    release: u32,
    source: &'s mut S,
}

impl<S: NoiseSource> Step<'_, '_, '_, S> {
    /// Opens, collects, charges, releases. Returns the release along the agent's joint vector, in units of the
    /// sensitivity that the server declares; the agent's contribution is 1 in these units.
    fn play(&mut self, present: bool, multiplier: f64, ledger: &mut AuditLedger) -> Result<f64, RunError> {
        let own = self.release as usize % FEATURES;
        let terms = match self.server.handle(Input::Open, self.source)? {
            Output::Terms { release, terms, .. } if release == self.release => terms,
            _ => return Err(RunError::Answer { expected: "the terms of the release" }),
        };
        self.collect(&terms, own, present, multiplier)?;
        let Output::Charge(charge) = self.server.handle(Input::Close, self.source)? else {
            return Err(RunError::Answer { expected: "a charge" });
        };
        let receipt = ledger.append(charge)?;
        match self.server.handle(Input::Charged(receipt), self.source)? {
            Output::Broadcast { release, sums } if release == self.release => {
                let along = sums.value()[own] + GAMMA * sums.value()[FEATURES];
                let x = along / Scalar::sqrt(1.0 + GAMMA * GAMMA) / l2_sensitivity(self.config, &terms);
                if x.is_finite() { Ok(x) } else { Err(RunError::NotFinite(x)) }
            }
            _ => Err(RunError::Answer { expected: "a release" }),
        }
    }

    /// Sends all joint vectors to the server or, in odd releases, to a collector.
    fn collect(&mut self, terms: &Terms<f64>, own: usize, present: bool, multiplier: f64) -> Result<(), RunError> {
        let release = self.release;
        let scale = if release & 2 == 0 { terms.clip_radius } else { 1e9 * terms.clip_radius };
        let mut whole = [0.0; JOINT];
        (whole[own], whole[FEATURES]) = (scale, GAMMA * scale);
        let vector = |agent| match agent {
            AUDITED if present => Some(whole),
            AUDITED => (release & 2 != 0).then_some([f64::NAN; JOINT]),
            _ => Some([0.0; JOINT]),
        };
        let direct = if release % 2 == 1 { 0..1 } else { 0..AGENTS };
        if release % 2 == 1 {
            let (mut sums, mut flags, mut counters) = ([0; JOINT], [0; AGENTS as usize - 1], Counters::default());
            let storage = CollectorStorage { sums: &mut sums, flags: &mut flags, counters: &mut counters };
            let share = self.server.share(1..AGENTS)?;
            let mut collector = Collector::new(self.config, terms, multiplier, &share, storage)?;
            for agent in 1..AGENTS {
                if let Some(vector) = vector(agent) {
                    collector.upload(agent, release, &vector)?;
                }
            }
            self.server.merge(&collector.finish())?;
        }
        for agent in direct {
            if let Some(vector) = vector(agent) {
                match self.server.handle(Input::Upload { agent, release, vector: &vector }, self.source)? {
                    Output::Wait => {}
                    _ => return Err(RunError::Answer { expected: "to wait" }),
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(defect: Defect, runs: u32, kind: SourceKind) -> Report {
        PriorAudit { runs, ..PriorAudit::standard(1) }.run(defect, kind, 2).unwrap()
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
        let audit = PriorAudit { runs: 1_000, ..PriorAudit::standard(1) };
        let refused = audit.run(Defect::KnownCoins, SourceKind::Simulation, 2).unwrap_err();
        assert!(matches!(refused, AuditError::NoSuchControl(Defect::KnownCoins)), "{refused}");
        // The claim is the tight one of as many Gaussians: that of one is another.
        let one = PriorAudit { releases: 1, ..audit }.claim();
        assert!(audit.claim() != one);
    }

    /// The ledger finds a server that charges an event other than the claimed one, before any statistics.
    #[test]
    fn what_the_prior_charges_is_what_is_claimed() {
        let audit = PriorAudit { runs: 1_000, ..PriorAudit::standard(1) };
        let mut federation = Federation::new(&audit, Defect::NoiseFactor(0.9)).unwrap();
        federation.charged = Some(audit.event());
        let source = &mut Simulated::new(RunSeed::new(1, 0).stream(Party::Server, Purpose::Release, 1));
        match federation.play(0, true, source) {
            Err(AuditError::Run { error: RunError::Charge { claimed, .. }, .. }) => assert_eq!(claimed, audit.event()),
            other => panic!("{other:?}"),
        }
    }
}
