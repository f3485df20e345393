//! The answers that several operations share: refusals, and those of guards and mail.

/// Declares them: the name and the status of each, the headers besides those of every answer, and when it is given.
macro_rules! shared {
    ($($name:ident $status:literal [$($header:ident)*] $description:literal;)+) => {
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
    Invalid 400 [NoStore] "The body is missing, malformed or has invalid fields";
    InvalidForm 400 [NoStore] "The form does not have exactly one token";
    Unauthorized 401 [NoStore BearerChallenge VaryAuthorization DecisionId] "No valid token, or the policy refuses. If a session has to prove more, the message says what, and so does the challenge `insufficient_user_authentication` (RFC 9470)";
    Unconfirmed 401 [NoStore BearerChallenge VaryAuthorization DecisionId] "No valid token, or the password is wrong. A user without a password, or with a second factor, needs a sign-in within the last 10 minutes: the challenge is `insufficient_user_authentication` (RFC 9470)";
    NotRecent 401 [NoStore BearerChallenge VaryAuthorization DecisionId] "No valid token, or no sign-in within the last 10 minutes, with two factors if the user holds a second. `/api/me/step-up` makes one";
    AdminRefused 401 [NoStore BearerChallenge VaryAuthorization DecisionId] "No valid token, the user lacks the scope, or the action needs a sign-in within the last 10 minutes, with two factors if the user holds a second. `/api/me/step-up` makes one";
    WrongCode 401 [NoStore BearerChallenge VaryAuthorization] "The code or link is wrong, used or expired";
    FactorMissing 401 [NoStore BearerChallenge] "The user holds a second factor. The client answers the challenge at `/api/auth/login/factor`";
    FactorRefused 401 [NoStore BearerChallenge] "The answer is wrong or was used before, or the challenge has expired or was answered";
    StepUp 401 [NoStore BearerChallenge] "No valid token, the password is wrong, or the challenge to the caller's factors, which the client answers at `/api/auth/login/factor`";
    InvalidClient 401 [NoStore BasicChallenge] "Unknown client or wrong secret";
    OtherSite 403 [NoStore] "A page of another site has caused the request (`Sec-Fetch-Site` or `Origin`)";
    MayNotRegister 403 [NoStore] "Registration is not open for this person, or another site has caused the request";
    MayNotInvite 403 [NoStore] "The user may not invite others, their own address is not verified, or another site has caused the request";
    MayNotInviteWithRoles 403 [NoStore] "Registration is closed, a role may do more than the caller, or another site has caused the request";
    NotAllowed 403 [NoStore] "The user or the role may do more than the caller, or another site has caused the request";
    NotFound 404 [NoStore] "Not found";
    NotOffered 404 [NoStore] "The service does not offer such factors";
    NoFactor 404 [NoStore] "The user has no factor that they would stand in for";
    WrongCredentials 404 [NoStore] "Unknown address, wrong password or wrong code: always the same answer";
    TooSlow 408 [NoStore] "The body took longer than 10 seconds to arrive";
    Taken 409 [NoStore] "The e-mail address is already registered";
    AlreadyInvited 409 [NoStore] "The address is registered, or somebody else has invited it";
    FactorConflict 409 [NoStore] "The factor exists already, there are 20 passkeys, or it is the last way to sign in";
    TooManyKeys 409 [NoStore] "The user has 50 valid keys";
    OrderConflict 409 [NoStore] "The order cannot be carried out: the address is taken, or the user has too many roles";
    NotDone 422 [NoStore] "The order cannot be carried out. The message says why";
    NotDoneNow 409 [NoStore] "The order cannot be carried out at this time. The message says why";
    OtherCheckpoint 409 [NoStore] "Another checkpoint was cosigned last: its size";
    UserChanged 412 [NoStore] "The user has another version than the one in `If-Match`";
    TooLarge 413 [NoStore] "The body is larger than `limits.body`, 64 KiB unless set";
    NotJson 415 [NoStore] "The body has another media type";
    OtherOrder 422 [NoStore] "The `Idempotency-Key` was used for another request";
    Throttled 429 [NoStore RetryAfter] "Too many attempts";
    Internal 500 [NoStore] "A bug, or a damaged database";
    NeedsMail 501 [NoStore] "The service sends no mail, or this kind of sign-in is off";
    NoMail 501 [NoStore] "The service sends no mail";
    Unavailable 503 [NoStore RetryAfter] "A temporary failure";
    Failed 503 [NoStore] "It has failed. The message says why";
    NotReady 503 [NoStore RetryAfter] "It is not. The message gives the reason: the database cannot be read or written, the server is read-only, the disk is full, or checkpoints fail";
    GuardsNotReady 503 [NoStore RetryAfter] "They do not: the database has been unavailable for longer than the grace period. With SQLite, as /readyz";
    Mailed 202 [NoStore] "If the address can receive this mail, it is on its way. The answer does not depend on the address";
    Authenticated 200 [NoStore UserId Policy Disclosed EmailVerified ExtraIdentity] "Admitted; the headers identify the user";
    Designated 200 [NoStore UserId Policy Disclosed EmailVerified ExtraIdentity] "Admitted; the headers identify the user";
    Admitted 200 [NoStore UserId Policy Disclosed EmailVerified ExtraIdentity] "Admitted; the headers identify the user";
    ToSignIn 303 [NoStore] "A browser at a guard with `origins`: to the sign-in page, or back to the app with a cookie";
    RefusedVisit 403 [NoStore DecisionId] "A browser at a guard with `origins`: the condition refuses, or another site caused the request. JSON for scripts, a page for people";
}
