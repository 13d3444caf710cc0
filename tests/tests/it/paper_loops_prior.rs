//! The federated prior once more, as its formulas stand on paper: dense matrices, Gauss-Jordan
//! inverses, the information form. Nothing here is fast or careful; core must agree with it to
//! 1e-9, and where integers decide, to the last bit.

use sordino_core::federated::prior::{
    Config, Mechanism, Observations, Parameters, PriorError, Public, PublicState, Tables, Terms,
    contribution, contribution_scratch_len, event, l2_sensitivity, mu_spent, repeats, scratch_len,
    shares, storage_len, total_mu,
};
use sordino_core::linalg::packed_len;
use sordino_core::privacy::encode::Outcome;
use sordino_core::random::{Party, Purpose, RunSeed, Simulated, Stream, normal};
use sordino_tests::dense::*;
use sordino_tests::prior::{GAMMA, M, N, POINTS, World, logs, small};

fn contribution_of(
    world: &World<f64>,
    terms: &Terms<f64>,
    w: &[f64],
    log: &[f64],
) -> (Vec<f64>, f64) {
    let observations = Observations::new(log, world.candidates as usize).unwrap();
    let mut scratch = vec![0.0; contribution_scratch_len(observations.len())];
    let mut out = vec![0.0; M + 1];
    let public = world.public(true);
    let u = contribution(&public, terms, w, &observations, &mut scratch, &mut out).unwrap();
    (out, u)
}

/// The sums' encoding, noise and decoding, as one loop over the agents in an order of its own.
fn release_as_a_loop(
    vectors: &[Vec<f64>],
    mechanism: &Mechanism,
    seed: RunSeed,
    round: u32,
) -> Vec<f64> {
    let k = mechanism.grid().radius();
    let delta = mechanism.l2_sensitivity();
    let mut sums = vec![0i64; M + 1];
    for v in vectors.iter().rev() {
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let scale = k as f64 / delta * (1.0 / (norm / delta).max(1.0));
        let units: Vec<i64> = v.iter().map(|x| (scale * x).trunc() as i64).collect();
        assert!(units.iter().map(|u| u * u).sum::<i64>() <= (k * k) as i64);
        sums.iter_mut().zip(units).for_each(|(sum, u)| *sum += u);
    }
    let mut noise = vec![0i64; M + 1];
    let source = &mut Simulated::new(seed.stream(Party::Server, Purpose::Release, round));
    let pool = mechanism.grid().fill_noise(source, &mut noise).unwrap();
    let mut out = vec![0.0; M + 1];
    let sample = mechanism.grid().everybody().unwrap();
    let release = mechanism
        .grid()
        .release(&mut sums, sample, pool, delta, &mut out)
        .unwrap();
    assert_eq!(
        (release.value().len(), release.event()),
        (M + 1, event(mechanism.grid().noise_multiplier()))
    );
    // Decoded by hand: one unit is Δ/K.
    sums.iter()
        .map(|sum| *sum as f64 * (delta / k as f64))
        .collect()
}

fn release(vectors: &[Vec<f64>], mechanism: &Mechanism, seed: RunSeed, round: u32) -> Vec<f64> {
    let encoder = mechanism.encoder().unwrap();
    let mut sums = vec![0i64; M + 1];
    for v in vectors {
        encoder.add(v, &[1.0], &mut sums).unwrap();
    }
    let mut noise = vec![0i64; M + 1];
    let mut out = vec![0.0; M + 1];
    let source = &mut Simulated::new(seed.stream(Party::Server, Purpose::Release, round));
    let pool = mechanism.grid().fill_noise(source, &mut noise).unwrap();
    let sample = mechanism.grid().everybody().unwrap();
    let release = mechanism
        .grid()
        .release(
            &mut sums,
            sample,
            pool,
            mechanism.l2_sensitivity(),
            &mut out,
        )
        .unwrap();
    assert_eq!(
        (release.value().len(), release.event()),
        (M + 1, event(mechanism.grid().noise_multiplier()))
    );
    out
}

