//! What a member agreed to, as C gives it: the bytes of an agreement, and keys where there are two
//! servers.

use sordino_core::digest::Digest;
use sordino_core::domain::Candidates;
use sordino_core::federated::exchange::Agreement;
use sordino_core::federated::prior::{ContextError, MemberSizes, PriorProtocol};
use sordino_core::federated::shares::{AgentKey, PublicKey, SecretKey, Trust};
use sordino_core::wire::ScalarTag;

use crate::agreement::{SORDINO_DIGEST_BYTES, SORDINO_OBSERVATIONS_MAX};
use crate::memory::{Plain, Word};
use crate::settings::{SORDINO_DIM_MAX, bytes};
use crate::status::{Refused, Status};

/// Bytes before the numbers of a member.
pub const SORDINO_MEMBER_HEAD: usize = 4096;
/// The most landmarks of a member on a device, one for each feature.
pub const SORDINO_MEMBER_FEATURES_MAX: usize = 256;
/// The most initial points, rounds and virtual designs of a member on a device, each.
pub const SORDINO_MEMBER_COUNT_MAX: usize = 4096;
/// Bytes of a secret and of a public key.
pub const SORDINO_KEY_BYTES: usize = 32;

/// What a member agreed to, and who it is. `sordino export` writes all of it but the secrets, as
/// SORDINO_MEMBER_SETTINGS.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemberSettings {
    /// Seed of the member's own draws: secret, and never the same on two devices.
    pub seed: u64,
    /// The agreement, `agreement_len` bytes that `sordino export` wrote.
    pub agreement: *const u8,
    /// Bytes of the agreement.
    pub agreement_len: usize,
    /// Digest that the agreement must have, SORDINO_DIGEST_BYTES bytes: that of the invitation.
    pub digest: *const u8,
    /// Two servers: the device's own secret, SORDINO_KEY_BYTES bytes of its entropy; another one
    /// whenever its flash is erased, because a mask would serve twice. 32 times the same byte is
    /// refused: no generator drew it. NULL with one server.
    pub own_secret: *const u8,
    /// Two servers: the helper's public key, SORDINO_KEY_BYTES bytes. NULL with one server.
    pub helper_key: *const u8,
    /// Index of this agent among the enrolled.
    pub agent: u32,
    /// Points of the grid of candidates along each axis.
    pub per_axis: u32,
    /// Points of the grid of landmarks along each axis.
    pub landmarks_per_axis: u32,
}

// SAFETY: integers and pointers.
unsafe impl Plain for MemberSettings {}

/// A member of these sizes can be addressed on every target.
pub(super) fn sizes(
    [candidates, features, initial_points, rounds, designs]: [u32; 5],
) -> Result<(MemberSizes, usize), Refused> {
    let within =
        |field, value: u32, most: usize, admissible| match (1..=most).contains(&(value as usize)) {
            true => Ok(value as usize),
            false => Err(Refused::range(field, f64::from(value), admissible)),
        };
    let sizes = MemberSizes::new(
        within(
            "candidates",
            candidates,
            SORDINO_OBSERVATIONS_MAX,
            "1..=65536",
        )?,
        within("features", features, SORDINO_MEMBER_FEATURES_MAX, "1..=256")?,
        within(
            "initial_points",
            initial_points,
            SORDINO_MEMBER_COUNT_MAX,
            "1..=4096",
        )?,
        within("rounds", rounds, SORDINO_MEMBER_COUNT_MAX, "1..=4096")?,
        within("designs", designs, SORDINO_MEMBER_COUNT_MAX, "1..=4096")?,
    );
    // The contribution, its integers, and what hides them with the attempt: 4, 8 and 8 bytes a
    // number.
    let given = 5 * (sizes.features + 1) + 1;
    Ok((
        sizes,
        bytes(
            SORDINO_MEMBER_HEAD,
            sizes.context() + sizes.designs_len() + sizes.storage() + given,
        )?,
    ))
}

/// The agreement, if it is the one of the digest and a member in single precision can be made of
/// it.
pub(super) fn agreement(settings: &MemberSettings, word: Word) -> Result<Agreement, Refused> {
    let stored = word.list(settings.agreement, settings.agreement_len)?;
    let agreement = Agreement::from_bytes(stored).map_err(|_| Status::Agreement)?;
    let digest = Digest(key(settings.digest, word)?.ok_or(Status::Null)?);
    let dim = agreement.dim as usize;
    let usable = agreement.scalar == ScalarTag::F32 && (1..=SORDINO_DIM_MAX).contains(&dim);
    if !usable || agreement.digest() != digest || agreement.protocol.prior().is_none() {
        return Err(Status::Agreement.into());
    }
    Ok(agreement)
}

