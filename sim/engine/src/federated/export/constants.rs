//! What the two languages say: sizes, bytes and candidates of one federation.

use sordino_core::domain::Candidates;
use sordino_core::federated::exchange::{
    Agreement, Announced, DrawsProtocol, Protocol, PublicFeatures,
};
use sordino_core::federated::{AgentState, Entry, OwnDraw, Sizes};
use sordino_core::math::Scalar;
use sordino_core::snapshot::max_bytes;
use sordino_core::wire::frame_len_max;
use sordino_experiment::scenario::{Method, ScalarKind, Scenario};

use super::super::DriverError;
use super::super::agreement::agreement;

/// Why a scenario cannot be compiled into a device.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Joint draws need the factor of the prior over all candidates, which no device holds.
    #[error(
        "surrogate.own_draw is \"joint\", which needs a matrix over all candidates; a device's own draws are made of its \
         features: --set surrogate.own_draw=features"
    )]
    Joint,
    /// A method whose agents are hosts.
    #[error(
        "method {}: no machine of a device runs it; admissible: ts, methods that share draws (fts, dp-fts and their variants), and \
         the federated prior (prior, dp-prior and its variants)", .0.name()
    )]
    Hosts(Method),
    /// The scenario has no such federation.
    #[error(transparent)]
    Scenario(#[from] DriverError),
    /// The agreement has no postcard form.
    #[error("the agreement cannot be written: {0}")]
    Format(#[source] postcard::Error),
}

/// The list of candidates as a device holds it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Points {
    /// A grid, which takes no memory: points along one axis.
    Grid(u32),
    /// All coordinates, count × D.
    List(Vec<f64>),
}

/// A federation as a device is compiled with it.
#[derive(Clone, Debug)]
pub struct Export {
    pub(super) name: String,
    pub(super) method: Method,
    pub(super) scalar: ScalarKind,
    pub(super) agreement: Agreement,
    /// Of a federated prior; an empty list of another method.
    pub(super) landmarks: Points,
    pub(super) bytes: Vec<u8>,
    pub(super) points: Points,
}

impl Export {
    /// One method of a scenario over these candidates.
    ///
    /// **Errors**: [`ExportError`].
    pub fn new(
        scenario: &Scenario,
        method: Method,
        candidates: &[f64],
        dim: usize,
        deployment: u64,
        announced: Announced,
    ) -> Result<Self, ExportError> {
        if scenario.surrogate.own_draw == OwnDraw::Joint {
            return Err(ExportError::Joint);
        }
        let (agreement, landmarks) =
            agreement(scenario, method, 0, candidates, dim, deployment, announced)?;
        if let Protocol::Vote(_) | Protocol::Own(_) = agreement.protocol {
            return Err(ExportError::Hosts(method));
        }
        let bytes = postcard::to_allocvec(&agreement).map_err(ExportError::Format)?;
        let scalar = scenario.surrogate.scalar;
        let points = match (scalar, &agreement.protocol) {
            (ScalarKind::F32, Protocol::Draws(_)) => as_held::<f32>(candidates, dim),
            // A member computes its features in double precision.
            _ => as_held::<f64>(candidates, dim),
        };
        let landmarks = if landmarks.is_empty() {
            Points::List(landmarks)
        } else {
            as_held::<f64>(&landmarks, dim)
        };
        Ok(Export {
            name: scenario.name.clone(),
            method,
            scalar,
            agreement,
            landmarks,
            bytes,
            points,
        })
    }

    /// The sizes of the memory of an agent that shares draws.
    pub(super) fn sizes(&self, draws: &DrawsProtocol) -> Sizes {
        let config = &draws.config;
        Sizes::new(
            self.agreement.dim as usize,
            config.parameters().feature_count as usize,
            config.observations_max(),
        )
    }

    /// How many candidates there are.
    pub(super) fn candidates(&self) -> usize {
        let dim = self.agreement.dim as usize;
        match &self.points {
            Points::Grid(per_axis) => (*per_axis as usize).pow(dim as u32),
            Points::List(points) => points.len() / dim,
        }
    }

