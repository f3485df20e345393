//! API keys, with which programs authenticate.

use crate::id::id;

id!(
    /// The id of an API key.
    ApiKeyId
);
