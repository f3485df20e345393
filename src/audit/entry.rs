//! An event as it is stored and hashed. What it says of a person stands in a part of its own, of which the hashed text has only a
//! salted commitment: so that part can be erased with the account, and the hash in the tree still holds.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    checkpoint::AuditKey,
    record::{Record, RecordedActor, StoredActor},
    tree::{Hash, leaf_hash},
};
use crate::{
    event::{EventId, EventName, EventOutcome},
    random::random_bytes,
    sha256::sha256,
};

/// The columns of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: String,
    pub kind: String,
    /// The user whom it concerns.
    pub subject: Option<String>,
    /// The user who did it, unless that is the subject.
    pub actor: Option<String>,
    /// What hides the text of the event, and shows that this installation has written it.
    pub salt: Vec<u8>,
    /// A random salt and what the event says of its person, as JSON; `None` if there is nothing, or if it was erased.
    pub personal: Option<Vec<u8>>,
    /// The hash of the personal part, once that is erased.
    pub commitment: Option<Vec<u8>>,
    /// Everything else, as JSON.
    pub rest: String,
}

/// What an event says of its person.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Personal {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    details: Map<String, Value>,
}

/// What no column has.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rest {
    actor: StoredActor,
    #[serde(default, skip_serializing_if = "EventOutcome::is_success")]
    outcome: EventOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    details: Map<String, Value>,
}

const SALT_BYTES: usize = 16;

impl Entry {
    pub fn new(record: Record, key: &AuditKey) -> Self {
        let person = record.person().is_some();
        let actor = record.actor.person().filter(|actor| Some(*actor) != record.subject.as_deref());
        let actor = actor.map(str::to_owned);
        let stored_actor = record.actor.stored(record.subject.as_deref());
        let Record { id, at: _, kind, outcome, subject, address, user_agent, request_id, .. } =
            record;
        let is_theirs = actor.is_none() && person;
        let personal_detail = EventName::parse(&kind).and_then(|kind| kind.info().personal);
        let is_personal = |detail: &str| Some(detail) == personal_detail;
        let (personal, details) = record
            .details
            .into_iter()
            // An administrator who revokes the key of somebody else does not name it: the name is not theirs.
            .filter(|(name, _)| !is_personal(name) || is_theirs || subject.is_none())
            .partition(|(name, _)| is_personal(name) && is_theirs);
        let personal = Personal { address, user_agent, details: personal };
        let rest = Rest { actor: stored_actor, outcome, request_id, details };
        let mut entry = Self {
            id,
            kind,
            subject,
            actor,
            salt: Vec::new(),
            personal: personal.is_some().then(|| personal.salted()),
            commitment: None,
            rest: serde_json::to_string(&rest).expect("its keys are texts"),
        };
        entry.salt = key.salt(&entry.text()).to_vec();
        entry
    }

    /// The text that is hashed. It is made of the columns as they are stored, byte by byte.
    pub fn text(&self) -> String {
        let mut text = format!("{{\"id\":\"{}\"", self.id);
        let mut add = |name: &str, value: &str| {
            text.push_str(&format!(",\"{name}\":{}", Value::from(value)));
        };
        let at = self.id.parse::<EventId>().map(|id| id.time().to_string());
        add("at", at.as_deref().unwrap_or_default());
        add("kind", &self.kind);
        self.subject.iter().for_each(|subject| add("subject", subject));
        self.actor.iter().for_each(|actor| add("by", actor));
        if let Some(commitment) = self.commitment() {
            add("personal", &BASE64_STANDARD.encode(commitment));
        }
        text.push(',');
        text.push_str(self.rest.strip_prefix('{').unwrap_or(&self.rest));
        text
    }

    /// The hash of the personal part, also after that was erased.
    pub fn commitment(&self) -> Option<Vec<u8>> {
        match &self.personal {
            Some(personal) => Some(sha256(personal).to_vec()),
            None => self.commitment.clone(),
        }
    }

