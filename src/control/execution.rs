//! Executing a command on an open database.

use super::{
    BrowserCheck, Command, FactorResetInfo, GuardInfo, ImportOutcome, ImportedHashInfo, Reply,
    SampleRequest, SampleSession, Secret, SessionInfo, UserInfo, UserRef, diagnosis, emergency,
    imports, invitations, outbox, person::export_person, refusals,
};
use crate::{
    Doorward, Settings,
    access::guard::{ExampleRequest, Guard, GuardSet},
    account::{
        InviteError, NewUser, RegisterError, RoleError, SetPasswordError, UserError, VerifyError,
        disable,
        factor_reset::{self, FactorResetTicket},
        guard_check::{self, GuardDecision},
        guard_reload, import, invite, leave, look_up,
        mail_queue::MailQueueError,
        password, register, reset, roles,
        search::{self, UserFilter, UserPage},
        sessions, unlock, verify,
    },
    config::{self, ReadSettings},
    event::Administrator,
    store,
    token::signing_keys,
    user::{EmailKey, User},
};

pub async fn execute(
    doorward: &Doorward,
    read: &ReadSettings,
    command: &Command,
    by: &Administrator,
) -> Reply {
    match try_execute(doorward, read, command, by).await {
        Ok(reply) => reply,
        Err(ExecutionError::NoSuchUser) => Reply::NoSuchUser,
        Err(ExecutionError::Failed(cause)) => Reply::Failed(cause),
    }
}

