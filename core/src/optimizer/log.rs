//! What an optimiser is resumed from.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{OptimizerError, Point};
use crate::domain::DIM_MAX;
use crate::math::Scalar;
use crate::snapshot::Stored;
use crate::surrogate::SurrogateError;

/// What [`Optimizer::fit`](super::Optimizer::fit) fits.
///
/// **Example**: that of [`LogEntry`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters<T> {
    /// Lengthscale as a fraction of each side of the box, positive.
    pub lengthscale: T,
    /// Noise variance as a fraction of the function's variance, positive.
    pub noise_fraction: T,
}

/// One line of the log that [`Optimizer::resume`](super::Optimizer::resume) reads; with postcard at most
/// 2 + 4(D + 1) bytes in `f32`, 2 + 8(D + 1) in `f64`.
///
/// ```
/// use sordino_core::domain::BoxDomain;
/// use sordino_core::optimizer::{self, LogEntry, Optimizer, Parameters, Settings};
///
/// let fitted = LogEntry::Fitted(Parameters { lengthscale: 0.1, noise_fraction: 0.01 });
/// let log = [LogEntry::told(&[0.2], 1.0)?, LogEntry::told(&[0.8], 2.0)?, fitted];
/// let (domain, storage) = (BoxDomain::new(&[(0.0, 1.0)])?, vec![0.0; optimizer::storage_len(1, 10)]);
/// let mut resumed = Optimizer::resume(domain, Settings::default(), 10, storage, log)?;
/// assert_eq!((resumed.len(), resumed.lengthscale()), (2, 0.1));
/// assert_eq!(resumed.best().map(|(point, _)| point[0]), Some(0.8));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LogEntry<T> {
    /// What [`Optimizer::observe`](super::Optimizer::observe) was told.
    Told {
        /// In the user's units, one number an axis.
        point: Point<T>,
        /// The value observed there.
        value: T,
    },
    /// [`Optimizer::parameters`](super::Optimizer::parameters) after a fit.
    Fitted(Parameters<T>),
    /// In place of older entries: how many observations were accepted in them. Only their number is known: it ends the
    /// initial points, and numbers those that a Halton sequence goes on with.
    Forgotten {
        /// Accepted observations whose entries are gone.
        observations: u32,
    },
}

impl<T: Scalar + Serialize + DeserializeOwned> Stored for LogEntry<T> {
    const KIND: u8 = if T::BYTES == 4 { 0xf4 } else { 0xf8 };
    // Which entry, number of axes, one number an axis, the value.
    const BODY_MAX: usize = 2 + T::BYTES * (DIM_MAX + 1);
}

