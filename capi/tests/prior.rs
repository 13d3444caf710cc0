//! A prior file and a newcomer in C: what is refused, by which number and which name, and that a
//! refusal changes nothing.
//!
//! Every call below is one that C could make. Pointers are NULL, misaligned, or good for what is
//! named beside them.
#![allow(clippy::multiple_unsafe_ops_per_block)]

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use sordino_c::newcomer::*;
use sordino_c::optimizer::SORDINO_CANDIDATES_MAX;
use sordino_c::prior::*;
use sordino_c::status::{Refusal, Status};

/// Landmarks, and numbers of their lower triangle.
const M: usize = 4;
const PACKED: usize = M * (M + 1) / 2;

/// Memory as C would align it.
#[repr(align(8))]
struct Memory([u8; 8192]);

impl Memory {
    fn new() -> Box<Self> {
        Box::new(Memory([0x5a; 8192]))
    }

    fn at(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}

/// The constants of a file, and a list of candidates.
#[derive(Clone)]
struct World {
    landmarks: Vec<f32>,
    weights: Vec<f32>,
    covariance: Vec<f32>,
    candidates: Vec<f32>,
    lengthscale: f32,
    self_test: f32,
}

impl World {
    fn new() -> Self {
        World {
            landmarks: vec![0.1, 0.4, 0.6, 0.9],
            weights: vec![0.5, 2.0, -0.5, 0.25],
            covariance: vec![0.1, 0.02, 0.1, 0.0, 0.02, 0.1, 0.0, 0.0, 0.02, 0.1],
            candidates: (0..12).map(|i| (i as f32 + 0.5) / 12.0).collect(),
            lengthscale: 0.2,
            self_test: 5.0,
        }
    }

    fn numbers(&self) -> PriorNumbers {
        PriorNumbers {
            dim: 1,
            lengthscale: self.lengthscale,
            self_test: self.self_test,
            landmarks: self.landmarks.as_ptr(),
            landmarks_len: self.landmarks.len(),
            weights: self.weights.as_ptr(),
            weights_len: self.weights.len(),
            covariance: self.covariance.as_ptr(),
            covariance_len: self.covariance.len(),
            factor: null(),
            factor_len: 0,
        }
    }

    fn settings(&self) -> NewcomerSettings {
        let mut settings = std::mem::MaybeUninit::uninit();
        let list = self.candidates.as_ptr();
        let len = self.candidates.len();
        assert_eq!(
            // SAFETY: good for one value, which is written.
            unsafe { sordino_newcomer_usual(1, 6, list, len, settings.as_mut_ptr()) },
            Status::Ok
        );
        // SAFETY: it was written.
        unsafe { settings.assume_init() }
    }
}

fn no_refusal() -> Refusal {
    Refusal {
        field: null(),
        field_len: 0,
        value: 0.0,
        admissible: null(),
        admissible_len: 0,
    }
}

/// The name of a setting that was refused.
fn field(refusal: &Refusal) -> &'static str {
    if refusal.field.is_null() {
        return "";
    }
    // SAFETY: a static text of that length, by the library's word.
    let bytes =
        unsafe { std::slice::from_raw_parts(refusal.field.cast::<u8>(), refusal.field_len) };
    std::str::from_utf8(bytes).unwrap()
}

