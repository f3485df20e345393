//! The admin API about users: who may call each route, whole answers, versions, repeated requests, imports and exports.

use std::time::Duration;

use axum::{
    body::Body,
    http::{Request, StatusCode, header},
};
use doorward::{
    Settings,
    internals::{
        access::scope::Scope,
        http::routes::{MayCall, routes},
        mail::Message,
        token::one_time::Purpose,
    },
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    mail::secret,
    outbox::messages,
    support::{Answer, Member, NOT_FOUND, TestServer, routes_about_a_user, with_mail},
};

const USERS: &str = "/api/admin/users";
const INVITATIONS: &str = "/api/admin/invitations";
const ADA: &str = "ada@example.com";
const STALE: Duration = Duration::from_secs(11 * 60);
const ROLES: &str = r#"
[admin.reader]
scopes = ["users:read", "invitations:read"]
[admin.helpdesk]
scopes = ["users:read", "users:write", "users:delete", "invitations:write"]
"#;

fn with_roles(settings: Settings) -> Settings {
    settings.with_toml(ROLES)
}

/// A signed-in user with a role.
async fn with_role(server: &TestServer, email: &str, role: &str) -> Member {
    let member = server.register("Somebody", email).await;
    server.order("PUT", email, &format!("/roles/{role}"), Value::Null).await;
    member
}

