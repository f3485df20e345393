//! What an operator should know of a provider before people sign in there.

use serde::{Serialize, Serializer};

use super::{
    Login, Preset, ProviderError,
    discovery::Metadata,
    request::{self, MAX_BODY},
    token_request::secret_of,
};
use crate::{clock::Timestamp, outbound::http::HttpResponse};

/// The most seconds that clocks may be apart.
const MAX_OFFSET: u64 = 60;

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub level: FindingLevel,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingLevel {
    /// As it should be.
    Fine,
    /// People can sign in, but something is missing.
    Warning,
    /// Nobody can sign in.
    Error,
}

impl FindingLevel {
    pub fn name(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Warning => "warning",
            Self::Error => "wrong",
        }
    }
}

impl Serialize for FindingLevel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Asks a provider whether its issuer and its clock are right, whatever is known of it, and looks at the secret for it.
pub async fn check_login(login: &Login, now: Timestamp) -> Vec<Finding> {
    use FindingLevel::{Error, Fine, Warning};
    let mut findings = Vec::new();
    let mut add = |level, text: &str| findings.push(Finding { level, text: text.to_owned() });
    match secret_of(login, now) {
        Ok(Some(_)) => add(Fine, "the secret can be read"),
        Ok(None) if matches!(login.preset, Preset::Google | Preset::GitHub) => {
            let provider = login.preset.label();
            add(
                Error,
                &format!(
                    "client_secret_file is not set, and {provider} asks for a secret: save it in a file, and name the file"
                ),
            );
        }
        Ok(None) => add(Fine, "there is no secret: it has to be a public client there"),
        Err(error) => add(Error, &error.to_string()),
    }
    let (metadata, answer) = match ask(login, now).await {
        Ok(found) => found,
        Err(error) => {
            add(Error, &error.to_string());
            return findings;
        }
    };
    add(Fine, &format!("{} answers", login.issuer));
    if let Some(metadata) = metadata {
        if metadata.keys.is_empty() {
            add(Error, "it has no key for RS256, PS256, ES256 or EdDSA");
        }
        match metadata.knows_pkce {
            true => add(Fine, "it knows PKCE with S256"),
            false => add(Warning, "it does not say whether it knows PKCE with S256"),
        }
    }
    match answer.date().map(|date| date.seconds().saturating_sub(now.seconds())) {
        Some(seconds) if seconds.unsigned_abs() > MAX_OFFSET => {
            add(Error, &ProviderError::Clock { seconds }.to_string());
        }
        Some(_) => add(Fine, "its clock agrees with the one here"),
        None => add(Warning, "it does not say what time it is"),
    }
    findings
}

async fn ask(
    login: &Login,
    now: Timestamp,
) -> Result<(Option<Metadata>, HttpResponse), ProviderError> {
    if login.preset != Preset::GitHub {
        let (metadata, answer) = Metadata::fetch(login, now).await?;
        return Ok((Some(metadata), answer));
    }
    let api = Metadata::of_github(login, now).userinfo_endpoint.unwrap_or_default();
    // Without a token it refuses, which is an answer.
    Ok((None, request::get(login, &format!("{api}/user"), &[], MAX_BODY).await?))
}
