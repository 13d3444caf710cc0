//! The federated server's arithmetic against independent values, and the integer release against
//! its own promises.

use sordino_core::privacy::encode::Outcome;
use sordino_core::privacy::mechanism::gaussian::GridGaussian;
use sordino_core::privacy::mechanism::paper_gaussian::PaperGaussian;
use sordino_core::privacy::{SamplingProbability, Simulated};
use sordino_core::random::Stream;
use sordino_core::schedule::{WeightConcentration, region_weight};
use sordino_tests::{indices, list, number, numbers, rows, vectors, whole};

/// Equal to 1e-12 of the value.
fn equal(ours: f64, truth: f64) -> bool {
    (ours - truth).abs() <= 1e-12 * truth.abs()
}

/// Equal to 1e-12, relative to the larger of one and the value: sums may cancel.
fn close(ours: f64, truth: f64) -> bool {
    (ours - truth).abs() <= 1e-12 * truth.abs().max(1.0)
}

struct Case {
    blocks: usize,
    q: f64,
    s: f64,
    z: f64,
    vectors: Vec<Vec<f64>>,
    selected: Vec<usize>,
    /// One agent's weights in all blocks.
    weights: Vec<Vec<f64>>,
}

fn cases() -> Vec<(Case, serde_json::Value)> {
    let file = vectors("fts_server.json");
    let read = |case: &serde_json::Value| {
        let agents = whole(&case["N"]) as u32;
        let blocks = whole(&case["P"]) as usize;
        let assignment = indices(&case["assignment"]);
        assert_eq!(assignment.len(), agents as usize);
        let concentration = number(&case["a"]) / number(&case["temperature"]);
        let explorers = |i: usize| assignment.iter().filter(|r| **r == i).count() as u32;
        let weights = assignment
            .iter()
            .map(|own| {
                (0..blocks)
                    .map(|i| region_weight(concentration, agents, explorers(i), *own == i))
                    .collect()
            })
            .collect();
        // Of the first region; nobody is outside it if it is the only one.
        for (field, explores) in [("phi_assigned", true), ("phi_other", false)] {
            if !case[field].is_null() && explorers(0) > 0 {
                let weight = region_weight(concentration, agents, explorers(0), explores);
                assert!(equal(weight, number(&case[field])), "{field}: {weight}");
            }
        }
        Case {
            blocks,
            q: number(&case["q"]),
            s: number(&case["S"]),
            z: number(&case["z"]),
            vectors: rows(&case["omega_vectors"]),
            selected: indices(&case["selected"]),
            weights,
        }
    };
    sordino_tests::cases(&file, "cases")
        .iter()
        .map(|case| (read(case), case.clone()))
        .collect()
}

fn weight_max(case: &Case) -> f64 {
    case.weights.iter().flatten().copied().fold(0.0, f64::max)
}

