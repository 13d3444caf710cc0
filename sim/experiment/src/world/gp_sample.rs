//! Draws of a Gaussian process on a grid, one for all agents, perturbed for each.
//!
//! **Equation**: f = F·z with FFᵀ ≈ K (pivoted Cholesky, cut at 1e-8 of the signal variance) and z
//! ~ N(0, I); fₙ(i) = ±f(i) + gₙ(i) + a·(2u − 1), u a hash of (run, agent, point); yₙ = fₙ(i) + σe.
//! Agents may differ by a smooth function gₙ ~ GP with its own lengthscale and variance, by an
//! independent draw in place of f, or by its sign; coins of (run, agent) decide which agents do.

use std::sync::Arc;

use sordino_core::kernel::Kernel;
use sordino_core::linalg::{dot, pivoted_cholesky};
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose, RunSeed, Stream, normal};

use super::objective::{coins, noise};
use super::per_agent::PerAgent;
use super::{Family, Objective, ObjectiveError};
pub use crate::benchmark::design::grid;
use crate::scenario::{Differences, GpSampleConfig, KernelConfig};

/// The most columns of a factor: with more, a draw would cost more than the experiment.
pub const RANK_MAX: usize = 2048;
/// Variance that may be missing at any point, as a share of the signal variance.
const TOLERANCE: f64 = 1e-8;

/// What the draws share: the grid and the factor of its covariance.
pub struct GpSamples(Arc<Shared>);

struct Shared {
    agents: u32,
    dim: usize,
    points: Vec<f64>,
    factor: Factor,
    /// The factor for the agents' own functions.
    own: Option<Factor>,
    differences: Differences,
    noise_std: f64,
    perturbation: f64,
}

/// F with FFᵀ ≈ K over a grid.
struct Factor {
    /// n rows of `width` numbers, of which the first `rank` are not zero.
    rows: Vec<f64>,
    width: usize,
    rank: usize,
}

impl Factor {
    /// **Errors**: [`ObjectiveError::TooRough`]. **Cost**: n·rank² flops.
    fn new(
        kernel: &KernelConfig,
        points: &[f64],
        dim: usize,
        rank_max: usize,
    ) -> Result<Self, ObjectiveError> {
        let n = points.len() / dim;
        let tolerance = TOLERANCE * kernel.signal_variance;
        let kernel = kernel
            .build::<f64>()
            .expect("a scenario's ranges are inside the kernel's");
        let mut diagonal = vec![0.0; n];
        let mut width = n.min(128).min(rank_max);
        loop {
            let mut rows = vec![0.0; n * width];
            let reached =
                pivoted_cholesky(n, width, &mut rows, &mut diagonal, tolerance, |i, j| {
                    kernel.covariance(&points[i * dim..][..dim], &points[j * dim..][..dim])
                });
            if reached.residual <= tolerance {
                return Ok(Factor {
                    rows,
                    width,
                    rank: reached.rank,
                });
            }
            if width >= n.min(rank_max) {
                return Err(ObjectiveError::TooRough {
                    rank: width,
                    residual: reached.residual,
                    tolerance,
                });
            }
            // The columns already found come out the same again.
            width = (2 * width).min(n).min(rank_max);
        }
    }

    /// Standard normal coordinates z of a draw.
    fn coordinates(&self, mut stream: Stream) -> Vec<f64> {
        let mut z = vec![0.0; self.rank];
        normal::fill(&mut stream, &mut z);
        z
    }

    /// Value (Fz)ᵢ of the function at a candidate.
    fn at(&self, z: &[f64], i: usize) -> f64 {
        dot(&self.rows[i * self.width..][..self.rank], z)
    }
}

impl GpSamples {
    /// Factors the covariance over the grid.
    ///
    /// **Errors**: [`ObjectiveError::TooRough`]. **Cost**: n·rank² flops, at most 2n·rank numbers.
    pub fn new(config: &GpSampleConfig, agents: u32) -> Result<Self, ObjectiveError> {
        Self::within(config, agents, RANK_MAX)
    }

    fn within(
        config: &GpSampleConfig,
        agents: u32,
        rank_max: usize,
    ) -> Result<Self, ObjectiveError> {
        let dim = config.dim;
        let differences = config.differences;
        let points = grid(config.points_per_axis, dim);
        let own = KernelConfig {
            kernel: config.kernel.kernel,
            lengthscale: differences.own_lengthscale,
            signal_variance: differences.own_variance,
        };
        Ok(GpSamples(Arc::new(Shared {
            agents,
            dim,
            factor: Factor::new(&config.kernel, &points, dim, rank_max)?,
            own: (own.signal_variance > 0.0)
                .then(|| Factor::new(&own, &points, dim, rank_max))
                .transpose()?,
            points,
            differences,
            noise_std: config.noise_variance.sqrt(),
            perturbation: config.perturbation,
        })))
    }
}

