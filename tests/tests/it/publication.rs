//! A prior file's publication: the numbers of an independent program, the public rule, what units
//! cannot change, what the releases are worth and what the self-test says of them.

use super::landmarks::grid;
use serde_json::Value;
use sordino_core::federated::prior::{
    Constant, Mechanism, Observations, Parameters, PriorError, Public, Tables, Terms, contribution,
    contribution_scratch_len, event, kernel_rows, landmark_rows, landmark_rows_scratch_len,
    mu_spent, total_mu,
};
use sordino_core::linalg::dot;
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose, RunSeed, Stream, normal};
use sordino_tests::publication::{
    Publication, State, correlation, observed, own_units, two_releases,
};
use sordino_tests::{cases, indices, list, number, numbers, rows, vectors, whole};

/// N contributors of n points each, 128 designs, 50 features at most.
fn parameters(agents: u32, points: u32) -> Parameters {
    Parameters::own_units(agents, 50, points)
}

fn close(found: f64, expected: f64, what: &str) {
    let tolerance = 1e-7 * expected.abs().max(1e-2);
    assert!(
        (found - expected).abs() <= tolerance,
        "{what}: {found} instead of {expected}"
    );
}

fn all_close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    found
        .iter()
        .zip(expected)
        .for_each(|(a, b)| close(*a, *b, what));
}

/// The world and the logs of a case of `prior_file.json`.
fn world_of(case: &Value) -> (Publication, Vec<Vec<f64>>) {
    let points = numbers(&case["candidates"]);
    let dim = whole(&case["dim"]) as usize;
    let designs = list(&case["designs"]);
    let at = list(&case["points"]);
    let values = rows(&case["values"]);
    let parameters = Parameters {
        designs: designs.len() as u32,
        ..parameters(at.len() as u32, values[0].len() as u32)
    };
    let mut world = Publication::new(points, dim, whole(&case["features"]) as usize, parameters);
    world.designs = designs.iter().flat_map(indices).map(|x| x as u32).collect();
    let log = |(at, values): (&Value, &Vec<f64>)| {
        indices(at)
            .into_iter()
            .zip(values)
            .flat_map(|(x, y)| [x as f64, *y])
            .collect::<Vec<f64>>()
    };
    (world, at.iter().zip(&values).map(log).collect())
}

/// `tests/vectors/prior_file.py` has the equations as they stand on paper, in numpy: lengthscale,
/// landmarks, κ, C, ḡ, h, w, Σ and B of two releases whose noise is counted and drawn as zero.
#[test]
fn a_publication_is_what_an_independent_program_computes() {
    let file = vectors("prior_file.json");
    let mut clipped = 0;
    for case in cases(&file, "cases") {
        let (world, logs) = world_of(case);
        close(
            world.landmarks.lengthscale,
            number(&case["lengthscale"]),
            "lengthscale",
        );
        assert_eq!(
            world.pivots,
            indices(&case["pivots"])
                .iter()
                .map(|x| *x as u32)
                .collect::<Vec<_>>()
        );
        let mut state = world.fresh();
        let mut scratch = world.scratch();
        let mut sum = 0.0;
        for step in list(&case["steps"]) {
            let terms = state.prepare(&world.public(), &mut scratch).unwrap();
            close(terms.ridge, number(&step["ridge"]), "ridge");
            close(
                terms.clip_radius,
                number(&step["clip_radius"]),
                "clip radius",
            );
            let mut sums = vec![0.0; world.config.contribution_len()];
            for log in &logs {
                let (vector, _) = world.vector(&state, log);
                sums.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x);
            }
            let std =
                number(&case["noise_multiplier"]) * terms.clip_radius * (1.0f64 + 0.0625).sqrt();
            sum += state
                .self_test(&world.public(), &sums, std, 2, &mut world.test_scratch())
                .unwrap();
            state.update(&sums, std, 2, &mut scratch).unwrap();
            close(sum, number(&step["self_test"]), "self-test");
            close(
                state.clip_factor(),
                number(&step["clip_factor"]),
                "clip factor",
            );
            close(
                state.heterogeneity(),
                number(&step["heterogeneity"]),
                "heterogeneity",
            );
            all_close(state.weights(), &numbers(&step["weights"]), "weights");
            clipped += usize::from(state.heterogeneity() > 0.0);
        }
        all_close(
            state.covariance(),
            &numbers(&case["covariance"]),
            "covariance",
        );
        // Negative control: the same with a constant that is believed to be known.
        let (known, logs) = world_of(case);
        let known = known.with(Constant::Known);
        let mut state = known.fresh();
        let terms = state.prepare(&known.public(), &mut scratch).unwrap();
        assert!(
            (terms.clip_radius / number(&list(&case["steps"])[0]["clip_radius"]) - 1.0).abs()
                > 1e-3
        );
        assert!(known.vector(&state, &logs[0]).1 <= 1.0);
    }
    assert!(clipped > 0, "heterogeneity is part of what is compared");
}

