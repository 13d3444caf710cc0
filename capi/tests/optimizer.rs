//! An optimizer in C keeps its data: nothing refused is stored, no cut of the power changes what is
//! asked, and a flash that is another's or damaged is told and left alone.
//!
//! Every call below is one that C could make. Pointers are NULL or good for what is named beside
//! them.
#![allow(clippy::multiple_unsafe_ops_per_block)]

use std::ffi::c_void;
use std::ptr::null_mut;

use sordino_c::callback::Flash;
use sordino_c::journal::SORDINO_OPTIMIZER_RING;
use sordino_c::optimizer::*;
use sordino_c::status::{Refusal, Status};

const CAPACITY: u32 = 8;
const DIM: u32 = 2;

/// Memory as C would align it.
#[repr(align(8))]
struct Memory([u8; 8192]);

/// A flash of so many slots, which outlives resets.
#[derive(Clone)]
struct Chip {
    slots: Vec<[u8; SORDINO_OPTIMIZER_SLOT]>,
    writes: usize,
    /// The write that the power fails in, and after how many of its bytes.
    cut: Option<(usize, usize)>,
    /// The power failed: no write is made any more.
    dark: bool,
    unreadable: Option<u32>,
}

impl Chip {
    fn new(slots: usize) -> Self {
        let erased = [0xff; SORDINO_OPTIMIZER_SLOT];
        Chip {
            slots: vec![erased; slots],
            writes: 0,
            cut: None,
            dark: false,
            unreadable: None,
        }
    }

    fn lent(&mut self) -> Flash {
        Flash {
            context: (&raw mut *self).cast(),
            read: Some(read),
            write: Some(write),
        }
    }

    fn used(&self) -> usize {
        self.slots
            .iter()
            .filter(|slot| slot.iter().any(|byte| *byte != 0xff))
            .count()
    }
}

// SAFETY: a callback for tests; what it is handed is what the library promises.
unsafe extern "C" fn read(context: *mut c_void, slot: u32, bytes: *mut u8, len: usize) -> i32 {
    // SAFETY: the context is a chip that nothing else uses meanwhile.
    let chip = unsafe { &mut *context.cast::<Chip>() };
    if chip.unreadable == Some(slot) {
        return -1;
    }
    let Some(place) = chip.slots.get(slot as usize) else {
        return -1;
    };
    // SAFETY: `len` bytes are there, by the library's word.
    unsafe { bytes.copy_from(place.as_ptr(), len) };
    0
}

// SAFETY: as above.
unsafe extern "C" fn write(context: *mut c_void, slot: u32, bytes: *const u8, len: usize) -> i32 {
    // SAFETY: as above.
    let chip = unsafe { &mut *context.cast::<Chip>() };
    let Some(place) = chip.slots.get_mut(slot as usize) else {
        return -1;
    };
    if chip.dark {
        return -1;
    }
    chip.writes += 1;
    let torn = chip.cut.filter(|cut| cut.0 == chip.writes);
    place.fill(0xff);
    // SAFETY: as above.
    unsafe {
        place
            .as_mut_ptr()
            .copy_from(bytes, torn.map_or(len, |cut| cut.1.min(len)))
    };
    chip.dark = torn.is_some();
    i32::from(chip.dark)
}

/// Settings of a small box; `fits` slots beside those of the observations.
fn settings(drop_oldest: u32, fits: u32) -> OptimizerSettings {
    let mut settings = std::mem::MaybeUninit::uninit();
    assert_eq!(
        // SAFETY: good for one value, which is written.
        unsafe { sordino_optimizer_usual(DIM, CAPACITY, settings.as_mut_ptr()) },
        Status::Ok
    );
    // SAFETY: it was written.
    let mut settings: OptimizerSettings = unsafe { settings.assume_init() };
    (settings.low[1], settings.high[1]) = (-1.0, 3.0);
    OptimizerSettings {
        // So that few fits are stored beside the observations.
        initial_points: 6,
        drop_oldest,
        fits,
        ..settings
    }
}

/// A device between two resets.
struct Device {
    optimizer: *mut Optimizer,
    _memory: Box<Memory>,
}

