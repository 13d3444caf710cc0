//! What a prior file is worth on a compiled-in table, repetition by repetition: regret of newcomers
//! with the file over that of newcomers alone, for any number of contributors and any ε.
//! `sordino reproduce file/employment` and its like judge a few of them.
//!
//! ```sh
//! cargo run --release -p sordino-sim --example newcomers -- \
//!     TABLE CONTRIBUTORS EPSILON REPETITIONS [common] [ORIGIN …]
//! ```
//!
//! The table is `employment`, `planes` or `wages`; origins are `studies`, `votes`, `noise`, `flat`,
//! `permuted` (all of them if there is none). `common` counts in one unit. `saved` in the place
//! of origins: what each file's label says that it saves, beside what it saves.

use std::error::Error;
use std::thread;

use sordino_experiment::benchmark::Measured;
use sordino_lab::newcomers::{
    COUNTED, Conditions, EVALUATIONS, Origin, Parties, each, repetitions, saved,
};

const USAGE: &str = "newcomers TABLE CONTRIBUTORS EPSILON REPETITIONS [common] [saved|studies|votes|noise|flat|permuted …]";

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ([table, contributors, epsilon, count], rest) = words.split_first_chunk().ok_or(USAGE)?;
    let file = format!("{table}-settings.csv");
    let measured = Measured::ALL
        .into_iter()
        .find(|measured| measured.file() == file)
        .ok_or(USAGE)?;
    let mut conditions = Conditions {
        contributors: contributors.parse()?,
        epsilon: epsilon.parse()?,
        own_units: true,
    };
    let mut origins = Vec::new();
    let mut is_saved = false;
    for word in rest {
        match word.as_str() {
            "saved" => is_saved = true,
            "common" => conditions.own_units = false,
            "studies" => origins.push(Origin::Studies),
            "votes" => origins.push(Origin::Votes),
            "noise" => origins.push(Origin::Noise),
            "flat" => origins.push(Origin::Flat),
            "permuted" => origins.push(Origin::Permuted),
            _ => return Err(USAGE.into()),
        }
    }
    if origins.is_empty() {
        origins = Origin::ALL.to_vec();
    }
    let parties = Parties::measured(measured)?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    if is_saved {
        return savings(table, &parties, &conditions, count.parse()?, threads);
    }
    let all = repetitions(
        &parties,
        &conditions,
        &origins,
        count.parse()?,
        threads,
        &|| eprint!("."),
    )?;
    eprintln!();
    for (number, repetition) in all.iter().enumerate() {
        for guided in &repetition.guided {
            println!(
                "{table} N {contributors} epsilon {epsilon} repetition {number} {}: B {:.2}, summed {:.4}, alone {:.4}, \
                 ratio {:.3}, eighth {:.4}, twentieth alone {:.4}",
                guided.origin,
                guided.self_test,
                repetition.summed(guided.origin),
                repetition.summed_alone(),
                repetition.summed(guided.origin) / repetition.summed_alone(),
                guided.regrets[7],
                repetition.alone[EVALUATIONS - 1]
            );
        }
    }
    for origin in origins {
        let ratios: Vec<f64> = all
            .iter()
            .map(|repetition| repetition.summed(origin) / repetition.summed_alone())
            .collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        let squares: f64 = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
        let error = (squares / (ratios.len() as f64 - 1.0) / ratios.len() as f64).sqrt();
        let worst = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        println!("{table} {origin}: mean ratio {mean:.3} ({error:.3}), worst {worst:.3}");
    }
    Ok(())
}

/// What labels say that their files save, beside what they save: file by file, then over all that
/// say more than nothing.
fn savings(
    table: &str,
    parties: &Parties,
    conditions: &Conditions,
    count: u32,
    threads: usize,
) -> Result<(), Box<dyn Error>> {
    let all = each(count, threads, &|| eprint!("."), &|number| {
        saved(parties, conditions, number)
    })?;
    eprintln!();
    let mut sums = [0.0; 3];
    let mut files = 0;
    for (number, of) in all.iter().enumerate() {
        let mut sorted = of.each.clone();
        sorted.sort_unstable();
        let last = sorted.len() - 1;
        let quarter = sorted.len() / 4;
        let says = match of.is_nothing {
            true => "nothing".into(),
            false => format!("{} to {}", of.said.lower, of.said.upper),
        };
        let [below, within, above] = of.shares();
        println!(
            "{table} repetition {number}: says {says}; newcomers saved {} to {} (median {}, by mean regret {}; {COUNTED} or more are \
             {COUNTED}); below, within, above: {below:.2} {within:.2} {above:.2}",
            sorted[quarter],
            sorted[last - quarter],
            sorted[last / 2],
            of.by_mean
        );
        if !of.is_nothing {
            files += 1;
            (sums.iter_mut().zip(of.shares())).for_each(|(sum, share)| *sum += share);
        }
    }
    if files == 0 {
        println!("{table}: every file says that it is worth nothing");
        return Ok(());
    }
    let [below, within, above] = sums.map(|sum| sum / f64::from(files));
    println!(
        "{table}: {files} files; newcomers below, within, above: {below:.2} {within:.2} {above:.2}"
    );
    Ok(())
}
