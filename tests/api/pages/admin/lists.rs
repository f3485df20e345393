//! Guards, refusals, signing keys, mail and the overview.

use axum::http::header;
use doorward::{
    Settings,
    internals::{
        Internals,
        data_folder::{DataFolder, DoctorReport},
        mail::Message,
        token::one_time::Purpose,
    },
};
use serde_json::{Value, json};

use super::*;
use crate::{
    outbox,
    pages::PASSWORD,
    support::{NOW, with_mail},
};

#[tokio::test]
async fn the_overview_shows_how_the_service_is_doing() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    let page = admin.get("/admin").await;
    assert_shows(&page, 200, &["Overview", "Users", "Staff only", "Doorward ", "SQLite", "ES256"]);
    let policy = page.header(header::CONTENT_SECURITY_POLICY).unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    let other = admin.get("/account").await;
    assert_ne!(other.header(header::CONTENT_SECURITY_POLICY).unwrap(), policy, "its own sheet");
    admin.language = "de";
    assert_shows(&admin.get("/admin").await, 200, &["Übersicht", "lang=\"de\""]);
}

#[tokio::test]
async fn the_overview_shows_what_is_wrong_with_the_trail_to_those_who_may_read_it() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    let mut auditor = browser_of(&server, EVE, "auditor").await;
    let secret = server.folder().join("audit-secret");
    let shown = "The secret of the audit trail is missing or was replaced, since ";
    assert!(!admin.get("/admin").await.body.contains(shown));
    std::fs::remove_file(secret).unwrap();
    assert_shows(&admin.get("/admin").await, 200, &[shown, "doorward doctor says what to do"]);
    assert!(!auditor.get("/admin").await.body.contains(shown), "it may not read the trail");
    admin.language = "de";
    let page = admin.get("/admin").await;
    // With the exact time, and not read out as English.
    let german = "<p class=\"summary\" role=\"note\">Das Geheimnis des Protokolls fehlt oder wurde ersetzt (seit dem ";
    assert_shows(&page, 200, &[german, "\u{a0}UTC). doorward doctor sagt, was zu tun ist."]);
    let status = server.ordered("GET", "/api/admin/status", Value::Null).await;
    let trouble = &status["auditTroubles"][0];
    assert_eq!(
        (&trouble["part"], &trouble["cause"]),
        (&json!("secret"), &json!("the secret is not stored any more"))
    );
}

#[tokio::test]
async fn the_overview_shows_what_doctor_has_found() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    let page = admin.get("/admin").await;
    assert_shows(&page, 200, &["<dt>Last run of doorward doctor</dt><dd>Never</dd>"]);
    let finding = "warning: the disk is <almost> full [disk-low]".to_owned();
    let at = NOW - Duration::from_secs(60 * 60);
    let report = DoctorReport { at, findings: vec![finding] };
    DataFolder::record_doctor_report(server.folder(), &report).unwrap();
    let page = admin.get("/admin").await;
    assert_shows(
        &page,
        200,
        &["<li>warning: the disk is &#60;almost&#62; full", "15\u{a0}Jan\u{a0}2027"],
    );
    let status = server.operator("GET", "/api/admin/status", serde_json::Value::Null).await;
    assert_eq!(status.json()["doctor"]["at"], "2027-01-15T07:00:00.000Z");
}

#[tokio::test]
async fn a_guard_says_what_it_would_decide() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    Browser::of(&server, "Eve", EVE).await;
    let page = admin.get("/admin/guards").await;
    assert_shows(&page, 200, &["/admin/guards/staff", "Enforced", "Only reports"]);
    let page = admin.get("/admin/guards/staff").await;
    assert_shows(&page, 200, &["Staff only", "What would it say?", "Nothing was refused."]);
    assert!(!page.body.contains("id=\"decision\""));
    let page = admin.get("/admin/guards/staff?user=eve%40example.com&path=%2Fplans").await;
    assert_shows(&page, 200, &["Refused", "class=\"cause\"", "value=\"/plans\""]);
    let id = id_of(&server, EVE).await;
    server.doorward.grant_role(id.parse().unwrap(), "staff").await.unwrap();
    server.doorward.verify_email(id.parse().unwrap(), EVE).await.unwrap();
    let page = admin.get(&format!("/admin/guards/staff?user={id}")).await;
    assert_shows(&page, 200, &["tag good\">Admitted"]);
    assert!(!page.body.contains("class=\"cause\""));
    let page = admin.get("/admin/guards/staff?user=nobody").await;
    assert_shows(&page, 200, &["There is no such user."]);
    let page = admin.get(&format!("/admin/guards/staff?user={id}&address=here")).await;
    assert_shows(&page, 200, &["This is not an IP address."]);
    assert_shows(&admin.get("/admin/guards/none").await, 404, &["There is no such page"]);
}

