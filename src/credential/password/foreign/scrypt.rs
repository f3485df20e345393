//! scrypt.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use scrypt::{Params, scrypt};
use zeroize::Zeroizing;

use super::{HashFault, decode, encode, number, within};

pub(in crate::credential::password) struct Scrypt {
    pub(super) log_n: u8,
    pub(super) r: u32,
    pub(super) p: u32,
    pub(super) salt: Vec<u8>,
    output: Vec<u8>,
}

impl Scrypt {
    /// More memory makes a hash unreadable, however it got into the database: the library would end the process.
    const MOST_MEMORY_KIB: u64 = 1 << 20;
    /// The most work: N = 2^17, r = 8 and p = 2.
    const MAX_WORK: u64 = 1 << 21;

    /// Reads what follows the scheme: `ln=14,r=8,p=1$salt$hash`.
    pub(super) fn parse(rest: &str) -> Option<Self> {
        let (parameters, value) = rest.split_once('$')?;
        let (salt, output) = value.split_once('$')?;
        let (log_n, r, p) =
            (number(parameters, "ln")?, number(parameters, "r")?, number(parameters, "p")?);
        Self::new(log_n, r, p, decode(salt)?, decode(output)?)
    }

    pub(super) fn new(log_n: u8, r: u32, p: u32, salt: Vec<u8>, output: Vec<u8>) -> Option<Self> {
        // With these bounds, no product below overflows.
        let is_valid =
            (1..=40).contains(&log_n) && (1..1 << 10).contains(&r) && (1..1 << 10).contains(&p);
        if !is_valid || output.len() < 16 || Params::new(log_n, r, p).is_err() {
            return None;
        }
        let hash = Self { log_n, r, p, salt, output };
        (hash.memory_kib() <= Self::MOST_MEMORY_KIB).then_some(hash)
    }

    pub(super) fn matches(&self, password: &[u8]) -> bool {
        let computed = self.derive(password, self.output.len());
        computed.is_some_and(|computed| verify_slices_are_equal(&computed, &self.output).is_ok())
    }

    pub(super) fn derive(&self, password: &[u8], length: usize) -> Option<Zeroizing<Vec<u8>>> {
        let params = Params::new(self.log_n, self.r, self.p).ok()?;
        let mut output = Zeroizing::new(vec![0; length]);
        scrypt(password, &self.salt, &params, &mut output).ok()?;
        Some(output)
    }

    pub(super) fn memory_kib(&self) -> u64 {
        ((1 << self.log_n) + u64::from(self.p)) * u64::from(self.r) / 8
    }

    /// The number of blocks that it mixes.
    pub(super) fn work(&self) -> u64 {
        (1 << self.log_n) * u64::from(self.r) * u64::from(self.p)
    }

    pub(super) fn check_work(&self) -> Result<(), HashFault> {
        within("N times r times p", self.work(), Self::MAX_WORK)
    }

    pub(super) fn to_phc(&self) -> String {
        let Self { log_n, r, p, salt, output } = self;
        format!("$scrypt$ln={log_n},r={r},p={p}${}${}", encode(salt), encode(output))
    }
}
