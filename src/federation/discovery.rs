//! What a provider says of itself: its issuer, endpoints and keys. It is fetched when it is needed, and kept.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use serde_json::Value;
use tokio::sync::Mutex;

use super::{
    Login, Preset, ProviderError,
    key_set::KeySet,
    request::{self, MAX_BODY},
};
use crate::{clock::Timestamp, outbound::http::HttpResponse};

/// How long a provider is believed without asking again.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// The least time between two fetches, as long as there is something to believe.
const PAUSE: Duration = Duration::from_secs(60);

/// What is known of a provider.
#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) issuer: Issuer,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    /// For GitHub, its API.
    pub(super) userinfo_endpoint: Option<String>,
    pub(super) keys: KeySet,
    /// Whether the client secret belongs into the body of the token request.
    pub(super) posts_secret: bool,
    /// Whether it always says who it is when people come back.
    pub(super) sends_issuer: bool,
    /// Whether it says that it knows PKCE with S256.
    pub(super) knows_pkce: bool,
    fetched_at: Timestamp,
}

/// Who signs the tokens of a provider.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Issuer {
    One {
        stored: String,
        alias: Option<String>,
    },
    /// `{base}/{tenant}/v2.0`
    Microsoft {
        base: String,
        tenants: Tenants,
    },
}

/// Whose people may sign in at Microsoft.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Tenants {
    Any,
    /// Those of a work or school.
    Organizations,
    One(String),
}

/// The tenant of Microsoft accounts of people, which belong to no organisation.
const CONSUMERS: &str = "9188040d-6c67-4c5b-b112-36a304b66dad";

impl Issuer {
    /// The issuer under which an identity is stored, if this name is one of the provider.
    pub(super) fn stored<'a>(&'a self, named: &'a str) -> Option<&'a str> {
        match self {
            Self::One { stored, alias } => {
                (named == stored || Some(named) == alias.as_deref()).then_some(stored)
            }
            Self::Microsoft { tenants, .. } => {
                let tenant = self.tenant_of(named)?;
                let is_one_of_theirs = match tenants {
                    Tenants::Any => true,
                    Tenants::Organizations => tenant != CONSUMERS,
                    Tenants::One(only) => tenant == only,
                };
                is_one_of_theirs.then_some(named)
            }
        }
    }

    /// The id of the tenant in the name of an issuer at Microsoft.
    pub(super) fn tenant_of<'a>(&self, named: &'a str) -> Option<&'a str> {
        let Self::Microsoft { base, .. } = self else { return None };
        let tenant = named.strip_prefix(base)?.strip_prefix('/')?.strip_suffix("/v2.0")?;
        is_tenant_id(tenant).then_some(tenant)
    }

    /// For an error.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::One { stored, .. } => stored,
            Self::Microsoft { base, .. } => base,
        }
    }
}

/// Whether it is a UUID as Microsoft writes them.
fn is_tenant_id(text: &str) -> bool {
    let is_form = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_form)
}

impl Metadata {
    /// GitHub has no document. What has another host than the public one is GitHub Enterprise.
    pub(super) fn of_github(login: &Login, now: Timestamp) -> Self {
        let base = login.issuer.trim_end_matches('/');
        let is_public = Preset::GitHub.issuer() == Some(base);
        let api =
            if is_public { "https://api.github.com".to_owned() } else { format!("{base}/api/v3") };
        let stored = Preset::GitHub.stored_issuer(base).unwrap_or_default();
        Self {
            authorization_endpoint: format!("{stored}/authorize"),
            token_endpoint: format!("{stored}/access_token"),
            issuer: Issuer::One { stored, alias: None },
            userinfo_endpoint: Some(api),
            keys: KeySet::default(),
            posts_secret: true,
            sends_issuer: false,
            knows_pkce: true,
            fetched_at: now,
        }
    }

