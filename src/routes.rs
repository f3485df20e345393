//! The table of routes: the only place that defines their paths. The router and the reserved names of guards are derived
//! from it.

use self::{Endpoint::*, Method::*};

/// One operation of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The method. A guard handles all methods.
    pub method: Method,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// Where the route is served, and what handles it.
    pub target: Target,
}

/// The method of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`, which includes `HEAD`.
    Get,
    /// `POST`
    Post,
    /// `PATCH`
    Patch,
    /// `DELETE`
    Delete,
}

#[cfg(feature = "internals")]
impl Method {
    /// The method as in a request.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// Where a route is served, and what handles it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// In the server and in every app that embeds the service.
    Api(Endpoint),
    /// Like [`Api`](Self::Api), but clients poll it, so success is logged at debug level.
    Polled(Endpoint),
    /// Like [`Polled`](Self::Polled), but only in the server: an app that embeds the service has its own.
    Server(Endpoint),
    /// A page for people with a browser, in the server and in an app that mounts the pages.
    Page(Page),
    /// Like [`Page`](Self::Page), but only in the server: an app that mounts the pages has its own.
    ServerPage(Page),
    /// A guard, which handles every method and every path below its own. Success is logged at debug level.
    Guard(GuardKind),
}

/// What handles a route that is not a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "internals",
    expect(missing_docs, reason = "the table shows the path of each")
)]
pub enum Endpoint {
    Register,
    LookUp,
    Login,
    Logout,
    LogoutEverywhere,
    Refresh,
    ForgotPassword,
    ResetPassword,
    VerifyEmail,
    RestoreEmail,
    SendVerification,
    SendCode,
    LoginByCode,
    ListSessions,
    EndSession,
    Invite,
    ListInvitations,
    RevokeInvitation,
    ShowMe,
    ChangeMe,
    DeleteMe,
    ChangePassword,
    Export,
    Introspect,
    Revoke,
    KeySet,
    Metadata,
    Revocations,
    OpenApi,
    Live,
    Ready,
}

/// What handles a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "internals",
    expect(missing_docs, reason = "the table shows the path of each")
)]
pub enum Page {
    Start,
    ShowSignIn,
    SignIn,
    ShowSignUp,
    SignUp,
    ShowSignOut,
    SignOut,
    ShowReset,
    Reset,
    ShowForgot,
    Forgot,
    ShowVerify,
    Verify,
    ShowRestoreEmail,
    RestoreEmail,
    ShowMailCode,
    MailCode,
    ShowUseMailCode,
    UseMailCode,
    ShowAccount,
    ChangeName,
    ChangeEmail,
    ChangePassword,
    SendVerification,
    EndSession,
    SignOutEverywhere,
    ShowInvitations,
    Invite,
    RevokeInvitation,
    DeleteAccount,
    ExportAccount,
    Refused,
    ChangePasswordLink,
    Docs,
}

/// Which guards handle a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardKind {
    /// The one that admits every caller with a valid token.
    Authenticated,
    /// The one for the designated name.
    Designated,
    /// Those that the operator declares.
    Declared,
}

/// The prefix of the path of every guard.
pub const GUARD_PREFIX: &str = "/api/auth/";
/// The path of the guard that admits every caller with a valid token.
pub const AUTHENTICATED_GUARD: &str = "/api/auth/guard";
/// The path of a declared guard.
pub const DECLARED_GUARD: &str = "/api/auth/{guard}";
/// The path of the guard for the designated name.
pub const DESIGNATED_GUARD: &str = "/api/auth/{segment}";
/// The parameter in [`DESIGNATED_GUARD`], which stands for the setting `designated.segment`.
pub const SEGMENT: &str = "{segment}";
/// The path of the key set with which tokens are verified.
pub const KEY_SET: &str = "/.well-known/jwks.json";
/// The metadata (RFC 8414).
pub const METADATA: &str = "/.well-known/oauth-authorization-server";
/// The path of the feed of ended tokens.
pub const REVOCATIONS: &str = "/.well-known/revocations";
/// The path of token introspection (RFC 7662).
pub const INTROSPECT: &str = "/oauth/introspect";
/// The path of token revocation (RFC 7009).
pub const REVOKE: &str = "/oauth/revoke";

