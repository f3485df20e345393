//! The messages that are a page of their own.

use std::time::Duration;

use super::Texts;

/// A message that fills a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The request is malformed (400).
    BadRequest,
    /// The action needs a sign-in that is not long ago (401).
    SignInAgain,
    /// An app needs a sign-in that is not long ago, from somebody who signs in by mail (200).
    SignInAgainForApp,
    /// A form was sent from another site (403).
    CrossSite,
    /// The administrator lacks the scope of the page (403).
    NotPermitted,
    /// The app's host has no try cookie: the browser keeps none (403).
    NoCookie,
    /// The sign-in code was used, has expired or is not valid (403).
    LinkUsed,
    /// There is no such page (404).
    NotFound,
    /// The refusal is unknown or no longer kept (404).
    UnknownDecision,
    /// The page does not support the method (405).
    MethodNotAllowed,
    /// The person was admitted while the form was on its way, and the app did not get it (409).
    FormNotSent,
    /// The request took too long to arrive (408).
    TooSlow,
    /// The form has more bytes than allowed (413).
    TooLarge,
    /// The body is not a form (415).
    NotAForm,
    /// Cookies need HTTPS, and this address has none (421).
    HttpsNeeded,
    /// Too many requests (429).
    Throttled(Duration),
    /// A bug, or a damaged database (500).
    Internal,
    /// A temporary internal failure (503).
    Unavailable,
    /// What stays of it in the audit trail, and for so many days; `None` is for ever.
    AccountDeleted {
        kept_days: Option<u32>,
    },
    /// The service sends no mail (501).
    NeedsMail,
    /// The link that confirms an address was used, has expired or is not valid (410).
    VerifyLinkDead,
    /// The link that undoes a change of the address was used, has expired or is not valid (410).
    RestoreLinkDead,
    FactorResetLinkDead,
    /// The link that sets a new password was used, has expired or is not valid (410).
    ResetLinkDead,
    /// The link that signs in was used, has expired or is not valid (410).
    SignInLinkDead,
    /// The invitation was used or revoked, has expired or is not valid (410).
    InvitationDead,
    /// Nobody can register.
    SignUpClosed,
    /// Only people with an invitation can register.
    SignUpInvited,
    /// The owner of the address gets a mail.
    SignUpMailed,
    /// A person who is not signed in here has confirmed their address.
    EmailVerified,
    /// People with an address of this domain sign in elsewhere.
    SignInElsewhere,
    /// The address that another provider vouches for has an account, which is not linked.
    LinkFirst,
}

/// The words of a message.
#[derive(Debug, PartialEq, Eq)]
pub struct MessageText {
    /// What happened.
    pub heading: &'static str,
    /// What the person can do.
    pub explanation: String,
}

