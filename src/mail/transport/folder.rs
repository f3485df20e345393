//! A folder that mail is written to, for development.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{Failure, Progress, SendError, Step};
use crate::{
    clock::Timestamp,
    mail::{Composed, MailId},
    private_file,
};

/// A folder of `.eml` files.
pub(super) struct Folder {
    path: PathBuf,
    progress: Option<Progress>,
}

impl Folder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, progress: None }
    }

    pub(super) fn report_to(&mut self, progress: Progress) {
        self.progress = Some(progress);
    }

    pub(super) async fn send(
        &self,
        id: MailId,
        created_at: Timestamp,
        mail: &Composed,
    ) -> Result<(), SendError> {
        let path = self.path.join(file_name(id, created_at));
        let (target, bytes) = (path.clone(), mail.bytes.clone());
        let written = tokio::task::spawn_blocking(move || write(&target, &bytes)).await;
        let outcome = written.unwrap_or_else(|error| Err(io::Error::other(error)));
        outcome.map_err(|error| {
            let text = format!("{}: {error}", path.display());
            SendError::Unreachable(Failure::new(Step::File, text))
        })?;
        if let Some(progress) = &self.progress {
            progress(&format!("wrote {}", path.display()));
        }
        Ok(())
    }
}

/// A name that sorts by time. A mail has the same one whenever it is written.
fn file_name(id: MailId, created_at: Timestamp) -> String {
    format!("{}-{id}.eml", created_at.to_string().replace(':', "-"))
}

/// Writes a file that has its name only when it is complete and on disk. Others cannot read it: it contains secrets.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let temporary = path.with_extension("tmp");
    let mut file = private_file::options().create(true).truncate(true).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::mail::Contents;

    fn mail(bytes: &str) -> Composed {
        let to = vec!["ada@example.com".parse().unwrap()];
        let envelope = lettre::address::Envelope::new(None, to).unwrap();
        Composed { envelope, bytes: bytes.into(), contents: Contents::default() }
    }

    #[tokio::test]
    async fn a_mail_is_one_private_file_however_often_it_is_written() {
        let outer = tempfile::tempdir().unwrap();
        let path = outer.path().join("new/mails");
        let folder = Folder::new(path.clone());
        let (first, second) = (MailId::random(), MailId::random());
        let at = Timestamp::from_seconds(1_700_000_000);
        folder.send(second, at + std::time::Duration::from_secs(1), &mail("2")).await.unwrap();
        folder.send(first, at, &mail("0")).await.unwrap();
        folder.send(first, at, &mail("1")).await.unwrap();
        let mut files: Vec<_> =
            fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let contents: Vec<_> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        assert_eq!(contents, ["1", "2"]);
        for (file, id) in files.iter().zip([first, second]) {
            assert!(file.display().to_string().ends_with(&format!("-{id}.eml")), "{file:?}");
            assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_written_is_not_about_the_mail() {
        let outer = tempfile::tempdir().unwrap();
        fs::write(outer.path().join("file"), "").unwrap();
        let folder = Folder::new(outer.path().join("file/mails"));
        let at = Timestamp::from_seconds(0);
        let error = folder.send(MailId::random(), at, &mail("")).await.unwrap_err();
        assert!(matches!(&error, SendError::Unreachable(_)), "{error:?}");
        assert!(error.failure().to_string().starts_with("file: "), "{error:?}");
    }
}
