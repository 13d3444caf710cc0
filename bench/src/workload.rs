//! The recipe of the workloads: D = 2, unit square, squared exponential of lengthscale 0.2, unit
//! signal variance, noise variance 0.01, zero mean; all programs see the same numbers.

/// SplitMix64.
pub struct SplitMix(u64);

impl SplitMix {
    pub fn new(seed: u64) -> Self {
        SplitMix(seed)
    }

    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 11) as f64 / 9_007_199_254_740_992.0
    }

    pub fn normal(&mut self) -> f64 {
        let u = self.unit();
        let v = self.unit();
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

/// The function without noise.
pub fn objective(x: &[f64]) -> f64 {
    (6.0 * x[0]).sin() * (5.0 * x[1]).cos()
}

/// n points, row-major, and their noisy values.
pub fn data(n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut stream = SplitMix::new(42);
    let mut x = Vec::with_capacity(2 * n);
    let mut y = Vec::with_capacity(n);
    for _ in 0..n {
        let point = [stream.unit(), stream.unit()];
        x.extend(point);
        y.push(objective(&point) + 0.1 * stream.normal());
    }
    (x, y)
}

/// The 100 × 100 grid, the last axis fastest.
pub fn grid() -> Vec<f64> {
    (0..10_000)
        .flat_map(|i| [f64::from(i / 100) / 99.0, f64::from(i % 100) / 99.0])
        .collect()
}

/// 1,000 uniform candidates.
pub fn candidates() -> Vec<f64> {
    let mut stream = SplitMix::new(9);
    (0..2000).map(|_| stream.unit()).collect()
}

/// First index of the largest mean + 2·std.
pub fn argmax(mean: &[f64], variance: impl Fn(usize) -> f64) -> usize {
    let mut best = 0;
    let mut value = f64::NEG_INFINITY;
    for (i, mean) in mean.iter().enumerate() {
        let bound = mean + 2.0 * variance(i).max(0.0).sqrt();
        if bound > value {
            (best, value) = (i, bound);
        }
    }
    best
}

/// 200 rows of M features (pairs of cosine and sine) of the first 200 data points, and M normals
/// for each step.
pub fn features(m: usize) -> (Vec<Vec<f64>>, Vec<Vec<f64>>, Vec<f64>) {
    let mut stream = SplitMix::new(3);
    let frequencies: Vec<[f64; 2]> = (0..m / 2)
        .map(|_| [stream.normal() / 0.2, stream.normal() / 0.2])
        .collect();
    let (x, y) = data(200);
    let scale = (2.0 / m as f64).sqrt();
    let rows = x.chunks(2).map(|x| {
        let angles = frequencies.iter().map(|w| w[0] * x[0] + w[1] * x[1]);
        angles
            .clone()
            .map(|a| scale * a.cos())
            .chain(angles.map(|a| scale * a.sin()))
            .collect()
    });
    let normals = (0..200)
        .map(|_| (0..m).map(|_| stream.normal()).collect())
        .collect();
    (rows.collect(), normals, y)
}
