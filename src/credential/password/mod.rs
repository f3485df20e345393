//! Passwords, their hashes, and the hasher that makes and checks them; nobody else names Argon2.

mod common;
mod kernel;
mod lane;
mod queue;

use std::{fmt, num::NonZeroUsize};

use argon2::{
    Algorithm, Params, Version,
    password_hash::phc::{Output, ParamsString, PasswordHash as Phc, Salt},
};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use tokio::sync::oneshot;
use zeroize::Zeroizing;

use self::{
    kernel::{Kernel, NoHash, Recipe, WrongAnswer},
    lane::Lane,
};
use crate::{fault::Fault, network::Network};

/// A password as somebody typed it: exact, never trimmed, wiped from memory when it is done with.
pub struct Password(Zeroizing<String>);

impl Password {
    /// Judges what somebody sent as their new password. Any composition is allowed.
    pub fn parse(sent: String, rules: PasswordRules) -> Result<Self, Fault> {
        let password = Self::unchecked(sent);
        let characters = password.0.chars().count();
        if characters < rules.min_length {
            Err(Fault::too_short(rules.min_length))
        } else if characters > rules.max_length {
            Err(Fault::too_long(rules.max_length))
        } else if rules.refuse_common && common::is_common(&password.0) {
            Err(Fault::new("Too common: choose another password"))
        } else {
            Ok(password)
        }
    }

    /// A password that is only compared: no rule applies to it.
    pub fn unchecked(sent: String) -> Self {
        Self(Zeroizing::new(sent))
    }

    /// Refuses a new password that equals the user's name, e-mail address or the address's local part, if `rules` refuse
    /// common passwords.
    pub fn reject_identity(
        self,
        name: &str,
        email: &str,
        rules: PasswordRules,
    ) -> Result<Self, Fault> {
        let local_part = email.rsplit_once('@').map_or(email, |(local, _)| local);
        let lower = Zeroizing::new(self.0.to_lowercase());
        let known = [name, email, local_part];
        if rules.refuse_common && known.iter().any(|known| known.to_lowercase() == *lower) {
            return Err(Fault::new("Must not be your name or e-mail address"));
        }
        Ok(self)
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// What is asked of a new password. Lengths are in characters (Unicode scalar values).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordRules {
    /// The fewest characters.
    pub min_length: usize,
    /// The most characters.
    pub max_length: usize,
    /// Whether common passwords, and the user's own name and address, are refused.
    pub refuse_common: bool,
}

/// A hash in PHC form, as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// A hash as the store kept it.
    pub fn from_store(stored: String) -> Self {
        Self(stored)
    }

    /// The PHC string, for the store alone.
    pub fn as_phc(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// What one hash costs whoever computes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Memory in KiB.
    pub memory_kib: u32,
    /// Passes over that memory.
    pub passes: u32,
}

impl Default for Cost {
    /// OWASP's choice for Argon2id.
    fn default() -> Self {
        Self { memory_kib: 19_456, passes: 2 }
    }
}

impl Cost {
    const HASH_BYTES: usize = 32;

    fn params(self) -> Result<Params, argon2::Error> {
        Params::new(self.memory_kib, self.passes, 1, Some(Self::HASH_BYTES))
    }
}

/// Every hashing thread is taken and its queue is full, the wait was too long, or the system has no memory for a
/// hash: try again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many passwords are being hashed, or memory is short")]
pub struct Busy;

/// Why passwords cannot be hashed at all.
#[derive(Debug, thiserror::Error)]
pub enum HasherError {
    /// The settings ask for what Argon2 does not allow.
    #[error("password.memory_kib and password.passes: {0}")]
    Cost(#[from] argon2::Error),
    /// The self-test failed: a password could be set and never match again, or match another one.
    #[error(
        "Argon2 computes a wrong hash on this machine: nobody could log in. Check the memory and the CPU, or build \
         with --no-default-features, which computes it by other code"
    )]
    WrongAnswer,
}

/// What a tried password turned out to be.
#[derive(Debug, PartialEq)]
pub enum Verification {
    /// Not the user's, or there is no such user.
    Mismatch,
    /// The user's own.
    Match {
        /// The same password hashed anew, when the stored hash was made at another cost.
        rehashed: Option<PasswordHash>,
    },
}

/// Makes and checks hashes on threads of their own, so that no amount of logins slows anything else down.
pub struct Hasher {
    lane: Lane,
    params: Params,
    decoy: PasswordHash,
}

impl Hasher {
    /// Passwords waiting for a thread at most, over all clients.
    const QUEUE: usize = 256;
    /// More memory than this in a stored hash is damage, not a setting.
    const MAX_MEMORY_KIB: u32 = 1 << 20;

