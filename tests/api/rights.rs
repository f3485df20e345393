//! Rights are judged when something is carried out: while a body or an answer is under way, and after a role was granted.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{Request, header},
};
use doorward::{
    Settings,
    internals::{
        Internals,
        token::one_time::{OneTimeSecret, Purpose},
    },
};
use futures_util::{StreamExt, future::join_all, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{
    factors::{Authenticator, Person, answer_passkey, server as server_with_factors, token},
    support::{Answer, Member, TestServer, UNAUTHORIZED, malformed},
};

const USERS: &str = "/api/admin/users";
const IMPORT: &str = "/api/admin/import";
const ADA: &str = "ada@example.com";
const HELPER: &str = "helper@example.com";
const ROLES: &str = r#"
[admin.helpdesk]
scopes = ["users:read", "users:write", "audit:read"]
"#;

fn with_roles(settings: Settings) -> Settings {
    settings.with_toml(ROLES)
}

async fn with_role(server: &TestServer, email: &str, role: &str) -> Member {
    let member = server.register("Somebody", email).await;
    server.order("PUT", email, &format!("/roles/{role}"), Value::Null).await;
    member
}

/// A body that arrives part by part, as the test sends them.
struct SlowBody {
    parts: mpsc::UnboundedSender<String>,
    /// Gets a value each time that somebody waits for the next part.
    waits: mpsc::UnboundedReceiver<()>,
}

impl SlowBody {
    fn new() -> (Self, Body) {
        let (parts, arriving) = mpsc::unbounded_channel::<String>();
        let (waiting, waits) = mpsc::unbounded_channel();
        let body = stream::unfold((arriving, waiting), async |(mut arriving, waiting)| {
            let _ = waiting.send(());
            let part = arriving.recv().await?;
            Some((Ok::<_, Infallible>(Bytes::from(part)), (arriving, waiting)))
        });
        (Self { parts, waits }, Body::from_stream(body))
    }

    /// Waits until the service waits for the next part.
    async fn awaited(&mut self) {
        self.waits.recv().await.unwrap();
    }

    fn send(&self, part: impl Into<String>) {
        self.parts.send(part.into()).unwrap();
    }
}

fn request(credential: &str, method: &str, path: &str, body: Body) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, format!("Bearer {credential}"))
        .header(header::CONTENT_TYPE, "application/json")
        .body(body)
        .unwrap()
}

fn imported(number: usize) -> String {
    let id = format!("0190a0a0-0000-4000-8000-{number:012}");
    let user = json!({"id": id, "name": "Somebody", "email": format!("u{number}@example.com")});
    format!("{user}\n")
}

/// The ways to lose the right to import, for a signed-in helper.
const WAYS: [(&str, &str, &str); 5] = [
    ("DELETE", HELPER, "/roles/helpdesk"),
    ("DELETE", HELPER, "/sessions"),
    ("PATCH", HELPER, ""),
    ("DELETE", HELPER, ""),
    ("POST", HELPER, "/password"),
];

async fn lose_rights(server: &TestServer, (method, user, what): (&str, &str, &str)) {
    let body = match (method, what) {
        ("PATCH", _) => json!({"disabled": true}),
        ("POST", _) => json!({"password": "another horse"}),
        _ => Value::Null,
    };
    server.order(method, user, what, body).await;
}

#[tokio::test]
async fn an_order_whose_body_arrives_slowly_is_judged_when_it_is_carried_out() {
    for way in WAYS {
        let server = TestServer::open_with(with_roles).await;
        server.register("Ada", ADA).await;
        let helper = with_role(&server, HELPER, "helpdesk").await.token;
        let (mut body, sent) = SlowBody::new();
        let path = format!("{USERS}/{ADA}/password");
        let order = server.send(request(&helper, "POST", &path, sent));
        let revoked = async {
            body.awaited().await;
            body.send("{\"password\":");
            body.awaited().await;
            lose_rights(&server, way).await;
            body.send("\"known to the helper\"}");
            drop(body);
        };
        let (answer, ()) = tokio::join!(order, revoked);
        assert_eq!(answer.status_and_body(), (401, UNAUTHORIZED), "{way:?}");
        assert_eq!(server.login(ADA, "correct horse").await.status, 200, "{way:?}");
    }
}

