//! A member of a federated prior in C: what is refused, and what no reset undoes.
#![allow(clippy::multiple_unsafe_ops_per_block)]

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use sordino_c::agent::AnswerKind;
use sordino_c::member::*;
use sordino_c::status::{Status, sordino_message};
use sordino_core::domain::Candidates;
use sordino_core::federated::OwnDraw;
use sordino_core::federated::exchange::{Agreement, Announced, Protocol, candidates_digest};
use sordino_core::federated::prior::{Behaviour, Config, Parameters, PriorProtocol};
use sordino_core::federated::shares::{SecretKey, Trust};
use sordino_core::kernel::Stationary;
use sordino_core::random::RunSeed;
use sordino_core::wire::ScalarTag;

use device::{ANSWER, Device, OWN};

mod device;

const M: usize = 3;

/// Two agents, D = 9, M = 3, two initial points, four rounds, releases after the first points and
/// after round 2.
fn agreement(trust: Trust) -> Agreement {
    let grid = |points| candidates_digest(&Candidates::<f64>::grid(points, 1).unwrap(), &mut [0.0]);
    let config = Parameters {
        designs: 8,
        trust,
        ..Parameters::usual(2, M as u32, 2, 0.1)
    };
    let protocol = PriorProtocol {
        config: Config::new(config).unwrap(),
        rounds: 4,
        offset: 0.0,
        release_rounds: [0, 2].into_iter().collect(),
        noise_multipliers: [3.0, 3.0].into_iter().collect(),
        kernel: Stationary::SquaredExponential,
        lengthscale: 0.2,
        signal_variance: 1.0,
        own_draw: OwnDraw::Features,
        prior_tolerance: 0.0,
        landmarks: grid(3),
        design_seed: RunSeed::new(7, 0),
        draw_seed: RunSeed::new(8, 0),
        behaviour: Behaviour::USUAL,
    };
    Agreement {
        protocol: Protocol::Prior(protocol),
        candidates: grid(9),
        dim: 1,
        scalar: ScalarTag::F32,
        deployment: 5,
        announced: Announced {
            epsilon_max: None,
            delta: 1e-5,
            deadline_ms: 1,
            may_close_early: true,
        },
    }
}

#[test]
fn keys_are_what_the_agreement_says_or_nothing_is_built() {
    for (trust, is_shared, expected) in [
        (Trust::OneServer, false, Status::Ok),
        (Trust::TwoServers, true, Status::Ok),
        (Trust::OneServer, true, Status::Trust),
        (Trust::TwoServers, false, Status::Trust),
    ] {
        assert_eq!(
            Device::new(&agreement(trust), is_shared).open(),
            expected,
            "{trust} {is_shared}"
        );
    }
    let mut device = Device::shared();
    device.settings.own_secret = null();
    assert_eq!(device.open(), Status::Trust);
    // A key of low order: everybody would know the masks.
    let mut device = Device::shared();
    device.helper = [0; 32];
    assert_eq!(device.open(), Status::Trust);
    // What a generator gives that failed; refused before anything is written.
    for byte in [0, 0xff] {
        let mut device = Device::shared();
        let secret = [byte; 32];
        let mut public = [7; 32];
        device.settings.own_secret = secret.as_ptr();
        assert_eq!(
            (device.open(), device.refused.as_str()),
            (Status::Range, "own_secret")
        );
        assert!(
            device
                .chip
                .slots
                .iter()
                .all(|slot| slot.iter().all(|byte| *byte == 0xff))
        );
        assert_eq!(
            // SAFETY: 32 bytes of ours each.
            unsafe { sordino_member_public_key(secret.as_ptr(), public.as_mut_ptr()) },
            Status::Range
        );
        assert_eq!(public, [7; 32]);
    }
    // Masks without a flash would serve again after a reset.
    let mut device = Device::shared();
    device.has_flash = false;
    assert_eq!(device.open(), Status::Null);
    let mut device = Device::new(&agreement(Trust::OneServer), false);
    device.has_flash = false;
    assert_eq!(device.open(), Status::Ok);
    let mut public = [0; 32];
    // SAFETY: NULL, or 32 bytes of ours.
    let public_key = |secret, to| unsafe { sordino_member_public_key(secret, to) };
    assert_eq!(public_key(OWN.as_ptr(), public.as_mut_ptr()), Status::Ok);
    assert_eq!(public, SecretKey::new(OWN).public_key().0);
    assert_eq!(public_key(null(), public.as_mut_ptr()), Status::Null);
    assert_eq!(public_key(OWN.as_ptr(), null_mut()), Status::Null);
}

