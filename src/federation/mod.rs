//! Other providers that people sign in with: what they are, what they say, and how that is verified.

mod check;
mod discovery;
mod error;
mod github;
mod key_set;
mod login;
mod person;
mod preset;
mod request;
mod signed;
#[cfg(test)]
mod tests;
mod token_request;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use form_urlencoded::Serializer;
use serde_json::Value;

pub(crate) use self::error::printable;
pub use self::{
    check::{Finding, FindingLevel},
    error::ProviderError,
    login::{Credential, Login, LoginSet, Rules},
    person::{Claims, ExternalEmail, ExternalPerson},
    preset::Preset,
};
use self::{
    discovery::{Metadata, Provider},
    key_set::{SignedToken, Unverified},
    signed::{Checked, Terms},
    token_request::Tokens,
};
use crate::{clock::Timestamp, sha256::sha256};

/// What is known of providers: their endpoints and keys, by the name of the login.
#[derive(Default)]
pub struct Providers {
    known: Mutex<HashMap<String, Arc<Provider>>>,
}

/// What a browser is sent to a provider with.
#[derive(Clone, Copy)]
pub struct Authorization<'a> {
    pub redirect_uri: &'a str,
    pub state: &'a str,
    pub nonce: &'a str,
    /// Of PKCE.
    pub verifier: &'a str,
    pub login_hint: Option<&'a str>,
    /// Whether the person has to prove again who they are.
    pub again: bool,
}

/// What a browser comes back with, and what it was sent with.
#[derive(Clone, Copy)]
pub struct AuthorizationAnswer<'a> {
    pub code: Option<&'a str>,
    pub error: Option<&'a str>,
    pub iss: Option<&'a str>,
    pub redirect_uri: &'a str,
    pub nonce: &'a str,
    pub verifier: &'a str,
    /// What Apple says of a person at their first sign-in, unsigned.
    pub user: Option<&'a str>,
}

/// What a provider says of a session that has ended there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamLogout {
    pub issuer: String,
    pub subject: Option<String>,
    pub session_id: Option<String>,
    /// The digest of the issuer and the id of the message, which counts once.
    pub id: [u8; 16],
    pub expires_at: Timestamp,
}

impl Providers {
    pub fn new() -> Self {
        Self::default()
    }

    /// Where the browser goes.
    ///
    /// # Errors
    /// If the provider cannot be asked where that is.
    pub async fn authorization_url(
        &self,
        login: &Login,
        ask: &Authorization<'_>,
        now: Timestamp,
    ) -> Result<String, ProviderError> {
        let metadata = self.metadata(login, now).await?;
        let is_github = login.preset == Preset::GitHub;
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(sha256(ask.verifier));
        let mut query = Serializer::new(String::new());
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &login.client_id)
            .append_pair("redirect_uri", ask.redirect_uri)
            .append_pair("scope", &scopes(login))
            .append_pair("state", ask.state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        if !is_github {
            query.append_pair("nonce", ask.nonce);
        }
        if login.preset.uses_form_post() {
            query.append_pair("response_mode", "form_post");
        }
        if let Some(hint) = ask.login_hint {
            query.append_pair(if is_github { "login" } else { "login_hint" }, hint);
        }
        // Where the answer proves nothing, it would only be in the way.
        if ask.again && login.preset.tells_auth_time() {
            query.append_pair("prompt", "login").append_pair("max_age", "0");
        }
        let endpoint = &metadata.authorization_endpoint;
        let separator = if endpoint.contains('?') { '&' } else { '?' };
        Ok(format!("{endpoint}{separator}{}", query.finish()))
    }

