//! A site's own certificate authority, where there is one: which certificate names which agent.
//!
//! **A helper's owner** can let an authority say who the leader is, in the same way: the URI
//! `sordino:RUN/leader`, and no token ([`Leaders`]).
//!
//! Without an authority, an agent is the key that showed a token. With one, the terms hold the
//! authority's certificate, and an agent is what its own certificate says: one name among its
//! alternative names, the URI `sordino:RUN/SLOT`, with the run in 16 hexadecimal digits. So a
//! certificate for one federation is worth nothing in another, and a renewed certificate is still
//! the same agent.
//!
//! TLS proves that the sender has the key of its certificate; which agent it is, this module
//! decides after the handshake, so that a refusal arrives as a sentence and not as a broken
//! connection. The chain, its signatures, its dates and its uses are judged by webpki, the
//! authority's own dates as well. **Lists of revoked certificates are not read**: a slot is shut
//! out by `sordino revoke`.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use sha2::{Digest as _, Sha256};
use sordino_core::digest::Digest;
use sordino_host::files::{FileError, read_bounded};
use sordino_host::hex::from_hex;
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use crate::identity::CERTIFICATE_BYTES_MAX;

/// What the names of agents begin with.
const SCHEME: &str = "sordino:";
/// What stands for an agent's slot in the name of a leader.
const LEADER: &str = "leader";

/// Why a file holds no authority.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It holds no certificate, or more than one.
    #[error("one certificate is expected, in PEM or DER, and {found} are there")]
    Count {
        /// Certificates that are there.
        found: usize,
    },
    /// What it holds is no certificate, not one of an authority (basic constraints with CA:TRUE),
    /// or not valid now.
    #[error("not a certificate of an authority that is valid now: {0}")]
    Certificate(#[source] webpki::Error),
}

/// Why a certificate does not make its owner an agent; the sender is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Not a certificate.
    #[error("not a readable certificate: {0}")]
    Unreadable(#[source] webpki::Error),
    /// No path of signatures leads to the authority in the terms.
    #[error("the certificate is not signed by the authority in the terms: {0}")]
    Foreign(#[source] webpki::Error),
    /// It has expired, by the server's clock.
    #[error(
        "the certificate has expired: it was valid until {until} s after 1970, and it is {now}"
    )]
    Expired {
        /// The last second in which it, or one that signed it, was valid.
        until: u64,
        /// The second of this moment.
        now: u64,
    },
    /// It is not valid yet, by the server's clock.
    #[error("the certificate is not valid yet: it will be {from} s after 1970, and it is {now}")]
    NotYet {
        /// The first second in which it, or one that signed it, is valid.
        from: u64,
        /// The second of this moment.
        now: u64,
    },
    /// It is for something other than a TLS client.
    #[error("the certificate is not for TLS clients: {0}")]
    Usage(#[source] webpki::Error),
    /// It names nobody of any federation.
    #[error("the certificate has no name {expected}")]
    NoName {
        /// What it should name.
        expected: Expected,
    },
    /// It has several such names.
    #[error("the certificate has {found} names that begin with {SCHEME}, one is expected")]
    Names {
        /// Names that are there.
        found: usize,
    },
    /// It names somebody of another federation, or nobody at all.
    #[error("the certificate names {found:?}; {expected} is expected")]
    OtherName {
        /// The name that is there, its first 80 characters.
        found: String,
        /// What it should name.
        expected: Expected,
    },
}

/// Whom a certificate should name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// An agent of a run.
    Agent {
        /// The run of the federation.
        run: u64,
        /// The last of its agents.
        last: u32,
    },
    /// The leader of a run with two servers.
    Leader {
        /// The run, where it is known already.
        run: Option<u64>,
    },
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Agent { run, last } => {
                write!(f, "{SCHEME}{run:016x}/SLOT, SLOT from 0 to {last}")
            }
            Expected::Leader { run: Some(run) } => f.write_str(&name_of_leader(*run)),
            Expected::Leader { run: None } => {
                write!(f, "{SCHEME}RUN/{LEADER}, RUN in 16 hexadecimal digits")
            }
        }
    }
}

/// The name of an agent in its certificate; the scheme means nothing to other programs.
pub fn name_of(run: u64, slot: u32) -> String {
    format!("{SCHEME}{run:016x}/{slot}")
}

