//! An event in the Open Cybersecurity Schema Framework, for programs that collect the events of many systems: Authentication (3002),
//! Account Change (3001), and the classes of the few others.

use serde_json::{Map, Value, json};

use super::record::{Outcome, Record, RecordedActor};
use crate::event::EventId;

/// The version of the schema.
const VERSION: &str = "1.5.0";

/// A class of the schema and what happened in its terms.
struct Class {
    category: (u32, &'static str),
    class: (u32, &'static str),
    activity: (u32, &'static str),
}

const IDENTITY: (u32, &str) = (3, "Identity & Access Management");
const APPLICATION: (u32, &str) = (6, "Application Activity");

const fn account(id: u32, name: &'static str) -> Class {
    Class { category: IDENTITY, class: (3001, "Account Change"), activity: (id, name) }
}

const fn authentication(id: u32, name: &'static str) -> Class {
    Class { category: IDENTITY, class: (3002, "Authentication"), activity: (id, name) }
}

const fn session(id: u32, name: &'static str) -> Class {
    Class { category: IDENTITY, class: (3003, "Authorize Session"), activity: (id, name) }
}

const fn entity(id: u32, name: &'static str) -> Class {
    Class { category: IDENTITY, class: (3004, "Entity Management"), activity: (id, name) }
}

const fn application(id: u32, name: &'static str) -> Class {
    Class { category: APPLICATION, class: (6002, "Application Lifecycle"), activity: (id, name) }
}

fn class_of(kind: &str) -> Class {
    match kind {
        "registered"
        | "registration_refused"
        | "user_added"
        | "users_imported"
        | "user_imported" => account(1, "Create"),
        "user_enabled" => account(2, "Enable"),
        "password_changed" => account(3, "Password Change"),
        "password_reset" | "reset_failed" | "reset_code_created" | "user_secured" => {
            account(4, "Password Reset")
        }
        "user_disabled" => account(5, "Disable"),
        "user_deleted" | "unverified_user_deleted" => account(6, "Delete"),
        "role_granted" => account(7, "Attach Policy"),
        "role_revoked" => account(8, "Detach Policy"),
        "factor_added" => account(10, "MFA Factor Enable"),
        "factor_removed" | "factors_reset" => account(11, "MFA Factor Disable"),
        "account_unlocked" => account(12, "Unlock"),
        "signed_in" | "sign_in_failed" | "signed_in_to_app" => authentication(1, "Logon"),
        "signed_out"
        | "session_ended"
        | "session_ended_by_client"
        | "sessions_ended"
        | "token_reused" => authentication(2, "Logoff"),
        "stepped_up" | "factor_asked" => authentication(99, "Other"),
        "guard_refused" => session(99, "Other"),
        "invited" => entity(1, "Create"),
        "signing_key_rotated" | "key_created" => entity(1, "Create"),
        "account_exported" | "users_exported" | "audit_exported" | "backup_made" | "data_moved" => {
            entity(2, "Read")
        }
        "guards_reloaded" | "backup_restored" => entity(3, "Update"),
        "invitation_revoked" | "signing_key_revoked" | "key_revoked" | "trail_pruned" => {
            entity(4, "Delete")
        }
        "service_started" => application(3, "Start"),
        "service_stopped" => application(4, "Stop"),
        "mail_given_up" | "mail_retried" | "events_left_out" => application(99, "Other"),
        _ => account(99, "Other"),
    }
}

/// The event as an object of the schema. What the schema has no field for is in `unmapped`.
pub fn to_ocsf(record: &Record, number: Option<u64>) -> Value {
    let Record { id, at, kind, outcome, actor, subject, address, user_agent, request_id, details } =
        record;
    let Class { category, class, activity } = class_of(kind);
    let (status_id, status, severity_id, severity) = match outcome {
        Outcome::Success => (1, "Success", 1, "Informational"),
        Outcome::Failure => (2, "Failure", 2, "Low"),
    };
    let time = id.parse::<EventId>().map_or(0, |id| id.time().millis());
    let mut event = json!({
        "category_uid": category.0,
        "category_name": category.1,
        "class_uid": class.0,
        "class_name": class.1,
        "activity_id": activity.0,
        "activity_name": activity.1,
        "type_uid": class.0 * 100 + activity.0,
        "type_name": format!("{}: {}", class.1, activity.1),
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
            "product": {
                "name": "Doorward",
                "vendor_name": "Doorward",
                "version": env!("CARGO_PKG_VERSION"),
            },
        },
    });
    if let Some(number) = number {
        event["metadata"]["sequence"] = number.into();
    }
    let mut set = |name: &str, value: Value| {
        event[name] = value;
    };
    set("actor", actor_of(actor));
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
        let kind = EventKind::SignedIn { session, methods: Methods::default() };
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
    fn every_type_is_the_class_and_the_activity() {
        for kind in EventKind::NAMES {
            let Class { category, class, activity } = class_of(kind);
            assert_eq!(class.0 / 1000, category.0, "{kind}");
            assert!(activity.0 < 100, "{kind}");
        }
    }
}
