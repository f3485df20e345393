//! The table of routes: one line for each, with its method, its path, who may call it and its handler.

use std::sync::Arc;

use axum::handler::Handler;

use self::{MayCall::*, Method::*};
use super::{
    answers,
    api::{
        admin::{
            audit, backup, credentials, emergency, export, guards, import, imported_hashes,
            invitations as all_invitations, keys as api_keys, mail, person, probes, refusals,
            roles, secure, sessions as sessions_of, signing_keys, status, users,
        },
        factor_login, health, invitations, login, logout, look_up, mail_code, me,
        me::{factors, keys},
        passkey_origins, refresh, register, reset, sessions, verify, witness,
    },
    app::ResponseFuture,
    downloads,
    forward_auth::GuardKind,
    handler::AnyHandler,
    may_call::Arguments,
    oauth::{introspect, revocations, revoke, well_known},
    openapi,
    pages::{self, Pages, admin::user_orders},
    paths::{
        ADMIN_EXPORT, ADMIN_IMPORT, AUTHENTICATED_GUARD, DECLARED_GUARD, DESIGNATED_GUARD,
        INTROSPECT, KEY_SET, METADATA, REVOCATIONS, REVOKE,
    },
};
pub use super::{handler::Method, may_call::MayCall};
use crate::{
    Doorward,
    access::scope::{Needs, Scope::*},
    account::order,
};

