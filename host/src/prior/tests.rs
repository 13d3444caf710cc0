//! Prior files come back, and what is none is refused by name.

use super::*;
use crate::prior::label;
use crate::space::{Goal, SpaceFile};

/// A file over a mixed space of six coordinates.
fn file() -> PriorFile {
    let text = "[parameters.rate]\nlow = 1e-4\nhigh = 1\nscale = \"log\"\n[parameters.depth]\nlow = 1\nhigh = 8\n\
                integer = true\n[parameters.kind]\nchoices = [\"a\", \"b\", \"c\", \"d\"]";
    let noise_multipliers = vec![6.5, 6.5];
    let (epsilon, replace_epsilon) = label::cost(&noise_multipliers, 1e-5).unwrap();
    let label = Label {
        space: SpaceFile::parse("s", text).unwrap().space,
        goal: Goal::Minimize,
        value: Some("loss".into()),
        kernel: label::KERNEL.into(),
        lengthscale: 0.33,
        noise_fraction: 0.01,
        heterogeneity: 0.125,
        self_test: 3.5,
        contributors: 66,
        releases: 2,
        noise_multipliers,
        epsilon,
        delta: 1e-5,
        replace_epsilon,
        neighboring_relation: "replace one by nothing (zero-out)".into(),
        accountant: label::ACCOUNTANT.into(),
        trust: sordino_core::federated::shares::Trust::OneServer,
        simulated: false,
        dataset: "wards".into(),
        by: None,
        note: Some("spring".into()),
        published: Some("2026-11-23".into()),
        ledger: Some("00ff".into()),
    };
    let m = 3;
    let landmarks = (0..m * 6).map(|i| i as f32 / (m * 6) as f32).collect();
    PriorFile::new(
        label,
        landmarks,
        vec![1.5, -0.25, 3e-8],
        vec![1.0, 0.5, 1.0, 0.0, -0.5, 2.0],
    )
    .unwrap()
}

/// The file with one text in the place of another, and the digest made right again.
fn with(from: &str, to: &str) -> Vec<u8> {
    edited(&file().to_bytes(), from, to)
}

/// As [`with`], of these bytes.
fn edited(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let text = std::str::from_utf8(&bytes[8..8 + length])
        .unwrap()
        .replace(from, to);
    assert_ne!(
        text.as_bytes(),
        &bytes[8..8 + length],
        "{from} is not there"
    );
    let mut header: serde_json::Value = serde_json::from_str(&text).unwrap();
    let data = &bytes[8 + length..];
    let label = header["__metadata__"]["label"]
        .as_str()
        .unwrap_or("")
        .to_owned();
    header["__metadata__"]["digest"] = bytes::digest(&label, data).into();
    let text = header.to_string();
    [
        &(text.len() as u64).to_le_bytes()[..],
        text.as_bytes(),
        data,
    ]
    .concat()
}

#[test]
fn a_file_comes_back_and_its_bytes_are_those_of_its_content() {
    let bytes = file().to_bytes();
    let read = PriorFile::parse(&bytes).unwrap();
    assert_eq!(read, file());
    assert_eq!(read.to_bytes(), bytes);
    assert_eq!(read.digest(), file().digest());
    // The numbers begin at a multiple of eight and are as many as the tensors have.
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    assert!(length.is_multiple_of(8) && bytes.len() == 8 + length + 4 * (18 + 3 + 6));
}

/// Hostile or damaged: each is refused by name.
#[test]
fn what_is_none_is_refused_by_name() {
    for (from, to, what) in [
        ("sordino prior 1", "sordino prior 2", "format"),
        (
            "\"F32\",\"shape\":[3]",
            "\"F64\",\"shape\":[3]",
            "dtype of weights",
        ),
        ("\"shape\":[3,6]", "\"shape\":[6,6]", "place of landmarks"),
        (
            "\"shape\":[3,6]",
            "\"shape\":[4611686018427387904,6]",
            "place of landmarks",
        ),
        (
            "\"data_offsets\":[0,72]",
            "\"data_offsets\":[4,76]",
            "place of landmarks",
        ),
        ("\"weights\"", "\"weighst\"", "a tensor"),
        (
            "\\\"contributors\\\":66",
            "\\\"contributors\\\":1",
            "contributors",
        ),
        (
            "\\\"contributors\\\":66",
            "\\\"contributorz\\\":66",
            "label",
        ),
        ("\\\"releases\\\":2", "\\\"releases\\\":3", "releases"),
        ("\\\"delta\\\":0.00001", "\\\"delta\\\":1.5", "delta"),
        (
            "\\\"lengthscale\\\":0.33",
            "\\\"lengthscale\\\":0.0",
            "lengthscale",
        ),
        ("zero-out", "add-one", "neighboring_relation"),
        (
            "\\\"goal\\\":\\\"minimize\\\"",
            "\\\"goal\\\":\\\"minimise\\\"",
            "label",
        ),
        ("\\\"high\\\":8.0", "\\\"high\\\":0.5", "space"),
    ] {
        let bytes = with(from, to);
        let refused = PriorFile::parse(&bytes).unwrap_err();
        assert_eq!(refused.what, what, "{from} -> {to}: {refused}");
        assert!(!refused.admissible.is_empty());
    }
    // Negative control: the same way of writing without a change of meaning.
    assert_eq!(
        PriorFile::parse(&with("spring", "autumn"))
            .unwrap()
            .label
            .note
            .as_deref(),
        Some("autumn")
    );
}

