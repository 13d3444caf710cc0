//! Operations below the posteriors.

use core::hint::black_box;

use sordino_core::acquisition::{log_expected_improvement, thompson, upper_confidence_bound};
use sordino_core::digest::Frame;
use sordino_core::domain::{Candidates, Regions};
use sordino_core::features::{FeatureMap, PairedFourier, RandomFourier};
use sordino_core::kernel::{Kernel, Linear, Matern52, Stationary, StationaryKernel, Table};
use sordino_core::linalg::{self, dot, lower, root};
use sordino_core::privacy::encode::Encoder;
use sordino_core::random::exact::Bits;
use sordino_core::random::{Simulated, Stream, laplace, normal};
use sordino_core::wire::{Header, Kind, ScalarTag, VERSION, decode, encode};

use super::device::{Memory, is, some};

pub(super) fn run(memory: &mut Memory) {
    matrices(memory);
    randomness(memory);
    frames(memory);
    kernels(memory);
    acquisitions(memory);
}

fn matrices(memory: &mut Memory) {
    let Memory { a, b, c, d, .. } = memory;
    let a = some(a);
    let b = some(b);
    let c = some(c);
    let d = some(d);
    let n = black_box(7usize);
    if const { is("linalg::dot") } {
        black_box(dot(a, b));
    }
    if const { is("linalg::matvec") } {
        linalg::matvec(a, b, c);
    }
    if const { is("linalg::lower::append_row") } {
        let _ = black_box(lower::append_row(a, n, 0.0));
    }
    if const { is("linalg::lower::solve") } {
        lower::solve(a, b);
        lower::solve_transposed(a, b);
    }
    if const { is("linalg::lower::rank_one_update") } {
        lower::rank_one_update(a, n, b, c, 0.5);
    }
    if const { is("linalg::lower::rank_one_downdate") } {
        let _ = black_box(lower::rank_one_downdate(a, n, b, c, 0.5));
    }
    if const { is("linalg::lower::delete_row") } {
        lower::delete_row(a, n, black_box(3), b, c);
    }
    if const { is("linalg::root::rotate_in") } {
        root::rotate_in(a, b, c, 0.5);
    }
    if const { is("linalg::root::rotate_out") } {
        let _ = black_box(root::rotate_out(a, b, c, 0.5, d, 0.1));
    }
    if const { is("linalg::root::solve") } {
        root::solve(a, b);
        root::solve_transposed(a, b);
    }
}

fn randomness(memory: &mut Memory) {
    let Memory { b, sums, .. } = memory;
    let b = some(b);
    if const { is("random::normal::fill") } {
        normal::fill(&mut Stream::from_seed(black_box(1)), b);
    }
    if const { is("random::laplace::draw") } {
        black_box(laplace::draw(
            &mut Stream::from_seed(black_box(1)),
            black_box(0.5f32),
        ));
    }
    if const { is("random::exact::normal_floor") } {
        let mut source = Simulated::new(Stream::from_seed(black_box(1)));
        let _ = black_box(Bits::new(&mut source).normal_floor(black_box(16)));
    }
    if const { is("digest") } {
        let mut frame = Frame::leaf();
        frame.scalars(b);
        black_box(frame.end());
    }
    if const { is("privacy::encode") }
        && let Ok(encoder) = Encoder::new(black_box(65536), black_box(1.0), black_box(1.0))
    {
        let _ = black_box(encoder.add(b, black_box(&[0.5, 0.5]), sums));
    }
}

fn frames(memory: &mut Memory) {
    let numbers = some(&mut memory.b);
    let mut bytes = black_box([0; 512]);
    let Some(bytes) = bytes.get_mut(..black_box(512)) else {
        return;
    };
    if const { is("wire::encode") } {
        let version = VERSION;
        let kind = Kind::Upload;
        let scalar = ScalarTag::F32;
        let deployment = 5;
        let marks = Header {
            version,
            kind,
            scalar,
            deployment,
            config: 6,
            chain: 7,
            agent: 1,
            round: 2,
            attempt: 0,
            len: 0,
        };
        let _ = black_box(encode(black_box(marks), numbers, bytes).is_ok());
    }
    if const { is("wire::decode") }
        && let Ok((header, payload)) = decode(bytes, black_box(64))
    {
        black_box(header);
        let _ = black_box(payload.read(numbers).is_ok());
    }
}

fn kernels(memory: &mut Memory) {
    let Memory { a, b, c, d, .. } = memory;
    let a = some(a);
    let b = some(b);
    let c = some(c);
    let d = some(d);
    let n = black_box(7usize);
    if const { is("kernel::matern") }
        && let Ok(kernel) = Matern52::new(black_box(0.2), 1.0)
    {
        kernel.covariances(a, b, c);
    }
    if const { is("kernel::stationary, a lengthscale each") }
        && let Ok(kernel) =
            StationaryKernel::ard_with_shape(black_box(Stationary::Matern32), &*d, 1.0)
    {
        kernel.covariances(a, b, c);
    }
    if const { is("kernel::linear") }
        && let Ok(kernel) = Linear::new(&*d, 1.0)
    {
        kernel.covariances(a, b, c);
    }
    if const { is("kernel::table") }
        && let Ok(kernel) = Table::new(n, &*d)
    {
        kernel.covariances(a, b, c);
    }
    if const { is("features::random_fourier") }
        && let Ok(map) = RandomFourier::new(black_box(2), black_box(64), 1.0, true, &*a)
    {
        map.features(b, c);
    }
    if const { is("features::paired") }
        && let Ok(map) = PairedFourier::new(black_box(2), black_box(64), 1.0, &*a)
    {
        map.features(b, c);
    }
}

fn acquisitions(memory: &mut Memory) {
    let Memory { a, b, c, .. } = memory;
    let a = some(a);
    let b = some(b);
    let c = some(c);
    if const { is("acquisition::thompson") } {
        let map = RandomFourier::new(black_box(2), black_box(64), 1.0, true, &*a);
        if let (Ok(map), Ok(grid), Ok(whole)) =
            (map, Candidates::grid(black_box(8), 2), Regions::whole(2))
        {
            black_box(thompson::maximize_streamed(&grid, &map, &whole, b, c));
        }
    }
    if const { is("acquisition::upper_confidence_bound") } {
        black_box(upper_confidence_bound::maximize(a, b, black_box(2.0)));
    }
    if const { is("acquisition::log_expected_improvement") } {
        black_box(log_expected_improvement::maximize(a, b, black_box(0.5)));
    }
}
