//! Decrypts what is read. A change anywhere is an error, and so is a missing end.

use std::io::{self, BufRead, Read};

use aws_lc_rs::aead::LessSafeKey;
use zeroize::Zeroizing;

use super::{
    CHUNK_BYTES, Error, Identities, PartNonces, TAG_BYTES, cipher, derive, header::Header, no_data,
};

/// Decrypts a file.
pub struct Decryptor<R> {
    input: R,
    cipher: LessSafeKey,
    nonces: PartNonces,
    /// The encrypted part, and then its plaintext.
    part: Zeroizing<Vec<u8>>,
    /// The plaintext that was not read yet.
    unread: std::ops::Range<usize>,
    is_first: bool,
    is_last: bool,
}

impl<R: BufRead> Decryptor<R> {
    /// Reads the header and finds the key of the file.
    ///
    /// # Errors
    /// If no identity fits, or the header is damaged.
    pub fn new(mut input: R, identities: &Identities) -> io::Result<Self> {
        let header = Header::read(&mut input)?;
        let file_key = identities.file_key(&header.stanzas)?;
        header.verify(&file_key)?;
        let mut nonce = [0; 16];
        input.read_exact(&mut nonce).map_err(truncated)?;
        let cipher = cipher(&derive(&*file_key.0, &nonce, "payload"));
        let part = Zeroizing::new(Vec::with_capacity(CHUNK_BYTES + TAG_BYTES));
        let nonces = PartNonces::default();
        Ok(Self { input, cipher, nonces, part, unread: 0..0, is_first: true, is_last: false })
    }

    fn read_part(&mut self) -> io::Result<()> {
        self.part.clear();
        let limit = (CHUNK_BYTES + TAG_BYTES) as u64;
        (&mut self.input).take(limit).read_to_end(&mut self.part)?;
        let is_last = self.input.fill_buf()?.is_empty();
        let nonce = self.nonces.next(is_last);
        let opened = self.cipher.open_in_place(nonce, no_data(), &mut self.part);
        let length = opened.map_err(|_| Error::Damaged)?.len();
        // Only an empty file has an empty part.
        if length == 0 && !self.is_first {
            return Err(Error::Damaged.into());
        }
        (self.unread, self.is_first, self.is_last) = (0..length, false, is_last);
        Ok(())
    }
}

impl<R: BufRead> Read for Decryptor<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.unread.is_empty() && !self.is_last && !buffer.is_empty() {
            self.read_part()?;
        }
        let count = buffer.len().min(self.unread.len());
        let start = self.unread.start;
        buffer[..count].copy_from_slice(&self.part[start..start + count]);
        self.unread.start += count;
        Ok(count)
    }
}

fn truncated(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::Damaged.into(),
        _ => error,
    }
}
