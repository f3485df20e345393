//! Short confirmations at the top of a page, and the words of links on message pages.

use super::Texts;
use crate::language::enum_texts;

enum_texts! {
    /// What just happened.
    pub enum Notice {
        SignedOut: "You are signed out.", "Sie sind abgemeldet.";
        SignedOutEverywhere:
            "You are signed out on every device.",
            "Sie sind auf allen Geräten abgemeldet.";
        /// The session has ended elsewhere or has expired.
        SessionExpired:
            "Your session has ended. Sign in again.",
            "Ihre Sitzung ist beendet. Melden Sie sich wieder an.";
        /// A new password was set with a reset code.
        PasswordReset:
            "Your new password is saved. Sign in with it.",
            "Ihr neues Passwort ist gespeichert. Melden Sie sich damit an.";
        FactorsReset:
            "Your second factors are removed. Sign in, and add new ones to your account.",
            "Ihre zweiten Faktoren sind entfernt. Melden Sie sich an und fügen Sie Ihrem Konto neue hinzu.";
        NameChanged: "Your name is saved.", "Ihr Name ist gespeichert.";
        EmailChanged: "Your e-mail address is saved.", "Ihre E-Mail-Adresse ist gespeichert.";
        PasswordChanged:
            "Your password is changed. You are signed out on all other devices.",
            "Ihr Passwort ist geändert. Sie sind auf allen anderen Geräten abgemeldet.";
        /// Another session was ended.
        SessionEnded: "The session has ended.", "Die Sitzung ist beendet.";
        /// A mail was asked for. Whether it is sent must not be told.
        MailSent:
            "If this address has an account, a mail is on its way. It may take a few minutes.",
            "Wenn es zu dieser Adresse ein Konto gibt, ist eine Mail unterwegs. Das kann einige Minuten dauern.";
        /// The mail that verifies the address was sent again.
        VerificationSent:
            "A mail is on its way. It may take a few minutes.",
            "Eine Mail ist unterwegs. Das kann einige Minuten dauern.";
        EmailVerified: "Your e-mail address is confirmed.", "Ihre E-Mail-Adresse ist bestätigt.";
        /// A mail was sent to the new address.
        EmailPending:
            "We sent a mail to your new address. Open its link, or type its code below.",
            "Wir haben eine Mail an Ihre neue Adresse gesendet. Öffnen Sie den Link darin oder geben Sie unten den Code ein.";
        /// The new address was discarded.
        EmailChangeCancelled:
            "Your e-mail address stays as it is.",
            "Ihre E-Mail-Adresse bleibt, wie sie ist.";
        /// A change of the address was undone, and a new password was set.
        EmailRestored:
            "Your old e-mail address and your new password are saved. Sign in with them.",
            "Ihre alte E-Mail-Adresse und Ihr neues Passwort sind gespeichert. Melden Sie sich damit an.";
        Invited: "The invitation is on its way.", "Die Einladung ist unterwegs.";
        InvitationRevoked: "The invitation is revoked.", "Die Einladung ist zurückgezogen.";
        /// An API key was revoked.
        KeyRevoked: "The key is revoked.", "Der Schlüssel ist zurückgezogen.";
        /// A second factor came too late.
        AnswerExpired:
            "That took too long. Please sign in again.",
            "Das hat zu lange gedauert. Bitte melden Sie sich noch einmal an.";
        /// The person has proved once more who they are.
        Confirmed:
            "It is you. Go on within the next 10 minutes.",
            "Das ist bestätigt. Machen Sie innerhalb der nächsten 10 Minuten weiter.";
        /// The person has signed in with a recovery code.
        Recovered:
            "You used a recovery code. Below, remove what you have lost, and add something new in its place.",
            "Sie haben einen Wiederherstellungscode benutzt. Entfernen Sie unten, was Sie verloren haben, und fügen Sie Ersatz hinzu.";
        PasskeyAdded: "The passkey is added.", "Der Passkey ist hinzugefügt.";
        KeyAdded: "The security key is added.", "Der Sicherheitsschlüssel ist hinzugefügt.";
        /// An authenticator app was set up.
        AppAdded: "The authenticator app is set up.", "Die Authenticator-App ist eingerichtet.";
        PasskeyRenamed: "The name is saved.", "Der Name ist gespeichert.";
        /// A passkey, a security key or an authenticator app was removed.
        FactorRemoved: "It is removed.", "Das ist entfernt.";
        LoginLinked: "The account is linked.", "Das Konto ist verknüpft.";
        /// A link to an account at another provider was removed.
        LoginRemoved: "The link is removed.", "Die Verknüpfung ist entfernt.";
        LoginNotLinked: "Nothing was linked.", "Es wurde nichts verknüpft.";
        /// A browser is no longer trusted.
        DeviceRemoved: "The browser is no longer trusted.", "Dem Browser wird nicht mehr vertraut.";
    }
}

/// Where the link of a message page leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkTo<'a> {
    /// The start page of Doorward.
    Start,
    /// The page that the person came from.
    TryAgain,
    SignIn,
    Account,
    Administration,
    /// The page that sends another mail.
    NewMail,
    /// The page to create an account with the code of an invitation.
    InvitationCode,
    /// The start page of this app.
    App(&'a str),
    /// The URL that the person asked for in this app.
    ContinueTo(&'a str),
    /// Another provider.
    ContinueWith(&'a str),
}

impl Texts {
    /// The words of a link.
    pub fn link(&self, to: LinkTo<'_>) -> String {
        let words = match to {
            LinkTo::App(title) => return self.open_app(title),
            LinkTo::ContinueTo(title) => return self.continue_to(title),
            LinkTo::ContinueWith(login) => return self.logins.continue_with(login),
            LinkTo::Start => ["Go to the start page", "Zur Startseite"],
            LinkTo::TryAgain => ["Try again", "Noch einmal versuchen"],
            LinkTo::SignIn => ["Sign in", "Anmelden"],
            LinkTo::Account => ["Open your account", "Ihr Konto öffnen"],
            LinkTo::Administration => ["Back to the administration", "Zurück zur Verwaltung"],
            LinkTo::NewMail => ["Have a new mail sent", "Neue Mail senden lassen"],
            LinkTo::InvitationCode => {
                ["I have the code of an invitation", "Ich habe den Code einer Einladung"]
            }
        };
        self.language.choose(words).into()
    }
}