/// Every route of the service.
pub fn routes() -> Vec<Route> {
    vec![
        api(Post, "/api/user", Anyone, register::register),
        api(Get, "/api/user/{id}", Anyone, look_up::look_up),
        api(Post, "/api/auth/login", Anyone, login::login),
        api(Post, "/api/auth/login/factor", Anyone, factor_login::login),
        api(Post, "/api/auth/login/passkey", Anyone, factor_login::begin_passkey),
        api(Post, "/api/auth/logout", SignedIn, logout::logout),
        api(Post, "/api/auth/logout-everywhere", SignedIn, logout::logout_everywhere),
        api(Post, "/api/auth/refresh", SignedIn, refresh::refresh),
        api(Post, "/api/auth/forgot", Anyone, reset::forgot),
        api(Post, "/api/auth/reset", Anyone, reset::reset),
        api(Post, "/api/auth/verify", Anyone, verify::verify),
        api(Post, "/api/auth/restore-email", Anyone, verify::restore),
        api(Post, "/api/auth/code", Anyone, mail_code::send),
        api(Post, "/api/auth/code/login", Anyone, mail_code::login),
        guard(AUTHENTICATED_GUARD, GuardKind::Authenticated),
        guard(DESIGNATED_GUARD, GuardKind::Designated),
        guard(DECLARED_GUARD, GuardKind::Declared),
        api(Get, "/api/sessions", SignedIn, sessions::list),
        api(Delete, "/api/sessions/{id}", SignedIn, sessions::end),
        api(Post, "/api/invitations", Inviter, invitations::invite),
        api(Get, "/api/invitations", SignedIn, invitations::list),
        api(Delete, "/api/invitations/{id}", SignedIn, invitations::revoke),
        api(Get, "/api/me", SignedIn, me::show),
        api(Patch, "/api/me", SignedIn, me::change),
        api(Delete, "/api/me", SignedIn, me::delete),
        api(Post, "/api/me/password", SignedIn, me::change_password),
        api(Post, "/api/me/verify", SignedIn, verify::send),
        api(Post, "/api/me/pending-email", SignedIn, me::send_pending_email),
        api(Delete, "/api/me/pending-email", SignedIn, me::cancel_pending_email),
        api(Get, "/api/me/export", SignedIn, me::export),
        api(Post, "/api/me/step-up", SignedIn, factor_login::step_up),
        api(Get, "/api/me/factors", SignedIn, factors::list),
        api(Post, "/api/me/factors/totp", SignedIn, factors::begin_totp),
        api(Post, "/api/me/factors/totp/confirm", SignedIn, factors::confirm_totp),
        api(Delete, "/api/me/factors/totp", SignedIn, factors::remove_totp),
        api(Post, "/api/me/factors/passkeys/options", SignedIn, factors::begin_passkey),
        api(Post, "/api/me/factors/passkeys", SignedIn, factors::add_passkey),
        api(Patch, "/api/me/factors/passkeys/{id}", SignedIn, factors::rename_passkey),
        api(Delete, "/api/me/factors/passkeys/{id}", SignedIn, factors::remove_passkey),
        api(Post, "/api/me/factors/recovery-codes", SignedIn, factors::replace_recovery_codes),
        api(Delete, "/api/me/factors/devices/{id}", SignedIn, factors::remove_device),
        api(Get, "/api/admin/users", Admin(UsersRead), users::list),
        api(Post, "/api/admin/users", to::<order::AddUser>(), users::create),
        api(Get, "/api/admin/users/{user}", Admin(UsersRead), users::show),
        api(Patch, "/api/admin/users/{user}", to::<order::Edit>(), users::change),
        api(Delete, "/api/admin/users/{user}", to::<order::Delete>(), users::delete),
        api(Get, "/api/admin/users/{user}/export", to::<order::ExportUsers>(), person::show),
        api(Put, "/api/admin/users/{user}/roles/{role}", to::<order::GrantRole>(), roles::grant),
        api(
            Delete,
            "/api/admin/users/{user}/roles/{role}",
            to::<order::RevokeRole>(),
            roles::revoke,
        ),
        api(Get, "/api/admin/users/{user}/sessions", Admin(UsersRead), sessions_of::list),
        api(
            Delete,
            "/api/admin/users/{user}/sessions",
            to::<order::EndSessions>(),
            sessions_of::end_all,
        ),
        api(
            Delete,
            "/api/admin/users/{user}/sessions/{id}",
            to::<order::EndSession>(),
            sessions_of::end,
        ),
        api(
            Post,
            "/api/admin/users/{user}/password",
            to::<order::SetPassword>(),
            credentials::set_password,
        ),
        api(
            Post,
            "/api/admin/users/{user}/require-new-password",
            to::<order::RequireNewPassword>(),
            credentials::require_new_password,
        ),
        api(
            Post,
            "/api/admin/users/{user}/reset-code",
            to::<order::MakeResetCode>(),
            credentials::create_reset_code,
        ),
        api(
            Post,
            "/api/admin/users/{user}/factor-reset",
            to::<order::MakeFactorReset>(),
            credentials::create_factor_reset,
        ),
        api(Post, "/api/admin/users/{user}/secure", to::<order::Secure>(), secure::secure),
        api(Post, "/api/admin/users/{user}/unlock", to::<order::Unlock>(), credentials::unlock),
        api(Post, ADMIN_IMPORT, to::<order::ImportUsers>(), import::import).streamed(),
        api(Get, ADMIN_EXPORT, to::<order::ExportUsers>(), export::export),
        api(Get, "/api/admin/imported-hashes", Admin(UsersRead), imported_hashes::list),
        api(
            Delete,
            "/api/admin/imported-hashes",
            to::<order::DropImportedHashes>(),
            imported_hashes::drop,
        ),
        api(Get, "/api/admin/invitations", Admin(InvitationsRead), all_invitations::list),
        api(Post, "/api/admin/invitations", to::<order::Invite>(), all_invitations::create),
        api(
            Delete,
            "/api/admin/invitations/{invitation}",
            to::<order::RevokeInvitation>(),
            all_invitations::revoke,
        ),
        api(Get, "/api/me/activity", SignedIn, me::activity),
        api(Get, "/api/admin/audit", Admin(AuditRead), audit::list),
        api(Get, "/api/admin/audit/days", Admin(AuditRead), audit::days),
        api(Get, "/api/admin/audit/export", Admin(AuditRead), audit::export),
        api(Get, "/api/admin/audit/checkpoint", Admin(AuditRead), audit::checkpoint),
        api(Get, "/api/admin/audit/{id}/proof", Admin(AuditRead), audit::prove),
        api(Post, "/api/admin/audit/verify", Admin(AuditRead), audit::verify),
        api(Get, "/api/admin/users/{user}/refusals", Admin(UsersRead), refusals::of_user),
        api(Get, "/api/admin/refusals", Admin(GuardsRead), refusals::list),
        api(Get, "/api/admin/refusals/{decision}", Admin(GuardsRead), refusals::show),
        api(Get, "/api/admin/guards", Admin(GuardsRead), guards::list),
        api(Post, "/api/admin/guards/{guard}/check", Admin(GuardsRead), guards::check),
        api(Get, "/api/admin/guards/{guard}/browsers", Admin(GuardsRead), guards::check_browsers),
        api(Post, "/api/admin/guards/reload", Operator, guards::reload),
        api(Get, "/api/admin/signing-keys", Admin(SigningKeysRead), signing_keys::list),
        api(
            Post,
            "/api/admin/signing-keys",
            to::<order::RotateSigningKeys>(),
            signing_keys::rotate,
        ),
        api(
            Delete,
            "/api/admin/signing-keys/{kid}",
            to::<order::RevokeSigningKey>(),
            signing_keys::revoke,
        ),
        api(Get, "/api/me/keys", SignedIn, keys::list),
        api(Post, "/api/me/keys", SignedIn, keys::create),
        api(Delete, "/api/me/keys/{id}", SignedIn, keys::revoke),
        api(Get, "/api/admin/keys", Admin(KeysRead), api_keys::list),
        api(Post, "/api/admin/keys", to::<order::MakeKey>(), api_keys::create),
        api(Delete, "/api/admin/keys/{id}", to::<order::RevokeKey>(), api_keys::revoke),
        api(Get, "/api/admin/mail", Admin(MailRead), mail::list),
        api(Post, "/api/admin/mail/retry", to::<order::RetryMail>(), mail::retry),
        api(Get, "/api/admin/status", Admin(StatusRead), status::show),
        api(Get, "/api/admin/status/database", Operator, status::check_database),
        api(Post, "/api/admin/probes", Operator, probes::expect),
        api(Get, "/api/admin/probes/{nonce}", Operator, probes::show),
        api(Post, "/api/admin/emergency", to::<order::RunEmergency>(), emergency::run),
        api(Get, "/api/admin/backup", Operator, backup::make),
        api(Post, "/audit/witness/add-checkpoint", Anyone, witness::add_checkpoint).streamed(),
        api(Post, INTROSPECT, Client, introspect::introspect),
        api(Post, REVOKE, Client, revoke::revoke),
        api(Get, KEY_SET, Anyone, well_known::keys),
        api(Get, "/.well-known/openid-configuration", Anyone, well_known::metadata),
        api(Get, METADATA, Anyone, well_known::metadata),
        api(Get, "/.well-known/webauthn", Anyone, passkey_origins::show),
        api(Get, REVOCATIONS, Anyone, revocations::revocations).polled(),
        api(Get, "/openapi.json", Anyone, openapi::show(answers::document))
            .polled()
            .only_in_server(),
        api(Get, "/livez", Anyone, health::live).polled().only_in_server(),
        api(Get, "/readyz", Anyone, health::ready).polled().only_in_server(),
        api(Get, "/readyz/guards", Anyone, health::guards_ready).polled().only_in_server(),
        // Programs get the same answer to every method here as on any path that does not exist.
        page(Any, "/", Anyone, pages::start::start).only_in_server(),
        page(Get, "/docs", Anyone, pages::docs::show(answers::document)).only_in_server(),
        page(Get, "/sign-in", Anyone, pages::sign_in::show),
        page(Post, "/sign-in", Anyone, pages::sign_in::submit),
        page(Post, "/sign-in/passkey", Anyone, pages::sign_in::submit_passkey),
        page(Post, "/sign-in/factor", Anyone, pages::factor::submit),
        page(Get, "/step-up", SignedIn, pages::step_up::show),
        page(Post, "/step-up", SignedIn, pages::step_up::submit),
        page(Get, "/sign-up", Anyone, pages::sign_up::show),
        page(Post, "/sign-up", Anyone, pages::sign_up::submit),
        page(Post, "/sign-up/passkey", Anyone, pages::sign_up_passkey::submit),
        page(Get, "/sign-out", SignedIn, pages::sign_out::show),
        page(Post, "/sign-out", Anyone, pages::sign_out::submit),
        page(Get, "/reset", Anyone, pages::reset::show),
        page(Post, "/reset", Anyone, pages::reset::submit),
        page(Get, "/forgot", Anyone, pages::forgot::show),
        page(Post, "/forgot", Anyone, pages::forgot::submit),
        page(Get, "/verify", Anyone, pages::verify::show),
        page(Post, "/verify", Anyone, pages::verify::submit),
        page(Post, "/verify/send", SignedIn, pages::verify::send_again),
        page(Get, "/factors/reset", Anyone, pages::factor_reset::show),
        page(Post, "/factors/reset", Anyone, pages::factor_reset::submit),
        page(Get, "/restore-email", Anyone, pages::restore_email::show),
        page(Post, "/restore-email", Anyone, pages::restore_email::submit),
        page(Get, "/sign-in/code", Anyone, pages::mail_code::show),
        page(Post, "/sign-in/code", Anyone, pages::mail_code::submit),
        page(Get, "/sign-in/code/use", Anyone, pages::mail_code::show_use),
        page(Post, "/sign-in/code/use", Anyone, pages::mail_code::submit_use),
        page(Get, "/account", SignedIn, pages::account::show),
        page(Get, "/account/deleted", Anyone, pages::account::show_deleted),
        page(Post, "/account/name", SignedIn, pages::account::change_name),
        page(Post, "/account/email", SignedIn, pages::account::change_email),
        page(Post, "/account/email/again", SignedIn, pages::account::send_email_again),
        page(Post, "/account/email/cancel", SignedIn, pages::account::cancel_email),
        page(Post, "/account/password", SignedIn, pages::account::change_password),
        page(Post, "/account/verify", SignedIn, pages::account::send_verification),
        page(Post, "/account/sessions/end", SignedIn, pages::account::end_session),
        page(Post, "/account/sign-out-everywhere", Anyone, pages::account::sign_out_everywhere),
        page(Get, "/account/invitations", Inviter, pages::account::show_invitations),
        page(Post, "/account/invitations", Inviter, pages::account::invite),
        page(Post, "/account/invitations/revoke", SignedIn, pages::account::revoke_invitation),
        page(Get, "/account/keys", SignedIn, pages::account::show_keys),
        page(Post, "/account/keys", SignedIn, pages::account::create_key),
        page(Post, "/account/keys/revoke", SignedIn, pages::account::revoke_key),
        page(Get, "/account/activity", SignedIn, pages::account::show_activity),
        page(Get, "/account/security", SignedIn, pages::account::show_security),
        page(Get, "/account/security/passkey", SignedIn, pages::account::show_add_passkey),
        page(Post, "/account/security/passkey", SignedIn, pages::account::add_passkey),
        page(Get, "/account/security/key", SignedIn, pages::account::show_add_key),
        page(Post, "/account/security/key", SignedIn, pages::account::add_key),
        page(Get, "/account/security/passkeys/{id}", SignedIn, pages::account::show_passkey),
        page(Post, "/account/security/passkeys/rename", SignedIn, pages::account::rename_passkey),
        page(Post, "/account/security/passkeys/remove", SignedIn, pages::account::remove_passkey),
        page(Get, "/account/security/totp", SignedIn, pages::account::show_totp),
        page(Post, "/account/security/totp", SignedIn, pages::account::confirm_totp),
        page(Post, "/account/security/totp/remove", SignedIn, pages::account::remove_totp),
        page(Post, "/account/security/codes", SignedIn, pages::account::replace_codes),
        page(Post, "/account/security/devices/remove", SignedIn, pages::account::remove_device),
        page(Post, "/account/delete", SignedIn, pages::account::delete),
        page(Post, "/account/export", SignedIn, downloads::account),
        page(Get, "/admin", Admin(StatusRead), pages::admin::overview::show),
        page(
            Post,
            "/admin/emergency",
            to::<order::RunEmergency>(),
            pages::admin::overview::run_emergency,
        ),
        page(Get, "/admin/users", Admin(UsersRead), pages::admin::users::show),
        page(Get, "/admin/users/new", to::<order::AddUser>(), pages::admin::new_user::show),
        page(Post, "/admin/users/new", to::<order::AddUser>(), pages::admin::new_user::submit),
        page(Get, "/admin/users/{id}", Admin(UsersRead), pages::admin::user::show),
        page(Post, "/admin/users/{id}/export", to::<order::ExportUsers>(), downloads::user),
        page(Post, "/admin/users/{id}/change", to::<order::Edit>(), user_orders::change),
        page(
            Post,
            "/admin/users/{id}/require-new-password",
            to::<order::RequireNewPassword>(),
            user_orders::require_new_password,
        ),
        page(Post, "/admin/users/{id}/verify", to::<order::Edit>(), user_orders::verify),
        page(Post, "/admin/users/{id}/grant", to::<order::GrantRole>(), user_orders::grant),
        page(Post, "/admin/users/{id}/revoke", to::<order::RevokeRole>(), user_orders::revoke),
        page(Post, "/admin/users/{id}/unlock", to::<order::Unlock>(), user_orders::unlock),
        page(
            Post,
            "/admin/users/{id}/end-session",
            to::<order::EndSession>(),
            user_orders::end_session,
        ),
        page(
            Post,
            "/admin/users/{id}/end-sessions",
            to::<order::EndSessions>(),
            user_orders::end_sessions,
        ),
        page(
            Post,
            "/admin/users/{id}/password",
            to::<order::SetPassword>(),
            user_orders::set_password,
        ),
        page(
            Post,
            "/admin/users/{id}/reset-code",
            to::<order::MakeResetCode>(),
            user_orders::make_reset_code,
        ),
        page(
            Post,
            "/admin/users/{id}/factor-reset",
            to::<order::MakeFactorReset>(),
            user_orders::make_factor_reset,
        ),
        page(Post, "/admin/users/{id}/secure", to::<order::Secure>(), user_orders::secure),
        page(Post, "/admin/users/{id}/disable", to::<order::Edit>(), user_orders::disable_user),
        page(Post, "/admin/users/{id}/enable", to::<order::Edit>(), user_orders::enable_user),
        page(Post, "/admin/users/{id}/delete", to::<order::Delete>(), user_orders::delete),
        page(Get, "/admin/invitations", Admin(InvitationsRead), pages::admin::invitations::show),
        page(Post, "/admin/invitations", to::<order::Invite>(), pages::admin::invitations::invite),
        page(
            Post,
            "/admin/invitations/revoke",
            to::<order::RevokeInvitation>(),
            pages::admin::invitations::revoke,
        ),
        page(Get, "/admin/guards", Admin(GuardsRead), pages::admin::guards::show),
        page(Get, "/admin/guards/{guard}", Admin(GuardsRead), pages::admin::guards::show_one),
        page(Get, "/admin/refusals", Admin(GuardsRead), pages::admin::refusals::show),
        page(Get, "/admin/refusals/live", Admin(GuardsRead), pages::admin::refusals::show_live),
        page(
            Get,
            "/admin/refusals/{decision}",
            Admin(GuardsRead),
            pages::admin::refusals::show_one,
        ),
        page(Get, "/admin/audit", Admin(AuditRead), pages::admin::audit::show),
        page(Post, "/admin/audit/export", Admin(AuditRead), downloads::events),
        page(Post, "/admin/audit/checkpoint", Admin(AuditRead), pages::admin::audit::checkpoint),
        page(Post, "/admin/audit/proof", Admin(AuditRead), pages::admin::audit::prove),
        page(Get, "/admin/keys", Admin(KeysRead), pages::admin::keys::show),
        page(Post, "/admin/keys/create", to::<order::MakeKey>(), pages::admin::keys::create),
        page(Post, "/admin/keys/revoke", to::<order::RevokeKey>(), pages::admin::keys::revoke),
        page(Get, "/admin/signing-keys", Admin(SigningKeysRead), pages::admin::signing_keys::show),
        page(
            Post,
            "/admin/signing-keys/rotate",
            to::<order::RotateSigningKeys>(),
            pages::admin::signing_keys::rotate,
        ),
        page(
            Post,
            "/admin/signing-keys/revoke",
            to::<order::RevokeSigningKey>(),
            pages::admin::signing_keys::revoke,
        ),
        page(Get, "/admin/mail", Admin(MailRead), pages::admin::mail::show),
        page(Post, "/admin/mail/retry", to::<order::RetryMail>(), pages::admin::mail::retry),
        page(Get, "/refused/{decision}", Anyone, pages::refused::show),
        page(Get, "/.well-known/change-password", Anyone, pages::start::change_password),
    ]
}

