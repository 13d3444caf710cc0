//! An audit that can fail: does the *shipped* release path lose more than is claimed?
//!
//! **Method** (hockey-stick audit). Worst neighbours: the agent of largest weight sends its whole clipping norm in one
//! coordinate, against nothing; everybody else sends nothing, so that the release is the shipped noise. Each run is
//! `rounds` releases through coin, encoder, sampler and decoder; its score is the log-likelihood ratio of the *claimed*
//! mechanism, summed: the best statistic there is. Half the runs choose a threshold for each ε, the other half measure
//! P₁(score > t) − e^ε·P₀(score > t) with Clopper–Pearson bounds, in both directions. The mechanism is rejected if that
//! lower bound exceeds the claimed δ(ε) at some ε of [`EPSILONS`].
//!
//! **What it says**: a rejection is a proof, up to the stated error, that the code leaks more than claimed. Passing
//! proves nothing; it only means no defect of the stated size. Small ε give the power.
//!
//! **Negative controls** ([`Defect`]) break the path on purpose; an audit that does not reject them has no power.

use sordino_core::math::{self, Scalar};
use sordino_core::privacy::accountant::AccountantError;
use sordino_core::privacy::mechanism::gaussian::GridGaussian;
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::{Epsilon, Event, NeighboringRelation, NoiseSource, SamplingProbability, Simulated};
use sordino_core::random::{Party, Purpose, RunSeed};

use sordino_core::privacy::accountant::pld::{self, Options};

/// The ε at which the claim is tested.
pub const EPSILONS: [f64; 8] = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0];

/// What is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Defect {
    /// Nothing: the shipped path.
    None,
    /// The noise is this fraction of what it should be.
    NoiseFactor(f64),
    /// Coins fall with this probability.
    SampledWith(f64),
    /// So many rounds are run.
    RoundsRun(u32),
    /// The contribution is this many times the claimed sensitivity.
    SensitivityFactor(f64),
    /// The reward is not clamped, this many times the bound.
    NoClamp(f64),
}

/// A claim about the sampled Gaussian, and how hard to look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianAudit {
    /// Sampling probability claimed.
    pub sampling_probability: f64,
    /// Noise multiplier claimed.
    pub noise_multiplier: f64,
    /// Releases claimed.
    pub rounds: u32,
    /// Runs for each of the two neighbours.
    pub runs: u32,
    /// Probability that a correct mechanism is rejected, over all tests together.
    pub error: f64,
    /// Scenario seed.
    pub seed: u64,
}

/// One ε of the report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// ε.
    pub epsilon: f64,
    /// δ claimed there.
    pub delta_claimed: f64,
    /// Lower bound measured, the larger of both directions.
    pub delta_measured: f64,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// One line for each ε.
    pub lines: Vec<Line>,
    /// Runs for each neighbour.
    pub runs: u32,
    /// Error of the whole.
    pub error: f64,
}

impl Report {
    /// More leaked than claimed.
    pub fn rejected(&self) -> bool {
        self.margin() > 0.0
    }

    /// Largest measured − claimed.
    pub fn margin(&self) -> f64 {
        self.lines.iter().map(|line| line.delta_measured - line.delta_claimed).fold(f64::NEG_INFINITY, f64::max)
    }
}

impl GaussianAudit {
    /// The size asked for in the notes: 200,000 runs of 40 rounds at q = 0.25, z = 1.
    pub const fn standard(seed: u64) -> Self {
        GaussianAudit {
            sampling_probability: 0.25,
            noise_multiplier: 1.0,
            rounds: 40,
            runs: 200_000,
            error: 1e-6,
            seed,
        }
    }

    fn event(&self) -> Event {
        Event::PoissonSampledGaussian {
            sampling_probability: self.sampling_probability,
            noise_multiplier: self.noise_multiplier,
            relation: NeighboringRelation::ReplaceSpecial,
        }
    }