#[test]
fn an_agreement_is_the_one_of_its_digest_and_points_are_those_agreed_on() {
    let of = |change: &dyn Fn(&mut Device)| {
        let mut device = Device::new(&agreement(Trust::OneServer), false);
        change(&mut device);
        (device.open(), device.refused.clone())
    };
    let alone = |status| (status, String::new());
    let range = |field: &str| (Status::Range, field.to_owned());
    assert_eq!(
        of(&|device| device.settings.agreement_len -= 1),
        alone(Status::Agreement)
    );
    assert_eq!(of(&|device| device.bytes[3] ^= 1), alone(Status::Agreement));
    assert_eq!(
        of(&|device| device.digest[31] ^= 1),
        alone(Status::Agreement)
    );
    assert_eq!(
        of(&|device| device.settings.per_axis = 8),
        range("per_axis")
    );
    assert_eq!(
        of(&|device| device.settings.per_axis = 1),
        range("per_axis")
    );
    assert_eq!(
        of(&|device| device.settings.landmarks_per_axis = 4),
        range("landmarks_per_axis")
    );
    assert_eq!(of(&|device| device.settings.agent = 2), range("agent"));
    let mut stranger = Device::new(&agreement(Trust::OneServer), false);
    stranger.settings.agent = 2;
    assert_eq!(stranger.open(), Status::Range);
    assert!(
        stranger
            .chip
            .slots
            .iter()
            .all(|slot| slot.iter().all(|byte| *byte == 0xff)),
        "nothing is written for it"
    );
    assert_eq!(
        of(&|device| device.doubles.truncate(device.doubles.len() - 1)),
        alone(Status::TooShort)
    );
    assert_eq!(
        of(&|device| device.memory.truncate(device.memory.len() - 2)),
        alone(Status::TooShort)
    );
    let double = Agreement {
        scalar: ScalarTag::F64,
        ..agreement(Trust::OneServer)
    };
    assert_eq!(Device::new(&double, false).open(), Status::Agreement);
    assert_eq!(sordino_member_size(9, 0, 2, 4, 8), 0);
    assert_eq!(sordino_member_size(9, M as u32, 2, 4097, 8), 0);
    for status in [
        Status::Agreement,
        Status::Trust,
        Status::Masks,
        Status::Hidden,
    ] {
        // SAFETY: a static text, which ends with a zero.
        let said = unsafe { CStr::from_ptr(sordino_message(status as i32)) }
            .to_str()
            .unwrap();
        assert!(!said.contains("no status"), "{said}");
    }
}

