//! SHA-256.

use aws_lc_rs::digest::{Context, SHA256};

/// The SHA-256 of a text or of bytes.
pub fn sha256(input: impl AsRef<[u8]>) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(input);
    digest.finish()
}

/// The SHA-256 of what comes in parts.
#[derive(Clone)]
pub struct Sha256(Context);

impl Sha256 {
    pub fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    pub fn update(&mut self, part: impl AsRef<[u8]>) {
        self.0.update(part.as_ref());
    }

    pub fn finish(self) -> [u8; 32] {
        self.0.finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_digest_of_the_whole() {
        let mut parts = Sha256::new();
        parts.update("a");
        parts.update(b"bc");
        // The example of FIPS 180-2.
        let start = [0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea];
        assert_eq!(sha256("abc")[..8], start);
        assert_eq!(parts.finish(), sha256("abc"));
    }
}
