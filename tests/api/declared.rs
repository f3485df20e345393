//! Guards declared by an operator, as proxies and apps call them.

use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{Method, Request, StatusCode, header},
};
use doorward::{
    Settings,
    internals::{Internals, store::Effects},
};

use crate::support::{Answer, NOW, TestServer, UNAUTHORIZED};

const PASSED: (u16, &str) = (200, r#""You may pass.""#);
const REFUSED: (u16, &str) = (401, UNAUTHORIZED);

/// A service with the guards of a settings file.
async fn server(file: &str) -> TestServer {
    TestServer::open_with(|settings| settings.with_toml(file)).await
}

fn settings(file: &str) -> Settings {
    TestServer::settings_from(file).unwrap_or_else(|error| panic!("{error}"))
}

async fn give_role(server: &TestServer, id: &str, role: &str) {
    let role = doorward::internals::user::Role::parse(role).unwrap();
    let now = doorward::internals::clock::Timestamp::from_seconds(1_800_000_001);
    assert!(
        server
            .doorward
            .store()
            .grant_role(id.parse().unwrap(), &role, now, &Effects::NONE)
            .await
            .unwrap()
    );
}

fn identity(answer: &Answer) -> [Option<&str>; 5] {
    [
        "x-auth-user-id",
        "x-auth-policy",
        "x-auth-user-name",
        "x-auth-user-email",
        "x-auth-user-email-verified",
    ]
    .map(|name| answer.header(name))
}

const STAFF: &str = r#"
    [guards.staff]
    allow = '"staff" in user.roles && request.method in ["GET", "HEAD"]'
    grant = "user"

    [guards.domain]
    allow = 'user.domain == "example.com"'
"#;

#[tokio::test]
async fn a_declared_guard_admits_by_its_condition_and_sends_what_it_grants() {
    let server = server(STAFF).await;
    let zoe = server.register("Zoë Öz", "zoe@example.com").await;
    assert_eq!(server.guard("staff", &zoe.token).await.status_and_body(), REFUSED);

    give_role(&server, &zoe.id, "staff").await;
    let answer = server.guard("staff", &zoe.token).await;
    assert_eq!(answer.status_and_body(), PASSED, "a new role applies at the next request");
    let id = zoe.id.as_str();
    assert_eq!(
        identity(&answer),
        [Some(id), Some("staff"), Some("Zo%C3%AB %C3%96z"), Some("zoe@example.com"), Some("false")]
    );
    assert_eq!(answer.header(header::CACHE_CONTROL), Some("no-store"));

    let answer = server.guard("domain", &zoe.token).await;
    assert_eq!(identity(&answer), [Some(id), Some("domain"), Some(""), Some(""), Some("")]);
    let bearer = format!("Bearer {}", zoe.token);
    let answer = server.request(Method::POST, "/api/auth/staff", &[&bearer]).await;
    assert_eq!(answer.status_and_body(), REFUSED);
    assert_eq!(identity(&answer), [None; 5], "a refusal contains no name");
    assert_eq!(
        answer.header(header::WWW_AUTHENTICATE),
        Some(r#"Bearer realm="doorward", error="insufficient_scope""#)
    );
    assert_eq!(answer.header(header::VARY), Some("Authorization"));
}

#[tokio::test]
async fn a_guard_sends_the_headers_that_it_declares() {
    let server = server(
        r#"
        [guards.app]
        allow = 'true'
        preflight = true
        headers = { "X-Remote-User" = "user.email", "Remote-User" = "user.name", "X-Groups" = "user.roles", "X-First" = "user.roles[0]", "X-Level" = '"staff" in user.roles ? 2 : 1' }

        [guards.utf8]
        allow = 'true'
        headers = { "X-Name" = "user.name", "X-Path" = "request.path" }
        header_encoding = "utf-8"

        [guards.report]
        allow = 'false'
        mode = "report"
        headers = { "X-Name" = "user.name" }
        "#,
    )
    .await;
    let zoe = server.register("Zoë Öz", "zoe@example.com").await;
    let names = ["x-remote-user", "remote-user", "x-groups", "x-first", "x-level"];
    let answer = server.guard("app", &zoe.token).await;
    assert_eq!(answer.status_and_body(), PASSED);
    let expected =
        [Some("zoe@example.com"), Some("Zo%C3%AB %C3%96z"), Some(""), Some(""), Some("1")];
    assert_eq!(names.map(|name| answer.header(name)), expected, "a failed expression is empty");
    for role in ["staff", "night-shift"] {
        give_role(&server, &zoe.id, role).await;
    }
    for _ in 0..2 {
        let answer = server.guard("app", &zoe.token).await;
        let roles = [Some("night-shift,staff"), Some("night-shift"), Some("2")];
        assert_eq!(names.map(|name| answer.header(name))[2..], roles, "the next request");
    }
    assert_eq!(identity(&server.guard("app", &zoe.token).await)[0], Some(zoe.id.as_str()));

    let bearer = format!("Bearer {}", zoe.token);
    for path in ["/a/b", "/c"] {
        let guard = format!("/api/auth/utf8{path}");
        let answer = server.request(Method::GET, &guard, &[&bearer]).await;
        assert_eq!(answer.headers.get("x-name").unwrap().as_bytes(), "Zoë Öz".as_bytes());
        assert_eq!(answer.header("x-path"), Some(path));
    }
    let answer = server.guard("report", &zoe.token).await;
    assert_eq!((answer.status.as_u16(), answer.header("x-name")), (200, Some("Zo%C3%AB %C3%96z")));
    for refused in [server.guard("app", "nonsense").await, server.get("/api/auth/app").await] {
        assert_eq!(refused.status_and_body(), REFUSED);
        assert_eq!(names.map(|name| refused.header(name)), [None; 5], "not with a refusal");
    }
    let nobody = server.get("/api/auth/report").await;
    assert_eq!((nobody.status.as_u16(), nobody.header("x-name")), (200, Some("")));
    let preflight = Request::options("/api/auth/app")
        .header(header::ORIGIN, "https://elsewhere.example")
        .header(header::ACCESS_CONTROL_REQUEST_METHOD, "PUT");
    let answer = server.send(preflight.body(Body::empty()).unwrap()).await;
    assert_eq!((answer.status.as_u16(), answer.header("x-remote-user")), (200, Some("")));
}

#[tokio::test]
async fn a_guard_answers_every_method_and_path_below_it_and_ignores_query_and_body() {
    let server = server(STAFF).await;
    let ada = server.register("Ada", "ada@example.com").await;
    let bearer = format!("Bearer {}", ada.token);
    for guard in ["guard", "domain"] {
        for tail in ["", "/", "//x", "/x", "/deep/er/path?query=1", "/a%2fb"] {
            for method in
                [Method::GET, Method::PUT, Method::OPTIONS, Method::from_bytes(b"QUERY").unwrap()]
            {
                let path = format!("/api/auth/{guard}{tail}");
                let answer = server.request(method.clone(), &path, &[&bearer]).await;
                assert_eq!(answer.status, StatusCode::OK, "{method} {path}");
                let answer = server.request(method.clone(), &path, &[]).await;
                assert_eq!(answer.status_and_body(), REFUSED, "{method} {path}");
            }
        }
    }
    for guard in ["guard", "miles", "domain", "unheard-of"] {
        for tail in ["", "/x"] {
            let path = format!("/api/auth/{guard}{tail}");
            for authorization in [&[&*bearer][..], &[]] {
                let answer = server.request(Method::CONNECT, &path, authorization).await;
                assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "CONNECT {path}");
                assert_eq!(answer.header(header::ALLOW), Some("GET"));
            }
        }
    }
    let request = Request::post("/api/auth/domain")
        .header(header::AUTHORIZATION, &bearer)
        .header(header::CONTENT_TYPE, "text/plain")
        .body(Body::from("anything"));
    assert_eq!(server.send(request.unwrap()).await.status_and_body(), PASSED);
    let unheard = server.request(Method::GET, "/api/auth/unheard-of/x", &[&bearer]).await;
    assert_eq!(unheard.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_documents_guards_written_as_conditions_decide_as_the_built_in_ones() {
    let server = server(
        r#"
        [guards.as-guard]
        allow = "true"
        [guards.as-miles]
        allow = 'user.name.lower() == "miles davis"'
        grant = "user"
        "#,
    )
    .await;
    let names = ["Miles Davis", "miles DAVIS", "Miles", "Ada", "MİLES DAVIS", "Miles  Davis"];
    let mut callers = vec![vec![], vec!["Basic x".to_owned()], vec!["Bearer x.y.z".to_owned()]];
    for (number, name) in names.iter().enumerate() {
        let member = server.register(name, &format!("user{number}@example.com")).await;
        callers.push(vec![format!("Bearer {}", member.token)]);
        callers.push(vec![format!("bearer  {}", member.token)]);
        callers.push(vec![format!("Bearer {}x", member.token)]);
        callers.push(vec![format!("Bearer {}", member.token); 2]);
        let gone = server.register(name, &format!("gone{number}@example.com")).await;
        server
            .doorward
            .store()
            .delete_user(gone.id.parse().unwrap(), NOW, &Effects::NONE)
            .await
            .unwrap();
        callers.push(vec![format!("Bearer {}", gone.token)]);
    }
    for caller in callers {
        let caller: Vec<_> = caller.iter().map(String::as_str).collect();
        for (built_in, declared) in [("guard", "as-guard"), ("miles", "as-miles")] {
            for method in [Method::GET, Method::POST, Method::HEAD] {
                let [one, other] = [built_in, declared].map(|guard| format!("/api/auth/{guard}"));
                let one = server.request(method.clone(), &one, &caller).await;
                let other = server.request(method.clone(), &other, &caller).await;
                assert_eq!(one.status, other.status, "{method} {built_in} by {caller:?}");
                for name in
                    ["www-authenticate", "x-auth-user-id", "x-auth-user-name", "cache-control"]
                {
                    assert_eq!(
                        one.header(name),
                        other.header(name),
                        "{name} of {built_in} by {caller:?}"
                    );
                }
                if one.status == StatusCode::UNAUTHORIZED {
                    assert_eq!(one.body, other.body);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_guard_in_report_mode_admits_and_records_whom_it_would_have_refused() {
    let server =
        server("[guards.soon]\nallow = '\"staff\" in user.roles'\nmode = \"report\"\n").await;
    let ada = server.register("Ada", "ada@example.com").await;
    let answer = server.guard("soon", &ada.token).await;
    assert_eq!(answer.status_and_body(), PASSED);
    assert_eq!(answer.header("x-auth-user-id"), Some(ada.id.as_str()));
    let answer = server.request(Method::GET, "/api/auth/soon", &[]).await;
    assert_eq!(answer.status_and_body(), PASSED);
    assert_eq!(identity(&answer), [Some(""), Some("soon"), Some(""), Some(""), Some("")]);
}

#[tokio::test]
async fn every_refusal_leads_to_its_reason() {
    let server = server(
        r#"
        [guards.staff]
        allow = '!user.disabled && "staff" in user.roles'
        [guards.seventh]
        allow = 'user.roles[7] == "x"'
        [guards.overflow]
        allow = '9223372036854775807 + size(user.name) > 0'
        "#,
    )
    .await;
    let ada = server.register("Ada", "ada@example.com").await;
    let gone = server.register("Bob", "bob@example.com").await;
    server
        .doorward
        .store()
        .delete_user(gone.id.parse().unwrap(), NOW, &Effects::NONE)
        .await
        .unwrap();
    let ended = server.register("Eve", "eve@example.com").await;
    server
        .doorward
        .store()
        .end_sessions(ended.id.parse().unwrap(), NOW, &Effects::NONE)
        .await
        .unwrap();
    let why = async |guard: &str, token: Option<&str>| {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let authorization: Vec<_> = bearer.iter().map(String::as_str).collect();
        let answer =
            server.request(Method::GET, &format!("/api/auth/{guard}"), &authorization).await;
        assert_eq!(answer.status_and_body(), REFUSED);
        let id = answer.header("x-decision-id").expect("a decision id").to_owned();
        server.doorward.refusal(&id).expect("the refusal is cached")
    };
    for guard in ["staff", "guard"] {
        assert_eq!(why(guard, None).await.token, "no token was sent");
        assert!(why(guard, Some("x.y.z")).await.token.starts_with("not a token of this service"));
        assert_eq!(why(guard, Some(&gone.token)).await.token, "its user has been deleted");
        assert_eq!(why(guard, Some(&ended.token)).await.token, "its session has ended");
    }
    let refusal = why("staff", Some(&ada.token)).await;
    assert_eq!((refusal.token.as_str(), refusal.user), ("good", Some(ada.id.parse().unwrap())));
    assert_eq!(refusal.condition.as_deref(), Some(r#"!user.disabled && "staff" in user.roles"#));
    let cause = refusal.explanation.unwrap().cause;
    assert_eq!((cause.text.as_str(), cause.value.as_str()), (r#""staff" in user.roles"#, "false"));
    for (guard, error) in [("seventh", "Index out of bounds"), ("overflow", "verflow")] {
        let cause = why(guard, Some(&ada.token)).await.explanation.unwrap().cause;
        assert!(cause.value.starts_with("error: ") && cause.value.contains(error), "{cause:?}");
    }
    assert_eq!(why("miles", Some(&ada.token)).await.guard, "Designated");
    server.let_pass(std::time::Duration::from_secs(24 * 60 * 60));
    assert_eq!(why("staff", Some(&ada.token)).await.token, "expired");
}

#[tokio::test]
async fn proxy_headers_count_in_their_style_and_from_their_network_only() {
    let server = server(
        r#"
        [guards.plain]
        allow = 'request.method == "GET"'
        [guards.nginx]
        allow = 'request.method == "GET" && request.path.startsWith("/public/")'
        proxy = "nginx"
        [guards.envoy]
        allow = 'request.path.startsWith("/public/")'
        proxy = "envoy"
        "#,
    )
    .await;
    let token = server.register("Ada", "ada@example.com").await.token;
    let ask = async |path: &str, peer: [u8; 4], headers: &[(&str, &str)]| {
        let mut request = Request::get(format!("/api/auth/{path}"))
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .extension(ConnectInfo(std::net::SocketAddr::from((peer, 9))));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        server.send(request.body(Body::empty()).unwrap()).await.status == StatusCode::OK
    };
    let (proxy, elsewhere) = ([127, 0, 0, 1], [192, 0, 2, 1]);
    let original = |method, uri| [("x-original-method", method), ("x-original-uri", uri)];
    assert!(ask("nginx", proxy, &original("GET", "/public/x?y")).await);
    assert!(!ask("nginx", proxy, &original("POST", "/public/x")).await);
    assert!(!ask("nginx", proxy, &original("GET", "/private/x")).await);
    assert!(!ask("nginx", proxy, &original("GET", "/public/../private")).await);
    assert!(!ask("nginx", proxy, &[]).await, "facts that the proxy omits are absent");
    assert!(!ask("nginx", elsewhere, &original("GET", "/public/x")).await);
    assert!(
        !ask("nginx", proxy, &[("x-forwarded-method", "GET"), ("x-forwarded-uri", "/public/x")])
            .await
    );
    assert!(
        ask("plain", elsewhere, &original("POST", "/x")).await,
        "without a style no header is read"
    );
    assert!(ask("envoy/public/x", proxy, &[]).await);
    assert!(!ask("envoy/private/x", proxy, &[("x-forwarded-uri", "/public/x")]).await);
    assert!(!ask("envoy/public/%2e%2e/private", proxy, &[]).await);
    assert!(!ask("env%6Fy/private", proxy, &[]).await);
}

#[tokio::test]
async fn a_preflight_passes_where_the_guard_says_so() {
    let file = "[guards.open]\nallow = 'true'\npreflight = true\n[guards.shut]\nallow = 'true'\n";
    let server = server(file).await;
    let ask = async |guard: &str, method: &str, headers: &[&str]| {
        let mut request = Request::builder().method(method).uri(format!("/api/auth/{guard}"));
        for name in headers {
            request = request.header(*name, "x");
        }
        server.send(request.body(Body::empty()).unwrap()).await.status.as_u16()
    };
    let preflight = ["origin", "access-control-request-method"];
    assert_eq!(ask("open", "OPTIONS", &preflight).await, 200);
    assert_eq!(ask("shut", "OPTIONS", &preflight).await, 401);
    assert_eq!(ask("open", "OPTIONS", &preflight[..1]).await, 401);
    assert_eq!(ask("open", "GET", &preflight).await, 401);
}

#[tokio::test]
async fn other_sets_of_identity_headers_are_sent_on_demand() {
    let server = TestServer::open_with(|settings| {
        settings.with_toml(STAFF).with("identity_headers", "remote x-auth-request")
    })
    .await;
    let ada = server.register("Ada", "ada@example.com").await;
    give_role(&server, &ada.id, "staff").await;
    give_role(&server, &ada.id, "admin").await;
    let answer = server.guard("staff", &ada.token).await;
    for (name, value) in [
        ("remote-user", ada.id.as_str()),
        ("remote-name", "Ada"),
        ("remote-email", "ada@example.com"),
        ("remote-groups", "admin,staff"),
        ("x-auth-request-user", &ada.id),
        ("x-auth-request-preferred-username", "Ada"),
        ("x-auth-request-email", "ada@example.com"),
        ("x-auth-request-groups", "admin,staff"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
    let answer = server.guard("domain", &ada.token).await;
    assert_eq!(answer.header("remote-groups"), Some(""), "sent, and empty");
}

#[tokio::test]
async fn a_decision_that_does_not_depend_on_the_request_is_not_shared_between_guards() {
    let server =
        server("[guards.yes]\nallow = 'true'\n[guards.no]\nallow = 'user.disabled'\n").await;
    let token = server.register("Ada", "ada@example.com").await.token;
    for _ in 0..100 {
        assert_eq!(server.guard("yes", &token).await.status, StatusCode::OK);
        assert_eq!(server.guard("no", &token).await.status, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(server.doorward.work_done().look_ups, 1);
}

#[tokio::test]
async fn all_guards_are_replaced_together() {
    let server = server("[guards.door]\nallow = 'true'\n").await;
    let token = server.register("Ada", "ada@example.com").await.token;
    assert_eq!(server.guard("door", &token).await.status, StatusCode::OK);
    server.doorward.replace_guards(settings("[guards.door]\nallow = 'user.disabled'\n").guards());
    assert_eq!(server.guard("door", &token).await.status, StatusCode::UNAUTHORIZED);
    server.doorward.replace_guards(settings("").guards());
    assert_eq!(server.guard("door", &token).await.status, StatusCode::NOT_FOUND);
}

#[test]
fn every_kind_of_broken_guard_is_refused_with_its_place() {
    let broken = [
        (
            "[guards.a]\nallow = 'user.nmae == \"x\"'",
            "doorward.toml:2:14: guards.a.allow: user.nmae: did you mean name?",
        ),
        (
            "[guards.a]\nallow = 'usr.name == \"x\"'",
            "doorward.toml:2:10: guards.a.allow: usr: did you mean user?",
        ),
        (
            "[guards.a]\nallow = 'user.name.lowr() == \"x\"'",
            "doorward.toml:2:24: guards.a.allow: lowr(): did you mean lower()?",
        ),
        (
            "[guards.a]\nallow = 'user.name'",
            "doorward.toml:2:14: guards.a.allow: gives string, not true or false",
        ),
        (
            "[guards.a]\nallow = '''\ntrue &&\nuser.x'''",
            "doorward.toml:4:5: guards.a.allow: user.x: unknown field (user has id, name, email, emailVerified, domain, roles, factors, disabled, createdAt, updatedAt, lastLoginAt)",
        ),
        (
            "[guards.Staff]\nallow = 'true'",
            "doorward.toml:1:9: guards.Staff: not a guard name: use 1 to 64 of a-z, 0-9 and -",
        ),
        (
            "[guards.login]\nallow = 'true'",
            "doorward.toml:1:9: guards.login: /api/auth/login is taken: choose another name",
        ),
        (
            "[guards.miles]\nallow = 'true'",
            "guards.miles: /api/auth/miles is the designated route (designated.segment): choose another name",
        ),
        (
            "[guards.a]\ngrant = 'id'",
            "doorward.toml:1:9: guards.a: has no condition: allow = '…' is missing",
        ),
        (
            "[guards.a]\nallow = 'true'\ngrant = 'all'",
            "doorward.toml:3:9: guards.a.grant: \"all\" is not one of id, user",
        ),
        (
            "[guards.a]\nallow = 'true'\nmod = 'report'",
            "doorward.toml:3:1: guards.a.mod: unknown setting: did you mean mode?",
        ),
        (
            "[guards.a]\nallow = true",
            "doorward.toml:2:9: guards.a.allow: a value of type boolean is not a text",
        ),
        (
            "[guards]\na = 'true'",
            "doorward.toml:2:1: guards.a: a value of type string is not a table",
        ),
        ("guards = 1", "doorward.toml:1:10: guards: not a table: write [guards.NAME]"),
        (
            "[guards.a]\nallow = '\"staff\" in user.roles'\n[[guards.a.expect]]\nallow = true\nuser = { roles = [\"boss\"] }",
            "doorward.toml:3:1: guards.a.expect: this example should be allowed and is refused: \"staff\" in user.roles is false",
        ),
        (
            "[guards.a]\nallow = 'true'\nexpect = [{ allow = false }]",
            "doorward.toml:3:11: guards.a.expect: this example should be refused and is allowed: true is true",
        ),
        (
            "[guards.a]\nallow = 'true'\nexpect = [{ user = { rolls = [] } }]",
            "doorward.toml:3:22: guards.a.expect.user.rolls: unknown setting: did you mean roles?",
        ),
        (
            "[guards.a]\nallow = 'true'\nheaders = { \"X-User\" = \"user.nmae\" }",
            "doorward.toml:3:29: guards.a.headers.X-User: user.nmae: did you mean name?",
        ),
        (
            "[guards.a]\nallow = 'true'\n[guards.a.headers]\nX-User = 'user'",
            "doorward.toml:4:11: guards.a.headers.X-User: gives map, not a text, a number, true or false, or a list of texts",
        ),
        (
            "[guards.a]\nallow = 'true'\nheaders = { Cookie = 'user.email' }",
            "doorward.toml:3:22: guards.a.headers.Cookie: a guard cannot set this header, because it carries credentials: \
             choose another name",
        ),
        (
            "[guards.a]\nallow = 'true'\nheader_encoding = 'latin-1'",
            "doorward.toml:3:19: guards.a.header_encoding: \"latin-1\" is not one of percent, utf-8",
        ),
        (
            "[guards.a]\nallow = 'true'\nexpect = [{}]",
            "doorward.toml:3:11: guards.a.expect: does not say what is expected: allow = true or false",
        ),
    ];
    for (file, expected) in broken {
        assert_eq!(TestServer::settings_from(file).map(|_| ()), Err(expected.to_owned()), "{file}");
    }
    let syntax = TestServer::settings_from("[guards.a]\nallow = 'user.disabled &&'").unwrap_err();
    assert!(
        syntax.starts_with("doorward.toml:2:") && syntax.contains("guards.a.allow"),
        "{syntax}"
    );
}

#[test]
fn examples_beside_a_condition_are_tried() {
    let guards = settings(
        r#"
        [guards.staff]
        allow = '"staff" in user.roles && request.method == "GET" && session.address == "192.0.2.1"'
        [[guards.staff.expect]]
        allow = true
        user = { name = "Ada Lovelace", email = "ada@example.com", roles = ["staff"], disabled = false }
        request = { method = "GET", host = "x", path = "/", scheme = "https", address = "::1" }
        session = { address = "192.0.2.1" }
        [[guards.staff.expect]]
        allow = false
        user = { roles = ["staff"] }
        request = { method = "POST" }
        "#,
    )
    .guards();
    assert_eq!(guards.by_name("staff").unwrap().expectations.len(), 2);
}

#[tokio::test]
async fn the_fast_path_to_a_guard_gives_the_same_answer_as_the_router() {
    let server = server(STAFF).await;
    let miles = server.register("Miles Davis", "miles@example.com").await;
    let authorization = format!("Bearer {}", miles.token);
    give_role(&server, &miles.id, "staff").await;
    for guard in ["guard", "miles", "domain", "staff", "nobody-declared-this"] {
        for authorization in [&[&*authorization][..], &[]] {
            let mut answers = Vec::new();
            // Only the first of these takes the fast path, with and without a query.
            for (method, path) in
                [(Method::GET, ""), (Method::GET, "?x=/"), (Method::HEAD, ""), (Method::GET, "/")]
            {
                let path = format!("/api/auth/{guard}{path}");
                let mut answer = server.request(method.clone(), &path, authorization).await;
                if let Some(id) = answer.headers.get_mut("x-decision-id") {
                    *id = "some".parse().unwrap();
                }
                // The server sends the length in any case.
                for aside in ["x-request-id", "content-length"] {
                    answer.headers.remove(aside);
                }
                answers.push((answer.status, answer.headers));
                assert_eq!(answer.body.is_empty(), method == Method::HEAD, "{path}");
            }
            assert!(answers.iter().all(|answer| *answer == answers[0]), "{guard}: {answers:#?}");
        }
    }
}
