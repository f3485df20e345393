//! Each proof of a session has its own time: random sequences of sign-ins, waits, step-ups, additions and removals against a model,
//! on both databases, and what the sequences have found apart.

use std::{collections::BTreeMap, time::Duration};

use axum::http::StatusCode;
use doorward::{
    Settings,
    internals::{
        Internals,
        session::{Method, Methods, SessionId, TokenId},
        store::{
            AddFactor, AddedIn, Effects, Holder, OtherWays, RemoveFactor, SignIn, SignInWritten,
        },
        token::one_time::Purpose,
        user::{FactorId, StoredTotp, TrustedDevice},
    },
};
use serde_json::{Value, json};

use super::{
    ADA, Authenticator, ORIGIN, PASSWORD, Person, answer_code, answer_passkey, challenge, methods,
    server, token, totp_code,
};
use crate::{
    mail::secret,
    postgres,
    revocations::{everything, part},
    seed::Chance,
    support::{Answer, TestServer, with_mail},
};

const GUARDS: &str = r#"
[guards.strong]
allow = 'session.strength >= 2'
[guards.resistant]
allow = 'session.phishingResistant'
[guards.fresh]
allow = 'request.time - session.verifiedAt < duration("10m")'
[guards.passkey]
allow = '"passkey" in session.factors && request.time - session.verifiedAt < duration("10m")'
"#;
const TEN_MINUTES: i64 = 600;
const STEP_UP: &str = "/api/me/step-up";
const FACTORS: &str = "/api/me/factors";

fn with_guards(settings: Settings) -> Settings {
    with_mail(settings).with("public_url", ORIGIN).with_toml(GUARDS)
}

/// What was proved, and when.
type Proofs = BTreeMap<&'static str, i64>;

/// The order of the API.
const NAMES: [&str; 4] = ["pwd", "totp", "passkey", "recovery"];

/// A session as the model knows it.
struct Expected {
    token: String,
    proofs: Proofs,
}

/// The service, the user, and what the model says about them.
struct World {
    server: TestServer,
    chance: Chance,
    totp: Option<String>,
    /// With the ids that the API gives them.
    passkeys: Vec<(String, Authenticator)>,
    recovery_codes: Vec<String>,
    sessions: Vec<Expected>,
}

fn strength(proofs: &Proofs) -> u8 {
    let has = |name| proofs.contains_key(name);
    if has("passkey") || (has("pwd") && (has("totp") || has("recovery"))) { 2 } else { 1 }
}

impl World {
    async fn open(server: TestServer, chance: Chance) -> Self {
        let ada = server.register("Ada", ADA).await;
        let proofs = Proofs::from([("pwd", server.now().seconds())]);
        let sessions = vec![Expected { token: ada.token, proofs }];
        let (totp, passkeys, recovery_codes) = (None, Vec::new(), Vec::new());
        Self { server, chance, totp, passkeys, recovery_codes, sessions }
    }

    fn now(&self) -> i64 {
        self.server.now().seconds()
    }

    fn holds_any(&self) -> bool {
        self.totp.is_some() || !self.passkeys.is_empty()
    }

    fn wait(&mut self, below: u64) {
        let seconds = self.chance.below(below);
        self.server.let_pass(Duration::from_secs(seconds));
    }

    /// What counts of the proofs while the user holds what they do.
    fn counting(&self, proofs: &Proofs) -> Proofs {
        let is_held = |name: &str| match name {
            "totp" => self.totp.is_some(),
            "passkey" => !self.passkeys.is_empty(),
            "recovery" => self.holds_any(),
            _ => true,
        };
        proofs.iter().filter(|(name, _)| is_held(name)).map(|(name, at)| (*name, *at)).collect()
    }

    /// Whether a session may change what gives the account away.
    fn is_fresh(&self, session: usize) -> bool {
        let mut lately = self.counting(&self.sessions[session].proofs);
        lately.retain(|_, at| *at > self.now() - TEN_MINUTES);
        !lately.is_empty() && (!self.holds_any() || strength(&lately) >= 2)
    }

    fn any_session(&mut self) -> usize {
        usize::try_from(self.chance.below(self.sessions.len() as u64)).unwrap()
    }

    async fn request(&self, session: usize, method: &str, path: &str, body: Value) -> Answer {
        self.server.request_as(&self.sessions[session].token, method, path, body).await
    }

