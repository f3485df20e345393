//! The accounts of people at other providers, through the JSON API. `tests/logins` links them by real providers.

use std::time::Duration;

use axum::http::{StatusCode, header};
use doorward::{
    Caller, Settings,
    internals::{
        Internals,
        event::{Event, EventKind},
        network::Requester,
        store::{Effects, GivenRoles, Holder, LinkIdentity},
        user::{Identity, IdentityId, Role},
    },
};
use serde_json::{Value, json};

use crate::support::{Member, NOT_FOUND, REFUSED, TestServer, with_mail};

const MINE: &str = "/api/me/identities";

/// Links an account at a provider to that of a user, as the flow of a browser does.
pub async fn linked(server: &TestServer, token: &str, subject: &str) -> String {
    let caller: Caller = server.doorward.caller(token).await.unwrap();
    let identity = Identity {
        id: IdentityId::random(),
        user_id: caller.user.id,
        issuer: "https://accounts.example.com".into(),
        subject: subject.into(),
        login: "work".into(),
        display: format!("{subject}@work.example"),
        created_at: server.now(),
        last_used_at: None,
    };
    let who = Holder { user: &caller.user, session: &caller.session };
    let (user, client) = (Some(caller.user.id), caller.session.client.clone());
    let (requester, kind) = (Requester::new(client), EventKind::UserEnabled);
    let event = Event::by_unknown(user, &requester, server.now(), kind);
    let roles = Role::parse("linked").into_iter().collect();
    let gives = GivenRoles { roles, event };
    let store = server.doorward.store();
    let linked = store.link_identity(who, &identity, &gives, &Effects::NONE).await;
    assert_eq!(linked.unwrap(), LinkIdentity::Linked);
    identity.id.to_string()
}

async fn ada(server: &TestServer) -> Member {
    server.register("Ada", "ada@example.com").await
}

#[tokio::test]
async fn people_list_and_remove_their_accounts_at_other_providers_after_a_fresh_sign_in() {
    let server = TestServer::open().await;
    let (ada, eve) = (ada(&server).await, server.register("Eve", "eve@example.com").await);
    let listed = server.request_as(&ada.token, "GET", MINE, Value::Null).await;
    assert_eq!(listed.status_and_body(), (200, "[]"));
    let id = linked(&server, &ada.token, "ada").await;
    server.let_pass(Duration::from_secs(1));
    linked(&server, &ada.token, "second").await;
    let listed = server.request_as(&ada.token, "GET", MINE, Value::Null).await;
    assert_eq!(listed.header(header::CACHE_CONTROL), Some("no-store"));
    let listed = listed.json();
    assert_eq!(
        listed[0],
        json!({
            "id": id,
            "login": "work",
            // The settings have no such login any more.
            "label": "work",
            "issuer": "https://accounts.example.com",
            "subject": "ada",
            "display": "ada@work.example",
            "createdAt": listed[0]["createdAt"],
            "lastUsedAt": null,
        })
    );
    assert_eq!(listed[1]["subject"], "second");

    let path = format!("{MINE}/{id}");
    let by_other = server.request_as(&eve.token, "DELETE", &path, Value::Null).await;
    assert_eq!(by_other.status_and_body(), (404, NOT_FOUND));
    let malformed = format!("{MINE}/x");
    let malformed = server.request_as(&ada.token, "DELETE", &malformed, Value::Null).await;
    assert_eq!(malformed.status, StatusCode::NOT_FOUND);
    server.let_pass(Duration::from_secs(11 * 60));
    let stale = server.request_as(&ada.token, "DELETE", &path, Value::Null).await;
    assert_eq!(stale.status, StatusCode::UNAUTHORIZED);
    assert!(
        stale
            .header(header::WWW_AUTHENTICATE)
            .unwrap()
            .contains("insufficient_user_authentication")
    );
    let token = server.token_of("ada@example.com", "correct horse").await;
    let removed = server.request_as(&token, "DELETE", &path, Value::Null).await;
    assert_eq!(removed.status_and_body(), (204, ""));
    let again = server.request_as(&token, "DELETE", &path, Value::Null).await;
    assert_eq!(again.status_and_body(), (404, NOT_FOUND));
    let left = server.request_as(&token, "GET", MINE, Value::Null).await.json();
    assert_eq!((left.as_array().unwrap().len(), &left[0]["subject"]), (1, &"second".into()));
}