    /// Fetches the document and the keys of a provider. Also returns the answer with the document.
    pub(super) async fn fetch(
        login: &Login,
        now: Timestamp,
    ) -> Result<(Self, HttpResponse), ProviderError> {
        let url = document_url(login);
        let (document, answer) =
            request::get_json(login, &url, &[], MAX_BODY, ProviderError::BadDiscovery).await?;
        let mut metadata = Self::read(login, &document, now)?;
        let keys = endpoint(login, &document, "jwks_uri")?;
        let (set, _) =
            request::get_json(login, &keys, &[], MAX_BODY, ProviderError::BadDiscovery).await?;
        metadata.keys = KeySet::parse(&set).ok_or_else(|| unusable("its key set has no keys"))?;
        Ok((metadata, answer))
    }

    pub(super) fn read(
        login: &Login,
        document: &Value,
        now: Timestamp,
    ) -> Result<Self, ProviderError> {
        let lists = |name: &str, entry: &str| {
            let list = document.get(name).and_then(Value::as_array);
            list.map(|list| list.iter().any(|item| item == entry))
        };
        let facts = login.preset.facts();
        let methods = "token_endpoint_auth_methods_supported";
        let only_posts = lists(methods, "client_secret_post") == Some(true)
            && lists(methods, "client_secret_basic") == Some(false);
        let userinfo = facts.has_userinfo && document.get("userinfo_endpoint").is_some();
        let userinfo = userinfo.then(|| endpoint(login, document, "userinfo_endpoint"));
        let sends_issuer = document.get("authorization_response_iss_parameter_supported");
        Ok(Self {
            issuer: issuer_of(login, document)?,
            authorization_endpoint: endpoint(login, document, "authorization_endpoint")?,
            token_endpoint: endpoint(login, document, "token_endpoint")?,
            userinfo_endpoint: userinfo.transpose()?,
            keys: KeySet::default(),
            posts_secret: facts.posts_secret || only_posts,
            sends_issuer: sends_issuer.is_some_and(|sends| *sends == true),
            knows_pkce: lists("code_challenge_methods_supported", "S256") == Some(true),
            fetched_at: now,
        })
    }
}

/// Where the document of a provider is.
fn document_url(login: &Login) -> String {
    let issuer = login.issuer.trim_end_matches('/');
    let tenant = match (login.preset, &login.tenant) {
        (Preset::Microsoft, Some(tenant)) => format!("/{tenant}/v2.0"),
        _ => String::new(),
    };
    format!("{issuer}{tenant}/.well-known/openid-configuration")
}

fn unusable(cause: &str) -> ProviderError {
    ProviderError::BadDiscovery(cause.to_owned())
}

fn issuer_of(login: &Login, document: &Value) -> Result<Issuer, ProviderError> {
    let named = document.get("issuer").and_then(Value::as_str);
    let named = named.ok_or_else(|| unusable("it names no issuer"))?;
    if login.preset != Preset::Microsoft {
        let stored = login.issuer.clone();
        let issuer = Issuer::One { alias: login.preset.alias_of(&stored), stored };
        let is_it = issuer.stored(named).is_some();
        return is_it.then_some(issuer).ok_or(ProviderError::issuer(&login.issuer, named));
    }
    let base = login.issuer.trim_end_matches('/').to_owned();
    let tenant = login.tenant.as_deref().unwrap_or_default().to_ascii_lowercase();
    let of = |tenant: &str| format!("{base}/{tenant}/v2.0");
    // The document of all tenants has a place for the tenant in its issuer.
    let (expected, tenants) = match tenant.as_str() {
        "common" => (of("{tenantid}"), Tenants::Any),
        "organizations" => (of("{tenantid}"), Tenants::Organizations),
        "consumers" => (of(CONSUMERS), Tenants::One(CONSUMERS.to_owned())),
        id if is_tenant_id(id) => (of(id), Tenants::One(id.to_owned())),
        _ => {
            // By a domain: its document has the id.
            let any = Issuer::Microsoft { base: base.clone(), tenants: Tenants::Any };
            let id = any.tenant_of(named).unwrap_or("{tenantid}").to_owned();
            (of(&id), Tenants::One(id))
        }
    };
    let is_unknown = matches!(&tenants, Tenants::One(id) if !is_tenant_id(id));
    if named != expected || is_unknown {
        return Err(ProviderError::issuer(&expected, named));
    }
    Ok(Issuer::Microsoft { base, tenants })
}

