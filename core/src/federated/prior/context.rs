//! What a device makes of its agreement before it is a member: the sizes of its memory, and the
//! public context.
//!
//! A device has no list of features. It has points, or knows them as a grid, and computes the
//! features of every candidate at each boot: in double precision, then rounded, as every agent of
//! the federation does. Points that are not those of the agreement are refused, since their
//! features would mean something else to everybody else.

use core::fmt;

use super::super::config::OwnDraw;
use super::super::exchange::{Agreement, candidates_digest};
use super::agent::{log_len, workspace_len};
use super::error::{PriorError, at_least};
use super::member::{member_scratch_len, posterior_len};
use super::protocol::{LEVELS, PriorProtocol};
use super::public::{Public, Tables, draw_designs, gram};
use crate::domain::Candidates;
use crate::features::{FeatureError, Nystrom, nystrom};
use crate::kernel::{KernelError, StationaryKernel};
use crate::linalg::slice;
use crate::math::Scalar;

/// What decides how much memory a member takes; all of it known when a program is compiled.
///
/// ```
/// use sordino_core::federated::prior::MemberSizes;
///
/// const SIZES: MemberSizes = MemberSizes::new(64, 12, 4, 6, 256); // D = 64, M = 12, n = 4, T = 6, V = 256
/// static NUMBERS: [f32; SIZES.context() + SIZES.storage()] = [0.0; SIZES.context() + SIZES.storage()];
/// static DESIGNS: [u32; SIZES.designs_len()] = [0; SIZES.designs_len()];
/// assert_eq!((NUMBERS.len(), DESIGNS.len()), (912 + 1_488, 1024));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberSizes {
    /// D, points that may be queried.
    pub candidates: usize,
    /// M, features, one for each landmark.
    pub features: usize,
    /// n, observations before the first release, and points of a virtual design.
    pub initial_points: usize,
    /// T, queries after them.
    pub rounds: usize,
    /// V, virtual designs.
    pub designs: usize,
    /// Columns of the prior's factor; M where own draws are made of the features, as on a device.
    pub prior_rank: usize,
}

impl MemberSizes {
    /// Of a member whose own draws are made of the features.
    pub const fn new(
        candidates: usize,
        features: usize,
        initial_points: usize,
        rounds: usize,
        designs: usize,
    ) -> Self {
        MemberSizes {
            candidates,
            features,
            initial_points,
            rounds,
            designs,
            prior_rank: features,
        }
    }

    /// Of any member of this protocol in this context.
    pub fn of<T: Scalar>(protocol: &PriorProtocol, public: &Public<'_, T>) -> Self {
        MemberSizes {
            prior_rank: public.prior().1,
            ..Self::over(protocol, public.candidates())
        }
    }

    fn over(protocol: &PriorProtocol, candidates: usize) -> Self {
        let config = &protocol.config;
        let rounds = protocol.rounds as usize;
        let designs = config.parameters().designs as usize;
        MemberSizes::new(
            candidates,
            config.features(),
            config.design_len(),
            rounds,
            designs,
        )
    }

    /// Observations of a whole run.
    pub const fn observations(self) -> usize {
        self.initial_points + self.rounds
    }

    /// Numbers of the public context: the features of all candidates, and Ḡ.
    pub const fn context(self) -> usize {
        self.features * (self.candidates + self.features)
    }

    /// Candidates of all virtual designs together.
    pub const fn designs_len(self) -> usize {
        self.designs * self.initial_points
    }

    /// Numbers in double precision that [`context()`] takes while it works, for points of `dim`
    /// axes.
    pub const fn doubles(self, dim: usize) -> usize {
        rounded_rows_scratch_len(dim, self.features)
    }

    /// Numbers of the log.
    pub const fn log(self) -> usize {
        log_len(self.initial_points, self.rounds)
    }

    /// Numbers of the workspace.
    pub const fn workspace(self) -> usize {
        workspace_len(self.observations(), self.features, self.prior_rank, LEVELS)
    }

    /// Numbers of the posterior with its moments.
    pub const fn posterior(self) -> usize {
        posterior_len(self.features)
    }

    /// Numbers of scratch.
    pub const fn scratch(self) -> usize {
        member_scratch_len(self.features, self.initial_points)
    }

    /// Numbers of a member beside its context:
    /// [`MemberStorage::split`](super::MemberStorage::split) divides them.
    pub const fn storage(self) -> usize {
        self.log() + self.workspace() + self.posterior() + self.scratch()
    }
}

/// Why no public context is made of an agreement.
///
/// **Example**: that of [`ContextStorage`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ContextError {
    /// An agreement on another method.
    Method,
    /// Own draws of a joint factor over all candidates, which no device holds.
    OwnDraw,
    /// Candidates that are not those of the agreement.
    Candidates,
    /// Landmarks that are not those of the agreement, or not one for each feature.
    Landmarks,
    /// A kernel that is not admissible.
    Kernel(KernelError),
    /// Features that cannot be made.
    Features(FeatureError),
    /// Memory that is too short, features that are not finite, or a protocol that is not
    /// admissible.
    Prior(PriorError),
}

