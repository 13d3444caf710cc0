//! The reporter's task: a value that leaves is perturbed here, and its price is in flash before it is measured.

use sordino_core::digest::Digest;
use sordino_core::local::{Reporter, ReporterInput, ReporterOutput, ReporterState};
use sordino_core::privacy::charge::Unwritten;
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::{Epsilon, Ledger};

use crate::board;

/// What this person pays for one report, and for all of them.
const EACH: f64 = 0.5;
const BUDGET: f64 = 2.0;

/// Reports until the budget is spent.
#[embassy_executor::task]
pub async fn reporter() {
    let epsilon = |value| Epsilon::new(value).expect("a constant in range");
    // Values in [-1.5, 1.5] on a grid of 2^-20.
    let mechanism = ClampedLaplace::new(1.5, 20, epsilon(EACH)).expect("constants in range");
    let mut store = board::store_of_reporter(Digest::of(&("reporter", 1)));
    let first = || ReporterState::new(7, epsilon(BUDGET));
    let (mut written, mut state) = store.load(0).await.expect("flash").unwrap_or_else(|| (0, first()));
    let mut source = board::noise();
    let mut sent = 0;
    for candidate in 0.. {
        let query = ReporterInput::Query { candidate };
        // Another kind of answer does not exist here; a refusal is the end of the budget.
        let Ok(ReporterOutput::Charge(charge)) =
            Reporter::attach(&mechanism, &mut state).handle::<f32, _>(query, &mut source)
        else {
            break;
        };
        // The stored state is the ledger.
        let receipt = Unwritten.append(charge).expect("nothing is written here that could fail");
        written += 1;
        store.save(0, &state, written).await.expect("flash");
        let mut reporter = Reporter::attach(&mechanism, &mut state);
        reporter.handle::<f32, _>(ReporterInput::Charged(receipt), &mut source).expect("its own receipt");
        let reward = board::measure([candidate as f32 / 8.0, 0.5]).await;
        match reporter.handle(ReporterInput::Reward(reward), &mut source) {
            Ok(ReporterOutput::Report(report)) => board::report(report).await,
            Ok(_) => break,
            Err(_) => board::entropy_failed(),
        }
        sent += 1;
    }
    board::done("reporter", sent);
}