    /// Ends the sessions but one that have proved any of these.
    async fn end_others_with(&mut self, kept: usize, names: &[&str]) {
        let kept = self.sessions[kept].token.clone();
        let has_proved =
            |session: &Expected| names.iter().any(|name| session.proofs.contains_key(name));
        let ends = |session: &Expected| has_proved(session) && session.token != kept;
        let (ended, left) = std::mem::take(&mut self.sessions).into_iter().partition(ends);
        self.sessions = left;
        for Expected { token, .. } in Vec::from_iter::<Vec<_>>(ended) {
            let me = self.server.request_as(&token, "GET", "/api/me", Value::Null).await;
            assert_eq!(me.status, StatusCode::UNAUTHORIZED, "a session with {names:?} goes on");
        }
    }

    /// Gives a factor that the user holds, after a while, to a challenge that was just made. Returns what it proves, and since when:
    /// nobody knows when a passkey was used.
    async fn answer(&mut self, challenge: &Value) -> (Answer, (&'static str, i64)) {
        let made = self.now();
        self.wait(590);
        let mut kinds = Vec::new();
        kinds.extend(self.totp.is_some().then_some("totp"));
        kinds.extend((!self.passkeys.is_empty()).then_some("passkey"));
        kinds.extend((!self.recovery_codes.is_empty()).then_some("recovery"));
        let kind = kinds[usize::try_from(self.chance.below(kinds.len() as u64)).unwrap()];
        let answer = match kind {
            "passkey" => answer_passkey(&self.server, challenge, &mut self.passkeys[0].1).await,
            "recovery" => {
                let code = self.recovery_codes.remove(0);
                let answer = answer_code(&self.server, challenge, &code).await;
                if let Some(new) = answer.json()["recoveryCode"].as_str() {
                    self.recovery_codes.push(new.to_owned());
                }
                answer
            }
            _ => {
                // A code counts once.
                self.server.let_pass(Duration::from_secs(30));
                let code = totp_code(self.totp.as_ref().unwrap(), self.now());
                answer_code(&self.server, challenge, &code).await
            }
        };
        (answer, (kind, if kind == "passkey" { made } else { self.now() }))
    }

    async fn log_in(&mut self) {
        let mut proofs = Proofs::from([("pwd", self.now())]);
        let mut answer = self.server.login(ADA, PASSWORD).await;
        if self.holds_any() {
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{}", answer.body);
            let (given, (kind, since)) = self.answer(&answer.json()).await;
            // The challenge may have expired.
            if given.status == StatusCode::UNAUTHORIZED && proofs["pwd"] <= self.now() - TEN_MINUTES
            {
                return;
            }
            answer = given;
            proofs.insert(kind, since);
        }
        self.sessions.push(Expected { token: token(&answer), proofs });
    }

    async fn log_in_with_passkey(&mut self) {
        if self.passkeys.is_empty() {
            return;
        }
        let begun = self.server.post("/api/auth/login/passkey", &json!({})).await.json();
        let proofs = Proofs::from([("passkey", self.now())]);
        self.wait(590);
        let answer = answer_passkey(&self.server, &begun, &mut self.passkeys[0].1).await;
        self.sessions.push(Expected { token: token(&answer), proofs });
    }

    async fn step_up_with_password(&mut self) {
        let session = self.any_session();
        let mut proofs = Proofs::from([("pwd", self.now())]);
        let body = json!({"password": PASSWORD});
        let mut answer = self.request(session, "POST", STEP_UP, body).await;
        if self.holds_any() {
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{}", answer.body);
            let (given, (kind, since)) = self.answer(&answer.json()).await;
            if given.status == StatusCode::UNAUTHORIZED && proofs["pwd"] <= self.now() - TEN_MINUTES
            {
                return;
            }
            answer = given;
            proofs.insert(kind, since);
        }
        self.sessions[session] = Expected { token: token(&answer), proofs };
    }

    async fn step_up_with_passkey(&mut self) {
        if self.passkeys.is_empty() {
            return;
        }
        let session = self.any_session();
        let missing = self.request(session, "POST", STEP_UP, json!({})).await.json();
        assert_eq!(missing["factors"], json!(["passkey"]));
        let answer = answer_passkey(&self.server, &missing, &mut self.passkeys[0].1).await;
        let proofs = Proofs::from([("passkey", self.now())]);
        self.sessions[session] = Expected { token: token(&answer), proofs };
    }

    /// What follows an added factor, if the session was fresh: it counts from the oldest proof of before, and renews none.
    async fn added(
        &mut self,
        session: usize,
        kind: &'static str,
        mut proofs: Proofs,
        added: &Answer,
    ) {
        let body = added.json();
        let since = *proofs.values().min().unwrap();
        proofs.entry(kind).or_insert(since);
        self.sessions[session] = Expected { token: token_of(added), proofs };
        if let Some(codes) = body["recoveryCodes"].as_array() {
            self.end_others_with(session, &["recovery"]).await;
            self.recovery_codes = texts(codes);
        }
    }

    async fn add_totp(&mut self) {
        if self.totp.is_some() {
            return;
        }
        let session = self.any_session();
        let path = format!("{FACTORS}/totp");
        let begun = self.request(session, "POST", &path, Value::Null).await;
        assert_eq!(begun.status.is_success(), self.is_fresh(session), "{}", begun.body);
        if !begun.status.is_success() {
            return;
        }
        let secret = begun.json()["secret"].as_str().unwrap().to_owned();
        self.wait(300);
        let code = totp_code(&secret, self.now());
        let body = json!({"setup": begun.json()["setup"], "code": code});
        let path = format!("{FACTORS}/totp/confirm");
        let added = self.request(session, "POST", &path, body).await;
        assert_eq!(added.status.is_success(), self.is_fresh(session), "{}", added.body);
        if added.status.is_success() {
            let before = self.counting(&self.sessions[session].proofs);
            self.totp = Some(secret);
            self.added(session, "totp", before, &added).await;
            self.server.let_pass(Duration::from_secs(30));
        }
    }

    async fn add_passkey(&mut self) {
        if self.passkeys.len() > 1 {
            return;
        }
        let session = self.any_session();
        let path = format!("{FACTORS}/passkeys/options");
        let begun = self.request(session, "POST", &path, json!({"kind": "passkey"})).await;
        if !begun.status.is_success() {
            return;
        }
        self.wait(300);
        let mut authenticator = Authenticator::new();
        let credential = authenticator.create(&begun.json()["publicKey"]);
        let body = json!({"setup": begun.json()["setup"], "credential": credential});
        let added = self.request(session, "POST", &format!("{FACTORS}/passkeys"), body).await;
        assert_eq!(added.status.is_success(), self.is_fresh(session), "{}", added.body);
        if added.status.is_success() {
            let before = self.counting(&self.sessions[session].proofs);
            self.passkeys.push((String::new(), authenticator));
            self.added(session, "passkey", before, &added).await;
            let token = token_of(&added);
            let held = self.server.request_as(&token, "GET", FACTORS, Value::Null).await.json();
            let newest = held["passkeys"].as_array().unwrap().iter().find(|listed| {
                self.passkeys.iter().all(|(known, _)| listed["id"] != known.as_str())
            });
            let id = newest.unwrap()["id"].as_str().unwrap().to_owned();
            self.passkeys.last_mut().unwrap().0 = id;
        }
    }

    /// Removes a factor. The session that does has proved it no more, and others that have are ended.
    async fn remove(&mut self, kind: &'static str) {
        let path = match (kind, self.passkeys.last()) {
            ("totp", _) if self.totp.is_some() => format!("{FACTORS}/totp"),
            ("passkey", Some((id, _))) => format!("{FACTORS}/passkeys/{id}"),
            _ => return,
        };
        let session = self.any_session();
        let removed = self.request(session, "DELETE", &path, Value::Null).await;
        assert_eq!(removed.status.is_success(), self.is_fresh(session), "{}", removed.body);
        if removed.status.is_success() {
            match kind {
                "totp" => self.totp = None,
                _ => drop(self.passkeys.pop()),
            }
            self.sessions[session].proofs.remove(kind);
            let with_last = if self.holds_any() { &[kind][..] } else { &[kind, "recovery"] };
            self.end_others_with(session, with_last).await;
        }
    }

    async fn replace_recovery_codes(&mut self) {
        let session = self.any_session();
        let path = format!("{FACTORS}/recovery-codes");
        let replaced = self.request(session, "POST", &path, Value::Null).await;
        let expected = self.is_fresh(session) && self.holds_any();
        assert_eq!(replaced.status.is_success(), expected, "{}", replaced.body);
        if expected {
            self.recovery_codes = texts(replaced.json()["recoveryCodes"].as_array().unwrap());
            self.end_others_with(session, &["recovery"]).await;
        }
    }

    async fn refresh(&mut self) {
        let session = self.any_session();
        let answer = self.request(session, "POST", "/api/auth/refresh", Value::Null).await;
        self.sessions[session].token = token(&answer);
    }

    async fn do_something(&mut self) -> &'static str {
        match self.chance.below(14) {
            0 | 1 => {
                self.wait(420);
                "wait"
            }
            2 | 3 => {
                self.log_in().await;
                "log in"
            }
            4 => {
                self.log_in_with_passkey().await;
                "log in with a passkey"
            }
            5 | 6 => {
                self.step_up_with_password().await;
                "step up with the password"
            }
            7 => {
                self.step_up_with_passkey().await;
                "step up with a passkey"
            }
            8 => {
                self.add_totp().await;
                "add an app"
            }
            9 => {
                self.add_passkey().await;
                "add a passkey"
            }
            10 => {
                self.remove("totp").await;
                "remove the app"
            }
            11 => {
                self.remove("passkey").await;
                "remove a passkey"
            }
            12 => {
                self.replace_recovery_codes().await;
                "replace the recovery codes"
            }
            _ => {
                self.refresh().await;
                "refresh"
            }
        }
    }

