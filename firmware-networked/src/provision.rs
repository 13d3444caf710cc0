//! What a device was given before its first boot: an invitation, a secret of its own, and in a
//! rehearsal the values that its sensor will show.

use bytemuck::Pod;
use heapless::Vec;
use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::federated::shares::PublicKey;
use sordino_core::math::Scalar;
use sordino_core::random::RunSeed;

use crate::fatal::Fatal;

/// As `sordino-net rehearse --device` writes it, in postcard form.
#[derive(Serialize, Deserialize)]
pub struct Provision<'p> {
    /// One line: where the server is, who it is, and the token that binds the device's key to its
    /// slot.
    pub invitation: &'p str,
    /// 256 random bits; a board draws them itself and keeps them.
    pub secret: [u8; 32],
    /// The seed of the agent's own draws: in a rehearsal the simulation's.
    pub seed: RunSeed,
    /// Whether this is a rehearsal, whose server compares digests with the simulator: then every
    /// answer is followed by digests of what was observed, of which a server that guesses finds the
    /// observations. Never in a federation of real data.
    pub rehearses: bool,
    /// The value of observation `number` at each candidate, `f32`, of a site `f64`, little-endian,
    /// number after number.
    pub sensor: &'p [u8],
    /// Of a campaign: what follows in the same file, at the next multiple of eight bytes.
    pub site: Option<Follows>,
}

/// Numbers that follow: landmarks, `f64`, then points, `f32`, in a rehearsal `f64`, all
/// little-endian and in coordinates of the unit box.
#[derive(Serialize, Deserialize)]
pub struct Follows {
    /// Whether smaller values are better.
    pub minimises: bool,
    /// Parameters of the space that are searched.
    pub parameters: u32,
    /// The seed of its search.
    pub seed: u32,
    /// Numbers of the landmarks.
    pub landmarks: u32,
    /// Numbers of the points that the device may measure.
    pub points: u32,
}

/// What a site of a campaign was given; its points in single precision, or as hosts have them.
pub struct Given<'p, T> {
    /// Whether smaller values are better.
    pub minimises: bool,
    /// Parameters of the space that are searched.
    pub parameters: usize,
    /// The seed of its search.
    pub seed: u32,
    /// Coordinates of a point.
    pub dim: usize,
    /// Landmarks, row by row.
    pub landmarks: &'p [f64],
    /// Points that it may measure, row by row.
    pub points: &'p [T],
}

impl<'p, T: Scalar + Pod> Given<'p, T> {
    /// Reads the numbers where they lie: behind `used` bytes of a region that begins at a multiple
    /// of eight.
    ///
    /// **Errors**: none if there are fewer, or they lie elsewhere.
    pub fn read(follows: &Follows, dim: usize, region: &'p [u8], used: usize) -> Option<Self> {
        let rest = region.get(used.next_multiple_of(8)..)?;
        let (landmarks, rest) =
            rest.split_at_checked(8usize.checked_mul(follows.landmarks as usize)?)?;
        let points = rest.get(..T::BYTES.checked_mul(follows.points as usize)?)?;
        let landmarks = bytemuck::try_cast_slice(landmarks).ok()?;
        let points = bytemuck::try_cast_slice(points).ok()?;
        let Follows {
            minimises,
            parameters,
            seed,
            ..
        } = *follows;
        Some(Given {
            minimises,
            parameters: parameters as usize,
            seed,
            dim,
            landmarks,
            points,
        })
    }

    /// How many points there are.
    pub fn count(&self) -> u32 {
        (self.points.len() / self.dim.max(1)) as u32
    }

    /// A point of the list.
    ///
    /// **Errors**: [`Fatal::Given`].
    pub fn point(&self, place: u32) -> Result<&'p [T], Fatal> {
        let from = place as usize * self.dim;
        self.points
            .get(from..from + self.dim)
            .ok_or(Fatal::Given("a point that is not in its list"))
    }

    /// What a value counts as: larger is better.
    pub fn worth(&self, value: f64) -> f64 {
        if self.minimises { -value } else { value }
    }
}

/// What an invitation says.
pub struct Invitation {
    /// IPv4 address and port of the server.
    pub server: ([u8; 4], u16),
    /// The public number of the run.
    pub deployment: u64,
    /// Which agent this is.
    pub slot: u32,
    /// The digest of the agreement.
    pub terms: Digest,
    /// Fingerprints of the keys that the server may have, one or two.
    pub pins: Vec<Digest, 2>,
    /// What to show once.
    pub token: [u8; 16],
    /// The key of the helper's masks, where there are two servers.
    pub helper: Option<PublicKey>,
}

impl Invitation {
    /// Reads the line that `sordino-net invite` prints, whose host must be an IPv4 address; none if
    /// it is another line.
    pub fn parse(line: &str) -> Option<Self> {
        let (path, query) = line.trim().strip_prefix("sordino://")?.split_once('?')?;
        let mut parts = path.split('/');
        let (host, port) = parts.next()?.rsplit_once(':')?;
        let mut address = [0; 4];
        let mut numbers = host.split('.');
        for byte in &mut address {
            *byte = numbers.next()?.parse().ok()?;
        }
        let server = (address, port.parse().ok()?);
        let deployment = u64::from_be_bytes(from_hex(parts.next()?)?);
        let slot = parts.next()?.parse().ok()?;
        let mut terms = None;
        let mut pins = Vec::new();
        let mut token = None;
        let mut helper = None;
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=')?;
            match name {
                "terms" if terms.is_none() => terms = Some(Digest(from_hex(value)?)),
                "pin" => pins.push(Digest(from_hex(value)?)).ok()?,
                "token" if token.is_none() => token = Some(from_hex(value)?),
                "helper" if helper.is_none() => helper = Some(PublicKey(from_hex(value)?)),
                _ => return None,
            }
        }
        let whole = parts.next().is_none() && numbers.next().is_none() && !pins.is_empty();
        whole.then_some(Invitation {
            server,
            deployment,
            slot,
            terms: terms?,
            pins,
            token: token?,
            helper,
        })
    }
}

/// Bytes from twice as many hexadecimal digits; none if there is anything else.
pub fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let (digits, rest) = text.as_bytes().as_chunks::<2>();
    if digits.len() != N || !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(digits) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}