impl Device {
    fn open(settings: &OptimizerSettings, chip: &mut Chip) -> Result<Self, Status> {
        // What a reset leaves in memory is anything.
        let mut memory = Box::new(Memory([0x5a; 8192]));
        let mut optimizer = null_mut();
        let flash = chip.lent();
        let at = memory.0.as_mut_ptr().cast();
        let len = memory.0.len();
        // SAFETY: memory of that many bytes, and values of ours.
        match unsafe {
            sordino_optimizer_open(at, len, settings, &flash, &mut optimizer, null_mut())
        } {
            Status::Ok => Ok(Device {
                optimizer,
                _memory: memory,
            }),
            status => Err(status),
        }
    }

    /// Observations told since the beginning, slots in use, whether a fit came last.
    fn describe(&self) -> Result<(u32, u32, bool), Status> {
        let mut told = 0;
        let mut stored = 0;
        let mut fitted = 0;
        // SAFETY: what was opened, values of ours.
        match unsafe {
            sordino_optimizer_describe(
                self.optimizer,
                null_mut(),
                &mut told,
                &mut stored,
                &mut fitted,
            )
        } {
            Status::Ok => Ok((told, stored, fitted == 1)),
            status => Err(status),
        }
    }

    fn suggest(&self) -> Result<[f32; 2], Status> {
        let mut point = [0.0; 2];
        loop {
            // SAFETY: as above.
            match unsafe { sordino_optimizer_suggest(self.optimizer, 40, point.as_mut_ptr(), 2) } {
                Status::Pending => {}
                Status::Ok => return Ok(point),
                status => return Err(status),
            }
        }
    }

    fn observe(&self, point: [f32; 2], y: f32) -> Result<(), Status> {
        // SAFETY: as above.
        match unsafe { sordino_optimizer_observe(self.optimizer, point.as_ptr(), 2, y) } {
            Status::Ok => Ok(()),
            status => Err(status),
        }
    }

    /// Tells what came of a point: beyond .8 nothing works.
    fn tell(&self, point: [f32; 2]) -> Result<(), Status> {
        if point[0] <= 0.8 {
            self.observe(point, value(point))
        } else {
            self.fail(point)
        }
    }

    fn fail(&self, point: [f32; 2]) -> Result<(), Status> {
        // SAFETY: as above.
        match unsafe { sordino_optimizer_fail(self.optimizer, point.as_ptr(), 2) } {
            Status::Ok => Ok(()),
            status => Err(status),
        }
    }

    fn fit(&self) -> Result<(), Status> {
        loop {
            // SAFETY: as above.
            match unsafe { sordino_optimizer_fit(self.optimizer, 9, null_mut()) } {
                Status::Pending => {}
                Status::Ok => return Ok(()),
                status => return Err(status),
            }
        }
    }

    fn best(&self) -> Result<[u32; 3], Status> {
        let mut point = [0.0; 2];
        let mut mean = 0.0;
        // SAFETY: as above.
        match unsafe { sordino_optimizer_best(self.optimizer, point.as_mut_ptr(), 2, &mut mean) } {
            Status::Ok => Ok([point[0].to_bits(), point[1].to_bits(), mean.to_bits()]),
            status => Err(status),
        }
    }
}

fn value([a, b]: [f32; 2]) -> f32 {
    -(a - 0.7) * (a - 0.7) - 0.3 * (b - 1.0) * (b - 1.0)
}

/// What a run asks for, and its best point.
type Asked = Vec<[u32; 3]>;

/// A run by the loop of the book, with the power lost after call number `reset` of the library.
struct Run<'a> {
    settings: &'a OptimizerSettings,
    rounds: u32,
    /// A fit at every such observation; 0: none.
    every: u32,
    calls: u32,
    reset: u32,
    asked: Asked,
}

