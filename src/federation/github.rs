//! Who has signed in at GitHub, by its API.

use serde_json::Value;

use super::{
    Claims, ExternalEmail, ExternalPerson, Login, ProviderError,
    request::{self, MAX_BODY},
};
use crate::user::Email;

/// The most bytes of a list of teams: 100 of them, each with its organisation.
const MAX_LIST: usize = 1 << 20;

/// What is told of an account. The rest is addresses of pages and counts.
const TOLD: [&str; 7] =
    ["login", "name", "company", "type", "created_at", "site_admin", "two_factor_authentication"];

/// Asks who has an access token.
pub(super) async fn person(
    login: &Login,
    issuer: &str,
    api: &str,
    access_token: &str,
) -> Result<ExternalPerson, ProviderError> {
    let authorization = zeroize::Zeroizing::new(format!("Bearer {access_token}"));
    let headers = [
        ("accept", "application/vnd.github+json"),
        ("authorization", authorization.as_str()),
        ("x-github-api-version", "2022-11-28"),
    ];
    let ask = async |path: &str, max_body| {
        let url = format!("{api}{path}");
        request::get_json(login, &url, &headers, max_body, ProviderError::BadUserinfo)
            .await
            .map(|(document, _)| document)
    };
    let user = ask("/user", MAX_BODY).await?;
    let id = user.get("id").and_then(Value::as_u64);
    let id = id.ok_or_else(|| ProviderError::BadUserinfo("the account has no id".to_owned()))?;
    let mut claims = Claims::new();
    claims.insert("sub".to_owned(), id.to_string().into());
    let told = TOLD.iter().filter_map(|name| Some((name, user.get(*name)?)));
    claims.extend(told.map(|(name, value)| ((*name).to_owned(), value.clone())));
    let addresses = ask("/user/emails?per_page=100", MAX_BODY).await?;
    let email = primary(&addresses);
    claims.insert("emails".to_owned(), verified(&addresses));
    if reads_organizations(login) {
        let organizations = ask("/user/orgs?per_page=100", MAX_LIST).await?;
        claims
            .insert("organizations".to_owned(), texts(&organizations, |item| text(item, "login")));
        let teams = ask("/user/teams?per_page=100", MAX_LIST).await?;
        let team = |item: &Value| {
            let organization = text(item.get("organization")?, "login")?;
            Some(format!("{organization}/{}", text(item, "slug")?))
        };
        claims.insert("teams".to_owned(), texts(&teams, team));
    }
    Ok(ExternalPerson::new(issuer.to_owned(), id.to_string(), email, claims))
}

fn text(item: &Value, name: &str) -> Option<String> {
    item.get(name)?.as_str().map(str::to_owned)
}

/// A text of each item that has it.
fn texts(list: &Value, of: impl Fn(&Value) -> Option<String>) -> Value {
    list.as_array().into_iter().flatten().filter_map(of).collect()
}

fn is(item: &Value, name: &str) -> bool {
    item.get(name).and_then(Value::as_bool) == Some(true)
}

/// The address that the person has chosen. The one in their profile is only what they show.
fn primary(addresses: &Value) -> Option<ExternalEmail> {
    let chosen = addresses.as_array()?.iter().find(|item| is(item, "primary"))?;
    let address = Email::parse(text(chosen, "email")?).ok()?;
    Some(ExternalEmail { address, is_verified: is(chosen, "verified") })
}

fn verified(addresses: &Value) -> Value {
    texts(addresses, |item| is(item, "verified").then(|| text(item, "email"))?)
}

/// The scope for what its people belong to.
pub(super) const ORGANIZATIONS: &str = "read:org";

/// Whether a login asks what its people belong to: its scopes or its rules say so.
pub(super) fn reads_organizations(login: &Login) -> bool {
    login.scopes.iter().any(|scope| scope == ORGANIZATIONS)
        || ["organizations", "teams"].iter().any(|claim| login.reads_claim(claim))
}
