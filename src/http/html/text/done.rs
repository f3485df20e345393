//! What was just done in the administration, as the URL of the page names it, and in words.

use crate::language::enum_texts;

/// Each is a row: its name in a URL, and its text in English and German.
macro_rules! done {
    ($($done:ident $name:literal: $english:expr, $german:expr;)+) => {
        enum_texts! {
            /// What was just done.
            pub enum Done {
                $($done: $english, $german;)+
            }
        }

        impl Done {
            /// What the parameter `done` of a page says.
            pub fn by_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$done),)+
                    _ => None,
                }
            }

            /// Its name in a URL.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$done => $name),+
                }
            }
        }
    };
}

done! {
    UserAdded "user-added": "The user is added.", "Die Person ist hinzugefügt.";
    Changed "changed": "The changes are saved.", "Die Änderungen sind gespeichert.";
    Verified "verified": "The address counts as confirmed.", "Die Adresse gilt als bestätigt.";
    Unverified "unverified":
        "The address counts as not confirmed.",
        "Die Adresse gilt als nicht bestätigt.";
    Granted "granted": "The role is granted.", "Die Rolle ist erteilt.";
    Revoked "revoked": "It is revoked.", "Das ist widerrufen.";
    Unlocked "unlocked": "The account is unlocked.", "Das Konto ist entsperrt.";
    SessionEnded "session": "The session has ended.", "Die Sitzung ist beendet.";
    SessionsEnded "sessions": "All sessions have ended.", "Alle Sitzungen sind beendet.";
    OnlySessionsEnded "only-sessions":
        "All sessions have ended. The person’s API keys still count: “Secure the account” ends them, too.",
        "Alle Sitzungen sind beendet. Die API-Schlüssel der Person gelten weiter: „Konto sichern“ beendet auch sie.";
    LoginRemoved "login-removed":
        "The account there signs the person in no longer.",
        "Das Konto dort meldet die Person nicht mehr an.";
    PasswordSet "password":
        "The password is set, and all sessions have ended.",
        "Das Passwort ist gesetzt, und alle Sitzungen sind beendet.";
    NewPasswordRequired "new-password":
        "The person has to set a new password.",
        "Die Person muss ein neues Passwort setzen.";
    Disabled "disabled": "The account is disabled.", "Das Konto ist gesperrt.";
    Enabled "enabled": "The account is enabled.", "Das Konto ist freigegeben.";
    Deleted "deleted": "The user is deleted.", "Die Person ist gelöscht.";
    Invited "invited": "The invitation is on its way.", "Die Einladung ist unterwegs.";
    KeyPublished "key-published":
        "A new key is published.",
        "Ein neuer Schlüssel ist veröffentlicht.";
    MailRetried "mail-retried": "All mail is tried again.", "Alle E-Mails werden erneut versucht.";
    Confirmed "confirmed":
        "It is you. Go on within the next 10 minutes.",
        "Das ist bestätigt. Machen Sie innerhalb der nächsten 10 Minuten weiter.";
}