impl fmt::Display for ContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContextError::Method => {
                f.write_str("the agreement is on another method than the federated prior")
            }
            ContextError::OwnDraw => {
                f.write_str("own draws of a joint factor need a matrix over all candidates")
            }
            ContextError::Candidates => {
                f.write_str("the candidates are not those of the agreement")
            }
            ContextError::Landmarks => f.write_str("the landmarks are not those of the agreement"),
            ContextError::Kernel(error) => error.fmt(f),
            ContextError::Features(error) => error.fmt(f),
            ContextError::Prior(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ContextError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ContextError::Kernel(error) => error.source(),
            ContextError::Features(error) => error.source(),
            ContextError::Prior(error) => error.source(),
            _ => None,
        }
    }
}

impl From<KernelError> for ContextError {
    fn from(error: KernelError) -> Self {
        ContextError::Kernel(error)
    }
}

impl From<FeatureError> for ContextError {
    fn from(error: FeatureError) -> Self {
        ContextError::Features(error)
    }
}

impl From<PriorError> for ContextError {
    fn from(error: PriorError) -> Self {
        ContextError::Prior(error)
    }
}

/// The memory of a public context, all borrowed.
///
/// ```
/// use sordino_core::domain::Candidates;
/// use sordino_core::federated::exchange::{Agreement, Announced, Protocol, candidates_digest};
/// use sordino_core::federated::prior::{ContextError, ContextStorage, MemberSizes, MemberStorage, context};
/// # use sordino_core::federated::{OwnDraw, prior::{Behaviour, Config, Parameters, PriorProtocol}};
/// # use sordino_core::{kernel::Stationary, random::RunSeed, wire::ScalarTag};
///
/// let (candidates, landmarks) = (Candidates::grid(9, 1)?, Candidates::grid(3, 1)?);
/// # let protocol = PriorProtocol {
/// #     config: Config::new(Parameters { designs: 8, ..Parameters::usual(2, 3, 2, 0.1) })?,
/// #     rounds: 5,
/// #     offset: 0.0,
/// #     release_rounds: [0].into_iter().collect(),
/// #     noise_multipliers: [3.0].into_iter().collect(),
/// #     kernel: Stationary::SquaredExponential,
/// #     lengthscale: 0.2,
/// #     signal_variance: 1.0,
/// #     own_draw: OwnDraw::Features,
/// #     prior_tolerance: 0.0,
/// #     landmarks: candidates_digest(&landmarks, &mut [0.0]),
/// #     design_seed: RunSeed::new(7, 0),
/// #     draw_seed: RunSeed::new(8, 0),
/// #     behaviour: Behaviour::USUAL,
/// # };
/// let agreement = Agreement {
///     protocol: Protocol::Prior(protocol), // M = 3, two initial points, five rounds, V = 8
///     candidates: candidates_digest(&candidates, &mut [0.0]),
/// #   dim: 1,
/// #   scalar: ScalarTag::F32,
/// #   deployment: 1,
/// #   announced: Announced { epsilon_max: None, delta: 1e-5, deadline_ms: 1, may_close_early: true },
///     // …
/// };
/// const SIZES: MemberSizes = MemberSizes::new(9, 3, 2, 5, 8);
/// let (mut numbers, mut designs) = ([0.0f32; SIZES.context() + SIZES.storage()], [0; SIZES.designs_len()]);
/// let mut doubles = [0.0; SIZES.doubles(1)];
/// let storage = ContextStorage { numbers: &mut numbers, designs: &mut designs };
/// let (public, rest) = context(&agreement, [&candidates, &landmarks], storage, &mut doubles)?;
/// assert_eq!((public.candidates(), rest.len()), (9, SIZES.storage()));
/// let protocol = agreement.protocol.prior().ok_or("a federated prior")?;
/// assert_eq!(MemberSizes::of(protocol, &public), SIZES);
/// let storage = MemberStorage::split(protocol, &public, rest)?; // for `Member::attach`
/// assert_eq!(storage.log.len(), 2 * (2 + 5));
/// // Other points, which nobody agreed on.
/// let storage = ContextStorage { numbers: &mut [0.0f32; 36], designs: &mut [0; 16] };
/// let other = context(&agreement, [&landmarks, &landmarks], storage, &mut doubles);
/// assert_eq!(other.err(), Some(ContextError::Candidates));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct ContextStorage<'s, T> {
    /// [`MemberSizes::context`] numbers or more; of [`context()`]'s rest a member is made.
    pub numbers: &'s mut [T],
    /// [`MemberSizes::designs_len`] candidates or more.
    pub designs: &'s mut [u32],
}

