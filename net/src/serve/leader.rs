//! The leader's side of two servers: it adds up shares, stores what it asks, asks its helper, and
//! opens the answer.
//!
//! | file of the server's folder | what |
//! |---|---|
//! | `helper.json` | where the helper is, the keys that it may show, the key of its masks |
//! | `helper.client.key` | the key that this server shows to its helper, where no certificate says that it leads; not that of its door, so that it may be rotated |
//! | `asked.json` | the question of the round that is open, with the sum of its shares: uniform numbers |

use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sordino_core::federated::shares::{Opened, ShareError, Trust};
use sordino_core::privacy::mechanism::gaussian::GaussianError;
use sordino_host::files::{FileError, if_there, read_bounded, write_privately};
use sordino_host::shares::{Asked, Collection, HelperPlan};
use sordino_host::signature::Fingerprint;

use super::serving::Serving;
use crate::authority::{self, Refused};
use crate::enrolment::{self, Enrolment, EnrolmentError};
use crate::folder::Folder;
use crate::help::line::{Line, LineError};
use crate::identity::{Identity, IdentityError};
use crate::link::LinkError;
use crate::shares::{self, MaskKey};
use crate::terms::TermsError;

/// Who the helper is.
const HELPER: &str = "helper.json";
/// What the helper was asked.
const ASKED: &str = "asked.json";
/// The key that the leader shows to its helper.
const CLIENT: &str = "helper.client.key";
/// Either is read up to this length: a question of a million agents, as text.
const BYTES_MAX: u64 = 1 << 27;

/// Why there is no helper, or no answer of it. Nothing was released.
#[derive(Debug, thiserror::Error)]
pub enum LeaderError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The list of those that were shut out.
    #[error(transparent)]
    Enrolment(#[from] EnrolmentError),
    /// A key cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The terms cannot be handed over.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// There is no mechanism for a release.
    #[error(transparent)]
    Mechanism(#[from] GaussianError),
    /// The terms trust two servers, and no helper was ever named.
    #[error(
        "the terms name two servers: --helper says where the second is, as `sordino help-serve` tells it"
    )]
    NoHelper,
    /// The terms trust one server, and a helper was named.
    #[error(
        "--helper: these terms were begun with one server; two servers are another agreement, so begin another folder"
    )]
    Unused,
    /// The helper's address has no token, and no certificate was given.
    #[error(
        "--helper: the address has no token: this helper takes for its leader who has a certificate for {name}, which the authority of its \
         owner signs; give --certificate and --key"
    )]
    NoCertificate {
        /// The name that the certificate needs.
        name: String,
    },
    /// The helper's address has a token, and a certificate was given.
    #[error(
        "--certificate: the helper's address has a token: it knows its leader by a key, and looks at no certificate"
    )]
    TokenAndCertificate,
    /// The certificate does not name this server.
    #[error("{}: {refused}", path.display())]
    Certificate {
        /// Path of the certificate.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        refused: Refused,
    },
    /// Another helper than before.
    #[error(
        "--helper: the helper of this federation has the key {known} of its masks, not {named}: agents make their masks for it"
    )]
    Other {
        /// The key of the helper that this folder knows.
        known: MaskKey,
        /// That of the one that was named.
        named: MaskKey,
    },
    /// The helper's owner shut agents out whose shares were in the question.
    #[error(
        "epoch {epoch}: the helper's owner shut out agents {agents:?}, and they are shut out here as well now; nothing was released, and nothing \
         charged: start this server again, which asks everybody else again"
    )]
    ShutOut {
        /// The epoch that was asked for.
        epoch: u32,
        /// Indices of these agents.
        agents: Vec<u32>,
    },
    /// The helper refuses, which asking again will not change.
    #[error("the helper refuses: {0}")]
    Helper(#[from] LinkError),
    /// A file holds something else.
    #[error("{}: {error}", path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        error: serde_json::Error,
    },
    /// An epoch that the plan does not have.
    #[error("epoch {0} has no release")]
    Epoch(u32),
    /// The answer does not fit the question.
    #[error("the helper's answer: {0}")]
    Answer(#[from] ShareError),
}

/// Who the helper of a federation is, as its server's folder says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownHelper {
    /// Where the helper listens, `HOST:PORT`.
    pub address: String,
    /// Keys that it may show, one or two: after a rotation the address that its owner tells has
    /// others.
    pub pins: Vec<Fingerprint>,
    /// The key of its masks, which invitations name.
    pub masks: MaskKey,
}

