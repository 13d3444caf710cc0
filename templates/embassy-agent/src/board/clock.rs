//! The time, for an agent whose server says when to come back. Here nothing takes any, and sleep is
//! the only thing that moves the clock; on a board it is embassy-time's.

use core::sync::atomic::{AtomicU32, Ordering};

use sordino_core::federated::exchange::Millis;

static CLOCK: AtomicU32 = AtomicU32::new(0);

/// Milliseconds since the boot.
pub fn now() -> Millis {
    Millis(CLOCK.load(Ordering::Relaxed).into())
}

/// Sleeps until this moment.
pub async fn sleep_until(moment: Millis) {
    CLOCK.store(
        moment.0.try_into().expect("a run of less than 49 days"),
        Ordering::Relaxed,
    );
}
