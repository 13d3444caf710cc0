//! How to rehearse.

use std::path::PathBuf;
use std::time::Duration;

/// How to rehearse; none of it changes a digest.
#[derive(Clone, Debug)]
pub struct Options {
    /// Cut every connection after a few kilobytes, and delay some.
    pub chaos: bool,
    /// A round that is not complete after this long ends the rehearsal.
    pub deadline: Duration,
    /// Let agents die at any moment they wait in, and go on from their files in this folder.
    pub deaths: Option<PathBuf>,
    /// Leave agent 0 to a device, and write what the device needs into this file
    /// (`super::device`).
    pub device: Option<PathBuf>,
    /// Carry every connection over this broker.
    #[cfg(feature = "mqtt")]
    pub broker: Option<crate::bridge::Broker>,
}

impl Default for Options {
    /// All agents in this process, on a good network, ten minutes for a round.
    fn default() -> Self {
        Options {
            chaos: false,
            deadline: Duration::from_secs(600),
            deaths: None,
            device: None,
            #[cfg(feature = "mqtt")]
            broker: None,
        }
    }
}
