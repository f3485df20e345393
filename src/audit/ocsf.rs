//! An event in the Open Cybersecurity Schema Framework, for programs that collect the events of many systems. The table of kinds says
//! which class and activity each is.

use serde_json::{Map, Value, json};

use super::record::{Record, RecordedActor};
use crate::{
    event::{Entity, EventId, EventName, EventOutcome, OcsfClass, OcsfType, Severity},
    language::Language,
};

/// The version of the schema.
const VERSION: &str = "1.5.0";

/// The event as an object of the schema. What the schema has no field for is in `unmapped`.
pub fn to_ocsf(record: &Record, number: Option<u64>) -> Value {
    let Record { id, at, kind, outcome, actor, subject, address, user_agent, request_id, details } =
        record;
    let info = EventName::parse(kind).map(EventName::info);
    // Another version may know the kind.
    let OcsfType { class, activity } = info.map_or(OcsfType::ACCOUNT_OTHER, |info| info.ocsf);
    let ((class_id, class_name), (category_id, category_name)) = (class.id(), class.category());
    let (activity_id, activity_name) = activity;
    // The schema has no name for it, so it gets that of the kind.
    let own_name = info.filter(|_| activity_id == OcsfType::OTHER);
    let own_name = own_name.map(|info| Language::English.choose(info.title));
    let (status_id, status, usual) = match outcome {
        EventOutcome::Success => (1, "Success", Severity::Informational),
        EventOutcome::Failure => (2, "Failure", Severity::Low),
    };
    let (severity_id, severity) = severity_of(info.and_then(|info| info.severity).unwrap_or(usual));
    let time = id.parse::<EventId>().map_or(0, |id| id.time().millis());
    let product = json!({
        "name": "Doorward",
        "vendor_name": "Doorward",
        "version": env!("CARGO_PKG_VERSION"),
    });
    let mut event = json!({
        "category_uid": category_id,
        "category_name": category_name,
        "class_uid": class_id,
        "class_name": class_name,
        "activity_id": activity_id,
        "activity_name": own_name.unwrap_or(activity_name),
        "type_uid": class_id * 100 + activity_id,
        "type_name": format!("{class_name}: {activity_name}"),
        "time": time,
        "time_dt": at,
        "severity_id": severity_id,
        "severity": severity,
        "status_id": status_id,
        "status": status,
        "message": kind.replace('_', " "),
        "metadata": {
            "version": VERSION,
            "uid": id,
            "log_name": "audit",
            "event_code": kind,
            "product": product,
        },
    });
    if let Some(number) = number {
        event["metadata"]["sequence"] = number.into();
    }
    let mut set = |name: &str, value: Value| {
        event[name] = value;
    };
    set("actor", actor_of(actor));
    match class {
        OcsfClass::EntityManagement(entity) => set("entity", entity_of(entity, record)),
        OcsfClass::ApplicationLifecycle => set("app", product),
        _ => {}
    }
    if let Some(subject) = subject {
        set("user", json!({ "uid": subject, "type_id": 1, "type": "User" }));
    }
    if let Some(address) = address {
        set("src_endpoint", json!({ "ip": address }));
    }
    if user_agent.is_some() || request_id.is_some() {
        let mut request = Map::new();
        request.extend(user_agent.as_ref().map(|text| ("user_agent".to_owned(), json!(text))));
        request.extend(request_id.as_ref().map(|id| ("uid".to_owned(), json!(id))));
        set("http_request", request.into());
    }
    if let Some(reason) = details.get("reason") {
        set("status_detail", reason.clone());
    }
    if let Some(session) = details.get("session") {
        set("session", json!({ "uid": session }));
    }
    let others = details.iter().filter(|(name, _)| !["reason", "session"].contains(&name.as_str()));
    let others: Map<_, _> = others.map(|(name, value)| (name.clone(), value.clone())).collect();
    if !others.is_empty() {
        set("unmapped", others.into());
    }
    event
}

fn severity_of(severity: Severity) -> (u32, &'static str) {
    match severity {
        Severity::Informational => (1, "Informational"),
        Severity::Low => (2, "Low"),
        Severity::Medium => (3, "Medium"),
        Severity::High => (4, "High"),
    }
}

fn entity_of(entity: Entity, record: &Record) -> Value {
    let (mut object, id) = match entity {
        Entity::User => {
            (json!({ "type_id": 2, "type": "User", "name": "User" }), record.subject.as_deref())
        }
        Entity::Other(name, id) => {
            let id = id.and_then(|id| record.details.get(id)?.as_str());
            (json!({ "type_id": 99, "type": name, "name": name }), id)
        }
    };
    if let Some(id) = id {
        object["uid"] = id.into();
    }
    object
}

