//! `doorward user …`: lists, shows, adds, changes and deletes users.

use std::{
    io::{self, IsTerminal},
    process,
};

use serde::{
    Serialize,
    ser::{SerializeSeq, Serializer},
};

use super::{
    Output, block_on, counted,
    factor::{self, Factor, device_in_words, factor_in_words},
    invitation::{self, InviteArguments},
    password, print_json, reject_failure, run,
    terminal::JsonOutput,
    unexpected_reply,
    user_arguments::UserArguments,
};
use crate::{
    Settings,
    control::{Command, CommandRunner, Reply, SessionInfo, UserInfo, UserRef},
};

pub(super) const EXAMPLES: &str = "Examples:
  doorward user list
  doorward user add ada@example.com --name \"Ada Lovelace\"
  doorward user disable ada@example.com";

#[derive(clap::Subcommand)]
pub(super) enum User {
    /// List users in the order of their e-mail addresses
    List(List),
    /// Show one user with their sessions
    #[command(
        after_help = "Examples:\n  doorward user show ada@example.com\n  doorward user show ada@example.com --json"
    )]
    Show(UserArguments),
    /// Add a user. Asks for a password on a terminal; without one, the user can set it with a code from `reset-code`
    #[command(after_help = "Examples:
  doorward user add ada@example.com --name \"Ada Lovelace\"
  printf 'correct horse' | doorward user add ada@example.com --name Ada --password-stdin")]
    Add {
        /// E-mail address
        email: String,
        /// Name of the user
        #[arg(long)]
        name: String,
        /// Read the password from standard input
        #[arg(long)]
        password_stdin: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Invite somebody to register, by mail if the service sends any
    Invite(InviteArguments),
    /// List invitations in the order of their e-mail addresses
    #[command(after_help = "Examples:\n  doorward user invitations --json")]
    Invitations {
        #[command(flatten)]
        output: Output,
    },
    /// Revoke an invitation
    #[command(after_help = "Examples:\n  doorward user uninvite grace@example.com")]
    Uninvite {
        /// E-mail address or id of the invitation
        invitation: String,
        #[command(flatten)]
        output: Output,
    },
    /// Set a user's password and end all their sessions. Asks for it on a terminal, or reads it from standard input
    #[command(
        after_help = "Examples:\n  doorward user set-password ada@example.com\n  printf 'correct horse' | doorward user set-password ada@example.com"
    )]
    SetPassword(UserArguments),
    /// Print a code with which the user can set a password, once within 30 minutes
    #[command(after_help = "Examples:\n  doorward user reset-code ada@example.com")]
    ResetCode(UserArguments),
    /// Show the second factors of a user, or let them remove all
    #[command(subcommand, after_help = factor::EXAMPLES)]
    Factor(Factor),
    /// Disable a user: their sessions end at once and they cannot log in
    #[command(after_help = "Examples:\n  doorward user disable ada@example.com")]
    Disable(UserArguments),
    /// Let a disabled user log in again
    #[command(after_help = "Examples:\n  doorward user enable ada@example.com")]
    Enable(UserArguments),
    /// Forget the failed logins that lock a user out
    #[command(after_help = "Examples:\n  doorward user unlock ada@example.com")]
    Unlock(UserArguments),
    /// Mark a user's e-mail address as verified; conditions read it as user.emailVerified
    #[command(after_help = "Examples:\n  doorward user verify ada@example.com")]
    Verify(UserArguments),
    /// Mark a user's e-mail address as not verified
    #[command(after_help = "Examples:\n  doorward user unverify ada@example.com")]
    Unverify(UserArguments),
    /// List the sessions of a user, or end some of them
    Sessions(Sessions),
    /// End all sessions of a user. Their tokens are refused from the next request on
    #[command(after_help = "Examples:\n  doorward user logout ada@example.com")]
    Logout(UserArguments),
    /// Grant a role to a user
    #[command(after_help = "Examples:\n  doorward user grant ada@example.com staff")]
    Grant {
        /// E-mail address or id
        user: String,
        /// Role
        role: String,
        #[command(flatten)]
        output: Output,
    },
    /// Revoke a role of a user
    #[command(after_help = "Examples:\n  doorward user revoke ada@example.com staff")]
    Revoke {
        /// E-mail address or id
        user: String,
        /// Role
        role: String,
        #[command(flatten)]
        output: Output,
    },
    /// Delete a user and everything stored about them
    #[command(after_help = "Examples:\n  doorward user delete ada@example.com")]
    Delete(UserArguments),
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward user sessions ada@example.com
  doorward user sessions ada@example.com --end 0190a0a0-0000-4000-8000-00000000000a")]
