//! Why an agent could not take part.

use std::path::PathBuf;

use sordino_experiment::text::{significant, significant_down, significant_up};
use sordino_host::entropy::NoEntropy;
use sordino_host::files::FileError;

use crate::admission::{EPSILON_UNASKED, Inadmissible};
use crate::agent::masks::MaskError;
use crate::agent::{AgentEnd, GaveUp};
use crate::authority::Refused;
use crate::data::{Before, DataError};
use crate::identity::IdentityError;
use crate::link::LinkError;
use crate::terms::TermsError;

/// Why an agent could not take part, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The same agent runs already.
    #[error("{}: this agent runs already", path.display())]
    Busy {
        /// Path of its folder.
        path: PathBuf,
    },
    /// The file of what it agreed to is not what this program wrote.
    #[error(
        "{}: is not what this program wrote there; remove it, and what this agent agrees to is asked again",
        path.display()
    )]
    Damaged {
        /// Path of the file.
        path: PathBuf,
    },
    /// Its folder cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its key cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The server refuses.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The terms are not those of the invitation, or are inconsistent.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// The terms in its folder are inconsistent: an earlier version kept what it had not checked.
    #[error(
        "{}: {error}; remove this file, and the same command fetches the terms again",
        path.display()
    )]
    Kept {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        error: Box<TermsError>,
    },
    /// Nobody should agree to these terms: no server of this program offers them.
    #[error("these terms are not agreed to, and nothing was sent: {0}")]
    Inadmissible(#[from] Inadmissible),
    /// The terms have a larger δ than this agent accepts.
    #[error(
        "these terms are not agreed to, and nothing was sent: δ = {delta}, and at most {most} is accepted"
    )]
    Delta {
        /// δ of the terms.
        delta: f64,
        /// The largest that this agent accepts.
        most: f64,
    },
    /// The releases may cost more than an agent agrees to unless its owner says so.
    #[error(
        "these terms are not agreed to, and nothing was sent: all releases together cost up to ε = {} at δ = {}, and without a limit of \
         its own an agent agrees to at most ε = {EPSILON_UNASKED}; --max-epsilon {} agrees to all of it, a smaller number contributes up to it and \
         then goes on with what others share",
        significant_up(*.epsilon, 3), significant(*.delta, 3), significant_up(*.epsilon, 3)
    )]
    Epsilon {
        /// ε of all releases that fit the budget of the terms.
        epsilon: f64,
        /// δ of the terms.
        delta: f64,
    },
    /// What other federations got of the same data leaves too little.
    #[error(
        "these terms are not agreed to, and nothing was sent: {before}, where at most ε = {} is admitted; --max-epsilon {} admits it, \
         and if it is about other data, --dataset NAME counts them by themselves",
        significant_down(*.most, 4), significant_up(.before.weighed.together, 3)
    )]
    Others {
        /// What they got, and what it would be with this one.
        before: Before,
        /// The most that is admitted.
        most: f64,
    },
    /// What the data gave cannot be counted.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The system gives no randomness.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// What hides its contributions, where there are two servers.
    #[error(transparent)]
    Masks(#[from] MaskError),
    /// The number of evaluations was given, and the terms say it.
    #[error(
        "--evaluations {evaluations}: the terms of this federation say how many evaluations an agent makes; leave it out"
    )]
    Evaluations {
        /// The number that was given.
        evaluations: u32,
    },
    /// Fewer evaluations than the first release of these terms is made of.
    #[error("--evaluations {evaluations}: a site of these terms makes at least {least}")]
    FewEvaluations {
        /// The number that was given.
        evaluations: u32,
        /// The fewest that are admitted.
        least: u32,
    },
    /// The certificate does not name this agent.
    #[error("{}: {refused}", path.display())]
    Certificate {
        /// Path of the certificate.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        refused: Refused,
    },
    /// The certificate is another agent's.
    #[error("{}: the certificate is agent {found}'s, the invitation agent {expected}'s", path.display())]
    OtherAgent {
        /// Path of the certificate.
        path: PathBuf,
        /// The agent that it names.
        found: u32,
        /// The agent of the invitation.
        expected: u32,
    },
    /// The invitation has no token, and no certificate was given.
    #[error(
        "the invitation has no token: this federation admits agents by certificates for {name}, which its authority signs; \
         give --certificate and --key"
    )]
    NoCertificate {
        /// The name that the certificate needs.
        name: String,
    },
    /// The invitation has a token, and a certificate was given.
    #[error(
        "the invitation has a token: this federation admits agents by their keys, and looks at no certificate"
    )]
    TokenAndCertificate,
    /// The server did not answer for as long as the owner waits.
    #[error(transparent)]
    GaveUp(#[from] GaveUp),
    /// The agent stopped early.
    #[error(transparent)]
    Agent(#[from] AgentEnd),
}

#[cfg(test)]
mod tests {
    use sordino_host::ledger::contributions::Weighed;

    use super::*;

    /// Two sums that differ in the fifth digit are not told as equal, nor what is admitted as more.
    #[test]
    fn what_is_admitted_is_rounded_down_and_what_it_would_be_up() {
        let weighed = Weighed {
            federations: 1,
            before: 1.0,
            together: 1.415_05,
            together_between: 3.0,
            delta: 1e-5,
            is_more: true,
        };
        let before = Before {
            called: "the data".into(),
            weighed,
        };
        let refused = JoinError::Others {
            before,
            most: 1.414_96,
        };
        let told = refused.to_string();
        for part in [
            "with this one it is ε = 1.416 (used or counted as nothing; between two contributions ε = 3.00",
            "at most ε = 1.414 is admitted; --max-epsilon 1.42 admits it",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
}
