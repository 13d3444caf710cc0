//! What the runs of a scenario amount to: means, standard errors, quantiles, privacy losses.

use std::collections::BTreeMap;

use sordino_core::digest::Digest;
use sordino_core::digest::combine;
use sordino_core::privacy::accountant::{
    Accountant, AccountantError, MomentsAccountant, PldAccountant, PrivacySpent,
};
use sordino_core::privacy::{Event, NeighboringRelation};

use crate::record::{Measure, MethodRun};
use crate::scenario::method::ReleaseKind;
use crate::scenario::{CAMPAIGN_RELEASES, Guarantee, Method, MethodName, Scenario};
use crate::student;

/// The δ at which losses are shown in addition to the scenario's own.
pub const SMALL_DELTA: f64 = 1e-5;

/// A mean over runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Mean over the runs.
    pub mean: f64,
    /// Its standard error; unknown from a single run.
    pub standard_error: Option<f64>,
}

impl Estimate {
    /// Mean and standard error of independent values, in two passes; NaN if there are none.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
        Estimate {
            mean,
            standard_error: (values.len() > 1).then(|| (squares / (n - 1.0) / n).sqrt()),
        }
    }

    /// The estimate under a name, as it is written down.
    pub fn measure(self, name: &str) -> Measure {
        Measure {
            name: name.to_owned(),
            mean: self.mean,
            standard_error: self.standard_error,
        }
    }
}

impl From<&Measure> for Estimate {
    fn from(measure: &Measure) -> Self {
        Estimate {
            mean: measure.mean,
            standard_error: measure.standard_error,
        }
    }
}

/// Half width of the 95 % confidence interval (Student) of the mean of independent values; unknown
/// from a single one.
pub fn half_width(values: &[f64]) -> Option<f64> {
    let error = Estimate::of(values).standard_error?;
    Some(student::quantile(values.len() - 1) * error)
}

/// A difference between two methods over paired runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Mean of first − second.
    pub mean: f64,
    /// Half width of the 95 % confidence interval (Student); unknown from a single pair.
    pub half_width: Option<f64>,
    /// Pairs in which the first is smaller.
    pub smaller: usize,
    /// Number of pairs.
    pub pairs: usize,
}

impl Paired {
    /// First − second, pair by pair.
    pub fn of(first: &[f64], second: &[f64]) -> Self {
        let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
        Paired {
            mean: Estimate::of(&differences).mean,
            half_width: half_width(&differences),
            smaller: differences
                .iter()
                .filter(|difference| **difference < 0.0)
                .count(),
            pairs: differences.len(),
        }
    }
}

/// ε of all releases of one run, by two accountants. `None` where there is no finite bound.
///
/// A budget (`privacy.max_epsilon`) counts as the ledger does: exactly where everybody is in each
/// release, and by Rényi accounting, for which filters are proven, where releases are sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrivacyLoss {
    /// Which two inputs are compared.
    pub relation: NeighboringRelation,
    /// The δ of both accountants.
    pub delta: f64,
    /// By privacy-loss distributions, within about 1e-4 of the truth, relative and never below it:
    /// the number that is shown.
    pub tight: Option<f64>,
    /// ε between any two contributions that an agent may have sent, at the same δ and by the same
    /// distributions.
    pub between: Option<f64>,
    /// How often the best guess "used or counted as nothing" is right at most, if both are as
    /// likely; for any δ.
    pub best_guess: f64,
    /// As the paper accounts, log-moments 1..32: to compare with what it prints.
    pub moments: Option<f64>,
}

/// The one release of a vote: everybody's, of the multiplier that spends what the plan of the
/// federated prior spends.
pub fn vote_event(scenario: &Scenario) -> Event {
    let relation = NeighboringRelation::ReplaceSpecial;
    let together = scenario.prior.as_ref().and_then(|prior| prior.together());
    let noise_multiplier = together.map_or(0.0, |together| together.value());
    Event::PoissonSampledGaussian {
        sampling_probability: 1.0,
        noise_multiplier,
        relation,
    }
}

