//! What a federation costs, from a thousand agents to a million, in one process:
//! `cargo xtask fleet [AGENTS_MAX]`.
//!
//! Every agent does its real step in every round. No posterior is kept between rounds, at any size
//! (a million do not fit): each agent rebuilds its own from its log, so that the rows compare. The
//! last line keeps them.

use std::error::Error;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use sordino_engine::{Options, federated};
use sordino_experiment::progress::{Progress, Stage, Step};
use sordino_experiment::scenario::Shipped;

/// Sizes of the table.
const SIZES: [u32; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Agents and rounds of the last line.
const KEPT: (u32, u32) = (10_000, 100);

/// Says on the error stream how far the large ones are.
struct Rounds(Instant);

impl Progress for Rounds {
    fn advance(&self, step: &Step) {
        let round = step.round;
        let seconds = self.0.elapsed().as_secs_f64();
        if let Stage::Agents { done, of } = step.stage {
            eprint!("\r  round {round}, {seconds:.0} s, {done} of {of} agents are done      ");
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let agents_max = std::env::args()
        .nth(1)
        .map_or(Ok(SIZES[3]), |word| word.parse())?;
    println!(
        "scenario `fleet`: D = 2, M = 64, f32; all cores; peak memory is that of the process so far"
    );
    println!(
        "    agents  rounds   wall s    CPU s   agent-rounds/s   CPU µs/agent-round   peak MiB  digest"
    );
    for agents in SIZES.into_iter().filter(|size| *size <= agents_max) {
        line(agents, 40, Some(0))?;
    }
    println!("posteriors kept:");
    line(KEPT.0, KEPT.1, None)
}

/// Runs one size and prints its line.
fn line(agents: u32, rounds: u32, workspace_bytes: Option<usize>) -> Result<(), Box<dyn Error>> {
    let settings = [
        format!("federation.agents={agents}"),
        format!("federation.rounds={rounds}"),
    ];
    let scenario = Shipped::find("fleet")
        .ok_or("no fleet scenario")?
        .parse(&settings)?;
    let options = Options {
        workspace_bytes,
        ..Options::default()
    };
    let wall = Instant::now();
    let cpu = cpu_seconds();
    let result = federated::run(&scenario, &options, &Rounds(wall))?;
    let wall = wall.elapsed().as_secs_f64();
    let cpu = cpu_seconds() - cpu;
    // The initial round is a step too.
    let steps = f64::from(agents) * f64::from(rounds + 1);
    let digest = &result.first().ok_or("no method")?.digest.to_string()[..12];
    println!(
        "\r{agents:>10} {rounds:>7} {wall:>8.1} {cpu:>8.1} {:>16.0} {:>20.1} {:>10}  {digest}",
        steps / wall,
        cpu / steps * 1e6,
        peak_mebibytes()?
    );
    Ok(())
}

/// CPU time of all threads of the process so far.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Largest resident size so far, as Linux reports it.
fn peak_mebibytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .ok_or("no VmHWM in /proc/self/status")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? / 1024)
}