pub(super) struct Sessions {
    /// E-mail address or id
    user: String,
    /// End the session with this id; its tokens are refused from the next request on. Can be repeated
    #[arg(long, value_name = "ID")]
    end: Vec<String>,
    #[command(flatten)]
    output: Output,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward user list
  doorward user list ada --role staff
  doorward user list --limit 100 --json")]
pub(super) struct List {
    /// Only users with this text in their e-mail address or name
    text: Option<String>,
    /// Only users with this role
    #[arg(long)]
    role: Option<String>,
    /// Only disabled users
    #[arg(long)]
    disabled: bool,
    /// Maximum number of users to list
    #[arg(long, value_name = "NUMBER")]
    limit: Option<usize>,
    /// Start after this e-mail address
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
                Self::Show(UserArguments { user, output }) => {
                    match run(settings, Command::ShowUser(UserRef(user))).await? {
                        Reply::User(user) if output.json => print(&[user], &output),
                        Reply::User(user) => {
                            print_details(&user);
                            Ok(())
                        }
                        _ => Err(unexpected_reply()),
                    }
                }
                Self::Add { email, name, password_stdin, output } => {
                    let password = match (password_stdin, io::stdin().is_terminal()) {
                        (true, _) => Some(password::required()?),
                        (false, true) => password::optional()?,
                        (false, false) => None,
                    };
                    let command = Command::AddUser { name, email, password };
                    match run(settings, command).await? {
                        Reply::User(user) => print(&[user], &output),
                        _ => Err(unexpected_reply()),
                    }
                }
                Self::Invite(arguments) => arguments.run(settings).await,
                Self::Invitations { output } => invitation::list(settings, &output).await,
                Self::Uninvite { invitation, output } => {
                    change(
                        settings,
                        Command::RevokeInvitation(invitation),
                        "revoked",
                        None,
                        &output,
                    )
                    .await
                }
                Self::SetPassword(UserArguments { user, output }) => {
                    let command = Command::SetPassword(UserRef(user), password::required()?);
                    change(settings, command, "password set", None, &output).await
                }
                Self::ResetCode(UserArguments { user, output }) => {
                    match run(settings, Command::CreateResetCode(UserRef(user))).await? {
                        Reply::ResetCode(code) if output.json => {
                            print_json(&NewCode { code: code.as_str() })?;
                        }
                        Reply::ResetCode(code) => print_line!("{}", code.as_str()),
                        _ => return Err(unexpected_reply()),
                    }
                    Ok(())
                }
                Self::Factor(factor) => factor.run(settings).await,
                Self::Disable(UserArguments { user, output }) => {
                    change(settings, Command::DisableUser(UserRef(user)), "disabled", None, &output)
                        .await
                }
                Self::Enable(UserArguments { user, output }) => {
                    change(settings, Command::EnableUser(UserRef(user)), "enabled", None, &output)
                        .await
                }
                Self::Unlock(UserArguments { user, output }) => {
                    change(settings, Command::UnlockUser(UserRef(user)), "unlocked", None, &output)
                        .await
                }
                Self::Verify(UserArguments { user, output }) => {
                    let command = Command::SetEmailVerified(UserRef(user), true);
                    change(settings, command, "verified", Some("already verified"), &output).await
                }
                Self::Unverify(UserArguments { user, output }) => {
                    let command = Command::SetEmailVerified(UserRef(user), false);
                    change(settings, command, "unverified", Some("was not verified"), &output).await
                }
                Self::Sessions(sessions) => sessions.run(settings).await,
                Self::Logout(UserArguments { user, output }) => {
                    match run(settings, Command::EndSessions(UserRef(user))).await? {
                        Reply::SessionsEnded(sessions_ended) if output.json => {
                            print_json(&Ended { sessions_ended })?;
                        }
                        Reply::SessionsEnded(ended) => {
                            print_line!("{}", counted(ended, "session ended", "sessions ended"));
                        }
                        _ => return Err(unexpected_reply()),
                    }
                    Ok(())
                }
                Self::Grant { user, role, output } => {
                    let command = Command::GrantRole(UserRef(user), role);
                    change(
                        settings,
                        command,
                        "granted",
                        Some("the user already has this role"),
                        &output,
                    )
                    .await
                }
                Self::Revoke { user, role, output } => {
                    let command = Command::RevokeRole(UserRef(user), role);
                    change(
                        settings,
                        command,
                        "revoked",
                        Some("the user does not have this role"),
                        &output,
                    )
                    .await
                }
                Self::Delete(UserArguments { user, output }) => {
                    change(settings, Command::DeleteUser(UserRef(user)), "deleted", None, &output)
                        .await
                }
            }
        })
    }
}

