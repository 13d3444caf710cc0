//! Tuning of a support vector machine: (C, γ) ↦ test AUC, one data set for each agent.
//!
//! **Equation**: C = 1e-4 + u₁(10 − 1e-4), γ = 1e-2 + u₂(10 − 1e-2), kernel e^{−γ‖x−x'‖²}; the
//! value is the AUC of the decision function on the test rows. No noise. Measured against AUC 1, so
//! regret is "1 − AUC".
//!
//! The solver stops at 1e-6. With the usual 1e-3, the order of the rows would decide which of them
//! stand at the bound C: for the mine fields that moves the AUC by up to 0.1 at small C or γ, and
//! the function would depend on the solver, not on the data.
//!
//! **Numerics**: squared distances from differences, exponentials from core; libsvm-rs receives the
//! kernel matrix and solves with plain arithmetic. The values are therefore the same on every
//! platform.

use std::sync::{Arc, OnceLock};

use libsvm_rs::predict::predict_values;
use libsvm_rs::train::svm_train;
use libsvm_rs::{KernelType, SvmNode, SvmParameter, SvmProblem, SvmType};
use sordino_core::linalg::squared_distance;
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose, RunSeed};

use super::auc::auc;
use super::{Family, Objective};

/// Range of the cost C, linear scale.
pub const COST: (f64, f64) = (1e-4, 10.0);
/// Range of the kernel's γ, linear scale.
pub const GAMMA: (f64, f64) = (1e-2, 10.0);
/// Violation of optimality at which the solver stops.
const TOLERANCE: f64 = 1e-6;
/// Seed of the list of candidates, the same for every scenario and run, so that known values can be
/// shared.
const CANDIDATE_SEED: u64 = 0x736f_7264_696e_6f01;

/// Rows with a label.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Features of all rows, row-major.
    pub features: Vec<f64>,
    /// One label for each row.
    pub positive: Vec<bool>,
}

impl Rows {
    /// True if both labels occur.
    pub fn has_both_labels(&self) -> bool {
        self.positive.contains(&true) && self.positive.contains(&false)
    }

    fn iter(&self, width: usize) -> impl Iterator<Item = &[f64]> {
        self.features.chunks_exact(width)
    }
}

/// One agent's data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// Numbers in a row.
    pub width: usize,
    /// Rows that the machine learns from.
    pub train: Rows,
    /// Rows that it is judged on.
    pub test: Rows,
}

impl Task {
    /// Squared distances of some rows to the training rows, row-major.
    fn distances(&self, from: &Rows) -> Vec<f64> {
        from.iter(self.width)
            .flat_map(|a| {
                self.train
                    .iter(self.width)
                    .map(move |b| squared_distance(a, b))
            })
            .collect()
    }
}

/// An agent's machine, up to (C, γ): squared distances between rows.
struct Machine {
    labels: Vec<f64>,
    positive: Vec<bool>,
    /// Distances of training rows to training rows.
    within: Vec<f64>,
    /// Distances of test rows to training rows.
    across: Vec<f64>,
}

impl Machine {
    fn new(task: &Task) -> Self {
        Machine {
            labels: task
                .train
                .positive
                .iter()
                .map(|positive| if *positive { 1.0 } else { -1.0 })
                .collect(),
            positive: task.test.positive.clone(),
            within: task.distances(&task.train),
            across: task.distances(&task.test),
        }
    }

    /// A row of a precomputed kernel as libsvm wants it: its serial number under index 0, then the
    /// values from 1.
    fn row(distances: &[f64], serial: usize, gamma: f64) -> Vec<SvmNode> {
        let mut nodes = Vec::with_capacity(distances.len() + 1);
        nodes.push(SvmNode {
            index: 0,
            value: serial as f64,
        });
        nodes.extend(distances.iter().enumerate().map(|(j, d2)| SvmNode {
            index: j as i32 + 1,
            value: (-gamma * d2).exp_nonpositive(),
        }));
        nodes
    }

    fn auc(&self, cost: f64, gamma: f64) -> f64 {
        auc(&self.scores(cost, gamma), &self.positive)
    }

