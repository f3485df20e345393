//! Whether others trust a certificate: its chain, its name and how long it is valid.

use std::{sync::Arc, time::Duration};

use rustls::{
    CertificateError, Error as TlsError, RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use super::finding::{Kind, Report};
use crate::clock::Timestamp;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Automatic renewal happens earlier, so it has failed.
const SOON: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// Judges the certificates that a server presents for this host. `place` is where they were found.
pub(super) fn check(
    report: &mut Report,
    place: &str,
    host: &str,
    certificates: &[CertificateDer<'static>],
    now: Timestamp,
) {
    let Some((own, others)) = certificates.split_first() else { return };
    let Ok(name) = ServerName::try_from(host.to_owned()) else { return };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(aws_lc_rs::default_provider());
    let Ok(verifier) =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()
    else {
        report.checked(format!(
            "{place}: not checked, because this system has no trusted certificates"
        ));
        return;
    };
    let since_1970 = Duration::from_millis(u64::try_from(now.millis()).unwrap_or(0));
    let verify = |at: Duration| {
        let at = UnixTime::since_unix_epoch(at);
        verifier.verify_server_cert(own, others, &name, &[], at).map(drop)
    };
    let expires_at = |error: &TlsError| match error {
        TlsError::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. }) => {
            Some(Timestamp::from_seconds(i64::try_from(not_after.as_secs()).unwrap_or(i64::MAX)))
        }
        _ => None,
    };
    let renew = "renew the certificate, and check what should have renewed it";
    match verify(since_1970) {
        Ok(()) => {}
        Err(error) => {
            let cause = match &error {
                TlsError::InvalidCertificate(cause) => cause.clone(),
                _ => CertificateError::UnknownIssuer,
            };
            match cause {
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    let at = expires_at(&error).map_or_else(String::new, |at| format!(" on {}", at.to_text()));
                    report.add(Kind::CertificateExpired, format!("{place} expired{at}"), renew);
                }
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => report.add(
                    Kind::CertificateName,
                    format!("{place} is not for {host}"),
                    format!("use a certificate for {host}, or correct public_url"),
                ),
                CertificateError::UnknownIssuer => report.add(
                    Kind::CertificateUntrusted,
                    format!("{place}: this system does not know its issuer"),
                    "let the proxy send the whole chain (fullchain.pem); if the issuer is your own, add it to the \
                     system's certificates, or name it in the variable SSL_CERT_FILE",
                ),
                other => report.add(
                    Kind::CertificateUntrusted,
                    format!("{place} is not valid: {other}"),
                    "use a certificate that browsers accept, such as one of an ACME issuer",
                ),
            }
            return;
        }
    }
    // Verifies in the future, because the error then tells when it expires.
    let days = |duration: Duration| duration.as_secs() / DAY.as_secs();
    match verify(since_1970 + SOON).err().as_ref().and_then(expires_at) {
        Some(at) => report.add(
            Kind::CertificateExpiresSoon,
            format!(
                "{place} expires on {}, in {} days",
                at.to_text(),
                days(at.duration_since(now))
            ),
            renew,
        ),
        None => report.checked(format!("{place}: valid for more than {} days", days(SOON))),
    }
}
