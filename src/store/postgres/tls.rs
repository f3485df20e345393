//! TLS connections to PostgreSQL, as the connection string asks for them.

use std::{io, sync::Arc};

use tokio_postgres_rustls::MakeRustlsConnect;

use super::url::PostgresUrl;
use crate::outbound::tls;

/// The TLS configuration for this database.
pub(super) fn connector(url: &PostgresUrl) -> io::Result<MakeRustlsConnect> {
    let unusable = |cause: String| io::Error::other(format!("sslrootcert: {cause}"));
    let issuers = || match url.root_certificates() {
        Some(file) => tls::issuers_in(file).map(Arc::new).map_err(unusable),
        None => Some(tls::system_issuers())
            .filter(|issuers| !issuers.is_empty())
            .ok_or_else(|| unusable("no certificate in the system".into())),
    };
    Ok(MakeRustlsConnect::new(tls::verified_as(url.verification(), issuers)?))
}
