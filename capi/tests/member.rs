//! A member of a federated prior in C: what is refused, and what no reset undoes.
#![allow(clippy::multiple_unsafe_ops_per_block)]

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use sordino_c::agent::{Answer, AnswerKind};
use sordino_c::callback::Flash;
use sordino_c::member::*;
use sordino_c::status::{Refusal, Status, sordino_message};
use sordino_core::domain::Candidates;
use sordino_core::federated::OwnDraw;
use sordino_core::federated::exchange::{Agreement, Announced, Protocol, candidates_digest};
use sordino_core::federated::prior::{Behaviour, Config, Parameters, PriorProtocol};
use sordino_core::federated::shares::{SecretKey, Trust};
use sordino_core::kernel::Stationary;
use sordino_core::random::RunSeed;
use sordino_core::wire::ScalarTag;

const SLOTS: usize = 24;
const M: usize = 3;
const OWN: [u8; 32] = *b"drawn by nobody, for a test only";
const ANSWER: Answer = Answer { kind: AnswerKind::Wait, candidate: 0, number: 0, len: 0, numbers: null() };

/// Two agents, D = 9, M = 3, two initial points, four rounds, releases after the first points and after round 2.
fn agreement(trust: Trust) -> Agreement {
    let grid = |points| candidates_digest(&Candidates::<f64>::grid(points, 1).unwrap(), &mut [0.0]);
    let config = Parameters { designs: 8, trust, ..Parameters::usual(2, M as u32, 2, 0.1) };
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
        announced: Announced { epsilon_max: None, delta: 1e-5, deadline_ms: 1, may_close_early: true },
    }
}

/// Flash in memory, which takes only so many writes.
struct Chip {
    slots: [[u8; SORDINO_MEMBER_SLOT]; SLOTS],
    writes: u32,
    /// Slots from here on are worn: a write says that it went well, and they stay erased.
    worn: usize,
}

// SAFETY: a callback for tests; what it is handed is what the library promises.
unsafe extern "C" fn read(context: *mut c_void, slot: u32, bytes: *mut u8, len: usize) -> i32 {
    // SAFETY: the context is a chip that nothing else uses meanwhile.
    let chip = unsafe { &mut *context.cast::<Chip>() };
    let Some(found) = chip.slots.get(slot as usize) else { return -1 };
    // SAFETY: room for `len` bytes, by the library's word, which asks for no more than a slot has.
    unsafe { bytes.copy_from(found.as_ptr(), len) };
    0
}

// SAFETY: as above.
unsafe extern "C" fn write(context: *mut c_void, slot: u32, bytes: *const u8, len: usize) -> i32 {
    // SAFETY: as above.
    let chip = unsafe { &mut *context.cast::<Chip>() };
    let left = chip.writes.checked_sub(1);
    let Some(place) = chip.slots.get_mut(slot as usize) else { return -1 };
    place.fill(0xff);
    // Cut in the middle of a slot.
    let taken = if left.is_some() { len } else { len / 2 };
    // SAFETY: `len` bytes are there, by the library's word, and no more than a slot has.
    unsafe { place.as_mut_ptr().copy_from(bytes, taken) };
    if slot as usize >= chip.worn {
        place.fill(0xff);
    }
    chip.writes = left.unwrap_or(0);
    if left.is_some() { 0 } else { -1 }
}

/// A device: its agreement and keys, memory and flash.
struct Device {
    bytes: Vec<u8>,
    digest: [u8; 32],
    helper: [u8; 32],
    settings: MemberSettings,
    memory: Vec<u64>,
    doubles: Vec<f64>,
    chip: Box<Chip>,
    has_flash: bool,
    member: *mut Member,
    refused: String,
}

impl Device {
    fn new(agreement: &Agreement, is_shared: bool) -> Self {
        let settings = MemberSettings {
            seed: 9,
            agreement: null(),
            agreement_len: 0,
            digest: null(),
            own_secret: if is_shared { OWN.as_ptr() } else { null() },
            helper_key: null(),
            agent: 1,
            per_axis: 9,
            landmarks_per_axis: 3,
        };
        let mut device = Device {
            bytes: postcard::to_slice(agreement, &mut [0; 512]).unwrap().to_vec(),
            digest: agreement.digest().0,
            helper: SecretKey::new([2; 32]).public_key().0,
            settings,
            memory: vec![0; sordino_member_size(9, M as u32, 2, 4, 8) / 8 + 1],
            doubles: vec![0.0; 2 * M * M + 3 * M + 1],
            chip: Box::new(Chip { slots: [[0xff; SORDINO_MEMBER_SLOT]; SLOTS], writes: u32::MAX, worn: SLOTS }),
            has_flash: true,
            member: null_mut(),
            refused: String::new(),
        };
        device.settings.agreement_len = device.bytes.len();
        if is_shared {
            device.settings.helper_key = device.helper.as_ptr();
        }
        device
    }

