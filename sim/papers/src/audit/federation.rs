//! The federation that is audited: a real server, real collectors, and one agent that is present or
//! absent.
//!
//! There are two regions, so that weights and sensitivity are those of a federation. Of the three
//! agents, agent 1 is alone in its region and weighs most. If present, it uploads its whole
//! clipping norm in one coordinate; in every other pair of rounds it uploads a billion times as
//! much, which the clip reduces to the same. If absent, it uploads nothing, or something that is
//! not a number. The others upload zeros. In odd rounds all but agent 0 upload to a collector,
//! whose partial is merged; in even rounds all upload to the server.

use sordino_core::domain::Regions;
use sordino_core::federated::{
    Aggregation, Config, ConfigError, Counters, InitialRegion, OwnDraw, Parameters, Server,
    ServerNumbers, ServerState, Signal, l2_sensitivity,
};
use sordino_core::math::{self, Scalar};
use sordino_core::privacy::mechanism::gaussian::GridGaussian;
use sordino_core::privacy::{ClippingNorm, Event, NoiseMultiplier, SamplingProbability, Simulated};
use sordino_core::schedule::{Mixing, WeightConcentration};

use super::claim::GaussianAudit;
use super::defect::Defect;
use super::error::{AuditError, RunError};
use super::ledger::{AuditLedger, Foreseen};
use super::play::Play;
use super::release::{Shard, Step};

/// The audited agent, which has the largest weight.
const AUDITED: u32 = 1;
/// Number of regions P.
const REGIONS: usize = 2;
/// Length of an upload, in numbers.
const FEATURES: usize = 2;
/// Clipping norm S; any number would do.
const CLIPPING_NORM: f64 = 3.0;
const GRID_EXPONENT: u32 = 16;
/// Upload of an agent that contributes nothing.
const ZEROS: [f64; FEATURES] = [0.0; FEATURES];
const NOT_A_NUMBER: [f64; FEATURES] = [f64::NAN, f64::INFINITY];
/// Number of tries after which a host that conditions its noise gives up.
const TRIES_MAX: u32 = 1_000;

/// A federation with its storage, to be played again and again.
pub(super) struct Federation {
    config: Config,
    /// q and z, as claimed.
    claimed: (f64, f64),
    /// The event that the ledger pays for; `None`, in a control, is any event.
    charged: Option<Event>,
    defect: Defect,
    /// By round and region, the weight of a released coordinate in the direction of the agent, in
    /// units of the claimed sensitivity. In that direction the agent's contribution is 1, and the
    /// noise has standard deviation z.
    directions: Vec<[f64; REGIONS]>,
    /// Radius S/√P of a contribution.
    radius: f64,
    server: ServerNumbers<f64>,
    shard: Shard,
}

/// What a control knows about a round in advance.
struct Knowledge {
    /// Whether the audited agent is in the sample.
    selected: bool,
    /// The agent as which the audited one is counted a second time.
    twin: Option<u32>,
}

impl Federation {
    /// The federation of a claim, or the defective one that is run instead.
    pub(super) fn new(audit: &GaussianAudit, defect: Defect) -> Result<Self, AuditError> {
        let config = config(audit, defect)?;
        let rounds = config.parameters().rounds;
        let radius = CLIPPING_NORM / Scalar::sqrt(REGIONS as f64);
        let q = sampling_probability(&config);
        let directions = (0..rounds).map(|round| {
            let concentration = config.parameters().concentration.at(round);
            let weights = [0, 1].map(|region| config.weight(concentration, AUDITED, region));
            let norm = Scalar::sqrt(weights.iter().map(|weight| weight * weight).sum::<f64>());
            let answer = RunError::Answer {
                expected: "a private aggregation",
            };
            let sensitivity = l2_sensitivity(&config, round).ok_or(AuditError::Run {
                run: 0,
                round,
                error: answer,
            })?;
            // The release is divided by the q that is run with, which everybody knows.
            Ok(weights.map(|weight| weight / norm * q / sensitivity))
        });
        let directions = directions.collect::<Result<_, AuditError>>()?;
        let others = config.parameters().agents as usize - 1;
        Ok(Federation {
            claimed: (audit.sampling_probability, audit.noise_multiplier),
            charged: (defect == Defect::None).then(|| audit.event()),
            defect,
            directions,
            radius,
            server: ServerNumbers::new(&config),
            shard: (
                vec![0; config.broadcast_len()],
                vec![0; others],
                Counters::default(),
            ),
            config,
        })
    }

    /// The configuration that is run.
    #[cfg(test)]
    pub(super) const fn config(&self) -> &Config {
        &self.config
    }
}

impl Play for Federation {
    const ROUND: u32 = 0;

