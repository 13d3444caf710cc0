//! The self-test of a prior file: does what was released speak for a function in common? Public,
//! and free.
//!
//! **Equation**, summed over releases, each before its update, with s the mean innovation (the M
//! released numbers divided by N), σ the noise of s, and w, Σ, h, κ, Ā, S(a), ḡ of that release: B
//! ← B + ln mean_a N(s; 0, HΣHᵀ + σ²I + cḡ²(S(a) − ĀΣĀᵀ)/N) − ln N(s; −ḡĀw, σ²I + cḡ²S°/N), H =
//! ḡĀ, a ∈ {h, max(h, 1)} in own units, else a = h, S° = mean B_v[Φ_vΦ_vᵀ + λI]B_vᵀ; c is how many
//! releases are made of the same data, which all have the agents' sample in common: it is evidence
//! once.
//!
//! **What it compares**: a population as the filter believes it, w* ~ N(w, Σ), against one without
//! anything in common, whose agents have functions of their own around 0, N(0, I) each. Such
//! agents' innovations d = B(y − Φw) have the mean −Āw and the scatter S°, so their mean s has the
//! mean −ḡĀw: after a first release has moved w, the second one takes it back. B > 0 speaks for a
//! common function. Two sizes of an agent's own part beside it are averaged, anew at each release:
//! with a as large as the update takes for granted alone, few agents that are copies of each other
//! are taken for agents that have nothing in common.
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
    /// the same unit; `repeats` c as of `update`; `scratch` of [`self_test_scratch_len`].
    ///
    /// **Errors**: [`PriorError::NotPrepared`], [`PriorError::OtherConfig`],
    /// [`PriorError::Length`], [`PriorError::Number`] for a release that is not finite,
    /// [`PriorError::Norm`] for one that [`PublicState::update`] refuses as too long,
    /// [`PriorError::Singular`].
    ///
    /// **Cost**: V·n·(2M² + n·M) + 4M³ multiply-adds for designs of n points, in own units 2.3
    /// times that.
    pub fn self_test(
        &self,
        public: &Public<'_, T>,
        released: &[T],
        noise_std: T,
        repeats: u32,
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
        let noise_variance = T::from_f64(config.parameters().noise_variance);
        let agents = T::from_u32(config.parameters().agents);
        let std = noise_std / agents;
        let clip = mean_clip_factor(config, &terms, slice::at(released, m) / agents, std);
        let mean = Mean {
            sums: slice::head(released, m),
            agents,
            clip,
            sampling: clip * clip * T::from_u32(repeats.max(1)) / agents,
            variance: std * std,
        };
        let h = self.heterogeneity();
        let own_part = config.parameters().constant.own_part(h);
        let mut common = self.common(&mean, self.scatter(), slice::tail_mut(scratch, m * m))?;
        if own_part > h {
            scatter_of(config, public, &terms, scratch, |design| {
                design.innovation_covariance(self.covariance(), h, noise_variance);
            })?;
            let (scatter, rest) = slice::split(scratch, m * m);
            common = ln_mean_exp(common, self.common(&mean, scatter, rest)?);
        }
        scatter_of(config, public, &terms, scratch, |design| {
            design.unrelated_covariance(noise_variance);
        })?;
        let (scatter, rest) = slice::split(scratch, m * m);
        Ok(common - self.unrelated(&mean, scatter, rest)?)
    }

    /// ln N(s; 0, HΣHᵀ + σ²I + cḡ²(S − ĀΣĀᵀ)/N) for the scatter S of the agents.
    fn common(
        &self,
        mean: &Mean<'_, T>,
        scatter: &[T],
        scratch: &mut [T],
    ) -> Result<T, PriorError> {
        let m = mean.sums.len();
        let (factor, rest) = slice::split(scratch, packed_len(m));
        let (row, rest) = slice::split(rest, m);
        let sampling = mean.sampling;
        for (i, a) in self.mean_response().chunks_exact(m).enumerate() {
            matvec(self.covariance(), a, row);
            for (j, other) in self.mean_response().chunks_exact(m).enumerate().take(i + 1) {
                let signal = dot(row, other);
                let own = sampling * (slice::at(scatter, i * m + j) - signal);
                slice::set(
                    lower::row_mut(factor, i),
                    j,
                    mean.clip * mean.clip * signal + own,
                );
            }
        }
        let residual = slice::head_mut(rest, m);
        residual
            .iter_mut()
            .zip(mean.sums)
            .for_each(|(r, s)| *r = *s / mean.agents);
        log_density(factor, mean.variance, residual)
    }

    /// ln N(s; −ḡĀw, σ²I + cḡ²S°/N).
    fn unrelated(
        &self,
        mean: &Mean<'_, T>,
        scatter: &[T],
        scratch: &mut [T],
    ) -> Result<T, PriorError> {
        let m = mean.sums.len();
        let (factor, rest) = slice::split(scratch, packed_len(m));
        let (row, rest) = slice::split(rest, m);
        let residual = slice::head_mut(rest, m);
        let sampling = mean.sampling;
        for (i, scatter) in scatter.chunks_exact(m).enumerate() {
            for (x, s) in lower::row_mut(factor, i).iter_mut().zip(scatter) {
                *x = sampling * *s;
            }
        }
        matvec(self.mean_response(), self.weights(), row);
        for ((r, s), a) in residual.iter_mut().zip(mean.sums).zip(row.iter()) {
            *r = *s / mean.agents + mean.clip * *a;
        }
        log_density(factor, mean.variance, residual)
    }
}

/// The mean innovation s of a release, and what is known of it.
struct Mean<'a, T> {
    /// N·s, the sums that were released.
    sums: &'a [T],
    agents: T,
    /// ḡ, how much of a contribution clipping left.
    clip: T,
    /// cḡ²/N, the share of what one agent scatters by that their mean does.
    sampling: T,
    /// σ², the variance of the noise of s.
    variance: T,
}

/// ln((eᵃ + eᵇ)/2).
fn ln_mean_exp<T: Scalar>(a: T, b: T) -> T {
    let [less, more] = if a < b { [a, b] } else { [b, a] };
    // Of infinities there is no difference.
    if less == more {
        return more;
    }
    more + ((T::ONE + (less - more).exp()) / T::from_f64(2.0)).ln()
}

/// mean B_v·Q_v·B_vᵀ over the designs into the first M × M numbers of `scratch`, its lower
/// triangle, where `covariance` makes Q_v of a design.
fn scatter_of<T: Scalar>(
    config: &Config,
    public: &Public<'_, T>,
    terms: &Terms<T>,
    scratch: &mut [T],
    covariance: impl Fn(&mut Design<'_, T>),
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
        covariance(&mut moments);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_densities_is_between_them_however_far_apart_they_are() {
        let ln = f64::ln;
        for (a, b, expected) in [
            (ln(2.0), ln(4.0), ln(3.0)),
            (-2000.0, -2000.0, -2000.0),
            (-1e300, 5.0, 5.0 - ln(2.0)),
            (f64::NEG_INFINITY, 0.0, -ln(2.0)),
            (f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY),
        ] {
            for mean in [ln_mean_exp(a, b), ln_mean_exp(b, a)] {
                assert!(
                    mean == expected || (mean - expected).abs() < 1e-12,
                    "{a} {b}: {mean}"
                );
            }
        }
        assert!(ln_mean_exp(f32::NAN, 1.0).is_nan() && ln_mean_exp(1.0, f32::NAN).is_nan());
    }
}
