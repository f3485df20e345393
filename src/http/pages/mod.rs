//! Pages for people with a browser. They are rendered on the server and need no script, except for passkeys, which browsers offer
//! only to scripts.

pub(super) mod account;
pub(super) mod admin;
mod came_back;
pub(super) mod docs;
mod embedded_request;
mod error_page;
pub(super) mod factor;
pub(super) mod factor_reset;
pub(super) mod forgot;
mod form_refusal;
pub(super) mod link_login;
mod login_buttons;
pub(super) mod mail_code;
mod mail_request;
mod one_time;
pub(super) mod prove_address;
pub(super) mod refused;
pub(super) mod reset;
pub(super) mod restore_email;
mod return_target;
mod session_cookie;
pub(super) mod sign_in;
pub(super) mod sign_in_with;
pub(super) mod sign_out;
pub(super) mod sign_up;
pub(super) mod sign_up_passkey;
mod signed_in;
pub(super) mod start;
pub(super) mod step_up;
mod step_up_request;
pub(super) mod upstream_end;
pub(super) mod verify;
mod visit;

use std::sync::Arc;

use axum::extract::FromRef;

pub(super) use self::{
    embedded_request::EmbeddedRequest,
    error_page::{for_other_paths, for_pages},
    signed_in::{SignedInForm, SignedInVisit},
    visit::Visit,
};
pub(super) use super::html::Pages;
use super::html::{answer, decision, text, view};
use crate::Doorward;

impl FromRef<Arc<Pages>> for Doorward {
    fn from_ref(pages: &Arc<Pages>) -> Self {
        pages.doorward().clone()
    }
}
