//! What is written down about a method while it runs: transcript, regret, releases, faults.

use sordino_core::federated::transcript::link;
use sordino_core::federated::{Aggregation, Counters};
use sordino_core::math::Scalar;
use sordino_experiment::record::{Left, MethodRun, is_report_round};
use sordino_experiment::world::fault::FaultCounts;

use super::blocks;
use super::collective::Partial;
use super::context::MethodContext;
use super::error::DriverError;
use super::regret_counts::RegretCounts;

/// Records one method.
pub struct Recorder(MethodRun);

impl Recorder {
    /// A recorder without an entry.
    pub fn new<T>(method: &MethodContext<T>) -> Self {
        Recorder(MethodRun::new(method.method.named(), method.run.index))
    }

    /// A recorder that goes on with what it held.
    pub fn resume(run: MethodRun) -> Self {
        Recorder(run)
    }

    /// What it holds so far.
    pub fn read(&self) -> &MethodRun {
        &self.0
    }

    /// What was recorded, with what the method leaves besides.
    pub fn close(self, prior: Option<Result<Left, String>>) -> MethodRun {
        MethodRun { prior, ..self.0 }
    }

    /// Adds a release of a federated prior or a campaign that followed the last round: its
    /// partials, and what was released. The round's link of the chain is replaced by one after it.
    ///
    /// **Errors**: as [`Recorder::end_round`].
    pub fn add_release<T: Scalar>(
        &mut self,
        method: &MethodContext<T>,
        partials: &mut [Partial],
        released: &[T],
    ) -> Result<(), DriverError> {
        partials.sort_by_key(|partial| partial.agents.start);
        let agents = method.config.parameters().agents;
        let round = (self.0.regret.len() as u32).saturating_sub(1);
        let (leaves, _) =
            blocks::join(agents, partials.iter().flat_map(|partial| &partial.pieces))?;
        self.0.digest = link(&self.0.digest, round, leaves.into_iter(), released);
        if let Some(last) = self.0.chain.last_mut() {
            *last = self.0.digest;
        }
        if let Some(faults) = self
            .0
            .faults
            .last_mut()
            .filter(|_| !method.faults.is_none())
        {
            partials
                .iter()
                .for_each(|partial| faults.add(&partial.faults));
        }
        self.0.releases += 1;
        // One run leaves a file of them.
        if self.0.run == 0 {
            self.0.released.extend(released.iter().map(|x| x.to_f64()));
        }
        Ok(())
    }

    /// Ends round t. `partials` come in any order; `released` is the broadcast that followed the
    /// round, and what happened to the vectors in it.
    ///
    /// **Errors**: [`DriverError::Check`] if the partials do not cover every agent exactly once.
    pub fn end_round<T: Scalar>(
        &mut self,
        method: &MethodContext<T>,
        partials: &mut [Partial],
        released: Option<(&[T], Counters)>,
    ) -> Result<(), DriverError> {
        partials.sort_by_key(|partial| partial.agents.start);
        let agents = method.config.parameters().agents;
        let rounds = method.config.parameters().rounds;
        let round = self.0.regret.len() as u32;
        let (leaves, sum) =
            blocks::join(agents, partials.iter().flat_map(|partial| &partial.pieces))?;
        self.0.regret.push(rounded(sum / f64::from(agents), 5));
        if is_report_round(round, rounds) {
            let mut regrets = RegretCounts::default();
            partials
                .iter()
                .for_each(|partial| regrets.add(&partial.regrets));
            self.0
                .regret_quantiles
                .push((round, quantiles(agents, &regrets)?));
        }
        let mut faults = FaultCounts::default();
        partials
            .iter()
            .for_each(|partial| faults.add(&partial.faults));
        partials
            .iter_mut()
            .for_each(|partial| self.0.observations.append(&mut partial.observations));
        let broadcast = released.map_or(&[][..], |(vectors, _)| vectors);
        self.0.digest = link(&self.0.digest, round, leaves.into_iter(), broadcast);
        self.0.chain.push(self.0.digest);
        if !method.faults.is_none() {
            self.0.faults.push(faults);
        }
        // A vote's release has a configuration of its own.
        let draws = matches!(
            method.config.parameters().aggregation,
            Aggregation::Private { .. }
        );
        let private = draws || method.method.is_vote();
        if let Some((_, counters)) = released
            && private
        {
            self.0.releases += 1;
            self.0.selected.push(counters.selected);
            self.0.clipped.push(counters.clipped);
        }
        Ok(())
    }
}