/// Sends a request with more headers.
async fn send(
    server: &TestServer,
    token: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Value,
) -> Answer {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header(header::CONTENT_TYPE, "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    server.send(request.body(body).unwrap()).await
}

#[tokio::test]
async fn every_route_of_administrators_admits_those_whom_the_table_names() {
    let server = TestServer::open_with(with_roles).await;
    let nobody = server.register("Nobody", "nobody@example.com").await.token;
    let reader = with_role(&server, "reader@example.com", "reader").await.token;
    let admin = with_role(&server, "admin@example.com", "admin").await.token;
    server.let_pass(STALE);
    let stale = admin.clone();
    let fresh = server.token_of("admin@example.com", "correct horse").await;
    for (number, route) in routes().iter().filter(|route| !route.is_page()).enumerate() {
        let (scope, needs_fresh) = match route.may_call {
            MayCall::Admin(scope) => (scope, false),
            MayCall::Fresh(scope) => (scope, true),
            _ => continue,
        };
        // Some of these delete the user or the session.
        let target = format!("target-{number}@example.com");
        let path = route.path.replace("{user}", &target).replace("{role}", "staff");
        let path = path.replace("{id}", "0190a0a0-0000-4000-8000-00000000000a");
        let path = path.replace("{invitation}", "guest@example.com");
        let method = route.method.as_str();
        let call = async |token: &str| {
            server.register("Target", &target).await;
            let body = match method {
                "GET" => Value::Null,
                _ => json!({"password": "another horse"}),
            };
            let answer = server.request_as(token, method, &path, body).await;
            server.operator("DELETE", &format!("{USERS}/{target}"), Value::Null).await;
            answer
        };
        let challenge =
            |answer: &Answer| answer.header("www-authenticate").unwrap_or_default().to_owned();
        let name = format!("{method} {path}");
        let anonymous = server.request(method.parse().unwrap(), &path, &[]).await;
        assert_eq!(anonymous.status, 401, "{name}");
        let refused = call(&nobody).await;
        assert_eq!(refused.status, 401, "{name}");
        assert!(challenge(&refused).ends_with("error=\"insufficient_scope\""), "{name}");
        let is_reading = matches!(scope, Scope::UsersRead | Scope::InvitationsRead);
        let read = call(&reader).await;
        assert_eq!(read.status == 401, !is_reading || needs_fresh, "{name}: {}", read.body);
        let aged = call(&stale).await;
        assert_eq!(aged.status == 401, needs_fresh, "{name}: {}", aged.body);
        if needs_fresh {
            let wanted = "max_age=600, error=\"insufficient_user_authentication\"";
            assert!(challenge(&aged).ends_with(wanted), "{name}");
        }
        assert_ne!(call(&fresh).await.status, 401, "{name}");
        server.register("Target", &target).await;
        assert_ne!(server.operator(method, &path, Value::Null).await.status, 401, "{name}");
        server.operator("DELETE", &format!("{USERS}/{target}"), Value::Null).await;
    }
}

#[tokio::test]
async fn a_user_is_shown_with_what_they_have() {
    let server = TestServer::open().await;
    let admin = with_role(&server, "admin@example.com", "admin").await.token;
    let ada = server.register("Ada", ADA).await;
    let shown = server.request_as(&admin, "GET", &format!("{USERS}/{ADA}"), Value::Null).await;
    assert_eq!(shown.header("cache-control"), Some("no-store"));
    let mut shown = shown.json();
    let session = shown["sessions"][0].take();
    assert_eq!(
        shown,
        json!({
            "id": ada.id,
            "name": "Ada",
            "email": ADA,
            "emailVerified": false,
            "roles": [],
            "hasPassword": true,
            "disabled": false,
            "createdAt": "2027-01-15T08:00:00.000Z",
            "updatedAt": "2027-01-15T08:00:00.000Z",
            "lastLoginAt": "2027-01-15T08:00:00.000Z",
            "sessions": [null],
            "factors": [],
            "recoveryCodes": 0,
            "trustedDevices": [],
            "apiKeys": [],
            "identities": [],
        })
    );
    let id = session["id"].as_str().unwrap();
    let path = format!("{USERS}/{}/sessions", ada.id);
    let listed = server.request_as(&admin, "GET", &path, Value::Null).await.json();
    assert_eq!(listed, json!({"sessions": [session]}));
    let end = format!("{path}/{id}");
    let ended = server.request_as(&admin, "DELETE", &end, Value::Null).await;
    assert_eq!(ended.status_and_body(), (204, ""));
    let again = server.request_as(&admin, "DELETE", &end, Value::Null).await;
    assert_eq!(again.status_and_body(), (404, NOT_FOUND));
    assert_eq!(server.guard("guard", &ada.token).await.status, 401);
}

#[tokio::test]
async fn users_are_listed_by_page_and_filtered() {
    let server = TestServer::open().await;
    for name in ["carol", "ada", "bob"] {
        server.register(name, &format!("{name}@example.com")).await;
    }
    server.order("PUT", "bob@example.com", "/roles/staff", Value::Null).await;
    server.order("PATCH", "carol@example.com", "", json!({"disabled": true})).await;
    let emails = async |query: &str| -> Vec<String> {
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("{USERS}?{query}{after}");
            let page = server.operator("GET", &path, Value::Null).await.json();
            let users = page["users"].as_array().unwrap().iter();
            found.extend(users.map(|user| user["email"].as_str().unwrap().to_owned()));
            let Some(next) = page["next"].as_str() else { return found };
            after = format!("&after={}", next.replace(' ', "+"));
        }
    };
    let all = ["ada@example.com", "bob@example.com", "carol@example.com"];
    assert_eq!(emails("limit=2").await, all);
    assert_eq!(emails("limit=1").await, all);
    assert_eq!(emails("text=EXAMPLE.com").await, all);
    assert_eq!(emails("text=e&limit=1").await, all);
    assert_eq!(emails("text=bob%40e").await, ["bob@example.com"]);
    assert_eq!(emails("text=ob").await, [""; 0], "not the start of a word");
    assert_eq!(emails("text=role").await, [""; 0]);
    assert_eq!(emails("role=staff").await, ["bob@example.com"]);
    assert_eq!(emails("disabled=true").await, ["carol@example.com"]);

    // Every change counts at once.
    server
        .order(
            "PATCH",
            "ada@example.com",
            "",
            json!({"name": "Augusta", "email": "byron@example.com"}),
        )
        .await;
    assert_eq!(emails("text=ada").await, [""; 0]);
    assert_eq!(emails("text=augusta+byron").await, ["byron@example.com"]);
    server.order("DELETE", "bob@example.com", "/roles/staff", Value::Null).await;
    assert_eq!(emails("role=staff").await, [""; 0]);
    server.order("PATCH", "carol@example.com", "", json!({"disabled": false})).await;
    assert_eq!(emails("disabled=true").await, [""; 0]);
    server.order("DELETE", "bob@example.com", "", Value::Null).await;
    assert_eq!(emails("text=bob").await, [""; 0]);
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("disabled=1", "disabled"),
        ("rol=staff", "rol"),
    ] {
        let refused = server.operator("GET", &format!("{USERS}?{query}"), Value::Null).await;
        assert_eq!(refused.status, 400, "{query}");
        assert!(refused.json()["error"][0].get(field).is_some(), "{}", refused.body);
    }
}

