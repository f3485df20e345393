//! Hashes and verifies passwords on the threads of the pool.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Instant,
};

use arc_swap::ArcSwapOption;
use argon2::Params;
use tokio::sync::oneshot;

use super::{
    Cost, Password, PasswordHash,
    backend::{Backend, SelfTestFailed},
    foreign::{Decoy, ForeignHash, slowest},
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
    Match {
        /// A new hash of the password, if the stored one has another cost or is of another system.
        rehashed: Option<PasswordHash>,
    },
    /// The password is not that of a hash of ours, and too many wait for an imported hash or its decoy. It counts as a wrong
    /// one: otherwise whoever fills that queue could guess without limit, because a right password for a hash of ours needs
    /// no place in it.
    Undecided,
}

/// Makes and verifies hashes on separate threads, so that logins do not slow down other requests.
pub struct Hasher {
    /// Computes our hashes.
    pool: Pool,
    /// Computes imported hashes and their decoys, one at a time and at low priority. A login with a hash of ours does not wait for
    /// it. It exists as soon as there are such hashes.
    foreign_pool: OnceLock<Pool>,
    params: Params,
    dummy: PasswordHash,
    times: Arc<Histogram>,
    foreign_times: Arc<Histogram>,
    /// Set while there are imported hashes.
    decoy: ArcSwapOption<Decoy>,
    /// The slowest of each imported scheme.
    schemes: Mutex<Vec<Arc<Decoy>>>,
}

type Work<T> = Box<dyn FnOnce(&mut Backend) -> Result<T, Busy> + Send>;

/// What is left to do after the first hash of a verification.
enum Progress {
    Done(Verification),
    Left(Work<Verification>),
}

impl Hasher {
    /// The maximum number of passwords that wait for a thread, in each of the two queues.
    pub(crate) const QUEUE_CAPACITY: usize = 256;

    /// A hasher with this many threads.
    ///
    /// # Errors
    /// If Argon2 does not allow the cost, or the self-test fails.
    pub fn new(cost: Cost, threads: NonZeroUsize) -> Result<Self, HasherError> {
        let params = cost.params()?;
        Backend::self_test().map_err(|SelfTestFailed| HasherError::WrongHash)?;
        let (pool, dummy) = (Pool::new(threads, Self::QUEUE_CAPACITY), dummy(&params));
        let (times, foreign_times) = (Arc::default(), Arc::default());
        let (foreign_pool, decoy, schemes) =
            (OnceLock::new(), ArcSwapOption::empty(), Mutex::default());
        Ok(Self { pool, foreign_pool, dummy, params, times, foreign_times, decoy, schemes })
    }

    /// Hashes a new password.
    ///
    /// # Errors
    /// [`Busy`] if too many passwords are waiting.
    pub async fn hash(&self, password: Password, network: Network) -> Result<PasswordHash, Busy> {
        let params = self.params.clone();
        run(&self.pool, &self.times, network, move |backend| {
            hash::hash(&password, &params, backend)
        })
        .await
    }

    /// Compares a password with a stored hash. Without one it does the same work and does not match, so that the response
    /// time does not reveal whether there is one. While there are imported hashes, every mismatch computes one of our hashes
    /// and then the slowest of theirs, which waits in a queue of its own.
    ///
    /// # Errors
    /// [`Busy`] if too many passwords wait for a hash of ours. Nothing is known about the password then.
    pub async fn verify(
        &self,
        password: Password,
        stored: Option<&PasswordHash>,
        network: Network,
    ) -> Result<Verification, Busy> {
        let (stored, decoy) = (stored.unwrap_or(&self.dummy), self.decoy.load_full());
        let prefix = stored.foreign_prefix().map(str::to_owned);
        let params = self.params.clone();
        // A hash that cannot be parsed costs the same as any other and matches no password.
        let stored = ForeignHash::parse(stored.as_phc()).or_else(|| {
            tracing::error!("cannot parse a stored password hash");
            ForeignHash::parse(self.dummy.as_phc())
        });
        let Some(stored) = stored else { return Ok(Verification::Mismatch) };
        let first: Work<Progress> = match stored {
            ForeignHash::Argon2(own) if decoy.is_none() || own.has_cost(&params) => {
                Box::new(move |backend| verify_own(&own, password, &params, decoy, backend))
            }
            foreign => Box::new(move |backend| {
                verify_foreign(foreign, prefix, password, &params, decoy, backend)
            }),
        };
        match run(&self.pool, &self.times, network, first).await? {
            Progress::Done(verification) => Ok(verification),
            Progress::Left(rest) => {
                let outcome = run(self.foreign_pool(), &self.foreign_times, network, rest).await;
                Ok(outcome.unwrap_or(Verification::Undecided))
            }
        }
    }

    /// How long our hashes took, without the time in the queue.
    pub fn times(&self) -> &Histogram {
        &self.times
    }