    /// Who has come back.
    ///
    /// # Errors
    /// If the provider says nothing that counts.
    pub async fn person(
        &self,
        login: &Login,
        answer: &AuthorizationAnswer<'_>,
        now: Timestamp,
    ) -> Result<ExternalPerson, ProviderError> {
        let began = Instant::now();
        let metadata = self.metadata(login, now).await?;
        // Before anything is sent: the code of one provider must not reach another one.
        match answer.iss {
            Some(named) if metadata.issuer.stored(named).is_none() => {
                return Err(ProviderError::issuer(metadata.issuer.name(), named));
            }
            // An error proves nothing, whoever sends it.
            None if metadata.sends_issuer && answer.error.is_none() => {
                return Err(ProviderError::issuer(metadata.issuer.name(), ""));
            }
            _ => {}
        }
        match answer.error {
            None => {}
            Some("access_denied" | "user_cancelled_authorize") => {
                return Err(ProviderError::Cancelled);
            }
            Some(error) => return Err(ProviderError::Refused(error::printable(error))),
        }
        let code = answer.code.filter(|code| !code.is_empty());
        let code = code.ok_or(ProviderError::BadAnswer("without a code"))?;
        let tokens = token_request::redeem(login, &metadata, code, answer, now).await?;
        // The provider has signed what it sends after all that was waited for.
        let now = now + began.elapsed();
        if login.preset == Preset::GitHub {
            let token = tokens.access_token.as_ref();
            let token = token.ok_or(ProviderError::BadToken("there is no access token"))?;
            let api = metadata.userinfo_endpoint.as_deref().unwrap_or_default();
            return github::person(login, metadata.issuer.name(), api, token).await;
        }
        let (checked, metadata) = self.id_token(login, &tokens, answer.nonce, now).await?;
        if answer.iss.is_some_and(|named| metadata.issuer.stored(named) != Some(&checked.issuer)) {
            return Err(ProviderError::issuer(&checked.issuer, answer.iss.unwrap_or_default()));
        }
        let mut claims = checked.claims;
        let subject = checked.subject.unwrap_or_default();
        let auth_time =
            login.preset.tells_auth_time().then(|| signed::seconds(&claims, "auth_time"));
        let is_missing = |name: &&str| !claims.contains_key(*name);
        // Who asks for more than a preset does wants more than the ID token may have.
        let wants_more =
            !login.scopes.is_empty() || ["email", "email_verified", "name"].iter().any(is_missing);
        if let (Some(url), Some(token), true) =
            (&metadata.userinfo_endpoint, &tokens.access_token, wants_more)
        {
            add(&mut claims, userinfo(login, url, token, &subject).await?);
        }
        let email = person::email_of(login.preset, &claims);
        let mut person = ExternalPerson::new(checked.issuer, subject, email, claims);
        person.name = person.name.or_else(|| answer.user.and_then(name_in_form));
        // A time to come would count as fresh until it comes.
        person.authenticated_at =
            auth_time.flatten().map(|seconds| Timestamp::from_seconds(seconds).min(now));
        Ok(person)
    }

    /// Which session has ended.
    ///
    /// # Errors
    /// If the provider has not said so.
    pub async fn logout(
        &self,
        login: &Login,
        logout_token: &str,
        now: Timestamp,
    ) -> Result<UpstreamLogout, ProviderError> {
        if login.preset == Preset::GitHub {
            return Err(ProviderError::BadToken("GitHub ends no sessions"));
        }
        let (token, metadata) = self.signed_token(login, logout_token, now).await?;
        let terms = Terms { issuer: &metadata.issuer, client_id: &login.client_id, now };
        let (checked, id) = terms.logout_token(token)?;
        let digest = sha256(format!("{}\0{id}", checked.issuer));
        Ok(UpstreamLogout {
            session_id: signed::session_id(&checked.claims),
            issuer: checked.issuer,
            subject: checked.subject,
            id: std::array::from_fn(|at| digest[at]),
            // It is too old then, also by a clock that is behind.
            expires_at: checked.issued_at + signed::LOGOUT_LIFETIME,
        })
    }

    /// What an operator should know of a provider: whether it answers, whether its issuer, its clock and the secret for it are
    /// right.
    pub async fn check(&self, login: &Login, now: Timestamp) -> Vec<Finding> {
        check::check(login, now).await
    }

