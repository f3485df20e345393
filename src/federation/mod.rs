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
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use form_urlencoded::Serializer;
use serde_json::Value;
use tokio::time::timeout;

pub(crate) use self::error::printable;
pub use self::{
    check::{Finding, FindingLevel, check_login},
    error::ProviderError,
    login::{Credential, Login, LoginSet, Rules},
    person::{Claims, ExternalEmail, ExternalPerson},
    preset::Preset,
};
use self::{
    discovery::{Metadata, Provider},
    key_set::{SignedToken, Unverified},
    signed::{Checked, Ended, Terms},
    token_request::Tokens,
};
use crate::{clock::Timestamp, sha256::sha256};

/// The time for all requests of one step of a sign-in. It ends before that of the request of the browser.
const STEP_LIMIT: Duration = Duration::from_secs(if cfg!(test) { 4 } else { 12 });

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
    pub prompt: Prompt,
}

/// Whether a provider asks the person who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// If they are not signed in there.
    IfNeeded,
    /// In any case, where the answer proves something.
    Again,
    /// It sends them back at once. [`Preset::answers_at_once`] says which can.
    Never,
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
    pub prompt: Prompt,
    /// What Apple says of a person at their first sign-in, unsigned.
    pub user: Option<&'a str>,
}

/// What a provider says has ended there: a session, all sessions of a person, or their account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamEnd {
    pub issuer: String,
    pub subject: Option<String>,
    pub session_id: Option<String>,
    /// The digest of the issuer and the id of the message, which counts once.
    pub id: [u8; 16],
    pub expires_at: Timestamp,
    /// Whether the account there was closed.
    pub is_closed: bool,
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
        let metadata = in_time(login, self.metadata(login, now)).await?;
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
        match ask.prompt {
            // Elsewhere the answer proves nothing, and the question would only be in the way.
            Prompt::Again if login.preset.tells_auth_time() => {
                query.append_pair("prompt", "login").append_pair("max_age", "0");
            }
            Prompt::Never => {
                query.append_pair("prompt", "none");
            }
            Prompt::Again | Prompt::IfNeeded => {}
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
        let asking = async {
            let began = Instant::now();
            let metadata = self.metadata(login, now).await?;
            let code = code_of(answer, &metadata)?;
            let tokens = token_request::redeem(login, &metadata, code, answer, now).await?;
            // The provider has signed what it sends after all that was waited for.
            let now = now + began.elapsed();
            if login.preset != Preset::GitHub {
                return self.person_of_tokens(login, &tokens, answer, now).await;
            }
            let token = tokens.access_token.as_ref();
            let token = token.ok_or(ProviderError::BadToken("there is no access token"))?;
            let api = metadata.userinfo_endpoint.as_deref().unwrap_or_default();
            github::person(login, metadata.issuer.name(), api, token).await
        };
        in_time(login, asking).await
    }

    /// Who an ID token is about.
    async fn person_of_tokens(
        &self,
        login: &Login,
        tokens: &Tokens,
        answer: &AuthorizationAnswer<'_>,
        now: Timestamp,
    ) -> Result<ExternalPerson, ProviderError> {
        let (checked, metadata) = self.id_token(login, tokens, answer.nonce, now).await?;
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

    /// What has ended at a provider. `None` if the message is about something else.
    ///
    /// # Errors
    /// If the provider has not said so.
    pub async fn ended(
        &self,
        login: &Login,
        message: &str,
        now: Timestamp,
    ) -> Result<Option<UpstreamEnd>, ProviderError> {
        if login.preset == Preset::GitHub {
            return Err(ProviderError::BadToken("GitHub ends no sessions"));
        }
        let signed_token = self.signed_token(login, message, now);
        let (token, metadata) = in_time(login, signed_token).await?;
        let terms = Terms { issuer: &metadata.issuer, client_id: &login.client_id, now };
        let ended = match login.preset {
            Preset::Apple => terms.notification(token)?,
            _ => Some(terms.logout_token(token)?),
        };
        Ok(ended.map(|Ended { id, issuer, subject, session_id, expires_at, is_closed }| {
            let digest = sha256(format!("{issuer}\0{id}"));
            let id = std::array::from_fn(|at| digest[at]);
            UpstreamEnd { issuer, subject, session_id, id, expires_at, is_closed }
        }))
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

/// What a provider says before the limit.
async fn in_time<T>(
    login: &Login,
    step: impl Future<Output = Result<T, ProviderError>>,
) -> Result<T, ProviderError> {
    timeout(STEP_LIMIT, step).await.unwrap_or_else(|_| {
        let cause = format!("it took more than {} s", STEP_LIMIT.as_secs());
        Err(ProviderError::Unreachable { url: printable(&login.issuer), cause })
    })
}

/// The code that the browser has brought back. It is checked before anything is sent: the code of one provider must not reach
/// another one.
fn code_of<'a>(
    answer: &AuthorizationAnswer<'a>,
    metadata: &Metadata,
) -> Result<&'a str, ProviderError> {
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
        None => {
            let code = answer.code.filter(|code| !code.is_empty());
            code.ok_or(ProviderError::BadAnswer("without a code"))
        }
        Some("access_denied" | "user_cancelled_authorize") => Err(ProviderError::Cancelled),
        // The answers of those who must not ask (OpenID Connect Core 1.0, section 3.1.2.6).
        Some(
            "login_required"
            | "interaction_required"
            | "consent_required"
            | "account_selection_required",
        ) if answer.prompt == Prompt::Never => Err(ProviderError::MustAsk),
        Some(error) => Err(ProviderError::Refused(error::printable(error))),
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
