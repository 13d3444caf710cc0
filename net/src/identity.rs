//! Keys instead of certificate authorities: a party is identified by the digest of its connection's
//! public key.
//!
//! TLS 1.3 only, with a key on both sides. A certificate here is an envelope for a key: it is
//! self-signed, and only the key in it is used, neither name nor date. The server accepts every key
//! in the handshake and looks up in its own list which agent the key belongs to
//! ([`crate::enrolment`]); an agent accepts the keys that its invitation names and no other. Only
//! at a site with an authority of its own does an agent's certificate say who the agent is
//! ([`crate::authority`]).

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use ring::hmac;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, ServerConfig,
    SignatureScheme,
};
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::Seal;
use sordino_host::files::{self, FileError, LOCK_WAIT, create_privately, read_bounded};
use sordino_host::signature::{Fingerprint, SigningKey};

/// Why a key could not be made, read or used.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// Its file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The bytes are not a key of the only kind that is used, P-256 in PKCS #8.
    #[error("not a P-256 key in PKCS #8: {0}")]
    Key(#[from] rcgen::Error),
    /// TLS refuses it.
    #[error("the key cannot be used for TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// It cannot sign.
    #[error("the key cannot sign")]
    Signature,
    /// A PEM file does not hold what it should.
    #[error("{}: {what} in PEM is expected: {error}", path.display())]
    Pem {
        /// Path of the file.
        path: PathBuf,
        /// What should be in it.
        what: &'static str,
        /// What is wrong with it.
        #[source]
        error: pem::Error,
    },
    /// Another process rotated the keys in the meantime.
    #[error(
        "the next key is now {found}, not {expected}: it was rotated in the meantime; nothing was done"
    )]
    Rotated {
        /// The next key as the caller knew it.
        expected: Fingerprint,
        /// The next key as it is in the folder.
        found: Fingerprint,
    },
    /// The operating system's source of randomness has failed.
    #[error("no randomness from the system")]
    Entropy,
    /// The file of the seals' seed has the wrong length.
    #[error("{}: 32 bytes are expected, {found} are there", path.display())]
    Seed {
        /// Path of the file.
        path: PathBuf,
        /// Bytes that are there.
        found: usize,
    },
}

/// The fingerprint of the key in a certificate.
///
/// **Errors**: rustls' own, if the bytes are no certificate.
pub(crate) fn fingerprint_of(
    certificate: &CertificateDer<'_>,
) -> Result<Fingerprint, rustls::Error> {
    let parsed = ParsedCertificate::try_from(certificate)?;
    Ok(Fingerprint::of(parsed.subject_public_key_info().as_ref()))
}

/// A party's own key, with an envelope for it: its certificate first, then those that signed it, if
/// any.
pub struct Identity {
    private: PrivateKeyDer<'static>,
    chain: Vec<CertificateDer<'static>>,
}

/// A certificate that an authority signed, and its key, both in PEM: an agent's, or that of the
/// leader of two servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certified {
    /// The party's own certificate first, then those between it and the authority.
    pub certificate: PathBuf,
    /// The private key of that certificate.
    pub key: PathBuf,
}

/// What the system says of the file at `path`.
pub(crate) fn io_at(path: &Path) -> impl Fn(io::Error) -> FileError + '_ {
    |error| FileError::Io {
        path: path.to_owned(),
        error,
    }
}

/// What is wrong with the PEM text of `what` at a path.
fn pem_at(path: &Path, what: &'static str) -> impl Fn(pem::Error) -> IdentityError {
    move |error| IdentityError::Pem {
        path: path.to_owned(),
        what,
        error,
    }
}

/// Takes the lock of a folder, which ends with the process; none if another process has it.
///
/// **Errors**: [`FileError`].
pub(crate) fn lock_folder(path: &Path) -> Result<Option<File>, FileError> {
    let path = path.join(".lock");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(io_at(&path))?;
    match files::lock(&file, LOCK_WAIT) {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(io_at(&path)(error)),
    }
}