/// The largest difference between the joint vectors of two logs, at the second release too, where w
/// is not 0.
fn difference(world: &Publication, state: &State, one: &[f64], other: &[f64]) -> f64 {
    let a = world.vector(state, one).0;
    let b = world.vector(state, other).0;
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
}

#[test]
fn neither_units_nor_a_constant_change_a_contribution() {
    let world = Publication::line(60, 9, parameters(3, 6));
    let known = Publication::line(60, 9, parameters(3, 6));
    let known = known.with(Constant::Known);
    let mut stream = Stream::from_seed(8);
    let function = world.function(&mut stream);
    let log = observed(&function, 6, 0.1, &mut stream);
    let changed = |scale: f64, offset: f64| -> Vec<f64> {
        log.chunks(2)
            .flat_map(|entry| [entry[0], scale * entry[1] + offset])
            .collect()
    };
    let mut state = world.fresh();
    let mut plain = known.fresh();
    for step in 0..2 {
        state
            .prepare(&world.public(), &mut world.scratch())
            .unwrap();
        plain
            .prepare(&known.public(), &mut known.scratch())
            .unwrap();
        for (scale, offset) in [(1e-3, 0.0), (1.0, 1e4), (250.0, -3.0)] {
            assert!(
                difference(&world, &state, &log, &changed(scale, offset)) < 1e-9,
                "{step} {scale} {offset}"
            );
        }
        // Negative controls: the other sign of a function is another; and values around another
        // mean are, where the constant is known. These values are the units' own, so that it is the
        // projection that is tested.
        assert!(difference(&world, &state, &log, &changed(-1.0, 0.0)) > 0.1);
        let z = own_units(&log);
        let moved = |world: &Publication, state: &State, by: f64| {
            let z: Vec<f64> = z
                .chunks(2)
                .flat_map(|entry| [entry[0], entry[1] + by])
                .collect();
            world.raw(state, &z).0
        };
        let far = |a: Vec<f64>, b: Vec<f64>| {
            a.iter()
                .zip(b)
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f64::max)
        };
        assert!(far(moved(&world, &state, 0.0), moved(&world, &state, 1e3)) < 1e-9);
        assert!(far(moved(&known, &plain, 0.0), moved(&known, &plain, 1.0)) > 0.1);
        for (world, state) in [(&world, &mut state), (&known, &mut plain)] {
            let vector = world.vector(state, &log).0;
            state.update(&vector, 0.5, 1, &mut world.scratch()).unwrap();
        }
    }
    // A function of one value, and no values at all, say nothing: d = 0, u = 1.
    state
        .prepare(&world.public(), &mut world.scratch())
        .unwrap();
    for log in [&[][..], &[4.0, 17.0]] {
        let (vector, u) = world.vector(&state, log);
        assert!(
            u == 1.0 && vector[..9].iter().all(|x| x.abs() < 1e-14),
            "{vector:?}"
        );
    }
}

