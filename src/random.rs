//! Random bytes, for secrets, salts and ids.

use zeroize::Zeroizing;

/// Bytes that nobody can foresee. They are overwritten when they are dropped, because most of them become secrets.
pub fn random_bytes<const N: usize>() -> Zeroizing<[u8; N]> {
    let mut bytes = Zeroizing::new([0; N]);
    aws_lc_rs::rand::fill(&mut *bytes).expect("the system provides random bytes");
    bytes
}
