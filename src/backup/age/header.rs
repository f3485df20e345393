//! The header of an encrypted file: the key of the file, encrypted for each recipient, and a MAC with that key.

use std::io::{self, BufRead, Read};

use aws_lc_rs::hmac;
use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};

use super::{Error, FileKey, INTRO, derive};

/// Far more than the header of a file for a hundred recipients.
const MAX_HEADER_BYTES: u64 = 1 << 20;
/// A line of the body of a stanza has this many columns, unless it is the last one.
const COLUMNS: usize = 64;

/// The key of the file for one recipient, encrypted in the way that the first argument names.
pub(super) struct Stanza {
    pub(super) arguments: Vec<String>,
    pub(super) body: Vec<u8>,
}

/// A header that was read.
pub(super) struct Header {
    pub(super) stanzas: Vec<Stanza>,
    /// Everything that the MAC covers.
    text: Vec<u8>,
    mac: Vec<u8>,
}

impl Header {
    /// Reads up to the end of the header. It is not yet verified.
    pub(super) fn read(input: &mut impl BufRead) -> io::Result<Self> {
        let mut lines = Lines { input: input.take(MAX_HEADER_BYTES), text: Vec::new() };
        if lines.next()? != INTRO {
            return Err(Error::Unknown.into());
        }
        let mut stanzas = Vec::new();
        loop {
            let line = lines.next()?;
            if let Some(arguments) = line.strip_prefix("-> ") {
                let arguments = arguments.split(' ').map(str::to_owned).collect();
                stanzas.push(Stanza { arguments, body: lines.body()? });
                continue;
            }
            let Some(mac) = line.strip_prefix("--- ") else { return Err(Error::Damaged.into()) };
            let mut text = lines.text;
            text.truncate(text.len() - " \n".len() - mac.len());
            let mac = decode_base64(mac).ok_or(Error::Damaged)?;
            return Ok(Self { stanzas, text, mac });
        }
    }

    /// Checks that nobody without the key of the file has changed the header.
    pub(super) fn verify(&self, file_key: &FileKey) -> Result<(), Error> {
        let verified = hmac::verify(&mac_key(file_key), &self.text, &self.mac);
        verified.map_err(|_| Error::Damaged)
    }
}

/// The header with these stanzas.
pub(super) fn compose(stanzas: &[String], file_key: &FileKey) -> String {
    let covered = format!("{INTRO}\n{}---", stanzas.concat());
    let mac = hmac::sign(&mac_key(file_key), covered.as_bytes());
    format!("{covered} {}\n", BASE64_STANDARD_NO_PAD.encode(mac))
}

fn mac_key(file_key: &FileKey) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, &*derive(&*file_key.0, &[], "header"))
}

/// Base64 without padding. Every value has one text.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD_NO_PAD.decode(text).ok()
}

struct Lines<R> {
    input: R,
    text: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> io::Result<String> {
        let start = self.text.len();
        self.input.read_until(b'\n', &mut self.text)?;
        let line = self.text[start..].strip_suffix(b"\n").ok_or(Error::Damaged)?;
        Ok(str::from_utf8(line).map_err(|_| Error::Damaged)?.to_owned())
    }

    fn body(&mut self) -> io::Result<Vec<u8>> {
        let mut body = String::new();
        loop {
            let line = self.next()?;
            body += &line;
            match line.len() {
                COLUMNS => {}
                0..COLUMNS => return Ok(decode_base64(&body).ok_or(Error::Damaged)?),
                _ => return Err(Error::Damaged.into()),
            }
        }
    }
}
