//! Test functions of the field, moved and scaled for each agent.
//!
//! **Equation**: fₙ(x) = sₙ·f(x − dₙ), dₙ uniform in [−shift, shift]^D, sₙ uniform in [1−scale,
//! 1+scale], both drawn from the coins of (run, agent); yₙ = fₙ(x) + σe. The candidates are public
//! and the same in all runs.

use std::sync::Arc;

use sordino_core::random::RunSeed;

use super::objective::{coins, noise};
use super::per_agent::PerAgent;
use super::{Family, Objective};
use crate::benchmark::TestFunction;
use crate::scenario::FunctionConfig;

/// What all runs share.
pub struct Functions(Arc<Shared>);

struct Shared {
    function: TestFunction,
    agents: u32,
    dim: usize,
    points: Vec<f64>,
    shift: f64,
    scale: f64,
    noise_std: f64,
}

impl Functions {
    /// The functions of `agents` agents over these candidates, row-major.
    pub fn new(config: &FunctionConfig, agents: u32, points: Vec<f64>) -> Self {
        Functions(Arc::new(Shared {
            function: config.function,
            agents,
            dim: config.dim,
            points,
            shift: config.shift,
            scale: config.scale,
            noise_std: config.noise_variance.sqrt(),
        }))
    }
}

impl Family for Functions {
    /// **Cost**: one evaluation for each agent and candidate; one for each candidate if agents do
    /// not differ.
    fn realize(&self, run: RunSeed) -> Box<dyn Objective> {
        let shared = Arc::clone(&self.0);
        let members = if shared.shift == 0.0 && shared.scale == 0.0 {
            1
        } else {
            shared.agents
        };
        Box::new(Function {
            shared,
            run,
            members,
            values: PerAgent::new(members),
        })
    }
}

impl Shared {
    /// Noise-free values of one agent at all candidates. Places of the agent's stream: 0 the shift,
    /// 1 the scale.
    fn values(&self, run: RunSeed, agent: u32) -> Vec<f64> {
        let mut moved = coins(run, agent, 0);
        let mut scaled = coins(run, agent, 1);
        let shift: Vec<f64> = (0..self.dim)
            .map(|_| symmetric(self.shift, moved.unit()))
            .collect();
        let factor = 1.0 + symmetric(self.scale, scaled.unit());
        let mut at = vec![0.0; self.dim];
        self.points
            .chunks_exact(self.dim)
            .map(|point| {
                at.iter_mut()
                    .zip(point.iter().zip(&shift))
                    .for_each(|(at, (x, d))| *at = x - d);
                factor * self.function.value(&at)
            })
            .collect()
    }
}

/// The place in [−width, width) of a number in [0, 1).
fn symmetric(width: f64, unit: f64) -> f64 {
    width * (2.0 * unit - 1.0)
}

/// The functions of one run.
struct Function {
    shared: Arc<Shared>,
    run: RunSeed,
    /// Lists of values: one for each agent, or one for all.
    members: u32,
    values: PerAgent<Vec<f64>>,
}

impl Function {
    /// The values of an agent at all candidates.
    fn of(&self, agent: u32) -> &[f64] {
        self.values.get(agent % self.members, |member| {
            self.shared.values(self.run, member)
        })
    }
}

impl Objective for Function {
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
        self.of(agent)[candidate as usize]
    }
    fn observe(&self, agent: u32, candidate: u32, observation: u32) -> f64 {
        self.value(agent, candidate) + noise(self.run, agent, observation, self.shared.noise_std)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::{Design, design};
    use crate::scenario::DesignConfig;

    fn config(shift: f64, scale: f64) -> FunctionConfig {
        FunctionConfig {
            function: TestFunction::Hartmann3,
            dim: 3,
            points: DesignConfig {
                design: Design::Sobol,
                candidates: 200,
                design_seed: 0,
                list_digest: None,
            },
            shift,
            scale,
            noise_variance: 0.01,
        }
    }

    fn realized(shift: f64, scale: f64) -> Box<dyn Objective> {
        let points = design::points(Design::Sobol, 200, 3, 0);
        Functions::new(&config(shift, scale), 40, points).realize(RunSeed::new(3, 0))
    }

    #[test]
    fn agents_differ_by_shift_and_scale_alone() {
        let same = realized(0.0, 0.0);
        let scaled = realized(0.0, 0.3);
        let moved = realized(0.05, 0.0);
        let mut factors = Vec::new();
        for agent in 0..40 {
            assert_eq!(
                same.value(agent, 7),
                TestFunction::Hartmann3.value(&same.candidates()[21..24])
            );
            let factor = scaled.value(agent, 7) / same.value(agent, 7);
            assert!((scaled.value(agent, 90) / same.value(agent, 90) - factor).abs() < 1e-12);
            factors.push(factor);
            assert!(moved.value(agent, 7) != same.value(agent, 7));
            let best = (0..200)
                .map(|i| moved.value(agent, i))
                .fold(f64::MIN, f64::max);
            assert_eq!(moved.optimum(agent), best);
        }
        let (least, most) = factors
            .iter()
            .fold((2.0f64, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
        assert!(
            (0.7..0.8).contains(&least) && (1.2..1.3).contains(&most),
            "{least} {most}"
        );
    }

    #[test]
    fn noise_has_its_variance_and_an_address() {
        let functions = realized(0.0, 0.0);
        let residual = |i: u32| functions.observe(5, 3, i) - functions.value(5, 3);
        let squares: f64 = (0..4000).map(|i| residual(i) * residual(i)).sum::<f64>() / 4000.0;
        // Standard error of a variance of .01 from 4,000: 2.2e-4.
        assert!((squares - 0.01).abs() < 1e-3, "{squares}");
        assert_eq!(residual(9), residual(9));
    }
}
