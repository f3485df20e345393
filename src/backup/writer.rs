//! Writes a backup from a snapshot.

use std::io::Write;

use serde::Serialize;
use zeroize::Zeroizing;

use super::{
    Description, Error,
    line::{
        Counts, End, EndLine, FORMAT, Header, KeyLine, KeyStage, Line, RecordLine, secret_line,
    },
};
use crate::{
    clock::Timestamp,
    sha256::Sha256,
    store::archive::{KeySnapshot, Record, RecordCounts, Snapshot, USERS},
    token::key_store::StoredKeys,
};

/// The buffer is written when it has this many bytes.
const FLUSH_BYTES: usize = 64 << 10;

/// Writes a snapshot and the keys. `keys_in_file` is true if the signing key is in the operator's file. `report` gets the number of
/// records done, and of all.
///
/// # Errors
/// If there are users without a signing key, the database cannot be read, or the output cannot be written.
pub async fn write(
    snapshot: &Snapshot,
    keys: &KeySnapshot,
    keys_in_file: bool,
    now: Timestamp,
    output: &mut (dyn Write + Send),
    report: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Description, Error> {
    let counts = snapshot.counts().await?;
    let lacks_signing_key = keys.keys.signing.is_none() && !keys_in_file && counts.of(&USERS) > 0;
    if lacks_signing_key {
        return Err(Error::NoSigningKey);
    }
    let mut writer = Writer::new(output);
    let header = Header {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        database: snapshot.database.name().to_owned(),
        schema: snapshot.database.schema(),
        created_at: now.millis(),
        keys_in_file,
    };
    writer.add(&header)?;
    writer.add_keys(keys)?;
    let total = counts.total();
    let mut pages = snapshot.pages();
    while let Some(records) = pages.next().await? {
        records.iter().try_for_each(|record| writer.add_record(record))?;
        report(writer.counts.total(), total);
    }
    let (counts, sha256) = writer.finish()?;
    let Header { version, database, schema, .. } = header;
    let keys = keys.keys.ids();
    Ok(Description {
        version,
        schema,
        database,
        created_at: now,
        counts,
        sha256,
        keys,
        keys_in_file,
        lacks_signing_key,
    })
}

struct Writer<'a> {
    output: &'a mut (dyn Write + Send),
    /// Wiped, because it contains keys.
    buffer: Zeroizing<Vec<u8>>,
    checksum: Sha256,
    counts: RecordCounts,
    keys: u64,
}

impl<'a> Writer<'a> {
    fn new(output: &'a mut (dyn Write + Send)) -> Self {
        // As long as no line has more than `FLUSH_BYTES`, it is never reallocated.
        let buffer = Zeroizing::new(Vec::with_capacity(2 * FLUSH_BYTES));
        let (checksum, counts) = (Sha256::new(), RecordCounts::default());
        Self { output, buffer, checksum, counts, keys: 0 }
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
        let KeySnapshot { keys, secrets } = keys;
        // Keys that only verify are in the operator's file.
        let StoredKeys { signing, next, retired, verifying: _ } = keys;
        let signing = signing.iter().map(|key| KeyLine::new(KeyStage::Signing, key, None));
        let next = next.iter().map(|(key, at)| KeyLine::new(KeyStage::Next, key, *at));
        let retired =
            retired.iter().map(|(key, at)| KeyLine::new(KeyStage::Retired, key, Some(*at)));
        for key in signing.chain(next).chain(retired) {
            self.keys += 1;
            self.add(&Line::Key(key))?;
        }
        secrets.iter().try_for_each(|(name, secret)| self.add(&secret_line(*name, secret)))
    }

    fn add_record(&mut self, record: &Record) -> Result<(), Error> {
        self.counts.add(record);
        self.add(&RecordLine(record))
    }

    fn finish(mut self) -> Result<(RecordCounts, String), Error> {
        let sha256 = hexadecimal(self.checksum.clone());
        append_end(&mut self.buffer, &self.counts, self.keys, &sha256);
        self.flush()?;
        self.output.flush()?;
        Ok((self.counts, sha256))
    }
}

/// Appends the last line.
pub(super) fn append_end(buffer: &mut Vec<u8>, records: &RecordCounts, keys: u64, sha256: &str) {
    append(buffer, &EndLine { end: End { counts: Counts { records, keys }, sha256 } });
}

/// Appends a line.
pub(super) fn append(buffer: &mut Vec<u8>, line: &impl Serialize) {
    serde_json::to_writer(&mut *buffer, line).expect("a line has no map whose keys are not texts");
    buffer.push(b'\n');
}

pub(super) fn hexadecimal(checksum: Sha256) -> String {
    checksum.finish().iter().map(|byte| format!("{byte:02x}")).collect()
}
