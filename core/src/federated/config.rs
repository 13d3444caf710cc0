//! What all parties of a federation agree on. Everything here is public, and none of it is fitted
//! on pooled private data.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::domain::{REGIONS_MAX, Regions};
use crate::parameter::{ConfigError, check, checked, whole};
use crate::privacy::{ClippingNorm, NoiseMultiplier};
use crate::schedule::{Mixing, WeightConcentration, region_weight};

/// The most agents of a federation: their contributions are summed in 64 bits.
pub const AGENTS_MAX: u32 = 1 << 24;

/// The largest concentration: e^(−700) is 1e-304, and every weight a normal number.
const CONCENTRATION_MAX: f64 = 700.0;

/// The most regions for which the weights of one broadcast are kept.
pub(super) const REGION_WEIGHTS_MAX: usize = REGIONS_MAX;

/// N, of any federation.
pub(super) fn enrolled(agents: u32) -> Result<(), ConfigError> {
    whole("agents", agents, 1..=AGENTS_MAX, "1..=16777216")
}

/// m, of any federation: with N and z of their ranges the sums stay within 64 bits.
pub(super) fn grid(exponent: u32) -> Result<(), ConfigError> {
    whole("grid_exponent", exponent, 16..=20, "16..=20")
}

/// From where an agent's initial points are drawn.
///
/// **Example**: that of [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialRegion {
    /// The agent's own sub-region: distributed exploration.
    Own,
    /// The whole domain: the ablation `global-init`.
    Whole,
}

/// How an agent draws a function from its own posterior.
///
/// **Example**: that of [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OwnDraw {
    /// Jointly over all candidates, through a shared low-rank factor of the prior (hosts).
    Joint,
    /// As weights of the shared features (devices).
    Features,
}

/// What the released sum is made of.
///
/// **Example**: that of [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// The selected agents' vectors.
    Vectors,
    /// Zero: the ablation `pure-noise`, whose broadcast carries no information.
    Nothing,
}

/// What the server does with the vectors.
///
/// **Example**: that of [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregation {
    /// Nothing is uploaded and nothing broadcast: every agent alone.
    None,
    /// The weighted mean of all vectors, unclipped, unsampled, without noise. Protects nobody.
    Mean,
    /// Poisson sampling, clipping, and exact Gaussian noise on an integer grid.
    Private {
        /// S: bound on the norm of one agent's vector times √P.
        clipping_norm: ClippingNorm,
        /// q ∈ (0, 1], independently for every agent and broadcast.
        sampling_probability: f64,
        /// z: standard deviation of the noise over the sensitivity.
        noise_multiplier: NoiseMultiplier,
        /// m: the noise has standard deviation 2ᵐ grid units.
        grid_exponent: u32,
        /// What is summed.
        signal: Signal,
    },
}

/// The numbers a federation is described by, before they are checked. How to choose them, with
/// commands that say what each costs: `docs/book/src/choosing.md`.
///
/// **Example**: that of [`Config`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// N, enrolled agents.
    pub agents: u32,
    /// The P sub-regions; agent n explores region n mod P.
    pub regions: Regions,
    /// T, queries after the initial points.
    pub rounds: u32,
    /// N_init ≥ 1, points drawn before the first upload.
    pub initial_points: u32,
    /// The region from which they are drawn.
    pub initial_region: InitialRegion,
    /// M, shared random Fourier features.
    pub feature_count: u32,
    /// λ of the shared weight-space posterior.
    pub regularization: f64,
    /// Observation noise variance of the agent's own posterior.
    pub noise_variance: f64,
    /// c₀, the public constant subtracted from every observation.
    pub offset: f64,
    /// The probabilities 1 − pₜ with which a query follows the release.
    pub mixing: Mixing,
    /// How an agent draws from its own posterior.
    pub own_draw: OwnDraw,
    /// The concentrations a_s of the weights of agents.
    pub concentration: WeightConcentration,
    /// What the server does with the vectors.
    pub aggregation: Aggregation,
}

impl Aggregation {
    /// The paper's private aggregation of all agents' vectors, with the finest grid: S, q and z as
    /// in [`Aggregation::Private`]. An unclipped vector has about the norm of its prior draw,
    /// √(M·P) with its factor √P: S = 1.1·√(M·P) clips few and follows from public numbers alone.
    ///
    /// **Errors**: [`ConfigError`] for S or z out of range; q is checked by [`Config::new`].
    pub fn private(
        clipping_norm: f64,
        sampling_probability: f64,
        noise_multiplier: f64,
    ) -> Result<Aggregation, ConfigError> {
        Ok(Aggregation::Private {
            clipping_norm: ClippingNorm::new(clipping_norm)?,
            sampling_probability,
            noise_multiplier: NoiseMultiplier::new(noise_multiplier)?,
            grid_exponent: 20,
            signal: Signal::Vectors,
        })
    }
}

