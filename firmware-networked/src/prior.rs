//! What a member of a federated prior computes with: features on landmarks, Gram matrix and virtual designs, all made again
//! at every boot, and the posterior, which it makes again of the releases in flash.

use sordino_core::domain::Candidates;
use sordino_core::features::{Nystrom, nystrom};
use sordino_core::federated::exchange::Agreement;
use sordino_core::federated::prior::agent::{log_len, workspace_len};
use sordino_core::federated::prior::{
    Filter, Member, MemberState, MemberStorage, Model, PriorError, PriorProtocol, Public, PublicState, Tables,
    draw_designs, gram, levels, member_scratch_len, posterior_len, scratch_len,
};
use sordino_core::federated::shares::{PublicKey, SecretKey};
use sordino_core::federated::{Encoding, Estimator, OwnDraw, ServerError, Workspace};
use sordino_core::kernel::StationaryKernel;
use sordino_core::random::RunSeed;

use crate::fatal::Fatal;
use crate::grid::{DIM_MAX, points_per_axis};
use crate::masks::Masks;
use crate::party::{Found, Lent, Parts, Party, Taking};

/// Features at most.
const FEATURES_MAX: usize = 16;
/// Candidates of all virtual designs together, at most.
pub const DESIGNS_MAX: usize = 1024;
const SHORT: Fatal = Fatal::Given("more numbers than this device has memory for");

/// A release in flash that no release can be.
fn refused(_: ServerError) -> Fatal {
    Fatal::Given("a release that it learned")
}

/// Terms of which no public context can be made.
fn unfit(_: PriorError) -> Fatal {
    Fatal::Given("the features or the designs")
}

/// Puts the party together and takes part. `helper` are the device's own key and the helper's, where there are two servers.
///
/// **Errors**: [`Fatal`].
pub fn with(
    (agreement, prior): (&Agreement, &PriorProtocol),
    (agent, seed): (u32, RunSeed),
    helper: Option<(&SecretKey, &PublicKey)>,
    lent: Lent<'_, '_>,
    taking: &mut Taking<'_>,
) -> Result<(), Fatal> {
    let Lent { flash, numbers, designs, sensor, rehearses } = lent;
    // Before anything else is stored: a device with a past that knows no attempts has lost them.
    let masks = helper.map(|(own, helper)| Masks::load(flash, agreement.digest(), own, helper)).transpose()?;
    let mut found = Found::load(flash, agreement, MemberState::new(agent, seed))?;
    let (public, numbers, candidates) = public(agreement, prior, numbers, designs)?;
    let models = prior.models();
    let mut numbers = Numbers::split(prior, &models, &public, numbers).ok_or(SHORT)?;
    found.read_log(flash, agreement, numbers.storage.log)?;
    learn_again(&found, flash, (agreement, prior), &public, &mut numbers.storage)?;
    let standing = found.standing;
    let machine = Member::attach(prior, public, &models, &mut found.state, numbers.storage)?;
    let parts = Parts { flash, broadcast: numbers.broadcast, sensor: (sensor, candidates), masks, rehearses };
    taking(&mut Party::new(agreement, machine, standing, parts)?)
}

/// The numbers of a member, and of one frame.
struct Numbers<'n> {
    broadcast: &'n mut [f32],
    storage: MemberStorage<'n, f32>,
}

impl<'n> Numbers<'n> {
    /// Cuts them from all there are; none if these are too few.
    fn split(
        prior: &PriorProtocol,
        models: &[Model<f32>],
        public: &Public<'_, f32>,
        numbers: &'n mut [f32],
    ) -> Option<Self> {
        let (config, (_, rank)) = (&prior.config, public.prior());
        let (m, n) = (config.features(), config.design_len());
        let log = log_len(n, prior.rounds as usize);
        let (broadcast, rest) = numbers.split_at_mut_checked(config.contribution_len())?;
        let workspace = workspace_len(log / 2, m, rank, levels(models));
        let (log, rest) = rest.split_at_mut_checked(log)?;
        let (workspace, rest) = rest.split_at_mut_checked(workspace)?;
        let (posterior, rest) = rest.split_at_mut_checked(posterior_len(m))?;
        let scratch = rest.get_mut(..member_scratch_len(m, n))?;
        let storage = MemberStorage { log, workspace: Workspace::Kept(workspace), posterior, scratch };
        Some(Numbers { broadcast, storage })
    }
}