#[test]
fn frames_come_in_order_and_each_is_learned_once() {
    let mut device = Device::new(&agreement(Trust::OneServer), false);
    assert_eq!(device.open(), Status::Ok);
    let released = [0.3, 0.1, -0.2, 1.8];
    assert_eq!(device.repeat().1.kind, AnswerKind::Wait);
    assert_eq!(device.observed(1.0).0, Status::Unexpected);
    assert_eq!(device.frame(1, &released, 0).0, Status::Unexpected);
    assert_eq!(device.frame(0, &released, 0).0, Status::Length);
    assert_eq!(device.frame(0, &[], 2).0, Status::Range);
    let (status, answer) = device.frame(0, &[], 0);
    assert_eq!((status, answer.kind), (Status::Ok, AnswerKind::Evaluate));
    assert_eq!(device.frame(1, &released, 0).0, Status::Unexpected); // a value is awaited
    assert_eq!(device.observed(f32::NAN).0, Status::NotFinite);
    assert_eq!(device.hide(0, 64).0, Status::Unexpected);
    let answer = device.evaluate(answer);
    assert_eq!(
        (answer.kind, answer.len),
        (AnswerKind::Upload, M as u32 + 1)
    );
    assert_eq!(device.hide(0, 64).0, Status::Unexpected); // one server: nothing is hidden
    assert_eq!(device.frame(1, &released[..3], 0).0, Status::Length);
    assert_eq!(device.frame(1, &[f32::NAN; 4], 0).0, Status::NotFinite);
    assert_eq!(device.described(), [1, 2, 0, 0]);
    let asked = device.frame(1, &released, 0).1.candidate;
    assert_eq!(device.frame(1, &released, 0).1.candidate, asked);
    assert_eq!(device.described(), [2, 2, 0, 0]);
    let answer = device.repeat().1;
    assert_eq!(device.evaluate(answer).kind, AnswerKind::Upload);
    // The last round is over: the rest is evaluated, and nothing comes after it.
    let answer = device.frame(2, &[], 0).1;
    assert_eq!(device.evaluate(answer).kind, AnswerKind::Done);
    assert_eq!(device.frame(3, &[], 0).0, Status::Unexpected);
    assert_eq!(device.described(), [3, 6, 0, 1]);
    // SAFETY: what was opened, and NULL.
    let nowhere = unsafe { sordino_member_repeat(device.member, null_mut()) };
    assert_eq!(nowhere, Status::Null);
}

/// Finite numbers that no two agents and their noise can add up to: nothing is learned of them,
/// also after a reset, and the honest numbers of that round still count.
#[test]
fn an_absurd_release_is_refused_and_its_round_is_still_open() {
    let released = [0.3, 0.1, -0.2, 1.8];
    let ended = |absurd: Option<&[f32; M + 1]>| {
        let mut device = Device::new(&agreement(Trust::OneServer), false);
        assert_eq!(device.open(), Status::Ok);
        let answer = device.frame(0, &[], 0).1;
        device.evaluate(answer);
        if let Some(absurd) = absurd {
            assert_eq!(device.frame(1, absurd, 0).0, Status::Range, "{absurd:?}");
            assert_eq!(device.described(), [1, 2, 0, 0]);
            assert_eq!(device.open(), Status::Ok);
            assert_eq!(
                (device.described(), device.repeat().1.kind),
                ([1, 2, 0, 0], AnswerKind::Upload)
            );
        }
        let answer = device.frame(1, &released, 0).1;
        let given = device.evaluate(answer);
        assert_eq!(device.open(), Status::Ok);
        (device.described(), answer.candidate, given.kind)
    };
    let honest = ended(None);
    assert_eq!((honest.0, honest.2), ([2, 4, 0, 0], AnswerKind::Upload));
    for absurd in [
        [1e38; M + 1],
        [0.3, f32::MIN, -0.2, 1.8],
        [0.3, 0.1, -0.2, 1e4],
    ] {
        assert_eq!(ended(Some(&absurd)), honest);
    }
}

#[test]
fn an_epoch_that_is_over_asks_nothing_also_after_a_reset() {
    let mut device = Device::new(&agreement(Trust::OneServer), false);
    assert_eq!(device.open(), Status::Ok);
    let answer = device.frame(0, &[], 0).1;
    device.evaluate(answer);
    assert_eq!(
        device.frame(1, &[0.3, 0.1, -0.2, 1.8], 1).1.kind,
        AnswerKind::Wait
    );
    assert_eq!(device.open(), Status::Ok);
    assert_eq!(device.repeat().1.kind, AnswerKind::Wait);
    let answer = device.frame(2, &[], 1).1;
    assert_eq!(device.evaluate(answer).kind, AnswerKind::Done);
    assert_eq!(device.described(), [3, 6, 0, 1]);
}