/// A label that claims less than its noise costs is refused, one that claims more is not.
#[test]
fn a_label_cannot_claim_a_smaller_epsilon_than_its_noise_has() {
    let mut claims = file();
    claims.label.epsilon *= 0.999;
    assert_eq!(claims.check().unwrap_err().what, "epsilon");
    let mut between = file();
    between.label.replace_epsilon = between.label.epsilon;
    assert_eq!(between.check().unwrap_err().what, "replace_epsilon");
    let mut rounded = file();
    rounded.label.epsilon *= 1.01;
    assert_eq!(rounded.check(), Ok(()));
}

#[test]
fn every_cut_and_every_changed_byte_is_noticed() {
    let bytes = file().to_bytes();
    for end in 0..bytes.len() {
        assert!(PriorFile::parse(&bytes[..end]).is_err(), "cut at {end}");
    }
    let mut noticed = 0;
    for place in 0..bytes.len() {
        let mut other = bytes.clone();
        other[place] ^= 1 << (place % 8);
        // A space between two entries of the header may become another white space.
        noticed += usize::from(PriorFile::parse(&other).is_err_and(|error| !error.what.is_empty()));
        assert!(
            PriorFile::parse(&other).map_or(true, |read| read == file()),
            "byte {place}"
        );
    }
    assert!(noticed + 8 >= bytes.len(), "{noticed} of {}", bytes.len());
    assert!(PriorFile::parse(&[u8::MAX; 16]).is_err_and(|error| error.what == "the file"));
    let huge = [&[u8::MAX; 8][..], b"{}      "].concat();
    assert!(PriorFile::parse(&huge).is_err_and(|error| error.what == "length of the header"));
    let longer = [bytes, vec![0; 4]].concat();
    assert!(PriorFile::parse(&longer).is_err());
}

#[test]
fn numbers_that_no_posterior_has_are_refused() {
    for (x, what) in [
        (f32::NAN, "a number of the posterior"),
        (f32::INFINITY, "a number of the posterior"),
    ] {
        let mut weights = file();
        let mut covariance = file();
        weights.weights[1] = x;
        covariance.covariance[1] = x;
        for hostile in [weights, covariance] {
            assert_eq!(
                PriorFile::parse(&hostile.to_bytes()).unwrap_err().what,
                what
            );
        }
    }
    let mut outside = file();
    outside.landmarks[3] = 1.5;
    assert_eq!(
        PriorFile::parse(&outside.to_bytes()).unwrap_err().what,
        "a landmark"
    );
}

