//! The space of candidates: a TOML file ([`EXAMPLE`]), read once into a finite public list.

use sordino_core::random::{Party, Purpose, RunSeed, Stream};
use toml::{Table, Value};

/// A space file with every key there is: what help and README show.
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
/// Space files are read up to this length.
pub const BYTES_MAX: u64 = 1 << 20;
/// The most candidates of a list: each is a run of the command.
const CANDIDATES_MAX: usize = 100_000;
/// The most parameters.
const PARAMETERS_MAX: usize = 64;

/// One parameter of the space: its name and values.
#[derive(Clone, Debug)]
struct Parameter {
    name: String,
    range: Range,
    points: Option<usize>,
}

#[derive(Clone, Debug)]
enum Range {
    Number { low: f64, high: f64, logarithmic: bool, integer: bool },
    Choices(Vec<serde_json::Value>),
}

impl Range {
    /// The value at `unit` ∈ [0, 1).
    fn at(&self, unit: f64) -> serde_json::Value {
        match self {
            Range::Choices(choices) => choices[((unit * choices.len() as f64) as usize).min(choices.len() - 1)].clone(),
            Range::Number { low, high, integer: true, .. } => {
                let value = low + (unit * (high - low + 1.0)).floor();
                serde_json::Value::from(value.min(*high) as i64)
            }
            Range::Number { low, high, logarithmic, .. } => {
                let value =
                    if *logarithmic { (low.ln() + unit * (high / low).ln()).exp() } else { low + unit * (high - low) };
                serde_json::Value::from(value.clamp(*low, *high))
            }
        }
    }

    /// `points` values from end to end; all of a list of choices.
    fn grid(&self, points: usize) -> Vec<serde_json::Value> {
        match self {
            Range::Choices(choices) => choices.clone(),
            Range::Number { low, high, logarithmic, integer } => {
                let mut values: Vec<serde_json::Value> = (0..points)
                    .map(|i| {
                        let unit = if points == 1 { 0.5 } else { i as f64 / (points - 1) as f64 };
                        let value = if *logarithmic {
                            (low.ln() + unit * (high / low).ln()).exp()
                        } else {
                            low + unit * (high - low)
                        };
                        if *integer { (value.round() as i64).into() } else { value.clamp(*low, *high).into() }
                    })
                    .collect();
                values.dedup();
                values
            }
        }
    }
}

/// The list of candidates, public.
#[derive(Clone, Debug)]
pub struct Space {
    names: Vec<String>,
    candidates: Vec<Vec<serde_json::Value>>,
}

impl Space {
    /// Reads a space from TOML; `source` is for messages.
    ///
    /// **Errors**: one line that names the key and what is admissible.
    pub fn parse(source: &str, text: &str) -> Result<Space, String> {
        let mut table: Table =
            text.parse().map_err(|error: toml::de::Error| format!("{source}: not valid TOML: {}", error.message()))?;
        let refuse = |key: &str, admissible: &str| format!("{source}: `{key}`: admissible: {admissible}");
        let grid = match table.remove("design") {
            None => false,
            Some(Value::String(word)) if word == "random" => false,
            Some(Value::String(word)) if word == "grid" => true,
            Some(_) => return Err(refuse("design", "\"random\", \"grid\"")),
        };
        let whole = |table: &mut Table, key: &str, low: i64, high: i64| match table.remove(key) {
            None => Ok(None),
            Some(Value::Integer(x)) if (low..=high).contains(&x) => Ok(Some(x)),
            Some(_) => Err(refuse(key, &format!("a whole number from {low} to {high}"))),
        };
        let count = whole(&mut table, "candidates", 1, CANDIDATES_MAX as i64)?;
        let seed = whole(&mut table, "seed", 0, i64::MAX)?.unwrap_or(0) as u64;
        let Some(Value::Table(parameters)) = table.remove("parameters") else {
            return Err(refuse("parameters", "one section [parameters.NAME] for each parameter"));
        };
        if let Some(key) = table.keys().next() {
            return Err(refuse(key, "no such key; design, candidates, seed, parameters"));
        }
        if parameters.is_empty() || parameters.len() > PARAMETERS_MAX {
            return Err(refuse("parameters", "1 to 64 parameters"));
        }
        let parameters = parameters
            .into_iter()
            .map(|(name, value)| parameter(source, name, value))
            .collect::<Result<Vec<_>, _>>()?;
        let mut variables: Vec<String> = parameters.iter().map(|parameter| variable(&parameter.name)).collect();
        variables.sort_unstable();
        if let Some(pair) = variables.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("{source}: two parameters share the environment variable {}", pair[0]));
        }
        let candidates = match (grid, count) {
            (true, Some(_)) => return Err(refuse("candidates", "nothing: a grid counts its own points")),
            (true, None) => product(source, &parameters)?,
            (false, count) => draw(&parameters, count.unwrap_or(24) as usize, seed),
        };
        Ok(Space { names: parameters.into_iter().map(|parameter| parameter.name).collect(), candidates })
    }

    /// How many candidates there are.
    pub fn count(&self) -> usize {
        self.candidates.len()
    }

    /// A candidate as one JSON object.
    pub fn json(&self, candidate: usize) -> serde_json::Value {
        let pairs = self.names.iter().cloned().zip(self.candidates[candidate].iter().cloned());
        serde_json::Value::Object(pairs.collect())
    }

    /// A candidate as environment variables `SORDINO_<NAME>`; texts without quotes.
    pub fn environment(&self, candidate: usize) -> Vec<(String, String)> {
        let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.names.iter().zip(&self.candidates[candidate]).map(|(name, value)| (variable(name), text(value))).collect()
    }
}

