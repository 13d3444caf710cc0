//! Releases at the bound, just below and just above it, in both formats.

extern crate std;
use std::vec;
use std::vec::Vec;

use super::super::super::encoding::Encoding;
use super::super::super::errors::ServerError;
use super::super::super::shares::Trust;
use super::super::config::Parameters;
use super::super::filter::{Filter, Plan};
use super::super::joint::JointVectors;
use super::super::public::{Public, Tables, draw_designs, gram};
use super::super::self_test::self_test_scratch_len;
use super::super::state::{PublicState, Terms, scratch_len, storage_len};
use super::*;
use crate::privacy::mechanism::gaussian::GridGaussian;
use crate::random::{RunSeed, Simulated, Stream};

const M: usize = 2;
const POINTS: usize = 3;
const GAMMA: f64 = 0.25;

/// Two features of four candidates.
struct World<T> {
    config: Config,
    feature_rows: Vec<T>,
    gram: Vec<T>,
    designs: Vec<u32>,
}

impl<T: Scalar> World<T> {
    fn new(agents: u32, grid_exponent: u32, trust: Trust) -> Self {
        let usual = Parameters::usual(agents, M as u32, POINTS as u32, 0.1);
        let config = Config::new(Parameters {
            designs: 8,
            clip_weight: GAMMA,
            grid_exponent,
            trust,
            ..usual
        })
        .unwrap();
        let feature_rows = [1.0, 0.0, 0.8, 0.6, 0.6, 0.8, 0.0, 1.0]
            .map(T::from_f64)
            .to_vec();
        let mut mean = vec![T::ZERO; M * M];
        let mut designs = vec![0; 8 * POINTS];
        gram(&config, &feature_rows, &mut mean).unwrap();
        draw_designs(&config, RunSeed::new(7, 0), 4, &mut designs).unwrap();
        World {
            config,
            feature_rows,
            gram: mean,
            designs,
        }
    }

    fn public(&self) -> Public<'_, T> {
        let tables = Tables {
            gram: &self.gram,
            designs: &self.designs,
            ..Tables::NONE
        };
        Public::new(&self.config, &self.feature_rows, tables).unwrap()
    }

    fn prepared(&self) -> (PublicState<T, Vec<T>>, Terms<T>) {
        let mut state = PublicState::new(self.config, vec![T::ZERO; storage_len(M)]).unwrap();
        let terms = state.prepare(&self.public(), &mut scratch()).unwrap();
        (state, terms)
    }
}

fn scratch<T: Scalar>() -> Vec<T> {
    vec![T::ZERO; scratch_len(M, POINTS)]
}

/// Numbers of equal size whose norm is this.
fn diagonal<T: Scalar>(norm: f64) -> Vec<T> {
    vec![T::from_f64(norm / 3f64.sqrt()); M + 1]
}

/// The bound by a second way: per agent C² + γ²C², then the noise, then the rounding.
fn bound<T: Scalar>(agents: u32, terms: &Terms<T>, noise_std: f64) -> f64 {
    let radius = terms.clip_radius.to_f64();
    let own = (radius * radius + (GAMMA * radius) * (GAMMA * radius)).sqrt();
    (f64::from(agents) * own + noise_std * 3f64.sqrt() + 9.0 * noise_std) * 513.0 / 512.0
}

/// Sums of everybody's integers: each sends much more than is admissible, in one direction.
fn loud<T: Scalar>(encoding: &JointVectors) -> Vec<i64> {
    let mut sums = vec![0; M + 1];
    for agent in 0..encoding.agents() {
        encoding
            .add_if(true, agent, &[T::from_f64(1e6); M + 1], &mut sums)
            .unwrap();
    }
    sums
}

/// Adds the noise of every server that the encoding counts, and decodes.
fn noised<T: Scalar>(encoding: &JointVectors, mut sums: Vec<i64>, stream: u64) -> Vec<T> {
    let grid = encoding.mechanism().unwrap();
    let source = &mut Simulated::new(Stream::from_seed(stream));
    let mut noise = vec![0; M + 1];
    if encoding.noises() == 2 {
        let pool = grid.fill_noise(source, &mut noise).unwrap();
        sums.iter_mut()
            .zip(pool.noise.iter())
            .for_each(|(sum, noise)| *sum += *noise);
    }
    let pool = grid.fill_noise(source, &mut noise).unwrap();
    let mut out = vec![T::ZERO; M + 1];
    let everybody = grid.everybody().unwrap();
    grid.release(
        &mut sums,
        everybody,
        pool,
        encoding.l2_sensitivity(),
        &mut out,
    )
    .unwrap()
    .value()
    .to_vec()
}