    /// The hash that the tree has for it.
    pub fn leaf(&self) -> Hash {
        leaf_hash(&[&self.salt, self.text().as_bytes()])
    }

    /// What a proof contains: the salt and the text.
    pub fn proved(&self) -> Vec<u8> {
        [&self.salt, self.text().as_bytes()].concat()
    }

    /// The event of a proof.
    pub(super) fn text_of_proved(proved: &[u8]) -> Option<&str> {
        str::from_utf8(proved.get(SALT_BYTES..)?).ok()
    }

    /// Whether an installation with this key has written it.
    pub(super) fn is_authentic(&self, key: &AuditKey) -> bool {
        self.salt == key.salt(&self.text()) && self.is_consistent()
    }

    /// Whether its columns are those of an event.
    pub(super) fn is_consistent(&self) -> bool {
        self.record().is_some() && !(self.personal.is_some() && self.commitment.is_some())
    }

    /// The event as it is shown; `None` if the columns are not those of an event.
    pub fn record(&self) -> Option<Record> {
        let Rest { actor, outcome, request_id, mut details } =
            serde_json::from_str(&self.rest).ok()?;
        let personal = match &self.personal {
            Some(personal) => serde_json::from_slice(personal.get(SALT_BYTES..)?).ok()?,
            None => Personal::default(),
        };
        let person = self.actor.clone();
        let actor = match actor {
            StoredActor::User => RecordedActor::User { id: person.or(self.subject.clone())? },
            StoredActor::Key { id, is_own } => {
                let owner = person.or_else(|| self.subject.clone().filter(|_| is_own));
                RecordedActor::Key { id, owner }
            }
            StoredActor::Operator { name } => RecordedActor::Operator { name },
            StoredActor::Unknown => RecordedActor::Unknown,
            StoredActor::Service => RecordedActor::Service,
        };
        details.extend(personal.details);
        Some(Record {
            id: self.id.clone(),
            at: self.id.parse::<EventId>().ok()?.time().to_string(),
            kind: self.kind.clone(),
            outcome,
            actor,
            subject: self.subject.clone(),
            address: personal.address,
            user_agent: personal.user_agent,
            request_id,
            details,
        })
    }

    /// The user of whom the personal part is.
    pub fn person(&self) -> Option<String> {
        self.record()?.person().map(str::to_owned)
    }
}

impl Personal {
    fn is_some(&self) -> bool {
        let Self { address, user_agent, details } = self;
        address.is_some() || user_agent.is_some() || !details.is_empty()
    }

    /// Its JSON after a random salt. Without the salt, somebody could try all addresses until the hash matches.
    fn salted(&self) -> Vec<u8> {
        let mut bytes = random_bytes::<SALT_BYTES>().to_vec();
        serde_json::to_writer(&mut bytes, self).expect("its keys are texts");
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::Timestamp,
        event::{Actor, Administrator, Event, EventKind},
        network::{ClientInfo, Requester},
        session::{Methods, SessionId},
        token::shared_secret::SharedSecret,
        user::{ApiKeyId, UserId},
    };

    const AT: Timestamp = Timestamp::from_millis(1_800_000_000_123);

    fn key() -> AuditKey {
        AuditKey::new(&SharedSecret::random())
    }

    fn sign_in(user: UserId) -> Record {
        let requester = Requester::new(ClientInfo::new([192, 0, 2, 1].into(), "curl/8"));
        let session = SessionId::random();
        let kind = EventKind::SignedIn { session, methods: Methods::default(), login: None };
        Record::from(&Event::by_user(user, &requester, AT, kind))
    }

