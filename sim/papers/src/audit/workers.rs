//! Many runs on several threads, none of which may be lost.

use std::any::Any;
use std::ops::Range;
use std::thread;

use super::error::AuditError;

/// The fewest runs for each neighbour: with fewer, not even gross defects are seen.
pub const RUNS_MIN: u32 = 1_000;

/// The scores of runs 0 to `runs`, in order, whatever the number of threads.
///
/// **Errors**: [`AuditError::Runs`]; that of the first failed part, including a panic
/// ([`AuditError::Worker`]); [`AuditError::Scores`].
pub(super) fn gather(
    runs: u32,
    threads: usize,
    work: &(impl Fn(Range<u32>) -> Result<Vec<f64>, AuditError> + Sync),
) -> Result<Vec<f64>, AuditError> {
    if runs < RUNS_MIN {
        return Err(AuditError::Runs {
            runs,
            runs_min: RUNS_MIN,
        });
    }
    let each = runs.div_ceil(threads.clamp(1, 1024) as u32);
    let parts = (0..runs)
        .step_by(each as usize)
        .map(|start| start..start.saturating_add(each).min(runs));
    // All are joined before the first failure is told: nobody works on behind an error.
    let joined: Vec<thread::Result<_>> = thread::scope(|scope| {
        let workers: Vec<_> = parts
            .clone()
            .map(|part| scope.spawn(move || work(part)))
            .collect();
        workers.into_iter().map(|worker| worker.join()).collect()
    });
    let mut scores = Vec::with_capacity(runs as usize);
    for (part, outcome) in parts.zip(joined) {
        let expected = part.len();
        let own = outcome.map_err(|panic| AuditError::Worker {
            runs: part,
            message: said(&*panic),
        })??;
        if own.len() != expected {
            return Err(AuditError::Scores {
                found: own.len(),
                expected,
            });
        }
        scores.extend(own);
    }
    Ok(scores)
}

/// The scores of both neighbours, first of the one with the audited agent present.
///
/// **Errors**: as [`gather`].
pub(super) fn gather_both(
    runs: u32,
    threads: usize,
    work: &(impl Fn(bool, Range<u32>) -> Result<Vec<f64>, AuditError> + Sync),
) -> Result<[Vec<f64>; 2], AuditError> {
    Ok([
        gather(runs, threads, &|part| work(true, part))?,
        gather(runs, threads, &|part| work(false, part))?,
    ])
}

/// The message of a panic.
fn said(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "nothing".to_owned(),
    }
}
