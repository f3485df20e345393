//! API keys in use: whether a key counts, whose it is, and what it is for. Each use is one query, so a revocation takes effect on
//! the next request. A flood of keys that do not exist does not cost a query each.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use quick_cache::sync::Cache;

use super::{
    caller::Caller,
    factor_policy::FactorPolicy,
    guard::{CallerFacts, Condition, ConditionError, RequestFacts, Subject},
    key_fault::KeyFault,
    unknown_keys::UnknownKeys,
};
use crate::{
    clock::Timestamp,
    credential::api_key::{KeyDigest, KeyKind},
    network::ClientInfo,
    session::{
        Methods, Session,
        last_seen::{LastRecorded, LastSeenBuffer},
    },
    store::{self, Store},
    user::{ApiKey, ApiKeyId, KeyState, User, UserId},
};

/// A refused key, if it is known, and why.
#[derive(Clone, Debug)]
pub struct RefusedKey {
    pub fault: KeyFault,
    pub key: Option<Arc<ApiKey>>,
    /// What its condition was evaluated with, if that refused it.
    pub(super) condition: Option<Arc<KeyConditionInput>>,
}

impl RefusedKey {
    pub fn id(&self) -> Option<ApiKeyId> {
        self.key.as_ref().map(|key| key.id)
    }

    pub(super) fn owner(&self) -> Option<UserId> {
        self.key.as_ref().and_then(|key| key.owner)
    }
}

impl From<KeyFault> for RefusedKey {
    fn from(fault: KeyFault) -> Self {
        Self { fault, key: None, condition: None }
    }
}

/// The input of the condition of a key.
pub(super) struct KeyConditionInput {
    pub(super) condition: Arc<Condition>,
    pub(super) facts: CallerFacts,
    pub(super) request: RequestFacts<'static>,
}

impl std::fmt::Debug for KeyConditionInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyConditionInput").field("condition", &self.condition.text()).finish()
    }
}

/// Why there is no holder of a key.
#[derive(Debug)]
pub enum KeyError {
    Refused(RefusedKey),
    Store(store::Error),
}

impl<R: Into<RefusedKey>> From<R> for KeyError {
    fn from(refused: R) -> Self {
        Self::Refused(refused.into())
    }
}

/// A valid key, and the person whose it is.
#[derive(Clone, Debug)]
pub struct KeyHolder {
    pub key: Arc<ApiKey>,
    /// As currently stored; `None` for the key of a machine.
    pub owner: Option<Arc<User>>,
}

impl KeyHolder {
    /// The owner as a guard sees them: in a session that has proved nothing. A condition that asks for a sign-in refuses keys.
    pub fn caller(&self, client: ClientInfo) -> Option<Caller> {
        let owner = self.owner.as_ref()?;
        let session = Session {
            authenticated_at: Timestamp::from_seconds(0),
            methods: Methods::default(),
            ..Session::new(owner.id, client, self.key.created_at, Duration::ZERO)
        };
        Some(Caller::new(Arc::clone(owner), Arc::new(session)))
    }

    /// Refuses this key.
    pub fn refused(&self, fault: KeyFault) -> RefusedKey {
        RefusedKey { fault, key: Some(Arc::clone(&self.key)), condition: None }
    }

    /// Whether its scopes include a guard.
    pub fn is_for_guard(&self, guard: &str) -> bool {
        let scopes = &self.key.scopes;
        scopes.contains(EVERY_GUARD) || scopes.contains(&guard_scope(guard))
    }
}

/// The scope of a key that passes every guard that takes keys.
pub const EVERY_GUARD: &str = "guard:*";

/// The scope of a key that passes this guard.
pub fn guard_scope(guard: &str) -> String {
    format!("{GUARD_SCOPE}{guard}")
}

/// What the scopes for guards begin with.
pub const GUARD_SCOPE: &str = "guard:";