/// Whether another process has the lock of a folder. Nothing is created, and who wants the lock
/// meanwhile waits for a moment.
///
/// **Errors**: [`FileError`].
pub(crate) fn is_locked(path: &Path) -> Result<bool, FileError> {
    let path = path.join(".lock");
    let file = match OpenOptions::new().read(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(io_at(&path)(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(io_at(&path)(error)),
    }
}

/// Key files are read up to this length.
const KEY_BYTES_MAX: u64 = 4096;
/// A file of an authority's PEM is read up to this length.
pub(crate) const CERTIFICATE_BYTES_MAX: u64 = 64 << 10;

impl Identity {
    /// A new key from the system's entropy.
    ///
    /// **Errors**: [`IdentityError::Key`].
    pub fn generate() -> Result<Self, IdentityError> {
        Self::with(&KeyPair::generate()?)
    }

    fn with(key: &KeyPair) -> Result<Self, IdentityError> {
        let certificate = CertificateParams::new(vec!["sordino".to_owned()])?
            .self_signed(key)?
            .der()
            .clone();
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok(Identity {
            private,
            chain: vec![certificate],
        })
    }

    /// A key with a certificate that an authority signed.
    ///
    /// **Errors**: [`IdentityError::File`], [`IdentityError::Pem`].
    pub fn certified(Certified { certificate, key }: &Certified) -> Result<Self, IdentityError> {
        let bytes = read_bounded(certificate, CERTIFICATE_BYTES_MAX)?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
        let chain = chain.map_err(pem_at(certificate, "a certificate"))?;
        if chain.is_empty() {
            return Err(pem_at(certificate, "a certificate")(
                pem::Error::NoItemsFound,
            ));
        }
        let bytes = read_bounded(key, CERTIFICATE_BYTES_MAX)?;
        let private =
            PrivateKeyDer::from_pem_slice(&bytes).map_err(pem_at(key, "a private key"))?;
        Ok(Identity { private, chain })
    }

    /// Its certificate, and those that signed it.
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.chain
    }

    /// The key in this file. A missing file is made, whole or not at all, and only its owner may
    /// read it.
    ///
    /// **Errors**: [`IdentityError`].
    pub fn open(path: &Path) -> Result<Self, IdentityError> {
        match read_bounded(path, KEY_BYTES_MAX) {
            Err(error) if error.is_missing() => {
                let made = Self::generate()?;
                if create_privately(path, made.private.secret_der())? {
                    return Ok(made);
                }
                // Another process was faster: its key is the one.
                Self::read_file(path)
            }
            found => Self::read(&found?),
        }
    }

    /// The key in this file, which must be there.
    ///
    /// **Errors**: [`IdentityError`].
    pub(crate) fn read_file(path: &Path) -> Result<Self, IdentityError> {
        Self::read(&read_bounded(path, KEY_BYTES_MAX)?)
    }

    fn read(bytes: &[u8]) -> Result<Self, IdentityError> {
        Self::with(&KeyPair::try_from(bytes)?)
    }

    /// Who this is.
    ///
    /// **Errors**: [`IdentityError::Tls`].
    pub fn fingerprint(&self) -> Result<Fingerprint, IdentityError> {
        match self.chain.first() {
            Some(own) => Ok(fingerprint_of(own)?),
            None => Err(IdentityError::Signature),
        }
    }

    /// The public key, its SubjectPublicKeyInfo in DER: what [`sordino_host::signature::verified`]
    /// needs, and of what the fingerprint is the digest.
    ///
    /// **Errors**: [`IdentityError::Tls`], [`IdentityError::Signature`].
    pub fn public_key(&self) -> Result<Vec<u8>, IdentityError> {
        let own = self.chain.first().ok_or(IdentityError::Signature)?;
        Ok(ParsedCertificate::try_from(own)?
            .subject_public_key_info()
            .as_ref()
            .to_vec())
    }

    /// The key as its file holds it.
    pub(crate) fn secret(&self) -> &[u8] {
        self.private.secret_der()
    }

    /// How a server with this key listens. Records of 1 KiB, so that a device needs 2 KiB for one
    /// and not 16; no tickets, because a handshake is cheap and a ticket is a second identity.
    ///
    /// **Errors**: [`IdentityError::Tls`].
    pub fn server(&self) -> Result<Arc<ServerConfig>, IdentityError> {
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?;
        let config = config.with_client_cert_verifier(Arc::new(AnyKey(algorithms())));
        let mut config = config.with_single_cert(self.chain.clone(), self.private.clone_key())?;
        config.max_fragment_size = Some(1024);
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }

    /// How an agent with this key calls a server that has one of these keys.
    ///
    /// **Errors**: [`IdentityError::Tls`].
    pub fn client(&self, pins: &[Fingerprint]) -> Result<Arc<ClientConfig>, IdentityError> {
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?;
        let pinned = Arc::new(Pinned {
            pins: pins.to_vec(),
            algorithms: algorithms(),
        });
        let config = config.dangerous().with_custom_certificate_verifier(pinned);
        let mut config =
            config.with_client_auth_cert(self.chain.clone(), self.private.clone_key())?;
        config.resumption = rustls::client::Resumption::disabled();
        Ok(Arc::new(config))
    }

    /// The key that signs prior files and promises.
    ///
    /// **Errors**: [`IdentityError::Signature`].
    pub(crate) fn signing_key(&self) -> Result<SigningKey, IdentityError> {
        SigningKey::from_pkcs8(self.secret()).map_err(|_| IdentityError::Signature)
    }

    /// An ECDSA P-256 signature (ASN.1) of SHA-256 of a text.
    ///
    /// **Errors**: [`IdentityError::Signature`].
    pub fn sign(&self, text: &[u8]) -> Result<Vec<u8>, IdentityError> {
        let key = self.signing_key()?;
        key.sign(text).map_err(|_| IdentityError::Signature)
    }
}

/// Makes the seals of one server and run, and recognises them.
pub struct Sealer(hmac::Key);

impl Sealer {
    /// The seals made from the seed of one server and run.
    pub fn new(seed: &[u8; 32]) -> Self {
        Sealer(hmac::Key::new(hmac::HMAC_SHA256, seed))
    }

    /// The seal of a history of this many frames.
    pub fn seal(&self, frames: u32, chain: &Digest) -> Seal {
        let tag = hmac::sign(&self.0, &[&frames.to_le_bytes()[..], &chain.0].concat());
        let mut seal = Seal::default();
        seal.iter_mut()
            .zip(tag.as_ref())
            .for_each(|(to, from)| *to = *from);
        seal
    }

    /// Whether this server sealed that history, compared in constant time.
    pub fn made(&self, frames: u32, chain: &Digest, seal: &Seal) -> bool {
        self.seal(frames, chain)
            .iter()
            .zip(seal)
            .fold(0, |differs, (a, b)| differs | (a ^ b))
            == 0
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn algorithms() -> WebPkiSupportedAlgorithms {
    rustls::crypto::ring::default_provider().signature_verification_algorithms
}

/// Accepts every client that has the key of its certificate.
#[derive(Debug)]
struct AnyKey(WebPkiSupportedAlgorithms);

impl ClientCertVerifier for AnyKey {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        fingerprint_of(end_entity).map(|_| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2 is not spoken".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// Accepts the servers whose keys are pinned.
#[derive(Debug)]
struct Pinned {
    pins: Vec<Fingerprint>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.pins.contains(&fingerprint_of(end_entity)?) {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2 is not spoken".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
