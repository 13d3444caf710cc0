//! A method of your own through everything that `sordino run` does: both drivers, faults,
//! checkpoints, a run folder. `cargo run --release -p sordino-sim --example own_method [FOLDER]`; a
//! folder that was interrupted goes on.

use std::error::Error;
use std::path::Path;

use sordino_core::linalg::squared_distance;
use sordino_core::random::{Stream, laplace};
use sordino_sim::{
    Aggregator, Chooser, Custom, Ground, Message, Options, Own, Scenario, Sight, run_in,
};

const SCENARIO: &str = r#"
name = "rumours"
description = "50 agents, two of our own methods beside two shipped ones"
runs = 5
objective = { kind = "function", function = "branin", shift = 0.02, candidates = 400 }
federation = { agents = 50, rounds = 15, initial_points = 3, methods = ["ts", "random", "rumour", "noisy-rumour"] }
surrogate = { features = 30, lengthscale = 0.2 }
privacy = { sampling_probability = 0.25, noise_multiplier = 1 }
[[method]]
name = "rumour"
base = "custom"
[[method]]
name = "noisy-rumour"
base = "custom"
"#;

/// Agents send their best candidate and its value; half of the time they look near the best that
/// they heard of.
struct Gossip;

impl Chooser for Gossip {
    fn next(&self, sight: &Sight<'_>, coins: &mut Stream) -> u32 {
        let somewhere = coins.below(sight.ground.count());
        let Some(rumour) = sight.broadcast.filter(|_| coins.below(2) == 0) else {
            return somewhere;
        };
        let far = |candidate| squared_distance(sight.ground.point(candidate), rumour);
        (0..40)
            .map(|_| coins.below(sight.ground.count()))
            .fold(somewhere, |a, b| if far(b) < far(a) { b } else { a })
    }

    fn message(&self, sight: &Sight<'_>, _coins: &mut Stream) -> Vec<f64> {
        let best = sight
            .log
            .iter()
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .copied()
            .unwrap_or((0, 0.0));
        sight
            .ground
            .point(best.0)
            .iter()
            .copied()
            .chain([best.1])
            .collect()
    }
}

/// Names the place of the best value, with Laplace noise of this scale. Its privacy is not checked:
/// the folder claims nothing.
struct Loudest(f64);

impl Aggregator for Loudest {
    fn message_len(&self, ground: &Ground) -> usize {
        ground.dim + 1
    }

    fn combine(
        &self,
        ground: &Ground,
        messages: &[Message],
        _kept: &mut Vec<f64>,
        coins: &mut Stream,
    ) -> Vec<f64> {
        let value = |message: &&Message| message.numbers[ground.dim];
        let Some(best) = messages.iter().max_by(|a, b| value(a).total_cmp(&value(b))) else {
            return Vec::new();
        };
        let place = &best.numbers[..ground.dim];
        place
            .iter()
            .map(|x| {
                if self.0 > 0.0 {
                    x + laplace::draw(coins, self.0)
                } else {
                    *x
                }
            })
            .collect()
    }
}

/// The scenario with its methods. Change a version when what its method does changes.
pub fn own(settings: &[String]) -> Result<Own, Box<dyn Error>> {
    let quiet = Custom::with_server("rumour, version 1", Gossip, Loudest(0.0));
    let noisy = Custom::with_server("rumour with noise, version 1", Gossip, Loudest(0.1));
    let scenario = Scenario::parse("rumours", SCENARIO, settings)?;
    Ok(Own::methods(
        scenario,
        [("rumour", quiet), ("noisy-rumour", noisy)],
    )?)
}

#[allow(dead_code, reason = "the test of this example has a main of its own")]
fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or("rumours".into());
    let own = own(&[])?;
    if let Some(record) = run_in(Path::new(&path), &own, &Options::default(), &())? {
        println!("{}", record.table());
    }
    println!("sordino report {path}");
    Ok(())
}