/// Finds the holders of keys.
pub struct ApiKeys {
    store: Arc<Store>,
    last_used: LastSeenBuffer<ApiKeyId>,
    unknown: UnknownKeys,
    /// By their text.
    conditions: Cache<Box<str>, Arc<Condition>>,
}

impl ApiKeys {
    /// The most parsed conditions. Parsing one takes a thread.
    const MAX_CONDITIONS: usize = 1000;

    pub fn new(store: Arc<Store>) -> Self {
        Self {
            store,
            last_used: LastSeenBuffer::default(),
            unknown: UnknownKeys::default(),
            conditions: Cache::new(Self::MAX_CONDITIONS),
        }
    }

    /// The holder of a key that was sent, if it counts: it has not ended, and a person whose it is could sign in. `instant` is the
    /// time of the system, also where a test sets the other one.
    ///
    /// # Errors
    /// If it does not count, or the store cannot be read.
    pub async fn holder(
        &self,
        sent: &[u8],
        policy: FactorPolicy,
        now: Timestamp,
        instant: Instant,
    ) -> Result<KeyHolder, KeyError> {
        let digest = KeyDigest::of_sent(sent).map_err(KeyFault::from)?;
        if !self.unknown.may_exist(&self.store, &digest, instant).await.map_err(KeyError::Store)? {
            return Err(KeyFault::Unknown.into());
        }
        let found = self.store.api_key_by_digest(&digest).await.map_err(KeyError::Store)?;
        let Some((key, owner)) = found else {
            self.unknown.count(instant);
            return Err(KeyFault::Unknown.into());
        };
        let holder = KeyHolder { key: Arc::new(key), owner: owner.map(Arc::new) };
        match holder.fault(policy, now) {
            Some(fault) => Err(holder.refused(fault).into()),
            None => {
                let never = Timestamp::from_seconds(0);
                let last = LastRecorded::new(holder.key.last_used_at.unwrap_or(never));
                self.last_used.record(holder.key.id, &last, now);
                Ok(holder)
            }
        }
    }

    /// Checks the key's own condition for a request. `facts` determines the fields of the request that it reads.
    ///
    /// # Errors
    /// If it is not true.
    pub fn check_condition<'r>(
        &self,
        holder: &KeyHolder,
        guard: Option<&str>,
        facts: impl FnOnce(&[&str]) -> RequestFacts<'r>,
    ) -> Result<(), RefusedKey> {
        let Some(text) = &holder.key.condition else { return Ok(()) };
        // It was checked when the key was made, perhaps by a version with other limits.
        let condition = self.condition(text).map_err(|_| holder.refused(KeyFault::Condition))?;
        let request = facts(condition.request_fields());
        let facts = CallerFacts::of_key(&holder.key, guard);
        match condition.holds(&facts, &request) {
            Ok(()) => Ok(()),
            Err(_) => {
                let request = request.copy_of(condition.request_fields());
                let input = Arc::new(KeyConditionInput { condition, facts, request });
                Err(RefusedKey { condition: Some(input), ..holder.refused(KeyFault::Condition) })
            }
        }
    }

    /// Lets a key count at once that this instance has made.
    pub async fn key_made(&self) {
        self.unknown.forget_list().await;
    }

    /// When a key was last used, as far as this instance knows.
    pub fn last_used(&self, key: &ApiKey) -> Option<Timestamp> {
        let unwritten = self.last_used.unwritten(key.id);
        let unwritten = (unwritten > Timestamp::from_seconds(0)).then_some(unwritten);
        key.last_used_at.max(unwritten)
    }

    /// Removes and returns the times of use that are not stored.
    pub fn take_last_used(&self) -> Vec<(ApiKeyId, Timestamp)> {
        self.last_used.take()
    }

    fn condition(&self, text: &str) -> Result<Arc<Condition>, ConditionError> {
        if let Some(condition) = self.conditions.get(text) {
            return Ok(condition);
        }
        let condition = Arc::new(parse_condition(text)?);
        self.conditions.insert(text.into(), Arc::clone(&condition));
        Ok(condition)
    }
}

