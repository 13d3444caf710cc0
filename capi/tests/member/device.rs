//! A device of these tests: flash in memory that a write may not reach, and the calls of C.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use sordino_c::agent::{Answer, AnswerKind};
use sordino_c::callback::Flash;
use sordino_c::member::*;
use sordino_c::status::{Refusal, Status};
use sordino_core::federated::exchange::Agreement;
use sordino_core::federated::shares::{SecretKey, Trust};

use super::{M, agreement};

pub const SLOTS: usize = 24;
pub const OWN: [u8; 32] = *b"drawn by nobody, for a test only";
pub const ANSWER: Answer = Answer {
    kind: AnswerKind::Wait,
    candidate: 0,
    number: 0,
    len: 0,
    numbers: null(),
};

/// Flash in memory, which takes only so many writes.
pub struct Chip {
    pub slots: [[u8; SORDINO_MEMBER_SLOT]; SLOTS],
    pub writes: u32,
    /// Slots from here on are worn: a write says that it went well, and they stay erased.
    pub worn: usize,
}

// SAFETY: a callback for tests; what it is handed is what the library promises.
unsafe extern "C" fn read(context: *mut c_void, slot: u32, bytes: *mut u8, len: usize) -> i32 {
    // SAFETY: the context is a chip that nothing else uses meanwhile.
    let chip = unsafe { &mut *context.cast::<Chip>() };
    let Some(found) = chip.slots.get(slot as usize) else {
        return -1;
    };
    // SAFETY: room for `len` bytes, by the library's word, which asks for no more than a slot has.
    unsafe { bytes.copy_from(found.as_ptr(), len) };
    0
}

// SAFETY: as above.
unsafe extern "C" fn write(context: *mut c_void, slot: u32, bytes: *const u8, len: usize) -> i32 {
    // SAFETY: as above.
    let chip = unsafe { &mut *context.cast::<Chip>() };
    let left = chip.writes.checked_sub(1);
    let Some(place) = chip.slots.get_mut(slot as usize) else {
        return -1;
    };
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
pub struct Device {
    pub bytes: Vec<u8>,
    pub digest: [u8; 32],
    pub helper: [u8; 32],
    pub settings: MemberSettings,
    pub memory: Vec<u64>,
    pub doubles: Vec<f64>,
    pub chip: Box<Chip>,
    pub has_flash: bool,
    pub member: *mut Member,
    pub refused: String,
}

impl Device {
    pub fn new(agreement: &Agreement, is_shared: bool) -> Self {
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
            bytes: postcard::to_slice(agreement, &mut [0; 512])
                .unwrap()
                .to_vec(),
            digest: agreement.digest().0,
            helper: SecretKey::new([2; 32]).public_key().0,
            settings,
            memory: vec![0; sordino_member_size(9, M as u32, 2, 4, 8) / 8 + 1],
            doubles: vec![0.0; 2 * M * M + 3 * M + 1],
            chip: Box::new(Chip {
                slots: [[0xff; SORDINO_MEMBER_SLOT]; SLOTS],
                writes: u32::MAX,
                worn: SLOTS,
            }),
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

    pub fn shared() -> Self {
        Self::new(&agreement(Trust::TwoServers), true)
    }

    pub fn open(&mut self) -> Status {
        // The vectors may have moved since.
        self.settings.agreement = self.bytes.as_ptr();
        self.settings.digest = self.digest.as_ptr();
        if !self.settings.helper_key.is_null() {
            self.settings.helper_key = self.helper.as_ptr();
        }
        self.memory.fill(0x5a5a_5a5a_5a5a_5a5a);
        let flash = Flash {
            context: (&raw mut *self.chip).cast(),
            read: Some(read),
            write: Some(write),
        };
        let memory = self.memory.as_mut_ptr().cast();
        let len = 8 * self.memory.len();
        let doubles = self.doubles.as_mut_ptr();
        let room = self.doubles.len();
        let flash = if self.has_flash {
            &raw const flash
        } else {
            null()
        };
        let mut refusal = Refusal {
            field: null(),
            field_len: 0,
            value: 0.0,
            admissible: null(),
            admissible_len: 0,
        };
        // SAFETY: memory of that many bytes, and values of ours.
        let opened = unsafe {
            sordino_member_open(
                memory,
                len,
                &self.settings,
                flash,
                doubles,
                room,
                &mut self.member,
                &mut refusal,
            )
        };
        self.refused.clear();
        if opened == Status::Range {
            // SAFETY: a static text of that length, by the library's word.
            let name = unsafe {
                std::slice::from_raw_parts(refusal.field.cast::<u8>(), refusal.field_len)
            };
            self.refused.push_str(std::str::from_utf8(name).unwrap());
        }
        opened
    }

    pub fn frame(&mut self, round: u32, numbers: &[f32], is_over: u32) -> (Status, Answer) {
        let mut answer = ANSWER;
        let list = if numbers.is_empty() {
            null()
        } else {
            numbers.as_ptr()
        };
        // SAFETY: what was opened, values of ours.
        let status = unsafe {
            sordino_member_frame(
                self.member,
                round,
                list,
                numbers.len(),
                is_over,
                &mut answer,
            )
        };
        (status, answer)
    }

    pub fn observed(&mut self, y: f32) -> (Status, Answer) {
        let mut answer = ANSWER;
        // SAFETY: as above.
        let status = unsafe { sordino_member_observed(self.member, y, &mut answer) };
        (status, answer)
    }

    pub fn repeat(&mut self) -> (Status, Answer) {
        let mut answer = ANSWER;
        // SAFETY: as above.
        let status = unsafe { sordino_member_repeat(self.member, &mut answer) };
        (status, answer)
    }

    pub fn hide(&mut self, round: u32, room: usize) -> (Status, Vec<u8>) {
        let mut bytes = vec![0; room];
        let mut used = 0;
        // SAFETY: as above.
        let status =
            unsafe { sordino_member_hide(self.member, round, bytes.as_mut_ptr(), room, &mut used) };
        bytes.truncate(used);
        (status, bytes)
    }

    /// Frames, observations, masks, over.
    pub fn described(&self) -> [u32; 4] {
        let [mut frames, mut observations, mut masks, mut over] = [0; 4];
        // SAFETY: as above.
        let status = unsafe {
            sordino_member_describe(
                self.member,
                &mut frames,
                &mut observations,
                &mut masks,
                &mut over,
            )
        };
        assert_eq!(status, Status::Ok);
        [frames, observations, masks, over]
    }

    /// Tells values until something else is asked.
    pub fn evaluate(&mut self, mut answer: Answer) -> Answer {
        while answer.kind == AnswerKind::Evaluate {
            let (status, next) = self.observed(answer.candidate as f32 / 8.0);
            assert_eq!(status, Status::Ok);
            answer = next;
        }
        answer
    }
}
