//! `doorward user …`: lists, shows, adds, changes and deletes users.

use std::{
    io::{self, IsTerminal},
    process,
};

use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header},
};
use serde::{
    Serialize,
    de::DeserializeOwned,
    ser::{SerializeSeq, Serializer},
};
use zeroize::Zeroizing;

use super::{
    Output,
    api_key::key_in_words,
    block_on, counted,
    factor::{self, Factor, device_in_words, factor_in_words},
    identity::{self, Logins},
    invitation::{self, InviteArguments},
    or_not_found, password, print_json,
    terminal::JsonOutput,
    user_arguments::{USERS, UserArguments, of_known_user, path_below, path_of},
    within,
};
use crate::{
    Settings,
    account::secure::RemovedFactors,
    control::{self, AdminClient, succeed},
    http::api::admin::{
        credentials::{NewPasswordRequired, ResetCode},
        roles::Changed,
        secure::Secured,
        sessions::{Ended, SessionInfo, Sessions as SessionList},
        users::{MAX_PAGE, UserInfo, Users},
    },
};

pub(super) const EXAMPLES: &str = "Examples:
  doorward user list
  doorward user add ada@example.com --name \"Ada Lovelace\"";

#[derive(clap::Subcommand)]
pub(super) enum User {
    /// List users in the order of their e-mail addresses
    List(List),
    /// Show one user with factors, logins, API keys and sessions
    #[command(
        after_help = "Examples:\n  doorward user show ada@example.com\n  doorward user show ada@example.com --json"
    )]
    Show(UserArguments),
    /// Add a user, with or without a password
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
    /// Set a user's password and end all their sessions
    #[command(
        after_help = "Examples:\n  doorward user set-password ada@example.com\n  printf 'correct horse' | doorward user set-password ada@example.com"
    )]
    SetPassword(UserArguments),
    /// Print a code with which the user can set a password, once within 30 minutes
    #[command(after_help = "Examples:\n  doorward user reset-code ada@example.com")]
    ResetCode(UserArguments),
    /// Remove a user's password, so that they set a new one by mail or `reset-code`
    #[command(after_help = "Examples:\n  doorward user require-new-password ada@example.com")]
    RequireNewPassword(UserArguments),
    /// Show the second factors of a user, or let them remove all
    #[command(subcommand, after_help = factor::EXAMPLES)]
    Factor(Factor),
    /// List the accounts of a user at other providers, or remove some
    Logins(Logins),
    /// Change the name or the e-mail address of a user
    #[command(after_help = "Examples:\n  doorward user change ada@example.com --name \"Ada King\"")]
    Change {
        /// E-mail address or id
        user: String,
        /// The new name
        #[arg(long, required_unless_present = "email")]
        name: Option<String>,
        /// The new e-mail address
        #[arg(long)]
        email: Option<String>,
        #[command(flatten)]
        output: Output,
    },
    /// End all access to an account that was taken over
    #[command(after_help = "Examples:
  doorward user secure ada@example.com
  doorward user secure ada@example.com --remove-factors all --no-mail")]
    Secure {
        /// E-mail address or id
        user: String,
        /// Which second factors are removed: those added within this time, such as 30d, all or none
        #[arg(long, value_name = "WHICH", default_value = "30d", value_parser = check_removed_factors)]
        remove_factors: String,
        /// Print a code in place of mailing a link: somebody else may read the user's mail
        #[arg(long)]
        no_mail: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Disable a user: all sessions and API keys end for good
    #[command(after_help = "Examples:\n  doorward user disable ada@example.com")]
    Disable(UserArguments),
    /// Let a disabled user log in again
    #[command(after_help = "Examples:\n  doorward user enable ada@example.com")]
    Enable(UserArguments),
    /// Forget the failed logins that lock a user out
    #[command(after_help = "Examples:\n  doorward user unlock ada@example.com")]
    Unlock(UserArguments),
    /// Mark a user's e-mail address as verified
    #[command(after_help = "Examples:\n  doorward user verify ada@example.com")]
    Verify(UserArguments),
    /// Mark a user's e-mail address as not verified
    #[command(after_help = "Examples:\n  doorward user unverify ada@example.com")]
    Unverify(UserArguments),
    /// List the sessions of a user, or end some of them
    Sessions(Sessions),
    /// End all sessions of a user, but no API keys
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
    /// Delete a user and what is stored about them
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
    /// Words, in any letter case: a word of the name or the e-mail address begins with each of them. `car` finds Carl, `arl` does not
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
    /// Start where an earlier list says that more may follow
    #[arg(long, value_name = "PLACE")]
    after: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl User {
    /// Whether it changes the database.
    pub(super) fn changes(&self) -> bool {
        match self {
            Self::List(_) | Self::Show(_) | Self::Invitations { .. } => false,
            Self::Sessions(sessions) => !sessions.end.is_empty(),
            Self::Logins(logins) => logins.changes(),
            Self::Factor(factor) => factor.changes(),
            Self::Add { .. }
            | Self::Invite(_)
            | Self::Uninvite { .. }
            | Self::SetPassword(_)
            | Self::ResetCode(_)
            | Self::RequireNewPassword(_)
            | Self::Change { .. }
            | Self::Disable(_)
            | Self::Enable(_)
            | Self::Unlock(_)
            | Self::Verify(_)
            | Self::Unverify(_)
            | Self::Logout(_)
            | Self::Grant { .. }
            | Self::Revoke { .. }
            | Self::Delete(_)
            | Self::Secure { .. } => true,
        }
    }

    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        block_on(async {
            match self {
                Self::List(list) => list.run(settings).await,
                Self::Show(UserArguments { user, output }) => {
                    let client = AdminClient::open(settings).await?;
                    let user: UserInfo = of_known_user(client.get(&path_of(&user)).await)?;
                    match output.json {
                        true => print(&[user], &output)?,
                        false => print_details(&user),
                    }
                    Ok(())
                }
                Self::Add { email, name, password_stdin, output } => {
                    let password = match (password_stdin, io::stdin().is_terminal()) {
                        (true, _) => Some(password::required()?),
                        (false, true) => password::optional()?,
                        (false, false) => None,
                    };
                    let user = add(settings, &NewUser { name, email, password }).await?;
                    print(&[user], &output)
                }
                Self::Invite(arguments) => arguments.run(settings).await,
                Self::Invitations { output } => invitation::list(settings, &output).await,
                Self::Uninvite { invitation, output } => {
                    invitation::revoke(settings, &invitation).await?;
                    print_changed(true, "revoked", &output)
                }
                Self::SetPassword(UserArguments { user, output }) => {
                    let body = NewPassword { password: password::required()? };
                    let () = post(settings, &user, "password", &body).await?;
                    print_changed(true, "password set", &output)
                }
                Self::ResetCode(UserArguments { user, output }) => {
                    let code: ResetCode = post(settings, &user, "reset-code", &()).await?;
                    match output.json {
                        true => print_json(&code)?,
                        false => print_line!("{}", code.code.as_str()),
                    }
                    Ok(())
                }
                Self::RequireNewPassword(UserArguments { user, output }) => {
                    require_new_password(settings, &user, &output).await
                }
                Self::Factor(factor) => factor.run(settings).await,
                Self::Logins(logins) => logins.run(settings).await,
                Self::Secure { user, remove_factors, no_mail, output } => {
                    let order = SecureOrder { remove_factors, mail: !no_mail };
                    secure(settings, &user, &order, &output).await
                }
                Self::Disable(UserArguments { user, output }) => {
                    let disabled = Changes { disabled: Some(true), ..Changes::default() };
                    change(settings, &user, &disabled).await?;
                    print_changed(true, "disabled", &output)
                }
                Self::Enable(UserArguments { user, output }) => {
                    let enabled = Changes { disabled: Some(false), ..Changes::default() };
                    change(settings, &user, &enabled).await?;
                    print_changed(true, "enabled", &output)
                }
                Self::Unlock(UserArguments { user, output }) => {
                    let () = post(settings, &user, "unlock", &()).await?;
                    print_changed(true, "unlocked", &output)
                }
                Self::Change { user, name, email, output } => {
                    let changes = Changes { name, email, ..Changes::default() };
                    match change(settings, &user, &changes).await? {
                        true => print_changed(true, "changed", &output),
                        false => print_changed(false, "already so", &output),
                    }
                }
                Self::Verify(UserArguments { user, output }) => {
                    let verified = Changes { email_verified: Some(true), ..Changes::default() };
                    match change(settings, &user, &verified).await? {
                        true => print_changed(true, "verified", &output),
                        false => print_changed(false, "already verified", &output),
                    }
                }
                Self::Unverify(UserArguments { user, output }) => {
                    let unverified = Changes { email_verified: Some(false), ..Changes::default() };
                    match change(settings, &user, &unverified).await? {
                        true => print_changed(true, "unverified", &output),
                        false => print_changed(false, "was not verified", &output),
                    }
                }
                Self::Sessions(sessions) => sessions.run(settings).await,
                Self::Logout(UserArguments { user, output }) => {
                    let path = path_below(&user, "sessions");
                    let ended: Ended = order(settings, Method::DELETE, &path, &()).await?;
                    match output.json {
                        true => print_json(&ended)?,
                        false => {
                            let count = ended.sessions_ended;
                            print_line!("{}", counted(count, "session ended", "sessions ended"));
                            print_keys_left(ended.api_keys_left, &user);
                        }
                    }
                    Ok(())
                }
                Self::Grant { user, role, output } => {
                    let path = within(&path_below(&user, "roles"), &role);
                    let Changed { changed } = order(settings, Method::PUT, &path, &()).await?;
                    let text = if changed { "granted" } else { "the user already has this role" };
                    print_changed(changed, text, &output)
                }
                Self::Revoke { user, role, output } => {
                    let path = within(&path_below(&user, "roles"), &role);
                    let Changed { changed } = order(settings, Method::DELETE, &path, &()).await?;
                    let text = if changed { "revoked" } else { "the user does not have this role" };
                    print_changed(changed, text, &output)
                }
                Self::Delete(UserArguments { user, output }) => {
                    let () = order(settings, Method::DELETE, &path_of(&user), &()).await?;
                    print_changed(true, "deleted", &output)
                }
            }
        })
    }
}