    /// Asserts that every session counts as the model says, at guards and for changes of the account.
    async fn check(&self, after: &str) {
        for (index, session) in self.sessions.iter().enumerate() {
            let proofs = self.counting(&session.proofs);
            let me = self.request(index, "GET", "/api/me", Value::Null).await;
            assert_eq!(me.status, StatusCode::OK, "{after}: {}", me.body);
            let names: Vec<_> =
                NAMES.into_iter().filter(|name| proofs.contains_key(name)).collect();
            assert_eq!(me.json()["methods"], json!(names), "{after}");
            let since = proofs.values().copied().min().unwrap_or(0);
            let is_new = since > self.now() - TEN_MINUTES;
            let has_passkey = proofs.contains_key("passkey");
            for (guard, expected) in [
                ("strong", strength(&proofs) >= 2),
                ("resistant", has_passkey),
                ("fresh", is_new),
                ("passkey", has_passkey && is_new),
            ] {
                let admitted = self.server.guard(guard, &session.token).await.status;
                assert_eq!(admitted == StatusCode::OK, expected, "{after}: {guard}, {proofs:?}");
            }
            let path = format!("{FACTORS}/passkeys/options");
            let begun = self.request(index, "POST", &path, json!({"kind": "passkey"})).await;
            let expected = self.is_fresh(index);
            assert_eq!(begun.status.is_success(), expected, "{after}: a change, {proofs:?}");
        }
    }
}

