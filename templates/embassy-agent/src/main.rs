//! An agent of a federation and a reporter, as two tasks of embassy. Everything of the board is in [`board`].
#![no_std]
#![no_main]

mod agent;
mod board;
mod federation;
mod reporter;
mod store;

use embassy_executor::Spawner;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let link = board::link();
    spawner.spawn(board::server(link).expect("room for a task"));
    spawner.spawn(agent::agent(link).expect("room for a task"));
    spawner.spawn(reporter::reporter().expect("room for a task"));
}
