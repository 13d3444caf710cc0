//! What both sides of a federated prior agree on before they exchange anything.

use serde::{Deserialize, Serialize};

use super::super::config::OwnDraw;
use super::config::Config;
use super::error::{PriorError, judge};
use super::evidence::{Model, models};
use super::filter::Plan;
use crate::digest::Digest;
use crate::kernel::Stationary;
use crate::math::Scalar;
use crate::random::RunSeed;

/// The most releases of a plan that is agreed on.
pub const RELEASES_MAX: usize = 64;
/// The most rounds T.
const ROUNDS_MAX: u32 = 10_000;
/// Factors of the models of a protocol, whatever it says ([`PriorProtocol::models`]): one for each
/// variance.
pub const LEVELS: usize = 5;
/// ln of the prior weight of a model that is never drawn.
const NEVER: f64 = -1e30;

/// The rounds of a plan whose releases are all made before the first round.
const BEFORE_ALL: [u32; RELEASES_MAX] = [0; RELEASES_MAX];

/// How agents use the posterior; all true, except where a study switches something off.
///
/// **Example**: that of [`super::Member`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Behaviour {
    /// Queries follow a draw of the posterior; otherwise its mean.
    pub follows_draws: bool,
    /// An agent may leave the posterior aside where its own data speak against it.
    pub own_model: bool,
    /// Contributions are what agents know; otherwise zeros, a twin that shares only noise.
    pub signal: bool,
}

impl Behaviour {
    /// The method as it is meant.
    pub const USUAL: Self = Behaviour {
        follows_draws: true,
        own_model: true,
        signal: true,
    };
}

/// Everything public that both sides of a federated prior compute with, apart from candidates and
/// landmarks, which are named by their digests.
///
/// **Example**: that of [`super::Member`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PriorProtocol {
    /// Agents, features, noise variance, clip factor, grid.
    pub config: Config,
    /// T, queries of an agent after its initial points.
    pub rounds: u32,
    /// c₀, subtracted from every value that is observed, unit y.
    pub offset: f64,
    /// Release j is made before the queries of round `release_rounds[j]` + 1; not decreasing, each
    /// below T.
    pub release_rounds: heapless::Vec<u32, RELEASES_MAX>,
    /// Noise multipliers z_j, one for each release.
    pub noise_multipliers: heapless::Vec<f64, RELEASES_MAX>,
    /// Shape of the kernel of features and of an agent's own posterior.
    pub kernel: Stationary,
    /// Its lengthscale on the unit box, > 0.
    pub lengthscale: f64,
    /// s², > 0, unit y².
    pub signal_variance: f64,
    /// What an agent's own draws are made of.
    pub own_draw: OwnDraw,
    /// Share of the prior variance that the factor of joint own draws may lack, in [0, 1).
    pub prior_tolerance: f64,
    /// [`candidates_digest`](super::super::exchange::candidates_digest) of the M landmarks of the
    /// Nyström features.
    pub landmarks: Digest,
    /// The public seed of the virtual designs.
    pub design_seed: RunSeed,
    /// The public seed of the common draws. **Never an agent's own.**
    pub draw_seed: RunSeed,
    /// How agents use the posterior.
    pub behaviour: Behaviour,
}

impl PriorProtocol {
    /// Refuses numbers that no federation has; those of the configuration are checked as it is
    /// made, those of the kernel where it is.
    ///
    /// **Errors**: [`PriorError::Number`] naming the first outside its range;
    /// [`PriorError::Length`] for multipliers that are not one for each release.
    pub fn check(&self) -> Result<(), PriorError> {
        judge(
            "rounds",
            f64::from(self.rounds),
            (1..=ROUNDS_MAX).contains(&self.rounds),
            "1..=10000",
        )?;
        judge(
            "offset",
            self.offset,
            self.offset.is_finite(),
            "(-inf, inf)",
        )?;
        judge(
            "prior_tolerance",
            self.prior_tolerance,
            (0.0..1.0).contains(&self.prior_tolerance),
            "[0, 1)",
        )?;
        for z in &self.noise_multipliers {
            judge(
                "noise_multiplier",
                *z,
                *z > 0.0 && z.is_finite(),
                "(0, inf)",
            )?;
        }
        for round in &self.release_rounds {
            judge(
                "round of a release",
                f64::from(*round),
                *round < self.rounds,
                "below the number of rounds",
            )?;
        }
        self.plan().check()
    }