/// All agents at the bound in one direction, through the encoding, and noise that is as long as it
/// is once in 10¹⁷ releases, in the same direction and rounded away from zero.
fn extreme<T: Scalar>(encoding: &JointVectors) -> Vec<T> {
    let grid: &GridGaussian = encoding.mechanism().unwrap();
    let unit = grid.decode_unit(encoding.l2_sensitivity()).unwrap();
    let noise = encoding.noise_std() * (3f64.sqrt() + 9.0) / (3f64.sqrt() * unit);
    let rounding = i64::from(encoding.noises());
    loud::<T>(encoding)
        .iter()
        .map(|sum| T::from_f64((sum + noise as i64 + rounding) as f64 * unit))
        .collect()
}

fn honest_releases_are_taken<T: Scalar>() {
    for (agents, grid_exponent, trust, z) in [
        (1, 16, Trust::OneServer, 40.0),
        (1, 16, Trust::TwoServers, 40.0),
        (12, 20, Trust::OneServer, 1.5),
        (12, 20, Trust::TwoServers, 0.407),
        (5_000, 20, Trust::OneServer, 0.05),
    ] {
        let world = World::<T>::new(agents, grid_exponent, trust);
        let (open, terms) = world.prepared();
        let encoding = JointVectors::new(&world.config, &terms, z).unwrap();
        let noise_std = encoding.noise_std();
        let case = (agents, grid_exponent, trust, T::NAME);
        for stream in 0..20 {
            for sums in [vec![0; M + 1], loud::<T>(&encoding)] {
                let released: Vec<T> = noised(&encoding, sums, stream);
                let mut state = open.clone();
                let taken = state.update(&released, T::from_f64(noise_std), 1, &mut scratch());
                assert_eq!((taken, state.terms()), (Ok(()), None), "{case:?}");
            }
        }
        let released: Vec<T> = extreme(&encoding);
        let longest = norm(&released);
        assert_eq!(
            judge_release(
                &world.config,
                terms.clip_radius,
                &released,
                T::from_f64(noise_std)
            ),
            Ok(()),
            "{case:?}"
        );
        // Negative controls: nothing is to spare but the rounding, and one agent fewer would not
        // have been enough.
        assert!(
            longest > 0.99 * bound(agents, &terms, noise_std),
            "{case:?}: {longest}"
        );
        if agents == 12 {
            let fewer = World::<T>::new(11, grid_exponent, trust).config;
            let refused =
                judge_release(&fewer, terms.clip_radius, &released, T::from_f64(noise_std));
            assert!(
                matches!(
                    refused,
                    Err(PriorError::Norm {
                        what: "release",
                        ..
                    })
                ),
                "{case:?}: {refused:?}"
            );
        }
    }
}

#[test]
fn honest_releases_are_taken_at_the_extreme_too() {
    honest_releases_are_taken::<f64>();
    honest_releases_are_taken::<f32>();
}

fn bound_is_where_it_is_said_to_be<T: Scalar>() {
    let world = World::<T>::new(12, 20, Trust::OneServer);
    let (before, terms) = world.prepared();
    for noise_std in [0.0, 0.5, 300.0] {
        let noise = T::from_f64(noise_std);
        let largest = bound(12, &terms, noise_std);
        let above: Vec<T> = diagonal(largest * (1.0 + 1e-6));
        let below: Vec<T> = diagonal(largest * (1.0 - 1e-6));
        let mut state = before.clone();
        let Err(PriorError::Norm {
            what,
            value,
            largest: found,
        }) = state.update(&above, noise, 1, &mut scratch())
        else {
            panic!(
                "{noise_std} in {}: a release beyond the bound is refused",
                T::NAME
            )
        };
        assert_eq!(what, "release");
        assert!(
            (value / largest - 1.0 - 1e-6).abs() < 2e-7 && (found / largest - 1.0).abs() < 1e-12,
            "{value} {found}"
        );
        // Weights, covariance, h, moments and terms: all of it.
        assert!(state == before && state.terms() == Some(terms));
        let mut test = vec![T::ZERO; self_test_scratch_len(M, POINTS)];
        let untested = state.self_test(&world.public(), &above, noise, 1, &mut test);
        assert!(
            matches!(untested, Err(PriorError::Norm { .. })),
            "{untested:?}"
        );
        assert!(
            noise_std == 0.0
                || state
                    .self_test(&world.public(), &below, noise, 1, &mut test)
                    .is_ok()
        );
        // Negative control: what was refused is its length.
        assert_eq!(state.update(&below, noise, 1, &mut scratch()), Ok(()));
        assert!(state.weights() != before.weights() && state.terms().is_none());
    }
}

