//! A simulated federation for a web page: core's parties, noise and accountant in WebAssembly,
//! without imports. Numbers in, numbers out; what the page calls is below, one federation at a
//! time. **Simulated**: the noise comes from a seed.
//!
//! | module | what it holds |
//! |---|---|
//! | [`world`] | a function for each agent |
//! | [`federation`] | one method of one run, some agents at a time |
//! | [`live`] | paired runs of two methods, and what the private one costs |
//! | [`opened`] | a prior file that a visitor opened |

use std::cell::RefCell;

use sordino_core::domain::DomainError;
use sordino_core::features::FeatureError;
use sordino_core::federated::{AgentError, ConfigError, PublicError, ServerError};

use sha2::{Digest as _, Sha256};
use sordino_core::privacy::accountant::AccountantError;

use federation::Dials;
use live::Live;
use opened::{Opened, Shape};

pub mod federation;
pub mod live;
pub mod opened;
pub mod world;

/// Why there is no number.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// Candidates or regions.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// Features or kernel.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// The configuration as a whole.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// What all agents share.
    #[error(transparent)]
    Public(#[from] PublicError),
    /// An agent refused.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The server refused.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The accountant refused.
    #[error(transparent)]
    Accountant(#[from] AccountantError),
    /// A prior file is none.
    #[error("{0}")]
    File(String),
}

#[derive(Default)]
struct Page {
    live: Option<Live>,
    refusal: String,
}

/// A prior file: what the page writes, and what was made of it.
#[derive(Default)]
struct File {
    bytes: Vec<u8>,
    digest: [u8; 32],
    opened: Option<Opened>,
    refusal: String,
}

thread_local! {
    static FILE: RefCell<File> = RefCell::default();
    static PAGE: RefCell<Page> = RefCell::default();
}

/// What `ask` answers of the federation under way, or `otherwise`; a refusal ends it.
fn with<R>(otherwise: R, ask: impl FnOnce(&mut Live) -> Result<R, WebError>) -> R {
    PAGE.with_borrow_mut(|page| match page.live.as_mut().map(ask) {
        Some(Ok(answer)) => answer,
        Some(Err(error)) => {
            *page = Page {
                live: None,
                refusal: error.to_string(),
            };
            otherwise
        }
        None => otherwise,
    })
}

/// Begins with these dials and this number of runs; 1, or 0 if they are refused ([`refusal_byte`]).
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn begin(agents: u32, rounds: u32, q: f64, z: f64, seed: u32, runs: u32) -> u32 {
    let dials = Dials {
        agents,
        rounds,
        sampling_probability: q,
        noise_multiplier: z,
        seed: u64::from(seed),
    };
    let (live, refusal) = match Live::new(dials, runs) {
        Ok(live) => (Some(live), String::new()),
        Err(error) => (None, error.to_string()),
    };
    let begun = u32::from(live.is_some());
    PAGE.set(Page { live, refusal });
    begun
}

/// A slice of a round of one federation, or one ε; 0 if nothing is left to do, or something was
/// refused.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn step() -> u32 {
    with(0, |live| live.step().map(u32::from))
}

/// Mean regret over runs: method 0 shares nothing, 1 is private. NaN if it is not known yet.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn regret(method: u32, round: u32) -> f64 {
    with(f64::NAN, |live| {
        Ok(live.regret(method as usize, round as usize))
    })
}

/// ε of the first releases at [`delta`]. NaN if it is not known yet.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn epsilon(releases: u32) -> f64 {
    with(f64::NAN, |live| Ok(live.epsilon(releases as usize)))
}

/// How often the best guess whether one agent's contributions were used is right at most, after all
/// rounds.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn best_guess() -> f64 {
    with(f64::NAN, |live| live.best_guess())
}

/// δ of every ε, N^−1.1.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn delta() -> f64 {
    with(f64::NAN, |live| Ok(live.delta()))
}

/// Finished runs of both methods.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn runs_done() -> u32 {
    with(0, |live| Ok(live.runs_done()))
}