/// What the first `releases` releases of a private method spend: an event, and how often it occurs.
///
/// The releases of a federated prior and of a campaign are unsampled Gaussians, each with its own
/// multiplier, together one Gaussian
/// ([`PriorConfig::spent_by`](crate::scenario::PriorConfig::spent_by)); the releases of any other
/// method are all equal.
pub fn spending(scenario: &Scenario, method: Method, releases: u32) -> (Event, u32) {
    let scenario = scenario.of(method);
    if method.samples() {
        return (scenario.privacy.event(), releases);
    }
    if method.is_vote() {
        return (vote_event(scenario), releases);
    }
    match scenario
        .prior
        .as_ref()
        .and_then(|prior| prior.spent_by(method, releases))
    {
        Some(event) => (event, 1),
        None => (scenario.privacy.event(), 0),
    }
}

/// Loss of `releases` equal releases.
///
/// **Errors**: numbers out of range, δ outside (0, 1).
pub fn privacy_loss(
    event: &Event,
    releases: u32,
    delta: f64,
) -> Result<PrivacyLoss, AccountantError> {
    let mut tight = PldAccountant::new();
    tight.compose(event, releases)?;
    Ok(PrivacyLoss {
        relation: event.relation(),
        delta,
        tight: finite(Accountant::epsilon(&tight, delta))?,
        between: finite(tight.replace_epsilon(delta))?,
        best_guess: tight.best_guess()?,
        moments: loss_by(&mut MomentsAccountant::new(), event, releases, delta)?,
    })
}

