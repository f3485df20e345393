//! The table of routes: a row for each, with its method, its path, who may call it and its handler. For the API description, a row
//! says in words what the types of the handler cannot tell, and which refusals do not follow from them.

use std::sync::Arc;

use axum::handler::Handler;

use self::{MayCall::*, Method::*};
use super::{
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
    description::{
        Answer, Operation, OperationTypes, Parameter, Parameter::*, Shared, Shared::*, Tag, Tag::*,
    },
    downloads,
    forward_auth::GuardKind,
    handler::{AnyHandler, Function},
    may_call::Arguments,
    oauth::{introspect, revocations, revoke, well_known},
    openapi::{self, Entry},
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
        api(Get, "/api/admin/users", Admin(UsersRead), users::list)
            .operation("listUsers", Administration)
            .summary(
                "List users in the order of their addresses or, with `text`, of the words that \
                 match",
            )
            .description("A page may be short although more follow.")
            .answers("The users"),
        api(Post, "/api/admin/users", to::<order::AddUser>(), users::create)
            .operation("createUser", Administration)
            .summary("Add a user")
            .description("Without a password, they set one with a reset code or a mailed link.")
            .answers("The user")
            .takes(&[IdempotencyKey])
            .refuses(&[NotAllowed, Taken, OtherOrder]),
        api(Get, "/api/admin/users/{user}", Admin(UsersRead), users::show)
            .operation("showUser", Administration)
            .summary("Show a user with their sessions and second factors")
            .answers("The user"),
        api(Patch, "/api/admin/users/{user}", to::<order::Edit>(), users::change)
            .operation("changeUser", Administration)
            .summary(
                "Change the name, the address, its mark as verified, or whether the user is \
                 disabled",
            )
            .description(
                "The old address is told of a new one. Disabling ends the sessions, API keys \
                 and trusted browsers for good.",
            )
            .answers("The user")
            .takes(&[IfMatch])
            .refuses(&[NotAllowed, Taken, UserChanged]),
        api(Delete, "/api/admin/users/{user}", to::<order::Delete>(), users::delete)
            .operation("deleteUser", Administration)
            .summary("Delete a user and what is stored about them")
            .answers("The user is deleted")
            .takes(&[IfMatch])
            .refuses(&[Invalid, NotAllowed, UserChanged]),
        api(Get, "/api/admin/users/{user}/export", to::<order::ExportUsers>(), person::show)
            .operation("exportUser", Administration)
            .summary("Show everything that is stored about a user, without the password hash")
            .answers("What is stored"),
        api(Put, "/api/admin/users/{user}/roles/{role}", to::<order::GrantRole>(), roles::grant)
            .operation("grantRole", Administration)
            .summary("Grant a role to a user")
            .answers("Whether the user did not have it")
            .refuses(&[Invalid, NotAllowed, OrderConflict]),
        api(
            Delete,
            "/api/admin/users/{user}/roles/{role}",
            to::<order::RevokeRole>(),
            roles::revoke,
        )
        .operation("revokeRole", Administration)
        .summary("Revoke a role of a user")
        .answers("Whether the user had it")
        .refuses(&[Invalid, NotAllowed]),
        api(Get, "/api/admin/users/{user}/sessions", Admin(UsersRead), sessions_of::list)
            .operation("listUserSessions", Administration)
            .summary("List the sessions of a user")
            .answers("The sessions, the oldest first"),
        api(
            Delete,
            "/api/admin/users/{user}/sessions",
            to::<order::EndSessions>(),
            sessions_of::end_all,
        )
        .operation("endUserSessions", Administration)
        .summary("End all sessions of a user")
        .description(
            "Their tokens are refused from the next request on. Their API keys still count.",
        )
        .answers("How many there were")
        .refuses(&[NotAllowed]),
        api(
            Delete,
            "/api/admin/users/{user}/sessions/{id}",
            to::<order::EndSession>(),
            sessions_of::end,
        )
        .operation("endUserSession", Administration)
        .summary("End a session of a user")
        .answers("The session is ended")
        .id_is("The id of the session")
        .refuses(&[NotAllowed]),
        api(
            Post,
            "/api/admin/users/{user}/password",
            to::<order::SetPassword>(),
            credentials::set_password,
        )
        .operation("setUserPassword", Administration)
        .summary("Set the password of a user and end all their sessions")
        .answers("The password is set")
        .refuses(&[NotAllowed]),
        api(
            Post,
            "/api/admin/users/{user}/require-new-password",
            to::<order::RequireNewPassword>(),
            credentials::require_new_password,
        )
        .operation("requireNewPassword", Administration)
        .summary("Remove the password of a user and end all their sessions")
        .description("They set a new one with the link that they are mailed, or with a reset code.")
        .answers("Whether the user is mailed a link")
        .refuses(&[NotAllowed, UserChanged]),
        api(
            Post,
            "/api/admin/users/{user}/reset-code",
            to::<order::MakeResetCode>(),
            credentials::create_reset_code,
        )
        .operation("createResetCode", Administration)
        .summary("Make a code with which the user can set a password, once within 30 minutes")
        .answers("The code, which is shown once")
        .refuses(&[NotAllowed]),
        api(
            Post,
            "/api/admin/users/{user}/factor-reset",
            to::<order::MakeFactorReset>(),
            credentials::create_factor_reset,
        )
        .operation("createFactorReset", Administration)
        .summary(
            "Make a link with which the user can remove all their second factors, once \
                 within 30 minutes",
        )
        .answers("The link, which is shown once")
        .refuses(&[NotAllowed]),
        api(Post, "/api/admin/users/{user}/secure", to::<order::Secure>(), secure::secure)
            .operation("secureUser", Administration)
            .summary(
                "Secure an account that was taken over: end the sessions, API keys, trusted \
                 browsers, links, codes and invitations of a user, and remove the password and \
                 the second factors that were added lately",
            )
            .description(
                "The user is mailed a link to set a new password. The answer has a code in its \
                 place without mail, if `mail` is false, if the user is disabled, and if the \
                 address was changed within the last 7 days.",
            )
            .answers("What ended, and how the user gets in again")
            .refuses(&[NotAllowed, UserChanged]),
        api(Post, "/api/admin/users/{user}/unlock", to::<order::Unlock>(), credentials::unlock)
            .operation("unlockUser", Administration)
            .summary("Forget the failed logins that lock another user out")
            .answers("They are forgotten")
            .refuses(&[NotAllowed]),
        api(Post, ADMIN_IMPORT, to::<order::ImportUsers>(), import::import)
            .streamed()
            .operation("importUsers", Administration)
            .summary(
                "Add users of another system, one JSON object in each line, with the members of \
                 an export",
            )
            .description(
                "Each line of the answer says what came of one. The body is a stream; the \
                 answer begins when all of it has arrived. Your rights are judged again for \
                 each 500 lines.",
            )
            .answers(
                "A line for each user: `added`, `exists`, `differs` with `fields`, \
                 `emailTaken`, `idTaken` with `email`, `administers` with `roles` (not added: \
                 the query lacks `adminRoles=true`), `invalid` with `problem`. A line `failed` \
                 ends the import",
            )
            .refuses(&[NotAllowed])
            .reads("application/x-ndjson"),
        api(Get, ADMIN_EXPORT, to::<order::ExportUsers>(), export::export)
            .operation("exportUsers", Administration)
            .summary("Write all users as of one moment, one JSON object in each line")
            .description("Only the operator on the machine gets the password hashes.")
            .answers("The users, in the order of their addresses"),
        api(Get, "/api/admin/imported-hashes", Admin(UsersRead), imported_hashes::list)
            .operation("listImportedHashes", Administration)
            .summary(
                "List imported password hashes that have not been replaced, because their users \
                 have not logged in",
            )
            .answers("The hashes, in the order of the ids of their users"),
        api(
            Delete,
            "/api/admin/imported-hashes",
            to::<order::DropImportedHashes>(),
            imported_hashes::drop,
        )
        .operation("dropImportedHashes", Administration)
        .summary("Delete the imported password hashes of these users, who then have no password")
        .answers("How many were deleted")
        .refuses(&[NotAllowed]),
        api(Get, "/api/admin/invitations", Admin(InvitationsRead), all_invitations::list)
            .operation("listAllInvitations", Administration)
            .summary("List all invitations that nobody has used, whoever has made them")
            .answers("The invitations, in the order of their addresses"),
        api(Post, "/api/admin/invitations", to::<order::Invite>(), all_invitations::create)
            .operation("createInvitation", Administration)
            .summary("Invite somebody to register, with roles")
            .answers(
                "The invitation. Unless it is mailed, with what the invited person registers \
                 with",
            )
            .takes(&[IdempotencyKey])
            .refuses(&[MayNotInviteWithRoles, OrderConflict, OtherOrder]),
        api(
            Delete,
            "/api/admin/invitations/{invitation}",
            to::<order::RevokeInvitation>(),
            all_invitations::revoke,
        )
        .operation("revokeAnyInvitation", Administration)
        .summary("Revoke an invitation, whoever has made it")
        .answers("The invitation is revoked")
        .refuses(&[NotAllowed]),
        api(Get, "/api/me/activity", SignedIn, me::activity)
            .operation("listActivity", Accounts)
            .summary("List what happened to the account")
            .description(
                "From the audit trail. Who else has caused something, and from where, is not \
                 shown.",
            )
            .answers("The newest events"),
        api(Get, "/api/admin/audit", Admin(AuditRead), audit::list)
            .operation("listAudit", Administration)
            .summary("List the events of the audit trail")
            .answers("The newest events"),
        api(Get, "/api/admin/audit/days", Admin(AuditRead), audit::days)
            .operation("listAuditDays", Administration)
            .summary("Count sign-ins, failures and sign-ups by day")
            .answers("The last 30 days, the oldest first. Events count within a minute"),
        api(Get, "/api/admin/audit/export", Admin(AuditRead), audit::export)
            .operation("exportAudit", Administration)
            .summary("Export the audit trail")
            .answers("One event a line, the oldest first"),
        api(Get, "/api/admin/audit/checkpoint", Admin(AuditRead), audit::checkpoint)
            .operation("showCheckpoint", Administration)
            .summary("Sign the state of the audit trail")
            .answers("The checkpoint and the public keys"),
        api(Get, "/api/admin/audit/{id}/proof", Admin(AuditRead), audit::prove)
            .operation("proveEvent", Administration)
            .summary("Prove that an event is in the audit trail")
            .description("Anybody who has the public key can check the proof offline.")
            .answers("The proof")
            .id_is("The id of the event"),
        api(Post, "/api/admin/audit/verify", Admin(AuditRead), audit::verify)
            .operation("verifyAudit", Administration)
            .summary("Find what was done to the audit trail in the database")
            .description(
                "One verification runs at a time, but for that of the operator on the machine. \
                 An answer that takes longer than a second begins with blanks, and the \
                 verification ends when its client leaves.",
            )
            .answers("What was found"),
        api(Get, "/api/admin/users/{user}/refusals", Admin(UsersRead), refusals::of_user)
            .operation("listUserRefusals", Administration)
            .summary("List failed logins and refusals of a user")
            .answers("What this instance keeps in memory"),
        api(Get, "/api/admin/refusals", Admin(GuardsRead), refusals::list)
            .operation("listRefusals", Administration)
            .summary("List the latest refusals by guards and policies")
            .answers(
                "Those that this instance keeps in memory: the latest 1,000 of users, and the \
                 latest 1,000 of requests without a valid token",
            ),
        api(Get, "/api/admin/refusals/{decision}", Admin(GuardsRead), refusals::show)
            .operation("showRefusal", Administration)
            .summary("Show a refusal and its reason")
            .description("The reason shows facts about the user.")
            .answers("The refusal"),
        api(Get, "/api/admin/guards", Admin(GuardsRead), guards::list)
            .operation("listGuards", Administration)
            .summary("List the guards in force, and how many requests each has decided about")
            .answers("The guards"),
        api(Post, "/api/admin/guards/{guard}/check", Admin(GuardsRead), guards::check)
            .operation("checkGuard", Administration)
            .summary("Show how a guard decides about a user and a request")
            .description("Nothing is recorded. The reason shows facts about the user.")
            .answers("The decision and its reason")
            .refuses(&[NotDone]),
        api(Get, "/api/admin/guards/{guard}/browsers", Admin(GuardsRead), guards::check_browsers)
            .operation("checkBrowsers", Administration)
            .summary("Show what a guard lacks to sign people in with a browser")
            .answers("What is missing, and what is probably wrong"),
        api(Post, "/api/admin/guards/reload", Operator, guards::reload)
            .operation("reloadGuards", Administration)
            .summary("Read the guards from the settings file again")
            .answers("The guards in force")
            .refuses(&[NotDone]),
        api(Get, "/api/admin/signing-keys", Admin(SigningKeysRead), signing_keys::list)
            .operation("listSigningKeys", Administration)
            .summary("List the signing keys")
            .answers("The keys"),
        api(
            Post,
            "/api/admin/signing-keys",
            to::<order::RotateSigningKeys>(),
            signing_keys::rotate,
        )
        .operation("rotateSigningKeys", Administration)
        .summary("Publish a new signing key")
        .description(
            "It signs after `token.publish_before_signing`. No session ends. If one is \
                 published already, it stays.",
        )
        .answers("The keys")
        .refuses(&[NotDoneNow]),
        api(
            Delete,
            "/api/admin/signing-keys/{kid}",
            to::<order::RevokeSigningKey>(),
            signing_keys::revoke,
        )
        .operation("revokeSigningKey", Administration)
        .summary("Refuse all tokens of a signing key")
        .description("From the next request on. Another key signs in its place.")
        .answers("The other keys")
        .refuses(&[NotDoneNow]),
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
        api(Get, "/api/admin/keys", Admin(KeysRead), api_keys::list)
            .operation("listApiKeys", Administration)
            .summary("List the API keys of machines and people")
            .answers("The keys, the newest first"),
        api(Post, "/api/admin/keys", to::<order::MakeKey>(), api_keys::create)
            .operation("createApiKey", Administration)
            .summary("Make the API key of a machine")
            .description("A key makes no keys.")
            .answers("The key, which is shown once"),
        api(Delete, "/api/admin/keys/{id}", to::<order::RevokeKey>(), api_keys::revoke)
            .operation("revokeApiKey", Administration)
            .summary("Revoke an API key, but not of a user who may do more")
            .description("It is refused from the next request on.")
            .answers("The key is revoked")
            .id_is("The id of the key")
            .refuses(&[NotAllowed]),
        api(Get, "/api/admin/mail", Admin(MailRead), mail::list)
            .operation("listMail", Administration)
            .summary("List mail that waits or was given up")
            .answers("The mail")
            .refuses(&[NoMail]),
        api(Post, "/api/admin/mail/retry", to::<order::RetryMail>(), mail::retry)
            .operation("retryMail", Administration)
            .summary("Send all mail now that waits or was given up and has not expired")
            .answers("How many mails are due")
            .refuses(&[NoMail]),
        api(Get, "/api/admin/status", Admin(StatusRead), status::show)
            .operation("status", Administration)
            .summary("Show what the server knows about itself")
            .answers("The status of the instance that answers"),
        api(Get, "/api/admin/status/database", Operator, status::check_database)
            .operation("checkDatabase", Administration)
            .summary("Check the database")
            .answers(
                "What it says about itself. SQLite checks its file for damage, for at most 5 \
                 seconds",
            )
            .refuses(&[Failed]),
        api(Post, "/api/admin/probes", Operator, probes::expect)
            .operation("expectProbe", Administration)
            .summary("Announce a request through the public URL")
            .answers("It is expected"),
        api(Get, "/api/admin/probes/{nonce}", Operator, probes::show)
            .operation("showProbe", Administration)
            .summary("Show how an announced request arrived")
            .answers("How it arrived; null if it has not"),
        api(Post, "/api/admin/emergency", to::<order::RunEmergency>(), emergency::run)
            .operation("emergency", Administration)
            .summary(
                "Replace all signing keys and the secret of cookies, end all sessions, and make \
                 all links, codes and invitations void",
            )
            .description("The cure after a theft of the database, a backup or the keys.")
            .answers("What was replaced and revoked")
            .refuses(&[Failed]),
        api(Get, "/api/admin/backup", Operator, backup::make)
            .operation("backup", Administration)
            .summary("Make a backup")
            .answers(
                "Everything that is stored, with all secrets, as one JSON value in each line. \
                 `doorward backup` checks it, and also works with PostgreSQL",
            )
            .refuses(&[Failed]),
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
        // Programs get the same answer to every method here as on any path that does not exist.
        page(Any, "/", Anyone, pages::start::start).only_in_server(),
        page(Get, "/docs", Anyone, pages::docs::show(document)).only_in_server(),
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

/// The API description with the settings of this service.
fn document(doorward: &Doorward) -> String {
    openapi::document(doorward, routes().into_iter().filter_map(Route::entry))
}

/// One operation of the service.
pub struct Route {
    pub method: Method,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// Who may call it. The handler enforces it by the types of its arguments.
    pub may_call: MayCall,
    /// Whether clients poll it, so that success is logged at debug level.
    pub is_polled: bool,
    /// Whether an app that embeds the service has its own.
    pub is_only_in_server: bool,
    /// Whether the handler reads the body by itself. Any other is called when the whole body has arrived.
    is_streamed: bool,
    /// What the API description says of it, unless it is a page or a guard.
    operation: Option<Operation>,
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
        let operation = None;
        Self {
            method,
            path,
            may_call,
            is_polled,
            is_only_in_server,
            is_streamed,
            operation,
            handler,
        }
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

    /// What the API description calls it, and its group.
    fn operation(self, id: &'static str, tag: Tag) -> Self {
        self.described(|operation| Operation { id, tag, ..operation })
    }

    /// What it does.
    fn summary(self, summary: &'static str) -> Self {
        self.described(|operation| Operation { summary, ..operation })
    }

    /// What else there is to know.
    fn description(self, description: &'static str) -> Self {
        self.described(|operation| Operation { description, ..operation })
    }

    /// What its success is.
    fn answers(self, answer: &'static str) -> Self {
        self.described(|operation| Operation { answer, ..operation })
    }

    /// What the parameter `{id}` is.
    fn id_is(self, id_is: &'static str) -> Self {
        self.described(|operation| Operation { id_is, ..operation })
    }

    /// What else it reads, which its types do not tell.
    fn takes(self, takes: &'static [Parameter]) -> Self {
        self.described(|operation| Operation { takes, ..operation })
    }

    /// The refusals that do not follow from who may call it and what it takes.
    fn refuses(self, refuses: &'static [Shared]) -> Self {
        self.described(|operation| Operation { refuses, ..operation })
    }

    /// The media type of a body that the handler reads by itself.
    fn reads(self, media_type: &'static str) -> Self {
        self.described(|operation| Operation { reads: Some(media_type), ..operation })
    }

    fn described(self, change: impl FnOnce(Operation) -> Operation) -> Self {
        Self { operation: self.operation.map(change), ..self }
    }

    /// What the API description has of it.
    fn entry(self) -> Option<(&'static str, Entry)> {
        let entry = match (self.handler, self.operation) {
            (RouteHandler::Guard(kind), _) => Entry::Guard(kind),
            (_, Some(operation)) => Entry::Operation(self.method, self.may_call, operation),
            (_, None) => return None,
        };
        Some((self.path, entry))
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

fn api<T: Arguments, H>(method: Method, path: &'static str, may_call: MayCall, handler: H) -> Route
where
    H: Handler<T, Doorward, Future = ResponseFuture> + Function<T, Answer: Answer>,
{
    debug_assert_eq!(may_call, T::MAY_CALL, "{path}: the table, and what the handler enforces");
    let types = OperationTypes {
        request: T::describe,
        answers: <H::Answer as Answer>::describe,
        can_fail: <H::Answer as Answer>::CAN_FAIL,
    };
    let route = Route::new(method, path, may_call, RouteHandler::Api(AnyHandler::new(handler)));
    Route { operation: Some(Operation::of(types)), ..route }
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
    fn every_operation_has_an_id_of_its_own_and_says_what_it_does() {
        let operations: Vec<_> = routes().into_iter().filter_map(|route| route.operation).collect();
        let ids: BTreeSet<_> = operations.iter().map(|operation| operation.id).collect();
        assert_eq!(ids.len(), operations.len());
        assert!(operations.iter().all(|operation| !operation.summary.is_empty()));
    }

    #[test]
    fn no_two_routes_have_the_same_method_and_path() {
        let routes = routes();
        let distinct: BTreeSet<_> =
            routes.iter().map(|route| (route.method.as_str(), route.path)).collect();
        assert_eq!(distinct.len(), routes.len());
    }
}
