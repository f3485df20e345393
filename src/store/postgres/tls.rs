//! TLS connections to PostgreSQL and the verification of the server's certificate.

use std::{io, path::Path, sync::Arc};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore,
    SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::url::{PostgresUrl, Verification};

/// The TLS configuration for this database.
pub(super) fn connector(url: &PostgresUrl) -> io::Result<MakeRustlsConnect> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let config = match url.verification() {
        Verification::IssuerAndHost => {
            builder.with_root_certificates(roots(url.root_certificates())?)
        }
        Verification::Issuer => {
            let roots = Arc::new(roots(url.root_certificates())?);
            let inner =
                WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            let issuer = Some(inner.map_err(io::Error::other)?);
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(PartialVerifier { issuer, provider }))
        }
        Verification::None => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(PartialVerifier { issuer: None, provider })),
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

fn roots(file: Option<&Path>) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(file) => {
            let unusable =
                |error| io::Error::other(format!("sslrootcert: {}: {error}", file.display()));
            for certificate in CertificateDer::pem_file_iter(file).map_err(unusable)? {
                roots.add(certificate.map_err(unusable)?).map_err(io::Error::other)?;
            }
        }
        None => {
            let system = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(system.certs);
        }
    }
    if roots.is_empty() {
        let source = file.map_or("the system".into(), |file| file.display().to_string());
        return Err(io::Error::other(format!("sslrootcert: no certificate in {source}")));
    }
    Ok(roots)
}

/// Verifies the chain but not the host name (`verify-ca`), or nothing, as libpq does for `require`.
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
    ) -> Result<ServerCertVerified, TlsError> {
        use CertificateError::{NotValidForName, NotValidForNameContext};
        let Some(issuer) = &self.issuer else { return Ok(ServerCertVerified::assertion()) };
        match issuer.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        {
            // The name is checked after the chain was accepted.
            Err(TlsError::InvalidCertificate(NotValidForName | NotValidForNameContext { .. })) => {
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
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
