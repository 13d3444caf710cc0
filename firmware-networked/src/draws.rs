//! What an agent that shares draws computes with: candidates, features, and its numbers.

use sordino_core::domain::Candidates;
use sordino_core::features::{RandomFourier, random_fourier};
use sordino_core::federated::exchange::{Agreement, DrawsProtocol};
use sordino_core::federated::{Agent, AgentState, AgentStorage, Public, storage_len};
use sordino_core::random::RunSeed;

use crate::fatal::Fatal;
use crate::grid::points_per_axis;
use crate::party::{Found, Lent, Parts, Party};
use crate::takes::Taking;

const SHORT: Fatal = Fatal::Given("more numbers than this device has memory for");

/// Puts the party together and takes part.
///
/// **Errors**: [`Fatal`].
pub fn with(
    agreement: &Agreement,
    draws: &DrawsProtocol,
    (agent, seed): (u32, RunSeed),
    lent: Lent<'_, '_>,
    taking: &mut Taking<'_>,
) -> Result<(), Fatal> {
    let Lent {
        flash,
        numbers,
        sensor,
        rehearses,
        ..
    } = lent;
    let mut found = Found::load(flash, agreement, AgentState::new(agent, seed))?;
    let dim = agreement.dim as usize;
    let m = agreement.protocol.upload_len();
    let numbers = bytemuck::cast_slice_mut::<f64, f32>(numbers);
    let (features, numbers) = numbers
        .split_at_mut_checked(random_fourier::storage_len(dim, m))
        .ok_or(SHORT)?;
    let public = public(agreement, draws, features)?;
    let (broadcast, rest) = numbers
        .split_at_mut_checked(agreement.protocol.released_len())
        .ok_or(SHORT)?;
    let rest = rest.get_mut(..storage_len(&public)).ok_or(SHORT)?;
    let storage = AgentStorage::split(&public, rest).map_err(|_| SHORT)?;
    found.read_log(flash, agreement, storage.log)?;
    let standing = found.standing;
    let machine = Agent::attach(&public, &mut found.state, storage)?;
    let parts = Parts {
        flash,
        broadcast,
        sensor: (sensor, public.candidates().count()),
        masks: None,
        rehearses,
    };
    taking(&mut Party::new(agreement, machine, standing, parts)?)
}

/// The public context of the agent: features in `storage`, candidates on a grid whose digest is the
/// agreement's.
fn public<'p>(
    agreement: &Agreement,
    draws: &'p DrawsProtocol,
    storage: &'p mut [f32],
) -> Result<Public<'p, f32>, Fatal> {
    let features = &draws.features;
    let m = agreement.protocol.upload_len();
    let dim = agreement.dim as usize;
    let points = points_per_axis(dim, &agreement.candidates);
    let points = points.ok_or(Fatal::Given(
        "the candidates are not a grid that this device knows",
    ))?;
    let lengthscale = [features.lengthscale];
    random_fourier::draw(
        features.seed,
        features.run,
        features.kernel,
        &lengthscale,
        dim,
        m,
        storage,
    )
    .map_err(|_| Fatal::Given("the features"))?;
    let variance = features.signal_variance as f32;
    let candidates = Candidates::grid(points, dim).map_err(|_| Fatal::Given("the candidates"))?;
    let features = RandomFourier::new(dim, m, variance, features.unit_norm, &*storage)
        .map_err(|_| Fatal::Given("the features"))?;
    Public::streamed(&draws.config, candidates, features).map_err(|_| Fatal::Given("the features"))
}
