//! Hashes and verifies passwords on the threads of the pool.

use std::{num::NonZeroUsize, sync::Arc, time::Instant};

use arc_swap::ArcSwapOption;
use argon2::Params;
use tokio::sync::oneshot;

use super::{
    Cost, Password, PasswordHash,
    backend::{Backend, SelfTestFailed},
    foreign::{Decoy, ForeignHash},
    hash::{self, ParsedHash, dummy},
    pool::{Load, Pool},
};
use crate::{count::Histogram, network::Network};

/// The queue is full, the wait was too long, or the system has no memory for a hash. The caller may try again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many passwords are being hashed, or memory is short")]
pub struct Busy;

/// Why passwords cannot be hashed at all.
#[derive(Debug, thiserror::Error)]
pub enum HasherError {
    /// Argon2 does not allow the cost.
    #[error("password.memory_kib and password.passes: {0}")]
    Cost(#[from] argon2::Error),
    /// The self-test failed. A hash could match no password, or the wrong one.
    #[error(
        "Argon2 computes a wrong hash on this machine, so no user could log in: check the memory and the CPU, or \
         build without the feature argon2-rust, which uses other code"
    )]
    WrongHash,
}

/// The result of comparing a password with a stored hash.
#[derive(Debug, PartialEq)]
pub enum Verification {
    /// The password does not match, or there is no hash.
    Mismatch,
    /// The password matches.
    Match {
        /// A new hash of the password, if the stored one has another cost or is of another system.
        rehashed: Option<PasswordHash>,
    },
}

/// Makes and verifies hashes on separate threads, so that logins do not slow down other requests.
pub struct Hasher {
    pool: Pool,
    params: Params,
    dummy: PasswordHash,
    times: Arc<Histogram>,
    /// Set while there are imported hashes.
    decoy: ArcSwapOption<Decoy>,
}

impl Hasher {
    /// The maximum number of passwords that wait for a thread.
    pub(crate) const QUEUE_CAPACITY: usize = 256;

    /// A hasher with this many threads.
    ///
    /// # Errors
    /// If Argon2 does not allow the cost, or the self-test fails.
    pub fn new(cost: Cost, threads: NonZeroUsize) -> Result<Self, HasherError> {
        let params = cost.params()?;
        Backend::self_test().map_err(|SelfTestFailed| HasherError::WrongHash)?;
        let (pool, dummy) = (Pool::new(threads, Self::QUEUE_CAPACITY), dummy(&params));
        let (times, decoy) = (Arc::default(), ArcSwapOption::empty());
        Ok(Self { pool, dummy, params, times, decoy })
    }

    /// Hashes a new password.
    ///
    /// # Errors
    /// [`Busy`] if too many passwords are waiting.
    pub async fn hash(&self, password: Password, network: Network) -> Result<PasswordHash, Busy> {
        let params = self.params.clone();
        self.run(network, move |backend| hash::hash(&password, &params, backend)).await
    }

    /// Compares a password with a stored hash. Without one it does the same work and does not match, so that the response
    /// time does not reveal whether there is one. While there are imported hashes, every mismatch costs one of our hashes and
    /// the slowest of theirs.
    ///
    /// # Errors
    /// [`Busy`] if too many passwords are waiting.
    pub async fn verify(
        &self,
        password: Password,
        stored: Option<&PasswordHash>,
        network: Network,
    ) -> Result<Verification, Busy> {
        let params = self.params.clone();
        let stored = stored.unwrap_or(&self.dummy).clone();
        let (dummy, decoy) = (self.dummy.clone(), self.decoy.load_full());
        self.run(network, move |backend| {
            let parsed = match ForeignHash::parse(stored.as_phc()) {
                Some(ForeignHash::Argon2(hash)) if decoy.is_none() || hash.has_cost(&params) => {
                    Some(hash)
                }
                Some(foreign) => {
                    let (decoy, prefix) = (decoy.as_deref(), stored.foreign_prefix());
                    return verify_foreign(
                        &foreign, prefix, &password, &params, &dummy, decoy, backend,
                    );
                }
                None => None,
            };
            // A hash that cannot be parsed costs the same as any other and matches no password.
            let parsed = parsed.or_else(|| {
                tracing::error!("cannot parse a stored password hash");
                ParsedHash::parse(&dummy)
            });
            let Some(stored) = parsed else { return Ok(Verification::Mismatch) };
            if !stored.matches(&password, backend)? {
                decoy.map_or(Ok(()), |decoy| decoy.run(&password, backend))?;
                return Ok(Verification::Mismatch);
            }
            let outdated = !stored.has_cost(&params);
            let rehashed = outdated.then(|| hash::hash(&password, &params, backend)).transpose()?;
            Ok(Verification::Match { rehashed })
        })
        .await
    }

