//! What a member of a federated prior computes with: its public context and its numbers, all made
//! again at every boot, and the posterior, which it makes again of the releases in flash.

use sordino_core::digest::Digest;
use sordino_core::domain::Candidates;
use sordino_core::federated::exchange::Agreement;
use sordino_core::federated::prior::{
    ContextStorage, Member, MemberSizes, MemberState, MemberStorage, PriorProtocol, Public, context,
};
use sordino_core::federated::shares::{PublicKey, SecretKey};
use sordino_core::random::RunSeed;

use crate::fatal::Fatal;
use crate::grid::{DIM_MAX, points_per_axis};
use crate::masks::Masks;
use crate::party::{Found, Lent, Parts, Party};
use crate::takes::Taking;

/// Features at most.
const FEATURES_MAX: usize = 16;
/// Candidates of all virtual designs together, at most.
const DESIGNS_MAX: usize = 1024;
/// Numbers in double precision for the largest context.
const DOUBLES: usize = MemberSizes::new(0, FEATURES_MAX, 0, 0, 0).doubles(DIM_MAX);
const SHORT: Fatal = Fatal::Given("more numbers than this device has memory for");

/// Puts the party together and takes part. `helper` are the device's own key and the helper's,
/// where there are two servers.
///
/// **Errors**: [`Fatal`].
pub fn with(
    (agreement, prior): (&Agreement, &PriorProtocol),
    (agent, seed): (u32, RunSeed),
    helper: Option<(&SecretKey, &PublicKey)>,
    lent: Lent<'_, '_>,
    taking: &mut Taking<'_>,
) -> Result<(), Fatal> {
    let Lent {
        flash,
        numbers,
        sensor,
        rehearses,
    } = lent;
    let (designs, numbers) = numbers.split_at_mut_checked(DESIGNS_MAX / 2).ok_or(SHORT)?;
    let designs: &mut [u32] = bytemuck::cast_slice_mut(designs);
    let numbers: &mut [f32] = bytemuck::cast_slice_mut(numbers);
    // Before anything else is stored: a device with a past that knows no attempts has lost them.
    let masks = helper
        .map(|(own, helper)| Masks::load(flash, agreement.digest(), own, helper))
        .transpose()?;
    let mut found = Found::load(flash, agreement, MemberState::new(agent, seed))?;
    let storage = ContextStorage { numbers, designs };
    let (public, numbers) = public(agreement, prior, storage)?;
    let len = prior.config.contribution_len();
    let (broadcast, numbers) = numbers.split_at_mut_checked(len).ok_or(SHORT)?;
    let mut storage = MemberStorage::split(prior, &public, numbers).map_err(|_| SHORT)?;
    found.read_log(flash, agreement, storage.log)?;
    storage.learn_again(&found.state, prior, public, |index, numbers| {
        found
            .standing
            .read_release(flash, agreement, index, numbers)
    })?;
    let standing = found.standing;
    let models = prior.models();
    let candidates = public.candidates() as u32;
    let machine = Member::attach(prior, public, &models, &mut found.state, storage)?;
    let parts = Parts {
        flash,
        broadcast,
        sensor: (sensor, candidates),
        masks,
        rehearses,
    };
    taking(&mut Party::new(agreement, machine, standing, parts)?)
}

/// The public context over grids that the device finds by their digests, and the numbers that it
/// leaves.
#[inline(never)]
fn public<'p>(
    agreement: &'p Agreement,
    prior: &PriorProtocol,
    storage: ContextStorage<'p, f32>,
) -> Result<(Public<'p, f32>, &'p mut [f32]), Fatal> {
    let dim = agreement.dim as usize;
    let [candidates, landmarks] = [
        grid(dim, &agreement.candidates)?,
        grid(dim, &prior.landmarks)?,
    ];
    Ok(context(
        agreement,
        [&candidates, &landmarks],
        storage,
        &mut [0.0; DOUBLES],
    )?)
}

/// The grid with this digest.
fn grid(dim: usize, digest: &Digest) -> Result<Candidates<'static, f64>, Fatal> {
    let points = points_per_axis(dim, digest);
    let grid = points.and_then(|points| Candidates::grid(points, dim).ok());
    grid.ok_or(Fatal::Given(
        "candidates or landmarks that are not a grid that this device knows",
    ))
}