#[tokio::test]
async fn an_own_order_whose_body_arrives_slowly_is_judged_when_it_is_carried_out() {
    let server = TestServer::open().await;
    let ada = server.register("Ada", ADA).await.token;
    let (mut body, sent) = SlowBody::new();
    let order = server.send(request(&ada, "PATCH", "/api/me", sent));
    let revoked = async {
        body.awaited().await;
        server.order("DELETE", ADA, "/sessions", Value::Null).await;
        body.send("{\"name\":\"Eve\"}");
        drop(body);
    };
    let (answer, ()) = tokio::join!(order, revoked);
    assert_eq!(answer.status_and_body(), (401, UNAUTHORIZED));
    let user = server.doorward.user_by_email(ADA).await.unwrap().unwrap();
    assert_eq!(user.name.as_str(), "Ada");
}

/// Imports a batch, loses the rights in this way, and sends the rest. Returns the answer.
async fn interrupted_import(
    server: &TestServer,
    credential: &str,
    lose: impl AsyncFnOnce(),
) -> Answer {
    const BATCH: usize = 500;
    let (mut body, sent) = SlowBody::new();
    let importing = server.send(request(credential, "POST", IMPORT, sent));
    let rest = async {
        body.awaited().await;
        body.send((1..=BATCH).map(imported).collect::<String>());
        // The first batch is written before anybody asks for more.
        body.awaited().await;
        lose().await;
        body.send((BATCH + 1..=BATCH + 3).map(imported).collect::<String>());
        drop(body);
    };
    tokio::join!(importing, rest).0
}

