//! The provider of `doorward dev`, in place of those that the settings declare: an OpenID Connect provider that says of people what a
//! test, or whoever sits at its page, wants it to say.

use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use form_urlencoded::Serializer;
use serde_json::{Value, json};

use super::fields::{Faults, Fields};
use crate::{
    clock::Timestamp,
    fault::Fault,
    federation::{Claims, Credential, Login, LoginSet, Preset},
    random::random_bytes,
    sha256::sha256,
    token::{Algorithm, SigningKey},
    user::Email,
};

/// The logins of the settings, with the provider of `doorward dev` at this address in place of theirs. It speaks OpenID Connect, whatever
/// theirs speak.
pub(super) fn with_fake_provider(logins: &LoginSet, address: SocketAddr) -> Arc<LoginSet> {
    let mut fake = LoginSet::default();
    for login in logins.iter().map(Arc::as_ref).cloned() {
        fake.add(Login {
            preset: Preset::Oidc,
            issuer: format!("http://{address}/dev/logins/{}", login.name),
            // Its files are those of the real service.
            credential: Credential::None,
            ca_file: None,
            ..login
        });
    }
    Arc::new(fake)
}

/// What the provider answers when somebody is sent to it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ProviderAnswer {
    /// The claims of somebody who has signed in there.
    Person(Claims),
    /// The code of an error.
    Error(String),
}

const FIELDS: [&str; 6] = ["sub", "email", "verified", "name", "claims", "error"];
/// The claims that the other fields or the provider itself decide on.
const DECIDED: [&str; 14] = [
    "sub",
    "email",
    "email_verified",
    "name",
    "iss",
    "aud",
    "azp",
    "iat",
    "nbf",
    "exp",
    "nonce",
    "at_hash",
    "events",
    "jti",
];

impl ProviderAnswer {
    /// Reads a person, or an error, from a JSON object.
    pub(crate) fn parse(fields: BTreeMap<String, Value>) -> Result<Self, Faults> {
        let mut fields = Fields::new(fields);
        let subject = fields.text("sub", |text| match (1..=255).contains(&text.len()) {
            true => Ok(text),
            false => Err(Fault::malformed("A subject has 1 to 255 bytes")),
        });
        let email = fields.text("email", Email::parse);
        let is_verified = fields.flag("verified");
        let name = fields.text("name", Ok);
        let claims = fields.object("claims");
        let has = |name: &&str| claims.as_ref().is_some_and(|claims| claims.contains_key(*name));
        if let Some(decided) = DECIDED.into_iter().find(has) {
            let rule = format!("The provider sets {decided}: use the fields beside claims");
            fields.refuse("claims", Fault::malformed(rule));
        }
        let error = fields.text("error", Ok);
        fields.refuse_others(&FIELDS);
        let subject =
            subject.or_else(|| email.as_ref().map(|email| email.as_str().to_ascii_lowercase()));
        if subject.is_none() && error.is_none() && fields.faults.is_empty() {
            fields.refuse("sub", Fault::malformed("Send sub, email or error"));
        }
        let is_person = subject.is_some() || name.is_some() || claims.is_some();
        if error.is_some() && (is_person || is_verified.is_some()) {
            fields.refuse("error", Fault::malformed("Send either error or a person"));
        }
        if !fields.faults.is_empty() {
            return Err(fields.faults);
        }
        if let Some(error) = error {
            return Ok(Self::Error(error));
        }
        let mut claims = claims.unwrap_or_default();
        claims.insert("sub".to_owned(), subject.into());
        if let Some(email) = email {
            claims.insert("email".to_owned(), email.as_str().into());
            claims.insert("email_verified".to_owned(), is_verified.unwrap_or_default().into());
        }
        if let Some(name) = name {
            claims.insert("name".to_owned(), name.into());
        }
        Ok(Self::Person(claims))
    }
}

/// What a browser is sent to the provider with, apart from what is the same for each attempt.
pub(crate) struct AuthorizationRequest {
    pub(crate) redirect_uri: String,
    pub(crate) state: String,
    pub(crate) nonce: String,
    /// Of PKCE.
    pub(crate) challenge: String,
    /// Whether the person may be asked who they are.
    pub(crate) may_ask: bool,
}

