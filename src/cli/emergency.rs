//! `doorward emergency`: the cure after a theft of the database, a backup or the keys.

use std::io::{self, IsTerminal, Write};

use anyhow::bail;
use axum::http::Method;

use super::{Output, block_on, print_json};
use crate::{
    Settings,
    account::emergency::{EmergencyReport, parse_new_passwords},
    control::AdminClient,
    http::api::admin::emergency,
    user::Role,
};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward emergency --new-passwords all
  doorward emergency --new-passwords role:admin --yes")]
pub(super) struct Emergency {
    /// Whose passwords are removed, so that they have to set a new one: all, none, or role:NAME
    #[arg(long, value_name = "WHOSE", value_parser = check_new_passwords)]
    new_passwords: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    output: Output,
}

impl Emergency {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let Self { new_passwords, yes, output } = self;
        if !yes {
            confirm(&new_passwords)?;
        }
        let report: EmergencyReport = block_on(async {
            let client = AdminClient::open(settings).await?;
            let order = emergency::Emergency { new_passwords };
            Ok(client.order(Method::POST, "/api/admin/emergency", &order).await?)
        })?;
        if output.json {
            return print_json(&report);
        }
        for line in report.summary() {
            print_line!("{line}");
        }
        Ok(())
    }
}

/// Before anything is asked or done.
fn check_new_passwords(text: &str) -> Result<String, String> {
    if parse_new_passwords(text).is_some() {
        return Ok(text.to_owned());
    }
    Err(match Role::parse(text) {
        Some(_) if !text.starts_with("role:") => {
            format!("write all, none, or role:{text} for users with that role")
        }
        _ => "write all, none, or role: and a role, such as role:admin".into(),
    })
}

fn confirm(new_passwords: &str) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() {
        bail!("this signs everybody out: add --yes; nothing has changed");
    }
    let mut screen = io::stderr();
    writeln!(
        screen,
        "This replaces all signing keys and the secret of cookies, signs everybody out, revokes all API keys, and makes all\n\
         links, codes and invitations void. Passwords that are removed: {new_passwords}."
    )?;
    write!(screen, "Type yes to continue: ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    if answer.trim() != "yes" {
        bail!("nothing has changed");
    }
    Ok(())
}
