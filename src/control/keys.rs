//! Keys as an operator sees them.

use serde::{Deserialize, Serialize};

use super::{Order, Report};
use crate::{
    Doorward,
    token::signing_keys::{self, KeyInfo, KeyStatus},
};

/// A key and what it is for.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeyReport {
    /// Its name in the head of tokens.
    pub kid: String,
    /// How its tokens are signed.
    pub algorithm: String,
    /// What it is for.
    pub stage: KeyStatus,
    /// When that ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl From<KeyInfo> for KeyReport {
    fn from(KeyInfo { id, algorithm, status, until }: KeyInfo) -> Self {
        let until = until.map(|until| until.to_string());
        Self { kid: id.to_string(), algorithm: algorithm.name().into(), stage: status, until }
    }
}

/// Carries out an order about keys, and reports them as they are then.
pub(super) async fn carry_out(
    doorward: &Doorward,
    order: &Order,
) -> Result<Report, signing_keys::Error> {
    let (keys, now) = (doorward.keys(), doorward.now());
    match order {
        Order::RotateKeys => keys.rotate(now).await?,
        Order::RevokeKey(kid) if !keys.revoke(kid, now).await? => return Ok(Report::NoSuchKey),
        _ => {}
    }
    Ok(Report::Keys(keys.list().await.into_iter().map(KeyReport::from).collect()))
}