#[test]
fn a_release_beyond_the_bound_changes_nothing_and_one_below_it_is_learned() {
    bound_is_where_it_is_said_to_be::<f64>();
    bound_is_where_it_is_said_to_be::<f32>();
}

#[test]
fn absurd_numbers_are_refused_in_any_place() {
    let world = World::<f32>::new(12, 20, Trust::OneServer);
    let (before, terms) = world.prepared();
    let mut state = before.clone();
    for place in 0..=M {
        for absurd in [1e38, -1e38, f32::MAX, 1e4] {
            let mut released = [0.1f32; M + 1];
            released[place] = absurd;
            // Its norm is a number of f64 where its square is none of f32.
            let found = state.update(&released, 0.5, 1, &mut scratch());
            let Err(PriorError::Norm { value, .. }) = found else {
                panic!("{absurd}: {found:?}")
            };
            assert!((value / f64::from(absurd).abs() - 1.0).abs() < 1e-7 && state == before);
        }
        for none in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut released = [0.1f32; M + 1];
            released[place] = none;
            let refused = state.update(&released, 0.5, 1, &mut scratch());
            assert!(
                matches!(
                    refused,
                    Err(PriorError::Number {
                        what: "release",
                        ..
                    })
                ) && state == before
            );
        }
    }
    for none in [f32::NAN, f32::INFINITY] {
        let refused = state.update(&[0.1; M + 1], none, 1, &mut scratch());
        assert!(
            matches!(
                refused,
                Err(PriorError::Number {
                    what: "release",
                    ..
                })
            ) && state == before
        );
    }
    // A norm beyond f64 is no smaller than a bound beyond f64.
    let world = World::<f64>::new(12, 20, Trust::OneServer);
    for (clip_radius, noise_std) in [(1.0, 0.5), (1e308, 0.5), (1.0, 1e308), (1e308, 1e308)] {
        let refused = judge_release(&world.config, clip_radius, &[1e300; M + 1], noise_std);
        assert!(
            matches!(
                refused,
                Err(PriorError::Norm {
                    value: f64::INFINITY,
                    ..
                })
            ),
            "{refused:?}"
        );
    }
    assert!(terms.clip_radius < 10.0, "1e4 is far beyond twelve of them");
}

#[test]
fn a_replay_learns_from_no_release_that_its_server_could_not_have_made() {
    let world = World::<f64>::new(12, 20, Trust::OneServer);
    let plan = Plan {
        rounds: &[0, 0],
        noise_multipliers: &[1.5, 1.5],
    };
    let replayed = |released: &[f64]| {
        let mut posterior = PublicState::new(world.config, vec![0.0; storage_len(M)]).unwrap();
        let mut scratch = scratch();
        let mut filter = Filter::new(plan, world.public(), &mut posterior, &mut scratch).unwrap();
        let test = filter.replay_first(released, &mut vec![0.0; self_test_scratch_len(M, POINTS)]);
        (test, posterior.weights().to_vec())
    };
    let (one, after_one) = replayed(&[0.1, -0.2, 2.0]);
    let (none, after_none) = replayed(&[0.1, -0.2, 2.0, 0.1, 1e9, 2.0]);
    assert!(
        matches!(
            none,
            Err(ServerError::Prior(PriorError::Norm {
                what: "release",
                ..
            }))
        ),
        "{none:?}"
    );
    assert!(
        one.is_ok() && after_none == after_one,
        "the posterior is that of the releases before"
    );
    // Negative control: the same without what is absurd.
    let (two, after_two) = replayed(&[0.1, -0.2, 2.0, 0.1, 1.0, 2.0]);
    assert!(two.is_ok() && after_two != after_one);
}