impl Parameters {
    /// N agents that explore these regions for T rounds with M features, and the constants of the
    /// paper's synthetic experiments: ten initial points, λ and noise variance 0.01, own draws by
    /// features.
    pub fn usual(
        agents: u32,
        regions: Regions,
        rounds: u32,
        feature_count: u32,
        aggregation: Aggregation,
    ) -> Self {
        Parameters {
            agents,
            regions,
            rounds,
            initial_points: 10,
            initial_region: InitialRegion::Own,
            feature_count,
            regularization: 0.01,
            noise_variance: 0.01,
            offset: 0.0,
            mixing: Mixing::InverseSqrt,
            own_draw: OwnDraw::Features,
            concentration: WeightConcentration::PAPER,
            aggregation,
        }
    }
}

/// Checked [`Parameters`].
///
/// ```
/// use sordino_core::domain::Regions;
/// use sordino_core::federated::{Aggregation, Config, InitialRegion, OwnDraw, Parameters, Signal};
///
/// let private = Aggregation::private(11.0, 0.25, 1.0)?; // S, q, z
/// assert!(matches!(private, Aggregation::Private { signal: Signal::Vectors, .. }));
/// let usual = Parameters::usual(200, Regions::new(&[2, 2])?, 40, 64, private);
/// assert_eq!((usual.initial_region, usual.own_draw), (InitialRegion::Own, OwnDraw::Features));
/// let config = Config::new(Parameters { noise_variance: 0.04, ..usual.clone() })?;
/// assert_eq!(config.broadcast_len(), 4 * 64); // P·M
/// assert_eq!((config.region_of_agent(5), config.explorers(1)), (1, 50)); // 5 mod 4, and 200/4 agents
/// let weights = (0..200).map(|n| config.weight(15.0, n, 1)); // of all agents in one region, at a concentration of 15
/// assert!((weights.sum::<f64>() - 1.0).abs() < 1e-12);
/// let refused = Config::new(Parameters { rounds: 0, ..usual }).unwrap_err();
/// assert_eq!((refused.field, refused.admissible), ("rounds", "1..=1048576"));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config(Parameters);

checked!(Config);

impl Config {
    /// Checks every range.
    ///
    /// **Errors**: [`ConfigError`] naming the first field outside its range.
    pub fn new(parameters: Parameters) -> Result<Self, ConfigError> {
        let p = &parameters;
        enrolled(p.agents)?;
        whole("rounds", p.rounds, 1..=1 << 20, "1..=1048576")?;
        whole(
            "initial_points",
            p.initial_points,
            1..=1 << 20,
            "1..=1048576",
        )?;
        whole("feature_count", p.feature_count, 1..=1 << 14, "1..=16384")?;
        let positive = |field, x: f64| check(field, x, x > 0.0 && x.is_finite(), "(0, inf)");
        positive("regularization", p.regularization)?;
        positive("noise_variance", p.noise_variance)?;
        check("offset", p.offset, p.offset.is_finite(), "(-inf, inf)")?;
        // A region that nobody explores, or weights that underflow, would have weights of 0/0 and
        // no largest norm.
        check(
            "agents",
            f64::from(p.agents),
            p.agents >= p.regions.count(),
            "[regions, 16777216]: one for each region",
        )?;
        let a = p.concentration.start;
        check(
            "concentration.start",
            a,
            (0.0..=CONCENTRATION_MAX).contains(&a),
            "[0, 700]",
        )?;
        if let Aggregation::Private {
            sampling_probability,
            grid_exponent,
            ..
        } = p.aggregation
        {
            let q = sampling_probability;
            check("sampling_probability", q, q > 0.0 && q <= 1.0, "(0, 1]")?;
            grid(grid_exponent)?;
        }
        Ok(Config(parameters))
    }

    /// SHA-256 of its postcard form: two parties with the same digest agree on every number.
    pub fn digest(&self) -> Digest {
        Digest::of(self)
    }

    /// Number of regions P.
    pub fn region_count(&self) -> usize {
        self.0.regions.count() as usize
    }

    /// Numbers in a broadcast: P·M.
    pub fn broadcast_len(&self) -> usize {
        self.region_count() * self.0.feature_count as usize
    }