impl KnownHelper {
    /// The helper in a server's folder; nothing before it was reached.
    ///
    /// **Errors**: [`LeaderError::File`], [`LeaderError::Format`].
    pub fn read(folder: &Path) -> Result<Option<Self>, LeaderError> {
        read(&folder.join(HELPER))
    }
}

fn read<V: for<'de> Deserialize<'de>>(path: &Path) -> Result<Option<V>, LeaderError> {
    let Some(bytes) = if_there(read_bounded(path, BYTES_MAX))? else {
        return Ok(None);
    };
    let value = serde_json::from_slice(&bytes);
    value.map(Some).map_err(|error| LeaderError::Format {
        path: path.to_owned(),
        error,
    })
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), LeaderError> {
    let text = serde_json::to_vec(value);
    let text = text.map_err(|error| LeaderError::Format {
        path: path.to_owned(),
        error,
    })?;
    Ok(write_privately(path, &text)?)
}

/// What this server shows to its helper: its certificate, or a key of its own.
fn identity(folder: &Folder, serving: &Serving) -> Result<Identity, LeaderError> {
    let run = folder.terms.agreement.deployment;
    // What the address says, if it is named: a folder that knows its helper needs none.
    match (
        &serving.certified,
        serving.helper.as_ref().map(|named| named.token.is_some()),
    ) {
        (None, Some(false)) => Err(LeaderError::NoCertificate {
            name: authority::name_of_leader(run),
        }),
        (Some(_), Some(true)) => Err(LeaderError::TokenAndCertificate),
        (None, _) => Ok(Identity::open(&folder.path().join(CLIENT))?),
        (Some(certified), _) => {
            let identity = Identity::certified(certified)?;
            let own = identity.chain().first().ok_or(IdentityError::Signature)?;
            authority::leads(own, run).map_err(|refused| LeaderError::Certificate {
                path: certified.certificate.clone(),
                refused,
            })?;
            Ok(identity)
        }
    }
}

/// The leader of two servers.
pub struct Leader {
    plan: HelperPlan,
    line: Line,
    numbers: usize,
    run: sordino_core::digest::Digest,
    folder: PathBuf,
    asked: Option<Asked>,
}

/// Whether these keys are those before one rotation: a supervisor may start a leader with the
/// address of then.
fn is_before(named: &[Fingerprint], known: &[Fingerprint]) -> bool {
    named.get(1).is_some_and(|next| known.first() == Some(next))
}

impl Leader {
    /// The leader of a folder, once its helper has the terms; nothing where there is one server.
    /// Waits for a helper that was never reached.
    ///
    /// **Errors**: [`LeaderError`].
    pub async fn of(folder: &Folder, serving: &Serving) -> Result<Option<Self>, LeaderError> {
        let agreement = &folder.terms.agreement;
        let trust = shares::trust(&agreement.protocol);
        let named = serving.helper.as_ref();
        let Some(plan) = shares::plan(agreement)?.filter(|_| trust == Trust::TwoServers) else {
            return if named.is_some() {
                Err(LeaderError::Unused)
            } else {
                Ok(None)
            };
        };
        let path = folder.path().join(HELPER);
        let identity = identity(folder, serving)?;
        let line = |address: &str, pins: &[Fingerprint]| {
            Line::new(address, pins, agreement.deployment, &identity)
        };
        let terms = Bytes::from(folder.terms.to_bytes()?);
        let (known, line) = match (KnownHelper::read(folder.path())?, named) {
            (None, None) => return Err(LeaderError::NoHelper),
            (Some(known), Some(named))
                if named.pins != known.pins && !is_before(&named.pins, &known.pins) =>
            {
                let mut line = line(&named.address, &named.pins)?;
                // Never the token, which would bind another helper: this one knows its leader.
                let masks = line.known(&terms).await?;
                if masks != known.masks {
                    return Err(LeaderError::Other {
                        known: known.masks,
                        named: masks,
                    });
                }
                (
                    KnownHelper {
                        address: named.address.clone(),
                        pins: named.pins.clone(),
                        masks,
                    },
                    line,
                )
            }
            (Some(known), named) => {
                let address = named.map_or(known.address.clone(), |named| named.address.clone());
                let line = line(&address, &known.pins)?;
                (KnownHelper { address, ..known }, line)
            }
            (None, Some(named)) => {
                let mut line = line(&named.address, &named.pins)?;
                let masks = line.begun(named.token.as_ref(), &terms).await?;
                (
                    KnownHelper {
                        address: named.address.clone(),
                        pins: named.pins.clone(),
                        masks,
                    },
                    line,
                )
            }
        };
        write(&path, &known)?;
        let asked = read(&folder.path().join(ASKED))?;
        let numbers = agreement.protocol.upload_len();
        let run = agreement.digest();
        let folder = folder.path().to_owned();
        Ok(Some(Leader {
            plan,
            line,
            numbers,
            run,
            folder,
            asked,
        }))
    }

