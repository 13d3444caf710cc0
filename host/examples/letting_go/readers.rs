//! What a file is worth on a box to readers of its contributors' kind, and to those of another:
//! `cargo run --release -p sordino-host --example letting_go -- readers 4 1`.
//!
//! A population has something in common, and each of its members a part of its own. 66 members of
//! each of 4 populations, with ten random points each and units of their own, publish a file at ε 1
//! (δ = .001, noise that is simulated). 24 other members search alone, with the file of their
//! population, and with that of another one. In tables, where no candidate is asked twice, a search
//! leaves a wrong file by itself; on a box it has to let go.

use sordino_core::random::{RunSeed, Stream, normal};
use sordino_host::ledger::{Accounting, Ledger, Terms};
use sordino_host::prior::PriorFile;
use sordino_host::prior::publish::{Prepared, Publication, Study};
use sordino_host::server::SimulatedSources;
use sordino_host::space::{Encoding, Goal, SpaceFile};

use crate::functions::{Draw, Failure, Function, Kind, known, unit_box};
use crate::{STUCK, each, moments, searched};

const CONTRIBUTORS: u64 = 66;
/// Random points of a contributor.
const POINTS: usize = 10;
const READERS: u64 = 24;
const EVALUATIONS: usize = 40;
const DELTA: f64 = 1e-3;
/// The first population: the rule was tried on those before.
const FIRST: u64 = 100;
/// From here on a population is another one's.
const OTHERS: u64 = 1000;
/// The share of a draw's variance that its population has in common.
const COMMON: f64 = 0.75;

/// One number for each member of all populations.
fn member(population: u64, number: u64) -> u64 {
    100_000 * population + number
}

/// What populations of bowls have of their own.
#[derive(Clone, Copy)]
enum Apart {
    /// All: where the best point is, and with which optimizer.
    All,
    /// The optimizer alone.
    Optimizer,
}

