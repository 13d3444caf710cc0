//! What a site of a campaign contributes, computed from its own points alone: on a device as on a
//! host.
//!
//! Candidates and virtual designs of a campaign take a megabyte of features, and serve to find what
//! a release is made with: κ, C and w. A site that is told these needs neither. It keeps the
//! landmarks (in flash), its points and its values.
//!
//! | step | what | here |
//! |---|---|---|
//! | once | the numbers of the agreement, landmarks held against their digest | [`Site::new`] |
//! | when its values are there | features of its points, a factor of their kernel, values in its own units | [`OwnPoints::compute`] |
//! | each release | κ, C and w as they were announced | [`Opening::read`] |
//! | each release | the joint vector (u·d, γCu) | [`OwnPoints::contribution`] |
//!
//! **Privacy**: whoever announces κ, C and w chooses how much a site's innovation is clipped and
//! what is subtracted from its values, and no more: the joint vector is clipped as a whole to Δ =
//! C√(1 + γ²) and rounded to integers of norm at most K before anything is added up, whatever κ, C
//! and w are (theorem of [`contribution()`]). False numbers make a release useless and not dearer.

use super::config::Config;
use super::constant::standardise;
use super::contribution::{Observations, contribution, contribution_scratch_len};
use super::error::{PriorError, at_least, exactly};
use super::landmarks::{kernel_rows, landmark_rows, landmark_rows_scratch_len};
use super::protocol::CampaignProtocol;
use super::public::{Public, Tables};
use super::state::Terms;
use crate::domain::{Candidates, DIM_MAX};
use crate::federated::exchange::candidates_digest;
use crate::federated::shares::Trust;
use crate::linalg::slice;
use crate::math::Scalar;

/// A site with fewer values contributes nothing: of two values one says nothing but the unit.
pub const POINTS_MIN: usize = 3;

/// Numbers of what a release is made with, for M features: κ, C and w.
pub const fn opening_len(m: usize) -> usize {
    m + 2
}

/// What a site keeps of n points: their features, the factor of their kernel, its standardised
/// values.
pub const fn own_points_len(observations: usize, m: usize) -> usize {
    observations * (m + observations + 2)
}

/// Scratch of [`OwnPoints::compute`] and of [`OwnPoints::contribution`] for n points and M
/// features.
pub const fn own_points_scratch_len(observations: usize, m: usize) -> usize {
    let rows = landmark_rows_scratch_len(m);
    let given = contribution_scratch_len(observations);
    if rows > given { rows } else { given }
}

/// What a release is made with, as far as a site needs it: functions of earlier releases, which the
/// server announces.
///
/// ```
/// use sordino_core::federated::prior::{Opening, PriorError};
///
/// let opening = Opening::read(&[0.5, 2.0, 0.1, -0.3])?; // κ, C, w
/// assert_eq!((opening.terms().clip_radius, opening.weights()), (2.0, &[0.1, -0.3][..]));
/// assert!(matches!(Opening::read(&[0.5, -2.0, 0.1]), Err(PriorError::Number { what: "clip radius", .. })));
/// # Ok::<(), PriorError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opening<'a, T> {
    terms: Terms<T>,
    weights: &'a [T],
}

impl<'a, T: Scalar> Opening<'a, T> {
    /// Reads κ, C and w, M + 2 numbers.
    ///
    /// **Errors**: [`PriorError::Length`] for fewer than three; [`PriorError::Number`] for a κ or C
    /// that is not positive and finite, and for a weight that is not finite.
    pub fn read(numbers: &'a [T]) -> Result<Self, PriorError> {
        at_least("what a release is made with", numbers.len(), opening_len(1))?;
        let ridge = slice::at(numbers, 0);
        let clip_radius = slice::at(numbers, 1);
        let weights = slice::tail(numbers, 2);
        for (what, value) in [("ridge", ridge), ("clip radius", clip_radius)] {
            if !(value > T::ZERO && value.is_finite()) {
                return Err(PriorError::Number {
                    what,
                    value: value.to_f64(),
                    admissible: "(0, inf)",
                });
            }
        }
        if let Some(weight) = weights.iter().find(|weight| !weight.is_finite()) {
            return Err(PriorError::Number {
                what: "weight",
                value: weight.to_f64(),
                admissible: "(-inf, inf)",
            });
        }
        Ok(Opening {
            terms: Terms {
                ridge,
                clip_radius,
                response: T::ZERO,
            },
            weights,
        })
    }