    /// What is known of the provider of a login. No lock is held while it is asked.
    fn provider(&self, login: &Login) -> Arc<Provider> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(&login.name) {
            Some(provider) if provider.version == login.version => Arc::clone(provider),
            _ => {
                let provider = Arc::new(Provider::new(&login.version));
                known.insert(login.name.clone(), Arc::clone(&provider));
                provider
            }
        }
    }

    async fn metadata(
        &self,
        login: &Login,
        now: Timestamp,
    ) -> Result<Arc<Metadata>, ProviderError> {
        if login.preset == Preset::GitHub {
            return Ok(Arc::new(Metadata::of_github(login, now)));
        }
        self.provider(login).metadata(login, now).await
    }

    /// Verifies a signature, with new keys if those that are known do not fit.
    async fn signed_token(
        &self,
        login: &Login,
        token: &str,
        now: Timestamp,
    ) -> Result<(SignedToken, Arc<Metadata>), ProviderError> {
        let provider = self.provider(login);
        let mut metadata = provider.metadata(login, now).await?;
        let mut outcome = metadata.keys.verify(token);
        if matches!(outcome, Err(Unverified::ByTheseKeys(_))) {
            metadata = provider.fetched(login, now).await?;
            outcome = metadata.keys.verify(token);
        }
        match outcome {
            Ok(token) => Ok((token, metadata)),
            Err(Unverified::Never(cause) | Unverified::ByTheseKeys(cause)) => {
                Err(ProviderError::BadToken(cause))
            }
        }
    }

    async fn id_token(
        &self,
        login: &Login,
        tokens: &Tokens,
        nonce: &str,
        now: Timestamp,
    ) -> Result<(Checked, Arc<Metadata>), ProviderError> {
        let token = tokens.id_token.as_deref();
        let token = token.ok_or(ProviderError::BadToken("there is no ID token"))?;
        let (token, metadata) = self.signed_token(login, token, now).await?;
        let terms = Terms { issuer: &metadata.issuer, client_id: &login.client_id, now };
        let access_token = tokens.access_token.as_ref().map(|token| token.as_str());
        let checked = terms.id_token(token, nonce, access_token).map_err(|error| {
            let offset = tokens.date.map(|date| date.seconds().saturating_sub(now.seconds()));
            match offset {
                // It was made a moment ago. If clocks differ, that is why it seems old.
                Some(seconds)
                    if seconds < -signed::LEEWAY
                        && error == ProviderError::BadToken(signed::EXPIRED) =>
                {
                    ProviderError::Clock { seconds }
                }
                _ => error,
            }
        });
        Ok((checked?, metadata))
    }
}

/// What a provider is asked for.
fn scopes(login: &Login) -> String {
    let mut scopes = login.preset.facts().scopes.to_vec();
    for scope in &login.scopes {
        if !scopes.contains(&scope.as_str()) {
            scopes.push(scope);
        }
    }
    let needs_organizations = login.preset == Preset::GitHub && github::reads_organizations(login);
    if needs_organizations && !scopes.contains(&github::ORGANIZATIONS) {
        scopes.push(github::ORGANIZATIONS);
    }
    scopes.join(" ")
}

/// What else a provider says of a person.
async fn userinfo(
    login: &Login,
    url: &str,
    access_token: &str,
    subject: &str,
) -> Result<Claims, ProviderError> {
    let authorization = zeroize::Zeroizing::new(format!("Bearer {access_token}"));
    let headers = [("accept", "application/json"), ("authorization", authorization.as_str())];
    let (document, _) =
        request::get_json(login, url, &headers, request::MAX_BODY, ProviderError::BadUserinfo)
            .await?;
    match document {
        Value::Object(claims) if claims.get("sub").is_some_and(|named| *named == subject) => {
            Ok(claims)
        }
        _ => Err(ProviderError::BadUserinfo("it is about somebody else".to_owned())),
    }
}

/// Adds what userinfo says. The ID token is right where both say something. An address and whether it is verified belong
/// together: those of two sources must not be mixed.
fn add(claims: &mut Claims, mut more: Claims) {
    let has_both = claims.contains_key("email") && claims.contains_key("email_verified");
    if !has_both && more.contains_key("email") {
        claims.shift_remove("email");
        claims.shift_remove("email_verified");
    } else {
        more.shift_remove("email");
        more.shift_remove("email_verified");
    }
    for (name, value) in more {
        if !OF_THE_SIGN_IN.contains(&name.as_str()) {
            claims.entry(name).or_insert(value);
        }
    }
}

/// What is said of a sign-in and not of a person counts only if it is signed.
const OF_THE_SIGN_IN: [&str; 6] = ["iss", "aud", "sid", "auth_time", "amr", "acr"];

/// The name in what Apple's page has posted. Nobody has signed it, so it is no claim.
fn name_in_form(form: &str) -> Option<String> {
    let form: Value = serde_json::from_str(form).ok()?;
    let part = |name: &str| form.get("name")?.get(name)?.as_str();
    let parts: Vec<_> = ["firstName", "lastName"].into_iter().filter_map(part).collect();
    person::display_name(&parts.join(" "))
}
