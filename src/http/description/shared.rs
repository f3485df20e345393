//! The answers that several operations share: refusals, and those of guards and mail.

use self::SharedBody::*;
use crate::account::{self, Error as Reason};

/// The body of an answer.
pub(in crate::http) enum SharedBody {
    /// The message of its status.
    Status,
    /// A message that says why.
    AnyMessage,
    /// The message of one of these reasons.
    Reasons(fn() -> Vec<account::Error>),
    /// The message of this reason, or that of its status.
    ReasonOrStatus(account::Error),
    /// This message.
    Message(&'static str),
    /// The message of its status, with a code of RFC 6749.
    WithCode(&'static str),
    /// A message for each invalid field.
    Faults,
    /// The address is registered.
    Taken,
    TakenOrAnyMessage,
    TakenOrReasons(fn() -> Vec<account::Error>),
    /// What a session has to prove.
    Unauthorized,
    UnauthorizedOrSignInAgain,
    StatusOrSignInAgain,
    /// A challenge to a second factor.
    FactorMissing,
    StatusOrFactorMissing,
    /// This text.
    Text(&'static str),
    /// What the service greets the designated user with.
    Greeting,
    /// The size of a tree, by C2SP `tlog-witness`.
    TreeSize,
    Nothing,
}

/// Declares them: the name and the status of each, the headers besides those of every answer, its body, and when it is given.
macro_rules! shared {
    ($($name:ident $status:literal [$($header:ident)*] $body:expr, $description:literal;)+) => {
        /// An answer that several operations share. Its name is that of the component.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(in crate::http) enum Shared {
            $($name,)+
        }

        impl Shared {
            pub(in crate::http) const ALL: &[Self] = &[$(Self::$name),+];

            pub(in crate::http) fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            pub(in crate::http) fn status(self) -> u16 {
                match self {
                    $(Self::$name => $status,)+
                }
            }

            pub(in crate::http) fn description(self) -> &'static str {
                match self {
                    $(Self::$name => $description,)+
                }
            }

            pub(in crate::http) fn body(self) -> SharedBody {
                match self {
                    $(Self::$name => $body,)+
                }
            }

            /// The headers, by the names of their components.
            pub(in crate::http) fn headers(self) -> &'static [&'static str] {
                match self {
                    $(Self::$name => &[$(stringify!($header)),*],)+
                }
            }
        }
    };
}