    fn play<S: Foreseen>(
        &mut self,
        run: u32,
        present: bool,
        source: &mut S,
    ) -> Result<f64, AuditError> {
        let mut state = ServerState::new();
        let mut server = Server::attach(&self.config, &mut state, self.server.lend())
            .map_err(AuditError::in_run(run, 0))?;
        let mut ledger = AuditLedger::new(self.charged);
        let mut total = 0.0;
        for (round, direction) in (0..).zip(&self.directions) {
            let knows = match self.defect.foresees().then(|| source.ahead()) {
                None => Knowledge {
                    selected: false,
                    twin: None,
                },
                Some(None) => return Err(AuditError::NeedsSeed(self.defect)),
                Some(Some(mut ahead)) => foresee(&self.config, self.defect, &mut ahead)
                    .map_err(AuditError::in_run(run, round))?,
            };
            let mut step = Step {
                server: &mut server,
                index: round,
                source: &mut *source,
            };
            step.open().map_err(AuditError::in_run(run, round))?;
            let uploads = uploads(round, present, self.radius, knows.twin);
            step.collect(&mut self.shard, uploads)
                .map_err(AuditError::in_run(run, round))?;
            if self.defect == Defect::NoiseOfOneSign {
                wait_for_noise(&self.config, round, direction, step.source)
                    .map_err(AuditError::in_run(run, round))?;
            }
            let x = step
                .release(&mut ledger, |released| along(direction, round, released))
                .map_err(AuditError::in_run(run, round))?;
            total += score(self.defect, self.claimed, x, knows.selected);
        }
        let rounds = self.config.parameters().rounds;
        if ledger.charges() != rounds || !total.is_finite() {
            let error = match total.is_finite() {
                true => RunError::Answer {
                    expected: "one charge for each round",
                },
                false => RunError::NotFinite(total),
            };
            return Err(AuditError::in_run(run, rounds - 1)(error));
        }
        Ok(total)
    }
}

/// What every agent uploads in a round, if anything.
fn uploads(
    round: u32,
    present: bool,
    radius: f64,
    twin: Option<u32>,
) -> impl Fn(u32) -> Option<[f64; FEATURES]> {
    let mut whole = ZEROS;
    whole[round as usize % FEATURES] = if round & 2 == 0 { radius } else { radius * 1e9 };
    move |agent| match agent {
        AUDITED if present => Some(whole),
        AUDITED => (round & 2 != 0).then_some(NOT_A_NUMBER),
        other if present && Some(other) == twin => Some(whole),
        _ => Some(ZEROS),
    }
}

/// The log-likelihood ratio of one release, given what the observer of this control knows.
fn score(defect: Defect, (q, z): (f64, f64), x: f64, selected: bool) -> f64 {
    let of_a_selected = (2.0 * x - 1.0) / (2.0 * z * z);
    match defect {
        // Who knows the coins knows when to look.
        Defect::KnownCoins => {
            if selected {
                of_a_selected
            } else {
                0.0
            }
        }
        // Below the contribution there is only noise.
        Defect::NoiseOfOneSign if x < 1.0 => math::ln_1p(-q),
        _ => math::ln_1p(q * math::exp_m1(of_a_selected)),
    }
}

/// Plays a host that looks ahead and releases only when the noise will point the agent's way.
fn wait_for_noise<S: Foreseen>(
    config: &Config,
    round: u32,
    direction: &[f64; REGIONS],
    source: &mut S,
) -> Result<(), RunError> {
    let len = config.broadcast_len();
    let mechanism = mechanism(config)?;
    let mut pool = vec![0; len];
    let mut out = vec![0.0f64; len];
    let sensitivity = l2_sensitivity(config, round).unwrap_or(f64::NAN);
    for _ in 0..TRIES_MAX {
        let Some(mut ahead) = source.ahead() else {
            break;
        };
        let sample = mechanism
            .sample(&mut ahead.clone(), &mut [0])
            .map_err(refused)?;
        let noise = mechanism.fill_noise(&mut ahead, &mut pool)?;
        let alone = mechanism.release(&mut vec![0; len], sample, noise, sensitivity, &mut out);
        if along(direction, round, alone.map_err(refused)?.value()) >= 0.0 {
            return Ok(());
        }
        source.word()?;
    }
    Err(RunError::Answer {
        expected: "noise of that sign",
    })
}

/// The released vector along the agent's contribution.
fn along(direction: &[f64; REGIONS], round: u32, released: &[f64]) -> f64 {
    let own = round as usize % FEATURES;
    direction
        .iter()
        .zip(released.chunks_exact(FEATURES))
        .map(|(weight, block)| weight * block[own])
        .sum()
}

/// The coins of a round, read in advance.
fn foresee(config: &Config, defect: Defect, ahead: &mut Simulated) -> Result<Knowledge, RunError> {
    let mut coins = vec![0; config.parameters().agents as usize];
    // The sample is thrown away; only its coins are looked at.
    drop(
        mechanism(config)?
            .sample(ahead, &mut coins)
            .map_err(refused)?,
    );
    let selected = coins[AUDITED as usize] != 0;
    // Another agent of the sample and of the same weight.
    let twin = (0..).zip(&coins).find(|(agent, coin)| {
        **coin != 0
            && *agent != AUDITED
            && config.region_of_agent(*agent) == config.region_of_agent(AUDITED)
    });
    let twice = defect == Defect::CountedTwice && selected;
    Ok(Knowledge {
        selected,
        twin: twin.filter(|_| twice).map(|(agent, _)| agent),
    })
}