/// At whatever write the power fails: no mask serves two shares that differ, what is contributed is
/// the same, and the member comes to its end.
#[test]
fn no_cut_makes_a_mask_serve_twice() {
    let run = |cut: u32| {
        let mut device = Device::shared();
        let mut sent = Vec::<(u32, Vec<u8>)>::new();
        device.chip.writes = cut;
        let mut asked = Vec::new();
        'boots: loop {
            match device.open() {
                Status::Ok => {}
                Status::Flash => {
                    device.chip.writes = u32::MAX;
                    continue;
                }
                status => panic!("{status:?} at {cut}"),
            }
            let mut answer = device.repeat();
            let mut round = device.described()[0].saturating_sub(1);
            loop {
                if answer.0 == Status::Flash {
                    device.chip.writes = u32::MAX;
                    continue 'boots;
                }
                assert_eq!(answer.0, Status::Ok, "{cut}");
                answer = match answer.1.kind {
                    AnswerKind::Done => return (asked, sent, device.described()),
                    AnswerKind::Evaluate => {
                        asked.push((device.described()[1], answer.1.candidate));
                        device.observed(answer.1.candidate as f32 / 8.0)
                    }
                    AnswerKind::Upload => panic!("a contribution in the clear"),
                    AnswerKind::Wait => device.frame(round, &[], 0),
                    AnswerKind::Hide => {
                        assert_eq!(answer.1.len, 0);
                        let (status, bytes) = device.hide(round, 64);
                        if status == Status::Ok {
                            sent.push((round, bytes));
                            round += 1;
                            device.frame(round, &[0.3, 0.1, -0.2, 1.8], 0)
                        } else {
                            (status, ANSWER)
                        }
                    }
                };
            }
        }
    };
    let (whole, first, end) = run(u32::MAX);
    assert_eq!((first.len(), end), (2, [3, 6, 2, 1]));
    let mut spent = 0;
    for cut in 1..60 {
        let (mut asked, sent, end) = run(cut);
        asked.dedup();
        assert_eq!(asked, whole, "{cut}");
        for (i, (round, bytes)) in sent.iter().enumerate() {
            // The same attempt of the same epoch hides the same numbers.
            let again = sent[..i]
                .iter()
                .chain(&first)
                .find(|(of, other)| of == round && other[..4] == bytes[..4]);
            assert!(again.is_none_or(|(_, other)| other == bytes), "{cut}");
        }
        assert_eq!([end[0], end[1], end[3]], [3, 6, 1], "{cut}");
        spent = spent.max(end[2]);
    }
    // A cut between store and share costs a mask, so the check above was none without one.
    assert!(spent > 2);
}

/// A flash serves one object. A second one that was opened beside it, by mistake, uses no mask that
/// the first has used.
#[test]
fn two_objects_on_one_flash_use_no_mask_twice() {
    let mut first = Device::shared();
    let mut second = Device::shared();
    for device in [&mut first, &mut second] {
        assert_eq!(device.open(), Status::Ok);
        let (status, answer) = device.frame(0, &[], 0);
        assert_eq!(
            (status, device.evaluate(answer).kind),
            (Status::Ok, AnswerKind::Hide)
        );
    }
    let (status, _) = second.hide(0, 64);
    assert_eq!(status, Status::Ok);
    // As if both had one chip: the first object finds there what the second has stored.
    let kept = first.chip.slots;
    first.chip.slots[2..4].copy_from_slice(&second.chip.slots[2..4]);
    let (status, bytes) = first.hide(0, 64);
    assert_eq!((status, bytes.len()), (Status::Masks, 0));
    // Negative control: on its own chip it may.
    first.chip.slots = kept;
    assert_eq!(first.hide(0, 64).0, Status::Ok);
}

/// A state that flash did not take is stored before a share of it leaves, or nothing leaves.
#[test]
fn nothing_leaves_of_a_state_that_is_not_in_flash() {
    let mut device = Device::shared();
    assert_eq!(device.open(), Status::Ok);
    let (_, answer) = device.frame(0, &[], 0);
    let (_, answer) = device.observed(answer.candidate as f32 / 8.0);
    assert_eq!(answer.kind, AnswerKind::Evaluate, "the last of two");
    // The last value is written, and the state after it is not.
    device.chip.writes = 1;
    assert_eq!(
        device.observed(answer.candidate as f32 / 8.0).0,
        Status::Flash
    );
    assert_eq!(device.hide(0, 64), (Status::Flash, Vec::new()));
    assert_eq!(device.described()[2], 0, "no mask is used");
    device.chip.writes = u32::MAX;
    let (status, sent) = device.hide(0, 64);
    let described = device.described();
    assert_eq!(status, Status::Ok);
    // After a reset it stands where the share left it.
    assert_eq!((device.open(), device.described()), (Status::Ok, described));
    assert_eq!(device.repeat().1.kind, AnswerKind::Hide);
    assert!(!sent.is_empty());
}

