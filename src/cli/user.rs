//! `doorward user …`: what an operator does with users.

use anyhow::bail;

use super::{Output, block_on, give};
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
                    match give(settings, Order::User(Who(user))).await? {
                        Report::User(user) => print(&[user], &output),
                        other => bail!("unexpected answer: {other:?}"),
                    }
                }
                Self::Logout { user } => {
                    match give(settings, Order::EndSessions(Who(user))).await? {
                        Report::SessionsEnded(1) => println!("1 session ended"),
                        Report::SessionsEnded(ended) => println!("{ended} sessions ended"),
                        other => bail!("unexpected answer: {other:?}"),
                    }
                    Ok(())
                }
                Self::Grant { user, role } => {
                    let report = give(settings, Order::GrantRole(Who(user), role)).await?;
                    println!(
                        "{}",
                        if changed(&report) { "granted" } else { "they had it already" }
                    );
                    Ok(())
                }
                Self::Revoke { user, role } => {
                    let report = give(settings, Order::RevokeRole(Who(user), role)).await?;
                    println!(
                        "{}",
                        if changed(&report) { "revoked" } else { "they did not have it" }
                    );
                    Ok(())
                }
                Self::Delete { user } => {
                    give(settings, Order::DeleteUser(Who(user))).await?;
                    println!("deleted");
                    Ok(())
                }
            }
        })
    }
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
        println!("{}", serde_json::to_string_pretty(users)?);
        return Ok(());
    }
    let width = users.iter().map(|user| user.email.chars().count()).max().unwrap_or(0);
    for UserReport { id, name, email, roles, has_password, .. } in users {
        let roles =
            if roles.is_empty() { String::new() } else { format!("  [{}]", roles.join(" ")) };
        let note = if *has_password { "" } else { "  (no password)" };
        println!("{id}  {email:width$}  {name}{roles}{note}");
    }
    Ok(())
}
