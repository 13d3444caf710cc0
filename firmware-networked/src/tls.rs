//! TLS 1.3 with a key on both sides: this device's own, and the server's, which its invitation
//! pins. No authority, no name, no date.
//!
//! embedded-tls (0.19) hands certificates to a verifier *if the server sends any*: a peer that left
//! out certificate and signature and went on to the end of the handshake would be connected to. So
//! [`Proof`] remembers whether the pinned key signed this handshake, and [`open`] hangs up where it
//! did not.

use digest::Digest as _;
use embedded_io::{Read, Write};
use embedded_tls::SignatureScheme;
use embedded_tls::blocking::{
    Aes128GcmSha256, Certificate, CertificateEntryRef, CertificateRef, CertificateVerifyRef,
    CryptoProvider, Sha256, TlsConfig, TlsConnection, TlsContext, TlsError, TlsVerifier,
};
use heapless::Vec;
use p256::ecdsa::{DerSignature, Signature, SigningKey, VerifyingKey};
use rand_core::{CryptoRng, RngCore};
use signature::{SignerMut, Verifier};
use sordino_core::digest::{Digest, Frame};

use crate::der;

/// A record of the server (1 KiB and what surrounds it), and the longest message of a handshake.
pub const READ_BYTES: usize = 2048;
/// What is sent in one record.
pub const WRITE_BYTES: usize = 1024;
/// What a server signs: 64 spaces, this, and the digest of the handshake up to its certificate.
const SIGNED_BY_THE_SERVER: &[u8] = b"TLS 1.3, server CertificateVerify\x00";
const SPACES: usize = 64;

/// A stream that is encrypted.
pub type Tls<'b, S> = TlsConnection<'b, S, Aes128GcmSha256>;

/// SHA-256 of parts, one after the other.
pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut frame = Frame::leaf();
    parts.iter().for_each(|part| frame.bytes(part));
    frame.end().0
}

/// Random bytes: SHA-256 of a secret, the number of the boot, and a count. A board has a generator
/// of its own; this one repeats nothing, as long as no two boots have one number.
pub struct Entropy {
    secret: [u8; 32],
    boot: u32,
    count: u64,
}

impl Entropy {
    /// The bytes of this boot, from the first on.
    pub fn new(secret: [u8; 32], boot: u32) -> Self {
        Entropy {
            secret,
            boot,
            count: 0,
        }
    }
}

impl RngCore for Entropy {
    fn next_u32(&mut self) -> u32 {
        self.next_u64() as u32
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(32) {
            self.count += 1;
            let block = sha256(&[
                b"sordino device",
                &self.secret,
                &self.boot.to_le_bytes(),
                &self.count.to_le_bytes(),
            ]);
            part.copy_from_slice(&block[..part.len()]);
        }
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rand_core::Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl CryptoRng for Entropy {}

/// The device's key; none for a secret of one in 2³² that gives no key.
pub fn key(secret: &[u8; 32]) -> Option<SigningKey> {
    SigningKey::from_slice(&sha256(&[b"sordino key of a device", secret])).ok()
}

/// Which keys the server may have, and what it has proved.
struct Proof<'p> {
    pins: &'p [Digest],
    /// The handshake up to the certificate, and its key, if that is pinned.
    shown: Option<(Sha256, VerifyingKey)>,
    proved: bool,
}

impl TlsVerifier<Aes128GcmSha256> for Proof<'_> {
    fn set_hostname_verification(&mut self, _: &str) -> Result<(), TlsError> {
        Ok(())
    }

    fn verify_certificate(
        &mut self,
        transcript: &Sha256,
        certificate: CertificateRef,
    ) -> Result<(), TlsError> {
        // A second certificate is another claim.
        (self.shown, self.proved) = (None, false);
        let Some(CertificateEntryRef::X509(certificate)) = certificate.entries.first() else {
            return Err(TlsError::InvalidCertificate);
        };
        let info = der::key_info(certificate).ok_or(TlsError::InvalidCertificate)?;
        if !self.pins.contains(&Digest(sha256(&[info]))) {
            return Err(TlsError::InvalidCertificate);
        }
        let point = der::point(info).ok_or(TlsError::InvalidCertificate)?;
        let key = VerifyingKey::from_sec1_bytes(point).map_err(|_| TlsError::InvalidCertificate)?;
        self.shown = Some((transcript.clone(), key));
        Ok(())
    }

    fn verify_signature(&mut self, verify: CertificateVerifyRef) -> Result<(), TlsError> {
        let (transcript, key) = self.shown.take().ok_or(TlsError::InvalidSignature)?;
        if verify.signature_scheme != SignatureScheme::EcdsaSecp256r1Sha256 {
            return Err(TlsError::InvalidSignatureScheme);
        }
        let signature =
            Signature::from_der(verify.signature).map_err(|_| TlsError::InvalidSignature)?;
        let mut signed: Vec<u8, 160> = Vec::new();
        let parts: [&[u8]; 3] = [
            &[b' '; SPACES],
            SIGNED_BY_THE_SERVER,
            &transcript.finalize(),
        ];
        for part in parts {
            signed
                .extend_from_slice(part)
                .map_err(|_| TlsError::InvalidSignature)?;
        }
        key.verify(&signed, &signature)
            .map_err(|_| TlsError::InvalidSignature)?;
        self.proved = true;
        Ok(())
    }
}

/// Both keys, and randomness, for one handshake.
struct Provider<'p> {
    entropy: &'p mut Entropy,
    proof: Proof<'p>,
    key: &'p SigningKey,
    certificate: &'p [u8],
}

impl CryptoProvider for Provider<'_> {
    type CipherSuite = Aes128GcmSha256;
    type Signature = DerSignature;

    fn rng(&mut self) -> impl embedded_tls::CryptoRngCore {
        &mut *self.entropy
    }

    fn verifier(&mut self) -> Result<&mut impl TlsVerifier<Aes128GcmSha256>, TlsError> {
        Ok(&mut self.proof)
    }

    fn signer(&mut self) -> Result<(impl SignerMut<DerSignature>, SignatureScheme), TlsError> {
        Ok((self.key.clone(), SignatureScheme::EcdsaSecp256r1Sha256))
    }

    fn client_cert(&mut self) -> Option<Certificate<impl AsRef<[u8]>>> {
        Some(Certificate::X509(self.certificate))
    }
}

/// What a device shows and whom it believes.
pub struct Keys<'k> {
    /// The device's own key.
    pub own: &'k SigningKey,
    /// An envelope for it.
    pub certificate: &'k [u8],
    /// Fingerprints of keys that the server may have.
    pub pins: &'k [Digest],
}

/// Makes the connection: it is encrypted, and the other end has a pinned key.
///
/// **Errors**: `embedded-tls`'s; [`TlsError::InvalidSignature`] if the server proved no key.
pub fn open<'b, S: Read + Write>(
    stream: S,
    (read, write): (&'b mut [u8], &'b mut [u8]),
    keys: &Keys<'_>,
    entropy: &mut Entropy,
) -> Result<Tls<'b, S>, TlsError> {
    // Pins say who the server is; the name says nothing.
    let config = TlsConfig::new().with_server_name("sordino");
    let mut tls = TlsConnection::new(stream, read, write);
    let proof = Proof {
        pins: keys.pins,
        shown: None,
        proved: false,
    };
    let mut provider = Provider {
        entropy,
        proof,
        key: keys.own,
        certificate: keys.certificate,
    };
    tls.open(TlsContext::new(&config, &mut provider))?;
    if provider.proof.proved {
        Ok(tls)
    } else {
        Err(TlsError::InvalidSignature)
    }
}