    /// A hasher with this many threads.
    ///
    /// # Errors
    /// If Argon2 does not allow the cost, or computes a wrong hash here.
    pub fn new(cost: Cost, threads: NonZeroUsize) -> Result<Self, HasherError> {
        let params = cost.params()?;
        Kernel::self_test().map_err(|WrongAnswer| HasherError::WrongAnswer)?;
        Ok(Self { lane: Lane::new(threads, Self::QUEUE), decoy: decoy(&params), params })
    }

    /// Hashes a new password.
    ///
    /// # Errors
    /// [`Busy`] when too many are waiting.
    pub async fn hash(&self, password: Password, client: Network) -> Result<PasswordHash, Busy> {
        let params = self.params.clone();
        self.in_lane(client, move |kernel| hash(&password, &params, kernel)).await
    }

    /// Compares a tried password with a stored hash, or with a decoy that nothing matches when there is none:
    /// the same work either way.
    ///
    /// # Errors
    /// [`Busy`] when too many are waiting.
    pub async fn verify(
        &self,
        tried: Password,
        stored: Option<&PasswordHash>,
        client: Network,
    ) -> Result<Verification, Busy> {
        let params = self.params.clone();
        let stored = stored.unwrap_or(&self.decoy).clone();
        let decoy = self.decoy.clone();
        self.in_lane(client, move |kernel| {
            // A hash that cannot be read costs the same as any other and matches nothing.
            let readable = Readable::parse(&stored).or_else(|| {
                tracing::error!("a stored password hash cannot be read");
                Readable::parse(&decoy)
            });
            let Some(hash) = readable else { return Ok(Verification::Mismatch) };
            if !hash.matches(&tried, kernel)? {
                return Ok(Verification::Mismatch);
            }
            let outdated = !hash.made_with(&params);
            let rehashed = outdated.then(|| self::hash(&tried, &params, kernel)).transpose()?;
            Ok(Verification::Match { rehashed })
        })
        .await
    }

    async fn in_lane<T: Send + 'static>(
        &self,
        client: Network,
        work: impl FnOnce(&mut Kernel) -> Result<T, Busy> + Send + 'static,
    ) -> Result<T, Busy> {
        let (reply, answer) = oneshot::channel();
        self.lane.enter(
            client,
            Box::new(move |kernel| {
                // Whoever hung up no longer needs the work.
                if !reply.is_closed() {
                    let _ = reply.send(work(kernel));
                }
            }),
        );
        // A job that the lane turns away is dropped, and its reply with it.
        answer.await.unwrap_or(Err(Busy))
    }
}

/// A stored hash taken apart.
struct Readable {
    recipe: Recipe,
    salt: Salt,
    output: Output,
}

impl Readable {
    fn parse(stored: &PasswordHash) -> Option<Self> {
        let phc = Phc::new(&stored.0).ok()?;
        let algorithm = Algorithm::try_from(phc.algorithm.as_str()).ok()?;
        let version = Version::try_from(phc.version?).ok()?;
        let params = Params::try_from(&phc).ok()?;
        if params.m_cost() > Hasher::MAX_MEMORY_KIB {
            return None;
        }
        let recipe = Recipe { algorithm, version, params };
        Some(Self { recipe, salt: phc.salt?, output: phc.hash? })
    }

    fn matches(&self, tried: &Password, kernel: &mut Kernel) -> Result<bool, Busy> {
        let mut computed = vec![0; self.output.len()];
        match kernel.hash(&self.recipe, tried.0.as_bytes(), &self.salt, &mut computed) {
            Ok(()) => Ok(verify_slices_are_equal(&computed, self.output.as_bytes()).is_ok()),
            Err(NoHash::NotAllowed) => Ok(false),
            Err(NoHash::NoMemory) => Err(Busy),
        }
    }

    fn made_with(&self, params: &Params) -> bool {
        let own = &self.recipe.params;
        (own.m_cost(), own.t_cost(), own.p_cost())
            == (params.m_cost(), params.t_cost(), params.p_cost())
    }
}

fn hash(password: &Password, params: &Params, kernel: &mut Kernel) -> Result<PasswordHash, Busy> {
    let salt = Salt::generate();
    let mut output = [0; Cost::HASH_BYTES];
    let recipe = Recipe::argon2id(params.clone());
    // The cost was checked when the hasher was made, and no password is 4 GiB long: what lacks is memory.
    kernel.hash(&recipe, password.0.as_bytes(), &salt, &mut output).map_err(|_| Busy)?;
    Ok(phc(params, salt, &output))
}