fn token_of(added: &Answer) -> String {
    added.json()["token"].as_str().unwrap().to_owned()
}

fn texts(codes: &[Value]) -> Vec<String> {
    codes.iter().map(|code| code.as_str().unwrap().to_owned()).collect()
}

async fn no_session_is_fresher_or_stronger(server: TestServer, chance: Chance, steps: usize) {
    let mut world = World::open(server, chance).await;
    for _ in 0..steps {
        let done = world.do_something().await;
        world.check(done).await;
        // The newest go on, so that each step stays cheap.
        let most = world.sessions.len().saturating_sub(5);
        world.sessions.drain(..most);
    }
}

#[tokio::test]
async fn no_session_counts_as_fresher_or_stronger_than_the_model_says() {
    let server = TestServer::open_with(with_guards).await;
    no_session_is_fresher_or_stronger(server, Chance::of_this_run(), 200).await;
}

#[tokio::test]
async fn no_session_counts_as_fresher_or_stronger_than_the_model_says_on_postgresql() {
    let Some(url) = postgres::fresh_database() else { return };
    let server =
        TestServer::open_with(|settings| with_guards(settings).with("database_url", url)).await;
    no_session_is_fresher_or_stronger(server, Chance::of_this_run(), 60).await;
}

#[tokio::test]
async fn a_passkey_is_not_renewed_by_another_factor() {
    let server = TestServer::open_with(with_guards).await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
    let passkey = ada.passkey.as_mut().unwrap();
    ada.token = token(&answer_passkey(&server, &begun, passkey).await);
    server.let_pass(Duration::from_secs(9 * 60));
    assert_eq!(server.guard("passkey", &ada.token).await.status, 200);
    ada.add_totp(&server).await;
    server.let_pass(Duration::from_secs(60));
    assert_eq!(server.guard("passkey", &ada.token).await.status, 401);
    let path = "/api/me/factors/passkeys/options";
    let begun = server.request_as(&ada.token, "POST", path, json!({"kind": "passkey"})).await;
    assert_eq!(begun.status, StatusCode::UNAUTHORIZED, "the app alone is one factor");
}

