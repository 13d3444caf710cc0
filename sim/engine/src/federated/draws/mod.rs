//! Methods that share draws of their posteriors, or nothing.
//!
//! | name | what it is |
//! |---|---|
//! | `shard` | what an agent does in a round |
//! | `server` | what is asked of agents, and what the server makes of the answers |

mod server;
mod shard;
