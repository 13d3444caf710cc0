//! `sordino-figures pdf|png`: SVG on standard input, the picture on standard output.

use std::io::{Read, Write};
use std::process::ExitCode;

use sordino_figures::{Kind, convert};

const HELP: &str = "Pictures of sordino as PDF and PNG.\n\nUsage: sordino-figures pdf < PICTURE.svg > PICTURE.pdf\n       \
                    sordino-figures png [PIXELS PER INCH, 20 to 2400; default: 300] < PICTURE.svg > PICTURE.png\n\n\
                    `sordino report FOLDER --figure NAME --format pdf` calls it.\n";
/// A longer picture is not read.
const BYTES_MAX: u64 = 1 << 28;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let kind = match words.as_slice() {
        ["--help" | "-h"] => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        ["pdf"] => Some(Kind::Pdf),
        ["png"] => Some(Kind::Png { per_inch: 300.0 }),
        ["png", number] => number
            .parse()
            .ok()
            .filter(|per_inch| (20.0..=2400.0).contains(per_inch))
            .map(|per_inch| Kind::Png { per_inch }),
        _ => None,
    };
    let Some(kind) = kind else {
        eprint!("{HELP}");
        return ExitCode::from(2);
    };
    match made(kind) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sordino-figures: {error}");
            ExitCode::FAILURE
        }
    }
}

fn made(kind: Kind) -> Result<(), Box<dyn std::error::Error>> {
    let mut svg = String::new();
    std::io::stdin().take(BYTES_MAX).read_to_string(&mut svg)?;
    let picture = convert(&svg, kind)?;
    std::io::stdout().write_all(&picture)?;
    Ok(())
}