/// One operation of the service.
pub struct Route {
    pub method: Method,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// Who may call it. The handler enforces it by the types of its arguments.
    #[cfg_attr(
        not(feature = "internals"),
        expect(dead_code, reason = "tests call every route and compare the answer with it")
    )]
    pub may_call: MayCall,
    /// Whether clients poll it, so that success is logged at debug level.
    pub is_polled: bool,
    /// Whether an app that embeds the service has its own.
    pub is_only_in_server: bool,
    /// Whether the handler reads the body by itself. Any other is called when the whole body has arrived.
    is_streamed: bool,
    pub(super) handler: RouteHandler,
}

/// What handles a route.
pub(super) enum RouteHandler {
    /// An endpoint for programs.
    Api(AnyHandler<Doorward>),
    /// A page for people with a browser.
    Page(AnyHandler<Arc<Pages>>),
    /// A guard, which handles every path below its own, too. It answers everybody: the answer is its decision.
    Guard(GuardKind),
}

impl Route {
    fn new(method: Method, path: &'static str, may_call: MayCall, handler: RouteHandler) -> Self {
        let (is_polled, is_only_in_server, is_streamed) = (false, false, false);
        Self { method, path, may_call, is_polled, is_only_in_server, is_streamed, handler }
    }

    fn polled(self) -> Self {
        Self { is_polled: true, ..self }
    }

