//! A provider on this machine, and what it tries.

use std::{
    collections::HashMap,
    future::pending,
    io::Write,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use aws_lc_rs::{
    encoding::AsDer,
    hmac,
    rand::SystemRandom,
    rsa::KeySize,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
        RSA_PSS_SHA256, RsaKeyPair, RsaPublicKeyComponents,
    },
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as B64};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::*;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

#[derive(Clone)]
enum Reply {
    Json(u16, Value),
    /// After a while.
    Late(Duration, Value),
    /// With the time of the server.
    Dated(Value, &'static str),
    Redirect(String),
    Silence,
    /// A byte at a time, for ever.
    Drip,
    /// This many bytes.
    Long(usize),
}

/// A provider.
#[derive(Clone)]
struct Fake {
    base: String,
    replies: Arc<Mutex<HashMap<String, Reply>>>,
    /// Each request: its head and body.
    seen: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let fake = Self { base, replies: Arc::default(), seen: Arc::default() };
        let server = fake.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(server.clone().serve(stream));
            }
        });
        fake
    }

    async fn serve(self, mut stream: TcpStream) {
        let mut request = Vec::new();
        let (head, length) = loop {
            stream.read_buf(&mut request).await.unwrap();
            let text = String::from_utf8_lossy(&request).into_owned();
            let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            break (head.to_owned(), length.map_or(0, |length| length.parse().unwrap()));
        };
        while request.len() < head.len() + 4 + length {
            stream.read_buf(&mut request).await.unwrap();
        }
        let path = head.split([' ', '?']).nth(1).unwrap().to_owned();
        self.seen.lock().unwrap().push(String::from_utf8(request).unwrap());
        let reply = self.replies.lock().unwrap().get(&path).cloned();
        let headers = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
        let answer = match reply.unwrap_or(Reply::Json(404, json!({}))) {
            Reply::Json(status, body) => {
                // Callers that come at the same time must meet.
                tokio::time::sleep(Duration::from_millis(20)).await;
                let (body, head) = (body.to_string(), headers.replace("200", &status.to_string()));
                format!("{head}content-length: {}\r\n\r\n{body}", body.len())
            }
            Reply::Late(delay, body) => {
                tokio::time::sleep(delay).await;
                let body = body.to_string();
                format!("{headers}content-length: {}\r\n\r\n{body}", body.len())
            }
            Reply::Dated(body, date) => {
                let body = body.to_string();
                format!("{headers}date: {date}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
            }
            Reply::Redirect(to) => {
                format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
            }
            Reply::Silence => pending().await,
            Reply::Drip => {
                let _ = stream
                    .write_all(format!("{headers}content-length: 60000\r\n\r\n").as_bytes())
                    .await;
                while stream.write_all(b" ").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                return;
            }
            Reply::Long(length) => {
                let _ = stream
                    .write_all(format!("{headers}content-length: {length}\r\n\r\n").as_bytes())
                    .await;
                let part = vec![b' '; 1 << 16];
                let mut sent = 0;
                while sent < length && stream.write_all(&part).await.is_ok() {
                    sent += part.len();
                }
                return;
            }
        };
        let _ = stream.write_all(answer.as_bytes()).await;
    }

    fn reply(&self, path: &str, reply: Reply) {
        self.replies.lock().unwrap().insert(path.to_owned(), reply);
    }

    fn json(&self, path: &str, body: Value) {
        self.reply(path, Reply::Json(200, body));
    }

    /// The requests for a path.
    fn requests(&self, path: &str) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .filter(|request| request.split([' ', '?']).nth(1) == Some(path))
            .cloned()
            .collect()
    }

    fn discovery(&self) -> Value {
        let base = &self.base;
        json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "userinfo_endpoint": format!("{base}/userinfo"),
            "jwks_uri": format!("{base}/keys"),
        })
    }

    /// One that speaks OpenID Connect and has these keys.
    async fn oidc(keys: &[&Signer]) -> Self {
        let fake = Self::start().await;
        fake.json("/.well-known/openid-configuration", fake.discovery());
        fake.keys(keys);
        fake
    }

    fn keys(&self, keys: &[&Signer]) {
        let keys: Vec<_> = keys.iter().map(|key| key.jwk()).collect();
        self.json("/keys", json!({ "keys": keys }));
    }

    fn login(&self, preset: Preset) -> Login {
        Login {
            name: "fake".to_owned(),
            preset,
            shown_as: preset,
            label: "Fake".to_owned(),
            issuer: self.base.clone(),
            tenant: None,
            client_id: "client".to_owned(),
            credential: Credential::None,
            scopes: Vec::new(),
            ca_file: None,
            allow_networks: Vec::new(),
            rules: Arc::default(),
            version: "1".to_owned(),
        }
    }

    /// The claims of a good ID token.
    fn claims(&self) -> Value {
        json!({
            "iss": self.base, "aud": "client", "sub": "s-1", "nonce": "nonce",
            "iat": NOW.seconds(), "exp": NOW.seconds() + 300,
            "email": "ada@example.com", "email_verified": true, "name": "Ada Lovelace",
        })
    }

    /// Lets the token request answer with this ID token.
    fn gives(&self, id_token: String) {
        self.json(
            "/token",
            json!({ "access_token": "access", "token_type": "Bearer", "id_token": id_token }),
        );
    }

    async fn sign_in(&self, preset: Preset) -> Result<ExternalPerson, ProviderError> {
        Providers::new().person(&self.login(preset), &ANSWER, NOW).await
    }
}

const ANSWER: AuthorizationAnswer<'_> = AuthorizationAnswer {
    code: Some("code"),
    error: None,
    iss: None,
    redirect_uri: "https://here.example/back",
    nonce: "nonce",
    verifier: "verifier",
    prompt: Prompt::IfNeeded,
    user: None,
};

enum Pair {
    Es(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
    Rsa(Box<RsaKeyPair>),
}

/// A key of a provider.
struct Signer {
    pair: Pair,
    id: Value,
}

impl Signer {
    fn es(id: impl Into<Value>) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        Self { pair: Pair::Es(pair), id: id.into() }
    }

    fn ed() -> Self {
        Self { pair: Pair::Ed(Ed25519KeyPair::generate().unwrap()), id: "ed".into() }
    }

    fn rsa() -> Self {
        let pair = Box::new(RsaKeyPair::generate(KeySize::Rsa2048).unwrap());
        Self { pair: Pair::Rsa(pair), id: "rsa".into() }
    }

    fn jwk(&self) -> Value {
        let mut jwk = match &self.pair {
            Pair::Es(pair) => {
                let point = pair.public_key().as_ref();
                json!({ "kty": "EC", "crv": "P-256", "x": B64.encode(&point[1..33]), "y": B64.encode(&point[33..]) })
            }
            Pair::Ed(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": B64.encode(pair.public_key()) })
            }
            Pair::Rsa(pair) => {
                let public = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                // With the sign, as some providers write it.
                let modulus = [vec![0], public.n].concat();
                json!({ "kty": "RSA", "n": B64.encode(modulus), "e": B64.encode(public.e) })
            }
        };
        if !self.id.is_null() {
            jwk["kid"] = self.id.clone();
        }
        jwk
    }