/// Whoever has stolen a session can add passkeys and an app of their own to it, and remove those of its owner.
#[tokio::test]
async fn a_factor_that_is_added_in_a_session_renews_nothing_in_it() {
    let server = TestServer::open_with(with_guards).await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    server.let_pass(Duration::from_secs(60 * 60));
    let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
    let mut owned = ada.passkey.take().unwrap();
    ada.token = token(&answer_passkey(&server, &begun, &mut owned).await);
    let auth_time = part(&ada.token, 1)["auth_time"].clone();
    let held = server.request_as(&ada.token, "GET", FACTORS, Value::Null).await.json();
    let owned = held["passkeys"][0]["id"].as_str().unwrap().to_owned();
    server.let_pass(Duration::from_secs(570));
    ada.add_passkey(&server, Authenticator::new()).await;
    ada.add_totp(&server).await;
    assert_eq!(part(&ada.token, 1)["auth_time"], auth_time);
    server.let_pass(Duration::from_secs(30));
    for guard in ["passkey", "fresh"] {
        assert_eq!(
            server.guard(guard, &ada.token).await.status,
            StatusCode::UNAUTHORIZED,
            "{guard}"
        );
    }
    for (method, path) in [
        ("GET", "/api/me/export".to_owned()),
        ("POST", format!("{FACTORS}/recovery-codes")),
        ("DELETE", format!("{FACTORS}/passkeys/{owned}")),
    ] {
        let refused = server.request_as(&ada.token, method, &path, Value::Null).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{method} {path}: {}", refused.body);
    }
}

/// In the moment in which it may still be done, the passkey of the owner is removed: what is left is no newer.
#[tokio::test]
async fn what_is_left_of_a_session_without_its_passkey_is_no_newer() {
    let server = TestServer::open_with(with_guards).await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
    ada.token = token(&answer_passkey(&server, &begun, ada.passkey.as_mut().unwrap()).await);
    let held = server.request_as(&ada.token, "GET", FACTORS, Value::Null).await.json();
    let owned = held["passkeys"][0]["id"].as_str().unwrap().to_owned();
    server.let_pass(Duration::from_secs(540));
    ada.add_totp(&server).await;
    let path = format!("{FACTORS}/passkeys/{owned}");
    let removed = server.request_as(&ada.token, "DELETE", &path, Value::Null).await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT, "{}", removed.body);
    assert_eq!(methods(&server, &ada.token).await, json!(["totp"]));
    assert_eq!(server.guard("fresh", &ada.token).await.status, StatusCode::OK);
    server.let_pass(Duration::from_secs(60));
    assert_eq!(server.guard("fresh", &ada.token).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn an_added_factor_ends_no_session_that_has_proved_another_one() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
    let with_passkey = token(&answer_passkey(&server, &begun, ada.passkey.as_mut().unwrap()).await);
    ada.add_passkey(&server, Authenticator::security_key()).await;
    ada.add_totp(&server).await;
    assert_eq!(methods(&server, &with_passkey).await, json!(["passkey"]));
}

#[tokio::test]
async fn a_password_counts_from_when_it_was_typed() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_totp(&server).await;
    let held = challenge(&server).await;
    server.let_pass(Duration::from_secs(9 * 60));
    ada.token = token(&answer_code(&server, &held, &ada.code(&server)).await);
    assert_eq!(methods(&server, &ada.token).await, json!(["pwd", "totp"]));
    server.let_pass(Duration::from_secs(60));
    let removed =
        server.request_as(&ada.token, "DELETE", "/api/me/factors/totp", Value::Null).await;
    assert_eq!(removed.status, StatusCode::UNAUTHORIZED, "{}", removed.body);
}