impl Family for GpSamples {
    /// **Cost**: nothing per agent if agents differ only point by point, else the normals of its
    /// own draw when it is asked.
    fn realize(&self, run: RunSeed) -> Box<dyn Objective> {
        let shared = Arc::clone(&self.0);
        let z = shared
            .factor
            .coordinates(run.stream(Party::World, Purpose::Objective, 0));
        let common = (0..shared.points.len() / shared.dim)
            .map(|i| shared.factor.at(&z, i))
            .collect();
        let members = (!shared.differences.is_none()).then(|| PerAgent::new(shared.agents));
        Box::new(GpSample {
            shared,
            run,
            common,
            members,
        })
    }
}

/// How one agent's function differs.
struct Member {
    /// Coordinates of an independent draw in place of the common function.
    unrelated: Option<Vec<f64>>,
    flipped: bool,
    /// Coordinates of the smooth function that is added; empty if there is none.
    own: Vec<f64>,
}

impl Member {
    /// Coins and draws of (run, agent): 0 is the smooth function, 1 and 2 the coins, 3 the
    /// independent draw.
    fn new(shared: &Shared, run: RunSeed, agent: u32) -> Self {
        let unrelated = coins(run, agent, 1).unit::<f64>() < shared.differences.unrelated;
        Member {
            unrelated: unrelated.then(|| shared.factor.coordinates(coins(run, agent, 3))),
            flipped: coins(run, agent, 2).unit::<f64>() < shared.differences.flipped,
            own: shared
                .own
                .as_ref()
                .map_or(Vec::new(), |own| own.coordinates(coins(run, agent, 0))),
        }
    }
}

/// The functions of one run.
struct GpSample {
    shared: Arc<Shared>,
    run: RunSeed,
    common: Vec<f64>,
    /// One for each agent; `None` if agents differ only point by point.
    members: Option<PerAgent<Member>>,
}

impl GpSample {
    /// The agent's function without the part that is drawn point by point.
    fn smooth(&self, agent: u32, i: usize) -> f64 {
        let Some(members) = &self.members else {
            return self.common[i];
        };
        let member = members.get(agent, |agent| Member::new(&self.shared, self.run, agent));
        let base = member
            .unrelated
            .as_ref()
            .map_or(self.common[i], |z| self.shared.factor.at(z, i));
        let own = self
            .shared
            .own
            .as_ref()
            .map_or(0.0, |own| own.at(&member.own, i));
        own + if member.flipped { -base } else { base }
    }
}

