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

use std::error::Error;
use std::f64::consts::PI;
use std::thread;

use serde_json::json;
use sordino_core::domain::sobol::coordinate;
use sordino_core::math::Scalar;
use sordino_core::optimizer::{self, Acquisition, Optimizer, Settings};
use sordino_core::random::{Stream, normal};
use sordino_host::search::{Head, Search};
use sordino_host::space::{Encoding, Goal, Space, SpaceFile};

/// Points among which the deviation and the first guess of the best are found.
const POINTS: u32 = 4096;
/// Cosines of a draw of a Gaussian process.
const COSINES: usize = 400;
const WAYS: [Way; 5] = [
    Way::Core { lets_go: false },
    Way::Core { lets_go: true },
    Way::Single { lets_go: false },
    Way::Single { lets_go: true },
    Way::Host,
];
/// Regret from which on a search is stuck.
const STUCK: f64 = 0.2;

type Failure = Box<dyn Error + Send + Sync>;
type Function = Box<dyn Fn(&[f64]) -> f64 + Send + Sync>;

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

/// A kind of function, larger is better, of the numbers of a space.
struct Kind {
    name: String,
    space: String,
    /// The function of this number.
    made: Box<dyn Fn(u64) -> Function + Sync>,
    /// Whether its deviation is the unit.
    is_scaled: bool,
}

/// Another ward of README's example.
fn wards() -> Kind {
    // A file's parameters are in the order of their names.
    let space = "[parameters.depth]\nlow = 1\nhigh = 12\ninteger = true\n\
                 [parameters.kind]\nchoices = [\"adam\", \"sgd\", \"lion\"]\n\
                 [parameters.rate]\nlow = 1e-6\nhigh = 1\nscale = \"log\"\n";
    let made = |number| -> Function {
        let mut own = [0.0f64; 2];
        normal::fill(&mut Stream::from_seed(number), &mut own);
        let (rate, depth) = (-2.4 + 0.15 * own[0], 7.0 + 0.6 * own[1]);
        Box::new(move |x| {
            let far = ((x[2].log10() - rate) / 0.7).powi(2) + ((x[0] - depth) / 2.0).powi(2);
            let deep = [1.0, 0.6, 0.3][x[1] as usize];
            deep * (-0.5 * far).exp()
        })
    };
    Kind {
        name: "wards".into(),
        space: space.into(),
        made: Box::new(made),
        is_scaled: false,
    }
}

/// `dim` parameters from 0 to 1.
fn unit_box(dim: usize) -> String {
    (0..dim)
        .map(|axis| format!("[parameters.x{axis}]\nlow = 0\nhigh = 1\n"))
        .collect()
}

/// Draws of a Gaussian process (squared exponential, by random cosines) over the coordinates of a
/// space.
fn draws(name: String, space: String, lengthscale: f64) -> Kind {
    let file = SpaceFile::parse("draws", &space).expect("a space");
    let core = file.space.core().expect("a space of core");
    let made = move |number| -> Function {
        let encoding = Encoding::new(&core);
        let dim = encoding.dim();
        let mut stream = Stream::from_seed(1000 + number);
        let mut waves = vec![0.0f64; COSINES * dim];
        let mut weights = vec![0.0f64; COSINES];
        normal::fill(&mut stream, &mut waves);
        normal::fill(&mut stream, &mut weights);
        let phases: Vec<f64> = (0..COSINES)
            .map(|_| 2.0 * PI * stream.unit::<f64>())
            .collect();
        Box::new(move |x| {
            let x = encoding.coordinates(x);
            let cosines = waves.chunks_exact(dim).zip(&weights).zip(&phases);
            let sum: f64 = cosines
                .map(|((wave, weight), phase)| {
                    let along: f64 = wave.iter().zip(&x).map(|(w, x)| w * x).sum();
                    weight * (along / lengthscale + phase).cos()
                })
                .sum();
            sum * (2.0 / COSINES as f64).sqrt()
        })
    };
    Kind {
        name,
        space,
        made: Box::new(made),
        is_scaled: true,
    }
}

