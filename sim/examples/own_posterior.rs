//! A method of your own that asks core's exact Gaussian process: each agent draws a function from
//! its posterior. `cargo run --release -p sordino-sim --example own_posterior [FOLDER]`; a folder
//! that was interrupted goes on.

use std::error::Error;
use std::path::Path;

use sordino_core::kernel::StationaryKernel;
use sordino_core::linalg::packed_len;
use sordino_core::random::Stream;
use sordino_core::surrogate::{ExactGp, SurrogateError, exact, joint};
use sordino_sim::{Chooser, Custom, Options, Own, Scenario, Sight, run_in};

const SCENARIO: &str = r#"
name = "sampler"
description = "50 agents, a method of our own beside two shipped ones"
runs = 5
objective = { kind = "function", function = "branin", shift = 0.02, candidates = 400 }
federation = { agents = 50, rounds = 15, initial_points = 3, methods = ["ts", "random", "sampler"] }
surrogate = { features = 30, lengthscale = 0.2 }
privacy = { sampling_probability = 0.25, noise_multiplier = 1 }
[[method]]
name = "sampler"
base = "custom"
"#;

type Gp = ExactGp<f64, StationaryKernel<f64>, Vec<f64>>;

/// Thompson sampling of each agent alone: one function is drawn from the posterior, at a hundred
/// candidates.
struct Sampler;

impl Chooser for Sampler {
    fn next(&self, sight: &Sight<'_>, coins: &mut Stream) -> u32 {
        let asked: Vec<u32> = (0..100)
            .map(|_| coins.below(sight.ground.count()))
            .collect();
        let points: Vec<f64> = asked
            .iter()
            .flat_map(|candidate| sight.ground.point(*candidate))
            .copied()
            .collect();
        let drawn = posterior(sight)
            .and_then(|gp| draw(&gp, &points, coins))
            .expect("the scenario fits the engine");
        let best = (0..asked.len()).max_by(|a, b| drawn[*a].total_cmp(&drawn[*b]));
        asked[best.unwrap_or(0)]
    }
}

/// What an agent's log says of its function: core's exact Gaussian process, with the scenario's
/// kernel, noise and constant.
fn posterior(sight: &Sight<'_>) -> Result<Gp, SurrogateError> {
    let ground = sight.ground;
    let count = sight.log.len();
    let kernel = ground.kernel.build().expect("read from a scenario");
    let storage = vec![0.0; exact::storage_len(ground.dim, count)];
    let mut gp = ExactGp::new(kernel, ground.noise_variance, ground.dim, count, storage)?
        .with_prior_mean(ground.constant)?;
    for (candidate, value) in sight.log {
        gp.observe(ground.point(*candidate), *value)?;
    }
    Ok(gp)
}

/// One function drawn from the posterior, at all these points jointly.
fn draw(gp: &Gp, points: &[f64], coins: &mut Stream) -> Result<Vec<f64>, SurrogateError> {
    let count = points.len() / gp.dim();
    let mut factor = vec![0.0; packed_len(count)];
    let mut drawn = vec![0.0; count];
    let mut scratch = vec![0.0; count * (gp.len() + 1)];
    joint::draw_exact(gp, points, coins, &mut factor, &mut scratch, &mut drawn)?;
    Ok(drawn)
}

/// The scenario with its method. Change the version when what it does changes.
pub fn own(settings: &[String]) -> Result<Own, Box<dyn Error>> {
    let sampler = Custom::alone("sampler, version 1", Sampler);
    Ok(Own::methods(
        Scenario::parse("sampler", SCENARIO, settings)?,
        [("sampler", sampler)],
    )?)
}

#[allow(dead_code, reason = "the test of this example has a main of its own")]
fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or("sampler".into());
    let own = own(&[])?;
    if let Some(record) = run_in(Path::new(&path), &own, &Options::default(), &())? {
        println!("{}", record.table());
    }
    println!("sordino report {path}");
    Ok(())
}