shared! {
    Invalid 400 [NoStore] Faults, "The body is missing, malformed or has invalid fields";
    InvalidForm 400 [NoStore] WithCode("invalid_request"), "The form does not have exactly one token";
    Unauthorized 401 [NoStore BearerChallenge VaryAuthorization DecisionId] Unauthorized, "No valid token, or the policy refuses. If a session has to prove more, the message says what, and so does the challenge `insufficient_user_authentication` (RFC 9470)";
    Unconfirmed 401 [NoStore BearerChallenge VaryAuthorization DecisionId] StatusOrSignInAgain, "No valid token, or the password is wrong. A user without a password, or with a second factor, needs a sign-in within the last 10 minutes: the challenge is `insufficient_user_authentication` (RFC 9470)";
    NotRecent 401 [NoStore BearerChallenge VaryAuthorization DecisionId] StatusOrSignInAgain, "No valid token, or no sign-in within the last 10 minutes, with two factors if the user holds a second. `/api/me/step-up` makes one";
    AdminRefused 401 [NoStore BearerChallenge VaryAuthorization DecisionId] UnauthorizedOrSignInAgain, "No valid token, the user lacks the scope, or the action needs a sign-in within the last 10 minutes, with two factors if the user holds a second. `/api/me/step-up` makes one";
    WrongCode 401 [NoStore BearerChallenge VaryAuthorization] Status, "The code or link is wrong, used or expired";
    FactorMissing 401 [NoStore BearerChallenge] FactorMissing, "The user holds a second factor. The client answers the challenge at `/api/auth/login/factor`";
    FactorRefused 401 [NoStore BearerChallenge] Reasons(|| vec![Reason::ChallengeExpired, Reason::WrongFactor, Reason::UnknownPasskey, Reason::CodeUsed]), "The answer is wrong or was used before, or the challenge has expired or was answered";
    StepUp 401 [NoStore BearerChallenge] StatusOrFactorMissing, "No valid token, the password is wrong, or the challenge to the caller's factors, which the client answers at `/api/auth/login/factor`";
    InvalidClient 401 [NoStore BasicChallenge] WithCode("invalid_client"), "Unknown client or wrong secret";
    OtherSite 403 [NoStore] Status, "A page of another site has caused the request (`Sec-Fetch-Site` or `Origin`)";
    UndeclaredOrigin 403 [NoStore] AnyMessage, "`returnTo` is not a URL of a declared origin, or another site has caused the request";
    MayNotRegister 403 [NoStore] ReasonOrStatus(Reason::MayNotRegister), "Registration is not open for this person, or another site has caused the request";
    MayNotInvite 403 [NoStore] ReasonOrStatus(Reason::MayNotInvite), "The user may not invite others, their own address is not verified, or another site has caused the request";
    MayNotInviteWithRoles 403 [NoStore] AnyMessage, "Registration is closed, a role may do more than the caller, or another site has caused the request";
    NotAllowed 403 [NoStore] AnyMessage, "The user or the role may do more than the caller, or another site has caused the request";
    NotFound 404 [NoStore] Status, "Not found";
    NotOffered 404 [NoStore] Status, "The service does not offer such factors";
    NoFactor 404 [NoStore] Status, "The user has no factor that they would stand in for";
    WrongCredentials 404 [NoStore] Status, "Unknown address, wrong password or wrong code: always the same answer";
    TooSlow 408 [NoStore] Status, "The body took longer than 10 seconds to arrive";
    Taken 409 [NoStore] Taken, "The e-mail address is already registered";
    AlreadyInvited 409 [NoStore] TakenOrReasons(|| vec![Reason::AlreadyInvited]), "The address is registered, or somebody else has invited it";
    FactorConflict 409 [NoStore] Reasons(|| vec![Reason::FactorTaken, Reason::TooManyPasskeys, Reason::LastWayIn]), "The factor exists already, there are 20 passkeys, or it is the last way to sign in";
    LastWayIn 409 [NoStore] Reasons(|| vec![Reason::LastWayIn]), "It is the last way to sign in";
    TooManyKeys 409 [NoStore] Reasons(|| vec![Reason::TooManyKeys]), "The user has 50 valid keys";
    OrderConflict 409 [NoStore] TakenOrAnyMessage, "The order cannot be carried out: the address is taken, or the user has too many roles";
    NotDone 422 [NoStore] AnyMessage, "The order cannot be carried out. The message says why";
    NotDoneNow 409 [NoStore] AnyMessage, "The order cannot be carried out at this time. The message says why";
    OtherCheckpoint 409 [NoStore] TreeSize, "Another checkpoint was cosigned last: its size";
    UserChanged 412 [NoStore] AnyMessage, "The user has another version than the one in `If-Match`";
    TooLarge 413 [NoStore] Status, "The body is larger than `limits.body`, 64 KiB unless set";
    NotJson 415 [NoStore] Status, "The body has another media type";
    OtherOrder 422 [NoStore] AnyMessage, "The `Idempotency-Key` was used for another request";
    Throttled 429 [NoStore RetryAfter] Status, "Too many attempts";
    Internal 500 [NoStore] Status, "A bug, or a damaged database";
    NeedsMail 501 [NoStore] Status, "The service sends no mail, or this kind of sign-in is off";
    NoMail 501 [NoStore] AnyMessage, "The service sends no mail";
    Unavailable 503 [NoStore RetryAfter] Status, "A temporary failure";
    Failed 503 [NoStore] AnyMessage, "It has failed. The message says why";
    NotReady 503 [NoStore RetryAfter] AnyMessage, "It is not. The message gives the reason: the database cannot be read or written, the server is read-only, the disk is full, or checkpoints fail";
    GuardsNotReady 503 [NoStore RetryAfter] AnyMessage, "They do not: the database has been unavailable for longer than the grace period. With SQLite, as /readyz";
    Mailed 202 [NoStore] Message("If the address can receive this mail, it is on its way."), "If the address can receive this mail, it is on its way. The answer does not depend on the address";
    Authenticated 200 [NoStore UserId Policy Disclosed EmailVerified ExtraIdentity] Text("You are authenticated."), "Admitted; the headers identify the user";
    Designated 200 [NoStore UserId Policy Disclosed EmailVerified ExtraIdentity] Greeting, "Admitted; the headers identify the user";
    Admitted 200 [NoStore UserId Policy Disclosed EmailVerified ExtraIdentity] Text("You may pass."), "Admitted; the headers identify the user";
    ToSignIn 303 [NoStore] Nothing, "A browser at a guard with `origins`: to the sign-in page, or back to the app with a cookie";
    RefusedVisit 403 [NoStore DecisionId] Status, "A browser at a guard with `origins`: the condition refuses, or another site caused the request. JSON for scripts, a page for people";
}
