//! Real federations on loopback: rehearsals against the simulator, private servers under kill −9,
//! hostile bodies.

mod authorities;
mod begins;
mod bodies;
#[cfg(feature = "mqtt")]
mod bridges;
#[cfg(feature = "mqtt")]
mod brokers;
mod campaigns;
mod choices;
mod commands;
mod consents;
mod datasets;
mod deadlines;
mod deaths;
mod device_offers;
mod devices;
mod folders;
mod front_door;
mod helpers;
mod journals;
mod kills;
mod limits;
mod noise;
mod openapi;
mod operators;
mod priors;
mod promises;
mod proxies;
mod rehearsals;
mod rehearsed_campaigns;
mod rotations;
mod share_kills;
mod shares;
mod sites;
mod statuses;
mod texts;
mod upkeep;
mod util;
mod values;
mod votes;