/// The 10 %, 50 % and 90 % quantiles of the agents' regrets, by nearest rank.
fn quantiles(agents: u32, regrets: &RegretCounts) -> Result<[f64; 3], DriverError> {
    let wrong = DriverError::Check("a report round without the regrets of all agents, each once");
    let last = agents
        .checked_sub(1)
        .filter(|_| regrets.count() == u64::from(agents))
        .ok_or(wrong)?;
    let [low, middle, high] =
        [0.1, 0.5, 0.9].map(|share| regrets.of_rank((f64::from(last) * share + 0.5) as u64));
    match (low, middle, high) {
        (Some(low), Some(middle), Some(high)) => Ok([low, middle, high]),
        _ => Err(DriverError::Check("a rank beyond the last agent's")),
    }
}

/// The nearest number with this many significant decimal digits. No more is kept than the tables
/// and pictures of a run folder show: regret is known to three digits at best.
fn rounded(x: f64, digits: usize) -> f64 {
    format!("{x:.*e}", digits - 1).parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The quantiles by their definition: over the regrets of all agents in one place.
    fn of_all(mut regrets: Vec<f64>) -> [f64; 3] {
        let last = regrets.len() - 1;
        [0.1, 0.5, 0.9].map(|share| {
            let place = (last as f64 * share + 0.5) as usize;
            rounded(*regrets.select_nth_unstable_by(place, f64::total_cmp).1, 3)
        })
    }

    #[test]
    fn quantiles_of_counts_are_those_of_all_regrets_in_one_place() {
        for agents in [1u32, 2, 3, 10, 11, 200, 1025] {
            let regrets: Vec<f64> = (0..agents)
                .map(|n| 1.7 / f64::from(n * n % 997 + 3) - 1e-4)
                .collect();
            let mut regret_counts = RegretCounts::default();
            regrets
                .chunks(7)
                .for_each(|part| regret_counts.add(&RegretCounts::of(part)));
            let found = quantiles(agents, &regret_counts).unwrap();
            assert_eq!(
                found.map(f64::to_bits),
                of_all(regrets.clone()).map(f64::to_bits),
                "{agents} agents"
            );
            // Negative controls: an agent too few, one too many, and another agent's regret.
            assert!(
                quantiles(agents + 1, &regret_counts).is_err()
                    && quantiles(agents - 1, &regret_counts).is_err()
            );
            let other: Vec<f64> = regrets.iter().map(|regret| regret * 1.01).collect();
            assert_ne!(
                quantiles(agents, &RegretCounts::of(&other)).unwrap(),
                found,
                "{agents} agents"
            );
        }
    }

    #[test]
    fn numbers_are_kept_to_their_significant_digits() {
        for (x, five, three) in [
            (0.009314581836016656, 0.0093146, 0.00931),
            (1.3132837609659003, 1.3133, 1.31),
            (123_456_789.0, 123_460_000.0, 123_000_000.0),
            (0.0, 0.0, 0.0),
            (-2.5e-17, -2.5e-17, -2.5e-17),
        ] {
            assert_eq!((rounded(x, 5), rounded(x, 3)), (five, three));
        }
        assert!(rounded(f64::INFINITY, 5) == f64::INFINITY && rounded(f64::NAN, 5).is_nan());
    }
}