fn assert_ends_with_the_first_batch(answer: &Answer, way: &str) {
    assert_eq!(answer.status, 200, "{way}");
    let told: Vec<_> = answer.body.lines().collect();
    assert_eq!(told.len(), 501, "{way}");
    assert_eq!(told[499], r#"{"line":500,"outcome":"added"}"#, "{way}");
    let problem = "you may not import users any more: this line and the rest were not imported";
    let last = format!(r#"{{"line":501,"outcome":"failed","problem":"{problem}"}}"#);
    assert_eq!(told[500], last, "{way}");
}

#[tokio::test]
async fn an_import_ends_with_the_rights_of_whoever_opened_it() {
    for way in WAYS {
        let server = TestServer::open_with(with_roles).await;
        let helper = with_role(&server, HELPER, "helpdesk").await.token;
        let answer = interrupted_import(&server, &helper, async || lose_rights(&server, way).await);
        let answer = answer.await;
        assert_ends_with_the_first_batch(&answer, way.2);
        assert!(server.doorward.user_by_email("u500@example.com").await.unwrap().is_some());
        assert!(server.doorward.user_by_email("u501@example.com").await.unwrap().is_none());
    }
}

#[tokio::test]
async fn an_import_ends_with_its_key_and_with_an_emergency() {
    let server = TestServer::open_with(with_roles).await;
    let made = json!({"name": "import", "scopes": ["users:write"]});
    let made = server.ordered("POST", "/api/admin/keys", made).await;
    let (key, path) = (
        made["key"].as_str().unwrap(),
        format!("/api/admin/keys/{}", made["id"].as_str().unwrap()),
    );
    let answer = interrupted_import(&server, key, async || {
        server.ordered("DELETE", &path, Value::Null).await;
    });
    assert_ends_with_the_first_batch(&answer.await, "key");

    let server = TestServer::open_with(with_roles).await;
    let helper = with_role(&server, HELPER, "helpdesk").await.token;
    let answer = interrupted_import(&server, &helper, async || {
        let none = json!({"newPasswords": "none"});
        server.ordered("POST", "/api/admin/emergency", none).await;
    });
    assert_ends_with_the_first_batch(&answer.await, "emergency");
}

#[tokio::test]
async fn an_import_of_a_person_needs_a_sign_in_that_is_not_long_ago() {
    let server = TestServer::open_with(with_roles).await;
    let helper = with_role(&server, HELPER, "helpdesk").await.token;
    let answer = interrupted_import(&server, &helper, async || {
        server.let_pass(Duration::from_secs(11 * 60));
    });
    let answer = answer.await;
    let last = answer.body.lines().last().unwrap();
    assert!(last.contains("the sign-in is too long ago: sign in again"), "{last}");
}

#[tokio::test]
async fn a_long_answer_ends_with_the_rights_of_whoever_asked_for_it() {
    let server = TestServer::open_with(with_roles).await;
    with_role(&server, HELPER, "helpdesk").await;
    for path in ["/api/admin/audit/export", "/api/admin/export"] {
        let helper = server.token_of(HELPER, "correct horse").await;
        let answer = async || {
            let answer = server.respond(request(&helper, "GET", path, Body::empty())).await;
            assert_eq!(answer.status(), 200, "{path}");
            answer.into_body().into_data_stream()
        };
        assert!(answer().await.next().await.unwrap().is_ok(), "{path}");
        let mut body = answer().await;
        server.order("DELETE", HELPER, "/sessions", Value::Null).await;
        assert!(body.next().await.unwrap().is_err(), "{path}");
        assert!(body.next().await.is_none(), "{path}");
    }
}

#[tokio::test]
async fn a_code_or_a_link_of_a_helper_is_void_when_its_user_becomes_an_administrator() {
    let server = TestServer::open_with(with_roles).await;
    server.register("Ada", ADA).await;
    let helper = with_role(&server, HELPER, "helpdesk").await.token;
    let made = async |what: &str| {
        let path = format!("{USERS}/{ADA}/{what}");
        let made = server.request_as(&helper, "POST", &path, Value::Null).await;
        assert_eq!(made.status, 201, "{}", made.body);
        made.json()
    };
    let (code, link) = (made("reset-code").await, made("factor-reset").await);
    server.order("PUT", ADA, "/roles/admin", Value::Null).await;
    let body = json!({"code": code["code"], "password": "known to the helper"});
    let refused = server.post("/api/auth/reset", &body).await;
    assert_eq!(refused.status_and_body(), (401, UNAUTHORIZED));
    let secret = OneTimeSecret::unchecked(link["secret"].as_str().unwrap().to_owned());
    let store = server.doorward.store();
    let left = store.one_time_by_digest(Purpose::FactorReset, &secret.digest()).await.unwrap();
    assert_eq!(left, None);
    assert_eq!(server.login(ADA, "known to the helper").await.status, 404);
    server.token_of(ADA, "correct horse").await;
}

#[tokio::test]
async fn nobody_unlocks_their_own_account_and_others_need_a_new_sign_in() {
    let server = TestServer::open_with(with_roles).await;
    server.register("Ada", ADA).await;
    let helper = with_role(&server, HELPER, "helpdesk").await.token;
    let unlock = async |credential: &str, user: &str| {
        let path = format!("{USERS}/{user}/unlock");
        server.request_as(credential, "POST", &path, Value::Null).await
    };
    let own = unlock(&helper, HELPER).await;
    assert_eq!(own.status, 403, "{}", own.body);
    assert!(own.body.contains("somebody else has to unlock your account"), "{}", own.body);
    let made = json!({"name": "mine", "scopes": ["users:read", "users:write", "audit:read"]});
    let made = server.request_as(&helper, "POST", "/api/me/keys", made).await.json();
    let own = unlock(made["key"].as_str().unwrap(), HELPER).await;
    assert_eq!(own.status, 403, "with a key of one's own: {}", own.body);
    assert!(own.body.contains("somebody else has to unlock your account"), "{}", own.body);
    assert_eq!(unlock(&helper, ADA).await.status, 204);
    server.let_pass(Duration::from_secs(11 * 60));
    let stale = unlock(&helper, ADA).await;
    assert_eq!(stale.status, 401);
    assert!(stale.header("www-authenticate").unwrap().contains("max_age=600"));
}

#[tokio::test]
async fn the_key_of_somebody_who_may_do_more_is_not_revoked() {
    let server = TestServer::open_with(|settings| {
        settings.with_toml("[admin.keeper]\nscopes = [\"keys:read\", \"keys:write\"]\n")
    })
    .await;
    let ada = with_role(&server, ADA, "admin").await.token;
    let keeper = with_role(&server, HELPER, "keeper").await.token;
    let somebody = server.register("Somebody", "somebody@example.com").await.token;
    let key_of = async |token: &str| {
        let key = json!({"name": "ci", "scopes": ["guard:*"]});
        let made = server.request_as(token, "POST", "/api/me/keys", key).await;
        assert_eq!(made.status, 201, "{}", made.body);
        made.json()["id"].as_str().unwrap().to_owned()
    };
    let revoke = async |token: &str, key: &str| {
        let path = format!("/api/admin/keys/{key}");
        server.request_as(token, "DELETE", &path, Value::Null).await
    };
    let (of_admin, of_somebody) = (key_of(&ada).await, key_of(&somebody).await);
    let refused = revoke(&keeper, &of_admin).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert_eq!(revoke(&keeper, &of_somebody).await.status, 204);
    assert_eq!(revoke(&ada, &of_admin).await.status, 204, "it was not revoked before");
}

#[tokio::test]
async fn what_narrows_rights_refuses_unknown_members() {
    let server = TestServer::open().await;
    let ada = with_role(&server, ADA, "admin").await.token;
    let no_member = |known: &str| format!("Unrecognized key, expected {known}");
    let meant = |known: &str| format!("Unrecognized key, did you mean {known}?");
    let of_keys = "lifetime, allow, name, scopes";
    let key = json!({"name": "ci", "scopes": ["guard:*"]});
    let with = |body: &Value, member: &str| {
        let mut body = body.clone();
        body[member] = json!("false");
        body
    };
    for (path, body, member, fault) in [
        ("/api/me/keys", &key, "condition", no_member(of_keys)),
        ("/api/me/keys", &key, "scope", meant("scopes")),
        ("/api/admin/keys", &key, "condition", no_member(of_keys)),
        (
            "/api/admin/invitations",
            &json!({"email": "guest@example.com"}),
            "expires",
            no_member("roles, lifetime, mail, email"),
        ),
        (
            "/api/admin/emergency",
            &json!({"newPasswords": "none"}),
            "except",
            no_member("newPasswords"),
        ),
    ] {
        let refused = server.request_as(&ada, "POST", path, with(body, member)).await;
        let expected = malformed(&format!(r#"{{"{member}":"{fault}"}}"#));
        assert_eq!(refused.status_and_body(), (400, &*expected), "{path} {member}");
    }
    let keys = server.request_as(&ada, "GET", "/api/me/keys", Value::Null).await;
    assert_eq!(keys.body, "[]");
    let made = server.request_as(&ada, "POST", "/api/me/keys", key).await;
    assert_eq!(made.status, 201, "{}", made.body);
}

#[tokio::test]
async fn a_setup_makes_one_passkey() {
    let server = server_with_factors().await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let options = json!({"kind": "passkey"});
    let path = "/api/me/factors/passkeys/options";
    let begun = server.request_as(&ada.token, "POST", path, options).await.json();
    for expected in [201, 400, 400] {
        let credential = Authenticator::new().create(&begun["publicKey"]);
        let body = json!({"setup": begun["setup"], "credential": credential, "name": "Phone"});
        let path = "/api/me/factors/passkeys";
        let added = server.request_as(&ada.token, "POST", path, body).await;
        assert_eq!(added.status.as_u16(), expected, "{}", added.body);
        if let Some(token) = added.json()["token"].as_str() {
            ada.token = token.to_owned();
        }
    }
}

/// The accepted answers to challenges of one user that may follow each other at once.
const ANSWERS_AT_ONCE: usize = 300;

#[tokio::test]
async fn accepted_passkeys_of_an_account_have_a_budget() {
    let server = server_with_factors().await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let mut phone = ada.passkey.take().unwrap();
    let sign_in = async |phone: &mut Authenticator| {
        let asked = server.post("/api/auth/login/passkey", &json!({})).await.json();
        answer_passkey(&server, &asked, phone).await
    };
    let step_up = async |token: &str, phone: &mut Authenticator| {
        let asked = server.request_as(token, "POST", "/api/me/step-up", json!({})).await;
        answer_passkey(&server, &asked.json(), phone).await
    };
    for _ in 0..ANSWERS_AT_ONCE + 1 {
        let forged = sign_in(&mut phone.forged()).await;
        assert_eq!(forged.status, 401, "{}", forged.body);
    }
    let mut accepted = 0;
    let refused = loop {
        let answer = step_up(&ada.token, &mut phone).await;
        if answer.status != 200 {
            break answer;
        }
        ada.token = token(&answer);
        accepted += 1;
        assert!(accepted <= 2 * ANSWERS_AT_ONCE, "the trail grows without bound");
    };
    assert!(accepted >= ANSWERS_AT_ONCE, "{accepted}");
    assert_eq!(refused.status, 429, "{}", refused.body);
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=10).contains(&wait), "{wait}");
    assert_eq!(sign_in(&mut phone).await.status, 429, "sign-ins and step-ups share it");
    assert_eq!(sign_in(&mut phone.forged()).await.status, 401, "it tells others nothing");
    server.let_pass(Duration::from_secs(wait));
    token(&sign_in(&mut phone).await);
}

#[tokio::test]
async fn replays_of_an_accepted_passkey_use_up_nothing() {
    let server = server_with_factors().await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let mut phone = ada.passkey.take().unwrap();
    let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
    let credential = phone.get(&begun["publicKey"]);
    let body = json!({"challenge": begun["challenge"], "credential": credential});
    let replay = |_| server.post("/api/auth/login/factor", &body);
    let answers = join_all((0..ANSWERS_AT_ONCE + 1).map(replay)).await;
    let accepted = answers.iter().filter(|answer| answer.status == 200).count();
    let refused = answers.iter().filter(|answer| answer.status == 401).count();
    assert_eq!((accepted, refused), (1, ANSWERS_AT_ONCE));
    let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
    token(&answer_passkey(&server, &begun, &mut phone).await);
}

#[tokio::test]
async fn changes_of_an_account_have_a_budget() {
    const AT_ONCE: u32 = 30;
    let server = TestServer::open().await;
    let ada = server.register("Ada", ADA).await.token;
    let eve = server.register("Eve", "eve@example.com").await.token;
    let rename = async |token: &str, name: String| {
        server.request_as(token, "PATCH", "/api/me", json!({"name": name})).await
    };
    let make_key = async |token: &str| {
        let key = json!({"name": "ci", "scopes": ["guard:*"]});
        server.request_as(token, "POST", "/api/me/keys", key).await
    };
    let mut names = 0;
    let refused = loop {
        let answer = rename(&ada, format!("Ada {names}")).await;
        if answer.status != 200 {
            break answer;
        }
        names += 1;
        assert!(names <= 2 * AT_ONCE, "the trail grows without bound");
    };
    assert!(names >= AT_ONCE, "{names}");
    assert_eq!(refused.status, 429, "{}", refused.body);
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=15).contains(&wait), "{wait}");
    let mut keys = 0;
    let refused = loop {
        let answer = make_key(&eve).await;
        if answer.status != 201 {
            break answer;
        }
        keys += 1;
        assert!(keys <= 2 * AT_ONCE, "the trail grows without bound");
    };
    assert!(keys >= AT_ONCE, "each user has a budget: {keys}");
    assert_eq!(refused.status, 429, "{}", refused.body);
    let same = rename(&ada, format!("Ada {}", names - 1)).await;
    assert_eq!(same.status, 200, "nothing is written");
    let password = json!({"current": "correct horse", "new": "another horse"});
    let password = server.request_as(&ada, "POST", "/api/me/password", password).await;
    assert_eq!(password.status, 204, "{}", password.body);
    server.let_pass(Duration::from_secs(wait));
    assert_eq!(rename(&ada, "Ada King".into()).await.status, 200);
}