/// The public state of the loop.
struct Dense {
    w: Vec<f64>,
    covariance: Matrix,
    h: f64,
}

/// Step 1: κ, Ā, S(h), S(0), mean AAᵀ.
struct Moments {
    ridge: f64,
    response: Matrix,
    scatter: Matrix,
    without: Matrix,
    squares: Matrix,
}

fn moments(world: &World<f64>, state: &Dense) -> Moments {
    let lambda = world.config.parameters().noise_variance;
    let phi = matrix(&world.feature_rows, M);
    let kernel = {
        let f = matrix(&world.prior_rows, world.rank);
        product(&f, &transposed(&f))
    };
    let mut gram = product(&transposed(&phi), &phi);
    gram.iter_mut()
        .flatten()
        .for_each(|x| *x /= f64::from(world.candidates));
    let ridge = lambda / (trace(&product(&gram, &state.covariance)) / trace(&gram) + state.h);
    let zero = identity(M, 0.0);
    let mut sums = [zero.clone(), zero.clone(), zero.clone(), zero];
    let designs: Vec<&[u32]> = world.designs.chunks(POINTS as usize).collect();
    for design in &designs {
        let phi_v: Matrix = design.iter().map(|x| phi[*x as usize].clone()).collect();
        let k: Matrix = design
            .iter()
            .map(|x| {
                design
                    .iter()
                    .map(|y| kernel[*x as usize][*y as usize])
                    .collect()
            })
            .collect();
        let b = product(
            &transposed(&phi_v),
            &inverse(&combined(1.0, &k, ridge, &identity(POINTS as usize, 1.0))),
        );
        let a = product(&b, &phi_v);
        let s = |spread: &Matrix| {
            let first = product(&product(&a, spread), &transposed(&a));
            combined(1.0, &first, lambda, &product(&b, &transposed(&b)))
        };
        let with = combined(1.0, &state.covariance, state.h, &identity(M, 1.0));
        for (sum, term) in sums.iter_mut().zip([
            a.clone(),
            s(&with),
            s(&state.covariance),
            product(&a, &transposed(&a)),
        ]) {
            *sum = combined(1.0, sum, 1.0 / designs.len() as f64, &term);
        }
    }
    let [response, scatter, without, squares] = sums;
    Moments {
        ridge,
        response,
        scatter,
        without,
        squares,
    }
}

/// Step 2: what the data say beyond the release.
fn innovation(world: &World<f64>, ridge: f64, radius: f64, w: &[f64], log: &[f64]) -> Vec<f64> {
    let f = matrix(&world.prior_rows, world.rank);
    let phi = matrix(&world.feature_rows, M);
    let seen: Vec<(usize, f64)> = log
        .chunks(2)
        .map(|entry| (entry[0] as usize, entry[1]))
        .collect();
    let rows: Matrix = seen.iter().map(|(x, _)| phi[*x].clone()).collect();
    let prior: Matrix = seen.iter().map(|(x, _)| f[*x].clone()).collect();
    let k = combined(
        1.0,
        &product(&prior, &transposed(&prior)),
        ridge,
        &identity(seen.len(), 1.0),
    );
    let expected = product(&rows, &column(w));
    let residual: Vec<f64> = seen
        .iter()
        .zip(&expected)
        .map(|((_, y), e)| y - e[0])
        .collect();
    let d = product(
        &transposed(&rows),
        &product(&inverse(&k), &column(&residual)),
    );
    let norm = d.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
    let u = (radius / norm).min(1.0);
    d.iter()
        .flatten()
        .map(|x| u * x)
        .chain([GAMMA * radius * u])
        .collect()
}