/// The name of the leader of two servers in its certificate.
pub fn name_of_leader(run: u64) -> String {
    format!("{SCHEME}{run:016x}/{LEADER}")
}

/// A certificate that signs others.
struct Signer {
    certificate: Vec<u8>,
    anchor: TrustAnchor<'static>,
}

/// An authority of one federation, which says who agents are.
pub struct Authority {
    signer: Signer,
    run: u64,
    agents: u32,
}

/// An authority of a helper's owner, which says who leaders are.
pub struct Leaders(Signer);

/// The one certificate of a file, in PEM or DER.
///
/// **Errors**: [`AuthorityError`].
pub fn read(path: &Path) -> Result<Vec<u8>, AuthorityError> {
    let bytes = read_bounded(path, CERTIFICATE_BYTES_MAX)?;
    let der = if bytes.starts_with(&[0x30]) {
        bytes
    } else {
        let found: Vec<_> = CertificateDer::pem_slice_iter(&bytes).collect();
        match found.into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(mut all) if all.len() == 1 => all.remove(0).to_vec(),
            Ok(all) => return Err(AuthorityError::Count { found: all.len() }),
            Err(_no_pem) => return Err(AuthorityError::Count { found: 0 }),
        }
    };
    anchor_from_trusted_cert(&CertificateDer::from(&der[..]))
        .map_err(AuthorityError::Certificate)?;
    judged(&der, UnixTime::now()).map_err(AuthorityError::Certificate)?;
    Ok(der)
}

/// Whether a certificate is one that signs others, at this moment.
///
/// webpki checks neither for a certificate that is trusted anyway. Checked as if it were a
/// client's, its dates come first, then whether it is an authority's: that refusal is the answer
/// hoped for here.
fn judged(der: &[u8], now: UnixTime) -> Result<(), webpki::Error> {
    let der = CertificateDer::from(der);
    let anchor = anchor_from_trusted_cert(&der)?;
    let as_client = EndEntityCert::try_from(&der)?;
    let usage = KeyUsage::client_auth();
    let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
    match as_client.verify_for_usage(algorithms.all, &[anchor], &[], now, usage, None, None) {
        Err(webpki::Error::CaUsedAsEndEntity) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(webpki::Error::EndEntityUsedAsCa),
    }
}

/// The digest of terms that name an authority: over the digest of their agreement and the
/// certificate.
pub fn digest(agreement: &Digest, certificate: &[u8]) -> Digest {
    let mut hash = Sha256::new();
    hash.update(b"sordino terms with an authority");
    hash.update(agreement.0);
    hash.update(certificate);
    Digest(hash.finalize().into())
}

impl Signer {
    fn new(certificate: &[u8]) -> Result<Self, AuthorityError> {
        let anchor = anchor_from_trusted_cert(&CertificateDer::from(certificate))
            .map_err(AuthorityError::Certificate)?
            .to_owned();
        Ok(Signer {
            certificate: certificate.to_vec(),
            anchor,
        })
    }

    /// The first certificate of a chain, if this one signed it for a TLS client, now by the
    /// server's clock.
    fn signed<'c>(
        &self,
        chain: &'c [CertificateDer<'_>],
        now: UnixTime,
        expected: Expected,
    ) -> Result<EndEntityCert<'c>, Refused> {
        let (own, between) = chain.split_first().ok_or(Refused::NoName { expected })?;
        judged(&self.certificate, now).map_err(refused)?;
        let certificate = EndEntityCert::try_from(own).map_err(Refused::Unreadable)?;
        let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
        let anchors = std::slice::from_ref(&self.anchor);
        certificate
            .verify_for_usage(
                algorithms.all,
                anchors,
                between,
                now,
                KeyUsage::client_auth(),
                None,
                None,
            )
            .map_err(refused)?;
        Ok(certificate)
    }
}

impl Authority {
    /// The authority of a federation with this run and this number of agents.
    ///
    /// **Errors**: [`AuthorityError::Certificate`].
    pub fn new(certificate: &[u8], run: u64, agents: u32) -> Result<Arc<Self>, AuthorityError> {
        Ok(Arc::new(Authority {
            signer: Signer::new(certificate)?,
            run,
            agents,
        }))
    }

