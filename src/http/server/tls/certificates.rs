//! The certificate in force. Its files are read again when they change, and its expiry is logged in time.

use std::{
    fmt, fs, io,
    os::unix::fs::MetadataExt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use arc_swap::ArcSwap;
use rustls::{
    InconsistentKeys,
    crypto::CryptoProvider,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use x509_cert::{Certificate, der::Decode};
use zeroize::Zeroizing;

use crate::{
    clock::{Clock, Timestamp},
    sha256::Sha256,
    supervisor,
};

/// How often the files are read. Their content is compared, because a swapped symbolic link, a file that is replaced and one
/// that is overwritten then look the same.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// An expiry within this time is logged as a warning. Certificates are usually renewed 30 days before.
const EXPIRES_SOON: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// A certificate that cannot be used: what is wrong and what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{file}: {cause}")]
pub struct UnusableCertificate {
    file: String,
    cause: String,
}

impl UnusableCertificate {
    pub(super) fn new(file: &Path, cause: &dyn fmt::Display) -> Self {
        Self { file: file.display().to_string(), cause: cause.to_string() }
    }
}

/// The certificate in force, and the files that it comes from.
pub(super) struct Certificates {
    files: Files,
    provider: Arc<CryptoProvider>,
    clock: Clock,
    in_force: ArcSwap<Pair>,
    seen: Mutex<Seen>,
}

/// What has been read and logged already.
struct Seen {
    /// The digest of the files.
    content: [u8; 32],
    /// Why this content is not in force.
    refused: Option<UnusableCertificate>,
    /// When the expiry of the certificate in force was last logged.
    warned: Option<Timestamp>,
}

impl Certificates {
    pub(super) fn open(
        certificate: &Path,
        key: &Path,
        provider: Arc<CryptoProvider>,
        clock: Clock,
    ) -> Result<Self, UnusableCertificate> {
        let files = Files { certificate: certificate.to_owned(), key: key.to_owned() };
        let content = files.read();
        let in_force = ArcSwap::from_pointee(files.parse(&content, &provider)?);
        files.warn_of_readers();
        let seen = Mutex::new(Seen { content: content.digest(), refused: None, warned: None });
        let certificates = Self { files, provider, clock, in_force, seen };
        certificates.warn_of_expiry();
        Ok(certificates)
    }

    /// Reads the files again if they have changed. A pair that cannot be used is logged once.
    ///
    /// # Errors
    /// If the pair in the files cannot be used, also if it was refused before.
    pub(super) fn reload(&self) -> Result<(), UnusableCertificate> {
        // Locked first, so that content that was read earlier never replaces a later one.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let content = self.files.read();
        let digest = content.digest();
        if digest == seen.content {
            return seen.refused.clone().map_or(Ok(()), Err);
        }
        seen.content = digest;
        let parsed = self.files.parse(&content, &self.provider);
        match parsed.and_then(|pair| self.refuse_expired(pair)) {
            Ok(pair) => {
                let expires = pair.expires.map_or_else(|| "unknown".into(), Timestamp::to_text);
                self.in_force.store(Arc::new(pair));
                (seen.refused, seen.warned) = (None, None);
                tracing::info!(%expires, "certificate reloaded");
                self.files.warn_of_readers();
                Ok(())
            }
            Err(error) => {
                tracing::warn!(%error, "certificate not reloaded: the previous certificate stays in force");
                seen.refused = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Refuses a pair that clients refuse if they accept the one in force.
    fn refuse_expired(&self, pair: Pair) -> Result<Pair, UnusableCertificate> {
        let has_expired = |expires: &Timestamp| *expires <= self.clock.now();
        match (pair.expires.filter(has_expired), self.expires()) {
            (Some(expired), Some(valid)) if !has_expired(&valid) => {
                let (expired, valid) = (expired.to_text(), valid.to_text());
                let cause = format!(
                    "it has expired on {expired}, and the one in force is valid until {valid}: renew it"
                );
                Err(UnusableCertificate::new(&self.files.certificate, &cause))
            }
            _ => Ok(pair),
        }
    }

    /// When the certificate in force expires, if that can be read.
    pub(super) fn expires(&self) -> Option<Timestamp> {
        self.in_force.load().expires
    }

    /// Logs once a day that the certificate expires soon.
    fn warn_of_expiry(&self) {
        let now = self.clock.now();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(expires) = self.expires().filter(|expires| *expires < now + EXPIRES_SOON) else {
            return;
        };
        if seen.warned.is_some_and(|warned| now < warned + DAY) {
            return;
        }
        seen.warned = Some(now);
        let (expires_at, file) = (expires.to_text(), self.files.certificate.display());
        if expires <= now {
            tracing::warn!(%expires_at, %file, "the certificate has expired: clients refuse it; renew it");
        } else {
            tracing::warn!(%expires_at, %file, "the certificate expires in less than 14 days: renew it");
        }
    }
}

/// Checks the files again and again, for as long as the process runs.
pub(super) fn watch(certificates: Arc<Certificates>) {
    let watch = move || {
        loop {
            thread::sleep(CHECK_INTERVAL);
            let checked = catch_unwind(AssertUnwindSafe(|| {
                // A failure has been logged.
                let _ = certificates.reload();
                certificates.warn_of_expiry();
            }));
            if let Err(panic) = checked {
                let cause = supervisor::message(&*panic);
                tracing::error!(
                    cause,
                    "checking the certificate has panicked; it is checked again"
                );
            }
        }
    };
    let started = thread::Builder::new().name("certificate".into()).spawn(watch);
    if let Err(error) = started {
        tracing::error!(%error, "a changed certificate is only read at `doorward reload`: cannot start a thread");
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.in_force.load().certified))
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates")
            .field("file", &self.files.certificate)
            .finish_non_exhaustive()
    }
}

struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

/// What is in the files.
struct Content {
    certificate: io::Result<Vec<u8>>,
    key: io::Result<Zeroizing<Vec<u8>>>,
}

/// A certificate with its key.
struct Pair {
    certified: Arc<CertifiedKey>,
    expires: Option<Timestamp>,
}

impl Content {
    /// Different for any other content, and for a file that cannot be read.
    fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        for content in [self.certificate.as_deref(), self.key.as_ref().map(|key| key.as_slice())] {
            match content {
                Ok(content) => {
                    digest.update(content.len().to_le_bytes());
                    digest.update(content);
                }
                Err(error) => digest.update(error.to_string()),
            }
        }
        digest.finish()
    }
}

impl Files {
    fn read(&self) -> Content {
        Content {
            certificate: fs::read(&self.certificate),
            key: fs::read(&self.key).map(Zeroizing::new),
        }
    }

    fn parse(
        &self,
        content: &Content,
        provider: &CryptoProvider,
    ) -> Result<Pair, UnusableCertificate> {
        let in_certificate =
            |cause: &dyn fmt::Display| UnusableCertificate::new(&self.certificate, cause);
        let in_key = |cause: &dyn fmt::Display| UnusableCertificate::new(&self.key, cause);
        let text =
            content.certificate.as_ref().map_err(|error| in_certificate(&unreadable(error)))?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
        let chain = chain.map_err(|error| in_certificate(&error))?;
        let Some(first) = chain.first() else {
            let has_key = PrivateKeyDer::from_pem_slice(text).is_ok();
            let hint =
                if has_key { ", but a key: are tls.certificate and tls.key swapped?" } else { "" };
            return Err(in_certificate(&format!("contains no certificate (PEM){hint}")));
        };
        let expires = expiry(first);
        let text = content.key.as_ref().map_err(|error| in_key(&unreadable(error)))?;
        if is_encrypted(text) {
            return Err(in_key(
                &"the key is protected by a password: write one without, with `openssl pkey -in FILE -out NEW`",
            ));
        }
        let key = PrivateKeyDer::from_pem_slice(text).map_err(|error| match error {
            pem::Error::NoItemsFound => in_key(&"contains no private key (PEM)"),
            error => in_key(&error),
        })?;
        let certified =
            CertifiedKey::from_der(chain, key, provider).map_err(|error| match error {
                rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => in_key(&format!(
                    "the key does not belong to the first certificate in {}: use the key of this certificate, and put the \
                     certificate before its intermediates",
                    self.certificate.display()
                )),
                rustls::Error::InvalidCertificate(_) => in_certificate(&error),
                error => in_key(&error),
            })?;
        Ok(Pair { certified: Arc::new(certified), expires })
    }

    /// A key that every user can read is not private. The group may read it: that is how several services share a key.
    fn warn_of_readers(&self) {
        const OTHERS: u32 = 0o007;
        if fs::metadata(&self.key).is_ok_and(|key| key.mode() & OTHERS != 0) {
            tracing::warn!(
                file = %self.key.display(),
                "every user of this machine can read the private key: remove the permission with `chmod o= FILE`"
            );
        }
    }
}

fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!(
                "{error}: the user that runs the service must be able to read the file and enter its folders"
            )
        }
        _ => error.to_string(),
    }
}

fn is_encrypted(text: &[u8]) -> bool {
    [b"-----BEGIN ENCRYPTED PRIVATE KEY-----".as_slice(), b"Proc-Type: 4,ENCRYPTED"]
        .iter()
        .any(|mark| memchr::memmem::find(text, mark).is_some())
}

/// The end of the validity of the first certificate in a file, if it can be read.
pub fn expiry_in_file(file: &Path) -> Option<Timestamp> {
    let text = fs::read(file).ok()?;
    let first = CertificateDer::pem_slice_iter(&text).next()?.ok()?;
    expiry(&first)
}

/// The end of the validity, if it can be read.
fn expiry(certificate: &CertificateDer<'_>) -> Option<Timestamp> {
    let certificate = Certificate::from_der(certificate).ok()?;
    let end = certificate.tbs_certificate.validity.not_after.to_unix_duration();
    Some(Timestamp::from_seconds(i64::try_from(end.as_secs()).ok()?))
}
