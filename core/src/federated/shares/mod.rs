//! **Two servers** that do not collude, in the place of one that is trusted: sums of *shares*.
//!
//! An agent's contribution is a vector x of integers whose norm its own device has checked. It
//! sends x − r to the *leader*, where r is a mask that the agent and the *helper* derive from a
//! common key; the helper hears nothing from agents. A sum is opened by the helper's answer: the
//! sum of the masks plus noise of its own.
//!
//! | step | who | here |
//! |---|---|---|
//! | enrol | agent and helper, once: X25519, HKDF-SHA-256 | [`SecretKey`], [`AgentKey`], [`HelperKey`] |
//! | mask | agent: the next attempt is stored, then r is drawn by ChaCha20 | [`Attempts`], [`Mask`] |
//! | split | agent: x − r modulo 2³² or 2⁶⁴ | [`Mask::split`] |
//! | collect | leader: Σ(x − r) over the agents that answered, and who they are | [`ShareSum`], [`Contributor`] |
//! | answer | helper: charges, Σr + ⌊2ᵐG_h⌋, once for a run and an epoch | [`HelperRelease`] |
//! | open | leader: Σx + ⌊2ᵐG_h⌋, of which it looks at no number | [`Opened`], [`Server::take`](super::Server::take) |
//! | release | leader: *its* charge; its noise, modulo 2³² or 2⁶⁴; then the sums are judged | [`ServerInput::Charged`](super::ServerInput::Charged) |
//!
//! **Equation**: Σ(x − r) + Σr + ⌊2ᵐG_h⌋ + ⌊2ᵐG_l⌋ ≡ Σx + ⌊2ᵐG_h⌋ + ⌊2ᵐG_l⌋ modulo 2³² or 2⁶⁴.
//!
//! **Theorem.** Let the masks be uniform and independent. Whatever set U the leader names, its view
//! of one epoch is a function of Σ_U x + ⌊2ᵐG_h⌋ and of uniform numbers that do not depend on any
//! x. The helper's view, whatever numbers T it answers, is a function of Σ_U x + ⌊2ᵐG_l⌋ modulo 2ᵇ
//! and of what it knows. Each is the Gaussian
//! mechanism of [`crate::privacy::mechanism::gaussian`] at multiplier z, by honest noise of *one*
//! server, and is charged as such.
//!
//! **Proof.** *Leader.* It holds x_n − r_n for every share that it was sent, and one answer. Given
//! Σ_U r the shares are uniform and independent of all x but for their sum over U, and Σ(x − r) +
//! (Σr + ⌊2ᵐG_h⌋) = Σx + ⌊2ᵐG_h⌋. Shares of agents outside U, and of other attempts, are masked by
//! numbers that nothing else depends on. An agent is in U once ([`Contributor`]s increase), so its
//! norm is at most K. *Helper.* It knows every r, chooses T, and sees either the release or that it
//! was refused. The leader computes both from Σx + T + ⌊2ᵐG_l⌋ modulo 2ᵇ, of which T can be taken
//! off, and charges both; of Σx + T alone it looks at nothing. Centring, judging and decoding are
//! post-processing. ∎ ChaCha20 and X25519 make both statements computational.
//!
//! **What must hold**: one of the two servers is honest, and the helper reads no traffic between
//! agents and leader (TLS). If both collude they see what a single server sees. **Not hidden**: who
//! takes part, when, and N. **Not protected**: the result against agents that lie, since nobody but
//! their own device sees their norm.
//!
//! **Price**: a reader sees the noise of both servers, standard deviation × √2 at the same ε
//! ([`Encoding::noises`](super::Encoding::noises)).
//!
//! ```
//! use sordino_core::digest::Digest;
//! use sordino_core::federated::shares::{
//!     AgentKey, Attempt, Attempts, ChargedHelper, Contributor, HelperKey, HelperRelease, Mask, Modulus, Opened, PublicKey,
//!     ReserveError, SecretKey, ShareError, ShareSum, Store,
//! };
//! use sordino_core::privacy::charge::Unwritten;
//! use sordino_core::privacy::mechanism::gaussian::GridGaussian;
//! use sordino_core::random::{Simulated, Stream};
//!
//! /// A device that writes to flash.
//! struct Flash(Option<Attempts>);
//! impl Store for Flash {
//!     type Error = core::convert::Infallible;
//!     fn store(&mut self, attempts: &Attempts) -> Result<(), Self::Error> {
//!         self.0 = Some(attempts.again());
//!         Ok(())
//!     }
//! }
//!
//! const MODULUS: Modulus = Modulus::Bits32;
//! let run = Digest::of(&"a campaign");
//! let (agent, helper) = (SecretKey::new([1; 32]), SecretKey::new([2; 32])); // of a cryptographic generator
//!
//! // The agent: three integers, twelve bytes.
//! let public: PublicKey = helper.public_key();
//! let key: AgentKey = agent.with_helper(&public)?;
//! let mut attempts = Attempts::new(run);
//! let attempt: Attempt = attempts.reserve(0, &mut Flash(None))?;
//! let mask: Mask = key.mask(attempt, MODULUS);
//! let (mut integers, mut share) = ([700, -40, 3], [0; MODULUS.share_len(3)]);
//! let attempt = mask.split(&mut integers, &mut share)?;
//!
//! // The leader.
//! let mut words = [0; 3];
//! let mut sum = ShareSum::new(&mut words, MODULUS);
//! sum.add(&share)?;
//! assert_eq!(sum.add(&[0; 5]), Err(ShareError::Length { what: "share", len: 5, expected: 12 }));
//! let contributors = [Contributor { agent: 0, attempt }];
//!
//! // The helper, after it has looked up that it never answered for this run and epoch.
//! let key: HelperKey = helper.with_agent(&agent.public_key())?;
//! let source = &mut Simulated::new(Stream::from_seed(1)); // a deployment takes a `Secret`
//! let (mut words, mut noise, mut answer) = ([0; 3], [0; 3], [0; MODULUS.share_len(3)]);
//! let mechanism = GridGaussian::unsampled(10, 1.0, 1)?;
//! let mut release = HelperRelease::open(mechanism, run, 0, MODULUS, source, &mut words, &mut noise)?;
//! release.add(contributors[0], &key)?;
//! let (charge, charged): (_, ChargedHelper) = release.close(0);
//! charged.answer(Unwritten::receipt(charge), source, &mut answer)?; // a deployment's ledger writes it to a disk
//!
//! // The leader again.
//! let mut opened = [0; 3];
//! let opened = Opened::new(&sum, &answer, 0, contributors.len() as u32, &mut opened)?;
//! assert!(opened.sums()[0].abs_diff(700) < 16 << 10); // with the noise of the helper
//!
//! // Nobody goes back to an epoch before.
//! let _of_the_next: Attempt = attempts.reserve(1, &mut Flash(None))?;
//! assert_eq!(attempts.reserve(0, &mut Flash(None)), Err(ReserveError::Past { epoch: 0, last: 1 }));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod attempts;
mod error;
mod helper;
mod hidden;
mod key;
mod mask;
mod sum;
mod trust;

pub use attempts::{Attempt, Attempts, ReserveError, Store};
pub use error::ShareError;
pub use helper::{ChargedHelper, HelperRelease};
pub use hidden::{ATTEMPT_LEN, Contribution, HideError};
pub use key::{AgentKey, HelperKey, PublicKey, SecretKey};
pub use mask::Mask;
pub(super) use sum::can_be_noised;
pub use sum::{Contributor, Modulus, Opened, ShareSum};
pub use trust::Trust;