/// Smooth bowls over a rate, a number of layers and three optimizers; values with so much noise,
/// the same at the same point.
fn bowls(population: u64, apart: Apart, noise: f64) -> Kind {
    let space = "[parameters.layers]\nlow = 1\nhigh = 8\ninteger = true\n\
                 [parameters.optimizer]\nchoices = [\"adam\", \"sgd\", \"lion\"]\n\
                 [parameters.rate]\nlow = 1e-5\nhigh = 1e-1\nscale = \"log\"\n";
    let (seed, turned, name) = match apart {
        Apart::All => (population, 0, "bowls"),
        Apart::Optimizer => (
            population % OTHERS,
            population / OTHERS,
            "bowls, another optimizer",
        ),
    };
    let mut common = Stream::from_seed(7000 + seed);
    let [rate, layers] = [(); 2].map(|()| 0.15 + 0.7 * common.unit::<f64>());
    let best = ((3.0 * common.unit::<f64>()) as usize + turned as usize) % 3;
    let made = move |number| -> Function {
        let mut own = [0.0f64; 3];
        normal::fill(&mut Stream::from_seed(member(population, number)), &mut own);
        let (rate, layers) = (rate + 0.07 * own[0], layers + 0.07 * own[1]);
        let gaps = [0.0, 0.1 + 0.03 * own[2].abs(), 0.2];
        Box::new(move |x| {
            let far = ((x[2].log10() + 5.0) / 4.0 - rate).powi(2)
                + 0.6 * ((x[0] - 1.0) / 7.0 - layers).powi(2);
            let bits = x[2].to_bits() ^ x[0].to_bits().rotate_left(7);
            let coin = (bits.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / f64::from(1 << 24);
            -far - gaps[(x[1] as usize + 3 - best) % 3] + noise * (coin - 0.5)
        })
    };
    Kind {
        name: format!("{name}, noise {noise}"),
        space: space.into(),
        made: Box::new(made),
        is_scaled: true,
    }
}

/// Draws, of whose variance [`COMMON`] is their population's.
fn draws(population: u64, name: &str, space: String, lengthscale: f64) -> Kind {
    let file = SpaceFile::parse("draws", &space).expect("a space");
    let core = file.space.core().expect("a space of core");
    let made = move |number| -> Function {
        let encoding = Encoding::new(&core);
        let dim = encoding.dim();
        let common = Draw::new(500_000 + population, dim);
        let own = Draw::new(1000 + member(population, number), dim);
        Box::new(move |x| {
            let x = encoding.coordinates(x);
            COMMON.sqrt() * common.at(&x, lengthscale)
                + (1.0 - COMMON).sqrt() * own.at(&x, lengthscale)
        })
    };
    Kind {
        name: format!("{name}, {lengthscale}"),
        space,
        made: Box::new(made),
        is_scaled: true,
    }
}

/// The kinds of functions of a population.
fn kinds(population: u64) -> [Kind; 6] {
    let mixed = unit_box(2) + "[parameters.kind]\nchoices = [\"a\", \"b\", \"c\", \"d\"]\n";
    [
        bowls(population, Apart::All, 0.0),
        bowls(population, Apart::All, 0.1),
        bowls(population, Apart::Optimizer, 0.0),
        draws(population, "two numbers and four choices", mixed, 0.35),
        draws(population, "box of 2", unit_box(2), 0.25),
        draws(population, "box of 4", unit_box(4), 0.5),
    ]
}

/// The file of a population.
fn published(kind: &Kind, population: u64, epsilon: f64) -> Result<PriorFile, Failure> {
    let space = SpaceFile::parse(&kind.name, &kind.space)?.space;
    let core = space.core()?;
    let mut stream = Stream::from_seed(9_000_000 + population);
    let mut studies = Vec::new();
    for party in 0..CONTRIBUTORS {
        let f = (kind.made)(50_000 + party);
        let scale = (1.5 * normal::draw::<f64>(&mut stream)).exp();
        let offset = 30.0 * normal::draw::<f64>(&mut stream);
        let values = (0..POINTS).map(|_| {
            let numbers = (0..core.dim()).map(|axis| {
                let unit = stream.unit::<f64>();
                core.from_unit(axis, unit).unwrap_or(0.0)
            });
            let numbers: Vec<f64> = numbers.collect();
            let value = offset + scale * f(&numbers);
            (numbers, value)
        });
        studies.push(Study {
            name: party.to_string(),
            values: values.collect(),
        });
    }
    let publication = Publication {
        space,
        goal: Goal::Maximize,
        value: None,
        epsilon,
        delta: DELTA,
        releases: 2,
        features: 100,
        dataset: "members".into(),
        by: None,
        note: None,
        published: None,
    };
    let terms = Terms {
        data: "members".into(),
        unit: "member".into(),
        records: None,
        accounting: Accounting::Gaussian,
        epsilon_max: None,
        delta: DELTA,
    };
    let prepared = Prepared::new(&publication, studies.len())?;
    let enrolled: Vec<Option<&Study>> = studies.iter().map(Some).collect();
    let sources = SimulatedSources::new(RunSeed::new(2, population as u32));
    let ledger = Ledger::in_memory(&terms)?;
    Ok(prepared.publish(&enrolled, sources, ledger, |_| {})?.file)
}

/// Regret summed over 20 and over 40 evaluations, after 20 and after 40, and 100 if the search is
/// stuck then.
type Ended = [f64; 5];

/// A reader alone, with the file of its own kind, and with that of another.
fn compared(kind: &Kind, number: u64, files: &[PriorFile; 2]) -> Result<[Ended; 3], Failure> {
    let space = SpaceFile::parse(&kind.name, &kind.space)?.space;
    let f = (kind.made)(number);
    let (deviation, mut largest) = known(&space, &f)?;
    let [own, other] = files;
    let mut paths = Vec::new();
    for file in [None, Some(own), Some(other)] {
        let values = searched(&space, number, EVALUATIONS, &f, file)?;
        largest = values.iter().copied().fold(largest, f64::max);
        paths.push(values);
    }
    let mut found = [[0.0; 5]; 3];
    for (found, values) in found.iter_mut().zip(paths) {
        let bests = values.iter().scan(f64::NEG_INFINITY, |best, value| {
            *best = best.max(*value);
            Some((largest - *best) / deviation)
        });
        let regrets: Vec<f64> = bests.collect();
        let [half, all] = [EVALUATIONS / 2, EVALUATIONS].map(|count| &regrets[..count]);
        let [after, end] = [half, all].map(|regrets| regrets[regrets.len() - 1]);
        *found = [
            half.iter().sum(),
            all.iter().sum(),
            after,
            end,
            if end > STUCK { 100.0 } else { 0.0 },
        ];
    }
    Ok(found)
}

/// Prints what files of so many populations are worth.
pub fn table(populations: u64, epsilon: f64) -> Result<(), Failure> {
    println!(
        "| {populations} populations, ε {epsilon} | file | summed over 20 | over 40 | after 20 | after 40 | stuck |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|");
    for place in 0..kinds(0).len() {
        let mut all = Vec::new();
        for population in FIRST..FIRST + populations {
            let another = population + OTHERS;
            let own = &kinds(population)[place];
            let files = [
                published(own, population, epsilon)?,
                published(&kinds(another)[place], another, epsilon)?,
            ];
            all.extend(each(READERS, |number| compared(own, number, &files))?);
        }
        for (way, file) in ["none", "of its kind", "of another kind"]
            .iter()
            .enumerate()
        {
            let told = [0, 1, 2, 3, 4].map(|what| {
                let values: Vec<f64> = all.iter().map(|ways| ways[way][what]).collect();
                moments(&values)
            });
            let [half, whole, after, end, stuck] = told;
            println!(
                "| {} | {file} | {:.2} ({:.2}) | {:.2} ({:.2}) | {:.3} ({:.3}) | {:.3} ({:.3}) | {:.0} % ({:.0}) |",
                kinds(0)[place].name,
                half.0,
                half.1,
                whole.0,
                whole.1,
                after.0,
                after.1,
                end.0,
                end.1,
                stuck.0,
                stuck.1
            );
        }
    }
    Ok(())
}