#[tokio::test]
async fn a_step_up_records_what_was_given() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_totp(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let missing = server.request_as(&ada.token, "POST", STEP_UP, json!({})).await.json();
    let stepped_up = answer_passkey(&server, &missing, ada.passkey.as_mut().unwrap()).await;
    assert_eq!(methods(&server, &token(&stepped_up)).await, json!(["passkey"]));
    let path = format!("/api/admin/audit?kind=stepped_up&user={}", ada.id);
    let events = server.ordered("GET", &path, Value::Null).await;
    let methods: Vec<_> = events["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| &event["details"]["methods"])
        .collect();
    assert_eq!(methods, [&json!(["passkey"])], "{events}");
}

#[tokio::test]
async fn a_removed_factor_ends_the_sessions_that_have_proved_it() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_totp(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let with_app =
        token(&answer_code(&server, &challenge(&server).await, &ada.code(&server)).await);
    let with_passkey = {
        let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
        token(&answer_passkey(&server, &begun, ada.passkey.as_mut().unwrap()).await)
    };
    let path = "/api/me/factors/totp";
    let removed = server.request_as(&ada.token, "DELETE", path, Value::Null).await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT, "{}", removed.body);
    let status =
        async |token: &str| server.request_as(token, "GET", "/api/me", Value::Null).await.status;
    assert_eq!(status(&with_app).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(&with_passkey).await, StatusCode::OK);
    assert_eq!(methods(&server, &ada.token).await, json!(["pwd", "passkey"]));
}

#[tokio::test]
async fn a_removed_factor_ends_the_trust_in_browsers() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_totp(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let caller = server.doorward.caller(&ada.token).await.unwrap();
    let now = server.now();
    let both = Methods::at(now, [Method::Password, Method::Totp]);
    let session = |methods| {
        let mut session = (*caller.session).clone();
        (session.id, session.token_id, session.methods) =
            (SessionId::random(), TokenId::random(), methods);
        session
    };
    let trusted = TrustedDevice {
        id: FactorId::random(),
        user_id: caller.user.id,
        password_version: caller.user.password_version(),
        client: caller.session.client.clone(),
        created_at: now,
        expires_at: now + Duration::from_secs(60),
    };
    let (strong, later) =
        (session(both), session(Methods::at(now, [Method::Password, Method::TrustedDevice])));
    let sign_in = SignIn { new_trusted_device: Some(trusted), ..SignIn::new(&caller.user, strong) };
    for sign_in in [sign_in, SignIn::new(&caller.user, later.clone())] {
        let written = server.doorward.store().sign_in(sign_in, &Effects::NONE).await.unwrap();
        assert!(matches!(written, SignInWritten::Begun(_)), "{written:?}");
    }
    let trusted = async || {
        let held = server.request_as(&ada.token, "GET", FACTORS, Value::Null).await.json();
        held["trustedDevices"].as_array().unwrap().len()
    };
    assert_eq!(trusted().await, 1);
    let path = format!("{FACTORS}/totp");
    let removed = server.request_as(&ada.token, "DELETE", &path, Value::Null).await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT, "{}", removed.body);
    assert_eq!(trusted().await, 0);
    let left = server.doorward.store().session_with_user(later.id).await.unwrap();
    assert!(left.is_none(), "the session of a trusted browser goes on");
}

#[tokio::test]
async fn a_security_key_for_after_a_password_does_not_sign_in_alone() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::security_key()).await;
    let mut key = ada.passkey.take().unwrap();
    // It says that it has verified its user, such as a key whose owner has set a PIN since.
    key.verifies_user = true;
    let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
    let refused = answer_passkey(&server, &begun, &mut key).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{}", refused.body);
    let opened = answer_passkey(&server, &challenge(&server).await, &mut key).await;
    assert_eq!(methods(&server, &token(&opened)).await, json!(["pwd", "key"]));
}

