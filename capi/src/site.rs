//! A site of a campaign: what it contributes of its own points. It searches with the campaign's
//! file as every newcomer does.

use core::ffi::c_void;

use sordino_core::digest::Digest;
use sordino_core::federated::exchange::{Agreement, Protocol};
use sordino_core::federated::prior::{
    Opening, OwnPoints, POINTS_MIN, Site as CoreSite, opening_len, own_points_len,
    own_points_scratch_len,
};
use sordino_core::prior::{PriorNumbers as CoreNumbers, numbers_len};
use sordino_core::wire::{self, Kind, ScalarTag};

use crate::agreement::SORDINO_DIGEST_BYTES;
use crate::frame::{FrameHeader, SORDINO_FRAME_UPLOAD};
use crate::memory::{Arena, Handle, Object, Plain, Word, build, with};
use crate::prior::PriorNumbers;
use crate::settings::{SORDINO_DIM_MAX, bytes};
use crate::status::{Refusal, Refused, Status};

/// Bytes before the numbers of a site.
pub const SORDINO_SITE_HEAD: usize = 3072;
/// The most landmarks of a campaign, one for each feature, that a device takes part in.
pub const SORDINO_SITE_FEATURES_MAX: usize = 256;
/// The most points of a site on a device, of three at least.
pub const SORDINO_SITE_POINTS_MAX: usize = 256;

/// What a campaign agreed on. `sordino terms INVITATION --format c` writes it, as
/// SORDINO_SITE_SETTINGS.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SiteSettings {
    /// The agreement, `agreement_len` bytes.
    pub agreement: *const u8,
    /// Bytes of the agreement.
    pub agreement_len: usize,
    /// Digest that the agreement must have, SORDINO_DIGEST_BYTES bytes.
    pub digest: *const u8,
    /// The landmarks, point after point, coordinates from 0 to 1.
    pub landmarks: *const f64,
    /// Coordinates of all landmarks: the features of the campaign times its dimension.
    pub landmarks_len: usize,
}

// SAFETY: integers and pointers.
unsafe impl Plain for SiteSettings {}

/// A site with all that it keeps.
pub(crate) struct Body {
    own: OwnPoints<'static, f64>,
    /// Of the frames of this campaign.
    deployment: u64,
    config: u64,
    releases: u32,
    dim: usize,
    scratch: &'static mut [f64],
    /// κ, C and w as they were announced.
    opening: &'static mut [f64],
    upload: &'static mut [f64],
}

/// What a site of a campaign contributes.
pub struct Site {
    _handle: Handle<Body>,
}

impl Object for Site {
    type Body = Body;
    const TAG: u32 = 0x5eed_000a;
}

const _: () = assert!(size_of::<Site>() + size_of::<Agreement>() + 6 * 8 <= SORDINO_SITE_HEAD);

/// Bytes for so many points and features.
fn size(points: u32, features: u32) -> Result<usize, Refused> {
    let [n, m] = [points, features].map(|count| count as usize);
    if !(POINTS_MIN..=SORDINO_SITE_POINTS_MAX).contains(&n) {
        return Err(Refused::range("points", f64::from(points), "3..=256"));
    }
    if !(1..=SORDINO_SITE_FEATURES_MAX).contains(&m) {
        return Err(Refused::range("features", f64::from(features), "1..=256"));
    }
    // Of eight bytes each; those of a contribution come last.
    Ok(bytes(
        SORDINO_SITE_HEAD,
        2 * (own_points_len(n, m) + own_points_scratch_len(n, m) + opening_len(m) + m + 1),
    )?)
}

/// Bytes of memory a site takes, as SORDINO_SITE_SIZE; 0 if one of the numbers is out of range.
// SAFETY: the name begins with that of the library; it takes numbers and reads nothing else.
#[unsafe(no_mangle)]
pub extern "C" fn sordino_site_size(points: u32, features: u32) -> usize {
    size(points, features).unwrap_or(0)
}

