//! `POST /dev/reset`: back to the users of the start, with nothing else.

use std::sync::Arc;

use axum::extract::State;

use super::Control;
use crate::http::{Error, answer::NoContent, service};

pub(super) async fn reset(State(control): State<Control>) -> Result<NoContent, Error> {
    let doorward = control.server.reset().await?;
    control.current.store(Arc::new(service(doorward)));
    Ok(NoContent)
}
