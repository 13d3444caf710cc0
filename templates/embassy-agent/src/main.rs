//! An agent of a federation and a reporter, as two tasks of embassy. Its federation is in
//! [`federation`], which decides what kind of agent it is; your device's own numbers are in
//! [`config`], your chip is [`board`].
#![no_std]
#![no_main]

#[cfg(all(feature = "agent", not(site)))]
mod agent;
mod board;
mod config;
#[cfg(all(feature = "agent", not(any(member, site))))]
mod draws;
#[allow(dead_code, reason = "it holds every constant of the federation")]
mod federation;
#[cfg(all(feature = "agent", two_servers))]
mod masks;
#[cfg(all(feature = "agent", member))]
mod member;
#[cfg(feature = "reporter")]
mod reporter;
#[cfg(all(feature = "agent", site))]
mod site;
mod store;

use embassy_executor::Spawner;

#[cfg(all(feature = "agent", not(any(member, site))))]
use draws as kind;
#[cfg(all(feature = "agent", member))]
use member as kind;
#[cfg(all(feature = "agent", site))]
use site as kind;

#[cfg(not(any(feature = "agent", feature = "reporter")))]
compile_error!("choose a party: --features agent, reporter, or both");

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    #[cfg(feature = "agent")]
    {
        let link = board::link();
        spawner.spawn(board::server(link).expect("room for a task"));
        spawner.spawn(kind::agent(link).expect("room for a task"));
    }
    #[cfg(feature = "reporter")]
    spawner.spawn(reporter::reporter().expect("room for a task"));
}