/// A flash that says yes and takes nothing is found out at the write, not after the next reset.
#[test]
fn a_slot_that_took_nothing_does_not_count_as_written() {
    // The attempts, a release, an observation: slots of the table in `kept.rs`.
    for worn in [2, 4] {
        let mut device = Device::shared();
        device.chip.worn = worn;
        let opened = device.open();
        let reached = if opened == Status::Ok {
            let (_, answer) = device.frame(0, &[], 0);
            device.observed(answer.candidate as f32 / 8.0).0
        } else {
            opened
        };
        assert_eq!(reached, Status::Flash, "worn from slot {worn} on");
        assert_eq!(device.hide(0, 64).1, Vec::new());
    }
}

#[test]
fn a_device_that_lost_its_attempts_or_its_state_is_refused() {
    let mut device = Device::shared();
    assert_eq!(device.open(), Status::Ok);
    let answer = device.frame(0, &[], 0).1;
    assert_eq!(device.evaluate(answer).kind, AnswerKind::Hide);
    assert_eq!(device.hide(1, 64).0, Status::Unexpected); // another epoch
    assert_eq!(device.hide(0, 19).0, Status::TooShort);
    assert_eq!(device.described()[2], 0, "no attempt was spent");
    let (status, bytes) = device.hide(0, 64);
    assert_eq!(
        (status, bytes.len() % 4, &bytes[..4]),
        (Status::Ok, 0, &[0; 4][..])
    );
    assert_eq!(device.hide(0, 64).1, bytes);
    assert_eq!(device.open(), Status::Ok);
    let (_, again) = device.hide(0, 64);
    assert_eq!(
        (again[..4] == [1, 0, 0, 0], again[4..] == bytes[4..]),
        (true, false)
    );
    assert_eq!(device.described()[2], 2);
    let kept = device.chip.slots;
    let erased = [0xff; SORDINO_MEMBER_SLOT];
    device.chip.slots[2..4].fill(erased);
    assert_eq!(device.open(), Status::Masks);
    device.chip.slots = kept;
    device.chip.slots[..2].fill(erased);
    assert_eq!(device.open(), Status::StoredDamaged);
    // A release that is gone: its posterior would be another.
    device.chip.slots = kept;
    assert_eq!(device.open(), Status::Ok);
    assert_eq!(device.frame(1, &[0.3, 0.1, -0.2, 1.8], 0).0, Status::Ok);
    device.chip.slots[4] = erased;
    assert_eq!(device.open(), Status::StoredDamaged);
    // Another agent, or another agreement.
    device.chip.slots = kept;
    device.settings.agent = 0;
    assert_eq!(device.open(), Status::StoredForeign);
}

#[test]
fn a_budget_that_does_not_hold_the_release_lets_nothing_leave() {
    let announced = Announced {
        epsilon_max: Some(1.5),
        ..agreement(Trust::TwoServers).announced
    };
    let agreement = Agreement {
        announced,
        ..agreement(Trust::TwoServers)
    };
    let affords = |release| {
        agreement
            .protocol
            .prior()
            .unwrap()
            .plan()
            .affords(release, 1.5, 1e-5)
            .unwrap()
    };
    assert_eq!((affords(0), affords(1)), (true, false));
    let mut device = Device::new(&agreement, true);
    assert_eq!(device.open(), Status::Ok);
    let answer = device.frame(0, &[], 0).1;
    assert_eq!(device.evaluate(answer).kind, AnswerKind::Hide);
    assert_eq!(device.hide(0, 64).0, Status::Ok);
    let answer = device.frame(1, &[0.3, 0.1, -0.2, 1.8], 0).1;
    assert_eq!(device.evaluate(answer).kind, AnswerKind::Wait);
    assert_eq!(device.hide(1, 64).0, Status::Budget);
    assert_eq!(device.described()[2], 1);
}
