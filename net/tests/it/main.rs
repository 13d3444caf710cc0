//! Real federations on loopback: rehearsals against the simulator, private servers under kill −9, hostile bodies.

mod bodies;
mod deadlines;
mod kills;
mod rehearsals;
mod statuses;
mod util;