#[test]
fn vectors_fts_server_paper_arithmetic() {
    for (case, truth) in cases() {
        let q = SamplingProbability::new(case.q).unwrap();
        for (n, row) in case.weights.iter().enumerate() {
            for (i, weight) in row.iter().enumerate() {
                assert!(
                    equal(*weight, number(&truth["phi"][i][n])),
                    "weight of agent {n} in block {i}"
                );
            }
        }
        assert!(equal(weight_max(&case), number(&truth["phi_max"])));
        let paper =
            PaperGaussian::new(case.z, q, case.s, case.blocks as u32, weight_max(&case)).unwrap();
        assert!(equal(paper.clip_radius(), number(&truth["clip_radius"])));
        assert!(equal(paper.noise_std(), number(&truth["noise_std"])));
        assert!(equal(
            paper.l2_sensitivity(),
            number(&truth["joint_l2_sensitivity_bound"])
        ));
        let dim = case.vectors[0].len();
        for (n, vector) in case.vectors.iter().enumerate() {
            // A plain sum of one, with q = 1: the clipped vector itself.
            let mut clipped = vec![0.0; dim];
            let alone = PaperGaussian::new(
                1.0,
                SamplingProbability::ONE,
                case.s,
                case.blocks as u32,
                1.0,
            )
            .unwrap();
            let outcome = alone.add(vector, &[1.0], &mut clipped).unwrap();
            assert_eq!(
                outcome == Outcome::Clipped,
                truth["was_clipped"][n].as_bool().unwrap()
            );
            let theirs = numbers(&truth["clipped"][n]);
            assert_eq!(theirs.len(), dim);
            assert!(
                clipped
                    .iter()
                    .zip(theirs)
                    .all(|(ours, theirs)| equal(*ours, theirs)),
                "{clipped:?}"
            );
            // What leaving this agent out changes, with the weights as they are.
            let mut joint = vec![0.0; dim * case.blocks];
            paper.add(vector, &case.weights[n], &mut joint).unwrap();
            let norm = joint.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!(equal(norm, number(&truth["removal_l2"][n])), "{norm}");
            assert!(norm <= paper.l2_sensitivity() * (1.0 + 1e-12));
        }
        let mut sums = vec![0.0; dim * case.blocks];
        for n in &case.selected {
            paper
                .add(&case.vectors[*n], &case.weights[*n], &mut sums)
                .unwrap();
        }
        let aggregate = rows(&truth["aggregate_without_noise"]);
        assert_eq!(aggregate.concat().len(), sums.len());
        for (block, theirs) in sums.chunks(dim).zip(aggregate) {
            for (ours, theirs) in block.iter().zip(theirs) {
                assert!(close(*ours, theirs), "{ours} {theirs}");
            }
        }
    }
}

#[test]
fn vectors_fts_server_schedule() {
    let schedule = &vectors("fts_server.json")["code_schedule"];
    let concentration = WeightConcentration {
        start: number(&schedule["a"]),
        hold: whole(&schedule["const"]) as u32,
        decay: whole(&schedule["decay"]) as u32,
    };
    assert!(!list(&schedule["values"]).is_empty());
    for value in list(&schedule["values"]) {
        let ours = concentration.at(whole(&value["t"]) as u32);
        assert!(
            close(ours, number(&value["a_effective"])),
            "{value}: {ours}"
        );
    }
}

/// The same aggregates through the integer path: within one grid step for each contribution, and no
/// further.
#[test]
fn vectors_fts_server_on_the_integer_grid() {
    for (case, truth) in cases() {
        let q = SamplingProbability::new(case.q).unwrap();
        let mechanism = GridGaussian::new(20, case.z, q, case.vectors.len() as u32).unwrap();
        let clip = case.s / (case.blocks as f64).sqrt();
        let norm = |row: &Vec<f64>| row.iter().map(|w| w * w).sum::<f64>().sqrt();
        let sensitivity = case.weights.iter().map(norm).fold(0.0, f64::max) * clip;
        // The tight sensitivity never exceeds the paper's.
        assert!(
            sensitivity / case.q <= number(&truth["joint_l2_sensitivity_bound"]) * (1.0 + 1e-12)
        );
        let encoder = mechanism.encoder(sensitivity, clip).unwrap();
        let dim = case.vectors[0].len();
        let mut sums = vec![0i64; dim * case.blocks];
        for n in &case.selected {
            encoder
                .add(&case.vectors[*n], &case.weights[*n], &mut sums)
                .unwrap();
        }
        let unit = mechanism.decode_unit(sensitivity).unwrap();
        for (i, block) in sums.chunks(dim).enumerate() {
            for (ours, theirs) in block
                .iter()
                .zip(numbers(&truth["aggregate_without_noise"][i]))
            {
                let slack = unit * (case.selected.len() as f64) * 1.001;
                assert!(
                    (*ours as f64 * unit - theirs).abs() <= slack,
                    "{} {theirs}",
                    *ours as f64 * unit
                );
            }
        }
        // Any order of the agents gives the same sums, and so does any cut into shards.
        let mut order = case.selected.clone();
        let mut stream = Stream::from_seed(4);
        for _ in 0..20 {
            for i in (1..order.len()).rev() {
                order.swap(i, stream.below(i as u32 + 1) as usize);
            }
            let (left, right) = order.split_at(stream.below(order.len() as u32) as usize);
            let mut shards = [vec![0i64; sums.len()], vec![0i64; sums.len()]];
            for (shard, members) in shards.iter_mut().zip([left, right]) {
                for n in members {
                    encoder
                        .add(&case.vectors[*n], &case.weights[*n], shard)
                        .unwrap();
                }
            }
            let joined: Vec<i64> = shards[0]
                .iter()
                .zip(&shards[1])
                .map(|(a, b)| a + b)
                .collect();
            assert_eq!(joined, sums);
        }
        // Two neighbouring simulations with one seed differ by exactly the contribution: who knows
        // the seed knows all.
        let released = |sums: &[i64]| {
            let (mut sums, mut pool, mut out) = (
                sums.to_vec(),
                vec![0i64; sums.len()],
                vec![0.0f64; sums.len()],
            );
            let mut source = Simulated::new(Stream::from_seed(99));
            let noise = mechanism.fill_noise(&mut source, &mut pool).unwrap();
            let sample = mechanism.sample(&mut source.clone(), &mut [0]).unwrap();
            let _ = mechanism
                .release(&mut sums, sample, noise, sensitivity, &mut out)
                .unwrap();
            sums
        };
        let mut contribution = vec![0i64; sums.len()];
        let extra = case.vectors.len() - 1;
        encoder
            .add(
                &case.vectors[extra],
                &case.weights[extra],
                &mut contribution,
            )
            .unwrap();
        let with: Vec<i64> = sums.iter().zip(&contribution).map(|(a, b)| a + b).collect();
        let difference: Vec<i64> = released(&with)
            .iter()
            .zip(released(&sums))
            .map(|(a, b)| a - b)
            .collect();
        assert_eq!(difference, contribution);
    }
}

