//! The table of kinds: one row for each kind of event. A kind without a row does not compile.

use super::{
    EventKind,
    details::{Details, join},
    kind_info::{
        EventGroup, EventOutcome, KindInfo,
        LogWords::{Order, Own, OwnOrOrder},
        Severity::{High, Medium},
        info, kind, warn,
    },
    ocsf_type::{Entity, OcsfType},
    sentence,
};
use crate::language::{Language, Text, grouped, sort_key};
use EventGroup::{Deletions, Orders, Refusals, SignIns};

macro_rules! kinds {
    ($($kind:ident => $row:expr,)+) => {
        /// The kind of an event, without what is known about it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum EventName {
            $($kind),+
        }

        /// All kinds.
        pub const KINDS: &[KindInfo] = &[$($row),+];

        impl EventName {
            pub const ALL: &[Self] = &[$(Self::$kind),+];
        }

        impl EventKind {
            pub fn event_name(&self) -> EventName {
                match self {
                    $(Self::$kind { .. } => EventName::$kind),+
                }
            }
        }
    };
}

// A row has: the name in the audit trail, how long it is kept, what it is in the Open Cybersecurity Schema Framework, and the line in
// the log; the meaning; the title on pages in English and German. What only some kinds have follows as a method of `KindInfo`.
kinds! {
    Registered => kind("registered", Orders, OcsfType::ACCOUNT_CREATE, info(Own("registered")),
        "somebody has registered",
        ["Account created", "Konto angelegt"]
    ).shares_type("user.created").says(sentence::roles),
    RegistrationRefused => kind("registration_refused", Refusals, OcsfType::ACCOUNT_CREATE, info(Own("registration refused")),
        "somebody was not registered",
        ["Sign-up refused", "Registrierung abgelehnt"]
    ).failure().says(sentence::registration_refusal),
    UserAdded => kind("user_added", Orders, OcsfType::ACCOUNT_CREATE, info(Order("added")),
        "the operator or an administrator has added a user",
        ["Account created by an administrator", "Konto von der Verwaltung angelegt"]
    ).shares_type("user.created"),
    UsersImported => kind("users_imported", Orders, OcsfType::ACCOUNT_CREATE, info(Order("users imported")),
        "users were imported: how many",
        ["Users imported", "Personen importiert"]
    ).says(sentence::users),
    // The line of `UsersImported` tells of all of them.
    UserImported => kind("user_imported", Orders, OcsfType::ACCOUNT_CREATE, None,
        "an import has added a user: with which roles",
        ["Account imported", "Konto importiert"]
    ).shares_type("user.created").says(sentence::roles),
    ImportedHashDropped => kind("imported_hash_dropped", Orders, OcsfType::PASSWORD_RESET, None,
        "the imported password hash of a user was deleted",
        ["Imported password removed", "Übernommenes Passwort entfernt"]
    ),
    UserChanged => kind("user_changed", Orders, OcsfType::update(Entity::User), info(Own("user changed")),
        "the name or the address of a user has changed",
        ["Name or e-mail address changed", "Name oder E-Mail-Adresse geändert"]
    ).shares_type("user.updated").says(sentence::changed),
    UserDisabled => kind("user_disabled", Orders, OcsfType::ACCOUNT_DISABLE, info(Order("disabled")),
        "a user was disabled: sessions, API keys and trusted browsers have ended",
        ["Account disabled", "Konto gesperrt"]
    ).shares_type("user.disabled"),
    UserEnabled => kind("user_enabled", Orders, OcsfType::ACCOUNT_ENABLE, info(Order("enabled")),
        "a user was enabled",
        ["Account enabled", "Konto freigegeben"]
    ).shares_type("user.enabled"),
    UserSecured => kind("user_secured", Orders, OcsfType::PASSWORD_RESET, info(Order("account secured")),
        "everything by which somebody could be in an account was ended",
        ["Account secured: every way in has ended", "Konto gesichert: alle Zugänge sind beendet"]
    ).says(sentence::secured),
    UserDeleted => kind("user_deleted", Deletions, OcsfType::ACCOUNT_DELETE, info(OwnOrOrder("deleted by the user", "deleted")),
        "a user was deleted",
        ["Account deleted", "Konto gelöscht"]
    ).shares_type("user.deleted"),
    UnverifiedUserDeleted => kind("unverified_user_deleted", Deletions, OcsfType::ACCOUNT_DELETE,
        warn(Own("unverified user deleted: the owner of the address takes it back")),
        "a user was deleted because the owner of the address has taken it back",
        ["Unverified account deleted", "Unbestätigtes Konto gelöscht"]
    ).shares_type("user.deleted").says(sentence::taken_back),
    RoleGranted => kind("role_granted", Orders, OcsfType::ATTACH_POLICY, info(Order("role set")),
        "a user has got a role",
        ["Role granted", "Rolle erteilt"]
    ).shares_type("user.role_granted").says(sentence::role),
    RoleRevoked => kind("role_revoked", Orders, OcsfType::DETACH_POLICY, info(Order("role set")),
        "a user has lost a role",
        ["Role revoked", "Rolle entzogen"]
    ).shares_type("user.role_revoked").says(sentence::role),
    AccountExported => kind("account_exported", Orders, OcsfType::read(Entity::User),
        info(OwnOrOrder("account exported by its user", "account exported")),
        "everything about a user was read out",
        ["Data of the account exported", "Daten des Kontos exportiert"]
    ),
    UsersExported => kind("users_exported", Orders, OcsfType::read(Entity::ALL_USERS), info(Order("all users exported")),
        "all users were read out",
        ["All users exported", "Alle Personen exportiert"]
    ).says(sentence::with_hashes),

    VerificationRequested => kind("verification_requested", Orders, OcsfType::create(Entity::MAIL), info(Own("verification mail requested")),
        "a mail that verifies the address was asked for",
        ["Verification mail requested", "Bestätigungsmail angefordert"]
    ),
    // The new address is stored with the user.
    EmailChangeRequested => kind("email_change_requested", Orders, OcsfType::update(Entity::User),
        info(Own("change of the e-mail address requested")),
        "a mail that changes the address was asked for",
        ["Change of the e-mail address requested", "Änderung der E-Mail-Adresse angefordert"]
    ),
    EmailChangeCancelled => kind("email_change_cancelled", Orders, OcsfType::update(Entity::User),
        info(Own("change of the e-mail address cancelled")),
        "a new address was discarded before it was verified",
        ["Change of the e-mail address cancelled", "Änderung der E-Mail-Adresse verworfen"]
    ),
    EmailVerified => kind("email_verified", Orders, OcsfType::update(Entity::User), info(Own("e-mail address verified")),
        "an address was verified",
        ["E-mail address verified", "E-Mail-Adresse bestätigt"]
    ).shares_type("user.email_verified").says(sentence::purpose),
    EmailVerificationSet => kind("email_verification_set", Orders, OcsfType::update(Entity::User), info(Order("e-mail address verification set")),
        "an address was marked as verified, or as not verified",
        ["Verification of the e-mail address changed", "Bestätigung der E-Mail-Adresse geändert"]
    ).shares_type("user.updated").says(sentence::verification),
    // Somebody else may have changed the address.
    EmailRestored => kind("email_restored", Orders, OcsfType::update(Entity::User),
        info(Own("e-mail address restored, password set and all sessions ended")),
        "a change of the address was taken back",
        ["E-mail address restored", "E-Mail-Adresse wiederhergestellt"]
    ).shares_type("user.updated").severity(Medium),
    MailRequested => kind("mail_requested", Refusals, OcsfType::create(Entity::MAIL), info(Own("mail requested")),
        "a mail with a link or a code was asked for",
        ["Mail requested", "Mail angefordert"]
    ).says(sentence::purpose),
    MailWithheld => kind("mail_withheld", Refusals, OcsfType::create(Entity::MAIL), info(Own("no mail: the address has got too much")),
        "a mail was asked for, to an address that has got too many",
        ["Mail withheld", "Mail zurückgehalten"]
    ).failure().says(sentence::too_many_mails),

    PasswordChanged => kind("password_changed", Orders, OcsfType::PASSWORD_CHANGE, info(OwnOrOrder("password changed", "password set")),
        "a user has another password",
        ["Password changed", "Passwort geändert"]
    ).shares_type("user.password_changed"),
    PasswordReset => kind("password_reset", Orders, OcsfType::PASSWORD_RESET, info(Own("password reset")),
        "a user has set a password with a link or code",
        ["Password reset", "Passwort zurückgesetzt"]
    ).shares_type("user.password_changed"),
    ResetFailed => kind("reset_failed", Refusals, OcsfType::PASSWORD_RESET, info(Own("failed reset")),
        "a link or code to set a password with was wrong",
        ["Wrong link or code for a new password", "Falscher Link oder Code für ein neues Passwort"]
    ).failure(),
    PasswordRemoved => kind("password_removed", Orders, OcsfType::PASSWORD_RESET, info(Order("password removed")),
        "the password of a user was removed",
        ["Password removed by the administration", "Passwort von der Verwaltung entfernt"]
    ),
    ResetCodeCreated => kind("reset_code_created", Orders, OcsfType::PASSWORD_RESET, info(Order("reset code created")),
        "a code to set a password with was made",
        ["Code for a new password created", "Code für ein neues Passwort erstellt"]
    ),
    UnknownSecret => kind("unknown_secret", Refusals, OcsfType::PREAUTH, info(Own("unknown one-time secret")),
        "the secret in a link was wrong, had expired or was used",
        ["Unknown link or code", "Unbekannter Link oder Code"]
    ).failure(),

    SignedIn => kind("signed_in", SignIns, OcsfType::LOGON, info(Own("logged in")),
        "a user has signed in",
        ["Signed in", "Angemeldet"]
    ).shares_type("session.created").says(sentence::sign_in),
    ExternalSignInFailed => kind("external_sign_in_failed", SignIns, OcsfType::LOGON, info(Own("login at another provider failed")),
        "a login at another provider has signed nobody in: which one, and why",
        ["Sign-in at another provider failed", "Anmeldung bei einem anderen Anbieter fehlgeschlagen"]
    ).failure().says(sentence::external_failure),
    FactorAsked => kind("factor_asked", SignIns, OcsfType::AUTHENTICATION_OTHER, info(Own("asked for the second factor")),
        "the password or code was right, and the second factor was missing",
        ["Asked for the second factor, after the first one was given", "Nach dem zweiten Faktor gefragt, der erste wurde angegeben"]
    ).says(sentence::methods),
    SignInFailed => kind("sign_in_failed", SignIns, OcsfType::LOGON, info(Own("failed login")),
        "a sign-in has failed: why",
        ["Sign-in failed", "Anmeldung fehlgeschlagen"]
    ).failure().says(sentence::login_refusal),
    SignedInToApp => kind("signed_in_to_app", SignIns, OcsfType::LOGON, info(Own("signed in to an app")),
        "a browser has carried its session to an app",
        ["Signed in to an app", "Bei einer App angemeldet"]
    ),
    SignedOut => kind("signed_out", SignIns, OcsfType::LOGOFF, info(Own("logged out")),
        "a user has signed out",
        ["Signed out", "Abgemeldet"]
    ).shares_type("session.ended"),
    SessionEnded => kind("session_ended", Orders, OcsfType::LOGOFF, info(OwnOrOrder("session ended by its user", "session ended")),
        "a session was ended",
        ["Session ended", "Sitzung beendet"]
    ).shares_type("session.ended"),
    SessionEndedByClient => kind("session_ended_by_client", Orders, OcsfType::LOGOFF, info(Own("session ended by a client")),
        "a program has revoked the token of a session",
        ["Session ended by an app", "Sitzung von einer App beendet"]
    ).shares_type("session.ended").says(sentence::app),
    SessionsEnded => kind("sessions_ended", Orders, OcsfType::LOGOFF, info(OwnOrOrder("logged out everywhere", "sessions ended")),
        "all sessions of a user were ended",
        ["All sessions ended", "Alle Sitzungen beendet"]
    ).shares_type("session.ended").says(sentence::sessions),
    TokenReused => kind("token_reused", Orders, OcsfType::LOGOFF,
        warn(Own("refresh token reuse: a replaced token was used again, so the session has been ended")),
        "a replaced token was used again, and its session has ended",
        ["An old token was used again, so the session has ended", "Ein altes Token wurde erneut benutzt, die Sitzung ist beendet"]
    ).failure().shares_type("session.ended"),
    SteppedUp => kind("stepped_up", SignIns, OcsfType::AUTHENTICATION_OTHER, info(Own("stepped up")),
        "a user has shown again who they are, or shown more",
        ["Confirmed again", "Erneut bestätigt"]
    ).says(sentence::methods),

    FactorAdded => kind("factor_added", Orders, OcsfType::FACTOR_ENABLE, info(Own("second factor added")),
        "a second factor was added",
        ["Second factor added", "Zweiter Faktor hinzugefügt"]
    ).shares_type("factor.added").says(sentence::factor),
    FactorRemoved => kind("factor_removed", Orders, OcsfType::FACTOR_DISABLE, info(Own("second factor removed")),
        "a second factor was removed",
        ["Second factor removed", "Zweiter Faktor entfernt"]
    ).shares_type("factor.removed").says(sentence::factor),
    PasskeyRenamed => kind("passkey_renamed", Orders, OcsfType::rename(Entity::PASSKEY), info(Own("passkey renamed")),
        "a passkey was renamed",
        ["Passkey renamed", "Passkey umbenannt"]
    ),
    RecoveryCodesReplaced => kind("recovery_codes_replaced", Orders, OcsfType::update(Entity::RECOVERY_CODES), info(Own("recovery codes replaced")),
        "a user has new recovery codes",
        ["Recovery codes replaced", "Wiederherstellungscodes ersetzt"]
    ),
    TrustedDeviceRemoved => kind("trusted_device_removed", Orders, OcsfType::delete(Entity::TRUSTED_BROWSER), info(Own("trusted device removed")),
        "a browser is not trusted any more",
        ["Trusted browser removed", "Vertrauter Browser entfernt"]
    ),
    FactorResetCreated => kind("factor_reset_created", Orders, OcsfType::create(Entity::FACTOR_RESET), info(Order("factor reset link created")),
        "a link that removes all second factors of a user was made",
        ["Link to remove second factors created", "Link zum Entfernen der zweiten Faktoren erstellt"]
    ),
    FactorsReset => kind("factors_reset", Orders, OcsfType::FACTOR_DISABLE,
        warn(Own("second factors removed by a reset link and all sessions ended")),
        "all second factors of a user were removed with that link",
        ["All second factors removed", "Alle zweiten Faktoren entfernt"]
    ).shares_type("factor.removed"),
    IdentityLinked => kind("identity_linked", Orders, OcsfType::FACTOR_ENABLE, info(Own("login linked")),
        "an account at another provider was linked",
        ["Account at another provider linked", "Konto bei einem anderen Anbieter verknüpft"]
    ).shares_type("identity.linked").says(sentence::login),
    IdentityUnlinked => kind("identity_unlinked", Orders, OcsfType::FACTOR_DISABLE, info(OwnOrOrder("login unlinked", "login unlinked")),
        "the link to an account at another provider was removed",
        ["Account at another provider unlinked", "Verknüpfung mit einem anderen Anbieter entfernt"]
    ).shares_type("identity.unlinked").says(sentence::login),

    AccountUnlocked => kind("account_unlocked", Orders, OcsfType::ACCOUNT_UNLOCK, info(Order("unlocked")),
        "failed sign-ins of a user do not count any more",
        ["Account unlocked after failed sign-ins", "Konto nach fehlgeschlagenen Anmeldungen entsperrt"]
    ),

    Invited => kind("invited", Orders, OcsfType::create(Entity::INVITATION), info(OwnOrOrder("invited by a user", "invited")),
        "somebody was invited",
        ["Somebody invited", "Jemand eingeladen"]
    ).shares_type("invitation.created").says(sentence::roles),
    InvitationRevoked => kind("invitation_revoked", Orders, OcsfType::delete(Entity::INVITATION),
        info(OwnOrOrder("invitation revoked by its user", "invitation revoked")),
        "an invitation was revoked",
        ["Invitation revoked", "Einladung zurückgezogen"]
    ).shares_type("invitation.revoked"),
    EverythingRevoked => kind("everything_revoked", Orders, OcsfType::delete(Entity::EVERYTHING),
        warn(Order("all keys and secrets replaced, and all sessions ended,")),
        "all keys, secrets, sessions, links and codes were replaced or revoked",
        ["Emergency: everything revoked", "Notfall: alles widerrufen"]
    ).severity(High).says(sentence::revoked),

    ServiceStarted => kind("service_started", Orders, OcsfType::START, None,
        "the service has started: its version, changed settings, guards, logins, and whether with a new signing key",
        ["Service started", "Dienst gestartet"]
    ).says(sentence::started),
    ServiceStopped => kind("service_stopped", Orders, OcsfType::STOP, None,
        "the service has stopped",
        ["Service stopped", "Dienst beendet"]
    ),
    SigningKeyRotated => kind("signing_key_rotated", Orders, OcsfType::create(Entity::SIGNING_KEY), info(Order("signing key rotated")),
        "a new signing key was published",
        ["New signing key published", "Neuer Signaturschlüssel veröffentlicht"]
    ).says(sentence::signing_key),
    SigningKeyRevoked => kind("signing_key_revoked", Orders, OcsfType::delete(Entity::SIGNING_KEY), warn(Order("signing key revoked")),
        "the tokens of a signing key are refused",
        ["Signing key revoked", "Signaturschlüssel widerrufen"]
    ).says(sentence::signing_key),
    GuardsReloaded => kind("guards_reloaded", Orders, OcsfType::update(Entity::GUARDS), info(Order("guards reloaded")),
        "the guards were read again",
        ["Guards read again", "Guards neu geladen"]
    ).says(sentence::reloaded),
    LoginsReloaded => kind("logins_reloaded", Orders, OcsfType::update(Entity::LOGINS), info(Order("logins reloaded")),
        "other providers that people sign in with were declared, changed or removed: which",
        ["Sign-in with others changed", "Anmeldung über andere geändert"]
    ).says(sentence::reloaded),
    MailRetried => kind("mail_retried", Orders, OcsfType::SERVICE_OTHER, info(Order("mail tried again")),
        "mail that waited was made due",
        ["Mail tried again", "Mails erneut versucht"]
    ).says(sentence::mails),
    KeyCreated => kind("key_created", Orders, OcsfType::create(Entity::API_KEY), info(Order("API key created")),
        "an API key was made",
        ["API key created", "API-Schlüssel erstellt"]
    ).shares_type("key.created").says(sentence::key_name).personal("name"),
    KeyRevoked => kind("key_revoked", Orders, OcsfType::delete(Entity::API_KEY), info(Order("API key revoked")),
        "an API key was revoked",
        ["API key revoked", "API-Schlüssel widerrufen"]
    ).shares_type("key.revoked").says(sentence::key_name).personal("name"),
    BackupMade => kind("backup_made", Orders, OcsfType::read(Entity::DATABASE), info(Order("backup made")),
        "everything was read out, with all secrets",
        ["Backup made", "Sicherung erstellt"]
    ),
    BackupRestored => kind("backup_restored", Orders, OcsfType::update(Entity::DATABASE), info(Order("backup restored")),
        "the contents of the database were replaced by those of a backup",
        ["Backup restored", "Sicherung wiederhergestellt"]
    ).says(sentence::made_at),
    DataMoved => kind("data_moved", Orders, OcsfType::read(Entity::DATABASE), info(Order("data copied to another database")),
        "everything was copied to another database",
        ["Data copied to another database", "Daten in eine andere Datenbank kopiert"]
    ).says(sentence::to_database),
    GuardRefused => kind("guard_refused", Refusals, OcsfType::SESSION_OTHER, None,
        "a guard has refused somebody who is signed in",
        ["Access to an app refused", "Zugang zu einer App verweigert"]
    ).failure().says(sentence::guard),
    MailGivenUp => kind("mail_given_up", Orders, OcsfType::SERVICE_OTHER, None,
        "no mail server has taken a mail",
        ["A mail could not be delivered", "Eine Mail war nicht zustellbar"]
    ).failure().says(sentence::delivery_failure).personal("failure"),
    AuditExported => kind("audit_exported", Orders, OcsfType::read(Entity::AUDIT_TRAIL), info(Order("audit trail exported")),
        "events of the trail were read out",
        ["Audit trail exported", "Protokoll exportiert"]
    ).says(sentence::format),
    // Who had access to the lost secret can have changed what is older.
    AuditSecretReplaced => kind("audit_secret_replaced", Deletions, OcsfType::update(Entity::AUDIT_SECRET),
        warn(Own("the audit trail goes on under a new name: its secret was lost")),
        "the secret of the trail was lost, and the trail goes on under a new name",
        ["Secret of the audit trail replaced", "Geheimnis des Protokolls ersetzt"]
    ).severity(High),
    TrailPruned => kind("trail_pruned", Orders, OcsfType::delete(Entity::AUDIT_TRAIL), None,
        "events have reached the end of their retention: of which groups, and before which time",
        ["Old events deleted", "Alte Ereignisse gelöscht"]
    ).says(sentence::pruned),
    EventsLeftOut => kind("events_left_out", Refusals, OcsfType::SERVICE_OTHER, None,
        "more was refused than is recorded: how much",
        ["Events that were not recorded", "Nicht aufgezeichnete Ereignisse"]
    ).says(left_out),
}