/// ε, or nothing where there is no finite bound.
fn finite(answer: Result<PrivacySpent, AccountantError>) -> Result<Option<f64>, AccountantError> {
    match answer {
        Ok(spent) => Ok(Some(spent.epsilon)),
        Err(AccountantError::NoFiniteEpsilon { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn loss_by(
    accountant: &mut dyn Accountant,
    event: &Event,
    releases: u32,
    delta: f64,
) -> Result<Option<f64>, AccountantError> {
    accountant.compose(event, releases)?;
    finite(accountant.epsilon(delta))
}

/// The tight ε at up to `points` counts of equal releases, in rising order from 0 to `releases`; at
/// every count if there are no more than that. Composition is smooth, and each ε costs a
/// millisecond.
///
/// **Errors**: as [`privacy_loss`].
pub fn loss_curve(
    event: &Event,
    releases: u32,
    delta: f64,
    points: u32,
) -> Result<Vec<(u32, Option<f64>)>, AccountantError> {
    let steps = points.min(releases).max(1);
    (0..=steps)
        .map(|i| {
            let count = (u64::from(releases) * u64::from(i) / u64::from(steps)) as u32;
            let epsilon = loss_by(&mut PldAccountant::new(), event, count, delta)?;
            Ok((count, epsilon))
        })
        .collect()
}

/// ε after `releases`, or after the next larger count of the curve: never below the truth. `None`
/// beyond its end.
pub fn loss_after(curve: &[(u32, Option<f64>)], releases: u32) -> Option<f64> {
    curve
        .iter()
        .find(|(count, _)| *count >= releases)
        .and_then(|(_, epsilon)| *epsilon)
}

/// The tight ε at the scenario's δ after up to `releases` releases of a private method, for
/// [`loss_after`].
///
/// **Errors**: as [`privacy_loss`].
pub fn losses(
    scenario: &Scenario,
    method: Method,
    releases: u32,
) -> Result<Vec<(u32, Option<f64>)>, AccountantError> {
    let delta = scenario.privacy.delta;
    if !method.samples() {
        return (0..=releases)
            .map(|made| {
                let (event, count) = spending(scenario, method, made);
                let epsilon = loss_by(&mut PldAccountant::new(), &event, count, delta)?;
                Ok((made, epsilon))
            })
            .collect();
    }
    let event = scenario.of(method).privacy.event();
    if releases == 0 {
        Ok(Vec::new())
    } else {
        loss_curve(&event, releases, delta, LOSSES_MAX)
    }
}

/// Largest number of counts at which a run asks for ε.
const LOSSES_MAX: u32 = 256;

/// What one method did over all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodStatistics {
    /// The method that is summed up.
    pub method: Method,
    /// Digests of its runs, combined in order.
    pub digest: Digest,
    /// Summed regret of each run: the regret curve summed over t = 0..=T.
    pub sums: Vec<f64>,
    /// Mean of `sums`.
    pub summed_regret: Estimate,
    /// Mean over runs of the regret, t = 0..=T.
    pub curve: Vec<Estimate>,
    /// Mean over runs of the 10 %, 50 % and 90 % quantiles over agents, with t, at report rounds.
    pub spread: Vec<(u32, [f64; 3])>,
    /// Mean over runs of the share of uploads that were clipped, by broadcast. Simulation only:
    /// *not releasable*.
    pub clipped_share: Vec<f64>,
    /// Releases of one run (the most of any).
    pub releases: u32,
    /// What those releases cost at the scenario's δ and at [`SMALL_DELTA`]; only for private
    /// methods.
    pub losses: Option<[PrivacyLoss; 2]>,
}

impl MethodStatistics {
    /// Name and digest, by which twins are found.
    pub fn named(&self) -> (&str, Option<String>) {
        (self.method.name(), Some(self.digest.to_string()))
    }

    /// What the method's releases promise.
    pub fn guarantee(&self) -> Guarantee {
        self.method.guarantee()
    }
}

/// What all methods did over all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Digests of all methods of all runs, combined in order.
    pub digest: Digest,
    /// In the scenario's order.
    pub methods: Vec<MethodStatistics>,
    /// What private methods paid for, grouped by equal releases; methods that sample come first.
    pub paid: Vec<Paid>,
}

impl Statistics {
    /// What a method paid for; `None` unless it is private.
    pub fn paid_by(&self, name: MethodName) -> Option<&Paid> {
        self.paid
            .iter()
            .find(|paid| paid.methods.iter().any(|method| name == *method))
    }
}

/// Private methods that pay for the same releases, and what these releases cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Paid {
    /// In the scenario's order; at least one.
    pub methods: Vec<Method>,
    /// The tight ε at the scenario's δ over releases, up to the most of any run; for
    /// [`loss_after`]. Empty if nothing was released.
    pub losses: Vec<(u32, Option<f64>)>,
}

impl Paid {
    /// The last of them that is not an ablation, or else the first.
    pub fn main(&self) -> Option<Method> {
        let whole = self.methods.iter().rfind(|method| !method.is_ablation());
        whole.or(self.methods.first()).copied()
    }
}

/// The private methods of a scenario, grouped by the releases they pay for; methods that sample
/// come first.
pub fn paid_alike(scenario: &Scenario) -> Vec<Vec<Method>> {
    let mut groups: Vec<Vec<Method>> = Vec::new();
    for method in scenario
        .methods()
        .filter(|method| method.guarantee() == Guarantee::DifferentialPrivacy)
    {
        match groups
            .iter_mut()
            .find(|group| pay_alike(scenario, group[0], method))
        {
            Some(group) => group.push(method),
            None => groups.push(vec![method]),
        }
    }
    groups.sort_by_key(|group| group[0].releases());
    groups
}

/// Whether the releases of two private methods are the same events after the same rounds.
fn pay_alike(scenario: &Scenario, one: Method, other: Method) -> bool {
    let [a, b] = [one, other].map(|method| scenario.of(method));
    one.releases() == other.releases()
        && match one.releases() {
            ReleaseKind::Sampled => a.privacy.event() == b.privacy.event(),
            ReleaseKind::Planned => planned(a) == planned(b),
            ReleaseKind::Vote => vote_event(a) == vote_event(b),
            ReleaseKind::Campaign => {
                spending(a, one, CAMPAIGN_RELEASES) == spending(b, other, CAMPAIGN_RELEASES)
            }
        }
}

/// Rounds and noise multipliers of the releases of a scenario's federated prior.
fn planned(scenario: &Scenario) -> Option<(&[u32], &[f64])> {
    let prior = scenario.prior.as_ref()?;
    Some((&prior.plan.releases, &prior.noise_multipliers))
}

/// Column means of rows of equal length.
fn column_means<'r>(rows: impl Iterator<Item = &'r [f64]> + Clone) -> Vec<f64> {
    let width = rows.clone().map(<[f64]>::len).min().unwrap_or(0);
    let count = rows.clone().count() as f64;
    (0..width)
        .map(|column| rows.clone().map(|row| row[column]).sum::<f64>() / count)
        .collect()
}

