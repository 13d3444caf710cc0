//! A server with secret noise and a ledger that survives a crash:
//! `cargo run -p sordino-host --example server [FOLDER]`.
//!
//! Run it twice with the same folder: what the first run spent is spent. The budget is ε ≤ 8 at δ =
//! 10⁻⁵; when the ledger refuses, nothing is drawn and nothing leaves.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use sordino_core::domain::Regions;
use sordino_core::federated::{Aggregation, Config, Parameters, Server};
use sordino_host::ledger::{Accounting, CounterPlace, Ledger, Options, Terms};
use sordino_host::server::{ServerHost, SystemSources};
use sordino_host::text::significant_up;

const AGENTS: u32 = 100;
const FEATURES: u32 = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(
        std::env::args()
            .nth(1)
            .unwrap_or_else(|| "server-example".into()),
    );
    std::fs::create_dir_all(&folder)?;
    let private = Aggregation::private(4.0, 0.25, 1.0)?; // S, q, z
    let config = Arc::new(Config::new(Parameters::usual(
        AGENTS,
        Regions::whole(1)?,
        1000,
        FEATURES,
        private,
    ))?);
    let event = Server::<f64>::event_of(&config)?.ok_or("a private aggregation has an event")?;
    let terms = Terms {
        data: "wards of our hospital".into(),
        unit: "agent".into(),
        records: Some(AGENTS.into()),
        accounting: Accounting::Renyi,
        epsilon_max: Some(8.0),
        delta: 1e-5,
    };
    // The second count notices a ledger that was replaced by an older copy; keep it where no backup
    // restores it.
    let counter = CounterPlace::Folder(folder.join("count"));
    let options = Options {
        counter,
        another: false,
        next: vec![event],
    };
    let ledger = Ledger::open_secret(&folder.join("ledger.jsonl"), &terms, &options)?;
    let mut server: ServerHost<f64, _> =
        ServerHost::new(config, SystemSources::new()?, ledger, None)?;
    let mut released = 0;
    while server.open()? {
        for agent in 0..AGENTS {
            // What an agent sent; anything at all is clipped to the norm that the noise is made
            // for.
            server.upload(agent, server.state().broadcast(), &[0.1; FEATURES as usize])?;
        }
        server.close()?; // charge, receipt, noise
        let vectors = server
            .broadcast()
            .ok_or("a broadcast that was paid for is there")?;
        if released == 0 {
            println!(
                "first broadcast: {:.2} {:.2} … (without noise .10)",
                vectors[0], vectors[1]
            );
        }
        released += 1;
    }
    let spent = server.ledger().spent()?;
    println!(
        "{released} releases now, {} in all, epsilon {} of 8 at delta 1e-5",
        server.ledger().len(),
        significant_up(spent.epsilon, 3)
    );
    println!(
        "what the ledger refuses is not drawn: {}",
        folder.join("ledger.jsonl").display()
    );
    Ok(())
}