    /// When releases are made, and at which multipliers.
    pub fn plan(&self) -> Plan<'_> {
        Plan {
            rounds: &self.release_rounds,
            noise_multipliers: &self.noise_multipliers,
        }
    }

    /// Releases of the plan.
    pub fn releases(&self) -> u32 {
        self.noise_multipliers.len() as u32
    }

    /// The round after which agents contribute to release e; T after the last release.
    pub fn last_round(&self, epoch: u32) -> u32 {
        self.release_rounds
            .get(epoch as usize)
            .copied()
            .unwrap_or(self.rounds)
    }

    /// The models of how an agent's function relates to the posterior.
    pub fn models<T: Scalar>(&self) -> [Model<T>; 6] {
        let mut models = models::<T>(0);
        if !self.behaviour.own_model {
            let own = models.iter_mut().filter(|model| model.trust == T::ZERO);
            own.for_each(|model| model.log_prior = T::from_f64(NEVER));
        }
        models
    }
}

/// The version of the rules of a campaign: what sites evaluate first, what they contribute, and
/// what a release becomes. Parties of two versions would spend ε on a file that is of neither, so
/// it is among what they agree on.
pub const CAMPAIGN_RULES: u32 = 2;

/// Everything public that both sides of a campaign compute with: agents that search a space of
/// named parameters, each in a unit of its own, make a prior file together. Candidates, landmarks,
/// lengthscale and virtual designs are functions of the space alone; nobody chooses a constant.
///
/// An agent evaluates its first points, contributes what they say to every release, and then goes
/// on with the posterior of all.
///
/// ```
/// use sordino_core::digest::Digest;
/// use sordino_core::federated::prior::{CAMPAIGN_RULES, CampaignProtocol, Config, Parameters, PriorError};
///
/// let usual = CampaignProtocol {
///     rules: CAMPAIGN_RULES,
///     config: Config::new(Parameters::own_units(50, 100, 10))?,
///     rounds: 190,
///     noise_multipliers: [9.0, 9.0].into_iter().collect(),
///     lengthscale: 0.5,
///     landmarks: Digest::default(),
///     publication: Digest::default(),
/// };
/// assert_eq!((usual.check(), usual.releases()), (Ok(()), 2));
/// assert_eq!((usual.last_round(0), usual.last_round(2)), (0, 190));
/// let none = CampaignProtocol { noise_multipliers: heapless::Vec::new(), ..usual };
/// assert!(matches!(none.check(), Err(PriorError::Number { what: "releases", .. })));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CampaignProtocol {
    /// [`CAMPAIGN_RULES`] of the program that began it.
    pub rules: u32,
    /// Agents, features, virtual designs, clip factor, grid.
    pub config: Config,
    /// Evaluations of an agent after its first points, at most.
    pub rounds: u32,
    /// Noise multipliers z_j, one for each release.
    pub noise_multipliers: heapless::Vec<f64, RELEASES_MAX>,
    /// Lengthscale of the features in coordinates of the unit box, > 0.
    pub lengthscale: f64,
    /// [`candidates_digest`](super::super::exchange::candidates_digest) of the M landmarks.
    pub landmarks: Digest,
    /// SHA-256 of the text that says what is searched and published: names, ranges, goal, data set.
    pub publication: Digest,
}

