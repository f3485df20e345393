//! The rows of the API for people and apps, of guards, of tokens and of the service.

use super::{MayCall::*, Method::*, Route, api, document, guard};
use crate::http::{
    api::{
        external_login, factor_login, health, invitations, login, logout, look_up, mail_code, me,
        me::{factors, identities, keys},
        passkey_origins, refresh, register, reset, sessions, verify, witness,
    },
    description::{Parameter::*, Shared::*, Tag::*},
    forward_auth::GuardKind,
    oauth::{introspect, revocations, revoke, well_known},
    openapi,
    paths::{
        AUTHENTICATED_GUARD, DECLARED_GUARD, DESIGNATED_GUARD, INTROSPECT, KEY_SET, METADATA,
        REVOCATIONS, REVOKE,
    },
};

/// The rows of the API for people and apps, of guards, of tokens and of the service.
pub(super) fn rows() -> Vec<Route> {
    vec![
        api(Post, "/api/user", Anyone, register::register)
            .operation("register", Accounts)
            .summary("Register a user")
            .description(
                "With `registration_conflict = \"silent\"`, the owner of the address gets a \
                 mail, whether it was free or not.",
            )
            .answers("The user is registered and signed in")
            .refuses(&[MayNotRegister, Taken, Throttled]),
        api(Get, "/api/user/{id}", Anyone, look_up::look_up)
            .operation("lookUp", Accounts)
            .summary("Look up a user")
            .answers("The user")
            .id_is("The id of the user"),
        api(Post, "/api/auth/login", Anyone, login::login)
            .operation("login", Login)
            .summary("Log in")
            .description(
                "Every failed login gets the same answer. The right password of a user with a \
                 second factor gets a challenge.",
            )
            .answers("The user is signed in")
            .refuses(&[FactorMissing, WrongCredentials, Throttled]),
        api(Post, "/api/auth/login/factor", Anyone, factor_login::login)
            .operation("answerChallenge", Factors)
            .summary("Answer the challenge of a login or a step-up")
            .description(
                "A wrong answer leaves the challenge valid. 100 wrong answers in a row block a \
                 kind of factor.",
            )
            .answers("The user is signed in, or the session is stronger")
            .refuses(&[FactorRefused, Throttled]),
        api(Post, "/api/auth/login/passkey", Anyone, factor_login::begin_passkey)
            .operation("beginPasskeyLogin", Factors)
            .summary("Begin a login with a passkey alone")
            .answers("What the browser signs. `/api/auth/login/factor` takes it")
            .refuses(&[NotOffered]),
        api(Post, "/api/auth/login/with/{login}", Anyone, external_login::begin)
            .operation("beginExternalLogin", Login)
            .summary("Begin a login at another provider")
            .description(
                "Open `url` in the browser of the person. It comes back to `returnTo` with a code, \
                 whichever way the person has signed in on the pages.",
            )
            .answers("Where the browser goes")
            .refuses(&[UndeclaredOrigin, NotFound]),
        api(Post, "/api/auth/login/code", Anyone, external_login::exchange)
            .operation("exchangeLoginCode", Login)
            .summary("Exchange the code of a login at another provider")
            .description(
                "A code counts once, for a minute, and for the app that has begun the login. The token is that of the session \
                 that the person has in their browser.",
            )
            .answers("The user is signed in")
            .refuses(&[WrongCode]),
        api(Post, "/api/auth/logout", SignedIn, logout::logout)
            .operation("logout", Login)
            .summary("End this session")
            .answers("The session has ended"),
        api(Post, "/api/auth/logout-everywhere", SignedIn, logout::logout_everywhere)
            .operation("logoutEverywhere", Login)
            .summary("End all of the user's sessions")
            .answers("The sessions have ended"),
        api(Post, "/api/auth/refresh", SignedIn, refresh::refresh)
            .operation("refresh", Login)
            .summary("Get a new token for this session and end the old one")
            .description(
                "The token may have expired, as long as its session lives. Refreshing with a \
                 token that was replaced more than 30 seconds ago ends the session.",
            )
            .answers("The new token")
            .refuses(&[Throttled]),
        api(Post, "/api/auth/forgot", Anyone, reset::forgot)
            .operation("forgot", Mail)
            .summary("Mail a link to set a new password")
            .description("The answer and its time are the same for every address.")
            .refuses(&[Throttled, NeedsMail]),
        api(Post, "/api/auth/reset", Anyone, reset::reset)
            .operation("reset", Mail)
            .summary(
                "Set a password with a mailed link or code, or with a reset code from the \
                 operator",
            )
            .answers("The password is set and all sessions have ended")
            .refuses(&[WrongCode, Throttled]),
        api(Post, "/api/auth/verify", Anyone, verify::verify)
            .operation("verifyEmail", Mail)
            .summary("Verify an address with a mailed link or code")
            .description(
                "Verifies the address of a new user, or makes the new address of a user theirs.",
            )
            .answers("The address is verified")
            .refuses(&[WrongCode, Taken, Throttled]),
        api(Post, "/api/auth/restore-email", Anyone, verify::restore)
            .operation("restoreEmail", Mail)
            .summary("Take back a change of the address")
            .description(
                "Needs the link from the notice to the old address. No code can be typed in its \
                 place. Sets a new password and ends all sessions.",
            )
            .answers("The old address is restored")
            .refuses(&[WrongCode, Taken, Throttled]),
        api(Post, "/api/auth/code", Anyone, mail_code::send)
            .operation("sendCode", Mail)
            .summary("Mail a code to sign in with")
            .description(
                "For users without a password if `sign_in.mail_code` is on, for all users with \
                 a verified address if it is `everybody`. The answer and its time are the same \
                 for every address.",
            )
            .refuses(&[Throttled, NeedsMail]),
        api(Post, "/api/auth/code/login", Anyone, mail_code::login)
            .operation("loginByCode", Mail)
            .summary("Log in with a mailed code or link")
            .answers("The user is signed in")
            .refuses(&[FactorMissing, WrongCredentials, Throttled]),
        guard(AUTHENTICATED_GUARD, GuardKind::Authenticated),
        guard(DESIGNATED_GUARD, GuardKind::Designated),
        guard(DECLARED_GUARD, GuardKind::Declared),
        api(Get, "/api/sessions", SignedIn, sessions::list)
            .operation("listSessions", Login)
            .summary("List the user's sessions")
            .answers("The sessions, oldest first"),
        api(Delete, "/api/sessions/{id}", SignedIn, sessions::end)
            .operation("endSession", Login)
            .summary("End one of the user's sessions")
            .answers("The session has ended")
            .id_is("The id of the session"),
        api(Post, "/api/invitations", Inviter, invitations::invite)
            .operation("invite", Invitations)
            .summary("Invite somebody to register, where the setting `invitations.allow` allows it")
            .answers(
                "The invitation. Unless it is mailed, with what the invited person registers \
                 with",
            )
            .refuses(&[MayNotInvite, AlreadyInvited, Throttled]),
        api(Get, "/api/invitations", SignedIn, invitations::list)
            .operation("listInvitations", Invitations)
            .summary("List the invitations that the user has made and nobody has used")
            .answers("The invitations, in the order of their addresses"),
        api(Delete, "/api/invitations/{id}", SignedIn, invitations::revoke)
            .operation("revokeInvitation", Invitations)
            .summary("Revoke an invitation that the user has made")
            .answers("The invitation is revoked")
            .id_is("The id of the invitation"),
        api(Get, "/api/me", SignedIn, me::show)
            .operation("showMe", Accounts)
            .summary("Read the user's own account")
            .answers("The account"),
        api(Patch, "/api/me", SignedIn, me::change)
            .operation("changeMe", Accounts)
            .summary("Change the name, or the e-mail address with the current password")
            .description(
                "Where the service sends mail, a new address takes effect when it is verified.",
            )
            .answers("The changed account")
            .refuses(&[Unconfirmed, Taken, Throttled]),
        api(Delete, "/api/me", SignedIn, me::delete)
            .operation("deleteMe", Accounts)
            .summary("Delete the user with all sessions and roles")
            .answers("The user is deleted")
            .refuses(&[Unconfirmed, Throttled]),
        api(Post, "/api/me/password", SignedIn, me::change_password)
            .operation("changePassword", Accounts)
            .summary("Set a new password and end all other sessions")
            .answers("The password is set")
            .refuses(&[Unconfirmed, Throttled]),
        api(Post, "/api/me/verify", SignedIn, verify::send)
            .operation("sendVerification", Mail)
            .summary("Mail another link to verify the address")
            .refuses(&[Throttled, NeedsMail]),
        api(Post, "/api/me/pending-email", SignedIn, me::send_pending_email)
            .operation("sendPendingEmail", Mail)
            .summary("Mail another link to the new address")
            .description(
                "The new address that `GET /api/me` shows as `pendingEmail`. 404 if there is \
                 none.",
            )
            .refuses(&[NotFound, Taken, Throttled]),
        api(Delete, "/api/me/pending-email", SignedIn, me::cancel_pending_email)
            .operation("cancelPendingEmail", Mail)
            .summary("Cancel the change of the address")
            .description(
                "The new address is discarded, and its links and codes are void. 404 if there \
                 is none.",
            )
            .answers("The address stays as it is")
            .refuses(&[NotFound]),
        api(Get, "/api/me/export", SignedIn, me::export)
            .operation("exportMe", Accounts)
            .summary("Export everything stored about the user")
            .answers("The exported data")
            .refuses(&[NotRecent]),
        api(Post, "/api/me/step-up", SignedIn, factor_login::step_up)
            .operation("stepUp", Factors)
            .summary("Prove again, or more")
            .description(
                "With the password, if the user has one; a user with a second factor is then \
                 asked for it. Without, the challenge to a passkey. Everything is proved anew: \
                 the session has then proved what was given in the step-up, and nothing else.",
            )
            .answers("The session is fresh and has a new token")
            .refuses(&[StepUp, Throttled]),
        api(Get, "/api/me/factors", SignedIn, factors::list)
            .operation("listFactors", Factors)
            .summary("List the user's factors")
            .answers("The factors"),
        api(Post, "/api/me/factors/totp", SignedIn, factors::begin_totp)
            .operation("beginTotp", Factors)
            .summary("Begin to add an authenticator app")
            .answers("The secret, which counts when a code of it is confirmed within an hour")
            .refuses(&[NotRecent, NotOffered, FactorConflict]),
        api(Post, "/api/me/factors/totp/confirm", SignedIn, factors::confirm_totp)
            .operation("confirmTotp", Factors)
            .summary("Add the authenticator app")
            .answers("It is added")
            .refuses(&[NotRecent, FactorConflict, Throttled]),
        api(Delete, "/api/me/factors/totp", SignedIn, factors::remove_totp)
            .operation("removeTotp", Factors)
            .summary("Remove the authenticator app")
            .answers("It is removed")
            .refuses(&[NotRecent, NotFound]),
        api(Post, "/api/me/factors/passkeys/options", SignedIn, factors::begin_passkey)
            .operation("beginPasskey", Factors)
            .summary("Begin to add a passkey or a security key")
            .answers("What the browser makes it with, within an hour")
            .refuses(&[NotRecent, NotOffered, FactorConflict]),
        api(Post, "/api/me/factors/passkeys", SignedIn, factors::add_passkey)
            .operation("addPasskey", Factors)
            .summary("Add the passkey or security key")
            .answers("It is added")
            .refuses(&[NotRecent, NotOffered, FactorConflict, Throttled]),
        api(Patch, "/api/me/factors/passkeys/{id}", SignedIn, factors::rename_passkey)
            .operation("renamePasskey", Factors)
            .summary("Rename a passkey")
            .answers("It is renamed")
            .id_is("The id of the passkey")
            .refuses(&[Throttled]),
        api(Delete, "/api/me/factors/passkeys/{id}", SignedIn, factors::remove_passkey)
            .operation("removePasskey", Factors)
            .summary("Remove a passkey")
            .answers("It is removed")
            .id_is("The id of the passkey")
            .refuses(&[NotRecent, FactorConflict]),
        api(Post, "/api/me/factors/recovery-codes", SignedIn, factors::replace_recovery_codes)
            .operation("replaceRecoveryCodes", Factors)
            .summary("Replace all recovery codes")
            .answers("The new codes, which are shown once")
            .refuses(&[NotRecent, NoFactor, Throttled]),
        api(Delete, "/api/me/factors/devices/{id}", SignedIn, factors::remove_device)
            .operation("removeDevice", Factors)
            .summary("Trust a browser no longer")
            .answers("It is removed")
            .id_is("The id of the trusted browser"),
        api(Get, "/api/me/identities", SignedIn, identities::list)
            .operation("listIdentities", Factors)
            .summary("List the user's accounts at other providers, by which they sign in")
            .answers("The accounts, the oldest first"),
        api(Delete, "/api/me/identities/{id}", SignedIn, identities::remove)
            .operation("removeIdentity", Factors)
            .summary("Remove an account at another provider")
            .description(
                "It signs the user in no longer, and their other sessions end in which they have signed in with a provider.",
            )
            .answers("It is removed")
            .id_is("The id of the account")
            .refuses(&[NotRecent, LastWayIn, Throttled]),
        api(Get, "/api/me/activity", SignedIn, me::activity)
            .operation("listActivity", Accounts)
            .summary("List what happened to the account")
            .description(
                "From the audit trail. Who else has caused something, and from where, is not \
                 shown.",
            )
            .answers("The newest events"),
        api(Get, "/api/me/keys", SignedIn, keys::list)
            .operation("listMyKeys", Keys)
            .summary(
                "List the user's API keys: valid ones, and those that have ended in the last 30 \
                 days",
            )
            .answers("The keys, the newest first"),
        api(Post, "/api/me/keys", SignedIn, keys::create)
            .operation("createMyKey", Keys)
            .summary(
                "Make an API key, with which a program passes guards with `keys = true` as the \
                 user",
            )
            .answers("The key, which is shown once")
            .refuses(&[NotRecent, TooManyKeys, Throttled]),
        api(Delete, "/api/me/keys/{id}", SignedIn, keys::revoke)
            .operation("revokeMyKey", Keys)
            .summary("Revoke an API key of the user")
            .description("It is refused from the next request on.")
            .answers("The key is revoked")
            .id_is("The id of the key"),
        api(Post, "/audit/witness/add-checkpoint", Anyone, witness::add_checkpoint)
            .streamed()
            .operation("addCheckpoint", Administration)
            .summary("Have a checkpoint of another installation cosigned (C2SP tlog-witness)")
            .description(
                "Only if `audit.witness_for` names the key of the log. It needs no token: the \
                 checkpoint is signed.",
            )
            .answers("The cosignature")
            .refuses(&[Invalid, NotFound, TooSlow, OtherCheckpoint, TooLarge, NotDone])
            .reads("text/plain"),
        api(Post, INTROSPECT, Client, introspect::introspect)
            .operation("introspect", Tokens)
            .summary("Introspect a token (RFC 7662)")
            .answers("Whether the token is active, and its claims")
            .refuses(&[Throttled]),
        api(Post, REVOKE, Client, revoke::revoke)
            .operation("revoke", Tokens)
            .summary("End the session of a token (RFC 7009)")
            .answers("The session has ended, or the token was not valid")
            .refuses(&[Throttled]),
        api(Get, KEY_SET, Anyone, well_known::keys)
            .operation("keys", Tokens)
            .summary("The public keys")
            .answers("A JWK Set"),
        api(Get, "/.well-known/openid-configuration", Anyone, well_known::metadata)
            .operation("discovery", Tokens)
            .summary("Discovery metadata")
            .answers("The metadata"),
        api(Get, METADATA, Anyone, well_known::metadata)
            .operation("metadata", Tokens)
            .summary("Discovery metadata, under the name of RFC 8414")
            .answers("The metadata"),
        api(Get, "/.well-known/webauthn", Anyone, passkey_origins::show)
            .operation("passkeyOrigins", Service)
            .summary("The origins whose pages may use the passkeys of this domain")
            .answers("The origins, for browsers")
            .refuses(&[NotFound]),
        api(Get, REVOCATIONS, Anyone, revocations::revocations)
            .polled()
            .operation("revocations", Tokens)
            .summary("Ended tokens, signed; waits up to 10 seconds for new ones")
            .answers("A JWT of the type revocations+jwt")
            .takes(&[Since])
            .refuses(&[Throttled]),
        api(Get, "/openapi.json", Anyone, openapi::show(document))
            .polled()
            .only_in_server()
            .operation("openapi", Service)
            .summary("This document")
            .answers("This document"),
        api(Get, "/livez", Anyone, health::live)
            .polled()
            .only_in_server()
            .operation("live", Service)
            .summary("Whether the process is running")
            .answers("The process is running"),
        api(Get, "/readyz", Anyone, health::ready)
            .polled()
            .only_in_server()
            .operation("ready", Service)
            .summary("Whether the database is readable and writable")
            .answers("It is")
            .refuses(&[NotReady]),
        api(Get, "/readyz/guards", Anyone, health::guards_ready)
            .polled()
            .only_in_server()
            .operation("guardsReady", Service)
            .summary("Whether guards admit the callers that they know")
            .description(
                "As /readyz while the database is available. While PostgreSQL is not, guards \
                 admit the callers that this instance knows, for the time of the setting \
                 database.outage_grace.",
            )
            .answers("They do")
            .refuses(&[GuardsNotReady]),
    ]
}
