//! Lengths, grids, coins, noise and the event of a release.

extern crate std;
use super::*;
use crate::random::source::tests::Failing;
use crate::random::{Secret, Simulated, SourceKind, Stream};

fn half() -> SamplingProbability {
    SamplingProbability::new(0.5).unwrap()
}

#[test]
fn the_radius_never_overstates_the_multiplier() {
    let mut stream = Stream::from_seed(8);
    for _ in 0..20_000 {
        let m = 10 + stream.below(15);
        let z = 0.01 + 20.0 * stream.unit::<f64>();
        let Ok(mechanism) = GridGaussian::new(m, z, half(), 100) else {
            continue;
        };
        // Exact in f64: K < 2³¹ has fewer bits than the quotient's spacing can hide only if K·z is
        // compared wide.
        let k = mechanism.radius();
        assert!(k as f64 * z <= (1u64 << m) as f64 * (1.0 + 1e-15));
        assert!((k + 1) as f64 * z > (1u64 << m) as f64 * (1.0 - 1e-15));
    }
    // 2^20/0.3 is no integer, 2^20/0.25 is.
    assert_eq!(
        GridGaussian::new(20, 0.25, half(), 100).unwrap().radius(),
        1 << 22
    );
    assert_eq!(
        GridGaussian::new(20, 1.0, half(), 100).unwrap().radius(),
        1 << 20
    );
    // z one step above 1: K = 2^20 would charge more noise than there is.
    assert_eq!(
        GridGaussian::new(20, 1.0f64.next_up(), half(), 100)
            .unwrap()
            .radius(),
        (1 << 20) - 1
    );
}

#[test]
fn refuses_nonsense() {
    for m in [0, 9, 25, u32::MAX] {
        assert_eq!(
            GridGaussian::new(m, 1.0, half(), 1),
            Err(GaussianError::GridExponent(m))
        );
    }
    for z in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e9, 5e-324] {
        assert!(
            matches!(
                GridGaussian::new(20, z, half(), 1),
                Err(GaussianError::NoiseMultiplier(_))
            ),
            "{z}"
        );
    }
    assert!(matches!(
        GridGaussian::new(24, 0.01, half(), u32::MAX),
        Err(GaussianError::Contributors(_))
    ));
    assert_eq!(
        GridGaussian::new(20, 1.0, SamplingProbability::ZERO, 1),
        Err(GaussianError::NobodySampled)
    );
    let mechanism = GridGaussian::new(20, 1.0, half(), 1).unwrap();
    assert!(mechanism.decode_unit(f64::NAN).is_err() && mechanism.decode_unit(0.0).is_err());
}

#[test]
fn a_release_is_the_decoded_sum_plus_noise_and_carries_its_event() {
    let mechanism = GridGaussian::new(16, 2.0, half(), 10).unwrap();
    let mut pool = [0i64; 3];
    let mut source = Simulated::new(Stream::from_seed(5));
    let noise = mechanism.fill_noise(&mut source, &mut pool).unwrap();
    let drawn: [i64; 3] = (&*noise.noise).try_into().unwrap();
    let mut sums = [100, -200, 0];
    let mut out = [0.0f64; 3];
    let sample = mechanism.sample(&mut source, &mut [0; 2]).unwrap();
    let release = mechanism
        .release(&mut sums, sample, noise, 4.0, &mut out)
        .unwrap();
    assert_eq!(release.kind(), SourceKind::Simulation);
    assert_eq!(release.event(), mechanism.event());
    let unit = 4.0 / (32768.0 * 0.5);
    assert_eq!(
        release.value(),
        &[100 + drawn[0], -200 + drawn[1], drawn[2]].map(|u| u as f64 * unit)
    );
    assert_eq!(pool, [0; 3], "noise serves once");
    // Wrong lengths change nothing.
    let noise = mechanism.fill_noise(&mut source, &mut pool[..2]).unwrap();
    let sample = mechanism.sample(&mut source, &mut [0]).unwrap();
    let before = (sums, out);
    let refused = mechanism.release(&mut sums, sample, noise, 4.0, &mut out);
    assert!(matches!(refused, Err(GaussianError::Length { .. })));
    assert_eq!(
        (sums, out, pool),
        (before.0, before.1, [0; 3]),
        "refused noise is wiped"
    );
    // A sample of another probability paid for another release.
    let other = GridGaussian::new(16, 2.0, SamplingProbability::ONE, 10).unwrap();
    let sample = other.sample(&mut source, &mut [0; 2]).unwrap();
    let noise = mechanism.fill_noise(&mut source, &mut pool).unwrap();
    let refused = mechanism
        .release(&mut sums, sample, noise, 4.0, &mut out)
        .unwrap_err();
    assert_eq!(
        refused,
        GaussianError::OtherSample {
            drawn: 1.0,
            expected: 0.5
        }
    );
    assert_eq!((sums, out), before);
}

