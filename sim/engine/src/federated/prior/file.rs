//! The prior file that the first run of a federated prior leaves.
//!
//! **Equation**: a scenario's posterior is one of functions, f(x) = φ(x)·u, u ~ N(w, Σ), in units
//! of y. A file's is s·ψ(x)·v, s² the surrogate's signal variance, ψ(x) = L⁻¹k(P, x), LLᵀ = k(P,
//! P), k of variance 1. With landmarks P among the scenario's inducing points both agree at P where
//! Lv = Φ_P u/s. So v = Au and N(Aw, AΣAᵀ) is the file's, A = L⁻¹Φ_P/s.
//!
//! **Numerics**: the inducing points of a scenario may be so close that k(P, P) has no factor in
//! single precision. The file keeps those that no others explain to 10⁻⁶, by the rule of every
//! file, so between them the functions differ by at most about 10⁻³ of s. A file's numbers are
//! single precision.
//!
//! The self-test B is of the releases before round 1 alone. It holds sums against designs of points
//! that nobody chose by what the federation believes; from round 1 on agents choose theirs so, and
//! B of such releases is far below 0 although the posterior is the better for them (−4,000 and
//! −4,800 of the fifth and sixth of the default scenario, after +1,900).
//!
//! **Privacy**: the file is a function of releases and public numbers. But the noise of a
//! simulation is that of a seed, and the label says so: it protects nobody.

use sordino_core::domain::Candidates;
use sordino_core::federated::prior::{
    Filter, PublicState, landmarks_at, landmarks_scratch_len, rounded_rows,
    rounded_rows_scratch_len, scratch_len, self_test_scratch_len, storage_len,
};
use sordino_core::linalg::{dot, lower};
use sordino_core::math::Scalar;
use sordino_core::privacy::NeighboringRelation;
use sordino_experiment::record::Left;
use sordino_host::prior::PriorFile;
use sordino_host::prior::label::{ACCOUNTANT, KERNEL, Label, SELF_TEST_MAX, cost};

use super::super::context::wide;
use super::super::error::DriverError;
use super::context::PriorContext;
use super::described::Described;

/// A posterior in a file's features: P, w, and Σ packed.
struct Numbers {
    landmarks: Vec<f64>,
    weights: Vec<f64>,
    covariance: Vec<f64>,
}

/// Why there is no file, in words.
fn words(error: impl std::error::Error + 'static) -> String {
    format!(
        "its numbers make none: {}",
        sordino_host::text::chain(&error)
    )
}

/// The numbers as a file holds them, in single precision.
fn narrow(numbers: &[f64]) -> Vec<f32> {
    numbers.iter().map(|x| *x as f32).collect()
}

/// Product of a matrix with so many columns and a vector.
fn product(matrix: &[f64], columns: usize, x: &[f64]) -> Vec<f64> {
    matrix
        .chunks_exact(columns)
        .map(|row| dot(row, x))
        .collect()
}

/// A number that a file can hold.
fn held(x: f64) -> f64 {
    f64::from(x as f32)
}

