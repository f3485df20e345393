//! `doorward api-key …`: keys with which programs pass guards and use the admin API.

use std::time::Duration;

use axum::http::Method;
use serde::Serialize;

use super::{Output, block_on, or_not_found, parse_time_span, print_json, within};
use crate::{
    Settings,
    account::key_list::ApiKeyInfo,
    control::AdminClient,
    http::api::admin::keys::{ApiKeys, CreatedApiKey},
};

pub(super) const EXAMPLES: &str = "Examples:
  doorward api-key create ci --scope guard:wiki
  doorward api-key list";

const PATH: &str = "/api/admin/keys";

#[derive(clap::Subcommand)]
pub(super) enum ApiKey {
    /// Make the key of a machine, and print it once
    #[command(after_help = "Examples:
  doorward api-key create ci --scope guard:wiki
  doorward api-key create dashboard --scope users:read --scope audit:read --expires 365d
  doorward api-key create deploy --scope 'guard:*' --allow 'request.address.inNetwork(\"10.0.0.0/8\")'")]
    Create(Create),
    /// List the keys of machines and people, the newest first
    #[command(after_help = "Examples:\n  doorward api-key list\n  doorward api-key list --json")]
    List(Output),
    /// Revoke a key. It is refused from the next request on
    #[command(
        after_help = "Examples:\n  doorward api-key revoke 6f1c6c1e-3a4b-4c5d-8e9f-0a1b2c3d4e5f"
    )]
    Revoke {
        /// Id of the key, as `api-key list` shows it
        id: String,
    },
}

#[derive(clap::Args)]
pub(super) struct Create {
    /// What the key is called in lists and in the audit trail
    name: String,
    /// What it is for: guard:NAME, guard:*, or a scope of the admin API such as users:read; may be repeated
    #[arg(long = "scope", value_name = "SCOPE", required = true)]
    scopes: Vec<String>,
    /// How long it is valid, from 5m to 3660d
    #[arg(long, value_name = "DURATION", default_value = "90d", value_parser = parse_time_span)]
    expires: Duration,
    /// A condition in CEL under which it counts, over request, guard and key
    #[arg(long, value_name = "CONDITION")]
    allow: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// The body of the request.
#[derive(Serialize)]
struct Order {
    name: String,
    scopes: Vec<String>,
    lifetime: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    allow: Option<String>,
}

impl ApiKey {
    /// Whether it changes the database.
    pub(super) fn changes(&self) -> bool {
        !matches!(self, Self::List(_))
    }

    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        block_on(async {
            let client = AdminClient::open(settings).await?;
            match self {
                Self::Create(create) => create.run(&client).await,
                Self::List(output) => list(&client, &output).await,
                Self::Revoke { id } => {
                    let answer = client.order(Method::DELETE, &within(PATH, &id), &()).await;
                    or_not_found::<()>(
                        answer,
                        "there is no such key, or it has ended: `doorward api-key list` shows all keys",
                    )?;
                    print_line!("revoked: it is refused from the next request on");
                    Ok(())
                }
            }
        })
    }
}

impl Create {
    async fn run(self, client: &AdminClient) -> anyhow::Result<()> {
        let Self { name, scopes, expires, allow, output } = self;
        let lifetime = format!("{}s", expires.as_secs());
        let order = Order { name, scopes, lifetime, allow };
        let created: CreatedApiKey = client.order(Method::POST, PATH, &order).await?;
        if output.json {
            return print_json(&created);
        }
        let CreatedApiKey { info, key } = created;
        print_line!("key    {key}");
        print_line!("id     {}", info.id);
        print_line!("scopes {}", info.scopes.join(" "));
        print_line!("until  {}", info.expires_at);
        print_line!("It is not shown again.");
        Ok(())
    }
}

async fn list(client: &AdminClient, output: &Output) -> anyhow::Result<()> {
    let mut keys: Vec<ApiKeyInfo> = Vec::new();
    let mut path = format!("{PATH}?limit=200");
    loop {
        let page: ApiKeys = client.get(&path).await?;
        keys.extend(page.keys);
        match page.next {
            Some(next) => path = format!("{PATH}?limit=200&after={next}"),
            None => break,
        }
    }
    if output.json {
        return print_json(&keys);
    }
    for key in &keys {
        let owner = owner_in_words(key).map(|owner| format!(" of {owner}")).unwrap_or_default();
        print_line!("{}  {}{owner}  {}", key.id, key.kind, use_in_words(key));
    }
    Ok(())
}

/// The owner of a personal key, by name and address. A server of an older version tells only the id.
fn owner_in_words(key: &ApiKeyInfo) -> Option<String> {
    match (&key.user_name, &key.user_email) {
        (Some(name), Some(email)) => Some(format!("{name} <{email}>")),
        _ => key.user_id.map(|id| id.to_string()),
    }
}

/// A key of a known user in a line.
pub(super) fn key_in_words(key: &ApiKeyInfo) -> String {
    format!("{}  {}", key.id, use_in_words(key))
}

/// What a key is called and for, and until when.
fn use_in_words(key: &ApiKeyInfo) -> String {
    let state = match &key.revoked_at {
        Some(at) => format!("revoked {at}"),
        None => format!("until {}", key.expires_at),
    };
    let used = key.last_used_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
    format!("{}  {}  {state}, last used {used}", key.name, key.scopes.join(" "))
}