#[tokio::test]
async fn a_change_of_the_address_is_told_to_the_old_one_and_can_be_taken_back() {
    let server = TestServer::open_with(with_mail).await;
    server.register("Ada", ADA).await;
    server.order("PATCH", ADA, "", json!({"emailVerified": true})).await;
    let known = messages(&server, ADA).await.len();
    let body = json!({"name": "Ada King", "email": "ada@new.example"});
    let changed = server.order("PATCH", ADA, "", body).await.json();
    assert_eq!(
        (&changed["name"], &changed["email"], &changed["emailVerified"]),
        (&json!("Ada King"), &json!("ada@new.example"), &json!(false))
    );
    let told = messages(&server, ADA).await;
    assert!(matches!(told[known..], [Message::EmailChanged { .. }]), "{told:?}");
    let (link, _) = secret(&server, ADA, Purpose::RestoreEmail).await;
    let body = json!({"code": link, "password": "another horse"});
    assert_eq!(server.post("/api/auth/restore-email", &body).await.status, 204);
    server.token_of(ADA, "another horse").await;
    server.register("Eve", "eve@example.com").await;
    let path = format!("{USERS}/{ADA}");
    let taken = server.operator("PATCH", &path, json!({"email": "EVE@example.com"})).await;
    assert_eq!(taken.status, 409);
}

#[tokio::test]
async fn a_change_needs_the_version_that_was_read_if_the_client_says_so() {
    let server = TestServer::open().await;
    let admin = with_role(&server, "admin@example.com", "admin").await.token;
    server.register("Ada", ADA).await;
    let path = format!("{USERS}/{ADA}");
    let shown = send(&server, &admin, "GET", &path, &[], Value::Null).await;
    let first = shown.header("etag").unwrap().to_owned();
    let change = async |tag: &str, body: Value| {
        send(&server, &admin, "PATCH", &path, &[("if-match", tag)], body).await
    };
    let changed = change(&first, json!({"name": "Countess"})).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    let second = changed.header("etag").unwrap().to_owned();
    assert_ne!(first, second);
    let late = change(&first, json!({"name": "Late"})).await;
    assert_eq!(
        late.status_and_body(),
        (
            412,
            r#"{"message":"the user has changed in the meantime: read them again, and repeat the request"}"#
        )
    );
    let weak = format!("W/{second}");
    assert_eq!(change(&weak, json!({"name": "Weak"})).await.status, 412, "only a strong tag");
    assert_eq!(change("nonsense", json!({"name": "Late"})).await.status, 400);
    let invalid = change(&first, json!({"email": "nonsense"})).await;
    assert_eq!(invalid.status, 400, "refused without its precondition, too");
    let listed = format!("{first}, {second}");
    assert_eq!(change(&listed, json!({"name": "Lady"})).await.json()["name"], "Lady");
    assert_eq!(change("*", json!({"name": "Ada"})).await.status, 200);
    // A login is no change.
    let shown = send(&server, &admin, "GET", &path, &[], Value::Null).await;
    server.token_of(ADA, "correct horse").await;
    let again = send(&server, &admin, "GET", &path, &[], Value::Null).await;
    assert_eq!(shown.header("etag"), again.header("etag"));
    let delete = async |tag: &str| {
        send(&server, &admin, "DELETE", &path, &[("if-match", tag)], Value::Null).await.status
    };
    assert_eq!(delete(&second).await, 412);
    assert_eq!(delete(again.header("etag").unwrap()).await, 204);
}