    /// Of a posterior's own terms and weights.
    pub fn new(terms: Terms<T>, weights: &'a [T]) -> Self {
        Opening { terms, weights }
    }

    /// κ and C; how much heterogeneity adds is the server's alone.
    pub fn terms(&self) -> Terms<T> {
        self.terms
    }

    /// Weights w, M numbers.
    pub fn weights(&self) -> &'a [T] {
        self.weights
    }
}

/// The public numbers of a campaign as a site needs them.
///
/// ```
/// use sordino_core::domain::Candidates;
/// use sordino_core::federated::exchange::candidates_digest;
/// use sordino_core::federated::prior::{
///     CAMPAIGN_RULES, CampaignProtocol, Config, Opening, OwnPoints, Parameters, Site, own_points_len,
///     own_points_scratch_len,
/// };
/// # use sordino_core::digest::Digest;
///
/// let landmarks = [0.1, 0.5, 0.9]; // M = 3, in flash
/// let protocol = CampaignProtocol {
/// #   rules: CAMPAIGN_RULES,
///     config: Config::new(Parameters::own_units(50, 3, 4))?,
///     lengthscale: 0.3,
///     landmarks: candidates_digest(&Candidates::list(&landmarks, 1)?, &mut [0.0]),
/// #   rounds: 190,
/// #   noise_multipliers: [9.0, 9.0].into_iter().collect(),
/// #   publication: Digest::default(),
///     // and so on, as in the example of `CampaignProtocol`
/// };
/// let site = Site::new(&protocol, &landmarks, 1)?;
///
/// // Four evaluations in the site's own unit; larger is better.
/// let (points, values) = ([0.0, 0.3, 0.6, 1.0], [20.0, 23.5, 21.0, 17.0]);
/// let (mut storage, mut scratch) = ([0.0; own_points_len(4, 3)], [0.0; own_points_scratch_len(4, 3)]);
/// let own = OwnPoints::compute(site, &points, &values, &mut storage, &mut scratch)?;
/// let announced = [0.2, 1.5, 0.0, 0.0, 0.0]; // κ, C and w before the first release
/// let mut upload = [0.0; 4];
/// let clip_factor = own.contribution(&Opening::read(&announced)?, &mut scratch, &mut upload)?;
/// let norm = upload[..3].iter().map(|d| d * d).sum::<f64>().sqrt();
/// assert!(norm <= 1.5 + 1e-12 && clip_factor <= 1.0);
/// // Another unit: the same contribution.
/// let (mut other, values) = ([0.0; 4], values.map(|y| 1000.0 - 4.0 * (25.0 - y)));
/// let own = OwnPoints::compute(site, &points, &values, &mut storage, &mut scratch)?;
/// own.contribution(&Opening::read(&announced)?, &mut scratch, &mut other)?;
/// assert!(upload.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-12));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Site<'a, T> {
    config: &'a Config,
    lengthscale: T,
    landmarks: &'a [T],
    dim: usize,
}

impl<'a> Site<'a, f64> {
    /// The numbers of this agreement with its landmarks, M points of `dim` coordinates in the unit
    /// box, in double precision as they were agreed.
    ///
    /// **Errors**: [`PriorError::Length`] for another number of landmarks;
    /// [`PriorError::OtherLandmarks`] for others than those of the agreement;
    /// [`PriorError::TwoServers`], because nothing here hides a contribution; what is wrong with
    /// its numbers.
    pub fn new(
        protocol: &'a CampaignProtocol,
        landmarks: &'a [f64],
        dim: usize,
    ) -> Result<Self, PriorError> {
        protocol.check()?;
        if protocol.config.parameters().trust == Trust::TwoServers {
            return Err(PriorError::TwoServers);
        }
        let site = Self::known(&protocol.config, protocol.lengthscale, landmarks, dim)?;
        let points = Candidates::list(landmarks, dim).map_err(|_| PriorError::OtherLandmarks)?;
        let found = candidates_digest(&points, slice::head_mut(&mut [0.0; DIM_MAX], dim));
        if found == protocol.landmarks {
            Ok(site)
        } else {
            Err(PriorError::OtherLandmarks)
        }
    }
}

