//! `Idempotency-Key`: a request that creates something, and that may be sent again because its answer was lost.

use axum::http::{HeaderMap, HeaderName};
use uuid::Uuid;

use crate::{Doorward, account::repeated, event::Administrator, fault::Fault, http::Error};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const MAX_BYTES: usize = 255;

/// The id of what the request creates, if it has a key.
pub(super) fn id_of(
    doorward: &Doorward,
    by: &Administrator,
    kind: &str,
    headers: &HeaderMap,
) -> Result<Option<Uuid>, Error> {
    let mut keys = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(key) = keys.next() else { return Ok(None) };
    let text = key.to_str().ok().filter(|key| (1..=MAX_BYTES).contains(&key.len()));
    match (text, keys.next()) {
        (Some(key), None) => Ok(Some(repeated::id_of(doorward, by, kind, key))),
        _ => {
            let fault = Fault::malformed("Expected one key of 1 to 255 printable characters");
            Err(Error::Invalid(vec![("Idempotency-Key".into(), fault)]))
        }
    }
}
