//! `doorward user invite`, `invitations` and `uninvite`.

use std::time::Duration;

use axum::http::{Method, StatusCode};

use super::{Output, or_not_found, parse_time_span, print_json, within};
use crate::{
    Settings,
    control::{self, AdminClient},
    http::api::admin::invitations::{
        InvitationInfo, Invitations, Invite, MAX_PAGE, MadeInvitation,
    },
};

const PATH: &str = "/api/admin/invitations";

#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward user invite grace@example.com --role staff
  doorward user invite grace@example.com --expires 2d --print --json")]
pub(super) struct InviteArguments {
    /// E-mail address
    email: String,
    /// Role that the new user gets; may be repeated
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// How long the invitation is valid, from 5m to 90d
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = parse_time_span)]
    expires: Duration,
    /// Print the link instead of mailing it
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    output: Output,
}

impl InviteArguments {
    pub(super) async fn run(self, settings: Settings) -> anyhow::Result<()> {
        let Self { email, roles, expires, print, output } = self;
        let lifetime = expires.as_secs();
        let invite = Invite { email: &email, roles: &roles, lifetime, mail: !print };
        let client = AdminClient::open_to_make_secrets(settings).await?;
        let made: MadeInvitation = match client.order(Method::POST, PATH, &invite).await {
            Err(control::Error::Refused { status: StatusCode::CONFLICT, .. }) => {
                anyhow::bail!("a user has this e-mail address already")
            }
            made => made?,
        };
        if output.json {
            return print_json(&made);
        }
        let MadeInvitation { invitation, link, secret, code } = made;
        let InvitationInfo { email, expires_at, .. } = invitation;
        match (secret, code) {
            (Some(secret), Some(code)) => {
                match link {
                    Some(link) => print_line!("link   {}", link.as_str()),
                    None => print_line!("secret {}", secret.as_str()),
                }
                print_line!("code   {}", code.as_str());
                print_line!("until  {expires_at}");
            }
            _ => print_line!("invited until {expires_at}: the mail to {email} is in the outbox"),
        }
        Ok(())
    }
}

/// Revokes an invitation.
pub(super) async fn revoke(settings: Settings, invitation: &str) -> anyhow::Result<()> {
    let client = AdminClient::open(settings).await?;
    or_not_found(
        client.order(Method::DELETE, &within(PATH, invitation), &()).await,
        "there is no such invitation: `doorward user invitations` shows all invitations",
    )
}

/// Lists all invitations.
pub(super) async fn list(settings: Settings, output: &Output) -> anyhow::Result<()> {
    let client = AdminClient::open(settings).await?;
    let (mut all, mut after) = (Vec::new(), None::<String>);
    loop {
        let mut query = form_urlencoded::Serializer::new(format!("{PATH}?limit={MAX_PAGE}&"));
        query.extend_pairs(after.iter().map(|after| ("after", after)));
        let Invitations { invitations, next } = client.get(&query.finish()).await?;
        all.extend(invitations);
        after = next;
        if after.is_none() {
            break;
        }
    }
    if output.json {
        return print_json(&all);
    }
    let width = all.iter().map(|invitation| invitation.email.chars().count()).max().unwrap_or(0);
    for InvitationInfo { id, email, roles, invited_by, expires_at, .. } in &all {
        let roles =
            if roles.is_empty() { String::new() } else { format!("  [{}]", roles.join(" ")) };
        let inviter = invited_by.as_ref().map_or(String::new(), |id| format!("  (by user {id})"));
        print_line!("{id}  {email:width$}  until {expires_at}{roles}{inviter}");
    }
    Ok(())
}
