//! The mail that an operation queues: which one-time secret is in it, how long it lives, and who is told of what.

use std::time::Duration;

use crate::{
    Doorward,
    credential::factor::FactorKind,
    language::Language,
    mail::{DeletedBy, EndedBy, Mail, MailId, Message},
    network::{ClientInfo, Network, Requester},
    session::{Session, device::Device},
    store::{self, Effects, MAX_SESSIONS},
    throttle::{MailPurpose, Throttled},
    token::{
        cookie::MailedTarget,
        one_time::{OneTime, OneTimeId, Purpose},
    },
    user::{Email, PasswordVersion, User, UserId},
};

/// How long a mail is tried.
const MAIL_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// A mail to a user with a one-time secret, which is bound to their address and password as they are now.
pub(super) fn with_secret(
    doorward: &Doorward,
    user: &User,
    purpose: Purpose,
    recipient: &Email,
    language: Language,
) -> Effects {
    let one_time = OneTime { email: recipient.clone(), ..one_time_of(doorward, user, purpose) };
    let mails = secret_message(purpose, one_time.id).map(|message| {
        let mail = mail(doorward, Some(user.id), recipient, language, message);
        let expires_at = mail.expires_at.min(one_time.expires_at);
        Mail { expires_at, ..mail }
    });
    Effects { mails: mails.into_iter().collect(), secrets: vec![one_time], ..Effects::NONE }
}

/// The mail that tells a user that their account was secured, with a link to set a new password.
pub(super) fn account_secured(doorward: &Doorward, user: &User) -> Effects {
    with_way_in(doorward, user, |one_time, at| Message::AccountSecured { one_time, at })
}

/// The mail that tells a user that an emergency has removed their password, with a link to set a new one.
pub(super) fn password_removed(doorward: &Doorward, user: &User) -> Effects {
    with_way_in(doorward, user, |one_time, at| Message::PasswordRemoved { one_time, at })
}

fn with_way_in(
    doorward: &Doorward,
    user: &User,
    message: fn(OneTimeId, i64) -> Message,
) -> Effects {
    let one_time = one_time_of(doorward, user, Purpose::ResetPassword);
    let message = message(one_time.id, doorward.now().millis());
    let language = doorward.settings().mail.language;
    let mail = mail(doorward, Some(user.id), &user.email, language, message);
    let mail = Mail { expires_at: mail.expires_at.min(one_time.expires_at), ..mail };
    Effects { mails: vec![mail], secrets: vec![one_time], ..Effects::NONE }
}

/// Lets the links of all mails lead back to an app.
pub(super) fn leading_to(effects: Effects, target: Option<&MailedTarget>) -> Effects {
    let lead = |mail: Mail| Mail { message: mail.message.leading_to(target), ..mail };
    Effects { mails: effects.mails.into_iter().map(lead).collect(), ..effects }
}

/// Does as much work as [`with_secret`], for an address without a user or for a user who gets another message. Nobody can use the
/// one-time secret, because its user does not exist.
pub(super) fn without_secret(
    doorward: &Doorward,
    user: Option<UserId>,
    purpose: Purpose,
    recipient: &Email,
    language: Language,
    message: Message,
) -> Effects {
    let version = PasswordVersion::default();
    let one_time = one_time(doorward, UserId::random(), recipient, version, purpose);
    let mail = mail(doorward, user, recipient, language, message);
    Effects { mails: vec![mail], secrets: vec![one_time], ..Effects::NONE }
}

/// A one-time secret, which is bound to the user's address and password as they are now.
pub(super) fn one_time_of(doorward: &Doorward, user: &User, purpose: Purpose) -> OneTime {
    one_time(doorward, user.id, &user.email, user.password_version, purpose)
}

fn one_time(
    doorward: &Doorward,
    user_id: UserId,
    user_email: &Email,
    password_version: PasswordVersion,
    purpose: Purpose,
) -> OneTime {
    let id = OneTimeId::random();
    OneTime {
        id,
        purpose,
        user_id,
        email: user_email.clone(),
        user_email: user_email.clone(),
        password_version,
        digest: doorward.one_time_secrets().secret(id, purpose).digest(),
        expires_at: doorward.now() + purpose.lifetime(),
        guesses: 0,
    }
}

/// A secret that nobody can use, because its user does not exist. Codes that are typed for an address without a secret are counted
/// for it, so that each is a write.
pub(super) fn decoy(doorward: &Doorward, purpose: Purpose, email: &Email) -> OneTime {
    const LIFETIME: Duration = Duration::from_secs(15 * 60);
    let version = PasswordVersion::default();
    let one_time = one_time(doorward, UserId::random(), email, version, purpose);
    OneTime { expires_at: doorward.now() + LIFETIME, guesses: 1, ..one_time }
}

