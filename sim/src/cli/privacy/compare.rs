//! `sordino privacy compare`: ε of every accountant after the last release as a table, and over
//! rounds as a picture.

use std::path::{Path, PathBuf};

use clap::Args;
use sordino_core::privacy::accountant::AccountantError;
use sordino_experiment::text::{significant, significant_up};
use sordino_report::figure;
use sordino_report::parts::from_zero;
use sordino_report::svg::{Curve, Point};

use super::super::report::kept;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print::print;
use sordino_experiment::progress::log;
use sordino_lab::privacy::asked::{Choice, Releases, failure};

/// `sordino privacy compare`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    releases: Releases,
    /// In (0, 1): added to every bound by e^ε; not the probability that the bound fails
    #[arg(long, value_name = "D", value_parser = failure())]
    delta: f64,
    /// Draws ε over rounds as well, into this SVG file
    #[arg(long, value_name = "FILE.svg")]
    out: Option<PathBuf>,
}

/// The most counts of releases that are shown: composition is smooth.
const POINTS: u32 = 40;

/// Prints ε after the last release, and draws where a picture is asked for.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    // Before anything is printed.
    arguments.out.as_deref().map_or(Ok(()), kept::refuse)?;
    let rounds = arguments.releases.rounds;
    let event = arguments.releases.event();
    let steps = POINTS.min(rounds);
    let mut curves = Vec::new();
    let mut said = String::new();
    for accountant in Choice::ALL {
        let mut points = vec![Point::bare(0.0, 0.0)];
        for i in 1..=steps {
            let count = (u64::from(rounds) * u64::from(i) / u64::from(steps)) as u32;
            match accountant.epsilon(&event, count, arguments.delta) {
                Ok(loss) => points.push(Point::bare(f64::from(count), loss.epsilon)),
                // The curve ends where no finite ε is left.
                Err(AccountantError::NoFiniteEpsilon { .. }) => break,
                Err(error) => return Err(CliError::input(error)),
            }
        }
        let end = points.last().map_or(0.0, |point| point.y);
        let reached = points
            .last()
            .is_some_and(|point| point.x == f64::from(rounds));
        let told = if reached {
            format!("ε = {}", significant_up(end, 4))
        } else {
            "ε = ∞".to_owned()
        };
        said.push_str(&format!("{:8}{told}\n", accountant.name()));
        let class = match accountant {
            Choice::Moments => "red",
            Choice::Rdp => "blue",
            Choice::Pld => "green",
        };
        curves.push(Curve {
            class,
            label: accountant.name().into(),
            note: told,
            points,
        });
    }
    print(&format!(
        "after {rounds} releases at δ = {}\n{said}",
        arguments.delta
    ))?;
    match &arguments.out {
        Some(path) => draw(arguments, path, curves),
        None => Ok(()),
    }
}

fn draw(arguments: &Arguments, path: &Path, curves: Vec<Curve>) -> Result<(), CliError> {
    let Releases {
        sampling_probability,
        noise_multiplier,
        ..
    } = arguments.releases;
    let chart = from_zero(
        "ε over rounds",
        "releases",
        "ε, zero-out",
        curves,
        f64::MIN_POSITIVE,
    );
    let lines = [
        format!("Sampling probability {sampling_probability}, noise multiplier {noise_multiplier}"),
        format!(
            "δ = {}; every curve is an upper bound, PLD the closest",
            significant(arguments.delta, 3)
        ),
    ];
    let picture = figure::compose(
        "Privacy loss by accountant",
        &[&lines[0], &lines[1]],
        &[chart],
        None,
    );
    kept::write(path, picture.as_bytes())?;
    log::say(&format!("wrote {}", path.display()));
    Ok(())
}
