//! A member of a federated prior, which keeps the public posterior itself: M features, 256
//! candidates, 10 initial points and room for 64 observations, 256 virtual designs. Its storage is
//! all that it needs, its public context and designs among it. What its flash takes is not counted.
//!
//! The terms of a release are a mean over all designs; nothing else depends on how many there are,
//! and is measured after terms of fewer.

use core::hint::black_box;

use sordino_core::digest::Digest;
use sordino_core::federated::prior::{
    Behaviour, Config, Member, MemberSizes, MemberState, MemberStorage, Parameters, PriorProtocol,
    Public, Tables, draw_designs, gram,
};
use sordino_core::federated::shares::{Attempts, Contribution, Modulus, SecretKey};
use sordino_core::federated::{Frame, Member as _, Next, OwnDraw};

use sordino_core::kernel::Stationary;
use sordino_core::math::Scalar;
use sordino_core::random::RunSeed;
use sordino_core::wire::{ScalarTag, frame_len_max};

use super::prior::features;
use super::shares::Flash;
use super::{Memory, Operation, Probe};
use crate::device::memory::{DESIGNS, INTEGERS, NUMBERS, PUBLIC};

const CANDIDATES: usize = 256;
const INITIAL: usize = 10;
const ROUNDS: usize = 54;
/// Virtual designs of a member, and where their number does not matter.
const ALL: usize = DESIGNS / INITIAL;
const FEW: usize = 8;
/// Features of the larger one.
const MOST: usize = 50;

const fn sizes(m: usize) -> MemberSizes {
    MemberSizes::new(CANDIDATES, m, INITIAL, ROUNDS, ALL)
}

const fn storage(m: usize) -> usize {
    4 * (sizes(m).context() + sizes(m).storage() + sizes(m).designs_len())
}

const _: () =
    assert!(sizes(MOST).storage() + MOST * MOST <= NUMBERS && CANDIDATES * MOST <= PUBLIC);
const _: () = assert!(MOST < INTEGERS);

/// Bytes of a message to the first of two servers at most, with M = 50: the row below says it.
const MESSAGE: usize = frame_len_max(ScalarTag::F32, 0) + Modulus::Bits32.hidden_len(MOST + 1);
const _: () = assert!(MESSAGE == 265);

/// Bounds are 1.4 times what was measured.
pub(super) const TABLE: &[Operation] = &[
    Operation::new(
        "member: terms of a release and its contribution, n = 10",
        &[(16, 37_000_000, 800_000_000)],
        storage,
        |memory, probe, m| {
            before(memory, (m, ALL), |member, _, _| {
                probe.measure(|| {
                    let _ = black_box(member.next());
                });
            });
        },
    )
    .with_stack_max(3584),
    Operation::new(
        "member: contribution to a message of two servers, 265 bytes at M = 50",
        &[(16, 47_000, 90_000), (50, 100_000, 190_000)],
        storage,
        |memory, probe, m| {
            with_member(memory, m, |member, given, integers| {
                hide(member, given, integers, probe)
            })
        },
    )
    .with_stack_max(2560),
    Operation::new(
        "member: released sums to its posterior",
        &[(16, 280_000, 8_100_000), (50, 5_400_000, 230_000_000)],
        storage,
        |memory, probe, m| {
            with_member(memory, m, |member, given, _| {
                probe.measure(|| {
                    let _ = black_box(member.enter(Frame::Released(black_box(given))));
                });
            });
        },
    )
    .with_stack_max(2048),
    Operation::new(
        "member: posterior to its next query, n = 10",
        &[(16, 140_000, 2_700_000), (50, 380_000, 12_700_000)],
        storage,
        |memory, probe, m| {
            with_member(memory, m, |member, given, _| {
                if member.enter(Frame::Released(given)).is_ok() {
                    probe.measure(|| {
                        let _ = black_box(member.next());
                    });
                }
            });
        },
    )
    .with_stack_max(3584),
];

