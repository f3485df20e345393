//! `doorward user invite`, `invitations` and `uninvite`.

use std::time::Duration;

use serde::Serialize;

use super::{Output, parse_time_span, print_json, reject_failure, run, unexpected_reply};
use crate::{
    Settings,
    control::{Command, CommandRunner, InvitationInfo, Invite, Reply, Secret, TicketInfo},
};

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
        let invite = Invite { email, roles, lifetime: Some(expires), print };
        let Reply::Invited(invitation, ticket) = run(settings, Command::Invite(invite)).await?
        else {
            return Err(unexpected_reply());
        };
        match (&ticket, output.json) {
            (_, true) => print_json(&PrintedInvitation::new(&invitation, ticket.as_ref())),
            (Some(ticket), false) => {
                match &ticket.link {
                    Some(link) => print_line!("link   {}", link.as_str()),
                    None => print_line!("secret {}", ticket.secret.as_str()),
                }
                print_line!("code   {}", ticket.code.as_str());
                print_line!("until  {}", invitation.expires_at);
                Ok(())
            }
            (None, false) => {
                let InvitationInfo { email, expires_at, .. } = invitation;
                print_line!("invited until {expires_at}: the mail to {email} is in the outbox");
                Ok(())
            }
        }
    }
}

/// A new invitation as JSON.
#[derive(Serialize)]
struct PrintedInvitation<'a> {
    #[serde(flatten)]
    invitation: &'a InvitationInfo,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
}

impl<'a> PrintedInvitation<'a> {
    fn new(invitation: &'a InvitationInfo, ticket: Option<&'a TicketInfo>) -> Self {
        Self {
            invitation,
            link: ticket.and_then(|ticket| ticket.link.as_ref()).map(Secret::as_str),
            secret: ticket.map(|ticket| ticket.secret.as_str()),
            code: ticket.map(|ticket| ticket.code.as_str()),
        }
    }
}

/// Lists all invitations.
pub(super) async fn list(settings: Settings, output: &Output) -> anyhow::Result<()> {
    let runner = CommandRunner::open(settings).await?;
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let command = Command::ListInvitations { after, limit: usize::MAX };
        let Reply::Invitations { invitations, next } = reject_failure(runner.run(&command).await?)?
        else {
            return Err(unexpected_reply());
        };
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
