//! What all agents share and nobody changes.

use core::fmt;
use core::task::Poll;

use super::config::{Config, OwnDraw};
use crate::acquisition::thompson::{self, Streaming};
use crate::acquisition::{Maximum, Outline};
use crate::domain::{Candidates, Regions};
use crate::features::RandomFourier;
use crate::math::Scalar;

/// What all agents of a federation share: its configuration, the candidates, the features, and what
/// a host computed of them once. One of these exists only if its parts fit each other, so no party
/// that borrows it checks them again.
///
/// The tables of candidates change speed, never bits: without them regions and features are
/// computed when needed.
///
/// ```
/// use sordino_core::domain::{Candidates, Regions};
/// use sordino_core::features::{RandomFourier, random_fourier};
/// use sordino_core::federated::{Aggregation, CandidateRows, Config, Parameters, Public, PublicError, Tables};
/// use sordino_core::kernel::Stationary;
///
/// // M = 16 features on one axis from the public seed 7, and 50 candidates.
/// let config = Config::new(Parameters::usual(2, Regions::whole(1)?, 5, 16, Aggregation::None))?;
/// let mut frequencies = [0.0; random_fourier::storage_len(1, 16)];
/// random_fourier::draw(7, 0, Stationary::SquaredExponential, &[0.2], 1, 16, &mut frequencies)?;
/// let features = RandomFourier::new(1, 16, 1.0, true, &frequencies[..])?;
/// let public = Public::streamed(&config, Candidates::grid(50, 1)?, features)?;
/// // Features have norm 1, so φ(x)·φ(x₂₀) is largest where x is x₂₀.
/// let (mut point, mut phi) = ([0.0], [0.0; 16]);
/// public.candidates().point(20, &mut point);
/// features.features(&point, &mut phi);
/// assert_eq!(public.maximize(&Regions::whole(1)?, &phi, &mut [0.0; 1 + 16]).candidate, 20);
/// // Tables of 49 candidates do not belong to 50.
/// let rows = CandidateRows { features: &[0.0; 49 * 16], region_of: &[0; 49] };
/// let refused = Public::new(&config, Candidates::grid(50, 1)?, features, Tables { rows: Some(rows), ..Tables::NONE });
/// assert_eq!(refused.err(), Some(PublicError::Length { what: "feature rows", found: 784, expected: 800 }));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Public<'a, T> {
    config: &'a Config,
    candidates: Candidates<'a, T>,
    features: RandomFourier<T, &'a [T]>,
    tables: Tables<'a, T>,
}

/// What a host computes once for all agents; [`Tables::NONE`] of it on a device.
///
/// **Example**: that of [`Public`].
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a, T> {
    /// Features and region of every candidate; nothing: computed when needed.
    pub rows: Option<CandidateRows<'a, T>>,
    /// Factor F of the prior covariance over the candidates, K ≈ FFᵀ: a row of as many numbers for
    /// each of them, which is its rank. Empty: own draws are made of the features
    /// ([`OwnDraw::Features`]).
    pub prior_rows: &'a [T],
    /// The outline of `prior_rows`, with which a host finds maxima of own draws faster, the same
    /// bits; or nothing. Not used without the feature `dispatch`.
    pub prior_outline: Option<Outline<&'a [f32]>>,
    /// Confidence width of own draws by round (index t − 1), finite and not negative; rounds beyond
    /// its end, and the empty slice, mean 1.
    pub confidence_widths: &'a [T],
}

impl<T> Tables<'_, T> {
    /// No table, and every width 1.
    pub const NONE: Self = Tables {
        rows: None,
        prior_rows: &[],
        prior_outline: None,
        confidence_widths: &[],
    };
}

/// Features and region of every candidate, in their order.
///
/// **Example**: that of [`Public`].
#[derive(Clone, Copy, Debug)]
pub struct CandidateRows<'a, T> {
    /// φ of every candidate: count × M numbers.
    pub features: &'a [T],
    /// The region each lies in, below P.
    pub region_of: &'a [u32],
}

