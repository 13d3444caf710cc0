//! An optimizer beside its flash: what is told or fitted is stored before the call returns, and a
//! write that fails undoes it.

use core::task::Poll;

use sordino_core::optimizer::{LogEntry, Optimizer as CoreOptimizer};

use crate::journal::Journal;
use crate::status::{Refused, Status};

/// An optimizer, and the log that it is.
pub(crate) struct Body {
    pub(super) optimizer: CoreOptimizer<f32, &'static mut [f32]>,
    pub(super) journal: Option<Journal>,
    pub(super) dim: usize,
    pub(super) capacity: u32,
    /// What is in memory is not what the flash says: it is made again before anything else.
    pub(super) stale: bool,
}

impl Body {
    /// Makes the optimizer in memory what the flash says, if it is not.
    pub(super) fn refresh(&mut self) -> Result<(), Refused> {
        if let (true, Some(journal)) = (self.stale, &self.journal) {
            journal.replay(&mut self.optimizer)?;
        }
        self.stale = false;
        Ok(())
    }

    /// Makes the optimizer what the flash says once an entry is stored. What was told stands, so a
    /// flash that cannot be read now is the next call's matter.
    fn settle(&mut self) {
        let _ = self.refresh();
    }

    /// Refuses an entry for which the flash has no slot.
    fn require_slot(&self) -> Result<(), Refused> {
        let full = self
            .journal
            .as_ref()
            .is_some_and(|journal| !journal.has_room());
        if full {
            Err(Status::Full.into())
        } else {
            Ok(())
        }
    }

    /// Tells a point, and its value if it has one, and writes it down once it is taken.
    pub(super) fn tell(&mut self, point: &[f32], y: Option<f32>) -> Result<(), Refused> {
        self.refresh()?;
        self.require_slot()?;
        let entry = match y {
            Some(y) => LogEntry::told(point, y)?,
            None => LogEntry::failed(point)?,
        };
        if self.optimizer.check(point, y.unwrap_or(0.0)).is_ok() {
            while self.due_fit(u32::MAX)?.is_pending() {}
        }
        match y {
            Some(y) => self.optimizer.observe(point, y)?,
            None => self.optimizer.fail(point)?,
        };
        if let Some(journal) = &mut self.journal {
            // If the write fails, the flash holds what it held, and so does the optimizer from the
            // next call on.
            self.stale = true;
            let stored = journal.tell(&entry);
            let other = stored.inspect_err(|_| self.settle())?;
            // Refusals are not stored: what they did to the optimizer ends here, as it would in a
            // reset.
            self.stale = other || self.optimizer.refused() > 0;
            self.settle();
        }
        Ok(())
    }

    /// A slice of the fit that is due, if one is; it is written down where there is room.
    fn due_fit(&mut self, evaluations: u32) -> Result<Poll<()>, Refused> {
        if !self.optimizer.fit_is_due() {
            return Ok(Poll::Ready(()));
        }
        let rows = (self.optimizer.len() as u32).max(1);
        // One that fails leaves the parameters, and is not tried again.
        if let Ok(Poll::Pending) = self.optimizer.fit_step(evaluations / rows) {
            return Ok(Poll::Pending);
        }
        if self.has_slot_for_fit().unwrap_or(false) {
            self.store_fit()?
        } else {
            drop(self.optimizer.take_fit())
        }
        Ok(Poll::Ready(()))
    }

    /// Whether the flash has a slot for a fit; none if there is no flash.
    fn has_slot_for_fit(&self) -> Option<bool> {
        self.journal
            .as_ref()
            .map(|journal| journal.has_room_for_fit(self.capacity))
    }

    /// Writes down a fit that was made.
    fn store_fit(&mut self) -> Result<(), Refused> {
        if let (Some(LogEntry::Fitted(parameters)), Some(journal)) =
            (self.optimizer.take_fit(), &mut self.journal)
        {
            self.stale = true;
            let stored = journal.fit(parameters);
            self.stale = stored.inspect_err(|_| self.settle())?;
            self.settle();
        }
        Ok(())
    }

    /// A slice of a fit that is asked for, which is written down when it is done: refused where it
    /// could not be, so that whoever asks until one is stored comes to an end.
    pub(super) fn fit(&mut self, evaluations: u32) -> Result<Poll<bool>, Refused> {
        self.refresh()?;
        if !self.has_slot_for_fit().unwrap_or(true) {
            return Err(Status::Full.into());
        }
        let Poll::Ready(found) = self.optimizer.fit_step(evaluations)? else {
            return Ok(Poll::Pending);
        };
        self.store_fit()?;
        Ok(Poll::Ready(found.is_some()))
    }

    /// What comes before a suggestion; false while it goes on.
    pub(super) fn prepare(&mut self, evaluations: u32) -> Result<bool, Refused> {
        self.refresh()?;
        Ok(self.due_fit(evaluations)?.is_ready())
    }
}
