//! The reporter's task: a value that leaves is perturbed here, and its price is in flash before it
//! is measured.

use core::convert::Infallible;

use sordino_core::digest::Digest;
use sordino_core::local::{Reporter, ReporterInput, ReporterOutput, ReporterState};
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::{Charge, Epsilon, Ledger, Provenance};

use crate::board;
use crate::config::{BOUND, BUDGET, EACH, USER};
use crate::federation::DIM;

/// The device's ledger is its stored state, which is charged already. **Append to it only after the
/// state is in flash**: this is the one function that a reviewer of privacy reads first.
struct InFlash;

impl<P: Provenance> Ledger<P> for InFlash {
    type Error = Infallible;
    fn write(&mut self, _: &Charge<P>) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Reports until the budget is spent.
#[embassy_executor::task]
pub async fn reporter() {
    let epsilon = |value| Epsilon::new(value).expect("a constant in range");
    // Values in [-BOUND, BOUND] on a grid of 2^-20.
    let mechanism = ClampedLaplace::new(BOUND, 20, epsilon(EACH)).expect("constants in range");
    // With its user and budget: a flash of others is refused, and spends nothing in their place.
    let mut store = board::store(Digest::of(&("reporter", USER, BUDGET.to_bits())));
    let first = || ReporterState::new(USER, epsilon(BUDGET));
    let (mut written, mut state) = store
        .load(0)
        .await
        .expect("flash")
        .unwrap_or_else(|| (0, first()));
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
        written += 1;
        store.save(0, &state, written).await.expect("flash");
        let Ok(receipt) = InFlash.append(charge);
        let mut reporter = Reporter::attach(&mechanism, &mut state);
        reporter
            .handle::<f32, _>(ReporterInput::Charged(receipt), &mut source)
            .expect("its own receipt");
        let reward = board::measure([candidate as f32 / 8.0; DIM]).await;
        match reporter.handle(ReporterInput::Reward(reward), &mut source) {
            Ok(ReporterOutput::Report(report)) => board::report(report).await,
            // No noise, no report. What was charged stays charged, so a dead source must not be
            // asked again and again.
            Ok(_) | Err(_) => break,
        }
        sent += 1;
    }
    board::done("reporter", sent);
}