impl<'a, T: Scalar> Site<'a, T> {
    /// The same where landmarks and lengthscale were computed, and not received.
    ///
    /// **Errors**: [`PriorError::Length`].
    pub fn known(
        config: &'a Config,
        lengthscale: T,
        landmarks: &'a [T],
        dim: usize,
    ) -> Result<Self, PriorError> {
        exactly("landmarks", landmarks.len(), config.features() * dim)?;
        Ok(Site {
            config,
            lengthscale,
            landmarks,
            dim,
        })
    }

    /// M, features, one for each landmark.
    pub fn features(&self) -> usize {
        self.config.features()
    }
}

/// A site's points and values, ready for every release. They stay as they are: a campaign's
/// releases are of the same data.
///
/// **Example**: that of [`Site`].
#[derive(Clone, Copy, Debug)]
pub struct OwnPoints<'a, T> {
    config: &'a Config,
    rows: &'a [T],
    prior_rows: &'a [T],
    log: &'a [T],
}

impl<'a, T: Scalar> OwnPoints<'a, T> {
    /// Computes what all releases need of n points in the unit box and their values, larger is
    /// better.
    ///
    /// **Parameters**: `points`, n × `dim` coordinates; `storage` of exactly [`own_points_len`]
    /// numbers, which it keeps; `scratch` of at least [`own_points_scratch_len`].
    ///
    /// **Errors**: [`PriorError::Length`], for fewer than [`POINTS_MIN`] values too;
    /// [`PriorError::Number`] for a coordinate outside \[0, 1] or a value that is not finite;
    /// [`PriorError::Singular`] for landmarks that coincide.
    ///
    /// **Cost**: M³/3 + nM² flops and nM + n² covariances.
    pub fn compute(
        site: Site<'a, T>,
        points: &[T],
        values: &[T],
        storage: &'a mut [T],
        scratch: &mut [T],
    ) -> Result<Self, PriorError> {
        let Site {
            config,
            lengthscale,
            landmarks,
            dim,
        } = site;
        let n = values.len();
        let m = config.features();
        at_least("values", n, POINTS_MIN)?;
        exactly("points", points.len(), n * dim)?;
        exactly("storage", storage.len(), own_points_len(n, m))?;
        at_least("scratch", scratch.len(), own_points_scratch_len(n, m))?;
        let (rows, rest) = slice::split(storage, n * m);
        let (prior_rows, log) = slice::split(rest, n * n);
        landmark_rows(lengthscale, landmarks, dim, points, rows, scratch)?;
        kernel_rows(lengthscale, points, dim, prior_rows, scratch)?;
        let standardised = slice::head_mut(scratch, n);
        standardise(values, standardised)?;
        let (entries, _) = log.as_chunks_mut();
        for (place, (entry, z)) in (0..).zip(entries.iter_mut().zip(standardised)) {
            *entry = [T::from_u32(place), *z];
        }
        Self::stored(config, n, storage)
    }

    /// The same again of the storage that [`OwnPoints::compute`] filled for n points.
    ///
    /// **Errors**: [`PriorError::Length`].
    pub fn stored(
        config: &'a Config,
        observations: usize,
        storage: &'a [T],
    ) -> Result<Self, PriorError> {
        let n = observations;
        let m = config.features();
        exactly("storage", storage.len(), own_points_len(n, m))?;
        let rows = slice::head(storage, n * m);
        let prior_rows = slice::part(storage, n * m, n * n);
        Ok(OwnPoints {
            config,
            rows,
            prior_rows,
            log: slice::tail(storage, n * (m + n)),
        })
    }