/// The message that carries a secret. The operator gives theirs to the person.
fn secret_message(purpose: Purpose, one_time: OneTimeId) -> Option<Message> {
    Some(match purpose {
        Purpose::VerifyEmail => Message::VerifyEmail { one_time, target: None },
        Purpose::ChangeEmail => Message::ChangeEmail { one_time },
        Purpose::RestoreEmail => Message::EmailChanged { one_time },
        Purpose::ResetPassword => Message::ResetPassword { one_time, target: None },
        Purpose::OperatorReset | Purpose::FactorReset | Purpose::ProveAddress => return None,
        Purpose::SignIn => Message::SignIn { one_time, target: None },
        Purpose::Invitation => Message::Invitation { one_time, invited_by: None, expires_at: None },
    })
}

/// A mail that is queued now.
pub(super) fn mail(
    doorward: &Doorward,
    user_id: Option<UserId>,
    recipient: &Email,
    language: Language,
    message: Message,
) -> Mail {
    let created_at = doorward.now();
    Mail {
        id: MailId::random(),
        user_id,
        recipient: recipient.clone(),
        language,
        message,
        created_at,
        expires_at: created_at + MAIL_LIFETIME,
    }
}

/// The first mail to a new user, unless their address is verified or gets too much mail.
pub(super) fn verify_email(doorward: &Doorward, user: &User, language: Language) -> Effects {
    let is_sent = doorward.sends_mail()
        && !user.email_verified
        && may_mail(doorward, &user.email, MailPurpose::SignUp);
    if !is_sent {
        return Effects::NONE;
    }
    with_secret(doorward, user, Purpose::VerifyEmail, &user.email, language)
}

/// Tells a user that their password has changed.
pub(super) fn password_changed(doorward: &Doorward, user: &User, language: Language) -> Effects {
    let message = Message::PasswordChanged { at: doorward.now().millis() };
    notice(doorward, doorward.settings().notices.password_changed, user, language, message)
}

/// Tells the old address of a user that they have another one. A verified address gets a way back: the owner of one that is not
/// verified may be a stranger.
pub(super) fn email_changed(doorward: &Doorward, user: &User, language: Language) -> Effects {
    if !doorward.sends_mail() || !doorward.settings().notices.email_changed || !user.email_verified
    {
        return Effects::NONE;
    }
    with_secret(doorward, user, Purpose::RestoreEmail, &user.email, language)
}

/// Tells a user of something that concerns their second factors or API keys.
pub(super) fn factor_notice(
    doorward: &Doorward,
    user: &User,
    language: Language,
    message: Message,
) -> Effects {
    notice(doorward, doorward.settings().notices.factors, user, language, message)
}

/// Tells a user that their sessions have ended.
pub(super) fn sessions_ended(doorward: &Doorward, user: &User, by: EndedBy) -> Effects {
    let message = Message::SessionsEnded { by, at: doorward.now().millis() };
    let language = doorward.settings().mail.language;
    notice(doorward, doorward.settings().notices.sessions_ended, user, language, message)
}

/// Tells a user that their account is deleted. The mail is not the user's, because theirs are deleted with them.
pub(super) fn account_deleted(
    doorward: &Doorward,
    user: &User,
    by: DeletedBy,
    language: Language,
) -> Effects {
    let kept = doorward.settings().audit.longest_retention_days();
    let message = Message::AccountDeleted { by, kept_days: kept, at: doorward.now().millis() };
    let is_wanted = doorward.settings().notices.account_deleted;
    let mut effects = notice(doorward, is_wanted, user, language, message);
    for mail in &mut effects.mails {
        mail.user_id = None;
    }
    effects
}

/// Tells a user of a sign-in from a network or a device that they have not used. The first sign-in is not told of.
pub(super) async fn new_sign_in(
    doorward: &Doorward,
    user: &User,
    session: &Session,
    language: Language,
) -> Result<Effects, store::Error> {
    if !doorward.sends_mail() || !doorward.settings().notices.new_sign_in {
        return Ok(Effects::NONE);
    }
    let (address, user_agent) = (session.client.address, &session.client.user_agent);
    let network = Network::at(address);
    let known = doorward.store().known_networks(&user.email.key()).await?;
    let is_new_network =
        !network.is_loopback() && known.iter().next().is_some() && !known.contains(network);
    if !is_new_network && !is_new_device(doorward, user, user_agent).await? {
        return Ok(Effects::NONE);
    }
    let (user_agent, at) = (user_agent.clone(), session.created_at.millis());
    let message = Message::NewSignIn { user_agent, address, at };
    Ok(notice(doorward, true, user, language, message))
}