/// Runs a command that changes a user, and prints whether it changed anything.
async fn change(
    settings: Settings,
    command: Command,
    done: &str,
    unchanged: Option<&str>,
    output: &Output,
) -> anyhow::Result<()> {
    let (changed, text) = match (run(settings, command).await?, unchanged) {
        (Reply::Done, _) => (true, done),
        (Reply::Unchanged, Some(unchanged)) => (false, unchanged),
        _ => return Err(unexpected_reply()),
    };
    if output.json {
        return print_json(&Changed { changed });
    }
    print_line!("{text}");
    Ok(())
}

/// Whether a command changed anything, as JSON.
#[derive(Serialize)]
struct Changed {
    changed: bool,
}

/// How many sessions were ended, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    sessions_ended: usize,
}

/// A reset code as JSON.
#[derive(Serialize)]
struct NewCode<'a> {
    code: &'a str,
}

impl Sessions {
    async fn run(self, settings: Settings) -> anyhow::Result<()> {
        let Self { user, end, output } = self;
        let runner = CommandRunner::open(settings).await?;
        if !end.is_empty() {
            for session in &end {
                let command = Command::EndSession(UserRef(user.clone()), session.clone());
                match reject_failure(runner.run(&command).await?)? {
                    Reply::Done if output.json => {}
                    Reply::Done => print_line!("{session}  ended"),
                    _ => return Err(unexpected_reply()),
                }
            }
            return match output.json {
                true => print_json(&Ended { sessions_ended: end.len() }),
                false => Ok(()),
            };
        }
        let command = Command::ShowUser(UserRef(user));
        let Reply::User(UserInfo { sessions, .. }) = reject_failure(runner.run(&command).await?)?
        else {
            return Err(unexpected_reply());
        };
        let sessions = sessions.unwrap_or_default();
        if output.json {
            return print_json(&sessions);
        }
        for session in &sessions {
            print_line!("{}  {}", session.id, in_words(session));
        }
        if sessions.is_empty() {
            eprint_line!("no sessions");
        }
        Ok(())
    }
}

/// A session in a line.
fn in_words(session: &SessionInfo) -> String {
    let SessionInfo { created_at, last_seen_at, address, user_agent, .. } = session;
    let program = if user_agent.is_empty() { "an unknown program" } else { user_agent };
    format!("since {created_at}, last seen {last_seen_at}, from {address} with {program}")
}

