//! CPU time of the thread: medians of repetitions.

use rustix::time::{ClockId, clock_gettime};

fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Median of `repetitions` runs in milliseconds, and what the last run returned.
pub fn median<R>(repetitions: usize, mut run: impl FnMut() -> R) -> (f64, R) {
    let mut result = run();
    let mut times: Vec<f64> = (0..repetitions)
        .map(|_| {
            let start = now();
            result = std::hint::black_box(run());
            now() - start
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], result)
}
