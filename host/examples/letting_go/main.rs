//! What it is worth to let go: `cargo run --release -p sordino-host --example letting_go -- 60 40`.
//!
//! A search whose best question promises next to nothing asks every second one elsewhere
//! (docs/prior-files.md, "Letting go"). Here that rule meets functions of several kinds, 60 of each
//! and 40 evaluations unless you say otherwise, in five ways:
//!
//! - `without`: core's optimizer by `suggest_by` of its own acquisition, which lets nothing go,
//! - `core`: the same optimizer by `suggest`,
//! - both in single precision, as on a device or in C,
//! - `host`: `Search`, as in `sordino optimize` and in Python.
//!
//! A table says the regret of the best value so far, summed over all evaluations and at the end,
//! and how many searches are stuck: more than .2 from the best at the end. The unit is one standard
//! deviation of the function, of a ward the depth of its hollow. Standard errors in brackets.
//!
//! `letting_go -- readers 4 1` is about files in place of ways: see [`readers`].

mod functions;
mod readers;

use std::thread;

use serde_json::json;
use sordino_core::math::Scalar;
use sordino_core::optimizer::{self, Acquisition, Optimizer, Settings};
use sordino_host::prior::PriorFile;
use sordino_host::search::{Head, Search};
use sordino_host::space::{Goal, Space, SpaceFile};

use functions::{Failure, Function, Kind, kinds, known};

const WAYS: [Way; 5] = [
    Way::Core { lets_go: false },
    Way::Core { lets_go: true },
    Way::Single { lets_go: false },
    Way::Single { lets_go: true },
    Way::Host,
];
/// Regret from which on a search is stuck.
const STUCK: f64 = 0.2;

#[derive(Clone, Copy)]
enum Way {
    Core { lets_go: bool },
    Single { lets_go: bool },
    Host,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::Core { lets_go: false } => "without",
            Way::Core { lets_go: true } => "core",
            Way::Single { lets_go: false } => "without, `f32`",
            Way::Single { lets_go: true } => "core, `f32`",
            Way::Host => "host",
        }
    }
}

/// The values of core's optimizer in one format.
fn asked<T: Scalar>(
    space: &Space,
    seed: u64,
    (evaluations, lets_go): (usize, bool),
    f: &Function,
) -> Result<Vec<f64>, Failure> {
    let core = space.core()?;
    let settings = Settings {
        seed: seed as u32,
        ..Settings::of_parameters(core.dim(), 0)
    };
    let storage = vec![T::ZERO; optimizer::storage_len(core.dim(), evaluations)];
    let mut optimizer = Optimizer::new(core, settings, evaluations, storage)?;
    let mut values = Vec::with_capacity(evaluations);
    for _ in 0..evaluations {
        let point = if lets_go {
            optimizer.suggest()?
        } else {
            optimizer.suggest_by(&Acquisition::ExpectedImprovement)?
        };
        let numbers: Vec<f64> = point.iter().map(|x| x.to_f64()).collect();
        let value = f(&numbers);
        optimizer.observe(&point, T::from_f64(value))?;
        values.push(value);
    }
    Ok(values)
}

/// The values of host's search, with a file or without.
fn searched(
    space: &Space,
    seed: u64,
    evaluations: usize,
    f: &Function,
    file: Option<&PriorFile>,
) -> Result<Vec<f64>, Failure> {
    let head = Head::new(space.clone(), Goal::Maximize, seed);
    let mut search = match file {
        Some(file) => Search::guided(head, file)?,
        None => Search::new(head)?,
    };
    let mut values = Vec::with_capacity(evaluations);
    for _ in 0..evaluations {
        let point = search.ask(&json!({}))?.into();
        let value = f(&space.numbers(&point)?);
        search.tell(&point, value)?;
        values.push(value);
    }
    Ok(values)
}

/// Regret summed, regret at the end, and 100 if the search is stuck.
type Ended = [f64; 3];

/// What each way comes to.
fn compared(kind: &Kind, number: u64, evaluations: usize) -> Result<[Ended; WAYS.len()], Failure> {
    let space = SpaceFile::parse(&kind.name, &kind.space)?.space;
    let f = (kind.made)(number);
    let (deviation, mut largest) = known(&space, &f)?;
    let unit = if kind.is_scaled { deviation } else { 1.0 };
    let mut paths = Vec::new();
    for way in WAYS {
        let values = match way {
            Way::Core { lets_go } => asked::<f64>(&space, number, (evaluations, lets_go), &f)?,
            Way::Single { lets_go } => asked::<f32>(&space, number, (evaluations, lets_go), &f)?,
            Way::Host => searched(&space, number, evaluations, &f, None)?,
        };
        largest = values.iter().copied().fold(largest, f64::max);
        paths.push(values);
    }
    let mut found = [[0.0; 3]; WAYS.len()];
    for (found, values) in found.iter_mut().zip(paths) {
        let mut best = f64::NEG_INFINITY;
        let mut summed = 0.0;
        for value in values {
            best = best.max(value);
            summed += (largest - best) / unit;
        }
        let end = (largest - best) / unit;
        *found = [summed, end, if end > STUCK { 100.0 } else { 0.0 }];
    }
    Ok(found)
}

/// Mean and standard error.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count * (count - 1.0).max(1.0))).sqrt())
}

/// What `of` says of 0 to `count`, on all processors.
fn each<R: Send>(
    count: u64,
    of: impl Fn(u64) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Failure> {
    let threads = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let of_thread = |first| {
        (first..count)
            .step_by(threads as usize)
            .map(&of)
            .collect::<Result<Vec<_>, _>>()
    };
    let found = thread::scope(|scope| {
        let began: Vec<_> = (0..threads)
            .map(|first| scope.spawn(move || of_thread(first)))
            .collect();
        let ended = began.into_iter().map(|thread| thread.join());
        ended
            .map(|ended| ended.unwrap_or_else(|_| Err("a thread panicked".into())))
            .collect::<Result<Vec<_>, _>>()
    })?;
    Ok(found.into_iter().flatten().collect())
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|word| word == "readers").is_some() {
        let populations = arguments.next().map_or(Ok(4), |text| text.parse())?;
        let epsilon = arguments.next().map_or(Ok(1.0), |text| text.parse())?;
        return readers::table(populations, epsilon);
    }
    let functions: u64 = arguments.next().map_or(Ok(60), |text| text.parse())?;
    let evaluations: usize = arguments.next().map_or(Ok(40), |text| text.parse())?;
    println!(
        "| {functions} functions, {evaluations} evaluations | way | summed | at the end | stuck |"
    );
    println!("|---|---|--:|--:|--:|");
    for kind in kinds() {
        let found = each(functions, |number| compared(&kind, number, evaluations))?;
        for (place, way) in WAYS.iter().enumerate() {
            let [summed, end, stuck] = [0, 1, 2].map(|what| {
                let values: Vec<f64> = found.iter().map(|ways| ways[place][what]).collect();
                moments(&values)
            });
            println!(
                "| {} | {} | {:.2} ({:.2}) | {:.4} ({:.4}) | {:.0} % ({:.0}) |",
                kind.name,
                way.name(),
                summed.0,
                summed.1,
                end.0,
                end.1,
                stuck.0,
                stuck.1
            );
        }
    }
    Ok(())
}
