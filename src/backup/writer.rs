//! Writes a backup from a snapshot.

use std::io::Write;

use aws_lc_rs::digest::{Context, SHA256};
use serde::Serialize;
use zeroize::Zeroizing;

use super::{
    Counts, Description, Error,
    line::{EndLine, FORMAT, Header, KeyLine, KeyStage, Line, cookie_secret_line},
};
use crate::{
    clock::Timestamp,
    store::archive::{KeySnapshot, Page, Pages, Snapshot},
    token::key_store::StoredKeys,
};

/// The buffer is written when it has this many bytes.
const FLUSH_BYTES: usize = 64 << 10;

/// Writes a snapshot and the keys. `report` gets the number of users and sessions done, and their total.
///
/// # Errors
/// If the database cannot be read, or the output cannot be written.
pub async fn write(
    snapshot: &Snapshot,
    keys: &KeySnapshot,
    now: Timestamp,
    output: &mut (dyn Write + Send),
    report: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Description, Error> {
    let mut writer = Writer::new(output);
    let header = Header {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        database: snapshot.database.name().to_owned(),
        schema: snapshot.database.schema(),
        created_at: now.millis(),
    };
    writer.add(&header)?;
    writer.add_keys(keys)?;
    let size = snapshot.records.size().await?;
    let total = size.users + size.sessions;
    let mut pages = Pages::new(&*snapshot.records);
    while let Some(page) = pages.next().await? {
        writer.add_page(page)?;
        report(writer.counts.users + writer.counts.sessions, total);
    }
    let (counts, sha256) = writer.finish()?;
    let Header { version, database, .. } = header;
    let keys = keys.keys.ids();
    Ok(Description { version, database, created_at: now, counts, sha256, keys })
}

struct Writer<'a> {
    output: &'a mut (dyn Write + Send),
    /// Wiped, because it contains keys.
    buffer: Zeroizing<Vec<u8>>,
    checksum: Context,
    counts: Counts,
}

impl<'a> Writer<'a> {
    fn new(output: &'a mut (dyn Write + Send)) -> Self {
        // As long as no line has more than `FLUSH_BYTES`, it is never reallocated.
        let buffer = Zeroizing::new(Vec::with_capacity(2 * FLUSH_BYTES));
        Self { output, buffer, checksum: Context::new(&SHA256), counts: Counts::default() }
    }

    fn add(&mut self, line: &impl Serialize) -> Result<(), Error> {
        let start = self.buffer.len();
        append(&mut self.buffer, line);
        self.checksum.update(&self.buffer[start..]);
        if self.buffer.len() >= FLUSH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.output.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn add_keys(&mut self, keys: &KeySnapshot) -> Result<(), Error> {
        let KeySnapshot { keys, cookie_secret } = keys;
        // Keys that only verify are in the operator's file.
        let StoredKeys { signing, next, retired, verifying: _ } = keys;
        let signing = signing.iter().map(|key| KeyLine::new(KeyStage::Signing, key, None));
        let next = next.iter().map(|(key, at)| KeyLine::new(KeyStage::Next, key, *at));
        let retired =
            retired.iter().map(|(key, at)| KeyLine::new(KeyStage::Retired, key, Some(*at)));
        for key in signing.chain(next).chain(retired) {
            self.counts.keys += 1;
            self.add(&Line::Key(key))?;
        }
        cookie_secret.iter().try_for_each(|secret| self.add(&cookie_secret_line(secret)))
    }

    fn add_page(&mut self, page: Page) -> Result<(), Error> {
        self.counts.add(&page);
        lines(page).try_for_each(|line| self.add(&line))
    }

    fn finish(mut self) -> Result<(Counts, String), Error> {
        let sha256 = hexadecimal(self.checksum.clone());
        append(&mut self.buffer, &end_line(self.counts, sha256.clone()));
        self.flush()?;
        self.output.flush()?;
        Ok((self.counts, sha256))
    }
}

impl Counts {
    pub(super) fn add(&mut self, page: &Page) {
        let Page { users, sessions, endings, one_times, mails, invitations } = page;
        self.users += users.len() as u64;
        self.sessions += sessions.len() as u64;
        self.ended_tokens += endings.len() as u64;
        self.one_times += one_times.len() as u64;
        self.mails += mails.len() as u64;
        self.invitations += invitations.len() as u64;
    }
}

/// A line for each record of a page.
pub(super) fn lines(page: Page) -> impl Iterator<Item = Line> {
    let Page { users, sessions, endings, one_times, mails, invitations } = page;
    users
        .into_iter()
        .map(Line::from)
        .chain(sessions.into_iter().map(Line::from))
        .chain(endings.into_iter().map(Line::from))
        .chain(one_times.into_iter().map(Line::from))
        .chain(mails.into_iter().map(Line::from))
        .chain(invitations.into_iter().map(Line::from))
}

/// The last line.
pub(super) fn end_line(counts: Counts, sha256: String) -> Line {
    Line::End(EndLine { counts, sha256 })
}

/// Appends a line.
pub(super) fn append(buffer: &mut Vec<u8>, line: &impl Serialize) {
    serde_json::to_writer(&mut *buffer, line).expect("a line has no map whose keys are not texts");
    buffer.push(b'\n');
}

pub(super) fn hexadecimal(checksum: Context) -> String {
    checksum.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