/// The path at which a guard ends a sign-in. It exists on the host of every app and never reaches the app.
pub const APP_SIGN_IN: &str = "/.doorward/in";

/// What handles a route of `doorward dev`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "internals",
    expect(missing_docs, reason = "the table shows the path of each")
)]
pub enum DevEndpoint {
    ShowClock,
    SetClock,
    ListMail,
    ClearMail,
    AddUser,
    SignIn,
    RotateKeys,
    Reset,
}

/// The prefix of the routes of `doorward dev`. No other route starts with it.
pub const DEV_PREFIX: &str = "/dev/";

/// The routes that control `doorward dev`. No other server has them.
pub const DEV_ROUTES: &[(Method, &str, DevEndpoint)] = &[
    (Get, "/dev/clock", DevEndpoint::ShowClock),
    (Post, "/dev/clock", DevEndpoint::SetClock),
    (Get, "/dev/mail", DevEndpoint::ListMail),
    (Delete, "/dev/mail", DevEndpoint::ClearMail),
    (Post, "/dev/users", DevEndpoint::AddUser),
    (Post, "/dev/sign-in", DevEndpoint::SignIn),
    (Post, "/dev/rotate-keys", DevEndpoint::RotateKeys),
    (Post, "/dev/reset", DevEndpoint::Reset),
];

/// Every route of the service.
pub const ROUTES: &[Route] = &[
    api(Post, "/api/user", Register),
    api(Get, "/api/user/{id}", LookUp),
    api(Post, "/api/auth/login", Login),
    api(Post, "/api/auth/logout", Logout),
    api(Post, "/api/auth/logout-everywhere", LogoutEverywhere),
    api(Post, "/api/auth/refresh", Refresh),
    api(Post, "/api/auth/forgot", ForgotPassword),
    api(Post, "/api/auth/reset", ResetPassword),
    api(Post, "/api/auth/verify", VerifyEmail),
    api(Post, "/api/auth/restore-email", RestoreEmail),
    api(Post, "/api/auth/code", SendCode),
    api(Post, "/api/auth/code/login", LoginByCode),
    guard(AUTHENTICATED_GUARD, GuardKind::Authenticated),
    guard(DESIGNATED_GUARD, GuardKind::Designated),
    guard(DECLARED_GUARD, GuardKind::Declared),
    api(Get, "/api/sessions", ListSessions),
    api(Delete, "/api/sessions/{id}", EndSession),
    api(Post, "/api/invitations", Invite),
    api(Get, "/api/invitations", ListInvitations),
    api(Delete, "/api/invitations/{id}", RevokeInvitation),
    api(Get, "/api/me", ShowMe),
    api(Patch, "/api/me", ChangeMe),
    api(Delete, "/api/me", DeleteMe),
    api(Post, "/api/me/password", ChangePassword),
    api(Post, "/api/me/verify", SendVerification),
    api(Get, "/api/me/export", Export),
    api(Post, INTROSPECT, Introspect),
    api(Post, REVOKE, Revoke),
    api(Get, KEY_SET, KeySet),
    api(Get, "/.well-known/openid-configuration", Metadata),
    api(Get, METADATA, Metadata),
    polled(REVOCATIONS, Revocations),
    server("/openapi.json", OpenApi),
    server("/livez", Live),
    server("/readyz", Ready),
    Route { method: Get, path: "/", target: Target::ServerPage(Page::Start) },
    Route { method: Get, path: "/docs", target: Target::ServerPage(Page::Docs) },
    page(Get, "/sign-in", Page::ShowSignIn),
    page(Post, "/sign-in", Page::SignIn),
    page(Get, "/sign-up", Page::ShowSignUp),
    page(Post, "/sign-up", Page::SignUp),
    page(Get, "/sign-out", Page::ShowSignOut),
    page(Post, "/sign-out", Page::SignOut),
    page(Get, "/reset", Page::ShowReset),
    page(Post, "/reset", Page::Reset),
    page(Get, "/forgot", Page::ShowForgot),
    page(Post, "/forgot", Page::Forgot),
    page(Get, "/verify", Page::ShowVerify),
    page(Post, "/verify", Page::Verify),
    page(Get, "/restore-email", Page::ShowRestoreEmail),
    page(Post, "/restore-email", Page::RestoreEmail),
    page(Get, "/sign-in/code", Page::ShowMailCode),
    page(Post, "/sign-in/code", Page::MailCode),
    page(Get, "/sign-in/code/use", Page::ShowUseMailCode),
    page(Post, "/sign-in/code/use", Page::UseMailCode),
    page(Get, "/account", Page::ShowAccount),
    page(Post, "/account/name", Page::ChangeName),
    page(Post, "/account/email", Page::ChangeEmail),
    page(Post, "/account/password", Page::ChangePassword),
    page(Post, "/account/verify", Page::SendVerification),
    page(Post, "/account/sessions/end", Page::EndSession),
    page(Post, "/account/sign-out-everywhere", Page::SignOutEverywhere),
    page(Get, "/account/invitations", Page::ShowInvitations),
    page(Post, "/account/invitations", Page::Invite),
    page(Post, "/account/invitations/revoke", Page::RevokeInvitation),
    page(Post, "/account/delete", Page::DeleteAccount),
    page(Get, "/account/export", Page::ExportAccount),
    page(Get, "/refused/{decision}", Page::Refused),
    page(Get, "/.well-known/change-password", Page::ChangePasswordLink),
];

