//! The prior file: what contributors learned in common, published once, with an ε written on it.
//!
//! A file is a public posterior N(w, Σ) of the weights of features φ(x) = L⁻¹k(P, x), P the
//! landmarks, k the kernel and LLᵀ = k(P, P). It is a function of private releases, so whoever
//! reads it costs nobody anything more. Its format is
//! [safetensors](https://github.com/huggingface/safetensors), which numpy, JavaScript and C++ read:
//! eight bytes of length, a JSON header, little-endian numbers.
//!
//! | tensor | shape | what |
//! |---|---|---|
//! | `landmarks` | M × D | coordinates in the unit box ([`Encoding`]), in the order of their pivots |
//! | `weights` | M | w |
//! | `covariance` | M(M + 1)/2 | lower triangle of Σ, row by row |
//!
//! The header's `__metadata__` has `format`, `label` (a [`Label`] as JSON) and `digest`, SHA-256 of
//! the label's text and of all tensors, in the order in which they stand. A signed file also has
//! `key` (SubjectPublicKeyInfo) and `signature` (ECDSA on P-256, ASN.1, of SHA-256 of `format`, a
//! line feed, `digest` and a line feed), both hexadecimal. A file whose signature does not fit is
//! refused; without its signature the same label and numbers are the same bytes.
//!
//! | module | what it holds |
//! |---|---|
//! | [`label`] | what is written on a file, and what it costs |
//! | [`publish`] | a file of studies that one party holds |
//! | [`doubts`] | what speaks against such a file before it is charged |
//! | [`context`] | what everybody computes alike: candidates, landmarks, a contribution, the posterior of releases |
//! | [`guide`] | a search that begins with a file |
//! | [`worth`] | what a file is worth |
//!
//! The writer is our own because the bytes are to be the same for the same file, which that of the
//! library does not promise for metadata.

mod bytes;
pub mod context;
pub mod doubts;
mod error;
pub mod guide;
pub mod label;
pub mod publish;
mod signed;
pub mod worth;

use std::path::Path;

use sordino_core::domain::sobol::coordinate;
use sordino_core::space::{Axis, Kind, Space as CoreSpace};

pub use self::error::PriorFileError;
pub(crate) use self::error::refuse;
use self::error::unsearchable;
pub use self::label::Label;
use self::signed::Signed;
use crate::files::{FileError, read_bounded, write_atomically};
use crate::signature::{Fingerprint, KeyError, SigningKey};
use crate::space::{Encoding, Space};

/// Files are read up to this length.
pub const BYTES_MAX: u64 = 64 << 20;
/// The most features M.
pub const FEATURES_MAX: usize = 1024;

/// Why a file was not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is no prior file.
    #[error("{path}: {source}")]
    Content {
        /// Path of the file.
        path: String,
        /// What is wrong with it.
        source: PriorFileError,
    },
}

/// A public posterior with its label.
///
/// ```
/// # use sordino_host::prior::label::{self, Label};
/// # use sordino_host::space::{Goal, SpaceFile};
/// use sordino_host::prior::PriorFile;
/// # let space = SpaceFile::parse("s", "[parameters.x]\nlow = 0\nhigh = 10")?.space;
/// # let (epsilon, replace_epsilon) = label::cost(&[9.0, 9.0], 1e-5)?;
/// # let label = Label {
/// #     space, goal: Goal::Minimize, value: None, kernel: label::KERNEL.into(), lengthscale: 0.5,
/// #     noise_fraction: 0.01, heterogeneity: 0.0, self_test: 2.0, contributors: 66, releases: 2,
/// #     noise_multipliers: vec![9.0, 9.0], epsilon, delta: 1e-5, replace_epsilon,
/// #     neighboring_relation: "replace one by nothing (zero-out)".into(), accountant: label::ACCOUNTANT.into(),
/// #     trust: sordino_core::federated::shares::Trust::OneServer,
/// #     simulated: true, dataset: "example".into(), by: None, note: None, published: None, ledger: None,
/// # };
///
/// // `label` is that of a search on one axis.
/// let file = PriorFile::new(label, vec![0.0, 1.0], vec![0.5, -0.25], vec![1.0, 0.0, 1.0])?;
/// let bytes = file.to_bytes();
/// let read = PriorFile::parse(&bytes)?;
/// assert_eq!((&read, read.to_bytes()), (&file, bytes.clone()));
/// let mut other = bytes;
/// *other.last_mut().ok_or("empty")? ^= 1;
/// assert!(PriorFile::parse(&other).is_err_and(|error| error.what == "digest"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PriorFile {
    /// What is written on it.
    pub label: Label,
    /// Landmarks in the unit box, M × D numbers, row by row.
    pub landmarks: Vec<f32>,
    /// w, the weights of the features, M numbers.
    pub weights: Vec<f32>,
    /// Lower triangle of Σ, M(M + 1)/2 numbers.
    pub covariance: Vec<f32>,
    signed: Option<Signed>,
}

