//! Computes Argon2 with the fastest code that the CPU supports, in memory that is reused from hash to hash. The feature
//! `argon2-rust`, on by default, selects the crate of that name; without it the crate `argon2` of RustCrypto is used.

#[cfg(feature = "argon2-rust")]
mod argon2_rust;
#[cfg(not(feature = "argon2-rust"))]
mod rustcrypto;

use argon2::{Algorithm, Params, Version};

#[cfg(feature = "argon2-rust")]
use self::argon2_rust::Memory;
#[cfg(not(feature = "argon2-rust"))]
use self::rustcrypto::Memory;

/// Algorithm, version and cost of a hash.
#[derive(Clone)]
pub(super) struct HashSpec {
    pub(super) algorithm: Algorithm,
    pub(super) version: Version,
    pub(super) params: Params,
}

impl HashSpec {
    /// For new passwords.
    pub(super) fn argon2id(params: Params) -> Self {
        Self { algorithm: Algorithm::Argon2id, version: Version::V0x13, params }
    }
}

/// Why a hash cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HashError {
    /// The system has no memory for it.
    OutOfMemory,
    /// Argon2 does not allow the parameters or one of the lengths.
    Rejected,
}

/// The computed hash differs from the known one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SelfTestFailed;

/// Computes hashes one by one. It reuses its memory, because allocating new pages costs a fifth of a hash.
#[derive(Default)]
pub(super) struct Backend(Memory);

impl Backend {
    /// Writes the hash of a password to `output` and leaves no copy of the password in memory.
    pub(super) fn hash(
        &mut self,
        spec: &HashSpec,
        password: &[u8],
        salt: &[u8],
        output: &mut [u8],
    ) -> Result<(), HashError> {
        self.0.hash(spec, password, salt, output)?;
        self.overwrite(spec, password.len(), salt, output.len());
        Ok(())
    }

    /// Argon2 starts with BLAKE2b of the password, whose buffers remain on the stack. The cheapest hash of as many zeros
    /// uses the same stack and overwrites them. Wiping all memory of a hash would cost a tenth of it and protect no more:
    /// its content is worth no more than the hash itself.
    fn overwrite(&mut self, spec: &HashSpec, password: usize, salt: &[u8], output: usize) {
        let Ok(params) = Params::new(Params::MIN_M_COST, 1, 1, None) else { return };
        let spec = HashSpec { params, ..*spec };
        let mut discarded = vec![0; output];
        let _ = self.0.hash(&spec, &vec![0; password], salt, &mut discarded);
    }

    /// Compares a hash with the known one, on the code path that this CPU selects.
    pub(super) fn self_test() -> Result<(), SelfTestFailed> {
        let mut memory = Memory::default();
        test(|spec, password, salt, output| memory.hash(spec, password, salt, output))
    }
}

/// From the tests of the reference implementation: 256 KiB and 2 passes, so that it takes a fraction of a millisecond.
fn test(
    hash: impl FnOnce(&HashSpec, &[u8], &[u8], &mut [u8]) -> Result<(), HashError>,
) -> Result<(), SelfTestFailed> {
    const KNOWN: [u8; 32] = [
        0x9d, 0xfe, 0xb9, 0x10, 0xe8, 0x0b, 0xad, 0x03, 0x11, 0xfe, 0xe2, 0x0f, 0x9c, 0x0e, 0x2b,
        0x12, 0xc1, 0x79, 0x87, 0xb4, 0xca, 0xc9, 0x0c, 0x2e, 0xf5, 0x4d, 0x5b, 0x30, 0x21, 0xc6,
        0x8b, 0xfe,
    ];
    let params = Params::new(256, 2, 1, None).map_err(|_| SelfTestFailed)?;
    let mut output = [0; 32];
    match hash(&HashSpec::argon2id(params), b"password", b"somesalt", &mut output) {
        Ok(()) if output == KNOWN => Ok(()),
        // Without memory the test proves nothing. Logins report that memory is short.
        Err(HashError::OutOfMemory) => Ok(()),
        _ => Err(SelfTestFailed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_equal_those_of_rustcrypto() {
        let mut backend = Backend::default();
        for algorithm in [Algorithm::Argon2id, Algorithm::Argon2i, Algorithm::Argon2d] {
            for version in [Version::V0x10, Version::V0x13] {
                for (memory, passes, lanes, salt, length) in [
                    (19_456, 2, 1, 16, 32),
                    (8, 1, 1, 8, 4),
                    (9, 3, 1, 9, 64),
                    (100, 1, 3, 48, 65),
                    (1024, 4, 4, 16, 128),
                    (4099, 1, 1, 16, 32),
                ] {
                    let params = Params::new(memory, passes, lanes, None).unwrap();
                    let spec = HashSpec { algorithm, version, params: params.clone() };
                    let salt = vec![7; salt];
                    for password in [&b""[..], b"correct horse", &[0xff; 300]] {
                        let (mut ours, mut theirs) = (vec![0; length], vec![0; length]);
                        backend.hash(&spec, password, &salt, &mut ours).unwrap();
                        argon2::Argon2::new(algorithm, version, params.clone())
                            .hash_password_into(password, &salt, &mut theirs)
                            .unwrap();
                        assert_eq!(ours, theirs, "{algorithm} {version:?} {params:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn hashes_equal_those_of_the_reference_implementation() {
        // From the tests of the reference implementation: argon2id, version 19, 64 MiB, 2 passes.
        let spec = HashSpec::argon2id(Params::new(65_536, 2, 1, None).unwrap());
        let mut output = [0; 32];
        Backend::default().hash(&spec, b"password", b"somesalt", &mut output).unwrap();
        let text: String = output.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text, "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7");
    }

    #[test]
    fn the_self_test_detects_a_wrong_hash() {
        assert_eq!(Backend::self_test(), Ok(()));
        let mut memory = Memory::default();
        let one_bit_off = test(|spec, password, salt, output| {
            memory.hash(spec, password, salt, output)?;
            output[17] ^= 1;
            Ok(())
        });
        assert_eq!(one_bit_off, Err(SelfTestFailed));
        assert_eq!(test(|_, _, _, _| Ok(())), Err(SelfTestFailed));
        assert_eq!(test(|_, _, _, _| Err(HashError::Rejected)), Err(SelfTestFailed));
    }
}
