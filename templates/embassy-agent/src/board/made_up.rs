//! What the server of the emulator's campaign says: numbers that are made up, by these formulas. A
//! host computes with the same file what the device must end with.

/// What a release is made with: κ, C, M weights.
pub fn opening(release: u32, out: &mut [f64]) {
    for (number, i) in out.iter_mut().zip(0u32..) {
        *number = match i {
            0 => 0.2,
            1 => 1.5,
            _ => f64::from(release) * 0.1 * (f64::from(i % 5) - 2.0),
        };
    }
}

/// The numbers of the file: ℓ, B, landmarks, weights, a covariance without correlations.
pub fn file(landmarks: &[f64], features: usize, out: &mut [f32]) {
    let head = [0.5, 4.0]
        .into_iter()
        .chain(landmarks.iter().map(|x| *x as f32));
    let weights = (0..features as u32).map(|i| ((i % 5) as f32 - 2.0) * 0.3);
    let covariance = (0..features)
        .flat_map(|row| (0..=row).map(move |column| if row == column { 0.05 } else { 0.0 }));
    out.iter_mut()
        .zip(head.chain(weights).chain(covariance))
        .for_each(|(place, number)| *place = number);
}