    /// Decision values of the test rows.
    fn scores(&self, cost: f64, gamma: f64) -> Vec<f64> {
        let n = self.labels.len();
        let instances = self
            .within
            .chunks_exact(n)
            .enumerate()
            .map(|(i, row)| Self::row(row, i + 1, gamma))
            .collect();
        let problem = SvmProblem {
            labels: self.labels.clone(),
            instances,
        };
        let parameter = SvmParameter {
            svm_type: SvmType::CSvc,
            kernel_type: KernelType::Precomputed,
            c: cost,
            gamma,
            eps: TOLERANCE,
            ..SvmParameter::default()
        };
        let model = svm_train(&problem, &parameter);
        // The decision value is positive for the label that libsvm met first.
        let sign = if model.labels().first() == Some(&1) {
            1.0
        } else {
            -1.0
        };
        self.across
            .chunks_exact(n)
            .map(|row| {
                let mut decision = [0.0];
                predict_values(&model, &Self::row(row, 0, gamma), &mut decision);
                sign * decision[0]
            })
            .collect()
    }
}

/// How many test rows a machine trained with each (C, γ) puts on the right side: a sum of one 0 or
/// 1 per record.
pub fn correct(task: &Task, candidates: &[(f64, f64)]) -> Vec<u64> {
    libsvm_rs::set_quiet(true);
    let machine = Machine::new(task);
    candidates
        .iter()
        .map(|(cost, gamma)| {
            let scores = machine.scores(*cost, *gamma);
            scores
                .iter()
                .zip(&machine.positive)
                .filter(|(score, positive)| (**score > 0.0) == **positive)
                .count() as u64
        })
        .collect()
}

/// The tasks, the candidates, and the values known so far: shared by all methods and runs.
pub struct Tuning(Arc<Shared>);

struct Shared {
    machines: Vec<Machine>,
    points: Vec<f64>,
    /// Row-major: agents by candidates.
    known: Vec<OnceLock<f64>>,
}

/// (C, γ) of a point of the unit square.
fn cost_and_gamma(point: &[f64]) -> (f64, f64) {
    (
        COST.0 + point[0] * (COST.1 - COST.0),
        GAMMA.0 + point[1] * (GAMMA.1 - GAMMA.0),
    )
}

impl Tuning {
    /// Prepares the tasks over a list of `candidates` points, drawn uniformly from the unit square
    /// once and for all.
    pub fn new(tasks: Vec<Task>, candidates: u32) -> Self {
        // The solver would print a report on every machine.
        libsvm_rs::set_quiet(true);
        let mut stream =
            RunSeed::new(CANDIDATE_SEED, 0).stream(Party::World, Purpose::Candidates, 0);
        Tuning(Arc::new(Shared {
            machines: tasks.iter().map(Machine::new).collect(),
            points: (0..2 * candidates).map(|_| stream.unit()).collect(),
            known: (0..tasks.len() * candidates as usize)
                .map(|_| OnceLock::new())
                .collect(),
        }))
    }

    /// Test AUC of one agent's machine anywhere in the domain.
    pub fn auc(&self, agent: usize, cost: f64, gamma: f64) -> f64 {
        self.0.machines[agent].auc(cost, gamma)
    }
}

impl Family for Tuning {
    fn realize(&self, _run: RunSeed) -> Box<dyn Objective> {
        Box::new(Tuned(Arc::clone(&self.0)))
    }
}

/// The same functions in every run: only the methods' draws differ.
struct Tuned(Arc<Shared>);

impl Objective for Tuned {
    fn agents(&self) -> u32 {
        self.0.machines.len() as u32
    }
    fn dim(&self) -> usize {
        2
    }
    fn candidates(&self) -> &[f64] {
        &self.0.points
    }
    fn value(&self, agent: u32, candidate: u32) -> f64 {
        let agent = agent as usize;
        let candidate = candidate as usize;
        *self.0.known[agent * (self.0.points.len() / 2) + candidate].get_or_init(|| {
            let (cost, gamma) = cost_and_gamma(&self.0.points[2 * candidate..]);
            self.0.machines[agent].auc(cost, gamma)
        })
    }
    fn observe(&self, agent: u32, candidate: u32, _observation: u32) -> f64 {
        self.value(agent, candidate)
    }
    fn optimum(&self, _agent: u32) -> f64 {
        1.0
    }
}