    fn algorithm(&self) -> &'static str {
        match self.pair {
            Pair::Es(_) => "ES256",
            Pair::Ed(_) => "EdDSA",
            Pair::Rsa(_) => "RS256",
        }
    }

    fn sign(&self, claims: &Value) -> String {
        let mut header = json!({ "alg": self.algorithm(), "typ": "JWT" });
        if !self.id.is_null() {
            header["kid"] = self.id.clone();
        }
        self.sign_with(&header, claims)
    }

    fn sign_with(&self, header: &Value, claims: &Value) -> String {
        let message =
            format!("{}.{}", B64.encode(header.to_string()), B64.encode(claims.to_string()));
        let random = SystemRandom::new();
        let signature = match &self.pair {
            Pair::Es(pair) => pair.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec(),
            Pair::Ed(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                let padding =
                    if header["alg"] == "PS256" { &RSA_PSS_SHA256 } else { &RSA_PKCS1_SHA256 };
                pair.sign(
                    padding as &dyn aws_lc_rs::signature::RsaEncoding,
                    &random,
                    message.as_bytes(),
                    &mut signature,
                )
                .unwrap();
                signature
            }
        };
        format!("{message}.{}", B64.encode(signature))
    }
}

fn with(mut claims: Value, name: &str, value: impl Into<Value>) -> Value {
    match value.into() {
        Value::Null => claims.as_object_mut().unwrap().shift_remove(name),
        value => claims.as_object_mut().unwrap().insert(name.to_owned(), value),
    };
    claims
}

#[tokio::test]
async fn a_person_is_who_the_id_token_says() {
    let key = Signer::es("1");
    let fake = Fake::oidc(&[&key]).await;
    let claims = with(fake.claims(), "auth_time", NOW.seconds() - 10);
    let claims = with(with(claims, "sid", "sid-1"), "groups", json!(["staff"]));
    fake.gives(key.sign(&claims));
    let mut login = fake.login(Preset::Oidc);
    let file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file.as_file(), "s:cret").unwrap();
    login.credential = Credential::SecretFile(file.path().to_owned());
    let answer = AuthorizationAnswer { iss: Some(&fake.base), ..ANSWER };
    let person = Providers::new().person(&login, &answer, NOW).await.unwrap();
    assert_eq!((person.issuer.as_str(), person.subject.as_str()), (fake.base.as_str(), "s-1"));
    let email = person.email.unwrap();
    assert!(email.address.as_str() == "ada@example.com" && email.is_verified);
    assert_eq!(person.name.as_deref(), Some("Ada Lovelace"));
    assert_eq!(
        (person.display.as_str(), person.session_id.as_deref()),
        ("ada@example.com", Some("sid-1"))
    );
    assert_eq!(person.authenticated_at, Some(Timestamp::from_seconds(NOW.seconds() - 10)));
    assert_eq!(person.claims["groups"], json!(["staff"]));
    assert!(!person.claims.contains_key("nonce"));
    assert!(fake.requests("/userinfo").is_empty(), "nothing was missing");
    let [request] = &fake.requests("/token")[..] else { panic!("several token requests") };
    let (head, form) = request.split_once("\r\n\r\n").unwrap();
    let basic = base64::prelude::BASE64_STANDARD.encode("client:s%3Acret");
    assert!(head.contains(&format!("authorization: Basic {basic}")), "{head}");
    assert_eq!(
        form,
        "grant_type=authorization_code&code=code&redirect_uri=https%3A%2F%2Fhere.example%2Fback&code_verifier=verifier"
    );
}

#[tokio::test]
async fn four_algorithms_count_and_a_key_id_may_be_missing_or_a_number() {
    let (mut es, ed, rsa) = (Signer::es(7), Signer::ed(), Signer::rsa());
    let fake = Fake::oidc(&[&es, &ed, &rsa]).await;
    let pss = json!({ "alg": "PS256", "kid": "rsa" });
    let tokens = [
        es.sign(&fake.claims()),
        ed.sign(&fake.claims()),
        rsa.sign(&fake.claims()),
        rsa.sign_with(&pss, &fake.claims()),
    ];
    es.id = Value::Null;
    for token in tokens.into_iter().chain([es.sign(&fake.claims())]) {
        fake.gives(token);
        assert_eq!(fake.sign_in(Preset::Oidc).await.unwrap().subject, "s-1");
    }
    fake.keys(&[&es, &Signer::es("2")]);
    assert_eq!(
        fake.sign_in(Preset::Oidc).await.unwrap_err(),
        ProviderError::BadToken("it names no key, and several fit it")
    );
}

#[tokio::test]
async fn an_odd_key_spoils_no_other() {
    let key = Signer::es("1");
    let fake = Fake::oidc(&[]).await;
    fake.gives(key.sign(&fake.claims()));
    let odd = json!([
        { "kty": "AKP", "alg": "ML-DSA-44", "pub": "AA" }, { "kty": "EC", "crv": "secp256k1", "kid": 5 }, { "kid": {} }, 3, "x", null,
        { "kty": "RSA", "n": "!", "e": "AQAB", "kid": "1" }, { "kty": "oct", "k": "AAAA", "kid": "1" },
    ]);
    let mut keys = odd.as_array().unwrap().clone();
    keys.push(with(key.jwk(), "use", "enc"));
    fake.json("/keys", json!({ "keys": keys }));
    assert!(
        matches!(fake.sign_in(Preset::Oidc).await, Err(ProviderError::BadToken(_))),
        "a key to encrypt"
    );
    keys.push(with(key.jwk(), "alg", "RS256"));
    fake.json("/keys", json!({ "keys": keys }));
    assert!(
        matches!(fake.sign_in(Preset::Oidc).await, Err(ProviderError::BadToken(_))),
        "for another algorithm"
    );
    keys.push(with(with(key.jwk(), "alg", "ES256"), "use", "sig"));
    fake.json("/keys", json!({ "keys": keys }));
    assert_eq!(fake.sign_in(Preset::Oidc).await.unwrap().subject, "s-1");
}

