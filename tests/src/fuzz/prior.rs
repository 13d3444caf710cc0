//! Edits of a prior file. Its digest refuses nearly all of them; so the digest is made right and
//! the same edit is judged again.

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sordino_host::prior::PriorFile;
use sordino_host::prior::guide::Guide;
use sordino_host::prior::label::{self, Label};
use sordino_host::space::{Goal, SpaceFile};

use super::refusal::{Refusal, broken, line};

/// Landmarks of the file: its numbers are most of its bytes.
const LANDMARKS: usize = 32;

/// A file over a number and a choice of three.
pub(super) fn seed() -> Vec<u8> {
    let text = "[parameters.kind]\nchoices = [\"a\", \"b\", \"c\"]\n[parameters.rate]\nlow = 0.001\nhigh = 1\nscale = \"log\"";
    let noise_multipliers = vec![5.0, 7.5];
    let (epsilon, replace_epsilon) =
        label::cost(&noise_multipliers, 1e-5).expect("multipliers in range");
    let label = Label {
        space: SpaceFile::parse("s", text).expect("a space").space,
        goal: Goal::Minimize,
        value: Some("loss".into()),
        kernel: label::KERNEL.into(),
        lengthscale: 0.05,
        noise_fraction: 0.01,
        heterogeneity: 0.25,
        self_test: 2.5,
        contributors: 40,
        releases: 2,
        noise_multipliers,
        epsilon,
        delta: 1e-5,
        replace_epsilon,
        neighboring_relation: "replace one by nothing (zero-out)".into(),
        accountant: label::ACCOUNTANT.into(),
        trust: sordino_core::federated::shares::Trust::OneServer,
        simulated: true,
        dataset: "fuzzed".into(),
        by: None,
        note: None,
        published: Some("2026-11-23".into()),
        ledger: None,
    };
    let mut landmarks = Vec::new();
    for place in 0..LANDMARKS {
        landmarks.extend((0..3).map(|choice| if choice == place % 3 { 1.0 } else { 0.0 }));
        landmarks.push(place as f32 / LANDMARKS as f32);
    }
    let weights = (0..LANDMARKS)
        .map(|place| 0.25 * place as f32 - 1.0)
        .collect();
    let covariance = (0..LANDMARKS)
        .flat_map(|row| (0..=row).map(move |column| if row == column { 0.5 } else { 0.0 }));
    PriorFile::new(label, landmarks, weights, covariance.collect())
        .expect("a file")
        .to_bytes()
}

/// As it is, and under a digest that fits.
pub(super) fn check(bytes: &[u8]) -> Result<(), Refusal> {
    let plain = read(bytes);
    match (&plain, mended(bytes)) {
        (Err(Refusal::Line(_)), Some(mended)) => read(&mended),
        _ => plain,
    }
}

fn read(bytes: &[u8]) -> Result<(), Refusal> {
    let file = PriorFile::parse(bytes).map_err(line)?;
    let told = &file.label;
    let again =
        PriorFile::parse(&file.to_bytes()).map_err(|error| Refusal::Broken(error.to_string()))?;
    if again.digest() != file.digest() {
        return broken("what is written again is another file");
    }
    let cost = label::cost(&told.noise_multipliers, told.delta).map_err(line)?;
    if told.epsilon < cost.0 * (1.0 - 1e-9) || told.replace_epsilon < cost.1 * (1.0 - 1e-9) {
        return broken("a label claims less than its noise costs");
    }
    let guide = Guide::new(&file, &told.space, told.goal).map_err(line)?;
    let space = told.space.core().map_err(line)?;
    let points = [0.0, 0.3, 0.8].map(|unit| {
        (0..space.dim())
            .map(|axis| space.from_unit(axis, unit).unwrap_or(0.0))
            .collect::<Vec<_>>()
    });
    let believed = guide.believed(&points).map_err(line)?;
    if believed
        .iter()
        .any(|of| !of.mean.is_finite() || !(of.std >= 0.0))
    {
        return broken("a belief that is none");
    }
    let known = [(points[0].as_slice(), 1.0), (points[1].as_slice(), 2.0)];
    match guide.choose(&known, &points, None, 3, None) {
        Ok(chosen) if chosen < points.len() => Ok(()),
        Ok(_) => broken("a choice that is none of the list"),
        Err(error) => Err(line(error)),
    }
}

/// The file with the digest of its own label and tensors; nothing where no header is found.
fn mended(bytes: &[u8]) -> Option<Vec<u8>> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length))
        .ok()
        .filter(|length| *length <= rest.len())?;
    let (text, data) = rest.split_at(length);
    let mut header: Value = serde_json::from_slice(text).ok()?;
    let metadata = header.get_mut("__metadata__")?.as_object_mut()?;
    let mut hash = Sha256::new();
    hash.update(metadata.get("label")?.as_str()?.as_bytes());
    hash.update(data);
    let digest: String = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    metadata.insert("digest".into(), digest.into());
    let text = header.to_string();
    Some(
        [
            &(text.len() as u64).to_le_bytes()[..],
            text.as_bytes(),
            data,
        ]
        .concat(),
    )
}