#[tokio::test]
async fn a_guard_that_only_reports_says_whom_it_would_have_refused() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    let mut eve = Browser::of(&server, "Eve", EVE).await;
    let token = server.token_of(EVE, PASSWORD).await;
    assert_eq!(server.guard("wiki", &token).await.status, 200);
    let page = admin.get("/admin/guards/wiki").await;
    assert_shows(&page, 200, &["Who would have been refused lately", EVE, "only reported"]);
    let page = admin.get("/admin/refusals?reported=1").await;
    assert_shows(&page, 200, &["only reported", EVE]);
    let page = admin.get("/admin/guards").await;
    assert_shows(&page, 200, &["Would be refused"]);
    // Refusals are written in batches.
    server.doorward.close_trail().await.unwrap();
    for page in [eve.get("/account/activity").await, admin.get("/admin/audit").await] {
        assert_shows(&page, 200, &["Access to an app would have been refused"]);
        assert!(!page.body.contains("<div>Access to an app refused"), "{}", page.body);
        assert!(!page.body.contains("<span>Access to an app refused"), "{}", page.body);
    }
}

#[tokio::test]
async fn refusals_come_in() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    let page = admin.get("/admin/refusals").await;
    assert_shows(&page, 200, &["Nothing was refused.", "/admin/refusals/live?guard=\""]);
    assert_eq!(page.header(header::REFRESH), None, "it has a form");
    for _ in 0..60 {
        server.guard("staff", "not-a-token").await;
    }
    let page = admin.get("/admin/refusals?guard=staff").await;
    assert_shows(&page, 200, &["Nobody", "rel=\"next\""]);
    assert_eq!(page.body.matches("/admin/refusals/").count(), 51, "and the way to the live page");
    let (_, rest) = page.body.split_once("rel=\"next\" href=\"").unwrap();
    let next = admin.get(&rest.split('"').next().unwrap().replace("&#38;", "&")).await;
    assert_eq!(next.body.matches("/admin/refusals/").count(), 11);
    assert_shows(&admin.get("/admin/refusals?guard=wiki").await, 200, &["Nothing was refused."]);
    let unknown = admin.get("/admin/refusals/00000000000000000000000000000000").await;
    assert_shows(&unknown, 404, &["This decision is not known"]);
}

/// A reload would take away what is being typed, and is no use of the session.
#[tokio::test]
async fn only_a_page_without_a_form_loads_itself_again_and_nobody_stays_signed_in_by_it() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    for _ in 0..60 {
        server.guard("staff", "not-a-token").await;
    }
    let live = "/admin/refusals/live?guard=staff&reported=";
    let page = admin.get(live).await;
    assert_shows(&page, 200, &["Nobody", "href=\"/admin/refusals?guard=staff\""]);
    assert_eq!(page.header(header::REFRESH), Some("5"));
    for part in ["<form", "<input", "rel=\"next\""] {
        assert!(!page.body.contains(part), "{part}: {}", page.body);
    }
    // A session that is used idles out an hour later than one that is not.
    let idle = |hours: f64| server.let_pass(Duration::from_secs_f64(hours * 60.0 * 60.0));
    let mut used = browser_of(&server, "grace@example.com", "auditor").await;
    let timeout = 12.0;
    idle(timeout / 2.0);
    assert_eq!(used.get("/admin/refusals").await.status, 200);
    assert_eq!(admin.get(live).await.status, 200);
    idle(timeout / 2.0 + 1.0);
    assert_eq!(used.get("/admin/refusals").await.status, 200);
    let answer = admin.get(live).await;
    assert_eq!(answer.status, 303, "nobody was there for {timeout} hours");
    assert!(answer.header(header::LOCATION).unwrap().starts_with("/sign-in?for="));
    assert_eq!(answer.header(header::REFRESH), None);
}