/// Makes the posterior of the releases that were learned, in the order and with the code of the first time.
fn learn_again(
    found: &Found<MemberState<f32>>,
    flash: &firmware_example::reset::Flash<'_>,
    (agreement, prior): (&Agreement, &PriorProtocol),
    public: &Public<'_, f32>,
    storage: &mut MemberStorage<'_, f32>,
) -> Result<(), Fatal> {
    let config = prior.config;
    let mut posterior = PublicState::new(config, &mut *storage.posterior).map_err(|_| SHORT)?;
    let scratch = storage.scratch.get_mut(..scratch_len(config.features(), config.design_len())).ok_or(SHORT)?;
    let mut filter = Filter::new(prior.plan(), *public, &mut posterior, scratch).map_err(|_| SHORT)?;
    found.read_releases(flash, agreement, |index, released| {
        filter.prepare(index).map_err(refused)?;
        let encoding =
            filter.encoding(index).map_err(refused)?.ok_or(Fatal::Given("more releases than the plan has"))?;
        filter.learn(index, released, encoding.noise_std()).map_err(refused)
    })
}

/// The public context, the numbers that it leaves, and how many candidates there are.
fn public<'p>(
    agreement: &Agreement,
    prior: &'p PriorProtocol,
    numbers: &'p mut [f32],
    designs: &'p mut [u32],
) -> Result<(Public<'p, f32>, &'p mut [f32], u32), Fatal> {
    if prior.own_draw != OwnDraw::Features {
        return Err(Fatal::Given("own draws of a factor, which this device has no memory for"));
    }
    let (config, dim) = (&prior.config, agreement.dim as usize);
    let m = config.features();
    let unknown = Fatal::Given("candidates or landmarks that are not a grid that this device knows");
    let [points, landmarks] = [&agreement.candidates, &prior.landmarks].map(|digest| points_per_axis(dim, digest));
    let grid = Candidates::grid(points.ok_or(unknown)?, dim).map_err(|_| unknown)?;
    let landmarks = Candidates::grid(landmarks.ok_or(unknown)?, dim).map_err(|_| unknown)?;
    let count = grid.count();
    let (rows, rest) = numbers.split_at_mut_checked(count as usize * m).ok_or(SHORT)?;
    feature_rows(prior, &landmarks, &grid, rows)?;
    let (mean, rest) = rest.split_at_mut_checked(m * m).ok_or(SHORT)?;
    gram(config, rows, mean).map_err(unfit)?;
    let len = config.design_len() * config.parameters().designs as usize;
    let designs = designs.get_mut(..len).ok_or(SHORT)?;
    draw_designs(config, prior.design_seed, count, designs).map_err(unfit)?;
    let tables = Tables { prior_rows: &[], gram: mean, designs };
    Ok((Public::new(config, rows, tables).map_err(unfit)?, rest, count))
}

/// Features in double precision, then rounded, as every agent does it.
#[inline(never)]
fn feature_rows(
    prior: &PriorProtocol,
    landmarks: &Candidates<'_, f64>,
    candidates: &Candidates<'_, f64>,
    rows: &mut [f32],
) -> Result<(), Fatal> {
    const ROOT: usize = nystrom::storage_len(FEATURES_MAX);
    let unfit = Fatal::Given("the features");
    let (m, dim) = (prior.config.features(), candidates.dim());
    let (mut dictionary, mut point) = ([0.0; FEATURES_MAX * DIM_MAX], [0.0; DIM_MAX]);
    if m > FEATURES_MAX || landmarks.count() as usize != m {
        return Err(Fatal::Given("more features than this device has memory for"));
    }
    let point = &mut point[..dim];
    for (index, place) in (0..landmarks.count()).zip(dictionary.chunks_exact_mut(dim)) {
        landmarks.point(index, place);
    }
    let (mut root, mut scratch) = ([0.0; ROOT], [0.0; nystrom::scratch_len(FEATURES_MAX)]);
    let kernel = StationaryKernel::with_shape(prior.kernel, prior.lengthscale, prior.signal_variance);
    let kernel = kernel.map_err(|_| unfit)?;
    let map = Nystrom::new(kernel, dim, &dictionary[..m * dim], &mut root[..], &mut scratch).map_err(|_| unfit)?;
    let mut row = [0.0; FEATURES_MAX];
    for (candidate, out) in (0..candidates.count()).zip(rows.chunks_exact_mut(m)) {
        candidates.point(candidate, point);
        map.features(point, &mut row[..m], &mut scratch);
        if !row[..m].iter().all(|x: &f64| x.is_finite()) {
            return Err(unfit);
        }
        out.iter_mut().zip(&row).for_each(|(to, from)| *to = *from as f32);
    }
    Ok(())
}