/// Parses and checks the condition of a key.
///
/// # Errors
/// For the first error in it.
pub fn parse_condition(text: &str) -> Result<Condition, ConditionError> {
    Condition::parse_about(Subject::Key, text)
}

impl KeyHolder {
    /// Why it does not count anywhere.
    fn fault(&self, policy: FactorPolicy, now: Timestamp) -> Option<KeyFault> {
        let key = &self.key;
        match key.state(now) {
            KeyState::Revoked => return Some(KeyFault::Revoked),
            KeyState::Expired => return Some(KeyFault::Expired),
            KeyState::Valid => {}
        }
        match (key.kind(), &self.owner) {
            (KeyKind::Machine, _) => None,
            // The user has been deleted, and the key with them.
            (KeyKind::Personal, None) => Some(KeyFault::Unknown),
            (KeyKind::Personal, Some(owner)) if owner.disabled => Some(KeyFault::OwnerDisabled),
            // It was made after a sign-in with two factors, which it stands in for.
            (KeyKind::Personal, Some(owner)) => {
                let has_two = key.two_factors && !owner.factors.is_empty();
                (policy == FactorPolicy::Required && !has_two).then_some(KeyFault::OneFactor)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        access::{
            guard::sample::{self, NOW},
            unknown_keys::{INTERVAL, LIST_LIFETIME, MOST},
        },
        credential::api_key::KeyText,
        store::Effects,
    };

    fn holder(key: ApiKey, owner: Option<User>) -> KeyHolder {
        KeyHolder { key: Arc::new(key), owner: owner.map(Arc::new) }
    }

    #[test]
    fn a_key_counts_until_it_ends_and_while_its_owner_could_sign_in() {
        use FactorPolicy::{Optional, Required};
        let (machine, user, now) = (sample::api_key(), sample::user(), sample::request().time);
        let personal = ApiKey { owner: Some(user.id), two_factors: true, ..machine.clone() };
        let fault = |key: &ApiKey, owner: Option<&User>, policy| {
            holder(key.clone(), owner.cloned()).fault(policy, now)
        };
        assert_eq!(fault(&machine, None, Required), None);
        assert_eq!(fault(&personal, Some(&user), Required), None);
        let ended = ApiKey { expires_at: now, ..machine.clone() };
        assert_eq!(fault(&ended, None, Optional), Some(KeyFault::Expired));
        let revoked = ApiKey { revoked_at: Some(now), ..ended };
        assert_eq!(fault(&revoked, None, Optional), Some(KeyFault::Revoked));
        assert_eq!(fault(&personal, None, Optional), Some(KeyFault::Unknown));
        let disabled = User { disabled: true, ..user.clone() };
        assert_eq!(fault(&personal, Some(&disabled), Optional), Some(KeyFault::OwnerDisabled));
        let weak = ApiKey { two_factors: false, ..personal.clone() };
        assert_eq!(fault(&weak, Some(&user), Optional), None);
        assert_eq!(fault(&weak, Some(&user), Required), Some(KeyFault::OneFactor));
        let without = User { factors: std::iter::empty().collect(), ..user };
        assert_eq!(fault(&personal, Some(&without), Required), Some(KeyFault::OneFactor));
    }

    /// Anybody makes keys, and a pattern takes the longer to compile the more it repeats.
    #[test]
    fn the_patterns_of_a_key_are_bounded_together() {
        let matching = |pattern: &str| format!("request.path.matches({pattern:?})");
        let usual = matching("^/api/v[0-9]+/items/[a-f0-9-]{36}$");
        assert!(parse_condition(&format!("{usual} || {usual}")).is_ok());
        let many = vec![matching("(a|b){0,300}c"); 15].join(" || ");
        for text in [matching("(a|b){0,600}c"), many] {
            let refused = parse_condition(&text).unwrap_err().message;
            assert!(refused.contains("KiB: repeat less"), "{refused}");
        }
    }

    #[test]
    fn a_key_is_for_the_guards_in_its_scopes() {
        let with = |scopes: &str| {
            let scopes = scopes.split(' ').map(str::to_owned).collect();
            holder(ApiKey { scopes, ..sample::api_key() }, None)
        };
        assert!(with("guard:wiki users:read").is_for_guard("wiki"));
        assert!(with("guard:*").is_for_guard("wiki"));
        for other in ["guard:git", "guard:wiki2", "users:read", "wiki", "guard:"] {
            assert!(!with(other).is_for_guard("wiki"), "{other}");
        }
    }

    #[test]
    fn the_owner_of_a_key_has_proved_nothing() {
        let user = sample::user();
        let key = ApiKey { owner: Some(user.id), two_factors: true, ..sample::api_key() };
        let client = ClientInfo::new([192, 0, 2, 9].into(), "git/2.47");
        let caller = holder(key.clone(), Some(user)).caller(client.clone()).unwrap();
        for (text, expected) in [
            ("session.factors == []", true),
            ("session.strength >= 2 || session.phishingResistant", false),
            (r#"request.time - session.verifiedAt < duration("720h")"#, false),
            (r#"session.address == "192.0.2.9" && "staff" in user.roles"#, true),
        ] {
            let condition = Condition::parse(text).unwrap_or_else(|error| panic!("{error:?}"));
            let holds = condition.holds(caller.facts(), &sample::request());
            assert_eq!(holds.is_ok(), expected, "{text}");
        }
        assert!(holder(ApiKey { owner: None, ..key }, None).caller(client).is_none());
    }

    async fn add(store: &Store) -> KeyText {
        let text = KeyText::random(KeyKind::Machine);
        let expires_at = NOW + Duration::from_secs(60);
        let key = ApiKey { id: ApiKeyId::random(), expires_at, ..sample::api_key() };
        store.add_machine_key(&key, &text.digest(), &Effects::NONE).await.unwrap();
        text
    }

    #[tokio::test]
    async fn a_flood_of_unknown_keys_costs_few_queries_and_hides_no_key_for_long() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap();
        let store = Arc::new(store);
        let keys = ApiKeys::new(Arc::clone(&store));
        let begin = Instant::now();
        let is_found = async |text: &KeyText, now| {
            let found = keys.holder(text.as_str().as_bytes(), FactorPolicy::Optional, NOW, now);
            match found.await {
                Ok(_) => true,
                Err(KeyError::Refused(refused)) if refused.fault == KeyFault::Unknown => false,
                Err(error) => panic!("{error:?}"),
            }
        };
        let reads =
            || store.counts().reads.buckets().into_iter().map(|(_, count)| count).sum::<u64>();
        let flood = async |count, now| {
            let before = reads();
            for _ in 0..count {
                assert!(!is_found(&KeyText::random(KeyKind::Personal), now).await);
            }
            reads() - before
        };
        let old = add(&store).await;
        assert_eq!(flood(MOST, begin).await, u64::from(MOST));
        assert_eq!(flood(1000, begin).await, 1, "the list is read once");
        assert!(is_found(&old, begin).await);
        // One more query each tenth of a second, and the list each five seconds.
        let later = begin + Duration::from_secs(4);
        assert_eq!(flood(1000, later).await, 40);
        let new = add(&store).await;
        assert!(!is_found(&new, later).await, "the list is not as new");
        let later = begin + LIST_LIFETIME;
        assert_eq!(flood(1000, later).await, 11);
        assert!(is_found(&new, later).await && is_found(&old, later).await);
        // Without a flood, every key is looked up.
        let later = later + INTERVAL;
        let newest = add(&store).await;
        assert!(is_found(&newest, later).await);
        // One that was made here counts at once.
        flood(2 * MOST, later).await;
        let own = add(&store).await;
        assert!(!is_found(&own, later).await);
        keys.key_made().await;
        assert!(is_found(&own, later).await);
    }
}
