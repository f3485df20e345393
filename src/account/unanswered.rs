//! Somebody gives the first factor of a user and not the second: they may know the password. The user is told when the challenge
//! expires without a right answer, and at once if wrong ones go on: everybody mistypes a code. Whoever signs in with both factors is
//! told nothing.

use super::{
    effects::{factor_refused, may_mail},
    missing_factor::MissingFactor,
};
use crate::{
    Doorward,
    event::EventKind,
    id::Id,
    mail::{Mail, MailId},
    network::Requester,
    session::{ExternalStart, Methods, Persistence, Session},
    store,
    throttle::MailPurpose,
    token::challenge::Challenge,
    user::User,
};

/// The mail about a challenge. The sign-in that answers it deletes it ([`store::Store::sign_in`]).
fn mail_of(challenge: &Challenge) -> MailId {
    MailId::from_uuid(challenge.id.uuid())
}

/// Asks a person who has proved this much for the second factor. With a session, the answer makes that one stronger. Queues the mail that
/// is sent if there is no right answer. One waits at a time, however often the first factor is given.
pub(super) async fn ask(
    doorward: &Doorward,
    user: &User,
    methods: Methods,
    persistence: Persistence,
    session: Option<&Session>,
    external: Option<ExternalStart>,
    requester: &Requester,
) -> Result<MissingFactor, store::Error> {
    let missing =
        MissingFactor::of(doorward, user, methods.clone(), persistence, session, external).await?;
    let event = EventKind::FactorAsked { methods };
    doorward.events().publish(&doorward.event_by_unknown(Some(user.id), requester, event));
    let challenge = doorward.cookies().open_challenge(&missing.challenge, doorward.now());
    let Some(challenge) = challenge else { return Ok(missing) };
    if may_mail(doorward, &user.email, MailPurpose::MissingFactor) {
        for mail in factor_refused(doorward, user, requester).mails {
            let mail = Mail { id: mail_of(&challenge), ..mail };
            doorward.store().queue_mail_for(mail, challenge.expires_at).await?;
        }
    }
    Ok(missing)
}

/// The mail was not sent, so it does not count. Whoever gives the first factor next is told of.
pub(super) fn answered(doorward: &Doorward, user: &User) {
    doorward.throttle().refund_mail(&user.email.key(), MailPurpose::MissingFactor);
    doorward.throttle().forget_mistakes(user.id);
}

/// After a wrong answer, sends the mail about the challenge without waiting, or another one if there is none: once in a quarter of an
/// hour, however many factors are tried. The first wrong answers may be mistyped: then a mail waits for a right one.
pub(super) async fn refused(
    doorward: &Doorward,
    user: &User,
    challenge: &Challenge,
    requester: &Requester,
) -> Result<(), store::Error> {
    if doorward.throttle().charge_mistake(user.id, doorward.instant()) {
        // None is added where one waits already.
        for mail in factor_refused(doorward, user, requester).mails {
            let mail = Mail { id: mail_of(challenge), ..mail };
            doorward.store().queue_mail_for(mail, challenge.expires_at).await?;
        }
        return Ok(());
    }
    if !may_mail(doorward, &user.email, MailPurpose::WrongFactor) {
        return Ok(());
    }
    if doorward.store().hurry_mail(mail_of(challenge), doorward.now()).await? {
        return Ok(());
    }
    let notice = factor_refused(doorward, user, requester);
    if !notice.mails.is_empty() {
        doorward.store().queue_mail(&notice).await?;
    }
    Ok(())
}
