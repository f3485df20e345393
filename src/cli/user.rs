//! `doorward user …`: what an operator does with users.

use std::{
    io::{self, IsTerminal},
    process,
};

use anyhow::bail;
use serde::ser::{SerializeSeq, Serializer};

use super::{Output, block_on, give, password};
use crate::{
    Settings,
    control::{Order, Report, SessionReport, UserFilter, UserReport, Who},
};

#[derive(clap::Subcommand)]
pub(super) enum User {
    /// List users, in the order of their addresses
    List(List),
    /// Show one user: the record, the last login and the sessions
    Show {
        /// E-mail address or id
        user: String,
        #[command(flatten)]
        output: Output,
    },
    /// Add a user; asks for a password on a terminal. Without one, they can set it with a code from `link`
    Add {
        /// E-mail address
        email: String,
        /// What the user is called
        #[arg(long)]
        name: String,
        /// Read a password from standard input
        #[arg(long)]
        password_stdin: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Set a user's password, asked for on a terminal or read from standard input, and end all their sessions
    SetPassword {
        /// E-mail address or id
        user: String,
    },
    /// Print a code, good once and for 30 minutes, with which the user can set a password
    Link {
        /// E-mail address or id
        user: String,
    },
    /// Lock a user out: their sessions end at once and they cannot log in
    Disable {
        /// E-mail address or id
        user: String,
    },
    /// Let a disabled user log in again
    Enable {
        /// E-mail address or id
        user: String,
    },
    /// Note that a user's e-mail address is theirs: conditions see user.emailVerified
    Verify {
        /// E-mail address or id
        user: String,
    },
    /// Take back that a user's e-mail address is theirs
    Unverify {
        /// E-mail address or id
        user: String,
    },
    /// End all sessions of a user: their tokens are refused from the next request on
    Logout {
        /// E-mail address or id
        user: String,
    },
    /// Give a role to a user
    Grant {
        /// E-mail address or id
        user: String,
        /// The role
        role: String,
    },
    /// Take a role from a user
    Revoke {
        /// E-mail address or id
        user: String,
        /// The role
        role: String,
    },
    /// Remove a user and their sessions
    Delete {
        /// E-mail address or id
        user: String,
    },
}

#[derive(clap::Args)]
pub(super) struct List {
    /// Only those with this in their address or name
    text: Option<String>,
    /// Only those with this role
    #[arg(long)]
    role: Option<String>,
    /// Only those who are disabled
    #[arg(long)]
    disabled: bool,
    /// How many at most
    #[arg(long, value_name = "NUMBER")]
    limit: Option<usize>,
    /// Go on behind this address
    #[arg(long, value_name = "ADDRESS")]
    after: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl User {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        block_on(async {
            match self {
                Self::List(list) => list.run(settings).await,
                Self::Show { user, output } => {
                    match give(settings, Order::User(Who(user))).await? {
                        Report::User(user) if output.json => print(&[user], &output)?,
                        Report::User(user) => print_whole(&user),
                        other => bail!("unexpected answer: {other:?}"),
                    }
                    Ok(())
                }
                Self::Add { email, name, password_stdin, output } => {
                    let password = match password_stdin {
                        true => Some(password::required()?),
                        false if io::stdin().is_terminal() => password::optional()?,
                        false => None,
                    };
                    show(settings, Order::AddUser { name, email, password }, &output).await
                }
                Self::SetPassword { user } => {
                    let order = Order::SetPassword(Who(user), password::required()?);
                    settle(settings, order, "password set").await
                }
                Self::Link { user } => {
                    match give(settings, Order::Link(Who(user))).await? {
                        Report::Code(code) => say!("{}", code.0),
                        other => bail!("unexpected answer: {other:?}"),
                    }
                    Ok(())
                }
                Self::Disable { user } => {
                    settle(settings, Order::Disable(Who(user)), "disabled").await
                }
                Self::Enable { user } => {
                    settle(settings, Order::Enable(Who(user)), "enabled").await
                }
                Self::Verify { user } => {
                    let report = give(settings, Order::SetEmailVerified(Who(user), true)).await?;
                    say!(
                        "{}",
                        if changed(&report) { "verified" } else { "it was verified already" }
                    );
                    Ok(())
                }
                Self::Unverify { user } => {
                    let report = give(settings, Order::SetEmailVerified(Who(user), false)).await?;
                    say!("{}", if changed(&report) { "unverified" } else { "it was not verified" });
                    Ok(())
                }
                Self::Logout { user } => {
                    match give(settings, Order::EndSessions(Who(user))).await? {
                        Report::SessionsEnded(1) => say!("1 session ended"),
                        Report::SessionsEnded(ended) => say!("{ended} sessions ended"),
                        other => bail!("unexpected answer: {other:?}"),
                    }
                    Ok(())
                }
                Self::Grant { user, role } => {
                    let report = give(settings, Order::GrantRole(Who(user), role)).await?;
                    say!("{}", if changed(&report) { "granted" } else { "they had it already" });
                    Ok(())
                }
                Self::Revoke { user, role } => {
                    let report = give(settings, Order::RevokeRole(Who(user), role)).await?;
                    say!("{}", if changed(&report) { "revoked" } else { "they did not have it" });
                    Ok(())
                }
                Self::Delete { user } => {
                    settle(settings, Order::DeleteUser(Who(user)), "deleted").await
                }
            }
        })
    }
}

/// Gives an order that is answered with a user.
async fn show(settings: Settings, order: Order, output: &Output) -> anyhow::Result<()> {
    match give(settings, order).await? {
        Report::User(user) => print(&[user], output),
        other => bail!("unexpected answer: {other:?}"),
    }
}

/// Gives an order that is only carried out, and says so.
async fn settle(settings: Settings, order: Order, done: &str) -> anyhow::Result<()> {
    match give(settings, order).await? {
        Report::Done => say!("{done}"),
        other => bail!("unexpected answer: {other:?}"),
    }
    Ok(())
}

impl List {
    /// Prints page after page, so that the whole of a long list is never in memory.
    async fn run(self, settings: Settings) -> anyhow::Result<()> {
        let Self { text, role, disabled, limit, mut after, output } = self;
        let filter = UserFilter { text, role, disabled };
        let mut left = limit.unwrap_or(usize::MAX);
        let mut json = serde_json::Serializer::pretty(io::stdout());
        let mut array = if output.json { Some(json.serialize_seq(None)?) } else { None };
        loop {
            let order = Order::Users { after, limit: left, filter: filter.clone() };
            let Report::Users { users, next } = give(settings.clone(), order).await? else {
                bail!("the running server is of another version");
            };
            left = left.saturating_sub(users.len());
            match &mut array {
                Some(array) => {
                    users.iter().for_each(|user| or_leave(array.serialize_element(user)));
                }
                None => print(&users, &output)?,
            }
            after = next;
            if after.is_none() || left == 0 {
                break;
            }
        }
        if let Some(array) = array {
            or_leave(array.end());
            say!("");
        }
        if let Some(after) = after {
            eprintln!("more may follow: --after {after}");
        }
        Ok(())
    }
}

/// Whoever reads may have read enough.
fn or_leave(written: serde_json::Result<()>) {
    if written.is_err() {
        process::exit(0);
    }
}

fn changed(report: &Report) -> bool {
    matches!(report, Report::Done)
}

fn print(users: &[UserReport], output: &Output) -> anyhow::Result<()> {
    if output.json {
        say!("{}", serde_json::to_string_pretty(users)?);
        return Ok(());
    }
    let width = users.iter().map(|user| user.email.chars().count()).max().unwrap_or(0);
    for UserReport { id, name, email, email_verified, roles, has_password, disabled, .. } in users {
        let roles =
            if roles.is_empty() { String::new() } else { format!("  [{}]", roles.join(" ")) };
        let locked_out = if *disabled { "  (disabled)" } else { "" };
        let note = if *has_password { "" } else { "  (no password)" };
        let verified = if *email_verified { "  (verified)" } else { "" };
        say!("{id}  {email:width$}  {name}{roles}{verified}{locked_out}{note}");
    }
    Ok(())
}

fn print_whole(user: &UserReport) {
    let UserReport { id, name, email, email_verified, roles, has_password, disabled, .. } = user;
    let roles = if roles.is_empty() { "none".into() } else { roles.join(" ") };
    let sessions = user.sessions.as_deref().unwrap_or_default();
    say!("id          {id}");
    say!("address     {email}");
    say!("verified    {}", if *email_verified { "yes" } else { "no" });
    say!("name        {name}");
    say!("roles       {roles}");
    say!("password    {}", if *has_password { "set" } else { "none" });
    say!("disabled    {}", if *disabled { "yes" } else { "no" });
    say!("registered  {}", user.created_at);
    say!("changed     {}", user.updated_at);
    say!("last login  {}", user.last_login_at.as_deref().unwrap_or("never"));
    say!("sessions    {}", sessions.len());
    for SessionReport { created_at, last_seen_at, address, user_agent, .. } in sessions {
        let program = if user_agent.is_empty() { "an unknown program" } else { user_agent };
        say!("  since {created_at}, last seen {last_seen_at}, from {address} with {program}");
    }
}