impl Run<'_> {
    /// Counts a call; the reset comes after it, whatever it came to.
    fn call<T>(&mut self, came_to: Result<T, Status>) -> Result<T, Status> {
        self.calls += 1;
        if self.calls == self.reset {
            Err(Status::Flash)
        } else {
            came_to
        }
    }

    /// From a boot to the end, or to a loss of power.
    fn boot(&mut self, chip: &mut Chip) -> Result<(), Status> {
        let opened = Device::open(self.settings, chip);
        let device = self.call(opened)?;
        loop {
            let described = device.describe();
            let (told, _, fitted) = self.call(described)?;
            if self.every > 0 && told > 0 && told.is_multiple_of(self.every) && !fitted {
                let fit = device.fit();
                self.call(fit)?;
                continue;
            }
            if told == self.rounds {
                let best = device.best();
                let best = self.call(best)?;
                self.ask(told, best);
                return Ok(());
            }
            let suggested = device.suggest();
            let point = self.call(suggested)?;
            self.ask(told, [told, point[0].to_bits(), point[1].to_bits()]);
            let told = device.tell(point);
            self.call(told)?;
        }
    }

    /// Question number `told`: asked again after a reset it must be the same, which the whole list
    /// shows.
    fn ask(&mut self, told: u32, words: [u32; 3]) {
        self.asked.truncate(told as usize);
        self.asked.push(words);
    }
}

/// All questions of a run on a fresh chip, with one loss of power: in a write after some bytes, or
/// after a call. Also the chip, and how many calls and boots there were.
fn run(
    slots: usize,
    settings: &OptimizerSettings,
    (rounds, every): (u32, u32),
    cut: Option<(usize, usize)>,
    reset: u32,
) -> (Asked, Chip, u32) {
    let mut chip = Chip {
        cut,
        ..Chip::new(slots)
    };
    let mut run = Run {
        settings,
        rounds,
        every,
        calls: 0,
        reset,
        asked: Vec::new(),
    };
    for _ in 0..4 {
        match run.boot(&mut chip) {
            Ok(()) => return (run.asked, chip, run.calls),
            Err(Status::Flash) => chip.dark = false,
            Err(status) => panic!("{slots} slots, cut {cut:?}, reset {reset}: {status:?}"),
        }
    }
    panic!("{slots} slots, cut {cut:?}, reset {reset}: refused for ever");
}

/// The flashes of the note, and rings: slots, settings, rounds and fits.
fn flashes() -> [(usize, OptimizerSettings, (u32, u32)); 6] {
    let ring = SORDINO_OPTIMIZER_RING as u32;
    [
        (8, settings(0, 0), (8, 0)),
        // A flash that ends before the slots of the settings.
        (8, settings(0, 32), (8, 0)),
        (10, settings(0, 2), (8, 7)),
        (40, settings(0, 32), (8, 3)),
        (11, settings(1, ring), (21, 5)),
        (40, settings(1, 32), (19, 4)),
    ]
}

/// The first program: a flash with a slot for each observation, in which the power fails once
/// everything is told.
#[test]
fn a_flash_with_a_slot_for_each_observation_opens_again() {
    for (slots, settings, plan) in flashes() {
        let (asked, mut chip, _) = run(slots, &settings, plan, None, 0);
        assert_eq!(asked.len(), plan.0 as usize + 1);
        let device = Device::open(&settings, &mut chip).unwrap();
        assert_eq!(device.describe().unwrap().0, plan.0, "{slots} slots");
        assert_eq!(Ok(asked[plan.0 as usize]), device.best());
        // One more is refused without a write where it does not fit, and the optimizer is what it
        // was.
        if settings.drop_oldest == 0 {
            let writes = chip.writes;
            assert_eq!(device.observe([0.5, 0.5], 0.0), Err(Status::Full));
            assert_eq!(
                (chip.writes, device.best()),
                (writes, Ok(asked[plan.0 as usize]))
            );
            drop(device);
            assert!(Device::open(&settings, &mut chip).is_ok(), "{slots} slots");
        }
    }
    // A log without a slot for a fit says so before it fits, also one that is due: who asks until a
    // fit came last would ask for ever, because a reset forgets it.
    let settings = settings(0, 0);
    let mut chip = Chip::new(8);
    let device = Device::open(&settings, &mut chip).unwrap();
    for _ in 0..8 {
        let x = device.suggest().unwrap();
        device.observe(x, value(x)).unwrap();
    }
    let best = device.best();
    assert_eq!((device.fit(), device.best()), (Err(Status::Full), best));
}

