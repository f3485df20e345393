//! Reads a backup in pages and verifies it. Only the end tells whether all of it is good.

use std::io::{BufRead, Read};

use aws_lc_rs::digest::{Context, SHA256};
use zeroize::Zeroizing;

use super::{
    Counts, Description, Error, age,
    line::{FORMAT, Header, Invalid, KeyStage, Line, cookie_secret},
    writer::{append, end_line, hexadecimal},
};
use crate::{
    clock::Timestamp,
    store::archive::{DatabaseKind, KeySnapshot, Page},
    token::key_store::StoredKeys,
};

/// Far more than the longest line that Doorward writes.
const MAX_LINE_BYTES: usize = 1 << 20;
/// The maximum number of records in a page.
const PAGE_RECORDS: u64 = 500;

/// A backup that is being read.
pub struct Reader<R> {
    input: R,
    line: Zeroizing<Vec<u8>>,
    /// The number of complete lines read.
    lines: u64,
    header: Header,
    checksum: Context,
    counts: Counts,
    keys: KeySnapshot,
    is_complete: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads the first line.
    ///
    /// # Errors
    /// If the input is not a backup that this version can read.
    pub fn open(mut input: R) -> Result<Self, Error> {
        let mut line = Zeroizing::new(Vec::with_capacity(4096));
        if !read_line(&mut input, &mut line)? {
            return Err(Error::NotABackup);
        }
        if age::is_encrypted(&line) {
            return Err(Error::Encrypted);
        }
        // Another format may have other fields, and is refused by its number.
        #[derive(serde::Deserialize)]
        struct AnyHeader {
            #[serde(rename = "doorwardBackup")]
            format: u32,
            version: String,
        }
        let AnyHeader { format, version } =
            serde_json::from_slice(&line).map_err(|_| Error::NotABackup)?;
        if format > FORMAT {
            return Err(Error::NewerFormat { version, format });
        }
        let header: Header = serde_json::from_slice(&line).map_err(|_| Error::NotABackup)?;
        let kind = DatabaseKind::by_name(&header.database).ok_or(Error::NotABackup)?;
        if header.schema > kind.schema() {
            let (found, known, database) = (header.schema, kind.schema(), header.database);
            return Err(Error::NewerSchema { version, database, found, known });
        }
        let mut checksum = Context::new(&SHA256);
        checksum.update(&line);
        let keys = KeySnapshot { keys: StoredKeys::default(), cookie_secret: None };
        let counts = Counts::default();
        Ok(Self { input, line, lines: 1, header, checksum, counts, keys, is_complete: false })
    }

    /// The next records. `None` after the last one, when everything is verified.
    ///
    /// # Errors
    /// If the backup is damaged or incomplete, or cannot be read.
    pub fn next_page(&mut self) -> Result<Option<Page>, Error> {
        let before = self.counts.records();
        let mut page = Page::default();
        while !self.is_complete && self.counts.records() - before < PAGE_RECORDS {
            self.read_record(&mut page)?;
        }
        Ok((!page.is_empty()).then_some(page))
    }

    /// Reads everything.
    ///
    /// # Errors
    /// As [`Self::next_page`].
    pub fn verify(mut self, report: &mut dyn FnMut(u64)) -> Result<Description, Error> {
        while self.next_page()?.is_some() {
            report(self.counts.records());
        }
        self.finish().map(|(description, _)| description)
    }

    /// What the backup contains, and its keys.
    ///
    /// # Errors
    /// If it was not read to its end.
    pub fn finish(self) -> Result<(Description, KeySnapshot), Error> {
        if !self.is_complete {
            return Err(Error::Truncated { lines: self.lines });
        }
        let Header { version, database, created_at, .. } = self.header;
        let description = Description {
            version,
            database,
            created_at: Timestamp::from_millis(created_at),
            counts: self.counts,
            sha256: hexadecimal(self.checksum),
            keys: self.keys.keys.ids(),
        };
        Ok((description, self.keys))
    }

    /// The number of records read so far.
    pub fn records(&self) -> u64 {
        self.counts.records()
    }

    fn read_record(&mut self, page: &mut Page) -> Result<(), Error> {
        if !read_line(&mut self.input, &mut self.line)? || !self.line.ends_with(b"\n") {
            if self.line.len() > MAX_LINE_BYTES {
                return Err(self.damaged("it is too long"));
            }
            return Err(Error::Truncated { lines: self.lines });
        }
        self.lines += 1;
        let line = serde_json::from_slice::<Line>(&self.line)
            .map_err(|error| self.damaged(&format!("not a record: {}", without_value(&error))))?;
        if let Line::End(_) = line {
            return self.check_end();
        }
        self.checksum.update(&self.line);
        let mut record = Page::default();
        self.add(line, &mut record).map_err(|invalid| self.damaged(&invalid.to_string()))?;
        self.counts.add(&record);
        page.append(record);
        Ok(())
    }

    fn add(&mut self, line: Line, page: &mut Page) -> Result<(), Invalid> {
        match line {
            Line::Key(line) => {
                let (stage, at) = (line.stage, line.at.map(Timestamp::from_millis));
                let (key, keys) = (line.key()?, &mut self.keys.keys);
                self.counts.keys += 1;
                match (stage, at) {
                    (KeyStage::Signing, _) => keys.signing = Some(key),
                    (KeyStage::Next, at) => keys.next = Some((key, at)),
                    (KeyStage::Retired, Some(until)) => keys.retired.push((key, until)),
                    (KeyStage::Retired, None) => {}
                }
            }
            Line::CookieSecret(secret) => {
                self.keys.cookie_secret = Some(cookie_secret(&secret)?);
            }
            Line::User(line) => page.users.push((*line).try_into()?),
            Line::Session(line) => page.sessions.push(line.try_into()?),
            Line::EndedToken(line) => page.endings.push(line.try_into()?),
            Line::OneTime(line) => page.one_times.push(line.try_into()?),
            Line::Mail(line) => page.mails.push(line.try_into()?),
            Line::Invitation(line) => page.invitations.push(line.try_into()?),
            Line::End(_) => {}
        }
        Ok(())
    }

    fn check_end(&mut self) -> Result<(), Error> {
        // To the byte, because the checksum does not cover the last line.
        let mut expected = Vec::new();
        append(&mut expected, &end_line(self.counts, hexadecimal(self.checksum.clone())));
        if *self.line != expected {
            return Err(self.damaged("the checksum does not match the records"));
        }
        if read_line(&mut self.input, &mut self.line)? {
            return Err(self.damaged("something follows the end"));
        }
        self.is_complete = true;
        Ok(())
    }

    fn damaged(&self, cause: &str) -> Error {
        Error::Damaged { line: self.lines, cause: cause.to_owned() }
    }
}

/// Reads up to the end of a line. False at the end of the input.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, Error> {
    line.clear();
    input.take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', line)?;
    Ok(!line.is_empty())
}

/// The kind and the place of an error. Its text may quote a value, which may be a secret.
fn without_value(error: &serde_json::Error) -> String {
    format!("{:?} error in column {}", error.classify(), error.column()).to_lowercase()
}