fn actor_of(actor: &RecordedActor) -> Value {
    match actor {
        RecordedActor::User { id } => {
            json!({ "user": { "uid": id, "type_id": 1, "type": "User" } })
        }
        RecordedActor::Key { id, owner } => {
            let mut user = json!({ "credential_uid": id, "type_id": 3, "type": "System" });
            if let Some(owner) = owner {
                user["uid"] = owner.as_str().into();
            }
            json!({ "user": user })
        }
        RecordedActor::Operator { name } => json!({
            "user": { "name": name.as_deref().unwrap_or("operator"), "type_id": 2, "type": "Admin" },
        }),
        RecordedActor::Unknown => json!({ "user": { "type_id": 0, "type": "Unknown" } }),
        RecordedActor::Service => json!({ "app_name": "doorward" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::Timestamp,
        event::{Event, EventKind},
        network::{ClientInfo, Requester},
        session::{Methods, SessionId},
        user::UserId,
    };

    #[test]
    fn a_sign_in_is_an_authentication() {
        let (user, session) = (UserId::random(), SessionId::random());
        let requester = Requester::new(ClientInfo::new([192, 0, 2, 1].into(), "curl/8"));
        let kind = EventKind::SignedIn { session, methods: Methods::default(), login: None };
        let at = Timestamp::from_millis(1_800_000_000_123);
        let event = Event::by_user(user, &requester, at, kind);
        let ocsf = to_ocsf(&Record::from(&event), Some(4));
        assert_eq!((&ocsf["class_uid"], &ocsf["type_uid"]), (&json!(3002), &json!(300_201)));
        assert_eq!((&ocsf["time"], &ocsf["status_id"]), (&json!(1_800_000_000_123_i64), &json!(1)));
        assert_eq!(ocsf["user"]["uid"], user.to_string());
        assert_eq!(ocsf["session"]["uid"], session.to_string());
        assert_eq!(ocsf["src_endpoint"]["ip"], "192.0.2.1");
        assert_eq!(ocsf["metadata"]["uid"], event.id.to_string());
    }

    #[test]
    fn every_event_has_what_its_class_requires() {
        for kind in EventName::ALL {
            let record = json!({
                "id": "x", "at": "x", "kind": kind.as_str(), "outcome": "success", "actor": {"type": "service"},
            });
            let ocsf = to_ocsf(&serde_json::from_value(record).unwrap(), None);
            let number = |name: &str| ocsf[name].as_u64().unwrap();
            assert_eq!(number("class_uid") / 1000, number("category_uid"), "{kind:?}");
            assert_eq!(number("type_uid"), number("class_uid") * 100 + number("activity_id"));
            let required = match number("class_uid") {
                3004 => "entity",
                6002 => "app",
                _ => "actor",
            };
            assert!(ocsf[required].is_object(), "{kind:?}: {ocsf}");
        }
    }

    #[test]
    fn only_what_the_schema_has_no_activity_for_is_other_and_has_its_own_name() {
        let other: Vec<_> = EventName::ALL
            .iter()
            .filter(|kind| kind.info().ocsf.activity.0 == OcsfType::OTHER)
            .map(|kind| kind.as_str())
            .collect();
        let expected = [
            "factor_asked",
            "stepped_up",
            "mail_retried",
            "guard_refused",
            "mail_given_up",
            "events_left_out",
        ];
        assert_eq!(other, expected);
        let asked = Event::by_service(
            Timestamp::from_millis(0),
            EventKind::FactorAsked { methods: Methods::default() },
        );
        let ocsf = to_ocsf(&Record::from(&asked), None);
        assert_eq!(ocsf["type_name"], "Authentication: Other");
        assert_eq!(
            ocsf["activity_name"],
            Language::English.choose(EventName::FactorAsked.info().title)
        );
    }

    #[test]
    fn an_emergency_is_of_high_severity_and_names_what_was_revoked() {
        let kind = EventKind::EverythingRevoked { sessions: Some(2), passwords: None };
        let event = Event::by_service(Timestamp::from_millis(0), kind);
        let ocsf = to_ocsf(&Record::from(&event), None);
        assert_eq!((&ocsf["severity_id"], &ocsf["severity"]), (&json!(4), &json!("High")));
        assert_eq!(ocsf["type_name"], "Entity Management: Delete");
        assert_eq!(ocsf["entity"]["name"], "Keys, secrets, sessions, links and codes");
    }

    #[test]
    fn a_kind_of_another_version_is_some_other_change() {
        let record = json!({
            "id": "x", "at": "x", "kind": "of_the_future", "outcome": "success", "actor": {"type": "service"},
        });
        let ocsf = to_ocsf(&serde_json::from_value(record).unwrap(), None);
        assert_eq!((&ocsf["type_uid"], &ocsf["activity_name"]), (&json!(300_199), &json!("Other")));
    }
}