/// Steps 3 to 5, in the information form, and the note's rule for h as it stands there.
fn updated(
    world: &World<f64>,
    state: &Dense,
    step: &Moments,
    released: &[f64],
    std: f64,
    repeats: u32,
) -> Dense {
    let n = f64::from(world.config.parameters().agents);
    let radius = trace(&step.scatter).sqrt();
    let sigma = std / n;
    let noise = (sigma / (GAMMA * radius)).powi(2);
    let clip =
        (released[M] / n / (GAMMA * radius) / noise + 0.92 / 0.04) / (1.0 / noise + 1.0 / 0.04);
    let clip = clip.clamp(0.1, 1.0);
    let h_matrix = combined(clip, &step.response, 0.0, &step.response);
    let common = product(
        &product(&step.response, &state.covariance),
        &transposed(&step.response),
    );
    let sampling = combined(1.0, &step.scatter, -1.0, &common);
    let r = combined(
        sigma * sigma,
        &identity(M, 1.0),
        f64::from(repeats) * clip * clip / n,
        &sampling,
    );
    let weighted = product(&transposed(&h_matrix), &inverse(&r));
    let information = combined(
        1.0,
        &inverse(&state.covariance),
        1.0,
        &product(&weighted, &h_matrix),
    );
    let covariance = inverse(&information);
    let s: Vec<f64> = released[..M].iter().map(|x| x / n).collect();
    let change = product(&covariance, &product(&weighted, &column(&s)));
    let w = state.w.iter().zip(&change).map(|(w, c)| w + c[0]).collect();
    let excess = ((radius / clip).powi(2) - trace(&step.without)) / trace(&step.squares);
    // tr S(h) = C², so the excess is never below h: the note's second branch never acts.
    assert!(excess >= state.h * (1.0 - 1e-9), "{excess} {}", state.h);
    let h = if clip < 0.85 {
        excess.max(0.0)
    } else {
        state.h.min(excess.max(0.0))
    };
    Dense { w, covariance, h }
}

const ROUNDS: [u32; 4] = [0, 0, 1, 2];

#[test]
fn the_public_state_is_a_dense_bayesian_computation() {
    let world = small(N);
    for (own, z) in [(0.0, 1.5), (1.5, 0.4)] {
        let seed = RunSeed::new(3, 1);
        let logs = logs(&world, seed, own);
        let mut state = PublicState::new(world.config, vec![0.0; storage_len(M)]).unwrap();
        let mut scratch = vec![0.0; scratch_len(M, POINTS as usize)];
        let mut dense = Dense {
            w: vec![0.0; M],
            covariance: identity(M, 1.0),
            h: 0.0,
        };
        let mut grown = false;
        for j in 0..ROUNDS.len() {
            let terms = state.prepare(&world.public(true), &mut scratch).unwrap();
            let step = moments(&world, &dense);
            assert!((terms.ridge / step.ridge - 1.0).abs() < 1e-9);
            assert!((terms.clip_radius / trace(&step.scatter).sqrt() - 1.0).abs() < 1e-9);
            assert!((terms.response / trace(&step.squares) - 1.0).abs() < 1e-9);
            assert!(furthest(state.mean_response(), &step.response.concat()) < 1e-9);
            assert!(furthest(state.scatter(), &step.scatter.concat()) < 1e-9);
            let vectors: Vec<Vec<f64>> = logs
                .iter()
                .map(|log| contribution_of(&world, &terms, state.weights(), log).0)
                .collect();
            for (log, vector) in logs.iter().zip(&vectors) {
                let radius = trace(&step.scatter).sqrt();
                assert!(
                    furthest(
                        vector,
                        &innovation(&world, step.ridge, radius, &dense.w, log)
                    ) < 1e-9
                );
            }
            let mechanism = Mechanism::new(&world.config, &terms, z).unwrap();
            let released = release(&vectors, &mechanism, seed, j as u32);
            let by_hand = release_as_a_loop(&vectors, &mechanism, seed, j as u32);
            assert_eq!(
                released.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
                by_hand.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
            );
            let std = mechanism.noise_std();
            let c = repeats(&ROUNDS, j);
            state.update(&released, std, c, &mut scratch).unwrap();
            let before = std::mem::replace(
                &mut dense,
                Dense {
                    w: vec![],
                    covariance: vec![],
                    h: 0.0,
                },
            );
            dense = updated(&world, &before, &step, &released, std, c);
            assert!(
                furthest(state.weights(), &dense.w) < 1e-9,
                "release {j}: {}",
                furthest(state.weights(), &dense.w)
            );
            assert!(furthest(state.covariance(), &dense.covariance.concat()) < 1e-9);
            assert!((state.heterogeneity() - dense.h).abs() < 1e-9 * (1.0 + dense.h));
            grown |= dense.h > before.h;
            // Negative control: without the factor c a first release reads otherwise.
            if c > 1 {
                let other = updated(&world, &before, &step, &released, std, 1);
                assert!(furthest(state.weights(), &other.w) > 1e-4);
            }
        }
        assert_eq!(
            grown,
            own > 0.0,
            "agents that differ are noticed, agents that agree are not suspected"
        );
        assert_eq!(
            state.update(&[0.0; M + 1], 1.0, 1, &mut scratch),
            Err(PriorError::NotPrepared)
        );
    }
}