impl Texts {
    pub fn message(&self, message: Message) -> MessageText {
        let (heading, explanation) = match message {
            Message::Throttled(wait) => {
                let heading = self.language.choose(["Too many attempts", "Zu viele Versuche"]);
                return MessageText { heading, explanation: self.try_again_in(wait) };
            }
            Message::SignInElsewhere => (
                ["You sign in elsewhere", "Sie melden sich woanders an"],
                [
                    "People with your address sign in with their account there.",
                    "Wer Ihre Adresse hat, meldet sich mit dem Konto dort an.",
                ],
            ),
            Message::LinkFirst => (
                ["You have an account here already", "Sie haben hier schon ein Konto"],
                [
                    "An account here has your address. Sign in to it once, and then link the other one.",
                    "Ein Konto hier hat Ihre Adresse. Melden Sie sich einmal damit an und verknüpfen Sie dann das andere.",
                ],
            ),
            Message::AccountDeleted { kept_days } => {
                let heading =
                    self.language.choose(["Your account is deleted", "Ihr Konto ist gelöscht"]);
                let explanation =
                    format!("{} {}", self.account_deleted, self.what_stays(kept_days));
                return MessageText { heading, explanation };
            }
            Message::BadRequest => (
                ["This request is not valid", "Diese Anfrage ist nicht gültig"],
                [
                    "Your browser sent something that cannot be read. Go back and try again.",
                    "Ihr Browser hat etwas gesendet, das nicht lesbar ist. Gehen Sie zurück und versuchen Sie es noch einmal.",
                ],
            ),
            Message::SignInAgain => (
                ["Sign in again", "Melden Sie sich noch einmal an"],
                [
                    "Your last sign-in is too long ago for this change. Sign in again, and then repeat it within 10 minutes.",
                    "Ihre letzte Anmeldung liegt für diese Änderung zu lange zurück. Melden Sie sich noch einmal an und wiederholen Sie sie dann innerhalb von 10 Minuten.",
                ],
            ),
            Message::SignInAgainForApp => (
                ["Sign in again", "Melden Sie sich noch einmal an"],
                [
                    "Your last sign-in is too long ago for this app. Sign in again, and you are led to it.",
                    "Ihre letzte Anmeldung liegt für diese App zu lange zurück. Melden Sie sich noch einmal an, dann geht es zu ihr weiter.",
                ],
            ),
            Message::CrossSite => (
                ["This came from another site", "Das kam von einer anderen Website"],
                [
                    "For your safety, forms are accepted only from these pages themselves. Open the page and try again.",
                    "Zu Ihrer Sicherheit werden Formulare nur von diesen Seiten selbst angenommen. Öffnen Sie die Seite und versuchen Sie es noch einmal.",
                ],
            ),
            Message::NotPermitted => (
                ["You may not do this", "Das dürfen Sie nicht"],
                [
                    "You administer this service, but your roles do not include this. Ask somebody who may change them.",
                    "Sie verwalten diesen Dienst, aber Ihre Rollen schließen das nicht ein. Fragen Sie jemanden, der sie ändern darf.",
                ],
            ),
            Message::NoCookie => (
                ["Your browser kept no cookie", "Ihr Browser hat kein Cookie gespeichert"],
                [
                    "Signing in needs cookies. Allow cookies for this site, then open it again.",
                    "Für die Anmeldung sind Cookies nötig. Erlauben Sie Cookies für diese Website und öffnen Sie sie dann noch einmal.",
                ],
            ),
            Message::LinkUsed => (
                ["This sign-in link is no longer valid", "Dieser Anmeldelink gilt nicht mehr"],
                [
                    "It works once and for one minute. Open the app again. While you are signed in, this needs no password.",
                    "Er gilt nur einmal und nur eine Minute lang. Öffnen Sie die App noch einmal. Solange Sie angemeldet sind, brauchen Sie dazu kein Passwort.",
                ],
            ),
            Message::NotFound => (
                ["There is no such page", "Diese Seite gibt es nicht"],
                [
                    "Check the address. The page may have moved.",
                    "Prüfen Sie die Adresse. Vielleicht ist die Seite umgezogen.",
                ],
            ),
            Message::UnknownDecision => (
                ["This decision is not known", "Diese Entscheidung ist nicht bekannt"],
                [
                    "Only the latest decisions are kept, and not across a restart. Try to open the app again for a new number.",
                    "Nur die letzten Entscheidungen werden aufbewahrt, und nicht über einen Neustart hinaus. Öffnen Sie die App noch einmal, um eine neue Nummer zu erhalten.",
                ],
            ),
            Message::MethodNotAllowed => (
                ["This cannot be done here", "Das geht hier nicht"],
                [
                    "The page exists, but it does not accept this kind of request.",
                    "Die Seite gibt es, aber sie nimmt diese Art von Anfrage nicht an.",
                ],
            ),
            Message::FormNotSent => (
                ["Your form was not sent", "Ihr Formular wurde nicht gesendet"],
                [
                    "You were given access only while it was on its way. Go back and send it again, or reload this page.",
                    "Sie haben erst Zugang bekommen, als es schon unterwegs war. Gehen Sie zurück und senden Sie es noch einmal, oder laden Sie diese Seite neu.",
                ],
            ),
            Message::TooSlow => (
                ["The request took too long", "Die Anfrage hat zu lange gedauert"],
                [
                    "It did not arrive in time. Check your connection and try again.",
                    "Sie ist nicht rechtzeitig angekommen. Prüfen Sie Ihre Verbindung und versuchen Sie es noch einmal.",
                ],
            ),
            Message::TooLarge => (
                ["This is too much text", "Das ist zu viel Text"],
                [
                    "What you sent is larger than allowed. Go back and shorten it.",
                    "Was Sie gesendet haben, ist größer als erlaubt. Gehen Sie zurück und kürzen Sie es.",
                ],
            ),
            Message::NotAForm => (
                ["This request is not a form", "Diese Anfrage ist kein Formular"],
                [
                    "Open the page and send its form.",
                    "Öffnen Sie die Seite und senden Sie das Formular dort ab.",
                ],
            ),
            Message::HttpsNeeded => (
                ["HTTPS is needed", "HTTPS ist nötig"],
                [
                    "Signing in on this address is not safe without HTTPS. If you run this service: set public_url to its https address.",
                    "Ohne HTTPS ist die Anmeldung unter dieser Adresse nicht sicher. Wenn Sie diesen Dienst betreiben: Setzen Sie public_url auf seine https-Adresse.",
                ],
            ),
            Message::Internal => (
                ["Something went wrong", "Etwas ist schiefgegangen"],
                [
                    "This is our fault. Try again. If that does not help, tell the people who run this service.",
                    "Das ist unser Fehler. Versuchen Sie es noch einmal. Hilft das nicht, sagen Sie den Betreibern dieses Dienstes Bescheid.",
                ],
            ),
            Message::Unavailable => (
                ["Not available at the moment", "Im Moment nicht verfügbar"],
                ["Please try again shortly.", "Bitte versuchen Sie es gleich noch einmal."],
            ),
            Message::NeedsMail => (
                ["This service sends no mail", "Dieser Dienst sendet keine Mails"],
                ["Ask the people who run it for help.", "Bitten Sie die Betreiber um Hilfe."],
            ),
            Message::VerifyLinkDead => (
                ["This link is no longer valid", "Dieser Link gilt nicht mehr"],
                [
                    "It was used already or has expired. Your account shows whether your address is confirmed, and sends you a new mail.",
                    "Er wurde schon benutzt oder ist abgelaufen. Ihr Konto zeigt, ob Ihre Adresse bestätigt ist, und sendet Ihnen eine neue Mail.",
                ],
            ),
            Message::RestoreLinkDead => (
                ["This link is no longer valid", "Dieser Link gilt nicht mehr"],
                [
                    "It was used already or has expired. If you cannot get into your account, ask the people who run this service for help.",
                    "Er wurde schon benutzt oder ist abgelaufen. Wenn Sie nicht in Ihr Konto kommen, bitten Sie die Betreiber dieses Dienstes um Hilfe.",
                ],
            ),
            Message::FactorResetLinkDead => (
                ["This link is no longer valid", "Dieser Link gilt nicht mehr"],
                [
                    "It was used already, was replaced or has expired. Ask the people who run this service for a new one.",
                    "Er wurde schon benutzt oder ersetzt, oder er ist abgelaufen. Bitten Sie die Betreiber dieses Dienstes um einen neuen.",
                ],
            ),
            Message::ResetLinkDead => (
                ["This link is no longer valid", "Dieser Link gilt nicht mehr"],
                [
                    "It works once and for one hour, and not after the password has changed. Have a new mail sent.",
                    "Er gilt einmal und eine Stunde lang, und nicht mehr nach einem neuen Passwort. Lassen Sie sich eine neue Mail senden.",
                ],
            ),
            Message::SignInLinkDead => (
                ["This link is no longer valid", "Dieser Link gilt nicht mehr"],
                [
                    "It works once and for 10 minutes. Have a new mail sent.",
                    "Er gilt einmal und 10 Minuten lang. Lassen Sie sich eine neue Mail senden.",
                ],
            ),
            Message::InvitationDead => (
                ["This invitation is no longer valid", "Diese Einladung gilt nicht mehr"],
                [
                    "It was used already, was revoked or has expired. Ask whoever invited you for a new one.",
                    "Sie wurde schon benutzt, wurde zurückgezogen oder ist abgelaufen. Bitten Sie um eine neue.",
                ],
            ),
            Message::SignUpClosed => (
                ["New accounts are not possible here", "Hier können Sie kein Konto anlegen"],
                [
                    "The people who run this service create all accounts. Ask them for one.",
                    "Alle Konten legen die Betreiber dieses Dienstes an. Bitten Sie sie um eines.",
                ],
            ),
            Message::SignUpInvited => (
                ["You need an invitation", "Sie brauchen eine Einladung"],
                [
                    "Only people with an invitation can create an account here. Open the link in the mail with your invitation.",
                    "Nur wer eingeladen ist, kann hier ein Konto anlegen. Öffnen Sie den Link in der Mail mit Ihrer Einladung.",
                ],
            ),
            Message::SignUpMailed => (
                ["Look into your mail", "Sehen Sie in Ihrem Posteingang nach"],
                [
                    "We sent you a mail that says how to go on. It may take a few minutes. Look in the spam folder too.",
                    "Wir haben Ihnen eine Mail gesendet. Darin steht, wie es weitergeht. Das kann einige Minuten dauern. Sehen Sie auch im Spam-Ordner nach.",
                ],
            ),
            Message::EmailVerified => (
                ["Your e-mail address is confirmed", "Ihre E-Mail-Adresse ist bestätigt"],
                [
                    "Go on where you began, or on this device.",
                    "Machen Sie dort weiter, wo Sie begonnen haben, oder auf diesem Gerät.",
                ],
            ),
        };
        MessageText {
            heading: self.language.choose(heading),
            explanation: self.language.choose(explanation).into(),
        }
    }

    /// What the audit trail keeps of a deleted account, and for how many days; `None` is for ever.
    pub(super) fn what_stays(&self, kept_days: Option<u32>) -> String {
        let how_long = match kept_days {
            None => self.language.choose(["without a limit", "unbegrenzt"]).into(),
            Some(1) => self.language.choose(["for a day", "einen Tag lang"]).into(),
            Some(days) => self.for_days(days),
        };
        self.trail_keeps(&how_long)
    }

    /// For how many days the audit trail keeps what happened; `None` is for ever.
    pub fn delete_explanation(&self, kept_days: Option<u32>) -> String {
        format!("{} {}", self.deletion, self.what_stays(kept_days))
    }
}