#[test]
fn a_signed_file_names_its_key_and_no_other_key_or_content_passes() {
    let folder = std::env::temp_dir().join(format!("sordino-signed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let keys = ["a.key", "b.key"].map(|name| SigningKey::open(&folder.join(name)).unwrap());
    let plain = file();
    let signed = file().sign(&keys[0]).unwrap();
    assert_eq!(
        (plain.signer(), signed.signer()),
        (None, Some(keys[0].fingerprint()))
    );
    assert_eq!(plain.digest(), signed.digest());
    let read = PriorFile::parse(&signed.to_bytes()).unwrap();
    assert_eq!(read, signed);
    // Another's key, another's signature, half of a signature, a changed label with the digest made
    // right.
    let text = String::from_utf8_lossy(&signed.to_bytes()).into_owned();
    let entry = |text: &str, name: &str| {
        text.split(&format!("\"{name}\":\""))
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap()
            .to_owned()
    };
    let key = entry(&text, "key");
    let signature = entry(&text, "signature");
    let other = String::from_utf8_lossy(&file().sign(&keys[1]).unwrap().to_bytes()).into_owned();
    for (from, to, what) in [
        (key.clone(), entry(&other, "key"), "signature"),
        (signature.clone(), entry(&other, "signature"), "signature"),
        (
            signature.clone(),
            "zz".repeat(signature.len() / 2),
            "signature",
        ),
        (key.clone(), key[2..].to_owned(), "signature"),
        (format!("\"key\":\"{key}\","), String::new(), "key"),
        (
            format!(",\"signature\":\"{signature}\""),
            String::new(),
            "signature",
        ),
        ("spring".into(), "winter".into(), "signature"),
    ] {
        let refusal = PriorFile::parse(&edited(&signed.to_bytes(), &from, &to)).unwrap_err();
        assert_eq!(refusal.what, what, "{from} -> {to}: {refusal}");
    }
    // No key at all is a file that nobody signed, and the question for one is answered with nobody.
    let unsigned = edited(
        &signed.to_bytes(),
        &format!(",\"key\":\"{key}\",\"signature\":\"{signature}\""),
        "",
    );
    assert_eq!(PriorFile::parse(&unsigned).unwrap().signer(), None);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A space with few points is covered by all of them, whatever its axes are; a larger one by what a
/// sequence falls on.
#[test]
fn a_small_space_is_covered_by_all_of_its_points() {
    let space = |text: &str| SpaceFile::parse("s", text).unwrap().space;
    let text = "[parameters.a]\nlow = 3\nhigh = 40\ninteger = true\nscale = \"log\"\n[parameters.b]\n\
                choices = [16, 64, 256]\nordered = true\n[parameters.c]\nchoices = [\"x\", \"y\"]";
    let small = space(text);
    let all = points(&small, 228).unwrap();
    let expected: Vec<Vec<f64>> = (3..=40)
        .flat_map(|a| {
            (0..3).flat_map(move |b| (0..2).map(move |c| [a, b, c].map(f64::from).to_vec()))
        })
        .collect();
    assert_eq!(all, expected);
    assert!(
        all.iter()
            .all(|numbers| small.core().unwrap().check(numbers).is_ok())
    );
    // Negative controls: one point too many, and an axis of real numbers.
    let sequence = points(&small, 227).unwrap();
    assert!(sequence.len() < 227 && sequence != expected[..sequence.len()]);
    let real = points(
        &space(&format!("{text}\n[parameters.d]\nlow = 0\nhigh = 1")),
        300,
    )
    .unwrap();
    assert_eq!(real.len(), 300);
}

/// What verifies is what every reader of the format sees: the digest covers label and numbers, and
/// nothing else may be there.
#[test]
fn a_header_says_what_the_writer_would_and_nothing_else() {
    let bytes = file().to_bytes();
    let shape = "\"shape\":[3,6]";
    let bare = |from: &str, to: &str| {
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let text = std::str::from_utf8(&bytes[8..8 + length])
            .unwrap()
            .replacen(from, to, 1);
        [
            &(text.len() as u64).to_le_bytes()[..],
            text.as_bytes(),
            &bytes[8 + length..],
        ]
        .concat()
    };
    for (from, to, what) in [
        (shape, "\"shape\":[6,3]", "place of landmarks"),
        (shape, "\"shape\":[18]", "place of landmarks"),
        (
            "\"format\":",
            "\"note\":\"signed by all\",\"format\":",
            "an entry of __metadata__",
        ),
        (
            "{\"__metadata__\"",
            "{\"weights\":0,\"__metadata__\"",
            "the header",
        ),
        ("{\"__metadata__\"", "{ \"__metadata__\"", "the header"),
    ] {
        let refusal = PriorFile::parse(&bare(from, to)).unwrap_err();
        assert_eq!(refusal.what, what, "{to}: {refusal}");
    }
    assert!(PriorFile::parse(&bare("\"format\":", "\"format\":")).is_ok());
    // Another text of the same label, with the digest made right: it would be shown under another
    // digest than it was signed under.
    let refusal = PriorFile::parse(&with("{\\\"space\\\":", "{ \\\"space\\\":")).unwrap_err();
    assert_eq!(
        (refusal.what.as_str(), refusal.found.as_str()),
        ("label", "written otherwise")
    );
}

#[test]
fn what_a_file_says_changes_no_terminal() {
    for (from, to) in [
        ("\"digest\":", "\"\\u001b]0;x\\u0007\":0,\"digest\":"),
        ("spring", "\\u202espring"),
        ("sordino prior 1", "\\u001b[31msordino"),
    ] {
        let said = PriorFile::parse(&with(from, to)).unwrap_err().to_string();
        assert!(!said.chars().any(crate::text::is_unseen), "{said:?}");
    }
    let long = PriorFile::parse(&with("sordino prior 1", &"x".repeat(100_000)))
        .unwrap_err()
        .to_string();
    assert!(long.len() < 1000, "{}", long.len());
}
