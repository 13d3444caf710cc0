//! What a server does for an upload must not tell the secret sample: instructions counted, selected
//! and not.

use core::fmt::Write;

use firmware_example::upload::{self, KINDS, Kind, REGIONS, Storage, Way};

use super::hardware;
use super::memory::{INTEGERS, Memory};

/// Coordinates of the sums: half of the integers, the other half is noise.
const SUMS: usize = INTEGERS / 2;
/// Features of an upload.
const M: usize = SUMS / REGIONS;
/// Uploads of either kind: coins, sums and noise differ between them.
const UPLOADS: u32 = 4;

/// Prints the counts and returns how many comparisons came out otherwise than they must: equal to
/// within a thousandth for the server, not so for the negative control.
pub fn print(out: &mut impl Write, memory: &mut Memory) -> u32 {
    let _ = writeln!(
        out,
        "--- uploads\n| server | vector | instructions, selected | not selected |"
    );
    let mut wrong = 0;
    let cases = KINDS
        .into_iter()
        .map(|kind| (Way::Server, kind))
        .chain([(Way::Leaky, Kind::Short)]);
    for (way, kind) in cases {
        let selected = count(way, kind, true, memory);
        let passed = count(way, kind, false, memory);
        let alike = matches!((selected, passed), (Some(a), Some(b)) if upload::alike(a, b));
        // A count of nothing is no success of the control.
        let counted = selected.is_some_and(|count| count as usize > UPLOADS as usize * SUMS)
            && passed.is_some();
        let expected = counted && alike == (way == Way::Server);
        let mark = if expected { "" } else { " WRONG" };
        let selected = selected.unwrap_or(0);
        let passed = passed.unwrap_or(0);
        let _ = writeln!(out, "| {way:?} | {kind:?} | {selected} | {passed} |{mark}");
        wrong += u32::from(!expected);
    }
    let _ = writeln!(out, "---");
    wrong
}

/// Instructions of all uploads together, or nothing if one was refused.
fn count(way: Way, kind: Kind, selected: bool, memory: &mut Memory) -> Option<u32> {
    let (sums, noise) = memory.integers.split_at_mut(SUMS);
    let (broadcast, rest) = memory.vectors.split_at_mut(SUMS);
    let mut storage = Storage {
        sums,
        noise,
        broadcast,
        vector: &mut rest[..M],
    };
    let mut seed = 0;
    let mut total = 0;
    for _ in 0..UPLOADS {
        upload::once(way, kind, selected, &mut seed, &mut storage, |work| {
            total += hardware::instructions(work)
        })
        .ok()?;
    }
    Some(total)
}