async fn try_execute(
    doorward: &Doorward,
    read: &ReadSettings,
    command: &Command,
    by: &Administrator,
) -> Result<Reply, ExecutionError> {
    Ok(match command {
        Command::ListUsers { after, limit, text, role, disabled } => {
            let after = after.as_deref().map(EmailKey::of);
            let filter = UserFilter { text: text.clone(), role: role.clone(), disabled: *disabled };
            let UserPage { users, next } = search::page(doorward, after, *limit, &filter).await?;
            let users = users.into_iter().map(UserInfo::from).collect();
            Reply::Users { users, next: next.map(|key| key.as_str().to_owned()) }
        }
        Command::ShowUser(user) => {
            let user = find(doorward, user).await?;
            let sessions = sessions::list(doorward, user.id).await?;
            let sessions = sessions.into_iter().map(SessionInfo::from).collect();
            let held = doorward.store().factors_of(&user, doorward.now()).await?;
            let info = UserInfo { sessions: Some(sessions), ..user.into() };
            Reply::User(info.holding(&held))
        }
        Command::AddUser { name, email, password } => {
            let mut user = NewUser::new(name, email);
            if let Some(password) = password {
                user = user.password(password.as_str());
            }
            Reply::User(register::create(doorward, user, by).await?.into())
        }
        Command::DeleteUser(user) => {
            leave::delete(doorward, find(doorward, user).await?.id, by).await?;
            Reply::Done
        }
        Command::EndSessions(user) => {
            let user = find(doorward, user).await?;
            Reply::SessionsEnded(sessions::end_all_of_user(doorward, user.id, by).await?)
        }
        Command::EndSession(user, session) => {
            let user = find(doorward, user).await?;
            let is_ended = match session.parse() {
                Ok(session) => sessions::end_of_user(doorward, user.id, session, by).await?,
                Err(_) => false,
            };
            if is_ended { Reply::Done } else { Reply::NoSuchSession }
        }
        Command::ExportPerson(user) => {
            let user = find(doorward, user).await?;
            Reply::Person(Box::new(export_person(doorward, user).await?))
        }
        Command::SetPassword(user, password) => {
            let user = find(doorward, user).await?;
            password::set(doorward, &user, password.as_str().to_owned(), by).await?;
            Reply::Done
        }
        Command::CreateResetCode(user) => {
            let code = reset::create_code(doorward, find(doorward, user).await?.id, by).await?;
            Reply::ResetCode(Secret::from(code.as_str().to_owned()))
        }
        Command::CreateFactorReset(user) => {
            let user = find(doorward, user).await?;
            let FactorResetTicket { secret, link } =
                factor_reset::create(doorward, user.id, by).await?;
            let secret = Secret::from(secret.as_str().to_owned());
            Reply::FactorReset(FactorResetInfo { link: link.map(Secret::from), secret })
        }
        Command::DisableUser(user) => {
            disable::disable(doorward, find(doorward, user).await?.id, by).await?;
            Reply::Done
        }
        Command::EnableUser(user) => {
            disable::enable(doorward, find(doorward, user).await?.id, by).await?;
            Reply::Done
        }
        Command::UnlockUser(user) => {
            unlock::unlock(doorward, &find(doorward, user).await?, by).await?;
            Reply::Done
        }
        Command::SetEmailVerified(user, verified) => {
            let user = find(doorward, user).await?;
            done_or_unchanged(verify::set_verified(doorward, &user, *verified, by).await?)
        }
        Command::GrantRole(user, role) => {
            let user = find(doorward, user).await?;
            done_or_unchanged(roles::grant(doorward, &user, role, by).await?)
        }
        Command::RevokeRole(user, role) => {
            let user = find(doorward, user).await?;
            done_or_unchanged(roles::revoke(doorward, user.id, role, by).await?)
        }
        Command::Invite(ordered) => {
            let (invitation, ticket) = invitations::make(doorward, ordered, by).await?;
            Reply::Invited(invitation, ticket)
        }
        Command::ListInvitations { after, limit } => {
            let (invitations, next) = invitations::list(doorward, after.as_deref(), *limit).await?;
            Reply::Invitations { invitations, next }
        }
        Command::RevokeInvitation(id_or_email) => {
            match invite::revoke(doorward, id_or_email, by).await? {
                true => Reply::Done,
                false => Reply::NoSuchInvitation,
            }
        }
        Command::ReloadGuards => {
            guard_reload::reload(doorward, read, by)?;
            guards(doorward)
        }
        Command::ListGuards => guards(doorward),
        Command::CheckGuard { guard, user, session, request } => {
            let user = find(doorward, user).await?;
            match doorward.guards().by_name(guard) {
                Some(guard) => check(doorward, guard, user, session, request)?,
                None => Reply::NoSuchGuard,
            }
        }
        Command::CheckBrowsers { guard } => {
            let (settings, base) = (doorward.settings(), doorward.public_base());
            check_browsers(&doorward.guards(), guard, settings, &base)
        }
        Command::ShowRefusal(id) => match doorward.refusal(id) {
            Some(refusal) => Reply::Refusal(Box::new(refusal)),
            None => Reply::NoSuchRefusal,
        },
        Command::ListRefusals(user) => refusals::of_user(doorward, user).await?,
        Command::Emergency { new_passwords } => {
            Reply::Emergency(emergency::run(doorward, new_passwords, by).await?)
        }
        Command::ListMail { after } => outbox::page(doorward, after.as_deref()).await?,
        Command::RetryMail => outbox::retry(doorward, by).await?,
        Command::Diagnose => Reply::Diagnosis(Box::new(diagnosis::diagnose(doorward).await)),
        Command::ExpectProbe(nonce) => {
            doorward.probes().expect(nonce.clone());
            Reply::Done
        }
        Command::ShowProbe(nonce) => Reply::Probe(doorward.probes().arrival(nonce)),
        Command::ImportUsers { users, only_check } => {
            let users: Result<Vec<_>, _> =
                users.iter().map(|user| imports::to_user(doorward, user)).collect();
            let outcomes = import::import(doorward, &users?, *only_check, by).await?;
            Reply::Imported(outcomes.into_iter().map(ImportOutcome::from).collect())
        }
        Command::ListImportedHashes { after } => {
            let after = after.as_deref().map(imports::to_user_id).transpose()?;
            let (hashes, next) = import::imported_hashes(doorward, after).await?;
            let hashes = hashes.into_iter().map(ImportedHashInfo::from).collect();
            Reply::ImportedHashes { hashes, next: next.map(|id| id.to_string()) }
        }
        Command::DropImportedHashes(users) => {
            let users: Result<Vec<_>, _> = users.iter().map(|id| imports::to_user_id(id)).collect();
            let hashes = import::drop_hashes(doorward, &users?, by).await?;
            tracing::info!(hashes, "imported password hashes dropped by the operator");
            Reply::HashesDropped(hashes)
        }
    })
}

