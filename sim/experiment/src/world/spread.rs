//! Where the values of all agents lie, and whether a scenario's public constants admit them.
//!
//! Agents believe that values are draws of a Gaussian process around `federation.constant` with
//! variance `surrogate.signal_variance`, seen with noise of `surrogate.noise_variance`. Where the
//! values are elsewhere, every method is misled, the federated prior most of all: the simulator has
//! the values and says so.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Objective, ObjectiveError};
use crate::files::{read_to_string_bounded, write_atomically};
use crate::scenario::method::{ALONE, RANDOM};
use crate::scenario::outsourced::Goal;
use crate::scenario::{CommandConfig, ObjectiveConfig, Scenario};
use crate::text::significant;

/// A longer file is not read.
const BYTES_MAX: u64 = 1 << 10;
/// A mean that is more prior standard deviations than this from the constant is a contradiction.
const MEAN_MAX: f64 = 3.0;
/// So is a standard deviation that is this many times larger or smaller than the prior's.
const RATIO_MAX: f64 = 10.0;
/// The share of the values' variance that is proposed as noise where the scenario adds less.
const NOISE_SHARE: f64 = 0.01;

/// Number, mean and variance of the noise-free values of all agents, with signs such that more is
/// better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many values were counted.
    pub count: u64,
    /// Their mean, negated where less is better.
    pub mean: f64,
    /// Their variance about this mean.
    pub variance: f64,
}

impl Spread {
    /// Of these values; `None` for fewer than two.
    ///
    /// **Numerics**: Welford's recurrence, which does not cancel.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut count = 0u64;
        let mut mean = 0.0;
        let mut squares = 0.0;
        for value in values {
            count += 1;
            let from = value - mean;
            mean += from / count as f64;
            squares += from * (value - mean);
        }
        (count > 1).then(|| Spread {
            count,
            mean,
            variance: squares / (count - 1) as f64,
        })
    }

    /// Of all agents at all candidates.
    pub fn of_objective(objective: &dyn Objective) -> Option<Self> {
        Self::of((0..objective.agents()).flat_map(|agent| objective.values(agent)))
    }

    /// Of what a program has answered so far; `None` of fewer than two answers.
    pub fn of_answers(config: &CommandConfig, answers: &[f64]) -> Option<Self> {
        let sign = config.goal.sign();
        Self::of(answers.iter().map(|value| sign * value))
    }

    /// Writes it down, unless it is there already from another run.
    ///
    /// **Errors**: the system's.
    pub fn keep(&self, path: &Path) -> Result<(), ObjectiveError> {
        if path.exists() {
            return Ok(());
        }
        serde_json::to_string(self)
            .map_err(io::Error::from)
            .and_then(|text| write_atomically(path, text.as_bytes()))
            .map_err(|error| ObjectiveError::unwritable(path, error))
    }

    /// What was written down; `None` if nothing was.
    ///
    /// **Errors**: the system's; a file that was changed.
    pub fn kept(path: &Path) -> Result<Option<Self>, ObjectiveError> {
        if !path.exists() {
            return Ok(None);
        }
        read_to_string_bounded(path, BYTES_MAX)
            .and_then(|text| serde_json::from_str(&text).map_err(io::Error::from))
            .map(Some)
            .map_err(|error| ObjectiveError::unreadable(path, error))
    }
}

/// What is known of a user's own values: noise that the scenario adds, and whether less is better.
/// Values of other kinds are the scenario's own or are scores from 0 to 1.
fn own(objective: &ObjectiveConfig) -> Option<(f64, Goal)> {
    match objective {
        ObjectiveConfig::Table(config) => Some((config.noise_variance, config.goal)),
        ObjectiveConfig::Fedhpo(config) => Some((config.noise_variance, config.goal)),
        ObjectiveConfig::Command(config) => Some((config.noise_variance, config.goal)),
        _ => None,
    }
}

/// Whether all values are known before anything is asked: those of a table are.
pub fn is_known(objective: &ObjectiveConfig) -> bool {
    matches!(
        objective,
        ObjectiveConfig::Table(_) | ObjectiveConfig::Fedhpo(_)
    )
}

