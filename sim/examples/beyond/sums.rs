//! Sums through secure aggregation: every device adds its share of the noise and a mask that only
//! the whole sum cancels, modulo 2ᵇ; the party that opens the sum sees neither a vector nor noise
//! by itself. A simulation of what comes out: shares are rounded normals (which a device would draw
//! as discrete Gaussians or Skellams, at these variances the same to the eye), masks come from a
//! seed.

use sordino_core::federated::prior::{Config, Parameters, total_mu};
use sordino_core::privacy::accountant::RdpAccountant;
use sordino_core::privacy::mechanism::gaussian::GridGaussian;
use sordino_core::privacy::{Event, NeighboringRelation};
use sordino_core::random::{Stream, normal};

use super::world::{Case, Outcome};

/// Standard deviations of noise that the modulus leaves room for.
const TAIL: f64 = 12.0;

/// The configuration under another λ.
pub fn with_noise(config: &Config, noise_variance: f64) -> Outcome<Config> {
    Ok(Config::new(Parameters {
        noise_variance,
        ..*config.parameters()
    })?)
}

/// ε of one Gaussian of 1/μ at δ by Rényi divergences: what is proven for discrete Gaussians and
/// Skellams too, up to terms that [`surcharge`] gives.
pub fn renyi(mu: f64, delta: f64) -> Outcome<f64> {
    let mut accountant = RdpAccountant::new();
    let relation = NeighboringRelation::ReplaceSpecial;
    accountant.compose(
        &Event::Gaussian {
            noise_multiplier: 1.0 / mu,
            relation,
        },
        1,
    )?;
    Ok(accountant.epsilon(delta)?.epsilon)
}

/// The total μ that ε pays for: exact for Gaussians, by Rényi divergences for noise that is summed
/// on devices.
pub fn mu(case: &Case, epsilon: f64) -> Outcome<f64> {
    let delta = f64::from(case.agents).powf(-1.1);
    let exact = total_mu(epsilon, delta)?;
    if case.dropouts.is_none() {
        return Ok(exact);
    }
    let mut low = 0.0;
    let mut high = exact;
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if renyi(middle, delta)? <= epsilon {
            low = middle
        } else {
            high = middle
        }
    }
    Ok(low)
}

/// What discreteness adds: (a) to μ² of a release of t discrete Gaussians of std 2ᵐ/√t over d
/// coordinates, ½τd with τ = 10 Σ_{k<t} exp(−2π²(2²ᵐ/t)·k/(k + 1)) (Kairouz, Liu, Steinke 2021);
/// (b) to the divergence at order α of a Skellam of variance 2²ᵐ, min(((2α − 1)Δ₂² + 6Δ₁)/(4·2⁴ᵐ),
/// 3Δ₁/(2·2²ᵐ)) with Δ₂ = 2ᵐ/z, Δ₁ = √d·Δ₂ (Agarwal, Kairouz, Liu 2021).
pub fn surcharge(m: u32, z: f64, d: usize, t: f64, order: f64) -> (f64, f64) {
    let variance = 4f64.powi(m as i32);
    let exponent =
        |k: f64| (-2.0 * std::f64::consts::PI.powi(2) * variance / t * k / (k + 1.0)).exp();
    let tau = 10.0 * (1..t as u32).map(|k| exponent(f64::from(k))).sum::<f64>();
    let l2 = variance.sqrt() / z;
    let l1 = (d as f64).sqrt() * l2;
    let first = ((2.0 * order - 1.0) * l2 * l2 + 6.0 * l1) / (4.0 * variance * variance);
    (0.5 * tau * d as f64, first.min(1.5 * l1 / variance))
}

/// What a coarser grid costs 200 devices and 51 numbers at z = 1.2, Rényi order 10: discreteness
/// over the Gaussian's own cost, bits of the modulus.
pub fn discreteness() -> Outcome<String> {
    let agents = 200u32;
    let d = 51;
    let z = 1.2;
    let order = 10.0;
    let mut out = String::from(
        "| noise 2ᵐ, m | share's std | discrete Gaussian: added to 1/z², relative | Skellam: added at order 10, relative | bits \
         |\n|---|---|---|---|---|\n",
    );
    for m in [4u32, 6, 8, 10, 12, 16, 20] {
        let (gaussian, skellam) = surcharge(m, z, d, f64::from(agents), order);
        let std = (1u64 << m) as f64;
        let share = std / f64::from(agents).sqrt();
        let squared = 1.0 / (z * z);
        let bits = modulus_bits(agents, (std / z) as u64, std);
        let gaussian = gaussian / squared;
        let skellam = skellam / (0.5 * order * squared);
        out += &format!("| {m} | {share:.3} | {gaussian:.1e} | {skellam:.1e} | {bits} |\n");
    }
    Ok(out)
}

/// Bits of the modulus that N vectors of norm ≤ K and their noise need.
pub fn modulus_bits(agents: u32, radius: u64, noise_std: f64) -> u32 {
    let largest = f64::from(agents) * radius as f64 + TAIL * noise_std;
    (2.0 * largest).log2().ceil() as u32 + 1
}

/// The devices of one release, one after the other.
pub struct Shares {
    share_std: f64,
    inflation: f64,
    modulus: u64,
    first: Stream,
    masks: Stream,
    noise: Stream,
    left: u32,
}

impl Shares {
    /// Every device's share is as large as is needed if no more than the tolerated fraction is
    /// missing.
    pub fn new(case: &Case, grid: &GridGaussian, stream: Stream) -> Self {
        let needed = (f64::from(case.agents) * (1.0 - case.dropouts.unwrap_or(0.0)))
            .floor()
            .max(1.0);
        let std = (1u64 << grid.grid_exponent()) as f64;
        let inflation = (f64::from(case.agents) / needed).sqrt();
        let bits = modulus_bits(case.agents, grid.radius(), std * inflation);
        let first = Stream::from_seed(0);
        let masks = Stream::from_seed(0);
        let modulus = 1 << bits.min(62);
        Shares {
            share_std: std / needed.sqrt(),
            inflation,
            modulus,
            first,
            masks,
            noise: stream,
            left: case.agents,
        }
    }

    /// Noise of all devices together over what is charged: √(N/t).
    pub fn inflation(&self) -> f64 {
        self.inflation
    }

    /// Device i sends own + noise + maskᵢ − maskᵢ₊₁ modulo 2ᵇ, masks in a ring; the sum takes it.
    pub fn send(&mut self, own: &[i64], total: &mut [i64]) -> Outcome<()> {
        self.left = self
            .left
            .checked_sub(1)
            .ok_or("more devices than are enrolled")?;
        let modulus = self.modulus;
        let mut next = if self.left == 0 {
            self.first.clone()
        } else {
            Stream::from_seed(u64::from(self.left))
        };
        for (x, sum) in own.iter().zip(total) {
            let noise = (self.share_std * normal::draw::<f64>(&mut self.noise)).round() as i64;
            let sent = (x + noise) as u64;
            let sent = sent
                .wrapping_add(self.masks.word())
                .wrapping_sub(next.word())
                % modulus;
            *sum = ((*sum as u64).wrapping_add(sent) % modulus) as i64;
        }
        self.masks = Stream::from_seed(u64::from(self.left));
        Ok(())
    }

    /// The sum as signed numbers, once all masks are in it.
    pub fn open(&self, total: &[i64]) -> Vec<i64> {
        let half = self.modulus as i64 / 2;
        total
            .iter()
            .map(|x| {
                if *x >= half {
                    x - self.modulus as i64
                } else {
                    *x
                }
            })
            .collect()
    }
}
