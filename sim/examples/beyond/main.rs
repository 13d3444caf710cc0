//! What makes the federated prior cheaper, and what does not: the numbers and figures of
//! `docs/beyond.md` and `docs/secure-aggregation.md`.
//!
//! `cargo run --release -p sordino-sim --example beyond -- [--runs N] [--only TABLE] [--write]`;
//! without `--write` tables go to standard output. Functions are paired over all cases. An
//! experiment on one family of functions, no proof.
#![allow(missing_docs)]

mod cases;
mod run;
mod sums;
mod table;
mod world;

use std::fs;
use std::path::Path;
use std::thread;

use sordino_core::random::RunSeed;
use table::{Row, Table};
use world::{Case, Outcome, World};

/// The default number of functions.
const RUNS: u32 = 12;

/// Runs a case on the functions of seeds 0 to `runs`, on two threads.
fn measure(name: String, x: f64, case: Case, runs: u32) -> Outcome<Row> {
    let world = &World::new(case)?;
    let seeds: Vec<RunSeed> = (0..runs).map(|run| RunSeed::new(2_027, run)).collect();
    let found = thread::scope(|scope| {
        let part = |part: Vec<RunSeed>| {
            scope.spawn(move || {
                part.into_iter()
                    .map(|seed| run::run(world, seed))
                    .collect::<Outcome<Vec<_>>>()
            })
        };
        let workers: Vec<_> = seeds
            .chunks(seeds.len().div_ceil(2).max(1))
            .map(|p| part(p.to_vec()))
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("a worker"))
            .collect::<Outcome<Vec<_>>>()
    })?;
    eprintln!("{name}");
    Ok(Row {
        name,
        x,
        found: found.concat(),
        features: world.config.features(),
    })
}

/// Puts `text` between the marks of `name` in a document.
fn insert(document: &str, name: &str, text: &str) -> Outcome<String> {
    let begin = format!("<!-- begin {name} -->\n");
    let end = format!("<!-- end {name} -->");
    let missing = || format!("no marks of {name}");
    let (before, rest) = document.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}{text}{end}{after}"))
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let mut runs = RUNS;
    let mut write = false;
    let mut only = None;
    while let Some(word) = arguments.next() {
        match word.as_str() {
            "--runs" => runs = arguments.next().ok_or("--runs N")?.parse()?,
            "--only" => only = Some(arguments.next().ok_or("--only TABLE")?),
            "--write" => write = true,
            _ => return Err(format!("unknown word {word:?}").into()),
        }
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    for (document, plan) in cases::tables()
        .into_iter()
        .filter(|(_, plan)| only.as_deref().is_none_or(|o| o == plan.name))
    {
        let rows = plan
            .rows
            .into_iter()
            .map(|(name, x, case)| measure(name, x, case, runs));
        let table = Table {
            rows: rows.collect::<Outcome<Vec<_>>>()?,
            ..plan.table
        };
        let text = table.markdown();
        let figure = table.figure(runs);
        if !write {
            println!("{}\n\n{text}", plan.name);
            continue;
        }
        let path = docs.join(document);
        fs::write(
            &path,
            insert(&fs::read_to_string(&path)?, plan.name, &text)?,
        )?;
        if let Some(figure) = figure {
            fs::write(
                docs.join(format!("pictures/beyond-{}.svg", plan.name)),
                figure,
            )?;
        }
    }
    for (name, text) in [("discreteness", sums::discreteness()?)] {
        if only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        if !write {
            println!("{name}\n\n{text}");
            continue;
        }
        let path = docs.join("secure-aggregation.md");
        fs::write(&path, insert(&fs::read_to_string(&path)?, name, &text)?)?;
    }
    Ok(())
}
