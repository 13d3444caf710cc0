//! A reporter: its state is its ledger, and a charge counts when both slots hold it.

use sordino_core::digest::{Digest, Frame};
use sordino_core::local::{Reporter, ReporterInput, ReporterOutput, ReporterState};
use sordino_core::privacy::charge::Unwritten;
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::{Epsilon, Ledger, Simulated};
use sordino_core::random::Stream;
use sordino_core::snapshot::newest_or_first;

use super::{Flash, Stop, World};

const REPORTS: u32 = 6;
/// ε of a report, and of all that the device ever says.
const EACH: f64 = 0.5;
/// Six reports, and two that cuts may have paid for in vain.
const BUDGET: f64 = 4.0;

/// From the boot to the end of the run. What is measured never reaches the flash.
///
/// **Errors**: [`Stop`].
pub fn boot(flash: &mut Flash<'_>, world: &mut World) -> Result<(), Stop> {
    let epsilon = |value| Epsilon::new(value).map_err(|_| Stop::Refused("epsilon"));
    let agreement = Digest::of(&("reporter", REPORTS));
    let mechanism =
        ClampedLaplace::new(1.5, 20, epsilon(EACH)?).map_err(|_| Stop::Refused("mechanism"))?;
    let (mut number, mut state) =
        flash.load(ReporterState::new(7, epsilon(BUDGET)?), &agreement)?;
    for candidate in 0..REPORTS {
        if world.has(candidate as usize) {
            continue; // The learner has the answer and does not ask again.
        }
        let source = &mut Simulated::new(Stream::from_seed(u64::from(candidate)));
        let query = ReporterInput::Query { candidate };
        let charge = match Reporter::attach(&mechanism, &mut state).handle::<f32, _>(query, source)
        {
            Ok(ReporterOutput::Charge(charge)) => charge,
            _ => return Err(Stop::Refused("query")),
        };
        // The stored state is the ledger: it is charged already, and only when it is written is
        // there a receipt.
        flash.save(&state, &mut number, &agreement)?;
        let receipt = Unwritten
            .append(charge)
            .map_err(|_| Stop::Refused("ledger"))?;
        let mut reporter = Reporter::attach(&mechanism, &mut state);
        if reporter
            .handle::<f32, _>(ReporterInput::Charged(receipt), source)
            .is_err()
        {
            return Err(Stop::Refused("receipt"));
        }
        flash.step()?;
        let reward = world.measure(candidate, &[candidate as f32 / REPORTS as f32]);
        let report = match reporter.handle(ReporterInput::Reward(reward), source) {
            Ok(ReporterOutput::Report(release)) => *release.value(),
            _ => return Err(Stop::Refused("reward")),
        };
        flash.step()?;
        let mut frame = Frame::leaf();
        frame.scalars(&[report]);
        world.hear(candidate as usize, frame)?;
    }
    Ok(())
}

/// ε that the newest stored state says was spent, and ε of what the world has heard: the first is
/// never less.
///
/// **Errors**: [`Stop::Stored`].
pub fn spent_and_said(flash: &Flash<'_>, world: &World) -> Result<(f64, f64), Stop> {
    let agreement = Digest::of(&("reporter", REPORTS));
    let found = newest_or_first::<ReporterState>([flash.slot(0), flash.slot(1)], &agreement);
    let spent = match found {
        Ok(Some((_, state))) => state.budget().spent(),
        Ok(None) => 0.0,
        Err(error) => return Err(error.into()),
    };
    Ok((spent, EACH * world.said() as f64))
}
