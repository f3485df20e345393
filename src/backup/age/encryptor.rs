//! Encrypts what is written.

use std::io::{self, Write};

use aws_lc_rs::{aead::LessSafeKey, rand};
use zeroize::Zeroizing;

use super::{
    CHUNK_BYTES, Error, FILE_KEY_BYTES, FileKey, PartNonces, Recipient, TAG_BYTES, cipher, derive,
    header::compose, no_data,
};

/// Encrypts for all recipients. [`Self::finish`] writes the last part; a file without it is refused.
pub struct Encryptor<W> {
    output: W,
    cipher: LessSafeKey,
    nonces: PartNonces,
    part: Zeroizing<Vec<u8>>,
}

impl<W: Write> Encryptor<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// If a recipient cannot be used, or the output cannot be written.
    pub fn new(mut output: W, recipients: &[Recipient]) -> io::Result<Self> {
        let mut file_key = Zeroizing::new([0; FILE_KEY_BYTES]);
        let mut nonce = [0; 16];
        let random = rand::fill(&mut *file_key).and_then(|()| rand::fill(&mut nonce));
        random.map_err(|_| io::Error::other("the system provides no random bytes"))?;
        let file_key = FileKey(file_key);
        let stanzas = recipients.iter().map(|recipient| recipient.stanza(&file_key));
        let stanzas = stanzas.collect::<Result<Vec<_>, Error>>()?;
        output.write_all(compose(&stanzas, &file_key).as_bytes())?;
        output.write_all(&nonce)?;
        let cipher = cipher(&derive(&*file_key.0, &nonce, "payload"));
        let part = Zeroizing::new(Vec::with_capacity(CHUNK_BYTES + TAG_BYTES));
        Ok(Self { output, cipher, nonces: PartNonces::default(), part })
    }

    /// Writes the last part and returns the output.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_part(true)?;
        Ok(self.output)
    }

    fn write_part(&mut self, is_last: bool) -> io::Result<()> {
        let nonce = self.nonces.next(is_last);
        let sealed = self.cipher.seal_in_place_append_tag(nonce, no_data(), &mut *self.part);
        sealed.map_err(|_| io::Error::other("the encryption failed"))?;
        self.output.write_all(&self.part)?;
        self.part.clear();
        Ok(())
    }
}

impl<W: Write> Write for Encryptor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full part is kept until more follows, because the last part is marked.
        if self.part.len() == CHUNK_BYTES && !bytes.is_empty() {
            self.write_part(false)?;
        }
        let taken = bytes.len().min(CHUNK_BYTES - self.part.len());
        self.part.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    /// Flushes the complete parts.
    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
