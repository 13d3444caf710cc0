//! The public context of a federated prior: what everybody can compute from a seed and a list of
//! candidates.

use super::super::public::columns;
use super::config::Config;
use super::error::{PriorError, at_least, exactly};
use crate::dispatch;
use crate::domain::Candidates;
use crate::features::Nystrom;
use crate::kernel::Kernel;
use crate::linalg::slice::{self, part, part_mut};
use crate::linalg::{axpy, sum_of_squares};
use crate::math::Scalar;
use crate::random::{Party, Purpose, RunSeed};

/// What all parties share and nobody changes: the configuration, the features of the candidates,
/// and tables of them. One of these exists only if its parts fit each other, so no party that
/// borrows it checks them again.
///
/// ```
/// use sordino_core::federated::prior::{Config, Parameters, PriorError, Public, Tables, draw_designs, gram};
/// use sordino_core::random::RunSeed;
///
/// // Two agents, M = 2 features, three initial points each, λ = 0.1.
/// let config = Config::new(Parameters { designs: 8, ..Parameters::usual(2, 2, 3, 0.1) })?;
/// let feature_rows = [1.0, 0.0, 0.8, 0.6, 0.6, 0.8, 0.0, 1.0]; // φ of four candidates
/// let (mut mean, mut designs) = ([0.0; 4], [0; 8 * 3]);
/// gram(&config, &feature_rows, &mut mean)?;
/// assert!((mean[0] - 0.5f64).abs() < 1e-15); // (1² + 0.8² + 0.6² + 0²)/4
/// draw_designs(&config, RunSeed::new(7, 0), 4, &mut designs)?; // 7 is public
/// let tables = Tables { gram: &mean, designs: &designs, ..Tables::NONE };
/// let public = Public::new(&config, &feature_rows, tables)?;
/// assert_eq!(public.candidates(), 4);
/// // Designs without Ḡ, and a design of a fifth candidate.
/// let alone = Tables { designs: &designs, ..Tables::NONE };
/// let refused = Public::new(&config, &feature_rows, alone).err();
/// assert_eq!(refused, Some(PriorError::Length { what: "gram", len: 0, expected: 4 }));
/// designs[5] = 4;
/// let tables = Tables { gram: &mean, designs: &designs, ..Tables::NONE };
/// let refused = Public::new(&config, &feature_rows, tables).err();
/// assert_eq!(refused, Some(PriorError::Candidate { entry: 5, candidates: 4 }));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Public<'a, T> {
    config: &'a Config,
    feature_rows: &'a [T],
    tables: Tables<'a, T>,
}

/// What a host computes once of the candidates; [`Tables::NONE`] of it on a device.
///
/// **Example**: that of [`Public`].
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a, T> {
    /// F, a factor of the prior covariance over the candidates, K ≈ FFᵀ: D rows of as many numbers
    /// as it has columns. Empty: K = ΦΦᵀ, which saves a device the second table and costs what the
    /// features cannot express.
    pub prior_rows: &'a [T],
    /// Ḡ = ΦᵀΦ/D, M × M; see [`gram`]. Needed where the public state is updated, empty on an agent.
    pub gram: &'a [T],
    /// V virtual designs, each as many candidates as an agent's initial points; see
    /// [`draw_designs`]. With `gram`, or not at all.
    pub designs: &'a [u32],
}

impl<T> Tables<'_, T> {
    /// No table: what an agent needs.
    pub const NONE: Self = Tables {
        prior_rows: &[],
        gram: &[],
        designs: &[],
    };
}

impl<'a, T: Scalar> Public<'a, T> {
    /// Joins configuration, features and tables: the one place where they are held against each
    /// other.
    ///
    /// **Parameters**: `feature_rows`, Φ, the features φ of every candidate: D rows of M numbers.
    ///
    /// **Errors**: [`PriorError::Length`] naming what does not fit; [`PriorError::Candidate`] of
    /// designs.
    ///
    /// **Cost**: one look at every entry of the designs; lengths else.
    pub fn new(
        config: &'a Config,
        feature_rows: &'a [T],
        tables: Tables<'a, T>,
    ) -> Result<Self, PriorError> {
        let m = config.features();
        let candidates = candidates(config.features(), feature_rows)?;
        rows_of("prior rows", tables.prior_rows, candidates)?;
        if !(tables.gram.is_empty() && tables.designs.is_empty()) {
            exactly("gram", tables.gram.len(), m * m)?;
            exactly(
                "designs",
                tables.designs.len(),
                config.design_len() * config.parameters().designs as usize,
            )?;
        }
        match tables
            .designs
            .iter()
            .position(|candidate| *candidate as usize >= candidates)
        {
            Some(entry) => Err(PriorError::Candidate { entry, candidates }),
            None => Ok(Public {
                config,
                feature_rows,
                tables,
            }),
        }
    }

