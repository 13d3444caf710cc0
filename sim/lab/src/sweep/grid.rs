//! Which runs a sweep has: the product of the values of its keys, times seeds.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use sordino_engine::{self as model, Model};
use sordino_experiment::scenario::ScenarioError;
use sordino_experiment::text::Quoted;

/// The most runs of one sweep.
pub const RUNS_MAX: u64 = 100_000;

/// A key of the scenario and the values it takes. In a [`Plan`] they stand as they are written
/// after `--set`, elsewhere as people read them: texts without their quotation marks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Dotted name of the key.
    pub key: String,
    /// One or more values, as TOML or bare words.
    pub values: Vec<String>,
}

/// A key with one value: all runs of a sweep have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Dotted name of the key.
    pub key: String,
    /// Its value, as people read it.
    pub value: String,
}

/// A value as people read it: what a text says, without the quotation marks that TOML asks for;
/// anything else as it is written.
fn plain(value: &str) -> String {
    match value.parse() {
        Ok(toml::Value::String(text)) => text,
        _ => value.to_owned(),
    }
}

/// Whether two values are one: 1 and 1.0 are.
fn is_same(a: &str, b: &str) -> bool {
    let numbers = a.parse::<f64>().ok().zip(b.parse::<f64>().ok());
    plain(a) == plain(b) || numbers.is_some_and(|(a, b)| a == b)
}

/// Everything that decides what a sweep does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Shipped name or file, for messages.
    pub source: String,
    /// All that is set, in the order of the command line; the first varies slowest. A key with one
    /// value is a setting of every run and no axis of the sweep ([`Plan::varying`]).
    pub axes: Vec<Axis>,
    /// Seeds, which vary fastest; the scenario's own if none are given.
    pub seeds: Vec<u64>,
    /// The scenario's text.
    pub scenario: String,
}

/// One run of a sweep: a cell of the grid under one seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// 0-based place in the sweep.
    pub number: usize,
    /// One value for each of the plan's axes, as it is written after `--set`.
    pub values: Vec<String>,
    /// Seed of the run.
    pub seed: u64,
}

/// Why a sweep is not valid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GridError {
    /// A `--set` that is not `key=value,value,…`.
    #[error(
        "--set: `{}` is not a setting; write --set section.key=value,value, as in --set federation.agents=50,200",
        Quoted(.0)
    )]
    Setting(String),
    /// A key that is given twice.
    #[error("--set: `{}` is given twice; list its values once", Quoted(.0))]
    Twice(String),
    /// A value that is given twice.
    #[error("--set: `{} = {}` is given twice; every value at most once", Quoted(.key), Quoted(.value))]
    TwiceTheValue {
        /// Dotted name of the key.
        key: String,
        /// The value that is given twice.
        value: String,
    },
    /// A `--set` of `seed`, which is swept by `--seeds`.
    #[error("--set: `seed` is swept by --seeds, as in --seeds 0..5")]
    Seed,
    /// A `--seeds` that names no valid seeds.
    #[error(
        "--seeds: `{}` is not admissible; admissible: a range as 0..5 (0 to 4) or 0..=5, or a list as 1,2,7; whole \
         numbers from 0 to {}, each once",
        Quoted(.0),
        i64::MAX
    )]
    Seeds(String),
    /// More runs than [`RUNS_MAX`].
    #[error("the sweep has {runs} runs; admissible: at most {RUNS_MAX}")]
    TooMany {
        /// Number of runs asked for.
        runs: u128,
    },
    /// A run whose scenario is refused.
    #[error("{error} (in the run {})", Quoted(.settings))]
    Scenario {
        /// Settings of the point that is refused.
        settings: String,
        /// Why the scenario is refused.
        error: Box<ScenarioError>,
    },
}

impl Axis {
    /// Reads `key=value,value,…`; commas inside brackets, braces and quotes belong to a value.
    ///
    /// **Errors**: [`GridError::Setting`], [`GridError::Seed`], [`GridError::TwiceTheValue`].
    pub fn parse(text: &str) -> Result<Axis, GridError> {
        let (key, values) = text
            .split_once('=')
            .ok_or_else(|| GridError::Setting(text.to_owned()))?;
        let key = key.trim().to_owned();
        if key == "seed" {
            return Err(GridError::Seed);
        }
        let values: Vec<String> = pieces(values)
            .into_iter()
            .map(|range| values[range].trim().to_owned())
            .collect();
        if key.is_empty() || values.iter().any(String::is_empty) {
            return Err(GridError::Setting(text.to_owned()));
        }
        match values
            .iter()
            .enumerate()
            .find(|(i, value)| values[..*i].iter().any(|before| is_same(before, value)))
        {
            Some((_, value)) => Err(GridError::TwiceTheValue {
                key,
                value: value.clone(),
            }),
            None => Ok(Axis { key, values }),
        }
    }

    /// The key without its sections.
    pub fn short(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or(&self.key)
    }

    /// True if more than one value is compared.
    pub fn varies(&self) -> bool {
        self.values.len() > 1
    }
}

