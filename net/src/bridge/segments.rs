//! A stream of bytes over messages that may be lost, doubled or overtaken: numbered segments,
//! acknowledged and sent again. A pure state machine; time is an input.
//!
//! **Layout** of a segment: kind (1 byte), number (u32, little-endian), acknowledged (u32: all
//! numbers below), data.
//!
//! The stream is as trustworthy as the messages: a broker that changes them changes the stream. So
//! TLS is sent through it, which notices.

use std::collections::VecDeque;

use bytes::Bytes;
use sordino_core::federated::exchange::Millis;

/// Segments on their way at one time: of ten messages that a broker keeps, most have a place.
const WINDOW: usize = 8;
/// Data of a segment at most, in bytes.
pub const DATA_MAX: usize = 4096;
/// After this long without an acknowledgement segments are sent again, the next time after twice as
/// long.
const RESEND_MS: u64 = 200;
/// And after this long at most.
const RESEND_MAX_MS: u64 = 3000;
/// A peer that acknowledges nothing for this long is gone.
const GONE_MS: u64 = 90_000;
const HEAD: usize = 9;

const DATA: u8 = 0;
const ACK: u8 = 1;
const END: u8 = 2;
const RESET: u8 = 3;

/// What a segment brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// The next bytes of the stream.
    pub data: Option<Bytes>,
    /// Nothing follows.
    pub end: bool,
    /// What to send back.
    pub reply: Option<Bytes>,
}

/// The stream is over: the peer is gone, forgot it, or speaks another protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// One end of a stream.
#[derive(Debug)]
pub struct Segments {
    /// Not acknowledged yet, from `next - waiting.len()` on: kind and data.
    waiting: VecDeque<(u8, Bytes)>,
    next: u32,
    expected: u32,
    pause: u64,
    resend: Option<Millis>,
    progress: Millis,
}

impl Segments {
    /// A stream that begins.
    pub fn new(now: Millis) -> Self {
        Segments {
            waiting: VecDeque::new(),
            next: 0,
            expected: 0,
            pause: RESEND_MS,
            resend: None,
            progress: now,
        }
    }

    /// Whether this may be the first segment of a stream.
    pub fn is_first(segment: &[u8]) -> bool {
        matches!(segment, [DATA, 0, 0, 0, 0, ..])
    }

    /// What tells a peer that its stream is unknown here.
    pub fn reset() -> Bytes {
        segment(RESET, 0, 0, &[])
    }

    /// Whether there is room for a further segment.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < WINDOW
    }

    /// Whether all was acknowledged.
    pub fn is_settled(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes the next bytes, at most [`DATA_MAX`]; none at the end of the stream. What to send.
    pub fn push(&mut self, data: Option<Bytes>, now: Millis) -> Bytes {
        let (kind, data) = data.map_or((END, Bytes::new()), |data| (DATA, data));
        let sent = segment(kind, self.next, self.expected, &data);
        if self.waiting.is_empty() {
            (self.pause, self.progress) = (RESEND_MS, now);
            self.resend = Some(now.after(self.pause));
        }
        self.waiting.push_back((kind, data));
        self.next = self.next.wrapping_add(1);
        sent
    }

    /// A segment came.
    ///
    /// **Errors**: [`Gone`].
    pub fn heard(&mut self, bytes: &Bytes, now: Millis) -> Result<Heard, Gone> {
        let (kind, number, acknowledged) = head(bytes).ok_or(Gone)?;
        if kind == RESET {
            return Err(Gone);
        }
        self.acknowledge(acknowledged, now)?;
        if kind == ACK {
            return Ok(Heard::default());
        }
        let mut heard = Heard::default();
        if number == self.expected {
            self.expected = self.expected.wrapping_add(1);
            heard.end = kind == END;
            heard.data = (kind == DATA).then(|| bytes.slice(HEAD..));
        }
        // Also of what came before, whose acknowledgement was lost, and of what came too early.
        heard.reply = Some(segment(ACK, 0, self.expected, &[]));
        Ok(heard)
    }

    /// All below `number` have arrived.
    fn acknowledge(&mut self, number: u32, now: Millis) -> Result<(), Gone> {
        let oldest = self.next.wrapping_sub(self.waiting.len() as u32);
        let arrived = number.wrapping_sub(oldest);
        if arrived as usize > self.waiting.len() {
            // Older than what is known already, or of what was never sent.
            return if oldest.wrapping_sub(number) < u32::MAX / 2 {
                Ok(())
            } else {
                Err(Gone)
            };
        }
        if arrived > 0 {
            self.waiting.drain(..arrived as usize);
            (self.pause, self.progress) = (RESEND_MS, now);
            self.resend = (!self.waiting.is_empty()).then(|| now.after(self.pause));
        }
        Ok(())
    }

    /// When [`Segments::due`] wants to be asked.
    pub fn wake(&self) -> Option<Millis> {
        self.resend
    }

    /// What to send again at this moment.
    ///
    /// **Errors**: [`Gone`] if nothing was acknowledged for a minute and a half.
    pub fn due(&mut self, now: Millis) -> Result<Vec<Bytes>, Gone> {
        if self.resend.is_none_or(|at| now < at) {
            return Ok(Vec::new());
        }
        if now.since(self.progress) > GONE_MS {
            return Err(Gone);
        }
        self.pause = (2 * self.pause).min(RESEND_MAX_MS);
        self.resend = Some(now.after(self.pause));
        let oldest = self.next.wrapping_sub(self.waiting.len() as u32);
        let again = self.waiting.iter().enumerate();
        Ok(again
            .map(|(i, (kind, data))| {
                segment(*kind, oldest.wrapping_add(i as u32), self.expected, data)
            })
            .collect())
    }
}