/// The campaign of the settings.
fn campaign(
    settings: &SiteSettings,
    arena: &mut Arena,
    word: Word,
) -> Result<&'static Agreement, Refused> {
    let stored = word.list(settings.agreement, settings.agreement_len)?;
    let agreement = Agreement::from_bytes(stored).map_err(|_| Status::Agreement)?;
    let digest = word.list(settings.digest, SORDINO_DIGEST_BYTES)?;
    let is_digest = digest.first_chunk().copied().map(Digest) == Some(agreement.digest());
    let usable = agreement.scalar == ScalarTag::F64
        && (1..=SORDINO_DIM_MAX).contains(&(agreement.dim as usize));
    if !is_digest || !usable {
        return Err(Status::Agreement.into());
    }
    Ok(arena.place(agreement)?)
}

fn open(
    arena: &mut Arena,
    settings: &SiteSettings,
    (points, values): (&[f64], &[f64]),
    word: Word,
) -> Result<Body, Refused> {
    let agreement = campaign(settings, arena, word)?;
    let Protocol::Campaign(protocol) = &agreement.protocol else {
        return Err(Status::Agreement.into());
    };
    let n = values.len();
    let m = protocol.config.features();
    arena.require(size(
        u32::try_from(n).unwrap_or(u32::MAX),
        protocol.config.parameters().feature_count,
    )?)?;
    let landmarks = word.list(settings.landmarks, settings.landmarks_len)?;
    let scratch = arena.zeros(own_points_scratch_len(n, m))?;
    let opening = arena.zeros(opening_len(m))?;
    let upload = arena.zeros(protocol.config.contribution_len())?;
    let storage: &'static mut [f64] = arena.zeros(own_points_len(n, m))?;
    let site = CoreSite::new(protocol, landmarks, agreement.dim as usize)?;
    OwnPoints::compute(site, points, values, storage, scratch)?;
    let own = OwnPoints::stored(&protocol.config, n, storage)?;
    let config = wire::prefix(&agreement.digest());
    let deployment = agreement.deployment;
    let dim = agreement.dim as usize;
    Ok(Body {
        own,
        deployment,
        config,
        releases: protocol.releases(),
        dim,
        scratch,
        opening,
        upload,
    })
}

/// Builds a site in `memory` of `len` bytes of the points that it has measured, and writes its
/// address to `site`. `points` are `count` points of the campaign's dimension, coordinates from 0
/// to 1; `values` their `count` values, in the site's own unit, **larger is better**: where the
/// campaign minimises, give -value. At least three; `refusal` may be NULL.
///
/// All releases are of the same values: keep them in flash, so that a reset contributes the same
/// again. Settings, landmarks, points and values are read and not kept.
///
/// # Safety
///
/// `memory` is NULL or good for `len` bytes that nobody else uses while the object is used;
/// `settings`, `site` and `refusal` are NULL or good for one value; `points` is NULL or good for
/// `points_len` numbers, `values` NULL or good for `count` numbers; the pointers of the settings
/// are NULL or good for as many values as are named beside them.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_site_open(
    memory: *mut c_void,
    len: usize,
    settings: *const SiteSettings,
    points: *const f64,
    points_len: usize,
    values: *const f64,
    count: usize,
    site: *mut *mut Site,
    refusal: *mut Refusal,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        build(memory, len, site, refusal, |arena, word| {
            let settings = word.read(settings)?;
            open(
                arena,
                &settings,
                (word.list(points, points_len)?, word.list(values, count)?),
                word,
            )
        })
    }
}

impl Body {
    /// What it gives to the release of this opening, M + 1 numbers.
    fn contribution(&mut self, marks: &FrameHeader, bytes: &[u8]) -> Result<&[f64], Refused> {
        let Body {
            own,
            deployment,
            config,
            releases,
            scratch,
            opening,
            upload,
            ..
        } = self;
        let most = u32::try_from(opening.len()).unwrap_or(u32::MAX);
        let (header, payload) = wire::decode(bytes, most)?;
        let known = (*deployment, *config);
        let is_ours = header.kind == Kind::Opening && (header.deployment, header.config) == known;
        let is_asked = marks.kind == SORDINO_FRAME_UPLOAD
            && (marks.deployment, marks.config) == known
            && (marks.round, marks.chain) == (header.round, header.chain)
            && marks.round < *releases;
        if !is_ours || !is_asked {
            return Err(Status::Foreign.into());
        }
        payload.read(opening)?;
        own.contribution(&Opening::read(opening)?, scratch, upload)?;
        Ok(upload)
    }

