//! An optimizer: nothing but its log is stored, told points and fits, from slot 0 on.

use sordino_core::digest::{Digest, Frame};
use sordino_core::domain::BoxDomain;
use sordino_core::optimizer::{self, LogEntry, Optimizer, Settings};

use super::{Flash, Stop, World};

const OBSERVATIONS: usize = 10;

/// Numbers of memory it takes.
pub const STORAGE: usize = optimizer::storage_len(2, OBSERVATIONS);

/// From the boot to the end of the run.
///
/// **Errors**: [`Stop`].
pub fn boot(
    flash: &mut Flash<'_>,
    world: &mut World,
    memory: &mut [f32; STORAGE],
) -> Result<(), Stop> {
    let domain = BoxDomain::new(&[(0.0, 1.0), (0.0, 1.0)]).map_err(|_| Stop::Refused("domain"))?;
    let settings = Settings::default();
    let agreement = Digest::of(&("optimizer of two axes", OBSERVATIONS));
    let storage = &mut memory[..];
    let stored = |number: u32| flash.entry::<LogEntry<f32>>(number as usize, number, &agreement);
    let mut entries = 0;
    while stored(entries).is_some() {
        entries += 1;
    }
    let log = (0..entries).map_while(stored);
    let mut optimizer = Optimizer::resume(domain, settings, OBSERVATIONS, storage, log)
        .map_err(|_| Stop::Refused("resume"))?;
    while (optimizer.told() as usize) < OBSERVATIONS {
        let told = optimizer.told() as usize;
        let point = optimizer.suggest().map_err(|_| Stop::Refused("suggest"))?;
        // It may be left out: a fit that is not in the log is made again after a reset.
        if let Some(fitted) = optimizer.take_fit() {
            flash.write(entries as usize, &fitted, entries, &agreement)?;
            entries += 1;
        }
        flash.step()?;
        let mut frame = Frame::leaf();
        frame.scalars(&point);
        if !world.noisy {
            // The same question under the same number, however often it is asked.
            world.hear(told, frame)?;
        }
        let value = world.measure(told as u32, &point);
        let entry = LogEntry::told(&point, value).map_err(|_| Stop::Refused("point"))?;
        flash.write(entries as usize, &entry, entries, &agreement)?;
        optimizer
            .observe(&point, value)
            .map_err(|_| Stop::Refused("observe"))?;
        entries += 1;
    }
    let mut frame = Frame::leaf();
    let (point, value) = optimizer.best().ok_or(Stop::Refused("no best"))?;
    frame.scalars(&point);
    frame.scalars(&[value]);
    world.hear(OBSERVATIONS, frame)
}