    fn shared() -> Self {
        Self::new(&agreement(Trust::TwoServers), true)
    }

    fn open(&mut self) -> Status {
        // The vectors may have moved since.
        self.settings.agreement = self.bytes.as_ptr();
        self.settings.digest = self.digest.as_ptr();
        if !self.settings.helper_key.is_null() {
            self.settings.helper_key = self.helper.as_ptr();
        }
        self.memory.fill(0x5a5a_5a5a_5a5a_5a5a);
        let flash = Flash { context: (&raw mut *self.chip).cast(), read: Some(read), write: Some(write) };
        let (memory, len) = (self.memory.as_mut_ptr().cast(), 8 * self.memory.len());
        let (doubles, room) = (self.doubles.as_mut_ptr(), self.doubles.len());
        let flash = if self.has_flash { &raw const flash } else { null() };
        let mut refusal = Refusal { field: null(), field_len: 0, value: 0.0, admissible: null(), admissible_len: 0 };
        // SAFETY: memory of that many bytes, and values of ours.
        let opened = unsafe {
            sordino_member_open(memory, len, &self.settings, flash, doubles, room, &mut self.member, &mut refusal)
        };
        self.refused.clear();
        if opened == Status::Range {
            // SAFETY: a static text of that length, by the library's word.
            let name = unsafe { std::slice::from_raw_parts(refusal.field.cast::<u8>(), refusal.field_len) };
            self.refused.push_str(std::str::from_utf8(name).unwrap());
        }
        opened
    }

    fn frame(&mut self, round: u32, numbers: &[f32], is_over: u32) -> (Status, Answer) {
        let mut answer = ANSWER;
        let list = if numbers.is_empty() { null() } else { numbers.as_ptr() };
        // SAFETY: what was opened, values of ours.
        let status = unsafe { sordino_member_frame(self.member, round, list, numbers.len(), is_over, &mut answer) };
        (status, answer)
    }

    fn observed(&mut self, y: f32) -> (Status, Answer) {
        let mut answer = ANSWER;
        // SAFETY: as above.
        let status = unsafe { sordino_member_observed(self.member, y, &mut answer) };
        (status, answer)
    }

    fn repeat(&mut self) -> (Status, Answer) {
        let mut answer = ANSWER;
        // SAFETY: as above.
        let status = unsafe { sordino_member_repeat(self.member, &mut answer) };
        (status, answer)
    }

    fn hide(&mut self, round: u32, room: usize) -> (Status, Vec<u8>) {
        let (mut bytes, mut used) = (vec![0; room], 0);
        // SAFETY: as above.
        let status = unsafe { sordino_member_hide(self.member, round, bytes.as_mut_ptr(), room, &mut used) };
        bytes.truncate(used);
        (status, bytes)
    }

    /// Frames, observations, masks, over.
    fn described(&self) -> [u32; 4] {
        let [mut frames, mut observations, mut masks, mut over] = [0; 4];
        // SAFETY: as above.
        let status =
            unsafe { sordino_member_describe(self.member, &mut frames, &mut observations, &mut masks, &mut over) };
        assert_eq!(status, Status::Ok);
        [frames, observations, masks, over]
    }