/// The second program: the oldest goes, for a long time.
#[test]
fn a_ring_stays_in_its_slots_and_a_reset_changes_nothing() {
    let settings = settings(1, SORDINO_OPTIMIZER_RING as u32);
    let slots = (CAPACITY as usize) + SORDINO_OPTIMIZER_RING;
    let mut chip = Chip::new(slots);
    let mut device = Device::open(&settings, &mut chip).unwrap();
    let mut other = Chip::new(slots);
    let beside = Device::open(&settings, &mut other).unwrap();
    for round in 0..60 {
        let point = device.suggest().unwrap();
        assert_eq!(beside.suggest().unwrap(), point, "round {round}");
        for device in [&device, &beside] {
            device.tell(point).unwrap();
            if round % 13 == 12 {
                device.fit().unwrap();
            }
        }
        // Only one of the two is reset, after every round.
        device = Device::open(&settings, &mut chip).unwrap();
        assert_eq!(device.describe().unwrap(), beside.describe().unwrap());
        assert_eq!(device.describe().unwrap().0, round + 1);
    }
    let stored = device.describe().unwrap().1;
    assert!(
        chip.used() == slots && stored == CAPACITY + 1,
        "{} slots used, {stored} stored",
        chip.used()
    );
    // A ring that the flash has no room for is refused at once, not after a power cycle; so is one
    // that is too small.
    assert_eq!(
        Device::open(&settings, &mut Chip::new(slots - 1)).err(),
        Some(Status::Flash)
    );
    let small = OptimizerSettings {
        fits: 2,
        ..settings
    };
    assert_eq!(
        Device::open(&small, &mut Chip::new(slots)).err(),
        Some(Status::Range)
    );
}

/// The third program: a sensor that fails, a unit that is wrong, rows that are full.
#[test]
fn what_is_expected_of_a_point_is_asked_of_the_values() {
    let mut chip = Chip::new(64);
    let device = Device::open(&settings(0, 64), &mut chip).unwrap();
    let expected = |point: [f32; 2]| {
        let mut mean = f32::NAN;
        let mut std = f32::NAN;
        // SAFETY: an open optimizer, numbers of ours.
        match unsafe {
            sordino_optimizer_predict(device.optimizer, point.as_ptr(), 2, &mut mean, &mut std)
        } {
            Status::Ok => Ok((mean, std)),
            status => Err(status),
        }
    };
    assert_eq!(expected([0.5, 0.5]), Err(Status::Empty));
    device.fail([0.9, 0.9]).unwrap();
    assert_eq!(expected([0.5, 0.5]), Err(Status::Empty));
    for (a, y) in [(0.1, 1.0), (0.4, 3.0), (0.7, 2.0)] {
        device.observe([a, 0.5], y).unwrap();
    }
    let (mean, std) = expected([0.4, 0.5]).unwrap();
    let away = expected([0.1, 1.0]).unwrap().1;
    assert!(
        (mean - 3.0).abs() < 0.3 && std < 0.5 * away,
        "{mean} {std} {away}"
    );
    assert_eq!(expected([7.0, 0.5]), Err(Status::Outside));
}