/// What a code is redeemed with.
pub(crate) struct Redemption {
    pub(crate) code: String,
    pub(crate) client_id: String,
    pub(crate) redirect_uri: String,
    pub(crate) verifier: String,
}

/// The provider of `doorward dev`. It is one issuer for each login.
pub(crate) struct FakeProvider {
    key: SigningKey,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What the next visitor of a login is answered, without being asked.
    next: HashMap<String, ProviderAnswer>,
    /// The codes that have not been redeemed, the oldest first.
    grants: Vec<Grant>,
}

struct Grant {
    code: String,
    login: String,
    client_id: String,
    redirect_uri: String,
    challenge: String,
    id_token: String,
}

impl FakeProvider {
    /// The most codes that are kept.
    const MAX_GRANTS: usize = 1_000;
    /// How long an ID token is valid, in seconds.
    const LIFETIME: i64 = 300;

    pub(super) fn new() -> Self {
        Self { key: SigningKey::generate(Algorithm::Es256), state: Mutex::default() }
    }

    /// Forgets what tests have asked for. The key stays.
    pub(super) fn reset(&self) {
        *self.state() = State::default();
    }

    /// Lets the next visitor of a login be answered with this.
    pub(crate) fn expect(&self, login: &Login, answer: ProviderAnswer) {
        self.state().next.insert(login.name.clone(), answer);
    }

    /// What a visitor of a login is answered without being asked, once.
    pub(crate) fn expected(&self, login: &Login) -> Option<ProviderAnswer> {
        self.state().next.remove(&login.name)
    }