    /// How long imported hashes and their decoys took, without the time in the queue.
    pub fn foreign_times(&self) -> &Histogram {
        &self.foreign_times
    }

    /// What waits, runs and was refused of our hashes.
    pub fn load(&self) -> Load {
        self.pool.load()
    }

    /// What waits, runs and was refused of imported hashes and their decoys.
    pub fn foreign_load(&self) -> Load {
        self.foreign_pool.get().map_or(Load::default(), Pool::load)
    }

    /// Says which schemes and costs the imported hashes have, each as the text of a hash up to the salt.
    pub fn set_foreign_hashes(&self, prefixes: &[String]) {
        let own = self.dummy.foreign_prefix();
        let foreign: Vec<_> =
            prefixes.iter().filter(|prefix| Some(prefix.as_str()) != own).cloned().collect();
        let mut schemes = self.schemes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = std::mem::take(&mut *schemes);
        *schemes = Decoy::slowest_of_each_scheme(&foreign)
            .into_iter()
            .map(|new| {
                let known = known.iter().find(|known| known.prefix() == new.prefix());
                known.map_or_else(|| Arc::new(new), Arc::clone)
            })
            .collect();
        self.decoy.store(slowest(&schemes));
    }

    /// Whether hashes with this prefix are not replaced at a login, because they have the cost of ours.
    pub(crate) fn keeps(&self, prefix: &str) -> bool {
        self.dummy.foreign_prefix() == Some(prefix)
    }

    /// Whether there are imported hashes.
    pub fn has_decoy(&self) -> bool {
        self.decoy.load().is_some()
    }

    /// Measures how long the slowest hash of each imported scheme takes, unless that is known. Their order differs from
    /// machine to machine.
    ///
    /// # Errors
    /// [`Busy`] if too many passwords are waiting.
    pub async fn measure_decoys(&self) -> Result<(), Busy> {
        let schemes = || self.schemes.lock().unwrap_or_else(PoisonError::into_inner);
        let unmeasured: Vec<_> =
            schemes().iter().filter(|decoy| !decoy.is_measured()).cloned().collect();
        for decoy in unmeasured {
            let work = move |backend: &mut Backend| decoy.measure(backend);
            run(self.foreign_pool(), &self.foreign_times, Network::LOOPBACK, work).await?;
        }
        self.decoy.store(slowest(&schemes()));
        Ok(())
    }

    fn foreign_pool(&self) -> &Pool {
        self.foreign_pool.get_or_init(|| Pool::in_background(Self::QUEUE_CAPACITY))
    }
}

#[cfg(test)]
impl Hasher {
    /// Occupies the only thread for imported hashes until the sender is dropped.
    pub(crate) fn block_foreign_hashes(&self, network: Network) -> std::sync::mpsc::Sender<()> {
        let (release, released) = std::sync::mpsc::channel::<()>();
        let wait =
            move |_: &mut Backend| assert!(released.recv().is_err(), "the sender is dropped");
        self.foreign_pool().submit(network, Box::new(wait));
        release
    }

    /// Fills the queue of imported hashes, too.
    pub(crate) async fn fill_foreign_queue(&self, network: Network) -> std::sync::mpsc::Sender<()> {
        let release = self.block_foreign_hashes(network);
        while self.foreign_load().running == 0 {
            tokio::task::yield_now().await;
        }
        for _ in 0..Self::QUEUE_CAPACITY {
            self.foreign_pool().submit(network, Box::new(|_| {}));
        }
        release
    }
}