/// A contributor needs no candidates: with its own points, features of these and a factor of their
/// kernel, all of it a few kilobytes, it sends what it would send by the candidates' tables; in
/// single precision nearly that.
#[test]
fn a_contributor_with_points_of_its_own_sends_the_same() {
    fn sent<T: Scalar>(world: &Publication, state: &State, log: &[f64]) -> Vec<f64> {
        let convert = |x: &[f64]| x.iter().map(|x| T::from_f64(*x)).collect::<Vec<T>>();
        let m = world.config.features();
        let n = log.len() / 2;
        let coordinates = |i: usize| world.points[i * world.dim..][..world.dim].to_vec();
        let landmarks = convert(
            &world
                .pivots
                .iter()
                .flat_map(|i| coordinates(*i as usize))
                .collect::<Vec<_>>(),
        );
        let points = convert(
            &log.chunks(2)
                .flat_map(|entry| coordinates(entry[0] as usize))
                .collect::<Vec<_>>(),
        );
        let lengthscale = T::from_f64(world.landmarks.lengthscale);
        let mut rows = vec![T::ZERO; n * m];
        let mut factor = vec![T::ZERO; n * n];
        let mut scratch = vec![T::ZERO; landmark_rows_scratch_len(m).max(n)];
        landmark_rows(
            lengthscale,
            &landmarks,
            world.dim,
            &points,
            &mut rows,
            &mut scratch,
        )
        .unwrap();
        kernel_rows(lengthscale, &points, world.dim, &mut factor, &mut scratch).unwrap();
        let tables = Tables {
            prior_rows: &factor,
            ..Tables::NONE
        };
        let public = Public::new(&world.config, &rows, tables).unwrap();
        let own: Vec<f64> = own_units(log)
            .chunks(2)
            .enumerate()
            .flat_map(|(i, entry)| [i as f64, entry[1]])
            .collect();
        let own = convert(&own);
        let mut out = vec![T::ZERO; m + 1];
        let observations = Observations::new(&own, n).unwrap();
        let mut scratch = vec![T::ZERO; contribution_scratch_len(n)];
        let terms = state.terms().unwrap();
        let terms = Terms {
            ridge: T::from_f64(terms.ridge),
            clip_radius: T::from_f64(terms.clip_radius),
            response: T::from_f64(terms.response),
        };
        contribution(
            &public,
            &terms,
            &convert(state.weights()),
            &observations,
            &mut scratch,
            &mut out,
        )
        .unwrap();
        out.iter().map(|x| x.to_f64()).collect()
    }
    let world = Publication::new(grid(2, 12), 2, 20, parameters(3, 6));
    let mut stream = Stream::from_seed(9);
    let function = world.function(&mut stream);
    let mut state = world.fresh();
    for _ in 0..2 {
        state
            .prepare(&world.public(), &mut world.scratch())
            .unwrap();
        for n in [2, 6, 25] {
            let log = observed(&function, n, 0.1, &mut stream);
            let by_table = world.vector(&state, &log).0;
            let far = |other: &[f64]| {
                by_table
                    .iter()
                    .zip(other)
                    .map(|(a, b)| (a - b).abs())
                    .fold(0.0, f64::max)
            };
            assert!(far(&sent::<f64>(&world, &state, &log)) < 1e-9);
            let single = far(&sent::<f32>(&world, &state, &log));
            assert!(single < 1e-3 && single > 0.0, "{single}");
        }
        let vector = world
            .vector(&state, &observed(&function, 6, 0.1, &mut stream))
            .0;
        state.update(&vector, 0.5, 1, &mut world.scratch()).unwrap();
    }
    // Parties that disagree on the constant do not compute together.
    let known = Publication::new(grid(2, 12), 2, 20, parameters(3, 6)).with(Constant::Known);
    assert_eq!(
        state.prepare(&known.public(), &mut world.scratch()),
        Err(PriorError::OtherConfig)
    );
}

/// How contributors' functions relate.
#[derive(Clone, Copy, PartialEq)]
enum Population {
    Common,
    Shuffled,
    Unrelated,
}

/// A line of 200 candidates, functions of the file's own kernel. Returns the correlation of the
/// file's mean with the common function, and B.
fn published(
    world: &Publication,
    population: Population,
    epsilon: f64,
    seed: RunSeed,
) -> (f64, f64) {
    let common = world.function(&mut seed.stream(Party::World, Purpose::Objective, 0));
    let logs: Vec<Vec<f64>> = (0..world.config.parameters().agents)
        .map(|n| {
            let mut stream = seed.stream(Party::Agent(n), Purpose::InitialPoints, 0);
            let own = world.function(&mut stream);
            let function = if population == Population::Unrelated {
                &own
            } else {
                &common
            };
            let mut log = observed(function, 10, 0.1, &mut stream);
            if population == Population::Shuffled {
                for i in (1..10).rev() {
                    log.swap(2 * i + 1, 2 * stream.below(i as u32 + 1) as usize + 1);
                }
            }
            log
        })
        .collect();
    let z = two_releases(epsilon, 1e-3);
    let published = world.publish(&logs, &z, seed);
    assert_eq!(published.charged, z.map(event));
    assert!(mu_spent(&z) <= total_mu(epsilon, 1e-3).unwrap());
    let (test, replayed) = world.replay(&published.released, &z);
    assert_eq!(
        replayed, published.posterior,
        "whoever has the releases has the posterior, to the last bit"
    );
    (
        correlation(&world.mean(&published.posterior), &common),
        test,
    )
}