impl EventName {
    /// The kind with this name in the audit trail. `None` if another version has written it.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }

    /// Its row in the table.
    pub const fn info(self) -> &'static KindInfo {
        &KINDS[self as usize]
    }

    /// Its name in the audit trail.
    pub const fn as_str(self) -> &'static str {
        self.info().name
    }

    /// What the kind with this name in the audit trail is called on pages.
    pub(super) fn title(name: &str, language: Language) -> String {
        const UNKNOWN: Text = ["Unknown event", "Unbekanntes Ereignis"];
        match Self::parse(name) {
            Some(kind) => language.choose(kind.info().title).into(),
            None => format!("{} ({name})", language.choose(UNKNOWN)),
        }
    }
}

impl EventKind {
    /// What is known of its kind.
    pub fn info(&self) -> &'static KindInfo {
        self.event_name().info()
    }

    /// Its name in the audit trail.
    pub fn name(&self) -> &'static str {
        self.info().name
    }

    pub fn outcome(&self) -> EventOutcome {
        match self {
            // The person was admitted.
            Self::GuardRefused { only_reported: true, .. } => EventOutcome::Success,
            kind => kind.info().outcome,
        }
    }
}

impl EventGroup {
    /// The names of its kinds.
    pub fn kinds(self) -> impl Iterator<Item = &'static str> {
        KINDS.iter().filter(move |kind| kind.group == self).map(|kind| kind.name)
    }
}