fn variable(name: &str) -> String {
    format!("SORDINO_{}", name.to_ascii_uppercase())
}

fn parameter(source: &str, name: String, value: Value) -> Result<Parameter, String> {
    let refuse = |key: &str, admissible: &str| format!("{source}: `parameters.{name}{key}`: admissible: {admissible}");
    let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !letters || name.is_empty() || name.len() > 64 {
        return Err(refuse("", "a name of 1 to 64 letters, digits and underscores"));
    }
    let Value::Table(mut table) = value else {
        return Err(refuse("", "low and high, or choices"));
    };
    let points = match table.remove("points") {
        None => None,
        Some(Value::Integer(x)) if (1..=1000).contains(&x) => Some(x as usize),
        Some(_) => return Err(refuse(".points", "a whole number from 1 to 1000")),
    };
    let range = if let Some(choices) = table.remove("choices") {
        let Value::Array(choices) = choices else {
            return Err(refuse(".choices", "a list of texts, numbers or truth values"));
        };
        let convert = |choice: Value| match choice {
            Value::String(text) => Some(text.into()),
            Value::Integer(x) => Some(x.into()),
            Value::Float(x) if x.is_finite() => Some(x.into()),
            Value::Boolean(flag) => Some(flag.into()),
            _ => None,
        };
        match choices.into_iter().map(convert).collect::<Option<Vec<serde_json::Value>>>() {
            Some(choices) if !choices.is_empty() && choices.len() <= 1000 => Range::Choices(choices),
            _ => return Err(refuse(".choices", "1 to 1000 texts, numbers or truth values")),
        }
    } else {
        let mut number = |key: &str| match table.remove(key) {
            Some(Value::Float(x)) if x.abs() <= 1e15 => Ok(x),
            Some(Value::Integer(x)) if x.unsigned_abs() <= 1_000_000_000_000_000 => Ok(x as f64),
            _ => Err(refuse(&format!(".{key}"), "a number from -1e15 to 1e15")),
        };
        let (low, high) = (number("low")?, number("high")?);
        let integer = match table.remove("integer") {
            None => false,
            Some(Value::Boolean(flag)) => flag,
            Some(_) => return Err(refuse(".integer", "true, false")),
        };
        let logarithmic = match table.remove("scale") {
            None => false,
            Some(Value::String(word)) if word == "linear" => false,
            Some(Value::String(word)) if word == "log" => true,
            Some(_) => return Err(refuse(".scale", "\"linear\", \"log\"")),
        };
        if !(low < high) {
            return Err(refuse(".high", "a number above low"));
        }
        if logarithmic && !(low > 0.0) {
            return Err(refuse(".low", "a positive number where scale is \"log\""));
        }
        if integer && (low.fract() != 0.0 || high.fract() != 0.0) {
            return Err(refuse(".low", "whole numbers where integer is true"));
        }
        Range::Number { low, high, logarithmic, integer }
    };
    match table.keys().next() {
        Some(key) => Err(refuse(&format!(".{key}"), "no such key; low, high, scale, integer, points, or choices")),
        None => Ok(Parameter { name, range, points }),
    }
}