#[test]
fn what_is_refused_is_not_stored() {
    for (slots, settings, _) in flashes() {
        let mut chip = Chip::new(slots);
        let device = Device::open(&settings, &mut chip).unwrap();
        let mut points = Vec::new();
        for round in 0..7 {
            let point = device.suggest().unwrap();
            let writes = chip.writes;
            for bad in [f32::NAN, f32::INFINITY] {
                assert_eq!(
                    device.observe(device.suggest().unwrap(), bad),
                    Err(Status::NotFinite)
                );
            }
            let far = device.observe(device.suggest().unwrap(), -2e14);
            assert_eq!(far, Err(Status::Range));
            for outside in [[2.0, 0.0], [0.5, -1.5], [-1e9, 0.0]] {
                let suggested = device.suggest().unwrap();
                assert_eq!(device.observe(outside, 1.0), Err(Status::Outside));
                assert_eq!(device.fail(outside), Err(Status::Outside));
                assert_eq!(
                    device.suggest().unwrap(),
                    suggested,
                    "a refusal changes nothing"
                );
            }
            assert_eq!(device.observe([f32::NAN, 0.0], 1.0), Err(Status::NotFinite));
            assert_eq!((chip.writes, device.describe().unwrap().0), (writes, round));
            // Where the sensor failed it is not asked again at once.
            assert_ne!(device.suggest().unwrap(), point);
            device.observe(point, value(point)).unwrap();
            points.push(point);
        }
        // Nothing of it reached the flash: the same asks as of a device that was told the same and
        // met no refusal.
        let mut clean = Chip::new(slots);
        let beside = Device::open(&settings, &mut clean).unwrap();
        points
            .iter()
            .for_each(|point| beside.observe(*point, value(*point)).unwrap());
        assert_eq!(clean.slots, chip.slots);
        assert_eq!(beside.suggest(), device.suggest());
    }
}

/// The fourth program: an update of the settings, and rot.
#[test]
fn a_foreign_or_damaged_flash_is_told_and_left_alone() {
    for (slots, settings, plan) in flashes() {
        let (asked, chip, _) = run(slots, &settings, plan, None, 0);
        let mut range = settings;
        range.high[0] = 2.0;
        let capacity = settings.capacity - 1;
        let other = settings.drop_oldest == 0;
        let updates = [
            OptimizerSettings {
                capacity,
                ..settings
            },
            range,
            OptimizerSettings {
                drop_oldest: u32::from(other),
                fits: 8,
                ..settings
            },
        ];
        for update in updates {
            let mut used = chip.clone();
            let found = Device::open(&update, &mut used).err();
            assert_eq!(found, Some(Status::StoredForeign), "{slots} slots");
            assert_eq!(
                (&used.slots, used.writes),
                (&chip.slots, chip.writes),
                "nothing is overwritten"
            );
            // The settings before it: everything is there.
            assert_eq!(
                Device::open(&settings, &mut used).unwrap().best(),
                Ok(asked[plan.0 as usize])
            );
            // Or the data are given up, and it begins, if there is room.
            if update.drop_oldest == 1 && slots < (CAPACITY as usize) + SORDINO_OPTIMIZER_RING {
                assert_eq!(erase(&update, &mut used), Status::Flash);
                continue;
            }
            assert_eq!(erase(&update, &mut used), Status::Ok);
            assert_eq!(
                Device::open(&update, &mut used).unwrap().describe(),
                Ok((0, 0, false))
            );
        }
        rot(&settings, &chip, plan.0);
    }
    // More room in the flash is no other optimizer.
    let mut longer = run(10, &settings(0, 2), (8, 7), None, 0).1;
    let plan = settings(0, 7);
    longer.slots.resize(15, [0xff; SORDINO_OPTIMIZER_SLOT]);
    assert_eq!(
        Device::open(&plan, &mut longer)
            .unwrap()
            .describe()
            .unwrap()
            .0,
        8
    );
}

fn erase(settings: &OptimizerSettings, chip: &mut Chip) -> Status {
    let flash = chip.lent();
    let refusal: *mut Refusal = null_mut();
    // SAFETY: values of ours; NULL is admitted.
    unsafe { sordino_optimizer_erase(settings, &flash, refusal) }
}

/// One bit of one slot changes: it is damage, or what a cut in the last write would have left;
/// never an empty optimizer.
fn rot(settings: &OptimizerSettings, chip: &Chip, told: u32) {
    let mut damaged = 0;
    let mut cut = 0;
    for slot in 0..chip.slots.len() {
        if chip.slots[slot].iter().all(|byte| *byte == 0xff) {
            continue;
        }
        for bit in [3, 40, 150] {
            let mut rotten = chip.clone();
            rotten.slots[slot][bit / 8] ^= 1 << (bit % 8);
            let before = rotten.slots.clone();
            match Device::open(settings, &mut rotten) {
                Err(Status::StoredDamaged) => {
                    damaged += 1;
                    assert_eq!(rotten.slots, before);
                    assert_eq!(erase(settings, &mut rotten), Status::Ok);
                    assert!(Device::open(settings, &mut rotten).is_ok());
                }
                // The last observation or fit is as if its write had been cut off; one of two fits
                // has the other.
                Ok(device) => {
                    cut += 1;
                    assert!(device.describe().unwrap().0 >= told - 1, "slot {slot}");
                }
                Err(status) => panic!("slot {slot}: {status:?}"),
            }
        }
    }
    // A log has one slot that a cut can have left so, a ring the newest, the spare one and those of
    // the fits.
    let most = if settings.drop_oldest == 0 { 1 } else { 4 };
    assert!(
        damaged >= 3 * 6 && (3..=3 * most).contains(&cut),
        "{damaged} damaged, {cut} as a cut"
    );
}