impl<T: Scalar> LogEntry<T> {
    /// The entry of a point, one number an axis, and its value.
    ///
    /// **Errors**: [`SurrogateError::Dimension`] for more than [`DIM_MAX`] numbers.
    pub fn told(point: &[T], value: T) -> Result<Self, OptimizerError> {
        match Point::from_slice(point) {
            Ok(point) => Ok(LogEntry::Told { point, value }),
            Err(_) => Err(SurrogateError::Dimension { expected: DIM_MAX, given: point.len() }.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::domain::BoxDomain;
    use crate::optimizer::{Optimizer, Settings, fit_scratch_len, storage_len};
    use crate::surrogate::exact::WhenFull;
    use std::vec;
    use std::vec::Vec;

    const ROUNDS: u32 = 11;
    const EVERY: u32 = 4;

    fn resumed(log: &[LogEntry<f32>]) -> Optimizer<f32, Vec<f32>> {
        let domain = BoxDomain::new(&[(-1.0, 3.0), (0.0, 1.0)]).unwrap();
        let storage = vec![0.0; storage_len(2, ROUNDS as usize)];
        Optimizer::resume(domain, Settings::default(), ROUNDS as usize, storage, log.iter().cloned()).unwrap()
    }

    /// What a device asks for from its boot on, until the power fails at act number `cut`: every entry that is written and
    /// every call that changes the optimiser is an act. `flagged`: it asks `just_fitted`; else it fits after the telling.
    fn boot(log: &mut Vec<LogEntry<f32>>, acts: &mut u32, cut: u32, flagged: bool, asked: &mut Vec<[u32; 3]>) -> bool {
        let mut optimizer = resumed(log);
        let mut act = || {
            *acts += 1;
            *acts != cut
        };
        let fit =
            |optimizer: &mut Optimizer<f32, Vec<f32>>, log: &mut Vec<LogEntry<f32>>, act: &mut dyn FnMut() -> bool| {
                optimizer.fit(&mut vec![0.0; fit_scratch_len(ROUNDS as usize)]).unwrap();
                let on = act();
                if on {
                    log.push(LogEntry::Fitted(optimizer.parameters()));
                }
                on && act()
            };
        while optimizer.told() < ROUNDS {
            let told = optimizer.told();
            let due = told > 0 && told.is_multiple_of(EVERY) && !optimizer.just_fitted();
            if flagged && due && !fit(&mut optimizer, log, &mut act) {
                return false;
            }
            let x = optimizer.suggest().unwrap();
            asked.retain(|seen| seen[0] != told);
            asked.push([told, x[0].to_bits(), x[1].to_bits()]);
            let y = -(x[0] - 2.0) * (x[0] - 2.0) - x[1];
            if !act() {
                return false;
            }
            log.push(LogEntry::told(&x, y).unwrap());
            if !act() {
                return false;
            }
            optimizer.observe(&x, y).unwrap();
            let due = optimizer.told().is_multiple_of(EVERY);
            if !flagged && due && !fit(&mut optimizer, log, &mut act) {
                return false;
            }
        }
        true
    }

    /// The questions of a run whose power is cut once, at act number `cut`.
    fn run(cut: u32, flagged: bool) -> (Vec<[u32; 3]>, u32) {
        let (mut log, mut acts, mut asked) = (Vec::new(), 0, Vec::new());
        while !boot(&mut log, &mut acts, cut, flagged, &mut asked) {}
        (asked, acts)
    }

    #[test]
    fn mended3_a_reset_neither_loses_a_due_fit_nor_makes_it_twice() {
        let (uncut, acts) = run(0, true);
        assert_eq!((uncut.len(), acts), (ROUNDS as usize, 2 * ROUNDS + 2 * (ROUNDS / EVERY)));
        for cut in 1..=acts {
            assert_eq!(run(cut, true).0, uncut, "cut at act {cut}");
        }
        // Negative control: the loop that fits right after the telling, as the book had it, loses a fit in some cut.
        let (uncut, acts) = run(0, false);
        assert!((1..=acts).any(|cut| run(cut, false).0 != uncut));
    }

    #[test]
    fn just_fitted_is_of_the_log_and_refusals_do_not_end_it() {
        let told = |i: u32| LogEntry::told(&[i as f32 * 0.25, 0.5], i as f32).unwrap();
        let mut log: Vec<_> = (0..5).map(told).collect();
        assert!(!resumed(&log).just_fitted() && resumed(&log).told() == 5);
        let mut optimizer = resumed(&log);
        optimizer.fit(&mut vec![0.0; fit_scratch_len(5)]).unwrap();
        log.push(LogEntry::Fitted(optimizer.parameters()));
        assert!(optimizer.just_fitted() && resumed(&log).just_fitted());
        assert!(optimizer.observe(&[0.1, 0.1], f32::NAN).is_err() && optimizer.just_fitted());
        log.push(told(6));
        assert!(!resumed(&log).just_fitted());
        // A fit that has nothing to fit was made all the same.
        let mut empty = resumed(&[]);
        assert!(!empty.just_fitted() && empty.fit(&mut []).unwrap().is_none() && empty.just_fitted());
    }

    /// A window that is smaller than the initial points, and a log of which only the window is left.
    #[test]
    fn mended3_a_log_that_was_shortened_still_knows_how_much_was_told() {
        let settings = Settings { when_full: WhenFull::DropOldest, ..Settings::default() };
        let domain = BoxDomain::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
        let mut optimizer = Optimizer::new(domain, settings, 4, vec![0.0f64; storage_len(2, 4)]).unwrap();
        let mut log = Vec::new();
        for round in 0..12_u32 {
            let x = optimizer.suggest().unwrap();
            let element = |axis| crate::surrogate::fit::halton::<f64>(round + 1, axis);
            // Six initial points, then the model is asked, although the window holds four.
            assert_eq!(x[..] == [element(0), element(1)], round < 6, "round {round}");
            log.push(LogEntry::told(&x, x[0] - x[1] * x[1]).unwrap());
            let observations = log.len().saturating_sub(4) as u32;
            let window = log.iter().skip(observations as usize).cloned();
            optimizer.replay([LogEntry::Forgotten { observations }].into_iter().chain(window)).unwrap();
            assert_eq!((optimizer.told(), optimizer.len()), (round + 1, log.len().min(4)));
        }
        let before = (optimizer.suggest().unwrap(), optimizer.best().unwrap());
        // What is replayed is the whole state: once more, with a fit in between that is forgotten, it is the same.
        optimizer.fit(&mut vec![0.0; fit_scratch_len(4)]).unwrap();
        let end = log[8..].iter().cloned();
        optimizer.replay([LogEntry::Forgotten { observations: 8 }].into_iter().chain(end)).unwrap();
        assert_eq!((optimizer.suggest().unwrap(), optimizer.best().unwrap()), before);
        assert!(!optimizer.just_fitted());
    }
}