    #[test]
    fn the_hash_of_an_event_holds_when_its_personal_part_is_erased() {
        let (key, user) = (key(), UserId::random());
        let record = sign_in(user);
        let entry = Entry::new(record.clone(), &key);
        assert_eq!(entry.record(), Some(record.clone()));
        let erased = entry.clone().erased();
        assert_eq!((erased.leaf(), erased.text()), (entry.leaf(), entry.text()));
        assert!(entry.is_authentic(&key) && erased.is_authentic(&key));
        let shown = erased.record().unwrap();
        assert_eq!(shown, Record { address: None, user_agent: None, ..record });
        assert_eq!(erased.person(), Some(user.to_string()));
        let stored = format!("{erased:?}");
        assert!(!stored.contains("192.0.2.1") && !stored.contains("curl"), "{stored}");
        // The same event again has another salt, so that no hash can be guessed.
        let again = Entry::new(shown, &key);
        assert_ne!(again.commitment(), erased.commitment());
    }

    #[test]
    fn a_change_of_any_column_changes_the_hash_or_is_no_event() {
        let key = key();
        let entry = Entry::new(sign_in(UserId::random()), &key);
        let other = || Some(UserId::random().to_string());
        let mut personal = entry.personal.clone().unwrap();
        *personal.last_mut().unwrap() ^= 1;
        let changed = [
            Entry { id: UserId::random().to_string(), ..entry.clone() },
            Entry { kind: "signed_out".to_owned(), ..entry.clone() },
            Entry { subject: other(), ..entry.clone() },
            Entry { subject: None, ..entry.clone() },
            Entry { actor: other(), ..entry.clone() },
            Entry { salt: vec![0; SALT_BYTES], ..entry.clone() },
            Entry { personal: Some(personal), ..entry.clone() },
            Entry { personal: None, ..entry.clone() },
            Entry { commitment: Some(vec![0; 32]), ..entry.clone() }.erased_of_personal(),
            Entry { rest: format!("{} ", entry.rest), ..entry.clone() },
        ];
        for changed in changed {
            assert_ne!(changed.leaf(), entry.leaf(), "{changed:?}");
            assert!(!changed.is_authentic(&key), "{changed:?}");
        }
    }

    impl Entry {
        /// Takes the personal part away.
        fn erased(self) -> Self {
            let commitment = self.commitment();
            Self { personal: None, commitment, ..self }
        }

        fn erased_of_personal(self) -> Self {
            Self { personal: None, ..self }
        }
    }

    #[test]
    fn the_personal_part_belongs_to_whoever_did_it() {
        let (key, admin, ada) = (key(), UserId::random(), UserId::random());
        let client = Some(ClientInfo::new([192, 0, 2, 1].into(), "curl/8"));
        let revoked = |actor, subject| {
            let by = Administrator { actor, client: client.clone(), ..Administrator::APP };
            let kind = EventKind::KeyRevoked { key: ApiKeyId::random(), name: "Ada's".into() };
            Entry::new(Record::from(&Event::by_administrator(&by, subject, AT, kind)), &key)
        };
        let own = revoked(Actor::User(ada), Some(ada));
        assert_eq!((own.actor.clone(), own.person()), (None, Some(ada.to_string())));
        assert!(!own.rest.contains("Ada") && own.record().unwrap().details.contains_key("name"));
        let ordered = revoked(Actor::User(admin), Some(ada));
        assert_eq!(ordered.actor, Some(admin.to_string()));
        assert_eq!(ordered.person(), ordered.actor, "her address");
        assert!(!ordered.record().unwrap().details.contains_key("name"), "not her name");
        let by_key = revoked(Actor::Key { key: ApiKeyId::random(), owner: Some(admin) }, Some(ada));
        assert_eq!(by_key.person(), Some(admin.to_string()));
        let by_own_key =
            revoked(Actor::Key { key: ApiKeyId::random(), owner: Some(ada) }, Some(ada));
        assert_eq!((by_own_key.actor.clone(), by_own_key.person()), (None, Some(ada.to_string())));
        assert!(!by_own_key.rest.contains("Ada"), "her name for it");
        let by_machine = revoked(Actor::Key { key: ApiKeyId::random(), owner: None }, Some(ada));
        assert_eq!(by_machine.person(), None);
        let of_machine = revoked(Actor::User(admin), None);
        assert!(of_machine.rest.contains("Ada's"), "the name of a machine is nobody's");
    }
}