fn refused(error: sordino_core::privacy::mechanism::gaussian::GaussianError) -> RunError {
    RunError::Server(error.into())
}

/// The mechanism for a configuration, as the server makes it.
fn mechanism(config: &Config) -> Result<GridGaussian, RunError> {
    let parameters = config.parameters();
    let Aggregation::Private {
        sampling_probability,
        noise_multiplier,
        grid_exponent,
        ..
    } = parameters.aggregation
    else {
        return Err(RunError::Answer {
            expected: "a private aggregation",
        });
    };
    let q = SamplingProbability::new(sampling_probability).map_err(|_| RunError::Answer {
        expected: "a sampling probability",
    })?;
    GridGaussian::new(
        grid_exponent,
        noise_multiplier.value(),
        q,
        parameters.agents,
    )
    .map_err(refused)
}

fn sampling_probability(config: &Config) -> f64 {
    match config.parameters().aggregation {
        Aggregation::Private {
            sampling_probability,
            ..
        } => sampling_probability,
        _ => 1.0,
    }
}

/// The configuration that is run: the claim's, except for the defect.
pub(super) fn config(audit: &GaussianAudit, defect: Defect) -> Result<Config, AuditError> {
    let mut sampling_probability = audit.sampling_probability;
    let mut noise_multiplier = audit.noise_multiplier;
    let mut rounds = audit.rounds;
    let mut agents = 3;
    match defect {
        Defect::None | Defect::KnownCoins | Defect::NoiseOfOneSign => {}
        Defect::NoiseFactor(factor) => noise_multiplier *= factor,
        Defect::SampledWith(q) => sampling_probability = q,
        Defect::RoundsRun(run) => rounds = run,
        // So many that another one of the same weight is in nearly every sample.
        Defect::CountedTwice => agents = 33,
        other @ (Defect::SensitivityFactor(_)
        | Defect::NoClamp(_)
        | Defect::ClipCoordinateLeftOut
        | Defect::PrivateRadius(_)
        | Defect::Uncharged
        | Defect::SpaceOfPrivateData
        | Defect::HelperWithoutNoise
        | Defect::TwoAnswers
        | Defect::MaskUsedTwice) => return Err(AuditError::NoSuchControl(other)),
    }
    let Ok(regions) = Regions::new(&[REGIONS as u32]) else {
        let field = "regions";
        let value = REGIONS as f64;
        return Err(AuditError::Config(ConfigError {
            field,
            value,
            admissible: "1..=64",
        }));
    };
    let parameters = Parameters {
        agents,
        regions,
        rounds,
        initial_points: 1,
        initial_region: InitialRegion::Own,
        feature_count: FEATURES as u32,
        regularization: 0.01,
        noise_variance: 0.01,
        offset: 0.0,
        mixing: Mixing::InverseSqrt,
        own_draw: OwnDraw::Features,
        // Weights that move from round to round.
        concentration: WeightConcentration {
            start: 1.0,
            ..WeightConcentration::PAPER
        },
        aggregation: Aggregation::Private {
            clipping_norm: ClippingNorm::new(CLIPPING_NORM).map_err(AuditError::Config)?,
            sampling_probability,
            noise_multiplier: NoiseMultiplier::new(noise_multiplier).map_err(AuditError::Config)?,
            grid_exponent: GRID_EXPONENT,
            signal: Signal::Vectors,
        },
    };
    Config::new(parameters).map_err(AuditError::Config)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An audit of an agent that weighs less than another would pass too easily.
    #[test]
    fn nobody_weighs_more_than_the_agent_in_question() {
        for defect in [Defect::None, Defect::CountedTwice] {
            let federation = Federation::new(&GaussianAudit::standard(1), defect).unwrap();
            let config = &federation.config;
            for (round, direction) in (0..).zip(&federation.directions) {
                let a = config.parameters().concentration.at(round);
                let norm = |agent| {
                    (0..2)
                        .map(|region| config.weight(a, agent, region).powi(2))
                        .sum::<f64>()
                        .sqrt()
                };
                assert!(
                    (0..config.parameters().agents)
                        .all(|agent| norm(agent) <= norm(AUDITED) * (1.0 + 1e-12))
                );
                // Its contribution, decoded, is 1 in its own direction.
                let whole =
                    [0, 1].map(|region| config.weight(a, AUDITED, region) * federation.radius);
                let q = sampling_probability(config);
                let x: f64 = whole
                    .iter()
                    .zip(direction)
                    .map(|(x, weight)| x * weight / q)
                    .sum();
                assert!((x - 1.0).abs() < 1e-12, "{round}: {x}");
            }
        }
    }
}
