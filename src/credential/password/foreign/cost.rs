//! What imported hashes cost on this machine, for the operator.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{Decoy, ForeignHash, Password, decoy, nth_dollar};
use crate::credential::password::backend::Backend;

/// What one scheme and cost of imported hashes is called and takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashCost {
    /// Its name, without secrets of the scheme.
    pub name: String,
    /// How long one hash takes; `None` if that cannot be measured.
    pub time: Option<Duration>,
}

impl HashCost {
    /// Measures the slowest of each scheme once, one after the other, and derives the times of the others. The keys are the texts of
    /// hashes up to the salt.
    pub fn measure(prefixes: BTreeSet<String>) -> BTreeMap<String, Self> {
        let prefixes: Vec<_> = prefixes.into_iter().collect();
        let (mut backend, password) =
            (Backend::default(), Password::unchecked(String::from("measured")));
        let slowest: Vec<_> = Decoy::slowest_of_each_scheme(&prefixes)
            .into_iter()
            .filter_map(|decoy| Some((decoy.run(&password, &mut backend).ok()?, decoy)))
            .collect();
        let cost = |prefix: &String| {
            let hash = decoy::example(prefix);
            let same = slowest.iter().find(|(_, decoy)| scheme(decoy.prefix()) == scheme(prefix));
            let time = hash.as_ref().zip(same).map(|(hash, (time, decoy))| {
                let share = hash.estimated_micros() as f64 / decoy.estimated_micros().max(1) as f64;
                time.mul_f64(share)
            });
            let name = hash.map_or("unknown".to_owned(), |hash| hash.name(prefix));
            Self { name, time }
        };
        prefixes.iter().map(|prefix| (prefix.clone(), cost(prefix))).collect()
    }
}

fn scheme(prefix: &str) -> Option<&str> {
    prefix.split('$').nth(1)
}

impl ForeignHash {
    /// Scheme and cost in words.
    fn name(&self, prefix: &str) -> String {
        let scheme = scheme(prefix).unwrap_or_default();
        match self {
            Self::Argon2(_) => {
                let cost = nth_dollar(prefix, 3).map_or("", |start| &prefix[start..]);
                format!("{scheme}, {}", cost.trim_end_matches('$'))
            }
            Self::Bcrypt(hash) => {
                let scheme = if scheme.starts_with('2') { "bcrypt" } else { scheme };
                format!("{scheme}, cost {}", hash.cost)
            }
            // The prefix contains the signer key of the project.
            Self::Fbscrypt(hash) => {
                format!("Firebase scrypt, N={}, r={}", 1_u64 << hash.scrypt.log_n, hash.scrypt.r)
            }
            Self::Pbkdf2(hash) => format!("{scheme}, {} iterations", hash.iterations()),
            Self::Scrypt(hash) => {
                format!("scrypt, N={}, r={}, p={}", 1_u64 << hash.log_n, hash.r, hash.p)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_has_a_name_without_secrets_and_a_time() {
        let named = [
            ("$2b$05$", "bcrypt, cost 5"),
            ("$argon2i$v=19$m=64,t=1,p=1$", "argon2i, m=64,t=1,p=1"),
            ("$django-bcrypt-sha256$r=4$", "django-bcrypt-sha256, cost 4"),
            (
                "$fbscrypt$v=1,n=4,r=8,p=1,ss=Bw,sk=c2VjcmV0c2VjcmV0c2VjcmV0$",
                "Firebase scrypt, N=16, r=8",
            ),
            ("$pbkdf2-sha256$i=1000,l=32$", "pbkdf2-sha256, 1000 iterations"),
            ("$scrypt$ln=4,r=8,p=1$", "scrypt, N=16, r=8, p=1"),
            ("$unknown$x$", "unknown"),
        ];
        let costs = HashCost::measure(named.map(|(prefix, _)| prefix.to_owned()).into());
        for (prefix, name) in named {
            assert_eq!(costs[prefix].name, name);
            assert_eq!(costs[prefix].time.is_some(), name != "unknown", "{name}");
        }
    }

    #[test]
    fn the_times_of_one_scheme_are_in_proportion() {
        let costs = HashCost::measure(["$2b$04$", "$2b$06$"].map(str::to_owned).into());
        let time = |prefix: &str| costs[prefix].time.unwrap().as_secs_f64();
        let ratio = time("$2b$06$") / time("$2b$04$");
        assert!((ratio - 4.0).abs() < 0.01, "{ratio}");
    }
}
