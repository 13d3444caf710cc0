//! Readable twins of the learners of `local`: each algorithm as one loop over rounds, with the
//! whole history at hand, in the order of its paper. The state machines must decide the same, to
//! the last bit.

use sordino_core::acquisition::upper_confidence_bound;
use sordino_core::digest::Digest;
use sordino_core::digest::link;
use sordino_core::kernel::Kernel;
use sordino_core::linalg::dot;
use sordino_core::local::dictionary::{Dictionary, DictionaryPosterior};
use sordino_core::local::*;
use sordino_core::math::{ln_1p, pow};
use sordino_core::random::{Party, Purpose};
use sordino_core::schedule::confidence::{LocalNoise, order_wise, tgp_threshold};
use sordino_core::surrogate::{FiniteGp, finite};
use sordino_tests::local::*;

const LAMBDA: f64 = 1.0;
const DELTA: f64 = 0.1;
const FACTOR: f64 = 0.1;
const NOISE: LocalNoise = LocalNoise {
    norm_bound: B,
    noise_bound: R,
    epsilon: EPSILON,
};

fn first_query() -> u32 {
    run_seed()
        .stream(Party::Server, Purpose::InitialPoints, 0)
        .below(N)
}

fn argmax(mean: &[f64], variance: &[f64], width: f64) -> u32 {
    upper_confidence_bound::maximize(mean, variance, width).candidate
}

/// Algorithm 2 of the paper as one loop.
fn tgp_as_a_loop() -> (Digest, Vec<u32>) {
    let mut posterior = FiniteGp::new(
        &kernel(),
        LAMBDA,
        1,
        &points(),
        vec![0.0; finite::storage_len(N as usize)],
    )
    .unwrap();
    let mut gain = 0.0;
    let mut variance = vec![0.0; N as usize];
    let mut chain = Digest::default();
    let mut queries = vec![first_query()];
    for t in 1..=T {
        let x = queries[t as usize - 1];
        let y = report(t, x);
        chain = link(&chain, t, x, y);
        let threshold = tgp_threshold(&NOISE, t.into());
        posterior.variances(&mut variance);
        gain += 0.5 * ln_1p(variance[x as usize] / LAMBDA);
        posterior
            .observe(x as usize, if y.abs() <= threshold { y } else { 0.0 })
            .unwrap();
        posterior.variances(&mut variance);
        let width = FACTOR * order_wise::tgp_width(&NOISE, u64::from(t) + 1, gain, DELTA);
        queries.push(argmax(posterior.mean(), &variance, width));
    }
    queries.pop();
    (chain, queries)
}

/// Which of the points played so far stay: every play is sampled again.
fn dictionary(plays: &[u32], variance: &[f64], epoch: u32) -> Vec<u32> {
    let q = order_wise::nystrom_inflation(T.into(), DELTA);
    let mut stream = run_seed().stream(Party::Server, Purpose::Projection, epoch);
    let kept: Vec<u32> = (0..N)
        .filter(|x| {
            let times = plays.iter().filter(|play| *play == x).count();
            if times == 0 {
                return false;
            }
            let p = (q * variance[*x as usize]).min(1.0);
            stream.unit::<f64>() < 1.0 - pow(1.0 - p, times as f64)
        })
        .collect();
    if kept.is_empty() {
        vec![plays[plays.len() - 1]]
    } else {
        kept
    }
}

fn counts(plays: &[u32]) -> Vec<u32> {
    (0..N)
        .map(|x| plays.iter().filter(|play| **play == x).count() as u32)
        .collect()
}

fn prior_variance() -> Vec<f64> {
    points().iter().map(|x| kernel().variance(&[*x])).collect()
}

/// Algorithm 3, everything again in every round.
fn ata_as_a_loop() -> (Digest, Vec<u32>) {
    let matrix = KernelMatrix::new(&kernel(), 1, &points()).unwrap();
    let mut variance = prior_variance();
    let mut chain = Digest::default();
    let mut queries = vec![first_query()];
    let mut rewards = Vec::new();
    for t in 1..=T {
        let x = queries[t as usize - 1];
        let y = report(t, x);
        chain = link(&chain, t, x, y);
        rewards.push(y);
        // Dictionary, features, V.
        let features = Dictionary::new(&matrix, dictionary(&queries, &variance, t));
        let posterior = DictionaryPosterior::new(&features, &counts(&queries), LAMBDA);
        let m = features.rank() as u64;
        // u of every point: V^{-1/2}φ in the symmetric basis.
        let u: Vec<Vec<f64>> = (0..N as usize)
            .map(|x| {
                let mut u = vec![0.0; features.members().len()];
                features.in_symmetric_basis(posterior.row(x), &mut u);
                u
            })
            .collect();
        // r̂ with today's threshold for the whole history: point by point, by magnitude.
        let b = order_wise::ata_threshold(&NOISE, m, T.into(), DELTA);
        let mut r_hat = vec![0.0; features.members().len()];
        for x in 0..N {
            let mut of_point: Vec<f64> = queries
                .iter()
                .zip(&rewards)
                .filter(|(play, _)| **play == x)
                .map(|(_, y)| *y)
                .collect();
            of_point.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
            if of_point.is_empty() {
                continue;
            }
            for (r, u) in r_hat.iter_mut().zip(&u[x as usize]) {
                let mut kept = 0.0;
                of_point
                    .iter()
                    .filter(|y| (u * **y).abs() <= b)
                    .for_each(|y| kept += y);
                *r += u * kept;
            }
        }
        let mean: Vec<f64> = u.iter().map(|u| dot(u, &r_hat)).collect();
        variance = posterior.variance().to_vec();
        queries.push(argmax(
            &mean,
            &variance,
            FACTOR * order_wise::ata_width(&NOISE, m, T.into(), DELTA),
        ));
    }
    queries.pop();
    (chain, queries)
}