/// What a person is told where the values contradict the constants: a sentence for each set of
/// constants that a method has, with the constants that these values suggest.
pub fn doubts(scenario: &Scenario, found: &Spread) -> Vec<String> {
    let said = scenario
        .methods()
        .filter(|method| ![RANDOM, ALONE].contains(method) && !method.is_campaign());
    let mut doubts: Vec<(String, Vec<&str>)> = Vec::new();
    for method in said {
        let Some(doubt) = doubt(scenario.of(method), found) else {
            continue;
        };
        match doubts.iter_mut().find(|(known, _)| *known == doubt) {
            Some((_, names)) => names.push(method.name()),
            None => doubts.push((doubt, vec![method.name()])),
        }
    }
    let told = doubts.into_iter().map(|(doubt, names)| {
        let verb = if names.len() == 1 { "is" } else { "are" };
        format!("{} {verb} misled: {doubt}", names.join(", "))
    });
    told.collect()
}

/// What a person is told where a user's program answers better than `objective.optimum`, from which
/// regret is measured.
pub fn beyond(config: &CommandConfig, answers: &[f64]) -> Option<String> {
    let sign = config.goal.sign();
    let best = answers
        .iter()
        .map(|answer| sign * answer)
        .reduce(f64::max)?;
    // Noise of the program's own may be beyond what is possible without.
    (!config.noisy && best > sign * config.optimum).then(|| {
        format!(
            "objective.optimum = {} is said to be the best possible answer, and {} is among the answers: regret is measured from a \
             value that is none, and is negative in part",
            config.optimum,
            sign * best
        )
    })
}