/// Why there is no such public context.
///
/// **Example**: that of [`Public`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum PublicError {
    /// Something of another length than the configuration, or the number of candidates, asks for.
    Length {
        /// What does not fit.
        what: &'static str,
        /// How many entries it has.
        found: usize,
        /// The length asked for.
        expected: usize,
    },
    /// A candidate in a region that does not exist.
    Region {
        /// Index of the candidate.
        candidate: u32,
        /// The region named.
        found: u32,
        /// P: admissible are regions below it.
        regions: u32,
    },
    /// A confidence width that is negative, infinite or NaN.
    Width {
        /// The round it is for.
        round: u32,
        /// The width given.
        found: f64,
    },
}

impl fmt::Display for PublicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("public context: ")?;
        match self {
            PublicError::Length {
                what,
                found,
                expected,
            } => {
                write!(f, "{what} has {found} entries, {expected} expected")
            }
            PublicError::Region {
                candidate,
                found,
                regions,
            } => {
                write!(f, "candidate {candidate} is in region {found} of {regions}")
            }
            PublicError::Width { round, found } => {
                write!(
                    f,
                    "confidence width {found} of round {round} is outside [0, inf)"
                )
            }
        }
    }
}

impl core::error::Error for PublicError {}

/// Columns of a table with a row for each of `rows`; 0 of an empty one.
///
/// **Errors**: the length expected, of a table whose last row is not whole, or that holds numbers
/// of no row.
pub(super) fn columns(len: usize, rows: usize) -> Result<usize, usize> {
    match len.checked_div(rows) {
        Some(columns) if columns * rows == len => Ok(columns),
        columns => Err(columns.unwrap_or(0).max(1) * rows),
    }
}

impl<'a, T: Scalar> Public<'a, T> {
    /// Joins configuration, candidates, features and tables: the one place where they are held
    /// against each other.
    ///
    /// **Errors**: [`PublicError`] naming the first that does not fit.
    ///
    /// **Cost**: one look at every region and width that is given; M and lengths else.
    pub fn new(
        config: &'a Config,
        candidates: Candidates<'a, T>,
        features: RandomFourier<T, &'a [T]>,
        tables: Tables<'a, T>,
    ) -> Result<Self, PublicError> {
        let p = config.parameters();
        let count = candidates.count() as usize;
        let m = p.feature_count as usize;
        let same = |what, found, expected| {
            if found == expected {
                Ok(())
            } else {
                Err(PublicError::Length {
                    what,
                    found,
                    expected,
                })
            }
        };
        same("features", features.count(), m)?;
        same("feature dimension", features.dim(), candidates.dim())?;
        same("region splits", p.regions.splits().len(), candidates.dim())?;
        if let Some(CandidateRows {
            features,
            region_of,
        }) = tables.rows
        {
            same("feature rows", features.len(), count * m)?;
            same("candidate regions", region_of.len(), count)?;
            let regions = p.regions.count();
            if let Some((candidate, found)) =
                (0..).zip(region_of).find(|(_, region)| **region >= regions)
            {
                return Err(PublicError::Region {
                    candidate,
                    found: *found,
                    regions,
                });
            }
        }
        let prior = |expected| PublicError::Length {
            what: "prior factor",
            found: tables.prior_rows.len(),
            expected,
        };
        let rank = columns(tables.prior_rows.len(), count).map_err(prior)?;
        if p.own_draw == OwnDraw::Joint && rank == 0 {
            return Err(prior(count));
        }
        if let Some(outline) = tables.prior_outline {
            same(
                "outline of the prior factor",
                outline.shape().0 * outline.shape().1,
                tables.prior_rows.len(),
            )?;
        }
        let inadmissible = |width: &T| !(*width >= T::ZERO && width.is_finite());
        match (1..)
            .zip(tables.confidence_widths)
            .find(|(_, width)| inadmissible(width))
        {
            Some((round, width)) => Err(PublicError::Width {
                round,
                found: width.to_f64(),
            }),
            None => Ok(Public {
                config,
                candidates,
                features,
                tables,
            }),
        }
    }

