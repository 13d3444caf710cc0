//! What C may do wrong is a number with a sentence, and changes nothing.
//!
//! Every call below is one that C could make. Pointers are NULL, misaligned, or good for what is
//! named beside them.
#![allow(clippy::multiple_unsafe_ops_per_block)]

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use sordino_c::agent::*;
use sordino_c::agreement::*;
use sordino_c::callback::{Entropy, Flash};
use sordino_c::gp::*;
use sordino_c::optimizer::*;
use sordino_c::reporter::*;
use sordino_c::settings::*;
use sordino_c::status::{Refusal, Status, sordino_message};

/// Memory as C would align it.
#[repr(align(8))]
struct Memory([u8; 16384]);

impl Memory {
    fn new() -> Box<Self> {
        Box::new(Memory([0x5a; 16384]))
    }

    fn at(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}

const GP: GpSettings = GpSettings {
    dim: 2,
    capacity: 4,
    shape: SORDINO_MATERN_52,
    drop_oldest: 0,
    lengthscale: 0.3,
    signal_variance: 1.0,
    noise_variance: 0.01,
    prior_mean: 0.0,
};

fn gp(memory: &mut Memory, len: usize, settings: &GpSettings) -> Result<*mut Gp, (Status, String)> {
    let mut gp = null_mut();
    let mut refusal = no_refusal();
    // SAFETY: memory of `len` bytes at most, and values of ours.
    match unsafe { sordino_gp_new(memory.at(), len, settings, &mut gp, &mut refusal) } {
        Status::Ok => Ok(gp),
        status => Err((status, text(&refusal))),
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

/// What a refusal says, as C would print it.
fn text(refusal: &Refusal) -> String {
    let of = |at: *const std::ffi::c_char, len: usize| {
        if at.is_null() {
            return String::new();
        }
        // SAFETY: a static text of that length, by the library's word.
        let bytes = unsafe { std::slice::from_raw_parts(at.cast::<u8>(), len) };
        String::from_utf8(bytes.to_vec()).unwrap()
    };
    let field = of(refusal.field, refusal.field_len);
    let admissible = of(refusal.admissible, refusal.admissible_len);
    format!("{field} = {} is outside {admissible}", refusal.value)
}

/// A flash in memory, which fails from write number `limit` on, in the middle of it.
struct Chip {
    slots: Vec<[u8; 96]>,
    writes: usize,
    limit: usize,
}

impl Chip {
    fn new() -> Box<Self> {
        Box::new(Chip {
            slots: vec![[0xff; 96]; 32],
            writes: 0,
            limit: usize::MAX,
        })
    }

    fn lent(&mut self) -> Flash {
        Flash {
            context: (&raw mut *self).cast(),
            read: Some(read),
            write: Some(write),
        }
    }
}

// SAFETY: a callback for tests; what it is handed is what the library promises.
unsafe extern "C" fn read(context: *mut c_void, slot: u32, bytes: *mut u8, len: usize) -> i32 {
    // SAFETY: the context is a chip that nothing else uses meanwhile.
    let chip = unsafe { &mut *context.cast::<Chip>() };
    // SAFETY: `len` bytes are there, by the library's word.
    unsafe { bytes.copy_from(chip.slots[slot as usize].as_ptr(), len) };
    0
}

// SAFETY: as above.
unsafe extern "C" fn write(context: *mut c_void, slot: u32, bytes: *const u8, len: usize) -> i32 {
    // SAFETY: as above.
    let chip = unsafe { &mut *context.cast::<Chip>() };
    chip.writes += 1;
    let torn = chip.writes > chip.limit;
    let place = &mut chip.slots[slot as usize];
    place.fill(0xff);
    // SAFETY: as above.
    unsafe {
        place
            .as_mut_ptr()
            .copy_from(bytes, if torn { len / 2 } else { len })
    };
    i32::from(torn)
}

// SAFETY: a callback for tests.
unsafe extern "C" fn stir(context: *mut c_void, bytes: *mut u8, len: usize) -> i32 {
    // SAFETY: the context is a counter that nothing else uses meanwhile.
    let counter = unsafe { &mut *context.cast::<u32>() };
    for i in 0..len {
        *counter += 1;
        // SAFETY: `len` bytes are there, by the library's word.
        unsafe {
            bytes
                .add(i)
                .write((counter.wrapping_mul(2_654_435_761) >> 24) as u8)
        };
    }
    0
}

// SAFETY: a callback for tests.
unsafe extern "C" fn dry(_: *mut c_void, _: *mut u8, _: usize) -> i32 {
    1
}

const REPORTER: ReporterSettings = ReporterSettings {
    bound: 1.5,
    epsilon: 0.5,
    budget: 1.0,
    grid_exponent: 20,
    user: 7,
};

fn reporter(
    memory: &mut Memory,
    settings: &ReporterSettings,
    flash: &Flash,
    entropy: &Entropy,
) -> Result<*mut Reporter, (Status, String)> {
    let mut reporter = null_mut();
    let mut refusal = no_refusal();
    let at = memory.at();
    let len = SORDINO_REPORTER_SIZE;
    // SAFETY: memory of at least that many bytes, and values of ours.
    match unsafe {
        sordino_reporter_open(
            at,
            len,
            settings,
            flash,
            entropy,
            &mut reporter,
            &mut refusal,
        )
    } {
        Status::Ok => Ok(reporter),
        status => Err((status, text(&refusal))),
    }
}

fn query(reporter: *mut Reporter, candidate: u32) -> Status {
    // SAFETY: what `sordino_reporter_open` wrote, in memory that lives.
    unsafe { sordino_reporter_query(reporter, candidate) }
}

fn reward(reporter: *mut Reporter, reward: f32) -> Result<f32, Status> {
    let mut report = 77.0;
    // SAFETY: as above.
    match unsafe { sordino_reporter_reward(reporter, reward, &mut report) } {
        Status::Ok => Ok(report),
        status => {
            assert_eq!(report, 77.0, "a refusal wrote a report");
            Err(status)
        }
    }
}

fn spent(reporter: *mut Reporter) -> f64 {
    let mut spent = 0.0;
    assert_eq!(
        // SAFETY: as above.
        unsafe { sordino_reporter_describe(reporter, &mut spent, null_mut(), null_mut()) },
        Status::Ok
    );
    spent
}

#[test]
fn memory_that_cannot_hold_an_object_is_refused() {
    let mut memory = Memory::new();
    let size = sordino_gp_size(2, 4);
    assert_eq!(
        gp(&mut memory, size - 1, &GP).unwrap_err().0,
        Status::TooShort
    );
    assert_eq!(gp(&mut memory, 0, &GP).unwrap_err().0, Status::TooShort);
    let mut out = null_mut();
    assert_eq!(
        // SAFETY: NULL is admitted.
        unsafe { sordino_gp_new(null_mut(), size, &GP, &mut out, null_mut()) },
        Status::Null
    );
    // SAFETY: memory from the second byte on is long enough.
    let status =
        unsafe { sordino_gp_new(memory.at().byte_add(1), size, &GP, &mut out, null_mut()) };
    assert_eq!((status, out.is_null()), (Status::Misaligned, true));
    assert_eq!(
        // SAFETY: NULL is admitted.
        unsafe { sordino_gp_new(memory.at(), size, null(), &mut out, null_mut()) },
        Status::Null
    );
    assert_eq!(
        // SAFETY: NULL is admitted.
        unsafe { sordino_gp_new(memory.at(), size, &GP, null_mut(), null_mut()) },
        Status::Null
    );
    let inside = memory.at().cast::<*mut Gp>();
    assert_eq!(
        // SAFETY: the place for the answer lies in the memory, which is what is refused.
        unsafe { sordino_gp_new(memory.at(), size, &GP, inside, null_mut()) },
        Status::Overlap
    );
    assert!(gp(&mut memory, size, &GP).is_ok());
    assert_eq!(
        (
            sordino_gp_size(0, 4),
            sordino_gp_size(17, 4),
            sordino_gp_size(2, 4097)
        ),
        (0, 0, 0)
    );
    assert_eq!(
        (
            sordino_agent_size(2, 0, 1),
            sordino_agent_size(2, 1, u32::MAX),
            sordino_optimizer_size(2, 0)
        ),
        (0, 0, 0)
    );
}

#[test]
fn a_setting_is_refused_by_name_value_and_range() {
    let mut memory = Memory::new();
    let mut says = |settings: &GpSettings| gp(&mut memory, 16384, settings).unwrap_err();
    let range = |text: &str| (Status::Range, text.to_owned());
    assert_eq!(
        says(&GpSettings { dim: 17, ..GP }),
        range("dim = 17 is outside 1..=16")
    );
    assert_eq!(
        says(&GpSettings { capacity: 0, ..GP }),
        range("capacity = 0 is outside 1..=4096")
    );
    assert_eq!(says(&GpSettings { shape: 9, ..GP }).1[..9], *"shape = 9");
    assert_eq!(
        says(&GpSettings {
            drop_oldest: 2,
            ..GP
        }),
        range("drop_oldest = 2 is outside 0 or 1")
    );
    assert_eq!(
        says(&GpSettings {
            lengthscale: -1.0,
            ..GP
        })
        .1[..16],
        *"lengthscale = -1"
    );
    assert_eq!(
        says(&GpSettings {
            noise_variance: f32::NAN,
            ..GP
        }),
        range("noise = NaN is outside [0, inf)")
    );
    let mut chip = Chip::new();
    let entropy = Entropy {
        context: null_mut(),
        fill: Some(dry),
    };
    let flash = chip.lent();
    let mut says = |settings: &ReporterSettings| {
        reporter(&mut memory, settings, &flash, &entropy).unwrap_err()
    };
    let epsilon = range("epsilon = 0 is outside [2^-20, 256]");
    assert_eq!(
        says(&ReporterSettings {
            epsilon: 0.0,
            ..REPORTER
        }),
        epsilon
    );
    assert_eq!(
        says(&ReporterSettings {
            budget: f64::INFINITY,
            ..REPORTER
        })
        .1[..12],
        *"budget = inf"
    );
    assert_eq!(
        says(&ReporterSettings {
            grid_exponent: 3,
            ..REPORTER
        }),
        range("grid_exponent = 3 is outside 4..=24")
    );
    assert_eq!(chip.writes, 0, "a refusal wrote a state");
}

#[test]
fn an_object_is_told_from_other_memory() {
    let mut memory = Memory::new();
    let mut other = Memory::new();
    let mut numbers = [0.0f32; 2];
    let observe = |gp: *mut Gp, point: *const f32, dim| {
        // SAFETY: memory of ours, or NULL; two numbers at most.
        unsafe { sordino_gp_observe(gp, point, dim, 1.0, null_mut()) }
    };
    let point = numbers.as_mut_ptr();
    assert_eq!(observe(null_mut(), point, 2), Status::Null);
    assert_eq!(observe(memory.at().cast(), point, 2), Status::NotBuilt);
    assert_eq!(
        observe(memory.at().wrapping_byte_add(2).cast(), point, 2),
        Status::Misaligned
    );
    let built = gp(&mut memory, 16384, &GP).unwrap();
    assert_eq!(observe(built, null(), 2), Status::Null);
    assert_eq!(
        observe(built, point.wrapping_byte_add(1), 1),
        Status::Misaligned
    );
    assert_eq!(observe(built, point, 1), Status::Length);
    assert_eq!(observe(built, built.cast(), 2), Status::Overlap);
    assert_eq!(observe(built, point, usize::MAX), Status::TooShort);
    assert_eq!(observe(built, null(), 0), Status::Length);
    assert_eq!(observe(built, point, 2), Status::Ok);
    // SAFETY: another kind of object at the same place, which is what is refused.
    let status = unsafe { sordino_optimizer_observe(built.cast(), point, 2, 1.0) };
    assert_eq!(status, Status::NotBuilt);
    // A build that fails leaves no object behind.
    assert!(gp(&mut other, 16384, &GP).is_ok());
    assert!(
        gp(
            &mut other,
            16384,
            &GpSettings {
                lengthscale: 0.0,
                ..GP
            }
        )
        .is_err()
    );
    assert_eq!(observe(other.at().cast(), point, 2), Status::NotBuilt);
}

#[test]
fn numbers_that_are_none_are_refused_and_change_nothing() {
    let mut memory = Memory::new();
    let built = gp(&mut memory, 16384, &GP).unwrap();
    let observe = |x: f32, y: f32| {
        // SAFETY: an object that was built, two numbers.
        unsafe { sordino_gp_observe(built, [x, 0.5].as_ptr(), 2, y, null_mut()) }
    };
    assert_eq!(
        [observe(f32::NAN, 1.0), observe(0.1, f32::INFINITY)],
        [Status::NotFinite; 2]
    );
    let mut rows = 9;
    // SAFETY: as above.
    let described = unsafe { sordino_gp_describe(built, &mut rows, null_mut()) };
    assert_eq!((described, rows), (Status::Ok, 0));
    for i in 0..4u8 {
        assert_eq!(observe(f32::from(i), 1.0), Status::Ok);
    }
    assert_eq!(observe(7.0, 1.0), Status::Full);
    assert_eq!(
        // SAFETY: as above.
        unsafe { [sordino_gp_remove(built, 4), sordino_gp_remove(built, 0)] },
        [Status::Index, Status::Ok]
    );
    let mut mean = 0.0;
    let mut variance = 0.0;
    // SAFETY: as above; NULL is admitted.
    let status =
        unsafe { sordino_gp_posterior(built, [0.5f32, 0.5].as_ptr(), 2, &mut mean, null_mut()) };
    assert_eq!(
        (status, mean),
        (Status::Null, 0.0),
        "a refusal changes nothing"
    );
    let one: *mut f32 = &mut mean;
    // SAFETY: as above; one place for both is admitted, and refused: one would be lost.
    let status = unsafe { sordino_gp_posterior(built, [0.5f32, 0.5].as_ptr(), 2, one, one) };
    assert_eq!((status, mean), (Status::Overlap, 0.0));
    // SAFETY: as above.
    let status =
        unsafe { sordino_gp_posterior(built, [0.5f32, 0.5].as_ptr(), 2, &mut mean, &mut variance) };
    assert!(status == Status::Ok && mean.is_finite() && variance > 0.0);
}

#[test]
fn every_status_has_a_sentence_of_its_own() {
    let say = |status: i32| {
        // SAFETY: a static text ended by a zero, by the library's word.
        unsafe { CStr::from_ptr(sordino_message(status)) }
            .to_str()
            .unwrap()
    };
    let known: std::collections::BTreeSet<&str> = (Status::Empty as i32..=1).map(say).collect();
    assert_eq!(known.len(), 32);
    let unknown = [i32::MIN, -31, 2, i32::MAX].map(say);
    assert!(unknown.iter().all(|sentence| *sentence == unknown[0]) && !known.contains(unknown[0]));
}

#[test]
fn a_reporter_without_a_flash_or_entropy_is_none() {
    let mut memory = Memory::new();
    let mut chip = Chip::new();
    let flash = chip.lent();
    let entropy = Entropy {
        context: null_mut(),
        fill: Some(dry),
    };
    let refused = |found: Result<*mut Reporter, (Status, String)>| found.unwrap_err().0;
    assert_eq!(
        refused(reporter(
            &mut memory,
            &REPORTER,
            &Flash {
                write: None,
                ..flash
            },
            &entropy
        )),
        Status::Null
    );
    assert_eq!(
        refused(reporter(
            &mut memory,
            &REPORTER,
            &Flash {
                read: None,
                write: None,
                ..flash
            },
            &entropy
        )),
        Status::Null
    );
    assert_eq!(
        refused(reporter(
            &mut memory,
            &REPORTER,
            &flash,
            &Entropy {
                fill: None,
                ..entropy
            }
        )),
        Status::Null
    );
    let built = reporter(&mut memory, &REPORTER, &flash, &entropy).unwrap();
    // No word of the generator, no charge: nothing is asked.
    assert_eq!((query(built, 0), spent(built)), (Status::Entropy, 0.0));
    assert_eq!(reward(built, 0.5), Err(Status::Unexpected));
}

/// Whenever a write of the flash fails and the power with it, what was said was paid for by what is
/// stored.
#[test]
fn no_cut_makes_a_reporter_forget_what_it_spent() {
    let mut cuts = 0;
    for limit in 0..10 {
        let mut memory = Memory::new();
        let mut chip = Chip::new();
        let mut counter = 0u32;
        chip.limit = limit;
        let flash = chip.lent();
        let entropy = Entropy {
            context: (&raw mut counter).cast(),
            fill: Some(stir),
        };
        let mut said = 0u8;
        if let Ok(built) = reporter(&mut memory, &REPORTER, &flash, &entropy) {
            while query(built, u32::from(said)) == Status::Ok {
                assert!(reward(built, 0.3).unwrap().is_finite());
                said += 1;
            }
        }
        cuts += u32::from(chip.writes > limit);
        chip.limit = usize::MAX;
        let again = reporter(&mut memory, &REPORTER, &flash, &entropy).unwrap();
        assert!(
            spent(again) >= 0.5 * f64::from(said),
            "limit {limit}: said {said}"
        );
        while query(again, 5) == Status::Ok {
            reward(again, 0.3).unwrap();
            said += 1;
        }
        assert!(
            said <= 2,
            "limit {limit}: {said} reports of 0.5 from a budget of 1"
        );
    }
    // Negative control: cuts happened, and not in every run.
    assert!((4..10).contains(&cuts), "{cuts}");
}

#[test]
fn a_flash_that_fails_once_is_asked_again_and_the_charge_is_taken_once() {
    let mut memory = Memory::new();
    let mut chip = Chip::new();
    let mut counter = 0u32;
    let flash = chip.lent();
    let entropy = Entropy {
        context: (&raw mut counter).cast(),
        fill: Some(stir),
    };
    let built = reporter(&mut memory, &REPORTER, &flash, &entropy).unwrap();
    chip.limit = chip.writes;
    assert_eq!(
        (query(built, 3), reward(built, 0.1)),
        (Status::Flash, Err(Status::Unexpected))
    );
    chip.limit = usize::MAX;
    assert_eq!(
        (query(built, 4), query(built, 3), spent(built)),
        (Status::Unexpected, Status::Ok, 0.5)
    );
    // Nowhere to put the report: none is made, and the reward can be given again.
    assert_eq!(
        // SAFETY: NULL is admitted.
        unsafe { sordino_reporter_reward(built, 0.1, null_mut()) },
        Status::Null
    );
    assert!(reward(built, 0.1).is_ok());
    // Another user's or another budget's flash is refused, and so is one that was changed.
    let other = ReporterSettings {
        budget: 2.0,
        ..REPORTER
    };
    assert_eq!(
        reporter(&mut memory, &other, &flash, &entropy)
            .unwrap_err()
            .0,
        Status::StoredForeign
    );
    chip.slots[0][18] ^= 1;
    assert!(
        reporter(&mut memory, &REPORTER, &flash, &entropy).is_ok(),
        "the second slot is whole"
    );
    chip.slots[0][18] ^= 1;
    chip.slots[1][18] ^= 1;
    assert_eq!(
        reporter(&mut memory, &REPORTER, &flash, &entropy)
            .unwrap_err()
            .0,
        Status::StoredDamaged
    );
}

/// What a callback is handed that calls back.
struct Loop {
    reporter: *mut Reporter,
    found: Option<Status>,
}

// SAFETY: a callback for tests.
unsafe extern "C" fn call_back(context: *mut c_void, _: *mut u8, _: usize) -> i32 {
    // SAFETY: the context is a loop that nothing else uses meanwhile.
    let looped = unsafe { &mut *context.cast::<Loop>() };
    looped.found = Some(query(looped.reporter, 1));
    1
}

#[test]
fn a_callback_that_calls_back_is_refused() {
    let mut memory = Memory::new();
    let mut chip = Chip::new();
    let mut looped = Box::new(Loop {
        reporter: null_mut(),
        found: None,
    });
    let entropy = Entropy {
        context: (&raw mut *looped).cast(),
        fill: Some(call_back),
    };
    let built = reporter(&mut memory, &REPORTER, &chip.lent(), &entropy).unwrap();
    looped.reporter = built;
    assert_eq!(
        (query(built, 0), looped.found),
        (Status::Entropy, Some(Status::Busy))
    );
    assert_eq!(spent(built), 0.0, "the object is free again");
}

fn usual() -> AgentSettings {
    let mut settings = std::mem::MaybeUninit::uninit();
    assert_eq!(
        // SAFETY: good for one value, which is written.
        unsafe { sordino_agent_usual(2, 6, 5, 16, settings.as_mut_ptr()) },
        Status::Ok
    );
    // SAFETY: it was written.
    unsafe { settings.assume_init() }
}

fn agent(
    memory: &mut Memory,
    settings: &AgentSettings,
    flash: *const Flash,
) -> Result<*mut Agent, (Status, String)> {
    let mut agent = null_mut();
    let mut refusal = no_refusal();
    // SAFETY: memory of that many bytes, and values of ours.
    match unsafe {
        sordino_agent_open(
            memory.at(),
            16384,
            settings,
            flash,
            &mut agent,
            &mut refusal,
        )
    } {
        Status::Ok => Ok(agent),
        status => Err((status, text(&refusal))),
    }
}

#[test]
fn an_agents_settings_are_judged_and_digested() {
    let mut memory = Memory::new();
    let good = usual();
    let mut says = |settings: AgentSettings| agent(&mut memory, &settings, null()).unwrap_err().1;
    assert_eq!(
        says(AgentSettings { agent: 6, ..good }),
        "agent = 6 is outside 0..agents"
    );
    assert_eq!(
        says(AgentSettings {
            clipping_norm: -1.0,
            ..good
        })[..18],
        *"clipping_norm = -1"
    );
    assert_eq!(
        says(AgentSettings {
            sampling_probability: 2.0,
            ..good
        })[..24],
        *"sampling_probability = 2"
    );
    assert_eq!(
        says(AgentSettings {
            per_axis: 1,
            ..good
        })[..12],
        *"per_axis = 1"
    );
    assert_eq!(
        says(AgentSettings {
            aggregation: 3,
            ..good
        }),
        "aggregation = 3 is outside 0, 1 or 2"
    );
    assert_eq!(
        says(AgentSettings {
            initial_points: u32::MAX,
            ..good
        })[..6],
        *"rounds"
    );
    let digest = |settings: AgentSettings| {
        let mut bytes = [0; SORDINO_DIGEST_BYTES];
        assert_eq!(
            // SAFETY: values of ours.
            unsafe { sordino_agent_digest(&settings, bytes.as_mut_ptr()) },
            Status::Ok
        );
        bytes
    };
    assert_eq!(
        digest(good),
        digest(AgentSettings {
            agent: 3,
            seed: 8,
            ..good
        }),
        "an agent's own numbers"
    );
    assert_ne!(
        digest(good),
        digest(AgentSettings {
            noise_multiplier: 1.5,
            ..good
        })
    );
}

/// The flash fails, and the power with it, at every write: the agent goes on with the same bits,
/// and its log holds what was observed.
#[test]
fn no_cut_makes_an_agent_contradict_itself() {
    let settings = AgentSettings {
        initial_points: 2,
        rounds: 3,
        ..usual()
    };
    let uncut = run(&settings, usize::MAX).0;
    let mut cuts = 0;
    let mut limit = 0;
    loop {
        let (said, cut) = run(&settings, limit);
        assert_eq!(said, uncut, "limit {limit}");
        cuts += u32::from(cut);
        if !cut {
            break;
        }
        limit += 1;
    }
    assert!(cuts > 10 && uncut.len() > 6, "{cuts} cuts");
}

/// Everything an agent wanted, in order and each once; whether its power was cut.
fn run(settings: &AgentSettings, limit: usize) -> (Vec<Vec<u32>>, bool) {
    let mut memory = Memory::new();
    let mut chip = Chip::new();
    chip.limit = limit;
    let flash = chip.lent();
    let mut said = Vec::<Vec<u32>>::new();
    let mut cut = false;
    let mut answer = Answer {
        kind: AnswerKind::Wait,
        candidate: 0,
        number: 0,
        len: 0,
        numbers: null(),
    };
    let mut live = None;
    for _ in 0..1000 {
        let status = match live {
            None => match agent(&mut memory, settings, &flash) {
                Ok(built) => {
                    live = Some(built);
                    // SAFETY: what was built, a value of ours.
                    unsafe { sordino_agent_repeat(built, &mut answer) }
                }
                Err((status, _)) => status,
            },
            Some(built) => step(built, &mut answer, &said),
        };
        if status == Status::Flash {
            (live, cut, chip.limit) = (None, true, usize::MAX);
            continue;
        }
        if status == Status::Pending {
            continue;
        }
        assert_eq!(status, Status::Ok);
        let mut words = vec![answer.kind as u32, answer.candidate, answer.number];
        if !answer.numbers.is_null() {
            // SAFETY: `len` numbers until the next call, by the library's word.
            let numbers =
                unsafe { std::slice::from_raw_parts(answer.numbers, answer.len as usize) };
            words.extend(numbers.iter().map(|x| x.to_bits()));
        }
        // What is said again after a cut is the same.
        if answer.kind != AnswerKind::Wait && said.last() != Some(&words) {
            said.push(words);
        }
        if answer.kind == AnswerKind::Done {
            return (said, cut);
        }
    }
    panic!("limit {limit}: no end after 1000 calls");
}

fn step(agent: *mut Agent, answer: &mut Answer, said: &[Vec<u32>]) -> Status {
    let vectors: Vec<f32> = (0..16)
        .map(|i| ((i + said.len()) % 5) as f32 - 2.0)
        .collect();
    // SAFETY: what was built, values of ours.
    unsafe {
        match answer.kind {
            AnswerKind::Wait => sordino_agent_start(agent, 0, answer),
            // Measured again it comes out differently, as a sensor does: what was stored counts.
            AnswerKind::Evaluate => {
                sordino_agent_observed(agent, answer.candidate as f32 * 0.01, 2, answer)
            }
            AnswerKind::Upload => sordino_agent_broadcast(agent, vectors.as_ptr(), 16, 0, answer),
            AnswerKind::Done => Status::Ok,
            AnswerKind::Hide => unreachable!("an agent hides nothing"),
        }
    }
}
