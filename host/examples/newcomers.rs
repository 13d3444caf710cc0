//! What a prior file is worth on a table of real settings: regret of newcomers with the file over that of newcomers alone.
//!
//! `cargo run --release -p sordino-host --example newcomers -- FOLDER NAME CONTRIBUTORS EPSILON REPETITIONS [permuted]`, with
//! `FOLDER/NAME-settings.csv` and `FOLDER/NAME-values.bin` as in `sim/data`. Every party has a unit of its own. The file is
//! simulated; nothing is chosen but what is named here. The axes are ordered levels, which is what the columns of a table are.
//! `permuted` pairs the points of each contributor with its values in another order: a file of these is worth nothing.

use std::error::Error;
use std::path::Path;

use serde_json::{Value, json};
use sordino_core::random::{Party, Purpose, RunSeed, Stream, normal};
use sordino_host::ledger::{Accounting, Ledger, Terms};
use sordino_host::prior::PriorFile;
use sordino_host::prior::publish::{Publication, Study, publish};
use sordino_host::search::{Head, Search};
use sordino_host::server::SimulatedSources;
use sordino_host::space::{Goal, Parameter, Point, Space, Values};

const NEWCOMERS: usize = 24;
const EVALUATIONS: usize = 20;
const POINTS: usize = 10;
const USAGE: &str = "newcomers FOLDER NAME CONTRIBUTORS EPSILON REPETITIONS [permuted]";

/// Settings in the space's numbers, and for each party its value at each.
struct Table {
    space: Space,
    settings: Vec<Vec<f64>>,
    values: Vec<Vec<f64>>,
}

fn read(folder: &Path, name: &str) -> Result<Table, Box<dyn Error>> {
    let text = std::fs::read_to_string(folder.join(format!("{name}-settings.csv")))?;
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().ok_or("no header")?.split(',').collect();
    let numbers = |line: &str| line.split(',').map(str::parse).collect::<Result<Vec<f64>, _>>();
    let rows = lines.map(numbers).collect::<Result<Vec<_>, _>>()?;
    let levels = |axis: usize| {
        let mut levels: Vec<f64> = rows.iter().map(|row| row[axis]).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        levels
    };
    let parameter = |(axis, name): (usize, &&str)| {
        let values = Values::Choices { choices: levels(axis).into_iter().map(Value::from).collect(), ordered: true };
        Parameter { name: (*name).to_owned(), values, context: false }
    };
    let space = Space::new(names.iter().enumerate().map(parameter).collect())?;
    let place = |(axis, x): (usize, &f64)| levels(axis).partition_point(|level| level < x) as f64;
    let settings = rows.iter().map(|row| row.iter().enumerate().map(place).collect()).collect::<Vec<Vec<f64>>>();
    let bytes = std::fs::read(folder.join(format!("{name}-values.bin")))?;
    let (pairs, _) = bytes.as_chunks::<2>();
    let all: Vec<f64> = pairs.iter().map(|pair| f64::from(i16::from_le_bytes(*pair)) / 1e4).collect();
    let values = all.chunks_exact(settings.len()).map(<[f64]>::to_vec).collect();
    Ok(Table { space, settings, values })
}

/// Numbers below `count` in an order of the stream.
fn shuffled(stream: &mut Stream, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, stream.below(last as u32 + 1) as usize);
    }
    order
}

