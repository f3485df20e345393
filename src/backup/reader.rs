//! Reads a backup in pages and verifies it. Only the end tells whether all of it is good.

use std::io::{BufRead, Read};

use zeroize::Zeroizing;

use super::{
    Description, Error,
    line::{self, FORMAT, Header, Invalid, KeyStage, Line, secret},
    writer::{append_end, hexadecimal},
};
use crate::{
    clock::Timestamp,
    sha256::Sha256,
    store::archive::{DatabaseKind, KeySnapshot, Record, RecordCounts, USERS},
    token::shared_secret::SecretName,
};

/// Far more than the longest line that Doorward writes.
const MAX_LINE_BYTES: usize = 1 << 20;
/// The maximum number of records in a page.
const PAGE_RECORDS: usize = 500;

/// A backup that is being read.
pub struct Reader<R> {
    input: R,
    line: Zeroizing<Vec<u8>>,
    /// The number of complete lines read.
    lines: u64,
    header: Header,
    checksum: Sha256,
    counts: RecordCounts,
    keys: KeySnapshot,
    key_lines: u64,
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
        if line.starts_with(b"age-encryption.org/")
            || line.starts_with(b"-----BEGIN AGE ENCRYPTED FILE")
        {
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
        let mut checksum = Sha256::new();
        checksum.update(&line);
        let keys = KeySnapshot::default();
        let (counts, key_lines, is_complete) = (RecordCounts::default(), 0, false);
        Ok(Self { input, line, lines: 1, header, checksum, counts, keys, key_lines, is_complete })
    }

    /// When it was made.
    pub fn created_at(&self) -> Timestamp {
        Timestamp::from_millis(self.header.created_at)
    }

    /// The next records. `None` after the last one, when everything is verified.
    ///
    /// # Errors
    /// If the backup is damaged or incomplete, or cannot be read.
    pub fn next_page(&mut self) -> Result<Option<Vec<Record>>, Error> {
        let mut page = Vec::new();
        while !self.is_complete && page.len() < PAGE_RECORDS {
            page.extend(self.read_line()?);
        }
        Ok((!page.is_empty()).then_some(page))
    }

    /// Reads everything.
    ///
    /// # Errors
    /// As [`Self::next_page`], and if no server would start with it.
    pub fn verify(mut self, report: &mut dyn FnMut(u64)) -> Result<Description, Error> {
        while self.next_page()?.is_some() {
            report(self.counts.total());
        }
        let (description, _) = self.finish()?;
        if description.lacks_signing_key {
            return Err(Error::LacksSigningKey);
        }
        Ok(description)
    }

    /// What the backup contains, and its keys.
    ///
    /// # Errors
    /// If it was not read to its end.
    pub fn finish(self) -> Result<(Description, KeySnapshot), Error> {
        if !self.is_complete {
            return Err(Error::Truncated { lines: self.lines });
        }
        let Header { version, schema, database, created_at, keys_in_file, .. } = self.header;
        let lacks_signing_key = self.keys.keys.signing.is_none() && self.counts.of(&USERS) > 0;
        let description = Description {
            version,
            schema,
            database,
            created_at: Timestamp::from_millis(created_at),
            counts: self.counts,
            sha256: hexadecimal(self.checksum),
            keys: self.keys.keys.ids(),
            keys_in_file,
            lacks_signing_key: lacks_signing_key && !keys_in_file,
        };
        Ok((description, self.keys))
    }

    /// The number of records read so far.
    pub fn records(&self) -> u64 {
        self.counts.total()
    }

    /// Reads a line, and returns the record in it.
    fn read_line(&mut self) -> Result<Option<Record>, Error> {
        if !read_line(&mut self.input, &mut self.line)? || !self.line.ends_with(b"\n") {
            if self.line.len() > MAX_LINE_BYTES {
                return Err(self.damaged("it is too long"));
            }
            return Err(Error::Truncated { lines: self.lines });
        }
        self.lines += 1;
        let starts_with = |start: &str| self.line.starts_with(start.as_bytes());
        if starts_with("{\"end\":") {
            return self.check_end().map(|()| None);
        }
        self.checksum.update(&self.line);
        let of_keys =
            ["{\"key\":", "{\"cookieSecret\":", "{\"factorSecret\":", "{\"auditSecret\":"];
        let read = match of_keys.into_iter().any(starts_with) {
            true => self.add_key().map(|()| None),
            false => line::record(&self.line, self.header.schema).map(Some),
        };
        let record = read.map_err(|invalid| self.damaged(&invalid.to_string()))?;
        record.iter().for_each(|record| self.counts.add(record));
        Ok(record)
    }

    fn add_key(&mut self) -> Result<(), Invalid> {
        match serde_json::from_slice(&self.line).map_err(|_| Invalid::Value("a signing key"))? {
            Line::Key(line) => {
                let (stage, at) = (line.stage, line.at.map(Timestamp::from_millis));
                let (key, keys) = (line.key()?, &mut self.keys.keys);
                self.key_lines += 1;
                match (stage, at) {
                    (KeyStage::Signing, _) => keys.signing = Some(key),
                    (KeyStage::Next, at) => keys.next = Some((key, at)),
                    (KeyStage::Retired, Some(until)) => keys.retired.push((key, until)),
                    (KeyStage::Retired, None) => {}
                }
            }
            Line::CookieSecret(line) => {
                self.keys.secrets.insert(SecretName::Cookies, secret(&line)?);
            }
            Line::FactorSecret(line) => {
                self.keys.secrets.insert(SecretName::Factors, secret(&line)?);
            }
            Line::AuditSecret(line) => {
                self.keys.secrets.insert(SecretName::Audit, secret(&line)?);
            }
        }
        Ok(())
    }

    fn check_end(&mut self) -> Result<(), Error> {
        // To the byte, because the checksum does not cover the last line.
        let mut expected = Vec::new();
        let sha256 = hexadecimal(self.checksum.clone());
        let counts = self.counts.in_schema(self.header.schema);
        append_end(&mut expected, &counts, self.key_lines, &sha256);
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
