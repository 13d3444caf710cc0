//! Ask and tell: `cargo run --example ask_tell -p sordino-core`.

// The objective is the user's program: it may use the system's functions.
#![allow(clippy::disallowed_methods)]

use sordino_core::domain::BoxDomain;
use sordino_core::optimizer::{self, Optimizer, Settings};

/// Branin's function, largest −0.3979 at three points of the box.
fn branin(x: f64, y: f64) -> f64 {
    let a = y - 5.1 / (4.0 * std::f64::consts::PI.powi(2)) * x * x + 5.0 / std::f64::consts::PI * x
        - 6.0;
    -(a * a + 10.0 * (1.0 - 1.0 / (8.0 * std::f64::consts::PI)) * x.cos() + 10.0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let domain = BoxDomain::new(&[(-5.0, 10.0), (0.0, 15.0)])?;
    let storage = vec![0.0; optimizer::storage_len(2, 40)];
    let mut optimizer = Optimizer::new(domain, Settings::default(), 40, storage)?;
    for round in 1..=36 {
        let x = optimizer.suggest()?;
        let y = branin(x[0], x[1]);
        optimizer.observe(&x, y)?;
        println!("{round:2}  ({:7.3}, {:7.3})  {y:10.4}", x[0], x[1]);
    }
    let (best, value) = optimizer.best().ok_or("nothing observed")?;
    println!(
        "best ({:.3}, {:.3}): {value:.4}, the maximum is -0.3979",
        best[0], best[1]
    );
    Ok(())
}
