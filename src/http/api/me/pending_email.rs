//! `/api/me/pending-email`: the new address of the caller that is still to be verified.

use axum::extract::State;

use crate::{
    Doorward,
    access::policy::SignedIn,
    account::change::{cancel, send_again},
    http::{
        Error,
        answer::{Accepted, NoContent},
        bearer::Bearer,
    },
    network::Requester,
};

pub(crate) async fn send_pending_email(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
) -> Result<Accepted, Error> {
    let is_sent = send_again(&doorward, &caller, &requester).await?;
    if is_sent { Ok(Accepted) } else { Err(Error::NotFound) }
}

pub(crate) async fn cancel_pending_email(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
) -> Result<NoContent, Error> {
    let is_cancelled = cancel(&doorward, &caller, &requester).await?;
    NoContent::if_found(is_cancelled)
}