/// The predicate that breaks floating-point noise at one look (Mironov 2012): "the lowest set bit
/// is below 2^−53". On the grid it is impossible; the naive sum shows it in a quarter of all draws.
#[test]
fn the_lowest_set_bit_betrays_floating_point_noise_and_not_the_grid() {
    let lowest = |x: f64| {
        let bits = x.to_bits() & ((1 << 52) - 1);
        let raw = (x.to_bits() >> 52 & 0x7ff) as i32;
        let mantissa = bits | 1 << 52;
        raw - 1075 + mantissa.trailing_zeros() as i32
    };
    let n = 20_000;
    let mut stream = Stream::from_seed(6);
    // Signal 0 against signal 1, unit noise.
    let mut naive = [0; 2];
    for (signal, count) in naive.iter_mut().enumerate() {
        for _ in 0..n {
            let noised: f64 =
                signal as f64 + sordino_core::random::laplace::draw::<f64>(&mut stream, 1.0);
            *count += u32::from(noised != 0.0 && lowest(noised) < -53);
        }
    }
    assert!(
        naive[0] > n / 5 && naive[1] == 0,
        "negative control: {naive:?}"
    );
    let mechanism = GridGaussian::new(16, 1.0, SamplingProbability::ONE, 2).unwrap();
    let encoder = mechanism.encoder(1.0, 1.0).unwrap();
    let mut source = Simulated::new(stream);
    for signal in [0.0, 1.0] {
        for _ in 0..n / 100 {
            let mut sums = [0i64; 100];
            let mut pool = [0i64; 100];
            let mut out = [0.0f64; 100];
            let mut vector = [0.0; 100];
            vector[0] = signal;
            encoder.add(&vector, &[1.0], &mut sums).unwrap();
            let noise = mechanism.fill_noise(&mut source, &mut pool).unwrap();
            let sample = mechanism.sample(&mut source.clone(), &mut [0]).unwrap();
            let release = mechanism
                .release(&mut sums, sample, noise, 1.0, &mut out)
                .unwrap();
            // Every released number is an integer multiple of the public grid step 2^−16.
            assert!(
                release
                    .value()
                    .iter()
                    .all(|x| *x == 0.0 || lowest(*x) >= -16)
            );
        }
    }
}
