//! Ask and tell over a pipe, for comparisons with other programs: `bench/black_boxes.py` runs it.
//!
//! A run is one line `dim initial evaluations seed low high low high …` on standard input; then
//! each point is a line on standard output, answered by a line with its value, which is maximised.
//! After the last one: `end`, and seconds of a suggestion on average. Runs follow each other.

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::Instant;

use sordino_core::domain::BoxDomain;
use sordino_core::optimizer::{Optimizer, Settings, storage_len};

fn main() -> Result<(), Box<dyn Error>> {
    let mut lines = stdin().lock().lines();
    while let Some(line) = lines.next() {
        let numbers: Vec<f64> = line?
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        let [dim, initial, evaluations, seed, bounds @ ..] = &numbers[..] else {
            return Err("a line too short".into());
        };
        let bounds: Vec<(f64, f64)> = bounds
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[1]))
            .collect();
        let dim = *dim as usize;
        let evaluations = *evaluations as usize;
        let settings = Settings {
            initial_points: *initial as u32,
            seed: *seed as u32,
            ..Settings::default()
        };
        let storage = vec![0.0f64; storage_len(dim, evaluations)];
        let mut optimizer =
            Optimizer::new(BoxDomain::new(&bounds)?, settings, evaluations, storage)?;
        let mut seconds = 0.0;
        for _ in 0..evaluations {
            let start = Instant::now();
            let point = optimizer.suggest()?;
            seconds += start.elapsed().as_secs_f64();
            let words: Vec<String> = point.iter().map(|x| format!("{x:e}")).collect();
            writeln!(stdout(), "{}", words.join(" "))?;
            stdout().flush()?;
            let value: f64 = lines.next().ok_or("no value")??.trim().parse()?;
            optimizer.observe(&point, value)?;
        }
        writeln!(
            stdout(),
            "end {}",
            seconds / (evaluations as f64 - initial).max(1.0)
        )?;
        stdout().flush()?;
    }
    Ok(())
}