#[test]
fn no_cut_at_any_act_changes_what_an_optimizer_asks() {
    for (slots, settings, plan) in flashes() {
        let (uncut, chip, calls) = run(slots, &settings, plan, None, 0);
        for write in 1..=chip.writes {
            for bytes in [0, 1, 5, 17, 30, 91] {
                let (asked, _, _) = run(slots, &settings, plan, Some((write, bytes)), 0);
                assert_eq!(
                    asked, uncut,
                    "{slots} slots, write {write} cut after {bytes} bytes"
                );
            }
        }
        for call in 1..=calls {
            assert_eq!(
                run(slots, &settings, plan, None, call).0,
                uncut,
                "{slots} slots, reset after call {call}"
            );
        }
        // Negative control: a device that loses what it stored asks for something else.
        let mut wiped = Chip::new(slots);
        assert_ne!(
            Device::open(&settings, &mut wiped)
                .unwrap()
                .suggest()
                .unwrap()
                .map(f32::to_bits)[..],
            uncut[7][1..]
        );
    }
}

#[test]
fn a_slot_that_cannot_be_read_ends_the_log_or_is_told() {
    let settings = settings(0, 4);
    let (asked, mut chip, _) = run(12, &settings, (6, 0), None, 0);
    // Behind the end: the flash is that much shorter.
    chip.unreadable = Some(7);
    let device = Device::open(&settings, &mut chip).unwrap();
    assert_eq!(device.best(), Ok(asked[6]));
    let x = device.suggest().unwrap();
    device.observe(x, value(x)).unwrap();
    let x = device.suggest().unwrap();
    assert_eq!(device.observe(x, value(x)), Err(Status::Full));
    drop(device);
    // Before it: nothing is built or written, and when it can be read again everything is there.
    chip.unreadable = Some(2);
    let before = chip.slots.clone();
    assert_eq!(
        Device::open(&settings, &mut chip).err(),
        Some(Status::Flash)
    );
    assert_eq!(chip.slots, before);
    chip.unreadable = None;
    assert_eq!(
        Device::open(&settings, &mut chip)
            .unwrap()
            .describe()
            .unwrap()
            .0,
        7
    );
}

/// The write fails and the power stays: what was to be stored was not told, and it can be told
/// again.
#[test]
fn a_write_that_fails_leaves_the_optimizer_as_its_flash() {
    for (slots, settings, plan) in flashes() {
        let mut chip = Chip::new(slots);
        let device = Device::open(&settings, &mut chip).unwrap();
        let uncut = run(slots, &settings, plan, None, 0).0;
        for told in 0..7 {
            if plan.1 > 0 && told > 0 && told % plan.1 == 0 {
                chip.cut = Some((chip.writes + 1, 11));
                assert_eq!(device.fit(), Err(Status::Flash));
                chip.dark = false;
                device.fit().unwrap();
            }
            let point = device.suggest().unwrap();
            assert_eq!(
                point.map(f32::to_bits)[..],
                uncut[told as usize][1..],
                "{slots} slots, {told} told"
            );
            chip.cut = Some((chip.writes + 1, 20));
            assert_eq!(device.tell(point), Err(Status::Flash));
            chip.dark = false;
            assert_eq!(
                (device.describe().unwrap().0, device.suggest()),
                (told, Ok(point))
            );
            device.tell(point).unwrap();
        }
    }
}
