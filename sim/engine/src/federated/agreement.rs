//! What both sides of a real federation agree on, as a scenario has it.

use sordino_core::domain::Candidates;
use sordino_core::federated::exchange::{
    Agreement, Announced, DrawsProtocol, OwnProtocol, Protocol, candidates_digest,
};
use sordino_core::math::Scalar;
use sordino_core::wire::ScalarTag;
use sordino_experiment::scenario::method::Kind;
use sordino_experiment::scenario::{Method, ScalarKind, Scenario};

use super::context::{config, public_features};
use super::custom::context::CustomContext;
use super::error::DriverError;
use super::prior::context::{landmarks, protocol};
use super::vote;

/// The most numbers that the server of a method of somebody's own may send to a real agent after a
/// round: 8 MiB in double precision.
const RELEASED_MAX: u32 = 1 << 20;

/// The agreement for one method in a run of a scenario (0 in a real federation) over these
/// candidates, and the landmarks that it names, M × D numbers; none where features are drawn.
///
/// **Errors**: a configuration or candidates that are not admissible; [`DriverError::NotCarried`]
/// for a method that no exchange carries; [`DriverError::NoPlan`].
pub fn agreement(
    scenario: &Scenario,
    method: Method,
    run: u32,
    candidates: &[f64],
    dim: usize,
    deployment: u64,
    announced: Announced,
) -> Result<(Agreement, Vec<f64>), DriverError> {
    let list = Candidates::list(candidates, dim)?;
    let (protocol, landmarks) = match method.parts().kind {
        Kind::Alone | Kind::Draws => {
            let config = config(scenario, method)?;
            let features = public_features(scenario, run);
            (
                Protocol::Draws(DrawsProtocol { config, features }),
                Vec::new(),
            )
        }
        Kind::Prior => {
            let landmarks = landmarks(scenario, dim);
            let prior = protocol(scenario, method, &landmarks, dim, scenario.run_seed(run))?;
            (
                Protocol::Prior(prior.ok_or(DriverError::NoPlan(method))?),
                landmarks,
            )
        }
        Kind::Vote => {
            let vote = vote::context::protocol(scenario, method, run, list.count())?;
            (Protocol::Vote(vote), Vec::new())
        }
        _ => return Err(DriverError::NotCarried(method)),
    };
    let agreement = Agreement {
        protocol,
        candidates: candidates_digest(&list, &mut vec![0.0; dim]),
        dim: dim as u32,
        scalar: match scenario.surrogate.scalar {
            ScalarKind::F32 => ScalarTag::F32,
            ScalarKind::F64 => ScalarTag::F64,
        },
        deployment,
        announced,
    };
    Ok((agreement, landmarks))
}

/// The agreement for a method that was handed in, over the candidates of its run. Nothing is
/// claimed for it, so only a rehearsal has such an agreement: servers and agents of a real
/// federation refuse it.
///
/// **Errors**: candidates that are not admissible.
pub fn own<T: Scalar>(
    context: &CustomContext<T>,
    deployment: u64,
    announced: Announced,
) -> Result<Agreement, DriverError> {
    let ground = &context.ground;
    let dim = context.ground.dim;
    let protocol = OwnProtocol {
        agents: ground.agents,
        rounds: ground.rounds,
        initial_points: ground.initial_points,
        offset: ground.constant,
        message_len: context.message_len() as u32,
        released_max: RELEASED_MAX,
        digest: context.custom().digest(),
    };
    let list = Candidates::list(context.base.run.objective.candidates(), dim)?;
    Ok(Agreement {
        protocol: Protocol::Own(protocol),
        candidates: candidates_digest(&list, &mut vec![0.0; dim]),
        dim: dim as u32,
        scalar: ScalarTag::of::<T>(),
        deployment,
        announced,
    })
}
