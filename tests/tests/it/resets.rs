//! A reset at any instruction: four devices whose power is cut at every byte they write and at
//! every act between.
//!
//! The same programs run on the emulated Cortex-M with resets of the processor
//! (`cargo xtask firmware`).

use firmware_example::reset::{
    Cut, Flash, SLOT, SLOTS, Stop, World, agent, optimizer, prior, reporter,
};
use sordino_core::digest::Digest;

/// A device and what surrounds it.
struct Bench {
    grain: usize,
    bytes: Box<[u8; SLOTS * SLOT]>,
    world: World,
}

type Boot = fn(&mut Flash<'_>, &mut World) -> Result<(), Stop>;

impl Bench {
    fn new(noisy: bool) -> Self {
        Bench {
            grain: 1,
            bytes: Box::new([0xff; SLOTS * SLOT]),
            world: World::new(noisy),
        }
    }

    /// One boot with power for so many steps; how many were taken.
    fn boot(&mut self, program: Boot, steps: u32) -> (Result<(), Stop>, u32) {
        let mut taken = 0;
        let mut power = || {
            taken += 1;
            if taken > steps { Err(Cut) } else { Ok(()) }
        };
        let mut flash = Flash {
            bytes: &mut self.bytes[..],
            grain: self.grain,
            power: &mut power,
        };
        let end = program(&mut flash, &mut self.world);
        (end, taken)
    }
}

fn agent(flash: &mut Flash<'_>, world: &mut World) -> Result<(), Stop> {
    agent::boot(flash, world, &mut [f32::NAN; agent::STORAGE])
}

fn prior(flash: &mut Flash<'_>, world: &mut World) -> Result<(), Stop> {
    prior::boot(flash, world, &mut [f32::NAN; prior::STORAGE])
}

fn optimizer(flash: &mut Flash<'_>, world: &mut World) -> Result<(), Stop> {
    optimizer::boot(flash, world, &mut [f32::NAN; optimizer::STORAGE])
}

/// What a run without a cut comes to: its digest, its steps and its measurements.
fn whole(program: Boot, noisy: bool) -> (Digest, u32, u32) {
    let mut bench = Bench::new(noisy);
    let (end, steps) = bench.boot(program, u32::MAX);
    assert_eq!(end, Ok(()));
    (bench.world.digest(), steps, bench.world.measured)
}

/// One cut at every step, then power again: whatever was cut, the run ends as if nothing had been.
fn one_cut_anywhere(program: Boot, least: u32) {
    let (digest, steps, measured) = whole(program, false);
    assert!(steps > least, "{steps}");
    let mut again = 0;
    for cut in 0..steps {
        let mut bench = Bench::new(false);
        assert_eq!(bench.boot(program, cut).0, Err(Stop::Cut), "{cut}");
        assert_eq!(bench.boot(program, u32::MAX).0, Ok(()), "{cut}");
        assert_eq!(bench.world.digest(), digest, "{cut}");
        // Only what was not yet written down whole is measured again.
        assert!(
            (measured..=measured + 1).contains(&bench.world.measured),
            "{cut}: {}",
            bench.world.measured
        );
        again += bench.world.measured - measured;
    }
    assert!(0 < again && again < steps, "{again}");
}

/// Power for so many steps at every boot: the device gets on, and never says another thing than it
/// said.
fn cut_again_and_again(program: Boot, steps: u32) {
    for noisy in [false, true] {
        let mut bench = Bench::new(noisy);
        let mut boots = 0;
        loop {
            match bench.boot(program, steps).0 {
                Ok(()) => break,
                Err(Stop::Cut) => boots += 1,
                Err(error) => panic!("boot {boots}: {error:?}"),
            }
            assert!(boots < 1000, "no progress with {steps} steps a boot");
        }
        assert!(boots >= 3, "{boots}");
        if !noisy {
            assert_eq!(bench.world.digest(), whole(program, false).0);
        }
    }
}

#[test]
fn an_agent_goes_on_after_a_cut_anywhere() {
    one_cut_anywhere(agent, 500);
}

#[test]
fn an_agent_of_a_prior_goes_on_after_a_cut_anywhere() {
    one_cut_anywhere(prior, 500);
    for steps in [200, 251] {
        cut_again_and_again(prior, steps);
    }
}

/// A sensor that reads differently each time: what an agent sent it never contradicts.
#[test]
fn an_agent_with_a_noisy_sensor_never_sends_two_uploads_for_one_round() {
    let (_, steps, measured) = whole(agent, true);
    for cut in 0..steps {
        let mut bench = Bench::new(true);
        assert_eq!(bench.boot(agent, cut).0, Err(Stop::Cut));
        assert_eq!(bench.boot(agent, u32::MAX).0, Ok(()), "{cut}");
        assert!(bench.world.measured <= measured + 1, "{cut}");
    }
}

#[test]
fn an_agent_and_an_optimizer_get_on_between_cuts() {
    for steps in [200, 251, 307] {
        cut_again_and_again(agent, steps);
    }
    for steps in [60, 97] {
        cut_again_and_again(optimizer, steps);
    }
}

#[test]
fn an_optimizer_asks_the_same_after_a_cut_anywhere() {
    one_cut_anywhere(optimizer, 300);
}

/// A reporter may have paid for what nobody heard; nobody hears what was not paid for.
#[test]
fn a_reporter_never_says_more_than_its_flash_has_charged() {
    let (_, steps, _) = whole(reporter::boot, false);
    let mut in_vain = 0;
    for cut in 0..steps {
        let mut bench = Bench::new(false);
        assert_eq!(bench.boot(reporter::boot, cut).0, Err(Stop::Cut), "{cut}");
        let charged = |bench: &mut Bench| {
            let flash = Flash {
                bytes: &mut bench.bytes[..],
                grain: 1,
                power: &mut || Ok(()),
            };
            reporter::spent_and_said(&flash, &bench.world).unwrap()
        };
        let (spent, said) = charged(&mut bench);
        assert!(spent >= said, "{cut}: {spent} charged, {said} said");
        assert_eq!(bench.boot(reporter::boot, u32::MAX).0, Ok(()), "{cut}");
        let (spent, said) = charged(&mut bench);
        assert!(
            spent >= said && spent <= said + 0.5,
            "{cut}: {spent} charged, {said} said"
        );
        in_vain += u32::from(spent > said);
    }
    assert!(0 < in_vain && in_vain < steps, "{in_vain} of {steps}");
}

/// A second cut after the first, at every pair of steps: what the first left half done is put right
/// before anything is done, so that the second finds two whole slots. The budget is never
/// forgotten, and no device is lost.
#[test]
fn two_cuts_neither_forget_a_budget_nor_lose_a_device() {
    let grain = 8;
    let steps = Bench {
        grain,
        ..Bench::new(false)
    }
    .boot(reporter::boot, u32::MAX)
    .1;
    assert!(steps > 50, "{steps}");
    for first in 0..steps {
        let mut cut = Bench {
            grain,
            ..Bench::new(false)
        };
        assert_eq!(cut.boot(reporter::boot, first).0, Err(Stop::Cut));
        for second in 0.. {
            let mut bench = Bench {
                grain,
                bytes: cut.bytes.clone(),
                world: cut.world,
            };
            let end = bench.boot(reporter::boot, second).0;
            let flash = Flash {
                bytes: &mut bench.bytes[..],
                grain,
                power: &mut || Ok(()),
            };
            let (spent, said) = reporter::spent_and_said(&flash, &bench.world).unwrap();
            assert!(
                spent >= said,
                "{first}, {second}: {spent} charged, {said} said"
            );
            if end == Ok(()) {
                break;
            }
            assert_eq!(
                bench.boot(reporter::boot, u32::MAX).0,
                Ok(()),
                "{first}, {second}"
            );
            let flash = Flash {
                bytes: &mut bench.bytes[..],
                grain,
                power: &mut || Ok(()),
            };
            let (spent, said) = reporter::spent_and_said(&flash, &bench.world).unwrap();
            assert!(
                said <= spent && spent <= said + 1.0,
                "{first}, {second}: {spent} charged, {said} said"
            );
        }
    }
}

/// A device that acts before it stores is caught: the check above can fail.
#[test]
fn a_device_that_sends_first_is_caught() {
    fn careless(flash: &mut Flash<'_>, world: &mut World) -> Result<(), Stop> {
        // The second slot is never written, and the first only at the end: what was said before is
        // forgotten.
        let mut forgetful = [0xff; SLOTS * SLOT];
        let mut steps = 0;
        let end = {
            let mut power = || {
                steps += 1;
                (flash.power)()
            };
            let mut copy = Flash {
                bytes: &mut forgetful,
                grain: 1,
                power: &mut power,
            };
            agent(&mut copy, world)
        };
        flash.bytes.copy_from_slice(&forgetful);
        if end.is_err() {
            flash.bytes.fill(0xff);
        }
        end
    }
    let (_, steps, _) = whole(careless, true);
    let caught = (0..steps).step_by(7).filter(|cut| {
        let mut bench = Bench::new(true);
        assert_eq!(bench.boot(careless, *cut).0, Err(Stop::Cut));
        bench.boot(careless, u32::MAX).0
            == Err(Stop::Refused(
                "something else was said under the same number",
            ))
    });
    assert!(caught.count() > 5);
}

/// The table of docs/reset.md.
#[test]
fn snapshot_slots_are_what_the_page_says() {
    use sordino_core::federated::{self, Entry, prior};
    use sordino_core::local::ReporterState;
    use sordino_core::optimizer::LogEntry;
    use sordino_core::snapshot::{OVERHEAD, max_bytes};
    let page = include_str!("../../../docs/reset.md");
    let told = OVERHEAD + 2 + 4 * 3;
    for (name, slot) in [
        (
            "`federated::AgentState`",
            format!("{}", max_bytes::<federated::AgentState>()),
        ),
        (
            "`(AgentState, AgentExchange)`",
            format!(
                "{}",
                max_bytes::<(federated::AgentState, federated::exchange::AgentExchange)>()
            ),
        ),
        (
            "`federated::Entry<f32>`",
            format!("{}", max_bytes::<Entry<f32>>()),
        ),
        (
            "`federated::prior::agent::AgentState`",
            format!("{}", max_bytes::<prior::agent::AgentState>()),
        ),
        (
            "`federated::prior::MemberState<f32>`",
            format!("{}", max_bytes::<prior::MemberState<f32>>()),
        ),
        (
            "`federated::shares::Attempts`",
            format!("{}", max_bytes::<federated::shares::Attempts>()),
        ),
        (
            "`federated::prior::Released<f32, 16>`",
            format!("{}", max_bytes::<prior::Released<f32, 16>>()),
        ),
        (
            "`prior::LogEntry<f32>`",
            format!("{}", max_bytes::<sordino_core::prior::LogEntry<f32>>()),
        ),
        (
            "`local::ReporterState`",
            format!("{}", max_bytes::<ReporterState>()),
        ),
        (
            "`optimizer::LogEntry<f32>`",
            format!(
                "{} for 16 axes, {} used for 2",
                max_bytes::<LogEntry<f32>>(),
                told.next_multiple_of(4)
            ),
        ),
    ] {
        let row = page
            .lines()
            .find(|line| line.contains(name))
            .unwrap_or_else(|| panic!("no row of {name}"));
        assert!(
            row.contains(&format!("| {slot} |")),
            "{name}: {slot}\n{row}"
        );
    }
}

/// The largest state of every party fits the slot that is promised.
#[test]
fn the_largest_states_fit_their_slots() {
    use sordino_core::federated::{AgentState, Entry, prior};
    use sordino_core::local::ReporterState;
    use sordino_core::optimizer::{LogEntry, Parameters, Point};
    use sordino_core::privacy::Epsilon;
    use sordino_core::random::RunSeed;
    use sordino_core::snapshot::{Stored, write};
    fn fits<S: Stored>(item: &S) -> usize {
        write(item, u32::MAX, &Digest::default(), &mut [0; SLOT]).unwrap()
            - sordino_core::snapshot::OVERHEAD
    }
    // Zeros everywhere but the seed: what the constructors give is the least; the bound is the sum
    // of the most.
    let seed = (0..)
        .map(|i| RunSeed::new(i, 0))
        .find(|seed| seed.value() > 1 << 63)
        .unwrap();
    assert!(fits(&AgentState::new(u32::MAX, seed)) + 3 * 4 <= AgentState::BODY_MAX);
    assert!(
        fits(&prior::agent::AgentState::new(u32::MAX, seed)) + 3 * 4
            <= prior::agent::AgentState::BODY_MAX
    );
    let reporter = ReporterState::new(u32::MAX, Epsilon::new(256.0).unwrap());
    assert!(fits(&reporter) <= ReporterState::BODY_MAX);
    assert_eq!(
        fits(&Entry {
            candidate: u32::MAX,
            value: f64::MAX
        }),
        Entry::<f64>::BODY_MAX
    );
    assert_eq!(
        fits(&Entry {
            candidate: u32::MAX,
            value: f32::MAX
        }),
        Entry::<f32>::BODY_MAX
    );
    let told = LogEntry::told(&[f64::MAX; 16], f64::MAX).unwrap();
    assert!(fits(&told) <= LogEntry::<f64>::BODY_MAX);
    let lengthscales = Point::from_slice(&[f32::MAX; 16]).unwrap();
    let fitted = LogEntry::Fitted(Parameters {
        lengthscales,
        noise_fraction: f32::MAX,
        told: (1 << 28) - 1,
    });
    assert_eq!(fits(&fitted), LogEntry::<f32>::BODY_MAX);
}