/// Makes the public context of a member: the features of every candidate, Ḡ and the virtual
/// designs. Also returns what is left of the numbers.
///
/// **Parameters**: `candidates` and `landmarks` in double precision, whose digests are those of the
/// agreement; `doubles` of [`MemberSizes::doubles`], whatever they hold.
///
/// **Errors**: [`ContextError`].
///
/// **Cost**: a hash of all points; the root of M² numbers, about 10 sweeps of 9M³ flops in double
/// precision; D·3M² flops.
///
/// **Example**: that of [`ContextStorage`].
pub fn context<'p, T: Scalar>(
    agreement: &'p Agreement,
    [candidates, landmarks]: [&Candidates<'_, f64>; 2],
    storage: ContextStorage<'p, T>,
    doubles: &mut [f64],
) -> Result<(Public<'p, T>, &'p mut [T]), ContextError> {
    let protocol = agreement.protocol.prior().ok_or(ContextError::Method)?;
    if protocol.own_draw != OwnDraw::Features {
        return Err(ContextError::OwnDraw);
    }
    protocol.check()?;
    let dim = agreement.dim as usize;
    let config = &protocol.config;
    let sizes = MemberSizes::over(protocol, candidates.count() as usize);
    at_least("double precision", doubles.len(), sizes.doubles(dim))?;
    if candidates.dim() != dim
        || candidates_digest(candidates, slice::head_mut(doubles, dim)) != agreement.candidates
    {
        return Err(ContextError::Candidates);
    }
    let agreed = candidates_digest(landmarks, slice::head_mut(doubles, landmarks.dim()));
    if landmarks.dim() != dim || agreed != protocol.landmarks {
        return Err(ContextError::Landmarks);
    }
    let ContextStorage { numbers, designs } = storage;
    at_least("numbers of the context", numbers.len(), sizes.context())?;
    at_least("designs", designs.len(), sizes.designs_len())?;
    let (rows, rest) = slice::split(numbers, sizes.candidates * sizes.features);
    let (mean, rest) = slice::split(rest, sizes.features * sizes.features);
    let designs = slice::head_mut(designs, sizes.designs_len());
    rounded_rows(protocol, landmarks, candidates, rows, doubles)?;
    gram(config, rows, mean)?;
    draw_designs(config, protocol.design_seed, candidates.count(), designs)?;
    let tables = Tables {
        prior_rows: &[],
        gram: mean,
        designs,
    };
    Ok((Public::new(config, rows, tables)?, rest))
}

/// Numbers of scratch that [`rounded_rows`] needs for M features of points of `dim` axes.
pub const fn rounded_rows_scratch_len(dim: usize, m: usize) -> usize {
    m * dim + nystrom::storage_len(m) + nystrom::scratch_len(m) + m + dim
}

/// The rows Φ of the Nyström features on every candidate, D × M numbers, computed in double
/// precision and then rounded: what every party of a federated prior computes with, on a host and
/// on a device.
///
/// **Parameters**: `landmarks`, one for each feature; `scratch` of [`rounded_rows_scratch_len`],
/// whatever it holds.
///
/// **Errors**: [`ContextError::Landmarks`], [`ContextError::Kernel`], [`ContextError::Features`];
/// [`ContextError::Prior`] for slices of other lengths, and for a feature that is not finite.
///
/// **Example**: that of [`ContextStorage`].
#[inline(never)]
pub fn rounded_rows<T: Scalar>(
    protocol: &PriorProtocol,
    landmarks: &Candidates<'_, f64>,
    candidates: &Candidates<'_, f64>,
    out: &mut [T],
    scratch: &mut [f64],
) -> Result<(), ContextError> {
    let m = protocol.config.features();
    let dim = candidates.dim();
    if landmarks.count() as usize != m || landmarks.dim() != dim {
        return Err(ContextError::Landmarks);
    }
    super::error::exactly("feature rows", out.len(), candidates.count() as usize * m)?;
    at_least("scratch", scratch.len(), rounded_rows_scratch_len(dim, m))?;
    let (dictionary, rest) = slice::split(scratch, m * dim);
    let (root, rest) = slice::split(rest, nystrom::storage_len(m));
    let (work, rest) = slice::split(rest, nystrom::scratch_len(m));
    let (row, rest) = slice::split(rest, m);
    let point = slice::head_mut(rest, dim);
    for (index, place) in (0..landmarks.count()).zip(dictionary.chunks_exact_mut(dim)) {
        landmarks.point(index, place);
    }
    let kernel = StationaryKernel::with_shape(
        protocol.kernel,
        protocol.lengthscale,
        protocol.signal_variance,
    )?;
    let map = Nystrom::new(kernel, dim, &*dictionary, root, work)?;
    for (candidate, out) in (0..candidates.count()).zip(out.chunks_exact_mut(m)) {
        candidates.point(candidate, point);
        map.features(point, row, work);
        if let Some(value) = row.iter().copied().find(|x| !x.is_finite()) {
            return Err(PriorError::Number {
                what: "a feature",
                value,
                admissible: "(-inf, inf)",
            }
            .into());
        }
        out.iter_mut()
            .zip(&*row)
            .for_each(|(to, from)| *to = T::from_f64(*from));
    }
    Ok(())
}
