//! TLS to other servers: whom to trust, and how much of a certificate is verified.

use std::{
    fs, io,
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};

use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme, WantsVerifier,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::in_time;

/// How much of the certificate of a server is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// Nothing: the server only proves that it holds the key of its certificate. The connection is hidden from those who
    /// listen, but not from those who answer in place of the server. PostgreSQL's `sslmode=require` and `prefer` mean this.
    None,
    /// Its chain leads to a trusted issuer. PostgreSQL's `sslmode=verify-ca`.
    Issuer,
    /// It is also issued for the host. All other connections.
    IssuerAndHost,
}

/// The issuers that the system trusts. They are read at the first use, and again only while there are none.
pub fn system_issuers() -> Arc<RootCertStore> {
    static ISSUERS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    if let Some(issuers) = ISSUERS.get() {
        return Arc::clone(issuers);
    }
    let mut issuers = RootCertStore::empty();
    issuers.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let issuers = Arc::new(issuers);
    if issuers.is_empty() { issuers } else { Arc::clone(ISSUERS.get_or_init(|| issuers)) }
}

/// The issuers that the system trusts, and these.
pub fn system_issuers_and(own: &RootCertStore) -> Arc<RootCertStore> {
    let mut issuers = system_issuers();
    if !own.is_empty() {
        Arc::make_mut(&mut issuers).extend(own.roots.iter().cloned());
    }
    issuers
}

/// The issuers in a file in PEM format.
///
/// # Errors
/// If the file cannot be read, has no certificate, or has one that cannot be used. The text names the file.
pub fn issuers_in(file: &Path) -> Result<RootCertStore, String> {
    let refuse = |cause: &dyn std::fmt::Display| format!("{}: {cause}", file.display());
    let text = fs::read(file).map_err(|error| refuse(&error))?;
    let mut issuers = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| refuse(&error))?;
        issuers.add(certificate).map_err(|error| refuse(&error))?;
    }
    if issuers.is_empty() {
        return Err(refuse(&"contains no certificate (PEM)"));
    }
    Ok(issuers)
}

/// The configuration of connections whose servers must have a certificate of one of these issuers for their host.
///
/// # Errors
/// If the cryptography cannot be used.
pub fn verified(issuers: Arc<RootCertStore>) -> Result<ClientConfig, Error> {
    Ok(builder()?.with_root_certificates(issuers).with_no_client_auth())
}

/// As [`verified`], for settings that ask for less.
///
/// # Errors
/// If there are no issuers, or the cryptography cannot be used.
pub fn verified_as(
    verification: Verification,
    issuers: impl FnOnce() -> io::Result<Arc<RootCertStore>>,
) -> io::Result<ClientConfig> {
    let issuer = match verification {
        Verification::IssuerAndHost => return verified(issuers()?).map_err(io::Error::other),
        Verification::Issuer => Some(verifier(issuers()?).map_err(io::Error::other)?),
        Verification::None => None,
    };
    partly_verified(issuer).map_err(io::Error::other)
}

/// The configuration of connections to whoever answers. Only this room uses it, for what has no secret on it.
#[cfg(feature = "cli")]
pub(super) fn unverified() -> Result<ClientConfig, Error> {
    partly_verified(None)
}

/// Verifies certificates of these issuers, without a connection.
///
/// # Errors
/// If there are no issuers.
pub fn verifier(issuers: Arc<RootCertStore>) -> Result<Arc<WebPkiServerVerifier>, Error> {
    let verifier = WebPkiServerVerifier::builder_with_provider(issuers, provider());
    verifier.build().map_err(|error| Error::General(error.to_string()))
}

/// Encrypts a connection to this host.
///
/// # Errors
/// If the server does not answer in time, or its certificate is not accepted.
pub async fn handshake(
    config: Arc<ClientConfig>,
    host: &str,
    stream: TcpStream,
    limit: Duration,
) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    in_time(limit, TlsConnector::from(config).connect(name, stream)).await
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, Error> {
    ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()
}

fn partly_verified(issuer: Option<Arc<WebPkiServerVerifier>>) -> Result<ClientConfig, Error> {
    let verifier = Arc::new(PartialVerifier { issuer, provider: provider() });
    let config = builder()?.dangerous().with_custom_certificate_verifier(verifier);
    Ok(config.with_no_client_auth())
}

/// Verifies the chain but not the host, or nothing. The signature of the handshake is always verified.
#[derive(Debug)]
struct PartialVerifier {
    /// `None` accepts any certificate.
    issuer: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PartialVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext};
        let Some(issuer) = &self.issuer else { return Ok(ServerCertVerified::assertion()) };
        match issuer.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        {
            // The name is checked after the chain was accepted.
            Err(Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. })) => {
                Ok(ServerCertVerified::assertion())
            }
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