fn guards(doorward: &Doorward) -> Reply {
    Reply::Guards(doorward.guards().iter().map(GuardInfo::from).collect())
}

async fn find(doorward: &Doorward, user: &UserRef) -> Result<User, ExecutionError> {
    let found = look_up::user_by_id_or_email(doorward, &user.0).await?;
    found.ok_or(ExecutionError::NoSuchUser)
}

fn done_or_unchanged(changed: bool) -> Reply {
    if changed { Reply::Done } else { Reply::Unchanged }
}

/// The decision about a user in a session.
fn check(
    doorward: &Doorward,
    guard: &Guard,
    user: User,
    session: &SampleSession,
    request: &SampleRequest,
) -> Result<Reply, ExecutionError> {
    let SampleRequest { method, host, path, address } = request;
    let factors = session.factors.as_deref();
    let methods = factors
        .map(|names| guard_check::methods_by_name(names.iter().map(String::as_str)))
        .transpose()?;
    let session = guard_check::SampleSession { methods, verified_ago: session.verified_ago };
    let request = ExampleRequest {
        method: method.clone(),
        host: host.clone(),
        path: path.clone(),
        scheme: None,
        address: *address,
    };
    let GuardDecision { admitted, condition, warning, missing, explanation, headers } =
        guard_check::decide(doorward, guard, user, &session, &request);
    Ok(Reply::Decision { admitted, condition, warning, missing, explanation, headers })
}

/// How people with a browser get past the guard with this name. `public_base` is the URL that they are sent to.
pub(super) fn check_browsers(
    guards: &GuardSet,
    name: &str,
    settings: &Settings,
    public_base: &str,
) -> Reply {
    let Some(guard) = guards.by_name(name) else { return Reply::NoSuchGuard };
    let guard_check::BrowserCheck { sign_in, origins, findings, warnings } =
        guard_check::browsers(guard, settings, public_base);
    Reply::Browsers(BrowserCheck { sign_in, origins, findings, warnings })
}

/// Why a command was not executed.
enum ExecutionError {
    NoSuchUser,
    Failed(String),
}

impl From<UserError> for ExecutionError {
    fn from(error: UserError) -> Self {
        match error {
            UserError::NoSuchUser => Self::NoSuchUser,
            UserError::Store(error) => error.into(),
        }
    }
}

impl From<SetPasswordError> for ExecutionError {
    fn from(error: SetPasswordError) -> Self {
        match error {
            SetPasswordError::NoSuchUser => Self::NoSuchUser,
            SetPasswordError::Invalid(_) | SetPasswordError::Failed(_) => {
                Self::Failed(error.to_string())
            }
        }
    }
}

/// Errors whose text is the reply.
macro_rules! reply_with_text {
    ($($error:ty),+) => {$(
        impl From<$error> for ExecutionError {
            fn from(error: $error) -> Self {
                Self::Failed(error.to_string())
            }
        }
    )+};
}

reply_with_text!(
    config::SettingsError,
    store::Error,
    signing_keys::Error,
    emergency::Error,
    guard_check::UnknownMethod,
    MailQueueError,
    imports::Invalid,
    InviteError,
    RegisterError,
    RoleError,
    VerifyError
);