    /// How long passwords took to hash or to verify, without the time in the queue.
    pub fn times(&self) -> &Histogram {
        &self.times
    }

    /// What waits, runs and was refused.
    pub fn load(&self) -> Load {
        self.pool.load()
    }

    /// Says which schemes and costs the imported hashes have, each as the text of a hash up to the salt.
    pub fn set_foreign_hashes(&self, prefixes: &[String]) {
        let own = self.dummy.foreign_prefix();
        let foreign: Vec<_> =
            prefixes.iter().filter(|prefix| Some(prefix.as_str()) != own).cloned().collect();
        let decoy = Decoy::of_slowest(&foreign).map(Arc::new);
        let current = self.decoy.load();
        let prefix = |decoy: Option<&Arc<Decoy>>| decoy.map(|decoy| decoy.prefix().to_owned());
        if prefix(decoy.as_ref()) != prefix(current.as_ref()) {
            self.decoy.store(decoy);
        }
    }

    /// Whether there are imported hashes.
    pub fn has_decoy(&self) -> bool {
        self.decoy.load().is_some()
    }

    /// Measures how long the slowest imported hash takes, unless that is known.
    ///
    /// # Errors
    /// [`Busy`] if too many passwords are waiting.
    pub async fn measure_decoy(&self) -> Result<(), Busy> {
        let decoy = self.decoy.load_full().filter(|decoy| !decoy.is_measured());
        let Some(decoy) = decoy else { return Ok(()) };
        let password = Password::unchecked(String::from("measured"));
        self.run(Network::LOOPBACK, move |backend| decoy.run(&password, backend)).await
    }

    async fn run<T: Send + 'static>(
        &self,
        network: Network,
        work: impl FnOnce(&mut Backend) -> Result<T, Busy> + Send + 'static,
    ) -> Result<T, Busy> {
        let (reply, answer) = oneshot::channel();
        let times = Arc::clone(&self.times);
        self.pool.submit(
            network,
            Box::new(move |backend| {
                // A caller that has disconnected does not need the hash.
                if !reply.is_closed() {
                    let began = Instant::now();
                    let outcome = work(backend);
                    times.add(began.elapsed());
                    let _ = reply.send(outcome);
                }
            }),
        );
        // The pool drops a job that it does not run, which closes the channel.
        answer.await.unwrap_or(Err(Busy))
    }
}