impl PriorFile {
    /// A file that nobody signed: landmarks in the unit box, M × D numbers, row by row; w, M
    /// numbers; the lower triangle of Σ, M(M + 1)/2 numbers.
    ///
    /// **Errors**: [`PriorFileError`] naming the first entry that cannot be.
    pub fn new(
        label: Label,
        landmarks: Vec<f32>,
        weights: Vec<f32>,
        covariance: Vec<f32>,
    ) -> Result<Self, PriorFileError> {
        let file = PriorFile {
            label,
            landmarks,
            weights,
            covariance,
            signed: None,
        };
        file.check()?;
        Ok(file)
    }

    /// The file with a signature of `key`, in the place of any other. Its digest stays; the
    /// signature's bytes differ each time.
    ///
    /// **Errors**: [`KeyError::Signature`].
    pub fn sign(mut self, key: &SigningKey) -> Result<Self, KeyError> {
        self.signed = Some(Signed::new(bytes::FORMAT, key, &self.digest())?);
        Ok(self)
    }

    /// Whose key signed it; a signature that does not fit is not read.
    pub fn signer(&self) -> Option<Fingerprint> {
        self.signed.as_ref().map(|signed| signed.signer)
    }

    /// Its tensors in the order of the file.
    fn tensors(&self) -> [&[f32]; 3] {
        [&self.landmarks, &self.weights, &self.covariance]
    }

    /// Number of features M.
    pub fn features(&self) -> usize {
        self.weights.len()
    }

    /// Coordinates of its space.
    ///
    /// **Errors**: [`PriorFileError`] of the space.
    pub fn encoding(&self) -> Result<Encoding, PriorFileError> {
        let space = self.label.space.core();
        space
            .map(|space| Encoding::new(&space))
            .map_err(unsearchable)
    }

    /// Checks label and numbers; a reader's checks.
    ///
    /// **Errors**: [`PriorFileError`] naming the first entry that cannot be.
    pub fn check(&self) -> Result<(), PriorFileError> {
        self.label.check()?;
        let m = self.features();
        let dim = self.encoding()?.dim();
        if !(1..=FEATURES_MAX).contains(&m) {
            return Err(refuse("shape of weights", m, "1 to 1024"));
        }
        for (what, len, expected) in [
            ("shape of landmarks", self.landmarks.len(), m * dim),
            (
                "shape of covariance",
                self.covariance.len(),
                m * (m + 1) / 2,
            ),
        ] {
            if len != expected {
                return Err(refuse(
                    what,
                    format!("{len} numbers"),
                    &format!("{expected} of {m} features"),
                ));
            }
        }
        if let Some(x) = self.landmarks.iter().find(|x| !(**x >= 0.0 && **x <= 1.0)) {
            return Err(refuse("a landmark", x, "[0, 1]"));
        }
        if let Some(x) = self
            .weights
            .iter()
            .chain(&self.covariance)
            .find(|x| !x.is_finite())
        {
            return Err(refuse("a number of the posterior", x, "(-inf, inf)"));
        }
        Ok(())
    }

