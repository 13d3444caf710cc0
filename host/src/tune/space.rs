//! The candidates of a release: a space file ([`EXAMPLE`]), read once into a finite public list.

use serde_json::Value;
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose, RunSeed, Stream};

use crate::space::read::Design;
use crate::space::{Goal, Parameter, Point, Space, SpaceFile, Values};

/// A space file with every key there is: what help and the book show.
pub const EXAMPLE: &str = "\
design = \"random\"          # or \"grid\": all combinations of points
candidates = 24            # random: how many, 1 to 100000; each is a run of the command
seed = 0                   # random: public, part of the list

[parameters.learning_rate] # SORDINO_LEARNING_RATE, and in the JSON on standard input
low = 1e-4
high = 1e-1
scale = \"log\"              # or \"linear\", the default
points = 5                 # grid: how many along this parameter

[parameters.depth]
low = 2
high = 10
integer = true
points = 3

[parameters.kernel]
choices = [\"rbf\", \"linear\"]   # texts, numbers, truth values
";
/// Number of candidates of a random design that does not say.
const CANDIDATES: u32 = 24;
/// The most candidates of a list: each is a run of the command.
const CANDIDATES_MAX: usize = 100_000;

/// The number at `unit` ∈ [0, 1] of the way, on a logarithmic scale if that is wanted: the same
/// bits on every machine.
fn between(low: f64, high: f64, log: bool, unit: f64) -> f64 {
    let value = match log {
        true => Scalar::exp(Scalar::ln(low) + unit * Scalar::ln(high / low)),
        false => low + unit * (high - low),
    };
    value.clamp(low, high)
}

/// The value at `unit` ∈ [0, 1).
fn at(values: &Values, unit: f64) -> Value {
    match values {
        Values::Choices { choices, .. } => {
            choices[((unit * choices.len() as f64) as usize).min(choices.len() - 1)].clone()
        }
        Values::Number {
            low,
            high,
            integer: true,
            ..
        } => {
            let value = low + (unit * (high - low + 1.0)).floor();
            Value::from(value.min(*high) as i64)
        }
        Values::Number { low, high, log, .. } => Value::from(between(*low, *high, *log, unit)),
    }
}

/// `points` values from end to end; all of a list of choices.
fn along(values: &Values, points: u32) -> Vec<Value> {
    match values {
        Values::Choices { choices, .. } => choices.clone(),
        Values::Number {
            low,
            high,
            log,
            integer,
        } => {
            let mut all: Vec<Value> = (0..points)
                .map(|i| {
                    let unit = if points == 1 {
                        0.5
                    } else {
                        f64::from(i) / f64::from(points - 1)
                    };
                    let value = between(*low, *high, *log, unit);
                    if *integer {
                        (value.round() as i64).into()
                    } else {
                        value.into()
                    }
                })
                .collect();
            all.dedup();
            all
        }
    }
}

/// The list of candidates, public.
#[derive(Clone, Debug)]
pub struct CandidateList {
    space: Space,
    candidates: Vec<Point>,
    /// Which scores are better, if the file says so.
    pub goal: Option<Goal>,
    /// What a score is, in words, if the file says so.
    pub value: Option<String>,
}

impl CandidateList {
    /// Reads a space file and makes the list that it asks for; `source` is for messages.
    ///
    /// **Errors**: one line that names the key and what is admissible.
    pub fn parse(source: &str, text: &str) -> Result<Self, String> {
        let file = SpaceFile::parse_for_list(source, text).map_err(|error| error.to_string())?;
        if let Some(given) = file
            .space
            .parameters()
            .iter()
            .find(|parameter| parameter.context)
        {
            let name = &given.name;
            return Err(format!(
                "{source}: `parameters.{name}.context`: admissible: false: a candidate has a value for every parameter"
            ));
        }
        let candidates = match file.design {
            Some(Design::Grid) => product(source, &file)?,
            None | Some(Design::Random) => draw(
                &file.space,
                file.candidates.unwrap_or(CANDIDATES),
                file.seed.unwrap_or(0),
            ),
        };
        Ok(CandidateList {
            space: file.space,
            candidates,
            goal: file.goal,
            value: file.value,
        })
    }

    /// How many candidates there are.
    pub fn count(&self) -> usize {
        self.candidates.len()
    }

    /// A candidate as one JSON object.
    pub fn json(&self, candidate: usize) -> Value {
        Value::Object(self.candidates[candidate].clone())
    }

    /// A candidate as environment variables `SORDINO_<NAME>`; texts without quotes.
    pub fn environment(&self, candidate: usize) -> Vec<(String, String)> {
        self.space.environment(&self.candidates[candidate])
    }
}

/// Uniform in every parameter, from the public seed.
fn draw(space: &Space, count: u32, seed: u64) -> Vec<Point> {
    let mut stream: Stream = RunSeed::new(seed, 0).stream(Party::World, Purpose::Candidates, 0);
    let mut value =
        |parameter: &Parameter| (parameter.name.clone(), at(&parameter.values, stream.unit()));
    (0..count)
        .map(|_| space.parameters().iter().map(&mut value).collect())
        .collect()
}

/// All combinations, the last parameter fastest.
fn product(source: &str, file: &SpaceFile) -> Result<Vec<Point>, String> {
    let mut list: Vec<Point> = vec![Point::new()];
    for (Parameter { name, values, .. }, points) in file.space.parameters().iter().zip(&file.points)
    {
        let points = match (values, points) {
            (Values::Choices { .. }, _) => 0,
            (_, Some(points)) => *points,
            (_, None) => {
                return Err(format!(
                    "{source}: `parameters.{name}.points` is missing for a grid"
                ));
            }
        };
        let values = along(values, points);
        if list.len() * values.len() > CANDIDATES_MAX {
            return Err(format!(
                "{source}: the grid has more than {CANDIDATES_MAX} candidates"
            ));
        }
        list = list
            .iter()
            .flat_map(|head| {
                values.iter().map(move |value| {
                    let mut point = head.clone();
                    point.insert(name.clone(), value.clone());
                    point
                })
            })
            .collect();
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: &str = "design = \"grid\"\n[parameters.a]\nlow = 1e-2\nhigh = 1.0\nscale = \"log\"\npoints = 3\n\
                        [parameters.b]\nchoices = [\"x\", 2, true]\n[parameters.c]\nlow = 1\nhigh = 2\ninteger = true\npoints = 5";

    #[test]
    fn the_example_of_the_help_is_a_space() {
        assert_eq!(
            CandidateList::parse("example", EXAMPLE).unwrap().count(),
            24
        );
        let grid = EXAMPLE
            .replace("\"random\"", "\"grid\"")
            .replace("candidates", "#")
            .replace("seed", "#");
        assert_eq!(
            CandidateList::parse("example", &grid).unwrap().count(),
            5 * 3 * 2
        );
    }

    #[test]
    fn a_grid_has_all_combinations() {
        let space = CandidateList::parse("s", GRID).unwrap();
        assert_eq!(space.count(), 3 * 3 * 2);
        let environment = space.environment(0);
        assert_eq!(environment[1], ("SORDINO_B".into(), "x".into()));
        assert_eq!(environment[2], ("SORDINO_C".into(), "1".into()));
        let middle: f64 = space.json(6)["a"].as_f64().unwrap();
        assert!((middle - 0.1).abs() < 1e-12);
    }

    #[test]
    fn a_random_design_is_its_seed() {
        let text = |seed: u32| {
            format!(
                "candidates = 50\nseed = {seed}\n[parameters.n]\nlow = 1\nhigh = 4\ninteger = true"
            )
        };
        let values = |seed| {
            let space = CandidateList::parse("s", &text(seed)).unwrap();
            (0..50)
                .map(|i| space.json(i)["n"].as_i64().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(values(1), values(1));
        assert_ne!(values(1), values(2));
        assert!(
            (1..=4).all(|n| values(1).contains(&n))
                && values(1).iter().all(|n| (1..=4).contains(n))
        );
    }

    #[test]
    fn refusals_name_key_and_range() {
        for (text, expected) in [
            ("x", "not valid TOML"),
            ("a = 1", "`a`: no such key"),
            ("seed = 1", "`parameters`"),
            (
                "design = \"cube\"\n[parameters.a]\nlow=0\nhigh=1",
                "`design`",
            ),
            (
                "candidates = 0\n[parameters.a]\nlow=0\nhigh=1",
                "`candidates`",
            ),
            ("[parameters.a]\nlow=1\nhigh=1", "`parameters.a.high`"),
            (
                "[parameters.a]\nlow=0\nhigh=1\nscale=\"log\"",
                "`parameters.a.low`",
            ),
            ("[parameters.a]\nlow=nan\nhigh=1", "`parameters.a.low`"),
            (
                "[parameters.a]\nlow=0.5\nhigh=1\ninteger=true",
                "`parameters.a.low`",
            ),
            ("[parameters.a]\nchoices=[]", "`parameters.a.choices`"),
            (
                "[parameters.a]\nlow=0\nhigh=1\nlength=3",
                "`parameters.a.length`",
            ),
            (
                "[parameters.a]\nlow=0\nhigh=1\ncontext=true",
                "`parameters.a.context`: admissible: false",
            ),
            ("[parameters.\"a b\"]\nlow=0\nhigh=1", "`parameters.a b`"),
            (
                "[parameters.a]\nlow=0\nhigh=1\n[parameters.A]\nlow=0\nhigh=1",
                "SORDINO_A",
            ),
            ("design=\"grid\"\n[parameters.a]\nlow=0\nhigh=1", "points"),
            ("extra = 1\n[parameters.a]\nlow=0\nhigh=1", "`extra`"),
        ] {
            let refused = CandidateList::parse("s", text).unwrap_err();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