/// Of a session that rests on one passkey, one removal can be carried out, however many are sent at the same time.
async fn one_proof_removes_one_factor(server: TestServer) {
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
    let stolen = token(&answer_passkey(&server, &begun, ada.passkey.as_mut().unwrap()).await);
    // Both requests have been admitted.
    let caller = server.doorward.caller(&stolen).await.unwrap();
    let (store, now) = (server.doorward.store(), server.now());
    let held = store.factors_of(&caller.user, now).await.unwrap().passkeys;
    let who = Holder { user: &caller.user, session: &caller.session };
    let others = OtherWays { by_password: true, by_mail: false, by_identity: None };
    let first = store.remove_passkey(who, held[0].id, others, now, &Effects::NONE).await.unwrap();
    let RemoveFactor::Removed(left) = first else { panic!("{first:?}") };
    assert!(left.methods.is_empty());
    let second = store.remove_passkey(who, held[1].id, others, now, &Effects::NONE).await.unwrap();
    assert_eq!(second, RemoveFactor::Changed);
    assert!(!store.replace_recovery_codes(who, &[[1; 32]], now, &Effects::NONE).await.unwrap());
    let totp = StoredTotp {
        user_id: caller.user.id,
        secret: vec![1; 48],
        last_step: 0,
        created_at: now,
        last_used_at: None,
    };
    let mut own = (*caller.session).clone();
    own.token_id = TokenId::random();
    let added_in = AddedIn { known: &caller.session, own: &own };
    let added = store.add_totp(&caller.user, &totp, &[], Some(added_in), &Effects::NONE).await;
    assert_eq!(added.unwrap(), AddFactor::UserChanged);
    let held = store.factors_of(&caller.user, now).await.unwrap();
    assert!(held.passkeys.len() == 1 && held.totp.is_none());
}

#[tokio::test]
async fn one_proof_removes_one_factor_whatever_is_sent_at_the_same_time() {
    one_proof_removes_one_factor(server().await).await;
}

#[tokio::test]
async fn one_proof_removes_one_factor_whatever_is_sent_at_the_same_time_on_postgresql() {
    let Some(url) = postgres::fresh_database() else { return };
    let server =
        TestServer::open_with(|settings| with_guards(settings).with("database_url", url)).await;
    one_proof_removes_one_factor(server).await;
}

#[tokio::test]
async fn services_that_verify_tokens_by_themselves_learn_of_a_lost_proof() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_totp(&server).await;
    let own = part(&ada.token, 1)["jti"].clone();
    let is_ended = async || {
        let feed = everything(&server).await;
        feed["revoked"].as_array().unwrap().contains(&own)
    };
    assert!(!is_ended().await);
    let path = format!("{FACTORS}/totp");
    let removed = server.request_as(&ada.token, "DELETE", &path, Value::Null).await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT, "{}", removed.body);
    assert!(is_ended().await, "it says that the session has two factors");
    assert_eq!(methods(&server, &ada.token).await, json!(["pwd"]), "the session goes on");
}

/// A recovery code stands in for a factor. Without one, it has proved nothing.
#[tokio::test]
async fn the_last_factor_takes_along_what_recovery_codes_have_proved() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_totp(&server).await;
    let with_code = async |number: usize| {
        let answered = challenge(&server).await;
        token(&answer_code(&server, &answered, &ada.recovery_codes[number]).await)
    };
    let (own, other) = (with_code(0).await, with_code(1).await);
    let path = format!("{FACTORS}/totp");
    let removed = server.request_as(&own, "DELETE", &path, Value::Null).await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT, "{}", removed.body);
    let ended = server.request_as(&other, "GET", "/api/me", Value::Null).await;
    assert_eq!(ended.status, StatusCode::UNAUTHORIZED, "{}", ended.body);
    assert_eq!(methods(&server, &own).await, json!(["pwd"]), "the session goes on");
    let feed = everything(&server).await;
    for token in [&own, &other] {
        let id = &part(token, 1)["jti"];
        assert!(feed["revoked"].as_array().unwrap().contains(id), "it says two factors");
    }
    // They prove nothing again when there is another factor.
    ada.token = own;
    ada.add_totp(&server).await;
    assert_eq!(methods(&server, &ada.token).await, json!(["pwd", "totp"]));
}

#[tokio::test]
async fn a_new_factor_gives_no_strength_to_sessions_that_name_an_earlier_one() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    let caller = server.doorward.caller(&ada.token).await.unwrap();
    // An older version has left it behind when the app was removed.
    let mut earlier = (*caller.session).clone();
    (earlier.id, earlier.token_id) = (SessionId::random(), TokenId::random());
    earlier.methods = Methods::at(server.now(), [Method::Password, Method::Totp]);
    let written = server.doorward.store().add_session(&caller.user, &earlier, &Effects::NONE).await;
    assert!(written.unwrap());
    let is_left =
        async || server.doorward.store().session_with_user(earlier.id).await.unwrap().is_some();
    assert!(is_left().await);
    ada.add_totp(&server).await;
    assert!(!is_left().await);
}

