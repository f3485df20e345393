//! The rows of the API for administrators.

use super::{MayCall::*, Method::*, Route, api, to};
use crate::{
    access::scope::Scope::*,
    account::order,
    http::{
        api::admin::{
            audit, backup, credentials, emergency, export, guards, identities, import,
            imported_hashes, invitations, keys, mail, person, probes, refusals, roles, secure,
            sessions, signing_keys, status, users,
        },
        description::{Parameter::*, Shared::*, Tag::*},
        paths::{ADMIN_EXPORT, ADMIN_IMPORT},
    },
};

/// The rows of the API for administrators.
pub(super) fn rows() -> Vec<Route> {
    vec![
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
        api(Get, "/api/admin/users/{user}/sessions", Admin(UsersRead), sessions::list)
            .operation("listUserSessions", Administration)
            .summary("List the sessions of a user")
            .answers("The sessions, the oldest first"),
        api(
            Delete,
            "/api/admin/users/{user}/sessions",
            to::<order::EndSessions>(),
            sessions::end_all,
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
            sessions::end,
        )
        .operation("endUserSession", Administration)
        .summary("End a session of a user")
        .answers("The session is ended")
        .id_is("The id of the session")
        .refuses(&[NotAllowed]),
        api(Get, "/api/admin/users/{user}/identities", Admin(UsersRead), identities::list)
            .operation("listUserIdentities", Administration)
            .summary("List the accounts of a user at other providers, by which they sign in")
            .answers("The accounts, the oldest first"),
        api(
            Delete,
            "/api/admin/users/{user}/identities/{id}",
            to::<order::RemoveIdentity>(),
            identities::remove,
        )
        .operation("removeUserIdentity", Administration)
        .summary("Remove an account of a user at another provider")
        .description(
            "It signs the user in no longer, also if it was their last way to sign in. The sessions \
                 in which they have signed in with a provider end, and they are told by mail.",
        )
        .answers("It is removed")
        .id_is("The id of the account")
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
                 `emailTaken`, `idTaken` and `identityTaken` with `email`, `administers` with `roles` (not added: \
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
        api(Get, "/api/admin/invitations", Admin(InvitationsRead), invitations::list)
            .operation("listAllInvitations", Administration)
            .summary("List all invitations that nobody has used, whoever has made them")
            .answers("The invitations, in the order of their addresses"),
        api(Post, "/api/admin/invitations", to::<order::Invite>(), invitations::create)
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
            invitations::revoke,
        )
        .operation("revokeAnyInvitation", Administration)
        .summary("Revoke an invitation, whoever has made it")
        .answers("The invitation is revoked")
        .refuses(&[NotAllowed]),
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
        api(Get, "/api/admin/keys", Admin(KeysRead), keys::list)
            .operation("listApiKeys", Administration)
            .summary("List the API keys of machines and people")
            .answers("The keys, the newest first"),
        api(Post, "/api/admin/keys", to::<order::MakeKey>(), keys::create)
            .operation("createApiKey", Administration)
            .summary("Make the API key of a machine")
            .description("A key makes no keys.")
            .answers("The key, which is shown once"),
        api(Delete, "/api/admin/keys/{id}", to::<order::RevokeKey>(), keys::revoke)
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
    ]
}