    /// Reads the file after this history into `numbers`: how many of them are in use.
    fn file(&self, history: &Digest, bytes: &[u8], numbers: &mut [f32]) -> Result<usize, Refused> {
        let len = numbers_len(self.opening.len() - opening_len(0), self.dim);
        let (header, payload) = wire::decode(bytes, u32::try_from(len).unwrap_or(u32::MAX))?;
        let known = (
            Kind::Prior,
            self.deployment,
            self.config,
            wire::prefix(history),
        );
        if (header.kind, header.deployment, header.config, header.chain) != known {
            return Err(Status::Foreign.into());
        }
        if header.len as usize != len {
            return Err(Status::Length.into());
        }
        payload.read(numbers.get_mut(..len).ok_or(Status::TooShort)?)?;
        Ok(len)
    }
}

/// Writes what the site contributes to a release as the frame that it sends, into the `room` bytes
/// at `frame`, and how many it took to `written`: SORDINO_SITE_FRAME_SIZE or fewer. `opening` are
/// the `opening_len` bytes that the server answers to `GET /v1/RUN/rounds/ROUND/opening` while that
/// round is open.
///
/// `header` is that of the upload: its round and attempt are those of the server's last frame, its
/// chain the prefix of the history with that frame (sordino_frame_chain). SORDINO_STATUS_FOREIGN:
/// the opening is of another campaign, round or history than the header, or the round has no
/// release. SORDINO_STATUS_SINGULAR: to this release the site sends no numbers, a frame of none.
///
/// Keep the frame in flash before it leaves, and send that after a reset: asked again, a server may
/// say something else of how the release is made, and what was sent is never to be contradicted.
///
/// The server learns what is sent, and adds its noise; ε is that of the campaign whatever stands in
/// the opening: a contribution is clipped as a whole before it is added.
///
/// # Safety
///
/// `site` is NULL or what sordino_site_open wrote; `header` and `written` are NULL or good for one
/// value, `opening` NULL or good for `opening_len` bytes, `frame` NULL or good for `room` bytes.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_site_contribution(
    site: *mut Site,
    header: *const FrameHeader,
    opening: *const u8,
    opening_len: usize,
    frame: *mut u8,
    room: usize,
    written: *mut usize,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(site, |body, word| {
            let header = word.read(header)?;
            word.admit(written, 1)?;
            let (opening, out) = word.apart(opening, opening_len, frame, room)?;
            let numbers = body.contribution(&header, opening)?;
            let used = wire::encode(header.to_core()?, numbers, out)?;
            word.write(written, used)?;
            Ok(Status::Ok)
        })
    }
}

/// Reads the file of the campaign from the `frame_len` bytes at `frame` that the server answers to
/// `GET /v1/RUN/prior.frame`: its numbers into the `room` numbers at `numbers`,
/// SORDINO_SITE_FILE_NUMBERS of them, and where they are to `file`, without a factor.
/// sordino_prior_attach checks them then; they stay where they are.
///
/// `history` are the SORDINO_DIGEST_BYTES bytes of the history with the server's last frame. Ask
/// before the last frame is answered: the server may end when everybody has.
/// SORDINO_STATUS_FOREIGN: the frame is of another campaign, another kind, or an older history, as
/// a cache may have it.
///
/// # Safety
///
/// `site` is NULL or what sordino_site_open wrote; `history` is NULL or good for
/// SORDINO_DIGEST_BYTES bytes, `frame` NULL or good for `frame_len` bytes, `numbers` NULL or good
/// for `room` numbers, `file` NULL or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_site_file(
    site: *mut Site,
    history: *const u8,
    frame: *const u8,
    frame_len: usize,
    numbers: *mut f32,
    room: usize,
    file: *mut PriorNumbers,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(site, |body, word| {
            let history = word.list(history, SORDINO_DIGEST_BYTES)?;
            let history = Digest(*history.first_chunk().ok_or(Status::TooShort)?);
            word.admit(file, 1)?;
            let (bytes, out) = word.apart(frame, frame_len, numbers, room)?;
            let used = body.file(&history, bytes, out)?;
            let read = CoreNumbers::read(body.dim, out.get(..used).ok_or(Status::TooShort)?)?;
            word.write(file, PriorNumbers::of_core(&read))?;
            Ok(Status::Ok)
        })
    }
}
