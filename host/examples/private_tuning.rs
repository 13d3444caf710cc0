//! One tuned result, published privately: `cargo run -p sordino-host --example private_tuning`.
//!
//! 40 thresholds of a test were scored on 2,000 private records; a reader of the published one must
//! not learn how the test classified any single record. The guarantee holds for every data set, as
//! long as the candidates do not depend on the scored records. `sordino tune` does this for your
//! own training command, with a ledger on disk.

use std::error::Error;

use sordino_core::output::publisher::{PublisherInput, PublisherOutput, Score};
use sordino_core::output::{FailureRule, Publisher, PublisherState, ScoreScale, WorstCase};
use sordino_core::privacy::{Epsilon, Ledger as _};
use sordino_host::entropy;
use sordino_host::ledger::{Accounting, CounterPlace, Ledger, Options, Terms, loss};

const CANDIDATES: u32 = 40;
const RECORDS: u32 = 2000;

/// How many records threshold `candidate` classifies correctly: known to this program alone.
fn correct(candidate: u32) -> u64 {
    let truth = |record: u32| record % 100 >= 63;
    let says = |record: u32| record % 100 >= 100 * candidate / CANDIDATES;
    (0..RECORDS)
        .filter(|record| truth(*record) == says(*record))
        .count() as u64
}

fn main() -> Result<(), Box<dyn Error>> {
    // A score is a count of records: changing one record moves it by at most 1, exactly.
    let scale = ScoreScale::per_record(1, RECORDS)?;
    let candidate = Epsilon::new(0.5)?;
    let value = Epsilon::new(0.5)?;
    let mechanism = WorstCase::new(CANDIDATES, scale, candidate, value, FailureRule::Abort)?;
    let events = mechanism.events();
    let delta: f64 = events.iter().filter_map(loss).map(|(_, delta)| delta).sum();
    let terms = Terms {
        data: "records of 2026".into(),
        unit: "record".into(),
        records: Some(RECORDS.into()),
        accounting: Accounting::Sum,
        epsilon_max: Some(1.0),
        delta,
    };
    let folder = std::env::temp_dir().join(format!("sordino-tuning-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let options = Options {
        counter: CounterPlace::Nowhere,
        another: false,
        next: events.to_vec(),
    };
    let mut ledger = Ledger::open_secret(&folder.join("ledger.jsonl"), &terms, &options)?;
    let source = &mut entropy::system()?;
    let mut state = PublisherState::new();
    let mut levels = [0; CANDIDATES as usize];
    let mut order = [0; CANDIDATES as usize];
    let mut publisher = Publisher::attach(&mechanism, &mut state, &mut levels, &mut order)?;
    for candidate in 0..CANDIDATES {
        let score = Score::Sum(correct(candidate));
        publisher.handle(PublisherInput::Scored { candidate, score }, source)?;
    }
    let PublisherOutput::Charge(charge) = publisher.handle(PublisherInput::Close, source)? else {
        unreachable!()
    };
    let receipt = ledger.append(charge)?; // durable, or nothing leaves
    if let PublisherOutput::Released { candidate, score } =
        publisher.handle(PublisherInput::Charged(receipt), source)?
    {
        let threshold = 100 * candidate.value() / CANDIDATES;
        println!(
            "threshold {threshold} of 100, correct on about {:.3} of the records",
            score.value()
        );
    }
    println!(
        "epsilon {} of 1 is spent: {}",
        ledger.spent()?.epsilon,
        folder.display()
    );
    Ok(())
}