#[tokio::test]
async fn the_last_way_in_stays_and_an_account_whose_login_is_gone_is_none() {
    let mut server = TestServer::open_with(with_mail).await;
    let ada = server.register_with(json!({"name": "Ada", "email": "ada@example.com"})).await;
    let mut ids = Vec::new();
    for subject in ["one", "two"] {
        ids.push(format!("{MINE}/{}", linked(&server, &ada.token, subject).await));
    }
    let login = |settings: Settings| {
        settings.with_toml(
            "[logins.work]\npreset = 'oidc'\nissuer = 'https://accounts.example.com'\nclient_id = 'x'",
        )
    };
    let kept = "This is the last way to sign in.";
    for (declares, path, status) in [(false, 0, 409), (true, 0, 204), (true, 1, 409)] {
        server = match declares {
            true => TestServer::reopen(server.close(), login).await,
            false => TestServer::reopen(server.close(), |settings| settings).await,
        };
        let answer = server.request_as(&ada.token, "DELETE", &ids[path], Value::Null).await;
        let (answered, body) = answer.status_and_body();
        assert_eq!((answered, body.contains(kept)), (status, status == 409), "{body}");
    }
}

#[tokio::test]
async fn a_linked_account_gives_the_roles_of_its_login_until_it_is_removed() {
    let server = TestServer::open().await;
    let ada = ada(&server).await;
    let id = linked(&server, &ada.token, "ada").await;
    let shown =
        async || server.ordered("GET", "/api/admin/users/ada@example.com", Value::Null).await;
    assert_eq!(shown().await["roles"], json!(["linked"]));
    let path = format!("/api/admin/users/ada@example.com/identities/{id}");
    server.ordered("DELETE", &path, Value::Null).await;
    assert_eq!(shown().await["roles"], json!([]));
    for (kind, actor) in [("role_granted", "unknown"), ("role_revoked", "operator")] {
        let path = format!("/api/admin/audit?kind={kind}");
        let events = server.ordered("GET", &path, Value::Null).await;
        let event = &events["events"][0];
        assert_eq!((&event["subject"], &event["actor"]["type"]), (&json!(ada.id), &json!(actor)));
    }
}

#[tokio::test]
async fn administrators_list_and_remove_those_of_others() {
    let server = TestServer::open().await;
    let (ada, eve) = (ada(&server).await, server.register("Eve", "eve@example.com").await);
    let id = linked(&server, &ada.token, "ada").await;
    let path = "/api/admin/users/ada@example.com/identities";
    let refused = server.request_as(&eve.token, "GET", path, Value::Null).await;
    assert_eq!(refused.status_and_body(), REFUSED);

    let listed = server.ordered("GET", path, Value::Null).await;
    assert_eq!(listed["identities"][0]["id"], *id);
    let shown = server.ordered("GET", "/api/admin/users/ada@example.com", Value::Null).await;
    assert_eq!(shown["identities"], listed["identities"]);

    let of_eve = format!("/api/admin/users/eve@example.com/identities/{id}");
    let answer = server.operator("DELETE", &of_eve, Value::Null).await;
    assert_eq!(answer.status_and_body(), (404, NOT_FOUND));
    let answer = server.operator("DELETE", &format!("{path}/x"), Value::Null).await;
    assert_eq!(answer.status_and_body(), (404, NOT_FOUND));
    server.ordered("DELETE", &format!("{path}/{id}"), Value::Null).await;
    let listed = server.ordered("GET", path, Value::Null).await;
    assert_eq!(listed, json!({"identities": []}));
    let again = server.operator("DELETE", &format!("{path}/{id}"), Value::Null).await;
    assert_eq!(again.status_and_body(), (404, NOT_FOUND));
    let events =
        server.ordered("GET", "/api/admin/audit?kind=identity_unlinked", Value::Null).await;
    let event = &events["events"][0];
    assert_eq!((&event["subject"], &event["details"]), (&json!(ada.id), &json!({"login": "work"})));
}
