//! `POST /dev/rotate-keys`: publishes the next signing key. It signs once the clock has advanced by `token.publish_before_signing`.

use axum::extract::State;

use super::Control;
use crate::http::{Error, answer::NoContent};

pub(super) async fn rotate(State(control): State<Control>) -> Result<NoContent, Error> {
    let doorward = control.server.doorward();
    let rotated = doorward.keys().rotate(doorward.now()).await;
    rotated.map_err(|error| Error::Internal(error.to_string()))?;
    Ok(NoContent)
}