impl List {
    /// Prints page by page, because a long list may not fit into memory.
    async fn run(self, settings: Settings) -> anyhow::Result<()> {
        let Self { text, role, disabled, limit, mut after, output } = self;
        let mut left = limit.unwrap_or(usize::MAX);
        let mut json = serde_json::Serializer::pretty(JsonOutput);
        let mut array = if output.json { Some(json.serialize_seq(None)?) } else { None };
        let runner = CommandRunner::open(settings).await?;
        loop {
            let (text, role) = (text.clone(), role.clone());
            let command = Command::ListUsers { after, limit: left, text, role, disabled };
            let Reply::Users { users, next } = reject_failure(runner.run(&command).await?)? else {
                return Err(unexpected_reply());
            };
            left = left.saturating_sub(users.len());
            match &mut array {
                Some(array) => {
                    users.iter().for_each(|user| or_exit(array.serialize_element(user)));
                }
                None => print(&users, &output)?,
            }
            after = next;
            if after.is_none() || left == 0 {
                break;
            }
        }
        if let Some(array) = array {
            or_exit(array.end());
            print_line!("");
        }
        if let Some(after) = after {
            eprint_line!("more may follow: --after {after}");
        }
        Ok(())
    }
}

/// Ends the process if the reader has closed standard output.
fn or_exit(written: serde_json::Result<()>) {
    if written.is_err() {
        process::exit(0);
    }
}

fn print(users: &[UserInfo], output: &Output) -> anyhow::Result<()> {
    if output.json {
        return print_json(users);
    }
    let width = users.iter().map(|user| user.email.chars().count()).max().unwrap_or(0);
    for UserInfo { id, name, email, email_verified, roles, has_password, disabled, .. } in users {
        let roles =
            if roles.is_empty() { String::new() } else { format!("  [{}]", roles.join(" ")) };
        let disabled_note = if *disabled { "  (disabled)" } else { "" };
        let password_note = if *has_password { "" } else { "  (no password)" };
        let verified_note = if *email_verified { "  (verified)" } else { "" };
        print_line!(
            "{id}  {email:width$}  {name}{roles}{verified_note}{disabled_note}{password_note}"
        );
    }
    Ok(())
}

fn print_details(user: &UserInfo) {
    let UserInfo { id, name, email, email_verified, roles, has_password, disabled, .. } = user;
    let roles = if roles.is_empty() { "none".into() } else { roles.join(" ") };
    let sessions = user.sessions.as_deref().unwrap_or_default();
    print_line!("id          {id}");
    print_line!("address     {email}");
    print_line!("verified    {}", if *email_verified { "yes" } else { "no" });
    print_line!("name        {name}");
    print_line!("roles       {roles}");
    print_line!("password    {}", if *has_password { "set" } else { "none" });
    print_line!("disabled    {}", if *disabled { "yes" } else { "no" });
    print_line!("registered  {}", user.created_at);
    print_line!("changed     {}", user.updated_at);
    print_line!("last login  {}", user.last_login_at.as_deref().unwrap_or("never"));
    let factors = user.factors.as_deref().unwrap_or_default();
    print_line!(
        "factors     {}",
        if factors.is_empty() { "none".into() } else { factors.len().to_string() }
    );
    for factor in factors {
        print_line!("  {}", factor_in_words(factor));
    }
    if !factors.is_empty() {
        print_line!("recovery codes  {}", user.recovery_codes.unwrap_or_default());
        let devices = user.trusted_devices.as_deref().unwrap_or_default();
        print_line!("trusted devices  {}", devices.len());
        for device in devices {
            print_line!("  {}", device_in_words(device));
        }
    }
    print_line!("sessions    {}", sessions.len());
    for session in sessions {
        print_line!("  {}", in_words(session));
    }
}