    /// What all parties agreed on.
    pub fn config(&self) -> &'a Config {
        self.config
    }

    /// Number of candidates D.
    pub fn candidates(&self) -> usize {
        self.feature_rows
            .len()
            .checked_div(self.config.features())
            .unwrap_or(0)
    }

    /// Φ, D rows of M numbers.
    pub(super) fn feature_rows(&self) -> &'a [T] {
        self.feature_rows
    }

    /// Ḡ and the designs, for a party with this configuration.
    ///
    /// **Errors**: [`PriorError::Length`] where they were left away; [`PriorError::OtherConfig`].
    pub(super) fn update(&self, config: &Config) -> Result<(&'a [T], &'a [u32]), PriorError> {
        if self.config != config {
            return Err(PriorError::OtherConfig);
        }
        let m = config.features();
        exactly("gram", self.tables.gram.len(), m * m)?;
        Ok((self.tables.gram, self.tables.designs))
    }

    /// φ of a candidate; empty if there is none.
    #[inline]
    pub(super) fn feature_row(&self, m: usize, candidate: u32) -> &'a [T] {
        part(self.feature_rows, candidate as usize * m, m)
    }

    /// F; empty where K = ΦΦᵀ.
    pub(super) fn prior_rows(&self) -> &'a [T] {
        self.tables.prior_rows
    }

    /// F and its number of columns: Φ and M where it is empty.
    #[inline]
    pub fn prior(&self) -> (&'a [T], usize) {
        let rows = self.tables.prior_rows;
        if rows.is_empty() {
            return (self.feature_rows, self.config.features());
        }
        let columns = rows.len().checked_div(self.candidates()).unwrap_or(0);
        (rows, columns.max(1))
    }
}

/// Columns of a table of `rows` rows; 0 of an empty one.
fn rows_of<T>(what: &'static str, table: &[T], rows: usize) -> Result<usize, PriorError> {
    columns(table.len(), rows).map_err(|expected| PriorError::Length {
        what,
        len: table.len(),
        expected,
    })
}

/// How many candidates rows of `m` features are of: at least one.
fn candidates<T>(m: usize, feature_rows: &[T]) -> Result<usize, PriorError> {
    match rows_of("feature rows", feature_rows, m)? {
        0 => Err(PriorError::Length {
            what: "feature rows",
            len: 0,
            expected: m,
        }),
        count => Ok(count),
    }
}

/// Ḡ = ΦᵀΦ/D into `out`, M × M numbers, row by row in the order of the candidates.
///
/// **Errors**: [`PriorError::Length`]. **Cost**: D·M² multiply-adds.
pub fn gram<T: Scalar>(
    config: &Config,
    feature_rows: &[T],
    out: &mut [T],
) -> Result<(), PriorError> {
    let m = config.features();
    exactly("gram", out.len(), m * m)?;
    let count = candidates(m, feature_rows)?;
    out.fill(T::ZERO);
    dispatch::run(
        #[inline(always)]
        |_| {
            for phi in feature_rows.chunks_exact(m) {
                for (row, x) in out.chunks_exact_mut(m).zip(phi) {
                    axpy(*x, phi, row);
                }
            }
        },
    );
    let share = T::ONE / T::from_u32(count as u32);
    out.iter_mut().for_each(|x| *x *= share);
    Ok(())
}

/// V designs of uniform candidates with replacement, from a public seed: design v by the stream
/// (world, initial points, v), one word a point.
///
/// **Errors**: [`PriorError::Length`]; [`PriorError::Candidate`] if there is no candidate.
pub fn draw_designs(
    config: &Config,
    seed: RunSeed,
    candidates: u32,
    out: &mut [u32],
) -> Result<(), PriorError> {
    let n = config.design_len();
    exactly(
        "designs",
        out.len(),
        n * config.parameters().designs as usize,
    )?;
    if candidates == 0 {
        return Err(PriorError::Candidate {
            entry: 0,
            candidates: 0,
        });
    }
    for (v, design) in out.chunks_exact_mut(n).enumerate() {
        let mut stream = seed.stream(Party::World, Purpose::InitialPoints, v as u32);
        design
            .iter_mut()
            .for_each(|candidate| *candidate = stream.below(candidates));
    }
    Ok(())
}