/// A user to be added.
#[derive(Serialize)]
struct NewUser {
    name: String,
    email: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<Zeroizing<String>>,
}

async fn add(settings: Settings, user: &NewUser) -> anyhow::Result<UserInfo> {
    let client = AdminClient::open(settings).await?;
    match client.order(Method::POST, USERS, user).await {
        Err(control::Error::Refused { status: StatusCode::CONFLICT, .. }) => {
            anyhow::bail!("the e-mail address is taken")
        }
        added => Ok(added?),
    }
}

/// A password to be set.
#[derive(Serialize)]
struct NewPassword {
    password: Zeroizing<String>,
}

/// What is changed in the record of a user.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Changes {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email_verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled: Option<bool>,
}

/// Orders something about a user.
async fn order<T: DeserializeOwned>(
    settings: Settings,
    method: Method,
    path: &str,
    body: &impl Serialize,
) -> anyhow::Result<T> {
    let client = AdminClient::open(settings).await?;
    of_known_user(client.order(method, path, body).await)
}

/// Orders what is below the path of a user.
async fn post<T: DeserializeOwned>(
    settings: Settings,
    user: &str,
    what: &str,
    body: &impl Serialize,
) -> anyhow::Result<T> {
    order(settings, Method::POST, &path_below(user, what), body).await
}

