//! Whether others trust a certificate: its chain, its name and how long it is valid.

use std::time::Duration;

use rustls::{
    CertificateError, Error as TlsError,
    client::danger::ServerCertVerifier,
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use super::finding::{Kind, Report};
use crate::{clock::Timestamp, outbound::tls};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Automatic renewal happens earlier, so it has failed.
const SOON: Duration = Duration::from_secs(14 * 24 * 60 * 60);

const RENEW: &str = "renew the certificate, and check what should have renewed it";

/// Says why a certificate for this host was not accepted. `place` is where it was found.
pub(super) fn report_invalid(
    report: &mut Report,
    place: &str,
    host: &str,
    cause: CertificateError,
) {
    match cause {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            let at = expiry(&cause).map_or_else(String::new, |at| format!(" on {}", at.to_text()));
            report.add(Kind::CertificateExpired, format!("{place} expired{at}"), RENEW);
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            report.add(
                Kind::CertificateName,
                format!("{place} is not for {host}"),
                format!("use a certificate for {host}, or correct public_url"),
            );
        }
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
}

/// Whether certificates that were accepted for this host expire soon.
pub(super) fn check_expiry(
    report: &mut Report,
    place: &str,
    host: &str,
    certificates: &[CertificateDer<'static>],
    now: Timestamp,
) {
    let Some((own, others)) = certificates.split_first() else { return };
    let Ok(name) = ServerName::try_from(host.to_owned()) else { return };
    let Ok(verifier) = tls::verifier(tls::system_issuers()) else { return };
    // Verifies in the future, because the error then tells when it expires.
    let since_1970 = Duration::from_millis(u64::try_from(now.millis()).unwrap_or(0));
    let then = UnixTime::since_unix_epoch(since_1970 + SOON);
    let expires_at = match verifier.verify_server_cert(own, others, &name, &[], then) {
        Err(TlsError::InvalidCertificate(cause)) => expiry(&cause),
        _ => None,
    };
    let days = |duration: Duration| duration.as_secs() / DAY.as_secs();
    match expires_at {
        Some(at) => report.add(
            Kind::CertificateExpiresSoon,
            format!(
                "{place} expires on {}, in {} days",
                at.to_text(),
                days(at.duration_since(now))
            ),
            RENEW,
        ),
        None => report.checked(format!("{place}: valid for more than {} days", days(SOON))),
    }
}

fn expiry(cause: &CertificateError) -> Option<Timestamp> {
    match cause {
        CertificateError::ExpiredContext { not_after, .. } => {
            Some(Timestamp::from_seconds(i64::try_from(not_after.as_secs()).unwrap_or(i64::MAX)))
        }
        _ => None,
    }
}