/// Mean over populations of (w* − w)ᵀΣ⁻¹(w* − w)/M, which is 1 where Σ is what w errs by; three
/// releases of one data set, agents as the model has them, next to no noise.
fn calibration(world: &World<f64>, counted: u32) -> f64 {
    let p = *world.config.parameters();
    let mut scratch = vec![0.0; scratch_len(M, POINTS as usize)];
    let mut sum = 0.0;
    let populations = 150;
    for run in 0..populations {
        let seed = RunSeed::new(11, run);
        let mut truth = [0.0; M];
        normal::fill(
            &mut seed.stream(Party::World, Purpose::Objective, 0),
            &mut truth,
        );
        let logs: Vec<Vec<f64>> = (0..p.agents)
            .map(|n| {
                let mut stream = seed.stream(Party::Agent(n), Purpose::InitialPoints, 0);
                let mut observe = || {
                    let x = stream.below(world.candidates) as usize;
                    let f: f64 = world.feature_rows[x * M..][..M]
                        .iter()
                        .zip(&truth)
                        .map(|(a, b)| a * b)
                        .sum();
                    [
                        x as f64,
                        f + p.noise_variance.sqrt() * normal::draw::<f64>(&mut stream),
                    ]
                };
                (0..POINTS).flat_map(|_| observe()).collect()
            })
            .collect();
        let mut state = PublicState::new(world.config, vec![0.0; storage_len(M)]).unwrap();
        for round in 0..3 {
            let terms = state.prepare(&world.public(true), &mut scratch).unwrap();
            // Clipped as agents do it: sums of longer vectors are no release.
            let vectors: Vec<Vec<f64>> = logs
                .iter()
                .map(|log| contribution_of(world, &terms, state.weights(), log).0)
                .collect();
            let mut sums = vec![0.0; M + 1];
            vectors
                .iter()
                .for_each(|v| sums.iter_mut().zip(v).for_each(|(sum, x)| *sum += x));
            let std = 0.02 * l2_sensitivity(&world.config, &terms);
            let mut noise = vec![0.0; M + 1];
            normal::fill(
                &mut seed.stream(Party::Server, Purpose::Release, round),
                &mut noise,
            );
            sums.iter_mut()
                .zip(&noise)
                .for_each(|(sum, e)| *sum += std * e);
            state.update(&sums, std, counted, &mut scratch).unwrap();
        }
        let error: Vec<f64> = truth
            .iter()
            .zip(state.weights())
            .map(|(a, b)| a - b)
            .collect();
        let solved = product(&inverse(&matrix(state.covariance(), M)), &column(&error));
        sum += error
            .iter()
            .zip(&solved)
            .map(|(e, s)| e * s[0])
            .sum::<f64>()
            / M as f64;
    }
    sum / f64::from(populations)
}

