//! Faults of links and machines, seeded: what happens to an agent and its messages in a round.
//!
//! A fate, which is all that goes wrong for an agent in a round, is a function of (run seed, agent,
//! round) alone, never of the caller or of what happened before: faults do not depend on shards,
//! threads or a restart. A fault costs utility and nothing else: the divisor, the weights and the
//! noise of a release never depend on who answered.
//!
//! | fault | what happens |
//! |---|---|
//! | dropout, outage, crash, trace | the agent is away for the round: no query, no upload |
//! | broadcast loss | the agent does not get the broadcast and goes by its own posterior |
//! | straggler | its upload misses the deadline, arrives in the next round and is refused as stale |
//! | loss | its upload vanishes |
//! | duplicate | its upload arrives twice; the second is refused |
//! | corrupt | one bit of its frame flips; the checksum refuses it |
//! | oversize | its frame announces more numbers than admitted; it is refused before anything is read |
//! | reorder | its upload arrives after those of its neighbours |

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::random::{Party, Purpose, RunSeed, Stream};

use crate::files::{digest_of, other_file, read_bounded};
use crate::scenario::FaultConfig;
use crate::text::{Lines, Quoted};

/// A longer trace is not read; one of a million agents with a dozen intervals each is shorter.
const TRACE_BYTES_MAX: u64 = 1 << 28;

