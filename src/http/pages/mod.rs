//! Pages for people with a browser. They are rendered on the server and need no script.

mod account;
mod answer;
mod docs;
mod error_page;
mod forgot;
mod form_refusal;
mod in_place;
mod mail_code;
mod one_time;
mod refused;
mod reset;
mod restore_email;
mod return_target;
mod session_cookie;
mod sign_in;
mod sign_out;
mod sign_up;
mod start;
pub(super) mod text;
mod verify;
pub(super) mod view;
mod visit;

use std::sync::Arc;

use axum::{
    Router,
    extract::FromRef,
    middleware::{from_fn, from_fn_with_state},
    routing::{MethodRouter, any},
};

pub(super) use self::{
    answer::{CROSS_ORIGIN_OPENER_POLICY, Pages},
    error_page::for_other_paths,
};
use super::{error::Error, handler::on, request_log};
use crate::{
    Doorward,
    routes::{Method, Page, ROUTES, Target},
};

impl FromRef<Arc<Pages>> for Doorward {
    fn from_ref(pages: &Arc<Pages>) -> Self {
        pages.doorward().clone()
    }
}

impl Doorward {
    /// The pages on which people sign in and manage their account, to be merged into an axum app beside
    /// [`routes`](Self::routes): `/sign-in`, `/sign-up`, `/sign-out`, `/forgot`, `/reset`, `/verify`, `/restore-email`,
    /// `/account`, `/refused/…` and `/.well-known/change-password`. The start page is the app's own.
    ///
    /// The pages need the setting `public_url` with `https://`, except on loopback hosts.
    pub fn pages(&self) -> Router {
        let pages = Arc::new(Pages::new(self.clone()));
        router(&pages, |target| match target {
            Target::Page(page) => Some(page),
            _ => None,
        })
    }
}

/// The pages of the server.
pub(super) fn server_pages(pages: &Arc<Pages>) -> Router {
    router(pages, |target| match target {
        Target::Page(page) | Target::ServerPage(page) => Some(page),
        _ => None,
    })
}

fn router(pages: &Arc<Pages>, chosen: fn(Target) -> Option<Page>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        if let Some(page) = chosen(route.target) {
            router = router.route(route.path, handler(route.method, page));
        }
    }
    router
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .layer(from_fn(request_log::log_request))
        .layer(from_fn_with_state(Arc::clone(pages), error_page::for_pages))
        .with_state(Arc::clone(pages))
}

fn handler(method: Method, page: Page) -> MethodRouter<Arc<Pages>> {
    match page {
        // Programs get the same answer to every method here as on any path that does not exist.
        Page::Start => any(start::start),
        Page::ShowSignIn => on(method, sign_in::show),
        Page::SignIn => on(method, sign_in::submit),
        Page::ShowSignUp => on(method, sign_up::show),
        Page::SignUp => on(method, sign_up::submit),
        Page::ShowSignOut => on(method, sign_out::show),
        Page::SignOut => on(method, sign_out::submit),
        Page::ShowReset => on(method, reset::show),
        Page::Reset => on(method, reset::submit),
        Page::ShowForgot => on(method, forgot::show),
        Page::Forgot => on(method, forgot::submit),
        Page::ShowVerify => on(method, verify::show),
        Page::Verify => on(method, verify::submit),
        Page::ShowRestoreEmail => on(method, restore_email::show),
        Page::RestoreEmail => on(method, restore_email::submit),
        Page::ShowMailCode => on(method, mail_code::show),
        Page::MailCode => on(method, mail_code::submit),
        Page::ShowUseMailCode => on(method, mail_code::show_use),
        Page::UseMailCode => on(method, mail_code::submit_use),
        Page::ShowAccount => on(method, account::show),
        Page::ChangeName => on(method, account::change_name),
        Page::ChangeEmail => on(method, account::change_email),
        Page::ChangePassword => on(method, account::change_password),
        Page::SendVerification => on(method, account::send_verification),
        Page::EndSession => on(method, account::end_session),
        Page::SignOutEverywhere => on(method, account::sign_out_everywhere),
        Page::ShowInvitations => on(method, account::show_invitations),
        Page::Invite => on(method, account::invite),
        Page::RevokeInvitation => on(method, account::revoke_invitation),
        Page::DeleteAccount => on(method, account::delete),
        Page::ExportAccount => on(method, account::export),
        Page::Refused => on(method, refused::show),
        Page::ChangePasswordLink => on(method, start::change_password),
        Page::Docs => on(method, docs::show),
    }
}