    /// The discovery document.
    pub(crate) fn discovery(&self, login: &Login) -> Value {
        let issuer = &login.issuer;
        json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/keys"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [self.key.algorithm().name()],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": true,
        })
    }

    /// The key set.
    pub(crate) fn keys(&self) -> Value {
        json!({ "keys": [self.key.jwk()] })
    }

    /// Where a browser goes back to with this answer.
    pub(crate) fn answer(
        &self,
        login: &Login,
        request: AuthorizationRequest,
        answer: ProviderAnswer,
        now: Timestamp,
    ) -> String {
        let AuthorizationRequest { redirect_uri, state, nonce, challenge, .. } = request;
        let (name, value) = match answer {
            ProviderAnswer::Error(error) => ("error", error),
            ProviderAnswer::Person(claims) => {
                let code = BASE64_URL_SAFE_NO_PAD.encode(*random_bytes::<32>());
                let grant = Grant {
                    code: code.clone(),
                    login: login.name.clone(),
                    client_id: login.client_id.clone(),
                    redirect_uri: redirect_uri.clone(),
                    challenge,
                    id_token: self.id_token(login, claims, nonce, now),
                };
                let grants = &mut self.state().grants;
                grants.push(grant);
                let surplus = grants.len().saturating_sub(Self::MAX_GRANTS);
                grants.drain(..surplus);
                ("code", code)
            }
        };
        let mut query = Serializer::new(String::new());
        query.append_pair("state", &state).append_pair("iss", &login.issuer);
        query.append_pair(name, &value);
        format!("{redirect_uri}?{}", query.finish())
    }

    fn id_token(&self, login: &Login, mut claims: Claims, nonce: String, now: Timestamp) -> String {
        let now = now.seconds();
        // What the real provider does not say must not make a session fresh here.
        match login.shown_as.tells_auth_time() {
            true => {
                claims.entry("auth_time").or_insert(now.into());
            }
            false => {
                claims.shift_remove("auth_time");
            }
        }
        for (name, value) in [
            ("iss", login.issuer.clone().into()),
            ("aud", login.client_id.clone().into()),
            ("iat", now.into()),
            ("exp", now.saturating_add(Self::LIFETIME).into()),
            ("nonce", Value::from(nonce)),
        ] {
            claims.insert(name.to_owned(), value);
        }
        self.key.sign_foreign(&claims)
    }

    /// The ID token for a code, once. `None` if it was given out for something else.
    pub(crate) fn redeem(&self, login: &Login, redemption: &Redemption) -> Option<String> {
        let Redemption { code, client_id, redirect_uri, verifier } = redemption;
        let grant = {
            let grants = &mut self.state().grants;
            let at = grants.iter().position(|grant| grant.code == *code)?;
            grants.remove(at)
        };
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(sha256(verifier));
        let is_for = (&grant.login, &grant.client_id, &grant.redirect_uri, &grant.challenge);
        (is_for == (&login.name, client_id, redirect_uri, &challenge)).then_some(grant.id_token)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
    const VERIFIER: &str = "the verifier of the attempt";

    fn logins() -> Arc<LoginSet> {
        let file = "[logins.google]\nclient_id = 'shop'\nclient_secret_file = '/nowhere'\njoin = 'claims.hd == \"example.com\"'\n\
                    [logins.work]\npreset = 'oidc'\nissuer = 'https://sso.example.com'\nclient_id = 'w'\nca_file = '/nowhere'\n";
        let settings = Settings::new().with_toml(file);
        settings.check().unwrap();
        with_fake_provider(&settings.logins, "127.0.0.1:4000".parse().unwrap())
    }

    fn parse(json: Value) -> Result<ProviderAnswer, String> {
        let Value::Object(fields) = json else { panic!("{json}") };
        ProviderAnswer::parse(fields.into_iter().collect()).map_err(|faults| {
            let shown = faults.iter().map(|(field, fault)| format!("{field}: {}", fault.message()));
            shown.collect::<Vec<_>>().join("\n")
        })
    }

    fn request(nonce: &str) -> AuthorizationRequest {
        AuthorizationRequest {
            redirect_uri: "http://localhost:4000/back".to_owned(),
            state: "a state".to_owned(),
            nonce: nonce.to_owned(),
            challenge: BASE64_URL_SAFE_NO_PAD.encode(sha256(VERIFIER)),
            may_ask: true,
        }
    }

    fn redemption(url: &str) -> Redemption {
        Redemption {
            code: url.split_once("code=").unwrap().1.to_owned(),
            client_id: "shop".to_owned(),
            redirect_uri: "http://localhost:4000/back".to_owned(),
            verifier: VERIFIER.to_owned(),
        }
    }

    fn claims_of(token: &str) -> Value {
        let part = token.split('.').nth(1).unwrap();
        serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    }

    #[test]
    fn a_login_keeps_its_rules_and_its_looks_and_leads_nowhere_else() {
        let logins = logins();
        let google = logins.by_name("google").unwrap();
        assert_eq!((google.preset, google.shown_as), (Preset::Oidc, Preset::Google));
        assert_eq!((&*google.label, &*google.client_id), ("Google", "shop"));
        assert!(google.rules.join.is_some());
        for (name, issuer) in [
            ("google", "http://127.0.0.1:4000/dev/logins/google"),
            ("work", "http://127.0.0.1:4000/dev/logins/work"),
        ] {
            let login = logins.by_name(name).unwrap();
            assert_eq!(login.issuer, issuer);
            assert_eq!((&login.credential, &login.ca_file), (&Credential::None, &None));
        }
    }

    #[test]
    fn a_person_is_an_address_or_a_subject_and_claims_that_nothing_else_decides() {
        let person = |json| match parse(json) {
            Ok(ProviderAnswer::Person(claims)) => Value::Object(claims),
            other => panic!("{other:?}"),
        };
        assert_eq!(person(json!({"sub": "7"})), json!({"sub": "7"}));
        assert_eq!(
            person(json!({"email": "Ada@example.com"})),
            json!({"sub": "ada@example.com", "email": "Ada@example.com", "email_verified": false})
        );
        assert_eq!(
            person(
                json!({"sub": "7", "email": "a@example.com", "verified": true, "name": "Ada", "claims": {"hd": "x"}})
            ),
            json!({"hd": "x", "sub": "7", "email": "a@example.com", "email_verified": true, "name": "Ada"})
        );
        assert_eq!(parse(json!({"error": "x"})), Ok(ProviderAnswer::Error("x".to_owned())));
        for (json, fault) in [
            (json!({}), "sub: Send sub, email or error"),
            (json!({"verified": true}), "sub: Send sub, email or error"),
            (json!({"sub": ""}), "sub: A subject has 1 to 255 bytes"),
            (json!({"email": "nobody"}), "email: Invalid email"),
            (json!({"sub": "7", "claims": []}), "claims: Expected object, received array"),
            (json!({"sub": "7", "claims": {"nonce": ""}}), "claims: The provider sets nonce"),
            (json!({"sub": "7", "claims": {"email_verified": true}}), "claims: The provider sets"),
            (json!({"sub": "7", "error": "x"}), "error: Send either error or a person"),
            (json!({"sub": "7", "emial": "a@example.com"}), "emial: "),
        ] {
            let refused = parse(json.clone()).unwrap_err();
            assert!(refused.starts_with(fault) && !refused.contains('\n'), "{json}: {refused}");
        }
    }

    #[test]
    fn a_code_gives_the_token_of_its_attempt_once() {
        let (provider, logins) = (FakeProvider::new(), logins());
        let google = logins.by_name("google").unwrap();
        let begin = || {
            let person = parse(json!({"sub": "7", "claims": {"hd": "example.com"}})).unwrap();
            provider.answer(google, request("a nonce"), person, NOW)
        };
        let url = begin();
        let start = "http://localhost:4000/back?state=a+state&iss=http%3A%2F%2F127.0.0.1%3A4000%2Fdev%2Flogins%2Fgoogle&code=";
        assert!(url.starts_with(start), "{url}");
        let token = provider.redeem(google, &redemption(&url)).unwrap();
        let issued = NOW.seconds();
        assert_eq!(
            claims_of(&token),
            json!({
                "iss": google.issuer, "aud": "shop", "sub": "7", "hd": "example.com", "nonce": "a nonce",
                "iat": issued, "exp": issued + 300,
            })
        );
        assert_eq!(provider.redeem(google, &redemption(&url)), None, "once");
        let work = logins.by_name("work").unwrap();
        assert_eq!(provider.redeem(work, &redemption(&begin())), None, "another login");
        for spoil in [
            |sent: &mut Redemption| sent.verifier.push('x'),
            |sent: &mut Redemption| sent.client_id.push('x'),
            |sent: &mut Redemption| sent.redirect_uri.push('x'),
            |sent: &mut Redemption| sent.code.push('x'),
        ] {
            let mut sent = redemption(&begin());
            spoil(&mut sent);
            assert_eq!(provider.redeem(google, &sent), None);
        }
        let url = begin();
        provider.reset();
        assert_eq!(provider.redeem(google, &redemption(&url)), None, "of before a reset");
    }

    #[test]
    fn only_a_provider_that_says_when_people_signed_in_says_so_here() {
        let (provider, logins) = (FakeProvider::new(), logins());
        let auth_time = |name: &str, claims: Value| {
            let Ok(ProviderAnswer::Person(claims)) = parse(json!({"sub": "7", "claims": claims}))
            else {
                panic!("{name}")
            };
            let token =
                provider.id_token(logins.by_name(name).unwrap(), claims, String::new(), NOW);
            claims_of(&token).get("auth_time").cloned()
        };
        assert_eq!(auth_time("work", json!({})), Some(NOW.seconds().into()));
        assert_eq!(auth_time("work", json!({"auth_time": 5})), Some(5.into()));
        assert_eq!(auth_time("google", json!({})), None);
        assert_eq!(auth_time("google", json!({"auth_time": 5})), None);
    }

    #[test]
    fn what_is_expected_is_answered_once_at_its_login() {
        let (provider, logins) = (FakeProvider::new(), logins());
        let [google, work] = ["google", "work"].map(|name| logins.by_name(name).unwrap());
        provider.expect(google, ProviderAnswer::Error("first".to_owned()));
        provider.expect(google, ProviderAnswer::Error("second".to_owned()));
        assert_eq!(provider.expected(work), None);
        assert_eq!(provider.expected(google), Some(ProviderAnswer::Error("second".to_owned())));
        assert_eq!(provider.expected(google), None);
    }
}