#[tokio::test]
async fn exports_are_events() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    let mut eve = Browser::of(&server, "Eve", EVE).await;
    let page = page_of(&server, EVE).await;
    let (eve_id, admin_id) = (id_of(&server, EVE).await, id_of(&server, ADMIN).await);
    assert_eq!(admin.post(&format!("{page}/export"), &[]).await.status, 200);
    assert_eq!(eve.post("/account/export", &[]).await.status, 200);
    let token = server.token_of(ADMIN, PASSWORD).await;
    let get = async |path: &str| server.request_as(&token, "GET", path, json!(null)).await;
    assert_eq!(get(&format!("/api/admin/users/{eve_id}/export")).await.status, 200);
    assert_eq!(get("/api/me/export").await.status, 200);
    assert_eq!(get("/api/admin/export").await.status, 200);
    assert_eq!(server.operator("GET", "/api/admin/export", json!(null)).await.status, 200);
    assert_eq!(admin.post("/admin/audit/export", &[]).await.status, 200);
    let exported = get("/api/admin/audit/export?format=ocsf").await;
    assert!(
        exported.body.contains("\"audit exported\""),
        "it is recorded first: {}",
        exported.body
    );
    // What people do with their own account is written in batches.
    server.doorward.close_trail().await.unwrap();
    let all = get("/api/admin/audit?limit=500").await.json();
    let of = |kind: &str| {
        let events = all["events"].as_array().unwrap().iter();
        let actor = |event: &Value| event["actor"]["id"].as_str().unwrap_or("operator").to_owned();
        let mut found: Vec<_> = events
            .filter(|event| event["kind"] == kind)
            .map(|event| (actor(event), event["subject"].clone(), event["details"].clone()))
            .collect();
        found.sort_by_key(|(actor, subject, details)| format!("{actor}{subject}{details}"));
        found
    };
    let sorted = |mut events: Vec<(String, Value, Value)>| {
        events.sort_by_key(|(actor, subject, details)| format!("{actor}{subject}{details}"));
        events
    };
    let by_admin = || (admin_id.clone(), json!(eve_id), Value::Null);
    let own = |id: &String| (id.clone(), json!(id), Value::Null);
    let expected = sorted(vec![by_admin(), by_admin(), own(&eve_id), own(&admin_id)]);
    assert_eq!(of("account_exported"), expected);
    let users = |who: &str, hashes: bool| (who.to_owned(), Value::Null, json!({"hashes": hashes}));
    let expected = sorted(vec![users(&admin_id, false), users("operator", true)]);
    assert_eq!(of("users_exported"), expected);
    let trail = |format: &str| (admin_id.clone(), Value::Null, json!({"format": format}));
    assert_eq!(of("audit_exported"), sorted(vec![trail("jsonl"), trail("ocsf")]));
}

/// They wait with what was refused, whose rate is bounded: one person who repeats it does not fill the disk.
#[tokio::test]
async fn the_exports_of_a_person_are_not_written_one_by_one() {
    let server = server().await;
    let eve = server.register("Eve", EVE).await;
    let recorded = async || {
        let path = "/api/admin/audit?kind=account_exported";
        let listed = server.operator("GET", path, json!(null)).await.json();
        listed["events"].as_array().unwrap().len()
    };
    for _ in 0..10 {
        let answer = server.request_as(&eve.token, "GET", "/api/me/export", json!(null)).await;
        assert_eq!(answer.status, 200);
    }
    assert_eq!(recorded().await, 0);
    server.doorward.close_trail().await.unwrap();
    assert_eq!(recorded().await, 10);
}

