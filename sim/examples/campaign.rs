//! What a campaign is worth to its own sites, before anybody runs one: sites make ten evaluations
//! each, publish a file of them, and go on with it, beside the same sites alone.
//!
//! On a table that is compiled in, `employment`, `planes` or `wages`:
//!
//! ```sh
//! cargo run --release -p sordino-sim --example campaign -- TABLE CONTRIBUTORS EPSILON REPETITIONS [random]
//! ```
//!
//! Sites choose their ten evaluations by a search for themselves, or at random.
//!
//! On functions of your own, in two steps. `… --example campaign -- candidates SPACE.toml` prints
//! the points that the sites of a campaign choose among, one JSON object a line. Write what each
//! site finds at each of them, a line a site of numbers with commas, and run
//! `… --example campaign -- SPACE.toml VALUES.csv CONTRIBUTORS EPSILON REPETITIONS [random]`.

use std::error::Error;
use std::fs;
use std::thread;

use sordino_experiment::benchmark::Measured;
use sordino_host::prior::context::Context;
use sordino_host::space::SpaceFile;
use sordino_lab::newcomers::{Conditions, FirstPoints, Parties, ROUNDS, continued, each};

const USAGE: &str = "campaign TABLE CONTRIBUTORS EPSILON REPETITIONS [random] | candidates SPACE.toml | SPACE.toml VALUES.csv \
                     CONTRIBUTORS EPSILON REPETITIONS [random]";
/// Evaluations after the contribution at which ratios are shown.
const AFTER: [usize; 4] = [5, 10, 20, ROUNDS];

fn main() -> Result<(), Box<dyn Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut first = FirstPoints::Searched;
    if words.last().is_some_and(|word| word == "random") {
        words.pop();
        first = FirstPoints::Random;
    }
    match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["candidates", path] if first == FirstPoints::Searched => {
            let file = space(path)?;
            for numbers in Context::new(&file.space, 1, 2)?.candidates() {
                println!("{}", serde_json::to_string(&file.space.point(numbers))?);
            }
            Ok(())
        }
        [table, numbers @ ..] if numbers.len() == 3 => {
            let file = format!("{table}-settings.csv");
            let measured = Measured::ALL
                .into_iter()
                .find(|measured| measured.file() == file)
                .ok_or(USAGE)?;
            show(&Parties::measured(measured)?, numbers, first)
        }
        [path, values, numbers @ ..] if numbers.len() == 3 => {
            let file = space(path)?;
            let candidates = Context::new(&file.space, 1, 2)?.candidates().to_vec();
            let sign = file.goal.ok_or("the space names no goal")?.sign();
            let cells = fs::read_to_string(values)?;
            let cells = cells
                .lines()
                .flat_map(|line| line.split(','))
                .map(|cell| cell.trim().parse::<f64>());
            let values: Vec<f64> = cells
                .map(|value| value.map(|value| sign * value))
                .collect::<Result<_, _>>()?;
            show(
                &Parties::searching(file.space, candidates, &values)?,
                numbers,
                first,
            )
        }
        _ => Err(USAGE.into()),
    }
}

fn space(path: &str) -> Result<SpaceFile, Box<dyn Error>> {
    Ok(SpaceFile::parse(path, &fs::read_to_string(path)?)?)
}

/// The ratios of each repetition, then their mean and standard error.
fn show(table: &Parties, numbers: &[&str], first: FirstPoints) -> Result<(), Box<dyn Error>> {
    let [contributors, epsilon, count] = numbers else {
        return Err(USAGE.into());
    };
    let conditions = Conditions {
        contributors: contributors.parse()?,
        epsilon: epsilon.parse()?,
        own_units: true,
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut ratios = vec![Vec::new(); AFTER.len()];
    let all = each(count.parse()?, threads, &|| eprint!("."), &|number| {
        continued(table, &conditions, first, number)
    })?;
    eprintln!();
    for (number, continued) in all.iter().enumerate() {
        let summed = |regrets: &[f64], after: usize| regrets[..after].iter().sum::<f64>();
        let of =
            AFTER.map(|after| summed(&continued.guided, after) / summed(&continued.alone, after));
        ratios
            .iter_mut()
            .zip(of)
            .for_each(|(ratios, ratio)| ratios.push(ratio));
        println!(
            "repetition {number}: B {:.2}, ratios {of:.3?}, summed regret alone {:.3}",
            continued.self_test,
            summed(&continued.alone, ROUNDS)
        );
    }
    let chosen = match first {
        FirstPoints::Searched => "by a search",
        FirstPoints::Random => "at random",
    };
    for (after, ratios) in AFTER.iter().zip(&ratios) {
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        let squares: f64 = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
        let error = (squares / (ratios.len() as f64 - 1.0) / ratios.len() as f64).sqrt();
        println!(
            "{after} evaluations after ten that were chosen {chosen}: summed regret over that alone {mean:.3} ({error:.3})"
        );
    }
    Ok(())
}