impl Objective for GpSample {
    fn agents(&self) -> u32 {
        self.shared.agents
    }
    fn dim(&self) -> usize {
        self.shared.dim
    }
    fn candidates(&self) -> &[f64] {
        &self.shared.points
    }
    fn value(&self, agent: u32, candidate: u32) -> f64 {
        let unit = f64::unit(
            self.run
                .word(Party::Agent(agent), Purpose::Perturbation, candidate),
        );
        self.smooth(agent, candidate as usize) + self.shared.perturbation * (2.0 * unit - 1.0)
    }
    fn observe(&self, agent: u32, candidate: u32, observation: u32) -> f64 {
        self.value(agent, candidate) + noise(self.run, agent, observation, self.shared.noise_std)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_core::kernel::Stationary;

    fn config(kernel: Stationary, points_per_axis: u32, dim: usize) -> GpSampleConfig {
        GpSampleConfig {
            dim,
            points_per_axis,
            kernel: KernelConfig {
                kernel,
                lengthscale: 0.2,
                signal_variance: 2.0,
            },
            noise_variance: 0.01,
            perturbation: 0.02,
            differences: Differences::NONE,
        }
    }

    #[test]
    fn grid_is_row_major_with_both_ends() {
        assert_eq!(grid(3, 1), [0.0, 0.5, 1.0]);
        assert_eq!(grid(2, 2), [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0]);
    }

    /// Sample covariance of 4,000 draws at two points against the kernel. Level: 5 standard errors
    /// of a product of normals, sqrt((k11·k22 + k12²)/4000).
    #[test]
    fn draws_have_the_kernel_as_covariance_and_the_test_can_fail() {
        let config = config(Stationary::SquaredExponential, 16, 1);
        let family = GpSamples::new(&config, 1).unwrap();
        let i = 3;
        let j = 6;
        let kernel = config.kernel.build::<f64>().unwrap();
        let truth = kernel.covariance(&[3.0 / 15.0], &[6.0 / 15.0]);
        let mut sum = 0.0;
        for run in 0..4000 {
            let objective = family.realize(RunSeed::new(1, run));
            sum += objective.value(0, i) * objective.value(0, j);
        }
        let error = 5.0 * ((4.0 + truth * truth) / 4000.0f64).sqrt();
        assert!((sum / 4000.0 - truth).abs() < error);
        // Negative control: the covariance of the neighbouring distance is not accepted.
        let other = kernel.covariance(&[3.0 / 15.0], &[7.0 / 15.0]);
        assert!((sum / 4000.0 - other).abs() > error);
    }

    #[test]
    fn agents_differ_by_the_perturbation_and_noise_is_addressed() {
        let family = GpSamples::new(&config(Stationary::Matern52, 12, 2), 3).unwrap();
        let objective = family.realize(RunSeed::new(0, 0));
        assert_eq!(
            (
                objective.candidate_count(),
                objective.dim(),
                objective.agents()
            ),
            (144, 2, 3)
        );
        let gap = (objective.value(0, 5) - objective.value(1, 5)).abs();
        assert!(gap > 0.0 && gap <= 0.04);
        assert_eq!(objective.observe(1, 5, 2), objective.observe(1, 5, 2));
        assert_ne!(objective.observe(1, 5, 2), objective.observe(1, 5, 3));
        assert!((0..144).all(|i| objective.value(2, i) <= objective.optimum(2)));
    }

    #[test]
    fn a_wide_factor_is_found_and_a_too_rough_kernel_refused() {
        assert_eq!(
            GpSamples::new(&config(Stationary::Matern12, 300, 1), 1)
                .unwrap()
                .0
                .factor
                .rank,
            300
        );
        let rough = config(Stationary::Matern12, 300, 1);
        assert!(matches!(
            GpSamples::within(&rough, 1, 200),
            Err(ObjectiveError::TooRough { rank: 200, .. })
        ));
    }

    /// What every key does, agent by agent: correlation with the common function, shares, sizes.
    /// Level: 5 standard errors.
    #[test]
    fn agents_differ_as_asked_and_methods_of_a_run_meet_the_same() {
        let agents = 2000;
        let draw = |differences: Differences| {
            let plain = GpSampleConfig {
                perturbation: 0.0,
                differences,
                ..config(Stationary::SquaredExponential, 24, 1)
            };
            GpSamples::new(&plain, agents)
                .unwrap()
                .realize(RunSeed::new(4, 2))
        };
        let common = draw(Differences::NONE);
        let at = 7;
        let f = common.value(0, at);
        assert!((0..agents).all(|agent| common.value(agent, at) == f));
        let share = |count: usize| count as f64 / f64::from(agents);
        let error = |p: f64| 5.0 * (p * (1.0 - p) / f64::from(agents)).sqrt();
        let flipped = draw(Differences {
            flipped: 0.3,
            ..Differences::NONE
        });
        let minus = (0..agents)
            .filter(|agent| flipped.value(*agent, at) == -f)
            .count();
        let plus = (0..agents)
            .filter(|agent| flipped.value(*agent, at) == f)
            .count();
        assert!((share(minus) - 0.3).abs() < error(0.3) && minus + plus == agents as usize);
        // Coins do not follow regions, which are counted by agents modulo P.
        let of_parity = |parity| {
            (0..agents)
                .filter(|n| n % 2 == parity && flipped.value(*n, at) == -f)
                .count()
        };
        assert!((share(of_parity(0)) - share(of_parity(1))).abs() < error(0.3));
        let unrelated = draw(Differences {
            unrelated: 0.2,
            ..Differences::NONE
        });
        let others: Vec<f64> = (0..agents)
            .map(|n| unrelated.value(n, at))
            .filter(|value| *value != f)
            .collect();
        assert!((share(others.len()) - 0.2).abs() < error(0.2));
        let variance =
            |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64;
        let wide = |n: usize, of: f64| 5.0 * of * (2.0 / n as f64).sqrt();
        assert!(
            (variance(&others) - 2.0).abs() < wide(others.len(), 2.0),
            "the kernel's variance"
        );
        let smooth = Differences {
            own_variance: 0.5,
            own_lengthscale: 0.1,
            ..Differences::NONE
        };
        let smooth = draw(smooth);
        let own: Vec<f64> = (0..agents).map(|n| smooth.value(n, at) - f).collect();
        assert!(
            (variance(&own) - 0.5).abs() < wide(own.len(), 0.5),
            "{}",
            variance(&own)
        );
        assert!(
            (variance(&own) - 0.7).abs() > wide(own.len(), 0.5),
            "negative control"
        );
    }
}