/// The digest of all runs and methods of a federation, whatever the order of its results.
pub fn digest(scenario: &Scenario, results: &[MethodRun]) -> Digest {
    let mut by_place: BTreeMap<(u32, usize), &Digest> = BTreeMap::new();
    for result in results {
        let place = scenario
            .federation
            .methods
            .iter()
            .position(|name| *name == result.method);
        by_place.extend(place.map(|place| ((result.run, place), &result.digest)));
    }
    let runs: Vec<Digest> = (0..scenario.runs)
        .map(|run| {
            combine(
                by_place
                    .range((run, 0)..=(run, usize::MAX))
                    .map(|(_, digest)| *digest),
            )
        })
        .collect();
    combine(runs.iter())
}

/// Condenses the results of a federation, whatever their order.
///
/// **Errors**: the accountant's; none for a scenario that was read from TOML.
///
/// **Cost**: a privacy-loss distribution for each group of methods that pay alike.
pub fn statistics(
    scenario: &Scenario,
    results: &[MethodRun],
) -> Result<Statistics, AccountantError> {
    let methods = scenario
        .methods()
        .map(|method| method_statistics(scenario, method, results));
    let methods = methods.collect::<Result<Vec<_>, _>>()?;
    let mut paid = Vec::new();
    for group in paid_alike(scenario) {
        let of = methods.iter().filter(|found| group.contains(&found.method));
        let losses = match of.map(|found| found.releases).max() {
            None | Some(0) => Vec::new(),
            Some(releases) => losses(scenario, group[0], releases)?,
        };
        paid.push(Paid {
            methods: group,
            losses,
        });
    }
    Ok(Statistics {
        digest: digest(scenario, results),
        methods,
        paid,
    })
}

/// Means over runs of one of the three quantiles, at report rounds.
fn mean_quantiles(runs: &[&MethodRun], which: usize) -> Vec<f64> {
    let rows: Vec<Vec<f64>> = runs
        .iter()
        .map(|run| {
            run.regret_quantiles
                .iter()
                .map(|(_, three)| three[which])
                .collect()
        })
        .collect();
    column_means(rows.iter().map(Vec::as_slice))
}

/// The share of a run's uploads that were clipped, by broadcast.
fn clipped_shares(run: &MethodRun) -> Vec<f64> {
    let counts = run.clipped.iter().zip(&run.selected);
    counts
        .map(|(clipped, selected)| f64::from(*clipped) / f64::from(*selected).max(1.0))
        .collect()
}