/// Clip, integers, mask and share, as every agent of two servers does it.
fn hide(member: &mut Member<'_, f32>, given: &[f32], integers: &mut [i64], probe: &mut Probe) {
    let Ok(Some(encoding)) = member.encoding() else {
        return;
    };
    let own = SecretKey::new([1; 32]);
    let helper = SecretKey::new([2; 32]).public_key();
    let Ok(key) = own.with_helper(&helper) else {
        return;
    };
    let mut attempts = Attempts::new(Digest([7; 32]));
    let mut out = [0; Modulus::Bits64.hidden_len(MOST + 1)];
    probe.measure(|| {
        let contribution = Contribution {
            epoch: 0,
            encoding: &encoding,
            numbers: black_box(given),
        };
        let _ = black_box(key.hide(contribution, &mut attempts, &mut Flash, integers, &mut out));
    });
}

/// What the parties agree on: one release, before the first query.
fn protocol(m: usize, designs: usize) -> Option<PriorProtocol> {
    let usual = Parameters::usual(200, m as u32, INITIAL as u32, 0.01);
    Some(PriorProtocol {
        config: Config::new(Parameters {
            designs: designs as u32,
            ..usual
        })
        .ok()?,
        rounds: ROUNDS as u32,
        offset: 0.0,
        release_rounds: [0].into_iter().collect(),
        noise_multipliers: [4.0].into_iter().collect(),
        kernel: Stationary::SquaredExponential,
        lengthscale: 0.03,
        signal_variance: 1.0,
        own_draw: OwnDraw::Features,
        prior_tolerance: 0.0,
        landmarks: Digest([0; 32]),
        design_seed: RunSeed::new(2, 0),
        draw_seed: RunSeed::new(3, 0),
        behaviour: Behaviour::USUAL,
    })
}

/// Hands on a member that has made its initial points and its contribution, and as many integers as
/// that has numbers.
fn with_member(
    memory: &mut Memory,
    m: usize,
    act: impl FnOnce(&mut Member<'_, f32>, &[f32], &mut [i64]),
) {
    before(memory, (m, FEW), |member, given, integers| {
        if let Ok(Next::Give(numbers)) = member.next()
            && numbers.len() == given.len()
        {
            given.copy_from_slice(numbers);
            act(member, given, integers);
        }
    });
}

/// Hands on a member before its contribution, and room for that.
fn before(
    memory: &mut Memory,
    sizes: (usize, usize),
    act: impl FnOnce(&mut Member<'_, f32>, &mut [f32], &mut [i64]),
) {
    // What is refused measures nothing, and the table says so.
    let _ = made(memory, sizes, act);
}

fn made(
    memory: &mut Memory,
    (m, count): (usize, usize),
    act: impl FnOnce(&mut Member<'_, f32>, &mut [f32], &mut [i64]),
) -> Option<()> {
    let rows = memory.public.get_mut(..CANDIDATES * m)?;
    features(rows, m);
    let protocol = protocol(m, count)?;
    let (mean, numbers) = memory.numbers.split_at_mut_checked(m * m)?;
    gram(&protocol.config, rows, mean).ok()?;
    let designs = memory.designs.get_mut(..count * INITIAL)?;
    draw_designs(
        &protocol.config,
        protocol.design_seed,
        CANDIDATES as u32,
        designs,
    )
    .ok()?;
    let public = Public::new(
        &protocol.config,
        rows,
        Tables {
            prior_rows: &[],
            gram: mean,
            designs,
        },
    )
    .ok()?;
    let numbers = numbers.get_mut(..sizes(m).storage())?;
    let models = protocol.models();
    let mut state = MemberState::new(7, RunSeed::new(1, 0));
    let storage = MemberStorage::split(&protocol, &public, numbers).ok()?;
    let mut member = Member::attach(&protocol, public, &models, &mut state, storage).ok()?;
    member.enter(Frame::Start).ok()?;
    for _ in 0..INITIAL {
        let Next::Query { candidate, .. } = member.next().ok()? else {
            return None;
        };
        member.observed(Scalar::sin(0.05 * candidate as f32)).ok()?;
    }
    act(
        &mut member,
        memory.vectors.get_mut(..m + 1)?,
        memory.integers.get_mut(..m + 1)?,
    );
    Some(())
}