/// As [`draw_designs`], V designs of candidates that differ within a design: an agent that searches
/// looks nowhere twice, and where candidates are few (a table of settings) repeats would make its
/// virtual twin know less than it does. One word a point, by the algorithm of Floyd: every set of n
/// candidates is equally likely.
///
/// **Errors**: [`PriorError::Length`]; [`PriorError::Candidate`] if there are fewer candidates than
/// points of a design.
///
/// **Cost**: V·n words, V·n² comparisons. **Source**: Bentley and Floyd 1987, "A sample of
/// brilliance".
pub fn draw_distinct_designs(
    config: &Config,
    seed: RunSeed,
    candidates: u32,
    out: &mut [u32],
) -> Result<(), PriorError> {
    let n = config.design_len();
    exactly(
        "designs",
        out.len(),
        n * config.parameters().designs as usize,
    )?;
    if (candidates as usize) < n {
        return Err(PriorError::Candidate {
            entry: candidates as usize,
            candidates: candidates as usize,
        });
    }
    for (v, design) in out.chunks_exact_mut(n).enumerate() {
        let mut stream = seed.stream(Party::World, Purpose::InitialPoints, v as u32);
        for i in 0..n {
            let last = candidates - (n - i) as u32;
            let drawn = stream.below(last + 1);
            let chosen = if slice::head(design, i).contains(&drawn) {
                last
            } else {
                drawn
            };
            slice::set(design, i, chosen);
        }
    }
    Ok(())
}

/// Numbers of scratch [`nystrom_rows`] needs.
pub const fn nystrom_scratch_len(dim: usize, points: usize) -> usize {
    dim + points
}

/// The rows Φ of Nyström features on every candidate, D × M numbers. Inducing points are public: a
/// regular grid in one or two dimensions.
///
/// **Errors**: [`PriorError::Length`]; [`PriorError::Number`] for a row that is not finite.
///
/// **Cost**: D·2M² flops, once.
pub fn nystrom_rows<T: Scalar, K: Kernel<T>, D: AsRef<[T]>, S: AsRef<[T]>>(
    map: &Nystrom<K, D, S>,
    candidates: &Candidates<'_, T>,
    out: &mut [T],
    scratch: &mut [T],
) -> Result<(), PriorError> {
    let m = map.count();
    let dim = candidates.dim();
    exactly("dimension of the features", map.dim(), dim)?;
    exactly("feature rows", out.len(), candidates.count() as usize * m)?;
    at_least("scratch", scratch.len(), nystrom_scratch_len(dim, m))?;
    let (point, column) = scratch.split_at_mut(dim);
    for candidate in 0..candidates.count() {
        candidates.point(candidate, point);
        let row = part_mut(out, candidate as usize * m, m);
        map.features(point, row, column);
        let norm = sum_of_squares(row);
        if !norm.is_finite() {
            return Err(PriorError::Number {
                what: "a feature",
                value: norm.to_f64(),
                admissible: "(-inf, inf)",
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::federated::prior::Parameters;

    #[test]
    fn distinct_designs_are_sets_and_every_set_is_equally_likely() {
        let designs = 6000;
        let config = Config::new(Parameters {
            designs,
            ..Parameters::usual(2, 2, 2, 0.1)
        })
        .unwrap();
        let mut out = [0; 12_000];
        // Sets of two of five: ten. χ² of 9 degrees of freedom, level 1e-4: 33.7.
        let chi_square = |designs: &[u32]| {
            let mut counts = [0u32; 25];
            for design in designs.chunks_exact(2) {
                counts[(design[0].min(design[1]) * 5 + design[0].max(design[1])) as usize] += 1;
            }
            let pairs = (0..5).flat_map(|a| (a + 1..5).map(move |b| 5 * a + b));
            let expected = designs.len() as f64 / 20.0;
            pairs
                .map(|pair: usize| (f64::from(counts[pair]) - expected).powi(2) / expected)
                .sum::<f64>()
        };
        draw_distinct_designs(&config, RunSeed::new(3, 0), 5, &mut out).unwrap();
        assert!(
            out.chunks_exact(2)
                .all(|design| design[0] != design[1] && design[0] < 5 && design[1] < 5)
        );
        assert!(chi_square(&out) < 33.7, "{}", chi_square(&out));
        // Negative control: designs with replacement repeat candidates, and their pairs are fewer.
        draw_designs(&config, RunSeed::new(3, 0), 5, &mut out).unwrap();
        assert!(
            out.chunks_exact(2).any(|design| design[0] == design[1]) && chi_square(&out) > 33.7
        );
        // All there are.
        draw_distinct_designs(&config, RunSeed::new(3, 0), 2, &mut out).unwrap();
        assert!(out.chunks_exact(2).all(|design| design[0] + design[1] == 1));
        let one = draw_distinct_designs(&config, RunSeed::new(3, 0), 1, &mut out);
        assert_eq!(
            one,
            Err(PriorError::Candidate {
                entry: 1,
                candidates: 1
            })
        );
    }
}