    fn streamed(self) -> Self {
        Self { is_streamed: true, ..self }
    }

    /// Whether the handler is called when the whole body has arrived. What is read has no body that matters.
    pub(super) fn waits_for_body(&self) -> bool {
        !self.is_streamed && self.method != Get
    }

    fn only_in_server(self) -> Self {
        Self { is_only_in_server: true, ..self }
    }

    #[cfg(feature = "internals")]
    pub fn is_page(&self) -> bool {
        matches!(self.handler, RouteHandler::Page(_))
    }

    #[cfg(feature = "internals")]
    pub fn is_guard(&self) -> bool {
        matches!(self.handler, RouteHandler::Guard(_))
    }
}

fn api<T: Arguments>(
    method: Method,
    path: &'static str,
    may_call: MayCall,
    handler: impl Handler<T, Doorward, Future = ResponseFuture>,
) -> Route {
    debug_assert_eq!(may_call, T::MAY_CALL, "{path}: the table, and what the handler enforces");
    Route::new(method, path, may_call, RouteHandler::Api(AnyHandler::new(handler)))
}

fn page<T: Arguments>(
    method: Method,
    path: &'static str,
    may_call: MayCall,
    handler: impl Handler<T, Arc<Pages>, Future = ResponseFuture>,
) -> Route {
    debug_assert_eq!(may_call, T::MAY_CALL, "{path}: the table, and what the handler enforces");
    Route::new(method, path, may_call, RouteHandler::Page(AnyHandler::new(handler)))
}

