//! An oven begins with what other ovens learned. Every try is in flash before the search knows of
//! it, some fail, the power is cut, an update brings another file.
#![cfg_attr(target_os = "none", no_std, no_main)]

// sordino prior export ovens.safetensors --lang rust --candidates 48 > ovens.rs
#[rustfmt::skip]
#[path = "../ovens.rs"]
mod ovens;

use firmware_example::program::Say;
use ovens::{CANDIDATES, DIGEST, DIM, FACTOR, LANDMARK_COUNT, NUMBERS, POINTS, SIGN, at};
use sordino_core::digest::Digest;
use sordino_core::math::Scalar;
use sordino_core::prior::{LogEntry, Newcomer, NewcomerError, NewcomerSettings};
use sordino_core::prior::{PublicPrior, PublicPriorError, attach_len, storage_len};
use sordino_core::snapshot::{SnapshotError, max_bytes, read, write};

const TRIES: usize = 12;
const SLOT: usize = max_bytes::<LogEntry<f32>>();
const ERASED: Flash = [[0xff; SLOT]; TRIES];
type Flash = [[u8; SLOT]; TRIES];

#[derive(Debug)]
#[allow(dead_code)] // they are printed
enum Stop {
    File(PublicPriorError),
    Search(NewcomerError),
    Flash(SnapshotError),
}

/// Overshoot of this oven in kelvin. Its fuse opens where gain and dead time are large.
fn measure(kp: f32, ms: f32) -> Option<f32> {
    let gain = Scalar::ln(kp) - 1.4;
    let delay = (ms - 190.0) / 110.0;
    (kp * ms < 1500.0).then_some(4.0 + gain * gain + delay * delay)
}

/// Reads the log and returns its length. A write that was cut off ends it; the log of another file
/// or list is erased, because its indices are other settings now.
fn told(
    flash: &mut Flash,
    agreement: &Digest,
    log: &mut [LogEntry<f32>; TRIES],
) -> Result<usize, SnapshotError> {
    for number in 0..TRIES {
        match read(&flash[number], agreement) {
            Ok(Some((_, entry))) => log[number] = entry,
            Ok(None) | Err(SnapshotError::Checksum) => return Ok(number),
            Err(SnapshotError::Agreement { .. }) => {
                *flash = ERASED;
                return Ok(0);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(TRIES)
}

/// From the boot on, to the end or until the power is cut before a try.
fn boot(flash: &mut Flash, digest: [u8; 32], cut: usize, say: Say<'_>) -> Result<(), Stop> {
    let agreement = Digest(digest);
    let mut log = [LogEntry::Failed { candidate: 0 }; TRIES];
    let known = told(flash, &agreement, &mut log).map_err(Stop::Flash)?;
    say(format_args!("boot with {known} tries in flash"));
    let mut scratch = [0.0; attach_len(LANDMARK_COUNT)];
    let prior =
        PublicPrior::attach_with_factor(NUMBERS, &FACTOR, &mut scratch).map_err(Stop::File)?;
    let mut storage = [0.0; storage_len(LANDMARK_COUNT, TRIES, 1)];
    let settings = NewcomerSettings::default(); // `noisy()` where a repetition gives another value
    let told = log[..known].iter().copied();
    let file = Some(&prior);
    let mut search = Newcomer::resume(
        &CANDIDATES,
        DIM,
        file,
        settings,
        TRIES,
        &mut storage[..],
        told,
    )
    .map_err(Stop::Search)?;
    for number in known..cut {
        let candidate = search.suggest();
        let kp = POINTS[candidate][at::KP_WATT_PER_KELVIN];
        let ms = POINTS[candidate][at::DEAD_TIME_MS];
        let entry = match measure(kp, ms) {
            Some(kelvin) => {
                say(format_args!("{kp:.2} W/K, {ms:.0} ms: {kelvin:.2} K"));
                let value = SIGN * kelvin;
                search.check(candidate, value).map_err(Stop::Search)?; // before it takes a slot
                LogEntry::Told { candidate, value }
            }
            None => {
                say(format_args!("{kp:.2} W/K, {ms:.0} ms: the fuse opened"));
                LogEntry::Failed { candidate }
            }
        };
        // In flash first: after a cut nothing is measured twice.
        write(&entry, number as u32, &agreement, &mut flash[number]).map_err(Stop::Flash)?;
        match entry {
            LogEntry::Told { candidate, value } => search.observe(candidate, value),
            LogEntry::Failed { candidate } => search.fail(candidate),
        }
        .map_err(Stop::Search)?;
    }
    // What to use is the best, never the last question.
    if let Some((best, mean)) = search.best() {
        let [ms, kp] = [at::DEAD_TIME_MS, at::KP_WATT_PER_KELVIN].map(|place| POINTS[best][place]);
        let kelvin = SIGN * mean;
        say(format_args!(
            "best: {kp:.2} W/K, {ms:.0} ms, {kelvin:.2} K expected"
        ));
    }
    Ok(())
}

fn run(say: Say<'_>) -> Result<(), Stop> {
    let mut flash = ERASED;
    boot(&mut flash, DIGEST, 5, say)?; // the power is cut before the sixth
    flash[5][..9].fill(1); // while it was written
    boot(&mut flash, DIGEST, TRIES, say)?;
    boot(&mut flash, [1; 32], 1, say) // another file: none of it counts
}

firmware_example::program!(run);
