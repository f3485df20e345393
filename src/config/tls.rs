//! `[tls]`: the certificate and the key with which the service encrypts connections itself.

use std::path::{Path, PathBuf};

use super::{
    Settings, SettingsError,
    key::Key,
    value::{OptionalPath, field},
};

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "tls.certificate",
        purpose: "File with the certificate and its intermediates (PEM): the service then speaks HTTPS; needs tls.key",
        value: &OptionalPath { field: field!(tls.certificate), target: "file" },
    },
    Key {
        name: "tls.key",
        purpose: "File with the private key of tls.certificate (PEM)",
        value: &OptionalPath { field: field!(tls.key), target: "file" },
    },
];

/// The files of a certificate and its key. Both are set, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
}

impl TlsFiles {
    /// The file of the certificate and that of its key, if the service speaks HTTPS.
    pub(crate) fn pair(&self) -> Option<(&Path, &Path)> {
        self.certificate.as_deref().zip(self.key.as_deref())
    }
}

/// Checks the settings that depend on each other.
pub(super) fn check(settings: &Settings) -> Result<(), SettingsError> {
    let refuse = |message: &str| Err(SettingsError::new(message));
    match &settings.tls {
        TlsFiles { certificate: Some(_), key: None } => {
            refuse("tls.certificate: set tls.key to the file with its private key")
        }
        TlsFiles { certificate: None, key: Some(_) } => {
            refuse("tls.key: set tls.certificate to the file with its certificate")
        }
        // Cookies would lack `Secure`, and links would lead to a port that does not understand them.
        files
            if files.pair().is_some()
                && settings.public_url.as_ref().is_some_and(|url| !url.is_https()) =>
        {
            refuse(
                "public_url: http:// although tls.certificate is set: set the https:// URL, or auto",
            )
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::tests::load;

    #[test]
    fn a_certificate_and_its_key_are_set_together() {
        let settings = load(&[], &[], "[tls]\ncertificate = 'a.pem'\nkey = 'b.pem'\n").unwrap();
        let (certificate, key) = settings.tls.pair().unwrap();
        assert_eq!((certificate.to_str(), key.to_str()), (Some("a.pem"), Some("b.pem")));
        assert_eq!(settings.base_url(settings.listen), "https://localhost:3000");
        assert!(!settings.is_exposed_on([192, 0, 2, 1].into()));
        assert!(load(&[], &[], "").unwrap().tls.pair().is_none());
        for (file, message) in [
            ("tls.certificate = 'a.pem'", "tls.certificate: set tls.key to "),
            ("tls.key = 'b.pem'", "tls.key: set tls.certificate to "),
        ] {
            let error = load(&[], &[], file).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn a_public_url_without_encryption_contradicts_the_certificate() {
        let file = "public_url = 'http://auth.example.com'\n[tls]\ncertificate = 'a'\nkey = 'b'\n";
        let error = load(&[], &[], file).unwrap_err();
        assert!(error.starts_with("public_url: "), "{error}");
    }
}
