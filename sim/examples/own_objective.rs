//! Functions of your own through everything that `sordino run` does: both drivers, checkpoints, a
//! run folder with its page.
//!
//! `cargo run --release -p sordino-sim --example own_objective [FOLDER]`; the folder must not
//! exist.

use std::error::Error;
use std::sync::Arc;

use sordino_core::digest::Digest;
use sordino_core::random::{Party, Purpose, RunSeed, normal};
use sordino_sim::{Design, Family, Objective, Options, Own, Scenario, points, run_in};

const SCENARIO: &str = r#"
name = "ovens"
description = "40 ovens with one recipe: how well a temperature and a time bake in each"
runs = 5
objective = { kind = "custom", function = "ovens", dim = 2 }
surrogate = { lengthscale = 0.2, noise_variance = 0.01, features = 40 }
privacy = { sampling_probability = 0.25, noise_multiplier = 1.0 }
federation = { agents = 40, rounds = 15, initial_points = 4, splits = [2, 1], methods = ["ts", "dp-fts-de", "dp-prior"] }
"#;

/// The candidates, which all runs share.
struct Ovens(Arc<Vec<f64>>);

impl Family for Ovens {
    fn realize(&self, run: RunSeed) -> Box<dyn Objective> {
        Box::new(Oven(self.0.clone(), run))
    }
    /// The candidates and the formula's version: change it when the formula changes.
    fn digest(&self) -> Digest {
        Digest::of(&("ovens, version 1", &*self.0))
    }
}

/// The functions of one run, over these candidates.
struct Oven(Arc<Vec<f64>>, RunSeed);

impl Objective for Oven {
    fn agents(&self) -> u32 {
        40
    }
    fn dim(&self) -> usize {
        2
    }
    fn candidates(&self) -> &[f64] {
        &self.0
    }
    /// One hill; each oven is off by some degrees, drawn for (run, agent).
    fn value(&self, agent: u32, candidate: u32) -> f64 {
        let x = &self.0[2 * candidate as usize..][..2];
        let off = self
            .1
            .stream(Party::Agent(agent), Purpose::Objective, 0)
            .unit::<f64>();
        let heat = x[0] - 0.65 + 0.1 * (off - 0.5);
        let time = x[1] - 0.3;
        2.0 - 12.0 * heat * heat - 6.0 * (time + heat) * (time + heat)
    }
    /// Noise by its address: all methods of a run see the same.
    fn observe(&self, agent: u32, candidate: u32, observation: u32) -> f64 {
        let mut stream = self
            .1
            .stream(Party::Agent(agent), Purpose::ObservationNoise, observation);
        self.value(agent, candidate) + 0.1 * normal::draw::<f64>(&mut stream)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::path::PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "ovens".into()));
    let ovens = Ovens(Arc::new(points(Design::Sobol, 400, 2, 0)));
    let own = Own::new(Scenario::parse("ovens", SCENARIO, &[])?, Arc::new(ovens))?;
    // A folder that was interrupted goes on where it was.
    match run_in(&path, &own, &Options::default(), &())? {
        Some(record) => println!("{}\nsordino report {}", record.table(), path.display()),
        None => println!("{}: complete already", path.display()),
    }
    Ok(())
}