/// Compares a password with the hash of another system, and makes one of ours if it matches.
fn verify_foreign(
    foreign: &ForeignHash,
    prefix: Option<&str>,
    password: &Password,
    params: &Params,
    dummy: &PasswordHash,
    decoy: Option<&Decoy>,
    backend: &mut Backend,
) -> Result<Verification, Busy> {
    let started = Instant::now();
    if foreign.matches(password, backend)? {
        let rehashed = Some(hash::hash(password, params, backend)?);
        return Ok(Verification::Match { rehashed });
    }
    let took = started.elapsed();
    if let Some(dummy) = ParsedHash::parse(dummy) {
        dummy.matches(password, backend)?;
    }
    if let Some(decoy) = decoy {
        decoy.fill(prefix, took);
    }
    Ok(Verification::Mismatch)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    const CHEAP: Cost = Cost { memory_kib: 64, passes: 1 };
    const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    fn hasher(cost: Cost) -> Hasher {
        Hasher::new(cost, NonZeroUsize::MIN).unwrap()
    }

    async fn verify(
        hasher: &Hasher,
        password: &str,
        stored: Option<&PasswordHash>,
    ) -> Verification {
        hasher
            .verify(Password::unchecked(password.into()), stored, Network::at(ADDRESS))
            .await
            .unwrap()
    }

    async fn hash(hasher: &Hasher, password: &str) -> PasswordHash {
        hasher.hash(Password::unchecked(password.into()), Network::at(ADDRESS)).await.unwrap()
    }

    #[tokio::test]
    async fn a_hash_that_panics_is_an_error_and_the_next_one_succeeds() {
        let hasher = hasher(CHEAP);
        let panicked = hasher.run(Network::at(ADDRESS), |_| -> Result<(), Busy> {
            panic!("a job that panics on purpose")
        });
        assert_eq!(panicked.await, Err(Busy));
        hash(&hasher, "long enough").await;
    }

    #[tokio::test]
    async fn only_the_exact_password_matches() {
        let hasher = hasher(CHEAP);
        let long = "x".repeat(200);
        let stored = hash(&hasher, &long).await;
        assert_eq!(
            verify(&hasher, &long, Some(&stored)).await,
            Verification::Match { rehashed: None }
        );
        for other in ["", " ", &"x".repeat(199), &format!("{long} "), &long.to_uppercase()] {
            assert_eq!(verify(&hasher, other, Some(&stored)).await, Verification::Mismatch);
        }
    }

    #[tokio::test]
    async fn hashes_are_salted_phc_strings_of_argon2id() {
        let hasher = hasher(Cost::default());
        let (one, other) = (hash(&hasher, "same same").await, hash(&hasher, "same same").await);
        assert_ne!(one, other);
        assert!(one.as_phc().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", one.as_phc());
    }

    #[tokio::test]
    async fn nothing_matches_without_a_hash_or_with_a_damaged_one() {
        let hasher = hasher(CHEAP);
        let damaged = [
            "",
            "plain",
            "$argon2id$",
            "$argon2id$v=19$m=4294967295,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2g",
            "$2b$10$abcdefghijklmnopqrstuv",
        ];
        assert_eq!(verify(&hasher, "anything", None).await, Verification::Mismatch);
        for stored in damaged {
            let stored = PasswordHash::from_store(stored.into());
            assert_eq!(verify(&hasher, "anything", Some(&stored)).await, Verification::Mismatch);
        }
    }

    #[tokio::test]
    async fn a_hash_of_another_system_is_replaced_when_its_password_matches() {
        let hasher = hasher(CHEAP);
        let bcrypt = "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe";
        let stored = PasswordHash::from_store(bcrypt.into());
        for prefixes in [vec![], vec!["$2a$06$".to_owned()], vec!["$2a$07$".to_owned()]] {
            hasher.set_foreign_hashes(&prefixes);
            hasher.measure_decoy().await.unwrap();
            assert_eq!(hasher.has_decoy(), !prefixes.is_empty());
            assert_eq!(verify(&hasher, "b", Some(&stored)).await, Verification::Mismatch);
            assert_eq!(verify(&hasher, "a", None).await, Verification::Mismatch);
            let Verification::Match { rehashed: Some(renewed) } =
                verify(&hasher, "a", Some(&stored)).await
            else {
                panic!("the password matches");
            };
            assert!(renewed.as_phc().starts_with("$argon2id$v=19$m=64,t=1,p=1$"));
            assert_eq!(
                verify(&hasher, "a", Some(&renewed)).await,
                Verification::Match { rehashed: None }
            );
        }
    }

    #[tokio::test]
    async fn argon2i_of_our_cost_is_replaced() {
        let hasher = hasher(CHEAP);
        let spec = crate::credential::password::backend::HashSpec {
            algorithm: argon2::Algorithm::Argon2i,
            ..crate::credential::password::backend::HashSpec::argon2id(CHEAP.params().unwrap())
        };
        let mut output = [0; 32];
        Backend::default().hash(&spec, b"long enough", b"saltsalt", &mut output).unwrap();
        use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};
        let stored = format!(
            "$argon2i$v=19$m=64,t=1,p=1$c2FsdHNhbHQ${}",
            BASE64_STANDARD_NO_PAD.encode(output)
        );
        let stored = PasswordHash::from_store(stored);
        let verified = verify(&hasher, "long enough", Some(&stored)).await;
        assert!(matches!(verified, Verification::Match { rehashed: Some(_) }));
    }

    #[tokio::test]
    async fn a_hash_of_another_cost_is_renewed_when_its_password_matches() {
        let stored = hash(&hasher(CHEAP), "long enough").await;
        let stronger = hasher(Cost { memory_kib: 128, passes: 2 });
        let Verification::Match { rehashed: Some(renewed) } =
            verify(&stronger, "long enough", Some(&stored)).await
        else {
            panic!("the password matches and its hash is outdated");
        };
        assert!(renewed.as_phc().contains("m=128,t=2"));
        assert_eq!(
            verify(&stronger, "long enough", Some(&renewed)).await,
            Verification::Match { rehashed: None }
        );
        assert_eq!(verify(&stronger, "wrong one", Some(&stored)).await, Verification::Mismatch);
    }
}
