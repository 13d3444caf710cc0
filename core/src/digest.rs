//! The chain of hashes by which two executions prove that they computed the same bits.
//!
//! **Equation**: d₀ = 0, d_t = SHA-256(d_{t−1} ‖ frame_t), frame_t a canonical little-endian
//! record. A frame of many parties holds SHA-256 *leaves* in index order (of parties, or of blocks
//! of their leaves), so that leaves may be computed on any thread and machine. Only what an
//! execution decided goes in: never a clock, a thread count or a privacy loss. The state is 32
//! bytes, so a checkpoint carries it.
//!
//! ```
//! use sordino_core::digest::{Digest, link};
//!
//! let start = Digest::of(&(1u32, "a configuration"));
//! assert_eq!(start, Digest::of(&(1u32, "a configuration")));
//! // One bit of one value, and the chain is another.
//! assert_ne!(link(&start, 1, 17, 0.5f32), link(&start, 1, 17, 0.5f32.next_up()));
//! ```

use core::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::math::{Scalar, write_all_le};

/// A 256-bit digest; prints as 64 hexadecimal digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Digest {
    /// SHA-256 of a value's postcard form, without a buffer.
    pub fn of<V: Serialize>(value: &V) -> Self {
        struct Hashing(Frame);
        impl postcard::ser_flavors::Flavor for Hashing {
            type Output = Frame;
            fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
                self.0.bytes(&[byte]);
                Ok(())
            }
            fn finalize(self) -> postcard::Result<Frame> {
                Ok(self.0)
            }
        }
        match postcard::serialize_with_flavor(value, Hashing(Frame::leaf())) {
            Ok(frame) => frame.end(),
            // Only a type that refuses to serialise gets here; it has the digest of nothing.
            Err(_) => Frame::leaf().end(),
        }
    }

    /// Starts a frame that continues this digest: its end is the next element of the chain.
    pub fn frame(&self) -> Frame {
        let mut frame = Frame::leaf();
        frame.bytes(&self.0);
        frame
    }
}

/// Bytes on their way into a [`Digest`].
#[derive(Clone)]
pub struct Frame(Sha256);

impl Frame {
    /// Starts a record that continues nothing: one party's leaf.
    pub fn leaf() -> Self {
        Frame(Sha256::new())
    }

    /// Appends raw bytes. Lengths are not added: a record's layout must be fixed by what precedes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Appends a 32-bit integer.
    pub fn u32(&mut self, x: u32) {
        self.bytes(&x.to_le_bytes());
    }

    /// Appends a 64-bit integer.
    pub fn u64(&mut self, x: u64) {
        self.bytes(&x.to_le_bytes());
    }

    /// Appends the little-endian bits of numbers, without their count. NaN never gets here: it is
    /// refused at every door, because its bits differ between targets.
    pub fn scalars<T: Scalar>(&mut self, values: &[T]) {
        let mut buffer = [0u8; 256];
        for chunk in values.chunks(buffer.len() / T::BYTES) {
            let used = &mut buffer[..chunk.len() * T::BYTES];
            write_all_le(chunk, used);
            self.bytes(used);
        }
    }

    /// Appends another digest.
    pub fn digest(&mut self, digest: &Digest) {
        self.bytes(&digest.0);
    }

    /// The digest of all that was appended.
    pub fn end(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// Combines digests in index order: methods into a run, runs into an execution.
pub fn combine<'d>(digests: impl Iterator<Item = &'d Digest>) -> Digest {
    let mut frame = Frame::leaf();
    digests.for_each(|digest| frame.digest(digest));
    frame.end()
}

/// The next element of the chain of a run that plays one candidate a round: round, candidate,
/// value. Values are finite: every party refuses others.
pub fn link<T: Scalar>(chain: &Digest, round: u32, candidate: u32, value: T) -> Digest {
    let mut frame = chain.frame();
    frame.u32(round);
    frame.u32(candidate);
    frame.scalars(&[value]);
    frame.end()
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn is_sha_256_of_the_little_endian_bytes() {
        // SHA-256 of the empty string and of "abc" (FIPS 180-4 examples).
        assert_eq!(
            Frame::leaf().end().to_string(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        let mut frame = Frame::leaf();
        frame.bytes(b"abc");
        assert_eq!(
            frame.end().to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn chunks_do_not_show() {
        let values: [f32; 200] = core::array::from_fn(|i| i as f32 * 0.25 - 3.0);
        let mut whole = Digest::default().frame();
        let mut parts = Digest::default().frame();
        whole.scalars(&values);
        values.iter().for_each(|x| parts.bytes(&x.to_le_bytes()));
        assert_eq!(whole.end(), parts.end());
    }
}
