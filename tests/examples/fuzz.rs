//! Random edits for as long as one likes: `cargo xtask fuzz [TARGET …] [--seconds N] [--seed N]`.

use std::error::Error;
use std::time::{Duration, Instant};

use sordino_tests::fuzz::{TARGETS, search, targets};

fn main() -> Result<(), Box<dyn Error>> {
    let mut names = Vec::new();
    let mut seconds = 60.0;
    let mut seed = 0;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = |words: &mut dyn Iterator<Item = String>| {
            words.next().ok_or(format!("{word} needs a number"))
        };
        match word.as_str() {
            "--seconds" => seconds = value(&mut words)?.parse()?,
            "--seed" => seed = value(&mut words)?.parse()?,
            name if TARGETS.iter().any(|target| target.name == name) => names.push(word),
            other => {
                let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
                return Err(format!(
                    "there is no target `{other}`; there are {}",
                    known.join(", ")
                )
                .into());
            }
        }
    }
    let limit = Duration::try_from_secs_f64(seconds)?;
    let mut found = 0;
    for target in TARGETS
        .iter()
        .filter(|target| names.is_empty() || names.iter().any(|name| name == target.name))
    {
        eprintln!("{}: {}", target.name, target.description);
        let start = Instant::now();
        match search(target, seed, |_| start.elapsed() < limit) {
            Ok(tally) => println!(
                "{:10} {:>9} edits in {:.0} s: {} read, {} refused, nothing found",
                target.name,
                tally.cases,
                start.elapsed().as_secs_f64(),
                tally.read,
                tally.refused
            ),
            Err(finding) => {
                found += 1;
                let path =
                    std::env::temp_dir().join(format!("sordino-fuzz-{}-{seed}.bin", target.name));
                std::fs::write(&path, &finding.input)?;
                println!(
                    "{:10} FOUND: {}; the input is in {}",
                    target.name,
                    finding.what,
                    path.display()
                );
            }
        }
    }
    targets::tidy_up();
    if found > 0 {
        Err(format!("{found} findings; put the inputs into tests/corpus/TARGET/").into())
    } else {
        Ok(())
    }
}