#[test]
fn sixty_contributors_publish_their_common_function_and_the_self_test_tells_it_from_none() {
    let world = Publication::line(200, 30, parameters(60, 10));
    let runs = |population| -> Vec<(f64, f64)> {
        (0..20)
            .map(|run| published(&world, population, 1.0, RunSeed::new(19, run)))
            .collect()
    };
    let [common, shuffled, unrelated] = [
        Population::Common,
        Population::Shuffled,
        Population::Unrelated,
    ]
    .map(runs);
    for (name, runs) in [
        ("common", &common),
        ("shuffled", &shuffled),
        ("unrelated", &unrelated),
    ] {
        let tests: Vec<String> = runs.iter().map(|(_, test)| format!("{test:.1}")).collect();
        let mean = runs.iter().map(|run| run.0).sum::<f64>() / runs.len() as f64;
        println!("{name}: correlation {mean:.3}, B {}", tests.join(" "));
    }
    // The functions' own lengthscale is the file's, as short as 30 landmarks carry: single files
    // fall to .88.
    assert!(common.iter().all(|(_, test)| *test >= 1.0), "{common:?}");
    assert!(
        common
            .iter()
            .filter(|(correlation, _)| *correlation > 0.9)
            .count()
            >= 18,
        "{common:?}"
    );
    for none in [&shuffled, &unrelated] {
        assert!(
            none.iter().filter(|(_, test)| *test < 1.0).count() >= 15,
            "{none:?}"
        );
        assert!(none.iter().all(|(correlation, _)| *correlation < 0.9));
    }
}

/// Five sites of one machine, whose file is hardly noised: their function is smoother than the
/// landmarks that they have room for.
#[test]
fn few_contributors_that_are_copies_have_much_in_common_and_are_no_large_sample() {
    let own_units = Publication::line(200, 30, parameters(5, 10));
    let known = Publication::line(200, 30, parameters(5, 10)).with(Constant::Known);
    let function: Vec<f64> = own_units
        .points
        .iter()
        .map(|x| -(x - 0.35).powi(2))
        .collect();
    let mut stream = Stream::from_seed(11);
    for run in 0..8 {
        let logs: Vec<Vec<f64>> = (0..5)
            .map(|_| observed(&function, 10, 0.0, &mut stream))
            .collect();
        let z = [0.05, 0.05];
        // The variance that is left along what was learned.
        let [left, copies] = [&own_units, &known].map(|world| {
            let published = world.publish(&logs, &z, RunSeed::new(23, run));
            let (test, posterior) = world.replay(&published.released, &z);
            assert!(test >= 3.0, "run {run}: B = {test}");
            let w = posterior.weights();
            let spread = posterior
                .covariance()
                .chunks(w.len())
                .map(|row| dot(row, w));
            spread.zip(w).map(|(x, w)| x * w).sum::<f64>() / dot(w, w)
        });
        // Each of them has a part of its own of variance 1 for all that is known, so a mean of five
        // leaves 1/(1 + 5) where noise and misfit alone would leave nothing.
        assert!(
            left > copies + 1.0 / 6.0,
            "run {run}: {left}, of copies {copies}"
        );
    }
}

/// A bowl in the plane, and the two releases of a campaign: with the larger own part alone B of the
/// first of these files is −0.06.
#[test]
fn few_contributors_that_are_copies_are_read_in_the_plane() {
    let mut stream = Stream::from_seed(12);
    let points: Vec<f64> = (0..600).map(|_| stream.unit()).collect();
    let world = Publication::new(points, 2, 50, parameters(5, 10));
    let function: Vec<f64> = world
        .points
        .chunks(2)
        .map(|x| -(x[0] - 0.6).powi(2) - (x[1] - 0.35).powi(2))
        .collect();
    for run in 0..6 {
        let logs: Vec<Vec<f64>> = (0..5)
            .map(|_| observed(&function, 10, 0.0, &mut stream))
            .collect();
        let z = two_releases(200.0, 1e-5);
        let published = world.publish(&logs, &z, RunSeed::new(29, run));
        let (test, _) = world.replay(&published.released, &z);
        assert!(test >= 3.0, "run {run}: B = {test}");
    }
}

/// Of few agents the sample is small, and both releases have it. Counted as evidence in each of
/// them it made B ≥ 3 of 28 of these 320 files of agents that have nothing in common.
#[test]
fn few_contributors_that_have_nothing_in_common_are_not_believed_however_little_noise_there_is() {
    let mut believed = Vec::new();
    for agents in [2, 3, 5, 10] {
        let world = Publication::line(200, 30, parameters(agents, 10));
        for epsilon in [200.0, 20.0] {
            let unrelated = |run| {
                let seed = RunSeed::new(31, run);
                published(&world, Population::Unrelated, epsilon, seed).1
            };
            let tests = (0..40).map(unrelated);
            believed.push(tests.filter(|test| *test >= 3.0).count());
        }
    }
    assert!(believed.iter().sum::<usize>() <= 8, "{believed:?}");
}

