//! Rows of two servers: keys, a share, a helper's answer, what a leader opens.

use core::array;

use sordino_core::digest::Digest;
use sordino_core::federated::shares::{
    Attempts, Contributor, HelperRelease, Modulus, Opened, SecretKey, ShareSum, Store,
};
use sordino_core::privacy::Simulated;
use sordino_core::privacy::charge::Unwritten;
use sordino_core::privacy::mechanism::gaussian::GridGaussian;
use sordino_core::random::Stream;

use super::{Emit, Fold};

/// More numbers than two blocks of the key stream hold.
const NUMBERS: usize = 37;
/// Bytes of a share at the larger modulus.
const BYTES: usize = Modulus::Bits64.share_len(NUMBERS);
const RUN: Digest = Digest([7; 32]);
const EPOCH: u32 = 3;

pub(super) fn rows(emit: Emit<'_>) {
    emit("federated::shares 32 bits", &|fold| {
        release(Modulus::Bits32, fold);
    });
    emit("federated::shares 64 bits", &|fold| {
        release(Modulus::Bits64, fold);
    });
}

/// A store that keeps nothing: this agent does not die.
struct Nowhere;

impl Store for Nowhere {
    type Error = core::convert::Infallible;
    fn store(&mut self, _: &Attempts) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// One release of two agents, from their keys to what the leader opens.
fn release(modulus: Modulus, fold: &mut Fold) -> Option<()> {
    let mechanism = GridGaussian::unsampled(16, 1.0, 2).ok()?;
    let helper = SecretKey::new([2; 32]);
    let source = &mut Simulated::new(Stream::from_seed(1));
    let mut words = [0; NUMBERS];
    let mut noise = [0; NUMBERS];
    let mut open = HelperRelease::open(
        mechanism, RUN, EPOCH, modulus, source, &mut words, &mut noise,
    )
    .ok()?;
    let mut words = [0; NUMBERS];
    let mut sum = ShareSum::new(&mut words, modulus);
    for agent in 0..2 {
        let secret = SecretKey::new([10 + agent as u8; 32]);
        bytes(fold, &secret.public_key().0);
        let mut attempts = Attempts::new(RUN);
        let attempt = attempts.reserve(EPOCH, &mut Nowhere).ok()?;
        let mut integers: [i64; NUMBERS] =
            array::from_fn(|i| (i as i64 - 18) * 977 * (1 + i64::from(agent)));
        let mut share = [0; BYTES];
        let share = share.get_mut(..modulus.share_len(NUMBERS))?;
        let mask = secret
            .with_helper(&helper.public_key())
            .ok()?
            .mask(attempt, modulus);
        let attempt = mask.split(&mut integers, share).ok()?;
        bytes(fold, share);
        sum.add(share).ok()?;
        open.add(
            Contributor { agent, attempt },
            &helper.with_agent(&secret.public_key()).ok()?,
        )
        .ok()?;
    }
    let (charge, charged) = open.close(0);
    let mut answer = [0; BYTES];
    let answer = answer.get_mut(..modulus.share_len(NUMBERS))?;
    charged
        .answer(Unwritten::receipt(charge), source, answer)
        .ok()?;
    bytes(fold, answer);
    let mut opened = [0; NUMBERS];
    let opened = Opened::new(&sum, answer, EPOCH, 2, &mut opened).ok()?;
    opened.sums().iter().for_each(|sum| fold.word(*sum as u64));
    Some(())
}

/// Bytes, four to a number.
fn bytes(fold: &mut Fold, bytes: &[u8]) {
    let word = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte))
    };
    bytes.chunks(4).for_each(|bytes| fold.word(word(bytes)));
}