/// How many events of each kind, in the order of their titles.
fn left_out(of: &Details<'_>, language: Language) -> Option<String> {
    let mut words: Vec<_> = of
        .counts("counts")?
        .map(|(name, count)| format!("{}: {}.", EventName::title(name, language), grouped(count)))
        .collect();
    words.sort_by_cached_key(|words| sort_key(words));
    join(words.into_iter().map(Some))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, env, fs, path::Path};

    use super::*;

    #[test]
    fn no_two_kinds_have_one_name_and_each_is_found_by_its_own() {
        let names: BTreeSet<_> = KINDS.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), KINDS.len());
        for kind in EventName::ALL {
            assert_eq!(EventName::parse(kind.as_str()), Some(*kind));
        }
        assert_eq!(EventName::parse("of_the_future"), None);
    }

    #[test]
    fn a_type_is_a_thing_and_what_happened_to_it() {
        let is_word =
            |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        for kind in KINDS {
            let event_type = kind.event_type();
            let (thing, happened) = event_type.split_once('.').unwrap();
            assert!(is_word(thing) && is_word(happened) && !happened.is_empty(), "{event_type}");
            assert!(thing != "audit" || happened == kind.name, "{event_type}");
        }
    }

    /// With `DOORWARD_WRITE_KINDS=1` it writes them.
    #[expect(clippy::disallowed_methods, reason = "the environment says whether to write the file")]
    #[test]
    fn the_document_has_every_kind_as_the_table_has_it_and_no_other() {
        const HEAD: &str = "\n| kind | type | kept as | meaning |\n|---|---|---|---|\n";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/audit.md");
        let document = fs::read_to_string(&path).unwrap();
        let (before, table) = document.split_once(HEAD).unwrap();
        let (rows, after) = table.split_once("\n\n").unwrap();
        let row = |kind: &KindInfo| {
            let (event_type, group) = (kind.event_type(), kind.group.name());
            format!("| `{}` | `{event_type}` | {group} | {} |", kind.name, kind.meaning)
        };
        let expected: Vec<_> = KINDS.iter().map(row).collect();
        if env::var_os("DOORWARD_WRITE_KINDS").is_some() {
            let rows = expected.join("\n");
            fs::write(path, format!("{before}{HEAD}{rows}\n\n{after}")).unwrap();
            return;
        }
        let rows: Vec<_> = rows.lines().collect();
        assert_eq!(rows, expected, "CONTRIBUTING.md says how to write them anew");
    }
}