    /// The region agent n explores: n mod P.
    pub fn region_of_agent(&self, agent: u32) -> u32 {
        agent.checked_rem(self.0.regions.count()).unwrap_or(0)
    }

    /// Agents that explore region i.
    pub fn explorers(&self, region: u32) -> u32 {
        let n = self.0.agents;
        let p = self.0.regions.count();
        n / p + u32::from(region < n % p)
    }

    /// φ_n^(i) at a concentration.
    pub fn weight(&self, concentration: f64, agent: u32, region: u32) -> f64 {
        let explores = self.region_of_agent(agent) == region;
        region_weight(
            concentration,
            self.0.agents,
            self.explorers(region),
            explores,
        )
    }

    /// Observations one agent makes in a whole run: N_init + T.
    pub fn observations_max(&self) -> usize {
        self.0.initial_points as usize + self.0.rounds as usize
    }
}

#[cfg(test)]
mod tests {
    use super::super::draws::l2_sensitivity;
    use super::*;
    use crate::random::Stream;

    fn parameters(agents: u32, splits: &[u32], concentration: WeightConcentration) -> Parameters {
        Parameters {
            agents,
            regions: Regions::new(splits).unwrap(),
            rounds: 60,
            initial_points: 1,
            initial_region: InitialRegion::Own,
            feature_count: 4,
            regularization: 0.01,
            noise_variance: 0.01,
            offset: 0.0,
            mixing: Mixing::InverseSqrt,
            own_draw: OwnDraw::Features,
            concentration,
            aggregation: Aggregation::Private {
                clipping_norm: ClippingNorm::new(1e-6).unwrap(),
                sampling_probability: 0.5,
                noise_multiplier: NoiseMultiplier::new(1.0).unwrap(),
                grid_exponent: 20,
                signal: Signal::Vectors,
            },
        }
    }

    #[test]
    fn a_region_without_agents_or_weight_is_refused_by_name() {
        let at = |start| WeightConcentration {
            start,
            ..WeightConcentration::PAPER
        };
        let refused = |agents, splits: &[u32], start| {
            Config::new(parameters(agents, splits, at(start))).err()
        };
        let few = ConfigError {
            field: "agents",
            value: 3.0,
            admissible: "[regions, 16777216]: one for each region",
        };
        assert_eq!(refused(3, &[2, 2], 15.0), Some(few));
        for start in [700.5, 746.0, 1e6, f64::INFINITY, f64::NAN] {
            let error = refused(4, &[2, 2], start).unwrap();
            assert_eq!(
                (error.field, error.admissible),
                ("concentration.start", "[0, 700]"),
                "{start}"
            );
        }
        assert_eq!(refused(4, &[2, 2], 700.0), None);
    }

    /// Every configuration that is accepted has weights that sum to 1 in every region, and a
    /// sensitivity.
    #[test]
    fn accepted_weights_are_weights() {
        let mut stream = Stream::from_seed(19);
        let mut accepted = 0;
        let mut refused = 0;
        for _ in 0..2000 {
            let splits = [1 + stream.below(8), 1 + stream.below(8)];
            let start = [0.0, 15.0, 700.0, 745.5, 1e4][stream.below(5) as usize]
                * stream.unit::<f64>().sqrt();
            let hold = stream.below(3);
            let decay = stream.below(3);
            let most = [70, 100_000][stream.below(2) as usize];
            let agents = 1 + stream.below(most);
            let concentration = WeightConcentration { start, hold, decay };
            let Ok(config) = Config::new(parameters(agents, &splits, concentration)) else {
                refused += 1;
                continue;
            };
            accepted += 1;
            for broadcast in 0..6 {
                let a = concentration.at(broadcast);
                for region in 0..splits[0] * splits[1] {
                    let explorers = f64::from(config.explorers(region));
                    let weight =
                        |explores| region_weight(a, agents, config.explorers(region), explores);
                    let sum =
                        explorers * weight(true) + (f64::from(agents) - explorers) * weight(false);
                    assert!((sum - 1.0).abs() < 1e-12, "{agents} {splits:?} {a}: {sum}");
                }
                let norm = l2_sensitivity(&config, broadcast).unwrap();
                assert!(
                    norm.is_normal() && norm > 0.0,
                    "{agents} {splits:?} {a}: {norm}"
                );
            }
        }
        assert!(accepted > 300 && refused > 300, "{accepted} {refused}");
        // Negative control: what is refused has no weights.
        assert!(region_weight(746.0, 3, 0, false).is_nan());
    }
}