    /// Bytes of the longest frame up and down.
    pub(super) fn frames(&self) -> [usize; 2] {
        let scalar = self.agreement.scalar;
        let protocol = &self.agreement.protocol;
        [protocol.upload_len(), protocol.released_len()].map(|len| frame_len_max(scalar, len))
    }

    /// Bytes of the largest stored state, and of the largest stored observation.
    pub(super) fn stored(&self) -> [usize; 2] {
        let entry = match self.scalar {
            ScalarKind::F32 => max_bytes::<Entry<f32>>(),
            ScalarKind::F64 => max_bytes::<Entry<f64>>(),
        };
        [max_bytes::<AgentState>(), entry]
    }

    /// What the seeds mean, one comment line each.
    pub(super) fn seeds(&self) -> [String; 8] {
        let (public, drawn) = match &self.agreement.protocol {
            Protocol::Draws(draws) => {
                let PublicFeatures { seed, run, .. } = draws.features;
                (format!("feature seed {seed} (run {run})"), "features")
            }
            Protocol::Prior(_) | Protocol::Campaign(_) | Protocol::Vote(_) | Protocol::Own(_) => (
                "the seeds in the agreement".to_owned(),
                "designs and common draws",
            ),
        };
        [
            format!("Seeds. Public: {public}, from which every party draws the same"),
            format!(
                "{drawn}, and deployment {:016x}, a random number drawn once for the federation.",
                self.agreement.deployment
            ),
            "Secret: the seed of the agent's own draws (RunSeed::new(word, 0)). Draw its word from the".to_owned(),
            "device's entropy once in its life and store it with the state; never take it from a scenario,".to_owned(),
            "a serial number or another device, and never send it: who knows it knows what of an upload is".to_owned(),
            "data and what is noise of the draw. The privacy of a release does not rest on it: that noise".to_owned(),
            "is the server's. Coins of mixing and initial points come from the same seed: nothing else is".to_owned(),
            "random on a device.".to_owned(),
        ]
    }
}

/// The list as a device holds it: a grid if the points are those of one, to the bit, in the format
/// of the device.
fn as_held<T: Scalar>(candidates: &[f64], dim: usize) -> Points {
    match grid_of::<T>(candidates, dim) {
        Some(per_axis) => Points::Grid(per_axis),
        None => Points::List(candidates.to_vec()),
    }
}

/// The points along an axis of the grid that these points are, if they are one.
fn grid_of<T: Scalar>(candidates: &[f64], dim: usize) -> Option<u32> {
    let count = candidates.len() / dim;
    let per_axis = (1..=count)
        .find(|n| n.checked_pow(dim as u32).is_none_or(|all| all >= count))
        .unwrap_or(1) as u32;
    let grid = Candidates::<T>::grid(per_axis, dim).ok()?;
    if grid.count() as usize != count {
        return None;
    }
    let mut point = vec![T::ZERO; dim];
    let same = candidates
        .chunks_exact(dim)
        .enumerate()
        .all(|(index, expected)| {
            grid.point(index as u32, &mut point);
            expected
                .iter()
                .zip(&point)
                .all(|(x, found)| T::from_f64(*x) == *found)
        });
    same.then_some(per_axis)
}

/// The bytes of an array, several per line.
pub(super) fn bytes(values: &[u8]) -> String {
    values
        .chunks(16)
        .map(|line| {
            format!(
                "    {},\n",
                line.iter()
                    .map(|b| format!("0x{b:02x}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_known_as_one_and_any_other_list_is_written_out() {
        let grid: Vec<f64> = {
            let grid = Candidates::<f64>::grid(5, 2).unwrap();
            let mut point = [0.0; 2];
            (0..25)
                .flat_map(|i| (grid.point(i, &mut point), point).1)
                .collect()
        };
        assert_eq!(as_held::<f32>(&grid, 2), Points::Grid(5));
        assert_eq!(as_held::<f64>(&grid, 2), Points::Grid(5));
        let mut moved = grid.clone();
        moved[7] += 1e-12;
        // Single precision does not see it.
        assert_eq!(
            (as_held::<f32>(&moved, 2), as_held::<f64>(&moved, 2)),
            (Points::Grid(5), Points::List(moved.clone()))
        );
        assert_eq!(
            as_held::<f64>(&grid[..48], 2),
            Points::List(grid[..48].to_vec())
        );
    }
}
