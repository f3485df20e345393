//! `doorward user …`: what an operator does with users.

use anyhow::bail;

use super::{Output, block_on};
use crate::{
    Settings,
    control::{self, Order, Report, UserReport, Who},
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

/// Gives an order and turns what is no success into an error.
async fn give(settings: Settings, order: Order) -> anyhow::Result<Report> {
    match control::give(settings, &order).await? {
        Report::NoSuchUser => {
            bail!("there is no such user: `doorward user list` shows all of them")
        }
        Report::Failed(cause) => bail!("{cause}"),
        report => Ok(report),
    }
}

fn print(users: &[UserReport], output: &Output) -> anyhow::Result<()> {
    if output.json {
        println!("{}", serde_json::to_string_pretty(users)?);
        return Ok(());
    }
    let width = users.iter().map(|user| user.email.chars().count()).max().unwrap_or(0);
    for UserReport { id, name, email, has_password, .. } in users {
        let note = if *has_password { "" } else { "  (no password)" };
        println!("{id}  {email:width$}  {name}{note}");
    }
    Ok(())
}
