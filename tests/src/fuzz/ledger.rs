//! Edits of a ledger. Its chain refuses nearly all of them; so the chain is mended and the same
//! edit is judged again.

use sordino_core::digest::{Digest, Frame};
use sordino_core::privacy::{Event, NeighboringRelation};
use sordino_host::ledger::{Accounting, Ledger, Terms};

use super::refusal::{Refusal, line, place, write};

fn terms() -> Terms {
    Terms {
        data: "run 0, dp-fts-de".into(),
        unit: "agent".into(),
        records: Some(3),
        accounting: Accounting::Renyi,
        epsilon_max: Some(50.0),
        delta: 1e-5,
    }
}

/// A ledger of three charges.
pub(super) fn seed() -> Vec<u8> {
    let path = place("seed.jsonl");
    let _ = std::fs::remove_file(&path);
    let mut ledger = Ledger::open_simulated(&path, &terms()).expect("a new ledger");
    for release in 0..3 {
        let event = Event::PoissonSampledGaussian {
            sampling_probability: 0.5,
            noise_multiplier: 1.0,
            relation: NeighboringRelation::ReplaceSpecial,
        };
        ledger.charge(release, &[event]).expect("a charge");
    }
    std::fs::read(path).expect("the ledger")
}

/// As it is, and under a chain that fits.
pub(super) fn check(bytes: &[u8]) -> Result<(), Refusal> {
    let plain = read(bytes);
    match read(&mended(bytes)) {
        Err(Refusal::Broken(what)) => Err(Refusal::Broken(what)),
        _ => plain,
    }
}

fn read(bytes: &[u8]) -> Result<(), Refusal> {
    let path = place("ledger.jsonl");
    write(&path, bytes);
    let ledger = Ledger::open_simulated(&path, &terms()).map_err(line)?;
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    let spent = ledger.spent().map_err(line)?.epsilon;
    if ledger.len() > lines {
        Err(Refusal::Broken("more charges than lines".into()))
    } else if !(spent >= 0.0) || (spent == 0.0 && !ledger.is_empty()) {
        Err(Refusal::Broken(format!(
            "{} charges cost {spent}",
            ledger.len()
        )))
    } else {
        Ok(())
    }
}

/// The same lines, each with the chain that belongs to it.
fn mended(bytes: &[u8]) -> Vec<u8> {
    let mut chain = Digest::default();
    let mut out = String::new();
    for text in String::from_utf8_lossy(bytes).split_inclusive('\n') {
        let body = match text.rsplit_once(",\"chain\":\"") {
            Some((body, _)) => format!("{body}}}"),
            None => text.trim_end().to_owned(),
        };
        let mut frame = Frame::leaf();
        frame.digest(&chain);
        frame.bytes(body.as_bytes());
        chain = frame.end();
        let open = body.strip_suffix('}').unwrap_or(&body);
        out += &format!("{open},\"chain\":\"{chain}\"}}\n");
    }
    out.into_bytes()
}