/// One byte of the 32 of a method's digest over its finished runs.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn digest_byte(method: u32, index: u32) -> u32 {
    with(0, |live| {
        Ok(live
            .digest(method as usize)
            .0
            .get(index as usize)
            .copied()
            .unwrap_or(0)
            .into())
    })
}

/// The noise-free value of an agent at a candidate; NaN beyond the last.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn value(agent: u32, candidate: u32) -> f64 {
    with(f64::NAN, |live| {
        Ok(live
            .world()
            .of(agent)
            .get(candidate as usize)
            .copied()
            .unwrap_or(f64::NAN))
    })
}

/// One byte of why the last call was refused, in UTF-8; 0 beyond its end.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn refusal_byte(index: u32) -> u32 {
    PAGE.with_borrow(|page| {
        page.refusal
            .as_bytes()
            .get(index as usize)
            .copied()
            .unwrap_or(0)
            .into()
    })
}

/// Room for this many bytes of a file's label, tensors and numbers; where it begins. What was
/// opened is closed.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn file_room(bytes: u32) -> *mut u8 {
    FILE.set(File {
        bytes: vec![0; bytes as usize],
        ..File::default()
    });
    FILE.with_borrow_mut(|file| file.bytes.as_mut_ptr())
}

/// Opens what was written into the room, see [`Opened::new`]: 1, or 0 if it is refused
/// ([`file_refusal_byte`]).
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn file_open(
    label: u32,
    features: u32,
    dim: u32,
    parameters: u32,
    releases: u32,
) -> u32 {
    let [label, features, dim, parameters, releases] =
        [label, features, dim, parameters, releases].map(|number| number as usize);
    FILE.with_borrow_mut(|file| {
        let shape = Shape {
            label,
            features,
            dim,
            parameters,
            releases,
        };
        let whole = file.bytes.len().saturating_sub(shape.told_bytes());
        file.digest = Sha256::digest(&file.bytes[..whole]).into();
        match Opened::new(shape, &file.bytes) {
            Ok(opened) => file.opened = Some(opened),
            Err(error) => file.refusal = error.to_string(),
        }
        u32::from(file.opened.is_some())
    })
}

/// What `ask` answers of the file, or `otherwise`.
fn of_file<R>(otherwise: R, ask: impl FnOnce(&Opened) -> R) -> R {
    FILE.with_borrow(|file| file.opened.as_ref().map_or(otherwise, ask))
}

/// One byte of the SHA-256 of label and tensors.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn file_digest_byte(index: u32) -> u32 {
    FILE.with_borrow(|file| file.digest.get(index as usize).copied().unwrap_or(0).into())
}

/// One byte of why a file was refused, in UTF-8; 0 beyond its end.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn file_refusal_byte(index: u32) -> u32 {
    FILE.with_borrow(|file| {
        file.refusal
            .as_bytes()
            .get(index as usize)
            .copied()
            .unwrap_or(0)
            .into()
    })
}

/// What the file believes at one of [`opened::POINTS`] points of a parameter's axis, in standard
/// deviations of a contributor's values; NaN where there is none.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn file_mean(parameter: u32, point: u32) -> f64 {
    of_file(f64::NAN, |opened| {
        opened.mean(parameter as usize, point as usize)
    })
}

/// How sure it is there: one standard deviation.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn file_std(parameter: u32, point: u32) -> f64 {
    of_file(f64::NAN, |opened| {
        opened.std(parameter as usize, point as usize)
    })
}

/// A coordinate of the point that the file believes best; NaN beyond the last.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn file_best(coordinate: u32) -> f64 {
    of_file(f64::NAN, |opened| opened.best(coordinate as usize))
}

/// How often a reader who guesses whether one contributor was used is right at most.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn file_best_guess() -> f64 {
    of_file(f64::NAN, Opened::best_guess)
}

/// How a search reads the file: 0 not at all, 1 after questions of its own, 2 from the first
/// question on.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn file_reading() -> u32 {
    of_file(0, Opened::reading)
}