    /// Whether the question of this round is stored: then it is asked, and no other.
    pub fn has_asked(&self, round: u32) -> bool {
        let question = self.asked.as_ref().map(Asked::question);
        question.is_some_and(|question| question.epoch == round && question.run == self.run)
    }

    /// The attempt of a round whose question is stored, of one that would be begun again otherwise:
    /// agents are not asked again.
    pub(super) fn attempt(&self, again: u16) -> u16 {
        again.saturating_sub(1)
    }

    /// Numbers of a contribution.
    pub(super) fn numbers(&self) -> usize {
        self.numbers
    }

    /// Before the first share of a round.
    ///
    /// **Errors**: [`LeaderError::Epoch`].
    pub(super) fn collection(&self, round: u32) -> Result<Collection, LeaderError> {
        self.plan.collection(round).ok_or(LeaderError::Epoch(round))
    }

    /// No further shares: stores the question before anybody is asked.
    ///
    /// **Errors**: [`LeaderError::File`].
    pub(super) fn asks(&mut self, collection: Collection) -> Result<(), LeaderError> {
        let asked = collection.ask();
        write(&self.folder.join(ASKED), &asked)?;
        self.asked = Some(asked);
        Ok(())
    }

    /// What the helper answers to the question that is stored; waits for it.
    ///
    /// **Errors**: [`LeaderError::Helper`], which asking again will not change.
    pub(super) async fn answer(&mut self, enrolment: &Enrolment) -> Result<Bytes, LeaderError> {
        let Some(asked) = &self.asked else {
            return Err(LeaderError::NoHelper);
        };
        let question = asked.question();
        match self
            .line
            .answered(question, |agents| enrolment.masks(agents))
            .await
        {
            Ok(answer) => Ok(answer),
            Err(LineError::Link(error)) => Err(error.into()),
            Err(LineError::ShutOut { agents }) => {
                let epoch = question.epoch;
                self.forget(&agents)?;
                Err(LeaderError::ShutOut { epoch, agents })
            }
        }
    }

    /// Shuts agents out for good, then forgets the question that names them: it was never answered,
    /// and never will be. After a death between the two the helper refuses once more.
    fn forget(&mut self, agents: &[u32]) -> Result<(), LeaderError> {
        let known = enrolment::revoked(&self.folder)?;
        for agent in agents.iter().filter(|agent| !known.contains(agent)) {
            enrolment::revoke(&self.folder, *agent)?;
        }
        let path = self.folder.join(ASKED);
        std::fs::remove_file(&path).map_err(|error| FileError::Io { path, error })?;
        self.asked = None;
        Ok(())
    }

    /// Puts shares and answer together.
    ///
    /// **Errors**: [`LeaderError::Answer`].
    pub(super) fn open<'o>(
        &self,
        answer: &[u8],
        out: &'o mut [i64],
    ) -> Result<Opened<'o>, LeaderError> {
        let Some(asked) = &self.asked else {
            return Err(LeaderError::NoHelper);
        };
        Ok(asked.open(answer, out)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_one_rotation_ago_does_not_replace_newer_keys() {
        let pin = |byte| Fingerprint::of(&[byte]);
        assert!(is_before(&[pin(1), pin(2)], &[pin(2), pin(3)]));
        // The same, a newer one, another helper's, and one that names a single key.
        assert!(!is_before(&[pin(2), pin(3)], &[pin(2), pin(3)]));
        assert!(!is_before(&[pin(2), pin(3)], &[pin(1), pin(2)]));
        assert!(!is_before(&[pin(4), pin(5)], &[pin(2), pin(3)]));
        assert!(!is_before(&[pin(2)], &[pin(2), pin(3)]));
    }
}
