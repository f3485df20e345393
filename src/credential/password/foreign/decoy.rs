//! What a failed login computes while imported hashes exist, so that its time does not tell who has one.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA256};

use super::{ForeignHash, Password, encode};
use crate::{
    credential::password::{Busy, backend::Backend},
    random::random_bytes,
};

/// A hash that no password matches, with the scheme and cost of an imported one.
pub(in crate::credential::password) struct Decoy {
    prefix: String,
    hash: ForeignHash,
    /// How long it takes on an idle core.
    measured: OnceLock<Duration>,
    /// How long it takes under the present load: a moving average.
    nanos: AtomicU64,
}

/// The decoy that takes longest. Until all are measured, the estimates decide.
pub(in crate::credential::password) fn slowest(decoys: &[Arc<Decoy>]) -> Option<Arc<Decoy>> {
    let are_measured = decoys.iter().all(|decoy| decoy.is_measured());
    let time = |decoy: &Decoy| match decoy.measured.get() {
        Some(measured) if are_measured => *measured,
        _ => Duration::from_micros(decoy.hash.estimated_micros()),
    };
    decoys.iter().max_by_key(|decoy| time(decoy)).cloned()
}

impl Decoy {
    /// The slowest of each scheme among these schemes and costs, each the text of a hash up to the salt.
    pub(in crate::credential::password) fn slowest_of_each_scheme(
        prefixes: &[String],
    ) -> Vec<Self> {
        let mut by_scheme: BTreeMap<&str, Self> = BTreeMap::new();
        for prefix in prefixes {
            let (Some(hash), Some(scheme)) = (example(prefix), prefix.split('$').nth(1)) else {
                continue;
            };
            let is_slower = by_scheme
                .get(scheme)
                .is_none_or(|other| hash.estimated_micros() > other.hash.estimated_micros());
            if is_slower {
                let (measured, nanos) = (OnceLock::new(), AtomicU64::new(0));
                by_scheme.insert(scheme, Self { prefix: prefix.clone(), hash, measured, nanos });
            }
        }
        by_scheme.into_values().collect()
    }

    /// The scheme and cost.
    pub(in crate::credential::password) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Whether its time is known.
    pub(in crate::credential::password) fn is_measured(&self) -> bool {
        self.measured.get().is_some()
    }

    /// Roughly how many microseconds it takes.
    pub(super) fn estimated_micros(&self) -> u64 {
        self.hash.estimated_micros()
    }

    /// Measures how long it takes.
    pub(in crate::credential::password) fn measure(
        &self,
        backend: &mut Backend,
    ) -> Result<(), Busy> {
        let password = Password::unchecked(String::from("measured"));
        let mut shortest = Duration::MAX;
        // The shortest of several was disturbed least.
        for _ in 0..3 {
            shortest = shortest.min(self.run(&password, backend)?);
        }
        self.measured.get_or_init(|| shortest);
        Ok(())
    }

    /// Does the work of verifying it, and records and returns how long that took.
    pub(in crate::credential::password) fn run(
        &self,
        password: &Password,
        backend: &mut Backend,
    ) -> Result<Duration, Busy> {
        let started = Instant::now();
        self.hash.matches(password, backend)?;
        let took = started.elapsed();
        let (nanos, average) = (took.as_nanos() as u64, self.nanos.load(Ordering::Relaxed));
        let average = if average == 0 { nanos } else { average / 8 * 7 + nanos / 8 };
        self.nanos.store(average, Ordering::Relaxed);
        Ok(took)
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

/// A hash with this scheme and cost that no password matches.
pub(super) fn example(prefix: &str) -> Option<ForeignHash> {
    ForeignHash::parse(&format!("{prefix}{}", random_value(prefix)))
}

/// Random salt and output for a prefix.
fn random_value(prefix: &str) -> String {
    let (salt, output) = (*random_bytes::<16>(), *random_bytes::<64>());
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

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes(decoys: &[Decoy]) -> Vec<&str> {
        decoys.iter().map(Decoy::prefix).collect()
    }

    #[test]
    fn the_costliest_of_each_scheme_is_a_candidate() {
        let all = [
            "$2b$10$",
            "$pbkdf2-sha256$i=100,l=32$",
            "$pbkdf2-sha256$i=900,l=32$",
            "$2b$12$",
            "$pbkdf2-sha512$i=50,l=64$",
            "$unknown$1$",
        ];
        let decoys = Decoy::slowest_of_each_scheme(&all.map(str::to_owned));
        assert_eq!(
            prefixes(&decoys),
            ["$2b$12$", "$pbkdf2-sha256$i=900,l=32$", "$pbkdf2-sha512$i=50,l=64$"]
        );
        assert!(slowest(&[]).is_none());
    }

    #[test]
    fn the_slowest_is_measured_and_not_only_estimated() {
        let all = ["$2b$10$", "$pbkdf2-sha512$i=50,l=64$"].map(str::to_owned);
        let decoys: Vec<_> =
            Decoy::slowest_of_each_scheme(&all).into_iter().map(Arc::new).collect();
        let slowest = || slowest(&decoys).unwrap().prefix().to_owned();
        assert_eq!(slowest(), "$2b$10$");
        decoys[0].measured.get_or_init(|| Duration::from_millis(1));
        assert_eq!(slowest(), "$2b$10$", "one measurement alone cannot be compared");
        decoys[1].measured.get_or_init(|| Duration::from_millis(2));
        assert_eq!(slowest(), "$pbkdf2-sha512$i=50,l=64$");
    }
}
