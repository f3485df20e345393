//! Changing a user's name and e-mail address.

use super::{
    Error,
    effects::{charge_mail, mail, with_secret},
    enumeration::on_tick,
    proof::{Proof, confirm},
};
use crate::{
    Caller, Doorward,
    event::EventKind,
    mail::Message,
    network::Requester,
    store,
    throttle::{MailPurpose, OwnChange},
    token::one_time::Purpose,
    user::{Email, Name, User},
};

/// What to change.
#[derive(Default)]
pub(crate) struct Change {
    pub(crate) name: Option<Name>,
    pub(crate) email: Option<Email>,
}

/// A user after a change.
pub(crate) struct Changed {
    pub(crate) user: User,
    /// The new address, if it is still to be verified.
    pub(crate) pending_email: Option<Email>,
}

/// Changes the name, the address or both. A new address needs the proof. If mail is sent, the address changes when the new
/// one is verified.
pub(crate) async fn change(
    doorward: &Doorward,
    caller: &Caller,
    change: Change,
    proof: Proof,
    requester: &Requester,
) -> Result<Changed, Error> {
    let (user, Change { name, email }) = (&caller.user, change);
    let mut confirmed = None;
    if email.is_some() {
        // Like a registration, this reveals whether an address is taken, so both share one budget.
        doorward.throttle().charge_sign_up(requester, doorward.instant())?;
        confirmed = Some(confirm(doorward, user, proof, requester).await?);
    }
    let name = name.filter(|name| *name != user.name);
    let mut email = email.filter(|email| *email != user.email);
    let mut pending_email = None;
    if let (Some(new), Some(confirmed), true) = (&email, &confirmed, doorward.sends_mail()) {
        request_email(doorward, caller, confirmed, new, requester).await?;
        pending_email = email.take();
    }
    if name.is_none() && email.is_none() {
        return Ok(Changed { user: User::clone(user), pending_email });
    }
    doorward.charge_change(user.id, OwnChange::Account)?;
    let kind = EventKind::UserChanged { name: name.is_some(), email: email.is_some() };
    let effects = doorward.event_by_caller(caller, requester, kind).into();
    let (store, now) = (doorward.store(), doorward.now());
    let changed = store.change_user(user.id, name.as_ref(), email.as_ref(), now, &effects).await?;
    // The user may have been deleted since the session was checked.
    let user = changed.ok_or(Error::SessionEnded)?;
    Ok(Changed { user, pending_email })
}

/// Mails a link to the new address, which becomes the user's when the link is used.
async fn request_email(
    doorward: &Doorward,
    caller: &Caller,
    user: &User,
    new: &Email,
    requester: &Requester,
) -> Result<(), Error> {
    let request = queue_link(doorward, caller, user, new, requester);
    // Where nothing tells whether the address is taken, the time does not either.
    if doorward.signs_up_silently() { on_tick(request).await } else { request.await }
}

async fn queue_link(
    doorward: &Doorward,
    caller: &Caller,
    user: &User,
    new: &Email,
    requester: &Requester,
) -> Result<(), Error> {
    let language = requester.language;
    let earlier = charge_mail(doorward, new, MailPurpose::ByUsers, requester)?;
    let owner = doorward.store().user_by_email(&new.key()).await?;
    let mut effects = with_secret(doorward, user, Purpose::ChangeEmail, new, language);
    effects.earlier = earlier;
    let kind = EventKind::EmailChangeRequested;
    effects.events.push(doorward.event_by_caller(caller, requester, kind));
    if let Some(owner) = owner.filter(|owner| owner.id != user.id) {
        if !doorward.signs_up_silently() {
            return Err(Error::EmailTaken);
        }
        // The address is pending as a free one would be, but nobody gets the secret.
        let (id, message) = (Some(owner.id), Message::AlreadyRegistered);
        effects.mails = vec![mail(doorward, id, &owner.email, language, message)];
    }
    doorward.store().queue_mail(&effects).await?;
    Ok(())
}

/// Mails another link to the new address that is still to be verified. The request for it was proved. Returns false if there
/// is no such address.
pub(crate) async fn send_again(
    doorward: &Doorward,
    caller: &Caller,
    requester: &Requester,
) -> Result<bool, Error> {
    let user = &caller.user;
    let Some(new) = pending_email(doorward, user).await? else { return Ok(false) };
    request_email(doorward, caller, user, &new, requester).await?;
    Ok(true)
}

/// Discards the new address that is still to be verified: its links and codes have no effect any more. Returns false if there
/// is no such address.
pub(crate) async fn cancel(
    doorward: &Doorward,
    caller: &Caller,
    requester: &Requester,
) -> Result<bool, store::Error> {
    let user = &caller.user;
    if pending_email(doorward, user).await?.is_none() {
        return Ok(false);
    }
    let kind = EventKind::EmailChangeCancelled;
    let effects = doorward.event_by_caller(caller, requester, kind).into();
    doorward.store().replace_one_time(user.id, Purpose::ChangeEmail, &effects).await
}

/// The new address of a user that is still to be verified.
pub(crate) async fn pending_email(
    doorward: &Doorward,
    user: &User,
) -> Result<Option<Email>, store::Error> {
    if !doorward.sends_mail() {
        return Ok(None);
    }
    let (purpose, now) = (Purpose::ChangeEmail, doorward.now());
    let pending = doorward.store().pending_one_time(user, purpose, now).await?;
    Ok(pending.map(|one_time| one_time.email))
}
