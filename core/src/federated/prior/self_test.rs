//! The self-test of a prior file: does what was released speak for a function in common? Public,
//! and free.
//!
//! **Equation**, summed over releases, each before its update, with s the mean innovation (the M
//! released numbers divided by N), σ the noise of s, and w, Σ, h, κ, Ā, S(a), ḡ of that release: B
//! ← B + ln N(s; 0, HΣHᵀ + σ²I + ḡ²(S(a) − ĀΣĀᵀ)/N) − ln N(s; −ḡĀw, σ²I + ḡ²S°/N), H = ḡĀ,
//! a = h, in own units max(h, 1), S° = mean B_v[Φ_vΦ_vᵀ + λI]B_vᵀ.
//!
//! **What it compares**: a population as the filter believes it, w* ~ N(w, Σ), against one without
//! anything in common, whose agents have functions of their own around 0, N(0, I) each. Such
//! agents' innovations d = B(y − Φw) have the mean −Āw and the scatter S°, so their mean s has the
//! mean −ḡĀw: after a first release has moved w, the second one takes it back. B > 0 speaks for a
//! common function.
//!
//! **Privacy**: post-processing of releases and public numbers. Whoever has these computes the same
//! bits ([`Filter::replay`](super::Filter::replay)), so nobody needs to believe a publisher's B.

use super::bound::judge_release;
use super::config::Config;
use super::design::{Design, design_len};
use super::error::{PriorError, at_least, exactly};
use super::public::Public;
use super::state::{PublicState, Terms, mean_clip_factor};
use crate::linalg::{dot, lower, matvec, packed_len, slice, sum_of_squares};
use crate::math::Scalar;

/// Numbers of scratch [`PublicState::self_test`] needs for M features and designs of n points.
pub const fn self_test_scratch_len(m: usize, n: usize) -> usize {
    let designs = 2 * m * m + design_len(m, n);
    let densities = m * m + packed_len(m) + 2 * m;
    if designs > densities {
        designs
    } else {
        densities
    }
}

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> PublicState<T, S> {
    /// What a decoded release, (Σ u·d, Σ γCu) with its noise, adds to the self-test B; between
    /// [`PublicState::prepare`] and [`PublicState::update`] of that release, and of the same
    /// numbers.
    ///
    /// **Parameters**: `public` as of `prepare`; `released` M + 1 numbers; `noise_std` of each, in
    /// the same unit; `scratch` of [`self_test_scratch_len`].
    ///
    /// **Errors**: [`PriorError::NotPrepared`], [`PriorError::OtherConfig`],
    /// [`PriorError::Length`], [`PriorError::Number`] for a release that is not finite,
    /// [`PriorError::Norm`] for one that [`PublicState::update`] refuses as too long,
    /// [`PriorError::Singular`].
    ///
    /// **Cost**: V·n·(2M² + n·M) + 4M³ multiply-adds for designs of n points.
    pub fn self_test(
        &self,
        public: &Public<'_, T>,
        released: &[T],
        noise_std: T,
        scratch: &mut [T],
    ) -> Result<T, PriorError> {
        let terms = self.terms().ok_or(PriorError::NotPrepared)?;
        let config = self.config();
        let m = self.config().features();
        exactly("release", released.len(), m + 1)?;
        at_least(
            "scratch",
            scratch.len(),
            self_test_scratch_len(m, config.design_len()),
        )?;
        judge_release(config, terms.clip_radius, released, noise_std)?;
        unrelated_scatter(config, public, &terms, scratch)?;
        let (unrelated, rest) = slice::split(scratch, m * m);
        let (factor, rest) = slice::split(rest, packed_len(m));
        let (row, rest) = slice::split(rest, m);
        let residual = slice::head_mut(rest, m);
        let agents = T::from_u32(config.parameters().agents);
        let std = noise_std / agents;
        let clip = mean_clip_factor(config, &terms, slice::at(released, m) / agents, std);
        let sampling = clip * clip / agents;
        let variance = std * std;
        let mean = slice::head(released, m);

        for (i, a) in self.mean_response().chunks_exact(m).enumerate() {
            matvec(self.covariance(), a, row);
            for (j, other) in self.mean_response().chunks_exact(m).enumerate().take(i + 1) {
                let signal = dot(row, other);
                let scatter = sampling * (slice::at(self.scatter(), i * m + j) - signal);
                slice::set(lower::row_mut(factor, i), j, clip * clip * signal + scatter);
            }
        }
        residual
            .iter_mut()
            .zip(mean)
            .for_each(|(r, s)| *r = *s / agents);
        let common = log_density(factor, variance, residual)?;

        for (i, scatter) in unrelated.chunks_exact(m).enumerate() {
            for (x, s) in lower::row_mut(factor, i).iter_mut().zip(scatter) {
                *x = sampling * *s;
            }
        }
        matvec(self.mean_response(), self.weights(), row);
        for ((r, s), a) in residual.iter_mut().zip(mean).zip(row.iter()) {
            *r = *s / agents + clip * *a;
        }
        Ok(common - log_density(factor, variance, residual)?)
    }
}

/// S° = mean B_v[Φ_vΦ_vᵀ + λI]B_vᵀ into the first M × M numbers of `scratch`, its lower triangle.
fn unrelated_scatter<T: Scalar>(
    config: &Config,
    public: &Public<'_, T>,
    terms: &Terms<T>,
    scratch: &mut [T],
) -> Result<(), PriorError> {
    let (_, designs) = public.update(config)?;
    let m = config.features();
    let n = config.design_len();
    let (scatter, rest) = slice::split(scratch, m * m);
    let (response, rest) = slice::split(rest, m * m);
    scatter.fill(T::ZERO);
    for design in designs.chunks_exact(n) {
        let mut moments = Design::split(rest, m, n);
        moments.gather(public, design, terms.ridge)?;
        moments.unrelated_covariance(T::from_f64(config.parameters().noise_variance));
        moments.accumulate(response, scatter);
    }
    let share = T::ONE / T::from_u32(config.parameters().designs);
    scatter.iter_mut().for_each(|x| *x *= share);
    Ok(())
}

/// ln N(r; 0, Q + σ²I) without its constant, for the packed lower triangle of Q, which is spent, as
/// `residual` is.
fn log_density<T: Scalar>(
    packed: &mut [T],
    variance: T,
    residual: &mut [T],
) -> Result<T, PriorError> {
    let m = residual.len();
    for i in 0..m {
        if let Some(diagonal) = lower::row_mut(packed, i).last_mut() {
            *diagonal += variance;
        }
    }
    lower::factor(packed, m, T::ZERO)?;
    lower::solve(packed, residual);
    Ok(T::from_f64(-0.5) * (sum_of_squares(residual) + lower::ln_det(packed, m)))
}