/// Changes the record of a user as it is now. Returns whether that differs from what it was: nobody marks an address that has changed
/// in the meantime.
async fn change(settings: Settings, user: &str, changes: &Changes) -> anyhow::Result<bool> {
    let (client, path) = (AdminClient::open(settings).await?, path_of(user));
    let request = |method, tag: Option<&header::HeaderValue>, body| {
        let request = Request::builder().method(method).uri(&path);
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let tagged =
            tag.into_iter().fold(request, |request, tag| request.header(header::IF_MATCH, tag));
        tagged.body(body).expect("the paths of the API are valid")
    };
    let shown = client.send(request(Method::GET, None, Body::empty())).await?;
    let shown = of_known_user(succeed(shown).await)?;
    let tag = shown.headers().get(header::ETAG).cloned();
    let before: UserInfo = control::read_json(shown).await?;
    let body = Body::from(serde_json::to_vec(changes)?);
    let changed = client.send(request(Method::PATCH, tag.as_ref(), body)).await?;
    of_known_user(succeed(changed).await)?;
    let is_same = |wanted: Option<bool>, was| wanted.is_none_or(|wanted| wanted == was);
    let is_text = |wanted: &Option<String>, was: &str| {
        wanted.as_ref().is_none_or(|wanted| wanted.trim() == was)
    };
    Ok(!is_same(changes.email_verified, before.email_verified)
        || !is_same(changes.disabled, before.disabled)
        || !is_text(&changes.name, &before.name)
        || !is_text(&changes.email, &before.email))
}