/// A URL in the document of a provider. It becomes a header of ours, or the address of a request.
fn endpoint(login: &Login, document: &Value, name: &str) -> Result<String, ProviderError> {
    let url = document.get(name).and_then(Value::as_str).unwrap_or_default();
    let is_secure = url.starts_with("https://")
        || (url.starts_with("http://") && login.issuer.starts_with("http://"));
    if !is_secure || url.contains('#') || !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ProviderError::BadDiscovery(format!("its {name} is no URL with https")));
    }
    Ok(url.to_owned())
}

/// What is known of one provider, and its fetches. One is under way at a time.
pub(super) struct Provider {
    /// Of the declaration for which it was fetched.
    pub(super) version: String,
    known: ArcSwapOption<Metadata>,
    last: Mutex<Option<Fetch>>,
    /// How many fetches have ended.
    ended: AtomicU64,
}

struct Fetch {
    at: Timestamp,
    failure: Option<ProviderError>,
}

impl Provider {
    pub(super) fn new(version: &str) -> Self {
        Self {
            version: version.to_owned(),
            known: ArcSwapOption::empty(),
            last: Mutex::default(),
            ended: AtomicU64::new(0),
        }
    }

    /// What is known, if it is not too old, or what a fetch has found.
    pub(super) async fn metadata(
        self: &Arc<Self>,
        login: &Login,
        now: Timestamp,
    ) -> Result<Arc<Metadata>, ProviderError> {
        match self.known.load_full() {
            Some(known) if now.duration_since(known.fetched_at) < KEPT => Ok(known),
            _ => self.fetched(login, now).await,
        }
    }

    /// What a fetch finds. It runs to completion even if the caller disconnects.
    pub(super) async fn fetched(
        self: &Arc<Self>,
        login: &Login,
        now: Timestamp,
    ) -> Result<Arc<Metadata>, ProviderError> {
        let (provider, login) = (Arc::clone(self), login.clone());
        let fetch = tokio::spawn(async move { provider.fetch(&login, now).await });
        fetch.await.unwrap_or_else(|error| Err(ProviderError::BadDiscovery(error.to_string())))
    }

    /// Callers that wait for the same fetch share what it finds. Without a fetch, or if it fails, what was known before.
    async fn fetch(&self, login: &Login, now: Timestamp) -> Result<Arc<Metadata>, ProviderError> {
        let ended = self.ended.load(Ordering::Acquire);
        let mut last = self.last.lock().await;
        let has_waited = self.ended.load(Ordering::Acquire) != ended;
        let known = self.known.load_full();
        if let Some(Fetch { at, failure }) = &*last
            && (has_waited || (known.is_some() && now.duration_since(*at) < PAUSE))
        {
            match (known, failure) {
                (Some(known), _) => return Ok(known),
                (None, Some(failure)) => return Err(failure.clone()),
                (None, None) => {}
            }
        }
        let outcome = Metadata::fetch(login, now).await.map(|(found, _)| Arc::new(found));
        if let Ok(found) = &outcome {
            self.known.store(Some(Arc::clone(found)));
        }
        *last = Some(Fetch { at: now, failure: outcome.as_ref().err().cloned() });
        self.ended.fetch_add(1, Ordering::Release);
        match (outcome, self.known.load_full()) {
            (Err(error), Some(known)) => {
                tracing::warn!(login = login.name, %error, "cannot ask a provider again: what it said before is used");
                Ok(known)
            }
            (outcome, _) => outcome,
        }
    }
}