    /// The joint vector (u·d, γCu) for a release, M + 1 numbers, into `out`; returns u.
    ///
    /// **Parameters**: `scratch` of at least [`own_points_scratch_len`].
    ///
    /// **Errors**: as of [`contribution()`]: after [`PriorError::Singular`] the site sends nothing
    /// to this release.
    ///
    /// **Cost**: that of [`contribution()`] for n observations with a factor of n columns.
    pub fn contribution(
        &self,
        opening: &Opening<'_, T>,
        scratch: &mut [T],
        out: &mut [T],
    ) -> Result<T, PriorError> {
        let tables = Tables {
            prior_rows: self.prior_rows,
            ..Tables::NONE
        };
        let public = Public::new(self.config, self.rows, tables)?;
        let observations = Observations::new(self.log, self.log.len() / 2)?;
        contribution(
            &public,
            &opening.terms,
            opening.weights,
            &observations,
            scratch,
            out,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::protocol::CAMPAIGN_RULES;
    use super::*;
    use crate::digest::Digest;
    use crate::federated::prior::{Mechanism, Parameters};

    const LANDMARKS: [f64; 6] = [0.2, 0.1, 0.8, 0.4, 0.5, 0.9];
    const POINTS: [f64; 8] = [0.1, 0.2, 0.4, 0.4, 0.9, 0.1, 0.4, 0.4];
    const VALUES: [f64; 4] = [1.0, 4.0, 2.0, 4.2];

    fn protocol() -> CampaignProtocol {
        CampaignProtocol {
            rules: CAMPAIGN_RULES,
            config: Config::new(Parameters::own_units(50, 3, 4)).unwrap(),
            rounds: 20,
            noise_multipliers: [9.0, 9.0].into_iter().collect(),
            lengthscale: 0.4,
            landmarks: candidates_digest(&Candidates::list(&LANDMARKS, 2).unwrap(), &mut [0.0; 2]),
            publication: Digest::default(),
        }
    }

    #[test]
    fn a_site_alone_gives_what_a_table_of_its_points_gives() {
        let protocol = protocol();
        let site = Site::new(&protocol, &LANDMARKS, 2).unwrap();
        let mut storage = [0.0; own_points_len(4, 3)];
        let mut scratch = [0.0; own_points_scratch_len(4, 3)];
        let own = OwnPoints::compute(site, &POINTS, &VALUES, &mut storage, &mut scratch).unwrap();
        let numbers = [0.3, 0.7, 0.2, -0.4, 0.1];
        let opening = Opening::read(&numbers).unwrap();
        let mut out = [0.0; 4];
        let clip = own.contribution(&opening, &mut scratch, &mut out).unwrap();

        // By hand: d = Φᵀ P(K + κI)(z − Φw), with the features and the kernel of any program.
        let mut rows = [0.0; 12];
        let mut z = [0.0; 4];
        landmark_rows(0.4, &LANDMARKS, 2, &POINTS, &mut rows, &mut [0.0; 6]).unwrap();
        standardise(&VALUES, &mut z).unwrap();
        let squared = |i: usize, j: usize| {
            (0..2)
                .map(|axis| POINTS[2 * i + axis] - POINTS[2 * j + axis])
                .map(|d| d * d)
                .sum::<f64>()
        };
        let kernel =
            |i, j| (-squared(i, j) / 0.32).exp_nonpositive() + if i == j { 0.3 } else { 0.0 };
        let solve = |b: [f64; 4]| {
            // Gauss and Seidel, far enough.
            let mut x = [0.0; 4];
            for _ in 0..2000 {
                for i in 0..4 {
                    let rest: f64 = (0..4)
                        .filter(|j| *j != i)
                        .map(|j| kernel(i, j) * x[j])
                        .sum();
                    x[i] = (b[i] - rest) / kernel(i, i);
                }
            }
            x
        };
        let residual = core::array::from_fn(|i| {
            z[i] - (0..3)
                .map(|k| rows[3 * i + k] * numbers[2 + k])
                .sum::<f64>()
        });
        let ones = solve([1.0; 4]);
        let plain = solve(residual);
        let constant = plain.iter().sum::<f64>() / ones.iter().sum::<f64>();
        let d: [f64; 3] = core::array::from_fn(|k| {
            (0..4)
                .map(|i| rows[3 * i + k] * (plain[i] - constant * ones[i]))
                .sum()
        });
        let norm = d.iter().map(|x| x * x).sum::<f64>().sqrt();
        let expected = if norm > 0.7 { 0.7 / norm } else { 1.0 };
        assert!(
            (clip - expected).abs() < 1e-9 && clip < 1.0,
            "{clip} {expected}: the clip is at work here"
        );
        for (found, expected) in out.iter().zip(d.map(|x| x * expected)) {
            assert!((found - expected).abs() < 1e-9, "{out:?} {d:?}");
        }
        // The state is its storage, and a release changes none of it.
        let again = OwnPoints::stored(&protocol.config, 4, &storage).unwrap();
        let mut other = [0.0; 4];
        again
            .contribution(&opening, &mut scratch, &mut other)
            .unwrap();
        assert_eq!(out, other);
    }

    #[test]
    fn whatever_is_announced_the_vector_is_no_longer_than_is_charged() {
        let protocol = protocol();
        let site = Site::new(&protocol, &LANDMARKS, 2).unwrap();
        let mut storage = [0.0; own_points_len(4, 3)];
        let mut scratch = [0.0; own_points_scratch_len(4, 3)];
        let own = OwnPoints::compute(site, &POINTS, &VALUES, &mut storage, &mut scratch).unwrap();
        // What the server computes itself; what it tells a site may be anything.
        let own_terms = Terms {
            ridge: 0.3,
            clip_radius: 0.7,
            response: 0.0,
        };
        let mechanism = Mechanism::new(&protocol.config, &own_terms, 9.0).unwrap();
        let encoder = mechanism.encoder().unwrap();
        let largest = u128::from(mechanism.grid().radius()).pow(2);
        let mut out = [0.0; 4];
        let mut unbounded = 0;
        for (ridge, radius, weight) in [
            (0.3, 0.7, 0.1),
            (1e-6, 1e-9, 0.0),
            (1e9, 1e9, -1e9),
            (0.1, 1e300, 1e150),
            (0.1, f64::MAX, f64::MAX),
            (f64::MIN_POSITIVE, f64::MAX, -1e308),
        ] {
            let numbers = [ridge, radius, weight, weight, -weight];
            let opening = Opening::read(&numbers).unwrap();
            if own.contribution(&opening, &mut scratch, &mut out).is_err() {
                out = [f64::NAN; 4];
            }
            let norm = out.iter().map(|x| x * x).sum::<f64>().sqrt();
            unbounded += usize::from(!(norm <= mechanism.l2_sensitivity()));
            let mut sums = [0; 4];
            encoder.add(&out, &[1.0], &mut sums).unwrap();
            let squared: u128 = sums
                .iter()
                .map(|x: &i64| u128::from(x.unsigned_abs()).pow(2))
                .sum();
            assert!(squared <= largest, "{out:?} {sums:?}");
        }
        assert!(
            unbounded >= 3,
            "only {unbounded} vectors were longer than is charged"
        );
    }

    #[test]
    fn what_no_server_announces_and_no_site_has_is_refused_by_name() {
        let protocol = protocol();
        for numbers in [
            [0.0, 1.0, 0.0],
            [f64::NAN, 1.0, 0.0],
            [1.0, f64::INFINITY, 0.0],
            [1.0, 1.0, f64::NAN],
        ] {
            assert!(
                matches!(Opening::read(&numbers), Err(PriorError::Number { .. })),
                "{numbers:?}"
            );
        }
        assert!(matches!(
            Opening::read(&[1.0, 1.0]),
            Err(PriorError::Length {
                len: 2,
                expected: 3,
                ..
            })
        ));
        let other = LANDMARKS.map(|x| x + 1e-9);
        assert_eq!(
            Site::new(&protocol, &other, 2).err(),
            Some(PriorError::OtherLandmarks)
        );
        let trust = Parameters {
            trust: Trust::TwoServers,
            ..*protocol.config.parameters()
        };
        let hidden = CampaignProtocol {
            config: Config::new(trust).unwrap(),
            ..protocol.clone()
        };
        assert_eq!(
            Site::new(&hidden, &LANDMARKS, 2).err(),
            Some(PriorError::TwoServers)
        );
        assert!(matches!(
            Site::new(&protocol, &LANDMARKS, 3),
            Err(PriorError::Length {
                what: "landmarks",
                ..
            })
        ));
        let site = Site::new(&protocol, &LANDMARKS, 2).unwrap();
        let mut storage = [0.0; own_points_len(4, 3)];
        let mut scratch = [0.0; own_points_scratch_len(4, 3)];
        let two = OwnPoints::compute(site, &POINTS[..4], &VALUES[..2], &mut storage, &mut scratch);
        assert!(matches!(
            two,
            Err(PriorError::Length {
                what: "values",
                len: 2,
                expected: 3
            })
        ));
        let mut outside = POINTS;
        outside[3] = 1.5;
        let refused = OwnPoints::compute(site, &outside, &VALUES, &mut storage, &mut scratch);
        assert!(matches!(
            refused,
            Err(PriorError::Number {
                what: "coordinate",
                ..
            })
        ));
        let unmeasured = [1.0, f64::NAN, 2.0, 3.0];
        let refused = OwnPoints::compute(site, &POINTS, &unmeasured, &mut storage, &mut scratch);
        assert!(matches!(
            refused,
            Err(PriorError::Number { what: "value", .. })
        ));
    }
}
