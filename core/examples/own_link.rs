//! A link of one's own: three sensors and a base station whose radio loses every third telegram.
//!
//! `cargo run -p sordino-core --example own_link`. What is sent, what is said again and who has
//! answered is decided by the exchange; the link only carries bytes. What the parties do with
//! vectors is in `agent_and_server.rs`: here a vector is one number, and the broadcast is the plain
//! sum.

use std::error::Error;

use sordino_core::domain::{Candidates, Regions};
use sordino_core::federated::exchange::*;
use sordino_core::federated::{Aggregation, Config, Parameters};
use sordino_core::kernel::Stationary::SquaredExponential;
use sordino_core::wire::{ScalarTag, decode, encode, frame_len_max};

const AGENTS: u32 = 3;
const ROUNDS: u32 = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let private = Aggregation::private(6.0, 0.5, 1.0)?; // S, q, z
    let config = Config::new(Parameters::usual(
        AGENTS,
        Regions::whole(1)?,
        ROUNDS,
        1,
        private,
    ))?;
    let features = PublicFeatures::new(7, SquaredExponential, 0.2, 1.0);
    let candidates = candidates_digest(&Candidates::<f64>::grid(50, 1)?, &mut [0.0]);
    let announced = Announced {
        epsilon_max: None,
        delta: 1e-5,
        deadline_ms: 60_000,
        may_close_early: true,
    };
    let protocol = Protocol::Draws(DrawsProtocol { config, features });
    let agreement = Agreement {
        protocol,
        candidates,
        dim: 1,
        scalar: ScalarTag::F64,
        deployment: 0x5eed,
        announced,
    };
    let pace = Pace {
        ask_again_ms: 999,
        spread_ms: 99,
    };
    let mut server = ServerExchange::new(&agreement, pace, [0; AGENTS as usize]);
    let mut agents: Vec<AgentExchange> = (0..AGENTS)
        .map(|agent| AgentExchange::new(&agreement, agent))
        .collect();
    let mut history = vec![agreement.digest()];
    let mut frames = Vec::new();
    let mut now = Millis(0);
    let mut sent = 0;
    let mut sum = 0.0;
    let mut round = 0;
    let mut arrives = || {
        sent += 1;
        sent % 3 != 0
    };
    while agents.iter().any(|agent| agent.want(now) != Want::Done) {
        now = now.after(50);
        if round <= ROUNDS
            && (round == 0 || matches!(server.due(now), Due::CloseEarly | Due::Close))
        {
            // The base station announces the next round, with what the round before has given.
            let mut bytes = vec![0; frame_len_max(ScalarTag::F64, 1)];
            let broadcast = (round > 0).then_some(core::slice::from_ref(&sum));
            let (len, chain) =
                server.frame(round, 0, &history[round as usize], broadcast, &mut bytes)?;
            let period = Period {
                opened: now,
                deadline: now.after(60_000),
                may_close_early: true,
            };
            server.begin(round, 0, chain, period);
            println!("round {round}: the sum of the round before is {sum}");
            frames.push(bytes[..len].to_vec());
            history.push(chain);
            (sum, round) = (0.0, round + 1);
        }
        for (who, agent) in (0..).zip(&mut agents) {
            match agent.want(now) {
                Want::Ask(have) if arrives() => match server.asked(who, &have, &history, now) {
                    Answer::Frame { round } if arrives() => {
                        let (header, payload) = decode(&frames[round as usize], 1)?;
                        agent.frame(&header, &payload, server.round(), Seal::default())?;
                    }
                    Answer::Later { after_ms } if arrives() => agent.later(after_ms, now),
                    Answer::Frame { .. } | Answer::Later { .. } => {} // lost on the way back
                    refused => return Err(format!("agent {who}: {refused:?}").into()),
                },
                Want::Work => agent.made(),
                Want::Give(header) if arrives() => {
                    let mut bytes = vec![0; frame_len_max(ScalarTag::F64, 1)];
                    let mut vector = [0.0];
                    let len = encode(header, &[f64::from(who + 1)], &mut bytes)?;
                    let (header, payload) = decode(&bytes[..len], 1)?;
                    let known = server.given(who, &header, now);
                    if known.is_none() {
                        payload.read(&mut vector)?;
                        sum += vector[0];
                        server.took(who);
                    }
                    if arrives() {
                        agent.told(header.round, known.unwrap_or(Reply::Taken), now); // or it gives again: "already"
                    }
                }
                _ => {} // lost, or too early: tried again
            }
        }
    }
    assert!(
        agents
            .iter()
            .all(|agent| Some(&agent.have().chain) == history.last())
    );
    println!(
        "{sent} telegrams, {} of them lost; one history everywhere",
        sent / 3
    );
    Ok(())
}
