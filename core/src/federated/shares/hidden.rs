//! What an agent of two servers sends: its contribution behind a mask, with the number of that
//! mask.
//!
//! **Format**: attempt (4 bytes, little-endian) ‖ share ([`Modulus::share_len`] bytes). On a link
//! it follows a frame without numbers.

use core::fmt;

use zeroize::Zeroize;

use super::super::encoding::Encoding;
use super::attempts::{Attempts, ReserveError, Store};
use super::error::ShareError;
use super::key::AgentKey;
use super::sum::Modulus;
use crate::math::Scalar;
use crate::privacy::encode::EncodeError;

/// Bytes of an attempt in front of a share.
pub const ATTEMPT_LEN: usize = 4;

/// A contribution to one release, before it is hidden ([`AgentKey::hide`]).
///
/// ```
/// use sordino_core::digest::Digest;
/// use sordino_core::federated::prior::{Config, JointVectors, Parameters, Terms};
/// use sordino_core::federated::shares::{AgentKey, Attempts, Contribution, HideError, Modulus, SecretKey, ShareError, Store};
///
/// struct Flash(Option<Attempts>);
/// impl Store for Flash {
///     type Error = core::convert::Infallible;
///     fn store(&mut self, attempts: &Attempts) -> Result<(), Self::Error> {
///         self.0 = Some(attempts.again());
///         Ok(())
///     }
/// }
///
/// let config = Config::new(Parameters::usual(50, 2, 3, 0.1))?;
/// let encoding = JointVectors::new(&config, &Terms { ridge: 0.1, clip_radius: 1.0, response: 1.0 }, 3.0)?;
/// let key: AgentKey = SecretKey::new([1; 32]).with_helper(&SecretKey::new([2; 32]).public_key())?;
/// let (mut attempts, mut flash) = (Attempts::new(Digest::of(&"a campaign")), Flash(None));
/// let contribution = || Contribution { epoch: 0, encoding: &encoding, numbers: &[0.3, -0.1, 0.2] };
/// let (mut integers, mut first, mut second) = ([0; 3], [0; 16], [0; 16]); // an attempt and three numbers of four bytes
/// assert_eq!(Modulus::of(&encoding).map(|modulus| modulus.hidden_len(3)), Some(16));
/// key.hide(contribution(), &mut attempts, &mut flash, &mut integers, &mut first)?;
/// key.hide(contribution(), &mut attempts, &mut flash, &mut integers, &mut second)?;
/// assert_eq!((first[..4] == [0; 4], second[..4] == [1, 0, 0, 0]), (true, true)); // another mask
/// assert!(first[4..] != second[4..] && integers == [0; 3]);
/// let short = key.hide(contribution(), &mut attempts, &mut flash, &mut integers, &mut first[..15]);
/// assert_eq!(short, Err(HideError::Share(ShareError::Length { what: "hidden contribution", len: 15, expected: 16 })));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Contribution<'c, T, E> {
    /// The epoch of the release.
    pub epoch: u32,
    /// How the numbers become integers, for this release alone.
    pub encoding: &'c E,
    /// What the agent would give to a server that it trusts, [`Encoding::upload_len`] numbers.
    pub numbers: &'c [T],
}

/// Why a contribution is not hidden. Nothing of it may be sent then.
///
/// **Example**: that of [`Contribution`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HideError<E> {
    /// A slice of the wrong length, or integers that the modulus cannot hold.
    Share(ShareError),
    /// The numbers do not become integers.
    Encode(EncodeError),
    /// No attempt is left, its epoch is over, or it cannot be stored.
    Reserve(ReserveError<E>),
    /// A mean that protects nobody has no mechanism, and no modulus.
    NoMechanism,
}

impl<E> From<ShareError> for HideError<E> {
    fn from(error: ShareError) -> Self {
        HideError::Share(error)
    }
}

impl<E: fmt::Display> fmt::Display for HideError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HideError::Share(error) => error.fmt(f),
            HideError::Encode(error) => error.fmt(f),
            HideError::Reserve(error) => write!(f, "no mask: {error}"),
            HideError::NoMechanism => {
                f.write_str("a release without noise: there is no sum that it could be hidden in")
            }
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for HideError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            HideError::Share(error) => error.source(),
            HideError::Encode(error) => error.source(),
            HideError::Reserve(error) => error.source(),
            HideError::NoMechanism => None,
        }
    }
}