/// The same agents' data released three times. Standard error of the mean: √(2/(9·150)) = .04 where
/// calibrated.
#[test]
fn releases_of_the_same_data_are_one_sample_of_agents() {
    let world = small(40);
    let counted = calibration(&world, 3);
    let naive = calibration(&world, 1);
    println!(
        "mean squared error over what the state believes: {counted:.3} (c = 3), {naive:.3} (c = 1)"
    );
    assert!(counted < 1.3 && counted > 0.4, "{counted}");
    // Negative control: the note's filter believes in three times as many agents.
    assert!(naive > 1.6 && naive > 1.8 * counted, "{naive}");
}

#[test]
fn whatever_an_agent_sends_its_joint_norm_is_within_the_sensitivity() {
    let world = small(N);
    let mut state = PublicState::new(world.config, vec![0.0; storage_len(M)]).unwrap();
    let mut scratch = vec![0.0; scratch_len(M, POINTS as usize)];
    let terms = state.prepare(&world.public(true), &mut scratch).unwrap();
    let mechanism = Mechanism::new(&world.config, &terms, 0.7).unwrap();
    let encoder = mechanism.encoder().unwrap();
    let k = u128::from(mechanism.grid().radius());
    let squares = |sums: &[i64]| {
        sums.iter()
            .map(|u| u128::from(u.unsigned_abs()).pow(2))
            .sum::<u128>()
    };
    let zoo = [
        0.0,
        -0.0,
        5e-324,
        1.0,
        -1e3,
        1e154,
        -1e155,
        f64::MAX,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let mut stream = Stream::from_seed(77);
    let mut seen = [0; 4];
    for _ in 0..20_000 {
        let hostile = stream.below(3);
        let span = 10f64.powf(12.0 * stream.unit::<f64>() - 4.0);
        let vector: Vec<f64> = (0..=M)
            .map(|_| match hostile {
                0 => zoo[stream.below(11) as usize],
                1 => zoo[stream.below(5) as usize],
                _ => span * (2.0 * stream.unit::<f64>() - 1.0),
            })
            .collect();
        let mut sums = vec![0i64; M + 1];
        seen[encoder.add(&vector, &[1.0], &mut sums).unwrap() as usize] += 1;
        assert!(squares(&sums) <= k * k, "{vector:?}");
        let decoded = sums
            .iter()
            .map(|u| (*u as f64 * mechanism.l2_sensitivity() / k as f64).powi(2))
            .sum::<f64>();
        assert!(decoded.sqrt() <= mechanism.l2_sensitivity() * (1.0 + 1e-12));
    }
    assert!(
        seen[Outcome::Kept as usize] > 100 && seen[Outcome::Clipped as usize] > 100,
        "{seen:?}"
    );
    assert!(seen[Outcome::Zeroed as usize] > 100, "{seen:?}");
    // Honest agents, the ones with outrageous data included, pass unchanged up to a grid step and a
    // rounding.
    for scale in [1.0, 1e3, 1e9] {
        for log in logs(&world, RunSeed::new(5, 0), 1.0) {
            let log: Vec<f64> = log
                .chunks(2)
                .flat_map(|entry| [entry[0], scale * entry[1]])
                .collect();
            let (vector, u) = contribution_of(&world, &terms, state.weights(), &log);
            let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!(
                u <= 1.0 && norm <= mechanism.l2_sensitivity() * (1.0 + 1e-14),
                "{norm}"
            );
            let mut sums = vec![0i64; M + 1];
            encoder.add(&vector, &[1.0], &mut sums).unwrap();
            let unit = mechanism.l2_sensitivity() / k as f64;
            assert!(
                sums.iter()
                    .zip(&vector)
                    .all(|(sum, x)| (*sum as f64 * unit - x).abs() < 1.001 * unit)
            );
        }
    }
    // Negative control: with the clip coordinate left out of Δ an honest clipped vector is longer
    // than what is charged.
    let loud: Vec<f64> = logs(&world, RunSeed::new(5, 0), 1.0)[0]
        .chunks(2)
        .flat_map(|e| [e[0], 1e3 * e[1]])
        .collect();
    let (vector, u) = contribution_of(&world, &terms, state.weights(), &loud);
    assert!(u < 0.1);
    let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!(
        norm(&vector) <= terms.clip_radius * 1.001,
        "a vector this loud hardly uses the clip coordinate"
    );
    // The extreme is ‖d‖ = C exactly, where u = 1.
    let direction = 1.0 / norm(&vector[..M]);
    let extreme: Vec<f64> = vector[..M]
        .iter()
        .map(|x| x * direction * terms.clip_radius)
        .chain([GAMMA * terms.clip_radius])
        .collect();
    let units = |delta: f64| {
        extreme
            .iter()
            .map(|x| u128::from((k as f64 / delta * x).trunc().abs() as u64).pow(2))
            .sum::<u128>()
    };
    assert!(units(mechanism.l2_sensitivity()) <= k * k);
    assert!(
        units(terms.clip_radius) > k * k * 106 / 100,
        "left out, the sensitivity is 3 % too small"
    );
}

/// The same data in single precision, and twice: near, and the same bits.
#[test]
fn single_precision_is_near_and_every_run_has_the_same_bits() {
    fn run<T: sordino_core::math::Scalar>() -> Vec<f64> {
        let parameters = Parameters {
            designs: 32,
            ..Parameters::usual(N, M as u32, POINTS, 0.05)
        };
        let world = World::<T>::new(parameters, 40, 0.2, RunSeed::new(7, 0));
        let reference = small(N);
        let mut state = PublicState::new(world.config, vec![T::ZERO; storage_len(M)]).unwrap();
        let mut scratch = vec![T::ZERO; scratch_len(M, POINTS as usize)];
        let mut log = vec![];
        for j in 0..3u32 {
            let terms = state.prepare(&world.public(false), &mut scratch).unwrap();
            let mut sums = vec![T::ZERO; M + 1];
            for agent in logs(&reference, RunSeed::new(3, 1), 0.0) {
                log.clear();
                log.extend(agent.iter().map(|x| T::from_f64(*x)));
                let observations = Observations::new(&log, 40).unwrap();
                let mut work = vec![T::ZERO; contribution_scratch_len(observations.len())];
                let mut out = vec![T::ZERO; M + 1];
                contribution(
                    &world.public(false),
                    &terms,
                    state.weights(),
                    &observations,
                    &mut work,
                    &mut out,
                )
                .unwrap();
                sums.iter_mut().zip(&out).for_each(|(sum, x)| *sum += *x);
            }
            let mut noise = vec![0.0f64; M + 1];
            normal::fill(
                &mut RunSeed::new(3, 1).stream(Party::Server, Purpose::Release, j),
                &mut noise,
            );
            let std = l2_sensitivity(&world.config, &terms);
            sums.iter_mut()
                .zip(&noise)
                .for_each(|(sum, e)| *sum += T::from_f64(std * e));
            state
                .update(&sums, T::from_f64(std), 3, &mut scratch)
                .unwrap();
        }
        let mut draw = vec![T::ZERO; M];
        let mut factor = vec![T::ZERO; packed_len(M)];
        state
            .draw(
                &mut RunSeed::new(7, 0).stream(Party::World, Purpose::WeightDraw, 1),
                &mut factor,
                &mut draw,
            )
            .unwrap();
        state
            .weights()
            .iter()
            .chain(state.covariance())
            .map(|x| x.to_f64())
            .collect()
    }
    let wide = run::<f64>();
    let again = run::<f64>();
    let single = run::<f32>();
    assert_eq!(
        wide.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
        again.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    );
    let largest = wide.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
    assert!(
        furthest(&wide, &single) < 2e-3 * largest,
        "{} of {largest}",
        furthest(&wide, &single)
    );
    assert!(furthest(&wide, &single) > 0.0);
}

#[test]
fn nonsense_is_refused_by_name() {
    let world = small(N);
    let mut state = PublicState::new(world.config, vec![0.0; storage_len(M)]).unwrap();
    let mut scratch = vec![0.0; scratch_len(M, POINTS as usize)];
    assert!(PublicState::new(world.config, vec![0.0; storage_len(M) - 1]).is_err());
    let short = scratch.len() - 1;
    assert!(
        state
            .prepare(&world.public(true), &mut scratch[..short])
            .is_err()
    );
    let tables = Tables {
        prior_rows: &world.prior_rows,
        gram: &world.gram,
        designs: &world.designs,
    };
    let new = |rows, tables| Public::new(&world.config, rows, tables).map(|_| ());
    let rows = &world.feature_rows[..];
    let refused = |what, tables| matches!(new(rows, tables), Err(PriorError::Length { what: found, .. }) if found == what);
    assert!(
        refused(
            "gram",
            Tables {
                gram: &[],
                ..tables
            }
        ) && refused(
            "gram",
            Tables {
                gram: &world.gram[1..],
                ..tables
            }
        )
    );
    assert!(refused(
        "designs",
        Tables {
            designs: &[],
            ..tables
        }
    ));
    assert!(refused(
        "prior rows",
        Tables {
            prior_rows: &world.prior_rows[1..],
            ..tables
        }
    ));
    assert!(matches!(
        new(&rows[1..], tables),
        Err(PriorError::Length {
            what: "feature rows",
            ..
        })
    ));
    assert!(matches!(
        new(&[], tables),
        Err(PriorError::Length {
            what: "feature rows",
            len: 0,
            ..
        })
    ));
    // An agent needs no tables, an update does; and one configuration.
    let bare = Public::new(&world.config, rows, Tables::NONE).unwrap();
    assert!(matches!(
        state.prepare(&bare, &mut scratch),
        Err(PriorError::Length {
            what: "gram",
            len: 0,
            ..
        })
    ));
    let other = Config::new(Parameters {
        clip_weight: 0.5,
        ..*world.config.parameters()
    })
    .unwrap();
    let public = Public::new(&other, rows, tables).unwrap();
    assert_eq!(
        state.prepare(&public, &mut scratch),
        Err(PriorError::OtherConfig)
    );
    let mut designs = world.designs.clone();
    designs[3] = 40;
    let named = new(
        rows,
        Tables {
            designs: &designs,
            ..tables
        },
    );
    assert_eq!(
        named,
        Err(PriorError::Candidate {
            entry: 3,
            candidates: 40
        })
    );
    state.prepare(&world.public(true), &mut scratch).unwrap();
    let before = state.clone();
    assert!(
        state
            .update(&[f64::NAN; M + 1], 1.0, 1, &mut scratch)
            .is_err()
    );
    assert!(state.update(&[0.0; M], 1.0, 1, &mut scratch).is_err());
    assert_eq!(before, state);
    for bad in [
        &[40.0, 1.0][..],
        &[0.5, 1.0],
        &[-1.0, 1.0],
        &[1.0, f64::NAN],
        &[1.0],
    ] {
        assert!(Observations::new(bad, 40).is_err(), "{bad:?}");
    }
    let epsilon = 0.91;
    let delta = 200f64.powf(-1.1);
    let mut z = [0.0; 6];
    shares(total_mu(epsilon, delta).unwrap(), &[1.0; 6], &mut z).unwrap();
    assert!(mu_spent(&z) <= total_mu(epsilon, delta).unwrap());
}