/// The parts between commas that are not inside brackets, braces or quotes.
fn pieces(text: &str) -> Vec<Range<usize>> {
    let mut depth = 0i32;
    let mut quote = None;
    let mut start = 0;
    let mut pieces = Vec::new();
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, ',') if depth <= 0 => {
                pieces.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(start..text.len());
    pieces
}

/// A seed, if the text is one that a scenario can state.
fn seed(text: &str) -> Option<u64> {
    let seed = text.trim().parse().ok()?;
    (seed <= i64::MAX as u64).then_some(seed)
}

/// Reads `a..b`, `a..=b` or `a,b,c`.
///
/// **Errors**: [`GridError::Seeds`], [`GridError::TooMany`].
pub fn seeds(text: &str) -> Result<Vec<u64>, GridError> {
    let malformed = || GridError::Seeds(text.to_owned());
    if let Some((from, to)) = text.split_once("..") {
        let past = match to.strip_prefix('=') {
            Some(last) => seed(last).map(|last| last + 1),
            None => seed(to),
        };
        let (from, to) = seed(from).zip(past).ok_or_else(malformed)?;
        if from >= to {
            return Err(malformed());
        }
        if to - from > RUNS_MAX {
            return Err(GridError::TooMany {
                runs: u128::from(to - from),
            });
        }
        return Ok((from..to).collect());
    }
    let seeds: Option<Vec<u64>> = text.split(',').map(seed).collect();
    let seeds = seeds.ok_or_else(malformed)?;
    let twice = seeds
        .iter()
        .enumerate()
        .any(|(i, seed)| seeds[..i].contains(seed));
    if twice { Err(malformed()) } else { Ok(seeds) }
}

impl Plan {
    /// Reads the axes and checks the scenario of every run: nothing begins if one is refused.
    ///
    /// **Errors**: [`GridError`]; the first run that is refused, with key, value and what is
    /// admissible.
    pub fn new(
        source: &str,
        scenario: &str,
        settings: &[String],
        seeds: Option<Vec<u64>>,
    ) -> Result<Self, GridError> {
        let axes = settings
            .iter()
            .map(|text| Axis::parse(text))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some((_, twice)) = axes
            .iter()
            .enumerate()
            .find(|(i, axis)| axes[..*i].iter().any(|a| a.key == axis.key))
        {
            return Err(GridError::Twice(twice.key.clone()));
        }
        let mut plan = Plan {
            source: source.to_owned(),
            axes,
            seeds: Vec::new(),
            scenario: scenario.to_owned(),
        };
        plan.seeds = match seeds {
            Some(seeds) => seeds,
            None => vec![
                plan.parse(&plan.settings(&plan.first_values(), None))?
                    .head()
                    .seed,
            ],
        };
        let runs = plan
            .axes
            .iter()
            .map(|axis| axis.values.len() as u128)
            .product::<u128>()
            * plan.seeds.len() as u128;
        if runs > u128::from(RUNS_MAX) {
            return Err(GridError::TooMany { runs });
        }
        // A seed in its range is admissible with every value; one of them stands for all.
        for point in plan.points().iter().step_by(plan.seeds.len().max(1)) {
            plan.load(point)?;
        }
        Ok(plan)
    }

    fn first_values(&self) -> Vec<String> {
        self.axes
            .iter()
            .map(|axis| axis.values[0].clone())
            .collect()
    }

    /// The settings with which the run of these values is read.
    pub fn settings(&self, values: &[String], seed: Option<u64>) -> Vec<String> {
        let keys = self
            .axes
            .iter()
            .zip(values)
            .map(|(axis, value)| format!("{}={value}", axis.key));
        keys.chain(seed.map(|seed| format!("seed={seed}")))
            .collect()
    }

    fn parse(&self, settings: &[String]) -> Result<Box<dyn Model>, GridError> {
        model::parse(&self.source, &self.scenario, settings).map_err(|error| GridError::Scenario {
            settings: settings.join(" "),
            error: Box::new(error),
        })
    }

    /// The keys that are swept, with their values as people read them.
    pub fn varying(&self) -> Vec<Axis> {
        let varying = self.axes.iter().filter(|axis| axis.varies());
        varying
            .map(|axis| Axis {
                key: axis.key.clone(),
                values: axis.values.iter().map(|value| plain(value)).collect(),
            })
            .collect()
    }

    /// The keys that every run has with the same value.
    pub fn fixed(&self) -> Vec<Setting> {
        let fixed = self.axes.iter().filter(|axis| !axis.varies());
        fixed
            .map(|axis| Setting {
                key: axis.key.clone(),
                value: axis.values.first().map_or(String::new(), |v| plain(v)),
            })
            .collect()
    }

    /// Of one value for each of the plan's axes, those that tell runs apart, as people read them.
    pub fn told(&self, values: &[String]) -> Vec<String> {
        let pairs = self.axes.iter().zip(values);
        pairs
            .filter(|(axis, _)| axis.varies())
            .map(|(_, value)| plain(value))
            .collect()
    }

    /// Number of runs.
    pub fn count(&self) -> usize {
        self.axes
            .iter()
            .map(|axis| axis.values.len())
            .product::<usize>()
            * self.seeds.len()
    }