impl Modulus {
    /// The modulus of a release with this encoding, the same for agents and both servers; nothing
    /// for a mean without noise.
    pub fn of<E: Encoding>(encoding: &E) -> Option<Modulus> {
        encoding
            .mechanism()
            .map(|mechanism| Modulus::fitting(mechanism, encoding.agents()))
    }

    /// Bytes of a hidden contribution of so many numbers: an attempt and a share.
    pub const fn hidden_len(self, numbers: usize) -> usize {
        ATTEMPT_LEN + self.share_len(numbers)
    }
}

impl AgentKey {
    /// Hides a contribution behind a mask that was never used, and stores first that it is.
    ///
    /// **Parameters**: `attempts` those of this key, as they were last stored; `integers` of
    /// [`Encoding::sums_len`] numbers, whatever they hold; `out` of [`Modulus::hidden_len`] bytes
    /// or more, at [`Modulus::of`] the encoding.
    ///
    /// **Errors**: [`HideError`]. `out` is as it was, and only after [`HideError::Reserve`] with a
    /// store's error and [`ShareError::TooLarge`] is an attempt spent. Numbers that are too long
    /// are clipped, numbers that are none count as zero: that is no error.
    ///
    /// **Privacy**: the integers are wiped in any case. Asked again for the same epoch it takes
    /// another mask.
    ///
    /// **Example**: that of [`Contribution`].
    pub fn hide<T: Scalar, E: Encoding, S: Store>(
        &self,
        contribution: Contribution<'_, T, E>,
        attempts: &mut Attempts,
        store: &mut S,
        integers: &mut [i64],
        out: &mut [u8],
    ) -> Result<usize, HideError<S::Error>> {
        let Contribution {
            epoch,
            encoding,
            numbers,
        } = contribution;
        let modulus = Modulus::of(encoding).ok_or(HideError::NoMechanism)?;
        let len = integers.len();
        let needed = encoding.sums_len();
        if len != needed {
            return Err(ShareError::Length {
                what: "integers",
                len,
                expected: needed,
            }
            .into());
        }
        let len = out.len();
        let expected = modulus.hidden_len(needed);
        let short = ShareError::Length {
            what: "hidden contribution",
            len,
            expected,
        };
        let (front, share) = out
            .get_mut(..expected)
            .and_then(|out| out.split_first_chunk_mut())
            .ok_or(short)?;
        integers.fill(0);
        // Clipped if too long, zero if no number: the norm is checked in integers, by the agent
        // itself.
        if let Err(error) = encoding.add_if(true, 0, numbers, integers) {
            integers.zeroize();
            return Err(HideError::Encode(error));
        }
        let attempt = match attempts.reserve(epoch, store) {
            Ok(attempt) => attempt,
            Err(error) => {
                integers.zeroize();
                return Err(HideError::Reserve(error));
            }
        };
        *front = self
            .mask(attempt, modulus)
            .split(integers, share)?
            .to_le_bytes();
        Ok(expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::federated::prior::{Config, JointVectors, Parameters, Terms};
    use crate::federated::shares::{Contributor, HelperRelease, Opened, SecretKey, ShareSum};
    use crate::privacy::charge::Unwritten;
    use crate::privacy::mechanism::gaussian::GridGaussian;
    use crate::random::{Simulated, Stream};

    /// Flash that takes only so many writes.
    struct Flash(u32);

    impl Store for Flash {
        type Error = &'static str;
        fn store(&mut self, _: &Attempts) -> Result<(), &'static str> {
            self.0 = self.0.checked_sub(1).ok_or("worn out")?;
            Ok(())
        }
    }

    fn encoding(z: f64) -> JointVectors {
        let config = Config::new(Parameters::usual(50, 2, 3, 0.1)).unwrap();
        JointVectors::new(
            &config,
            &Terms {
                ridge: 0.1,
                clip_radius: 1.0,
                response: 1.0,
            },
            z,
        )
        .unwrap()
    }

    #[test]
    fn what_is_hidden_opens_to_the_integers_of_the_encoding() {
        let agent = SecretKey::new([1; 32]);
        let helper = SecretKey::new([2; 32]);
        let run = Digest::of(&1);
        let encoding = encoding(3.0);
        let numbers = [0.3, -0.1, 0.2];
        let modulus = Modulus::of(&encoding).unwrap();
        let mut expected = [0; 3];
        encoding.add_if(true, 0, &numbers, &mut expected).unwrap();
        let key = agent.with_helper(&helper.public_key()).unwrap();
        let mut integers = [9; 3];
        let mut out = [0; 16];
        let contribution = Contribution {
            epoch: 4,
            encoding: &encoding,
            numbers: &numbers,
        };
        key.hide(
            contribution,
            &mut Attempts::new(run),
            &mut Flash(1),
            &mut integers,
            &mut out,
        )
        .unwrap();
        assert_eq!(integers, [0; 3], "wiped");
        let mut words = [0; 3];
        let mut sums = [0; 3];
        let mut noise = [0; 3];
        let mut answer = [0; 12];
        let mut sum = ShareSum::new(&mut words, modulus);
        sum.add(&out[ATTEMPT_LEN..]).unwrap();
        // The helper's noise has one grid unit: its answer shows what the masks were.
        let source = &mut Simulated::new(Stream::from_seed(1));
        let quiet = GridGaussian::unsampled(10, 3.0, 50).unwrap();
        let mut release =
            HelperRelease::open(quiet, run, 4, modulus, source, &mut sums, &mut noise).unwrap();
        release
            .add(
                Contributor {
                    agent: 0,
                    attempt: 0,
                },
                &helper.with_agent(&agent.public_key()).unwrap(),
            )
            .unwrap();
        let (charge, charged) = release.close(0);
        charged
            .answer(Unwritten::receipt(charge), source, &mut answer)
            .unwrap();
        let mut opened = [0; 3];
        let opened = Opened::new(&sum, &answer, 4, 1, &mut opened).unwrap();
        assert!(
            opened
                .sums()
                .iter()
                .zip(expected)
                .all(|(x, y)| x.abs_diff(y) < 8 << 10),
            "{:?}",
            opened.sums()
        );
        // Negative control: the share alone is nothing like it.
        let share = i32::from_le_bytes(out[4..8].try_into().unwrap());
        assert!(i64::from(share).abs_diff(expected[0]) > 8 << 10);
    }

    #[test]
    fn nothing_is_hidden_with_a_mask_that_is_not_stored_and_nothing_is_left_behind() {
        let key = SecretKey::new([1; 32])
            .with_helper(&SecretKey::new([2; 32]).public_key())
            .unwrap();
        let encoding = encoding(3.0);
        let mut attempts = Attempts::new(Digest::of(&1));
        let mut flash = Flash(1);
        let mut integers = [7; 3];
        let mut out = [0xee; 16];
        let mut hide = |epoch, numbers: &[f64], integers: &mut [i64], out: &mut [u8]| {
            let contribution = Contribution {
                epoch,
                encoding: &encoding,
                numbers,
            };
            key.hide(contribution, &mut attempts, &mut flash, integers, out)
        };
        let length = |what, len, expected| {
            Err(HideError::Share(ShareError::Length {
                what,
                len,
                expected,
            }))
        };
        assert_eq!(
            hide(0, &[0.1; 3], &mut [0; 2], &mut out),
            length("integers", 2, 3)
        );
        assert!(matches!(
            hide(0, &[0.1; 2], &mut integers, &mut out),
            Err(HideError::Encode(_))
        ));
        // Neither spent the only write.
        assert_eq!(
            (
                hide(1, &[0.1; 3], &mut integers, &mut out),
                out[..4] == [0; 4]
            ),
            (Ok(16), true)
        );
        let mut second = [0xee; 16];
        let worn = HideError::Reserve(ReserveError::Store("worn out"));
        assert_eq!(hide(1, &[0.1; 3], &mut integers, &mut second), Err(worn));
        assert_eq!((integers, second), ([0; 3], [0xee; 16]));
        let past = HideError::Reserve(ReserveError::Past { epoch: 0, last: 1 });
        assert_eq!(hide(0, &[0.1; 3], &mut integers, &mut second), Err(past));
    }
}