    /// Tells values until something else is asked.
    fn evaluate(&mut self, mut answer: Answer) -> Answer {
        while answer.kind == AnswerKind::Evaluate {
            let (status, next) = self.observed(answer.candidate as f32 / 8.0);
            assert_eq!(status, Status::Ok);
            answer = next;
        }
        answer
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
        assert_eq!(Device::new(&agreement(trust), is_shared).open(), expected, "{trust} {is_shared}");
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
        let (mut device, secret, mut public) = (Device::shared(), [byte; 32], [7; 32]);
        device.settings.own_secret = secret.as_ptr();
        assert_eq!((device.open(), device.refused.as_str()), (Status::Range, "own_secret"));
        assert!(device.chip.slots.iter().all(|slot| slot.iter().all(|byte| *byte == 0xff)));
        // SAFETY: 32 bytes of ours each.
        assert_eq!(unsafe { sordino_member_public_key(secret.as_ptr(), public.as_mut_ptr()) }, Status::Range);
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
    assert_eq!(of(&|device| device.settings.agreement_len -= 1), alone(Status::Agreement));
    assert_eq!(of(&|device| device.bytes[3] ^= 1), alone(Status::Agreement));
    assert_eq!(of(&|device| device.digest[31] ^= 1), alone(Status::Agreement));
    assert_eq!(of(&|device| device.settings.per_axis = 8), range("per_axis"));
    assert_eq!(of(&|device| device.settings.per_axis = 1), range("per_axis"));
    assert_eq!(of(&|device| device.settings.landmarks_per_axis = 4), range("landmarks_per_axis"));
    assert_eq!(of(&|device| device.settings.agent = 2), range("agent"));
    let mut stranger = Device::new(&agreement(Trust::OneServer), false);
    stranger.settings.agent = 2;
    assert_eq!(stranger.open(), Status::Range);
    assert!(stranger.chip.slots.iter().all(|slot| slot.iter().all(|byte| *byte == 0xff)), "nothing is written for it");
    assert_eq!(of(&|device| device.doubles.truncate(device.doubles.len() - 1)), alone(Status::TooShort));
    assert_eq!(of(&|device| device.memory.truncate(device.memory.len() - 2)), alone(Status::TooShort));
    let double = Agreement { scalar: ScalarTag::F64, ..agreement(Trust::OneServer) };
    assert_eq!(Device::new(&double, false).open(), Status::Agreement);
    assert_eq!(sordino_member_size(9, 0, 2, 4, 8), 0);
    assert_eq!(sordino_member_size(9, M as u32, 2, 4097, 8), 0);
    for status in [Status::Agreement, Status::Trust, Status::Masks, Status::Hidden] {
        // SAFETY: a static text, which ends with a zero.
        let said = unsafe { CStr::from_ptr(sordino_message(status as i32)) }.to_str().unwrap();
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
    assert_eq!((answer.kind, answer.len), (AnswerKind::Upload, M as u32 + 1));
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

#[test]
fn an_epoch_that_is_over_asks_nothing_also_after_a_reset() {
    let mut device = Device::new(&agreement(Trust::OneServer), false);
    assert_eq!(device.open(), Status::Ok);
    let answer = device.frame(0, &[], 0).1;
    device.evaluate(answer);
    assert_eq!(device.frame(1, &[0.3, 0.1, -0.2, 1.8], 1).1.kind, AnswerKind::Wait);
    assert_eq!(device.open(), Status::Ok);
    assert_eq!(device.repeat().1.kind, AnswerKind::Wait);
    let answer = device.frame(2, &[], 1).1;
    assert_eq!(device.evaluate(answer).kind, AnswerKind::Done);
    assert_eq!(device.described(), [3, 6, 0, 1]);
}

/// At whatever write the power fails: no mask serves two shares that differ, what is contributed is the same, and the member
/// comes to its end.
#[test]
fn no_cut_makes_a_mask_serve_twice() {
    let run = |cut: u32| {
        let (mut device, mut sent) = (Device::shared(), Vec::<(u32, Vec<u8>)>::new());
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
            let again = sent[..i].iter().chain(&first).find(|(of, other)| of == round && other[..4] == bytes[..4]);
            assert!(again.is_none_or(|(_, other)| other == bytes), "{cut}");
        }
        assert_eq!([end[0], end[1], end[3]], [3, 6, 1], "{cut}");
        spent = spent.max(end[2]);
    }
    // A cut between store and share costs a mask, so the check above was none without one.
    assert!(spent > 2);
}

/// A flash serves one object. A second one that was opened beside it, by mistake, uses no mask that the first has used.
#[test]
fn two_objects_on_one_flash_use_no_mask_twice() {
    let (mut first, mut second) = (Device::shared(), Device::shared());
    for device in [&mut first, &mut second] {
        assert_eq!(device.open(), Status::Ok);
        let (status, answer) = device.frame(0, &[], 0);
        assert_eq!((status, device.evaluate(answer).kind), (Status::Ok, AnswerKind::Hide));
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
    assert_eq!(device.observed(answer.candidate as f32 / 8.0).0, Status::Flash);
    assert_eq!(device.hide(0, 64), (Status::Flash, Vec::new()));
    assert_eq!(device.described()[2], 0, "no mask is used");
    device.chip.writes = u32::MAX;
    let ((status, sent), described) = (device.hide(0, 64), device.described());
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
    assert_eq!((status, bytes.len() % 4, &bytes[..4]), (Status::Ok, 0, &[0; 4][..]));
    assert_eq!(device.hide(0, 64).1, bytes);
    assert_eq!(device.open(), Status::Ok);
    let (_, again) = device.hide(0, 64);
    assert_eq!((again[..4] == [1, 0, 0, 0], again[4..] == bytes[4..]), (true, false));
    assert_eq!(device.described()[2], 2);
    let (kept, erased) = (device.chip.slots, [0xff; SORDINO_MEMBER_SLOT]);
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
    let announced = Announced { epsilon_max: Some(1.5), ..agreement(Trust::TwoServers).announced };
    let agreement = Agreement { announced, ..agreement(Trust::TwoServers) };
    let affords = |release| agreement.protocol.prior().unwrap().affords(release, 1.5, 1e-5).unwrap();
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