type Outcome<T> = Result<*mut T, (Status, &'static str)>;

fn attach(memory: &mut Memory, numbers: &PriorNumbers, scratch: &mut [f32]) -> Outcome<Prior> {
    let mut prior = null_mut();
    let mut refusal = no_refusal();
    let at = memory.at();
    let len = memory.0.len();
    // SAFETY: memory of that many bytes, lists that live, and values of ours.
    match unsafe {
        sordino_prior_attach(
            at,
            len,
            numbers,
            scratch.as_mut_ptr(),
            scratch.len(),
            &mut prior,
            &mut refusal,
        )
    } {
        Status::Ok => Ok(prior),
        status => {
            assert!(prior.is_null(), "a refusal wrote a prior");
            Err((status, field(&refusal)))
        }
    }
}

fn open(
    memory: &mut Memory,
    settings: &NewcomerSettings,
    prior: *const Prior,
    log: &[NewcomerEntry],
) -> Outcome<Newcomer> {
    let mut newcomer = null_mut();
    let mut refusal = no_refusal();
    let at = memory.at();
    let len = memory.0.len();
    // SAFETY: as above.
    match unsafe {
        sordino_newcomer_open(
            at,
            len,
            settings,
            prior,
            log.as_ptr(),
            log.len(),
            &mut newcomer,
            &mut refusal,
        )
    } {
        Status::Ok => Ok(newcomer),
        status => {
            assert!(newcomer.is_null(), "a refusal wrote a newcomer");
            Err((status, field(&refusal)))
        }
    }
}

fn suggest(newcomer: *mut Newcomer) -> u32 {
    let mut candidate = u32::MAX;
    loop {
        // SAFETY: what was opened, a value of ours.
        match unsafe { sordino_newcomer_suggest(newcomer, 3, &mut candidate) } {
            Status::Pending => assert_eq!(candidate, u32::MAX),
            status => {
                assert_eq!(status, Status::Ok);
                return candidate;
            }
        }
    }
}

fn check(newcomer: *mut Newcomer, candidate: u32, y: f32) -> Status {
    // SAFETY: what was opened.
    unsafe { sordino_newcomer_check(newcomer, candidate, y) }
}

fn observe(newcomer: *mut Newcomer, candidate: u32, y: f32) -> Status {
    // SAFETY: what was opened.
    unsafe { sordino_newcomer_observe(newcomer, candidate, y) }
}

fn told(newcomer: *const Newcomer) -> u32 {
    let mut count = u32::MAX;
    assert_eq!(
        // SAFETY: what was opened, a value of ours.
        unsafe {
            sordino_newcomer_describe(newcomer, &mut count, null_mut(), null_mut(), null_mut())
        },
        Status::Ok
    );
    count
}

#[test]
fn a_file_is_refused_by_the_name_of_what_cannot_be() {
    let mut memory = Memory::new();
    let mut says = |change: &dyn Fn(&mut World)| {
        let mut world = World::new();
        change(&mut world);
        attach(&mut memory, &world.numbers(), &mut []).err()
    };
    assert_eq!(says(&|_| {}), None);
    let range = |name| Some((Status::Range, name));
    for bad in [f32::NAN, f32::INFINITY, 1.5] {
        assert_eq!(says(&|world| world.landmarks[1] = bad), range("landmarks"));
    }
    for bad in [f32::NAN, f32::NEG_INFINITY, 2e6] {
        assert_eq!(says(&|world| world.weights[3] = bad), range("weights"));
        assert_eq!(
            says(&|world| world.covariance[4] = bad),
            range("covariance")
        );
    }
    // No covariance: a correlation above 1, a variance of 0.
    assert_eq!(
        says(&|world| world.covariance[1] = 0.4),
        range("covariance")
    );
    assert_eq!(
        says(&|world| world.covariance[2] = 0.0),
        range("covariance")
    );
    for bad in [f32::NAN, 0.0, -1.0, f32::INFINITY] {
        assert_eq!(says(&|world| world.lengthscale = bad), range("lengthscale"));
    }
    assert_eq!(
        says(&|world| world.self_test = f32::NAN),
        range("self-test")
    );
    assert_eq!(
        says(&|world| world.landmarks[1] = world.landmarks[0]),
        Some((Status::Singular, ""))
    );
    assert_eq!(
        says(&|world| world.weights.truncate(3)),
        Some((Status::Length, ""))
    );
    assert_eq!(
        says(&|world| world.covariance.truncate(9)),
        Some((Status::Length, ""))
    );
    assert_eq!(
        says(&|world| world.covariance.push(0.1)),
        Some((Status::Length, ""))
    );
    assert_eq!(
        says(&|world| world.landmarks.clear()),
        range("landmarks_len")
    );
}

#[test]
fn pointers_of_a_file_are_checked() {
    let mut memory = Memory::new();
    let world = World::new();
    let numbers = world.numbers();
    let mut says = |numbers: &PriorNumbers| {
        attach(&mut memory, numbers, &mut [])
            .err()
            .map(|(status, _)| status)
    };
    assert_eq!(
        says(&PriorNumbers {
            landmarks: null(),
            ..numbers
        }),
        Some(Status::Null)
    );
    assert_eq!(
        says(&PriorNumbers {
            weights: null(),
            ..numbers
        }),
        Some(Status::Null)
    );
    assert_eq!(
        says(&PriorNumbers {
            covariance: null(),
            ..numbers
        }),
        Some(Status::Null)
    );
    let odd = world.weights.as_ptr().cast::<u8>().wrapping_add(1).cast();
    assert_eq!(
        says(&PriorNumbers {
            weights: odd,
            weights_len: 3,
            ..numbers
        }),
        Some(Status::Misaligned)
    );
    assert_eq!(
        says(&PriorNumbers {
            weights_len: usize::MAX,
            ..numbers
        }),
        Some(Status::TooShort)
    );
    assert_eq!(
        says(&PriorNumbers { dim: 0, ..numbers }),
        Some(Status::Range)
    );
    assert_eq!(
        says(&PriorNumbers { dim: 17, ..numbers }),
        Some(Status::Range)
    );
    assert_eq!(
        says(&PriorNumbers { dim: 3, ..numbers }),
        Some(Status::Range)
    );
    let inside = memory.at().cast::<f32>().cast_const();
    let says = attach(
        &mut memory,
        &PriorNumbers {
            weights: inside,
            ..numbers
        },
        &mut [],
    )
    .err();
    assert_eq!(says, Some((Status::Overlap, "")));
    let mut prior = null_mut();
    let mut short = Memory::new();
    let mut call = |at: *mut c_void, len: usize, numbers: *const PriorNumbers| {
        // SAFETY: memory of at least that many bytes, or NULL.
        unsafe { sordino_prior_attach(at, len, numbers, null_mut(), 0, &mut prior, null_mut()) }
    };
    let size = sordino_prior_size(M as u32);
    assert_eq!(call(null_mut(), size, &numbers), Status::Null);
    assert_eq!(call(short.at(), size, null()), Status::Null);
    assert_eq!(call(short.at(), size - 1, &numbers), Status::TooShort);
    assert_eq!(
        call(short.at().wrapping_byte_add(4), size, &numbers),
        Status::Misaligned
    );
    assert_eq!(call(short.at(), size, &numbers), Status::Ok);
    assert_eq!((sordino_prior_size(0), sordino_prior_size(4097)), (0, 0));
}

#[test]
fn a_factor_that_is_given_is_the_files_own() {
    let mut memory = Memory::new();
    let mut second = Memory::new();
    let world = World::new();
    let prior = attach(&mut memory, &world.numbers(), &mut []).unwrap();
    let mut factor = [0.0; PACKED];
    let mut scratch = [0.0; PACKED];
    // SAFETY: what was attached, room for as many numbers as are named.
    unsafe {
        assert_eq!(
            sordino_prior_factor(prior, factor.as_mut_ptr(), PACKED - 1),
            Status::TooShort
        );
        assert_eq!(
            sordino_prior_factor(prior, null_mut(), PACKED),
            Status::Null
        );
        assert_eq!(
            sordino_prior_factor(prior, factor.as_mut_ptr(), PACKED),
            Status::Ok
        );
    }
    let given = |factor: &[f32]| PriorNumbers {
        factor: factor.as_ptr(),
        factor_len: factor.len(),
        ..world.numbers()
    };
    assert_eq!(
        attach(&mut second, &given(&factor), &mut scratch[1..]).err(),
        Some((Status::TooShort, "scratch_len"))
    );
    assert_eq!(
        attach(&mut second, &given(&factor[1..]), &mut scratch).err(),
        Some((Status::Length, ""))
    );
    for wrong in [f32::NAN, 0.5] {
        let mut others = factor;
        others[4] = wrong;
        assert_eq!(
            attach(&mut second, &given(&others), &mut scratch).err(),
            Some((Status::Range, "factor"))
        );
    }
    // Scratch that is the factor.
    let mut both = factor;
    let len = PACKED;
    let numbers = PriorNumbers {
        factor: both.as_ptr(),
        factor_len: len,
        ..world.numbers()
    };
    let mut out = null_mut();
    let at = second.at();
    // SAFETY: lists that live; that they overlap is what is refused.
    let status = unsafe {
        sordino_prior_attach(
            at,
            8192,
            &numbers,
            both.as_mut_ptr(),
            len,
            &mut out,
            null_mut(),
        )
    };
    assert_eq!(status, Status::Overlap);
    let lent = attach(&mut second, &given(&factor), &mut scratch).unwrap();
    // Both say the same of every candidate.
    let says = |prior: *const Prior| {
        let mut moments = [0.0f32; 24];
        let mut scratch = [0.0; M];
        let list = world.candidates.as_ptr();
        let out = moments.as_mut_ptr();
        let room = scratch.as_mut_ptr();
        // SAFETY: room for as many numbers as are named.
        unsafe {
            assert_eq!(
                sordino_prior_moments(prior, list, 0, out, room, M),
                Status::Length
            );
            assert_eq!(
                sordino_prior_moments(prior, list, SORDINO_CANDIDATES_MAX + 1, out, room, M),
                Status::Length
            );
            assert_eq!(
                sordino_prior_moments(prior, list, 12, out, room, M - 1),
                Status::TooShort
            );
            assert_eq!(
                sordino_prior_moments(prior, list, 12, out, out, M),
                Status::Overlap
            );
            assert_eq!(
                sordino_prior_moments(prior, list, 12, null_mut(), room, M),
                Status::Null
            );
            assert_eq!(
                sordino_prior_moments(prior, list, 12, out, room, M),
                Status::Ok
            );
        }
        moments.map(f32::to_bits)
    };
    assert_eq!(says(prior), says(lent));
    let mut reading = 9;
    let mut count = 0;
    let mut dim = 0;
    assert_eq!(
        // SAFETY: what was attached, values of ours.
        unsafe { sordino_prior_describe(lent, &mut reading, &mut count, &mut dim) },
        Status::Ok
    );
    assert_eq!(
        (reading, count, dim),
        (SORDINO_READING_TRUSTED, M as u32, 1)
    );
}

#[test]
fn a_search_is_refused_by_the_name_of_what_cannot_be() {
    let mut memory = Memory::new();
    let mut file = Memory::new();
    let world = World::new();
    let prior = attach(&mut file, &world.numbers(), &mut []).unwrap();
    let usual = world.settings();
    let mut says = |settings: NewcomerSettings| open(&mut memory, &settings, prior, &[]).err();
    let range = |name| Some((Status::Range, name));
    assert_eq!(says(usual), None);
    assert_eq!(says(NewcomerSettings { dim: 2, ..usual }), range("dim"));
    assert_eq!(says(NewcomerSettings { dim: 0, ..usual }), range("dim"));
    assert_eq!(
        says(NewcomerSettings {
            capacity: 0,
            ..usual
        }),
        range("capacity")
    );
    assert_eq!(says(NewcomerSettings { width: 0, ..usual }), range("width"));
    assert_eq!(
        says(NewcomerSettings {
            capacity: 4096,
            ..usual
        }),
        Some((Status::TooShort, "len"))
    );
    for noise_fraction in [0.0, 2.0, f64::NAN] {
        assert_eq!(
            says(NewcomerSettings {
                noise_fraction,
                ..usual
            }),
            range("noise_fraction")
        );
    }
    assert_eq!(
        says(NewcomerSettings {
            candidates_len: 0,
            ..usual
        }),
        range("candidates_len")
    );
    assert_eq!(
        says(NewcomerSettings {
            candidates: null(),
            ..usual
        }),
        Some((Status::Null, ""))
    );
    for bad in [f32::NAN, -0.1, 1.1] {
        let mut list = world.candidates.clone();
        list[5] = bad;
        assert_eq!(
            says(NewcomerSettings {
                candidates: list.as_ptr(),
                ..usual
            }),
            range("candidates")
        );
    }
    for (moments, len) in [
        (vec![0.0; 23], 23),
        (vec![f32::NAN; 24], 24),
        (vec![9.0; 24], 24),
    ] {
        let settings = NewcomerSettings {
            moments: moments.as_ptr(),
            moments_len: len,
            ..usual
        };
        assert_eq!(says(settings), range("moments"));
    }
    let inside = memory.at().cast::<f32>().cast_const();
    let says = open(
        &mut memory,
        &NewcomerSettings {
            candidates: inside,
            ..usual
        },
        prior,
        &[],
    )
    .err();
    assert_eq!(says, Some((Status::Overlap, "")));
}

#[test]
fn memory_without_a_file_or_of_another_kind_is_no_file() {
    let mut memory = Memory::new();
    let mut file = Memory::new();
    let world = World::new();
    let settings = world.settings();
    let nothing = file.at().cast::<Prior>().cast_const();
    assert_eq!(
        open(&mut memory, &settings, nothing, &[]).err(),
        Some((Status::NotBuilt, ""))
    );
    let prior = attach(&mut file, &world.numbers(), &mut []).unwrap();
    let odd = prior.wrapping_byte_add(2).cast_const();
    assert_eq!(
        open(&mut memory, &settings, odd, &[]).err(),
        Some((Status::Misaligned, ""))
    );
    let newcomer = open(&mut memory, &settings, prior, &[]).unwrap();
    let mut candidate = 7;
    // SAFETY: memory that holds an object of another kind, which is what is refused, or NULL.
    unsafe {
        assert_eq!(
            sordino_newcomer_suggest(prior.cast(), 1, &mut candidate),
            Status::NotBuilt
        );
        assert_eq!(
            sordino_prior_factor(newcomer.cast(), null_mut(), 0),
            Status::NotBuilt
        );
        assert_eq!(
            sordino_newcomer_suggest(null_mut(), 1, &mut candidate),
            Status::Null
        );
        assert_eq!(
            sordino_newcomer_suggest(newcomer, 1, null_mut()),
            Status::Null
        );
        assert_eq!(
            sordino_newcomer_suggest(newcomer, 1, newcomer.cast()),
            Status::Overlap
        );
        assert_eq!(
            sordino_newcomer_best(newcomer, &mut candidate, null_mut()),
            Status::Empty
        );
        assert_eq!(sordino_newcomer_trust(newcomer, null_mut()), Status::Null);
        assert_eq!(
            sordino_newcomer_trust(newcomer, newcomer.cast()),
            Status::Overlap
        );
    }
    assert_eq!(candidate, 7);
    // The file lies in the memory that the search is to be built in.
    assert_eq!(
        open(&mut file, &settings, prior, &[]).err(),
        Some((Status::Overlap, ""))
    );
}

#[test]
fn a_refused_observation_changes_nothing_and_a_log_gives_the_same_questions() {
    let mut memory = Memory::new();
    let mut again = Memory::new();
    let mut file = Memory::new();
    let world = World::new();
    let prior = attach(&mut file, &world.numbers(), &mut []).unwrap();
    for prior in [prior.cast_const(), null()] {
        let newcomer = open(&mut memory, &world.settings(), prior, &[]).unwrap();
        let mut log = Vec::new();
        for i in 0..6 {
            let candidate = suggest(newcomer);
            assert_eq!(observe(newcomer, 12, 1.0), Status::Index);
            assert_eq!(observe(newcomer, candidate, f32::NAN), Status::NotFinite);
            assert_eq!((told(newcomer), suggest(newcomer)), (i, candidate));
            let resumed = open(&mut again, &world.settings(), prior, &log).unwrap();
            assert_eq!((told(resumed), suggest(resumed)), (i, candidate));
            let away = world.candidates[candidate as usize] - 0.45;
            let entry = NewcomerEntry {
                candidate,
                value: 30.0 - 8.0 * away * away,
                failed: 0,
            };
            // What would be refused is known before it is stored, and changes nothing.
            assert_eq!(check(newcomer, candidate, f32::NAN), Status::NotFinite);
            assert_eq!(check(newcomer, 12, entry.value), Status::Index);
            assert_eq!(check(newcomer, candidate, entry.value), Status::Ok);
            assert_eq!(observe(newcomer, candidate, entry.value), Status::Ok);
            log.push(entry);
        }
        assert_eq!(check(newcomer, 0, 1.0), Status::Full);
        assert_eq!(observe(newcomer, 0, 1.0), Status::Full);
        let mut entry = log[0];
        // SAFETY: what was opened, a value of ours.
        unsafe {
            assert_eq!(sordino_newcomer_told(newcomer, 5, &mut entry), Status::Ok);
            assert_eq!(
                sordino_newcomer_told(newcomer, 6, &mut entry),
                Status::Index
            );
        }
        assert_eq!(
            (entry.candidate, entry.value),
            (log[5].candidate, log[5].value)
        );
        // A log that cannot be: nothing is built.
        log[2].candidate = 12;
        assert_eq!(
            open(&mut again, &world.settings(), prior, &log).err(),
            Some((Status::Index, ""))
        );
        log[2] = NewcomerEntry {
            candidate: 3,
            value: f32::INFINITY,
            failed: 0,
        };
        assert_eq!(
            open(&mut again, &world.settings(), prior, &log).err(),
            Some((Status::NotFinite, ""))
        );
        let longer = vec![
            NewcomerEntry {
                candidate: 3,
                value: 1.0,
                failed: 0,
            };
            7
        ];
        assert_eq!(
            open(&mut again, &world.settings(), prior, &longer).err(),
            Some((Status::Full, ""))
        );
    }
    // The self-test says how a file is read.
    for (self_test, expected) in [
        (-5.0, SORDINO_READING_UNREAD),
        (0.0, SORDINO_READING_DOUBTED),
    ] {
        let world = World {
            self_test,
            ..World::new()
        };
        let prior = attach(&mut file, &world.numbers(), &mut []).unwrap();
        let newcomer = open(&mut memory, &world.settings(), prior, &[]).unwrap();
        let mut reading = 9;
        // SAFETY: what was opened, a value of ours.
        let status = unsafe {
            let none = null_mut();
            sordino_newcomer_describe(newcomer, none, none, none, &mut reading)
        };
        assert_eq!((status, reading), (Status::Ok, expected));
    }
}

#[test]
fn values_that_contradict_a_file_take_its_trust_and_values_that_bear_it_out_do_not() {
    let mut memory = Memory::new();
    let mut file = Memory::new();
    let world = World::new();
    let prior = attach(&mut file, &world.numbers(), &mut []).unwrap();
    // The file's mean at every candidate, and the same upside down.
    let mut moments = [0.0f32; 24];
    let mut scratch = [0.0f32; M];
    let [count, width] = [world.candidates.len(), M];
    // SAFETY: lists of the lengths beside them.
    let status = unsafe {
        let points = world.candidates.as_ptr();
        let out = moments.as_mut_ptr();
        sordino_prior_moments(prior, points, count, out, scratch.as_mut_ptr(), width)
    };
    assert_eq!(status, Status::Ok);
    let trust = |newcomer| {
        let mut probability = f32::NAN;
        assert_eq!(
            // SAFETY: a newcomer of this test, and one number.
            unsafe { sordino_newcomer_trust(newcomer, &mut probability) },
            Status::Ok
        );
        probability
    };
    for (prior, sign, range) in [
        (prior.cast_const(), 1.0, 0.95..=1.0),
        (prior, -1.0, 0.0..=0.5),
        (null(), 1.0, 0.0..=0.0),
    ] {
        let newcomer = open(&mut memory, &world.settings(), prior, &[]).unwrap();
        let before = if prior.is_null() { 0.0 } else { 0.95 };
        assert!((trust(newcomer) - before).abs() < 1e-5);
        for candidate in [1, 3, 5, 7, 9, 11] {
            assert_eq!(
                observe(newcomer, candidate, sign * moments[2 * candidate as usize]),
                Status::Ok
            );
        }
        assert!(
            range.contains(&trust(newcomer)),
            "{sign}: {}",
            trust(newcomer)
        );
    }
}

#[test]
fn a_candidate_that_failed_is_in_the_log_and_not_asked_again() {
    let mut memory = Memory::new();
    let mut again = Memory::new();
    let mut file = Memory::new();
    let world = World::new();
    let prior = attach(&mut file, &world.numbers(), &mut []).unwrap();
    let fail = |newcomer, candidate| {
        // SAFETY: what was opened.
        unsafe { sordino_newcomer_fail(newcomer, candidate) }
    };
    for prior in [prior.cast_const(), null()] {
        let newcomer = open(&mut memory, &world.settings(), prior, &[]).unwrap();
        assert_eq!(fail(newcomer, 12), Status::Index);
        let mut asked = Vec::new();
        let mut log = Vec::new();
        for i in 0..6 {
            let candidate = suggest(newcomer);
            assert!(!asked.contains(&candidate), "{candidate} again");
            asked.push(candidate);
            let failed = u32::from(i % 2 == 0);
            let status = match failed {
                0 => observe(newcomer, candidate, i as f32),
                _ => fail(newcomer, candidate),
            };
            assert_eq!(status, Status::Ok);
            let mut entry = NewcomerEntry {
                candidate: 99,
                value: f32::NAN,
                failed: 99,
            };
            // SAFETY: what was opened, a value of ours.
            let status = unsafe { sordino_newcomer_told(newcomer, i, &mut entry) };
            assert_eq!(status, Status::Ok);
            assert_eq!((entry.candidate, entry.failed), (candidate, failed));
            // Of one that failed the value is not looked at.
            if failed == 1 {
                entry.value = f32::NAN;
            }
            log.push(entry);
            let resumed = open(&mut again, &world.settings(), prior, &log).unwrap();
            assert_eq!(
                (told(resumed), suggest(resumed)),
                (told(newcomer), suggest(newcomer))
            );
        }
        assert_eq!(fail(newcomer, 0), Status::Full);
        let mut counts = [9; 3];
        let [values, failures, candidates] = &mut counts;
        let mut best = 99;
        // SAFETY: what was opened, values of ours.
        unsafe {
            let none = null_mut();
            sordino_newcomer_describe(newcomer, values, failures, candidates, none);
            assert_eq!(
                sordino_newcomer_best(newcomer, &mut best, none.cast()),
                Status::Ok
            );
        }
        assert_eq!(counts, [3, 3, 12]);
        let is_told = |entry: &NewcomerEntry| entry.candidate == best && entry.failed == 0;
        assert!(log.iter().any(is_told), "{best}");
    }
    let newcomer = open(&mut memory, &world.settings(), prior, &[]).unwrap();
    assert_eq!(fail(newcomer, 3), Status::Ok);
    let mut best = 99;
    // SAFETY: as above.
    let status = unsafe { sordino_newcomer_best(newcomer, &mut best, null_mut()) };
    assert_eq!(
        (status, best),
        (Status::Empty, 99),
        "all that was told failed"
    );
}

/// What a refusal says of the call before is gone.
#[test]
fn a_refusal_of_no_setting_is_zeros_and_a_short_memory_is_named() {
    let mut memory = Memory::new();
    let world = World::new();
    let mut settings = world.settings();
    let mut newcomer: *mut Newcomer = null_mut();
    let mut call =
        |settings: &NewcomerSettings, len: usize, prior: *const Prior, at: *mut c_void| {
            let mut refusal = Refusal {
                field: c"before".as_ptr(),
                field_len: 6,
                value: 7.0,
                admissible: c"before".as_ptr(),
                admissible_len: 6,
            };
            let out = &mut newcomer;
            // SAFETY: memory of at least that many bytes or NULL, values of ours, no file or a
            // pointer that is refused for its alignment.
            let status = unsafe {
                sordino_newcomer_open(at, len, settings, prior, null(), 0, out, &mut refusal)
            };
            (
                status,
                field(&refusal),
                refusal.value,
                refusal.admissible_len,
            )
        };
    let room = memory.0.len();
    let at = memory.at();
    let zeros = |status| (status, "", 0.0, 0);
    let odd = at.wrapping_byte_add(2).cast::<Prior>().cast_const();
    assert_eq!(
        call(&settings, room, null(), null_mut()),
        zeros(Status::Null)
    );
    assert_eq!(call(&settings, room, odd, at), zeros(Status::Misaligned));
    let size = sordino_newcomer_size(0, 6, 1);
    let (status, name, given, said) = call(&settings, size - 1, null(), at);
    assert_eq!(
        (status, name, given),
        (Status::TooShort, "len", (size - 1) as f64)
    );
    assert!(said > 0);
    // Negative control: what is taken leaves it as it was.
    assert_eq!(
        call(&settings, size, null(), at),
        (Status::Ok, "before", 7.0, 6)
    );
    settings.candidates = null();
    assert_eq!(call(&settings, room, null(), at), zeros(Status::Null));
}