#[tokio::test]
async fn a_forged_token_does_not_count() {
    let (key, rsa) = (Signer::es("1"), Signer::rsa());
    let fake = Fake::oidc(&[&key, &rsa]).await;
    let claims = fake.claims();
    let part = |json: Value| B64.encode(json.to_string());
    let none = format!("{}.{}.", part(json!({ "alg": "none" })), part(claims.clone()));
    let hs256 = |secret: &[u8]| {
        let message =
            format!("{}.{}", part(json!({ "alg": "HS256", "kid": "rsa" })), part(claims.clone()));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
        format!("{message}.{}", B64.encode(tag))
    };
    let Pair::Rsa(pair) = &rsa.pair else { unreachable!() };
    let der = pair.public_key().as_der().unwrap();
    let pem = pem::encode(&pem::Pem::new("PUBLIC KEY", der.as_ref()));
    let good = key.sign(&claims);
    let (message, _) = good.rsplit_once('.').unwrap();
    let other_claims = key.sign(&with(claims.clone(), "sub", "s-2"));
    let tokens = [
        none.clone(),
        none.replace('.', ""),
        hs256(der.as_ref()),
        hs256(pem.as_bytes()),
        Signer::es("1").sign(&claims),
        key.sign_with(&json!({ "alg": "ES256", "kid": "rsa" }), &claims),
        key.sign_with(&json!({ "alg": "RS256", "kid": "1" }), &claims),
        key.sign_with(&json!({ "alg": "es256", "kid": "1" }), &claims),
        key.sign_with(&json!({ "alg": "ES256", "kid": "1", "crit": [] }), &claims),
        key.sign_with(&json!({ "alg": "ES256", "kid": "1", "typ": "logout+jwt" }), &claims),
        key.sign_with(&json!({ "alg": "ES256", "kid": "1", "typ": "at+jwt" }), &claims),
        format!("{message}.{}", other_claims.rsplit_once('.').unwrap().1),
        format!("{message}."),
        format!("{good}.x"),
        "x".to_owned(),
        String::new(),
    ];
    for token in tokens {
        fake.gives(token.clone());
        let error = fake.sign_in(Preset::Oidc).await.unwrap_err();
        assert!(matches!(error, ProviderError::BadToken(_)), "{token}: {error}");
    }
    fake.gives(good);
    fake.sign_in(Preset::Oidc).await.unwrap();
}

#[tokio::test]
async fn a_token_that_says_something_else_does_not_count() {
    let key = Signer::es("1");
    let fake = Fake::oidc(&[&key]).await;
    let now = NOW.seconds();
    let bad_token = [
        ("exp", json!(now - 60)),
        ("exp", Value::Null),
        ("exp", json!("soon")),
        ("iat", Value::Null),
        ("aud", json!("another")),
        ("aud", json!(["another"])),
        ("aud", json!(["client", "another"])),
        ("aud", Value::Null),
        ("azp", json!("another")),
        ("at_hash", json!(B64.encode([0; 16]))),
        ("at_hash", json!(7)),
        ("sub", json!("")),
        ("sub", json!("s".repeat(256))),
        ("sub", json!(7)),
        ("sub", Value::Null),
        ("events", json!({})),
    ];
    let is = |expected: fn(&ProviderError) -> bool| expected;
    let bad_token = bad_token.map(|(name, value)| {
        (name, value, is(|error| matches!(error, ProviderError::BadToken(_))))
    });
    let others = [
        ("nonce", json!("another"), is(|error| *error == ProviderError::Nonce)),
        ("nonce", Value::Null, is(|error| *error == ProviderError::Nonce)),
        (
            "iss",
            json!("https://evil.example"),
            is(|error| matches!(error, ProviderError::Issuer { .. })),
        ),
        (
            "iss",
            json!(format!("{}/", fake.base)),
            is(|error| matches!(error, ProviderError::Issuer { .. })),
        ),
        ("iss", Value::Null, is(|error| matches!(error, ProviderError::Issuer { .. }))),
        (
            "iat",
            json!(now + 300),
            is(|error| matches!(error, ProviderError::Clock { seconds: 299..=300 })),
        ),
        (
            "nbf",
            json!(now + 300),
            is(|error| matches!(error, ProviderError::Clock { seconds: 299..=300 })),
        ),
    ];
    for (name, value, is_expected) in bad_token.into_iter().chain(others) {
        fake.gives(key.sign(&with(fake.claims(), name, value.clone())));
        let error = fake.sign_in(Preset::Oidc).await.unwrap_err();
        assert!(is_expected(&error), "{name} {value}: {error}");
    }
    let at_hash = B64.encode(&sha256("access")[..16]);
    let mut good = with(fake.claims(), "at_hash", at_hash);
    for (name, value) in [
        ("exp", json!(now - 50)),
        ("iat", json!(now as f64 + 50.5)),
        ("aud", json!(["a", "client"])),
        ("azp", json!("client")),
    ] {
        good = with(good, name, value);
    }
    fake.gives(key.sign(&good));
    fake.sign_in(Preset::Oidc).await.unwrap();
}

#[tokio::test]
async fn a_token_that_has_expired_by_a_wrong_clock_says_so() {
    let key = Signer::es("1");
    let fake = Fake::oidc(&[&key]).await;
    let claims = with(fake.claims(), "exp", NOW.seconds() - 240);
    let tokens = json!({ "access_token": "access", "id_token": key.sign(&claims) });
    fake.reply("/token", Reply::Dated(tokens, "Fri, 15 Jan 2027 07:55:00 GMT"));
    let error = fake.sign_in(Preset::Oidc).await.unwrap_err();
    assert!(matches!(error, ProviderError::Clock { seconds: -301..=-299 }), "{error}");
}

#[tokio::test]
async fn a_code_is_sent_only_to_the_provider_that_has_made_it() {
    let key = Signer::es("1");
    let fake = Fake::oidc(&[&key]).await;
    fake.gives(key.sign(&fake.claims()));
    let login = fake.login(Preset::Oidc);
    let person = async |iss| {
        let answer = AuthorizationAnswer { iss, ..ANSWER };
        Providers::new().person(&login, &answer, NOW).await
    };
    let error = person(Some("https://evil.example")).await.unwrap_err();
    assert!(matches!(error, ProviderError::Issuer { .. }), "{error}");
    fake.json(
        "/.well-known/openid-configuration",
        with(fake.discovery(), "authorization_response_iss_parameter_supported", true),
    );
    let error = person(None).await.unwrap_err();
    assert!(matches!(error, ProviderError::Issuer { .. }), "{error}");
    assert!(fake.requests("/token").is_empty());
    person(Some(&fake.base)).await.unwrap();
    fake.json(
        "/.well-known/openid-configuration",
        with(fake.discovery(), "issuer", "https://evil.example"),
    );
    let error = person(None).await.unwrap_err();
    assert!(matches!(error, ProviderError::Issuer { .. }), "{error}");
}