fn file(
    table: &Table,
    parties: &[usize],
    epsilon: f64,
    repetition: u32,
    permuted: bool,
) -> Result<PriorFile, Box<dyn Error>> {
    let mut stream = RunSeed::new(1, repetition).stream(Party::World, Purpose::InitialPoints, 1);
    let mut studies = Vec::new();
    for party in parties {
        let (scale, offset): (f64, f64) =
            ((1.5 * normal::draw::<f64>(&mut stream)).exp(), 30.0 * normal::draw::<f64>(&mut stream));
        let seen = shuffled(&mut stream, table.settings.len());
        let seen = &seen[..POINTS];
        let order = if permuted { shuffled(&mut stream, POINTS) } else { (0..POINTS).collect() };
        let value = |(place, at): (usize, &usize)| {
            (table.settings[*at].clone(), offset + scale * table.values[*party][seen[order[place]]])
        };
        studies.push(Study { name: party.to_string(), values: seen.iter().enumerate().map(value).collect() });
    }
    let delta = (1.0 / parties.len() as f64).powf(1.1).min(1e-3);
    let publication = Publication {
        space: table.space.clone(),
        goal: Goal::Maximize,
        value: None,
        epsilon,
        delta,
        releases: 2,
        features: 100,
        dataset: "table".into(),
        by: None,
        note: None,
        published: None,
    };
    let terms = Terms {
        data: "table".into(),
        unit: "study".into(),
        records: None,
        accounting: Accounting::Gaussian,
        epsilon_max: None,
        delta,
    };
    let sources = SimulatedSources::new(RunSeed::new(2, repetition));
    Ok(publish(&publication, &studies, sources, Ledger::in_memory(&terms)?, |_| {})?.0)
}

/// Regret after each evaluation.
fn regrets(table: &Table, party: usize, mut search: Search) -> Result<Vec<f64>, Box<dyn Error>> {
    let values = &table.values[party];
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut best = f64::NEG_INFINITY;
    let mut regrets = Vec::new();
    for _ in 0..EVALUATIONS {
        let point = Value::Object(search.ask(&json!({}))?);
        let numbers = table.space.numbers(&point)?;
        let at = table.settings.iter().position(|setting| *setting == numbers).ok_or("no setting of the table")?;
        search.tell(&point, 5.0 + 3.0 * values[at])?;
        best = best.max(values[at]);
        regrets.push(most - best);
    }
    Ok(regrets)
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ([folder, name, contributors, epsilon, repetitions], rest) = words.split_first_chunk().ok_or(USAGE)?;
    let permuted = match rest {
        [] => false,
        [word] if word == "permuted" => true,
        _ => return Err(USAGE.into()),
    };
    let (contributors, epsilon): (usize, f64) = (contributors.parse()?, epsilon.parse()?);
    let table = read(Path::new(folder), name)?;
    let candidates: Vec<Point> = table.settings.iter().map(|setting| table.space.point(setting)).collect();
    for repetition in 0..repetitions.parse()? {
        let mut stream = RunSeed::new(0, repetition).stream(Party::World, Purpose::InitialPoints, 0);
        let order = shuffled(&mut stream, table.values.len());
        let (newcomers, others) = order.split_at(NEWCOMERS);
        let file = file(&table, &others[..contributors.min(others.len())], epsilon, repetition, permuted)?;
        let (mut with, mut alone) = (vec![0.0; EVALUATIONS], vec![0.0; EVALUATIONS]);
        for (seed, party) in newcomers.iter().enumerate() {
            let head = Head::new(table.space.clone(), Goal::Maximize, seed as u64).among(Some(candidates.clone()));
            for (sums, search) in [(&mut with, Search::guided(head.clone(), &file)?), (&mut alone, Search::new(head)?)]
            {
                sums.iter_mut().zip(regrets(&table, *party, search)?).for_each(|(sum, regret)| *sum += regret);
            }
        }
        let (with_sum, alone_sum): (f64, f64) = (with.iter().sum(), alone.iter().sum());
        println!(
            "{name} N {contributors} epsilon {epsilon} repetition {repetition}: B {:.2}, lengthscale {}, with {:.4}, alone {:.4}, ratio {:.3}; first {:.4} and {:.4}, eighth with {:.4}, twentieth alone {:.4}",
            file.label.self_test,
            file.label.lengthscale,
            with_sum / NEWCOMERS as f64,
            alone_sum / NEWCOMERS as f64,
            with_sum / alone_sum,
            with[0] / NEWCOMERS as f64,
            alone[0] / NEWCOMERS as f64,
            with[7] / NEWCOMERS as f64,
            alone[EVALUATIONS - 1] / NEWCOMERS as f64
        );
    }
    Ok(())
}
