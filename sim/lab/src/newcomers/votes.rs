//! The rival of a prior file: every contributor votes for the best of its points, and the noised
//! histogram is smoothed.
//!
//! **Release**: counts over the candidates, Σ votes + z·N(0, I), where one vote has norm 1: one
//! Gaussian at the ε of the file. The idea is DP-Hype's (arXiv 2510.04902); the noise is drawn
//! without the integer path of real releases, which changes nothing that a comparison could see.
//!
//! **Smoothing**: counts = c + s·φ(x)ᵀw + noise of the known z, with w ~ N(0, I) and features at
//! landmarks of the file; c is projected out, and s and the lengthscale are those of the largest
//! evidence among a few. What the newcomer gets is the posterior of w, as a function of one
//! contributor's standard deviation. Its self-test is the log evidence of the best of these
//! hypotheses less that of counts that are noise: no price for choosing among them, in the rival's
//! favour.

use sordino_core::federated::prior::{
    PriorError, landmark_rows, landmark_rows_scratch_len, total_mu,
};
use sordino_core::linalg::{axpy, dot, lower, packed_len};
use sordino_core::random::{Party, Purpose, RunSeed, normal};
use sordino_host::prior::PriorFile;
use sordino_host::prior::context::Context;
use sordino_host::prior::publish::Study;

use super::parties::NewcomersError;

/// Lengthscales, as multiples of the file's, with the share of its landmarks that they need.
const SMOOTHNESS: [(f64, f64); 4] = [(1.0, 1.0), (1.5, 0.6), (2.2, 0.36), (3.3, 0.2)];
/// s, as multiples of z.
const SIGNALS: [f64; 6] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0];

/// What one hypothesis makes of the counts.
struct Smoothed {
    lengthscale: f64,
    /// Logarithm of its evidence, less that of noise.
    evidence: f64,
    mean: Vec<f64>,
    /// A factor of the precision.
    factor: Vec<f64>,
}

/// The file of the votes of these studies, with the label's budget in the place of `base`.
pub(super) fn file(
    base: PriorFile,
    context: &Context,
    studies: &[Study],
    number: u32,
) -> Result<PriorFile, NewcomersError> {
    let multiplier = 1.0 / total_mu(base.label.epsilon, base.label.delta)?;
    let mut counts = vec![0.0; context.candidates().len()];
    let mut stream = RunSeed::new(2, number).stream(Party::Server, Purpose::Release, 0);
    normal::fill(&mut stream, &mut counts);
    counts.iter_mut().for_each(|count| *count *= multiplier);
    for study in studies {
        let best = study.values.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let at = best.and_then(|(point, _)| {
            context
                .candidates()
                .iter()
                .position(|candidate| candidate == point)
        });
        if let Some(count) = at.and_then(|at| counts.get_mut(at)) {
            *count += 1.0;
        }
    }
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    counts.iter_mut().for_each(|count| *count -= mean);
    let mut all = Vec::new();
    for (longer, share) in SMOOTHNESS {
        let lengthscale = f64::from((longer * context.lengthscale()) as f32);
        let landmarks = ((share * context.config().features() as f64).ceil() as usize).max(1);
        let Some(rows) = centred_rows(context, lengthscale, landmarks)? else {
            continue;
        };
        for signal in SIGNALS {
            all.push(smoothed(
                lengthscale,
                &rows,
                landmarks,
                &counts,
                multiplier,
                signal * multiplier,
            )?);
        }
    }
    let most = all
        .iter()
        .map(|smoothed| smoothed.evidence)
        .fold(f64::NEG_INFINITY, f64::max);
    let best = all.into_iter().find(|smoothed| smoothed.evidence == most);
    let best = best.ok_or_else(|| {
        let what = "landmarks without features at any lengthscale";
        NewcomersError::table(what, "settings that are apart")
    })?;
    let mut label = base.label;
    (label.lengthscale, label.self_test) = (best.lengthscale as f32, most);
    let m = best.mean.len();
    let landmarks = base.landmarks[..m * context.encoding().dim()].to_vec();
    Ok(PriorFile::new(
        label,
        landmarks,
        narrow(&best.mean),
        narrow(&inverse(&best.factor, m)),
    )?)
}

/// These numbers as a file has them.
fn narrow(numbers: &[f64]) -> Vec<f32> {
    numbers.iter().map(|x| *x as f32).collect()
}

/// Features of all candidates at the first landmarks, less their mean; nothing where the landmarks
/// are too near to each other for the lengthscale.
fn centred_rows(
    context: &Context,
    lengthscale: f64,
    landmarks: usize,
) -> Result<Option<Vec<f64>>, NewcomersError> {
    let dim = context.encoding().dim();
    let count = context.candidates().len();
    let mut rows = vec![0.0; count * landmarks];
    let mut scratch = vec![0.0; landmark_rows_scratch_len(landmarks)];
    let places = &context.landmarks()[..landmarks * dim];
    match landmark_rows(
        lengthscale,
        places,
        dim,
        context.coordinates(),
        &mut rows,
        &mut scratch,
    ) {
        Ok(()) => {}
        Err(PriorError::Singular(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let mut mean = vec![0.0; landmarks];
    rows.chunks_exact(landmarks)
        .for_each(|row| axpy(1.0 / count as f64, row, &mut mean));
    rows.chunks_exact_mut(landmarks)
        .for_each(|row| axpy(-1.0, &mean, row));
    Ok(Some(rows))
}

/// Posterior of w and evidence: Λ = I + (s/z)²ΦᵀΦ, b = (s/z²)Φᵀv, mean Λ⁻¹b, evidence ½(bᵀΛ⁻¹b − ln
/// det Λ).
fn smoothed(
    lengthscale: f64,
    rows: &[f64],
    m: usize,
    counts: &[f64],
    multiplier: f64,
    signal: f64,
) -> Result<Smoothed, NewcomersError> {
    let ratio = (signal / multiplier) * (signal / multiplier);
    let mut factor = vec![0.0; packed_len(m)];
    let mut b = vec![0.0; m];
    for (row, count) in rows.chunks_exact(m).zip(counts) {
        axpy(signal / (multiplier * multiplier) * count, row, &mut b);
        (0..m).for_each(|i| axpy(ratio * row[i], &row[..=i], lower::row_mut(&mut factor, i)));
    }
    (0..m).for_each(|i| lower::row_mut(&mut factor, i)[i] += 1.0);
    lower::factor(&mut factor, m, 0.0)?;
    let mut mean = b.clone();
    lower::solve(&factor, &mut mean);
    lower::solve_transposed(&factor, &mut mean);
    let evidence = 0.5 * (dot(&b, &mean) - lower::ln_det(&factor, m));
    Ok(Smoothed {
        lengthscale,
        evidence,
        mean,
        factor,
    })
}

/// The lower triangle of (LLᵀ)⁻¹, row by row.
fn inverse(factor: &[f64], m: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(packed_len(m));
    for i in 0..m {
        let mut column = vec![0.0; m];
        column[i] = 1.0;
        lower::solve(factor, &mut column);
        lower::solve_transposed(factor, &mut column);
        out.extend_from_slice(&column[..=i]);
    }
    out
}