#[tokio::test]
async fn of_changes_to_one_version_at_the_same_time_one_is_made() {
    let server = std::sync::Arc::new(TestServer::open().await);
    let admin = with_role(&server, "admin@example.com", "admin").await.token;
    server.register("Ada", ADA).await;
    let path = format!("{USERS}/{ADA}");
    for _ in 0..5 {
        let shown = send(&server, &admin, "GET", &path, &[], Value::Null).await;
        let tag = shown.header("etag").unwrap().to_owned();
        let mut changes = JoinSet::new();
        for number in 0..8 {
            let (server, admin, path, tag) =
                (server.clone(), admin.clone(), path.clone(), tag.clone());
            changes.spawn(async move {
                let body = json!({"name": format!("Ada {number}"), "disabled": number % 2 == 0});
                let answer =
                    send(&server, &admin, "PATCH", &path, &[("if-match", &tag)], body).await;
                (answer.status.as_u16(), answer.body)
            });
        }
        let mut answers = changes.join_all().await;
        answers.sort();
        let statuses: Vec<_> = answers.iter().map(|(status, _)| *status).collect();
        assert_eq!(statuses, [200, 412, 412, 412, 412, 412, 412, 412]);
        let made: Value = serde_json::from_str(&answers[0].1).unwrap();
        let shown = send(&server, &admin, "GET", &path, &[], Value::Null).await.json();
        assert_eq!(shown["name"], made["name"]);
        server.order("PATCH", ADA, "", json!({"name": "Ada", "disabled": false})).await;
        server.let_pass(Duration::from_secs(1));
    }
}

#[tokio::test]
async fn a_repeated_request_creates_one_user() {
    let server = std::sync::Arc::new(TestServer::open().await);
    let admin = with_role(&server, "admin@example.com", "admin").await.token;
    let body = json!({"name": "Ada", "email": ADA});
    let create = async |token: &str, key: &str, body: &Value| {
        send(&server, token, "POST", USERS, &[("idempotency-key", key)], body.clone()).await
    };
    let first = create(&admin, "one", &body).await;
    let again = create(&admin, "one", &body).await;
    assert_eq!((first.status, &first.body), (StatusCode::CREATED, &again.body));
    let other = json!({"name": "Eve", "email": ADA});
    assert_eq!(create(&admin, "one", &other).await.status, 422);
    assert_eq!(create(&admin, "two", &body).await.status, 409);
    for key in ["", &"x".repeat(256)] {
        assert_eq!(create(&admin, key, &body).await.status, 400);
    }
    // The key belongs to whoever sends it.
    let second = with_role(&server, "second@example.com", "admin").await.token;
    let theirs = create(&second, "one", &json!({"name": "Bob", "email": "bob@example.com"})).await;
    assert_eq!(theirs.status, StatusCode::CREATED);
    let mut creations = JoinSet::new();
    for _ in 0..8 {
        let (server, admin) = (server.clone(), admin.clone());
        creations.spawn(async move {
            let body = json!({"name": "Carol", "email": "carol@example.com"});
            let headers = [("idempotency-key", "carol")];
            let answer = send(&server, &admin, "POST", USERS, &headers, body).await;
            (answer.status.as_u16(), answer.json()["id"].clone())
        });
    }
    let answers = creations.join_all().await;
    assert!(answers.iter().all(|answer| *answer == answers[0] && answer.0 == 201), "{answers:?}");
}