#[tokio::test]
async fn signing_keys_are_replaced_and_revoked() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    let page = admin.get("/admin/signing-keys").await;
    assert_eq!(page.body.matches("name=\"kid\"").count(), 1);
    let rotated = admin.post("/admin/signing-keys/rotate", &[]).await;
    assert_goes_to(&rotated, "/admin/signing-keys?done=key-published");
    let page = admin.get("/admin/signing-keys?done=key-published").await;
    assert_shows(&page, 200, &["A new key is published.", "Signs soon"]);
    let kids: Vec<_> = page.body.split("name=\"kid\" value=\"").skip(1).collect();
    assert_eq!(kids.len(), 2);
    let signs_soon = kids[0].split('"').next().unwrap();
    let revoked = admin.post("/admin/signing-keys/revoke", &[("kid", signs_soon)]).await;
    assert_goes_to(&revoked, "/admin/signing-keys?done=revoked");
    assert!(!admin.get("/admin/signing-keys").await.body.contains(signs_soon));
}

#[tokio::test]
async fn the_audit_trail_is_filtered_and_exported() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    Browser::of(&server, "Eve", EVE).await;
    let page = page_of(&server, EVE).await;
    assert_eq!(admin.post(&format!("{page}/grant"), &[("role", "staff")]).await.status, 303);
    let granted = "Role granted";
    let shown = admin.get("/admin/audit").await;
    assert_shows(
        &shown,
        200,
        &[
            granted,
            "Account created",
            "Eve",
            "<option value=\"role_granted\">Role granted</option>",
        ],
    );
    let shown = admin.get("/admin/audit?user=eve%40example.com&kind=role_granted").await;
    assert_shows(
        &shown,
        200,
        &[granted, "Role staff.", "<option value=\"role_granted\" selected>"],
    );
    assert!(!shown.body.contains("<div>Account created"), "{}", shown.body);
    let shown = admin.get("/admin/audit?to=2020-01-01").await;
    assert_shows(&shown, 200, &["No event matches.", "value=\"2020-01-01\""]);
    let wrong = admin.get("/admin/audit?from=yesterday&user=nobody").await;
    assert_shows(&wrong, 200, &["aria-invalid", "value=\"yesterday\""]);
    let exported = admin.post("/admin/audit/export", &[("kind", "role_granted")]).await;
    assert_eq!(exported.status, 200);
    let disposition = exported.header(header::CONTENT_DISPOSITION);
    assert_eq!(disposition, Some("attachment; filename=\"audit.jsonl\""));
    assert!(exported.body.lines().count() >= 1, "{}", exported.body);
    assert!(exported.body.lines().all(|line| line.contains("\"role_granted\"")));
    assert_shows(&admin.get(&page).await, 200, &["Activity", granted]);
    let checkpoint = admin.post("/admin/audit/checkpoint", &[]).await;
    assert_eq!(checkpoint.status, 200);
    assert!(checkpoint.body.contains("\u{2014} "), "it is signed: {}", checkpoint.body);
    let id = crate::pages::hidden(&admin.get("/admin/audit").await, "id");
    let proof = admin.post("/admin/audit/proof", &[("id", &id)]).await;
    assert_eq!(proof.status, 200);
    assert!(proof.body.contains("tlog-proof"), "{}", proof.body);
    assert_eq!(admin.post("/admin/audit/proof", &[("id", "none")]).await.status, 404);
    let wrong = admin.post("/admin/audit/export", &[("from", "yesterday")]).await;
    assert_eq!(wrong.status, 400);
}

#[tokio::test]
async fn a_service_without_mail_says_so() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    assert_shows(&admin.get("/admin/mail").await, 200, &["This service sends no mail."]);
    assert_goes_to(&admin.post("/admin/mail/retry", &[]).await, "/admin/mail");
}