#[tokio::test]
async fn a_provider_cannot_have_us_ask_servers_that_only_we_reach() {
    let (fake, inside) = (Fake::oidc(&[]).await, Fake::oidc(&[]).await);
    // The same server by another name than that in the settings.
    let url = inside.base.replace("127.0.0.1", "127.0.0.2");
    for name in ["jwks_uri", "token_endpoint"] {
        fake.json("/.well-known/openid-configuration", with(fake.discovery(), name, url.as_str()));
        let error = fake.sign_in(Preset::Oidc).await.unwrap_err();
        assert!(matches!(error, ProviderError::Unreachable { .. }), "{name}: {error}");
    }
    fake.reply("/.well-known/openid-configuration", Reply::Redirect(inside.base.clone()));
    assert!(fake.sign_in(Preset::Oidc).await.is_err());
    assert!(inside.seen.lock().unwrap().is_empty());
    let login = Login {
        allow_networks: ["127.0.0.0/8", "::1/128"].map(|net| net.parse().unwrap()).to_vec(),
        ..fake.login(Preset::Oidc)
    };
    fake.json(
        "/.well-known/openid-configuration",
        with(fake.discovery(), "jwks_uri", inside.base.replace("127.0.0.1", "localhost") + "/keys"),
    );
    let error = Providers::new().person(&login, &ANSWER, NOW).await.unwrap_err();
    assert_eq!(
        (error.fault(), inside.requests("/keys").len()),
        (crate::event::ExternalFailure::CodeRefused, 1)
    );
}

#[tokio::test]
async fn an_answer_without_a_code_asks_nobody() {
    let fake = Fake::oidc(&[]).await;
    let login = fake.login(Preset::Oidc);
    for (code, error, expected) in [
        (None, Some("access_denied"), ProviderError::Cancelled),
        (Some("code"), Some("server_error\n"), ProviderError::Refused("server_error".to_owned())),
        (None, None, ProviderError::BadAnswer("without a code")),
        (Some(""), None, ProviderError::BadAnswer("without a code")),
    ] {
        let answer = AuthorizationAnswer { code, error, ..ANSWER };
        let outcome = Providers::new().person(&login, &answer, NOW).await;
        assert_eq!(outcome.unwrap_err(), expected);
    }
    assert!(fake.requests("/token").is_empty());
}

#[tokio::test]
async fn a_token_request_is_sent_once_and_its_error_has_a_kind() {
    use crate::event::ExternalFailure::{ClientRefused, CodeRefused, Unreachable};
    let fake = Fake::oidc(&[]).await;
    let replies = [
        (400, json!({ "error": "invalid_grant", "error_description": "used" }), CodeRefused),
        (200, json!({ "error": "bad_verification_code" }), CodeRefused),
        (401, json!({ "error": "invalid_client" }), ClientRefused),
        (401, json!("x"), ClientRefused),
        (503, json!({}), Unreachable),
    ];
    for (at, (status, body, fault)) in replies.into_iter().enumerate() {
        fake.reply("/token", Reply::Json(status, body));
        assert_eq!(fake.sign_in(Preset::Oidc).await.unwrap_err().fault(), fault);
        assert_eq!(fake.requests("/token").len(), at + 1);
    }
    let elsewhere = Fake::oidc(&[]).await;
    fake.reply("/token", Reply::Redirect(format!("{}/token", elsewhere.base)));
    assert!(fake.sign_in(Preset::Oidc).await.is_err());
    assert!(elsewhere.requests("/token").is_empty(), "a redirect is not followed");
}

#[tokio::test]
async fn a_provider_that_is_slow_or_endless_takes_a_bounded_time() {
    let replies = [
        Reply::Silence,
        Reply::Drip,
        Reply::Long(64 << 20),
        Reply::Long(usize::MAX),
        Reply::Long((64 << 10) + 1),
    ];
    let attacks = replies.into_iter().flat_map(|reply| {
        ["/.well-known/openid-configuration", "/keys", "/token"].map(|path| (path, reply.clone()))
    });
    let attack = async |(path, reply)| {
        let fake = Fake::oidc(&[]).await;
        fake.reply(path, reply);
        let began = Instant::now();
        let error = fake.sign_in(Preset::Oidc).await.unwrap_err();
        assert!(matches!(error, ProviderError::Unreachable { .. }), "{path}: {error}");
        assert!(began.elapsed() < Duration::from_secs(9), "{path}: {:?}", began.elapsed());
    };
    futures_util::future::join_all(attacks.map(attack)).await;
}