    /// SHA-256 of label and numbers, hexadecimal: the file's name among others.
    pub fn digest(&self) -> String {
        bytes::digest(
            &bytes::label_text(&self.label),
            &bytes::data(self.tensors()),
        )
    }

    /// The file. The same posterior and label give the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        bytes::write(&self.label, self.tensors(), self.signed.as_ref())
    }

    /// All numbers in one row, as devices have them that read no file: ℓ, B, landmarks, weights,
    /// covariance ([`PriorNumbers::read`](sordino_core::prior::PriorNumbers::read)).
    pub fn numbers(&self) -> Vec<f32> {
        let [landmarks, weights, covariance] = self.tensors();
        [
            &[self.label.lengthscale, self.label.self_test as f32],
            landmarks,
            weights,
            covariance,
        ]
        .concat()
    }

    /// Reads a file and checks all of it.
    ///
    /// **Errors**: [`PriorFileError`] naming the first entry that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, PriorFileError> {
        let bytes::Content {
            label,
            tensors: [landmarks, weights, covariance],
            signed,
        } = bytes::read(bytes)?;
        let file = PriorFile {
            label,
            landmarks,
            weights,
            covariance,
            signed,
        };
        file.check()?;
        Ok(file)
    }

    /// Reads and checks the file at `path`.
    ///
    /// **Errors**: [`LoadError`].
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let bytes = read_bounded(path, BYTES_MAX)?;
        Self::parse(&bytes).map_err(|source| LoadError::Content {
            path: path.display().to_string(),
            source,
        })
    }

    /// Writes the file, so that a crash leaves the old one or the new one.
    ///
    /// **Errors**: [`FileError`].
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        write_atomically(path, &self.to_bytes())
    }
}

/// Points that cover a space, without repeats, in its numbers: what every reader of the space
/// computes alike. All points of a space that has at most `count`; else what the first `count` of a
/// Sobol' sequence fall on.
///
/// **Errors**: [`PriorFileError`] for a space that cannot be searched.
pub fn points(space: &Space, count: u32) -> Result<Vec<Vec<f64>>, PriorFileError> {
    let core = space.core().map_err(unsearchable)?;
    if let Some(all) = all_points(&core, count) {
        return Ok(all);
    }
    let mut all: Vec<Vec<f64>> = Vec::new();
    for index in 0..count {
        let numbers: Vec<f64> = (0..core.dim())
            .map(|axis| {
                core.from_unit(axis, coordinate::<f64>(index, axis, 0))
                    .unwrap_or(0.0)
            })
            .collect();
        if !all.contains(&numbers) {
            all.push(numbers);
        }
    }
    Ok(all)
}

/// Every point of a space of whole numbers and choices, the last axis fastest; nothing where there
/// are more than `most`, or infinitely many.
fn all_points(core: &CoreSpace, most: u32) -> Option<Vec<Vec<f64>>> {
    let counts: Vec<u32> = core.axes().iter().map(Axis::count).collect::<Option<_>>()?;
    let total = counts
        .iter()
        .try_fold(1u32, |product, count| product.checked_mul(*count))?;
    if total > most {
        return None;
    }
    Some(
        (0..total)
            .map(|index| nth_point(core, &counts, index))
            .collect(),
    )
}

/// The point with this number in a space of so many values on each axis; the last varies fastest.
fn nth_point(core: &CoreSpace, counts: &[u32], index: u32) -> Vec<f64> {
    let mut rest = index;
    let mut numbers = vec![0.0; counts.len()];
    for ((number, axis), count) in numbers.iter_mut().zip(core.axes()).zip(counts).rev() {
        *number = f64::from(rest % count) + least(axis);
        rest /= count;
    }
    numbers
}

/// The least of the whole numbers of an axis; choices are counted from 0.
fn least(axis: &Axis) -> f64 {
    match axis.kind {
        Kind::Integer { low, .. } => f64::from(low),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests;
