//! Functions of several kinds, larger is better, and the best value of each.

use std::error::Error;
use std::f64::consts::PI;

use sordino_core::domain::sobol::coordinate;
use sordino_core::random::{Stream, normal};
use sordino_host::space::{Encoding, Space, SpaceFile};

/// Points among which the deviation and the first guess of the best are found.
const POINTS: u32 = 4096;
/// Cosines of a draw of a Gaussian process.
const COSINES: usize = 400;

pub type Failure = Box<dyn Error + Send + Sync>;
pub type Function = Box<dyn Fn(&[f64]) -> f64 + Send + Sync>;

/// A kind of function, larger is better, of the numbers of a space.
pub struct Kind {
    pub name: String,
    pub space: String,
    /// The function of this number.
    pub made: Box<dyn Fn(u64) -> Function + Sync>,
    /// Whether its deviation is the unit.
    pub is_scaled: bool,
}

/// Another ward of README's example.
pub fn wards() -> Kind {
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
pub fn unit_box(dim: usize) -> String {
    (0..dim)
        .map(|axis| format!("[parameters.x{axis}]\nlow = 0\nhigh = 1\n"))
        .collect()
}

/// A draw of a Gaussian process (squared exponential, by random cosines).
pub struct Draw {
    waves: Vec<f64>,
    weights: Vec<f64>,
    phases: Vec<f64>,
}

impl Draw {
    pub fn new(seed: u64, dim: usize) -> Draw {
        let mut stream = Stream::from_seed(seed);
        let mut waves = vec![0.0; COSINES * dim];
        let mut weights = vec![0.0; COSINES];
        normal::fill(&mut stream, &mut waves);
        normal::fill(&mut stream, &mut weights);
        let phases = (0..COSINES).map(|_| 2.0 * PI * stream.unit::<f64>());
        Draw {
            waves,
            weights,
            phases: phases.collect(),
        }
    }

    /// Its value at these coordinates; variance 1.
    pub fn at(&self, x: &[f64], lengthscale: f64) -> f64 {
        let cosines = self.waves.chunks_exact(x.len()).zip(&self.weights);
        let sum: f64 = cosines
            .zip(&self.phases)
            .map(|((wave, weight), phase)| {
                let along: f64 = wave.iter().zip(x).map(|(w, x)| w * x).sum();
                weight * (along / lengthscale + phase).cos()
            })
            .sum();
        sum * (2.0 / COSINES as f64).sqrt()
    }
}

/// Draws over the coordinates of a space.
pub fn draws(name: String, space: String, lengthscale: f64) -> Kind {
    let file = SpaceFile::parse("draws", &space).expect("a space");
    let core = file.space.core().expect("a space of core");
    let made = move |number| -> Function {
        let encoding = Encoding::new(&core);
        let draw = Draw::new(1000 + number, encoding.dim());
        Box::new(move |x| draw.at(&encoding.coordinates(x), lengthscale))
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

pub fn kinds() -> Vec<Kind> {
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
pub fn known(space: &Space, f: &Function) -> Result<(f64, f64), Failure> {
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
