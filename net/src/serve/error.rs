//! Why a server ended.

use sordino_core::federated::ServerError;
use sordino_host::entropy::NoEntropy;
use sordino_host::ledger::LedgerError;
use sordino_host::server::HostError;

use super::leader::LeaderError;
use crate::admin::AdminError;
use crate::admission::Inadmissible;
use crate::door::OfferError;
use crate::door::TooFewHandles;
use crate::enrolment::EnrolmentError;
use crate::folder::FolderError;
use crate::identity::IdentityError;
use crate::party::PartyError;
use crate::rounds::Stop;
use crate::terms::TermsError;

/// Why a server ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Its folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Its ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// What follows from its releases cannot be offered.
    #[error(transparent)]
    Offer(#[from] OfferError),
    /// Its machine, host or ledger refused.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The system gives no randomness.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// Its key cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// Its list of keys.
    #[error(transparent)]
    Enrolment(#[from] EnrolmentError),
    /// The terms of the federation.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// The file of the releases cannot be made.
    #[error(transparent)]
    Party(#[from] PartyError),
    /// The process may open too few files.
    #[error(transparent)]
    Handles(#[from] TooFewHandles),
    /// A request made it stop.
    #[error(transparent)]
    Stop(#[from] Stop),
    /// The admin port.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// It cannot listen.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// Where it should have listened.
        address: String,
        /// What the system says.
        #[source]
        error: std::io::Error,
    },
    /// Its terms can be rehearsed at most, never served.
    #[error(transparent)]
    Inadmissible(#[from] Inadmissible),
    /// The thread that drew noise was lost: it panicked.
    #[error("the thread that drew the noise of this round was lost; nothing was charged")]
    Lost,
    /// The helper, where there are two servers.
    #[error(transparent)]
    Leader(#[from] LeaderError),
    /// A release of two servers that a share spoiled: its numbers are beyond what its agents can
    /// have sent.
    #[error(
        "release {round}: the shares of {agents} agents open to numbers that no {agents} agents within the norm can have \
         sent: one of them lied, or the helper did, and nobody can tell which; nothing is released, both charges stay, and \
         the helper answers no other set: begin a new federation"
    )]
    Spoiled {
        /// Index of the release.
        round: u32,
        /// How many agents' shares were in it.
        agents: u32,
    },
    /// A release that its method does not take in. It was noised, so it stays charged.
    #[error(
        "release {round} is of no use and is not announced; it stays charged: begin a new federation"
    )]
    Refused {
        /// Index of the release.
        round: u32,
        /// What its method says of it.
        #[source]
        error: HostError,
    },
    /// Restarted inside one round too often for a counter of 16 bits.
    #[error("this round was begun 65535 times")]
    Attempts,
    /// A server before this one refused a release after its noise was added, and died before it
    /// wrote down why.
    #[error(
        "release {round} was refused after its noise was added, by a server that died then; it stays charged, and nothing more is \
         released: begin a new federation"
    )]
    WasRefused {
        /// Index of the release.
        round: u32,
    },
    /// The ledger holds more charges than the folder has releases: the folder is older than the
    /// last release.
    #[error(
        "the ledger holds {charges} charges, the folder {releases} releases: the folder is older than the last \
                 release; nothing is released from it: restore the newest folder, if there is one"
    )]
    OlderFolder {
        /// Releases of the folder.
        releases: u32,
        /// Charges of the ledger.
        charges: usize,
    },
}

impl ServeError {
    /// Whether nothing may be released from this folder any more, so that it is written down.
    pub(super) fn is_final(&self) -> bool {
        matches!(
            self,
            ServeError::Stop(Stop::OlderDisk { .. } | Stop::Forked { .. })
                | ServeError::Spoiled { .. }
                | ServeError::Refused { .. }
                | ServeError::WasRefused { .. }
        )
    }
}

impl From<ServerError> for ServeError {
    fn from(error: ServerError) -> Self {
        ServeError::Host(error.into())
    }
}
