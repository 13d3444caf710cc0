//! A campaign, beside real sites or in a rehearsal: what each of both gives its site.

use sordino_core::federated::exchange::Agreement;
use sordino_core::federated::prior::CampaignProtocol;

use crate::fatal::Fatal;
use crate::party::Lent;
use crate::points::{First, Sensor};
use crate::provision::{Given, Provision};
use crate::site::Own;
use crate::takes::Taking;
use crate::{search, site};

const NO_NUMBERS: Fatal = Fatal::Given("a campaign, and neither its landmarks nor points");

/// A site of real values, which goes on with the file when it is done with its server: how many
/// points were measured.
///
/// **Errors**: [`Fatal`].
pub fn served(
    (agreement, campaign, slot): (&Agreement, &CampaignProtocol, u32),
    provision: &Provision<'_>,
    (region, used): (&[u8], usize),
    (lent, file): (Lent<'_, '_>, &mut [u8]),
    taking: &mut Taking<'_>,
) -> Result<u32, Fatal> {
    let Lent {
        flash,
        numbers,
        sensor,
        rehearses,
    } = lent;
    let follows = provision.site.as_ref().ok_or(NO_NUMBERS)?;
    let given =
        Given::<f32>::read(follows, agreement.dim as usize, region, used).ok_or(NO_NUMBERS)?;
    let first = First::Listed(slot, agreement.protocol.initial_points());
    let own = Own {
        given: &given,
        first,
        sensor: Sensor::Plant(slot),
        file: &mut *file,
    };
    let lent = Lent {
        flash: &mut *flash,
        numbers: &mut *numbers,
        sensor,
        rehearses,
    };
    site::with((agreement, campaign), slot, own, lent, taking)?;
    search::go_on((agreement, slot), &given, file, flash, numbers)
}

/// A site of a rehearsal, which does what a simulated one does, in its numbers.
///
/// **Errors**: [`Fatal`].
#[cfg(feature = "rehearsal")]
pub fn rehearsed(
    (agreement, campaign, slot): (&Agreement, &CampaignProtocol, u32),
    provision: &Provision<'_>,
    (region, used): (&[u8], usize),
    (lent, file): (Lent<'_, '_>, &mut [u8]),
    taking: &mut Taking<'_>,
) -> Result<(), Fatal> {
    let follows = provision.site.as_ref().ok_or(NO_NUMBERS)?;
    let given =
        Given::<f64>::read(follows, agreement.dim as usize, region, used).ok_or(NO_NUMBERS)?;
    let first = First::Drawn(provision.seed, slot);
    let sensor = Sensor::Table(provision.sensor);
    site::with(
        (agreement, campaign),
        slot,
        Own {
            given: &given,
            first,
            sensor,
            file,
        },
        lent,
        taking,
    )
}