/// Algorithm 4; 150 = 21·7 + 3 rounds, the last three replay the next point.
fn moma_as_a_loop() -> (Digest, Vec<u32>) {
    let k = EPOCH_LEN as usize;
    let matrix = KernelMatrix::new(&kernel(), 1, &points()).unwrap();
    let mut variance = prior_variance();
    let mut chain = Digest::default();
    let mut queries = Vec::new();
    let mut t = 0;
    let mut plays: Vec<u32> = vec![first_query()];
    let mut rewards: Vec<Vec<f64>> = Vec::new();
    let mut ask = |x: u32, queries: &mut Vec<u32>| {
        t += 1;
        let y = report(t, x);
        chain = link(&chain, t, x, y);
        queries.push(x);
        y
    };
    for epoch in 1..=T / EPOCH_LEN {
        let x = plays[epoch as usize - 1];
        rewards.push((0..k).map(|_| ask(x, &mut queries)).collect());
        let features = Dictionary::new(&matrix, dictionary(&plays, &variance, epoch));
        let posterior = DictionaryPosterior::new(&features, &counts(&plays), LAMBDA);
        // V^{1/2}θ_j = V^{-1/2} Σ y φ for each column of rewards.
        let estimates: Vec<Vec<f64>> = (0..k)
            .map(|j| {
                let mut b = vec![0.0; features.rank()];
                for x in 0..N {
                    let of_point = plays.iter().zip(&rewards).filter(|(play, _)| **play == x);
                    let mut sum = 0.0;
                    of_point.for_each(|(_, row)| sum += row[j]);
                    b.iter_mut()
                        .zip(features.row(x as usize))
                        .for_each(|(b, psi)| *b += sum * psi);
                }
                let mut out = vec![0.0; features.rank()];
                posterior.whiten(&b, &mut out);
                out
            })
            .collect();
        let distance = |a: &[f64], b: &[f64]| {
            let mut sum = 0.0;
            a.iter().zip(b).for_each(|(a, b)| sum += (a - b) * (a - b));
            sum.sqrt()
        };
        let spread: Vec<f64> = (0..k)
            .map(|j| {
                let mut to: Vec<f64> = (0..k)
                    .filter(|s| *s != j)
                    .map(|s| distance(&estimates[j], &estimates[s]))
                    .collect();
                to.sort_by(f64::total_cmp);
                0.5 * (to[k / 2 - 1] + to[k / 2])
            })
            .collect();
        let star = (0..k).fold(0, |best, j| if spread[j] < spread[best] { j } else { best });
        let mean: Vec<f64> = (0..N as usize)
            .map(|x| dot(posterior.row(x), &estimates[star]))
            .collect();
        variance = posterior.variance().to_vec();
        let c = NOISE.central_moment();
        plays.push(argmax(
            &mean,
            &variance,
            FACTOR * order_wise::moma_width(B, c, features.rank() as u64),
        ));
    }
    while queries.len() < T as usize {
        ask(plays[plays.len() - 1], &mut queries);
    }
    (chain, queries)
}

#[test]
fn tgp_is_its_loop() {
    let config = Config::new(parameters()).unwrap();
    let storage = vec![0.0; tgp::storage_len(N as usize)];
    let mut learner = TgpUcb::new(config, run_seed(), &kernel(), 1, &points(), storage).unwrap();
    let (chain, queries, _) = run(&mut learner);
    assert_eq!((chain, queries), tgp_as_a_loop());
    assert!(learner.truncated() > 0, "the truncation takes part");
}

#[test]
fn ata_is_its_loop() {
    let matrix = KernelMatrix::new(&kernel(), 1, &points()).unwrap();
    let mut learner = AtaGpUcb::new(
        Config::new(parameters()).unwrap(),
        run_seed(),
        matrix.clone(),
    )
    .unwrap();
    let (chain, queries, _) = run(&mut learner);
    assert_eq!((chain, queries), ata_as_a_loop());
    assert_eq!(learner.estimates(), T);
    // With a stride fewer estimates are made, and the run is another one.
    let config = Config::new(Parameters {
        stride: 25,
        ..parameters()
    })
    .unwrap();
    let mut strided = AtaGpUcb::new(config, run_seed(), matrix).unwrap();
    assert_ne!(run(&mut strided).0, chain);
    assert_eq!(strided.estimates(), 127 + (150 - 127) / 2);
}

#[test]
fn moma_is_its_loop() {
    let matrix = KernelMatrix::new(&kernel(), 1, &points()).unwrap();
    let mut learner =
        MomaGpUcb::new(Config::new(parameters()).unwrap(), run_seed(), matrix).unwrap();
    let (chain, queries, _) = run(&mut learner);
    let (expected, expected_queries) = moma_as_a_loop();
    assert_eq!(queries, expected_queries);
    assert_eq!(chain, expected);
    assert_eq!(learner.epochs(), T / EPOCH_LEN);
    // Negative control: the three algorithms are different executions.
    assert_ne!(expected, ata_as_a_loop().0);
    assert_ne!(expected, tgp_as_a_loop().0);
}