const fn api(method: Method, path: &'static str, endpoint: Endpoint) -> Route {
    Route { method, path, target: Target::Api(endpoint) }
}

const fn polled(path: &'static str, endpoint: Endpoint) -> Route {
    Route { method: Get, path, target: Target::Polled(endpoint) }
}

const fn server(path: &'static str, endpoint: Endpoint) -> Route {
    Route { method: Get, path, target: Target::Server(endpoint) }
}

const fn page(method: Method, path: &'static str, page: Page) -> Route {
    Route { method, path, target: Target::Page(page) }
}

const fn guard(path: &'static str, kind: GuardKind) -> Route {
    Route { method: Get, path, target: Target::Guard(kind) }
}

impl Route {
    /// The segment after [`GUARD_PREFIX`], unless it is a parameter.
    fn guard_name(&self) -> Option<&'static str> {
        let segment = self.path.strip_prefix(GUARD_PREFIX)?.split('/').next()?;
        (!segment.starts_with('{')).then_some(segment)
    }
}

/// The names that no guard may have, because the service has routes at their paths. Sorted.
#[cfg(any(test, feature = "internals"))]
pub fn reserved_guard_names() -> Vec<&'static str> {
    let mut names: Vec<_> = ROUTES.iter().filter_map(Route::guard_name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether the service has a route at the path of a guard with this name.
pub fn is_reserved_guard_name(name: &str) -> bool {
    ROUTES.iter().filter_map(Route::guard_name).any(|reserved| reserved == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_below_the_prefix_of_guards_reserves_its_name() {
        let names = [
            "code",
            "forgot",
            "guard",
            "login",
            "logout",
            "logout-everywhere",
            "refresh",
            "reset",
            "restore-email",
            "verify",
        ];
        assert_eq!(reserved_guard_names(), names);
        for route in ROUTES {
            if let Some(rest) = route.path.strip_prefix(GUARD_PREFIX)
                && !rest.starts_with('{')
            {
                assert!(is_reserved_guard_name(rest.split('/').next().unwrap()), "{route:?}");
            }
        }
        assert!(!is_reserved_guard_name("{guard}"));
        assert!(!is_reserved_guard_name("staff"));
    }

    #[test]
    fn only_routes_of_the_development_server_have_its_prefix() {
        assert!(DEV_ROUTES.iter().all(|(_, path, _)| path.starts_with(DEV_PREFIX)));
        assert!(
            !ROUTES.iter().any(|route| route.path.starts_with(DEV_PREFIX.trim_end_matches('/')))
        );
    }

    #[test]
    fn no_two_routes_have_the_same_method_and_path() {
        for (index, route) in ROUTES.iter().enumerate() {
            let same = |other: &Route| other.method == route.method && other.path == route.path;
            assert!(!ROUTES[..index].iter().any(same), "{route:?}");
        }
    }
}
