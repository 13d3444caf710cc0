//! Student's distribution of T with some degrees of freedom, by which paired differences are
//! judged.

/// The t that |T| stays below with probability 95 %. Exact to three digits: a table for few degrees
/// of freedom, then the expansion of Cornish and Fisher around the normal quantile.
pub fn quantile(degrees: usize) -> f64 {
    const FEW: [f64; 9] = [
        f64::INFINITY,
        12.706,
        4.303,
        3.182,
        2.776,
        2.571,
        2.447,
        2.365,
        2.306,
    ];
    if let Some(t) = FEW.get(degrees) {
        return *t;
    }
    let z = 1.959_964_f64;
    let v = degrees as f64;
    let z3 = z * z * z;
    let z5 = z * z * z * z * z;
    let z7 = z * z * z * z * z * z * z;
    z + (z3 + z) / (4.0 * v)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * v * v)
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * v * v * v)
}

/// P(|T| ≤ t).
///
/// **Equation**: the finite series of Abramowitz and Stegun 26.7.3 and 26.7.4. **Numerics**:
/// absolute error about 1e-15.
pub fn within(t: f64, degrees: usize) -> f64 {
    let v = degrees as f64;
    let sine = t / (v + t * t).sqrt();
    let square = v / (v + t * t);
    let cosine = square.sqrt();
    // Terms cosᵏθ with k of the parity of degrees − 2.
    let first = if degrees.is_multiple_of(2) { 0 } else { 1 };
    let mut term = if first == 0 { 1.0 } else { cosine };
    let mut sum = 0.0;
    let mut k = first;
    while k + 2 <= degrees {
        sum += term;
        term *= square * (k + 1) as f64 / (k + 2) as f64;
        k += 2;
    }
    if first == 0 {
        sine * sum
    } else {
        core::f64::consts::FRAC_2_PI * ((t / v.sqrt()).atan() + sine * sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student's table, two-sided .05.
    #[test]
    fn quantile_and_distribution_are_those_of_the_table() {
        for (degrees, t) in [
            (1, 12.7062),
            (2, 4.30265),
            (5, 2.57058),
            (9, 2.26216),
            (29, 2.04523),
            (30, 2.04227),
            (1000, 1.96234),
        ] {
            assert!((within(t, degrees) - 0.95).abs() < 1e-5, "{degrees}");
            assert!((quantile(degrees) - t).abs() < 1.5e-3, "{degrees}");
        }
    }

    #[test]
    fn the_quantile_inverts_the_distribution() {
        for degrees in 1..200 {
            let found = within(quantile(degrees), degrees);
            assert!((found - 0.95).abs() < 5e-5, "{degrees}: {found}");
        }
    }
}
