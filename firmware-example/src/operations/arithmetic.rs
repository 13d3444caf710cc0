//! Rows of arithmetic, triangles and streams.

use sordino_core::linalg::{self, lower, packed_len, root};
use sordino_core::math::{self, Scalar};
use sordino_core::random::{Party, Purpose, RunSeed, Stream, laplace, normal};

use super::{Emit, Fold};

pub(super) fn rows(emit: Emit<'_>) {
    emit("random::stream words", &words);
    emit("random::stream unit f64", &uniform::<f64>);
    emit("random::stream unit f32", &uniform::<f32>);
    emit("math elementary f64", &elementary::<f64>);
    emit("math elementary f32", &elementary::<f32>);
    emit("math special f64", &special);
    emit("random::normal f64", &normals::<f64>);
    emit("random::normal f32", &normals::<f32>);
    emit("random::laplace f64", &laplaces::<f64>);
    emit("random::laplace f32", &laplaces::<f32>);
    emit("linalg sums f64", &sums::<f64>);
    emit("linalg sums f32", &sums::<f32>);
    emit("linalg::lower f64", &lower_factor::<f64>);
    emit("linalg::lower f32", &lower_factor::<f32>);
    emit("linalg::root f64", &root_factor::<f64>);
    emit("linalg::root f32", &root_factor::<f32>);
    emit("linalg::pivoted f64", &pivoted::<f64>);
    emit("linalg::pivoted f32", &pivoted::<f32>);
}

fn words(fold: &mut Fold) {
    let run = RunSeed::new(7, 3);
    for (round, party) in [
        Party::Agent(0),
        Party::Agent(199),
        Party::Server,
        Party::World,
    ]
    .into_iter()
    .enumerate()
    {
        let mut stream = run.stream(party, Purpose::OwnDraw, round as u32);
        (0..64).for_each(|_| fold.word(stream.word()));
        fold.word(run.word(party, Purpose::Perturbation, round as u32));
        fold.word(u64::from(stream.below(1000)));
    }
}

fn uniform<T: Scalar>(fold: &mut Fold) {
    let mut stream = Stream::from_seed(1);
    (0..256).for_each(|_| fold.add(stream.unit::<T>()));
}

/// exp, ln, sqrt, sin, cos over many magnitudes, down into the subnormal numbers.
fn elementary<T: Scalar>(fold: &mut Fold) {
    let mut stream = Stream::from_seed(2);
    let scale = T::from_u32(90);
    for i in 0..256u32 {
        let u: T = stream.unit();
        let x = u * scale;
        fold.all(&[
            (-x).exp_nonpositive(),
            (-x).exp(),
            x.exp(),
            (x + T::EPSILON).ln(),
            x.sqrt(),
        ]);
        let wide = x * T::from_u32(1 + i * i);
        fold.all(&[wide.sin(), wide.cos(), (-wide).sin(), (-wide).cos()]);
    }
    // Division and square root reach subnormal numbers, which a flushing unit would lose.
    let mut small = T::from_f64(1e-20);
    for i in 0..40 {
        small = small * T::from_f64(0.13) / T::from_u32(1 + i % 3);
        fold.all(&[small, small.sqrt()]);
    }
}

fn special(fold: &mut Fold) {
    let mut stream = Stream::from_seed(3);
    for _ in 0..64 {
        let x = stream.unit::<f64>() * 8.0 - 4.0;
        fold.all(&[
            math::exp_m1(x),
            math::ln_1p(x.abs()),
            math::pow(x.abs(), 1.7),
            math::erf(x),
            math::erfc(x),
        ]);
        fold.all(&[
            math::ln_gamma(x.abs() + 0.1),
            math::floor(x),
            math::ceil(x),
            math::trunc(x),
        ]);
    }
}

fn normals<T: Scalar>(fold: &mut Fold) {
    let mut out = [T::ZERO; 255];
    normal::fill(&mut Stream::from_seed(4), &mut out);
    fold.all(&out);
}

fn laplaces<T: Scalar>(fold: &mut Fold) {
    let mut stream = Stream::from_seed(5);
    (0..128).for_each(|_| fold.add(laplace::draw(&mut stream, T::from_f64(0.7))));
}

fn sums<T: Scalar>(fold: &mut Fold) {
    let mut a = [T::ZERO; 67];
    let mut b = [T::ZERO; 67];
    let mut y = [T::ZERO; 6];
    let mut stream = Stream::from_seed(6);
    normal::fill(&mut stream, &mut a);
    normal::fill(&mut stream, &mut b);
    for n in 0..=a.len() {
        fold.all(&[
            linalg::dot(&a[..n], &b[..n]),
            linalg::squared_distance(&a[..n], &b[..n]),
        ]);
    }
    linalg::matvec(&a[..66], &b[..11], &mut y);
    fold.all(&y);
    linalg::axpy(y[0], &a, &mut b);
    fold.all(&b);
}

/// A well-conditioned covariance: 1/(1 + |i − j|) with a little on the diagonal.
fn covariance<T: Scalar>(i: usize, j: usize) -> T {
    T::ONE / T::from_u32(1 + i.abs_diff(j) as u32)
        + if i == j { T::from_f64(0.01) } else { T::ZERO }
}

fn lower_factor<T: Scalar>(fold: &mut Fold) {
    const N: usize = 12;
    let mut factor = [T::ZERO; packed_len(N)];
    for n in 0..N {
        for (j, x) in lower::row_mut(&mut factor, n).iter_mut().enumerate() {
            *x = covariance(n, j);
        }
        fold.add(lower::append_row(&mut factor, n, T::ZERO).unwrap_or(T::ZERO));
    }
    fold.all(&factor);
    let mut b = [T::ZERO; N];
    normal::fill(&mut Stream::from_seed(7), &mut b);
    lower::solve(&factor, &mut b);
    fold.all(&b);
    lower::solve_transposed(&factor, &mut b);
    fold.all(&b);
    fold.add(lower::ln_det(&factor, N));
}

fn root_factor<T: Scalar>(fold: &mut Fold) {
    const M: usize = 10;
    let mut factor = [T::ZERO; packed_len(M)];
    let mut c = [T::ZERO; M];
    let mut phi = [T::ZERO; M];
    let mut stream = Stream::from_seed(8);
    root::reset(&mut factor, &mut c, T::from_f64(0.01));
    for _ in 0..15 {
        normal::fill(&mut stream, &mut phi);
        let y = normal::draw(&mut stream);
        fold.add(root::rotate_in(&mut factor, &mut c, &mut phi, y));
    }
    fold.all(&factor);
    root::solve(&factor, &mut c);
    fold.all(&c);
    root::solve_transposed(&factor, &mut c);
    fold.all(&c);
}

fn pivoted<T: Scalar>(fold: &mut Fold) {
    const N: usize = 12;
    let mut factor = [T::ZERO; N * 8];
    let mut diagonal = [T::ZERO; N];
    let reached = linalg::pivoted_cholesky(
        N,
        8,
        &mut factor,
        &mut diagonal,
        T::from_f64(1e-6),
        covariance,
    );
    fold.add(T::from_u32(reached.rank as u32));
    fold.add(reached.residual);
    fold.all(&factor);
}