macro_rules! counts {
    ($($(#[$doc:meta])+ $name:ident,)+) => {
        /// What happened on the links of a round, summed over agents.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct FaultCounts {
            $($(#[$doc])+ pub $name: u32,)+
        }

        impl FaultCounts {
            /// Names of the counts, in the order of [`FaultCounts::values`].
            pub const NAMES: [&'static str; 8] = [$(stringify!($name)),+];

            /// The counts, in the order of [`FaultCounts::NAMES`].
            pub fn values(&self) -> [u32; 8] {
                [$(self.$name),+]
            }

            /// Adds the counts of another part of the federation.
            pub fn add(&mut self, other: &FaultCounts) {
                $(self.$name += other.$name;)+
            }
        }
    };
}

counts! {
    /// Number of agents away.
    absent,
    /// Broadcasts that did not arrive.
    broadcasts_lost,
    /// Number of uploads lost.
    lost,
    /// Uploads that missed the deadline.
    late,
    /// Frames refused because their broadcast was over.
    refused_stale,
    /// Frames refused as second uploads.
    refused_duplicate,
    /// Frames refused by their checksum or header.
    refused_corrupt,
    /// Frames refused for their length.
    refused_oversize,
}

/// What happens to one agent in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// Away for the round.
    pub absent: bool,
    /// The broadcast does not arrive.
    pub broadcast_lost: bool,
    /// The upload vanishes.
    pub lost: bool,
    /// The upload misses the deadline.
    pub late: bool,
    /// The upload arrives twice.
    pub duplicate: bool,
    /// This bit, modulo the frame's length, flips.
    pub flip: Option<u32>,
    /// The frame announces too many numbers.
    pub oversize: bool,
    /// The upload arrives after the others of its shard.
    pub held: bool,
}

/// Fault probabilities and the trace, from which fates follow.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan {
    config: FaultConfig,
    /// Rounds in which an agent is present, as (from, to), both included; agents not listed are
    /// always present.
    present: BTreeMap<u32, Vec<(u32, u32)>>,
}

impl FaultPlan {
    /// Reads the trace if there is one.
    ///
    /// **Errors**: [`TraceError`] with the line; another file than the scenario was made for.
    pub fn new(config: &FaultConfig, agents: u32) -> Result<Self, TraceError> {
        let present = match &config.trace {
            Some(path) => read_trace(path, config.trace_digest.as_deref(), agents)?,
            None => BTreeMap::new(),
        };
        Ok(FaultPlan {
            config: config.clone(),
            present,
        })
    }

    /// True if nothing ever goes wrong.
    pub fn is_none(&self) -> bool {
        self.config.is_none()
    }

    /// What happens to `agent`, which explores `region`, in `round`. No agent is away in round 0.
    ///
    /// The coins of (agent, round) are drawn in the order of [`FaultConfig`]'s fields, each one
    /// even if it does not matter.
    pub fn fate(&self, seed: RunSeed, agent: u32, region: u32, round: u32) -> Fate {
        if self.is_none() {
            return Fate::default();
        }
        let c = &self.config;
        let mut coins = self.coins(seed, agent, round);
        let mut coin = |probability: f64| coins.unit::<f64>() < probability;
        let dropout = coin(c.dropout);
        let _crash = coin(c.crash);
        let late = coin(c.straggler);
        let lost = coin(c.loss);
        let broadcast_lost = coin(c.broadcast_loss);
        let duplicate = coin(c.duplicate);
        let corrupt = coin(c.corrupt);
        let oversize = coin(c.oversize);
        let held = coin(c.reorder);
        let flip = corrupt.then(|| (coins.word() >> 40) as u32);
        let absent = round > 0
            && (dropout
                || self.outage(seed, region, round)
                || self.crashed(seed, agent, round)
                || self.away(agent, round));
        Fate {
            absent,
            broadcast_lost,
            lost,
            late,
            duplicate,
            flip,
            oversize,
            held,
        }
    }

    fn coins(&self, seed: RunSeed, agent: u32, round: u32) -> Stream {
        seed.stream(Party::Agent(agent), Purpose::Faults, round)
    }

    fn outage(&self, seed: RunSeed, region: u32, round: u32) -> bool {
        self.config.outage > 0.0 && {
            let mut coins = seed.stream(Party::World, Purpose::Faults, round);
            (0..=region)
                .map(|_| coins.unit::<f64>())
                .last()
                .is_some_and(|u| u < self.config.outage)
        }
    }

    /// True if a crash in one of the last `crash_rounds` rounds still lasts.
    fn crashed(&self, seed: RunSeed, agent: u32, round: u32) -> bool {
        let last = self.config.crash_rounds.max(1);
        self.config.crash > 0.0
            && (round.saturating_sub(last - 1).max(1)..=round).any(|r| {
                let mut coins = self.coins(seed, agent, r);
                let _dropout: f64 = coins.unit();
                let crash: f64 = coins.unit();
                crash < self.config.crash
            })
    }

    fn away(&self, agent: u32, round: u32) -> bool {
        self.present.get(&agent).is_some_and(|there| {
            !there
                .iter()
                .any(|(from, to)| (*from..=*to).contains(&round))
        })
    }
}

/// A trace file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{path}{}: {message}", if *.line > 0 { format!(", line {line}") } else { String::new() })]
pub struct TraceError {
    path: PathBuf,
    line: u64,
    message: String,
}

impl TraceError {
    /// What is wrong in a line of a trace; 0 for the whole file.
    fn at(path: &Path, line: u64, message: String) -> Self {
        TraceError {
            path: path.to_owned(),
            line,
            message,
        }
    }
}

fn trace_bytes(path: &Path) -> Result<Vec<u8>, TraceError> {
    read_bounded(path, TRACE_BYTES_MAX)
        .map_err(|e| TraceError::at(path, 0, format!("cannot be read: {e}")))
}

/// SHA-256 of a trace.
///
/// **Errors**: a file that cannot be read.
pub fn trace_digest(path: &Path) -> Result<Digest, TraceError> {
    Ok(digest_of(&trace_bytes(path)?))
}

/// Reads `agent,from,to` lines under that header: the rounds in which an agent is present, both
/// ends included.
fn read_trace(
    path: &Path,
    wanted: Option<&str>,
    agents: u32,
) -> Result<BTreeMap<u32, Vec<(u32, u32)>>, TraceError> {
    let bytes = trace_bytes(path)?;
    if let Some(why) = other_file("faults.trace_digest", &digest_of(&bytes), wanted) {
        return Err(TraceError::at(path, 0, why));
    }
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let header = reader
        .headers()
        .map_err(|e| TraceError::at(path, 1, e.to_string()))?
        .clone();
    if header.iter().collect::<Vec<_>>() != ["agent", "from", "to"] {
        return Err(TraceError::at(
            path,
            1,
            format!(
                "header `{}`, must be `agent,from,to`",
                Quoted(&header.iter().collect::<Vec<_>>().join(","))
            ),
        ));
    }
    let mut present: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
    let mut lines = Lines::new(&bytes);
    for record in reader.records() {
        let mut line = |position: Option<&csv::Position>| {
            position.map_or(0, |position| lines.of(position.byte()))
        };
        let record = record.map_err(|e| TraceError::at(path, line(e.position()), e.to_string()))?;
        let line = line(record.position());
        let field = |i: usize, name: &str, admissible: &str| {
            let text = record.get(i).unwrap_or("").trim();
            text.parse::<u32>().map_err(|_| {
                let message = format!("{name} `{}` is not {admissible}", Quoted(text));
                TraceError::at(path, line, message)
            })
        };
        let agent = field(0, "agent", "a whole number")?;
        if agent >= agents {
            let message = format!("agent {agent} is not in 0..{agents}");
            return Err(TraceError::at(path, line, message));
        }
        let from = field(1, "from", "a round")?;
        let to = field(2, "to", "a round")?;
        if from > to {
            let message = format!("from {from} is after to {to}");
            return Err(TraceError::at(path, line, message));
        }
        present.entry(agent).or_default().push((from, to));
    }
    Ok(present)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(config: FaultConfig) -> FaultPlan {
        FaultPlan {
            config,
            present: BTreeMap::new(),
        }
    }

    #[test]
    fn frequencies_are_those_asked_for_and_the_test_can_fail() {
        let plan = plan(FaultConfig {
            dropout: 0.3,
            straggler: 0.1,
            ..FaultConfig::default()
        });
        let seed = RunSeed::new(1, 0);
        let n = 20_000;
        let fates: Vec<Fate> = (0..n)
            .map(|i| plan.fate(seed, i % 500, 0, 1 + i / 500))
            .collect();
        let z = |count: usize, p: f64| {
            (count as f64 - p * f64::from(n)) / (f64::from(n) * p * (1.0 - p)).sqrt()
        };
        let absent = fates.iter().filter(|f| f.absent).count();
        let late = fates.iter().filter(|f| f.late).count();
        assert!(z(absent, 0.3).abs() < 4.0 && z(late, 0.1).abs() < 4.0);
        assert!(z(absent, 0.32).abs() > 4.0);
        assert!(
            fates
                .iter()
                .all(|f| !f.lost && !f.duplicate && f.flip.is_none())
        );
    }

    #[test]
    fn a_crash_lasts_and_an_outage_takes_the_whole_region() {
        let crashing = plan(FaultConfig {
            crash: 0.05,
            crash_rounds: 3,
            ..FaultConfig::default()
        });
        let seed = RunSeed::new(2, 0);
        let absent: Vec<bool> = (1..400)
            .map(|t| crashing.fate(seed, 7, 0, t).absent)
            .collect();
        let runs: Vec<usize> = absent
            .split(|a| !a)
            .map(<[bool]>::len)
            .filter(|n| *n > 0)
            .collect();
        assert!(
            !runs.is_empty() && runs[..runs.len() - 1].iter().all(|n| *n >= 3),
            "{runs:?}"
        );
        let outages = plan(FaultConfig {
            outage: 0.2,
            ..FaultConfig::default()
        });
        for t in 1..50 {
            let first = outages.fate(seed, 0, 1, t).absent;
            assert!((2..20).all(|agent| outages.fate(seed, agent, 1, t).absent == first));
        }
        assert!(
            (1..50)
                .any(|t| outages.fate(seed, 0, 1, t).absent != outages.fate(seed, 0, 0, t).absent)
        );
        assert!(!outages.fate(seed, 0, 1, 0).absent);
    }

    #[test]
    fn traces_are_read_and_refused_with_their_line() {
        let folder = std::env::temp_dir().join(format!("sordino-trace-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("trace.csv");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            FaultPlan::new(
                &FaultConfig {
                    trace: Some(path.clone()),
                    ..FaultConfig::default()
                },
                3,
            )
        };
        let plan = read("agent,from,to\n1,0,4\n1,8,9\n").unwrap();
        let seed = RunSeed::new(0, 0);
        let there: Vec<u32> = (0..12)
            .filter(|t| !plan.fate(seed, 1, 0, *t).absent)
            .collect();
        assert_eq!(there, [0, 1, 2, 3, 4, 8, 9]);
        assert!(!plan.fate(seed, 0, 0, 11).absent);
        for (text, message) in [
            ("agent,to\n", "header"),
            ("agent,from,to\n3,0,1\n", "line 2: agent 3 is not in 0..3"),
            ("agent,from,to\n0,5,1\n", "line 2: from 5 is after to 1"),
            (
                "agent,from,to\n0,1,2\n0,x,1\n",
                "line 3: from `x` is not a round",
            ),
            ("agent,from,to\n0,1\n", "line 2"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