#[tokio::test]
async fn several_slow_answers_take_no_longer_than_the_limit_of_a_step() {
    let fake = Fake::oidc(&[]).await;
    let late = |body| Reply::Late(Duration::from_millis(1700), body);
    fake.reply("/.well-known/openid-configuration", late(fake.discovery()));
    fake.reply("/keys", late(json!({ "keys": [] })));
    fake.reply("/token", late(json!({ "access_token": "access" })));
    let began = Instant::now();
    let error = fake.sign_in(Preset::Oidc).await.unwrap_err();
    let cause = "it took more than 4 s".to_owned();
    assert_eq!(error, ProviderError::Unreachable { url: fake.base.clone(), cause });
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_fetch_ends_also_if_nobody_waits_for_it_any_more() {
    let fake = Fake::oidc(&[]).await;
    let document = Reply::Late(Duration::from_millis(200), fake.discovery());
    fake.reply("/.well-known/openid-configuration", document);
    let (login, providers) = (fake.login(Preset::Oidc), Providers::new());
    let asking = providers.person(&login, &ANSWER, NOW);
    tokio::time::timeout(Duration::from_millis(50), asking).await.unwrap_err();
    let error = providers.person(&login, &ANSWER, NOW).await.unwrap_err();
    assert!(matches!(error, ProviderError::CodeRefused(_)), "{error}");
    assert_eq!(fake.requests("/.well-known/openid-configuration").len(), 1);
}

#[tokio::test]
async fn keys_are_fetched_once_kept_for_a_day_and_again_after_a_rotation() {
    let (old, new) = (Signer::es("old"), Signer::es("new"));
    let fake = Fake::oidc(&[&old]).await;
    let login = fake.login(Preset::Oidc);
    let providers = Providers::new();
    let at = |seconds| Timestamp::from_seconds(NOW.seconds() + seconds);
    let person = async |key: &Signer, seconds: i64| {
        let claims = with(fake.claims(), "iat", at(seconds).seconds());
        fake.gives(key.sign(&with(claims, "exp", at(seconds + 60).seconds())));
        providers.person(&login, &ANSWER, at(seconds)).await.map(|_| fake.requests("/keys").len())
    };
    assert_eq!(person(&old, 0).await, Ok(1));
    assert_eq!(person(&old, 80_000).await, Ok(1));
    assert_eq!(person(&old, 86_400).await, Ok(2), "after a day");
    fake.keys(&[&new]);
    assert!(person(&new, 86_459).await.is_err(), "less than a minute after the last fetch");
    assert_eq!(person(&new, 86_460).await, Ok(3));
    assert!(person(&old, 86_461).await.is_err(), "the old key is gone");
    assert_eq!(fake.requests("/keys").len(), 3);
    // Whoever sends nonsense causes one fetch a minute.
    for _ in 0..10 {
        assert!(person(&Signer::es("evil"), 86_600).await.is_err());
    }
    assert_eq!(fake.requests("/keys").len(), 4);
    fake.reply("/.well-known/openid-configuration", Reply::Json(500, json!({})));
    assert_eq!(person(&new, 200_000).await, Ok(4), "what is known is kept while fetches fail");
    assert_eq!(person(&new, 200_001).await, Ok(4));
    assert_eq!(fake.requests("/.well-known/openid-configuration").len(), 5);
    let changed = Login { version: "2".to_owned(), ..fake.login(Preset::Oidc) };
    assert!(
        providers.person(&changed, &ANSWER, at(200_002)).await.is_err(),
        "it is another declaration"
    );
}

#[tokio::test]
async fn callers_that_come_together_share_a_fetch_also_one_that_fails() {
    let ask = Authorization {
        redirect_uri: "r",
        state: "s",
        nonce: "n",
        verifier: "v",
        prompt: Prompt::IfNeeded,
    };
    for status in [200, 500] {
        let fake = Fake::oidc(&[]).await;
        fake.reply("/.well-known/openid-configuration", Reply::Json(status, fake.discovery()));
        let (login, providers) = (fake.login(Preset::Oidc), Providers::new());
        let asking = (0..10).map(|_| providers.authorization_url(&login, &ask, NOW));
        let outcomes = futures_util::future::join_all(asking).await;
        assert!(outcomes.iter().all(|outcome| outcome.is_ok() == (status == 200)));
        assert_eq!(fake.requests("/.well-known/openid-configuration").len(), 1);
        let _ = providers.authorization_url(&login, &ask, NOW).await;
        assert_eq!(
            fake.requests("/.well-known/openid-configuration").len(),
            if status == 200 { 1 } else { 2 }
        );
    }
}

#[tokio::test]
async fn userinfo_is_asked_if_something_is_missing_and_must_be_about_the_same_person() {
    let key = Signer::es("1");
    let fake = Fake::oidc(&[&key]).await;
    let signed = with(with(fake.claims(), "email_verified", Value::Null), "groups", json!(["a"]));
    fake.gives(key.sign(&signed));
    fake.json("/userinfo", json!({ "sub": "s-2" }));
    assert!(matches!(fake.sign_in(Preset::Oidc).await, Err(ProviderError::BadUserinfo(_))));
    fake.reply("/userinfo", Reply::Json(401, json!({})));
    assert!(matches!(fake.sign_in(Preset::Oidc).await, Err(ProviderError::BadUserinfo(_))));
    fake.json(
        "/userinfo",
        json!({ "sub": "s-1", "groups": ["b"], "email_verified": true, "extra": 1 }),
    );
    let person = fake.sign_in(Preset::Oidc).await.unwrap();
    assert_eq!((&person.claims["groups"], &person.claims["extra"]), (&json!(["a"]), &json!(1)));
    assert!(!person.email.unwrap().is_verified, "the address and the statement are of two sources");
    fake.json(
        "/userinfo",
        json!({ "sub": "s-1", "email": "b@example.com", "email_verified": true, "sid": "x", "amr": ["mfa"] }),
    );
    let person = fake.sign_in(Preset::Oidc).await.unwrap();
    assert_eq!(
        (&person.claims["email"], &person.claims["email_verified"]),
        (&json!("b@example.com"), &json!(true))
    );
    assert!(person.session_id.is_none() && !person.claims.contains_key("amr"), "it is not signed");
    assert!(fake.requests("/userinfo")[0].contains("authorization: Bearer access"));
}

#[tokio::test]
async fn an_address_is_verified_only_if_the_provider_says_so() {
    let key = Signer::es("1");
    let fake = Fake::oidc(&[&key]).await;
    let claims = |more: Value| {
        let mut claims = with(fake.claims(), "email_verified", Value::Null);
        for (name, value) in more.as_object().unwrap() {
            claims = with(claims, name, value.clone());
        }
        claims.as_object().unwrap().clone()
    };
    for preset in Preset::ALL {
        let is_verified = |more| person::email_of(preset, &claims(more)).unwrap().is_verified;
        for more in [
            json!({}),
            json!({ "email_verified": false }),
            json!({ "email_verified": "false" }),
            json!({ "email_verified": 1 }),
            json!({ "email_verified": null }),
            json!({ "email_verified": ["true"] }),
            json!({ "xms_edov": false }),
            json!({ "xms_edov": "0" }),
            json!({ "verified_primary_email": ["eve@example.com"] }),
            json!({ "verified_primary_email": "ada@example.com" }),
        ] {
            assert!(!is_verified(more.clone()), "{preset:?} {more}");
        }
        let is_microsoft = preset == Preset::Microsoft;
        for more in [json!({ "email_verified": true }), json!({ "email_verified": "true" })] {
            assert_eq!(is_verified(more.clone()), !is_microsoft, "{preset:?} {more}");
        }
        for more in [
            json!({ "xms_edov": true }),
            json!({ "xms_edov": "1" }),
            json!({ "xms_edov": 1 }),
            json!({ "verified_primary_email": ["x@y.example", "ADA@example.com"] }),
        ] {
            assert_eq!(is_verified(more.clone()), is_microsoft, "{preset:?} {more}");
        }
    }
    assert_eq!(person::email_of(Preset::Oidc, &claims(json!({ "email": "nobody" }))), None);
}

#[tokio::test]
async fn google_may_leave_out_the_scheme_and_proves_no_time() {
    let key = Signer::rsa();
    let fake = Fake::oidc(&[&key]).await;
    let short = fake.base.strip_prefix("http://").unwrap();
    let claims = with(with(fake.claims(), "iss", short), "auth_time", NOW.seconds());
    fake.gives(key.sign(&claims));
    let person = fake.sign_in(Preset::Google).await.unwrap();
    assert_eq!((&person.issuer, person.authenticated_at), (&fake.base, None));
    assert!(matches!(fake.sign_in(Preset::Oidc).await, Err(ProviderError::Issuer { .. })));
}

#[tokio::test]
async fn a_tenant_of_microsoft_speaks_only_for_itself() {
    const ONE: &str = "11111111-2222-3333-4444-555555555555";
    const PEOPLE: &str = "9188040d-6c67-4c5b-b112-36a304b66dad";
    let (key, bound) = (Signer::rsa(), Signer::es("bound"));
    let fake = Fake::start().await;
    let of = |tenant: &str| format!("{}/{tenant}/v2.0", fake.base);
    for (tenant, named) in [
        ("common", "{tenantid}"),
        ("organizations", "{tenantid}"),
        ("consumers", PEOPLE),
        (ONE, ONE),
        ("acme.example", ONE),
    ] {
        let path = format!("/{tenant}/v2.0/.well-known/openid-configuration");
        fake.json(&path, with(fake.discovery(), "issuer", of(named)));
    }
    fake.json("/keys", json!({ "keys": [with(key.jwk(), "issuer", of("{tenantid}")), with(bound.jwk(), "issuer", of(PEOPLE))] }));
    let person = async |tenant: &str, key: &Signer, iss: &str, tid: &str| {
        let login = Login { tenant: Some(tenant.to_owned()), ..fake.login(Preset::Microsoft) };
        fake.gives(key.sign(&with(with(fake.claims(), "iss", of(iss)), "tid", tid)));
        Providers::new().person(&login, &ANSWER, NOW).await
    };
    for (tenant, tid) in [
        ("common", ONE),
        ("common", PEOPLE),
        ("organizations", ONE),
        ("consumers", PEOPLE),
        (ONE, ONE),
        ("acme.example", ONE),
    ] {
        let person = person(tenant, &key, tid, tid).await.unwrap();
        assert_eq!(person.issuer, of(tid), "{tenant}");
        assert!(!person.email.unwrap().is_verified, "nOAuth");
    }
    let other = "11111111-2222-3333-4444-666666666666";
    for (tenant, iss, tid) in [
        ("organizations", PEOPLE, PEOPLE),
        ("consumers", ONE, ONE),
        (ONE, other, other),
        ("acme.example", other, other),
        ("common", ONE, other),
        ("common", "{tenantid}", "{tenantid}"),
        ("common", "common", "common"),
        ("common", "a/b", "a/b"),
    ] {
        assert!(person(tenant, &key, iss, tid).await.is_err(), "{tenant} {iss} {tid}");
    }
    assert!(person("common", &bound, PEOPLE, PEOPLE).await.is_ok());
    assert!(person("common", &bound, ONE, ONE).await.is_err(), "a key of another tenant");
    let login = Login { tenant: Some(other.to_owned()), ..fake.login(Preset::Microsoft) };
    fake.json(
        &format!("/{other}/v2.0/.well-known/openid-configuration"),
        with(fake.discovery(), "issuer", of(ONE)),
    );
    assert!(matches!(
        Providers::new().person(&login, &ANSWER, NOW).await,
        Err(ProviderError::Issuer { .. })
    ));
    assert!(fake.requests("/userinfo").is_empty());
}

#[tokio::test]
async fn apple_gets_a_signed_secret_and_a_name_only_for_display() {
    let key = Signer::rsa();
    let fake = Fake::oidc(&[&key]).await;
    let claims = with(with(fake.claims(), "name", Value::Null), "email_verified", "true");
    fake.gives(key.sign(&claims));
    let own = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let block = pem::Pem::new("PRIVATE KEY", own.to_pkcs8v1().unwrap().as_ref());
    write!(file.as_file(), "{}", pem::encode(&block)).unwrap();
    let credential = Credential::AppleKey {
        team_id: "TEAM".into(),
        key_id: "KEY".into(),
        key_file: file.path().to_owned(),
    };
    let login = Login { credential, ..fake.login(Preset::Apple) };
    let user = r#"{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"evil@example.com"}"#;
    let answer = AuthorizationAnswer { user: Some(user), ..ANSWER };
    let person = Providers::new().person(&login, &answer, NOW).await.unwrap();
    assert_eq!(person.name.as_deref(), Some("Ada Lovelace"));
    assert!(!person.claims.contains_key("name"), "nobody has signed it");
    let email = person.email.unwrap();
    assert!(email.address.as_str() == "ada@example.com" && email.is_verified);
    let request = fake.requests("/token").remove(0);
    let (_, form) = request.split_once("\r\n\r\n").unwrap();
    let form: HashMap<_, _> = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
    let parts: Vec<_> = form["client_secret"].split('.').collect();
    let json = |part: &str| serde_json::from_slice::<Value>(&B64.decode(part).unwrap()).unwrap();
    assert_eq!(json(parts[0]), json!({ "alg": "ES256", "kid": "KEY" }));
    assert_eq!(
        json(parts[1]),
        json!({ "iss": "TEAM", "iat": NOW.seconds(), "exp": NOW.seconds() + 300, "aud": fake.base, "sub": "client" })
    );
    let keys = key_set::KeySet::parse(
        &json!({ "keys": [Signer { pair: Pair::Es(own), id: "KEY".into() }.jwk()] }),
    );
    assert!(keys.unwrap().verify(&form["client_secret"]).is_ok());
}

#[tokio::test]
async fn a_person_of_github_is_a_number_with_their_primary_address() {
    let fake = Fake::start().await;
    fake.json(
        "/login/oauth/access_token",
        json!({ "access_token": "access", "scope": "user:email" }),
    );
    fake.json("/api/v3/user", json!({ "id": 7, "login": "ada", "name": "Ada Lovelace", "email": "shown@example.com", "bio": "x" }));
    let address = |email: &str, primary: bool, verified: bool| json!({ "email": email, "primary": primary, "verified": verified });
    fake.json(
        "/api/v3/user/emails",
        json!([address("other@example.com", false, true), address("ada@example.com", true, true)]),
    );
    fake.json("/api/v3/user/orgs", json!([{ "login": "acme" }, {}]));
    fake.json(
        "/api/v3/user/teams",
        json!([{ "slug": "core", "organization": { "login": "acme" } }, { "slug": "x" }]),
    );
    let issuer = format!("{}/login/oauth", fake.base);
    let answer = AuthorizationAnswer { iss: Some(&issuer), ..ANSWER };
    let mut login = fake.login(Preset::GitHub);
    let person = Providers::new().person(&login, &answer, NOW).await.unwrap();
    assert_eq!(
        (person.issuer.as_str(), person.subject.as_str(), person.display.as_str()),
        (issuer.as_str(), "7", "ada@example.com")
    );
    let email = person.email.unwrap();
    assert!(email.address.as_str() == "ada@example.com" && email.is_verified);
    assert_eq!(person.claims["emails"], json!(["other@example.com", "ada@example.com"]));
    assert!(
        fake.requests("/api/v3/user/orgs").is_empty()
            && !person.claims.contains_key("organizations")
    );
    assert!(fake.requests("/login/oauth/access_token")[0].contains("accept: application/json"));
    login.scopes = vec!["read:org".to_owned()];
    fake.json(
        "/api/v3/user/emails",
        json!([address("other@example.com", false, true), address("ada@example.com", true, false)]),
    );
    let person = Providers::new().person(&login, &answer, NOW).await.unwrap();
    assert!(!person.email.unwrap().is_verified);
    assert_eq!(person.claims["organizations"], json!(["acme"]));
    assert_eq!(person.claims["teams"], json!(["acme/core"]));
    fake.json("/api/v3/user/orgs", json!(vec![json!({ "login": "acme" }); 65]));
    let person = Providers::new().person(&login, &answer, NOW).await.unwrap();
    assert!(!person.claims.contains_key("organizations"));
    assert_eq!(person.claims["teams"], json!(["acme/core"]));
    let answer = AuthorizationAnswer { iss: Some(&fake.base), ..ANSWER };
    assert!(matches!(
        Providers::new().person(&login, &answer, NOW).await,
        Err(ProviderError::Issuer { .. })
    ));
    fake.json("/api/v3/user/emails", json!([]));
    fake.json("/api/v3/user", json!({ "id": "7" }));
    assert!(matches!(
        Providers::new().person(&login, &ANSWER, NOW).await,
        Err(ProviderError::BadUserinfo(_))
    ));
}

#[tokio::test]
async fn a_browser_is_sent_with_what_each_preset_needs() {
    let fake = Fake::oidc(&[]).await;
    fake.json(
        "/common/v2.0/.well-known/openid-configuration",
        with(fake.discovery(), "issuer", format!("{}/{{tenantid}}/v2.0", fake.base)),
    );
    let ask = Authorization {
        redirect_uri: "https://here.example/back",
        state: "st",
        nonce: "no",
        verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        prompt: Prompt::Again,
    };
    for preset in Preset::ALL {
        let login = Login {
            tenant: Some("common".to_owned()),
            scopes: vec!["email".into(), "more".into()],
            ..fake.login(preset)
        };
        let url = Providers::new().authorization_url(&login, &ask, NOW).await.unwrap();
        let (endpoint, query) = url.split_once('?').unwrap();
        let query: HashMap<_, _> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let is_github = preset == Preset::GitHub;
        assert!(endpoint.ends_with(if is_github {
            "/login/oauth/authorize"
        } else {
            "/authorize"
        }));
        // The example of RFC 7636.
        assert_eq!(query["code_challenge"], "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert_eq!(
            (query["code_challenge_method"].as_str(), query["response_type"].as_str()),
            ("S256", "code")
        );
        assert_eq!((query["client_id"].as_str(), query["state"].as_str()), ("client", "st"));
        assert_eq!(query.contains_key("nonce"), !is_github);
        assert_eq!(query.contains_key("response_mode"), preset == Preset::Apple);
        assert_eq!(query.contains_key("max_age"), preset.tells_auth_time());
        assert_eq!(query.contains_key("prompt"), preset.tells_auth_time());
        assert!(
            query["scope"].ends_with(" more")
                && query["scope"].split(' ').filter(|scope| *scope == "email").count() == 1,
            "{}",
            query["scope"]
        );
        let prompt = async |prompt| {
            let ask = Authorization { prompt, ..ask };
            Providers::new().authorization_url(&login, &ask, NOW).await.unwrap()
        };
        assert!(prompt(Prompt::Never).await.ends_with("&prompt=none"));
        assert!(!prompt(Prompt::IfNeeded).await.contains("prompt="));
    }
}

#[tokio::test]
async fn a_logout_token_ends_a_session_and_is_no_id_token() {
    let key = Signer::es("1");
    let fake = Fake::oidc(&[&key]).await;
    let (login, providers) = (fake.login(Preset::Oidc), Providers::new());
    let good = json!({
        "iss": fake.base, "aud": "client", "iat": NOW.seconds(), "exp": NOW.seconds() + 120, "jti": "id-1",
        "sub": "s-1", "sid": "sid-1", "events": { EVENT: {} },
    });
    let header = json!({ "alg": "ES256", "kid": "1", "typ": "logout+jwt" });
    let logout = async |header: &Value, claims: &Value, now| {
        let message = key.sign_with(header, claims);
        providers.ended(&login, &message, now).await.map(|ended| ended.unwrap())
    };
    let ended = logout(&header, &good, NOW).await.unwrap();
    assert!(!ended.is_closed);
    assert_eq!(
        (ended.issuer.as_str(), ended.subject.as_deref(), ended.session_id.as_deref()),
        (fake.base.as_str(), Some("s-1"), Some("sid-1"))
    );
    assert!(ended.expires_at.seconds() > NOW.seconds() + 300);
    assert_eq!(logout(&header, &good, NOW).await.unwrap().id, ended.id);
    assert_ne!(
        logout(&header, &with(good.clone(), "jti", "id-2"), NOW).await.unwrap().id,
        ended.id
    );
    for typ in [json!("JWT"), json!("application/logout+jwt"), Value::Null] {
        let header = with(header.clone(), "typ", typ);
        assert!(logout(&header, &with(good.clone(), "sub", Value::Null), NOW).await.is_ok());
    }
    for (name, value) in [
        ("events", Value::Null),
        ("events", json!({ "other": {} })),
        ("events", json!({ EVENT: true })),
        ("events", json!([EVENT])),
        ("nonce", json!("nonce")),
        ("jti", Value::Null),
        ("jti", json!("")),
        ("iat", json!(NOW.seconds() - 301)),
        ("iat", json!(NOW.seconds() + 61)),
        ("iat", Value::Null),
        ("exp", json!(NOW.seconds() - 60)),
        ("aud", json!("another")),
        ("iss", json!("https://evil.example")),
        ("sub", json!("")),
    ] {
        assert!(
            logout(&header, &with(good.clone(), name, value.clone()), NOW).await.is_err(),
            "{name} {value}"
        );
    }
    let nobody = with(with(good.clone(), "sub", Value::Null), "sid", Value::Null);
    assert!(logout(&header, &nobody, NOW).await.is_err());
    assert!(
        logout(&json!({ "alg": "ES256", "kid": "1", "typ": "at+jwt" }), &good, NOW).await.is_err()
    );
    assert!(providers.ended(&login, &key.sign(&fake.claims()), NOW).await.is_err(), "an ID token");
    assert!(
        providers.ended(&login, &Signer::es("1").sign(&good), NOW).await.is_err(),
        "of somebody else"
    );
    assert!(providers.ended(&fake.login(Preset::GitHub), &key.sign(&good), NOW).await.is_err());
    fake.gives(key.sign(&with(good, "nonce", "nonce")));
    assert!(fake.sign_in(Preset::Oidc).await.is_err(), "a logout token");
}

#[tokio::test]
async fn an_operator_is_told_what_is_wrong() {
    use FindingLevel::{Error, Fine, Warning};
    let key = Signer::es("1");
    let fake = Fake::oidc(&[&key]).await;
    let mut login = fake.login(Preset::Oidc);
    let found = async |login: &Login| {
        let findings = check_login(login, NOW).await;
        findings.into_iter().map(|finding| finding.level).collect::<Vec<_>>()
    };
    assert_eq!(
        found(&login).await,
        [Fine, Fine, Warning, Warning],
        "neither PKCE nor the time is known"
    );
    let document = with(fake.discovery(), "code_challenge_methods_supported", json!(["S256"]));
    fake.reply(
        "/.well-known/openid-configuration",
        Reply::Dated(document.clone(), "Fri, 15 Jan 2027 08:00:30 GMT"),
    );
    assert_eq!(found(&login).await, [Fine; 4]);
    fake.reply(
        "/.well-known/openid-configuration",
        Reply::Dated(document.clone(), "Fri, 15 Jan 2027 08:05:00 GMT"),
    );
    let findings = check_login(&login, NOW).await;
    assert_eq!(
        (findings[3].level, findings[3].text.as_str()),
        (Error, "its clock is 300 s ahead of the one here")
    );
    fake.keys(&[]);
    assert!(found(&login).await.contains(&Error), "no key");
    login.credential = Credential::SecretFile("/nowhere/secret".into());
    login.issuer.push('/');
    assert_eq!(found(&login).await, [Error, Error], "no secret, another issuer");
    login.ca_file = Some("/nowhere/ca.pem".into());
    login.issuer = "https://127.0.0.1:1".to_owned();
    let findings = check_login(&login, NOW).await;
    let texts: Vec<_> = findings.iter().map(|finding| finding.text.as_str()).collect();
    let [secret, ca_file] = texts[..] else { panic!("{texts:?}") };
    assert!(secret.contains("cannot be used: /nowhere/secret: No such file"), "{secret}");
    assert!(ca_file.contains("/nowhere/ca.pem: No such file"), "{ca_file}");
    let github = Login { issuer: fake.base.clone(), ..fake.login(Preset::GitHub) };
    assert_eq!(found(&github).await, [Error, Fine, Warning], "GitHub asks for a secret");
}

#[tokio::test]
async fn claims_are_bounded() {
    let key = Signer::es("1");
    let fake = Fake::oidc(&[&key]).await;
    let mut claims =
        with(with(fake.claims(), "long", "x".repeat(17 << 10)), "list", json!(vec!["x"; 100]));
    claims = with(claims, "object", json!({ "list": vec!["x"; 65], "short": ["x"] }));
    claims = with(claims, "full", json!(vec!["x"; 64]));
    let entries = (0..65).map(|at| (at.to_string(), json!(at)));
    claims = with(claims, "large", Value::Object(entries.collect()));
    for at in 0..100 {
        claims = with(claims, &format!("claim-{at}"), at);
    }
    claims = with(claims, "sid", "sid-1");
    fake.gives(key.sign(&claims));
    let person = fake.sign_in(Preset::Oidc).await.unwrap();
    assert_eq!(person.claims.len(), 64);
    assert!(!person.claims.contains_key("long"));
    assert!(!person.claims.contains_key("list") && !person.claims.contains_key("large"));
    assert_eq!(person.claims["object"], json!({ "short": ["x"] }));
    assert_eq!(person.claims["full"].as_array().unwrap().len(), 64);
    assert!(!person.claims.contains_key("sid"));
    assert_eq!(person.session_id.as_deref(), Some("sid-1"));
    assert!(person.claims["email"] == "ada@example.com" && person.claims["claim-1"] == 1);
    let mut claims = with(fake.claims(), "email", Value::Null);
    for at in 0..40 {
        claims = with(claims, &format!("claim-{at}"), "x".repeat(1000));
    }
    fake.gives(key.sign(&with(claims, "preferred_username", "ada\u{202e}")));
    fake.json("/userinfo", json!({ "sub": "s-1" }));
    let person = fake.sign_in(Preset::Oidc).await.unwrap();
    let bytes: usize =
        person.claims.iter().map(|(name, value)| name.len() + value.to_string().len()).sum();
    assert!((15 << 10..=16 << 10).contains(&bytes), "{bytes}");
    assert_eq!(
        (person.email, person.display.as_str(), &person.claims["email_verified"]),
        (None, "ada", &json!(false))
    );
}

#[test]
fn an_endpoint_is_a_plain_url_with_https() {
    let login = Login { issuer: "https://a.example".to_owned(), ..blank() };
    let document = |name: &str, url: &str| {
        let document = json!({
            "issuer": "https://a.example", "authorization_endpoint": "https://a.example/a",
            "token_endpoint": "https://b.example/t", "jwks_uri": "https://a.example/k",
        });
        with(document, name, url)
    };
    let read = |document: &Value| discovery::Metadata::read(&login, document, NOW).map(|_| ());
    assert_eq!(read(&document("x", "y")), Ok(()));
    for url in [
        "http://a.example/",
        "http://127.0.0.1/",
        "/a",
        "",
        "https://a.example/\r\nx: y",
        "https://a.example/ü",
        "https://a.example/#x",
        "javascript:alert()",
    ] {
        for name in ["authorization_endpoint", "token_endpoint", "userinfo_endpoint"] {
            let error = read(&document(name, url)).unwrap_err();
            assert!(matches!(error, ProviderError::BadDiscovery(_)), "{name} {url:?}: {error}");
        }
    }
}

fn blank() -> Login {
    Fake { base: String::new(), replies: Arc::default(), seen: Arc::default() }.login(Preset::Oidc)
}

#[tokio::test]
async fn apple_says_who_has_left() {
    let key = Signer::es("1");
    let (fake, providers) = (Fake::oidc(&[&key]).await, Providers::new());
    let apple = fake.login(Preset::Apple);
    let event = |kind: &str| json!({ "type": kind, "sub": "s-1", "event_time": 1 }).to_string();
    let good = json!({
        "iss": fake.base, "aud": "client", "iat": NOW.seconds(), "exp": NOW.seconds() + 86_400, "jti": "id-1",
        "events": event("consent-revoked"),
    });
    let notify = async |claims: &Value, now| providers.ended(&apple, &key.sign(claims), now).await;
    let ended = notify(&good, NOW).await.unwrap().unwrap();
    assert_eq!((ended.subject.as_deref(), ended.session_id), (Some("s-1"), None));
    assert!(!ended.is_closed && ended.expires_at.seconds() > NOW.seconds() + 86_400);
    // Apple tries again if nobody has answered.
    let later = Timestamp::from_seconds(NOW.seconds() + 80_000);
    assert_eq!(notify(&good, later).await.unwrap().unwrap().id, ended.id);
    for (kind, is_closed) in [
        ("account-delete", Some(true)),
        ("account-deleted", Some(true)),
        ("email-disabled", None),
        ("another", None),
    ] {
        let ended = notify(&with(good.clone(), "events", json!(event(kind))), NOW).await.unwrap();
        assert_eq!(ended.map(|ended| ended.is_closed), is_closed, "{kind}");
    }
    for (name, value) in [
        ("events", Value::Null),
        ("events", json!({ "type": "consent-revoked", "sub": "s-1" })),
        ("events", json!("consent-revoked")),
        ("aud", json!("another")),
        ("iss", json!("https://evil.example")),
        ("exp", json!(NOW.seconds() - 60)),
        ("exp", Value::Null),
        ("iat", json!(NOW.seconds() + 61)),
        ("jti", Value::Null),
    ] {
        assert!(
            notify(&with(good.clone(), name, value.clone()), NOW).await.is_err(),
            "{name} {value}"
        );
    }
    let logout = with(good, "events", json!({ EVENT: {} }));
    assert!(notify(&logout, NOW).await.is_err(), "a logout token");
}