async fn require_new_password(
    settings: Settings,
    user: &str,
    output: &Output,
) -> anyhow::Result<()> {
    // The server mails the link.
    let client = AdminClient::open_to_make_secrets(settings).await?;
    let path = path_below(user, "require-new-password");
    let required = client.order(Method::POST, &path, &()).await;
    let required: NewPasswordRequired = of_known_user(required)?;
    match (output.json, required.mailed) {
        (true, _) => print_json(&required)?,
        (false, true) => {
            print_line!("password removed: the mail with a link to set a new one is in the outbox");
        }
        (false, false) => print_line!(
            "password removed: `doorward user reset-code` prints a code to set a new one with"
        ),
    }
    Ok(())
}

/// Says what the end of all sessions has left.
fn print_keys_left(count: usize, user: &str) {
    if count > 0 {
        let keys =
            counted(count, "API key of the user still counts", "API keys of the user still count");
        let them = if count == 1 { "it" } else { "them" };
        print_line!("{keys}: `doorward user secure {user}` ends {them}, too");
    }
}

/// What to end besides what always ends.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SecureOrder {
    remove_factors: String,
    mail: bool,
}

/// Before anything is done.
fn check_removed_factors(text: &str) -> Result<String, &'static str> {
    match RemovedFactors::parse(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err("write all, none, or a number with s, m, h or d, such as 30d"),
    }
}

async fn secure(
    settings: Settings,
    user: &str,
    order: &SecureOrder,
    output: &Output,
) -> anyhow::Result<()> {
    // The server mails the link, and reads the code.
    let client = AdminClient::open_to_make_secrets(settings).await?;
    let secured = client.order(Method::POST, &path_below(user, "secure"), order).await;
    let secured: Secured = of_known_user(secured)?;
    if output.json {
        return print_json(&secured);
    }
    let Secured {
        sessions_ended,
        api_keys_revoked,
        trusted_devices_removed,
        factors_removed,
        codes_revoked,
        invitations_revoked,
        password_removed,
        factors,
        email,
        earlier_emails,
        mailed: _,
        code,
    } = secured;
    print_line!("{}", counted(sessions_ended, "session ended", "sessions ended"));
    print_line!("{}", counted(api_keys_revoked, "API key revoked", "API keys revoked"));
    let devices =
        counted(trusted_devices_removed, "trusted browser removed", "trusted browsers removed");
    print_line!("{devices}");
    print_line!("{}", counted(codes_revoked, "link or code voided", "links and codes voided"));
    print_line!("{}", counted(invitations_revoked, "invitation voided", "invitations voided"));
    print_line!("{}", counted(factors_removed, "second factor removed", "second factors removed"));
    print_line!("{}", if password_removed { "password removed" } else { "there was no password" });
    for factor in &factors {
        print_line!("a second factor is left: {}", factor_in_words(factor));
    }
    for earlier in &earlier_emails {
        print_line!("the address was changed lately, from {earlier}: is {email} the user's?");
    }
    match code {
        None => {
            print_line!("the mail to {email} with a link to set a new password is in the outbox")
        }
        Some(code) => {
            print_line!(
                "code to set a new password, valid once within 30 minutes: {}",
                code.as_str()
            );
        }
    }
    Ok(())
}

/// Prints whether an order changed anything.
fn print_changed(changed: bool, text: &str, output: &Output) -> anyhow::Result<()> {
    match output.json {
        true => print_json(&Changed { changed }),
        false => {
            print_line!("{text}");
            Ok(())
        }
    }
}