/// How much memory a member of this protocol takes over so many candidates: numbers, and bytes in
/// all.
pub(super) fn of_protocol(
    protocol: &PriorProtocol,
    candidates: u32,
) -> Result<(MemberSizes, usize), Refused> {
    let p = protocol.config.parameters();
    sizes([
        candidates,
        p.feature_count,
        p.initial_points,
        protocol.rounds,
        p.designs,
    ])
}

/// Candidates and landmarks, in the precision in which they were agreed.
pub(super) fn grids(
    settings: &MemberSettings,
    dim: usize,
) -> Result<[Candidates<'static, f64>; 2], Refused> {
    Ok([
        grid("per_axis", settings.per_axis, dim)?,
        grid("landmarks_per_axis", settings.landmarks_per_axis, dim)?,
    ])
}

fn grid(field: &'static str, points: u32, dim: usize) -> Result<Candidates<'static, f64>, Refused> {
    match Candidates::grid(points, dim) {
        Ok(grid) if grid.count() as usize <= SORDINO_OBSERVATIONS_MAX => Ok(grid),
        _ => Err(Refused::range(
            field,
            f64::from(points),
            "2.., to dim 65536 at most",
        )),
    }
}

/// Names the setting that is not what was agreed.
pub(super) fn unlike(settings: &MemberSettings, error: ContextError) -> Refused {
    let (field, points) = match error {
        ContextError::Candidates => ("per_axis", settings.per_axis),
        ContextError::Landmarks => ("landmarks_per_axis", settings.landmarks_per_axis),
        other => return other.into(),
    };
    Refused::range(field, f64::from(points), "that of the agreement")
}

/// The key that is shared with the helper; nothing where one server is trusted.
pub(super) fn shared_key(
    settings: &MemberSettings,
    trust: Trust,
    word: Word,
) -> Result<Option<AgentKey>, Refused> {
    match (
        trust,
        key(settings.own_secret, word)?,
        key(settings.helper_key, word)?,
    ) {
        (Trust::OneServer, None, None) => Ok(None),
        (Trust::TwoServers, Some(own), Some(helper)) => {
            let key = drawn(own)?.with_helper(&PublicKey(helper));
            // A key of low order agrees on a secret that everybody knows.
            key.map(Some).map_err(|_| Status::Trust.into())
        }
        _ => Err(Status::Trust.into()),
    }
}

/// A secret that somebody drew: a generator that failed gives the same byte 32 times.
fn drawn(secret: [u8; SORDINO_KEY_BYTES]) -> Result<SecretKey, Refused> {
    match secret {
        [first, rest @ ..] if rest.iter().all(|byte| *byte == first) => Err(Refused::range(
            "own_secret",
            f64::from(first),
            "32 bytes from a random number generator",
        )),
        secret => Ok(SecretKey::new(secret)),
    }
}

const _: () = assert!(SORDINO_KEY_BYTES == SORDINO_DIGEST_BYTES);

/// 32 bytes of C's, which may be NULL.
fn key(at: *const u8, word: Word) -> Result<Option<[u8; SORDINO_KEY_BYTES]>, Status> {
    if at.is_null() {
        return Ok(None);
    }
    let bytes = word.list(at, SORDINO_KEY_BYTES)?;
    bytes
        .first_chunk()
        .copied()
        .map(Some)
        .ok_or(Status::TooShort)
}

/// The public half of a secret of SORDINO_KEY_BYTES bytes, for the enrolment of a device under two
/// servers.
///
/// # Safety
///
/// Both pointers are NULL or good for SORDINO_KEY_BYTES bytes.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_member_public_key(
    secret: *const u8,
    public_key: *mut u8,
) -> Status {
    // SAFETY: our caller gives its word.
    let word = unsafe { Word::alone() };
    let written = || -> Result<(), Refused> {
        let PublicKey(bytes) = drawn(key(secret, word)?.ok_or(Status::Null)?)?.public_key();
        Ok(word.copy(&bytes, public_key, SORDINO_KEY_BYTES)?)
    };
    written().map_or_else(|refused| refused.status, |()| Status::Ok)
}
