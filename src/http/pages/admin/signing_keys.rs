//! `/admin/signing-keys`: the keys that tokens are signed with.

use axum::response::Response;

use super::{
    super::{
        text::Done,
        view::{Place, SigningKeysPage},
    },
    AdminVisit,
};
use crate::{
    access::scope::Scope,
    account::{
        order::{RevokeSigningKey, RotateSigningKeys},
        signing_keys,
    },
    http::{Error, admin::SigningKeysRead, form::PageForm},
};

const SIGNING_KEYS: &str = "/admin/signing-keys";

pub(in crate::http) async fn show(visit: AdminVisit<SigningKeysRead>) -> Result<Response, Error> {
    let keys = visit.doorward().keys().list().await;
    let view = SigningKeysPage {
        page: visit.context(),
        frame: visit.frame(Place::SigningKeys, None),
        keys: &keys,
        may_write: visit.may(Scope::SigningKeysWrite),
    };
    Ok(visit.admin_page(&view, None))
}

/// `POST /admin/signing-keys/rotate`
pub(in crate::http) async fn rotate(
    visit: AdminVisit<RotateSigningKeys>,
) -> Result<Response, Error> {
    signing_keys::rotate(visit.doorward(), &visit.by).await?;
    Ok(visit.done(SIGNING_KEYS, Done::KeyPublished))
}

/// `POST /admin/signing-keys/revoke`
pub(in crate::http) async fn revoke(
    visit: AdminVisit<RevokeSigningKey>,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    // A key that is gone already, as after a double click, is what the administrator wants.
    signing_keys::revoke(visit.doorward(), &form.typed("kid"), &visit.by).await?;
    Ok(visit.done(SIGNING_KEYS, Done::Revoked))
}