fn method_statistics(
    scenario: &Scenario,
    method: Method,
    results: &[MethodRun],
) -> Result<MethodStatistics, AccountantError> {
    let mut runs: Vec<&MethodRun> = results
        .iter()
        .filter(|result| result.method == method)
        .collect();
    runs.sort_by_key(|result| result.run);
    let sums: Vec<f64> = runs.iter().map(|run| run.regret.iter().sum()).collect();
    let rounds = runs.iter().map(|run| run.regret.len()).min().unwrap_or(0);
    let curve = (0..rounds)
        .map(|t| Estimate::of(&runs.iter().map(|run| run.regret[t]).collect::<Vec<_>>()))
        .collect();
    let low = mean_quantiles(&runs, 0);
    let middle = mean_quantiles(&runs, 1);
    let high = mean_quantiles(&runs, 2);
    let reports = runs
        .first()
        .into_iter()
        .flat_map(|run| &run.regret_quantiles)
        .map(|(round, _)| *round);
    let spread = reports.zip(low.into_iter().zip(middle).zip(high));
    let clipped: Vec<Vec<f64>> = runs.iter().map(|run| clipped_shares(run)).collect();
    let releases = runs.iter().map(|run| run.releases).max().unwrap_or(0);
    let losses = match method.guarantee() {
        Guarantee::DifferentialPrivacy => {
            let (event, count) = spending(scenario, method, releases);
            Some([
                privacy_loss(&event, count, scenario.privacy.delta)?,
                privacy_loss(&event, count, SMALL_DELTA)?,
            ])
        }
        Guarantee::NothingReleased | Guarantee::None | Guarantee::Unclaimed => None,
    };
    Ok(MethodStatistics {
        method,
        digest: combine(runs.iter().map(|run| &run.digest)),
        summed_regret: Estimate::of(&sums),
        sums,
        curve,
        spread: spread
            .map(|(round, ((low, middle), high))| (round, [low, middle, high]))
            .collect(),
        clipped_share: column_means(clipped.iter().map(Vec::as_slice)),
        releases,
        losses,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_of_few_values() {
        assert_eq!(
            Estimate::of(&[3.0]),
            Estimate {
                mean: 3.0,
                standard_error: None
            }
        );
        let estimate = Estimate::of(&[1.0, 3.0]);
        assert_eq!((estimate.mean, estimate.standard_error), (2.0, Some(1.0)));
    }

    #[test]
    fn paired_differences_use_students_quantile() {
        let paired = Paired::of(&[1.0, 2.0, 4.0], &[2.0, 4.0, 7.0]);
        assert_eq!((paired.mean, paired.smaller, paired.pairs), (-2.0, 3, 3));
        assert!((paired.half_width.unwrap() - 4.303 / 3f64.sqrt()).abs() < 1e-3);
        assert!(Paired::of(&[1.0], &[2.0]).half_width.is_none());
    }

    /// The paper's losses, N = 200, T = 40.
    #[test]
    fn losses_are_the_papers() {
        for (q, z, printed) in [
            (0.15, 1.0, 5.93),
            (0.25, 1.0, 9.91),
            (0.5, 1.0, 20.12),
            (0.25, 1.2, 7.39),
        ] {
            let event = Event::PoissonSampledGaussian {
                sampling_probability: q,
                noise_multiplier: z,
                relation: NeighboringRelation::ReplaceSpecial,
            };
            let loss = privacy_loss(&event, 40, 200f64.powf(-1.1)).unwrap();
            assert!((loss.moments.unwrap() - printed).abs() < 0.005);
            assert!(loss.tight < loss.moments);
        }
    }

    #[test]
    fn the_loss_that_is_told_is_the_tight_one_by_release() {
        let event = |noise_multiplier| Event::PoissonSampledGaussian {
            sampling_probability: 0.25,
            noise_multiplier,
            relation: NeighboringRelation::ReplaceSpecial,
        };
        let delta = 200f64.powf(-1.1);
        let loss = privacy_loss(&event(1.0), 40, delta).unwrap();
        assert!(
            (loss.tight.unwrap() - 7.054).abs() < 1e-3
                && (loss.moments.unwrap() - 9.908).abs() < 1e-3
        );
        // `tests/vectors/replace.csv`: between two contributions, and the best guess.
        assert!(
            (loss.between.unwrap() - 12.1818).abs() < 2e-3
                && (loss.best_guess - 0.80051).abs() < 2e-4,
            "{loss:?}"
        );
        // At little noise the paper's accountant says more than twice as much as is needed.
        let low = privacy_loss(&event(0.5), 40, delta).unwrap();
        assert!(low.moments.unwrap() > 2.2 * low.tight.unwrap(), "{low:?}");
        let curve = loss_curve(&event(1.0), 40, delta, 256).unwrap();
        assert_eq!(
            (curve.len(), curve[0], curve[40].1),
            (41, (0, Some(0.0)), loss.tight)
        );
        assert!(curve.windows(2).all(|pair| pair[0].1 < pair[1].1));
        // Fewer points: what stands between them is never below.
        let few = loss_curve(&event(1.0), 40, delta, 7).unwrap();
        assert_eq!((few.len(), few[7]), (8, (40, loss.tight)));
        assert!((0..=40).all(|count| loss_after(&few, count) >= loss_after(&curve, count)));
        assert!(loss_after(&few, 1) > loss_after(&curve, 1) && loss_after(&few, 41).is_none());
    }
}