impl CampaignProtocol {
    /// Refuses numbers that no campaign has; those of the configuration are checked as it is made.
    ///
    /// **Errors**: [`PriorError::Number`] naming the first outside its range.
    pub fn check(&self) -> Result<(), PriorError> {
        judge(
            "rules",
            f64::from(self.rules),
            self.rules == CAMPAIGN_RULES,
            "the rules of this program: all parties of a campaign need the same",
        )?;
        judge(
            "rounds",
            f64::from(self.rounds),
            (1..=ROUNDS_MAX).contains(&self.rounds),
            "1..=10000",
        )?;
        judge(
            "releases",
            f64::from(self.releases()),
            self.releases() > 0,
            "1..=64",
        )?;
        for z in &self.noise_multipliers {
            judge(
                "noise_multiplier",
                *z,
                *z > 0.0 && z.is_finite(),
                "(0, inf)",
            )?;
        }
        judge(
            "lengthscale",
            self.lengthscale,
            self.lengthscale > 0.0 && self.lengthscale.is_finite(),
            "(0, inf)",
        )?;
        self.plan().check()
    }

    /// The releases, all made before the first round, and their multipliers.
    pub fn plan(&self) -> Plan<'_> {
        let rounds = BEFORE_ALL
            .get(..self.noise_multipliers.len())
            .unwrap_or_default();
        Plan {
            rounds,
            noise_multipliers: &self.noise_multipliers,
        }
    }

    /// Number of releases.
    pub fn releases(&self) -> u32 {
        self.noise_multipliers.len() as u32
    }

    /// The last round of epoch e: 0 before the last release, all of them after it.
    pub fn last_round(&self, epoch: u32) -> u32 {
        if epoch < self.releases() {
            0
        } else {
            self.rounds
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::federated::prior::{Parameters, levels};
    use crate::privacy::budget::GaussianFilter;

    fn protocol(noise_multipliers: &[f64]) -> PriorProtocol {
        PriorProtocol {
            config: Config::new(Parameters::usual(2, 3, 2, 0.1)).unwrap(),
            rounds: 5,
            offset: 0.0,
            release_rounds: noise_multipliers.iter().map(|_| 0).collect(),
            noise_multipliers: noise_multipliers.iter().copied().collect(),
            kernel: Stationary::SquaredExponential,
            lengthscale: 0.2,
            signal_variance: 1.0,
            own_draw: OwnDraw::Features,
            prior_tolerance: 0.0,
            landmarks: Digest::default(),
            design_seed: RunSeed::new(7, 0),
            draw_seed: RunSeed::new(8, 0),
            behaviour: Behaviour::USUAL,
        }
    }

    #[test]
    fn a_budget_holds_the_releases_before_it_too_and_none_beyond_the_plan() {
        let protocol = protocol(&[4.0, 4.0, 4.0]);
        let mut filter = GaussianFilter::new(f64::INFINITY, 1e-5).unwrap();
        let spent = [0, 1, 2].map(|release| {
            filter
                .charge(&protocol.plan().event(release).unwrap())
                .unwrap();
            filter.spent().unwrap().epsilon
        });
        let affords = |release, epsilon| protocol.plan().affords(release, epsilon, 1e-5).unwrap();
        // A member that comes late has no more of the budget than one that was there from the
        // beginning.
        assert!(affords(0, spent[1]) && affords(1, spent[1]) && !affords(2, spent[1]));
        assert!(affords(2, spent[2]) && !affords(3, f64::INFINITY));
        assert!(protocol.plan().affords(0, 1.0, 0.0).is_err());
    }

    #[test]
    fn the_models_of_every_protocol_need_as_many_factors() {
        let usual = protocol(&[4.0]);
        let alone = PriorProtocol {
            behaviour: Behaviour {
                own_model: false,
                ..Behaviour::USUAL
            },
            ..usual.clone()
        };
        assert_eq!(
            [usual, alone].map(|protocol| levels(&protocol.models::<f32>())),
            [LEVELS; 2]
        );
    }
}