fn segment(kind: u8, number: u32, acknowledged: u32, data: &[u8]) -> Bytes {
    [
        &[kind][..],
        &number.to_le_bytes(),
        &acknowledged.to_le_bytes(),
        data,
    ]
    .concat()
    .into()
}

/// Kind, number and acknowledgement of a segment; none if it is none.
fn head(bytes: &[u8]) -> Option<(u8, u32, u32)> {
    let (kind, rest) = bytes.split_first()?;
    let (number, rest) = rest.split_first_chunk()?;
    let (acknowledged, data) = rest.split_first_chunk()?;
    let known = *kind <= RESET && data.len() <= DATA_MAX;
    known.then(|| {
        (
            *kind,
            u32::from_le_bytes(*number),
            u32::from_le_bytes(*acknowledged),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_core::random::Stream;

    /// Two ends and messages of which a third is lost, a third doubled, and any two may change
    /// places.
    #[test]
    fn a_stream_survives_whatever_happens_to_its_messages() {
        for seed in 0..40 {
            let mut chance = Stream::from_seed(seed);
            let mut now = Millis(0);
            let mut near = Segments::new(now);
            let mut far = Segments::new(now);
            let data: Vec<u8> = (0..20_000u32).map(|i| ((i * i) >> 5) as u8).collect();
            let mut rest = &data[..];
            let mut ended = false;
            let mut came = Vec::<u8>::new();
            let mut over = false;
            let mut up: Vec<Bytes> = Vec::new();
            let mut down: Vec<Bytes> = Vec::new();
            while !(over && near.is_settled()) {
                now = now.after(20);
                assert!(now.0 < 3_600_000, "seed {seed}: {} bytes came", came.len());
                while near.has_room() && !ended {
                    let (piece, after) = rest.split_at(rest.len().min(700));
                    ended = piece.is_empty();
                    up.push(near.push((!ended).then(|| Bytes::copy_from_slice(piece)), now));
                    rest = after;
                }
                up.extend(near.due(now).unwrap());
                for messages in [&mut up, &mut down] {
                    if messages.len() > 1 && chance.below(2) == 0 {
                        let len = messages.len();
                        messages.swap(chance.below(len as u32) as usize, len - 1);
                    }
                }
                for message in up.drain(..) {
                    for _ in 0..chance.below(3) {
                        let heard = far.heard(&message, now).unwrap();
                        came.extend(heard.data.iter().flatten());
                        over |= heard.end;
                        down.extend(heard.reply);
                    }
                }
                for message in down.drain(..) {
                    for _ in 0..chance.below(3) {
                        assert_eq!(near.heard(&message, now).unwrap(), Heard::default());
                    }
                }
            }
            assert!(came == data, "seed {seed}");
        }
    }

    #[test]
    fn what_is_no_segment_ends_the_stream_and_nothing_else() {
        let now = Millis(0);
        let mut end = Segments::new(now);
        for bytes in [&b""[..], &[0; 8], &[4; 9], &[RESET; 9]] {
            assert_eq!(
                end.heard(&Bytes::copy_from_slice(bytes), now),
                Err(Gone),
                "{bytes:?}"
            );
        }
        // An acknowledgement of what was never sent.
        assert_eq!(end.heard(&segment(ACK, 0, 1, &[]), now), Err(Gone));
        let first = end.push(Some(Bytes::from_static(b"x")), now);
        assert!(Segments::is_first(&first) && !Segments::is_first(&Segments::reset()));
        assert!(end.due(Millis(RESEND_MS - 1)).unwrap().is_empty());
        assert_eq!(end.due(Millis(RESEND_MS)).unwrap(), [first]);
        assert_eq!(end.due(Millis(GONE_MS + RESEND_MS)), Err(Gone));
    }
}