#[tokio::test]
async fn the_mailed_code_of_somebody_without_a_password_counts_with_its_own_time() {
    let server =
        TestServer::open_with(|settings| with_guards(settings).with("sign_in.mail_code", "true"))
            .await;
    let mut ada = Person::of(server.register_with(json!({"name": "Ada", "email": ADA})).await);
    let asked = server.post("/api/auth/code", &json!({"email": ADA})).await;
    assert_eq!(asked.status, StatusCode::ACCEPTED, "{}", asked.body);
    let (link, _) = secret(&server, ADA, Purpose::SignIn).await;
    ada.token = token(&server.post("/api/auth/code/login", &json!({"code": link})).await);
    ada.add_totp(&server).await;
    let step_up = async |ada: &Person| {
        let begun = server.request_as(&ada.token, "POST", STEP_UP, json!({})).await;
        answer_code(&server, &begun.json(), &ada.code(&server)).await
    };
    let changes = async |ada: &Person| {
        let path = format!("{FACTORS}/recovery-codes");
        server.request_as(&ada.token, "POST", &path, Value::Null).await.status
    };
    // The code is 6 minutes old, and counts as such.
    server.let_pass(Duration::from_secs(6 * 60));
    ada.token = token(&step_up(&ada).await);
    assert_eq!(methods(&server, &ada.token).await, json!(["otp", "totp"]));
    assert_eq!(changes(&ada).await, StatusCode::OK);
    server.let_pass(Duration::from_secs(5 * 60));
    assert_eq!(changes(&ada).await, StatusCode::UNAUTHORIZED, "the code is 11 minutes old");
    // It is too old to be carried on, so the app alone proves less.
    let alone = step_up(&ada).await;
    assert_eq!(alone.status, StatusCode::UNAUTHORIZED, "{}", alone.body);
    assert_eq!(changes(&ada).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_passkey_counts_from_when_its_challenge_was_made() {
    let server = TestServer::open_with(with_guards).await;
    let mut ada = Person::register(&server).await;
    ada.add_passkey(&server, Authenticator::new()).await;
    let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
    server.let_pass(Duration::from_secs(9 * 60));
    let held = token(&answer_passkey(&server, &begun, ada.passkey.as_mut().unwrap()).await);
    assert_eq!(server.guard("passkey", &held).await.status, StatusCode::OK);
    server.let_pass(Duration::from_secs(60));
    assert_eq!(server.guard("passkey", &held).await.status, StatusCode::UNAUTHORIZED);
    let begun = server.request_as(&held, "POST", STEP_UP, json!({})).await.json();
    server.let_pass(Duration::from_secs(9 * 60));
    let held = token(&answer_passkey(&server, &begun, ada.passkey.as_mut().unwrap()).await);
    server.let_pass(Duration::from_secs(60));
    assert_eq!(server.guard("passkey", &held).await.status, StatusCode::UNAUTHORIZED);
    let begun = server.post("/api/auth/login/passkey", &json!({})).await.json();
    server.let_pass(Duration::from_secs(60 * 60));
    let late = answer_passkey(&server, &begun, ada.passkey.as_mut().unwrap()).await;
    assert_eq!(late.status, StatusCode::UNAUTHORIZED, "{}", late.body);
}

#[tokio::test]
async fn a_refreshed_token_does_not_name_a_proof_that_the_session_has_just_lost() {
    let server = server().await;
    let mut ada = Person::register(&server).await;
    ada.add_totp(&server).await;
    // The refresh was admitted before the removal.
    let caller = server.doorward.caller(&ada.token).await.unwrap();
    let path = format!("{FACTORS}/totp");
    let removed = server.request_as(&ada.token, "DELETE", &path, Value::Null).await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT, "{}", removed.body);
    let (store, now) = (server.doorward.store(), server.now());
    let renewed = store.renew_session(&caller.session, TokenId::random(), now).await.unwrap();
    assert!(!renewed, "its token would name the app");
    let refreshed = server.request_as(&ada.token, "POST", "/api/auth/refresh", Value::Null).await;
    let amr = part(&token(&refreshed), 1)["amr"].clone();
    assert_eq!(amr, json!(["pwd"]));
}
