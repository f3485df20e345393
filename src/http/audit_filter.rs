//! Which events of the audit trail a query or a form asks for.

use std::convert::Infallible;

use super::{error::Error, form::Form};
use crate::{
    Doorward, account::look_up, clock::Timestamp, event::EventName, fault::Fault,
    store::AuditFilter, user::UserId,
};

/// The fields `from`, `to`, `user` and `kind`. `None` if one is not valid.
pub(super) async fn filter(
    doorward: &Doorward,
    query: &mut Form,
) -> Result<Option<AuditFilter>, Error> {
    let time = |text: String| {
        Timestamp::parse(&text).ok_or_else(|| not("a day or a time, such as 2027-01-15T08:00:00Z"))
    };
    let from = query.optional("from", time);
    let to = query.optional("to", time);
    let kind = query.optional("kind", |kind| match EventName::parse(&kind).is_some() {
        true => Ok(kind),
        false => Err(not("a kind of event")),
    });
    let user = query.optional("user", Ok);
    let (Ok(from), Ok(to), Ok(kind), Ok(user)) = (from, to, kind, user) else { return Ok(None) };
    let user = match user {
        None => None,
        Some(user) => match user_id(doorward, &user).await? {
            Some(id) => Some(id),
            None => {
                let _ = query.record::<Infallible>("user", not("a user"));
                return Ok(None);
            }
        },
    };
    Ok(Some(AuditFilter { from, to, user, kind }))
}

/// The id of a user, by id or address. Events of deleted users are found by their id.
async fn user_id(doorward: &Doorward, user: &str) -> Result<Option<UserId>, Error> {
    if let Ok(id) = user.parse() {
        return Ok(Some(id));
    }
    Ok(look_up::user_by_id_or_email(doorward, user).await?.map(|user| user.id))
}

/// What was typed is something else.
pub(super) fn not(what: &str) -> Fault {
    Fault::malformed(format!("Expected {what}"))
}