/// A function of two numbers over its box, which is moved by up to a tenth of its sides.
fn moved(name: &str, [(a, b), (c, d)]: [(f64, f64); 2], f: fn(f64, f64) -> f64) -> Kind {
    let made = move |number| -> Function {
        let mut stream = Stream::from_seed(2000 + number);
        let mut by = || 0.2 * stream.unit::<f64>() - 0.1;
        let (first, second) = (by(), by());
        Box::new(move |x| -f(a + (b - a) * (x[0] + first), c + (d - c) * (x[1] + second)))
    };
    Kind {
        name: name.into(),
        space: unit_box(2),
        made: Box::new(made),
        is_scaled: true,
    }
}

fn rosenbrock(x: f64, y: f64) -> f64 {
    (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2)
}

fn branin(x: f64, y: f64) -> f64 {
    let hollow = y - 5.1 / (4.0 * PI * PI) * x * x + 5.0 / PI * x - 6.0;
    hollow * hollow + 10.0 * (1.0 - 1.0 / (8.0 * PI)) * x.cos() + 10.0
}

fn kinds() -> Vec<Kind> {
    let mixed = unit_box(2) + "[parameters.kind]\nchoices = [\"a\", \"b\", \"c\", \"d\"]\n";
    let boxes = [(1, 0.1), (2, 0.15), (2, 0.3), (4, 0.4), (6, 0.6)];
    let mut kinds = vec![wards()];
    for lengthscale in [0.25, 0.5] {
        let name = format!("two numbers and four choices, {lengthscale}");
        kinds.push(draws(name, mixed.clone(), lengthscale));
    }
    for (dim, lengthscale) in boxes {
        let name = format!("box of {dim}, {lengthscale}");
        kinds.push(draws(name, unit_box(dim), lengthscale));
    }
    kinds.push(moved("Rosenbrock", [(-2.0, 2.0), (-1.0, 3.0)], rosenbrock));
    kinds.push(moved("Branin", [(-5.0, 10.0), (0.0, 15.0)], branin));
    kinds
}

/// The standard deviation of a function, and its largest value as far as a climb from the best of
/// many points finds it.
fn known(space: &Space, f: &Function) -> Result<(f64, f64), Failure> {
    let core = space.core()?;
    let value = |unit: &[f64]| {
        let numbers = unit.iter().enumerate();
        let numbers: Vec<f64> = numbers
            .map(|(axis, u)| core.from_unit(axis, *u).unwrap_or(0.0))
            .collect();
        f(&numbers)
    };
    let mut points: Vec<(f64, Vec<f64>)> = (0..POINTS)
        .map(|index| {
            let unit: Vec<f64> = (0..core.dim())
                .map(|axis| coordinate(index, axis, 1))
                .collect();
            (value(&unit), unit)
        })
        .collect();
    let count = f64::from(POINTS);
    let mean = points.iter().map(|(value, _)| value / count).sum::<f64>();
    let squares = points.iter().map(|(value, _)| (value - mean).powi(2));
    let deviation = (squares.sum::<f64>() / count).sqrt();
    points.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut largest = f64::NEG_INFINITY;
    for (mut best, mut at) in points.into_iter().take(10) {
        let mut step = 0.05;
        while step > 1e-6 {
            let before = best;
            for axis in 0..at.len() {
                for by in [-step, step] {
                    let mut beside = at.clone();
                    beside[axis] = (beside[axis] + by).clamp(0.0, 1.0);
                    let found = value(&beside);
                    if found > best {
                        (best, at) = (found, beside);
                    }
                }
            }
            if best == before {
                step /= 2.0;
            }
        }
        largest = largest.max(best);
    }
    Ok((deviation, largest))
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

/// The values of host's search.
fn searched(
    space: &Space,
    seed: u64,
    evaluations: usize,
    f: &Function,
) -> Result<Vec<f64>, Failure> {
    let mut search = Search::new(Head::new(space.clone(), Goal::Maximize, seed))?;
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
            Way::Host => searched(&space, number, evaluations, &f)?,
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

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let functions: u64 = arguments.next().map_or(Ok(60), |text| text.parse())?;
    let evaluations: usize = arguments.next().map_or(Ok(40), |text| text.parse())?;
    let threads = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    println!(
        "| {functions} functions, {evaluations} evaluations | way | summed | at the end | stuck |"
    );
    println!("|---|---|--:|--:|--:|");
    for kind in kinds() {
        let of_thread = |first| {
            (first..functions)
                .step_by(threads as usize)
                .map(|number| compared(&kind, number, evaluations))
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
        })?
        .concat();
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