fn doubt(scenario: &Scenario, found: &Spread) -> Option<String> {
    let (noise, goal) = own(&scenario.objective)?;
    let constant = scenario.federation.constant;
    let surrogate = &scenario.surrogate;
    let signal = surrogate.kernel.signal_variance;
    let assumed = surrogate.noise_variance;
    let prior = (signal + assumed).sqrt();
    let seen = (found.variance + noise).sqrt();
    let far = (found.mean - constant).abs() / prior > MEAN_MAX;
    let ratio = seen / prior;
    if !far && (RATIO_MAX.recip()..=RATIO_MAX).contains(&ratio) {
        return None;
    }
    // As many digits as the constant needs among values that hardly differ.
    let digits = 3 + (found.mean.abs() / seen).log10().clamp(0.0, 12.0) as usize;
    let mean = significant(found.mean, digits);
    let negated = match goal {
        Goal::Minimize => format!(
            " (as the search sees them: negated, because objective.goal is minimize; give the constant negated too: {mean})"
        ),
        Goal::Maximize => String::new(),
    };
    // Equal values have no variance that could be proposed.
    let proposed = if found.variance > 0.0 {
        found.variance
    } else {
        signal
    };
    Some(format!(
        "federation.constant = {constant}, surrogate.signal_variance = {signal} and surrogate.noise_variance = {assumed} admit \
         values of {constant} ± {}, the {} values that were seen are {} ± {}{negated}; these values \
         suggest federation.constant = {}, surrogate.signal_variance = {}, surrogate.noise_variance = {} (a real federation \
         takes them from public data, never from its agents')",
        significant(prior, 3),
        found.count,
        mean,
        significant(seen, 3),
        mean,
        significant(proposed, 2),
        significant(noise.max(NOISE_SHARE * proposed), 2),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Shipped;

    fn table(goal: &str, settings: &[&str]) -> Scenario {
        let text = format!(
            "name = \"t\"\ndescription = \"t\"\n[objective]\nkind = \"table\"\ninputs = [\"a\"]\ninput_ranges = [[0, 1]]\n\
             goal = \"{goal}\"\n[federation]\nagents = 9\nrounds = 4\ninitial_points = 2\n[surrogate]\nlengthscale = 0.5\n\
             noise_variance = 0.01\nfeatures = 20\n[privacy]\nsampling_probability = 0.5\nnoise_multiplier = 1\n"
        );
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        Scenario::parse("t", &text, &settings).unwrap()
    }

    #[test]
    fn values_that_contradict_the_constants_are_told_with_constants_that_do_not() {
        // RMSEs about 70, negated; per cent; fractions that hardly differ.
        let of = |mean: f64, std: f64| Spread::of([mean - std, mean, mean + std]).unwrap();
        for (goal, found) in [
            ("minimize", of(-70.0, 9.0)),
            ("maximize", of(81.0, 6.0)),
            ("maximize", of(0.9, 0.001)),
        ] {
            let said = doubts(&table(goal, &[]), &found);
            assert_eq!(said.len(), 1, "{found:?}");
            assert_eq!(
                said[0].contains("negated"),
                goal == "minimize",
                "{}",
                said[0]
            );
            assert_eq!(said[0].lines().count(), 1);
            // What is proposed is admitted.
            let proposed = said[0]
                .split("suggest ")
                .nth(1)
                .unwrap()
                .split(" (")
                .next()
                .unwrap();
            let settings: Vec<String> = proposed
                .split(", ")
                .map(|setting| setting.replace(' ', ""))
                .collect();
            let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
            assert_eq!(settings.len(), 3, "{proposed}");
            assert_eq!(
                doubts(&table(goal, &settings), &found),
                [""; 0],
                "{proposed}"
            );
        }
        // The forgotten sign is a contradiction, and values that the constants admit are none.
        let settings = ["federation.constant=70", "surrogate.signal_variance=80"];
        assert_eq!(
            doubts(&table("minimize", &settings), &of(-70.0, 9.0)).len(),
            1
        );
        assert_eq!(
            doubts(&table("maximize", &settings), &of(70.0, 9.0)),
            [""; 0]
        );
        assert_eq!(doubts(&table("maximize", &[]), &of(0.4, 0.3)), [""; 0]);
    }

    /// Regret of minus 56 was told without a word.
    #[test]
    fn an_answer_better_than_the_best_possible_is_told() {
        let text = "name = \"t\"\ndescription = \"t\"\n[objective]\nkind = \"command\"\ncommand = \"x\"\ninputs = [\"a\"]\n\
                    input_ranges = [[0, 1]]\ngoal = \"minimize\"\ncandidates = 9\noptimum = 20\n[federation]\nagents = 9\nrounds = 4\ninitial_points = 2\n\
                    [surrogate]\nlengthscale = 0.5\nnoise_variance = 0.01\nfeatures = 20\n[privacy]\nsampling_probability = 0.5\n\
                    noise_multiplier = 1\n";
        let said = |settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
            let scenario = Scenario::parse("t", text, &settings).unwrap();
            let ObjectiveConfig::Command(config) = &scenario.objective else {
                panic!("a command");
            };
            beyond(config, &[25.0, 19.5, 21.0])
        };
        let told = said(&[]).unwrap();
        assert!(
            told.contains("= 20 ") && told.contains("19.5 is among"),
            "{told}"
        );
        assert_eq!(said(&["objective.optimum=19.5"]), None);
        assert_eq!(said(&["objective.noisy=true"]), None);
        let told = said(&["objective.goal=maximize"]).unwrap();
        assert!(told.contains("25 is among"), "{told}");
    }

    #[test]
    fn each_set_of_constants_is_told_once_and_shipped_values_are_left_alone() {
        let methods = "federation.methods=[\"random\", \"ts\", \"dp-prior\", \"near\"]";
        let near = [
            "method.near.base=ts",
            "method.near.set.federation.constant=5",
        ];
        let found = Spread {
            count: 10,
            mean: 5.0,
            variance: 1.0,
        };
        let said = doubts(
            &table("maximize", &[&[methods], &near[..]].concat()),
            &found,
        );
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("ts, dp-prior are misled: "), "{said:?}");
        assert_eq!(
            doubts(
                &table("maximize", &["federation.methods=[\"random\"]"]),
                &found
            ),
            [""; 0]
        );
        // Of draws of a Gaussian process the constants are the scenario's own.
        let default = Shipped::find("default").unwrap().parse(&[]).unwrap();
        assert_eq!(doubts(&default, &found), [""; 0]);
        for name in ["planes", "employment", "wages", "fedhpo"] {
            let scenario = Shipped::find(name).unwrap().parse(&[]).unwrap();
            let family = crate::world::load(&scenario, None).unwrap();
            let objective = family.realize(scenario.run_seed(0));
            let found = Spread::of_objective(&*objective).unwrap();
            assert_eq!(doubts(&scenario, &found), [""; 0], "{name}: {found:?}");
        }
    }
}