/// Whether the user has sessions, and none on this device. One of the newest sessions is mostly on it, so the others are read only if
/// none of those is.
async fn is_new_device(
    doorward: &Doorward,
    user: &User,
    user_agent: &str,
) -> Result<bool, store::Error> {
    const FEW: usize = 8;
    let device = Device::of(user_agent);
    for limit in [FEW, MAX_SESSIONS] {
        let found = doorward.store().newest_user_agents(user.id, doorward.now(), limit).await?;
        if found.iter().any(|other| Device::of(other) == device) {
            return Ok(false);
        }
        if found.len() < limit {
            return Ok(!found.is_empty());
        }
    }
    Ok(true)
}

/// Tells a user that a second factor was added to their account. The name is not in the mail: the user has chosen it, and the address may
/// be a stranger's.
pub(super) fn factor_added(
    doorward: &Doorward,
    user: &User,
    kind: FactorKind,
    language: Language,
) -> Effects {
    let message = Message::FactorAdded { kind, at: doorward.now().millis() };
    factor_notice(doorward, user, language, message)
}

/// Tells a user that a second factor was removed from their account.
pub(super) fn factor_removed(
    doorward: &Doorward,
    user: &User,
    kind: FactorKind,
    language: Language,
) -> Effects {
    let message = Message::FactorRemoved { kind, at: doorward.now().millis() };
    factor_notice(doorward, user, language, message)
}

/// Tells a user that their recovery codes were replaced.
pub(super) fn recovery_codes_replaced(
    doorward: &Doorward,
    user: &User,
    language: Language,
) -> Effects {
    let message = Message::RecoveryCodesReplaced { at: doorward.now().millis() };
    factor_notice(doorward, user, language, message)
}

/// Tells a user that they have a new API key.
pub(super) fn key_created(doorward: &Doorward, user: &User, language: Language) -> Effects {
    let message = Message::KeyCreated { at: doorward.now().millis() };
    factor_notice(doorward, user, language, message)
}

/// Tells a user that an account at another provider signs them in.
pub(super) fn identity_linked(
    doorward: &Doorward,
    user: &User,
    login: String,
    language: Language,
) -> Effects {
    let message = Message::IdentityLinked { login, at: doorward.now().millis() };
    factor_notice(doorward, user, language, message)
}

/// Tells a user that an account at another provider does not sign them in any more.
pub(super) fn identity_unlinked(
    doorward: &Doorward,
    user: &User,
    login: String,
    language: Language,
) -> Effects {
    let message = Message::IdentityUnlinked { login, at: doorward.now().millis() };
    factor_notice(doorward, user, language, message)
}

/// Tells a user that one of their recovery codes was used. It was replaced, so they have as many as before.
pub(super) fn recovery_code_used(
    doorward: &Doorward,
    user: &User,
    left: usize,
    language: Language,
) -> Effects {
    let message = Message::RecoveryCodeUsed { left, at: doorward.now().millis() };
    factor_notice(doorward, user, language, message)
}

/// Tells a user that somebody knows their password and has not given their second factor.
pub(super) fn factor_refused(doorward: &Doorward, user: &User, requester: &Requester) -> Effects {
    let ClientInfo { address, user_agent } = requester.client.clone();
    let message = Message::FactorRefused { user_agent, address, at: doorward.now().millis() };
    factor_notice(doorward, user, requester.language, message)
}

/// A notice, if it is wanted. An address that is not verified may be a stranger's, so it gets only a few.
fn notice(
    doorward: &Doorward,
    is_wanted: bool,
    user: &User,
    language: Language,
    message: Message,
) -> Effects {
    let is_sent = doorward.sends_mail()
        && is_wanted
        && (user.email_verified || may_mail(doorward, &user.email, MailPurpose::SignUp));
    if !is_sent {
        return Effects::NONE;
    }
    let mail = mail(doorward, Some(user.id), &user.email, language, message);
    Effects { mails: vec![mail], ..Effects::NONE }
}

/// Whether an address may get one more mail for this purpose.
pub(super) fn may_mail(doorward: &Doorward, email: &Email, purpose: MailPurpose) -> bool {
    doorward.throttle().charge_mail(&email.key(), purpose, doorward.instant()).is_ok()
}

/// Charges a mail that a user asks for to their network and to the address, or to none of both. Returns how many mails the
/// network has asked for lately.
pub(super) fn charge_mail(
    doorward: &Doorward,
    email: &Email,
    purpose: MailPurpose,
    requester: &Requester,
) -> Result<u32, Throttled> {
    let (throttle, now) = (doorward.throttle(), doorward.instant());
    let earlier = throttle.charge_mail_request(requester, now)?;
    let charged = throttle.charge_mail(&email.key(), purpose, now);
    charged.inspect_err(|_| throttle.refund_mail_request(requester))?;
    Ok(earlier)
}
