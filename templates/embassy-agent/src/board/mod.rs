//! The board: what you replace. Here: a flash in memory, a sensor that is a function, a server that
//! is a task.
//!
//! | here | on your board |
//! |---|---|
//! | [`Nor`] | the HAL's flash, which implements the same traits; with it the device goes on after a reset |
//! | [`measure`] | what the device is there for |
//! | `noise` | `Secret::new(RandCore09(rng))` with the chip's generator: docs/entropy.md |
//! | [`seed`] | eight bytes of the same generator, once in the life of the device |
//! | `secret` | where there are two servers: 32 bytes of it, kept in the pages of the flash, so that they are erased together |
//! | `helper` | there as well: the helper's key, of your invitation |
//! | `ask`, `server`, `Link` | radio, UART, HTTPS: a request out, an answer in; firmware-networked speaks to a real server |
//! | `now`, `sleep_until` | embassy-time |
//! | [`done`] | sleep |

#[cfg(all(feature = "agent", site))]
mod campaign;
#[cfg(feature = "agent")]
mod clock;
mod end;
#[cfg(feature = "agent")]
mod link;
#[cfg(all(feature = "agent", site))]
mod made_up;
#[cfg(feature = "reporter")]
mod noise;
mod nor;
#[cfg(all(feature = "agent", member))]
mod releases;
#[cfg(all(feature = "agent", not(any(member, site))))]
mod vectors;

use sequential_storage::cache::{Cache, CacheImpl};
use sequential_storage::map::{MapConfig, MapStorage};
use sordino_core::digest::Digest;

#[cfg(feature = "agent")]
pub use clock::{now, sleep_until};
pub use end::done;
#[cfg(all(feature = "agent", any(member, site)))]
pub use end::learned;
#[cfg(feature = "agent")]
pub use link::{Answer, Link, Request, ask, link, server};
#[cfg(feature = "reporter")]
pub use noise::{noise, report};
use nor::Nor;

use crate::federation::DIM;
use crate::store::{PAGES, Store};

#[cfg(all(feature = "agent", site))]
use campaign as served;
#[cfg(all(feature = "agent", member))]
use releases as served;
#[cfg(all(feature = "agent", not(any(member, site))))]
use vectors as served;

/// A party's part of the flash. Each has a flash of its own here; on one chip, give each **another
/// range**.
pub fn store(agreement: Digest) -> Store<Nor<PAGES>, impl CacheImpl<u16>> {
    const RANGE: MapConfig<Nor<PAGES>> = MapConfig::new(0..Nor::<PAGES>::LEN);
    Store::new(
        MapStorage::new(Nor::new(), RANGE, Cache::new_uncached()),
        agreement,
    )
}

/// One measurement at a point of the unit box.
pub async fn measure(point: [f32; DIM]) -> f32 {
    1.0 - point.iter().product::<f32>()
}

/// The seed of the agent's own draws: on a device from its entropy, never a constant.
#[cfg_attr(site, allow(dead_code, reason = "a site of a campaign draws nothing"))]
pub fn seed() -> u64 {
    1
}

/// The secret half of the key of this device's masks. With the same secret and without its attempts
/// a mask would serve twice, so a new one is drawn whenever the flash is erased. Its public half is
/// told to the leader as the device enrols.
#[cfg(all(feature = "agent", two_servers))]
pub fn secret() -> [u8; 32] {
    [1; 32]
}

/// The helper's key, as the invitation names it. Here the emulator's own helper.
#[cfg(all(feature = "agent", two_servers))]
pub fn helper() -> sordino_core::federated::shares::PublicKey {
    releases::helper_secret().public_key()
}
