//! `doorward emergency`: the cure after a theft of the database, a backup or the keys.

use std::io::{self, IsTerminal, Write};

use anyhow::bail;
use axum::http::Method;

use super::{Output, block_on, counted, print_json};
use crate::{
    Settings,
    account::emergency::parse_new_passwords,
    control::AdminClient,
    http::api::admin::emergency::{self, EmergencyReport},
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
        let key_file = settings.key_file.clone();
        let report: EmergencyReport = block_on(async {
            let client = AdminClient::open(settings).await?;
            let order = emergency::Emergency { new_passwords };
            Ok(client.order(Method::POST, "/api/admin/emergency", &order).await?)
        })?;
        if output.json {
            return print_json(&report);
        }
        print(&report);
        if let (Some(file), false) = (key_file, report.keys_in_file.is_empty()) {
            print_line!(
                "the keys in {} (token.key_file) still sign: put new ones into it and restart every server",
                file.display()
            );
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

fn print(report: &EmergencyReport) {
    let EmergencyReport {
        keys_revoked,
        keys_in_file: _,
        sessions_ended,
        codes_revoked,
        mails_deleted,
        invitations_revoked,
        api_keys_revoked,
        passwords_removed,
    } = report;
    let keys = keys_revoked.len();
    print_line!("{}", counted(keys, "signing key replaced", "signing keys replaced"));
    print_line!("secret of cookies and links replaced");
    print_line!("{}", counted(*sessions_ended, "session ended", "sessions ended"));
    print_line!("{}", counted(*codes_revoked, "link or code voided", "links and codes voided"));
    print_line!("{}", counted(*mails_deleted, "mail with one deleted", "mails with one deleted"));
    print_line!("{}", counted(*invitations_revoked, "invitation voided", "invitations voided"));
    print_line!("{}", counted(*api_keys_revoked, "API key revoked", "API keys revoked"));
    print_line!("{}", counted(*passwords_removed, "password removed", "passwords removed"));
}