impl<T: Scalar> PriorContext<T> {
    /// The file of these releases, M + 1 numbers each, or why there is none, in words; `ours` is
    /// what the server learned.
    ///
    /// **Errors**: [`DriverError::Check`] if the releases lead to another posterior than the
    /// server's.
    ///
    /// **Cost**: that of all releases of a server once more, and M³.
    pub(super) fn file<S: AsRef<[T]> + AsMut<[T]>>(
        &self,
        released: &[f64],
        ours: &PublicState<T, S>,
    ) -> Result<Result<Left, String>, DriverError> {
        let described = match &self.described {
            Ok(described) => described,
            Err(why) => return Ok(Err(why.clone())),
        };
        let (posterior, self_test) = match self.replayed(released) {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        if posterior.weights() != ours.weights() || posterior.covariance() != ours.covariance() {
            return Err(DriverError::Check(
                "releases that lead to another posterior than that of their server",
            ));
        }
        let releases = released.len() / self.config().contribution_len();
        let made = self.label(
            described,
            releases,
            posterior.heterogeneity().to_f64(),
            self_test,
        );
        Ok(made.and_then(|label| {
            let Numbers {
                landmarks,
                weights,
                covariance,
            } = self.in_file_features(described, &posterior)?;
            let file = PriorFile::new(
                label,
                narrow(&landmarks),
                narrow(&weights),
                narrow(&covariance),
            )
            .map_err(words)?;
            let bytes = file.to_bytes();
            Ok(Left {
                digest: file.digest(),
                bytes,
            })
        }))
    }

    /// The posterior of all releases, and the self-test B of those before round 1, as any reader
    /// computes both.
    fn replayed(&self, released: &[f64]) -> Result<(PublicState<T, Vec<T>>, f64), String> {
        let before = self
            .protocol
            .release_rounds
            .iter()
            .filter(|round| **round == 0)
            .count();
        let first = released
            .chunks(self.config().contribution_len())
            .take(before)
            .flatten();
        let (_, self_test) = self.replayed_first(&first.copied().collect::<Vec<f64>>())?;
        Ok((self.replayed_first(released)?.0, self_test))
    }

    fn replayed_first(&self, released: &[f64]) -> Result<(PublicState<T, Vec<T>>, f64), String> {
        let config = *self.config();
        let m = config.features();
        let public = self.public().map_err(words)?;
        let mut posterior =
            PublicState::new(config, vec![T::ZERO; storage_len(m)]).map_err(words)?;
        let mut scratch = vec![T::ZERO; scratch_len(m, config.design_len())];
        let mut filter =
            Filter::new(self.plan(), public, &mut posterior, &mut scratch).map_err(words)?;
        let released: Vec<T> = released.iter().map(|x| T::from_f64(*x)).collect();
        let mut scratch = vec![T::ZERO; self_test_scratch_len(m, config.design_len())];
        let self_test = filter
            .replay_first(&released, &mut scratch)
            .map_err(words)?;
        Ok((posterior, self_test.to_f64()))
    }

    /// What is written on the file.
    fn label(
        &self,
        described: &Described,
        releases: usize,
        heterogeneity: f64,
        self_test: f64,
    ) -> Result<Label, String> {
        let Described {
            space,
            goal,
            dataset,
            note,
            delta,
            signal_variance,
        } = described.clone();
        let parameters = self.config().parameters();
        let made = self
            .protocol
            .noise_multipliers
            .get(..releases)
            .filter(|made| !made.is_empty());
        let made = made.ok_or("no release took place")?.to_vec();
        let (epsilon, replace_epsilon) = cost(&made, delta).map_err(words)?;
        Ok(Label {
            space,
            goal,
            value: None,
            kernel: KERNEL.into(),
            lengthscale: self.protocol.lengthscale as f32,
            noise_fraction: parameters.noise_variance / signal_variance,
            heterogeneity,
            self_test: self_test.clamp(-SELF_TEST_MAX, SELF_TEST_MAX),
            contributors: parameters.agents,
            releases: made.len() as u32,
            noise_multipliers: made,
            epsilon,
            delta,
            replace_epsilon,
            neighboring_relation: NeighboringRelation::ReplaceSpecial.to_string(),
            accountant: ACCOUNTANT.into(),
            trust: parameters.trust,
            simulated: true,
            dataset,
            by: None,
            note: Some(note),
            published: None,
            ledger: None,
        })
    }

    /// The posterior in features of a file.
    fn in_file_features<S: AsRef<[T]> + AsMut<[T]>>(
        &self,
        described: &Described,
        posterior: &PublicState<T, S>,
    ) -> Result<Numbers, String> {
        let m = self.config().features();
        let dim = described.space.parameters().len();
        let inducing: Vec<f64> = self.landmarks.iter().copied().map(held).collect();
        let mut pivots = vec![0; m];
        let mut rows = vec![0.0; m * m];
        let mut scratch = vec![0.0; landmarks_scratch_len(m)];
        let lengthscale = held(self.protocol.lengthscale);
        let kept = landmarks_at(
            lengthscale,
            &inducing,
            dim,
            &mut pivots,
            &mut rows,
            &mut scratch,
        )
        .map_err(words)?;
        let pivots: Vec<usize> = pivots[..kept.count].iter().map(|p| *p as usize).collect();
        let landmarks: Vec<f64> = pivots
            .iter()
            .flat_map(|p| &inducing[p * dim..(p + 1) * dim])
            .copied()
            .collect();
        // Row i of the factor of k(P, P) has i + 1 numbers.
        let factor: Vec<f64> = pivots
            .iter()
            .enumerate()
            .flat_map(|(i, p)| &rows[p * kept.count..][..=i])
            .copied()
            .collect();
        let [whole, list] = [&self.landmarks, &landmarks]
            .map(|points| Candidates::list(points, dim).map_err(words));
        let mut features = vec![0.0; kept.count * m];
        let mut scratch = vec![0.0; rounded_rows_scratch_len(dim, m)];
        rounded_rows(&self.protocol, &whole?, &list?, &mut features, &mut scratch)
            .map_err(words)?;
        // A, row by row: L⁻¹ acts on the columns.
        let amplitude = Scalar::sqrt(described.signal_variance);
        let mut column = vec![0.0; kept.count];
        for j in 0..m {
            column
                .iter_mut()
                .enumerate()
                .for_each(|(i, x)| *x = features[i * m + j] / amplitude);
            lower::solve(&factor, &mut column);
            column
                .iter()
                .enumerate()
                .for_each(|(i, x)| features[i * m + j] = *x);
        }
        let w = wide(posterior.weights());
        let sigma = wide(posterior.covariance());
        let rows_of_sigma: Vec<Vec<f64>> = features
            .chunks_exact(m)
            .map(|row| product(&sigma, m, row))
            .collect();
        let rows = features.chunks_exact(m).enumerate();
        let covariance = rows
            .flat_map(|(i, a)| rows_of_sigma[..=i].iter().map(move |b| dot(a, b)))
            .collect();
        Ok(Numbers {
            landmarks,
            weights: product(&features, m, &w),
            covariance,
        })
    }
}