impl Sessions {
    async fn run(self, settings: Settings) -> anyhow::Result<()> {
        let Self { user, end, output } = self;
        let (client, path) = (AdminClient::open(settings).await?, path_below(&user, "sessions"));
        let SessionList { sessions } = of_known_user(client.get(&path).await)?;
        for session in &end {
            let ended = client.order(Method::DELETE, &within(&path, session), &()).await;
            let () = or_not_found(
                ended,
                "the user has no such session: `doorward user sessions USER` shows all sessions",
            )?;
            if !output.json {
                print_line!("{session}  ended");
            }
        }
        match (end.is_empty(), output.json) {
            (false, true) => return print_json(&SomeEnded { sessions_ended: end.len() }),
            (false, false) => return Ok(()),
            (true, true) => return print_json(&sessions),
            (true, false) => {}
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

/// How many sessions were ended by their ids.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SomeEnded {
    sessions_ended: usize,
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
        let (client, mut is_empty) = (AdminClient::open(settings).await?, true);
        if disabled || text.is_some() || role.is_some() {
            client.prepare_search().await?;
        }
        while left > 0 {
            let limit = left.min(MAX_PAGE).to_string();
            let mut query = form_urlencoded::Serializer::new(format!("{USERS}?"));
            query.append_pair("limit", &limit);
            let filters = [("after", &after), ("text", &text), ("role", &role)];
            for (name, value) in filters {
                query.extend_pairs(value.iter().map(|value| (name, value)));
            }
            if disabled {
                query.append_pair("disabled", "true");
            }
            let Users { users, next } = client.get(&query.finish()).await?;
            left = left.saturating_sub(users.len());
            is_empty &= users.is_empty();
            match &mut array {
                Some(array) => {
                    users.iter().for_each(|user| or_exit(array.serialize_element(user)));
                }
                None => print(&users, &output)?,
            }
            after = next;
            if after.is_none() {
                break;
            }
        }
        if let Some(array) = array {
            or_exit(array.end());
            print_line!("");
        }
        if is_empty && text.is_some() && after.is_none() {
            eprint_line!(
                "no user matches: a search finds how words of the name and the e-mail address begin"
            );
        }
        if let Some(after) = after {
            eprint_line!("more may follow: --after '{after}'");
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
    let held = user.held.as_ref();
    let sessions = held.map_or(&[][..], |held| &held.sessions);
    print_line!("id          {id}");
    print_line!("address     {email}");
    print_line!("verified    {}", if *email_verified { "yes" } else { "no" });
    print_line!("name        {name}");
    print_line!("roles       {roles}");
    print_line!("password    {}", if *has_password { "set" } else { "none" });
    print_line!("disabled    {}", if *disabled { "yes" } else { "no" });
    print_line!("registered  {}", user.created_at);
    print_line!("changed     {}", user.updated_at);
    let last_login = user.last_login_at.map(|at| at.to_string());
    print_line!("last login  {}", last_login.as_deref().unwrap_or("never"));
    let factors = held.map_or(&[][..], |held| &held.factors);
    print_line!(
        "factors     {}",
        if factors.is_empty() { "none".into() } else { factors.len().to_string() }
    );
    for factor in factors {
        print_line!("  {}", factor_in_words(factor));
    }
    if let Some(held) = held.filter(|held| !held.factors.is_empty()) {
        print_line!("recovery codes  {}", held.recovery_codes);
        print_line!("trusted devices  {}", held.trusted_devices.len());
        for device in &held.trusted_devices {
            print_line!("  {}", device_in_words(device));
        }
    }
    let identities = held.map_or(&[][..], |held| &held.identities);
    print_line!("logins      {}", identities.len());
    for identity in identities {
        print_line!("  {}", identity::in_words(identity));
    }
    let keys = held.map_or(&[][..], |held| &held.api_keys);
    print_line!("API keys    {}", keys.len());
    for key in keys {
        print_line!("  {}", key_in_words(key));
    }
    print_line!("sessions    {}", sessions.len());
    for session in sessions {
        print_line!("  {}", in_words(session));
    }
}
