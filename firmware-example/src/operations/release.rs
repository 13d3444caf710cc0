//! Rows of exact samplers and private releases, over simulated noise.

use sordino_core::privacy::SamplingProbability;
use sordino_core::privacy::epsilon::Epsilon;
use sordino_core::privacy::mechanism::gaussian::GridGaussian;
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::mechanism::selection::Selection;
use sordino_core::random::exact::Bits;
use sordino_core::random::{Simulated, Stream, normal};

use sordino_core::privacy::accountant::{MomentsAccountant, RdpAccountant};
use sordino_core::privacy::{Event, NeighboringRelation};

use super::{Emit, Fold};

pub(super) fn rows(emit: Emit<'_>) {
    emit("random::exact", &samplers);
    emit("privacy::sampling", &coins);
    emit("privacy::mechanism::gaussian", &gaussian);
    emit("privacy::mechanism::laplace", &laplace);
    emit("privacy::mechanism::selection", &selection);
    emit("privacy::accountant::moments", &moments);
    emit("privacy::accountant::rdp", &rdp);
}

fn samplers(fold: &mut Fold) {
    let mut source = Simulated::new(Stream::from_seed(30));
    let mut bits = Bits::new(&mut source);
    for i in 1..=64u32 {
        let draws = [
            bits.normal_floor(16),
            bits.normal_floor(i % 33),
            bits.discrete_laplace(3, 1000 + u64::from(i)),
        ];
        draws
            .into_iter()
            .flatten()
            .for_each(|draw| fold.word(draw as u64));
        let coin = bits.bernoulli_exp(u64::from(i), 17).unwrap_or(false);
        fold.word(u64::from(coin) + bits.below(1000 + u64::from(i)).unwrap_or(0));
    }
}

fn coins(fold: &mut Fold) {
    let mut source = Simulated::new(Stream::from_seed(31));
    for q in [0.25, 0.1, 0.35, 1.0] {
        let Ok(q) = SamplingProbability::new(q) else {
            return;
        };
        fold.add(q.value());
        (0..64).for_each(|_| fold.word(u64::from(q.coin(&mut source).unwrap_or(false))));
    }
}

/// One release: coins, clipping, integer sums, noise, decoding.
fn gaussian(fold: &mut Fold) {
    const M: usize = 12;
    let mut source = Simulated::new(Stream::from_seed(32));
    let Ok(q) = SamplingProbability::new(0.25) else {
        return;
    };
    let Ok(mechanism) = GridGaussian::new(16, 1.1, q, 100) else {
        return;
    };
    let Ok(encoder) = mechanism.encoder(1.0, 0.7) else {
        return;
    };
    let mut sums = [0i64; 2 * M];
    let mut pool = [0i64; 2 * M];
    let mut stream = Stream::from_seed(33);
    for i in 0..20u32 {
        let mut wide = [0.0f64; M];
        let mut narrow = [0.0f32; M];
        normal::fill(&mut stream, &mut wide);
        normal::fill(&mut stream, &mut narrow);
        wide.iter_mut().for_each(|x| *x *= f64::from(i) * 0.05);
        if i == 7 {
            wide[3] = f64::NAN;
        }
        for outcome in [
            encoder.add(&wide, &[0.3, 0.1], &mut sums),
            encoder.add(&narrow, &[0.1, 0.2], &mut sums),
        ] {
            fold.word(outcome.map_or(u64::MAX, |outcome| outcome as u64));
        }
        sums.iter().for_each(|sum| fold.word(*sum as u64));
    }
    let Ok(sample) = mechanism.sample(&mut source.clone(), &mut [0]) else {
        return;
    };
    let Ok(noise) = mechanism.fill_noise(&mut source, &mut pool) else {
        return;
    };
    let mut out = [0.0f64; 2 * M];
    if mechanism
        .release(&mut sums, sample, noise, 1.0, &mut out)
        .is_ok()
    {
        sums.iter().for_each(|sum| fold.word(*sum as u64));
        fold.all(&out);
    }
}

/// What a reporter on a device sends.
fn laplace(fold: &mut Fold) {
    let mut source = Simulated::new(Stream::from_seed(34));
    let Ok(epsilon) = Epsilon::new(0.75) else {
        return;
    };
    let Ok(mechanism) = ClampedLaplace::new(2.0, 12, epsilon) else {
        return;
    };
    fold.all(&[mechanism.scale(), epsilon.value()]);
    for i in 0..64u32 {
        let reward = f64::from(i) * 0.1 - 3.0;
        let wide = mechanism
            .privatize(reward, &mut source)
            .map(|release| release.into_parts().0);
        let narrow = mechanism
            .privatize(reward as f32, &mut source)
            .map(|release| release.into_parts().0);
        wide.into_iter().for_each(|x| fold.add(x));
        narrow.into_iter().for_each(|x| fold.add(x));
    }
}

fn selection(fold: &mut Fold) {
    let mut source = Simulated::new(Stream::from_seed(35));
    let Ok(epsilon) = Epsilon::new(1.0) else {
        return;
    };
    let Ok(mechanism) = Selection::new(3, epsilon, NeighboringRelation::ReplaceOne) else {
        return;
    };
    let utilities = [0, 3, 5, -2, 4, 4, 1];
    let mut order = [0; 7];
    for _ in 0..64 {
        let flipped = mechanism.permute_and_flip(&utilities, &mut order, &mut source);
        let exponential = mechanism.exponential(&utilities, &mut source);
        for release in [flipped, exponential].into_iter().flatten() {
            fold.word(u64::from(release.into_parts().0));
        }
    }
}

fn event(sampling_probability: f64, noise_multiplier: f64) -> Event {
    let relation = NeighboringRelation::ReplaceSpecial;
    Event::PoissonSampledGaussian {
        sampling_probability,
        noise_multiplier,
        relation,
    }
}

fn moments(fold: &mut Fold) {
    let mut accountant = MomentsAccountant::new();
    for rounds in [1, 9, 30] {
        let _ = accountant.compose(&event(0.25, 1.0), rounds);
        fold.add(accountant.epsilon(1e-5).map_or(0.0, |spent| spent.epsilon));
    }
}

fn rdp(fold: &mut Fold) {
    let mut accountant = RdpAccountant::new();
    for (q, z) in [(0.25, 1.0), (0.35, 1.0), (1.0, 2.5)] {
        let _ = accountant.compose(&event(q, z), 10);
        (0..40).for_each(|order| fold.add(accountant.divergence(order * 4)));
        fold.add(accountant.epsilon(1e-5).map_or(0.0, |spent| spent.epsilon));
    }
}