    /// Which agent has this certificate chain, its own certificate first, now by the server's
    /// clock.
    ///
    /// **Errors**: [`Refused`].
    pub fn slot(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Result<u32, Refused> {
        let expected = Expected::Agent {
            run: self.run,
            last: self.agents.saturating_sub(1),
        };
        named(
            &self.signer.signed(chain, now, expected)?,
            self.run,
            self.agents,
        )
    }
}

impl Leaders {
    /// The authority that has this certificate.
    ///
    /// **Errors**: [`AuthorityError::Certificate`].
    pub fn new(certificate: &[u8]) -> Result<Self, AuthorityError> {
        Ok(Leaders(Signer::new(certificate)?))
    }

    /// Of which run the owner of this certificate chain is the leader, now by the helper's clock.
    ///
    /// **Errors**: [`Refused`].
    pub fn run(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Result<u64, Refused> {
        let expected = Expected::Leader { run: None };
        run_named(&self.0.signed(chain, now, expected)?, expected)
    }
}

/// Whether a certificate names the leader of this run, without regard to who signed it: for the
/// leader itself, before it connects.
///
/// **Errors**: [`Refused`].
pub fn leads(own: &CertificateDer<'_>, run: u64) -> Result<(), Refused> {
    let expected = Expected::Leader { run: Some(run) };
    let certificate = EndEntityCert::try_from(own).map_err(Refused::Unreadable)?;
    match run_named(&certificate, expected)? {
        found if found == run => Ok(()),
        found => Err(Refused::OtherName {
            found: name_of_leader(found),
            expected,
        }),
    }
}

/// The refusal of a name, of which the beginning is told.
fn other_name(name: &str, expected: Expected) -> Refused {
    Refused::OtherName {
        found: name.chars().take(80).collect(),
        expected,
    }
}

/// The run whose leader a certificate names.
fn run_named(certificate: &EndEntityCert<'_>, expected: Expected) -> Result<u64, Refused> {
    let name = the_name(certificate, expected)?;
    let digits = name
        .strip_prefix(SCHEME)
        .and_then(|rest| rest.split_once('/'))
        .map(|(digits, _)| digits);
    let run = digits.and_then(from_hex).map(u64::from_be_bytes);
    // One spelling, as of agents.
    let run = run.filter(|run| name_of_leader(*run) == name);
    run.ok_or_else(|| other_name(name, expected))
}

/// The only name of a certificate that is one of ours.
fn the_name<'c>(
    certificate: &'c EndEntityCert<'_>,
    expected: Expected,
) -> Result<&'c str, Refused> {
    let mut names = certificate
        .valid_uri_names()
        .filter(|name| name.starts_with(SCHEME));
    let name = names.next().ok_or(Refused::NoName { expected })?;
    match names.count() {
        0 => Ok(name),
        others => Err(Refused::Names { found: others + 1 }),
    }
}

/// Which agent of this run a certificate names, without regard to who signed it: for the agent
/// itself, before it connects.
///
/// **Errors**: [`Refused`].
pub(crate) fn slot_named(own: &CertificateDer<'_>, run: u64) -> Result<u32, Refused> {
    named(
        &EndEntityCert::try_from(own).map_err(Refused::Unreadable)?,
        run,
        u32::MAX,
    )
}

fn named(certificate: &EndEntityCert<'_>, run: u64, agents: u32) -> Result<u32, Refused> {
    let last = agents.saturating_sub(1);
    let expected = Expected::Agent { run, last };
    let name = the_name(certificate, expected)?;
    let slot = name
        .rsplit_once('/')
        .and_then(|(_, slot)| slot.parse().ok())
        .ok_or_else(|| other_name(name, expected))?;
    // One spelling: no sign, no zero in front, no digits of another case.
    if name_of(run, slot) == name && slot <= last {
        Ok(slot)
    } else {
        Err(other_name(name, expected))
    }
}

fn refused(error: webpki::Error) -> Refused {
    match error {
        webpki::Error::CertExpired { time, not_after } => Refused::Expired {
            until: not_after.as_secs(),
            now: time.as_secs(),
        },
        webpki::Error::CertNotValidYet { time, not_before } => Refused::NotYet {
            from: not_before.as_secs(),
            now: time.as_secs(),
        },
        webpki::Error::RequiredEkuNotFoundContext(_) | webpki::Error::CaUsedAsEndEntity => {
            Refused::Usage(error)
        }
        other => Refused::Foreign(other),
    }
}
