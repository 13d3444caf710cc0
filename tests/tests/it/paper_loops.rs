//! Readable twins: each algorithm as one loop, in the order of its paper, beside the state machines
//! that run in production. Both must decide the same, to the last bit.

use sordino_core::acquisition::thompson;
use sordino_core::digest::Digest;
use sordino_core::federated::OwnDraw;
use sordino_core::federated::transcript::{AgentLeaf, block_leaves, link};
use sordino_core::privacy::mechanism::gaussian::GridGaussian;
use sordino_core::privacy::sampling::SamplingProbability;
use sordino_core::random::{Party, Purpose, Simulated, Stream};
use sordino_core::schedule::{WeightConcentration, region_weight};
use sordino_core::surrogate::WeightPosterior;
use sordino_core::surrogate::weights;
use sordino_tests::federation::*;

/// DP-FTS-DE as the paper writes it: for t = 0..T every agent queries, then the server releases.
fn dp_fts_de_as_a_loop(shared: &Shared, own_draw: OwnDraw) -> Digest {
    let seed = run_seed();
    let region_of: Vec<u32> = shared.points.iter().map(|x| u32::from(*x > 0.5)).collect();
    let mut data: Vec<Vec<(usize, f64)>> = vec![Vec::new(); N as usize];
    let mut broadcast: Vec<f64> = Vec::new();
    let mut chain = Digest::default();
    for t in 0..=T {
        let mut leaves = Vec::new();
        let mut uploads = Vec::new();
        for n in 0..N {
            let d = &mut data[n as usize];
            // Where to look.
            let queries: Vec<usize> = if t == 0 {
                let own: Vec<usize> = (0..GRID as usize)
                    .filter(|i| region_of[*i] == n % P)
                    .collect();
                (0..N_INIT)
                    .map(|i| {
                        own[seed
                            .stream(Party::Agent(n), Purpose::InitialPoints, i)
                            .below(own.len() as u32) as usize]
                    })
                    .collect()
            } else {
                let u: f64 = seed.stream(Party::Agent(n), Purpose::Mixing, t).unit();
                if u < 1.0 - 1.0 / f64::from(t).sqrt() {
                    // Thompson sampling from the agent's posterior.
                    let stream = &mut seed.stream(Party::Agent(n), Purpose::OwnDraw, t);
                    let (rows, m) = match own_draw {
                        OwnDraw::Joint => (&shared.prior, shared.rank),
                        OwnDraw::Features => (&shared.rows, M),
                    };
                    let omega = draw_weights(rows, m, d, stream);
                    vec![thompson::maximize_rows(rows, m, &[], &omega).candidate as usize]
                } else {
                    // The server's function, piecewise by region.
                    vec![
                        thompson::maximize_rows(&shared.rows, M, &region_of, &broadcast).candidate
                            as usize,
                    ]
                }
            };
            // Observe and remember.
            let mut leaf = AgentLeaf::new(n, t, queries.len() as u32);
            for x in queries {
                let y = observe(n, shared.points[x], d.len() as u32);
                leaf.observation(x as u32, y);
                d.push((x, y));
            }
            // Draw weights and upload them, unless nobody will read them.
            if t < T {
                let stream = &mut seed.stream(Party::Agent(n), Purpose::WeightDraw, t);
                let omega = draw_weights(&shared.rows, M, d, stream);
                leaves.push(leaf.end(&omega));
                uploads.push(omega);
            } else {
                leaves.push(leaf.end::<f64>(&[]));
            }
        }
        if t < T {
            broadcast = release(t, &uploads);
            chain = link(&chain, t, block_leaves(&leaves), &broadcast);
        } else {
            chain = link::<f64>(&chain, t, block_leaves(&leaves), &[]);
        }
    }
    chain
}

/// ω ~ N(ν, λΣ⁻¹).
fn draw_weights(rows: &[f64], m: usize, data: &[(usize, f64)], stream: &mut Stream) -> Vec<f64> {
    let lambda = weights::Regularization::new(LAMBDA).unwrap();
    let mut posterior =
        WeightPosterior::new(m, lambda, vec![0.0; weights::storage_len(m)]).unwrap();
    posterior.extend(data.len(), |i, phi| {
        phi.copy_from_slice(&rows[data[i].0 * m..][..m]);
        data[i].1
    });
    let mut omega = vec![0.0; m];
    posterior.draw(stream, &mut omega);
    omega
}

/// The server's step: sample, clip, weigh, sum, add noise, divide by q.
fn release(s: u32, uploads: &[Vec<f64>]) -> Vec<f64> {
    let q = SamplingProbability::new(Q).unwrap();
    let mechanism = GridGaussian::new(GRID_EXPONENT, Z, q, N).unwrap();
    let source = &mut Simulated::new(run_seed().stream(Party::Server, Purpose::Release, s));
    let mut coins = [0; N as usize];
    let sample = mechanism.sample(source, &mut coins).unwrap();
    let a = WeightConcentration::PAPER.at(s);
    let phi = |n: u32, i: u32| region_weight(a, N, N / P, n % P == i);
    let norm = (phi(0, 0) * phi(0, 0) + phi(0, 1) * phi(0, 1)).sqrt();
    let clip = S / f64::from(P).sqrt();
    let sensitivity = norm * clip;
    let encoder = mechanism.encoder(sensitivity, clip).unwrap();
    let mut sums = vec![0i64; P as usize * M];
    for n in (0..N).rev().filter(|n| coins[*n as usize] == 1) {
        encoder
            .add(&uploads[n as usize], &[phi(n, 0), phi(n, 1)], &mut sums)
            .unwrap();
    }
    let mut noise = vec![0i64; sums.len()];
    let mut out = vec![0.0; sums.len()];
    let pool = mechanism.fill_noise(source, &mut noise).unwrap();
    let _ = mechanism
        .release(&mut sums, sample, pool, sensitivity, &mut out)
        .unwrap();
    out
}

#[test]
fn dp_fts_de_is_its_loop() {
    let shared = shared();
    for own_draw in [OwnDraw::Joint, OwnDraw::Features] {
        let expected = dp_fts_de_as_a_loop(&shared, own_draw);
        assert_eq!(
            run(&shared, parameters(own_draw), true, |_, _, _| ()).chain,
            expected,
            "{own_draw:?}"
        );
        // A device that caches nothing decides the same.
        assert_eq!(
            run(&shared, parameters(own_draw), false, |_, _, _| ()).chain,
            expected,
            "{own_draw:?} streamed"
        );
    }
    // Negative control: the two ways to draw are different executions.
    assert_ne!(
        dp_fts_de_as_a_loop(&shared, OwnDraw::Joint),
        dp_fts_de_as_a_loop(&shared, OwnDraw::Features)
    );
}