#[tokio::test]
async fn a_repeated_request_makes_one_invitation_and_queues_one_mail() {
    let server = TestServer::open_with(with_mail).await;
    let admin = with_role(&server, "admin@example.com", "admin").await.token;
    let invite = async |key: &str, body: Value| {
        send(&server, &admin, "POST", INVITATIONS, &[("idempotency-key", key)], body).await
    };
    let body = json!({"email": "guest@example.com", "roles": ["staff"]});
    let first = invite("one", body.clone()).await;
    let again = invite("one", body).await;
    assert_eq!((first.status, &first.body), (StatusCode::CREATED, &again.body));
    assert_eq!(messages(&server, "guest@example.com").await.len(), 1);
    assert_eq!(invite("one", json!({"email": "guest@example.com"})).await.status, 422);
    let by_hand = json!({"email": "friend@example.com", "mail": false});
    let first = invite("two", by_hand.clone()).await;
    let again = invite("two", by_hand).await;
    assert!(first.json()["code"].is_string());
    assert_eq!(first.body, again.body, "the same ticket");
}

#[tokio::test]
async fn nobody_gets_more_rights_than_they_have_by_administering_others() {
    let server = TestServer::open_with(with_roles).await;
    with_role(&server, "admin@example.com", "admin").await;
    let helper = with_role(&server, "helper@example.com", "helpdesk").await.token;
    server.register("Ada", ADA).await;
    let of_admin = format!("{USERS}/admin@example.com");
    let shown = server.operator("GET", &of_admin, Value::Null).await.json();
    let session = shown["sessions"][0]["id"].as_str().unwrap();
    // Every order about a user.
    for route in routes_about_a_user() {
        let method = route.method.as_str();
        let path = route.path.replace("{user}", "admin@example.com").replace("{role}", "admin");
        let path = path.replace("{id}", session);
        let body = match method {
            "GET" => continue,
            "PATCH" | "POST" => json!({"email": "helper@example.net", "password": "another horse"}),
            _ => Value::Null,
        };
        let answer = server.request_as(&helper, method, &path, body).await;
        assert_eq!(answer.status, 403, "{method} {path}: {}", answer.body);
    }
    for (method, path, body) in [
        ("PUT", format!("{USERS}/{ADA}/roles/admin"), Value::Null),
        ("PUT", format!("{USERS}/helper@example.com/roles/admin"), Value::Null),
        ("POST", INVITATIONS.to_owned(), json!({"email": "e@example.com", "roles": ["admin"]})),
    ] {
        let answer = server.request_as(&helper, method, &path, body).await;
        assert_eq!(answer.status, 403, "{method} {path}: {}", answer.body);
    }
    let dropped = json!({"users": [shown["id"]]});
    let answer = server.request_as(&helper, "DELETE", "/api/admin/imported-hashes", dropped).await;
    assert_eq!(answer.status, 403, "{}", answer.body);
    let admin = json!({"id": "0190a0a0-0000-4000-8000-00000000000a", "name": "Eve", "email": "eve@example.com", "roles": ["admin"]});
    let imported = server.request_as(&helper, "POST", "/api/admin/import", admin).await;
    assert!(imported.body.contains("\"outcome\":\"invalid\""), "{}", imported.body);
    for (method, what, body) in [
        ("PUT", "/roles/helpdesk", Value::Null),
        ("PATCH", "", json!({"name": "Ada King"})),
        ("POST", "/password", json!({"password": "another horse"})),
    ] {
        let answer =
            server.request_as(&helper, method, &format!("{USERS}/{ADA}{what}"), body).await;
        assert!(answer.status.is_success(), "{method} {what}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_user_who_has_to_set_a_new_password_does_so_with_the_mailed_link_or_a_code() {
    for mails in [true, false] {
        let server = TestServer::open_with(|settings| match mails {
            true => with_mail(settings),
            false => settings,
        })
        .await;
        let ada = server.register("Ada", ADA).await;
        let required = server.order("POST", ADA, "/require-new-password", Value::Null).await;
        assert_eq!(required.json(), json!({"mailed": mails}));
        assert_eq!(server.login(ADA, "correct horse").await.status, 404);
        assert_eq!(server.guard("guard", &ada.token).await.status, 401);
        let shown = server.order("GET", ADA, "", Value::Null).await.json();
        assert_eq!((&shown["hasPassword"], &shown["sessions"]), (&json!(false), &json!([])));
        let code = match mails {
            true => secret(&server, ADA, Purpose::ResetPassword).await.0,
            false => {
                let made = server.order("POST", ADA, "/reset-code", Value::Null).await.json();
                made["code"].as_str().unwrap().to_owned()
            }
        };
        let body = json!({"code": code, "password": "another horse"});
        assert_eq!(server.post("/api/auth/reset", &body).await.status, 204);
        server.token_of(ADA, "another horse").await;
    }
}

#[tokio::test]
async fn an_import_answers_each_line_and_reads_what_an_export_writes() {
    let server = TestServer::open().await;
    server.register("Ada", ADA).await;
    server.order("PATCH", ADA, "", json!({"emailVerified": true})).await;
    server.order("PUT", ADA, "/roles/staff", Value::Null).await;
    let exported = server.operator("GET", "/api/admin/export", Value::Null).await;
    assert_eq!(exported.header("content-type"), Some("application/x-ndjson"));
    let record: Value = serde_json::from_str(exported.body.trim_end()).unwrap();
    assert!(record["hash"].as_str().unwrap().starts_with("$argon2id$"));
    let admin = with_role(&server, "admin@example.com", "admin").await.token;
    let without = server.request_as(&admin, "GET", "/api/admin/export", Value::Null).await;
    assert_eq!(without.body.lines().count(), 2);
    assert!(!without.body.contains("hash"), "hashes stay on the machine: {}", without.body);

    let other = TestServer::open().await;
    let taken = "0190a0a0-0000-4000-8000-00000000000a";
    let lines = [
        exported.body.trim_end().to_owned(),
        "nonsense".to_owned(),
        json!({"id": taken, "name": "Bob", "email": "bob@example.com"}).to_string(),
        json!({"id": taken, "name": "Eve", "email": "eve@example.com"}).to_string(),
        json!({"id": "x", "name": "Eve", "email": "eve@example.com"}).to_string(),
        exported.body.trim_end().replace("\"Ada\"", "\"Ada King\""),
    ];
    let import = async |query: &str| -> Vec<Value> {
        let path = format!("/api/admin/import{query}");
        let request = Request::post(path).extension(other.operator_extension());
        // Without an end of the last line.
        let answer = other.send(request.body(Body::from(lines.join("\n"))).unwrap()).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let outcomes = |told: &[Value]| -> Vec<String> {
        let outcome =
            |told: &Value| format!("{} {}", told["line"], told["outcome"].as_str().unwrap());
        told.iter().map(outcome).collect()
    };
    let checked = import("?check=true").await;
    assert_eq!(
        outcomes(&checked),
        ["1 added", "2 invalid", "3 added", "4 added", "5 invalid", "6 added"]
    );
    assert!(other.doorward.user_by_email(ADA).await.unwrap().is_none(), "nothing was written");
    let told = import("").await;
    assert_eq!(
        outcomes(&told),
        ["1 added", "2 invalid", "3 added", "4 idTaken", "5 invalid", "6 differs"]
    );
    assert_eq!(told[3]["email"], "bob@example.com");
    assert_eq!(told[4]["problem"], "id is not valid: correct it");
    assert_eq!(told[5]["fields"], json!(["name"]));
    assert_eq!(outcomes(&import("").await)[0], "1 exists");
    let token = other.token_of(ADA, "correct horse").await;
    let me = other.request_as(&token, "GET", "/api/me", Value::Null).await.json();
    assert_eq!((&me["roles"], &me["emailVerified"]), (&json!(["staff"]), &json!(true)));
}

#[tokio::test]
async fn an_import_makes_administrators_only_if_the_query_says_so() {
    let server = TestServer::open().await;
    let admin = with_role(&server, "admin@example.com", "admin").await.token;
    let id = "0190a0a0-0000-4000-8000-00000000000a";
    let eve =
        json!({"id": id, "name": "Eve", "email": "eve@example.com", "roles": ["admin", "staff"]});
    let import = async |path: &str| server.request_as(&admin, "POST", path, eve.clone()).await.body;
    let refused = "{\"line\":1,\"outcome\":\"administers\",\"roles\":[\"admin\"]}\n";
    assert_eq!(import("/api/admin/import").await, refused);
    assert_eq!(import("/api/admin/import?check=true").await, refused);
    assert!(server.doorward.user_by_email("eve@example.com").await.unwrap().is_none());
    let added = "{\"line\":1,\"outcome\":\"added\"}\n";
    assert_eq!(import("/api/admin/import?adminRoles=true").await, added);
    // Who is there already is not changed, so nothing has to be allowed.
    assert_eq!(import("/api/admin/import").await, "{\"line\":1,\"outcome\":\"exists\"}\n");
    let events =
        server.request_as(&admin, "GET", "/api/admin/audit?kind=user_imported", Value::Null).await;
    let event = &events.json()["events"][0];
    assert_eq!(
        (&event["subject"], &event["details"]["roles"]),
        (&json!(id), &json!(["admin", "staff"]))
    );
}

#[tokio::test]
async fn an_import_of_many_batches_keeps_the_numbers_of_the_lines() {
    let server = TestServer::open().await;
    let line = |number: usize| {
        let id = format!("0190a0a0-0000-4000-8000-{number:012}");
        json!({"id": id, "name": "Somebody", "email": format!("u{number}@example.com")}).to_string()
    };
    let body: Vec<_> = (1..=1234).map(line).collect();
    let request = Request::post("/api/admin/import").extension(server.operator_extension());
    let answer = server.send(request.body(Body::from(body.join("\n") + "\n")).unwrap()).await;
    let expected: String =
        (1..=1234).map(|line| format!("{{\"line\":{line},\"outcome\":\"added\"}}\n")).collect();
    assert_eq!(answer.body, expected);
    let request = Request::post("/api/admin/import").extension(server.operator_extension());
    let long = format!("{}\n{}\n", line(2000), "x".repeat(70_000));
    let answer = server.send(request.body(Body::from(long)).unwrap()).await;
    let told: Vec<_> = answer.body.lines().collect();
    assert_eq!(told[0], r#"{"line":1,"outcome":"added"}"#);
    assert_eq!(told.len(), 2);
    assert!(told[1].contains("\"line\":2,\"outcome\":\"failed\""), "{}", told[1]);
}

#[tokio::test]
async fn imported_hashes_are_listed_and_dropped() {
    const BCRYPT: &str = "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe";
    let server = TestServer::open().await;
    let admin = with_role(&server, "admin@example.com", "admin").await.token;
    let id = "0190a0a0-0000-4000-8000-00000000000a";
    let user = json!({"id": id, "name": "Bob", "email": "bob@example.com", "hash": BCRYPT});
    server.operator("POST", "/api/admin/import", user).await;
    let path = "/api/admin/imported-hashes";
    let listed = server.operator("GET", path, Value::Null).await.json();
    let imported_at = "2027-01-15T08:00:00.000Z";
    assert_eq!(
        listed,
        json!({"hashes": [{"user": id, "email": "bob@example.com", "prefix": "$2a$06$", "importedAt": imported_at}], "next": null})
    );
    let listed = server.request_as(&admin, "GET", path, Value::Null).await.json();
    assert_eq!(
        listed,
        json!({"hashes": [{"user": id, "email": "bob@example.com", "importedAt": imported_at}], "next": null}),
        "the prefix may be a secret"
    );
    let drop = json!({"users": [id]});
    let dropped = server.request_as(&admin, "DELETE", path, drop.clone()).await;
    assert_eq!(dropped.status_and_body(), (200, r#"{"dropped":1}"#));
    let again = server.request_as(&admin, "DELETE", path, drop).await;
    assert_eq!(again.status_and_body(), (200, r#"{"dropped":0}"#));
    let shown = server.order("GET", id, "", Value::Null).await.json();
    assert_eq!(shown["hasPassword"], false);
}
