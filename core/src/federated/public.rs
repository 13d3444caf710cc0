//! What all agents share and nobody changes.

use core::fmt;
use core::task::Poll;

use super::config::{Config, OwnDraw};
use crate::acquisition::Maximum;
use crate::acquisition::thompson::{self, Streaming};
use crate::domain::{Candidates, Regions};
use crate::features::RandomFourier;
use crate::math::Scalar;

/// The public context, borrowed: candidates, features, and what a host caches of them.
///
/// The caches change speed, never bits: an empty slice means "compute when needed".
///
/// ```
/// use sordino_core::domain::{Candidates, Regions};
/// use sordino_core::features::{RandomFourier, random_fourier};
/// use sordino_core::federated::{Aggregation, Config, Parameters, Public, PublicError};
/// use sordino_core::kernel::Stationary;
///
/// // M = 16 features on one axis from the public seed 7, and 50 candidates.
/// let mut frequencies = [0.0; random_fourier::storage_len(1, 16)];
/// random_fourier::draw(7, 0, Stationary::SquaredExponential, &[0.2], 1, 16, &mut frequencies)?;
/// let features = RandomFourier::new(1, 16, 1.0, true, &frequencies[..])?;
/// let public = Public::streamed(Candidates::grid(50, 1)?, features);
/// // Features have norm 1, so φ(x)·φ(x₂₀) is largest where x is x₂₀.
/// let (mut point, mut phi) = ([0.0], [0.0; 16]);
/// public.candidates.point(20, &mut point);
/// features.features(&point, &mut phi);
/// assert_eq!(public.maximize(&Regions::whole(1)?, &phi, &mut [0.0; 1 + 16]).candidate, 20);
/// let other = Config::new(Parameters::usual(2, Regions::whole(1)?, 5, 32, Aggregation::None))?;
/// assert_eq!(public.check(&other), Err(PublicError { what: "features", found: 16, expected: 32 }));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Public<'a, T> {
    /// The points that may be queried.
    pub candidates: Candidates<'a, T>,
    /// The shared features, from the public seed.
    pub features: RandomFourier<T, &'a [T]>,
    /// φ of every candidate (count × M), or empty on a device.
    pub feature_rows: &'a [T],
    /// Region of every candidate, or empty on a device.
    pub region_of: &'a [u32],
    /// Factor F of the prior covariance over the candidates, K ≈ FFᵀ: as many numbers for each of them, which is its
    /// rank ([`Public::prior_rank`]); empty without joint draws.
    pub prior_rows: &'a [T],
    /// Confidence width of own draws by round (index t − 1); rounds beyond its end, and the empty slice, mean 1.
    pub confidence_widths: &'a [T],
}

/// A public context that does not fit its configuration.
///
/// **Example**: that of [`Public`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PublicError {
    /// What does not fit.
    pub what: &'static str,
    /// Length of the slice given.
    pub found: usize,
    /// The size the configuration asks for.
    pub expected: usize,
}

impl fmt::Display for PublicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "public context: {} has {} entries, {} expected", self.what, self.found, self.expected)
    }
}

impl core::error::Error for PublicError {}

/// Columns of a table with a row for each of `rows`; 0 of an empty one.
///
/// **Errors**: [`PublicError`] for a table whose last row is not whole, or that holds numbers of no row.
pub(super) fn columns(what: &'static str, len: usize, rows: usize) -> Result<usize, PublicError> {
    match len.checked_div(rows) {
        Some(columns) if columns * rows == len => Ok(columns),
        columns => Err(PublicError { what, found: len, expected: columns.unwrap_or(0).max(1) * rows }),
    }
}

impl<'a, T: Scalar> Public<'a, T> {
    /// Candidates and features without any cache: features are computed when needed, as on a device. Own draws are by
    /// features ([`OwnDraw::Features`]), at width 1.
    pub fn streamed(candidates: Candidates<'a, T>, features: RandomFourier<T, &'a [T]>) -> Self {
        Public { candidates, features, feature_rows: &[], region_of: &[], prior_rows: &[], confidence_widths: &[] }
    }

    /// Number of columns of F, 0 without it.
    pub fn prior_rank(&self) -> usize {
        self.prior_rows.len().checked_div(self.candidates.count() as usize).unwrap_or(0)
    }

    /// Checks every size against the configuration.
    ///
    /// **Errors**: [`PublicError`] naming the first that differs.
    pub fn check(&self, config: &Config) -> Result<(), PublicError> {
        let p = config.parameters();
        let (count, m) = (self.candidates.count() as usize, p.feature_count as usize);
        let same = |what, found, expected| {
            if found == expected { Ok(()) } else { Err(PublicError { what, found, expected }) }
        };
        let cached = |what, len, expected| if len == 0 { Ok(()) } else { same(what, len, expected) };
        same("features", self.features.count(), m)?;
        same("feature dimension", self.features.dim(), self.candidates.dim())?;
        same("region splits", p.regions.splits().len(), self.candidates.dim())?;
        cached("feature rows", self.feature_rows.len(), count * m)?;
        cached("candidate regions", self.region_of.len(), count)?;
        if self.region_of.is_empty() && !self.feature_rows.is_empty() {
            return Err(PublicError { what: "candidate regions", found: 0, expected: count });
        }
        let rank = columns("prior factor", self.prior_rows.len(), count)?;
        if p.own_draw == OwnDraw::Joint && rank == 0 {
            return Err(PublicError { what: "prior factor", found: 0, expected: count });
        }
        Ok(())
    }

    /// Region of a candidate; `point` is scratch of D numbers.
    pub(super) fn region(&self, regions: &Regions, candidate: u32, point: &mut [T]) -> u32 {
        match self.region_of.get(candidate as usize) {
            Some(region) => *region,
            None => {
                self.candidates.point(candidate, point);
                regions.region_of(point)
            }
        }
    }

    /// φ of a candidate into `phi`; `point` is scratch of D numbers.
    pub(super) fn feature_row(&self, candidate: u32, point: &mut [T], phi: &mut [T]) {
        let (m, start) = (self.features.count(), candidate as usize * self.features.count());
        match self.feature_rows.get(start..start + m) {
            Some(row) => phi.iter_mut().zip(row).for_each(|(to, from)| *to = *from),
            None => {
                self.candidates.point(candidate, point);
                self.features.features(point, phi);
            }
        }
    }

    /// argmax of φ(x)·ω^(region of x), the lowest index among equals; `scratch` holds D + M numbers.
    pub fn maximize(&self, regions: &Regions, weights: &[T], scratch: &mut [T]) -> Maximum<T> {
        let mut streaming = Streaming::begin();
        loop {
            if let Poll::Ready(best) = self.maximize_step(&mut streaming, u32::MAX, regions, weights, scratch) {
                return best;
            }
        }
    }

    /// At most `count` candidates of [`Public::maximize`]; all at once where their features are cached.
    pub(super) fn maximize_step(
        &self,
        streaming: &mut Streaming<T>,
        count: u32,
        regions: &Regions,
        weights: &[T],
        scratch: &mut [T],
    ) -> Poll<Maximum<T>> {
        if self.feature_rows.is_empty() {
            return streaming.step(count, &self.candidates, &self.features, regions, weights, scratch);
        }
        let region_of = if regions.count() == 1 { &[] } else { self.region_of };
        Poll::Ready(thompson::maximize_rows(self.feature_rows, self.features.count(), region_of, weights))
    }
}
