//! As much of X.509 as a pinned key needs: where the key is in a certificate, and a certificate
//! around a key. Nothing else in a certificate is looked at, here as on the server.

use heapless::Vec;
use p256::ecdsa::{DerSignature, SigningKey};
use signature::Signer;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const BITS: u8 = 0x03;

/// In front of the point of a P-256 key: the whole of a SubjectPublicKeyInfo but its last 65 bytes.
const P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// A point that is not compressed: a tag and two coordinates.
const POINT: usize = 65;
/// ecdsa-with-SHA256.
const ALGORITHM: [u8; 12] = [
    0x30, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02,
];
/// In front of the key in a certificate of ours: version 3, number 1, algorithm, no name, from 2025
/// to the end of time, no name.
const FRONT: [u8; 58] =
    *b"\xa0\x03\x02\x01\x02\x02\x01\x01\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02\x30\x00\
    \x30\x20\x17\x0d250101000000Z\x18\x0f99991231235959Z\x30\x00";

/// The longest certificate of ours.
pub const CERTIFICATE_MAX: usize = 256;

/// The item in front of these bytes: its tag, its content, and what follows it.
fn item(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let ([tag, first], rest) = bytes.split_first_chunk::<2>()?;
    let (len, rest) = match first {
        ..=0x7f => (usize::from(*first), rest),
        0x81 => rest
            .split_first()
            .map(|(len, rest)| (usize::from(*len), rest))?,
        0x82 => rest
            .split_first_chunk()
            .map(|(len, rest)| (usize::from(u16::from_be_bytes(*len)), rest))?,
        _ => return None,
    };
    let (content, after) = rest.split_at_checked(len)?;
    Some((*tag, content, after))
}

/// The public key of a certificate with its envelope (SubjectPublicKeyInfo): what a fingerprint is
/// of. None if the bytes are no certificate.
pub fn key_info(certificate: &[u8]) -> Option<&[u8]> {
    let (SEQUENCE, certificate, _) = item(certificate)? else {
        return None;
    };
    let (SEQUENCE, mut rest, _) = item(certificate)? else {
        return None;
    };
    if let (VERSION, _, after) = item(rest)? {
        rest = after;
    }
    // Number, algorithm, issuer, validity, subject.
    for _ in 0..5 {
        (_, _, rest) = item(rest)?;
    }
    let (_, _, after) = item(rest)?;
    rest.get(..rest.len() - after.len())
}

/// The point of a P-256 key; none if it is another kind of key.
pub fn point(info: &[u8]) -> Option<&[u8; POINT]> {
    info.strip_prefix(&P256)?.try_into().ok()
}

/// A certificate around a key, signed with it; none if it were longer than [`CERTIFICATE_MAX`],
/// which it is not.
pub fn certificate(key: &SigningKey) -> Option<Vec<u8, CERTIFICATE_MAX>> {
    let point = key.verifying_key().to_encoded_point(false);
    let body = [&FRONT[..], &P256, point.as_bytes()];
    let mut signed: Vec<u8, CERTIFICATE_MAX> = Vec::new();
    wrap(&mut signed, SEQUENCE, &body)?;
    let signature: DerSignature = key.sign(&signed);
    let mut bits: Vec<u8, 80> = Vec::new();
    wrap(&mut bits, BITS, &[&[0], signature.as_bytes()])?;
    let mut whole = Vec::new();
    wrap(&mut whole, SEQUENCE, &[&signed, &ALGORITHM, &bits])?;
    Some(whole)
}

/// One item of these parts, which are shorter than 256 bytes together.
fn wrap<const N: usize>(out: &mut Vec<u8, N>, tag: u8, parts: &[&[u8]]) -> Option<()> {
    let len = u8::try_from(parts.iter().map(|part| part.len()).sum::<usize>()).ok()?;
    let head: &[u8] = if len < 0x80 {
        &[tag, len]
    } else {
        &[tag, 0x81, len]
    };
    core::iter::once(head)
        .chain(parts.iter().copied())
        .try_for_each(|part| out.extend_from_slice(part).ok())
}
