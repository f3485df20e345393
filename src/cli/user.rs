//! `doorward user …`: what an operator does with users.

use std::io::{self, IsTerminal};

use anyhow::bail;

use super::{Output, block_on, give, password};
use crate::{
    Settings,
    control::{Order, Report, UserReport, Who},
};

#[derive(clap::Subcommand)]
pub(super) enum User {
    /// List all users
    List(Output),
    /// Show one user
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

impl User {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        block_on(async {
            match self {
                Self::List(output) => print(&list(settings).await?, &output),
                Self::Show { user, output } => {
                    show(settings, Order::User(Who(user)), &output).await
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

async fn list(settings: Settings) -> anyhow::Result<Vec<UserReport>> {
    const PAGE: usize = 1000;
    let mut users = Vec::<UserReport>::new();
    loop {
        let after = users.last().map(|user| user.email.clone());
        match give(settings.clone(), Order::Users { after, limit: PAGE }).await? {
            Report::Users(page) => {
                let last = page.len() < PAGE;
                users.extend(page);
                if last {
                    return Ok(users);
                }
            }
            other => bail!("unexpected answer: {other:?}"),
        }
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
    for UserReport { id, name, email, roles, has_password, disabled, .. } in users {
        let roles =
            if roles.is_empty() { String::new() } else { format!("  [{}]", roles.join(" ")) };
        let locked_out = if *disabled { "  (disabled)" } else { "" };
        let note = if *has_password { "" } else { "  (no password)" };
        say!("{id}  {email:width$}  {name}{roles}{locked_out}{note}");
    }
    Ok(())
}
