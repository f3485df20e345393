//! `/api/admin/probes`: requests that `doorward doctor` sends through the public URL, and how they arrived. Nobody but the operator
//! announces one.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Doorward,
    http::{
        Error,
        admin::OperatorOnly,
        answer::{NoContent, NoStore},
        form::{JsonForm, form},
    },
    network::Arrival,
};

/// A request that will arrive.
#[derive(Debug, Serialize, Deserialize)]
pub struct Probe {
    /// The value of its header `X-Doorward-Probe`.
    pub nonce: String,
}

form! {
    pub(in crate::http) struct ProbeForm as "Probe" {
        /// The value of the header `X-Doorward-Probe`.
        nonce: String,
    }
}

pub(in crate::http) async fn expect(
    State(doorward): State<Doorward>,
    _: OperatorOnly,
    form: JsonForm<ProbeForm>,
) -> Result<NoContent, Error> {
    let ProbeForm { nonce } = form.read(&doorward)?;
    doorward.probes().expect(nonce);
    Ok(NoContent)
}

/// How an announced request arrived, if it did.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProbeResult {
    pub arrival: Option<Arrival>,
}

/// Shows how an announced request arrived.
pub(in crate::http) async fn show(
    State(doorward): State<Doorward>,
    _: OperatorOnly,
    Path(nonce): Path<String>,
) -> NoStore<ProbeResult> {
    NoStore(StatusCode::OK, ProbeResult { arrival: doorward.probes().arrival(&nonce) })
}