#[tokio::test]
async fn an_invitation_grants_roles_while_its_maker_may() {
    let server = TestServer::open_with(with_roles).await;
    let inviting = async |maker: &Member, email: &str, roles: Value| {
        let body = json!({"email": email, "roles": roles, "mail": false});
        let path = "/api/admin/invitations";
        let made = server.request_as(&maker.token, "POST", path, body).await;
        assert_eq!(made.status, 201, "{}", made.body);
        made.json()["secret"].clone()
    };
    let registers = async |email: &str, invitation: &Value| {
        let body = json!({"name": "Mate", "email": email, "password": "correct horse", "invitation": invitation});
        let answer = server.post("/api/user", &body).await;
        (answer.status.as_u16(), answer)
    };
    let user = |email: &str| format!("{USERS}/{email}");
    for (number, lose) in ["keep", "demote", "disable", "delete"].into_iter().enumerate() {
        let boss = format!("boss-{number}@example.com");
        let maker = with_role(&server, &boss, "admin").await;
        let (mate, plain) =
            (format!("mate-{number}@example.com"), format!("plain-{number}@example.com"));
        let granting = inviting(&maker, &mate, json!(["admin"])).await;
        let ordinary = inviting(&maker, &plain, json!([])).await;
        match lose {
            "demote" => drop(server.order("DELETE", &boss, "/roles/admin", Value::Null).await),
            "disable" => {
                drop(server.operator("PATCH", &user(&boss), json!({"disabled": true})).await);
            }
            "delete" => drop(server.operator("DELETE", &user(&boss), Value::Null).await),
            _ => {}
        }
        let (status, answer) = registers(&mate, &granting).await;
        let expected = if lose == "keep" { 201 } else { 403 };
        assert_eq!(status, expected, "{lose}: {}", answer.body);
        let (status, answer) = registers(&plain, &ordinary).await;
        let expected = if ["keep", "demote"].contains(&lose) { 201 } else { 403 };
        assert_eq!(status, expected, "{lose}: {}", answer.body);
    }
}