    /// Without any table: features are computed when needed, as on a device. Own draws are by
    /// features ([`OwnDraw::Features`]), at width 1.
    ///
    /// **Errors**: as [`Public::new`].
    pub fn streamed(
        config: &'a Config,
        candidates: Candidates<'a, T>,
        features: RandomFourier<T, &'a [T]>,
    ) -> Result<Self, PublicError> {
        Self::new(config, candidates, features, Tables::NONE)
    }

    /// What all parties agreed on.
    pub fn config(&self) -> &'a Config {
        self.config
    }

    /// The points that may be queried.
    pub fn candidates(&self) -> &Candidates<'a, T> {
        &self.candidates
    }

    /// F, and its number of columns; 0 without it.
    pub(super) fn prior(&self) -> (&'a [T], usize) {
        let rows = self.tables.prior_rows;
        (
            rows,
            rows.len()
                .checked_div(self.candidates.count() as usize)
                .unwrap_or(0),
        )
    }

    /// argmax of F·ω, the lowest index among equals.
    pub(super) fn maximize_prior(&self, weights: &[T]) -> Maximum<T> {
        match self.tables.prior_outline {
            // A device has no vectors for it, and its stack no room for a panel's sums.
            Some(outline) if cfg!(feature = "dispatch") => {
                outline.maximize(self.tables.prior_rows, weights)
            }
            _ => thompson::maximize_rows(self.tables.prior_rows, weights.len(), &[], weights),
        }
    }

    /// The factor of an own draw's standard deviation in a round.
    pub(super) fn confidence_width(&self, round: u32) -> T {
        self.tables
            .confidence_widths
            .get(round as usize - 1)
            .copied()
            .unwrap_or(T::ONE)
    }

    /// Region of a candidate; `point` is scratch of D numbers.
    pub(super) fn region(&self, candidate: u32, point: &mut [T]) -> u32 {
        match self
            .tables
            .rows
            .and_then(|rows| rows.region_of.get(candidate as usize))
        {
            Some(region) => *region,
            None => {
                self.candidates.point(candidate, point);
                self.config.parameters().regions.region_of(point)
            }
        }
    }

    /// φ of a candidate into `phi`; `point` is scratch of D numbers.
    pub(super) fn feature_row(&self, candidate: u32, point: &mut [T], phi: &mut [T]) {
        let m = self.features.count();
        let start = candidate as usize * self.features.count();
        match self
            .tables
            .rows
            .and_then(|rows| rows.features.get(start..start + m))
        {
            Some(row) => phi.iter_mut().zip(row).for_each(|(to, from)| *to = *from),
            None => {
                self.candidates.point(candidate, point);
                self.features.features(point, phi);
            }
        }
    }

    /// argmax of φ(x)·ω^(region of x), the lowest index among equals; `scratch` holds D + M
    /// numbers.
    pub fn maximize(&self, regions: &Regions, weights: &[T], scratch: &mut [T]) -> Maximum<T> {
        let mut streaming = Streaming::begin();
        loop {
            if let Poll::Ready(best) =
                self.maximize_step(&mut streaming, u32::MAX, regions, weights, scratch)
            {
                return best;
            }
        }
    }

    /// At most `count` candidates of [`Public::maximize`]; all at once where their features are
    /// cached.
    pub(super) fn maximize_step(
        &self,
        streaming: &mut Streaming<T>,
        count: u32,
        regions: &Regions,
        weights: &[T],
        scratch: &mut [T],
    ) -> Poll<Maximum<T>> {
        let Some(rows) = self.tables.rows else {
            return streaming.step(
                count,
                &self.candidates,
                &self.features,
                regions,
                weights,
                scratch,
            );
        };
        let region_of = if regions.count() == 1 {
            &[]
        } else {
            rows.region_of
        };
        Poll::Ready(thompson::maximize_rows(
            rows.features,
            self.features.count(),
            region_of,
            weights,
        ))
    }
}