/// Whoever has what this order needs.
fn to<O: Needs>() -> MayCall {
    MayCall::whoever_has::<O>()
}

fn guard(path: &'static str, kind: GuardKind) -> Route {
    Route::new(Any, path, Anyone, RouteHandler::Guard(kind))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{access::guard::RESERVED_NAMES, event::expected, http::paths::GUARD_PREFIX};

    #[test]
    fn every_route_below_the_prefix_of_guards_reserves_its_name() {
        let below = routes().into_iter().filter_map(|route| route.path.strip_prefix(GUARD_PREFIX));
        let names = below.filter_map(|rest| rest.split('/').next());
        let names: BTreeSet<_> = names.filter(|name| !name.starts_with('{')).collect();
        assert_eq!(names, BTreeSet::from(RESERVED_NAMES));
    }

    #[cfg(feature = "cli")]
    #[test]
    fn only_routes_of_the_development_server_have_its_prefix() {
        let prefix = crate::http::dev::PREFIX.trim_end_matches('/');
        assert!(!routes().iter().any(|route| route.path.starts_with(prefix)));
    }

    #[test]
    fn every_operation_of_administrators_leaves_an_event_or_says_why_it_leaves_none() {
        let all: BTreeSet<_> = routes()
            .iter()
            .filter(|route| route.path.starts_with("/api/admin/"))
            .map(|route| format!("{} {}", route.method.as_str(), route.path))
            .collect();
        assert_eq!(expected::names_of("operations"), all);
    }

    #[test]
    fn no_two_routes_have_the_same_method_and_path() {
        let routes = routes();
        let distinct: BTreeSet<_> =
            routes.iter().map(|route| (route.method.as_str(), route.path)).collect();
        assert_eq!(distinct.len(), routes.len());
    }
}