    /// All runs in order.
    pub fn points(&self) -> Vec<Point> {
        (0..self.count()).map(|number| self.point(number)).collect()
    }

    fn point(&self, number: usize) -> Point {
        let mut rest = number / self.seeds.len();
        let seed = self.seeds[number % self.seeds.len()];
        let mut values: Vec<String> = Vec::new();
        for axis in self.axes.iter().rev() {
            values.push(axis.values[rest % axis.values.len()].clone());
            rest /= axis.values.len();
        }
        values.reverse();
        Point {
            number,
            values,
            seed,
        }
    }

    /// The scenario of a run.
    ///
    /// **Errors**: none for a plan that this version's [`Plan::new`] made.
    pub fn load(&self, point: &Point) -> Result<Box<dyn Model>, GridError> {
        self.parse(&self.settings(&point.values, Some(point.seed)))
    }

    /// Name of a run's folder: its number, then the values that distinguish it.
    pub fn folder(&self, point: &Point) -> String {
        let mut name = format!("{:05}", point.number);
        for (axis, value) in self
            .axes
            .iter()
            .zip(&point.values)
            .filter(|(axis, _)| axis.varies())
        {
            name.push_str(&format!("-{}={value}", axis.short()));
        }
        if self.seeds.len() > 1 {
            name.push_str(&format!("-seed={}", point.seed));
        }
        name.chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || "-_=.+".contains(c) {
                    c
                } else {
                    '_'
                }
            })
            .take(100)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use sordino_experiment::scenario::Shipped;

    use super::*;

    fn plan(settings: &[&str], seed_text: Option<&str>) -> Result<Plan, String> {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let seeds = seed_text
            .map(seeds)
            .transpose()
            .map_err(|error| error.to_string())?;
        Plan::new(
            "default",
            Shipped::find("default").unwrap().text,
            &settings,
            seeds,
        )
        .map_err(|e| e.to_string())
    }

    #[test]
    fn the_grid_is_a_product_and_seeds_vary_fastest() {
        let plan = plan(
            &[
                "privacy.noise_multiplier=0.5,1",
                "federation.agents=50, 200",
                "runs=2",
            ],
            Some("3..5"),
        )
        .unwrap();
        assert_eq!(plan.count(), 8);
        let points = plan.points();
        assert_eq!(
            (points[1].values.join(" "), points[1].seed),
            ("0.5 50 2".into(), 4)
        );
        assert_eq!(
            (points[6].values.join(" "), points[6].seed),
            ("1 200 2".into(), 3)
        );
        assert_eq!(
            plan.folder(&points[6]),
            "00006-noise_multiplier=1-agents=200-seed=3"
        );
        let scenario = plan.load(&points[6]).unwrap();
        assert_eq!((scenario.head().seed, scenario.head().runs), (3, 2));
        assert!(scenario.resolved().contains("agents = 200\n"));
    }

    #[test]
    fn commas_inside_a_value_belong_to_it() {
        let axis = Axis::parse("federation.methods=[\"ts\", \"fts\"],[\"ts\"]").unwrap();
        assert_eq!(axis.values, ["[\"ts\", \"fts\"]", "[\"ts\"]"]);
        assert_eq!(Axis::parse("name='a,b',c").unwrap().values, ["'a,b'", "c"]);
        // As people read them, texts have no quotation marks, and all else stands as it is written.
        let told = ["'a,b'", "\"ab\"", "c", "0.5", "[\"ts\"]", "1\ny = 2"].map(plain);
        assert_eq!(told, ["a,b", "ab", "c", "0.5", "[\"ts\"]", "1\ny = 2"]);
    }

    #[test]
    fn refusals_name_key_value_and_what_is_admissible() {
        for (settings, seeds, expected) in [
            (
                &["privacy.noise_multiplier=1,0"][..],
                None,
                "`privacy.noise_multiplier = 0` is not admissible; admissible: a number",
            ),
            (
                &["federation.agnets=1"],
                None,
                "unknown key `federation.agnets`; did you mean `agents`?",
            ),
            (
                &["federation.agents=5,5"],
                None,
                "`federation.agents = 5` is given twice",
            ),
            (
                &["federation.agents=5", "federation.agents=6"],
                None,
                "`federation.agents` is given twice",
            ),
            (&["federation.agents=5,"], None, "is not a setting"),
            (&["federation.agents"], None, "is not a setting"),
            (&["seed=1,2"], None, "--seeds 0..5"),
            (&[], Some("5..5"), "--seeds: `5..5` is not admissible"),
            (&[], Some("1,1"), "each once"),
            (&[], Some("-1..3"), "whole numbers from 0"),
            (&[], Some("0..9999999"), "at most 100000"),
            (
                &["privacy.noise_multiplier=1,2"],
                Some("0..=99999"),
                "the sweep has 200000 runs",
            ),
        ] {
            let message = plan(settings, seeds).unwrap_err();
            assert!(message.contains(expected), "{message}\nexpected {expected}");
            assert!(!message.contains('\n'));
        }
        assert_eq!(seeds("7").unwrap(), [7]);
    }
}