/// Uniform in every parameter, from the public seed.
fn draw(parameters: &[Parameter], count: usize, seed: u64) -> Vec<Vec<serde_json::Value>> {
    let mut stream: Stream = RunSeed::new(seed, 0).stream(Party::World, Purpose::Candidates, 0);
    (0..count).map(|_| parameters.iter().map(|p| p.range.at(stream.unit())).collect()).collect()
}

/// All combinations, the last parameter fastest.
fn product(source: &str, parameters: &[Parameter]) -> Result<Vec<Vec<serde_json::Value>>, String> {
    let mut list: Vec<Vec<serde_json::Value>> = vec![Vec::new()];
    for parameter in parameters {
        let points = match (&parameter.range, parameter.points) {
            (Range::Choices(_), _) => 0,
            (_, Some(points)) => points,
            (_, None) => return Err(format!("{source}: `parameters.{}.points` is missing for a grid", parameter.name)),
        };
        let values = parameter.range.grid(points);
        if list.len() * values.len() > CANDIDATES_MAX {
            return Err(format!("{source}: the grid has more than {CANDIDATES_MAX} candidates"));
        }
        list = list
            .iter()
            .flat_map(|head| {
                values.iter().map(move |value| {
                    let mut row = head.clone();
                    row.push(value.clone());
                    row
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
    fn mended_the_example_of_the_help_is_a_space() {
        assert_eq!(Space::parse("example", EXAMPLE).unwrap().count(), 24);
        let grid = EXAMPLE.replace("\"random\"", "\"grid\"").replace("candidates", "#").replace("seed", "#");
        assert_eq!(Space::parse("example", &grid).unwrap().count(), 5 * 3 * 2);
    }

    #[test]
    fn a_grid_has_all_combinations() {
        let space = Space::parse("s", GRID).unwrap();
        assert_eq!(space.count(), 3 * 3 * 2);
        let environment = space.environment(0);
        assert_eq!(environment[1], ("SORDINO_B".into(), "x".into()));
        assert_eq!(environment[2], ("SORDINO_C".into(), "1".into()));
        let middle: f64 = space.json(6)["a"].as_f64().unwrap();
        assert!((middle - 0.1).abs() < 1e-12);
    }

    #[test]
    fn a_random_design_is_its_seed() {
        let text =
            |seed: u32| format!("candidates = 50\nseed = {seed}\n[parameters.n]\nlow = 1\nhigh = 4\ninteger = true");
        let values = |seed| {
            let space = Space::parse("s", &text(seed)).unwrap();
            (0..50).map(|i| space.json(i)["n"].as_i64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(values(1), values(1));
        assert_ne!(values(1), values(2));
        assert!((1..=4).all(|n| values(1).contains(&n)) && values(1).iter().all(|n| (1..=4).contains(n)));
    }

    #[test]
    fn refusals_name_key_and_range() {
        for (text, expected) in [
            ("x", "not valid TOML"),
            ("a = 1", "`parameters`"),
            ("design = \"cube\"\n[parameters.a]\nlow=0\nhigh=1", "`design`"),
            ("candidates = 0\n[parameters.a]\nlow=0\nhigh=1", "`candidates`"),
            ("[parameters.a]\nlow=1\nhigh=1", "`parameters.a.high`"),
            ("[parameters.a]\nlow=0\nhigh=1\nscale=\"log\"", "`parameters.a.low`"),
            ("[parameters.a]\nlow=nan\nhigh=1", "`parameters.a.low`"),
            ("[parameters.a]\nlow=0.5\nhigh=1\ninteger=true", "`parameters.a.low`"),
            ("[parameters.a]\nchoices=[]", "`parameters.a.choices`"),
            ("[parameters.a]\nlow=0\nhigh=1\nlength=3", "`parameters.a.length`"),
            ("[parameters.\"a b\"]\nlow=0\nhigh=1", "`parameters.a b`"),
            ("[parameters.a]\nlow=0\nhigh=1\n[parameters.A]\nlow=0\nhigh=1", "SORDINO_A"),
            ("design=\"grid\"\n[parameters.a]\nlow=0\nhigh=1", "points"),
            ("extra = 1\n[parameters.a]\nlow=0\nhigh=1", "`extra`"),
        ] {
            let refused = Space::parse("s", text).unwrap_err();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