/// A hash of no password at all: checking against it costs what any check costs, and nothing matches it.
fn decoy(params: &Params) -> PasswordHash {
    let mut output = [0; Cost::HASH_BYTES];
    aws_lc_rs::rand::fill(&mut output).expect("the system has randomness");
    phc(params, Salt::generate(), &output)
}

fn phc(params: &Params, salt: Salt, output: &[u8; Cost::HASH_BYTES]) -> PasswordHash {
    let phc = Phc {
        algorithm: Algorithm::Argon2id.ident(),
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(params).expect("numbers always fit a PHC string"),
        salt: Some(salt),
        hash: Some(Output::new(output).expect("32 bytes are a valid output")),
    };
    PasswordHash(phc.to_string())
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    const RULES: PasswordRules =
        PasswordRules { min_length: 8, max_length: 128, refuse_common: false };
    const STRICT: PasswordRules = PasswordRules { refuse_common: true, ..RULES };
    const CHEAP: Cost = Cost { memory_kib: 64, passes: 1 };
    const ANYBODY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    fn hasher(cost: Cost) -> Hasher {
        Hasher::new(cost, NonZeroUsize::MIN).unwrap()
    }

    async fn verify(hasher: &Hasher, tried: &str, stored: Option<&PasswordHash>) -> Verification {
        hasher
            .verify(Password::unchecked(tried.into()), stored, Network::at(ANYBODY))
            .await
            .unwrap()
    }

    async fn hash(hasher: &Hasher, password: &str) -> PasswordHash {
        hasher.hash(Password::unchecked(password.into()), Network::at(ANYBODY)).await.unwrap()
    }

    #[test]
    fn a_password_has_8_to_128_characters_of_any_kind() {
        let judge = |sent: String| {
            Password::parse(sent, RULES).map(|_| ()).map_err(|fault| fault.message().to_owned())
        };
        assert_eq!(
            judge("       ".into()),
            Err("String must contain at least 8 character(s)".into())
        );
        assert_eq!(judge("        ".into()), Ok(()));
        assert_eq!(judge("😀".repeat(128)), Ok(()));
        assert_eq!(
            judge("a".repeat(129)),
            Err("String must contain at most 128 character(s)".into())
        );
    }

    #[test]
    fn a_common_password_is_refused_where_that_is_asked_for() {
        let judge = |sent: &str, rules| {
            Password::parse(sent.into(), rules)
                .map(|_| ())
                .map_err(|fault| fault.message().to_owned())
        };
        assert_eq!(judge("Password1", RULES), Ok(()));
        assert_eq!(judge("Password1", STRICT), Err("Too common: choose another password".into()));
        assert_eq!(judge("correct horse", STRICT), Ok(()));
    }

    #[test]
    fn the_own_name_and_address_are_refused_where_common_passwords_are() {
        let (name, email) = ("Ada Lovelace", "Countess.Ada@example.com");
        let judge = |sent: &str, rules| {
            let judged = Password::unchecked(sent.into()).reject_identity(name, email, rules);
            judged.map(|_| ()).map_err(|fault| fault.message().to_owned())
        };
        for own in ["ada lovelace", "Ada Lovelace", "countess.ada@EXAMPLE.com", "COUNTESS.ADA"] {
            let refused = Err("Must not be your name or e-mail address".into());
            assert_eq!(judge(own, STRICT), refused, "{own}");
            assert_eq!(judge(own, RULES), Ok(()));
        }
        assert_eq!(judge("ada lovelace 1815", STRICT), Ok(()));
    }

    #[tokio::test]
    async fn whoever_waits_for_a_hash_that_panics_is_told_and_the_next_is_served() {
        let hasher = hasher(CHEAP);
        let panicked = hasher.in_lane(Network::at(ANYBODY), |_| -> Result<(), Busy> {
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
    async fn nothing_matches_the_decoy_or_an_unreadable_hash() {
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
    async fn a_hash_of_another_cost_is_made_anew_when_its_password_is_known() {
        let stored = hash(&hasher(CHEAP), "long enough").await;
        let stronger = hasher(Cost { memory_kib: 128, passes: 2 });
        let Verification::Match { rehashed: Some(anew) } =
            verify(&stronger, "long enough", Some(&stored)).await
        else {
            panic!("the password matches and its hash is outdated");
        };
        assert!(anew.as_phc().contains("m=128,t=2"));
        assert_eq!(
            verify(&stronger, "long enough", Some(&anew)).await,
            Verification::Match { rehashed: None }
        );
        assert_eq!(verify(&stronger, "wrong one", Some(&stored)).await, Verification::Mismatch);
    }
}