#[tokio::test]
async fn a_key_of_a_machine_is_made_shown_once_and_revoked() {
    let server = server().await;
    let mut admin = admin_browser(&server).await;
    let page = admin.get("/admin/keys").await;
    assert_shows(&page, 200, &["There is no API key.", "scope-guard:*", "scope-users:read"]);
    assert!(!page.body.contains("scope-guard:staff"), "it takes no keys");
    let create = "/admin/keys/create";
    let refused = admin.post(create, &[("name", "CI"), ("days", "90")]).await;
    assert_shows(&refused, 400, &["Choose what the key is for.", "value=\"CI\"", "<details open>"]);
    let fields = [("name", "CI"), ("days", "90"), ("scope-users:read", "1"), ("allow", "ip")];
    let refused = admin.post(create, &fields).await;
    assert_shows(&refused, 400, &["This condition is not valid.", "checked", "value=\"ip\""]);
    let fields = [("name", "CI"), ("days", "9999"), ("scope-users:read", "1")];
    assert_shows(&admin.post(create, &fields).await, 400, &["from 1 to 3660"]);
    let fields = [("name", "CI"), ("days", "90"), ("scope-users:read", "1")];
    let made = admin.post(create, &fields).await;
    assert_shows(&made, 200, &["Copy this key now.", "dw_key_", "users:read"]);
    let (_, rest) = made.body.split_once("<code>dw_key_").unwrap();
    let key = format!("dw_key_{}", rest.split('<').next().unwrap());
    assert!(!admin.get("/admin/keys").await.body.contains("dw_key_"), "it is shown once");
    let call = async || server.request_as(&key, "GET", "/api/admin/keys", json!(null)).await;
    assert_eq!(call().await.status, 401, "it lacks the scope");
    let id = crate::pages::hidden(&made, "id");
    let revoked = admin.post("/admin/keys/revoke", &[("id", &id)]).await;
    assert_goes_to(&revoked, "/admin/keys?done=revoked");
    let page = admin.get("/admin/keys").await;
    assert_shows(&page, 200, &["tag bad\">Revoked"]);
    assert!(!page.body.contains("/admin/keys/revoke"));
}

#[tokio::test]
async fn an_emergency_is_a_choice_ends_with_a_summary_and_mails_links_to_those_without_their_password()
 {
    let settings = |settings: Settings| with_mail(settings).with("public_url", PUBLIC);
    let server = TestServer::open_with(settings).await;
    let mut admin = admin_browser(&server).await;
    Browser::of(&server, "Eve", EVE).await;
    let page = admin.get("/admin").await;
    assert_shows(
        &page,
        200,
        &["type=\"radio\" name=\"passwords\" value=\"all\"", "Which passwords are removed?"],
    );
    for (fields, kept) in [
        (&[("passwords", "role")][..], "value=\"role\" required checked"),
        (&[("passwords", "role"), ("role", "two words")], "value=\"two words\""),
        (&[("passwords", "everybody")], "<details open>"),
        (&[], "<details open>"),
    ] {
        assert_shows(&admin.post("/admin/emergency", fields).await, 400, &[kept]);
    }
    assert_eq!(outbox::reset_links(&server, ADMIN).await, 0);
    let fields = [("passwords", "role"), ("role", "admin")];
    let done = admin.post("/admin/emergency", &fields).await;
    let summary = [
        "2 sessions ended",
        "1 password removed",
        "1 link to a new password mailed",
        "secret of cookies",
    ];
    assert_shows(&done, 200, &summary);
    assert_eq!(admin.get("/admin").await.status, 303, "the administrator is signed out");
    let told = outbox::messages(&server, ADMIN).await;
    assert!(matches!(told[..], [.., Message::PasswordRemoved { .. }]), "{told:?}");
    let told = outbox::messages(&server, EVE).await;
    let is_about_hers = |message: &Message| matches!(message, Message::PasswordRemoved { .. });
    assert!(!told.iter().any(is_about_hers), "she keeps her password: {told:?}");
    // The link was made after everything before it was voided.
    let link = outbox::one_time(&server, ADMIN, Purpose::ResetPassword).await;
    let secret = server.doorward.one_time_secrets().secret(link, Purpose::ResetPassword);
    let body = json!({"code": secret.as_str(), "password": "another horse battery"});
    let reset = server.post("/api/auth/reset", &body).await;
    assert!(reset.status.is_success(), "{}", reset.body);
}
