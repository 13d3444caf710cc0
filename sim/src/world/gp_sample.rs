//! Draws of a Gaussian process on a grid, one for all agents, perturbed for each.
//!
//! **Equation**: f = F·z with FFᵀ ≈ K (pivoted Cholesky, cut at 1e-8 of the signal variance) and z ~ N(0, I);
//! fₙ(i) = f(i) + a·(2u − 1), u a hash of (run, agent, point); yₙ = fₙ(i) + σe.

use std::sync::Arc;

use sordino_core::kernel::Kernel;
use sordino_core::linalg::{dot, pivoted_cholesky};
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose, RunSeed, normal};

use super::{Family, Objective, ObjectiveError};
use crate::scenario::GpSampleConfig;

/// The most columns of a factor: beyond, a draw costs more than the experiment.
pub const RANK_MAX: usize = 2048;
/// Variance that may lack at any point, as a share of the signal variance.
const TOLERANCE: f64 = 1e-8;

/// All points of a regular grid over [0, 1]^dim, both ends included, the last coordinate fastest.
pub fn grid(points_per_axis: u32, dim: usize) -> Vec<f64> {
    let n = points_per_axis as usize;
    let count = n.pow(dim as u32);
    let mut points = Vec::with_capacity(count * dim);
    for index in 0..count {
        let mut stride = count;
        for _ in 0..dim {
            stride /= n;
            points.push((index / stride % n) as f64 / (n - 1) as f64);
        }
    }
    points
}

/// What the draws share: the grid and the factor of its covariance.
pub struct GpSamples(Arc<Shared>);

struct Shared {
    agents: u32,
    dim: usize,
    points: Vec<f64>,
    /// n rows of `width` numbers, of which the first `rank` are not zero.
    factor: Vec<f64>,
    width: usize,
    rank: usize,
    noise_std: f64,
    perturbation: f64,
}

impl GpSamples {
    /// Factors the covariance over the grid.
    ///
    /// **Errors**: [`ObjectiveError::TooRough`]. **Cost**: n·rank² flops, at most 2n·rank numbers.
    pub fn new(config: &GpSampleConfig, agents: u32) -> Result<Self, ObjectiveError> {
        Self::within(config, agents, RANK_MAX)
    }

    fn within(config: &GpSampleConfig, agents: u32, rank_max: usize) -> Result<Self, ObjectiveError> {
        let dim = config.dim;
        let points = grid(config.points_per_axis, dim);
        let n = points.len() / dim;
        let tolerance = TOLERANCE * config.kernel.signal_variance;
        let kernel = config.kernel.build::<f64>().expect("a scenario's ranges are inside the kernel's");
        let point = |i: usize| &points[i * dim..][..dim];
        let mut diagonal = vec![0.0; n];
        let mut width = n.min(128).min(rank_max);
        let (factor, rank) = loop {
            let mut factor = vec![0.0; n * width];
            let reached = pivoted_cholesky(n, width, &mut factor, &mut diagonal, tolerance, |i, j| {
                kernel.covariance(point(i), point(j))
            });
            if reached.residual <= tolerance {
                break (factor, reached.rank);
            }
            if width >= n.min(rank_max) {
                return Err(ObjectiveError::TooRough { rank: width, residual: reached.residual, tolerance });
            }
            // The columns already found come out the same again.
            width = (2 * width).min(n).min(rank_max);
        };
        Ok(GpSamples(Arc::new(Shared {
            agents,
            dim,
            points,
            factor,
            width,
            rank,
            noise_std: config.noise_variance.sqrt(),
            perturbation: config.perturbation,
        })))
    }
}

impl Family for GpSamples {
    fn realize(&self, run: RunSeed) -> Box<dyn Objective> {
        let shared = Arc::clone(&self.0);
        let mut z = vec![0.0; shared.rank];
        normal::fill(&mut run.stream(Party::World, Purpose::Objective, 0), &mut z);
        let common = shared.factor.chunks_exact(shared.width).map(|row| dot(&row[..shared.rank], &z)).collect();
        Box::new(GpSample { shared, run, common })
    }
}

/// The functions of one run.
struct GpSample {
    shared: Arc<Shared>,
    run: RunSeed,
    common: Vec<f64>,
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
    fn candidate_count(&self) -> u32 {
        self.common.len() as u32
    }
    fn value(&self, agent: u32, candidate: u32) -> f64 {
        let unit = f64::unit(self.run.word(Party::Agent(agent), Purpose::Perturbation, candidate));
        self.common[candidate as usize] + self.shared.perturbation * (2.0 * unit - 1.0)
    }
    fn observe(&self, agent: u32, candidate: u32, observation: u32) -> f64 {
        let mut stream = self.run.stream(Party::Agent(agent), Purpose::ObservationNoise, observation);
        self.value(agent, candidate) + self.shared.noise_std * normal::draw::<f64>(&mut stream)
    }
    fn optimum(&self, agent: u32) -> f64 {
        (0..self.candidate_count()).map(|candidate| self.value(agent, candidate)).fold(f64::NEG_INFINITY, f64::max)
    }
    fn regret_name(&self) -> &'static str {
        "regret"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::KernelConfig;
    use sordino_core::kernel::Stationary;

    fn config(kernel: Stationary, points_per_axis: u32, dim: usize) -> GpSampleConfig {
        GpSampleConfig {
            dim,
            points_per_axis,
            kernel: KernelConfig { kernel, lengthscale: 0.2, signal_variance: 2.0 },
            noise_variance: 0.01,
            perturbation: 0.02,
        }
    }

    #[test]
    fn grid_is_row_major_with_both_ends() {
        assert_eq!(grid(3, 1), [0.0, 0.5, 1.0]);
        assert_eq!(grid(2, 2), [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0]);
    }

    /// Sample covariance of 4,000 draws at two points against the kernel. Level: 5 standard errors of a product of
    /// normals, sqrt((k11·k22 + k12²)/4000).
    #[test]
    fn draws_have_the_kernel_as_covariance_and_the_test_can_fail() {
        let config = config(Stationary::SquaredExponential, 16, 1);
        let family = GpSamples::new(&config, 1).unwrap();
        let (i, j) = (3, 6);
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
        assert_eq!((objective.candidate_count(), objective.dim(), objective.agents()), (144, 2, 3));
        let gap = (objective.value(0, 5) - objective.value(1, 5)).abs();
        assert!(gap > 0.0 && gap <= 0.04);
        assert_eq!(objective.observe(1, 5, 2), objective.observe(1, 5, 2));
        assert_ne!(objective.observe(1, 5, 2), objective.observe(1, 5, 3));
        assert!((0..144).all(|i| objective.value(2, i) <= objective.optimum(2)));
    }

    #[test]
    fn a_wide_factor_is_found_and_a_too_rough_kernel_refused() {
        assert_eq!(GpSamples::new(&config(Stationary::Matern12, 300, 1), 1).unwrap().0.rank, 300);
        let rough = config(Stationary::Matern12, 300, 1);
        assert!(matches!(GpSamples::within(&rough, 1, 200), Err(ObjectiveError::TooRough { rank: 200, .. })));
    }
}