async fn run<T: Send + 'static>(
    pool: &Pool,
    times: &Arc<Histogram>,
    network: Network,
    work: impl FnOnce(&mut Backend) -> Result<T, Busy> + Send + 'static,
) -> Result<T, Busy> {
    let (reply, answer) = oneshot::channel();
    let times = Arc::clone(times);
    pool.submit(
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

fn verify_own(
    own: &ParsedHash,
    password: Password,
    params: &Params,
    decoy: Option<Arc<Decoy>>,
    backend: &mut Backend,
) -> Result<Progress, Busy> {
    if own.matches(&password, backend)? {
        let outdated = !own.has_cost(params);
        let rehashed = outdated.then(|| hash::hash(&password, params, backend)).transpose()?;
        return Ok(Progress::Done(Verification::Match { rehashed }));
    }
    let Some(decoy) = decoy else { return Ok(Progress::Done(Verification::Mismatch)) };
    Ok(Progress::Left(Box::new(move |backend| {
        decoy.run(&password, backend)?;
        Ok(Verification::Mismatch)
    })))
}

/// Makes a hash of ours first, which replaces the other one if that matches.
fn verify_foreign(
    foreign: ForeignHash,
    prefix: Option<String>,
    password: Password,
    params: &Params,
    decoy: Option<Arc<Decoy>>,
    backend: &mut Backend,
) -> Result<Progress, Busy> {
    let rehashed = hash::hash(&password, params, backend)?;
    Ok(Progress::Left(Box::new(move |backend| {
        let started = Instant::now();
        if foreign.matches(&password, backend)? {
            return Ok(Verification::Match { rehashed: Some(rehashed) });
        }
        if let Some(decoy) = decoy {
            decoy.fill(prefix.as_deref(), started.elapsed());
        }
        Ok(Verification::Mismatch)
    })))
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
        let panics =
            |_: &mut Backend| -> Result<(), Busy> { panic!("a job that panics on purpose") };
        let panicked = run(&hasher.pool, &hasher.times, Network::at(ADDRESS), panics);
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
            hasher.measure_decoys().await.unwrap();
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

    /// A bcrypt hash as other libraries make it: of the first 72 bytes.
    fn bcrypt_of(password: &[u8]) -> PasswordHash {
        use base64::{
            Engine,
            alphabet::BCRYPT,
            engine::{GeneralPurpose, GeneralPurposeConfig},
        };
        let unpadded = GeneralPurposeConfig::new().with_encode_padding(false);
        let base64 = |bytes: &[u8]| GeneralPurpose::new(&BCRYPT, unpadded).encode(bytes);
        let key = [password, b"\0"].concat();
        let output = bcrypt::bcrypt(4, [7; 16], &key[..key.len().min(72)]);
        PasswordHash::from_store(format!("$2b$04${}{}", base64(&[7; 16]), base64(&output[..23])))
    }

    #[tokio::test]
    async fn after_the_first_login_a_bcrypt_password_counts_beyond_72_bytes() {
        let hasher = hasher(CHEAP);
        let (long, other) = (["x"; 80].concat(), ["x"; 72].concat() + "another");
        let stored = bcrypt_of(long.as_bytes());
        assert_eq!(verify(&hasher, &long[..71], Some(&stored)).await, Verification::Mismatch);
        for typed in [&long, &other] {
            let Verification::Match { rehashed: Some(renewed) } =
                verify(&hasher, typed, Some(&stored)).await
            else {
                panic!("bcrypt reads 72 bytes");
            };
            for again in [&long, &other] {
                let matches =
                    verify(&hasher, again, Some(&renewed)).await != Verification::Mismatch;
                assert_eq!(matches, again == typed);
            }
        }
    }

    #[tokio::test]
    async fn a_nul_in_a_bcrypt_password_is_a_character_like_any_other() {
        let hasher = hasher(CHEAP);
        let stored = bcrypt_of(b"before\0after");
        for (typed, matches) in [("before\0after", true), ("before", false), ("before\0", false)] {
            let verified = verify(&hasher, typed, Some(&stored)).await;
            assert_eq!(verified != Verification::Mismatch, matches, "{typed:?}");
        }
    }

    #[tokio::test]
    async fn a_login_does_not_wait_for_failed_ones_that_compute_imported_hashes() {
        let hasher = hasher(CHEAP);
        let stored = hash(&hasher, "correct").await;
        for prefix in ["$2b$04$", "$pbkdf2-sha256$i=100,l=32$", "$scrypt$ln=15,r=9,p=1$"] {
            hasher.set_foreign_hashes(&[prefix.to_owned()]);
            let release = hasher.block_foreign_hashes(Network::at(ADDRESS));
            let mut failed = std::pin::pin!(verify(&hasher, "wrong", Some(&stored)));
            let at_once = std::time::Duration::ZERO;
            assert!(tokio::time::timeout(at_once, failed.as_mut()).await.is_err());
            // The only thread for hashes of ours is free.
            let succeeded = verify(&hasher, "correct", Some(&stored)).await;
            assert_eq!(succeeded, Verification::Match { rehashed: None });
            hash(&hasher, "the hash of a registration").await;
            assert!(tokio::time::timeout(at_once, failed.as_mut()).await.is_err());
            drop(release);
            assert_eq!(failed.await, Verification::Mismatch);
        }
    }

    #[tokio::test]
    async fn while_the_queue_of_imported_hashes_is_full_all_failed_logins_are_undecided() {
        let hasher = hasher(CHEAP);
        let own = hash(&hasher, "correct").await;
        let imported = bcrypt_of(b"correct");
        hasher.set_foreign_hashes(&["$2b$04$".to_owned()]);
        let release = hasher.fill_foreign_queue(Network::at(ADDRESS)).await;
        for (password, stored) in [
            ("wrong", None),
            ("wrong", Some(&own)),
            ("wrong", Some(&imported)),
            ("correct", Some(&imported)),
        ] {
            assert_eq!(verify(&hasher, password, stored).await, Verification::Undecided);
        }
        let succeeded = verify(&hasher, "correct", Some(&own)).await;
        assert_eq!(succeeded, Verification::Match { rehashed: None });
        assert_eq!(hasher.foreign_load().dropped, 4);
        assert_eq!(hasher.load().dropped, 0);
        drop(release);
    }
}