    /// Runs the audit; `threads` cores.
    pub fn run(&self, defect: Defect, threads: usize) -> Result<Report, AccountantError> {
        let claimed = EPSILONS
            .iter()
            .map(|epsilon| {
                pld::delta(&[(self.event(), self.rounds)], *epsilon, &Options { tolerance: 1e-4, ..Options::default() })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let runs = self.runs;
        let threads = threads.max(1) as u32;
        let score = |present: bool| -> Vec<f64> {
            let parts: Vec<Vec<f64>> = std::thread::scope(|scope| {
                let handles: Vec<_> = (0..threads)
                    .map(|part| scope.spawn(move || self.scores(defect, present, part, threads, runs)))
                    .collect();
                handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
            });
            parts.into_iter().flatten().collect()
        };
        Ok(judge(&score(true), &score(false), &claimed, self.error))
    }

    /// Scores of runs `part`, `part + parts`, …: through the objects the server uses.
    fn scores(&self, defect: Defect, present: bool, part: u32, parts: u32, runs: u32) -> Vec<f64> {
        let q_used = if let Defect::SampledWith(q) = defect { q } else { self.sampling_probability };
        let rounds = if let Defect::RoundsRun(rounds) = defect { rounds } else { self.rounds };
        let z_used = if let Defect::NoiseFactor(factor) = defect {
            self.noise_multiplier * factor
        } else {
            self.noise_multiplier
        };
        let size = if let Defect::SensitivityFactor(factor) = defect { factor } else { 1.0 };
        let (Ok(coin), Ok(claimed)) =
            (SamplingProbability::new(q_used), SamplingProbability::new(self.sampling_probability))
        else {
            return Vec::new();
        };
        let Ok(mechanism) = GridGaussian::new(16, z_used, claimed, 1024) else { return Vec::new() };
        let Ok(encoder) = mechanism.encoder(1.0, 1.0) else { return Vec::new() };
        let (q, z) = (self.sampling_probability, self.noise_multiplier);
        let mut out = Vec::new();
        for run in (part..runs).step_by(parts as usize) {
            let seed = RunSeed::new(self.seed.wrapping_mul(2).wrapping_add(u64::from(present)), run);
            let mut source = Simulated::new(seed.stream(Party::Server, Purpose::Release, 0));
            let mut total = 0.0;
            for _ in 0..rounds {
                let (mut sums, mut pool, mut released) = ([0i64], [0i64], [0.0f64]);
                let selected = coin.coin(&mut source).unwrap_or(false);
                let Ok(sample) = mechanism.sample(&mut source.clone(), &mut []) else { continue };
                let Ok(noise) = mechanism.fill_noise(&mut source, &mut pool) else { continue };
                if present && selected {
                    // A defect of the sensitivity sends its contribution several times past the check.
                    let mut one = [0i64];
                    let _ = encoder.add(&[1.0], &[1.0], &mut one);
                    sums[0] += (one[0] as f64 * size) as i64;
                }
                if mechanism.release(&mut sums, sample, noise, 1.0, &mut released).is_err() {
                    continue;
                }
                // In units of the claimed sensitivity: the contribution is 1, the noise should have std z.
                let x = released[0] * q;
                total += math::ln_1p(q * math::exp_m1((2.0 * x - 1.0) / (2.0 * z * z)));
            }
            out.push(total);
        }
        out
    }
}

/// The audit of one local report: pure ε.
pub fn laplace(epsilon: f64, runs: u32, defect: Defect, seed: u64, error: f64) -> Option<Report> {
    let claimed_epsilon = Epsilon::new(epsilon).ok()?;
    // Half the sensitivity is half the noise: the mechanism of twice the ε.
    let used = if let Defect::SensitivityFactor(factor) = defect { epsilon * factor } else { epsilon };
    let used = if let Defect::NoiseFactor(factor) = defect { used / factor } else { used };
    let mechanism = ClampedLaplace::new(1.0, 16, Epsilon::new(used).ok()?).ok()?;
    let score = |reward: f64, side: u64| -> Vec<f64> {
        let mut out = Vec::new();
        for run in 0..runs {
            let seed = RunSeed::new(seed.wrapping_mul(2).wrapping_add(side), run);
            let mut source = Simulated::new(seed.stream(Party::Agent(0), Purpose::Release, 0));
            let report = |y: f64, source: &mut Simulated| mechanism.privatize(y, source).map(|r| *r.value());
            let x = match defect {
                Defect::NoClamp(factor) => report(0.0, &mut source).map(|noise| reward * factor + noise),
                _ => report(reward, &mut source),
            };
            // ln of the ratio of two Laplace densities at ±1, scale 2/ε.
            out.push(x.map_or(0.0, |x| ((x + 1.0).abs() - (x - 1.0).abs()) * epsilon / 2.0 + x * 1e-9));
        }
        out
    };
    let e0 = claimed_epsilon.value();
    // The hockey-stick of randomised response bounds every pure-ε mechanism.
    let claimed: Vec<f64> =
        EPSILONS.iter().map(|e| sordino_core::privacy::accountant::pure::optimal_delta(e0, 1, *e)).collect();
    Some(judge(&score(1.0, 1), &score(-1.0, 0), &claimed, error))
}

/// Both directions at every ε, thresholds from the first half, bounds from the second.
fn judge(present: &[f64], absent: &[f64], claimed: &[f64], error: f64) -> Report {
    let halves = |scores: &[f64]| {
        let (a, b) = scores.split_at(scores.len() / 2);
        let (mut a, mut b) = (a.to_vec(), b.to_vec());
        a.sort_by(f64::total_cmp);
        b.sort_by(f64::total_cmp);
        (a, b)
    };
    let ((choose_1, measure_1), (choose_0, measure_0)) = (halves(present), halves(absent));
    let each = error / (4.0 * EPSILONS.len() as f64);
    let above = |sorted: &[f64], t: f64| sorted.len() - sorted.partition_point(|x| *x <= t);
    let below = |sorted: &[f64], t: f64| sorted.partition_point(|x| *x < t);
    let mut lines = Vec::new();
    for (epsilon, delta_claimed) in EPSILONS.iter().zip(claimed) {
        let factor = Scalar::exp(*epsilon);
        let mut delta_measured = 0.0f64;
        for upper in [true, false] {
            let count = |sorted: &[f64], t: f64| if upper { above(sorted, t) } else { below(sorted, t) };
            let (first, second) = if upper { (&choose_1, &choose_0) } else { (&choose_0, &choose_1) };
            let (n1, n0) = (first.len() as f64, second.len() as f64);
            // Candidates: the claim's own optimum is score > ε; a few hundred quantiles around find the best.
            let mut best = (f64::NEG_INFINITY, 0.0);
            for i in 1..400 {
                let t = choose_1[i * (choose_1.len() - 1) / 400];
                let value = count(first, t) as f64 / n1 - factor * count(second, t) as f64 / n0;
                if value > best.0 {
                    best = (value, t);
                }
            }
            let (first, second) = if upper { (&measure_1, &measure_0) } else { (&measure_0, &measure_1) };
            let low = clopper_pearson(count(first, best.1), first.len(), each, false);
            let high = clopper_pearson(count(second, best.1), second.len(), each, true);
            delta_measured = delta_measured.max(low - factor * high);
        }
        lines.push(Line { epsilon: *epsilon, delta_claimed: *delta_claimed, delta_measured });
    }
    Report { lines, runs: present.len() as u32, error }
}

/// A bound on a probability from k hits of n, wrong with probability at most `error`: Clopper and Pearson's, from the
/// binomial tail itself. The outer end of the last bracket is returned.
fn clopper_pearson(k: usize, n: usize, error: f64, upper: bool) -> f64 {
    if (upper && k >= n) || (!upper && k == 0) {
        return if upper { 1.0 } else { 0.0 };
    }
    let (hits, all) = (k as f64, n as f64);
    // P(X ≤ k) = 1 − I_p(k+1, n−k) = I_{1−p}(n−k, k+1); P(X ≥ k) = I_p(k, n−k+1). A little less than the error, for the
    // rounding of the logarithms of factorials.
    let limit = Scalar::ln(error) - 1e-6;
    let ln_tail = |p: f64| {
        if upper { ln_beta_share(1.0 - p, all - hits, hits + 1.0) } else { ln_beta_share(p, hits, all - hits + 1.0) }
    };
    let (mut inside, mut outside) = (hits / all, if upper { 1.0 } else { 0.0 });
    for _ in 0..60 {
        let middle = 0.5 * (inside + outside);
        if ln_tail(middle) > limit {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    outside
}

/// ln I_x(a, b) of the regularised incomplete beta function, by Lentz's continued fraction.
fn ln_beta_share(x: f64, a: f64, b: f64) -> f64 {
    if !(x > 0.0) {
        return f64::NEG_INFINITY;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        // The other tail; near one, where its logarithm is the smaller.
        return math::ln_1p(-Scalar::exp(ln_beta_share(1.0 - x, b, a)));
    }
    let ln_front =
        math::ln_gamma(a + b) - math::ln_gamma(a) - math::ln_gamma(b) + a * Scalar::ln(x) + b * math::ln_1p(-x)
            - Scalar::ln(a);
    let tiny = 1e-300;
    let away = |y: f64| if y.abs() < tiny { tiny } else { y };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut value = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        for factor in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / away(1.0 + factor * d);
            c = away(1.0 + factor / c);
            value *= d * c;
        }
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    ln_front + Scalar::ln(value)
}

/// Whether a source of this kind may be published: the label every audit and report prints.
pub fn label<S: NoiseSource>(source: &S) -> String {
    source.kind().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tenth of the standard size, 20,000 runs of 40 rounds. Of seeds 1 to 8 it rejects 10 % less noise under all
    /// (margins 0.008 to 0.029), 15 % with room (0.046 and more), 8 % under four. The standard size, which sees 5 %, is in
    /// the ignored test.
    fn audit(runs: u32, defect: Defect) -> Report {
        GaussianAudit { runs, ..GaussianAudit::standard(1) }.run(defect, 2).unwrap()
    }

    #[test]
    fn the_shipped_gaussian_passes_and_the_broken_are_rejected() {
        let shipped = audit(20_000, Defect::None);
        assert!(!shipped.rejected(), "{shipped:?}");
        for defect in [Defect::NoiseFactor(0.9), Defect::SampledWith(0.3), Defect::SampledWith(1.0)] {
            assert!(audit(20_000, defect).rejected(), "{defect:?}");
        }
        assert!(audit(5_000, Defect::SensitivityFactor(2.0)).rejected());
    }

    #[test]
    #[ignore = "200,000 runs of 40 rounds, six times: minutes"]
    fn the_standard_audit_sees_five_percent() {
        let shipped = audit(200_000, Defect::None);
        assert!(!shipped.rejected(), "{shipped:?}");
        for defect in [
            Defect::NoiseFactor(0.95),
            Defect::SampledWith(0.3),
            Defect::RoundsRun(44),
            Defect::SampledWith(1.0),
            Defect::SensitivityFactor(2.0),
        ] {
            let report = audit(200_000, defect);
            println!("{defect:?}: margin {:.4}", report.margin());
            assert!(report.rejected(), "{defect:?}: {report:?}");
        }
    }

    #[test]
    fn the_local_report_passes_and_the_broken_are_rejected() {
        let run = |defect| laplace(1.0, 100_000, defect, 3, 1e-6).unwrap();
        let shipped = run(Defect::None);
        assert!(!shipped.rejected(), "{shipped:?}");
        for defect in [Defect::NoClamp(5.0), Defect::SensitivityFactor(2.0), Defect::NoiseFactor(0.9)] {
            assert!(run(defect).rejected(), "{defect:?}: {:?}", run(defect));
        }
    }

    #[test]
    fn bounds_contain_the_truth() {
        // Printed tables: 5 of 10 at 2.5 % a side; 0 of n is 1 − error^(1/n).
        assert!((clopper_pearson(5, 10, 0.025, false) - 0.1871).abs() < 1e-4);
        assert!((clopper_pearson(5, 10, 0.025, true) - 0.8129).abs() < 1e-4);
        assert!((clopper_pearson(0, 1000, 1e-6, true) - (1.0 - 1e-6f64.powf(1e-3))).abs() < 1e-8);
        assert_eq!((clopper_pearson(0, 7, 0.1, false), clopper_pearson(7, 7, 0.1, true)), (0.0, 1.0));
        // Against the sum of the binomial probabilities.
        for (k, n) in [(3usize, 40usize), (17, 40), (39, 40)] {
            let p = clopper_pearson(k, n, 1e-3, true);
            let mut term = (1.0 - p).powi(n as i32);
            let mut sum = term;
            for i in 0..k {
                term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
                sum += term;
            }
            assert!(sum <= 1e-3 && sum > 0.999e-3, "{k} of {n}: {sum}");
        }
        assert!(clopper_pearson(500, 1000, 1e-6, false) < 0.45 && clopper_pearson(500, 1000, 1e-6, true) > 0.55);
        assert!(clopper_pearson(0, 1000, 1e-6, false) < 1e-12 && clopper_pearson(0, 1000, 1e-6, true) < 0.02);
    }
}