#[test]
fn a_self_test_is_of_its_releases_and_of_no_others() {
    let world = Publication::line(60, 9, parameters(12, 6));
    let mut stream = Stream::from_seed(4);
    let function = world.function(&mut stream);
    let logs: Vec<Vec<f64>> = (0..12)
        .map(|_| observed(&function, 6, 0.1, &mut stream))
        .collect();
    let z = [0.8, 0.8];
    let published = world.publish(&logs, &z, RunSeed::new(2, 0));
    let (test, posterior) = world.replay(&published.released, &z);
    assert_eq!(posterior, published.posterior);
    let mut other = published.released.clone();
    other[3] += 1e-9;
    let (changed, elsewhere) = world.replay(&other, &z);
    assert!(changed != test && elsewhere != posterior && (changed - test).abs() < 1e-3);
    assert_ne!(
        world.replay(&published.released, &[0.9, 0.8]).0,
        test,
        "the noise is part of what is believed"
    );
    // Out of its place it is refused, and nothing is changed by it.
    let mut state = world.fresh();
    let mut scratch = world.test_scratch();
    let len = world.config.contribution_len();
    let mut refused = |state: &State, released: &[f64]| {
        state
            .self_test(&world.public(), released, 1.0, 1, &mut scratch)
            .err()
    };
    assert_eq!(
        refused(&state, &vec![0.0; len]),
        Some(PriorError::NotPrepared)
    );
    state
        .prepare(&world.public(), &mut world.scratch())
        .unwrap();
    let before = state.clone();
    assert!(matches!(
        refused(&state, &vec![0.0; len - 1]),
        Some(PriorError::Length {
            what: "release",
            ..
        })
    ));
    assert!(matches!(
        refused(&state, &vec![f64::NAN; len]),
        Some(PriorError::Number {
            what: "release",
            ..
        })
    ));
    assert_eq!((refused(&state, &vec![0.1; len]), state), (None, before));
}

/// Neighbours under zero-out: one contributor's vector is nothing. Honest, loud and hostile vectors
/// alike.
#[test]
fn one_contributor_moves_the_integer_sums_by_no_more_than_the_radius() {
    let world = Publication::line(60, 9, parameters(12, 6));
    let mut state = world.fresh();
    let terms = state
        .prepare(&world.public(), &mut world.scratch())
        .unwrap();
    let mechanism = Mechanism::new(&world.config, &terms, 0.7).unwrap();
    let encoder = mechanism.encoder().unwrap();
    let k = u128::from(mechanism.grid().radius());
    let len = world.config.contribution_len();
    let mut stream = Stream::from_seed(6);
    let zoo = [
        0.0,
        -0.0,
        5e-324,
        -1e3,
        1e155,
        f64::MAX,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let mut longest = 0;
    for turn in 0..3000 {
        let mut others = vec![0i64; len];
        for _ in 0..3 {
            let values = (0..6)
                .flat_map(|i| [f64::from(7 * i), normal::draw(&mut stream)])
                .collect::<Vec<f64>>();
            encoder
                .add(&world.vector(&state, &values).0, &[1.0], &mut others)
                .unwrap();
        }
        let vector: Vec<f64> = match turn % 3 {
            0 => (0..len).map(|_| zoo[stream.below(9) as usize]).collect(),
            1 => (0..len)
                .map(|_| 10.0 * normal::draw::<f64>(&mut stream))
                .collect(),
            // Standardised or not: the bound does not rest on it.
            _ => {
                let at = |i: u32| [f64::from(9 * i), 1e6 * f64::from(stream.below(1000))];
                world
                    .raw(&state, &(0..6).flat_map(at).collect::<Vec<f64>>())
                    .0
            }
        };
        let mut with = others.clone();
        encoder.add(&vector, &[1.0], &mut with).unwrap();
        let squares: u128 = with
            .iter()
            .zip(&others)
            .map(|(a, b)| u128::from(a.abs_diff(*b)).pow(2))
            .sum();
        assert!(squares <= k * k, "{vector:?}");
        longest = longest.max(squares);
    }
    assert!(
        longest > k * k / 100 * 99,
        "the bound is met: {longest} of {}",
        k * k
    );
}