/// Without sampling: the integers of a Poisson sample of probability 1, an event that names no
/// sample, and no way to pass off everybody as a sample.
#[test]
fn everybody_is_no_sample() {
    let sampled = GridGaussian::new(16, 2.0, SamplingProbability::ONE, 10).unwrap();
    let unsampled = GridGaussian::unsampled(16, 2.0, 10).unwrap();
    let relation = NeighboringRelation::ReplaceSpecial;
    assert_eq!(
        unsampled.event(),
        Event::Gaussian {
            noise_multiplier: 2.0,
            relation
        }
    );
    assert_eq!(
        (sampled.radius(), sampled.decode_unit(3.0)),
        (unsampled.radius(), unsampled.decode_unit(3.0))
    );
    let released = |mechanism: &GridGaussian, out: &mut [f64]| {
        let mut source = Simulated::new(Stream::from_seed(5));
        let mut pool = [0i64; 3];
        let mut sums = [100, -200, 0];
        let noise = mechanism.fill_noise(&mut source, &mut pool).unwrap();
        let sample = mechanism
            .everybody()
            .or_else(|_| mechanism.sample(&mut source, &mut [0]))
            .unwrap();
        mechanism
            .release(&mut sums, sample, noise, 4.0, out)
            .unwrap()
            .event()
    };
    let mut one = [0.0; 3];
    let mut other = [0.0; 3];
    let events = (
        released(&sampled, &mut one),
        released(&unsampled, &mut other),
    );
    assert_eq!((one, events), (other, (sampled.event(), unsampled.event())));
    let refused = sampled
        .everybody::<crate::random::Simulation>()
        .unwrap_err();
    assert_eq!(refused, GaussianError::Sampled(1.0));
}

#[test]
fn an_entropy_failure_leaves_no_noise() {
    let mechanism = GridGaussian::new(16, 1.0, half(), 10).unwrap();
    let mut pool = [9i64; 40];
    let mut source = Secret::new(Failing {
        left: 20,
        inner: Stream::from_seed(5),
    });
    assert_eq!(
        mechanism.fill_noise(&mut source, &mut pool).unwrap_err(),
        NoiseError::Entropy
    );
    assert_eq!(pool, [0; 40]);
}

/// Sums of two servers are residues: what wraps around is the noised sum, at both moduli.
#[test]
fn a_noised_sum_is_centred_when_it_has_the_noise() {
    let mechanism = GridGaussian::unsampled(10, 1.0, 1).unwrap();
    let released = |sum: i64, centred: fn(i64) -> i64| {
        let source = &mut Simulated::new(Stream::from_seed(3));
        let sample = Sample::drawn_before(mechanism.sampling_probability(), SourceKind::Simulation);
        let mut sums = [sum];
        let mut noise = [0];
        let noise = mechanism.fill_noise(source, &mut noise).unwrap();
        let drawn = noise.noise[0];
        let mut out = [0.0];
        let sample = sample.unwrap();
        let _ = mechanism
            .release_centred(&mut sums, sample, noise, 1.0, centred, &mut out)
            .unwrap();
        let unit = mechanism.decode_unit(1.0).unwrap();
        assert_eq!(out, [sums[0] as f64 * unit]);
        (sums[0], drawn)
    };
    let of_32 = |sum: i64| i64::from(sum as i32);
    let (inside, drawn) = released(700, of_32);
    assert_eq!(inside, 700 + drawn);
    assert!(drawn != 0);
    for edge in [i64::from(i32::MAX), i64::from(i32::MIN)] {
        let (found, _) = released(edge, of_32);
        assert_eq!(found, i64::from((edge + drawn) as i32), "{edge}");
    }
    for edge in [i64::MAX, i64::MIN] {
        let (found, _) = released(edge, |sum| sum);
        assert_eq!(found, edge.wrapping_add(drawn), "{edge}");
    }
}
