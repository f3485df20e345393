//! What a failed login computes while imported hashes exist, so that its time does not tell who has one.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA256};

use super::{ForeignHash, Password, encode};
use crate::credential::password::{Busy, backend::Backend};

/// A hash that no password matches, with the scheme and cost of the slowest imported one.
pub(in crate::credential::password) struct Decoy {
    prefix: String,
    hash: ForeignHash,
    /// How long it takes: a moving average.
    nanos: AtomicU64,
}

impl Decoy {
    /// The decoy for the slowest of these schemes and costs, each the text of a hash up to the salt. None for an empty list.
    pub(in crate::credential::password) fn of_slowest(prefixes: &[String]) -> Option<Self> {
        let hashes = prefixes.iter().filter_map(|prefix| {
            let hash = ForeignHash::parse(&format!("{prefix}{}", random_value(prefix)))?;
            Some((prefix, hash))
        });
        let (prefix, hash) = hashes.max_by_key(|(_, hash)| hash.estimated_micros())?;
        Some(Self { prefix: prefix.clone(), hash, nanos: AtomicU64::new(0) })
    }

    /// The scheme and cost.
    pub(in crate::credential::password) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Whether its time is known.
    pub(in crate::credential::password) fn is_measured(&self) -> bool {
        self.nanos.load(Ordering::Relaxed) > 0
    }

    /// Does the work of verifying it, and records how long that took.
    pub(in crate::credential::password) fn run(
        &self,
        password: &Password,
        backend: &mut Backend,
    ) -> Result<(), Busy> {
        let started = Instant::now();
        self.hash.matches(password, backend)?;
        let took = started.elapsed().as_nanos() as u64;
        let average = self.nanos.load(Ordering::Relaxed);
        let average = if average == 0 { took } else { average / 8 * 7 + took / 8 };
        self.nanos.store(average, Ordering::Relaxed);
        Ok(())
    }

    /// After a hash with this prefix was verified in `took`: computes until the time of the slowest one has passed.
    pub(in crate::credential::password) fn fill(&self, prefix: Option<&str>, took: Duration) {
        if prefix == Some(self.prefix.as_str()) {
            return;
        }
        let missing = Duration::from_nanos(self.nanos.load(Ordering::Relaxed)).saturating_sub(took);
        let started = Instant::now();
        while started.elapsed() < missing {
            const A_TENTH_OF_A_MILLISECOND: NonZeroU32 = NonZeroU32::new(200).unwrap();
            let mut discarded = [0; 32];
            pbkdf2::derive(
                PBKDF2_HMAC_SHA256,
                A_TENTH_OF_A_MILLISECOND,
                &[0; 16],
                &[0; 16],
                &mut discarded,
            );
        }
    }
}

/// Random salt and output for a prefix.
fn random_value(prefix: &str) -> String {
    let (salt, output) = (random::<16>(), random::<64>());
    let length = |name| super::number::<usize>(prefix.split('$').nth(2)?, name);
    match prefix.split('$').nth(1) {
        Some("2a" | "2b" | "2y") => {
            // The characters of Base64 are also those of bcrypt, except for the plus sign.
            let text = encode(&salt) + &encode(&output);
            text.replace('+', ".")[..53].to_owned()
        }
        Some("bcrypt-sha256") => {
            let (salt, output) = (encode(&salt), encode(&output[..23]));
            format!("{salt}${output}").replace('+', ".")
        }
        Some("django-bcrypt-sha256") => format!("{}${}", encode(&salt), encode(&output[..23])),
        Some("fbscrypt") => {
            let key = super::nth_dollar(prefix, 2).map(|start| &prefix[start..prefix.len() - 1]);
            let key = key.and_then(|parameters| super::decode(super::parameter(parameters, "sk")?));
            let bytes = key.map_or(64, |key| key.len());
            let output: Vec<u8> = output.iter().copied().cycle().take(bytes).collect();
            format!("{}${}", encode(&salt), encode(&output))
        }
        Some(scheme) if scheme.starts_with("pbkdf2") => {
            let bytes = length("l").unwrap_or(32).min(512);
            let output: Vec<u8> = output.iter().copied().cycle().take(bytes).collect();
            format!("{}${}", encode(&salt), encode(&output))
        }
        _ => format!("{}${}", encode(&salt), encode(&output[..32])),
    }
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system provides random bytes");
    bytes
}
