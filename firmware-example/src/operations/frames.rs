//! Rows of frames: what goes over a link.

use sordino_core::wire::{self, Header, Kind, ScalarTag, VERSION};

use super::{Emit, Fold};

pub(super) fn rows(emit: Emit<'_>) {
    emit("wire::decode", &decode);
}

fn header(len: u32) -> Header {
    Header {
        version: VERSION,
        kind: Kind::Upload,
        scalar: ScalarTag::F64,
        deployment: 1,
        config: 7,
        chain: 0,
        agent: 3,
        round: 0,
        attempt: 0,
        len,
    }
}

/// A frame of numbers; then frames of no numbers whose headers promise as many as a 32-bit length
/// wraps at, to a reader who admits any number: 0 for each that is refused.
fn decode(fold: &mut Fold) {
    let mut out = [0; 128];
    let mut numbers = [0.0f64; 3];
    let Ok(len) = wire::encode(header(0), &[1.5, -2.0, 0.25], &mut out) else {
        return;
    };
    let Ok((_, payload)) = wire::decode(&out[..len], 3) else {
        return;
    };
    fold.word(u64::from(payload.read(&mut numbers).is_err()));
    fold.all(&numbers);
    for promised in [1 << 29, 1 << 30, 3 << 29, 0xe000_0000] {
        let Ok(used) = postcard::to_slice(&header(promised), &mut out).map(|used| used.len())
        else {
            return;
        };
        let checksum = crc32c(&out[..used]).to_le_bytes();
        out[used..used + 4].copy_from_slice(&checksum);
        fold.word(u64::from(wire::decode(&out[..used + 4], u32::MAX).is_ok()));
    }
}

/// CRC-32C computed bit by bit, independent of the library's table.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |c: u32| {
        if c & 1 == 1 {
            c >> 1 ^ 0x82f6_3b78
        } else {
            c >> 1
        }
    };
    !bytes.iter().fold(!0, |c, byte| {
        (0..8).fold(c ^ u32::from(*byte), |c, _| step(c))
    })
}
