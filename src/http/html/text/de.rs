//! The texts in German.

use super::{
    FieldFault, FormError, LinkTo, Message, MessageText, Notice, Span, Texts, activity, admin,
    examples, factors, keys,
};
use crate::{
    access::guard::{Ask, Missing},
    fault::FaultKind,
    language::Language,
};

pub(super) static TEXTS: Texts = Texts {
    language: Language::German,
    error_prefix: "Fehler: ",
    problem: "Prüfen Sie diese Felder:",
    development: "Entwicklungsserver: Daten liegen im Speicher, Passwörter sind nicht geschützt.",
    terms: "Nutzungsbedingungen",
    privacy: "Datenschutz",
    name: "Name",
    email: "E-Mail-Adresse",
    password: "Passwort",
    new_password: "Neues Passwort",
    new_password_hint: |minimum| {
        format!(
            "Mindestens {minimum} Zeichen. Einige Wörter ohne Zusammenhang lassen sich leicht merken."
        )
    },
    stay: "Angemeldet bleiben",
    stay_hint: "Nur auf einem Gerät, das niemand sonst benutzt.",
    sign_in: "Anmelden",
    sign_up: "Konto anlegen",
    sign_out: "Abmelden",
    back_to_account: "Zurück zu Ihrem Konto",
    back_to_sign_in: "Zurück zur Anmeldung",
    mail_code: "Code aus der Mail",
    mail_code_hint: "8 Ziffern.",
    code_mailed: |address| format!("Geben Sie den Code aus der Mail an {address} ein."),
    code_typed: "Geben Sie den Code aus der Mail ein und die Adresse, an die sie ging.",
    nothing_arrived: "Nichts angekommen? Sehen Sie auch im Spam-Ordner nach.",
    send_again: "Noch einmal senden",

    sign_in_to: |app| format!("Bei {app} anmelden"),
    sign_in_heading: "Anmelden",
    forgot_password: "Passwort vergessen?",
    sign_in_by_mail: "Mit einem Code per Mail anmelden",
    sign_in_with_it: "Damit anmelden",
    new_here: "Neu hier?",

    sign_up_heading: "Konto anlegen",
    sign_up_for: |app| format!("Konto anlegen, um {app} zu nutzen"),
    have_account: "Haben Sie schon ein Konto?",
    invitation_code: "Code Ihrer Einladung",
    invitation_code_hint: "Nur wenn Sie eingeladen sind. 8 Ziffern.",
    invited_address: "Ihre Einladung gilt für diese Adresse.",

    sign_out_heading: "Abmelden?",
    sign_out_explanation: "Sie werden hier und in allen Apps auf diesem Gerät abgemeldet.",

    forgot_explanation: "Wir senden Ihnen eine Mail mit einem Link und einem Code. Damit legen Sie ein neues Passwort fest.",
    send_mail: "Mail senden",
    have_reset_code: "Ich habe einen Rücksetzcode",
    code_sign_in_heading: "Mit einem Code anmelden",
    code_sign_in_explanation: "Wir senden Ihnen eine Mail mit einem Link und einem Code.",
    only_without_password: "Das ist für Konten ohne Passwort.",
    sign_in_link: |address| {
        format!("Sie melden sich als {address} an. Fahren Sie nur fort, wenn das Ihr Konto ist.")
    },
    sign_in_instead: |address| {
        format!(
            "In diesem Browser sind Sie als {address} angemeldet. Das endet, wenn Sie fortfahren."
        )
    },
    verify_heading: "Bestätigen Sie Ihre E-Mail-Adresse",
    verify_link: |address| format!("Bestätigen Sie, dass {address} Ihre Adresse ist."),
    confirm_address: "Adresse bestätigen",
    verify_for: |app| format!("Bestätigen Sie Ihre Adresse, um zu {app} zu gelangen"),
    verify_mailed: |address| {
        format!(
            "Wir haben einen Code an {address} gesendet. Geben Sie ihn hier ein oder öffnen Sie auf einem beliebigen Gerät den Link in der Mail."
        )
    },
    link_opened: "Haben Sie den Link in der Mail geöffnet?",
    go_on_to: |app| format!("Weiter zu {app}"),
    not_your_address: "Nicht Ihre Adresse?",
    change_address: "Adresse ändern",
    restore_heading: "Änderung Ihrer Adresse rückgängig machen",
    restore_link: |address| format!("{address} wird wieder die Adresse Ihres Kontos."),
    restore_explanation: "Legen Sie auch ein neues Passwort fest, denn vielleicht kennt jemand das alte. Danach sind Sie auf allen Geräten abgemeldet.",
    restore: "Änderung rückgängig machen",

    reset_heading: "Neues Passwort festlegen",
    reset_link: |address| format!("Legen Sie ein neues Passwort für {address} fest."),
    reset_ends_sessions: "Danach sind Sie auf allen Geräten abgemeldet.",
    reset_explanation: |operator| {
        format!(
            "Bitten Sie die Betreiber von {operator} um einen Rücksetzcode. Er gilt nur einmal. Danach sind Sie auf allen Geräten abgemeldet."
        )
    },
    code: "Rücksetzcode",
    code_hint: "So, wie Sie ihn erhalten haben.",
    set_password: "Passwort festlegen",

    account_heading: "Ihr Konto",
    apps: "Ihre Apps",
    apps_explanation: "Sie müssen sich dafür nicht noch einmal anmelden.",
    no_apps: "Für Sie gibt es noch keine Apps. Apps erscheinen hier, sobald Sie Zugang erhalten.",
    profile: "Profil",
    profile_explanation: "Apps, die Sie nutzen, sehen Ihren Namen und Ihre E-Mail-Adresse.",
    verified: "Bestätigt",
    not_verified: "Nicht bestätigt",
    verification_mailed: |address| {
        format!(
            "Wir haben eine Mail an {address} gesendet. Öffnen Sie den Link darin oder geben Sie den Code ein."
        )
    },
    verification_offered: |address| {
        format!(
            "{address} ist nicht bestätigt. Wir können eine Mail mit einem Link und einem Code dorthin senden."
        )
    },
    pending_email: |address| {
        format!(
            "{address} wird Ihre Adresse, sobald Sie sie bestätigen. Wir haben eine Mail dorthin gesendet. Öffnen Sie den Link darin oder geben Sie den Code ein."
        )
    },
    cancel_change: "Änderung verwerfen",
    change: "Ändern",
    save_name: "Namen speichern",
    save_email: "Adresse speichern",
    password_explanation: "Ein neues Passwort beendet Ihre Sitzungen auf allen anderen Geräten.",
    no_password: "Ihr Konto hat kein Passwort. Mit einem Rücksetzcode können Sie eines festlegen.",
    no_password_but_mail: "Ihr Konto hat kein Passwort. Wir können Ihnen eine Mail senden, mit der Sie eines festlegen.",
    current_password: "Aktuelles Passwort",
    confirm_password: "Ihr Passwort zur Bestätigung",
    change_password: "Passwort ändern",
    sessions: "Sitzungen",
    sessions_explanation: "Wo Sie angemeldet sind. Beenden Sie Sitzungen, die Sie nicht kennen, und ändern Sie Ihr Passwort.",
    only_this_session: "Sie sind nur auf diesem Gerät angemeldet.",
    more_sessions: |count| {
        format!("Und {count} weitere, länger nicht benutzt. „Überall abmelden“ beendet auch diese.")
    },
    device_column: "Gerät",
    address_column: "Adresse",
    last_used_column: "Zuletzt benutzt",
    action_column: "Aktion",
    this_session: "Dieses Gerät",
    end_session: "Beenden",
    end_session_of: |device| format!("Beenden: {device}"),
    sign_out_everywhere: "Überall abmelden",
    sign_out_everywhere_explanation: "Beendet alle Sitzungen, auch diese.",
    invitations: "Einladungen",
    invitations_explanation: "Eingeladene können mit der Adresse, die Sie angeben, ein Konto anlegen.",
    invite: "Einladen",
    hand_over: |address| {
        format!(
            "Geben Sie diesen Link an {address} weiter. Er gilt einmal und wird nicht noch einmal gezeigt."
        )
    },
    valid_until: |day| format!("Gilt bis {day}"),
    still_valid: |span| format!("Gilt noch {}", words(span)),
    more_invitations: "Es gibt weitere. Sie erscheinen, wenn andere zurückgezogen oder benutzt sind.",
    open_invitations: "Noch nicht benutzt",
    show_invitations: "Andere einladen",
    revoke: "Zurückziehen",
    revoke_invitation_of: |address| format!("Zurückziehen: {address}"),
    data: "Ihre Daten",
    data_explanation: "Alles über Sie Gespeicherte als JSON-Datei.",
    export: "Daten herunterladen",
    delete: "Konto löschen",
    delete_explanation: |kept_days| {
        format!(
            "Löscht Ihr Konto und Ihre Daten endgültig, mit dem Zugang zu allen Apps. {}",
            what_stays(kept_days)
        )
    },
    delete_without_password: "Ihr Konto hat kein Passwort, mit dem Sie das bestätigen können. Legen Sie zuerst eines fest.",
    delete_confirm: "Mein Konto endgültig löschen",

    refused_heading: |app| format!("Sie haben keinen Zugang zu {app}"),
    refused_other_heading: |app| format!("{app} hat eine Anfrage abgelehnt"),
    refused_explanation: "Sie sind angemeldet, aber dieses Konto hat keinen Zugang zu dieser Seite.",
    missing: |missing| match missing {
        Missing::VerifiedEmail => "Mit einer bestätigten E-Mail-Adresse wäre das erlaubt.",
        Missing::SecondFactor => {
            "Mit einem zweiten Faktor wäre das erlaubt. Es ist keiner eingerichtet, der genügt."
        }
        Missing::Passkey => "Mit einem Passkey wäre das erlaubt. Es ist keiner eingerichtet.",
        Missing::StepUp(Ask::Again) => "Nach einer erneuten Anmeldung wäre das erlaubt.",
        Missing::StepUp(Ask::TwoFactors) => "Mit zwei Faktoren wäre das erlaubt.",
        Missing::StepUp(Ask::PhishingResistant) => "Mit einem Passkey wäre das erlaubt.",
    },
    signed_in_as: "Angemeldet als",
    somebody_else: "Mit einem anderen Konto anmelden",
    decision: "Entscheidung",
    need_access: "Brauchen Sie Zugang?",
    ask_operators: "Senden Sie diese Nummer an die Betreiber des Dienstes.",
    access_subject: |app, decision| format!("Zugang zu {app} (Entscheidung {decision})"),
    decision_link: "Einzelheiten für Betreiber",
    why: "Warum abgelehnt wurde",
    why_explanation: "Das sehen nur Betreiber.",
    guard: "Guard",
    condition: "Bedingung",
    part: "Teil der Bedingung",
    value: "Wert",
    cause: "Ausschlaggebend",

    factors: factors::de::TEXTS,
    activity: activity::de::TEXTS,
    admin: admin::de::TEXTS,
    keys: keys::de::TEXTS,

    notice: |notice| match notice {
        Notice::SignedOut => "Sie sind abgemeldet.",
        Notice::SignedOutEverywhere => "Sie sind auf allen Geräten abgemeldet.",
        Notice::SessionExpired => "Ihre Sitzung ist beendet. Melden Sie sich wieder an.",
        Notice::FactorsReset => {
            "Ihre zweiten Faktoren sind entfernt. Melden Sie sich an und fügen Sie Ihrem Konto neue hinzu."
        }
        Notice::PasswordReset => "Ihr neues Passwort ist gespeichert. Melden Sie sich damit an.",
        Notice::NameChanged => "Ihr Name ist gespeichert.",
        Notice::EmailChanged => "Ihre E-Mail-Adresse ist gespeichert.",
        Notice::PasswordChanged => {
            "Ihr Passwort ist geändert. Sie sind auf allen anderen Geräten abgemeldet."
        }
        Notice::SessionEnded => "Die Sitzung ist beendet.",
        Notice::MailSent => {
            "Wenn es zu dieser Adresse ein Konto gibt, ist eine Mail unterwegs. Das kann einige Minuten dauern."
        }
        Notice::VerificationSent => "Eine Mail ist unterwegs. Das kann einige Minuten dauern.",
        Notice::EmailVerified => "Ihre E-Mail-Adresse ist bestätigt.",
        Notice::EmailPending => {
            "Wir haben eine Mail an Ihre neue Adresse gesendet. Öffnen Sie den Link darin oder geben Sie unten den Code ein."
        }
        Notice::EmailChangeCancelled => "Ihre E-Mail-Adresse bleibt, wie sie ist.",
        Notice::EmailRestored => {
            "Ihre alte E-Mail-Adresse und Ihr neues Passwort sind gespeichert. Melden Sie sich damit an."
        }
        Notice::Invited => "Die Einladung ist unterwegs.",
        Notice::InvitationRevoked => "Die Einladung ist zurückgezogen.",
        Notice::KeyRevoked => "Der Schlüssel ist zurückgezogen.",
        Notice::AnswerExpired => "Das hat zu lange gedauert. Bitte melden Sie sich noch einmal an.",
        Notice::Confirmed => {
            "Das ist bestätigt. Machen Sie innerhalb der nächsten 10 Minuten weiter."
        }
        Notice::Recovered => {
            "Sie haben einen Wiederherstellungscode benutzt. Entfernen Sie unten, was Sie verloren haben, und fügen Sie Ersatz hinzu."
        }
        Notice::PasskeyAdded => "Der Passkey ist hinzugefügt.",
        Notice::KeyAdded => "Der Sicherheitsschlüssel ist hinzugefügt.",
        Notice::AppAdded => "Die Authenticator-App ist eingerichtet.",
        Notice::PasskeyRenamed => "Der Name ist gespeichert.",
        Notice::FactorRemoved => "Das ist entfernt.",
        Notice::DeviceRemoved => "Dem Browser wird nicht mehr vertraut.",
    },
    form_error: |error| {
        match error {
        FormError::WrongCredentials => {
            "E-Mail-Adresse und Passwort passen nicht zusammen. Prüfen Sie beides.".into()
        }
        FormError::Throttled(wait) => try_again_in(Span::to_wait(wait)),
        FormError::Unavailable => {
            "Das geht im Moment nicht. Bitte versuchen Sie es gleich noch einmal.".into()
        }
        FormError::EmailTaken => "Zu dieser Adresse gibt es schon ein Konto.".into(),
        FormError::MayNotRegister => {
            "Mit diesen Angaben können Sie kein Konto anlegen. Bitten Sie die Betreiber dieses Dienstes um eine Einladung.".into()
        }
        FormError::PasskeyRefused => {
            "Dieser Passkey wurde nicht angenommen. Versuchen Sie es noch einmal oder auf einem anderen Weg.".into()
        }
        FormError::PasskeyNeeded => {
            "Hier genügt nur ein Passkey oder ein Sicherheitsschlüssel.".into()
        }
        FormError::UnknownPasskey => {
            "Dieser Passkey ist hier nicht bekannt. Vielleicht wurde er entfernt. Melden Sie sich auf einem anderen Weg an.".into()
        }
        FormError::FactorTaken => "Das ist schon eingerichtet.".into(),
        FormError::TooManyPasskeys => {
            "Mehr Passkeys sind nicht möglich. Entfernen Sie zuerst einen.".into()
        }
        FormError::UserChanged => {
            "Jemand hat diese Person inzwischen geändert. Sehen Sie nach, und wiederholen Sie es.".into()
        }
        FormError::RegistrationClosed => {
            "Niemand kann ein Konto anlegen: die Einstellung registration ist \"closed\".".into()
        }
        FormError::TooManyKeys => "Mehr Schlüssel sind nicht möglich. Ziehen Sie zuerst einen zurück.".into(),
        FormError::LastWayIn => {
            "Das ist der letzte Weg, sich bei Ihrem Konto anzumelden. Legen Sie zuerst ein Passwort fest oder fügen Sie einen anderen Passkey hinzu.".into()
        }
    }
    },
    field_fault: |fault| match fault {
        FieldFault::Rule(FaultKind::Required) => "Füllen Sie dieses Feld aus.".into(),
        FieldFault::Rule(FaultKind::TooShort(minimum)) => {
            format!("Verwenden Sie mindestens {minimum} Zeichen.")
        }
        FieldFault::Rule(FaultKind::TooLong(maximum)) => {
            format!("Verwenden Sie höchstens {maximum} Zeichen.")
        }
        FieldFault::Rule(FaultKind::InvalidEmail) => {
            concat!("Geben Sie eine E-Mail-Adresse wie ", examples::email!(), " ein.").into()
        }
        FieldFault::Rule(FaultKind::InvalidName) => {
            "Dieser Name enthält Zeichen, die nicht erlaubt sind.".into()
        }
        FieldFault::Rule(FaultKind::CommonPassword) => {
            "Viele Leute benutzen dieses Passwort. Wählen Sie ein anderes.".into()
        }
        FieldFault::Rule(FaultKind::OwnNameOrEmail) => {
            "Das Passwort darf nicht Ihr Name oder Ihre E-Mail-Adresse sein.".into()
        }
        FieldFault::Rule(FaultKind::EmailTaken) => {
            "Zu dieser Adresse gibt es schon ein Konto.".into()
        }
        FieldFault::Rule(FaultKind::Malformed) => "Dieser Wert ist nicht gültig.".into(),
        FieldFault::WrongPassword => "Das ist nicht Ihr aktuelles Passwort.".into(),
        FieldFault::InvalidRole => {
            "Verwenden Sie 1 bis 64 Buchstaben, Ziffern und _ - : . /".into()
        }
        FieldFault::NoScope => "Wählen Sie, wofür der Schlüssel ist.".into(),
        FieldFault::InvalidCondition => "Diese Bedingung ist nicht gültig.".into(),
        FieldFault::InvalidKeyDays => "Geben Sie eine Anzahl von 1 bis 3660 Tagen ein.".into(),
        FieldFault::TooManyRoles => {
            "Mehr Rollen kann eine Person nicht haben. Entziehen Sie zuerst eine.".into()
        }
        FieldFault::InvalidDays => "Geben Sie eine Anzahl von 1 bis 90 Tagen ein.".into(),
        FieldFault::AlreadyInvited => "Diese Adresse hat schon jemand anderes eingeladen.".into(),
        FieldFault::WrongCode => "Dieser Code ist falsch, schon benutzt oder abgelaufen.".into(),
        FieldFault::WrongTotp => {
            "Dieser Code ist falsch. Die App zeigt alle 30 Sekunden einen neuen.".into()
        }
        FieldFault::UsedCode => {
            "Dieser Code wurde schon benutzt. Warten Sie auf den nächsten.".into()
        }
    },
    message: |message| match message {
        Message::BadRequest => MessageText::new(
            "Diese Anfrage ist nicht gültig",
            "Ihr Browser hat etwas gesendet, das nicht lesbar ist. Gehen Sie zurück und versuchen Sie es noch einmal.",
        ),
        Message::CrossSite => MessageText::new(
            "Das kam von einer anderen Website",
            "Zu Ihrer Sicherheit werden Formulare nur von diesen Seiten selbst angenommen. Öffnen Sie die Seite und versuchen Sie es noch einmal.",
        ),
        Message::NoCookie => MessageText::new(
            "Ihr Browser hat kein Cookie gespeichert",
            "Für die Anmeldung sind Cookies nötig. Erlauben Sie Cookies für diese Website und öffnen Sie sie dann noch einmal.",
        ),
        Message::LinkUsed => MessageText::new(
            "Dieser Anmeldelink gilt nicht mehr",
            "Er gilt nur einmal und nur eine Minute lang. Öffnen Sie die App noch einmal. Solange Sie angemeldet sind, brauchen Sie dazu kein Passwort.",
        ),
        Message::FormNotSent => MessageText::new(
            "Ihr Formular wurde nicht gesendet",
            "Sie haben erst Zugang bekommen, als es schon unterwegs war. Gehen Sie zurück und senden Sie es noch einmal, oder laden Sie diese Seite neu.",
        ),
        Message::NotFound => MessageText::new(
            "Diese Seite gibt es nicht",
            "Prüfen Sie die Adresse. Vielleicht ist die Seite umgezogen.",
        ),
        Message::UnknownDecision => MessageText::new(
            "Diese Entscheidung ist nicht bekannt",
            "Nur die letzten Entscheidungen werden aufbewahrt, und nicht über einen Neustart hinaus. Öffnen Sie die App noch einmal, um eine neue Nummer zu erhalten.",
        ),
        Message::MethodNotAllowed => MessageText::new(
            "Das geht hier nicht",
            "Die Seite gibt es, aber sie nimmt diese Art von Anfrage nicht an.",
        ),
        Message::NotPermitted => MessageText::new(
            "Das dürfen Sie nicht",
            "Sie verwalten diesen Dienst, aber Ihre Rollen schließen das nicht ein. Fragen Sie jemanden, der sie ändern darf.",
        ),
        Message::TooSlow => MessageText::new(
            "Die Anfrage hat zu lange gedauert",
            "Sie ist nicht rechtzeitig angekommen. Prüfen Sie Ihre Verbindung und versuchen Sie es noch einmal.",
        ),
        Message::TooLarge => MessageText::new(
            "Das ist zu viel Text",
            "Was Sie gesendet haben, ist größer als erlaubt. Gehen Sie zurück und kürzen Sie es.",
        ),
        Message::NotAForm => MessageText::new(
            "Diese Anfrage ist kein Formular",
            "Öffnen Sie die Seite und senden Sie das Formular dort ab.",
        ),
        Message::HttpsNeeded => MessageText::new(
            "HTTPS ist nötig",
            "Ohne HTTPS ist die Anmeldung unter dieser Adresse nicht sicher. Wenn Sie diesen Dienst betreiben: Setzen Sie public_url auf seine https-Adresse.",
        ),
        Message::Throttled(wait) => MessageText {
            heading: "Zu viele Versuche",
            explanation: try_again_in(Span::to_wait(wait)),
        },
        Message::SignInAgain => MessageText::new(
            "Melden Sie sich noch einmal an",
            "Ihre letzte Anmeldung liegt für diese Änderung zu lange zurück. Melden Sie sich noch einmal an und wiederholen Sie sie dann innerhalb von 10 Minuten.",
        ),
        Message::SignInAgainForApp => MessageText::new(
            "Melden Sie sich noch einmal an",
            "Ihre letzte Anmeldung liegt für diese App zu lange zurück. Melden Sie sich noch einmal an, dann geht es zu ihr weiter.",
        ),
        Message::Internal => MessageText::new(
            "Etwas ist schiefgegangen",
            "Das ist unser Fehler. Versuchen Sie es noch einmal. Hilft das nicht, sagen Sie den Betreibern dieses Dienstes Bescheid.",
        ),
        Message::Unavailable => MessageText::new(
            "Im Moment nicht verfügbar",
            "Bitte versuchen Sie es gleich noch einmal.",
        ),
        Message::AccountDeleted { kept_days } => MessageText {
            heading: "Ihr Konto ist gelöscht",
            explanation: format!(
                "Ihr Konto und was über Sie gespeichert war, sind gelöscht, und Sie sind überall abgemeldet. {}",
                what_stays(kept_days)
            ),
        },
        Message::NeedsMail => MessageText::new(
            "Dieser Dienst sendet keine Mails",
            "Bitten Sie die Betreiber um Hilfe.",
        ),
        Message::VerifyLinkDead => MessageText::new(
            "Dieser Link gilt nicht mehr",
            "Er wurde schon benutzt oder ist abgelaufen. Ihr Konto zeigt, ob Ihre Adresse bestätigt ist, und sendet Ihnen eine neue Mail.",
        ),
        Message::FactorResetLinkDead => MessageText::new(
            "Dieser Link gilt nicht mehr",
            "Er wurde schon benutzt oder ersetzt, oder er ist abgelaufen. Bitten Sie die Betreiber dieses Dienstes um einen neuen.",
        ),
        Message::RestoreLinkDead => MessageText::new(
            "Dieser Link gilt nicht mehr",
            "Er wurde schon benutzt oder ist abgelaufen. Wenn Sie nicht in Ihr Konto kommen, bitten Sie die Betreiber dieses Dienstes um Hilfe.",
        ),
        Message::ResetLinkDead => MessageText::new(
            "Dieser Link gilt nicht mehr",
            "Er gilt einmal und eine Stunde lang, und nicht mehr nach einem neuen Passwort. Lassen Sie sich eine neue Mail senden.",
        ),
        Message::SignInLinkDead => MessageText::new(
            "Dieser Link gilt nicht mehr",
            "Er gilt einmal und 10 Minuten lang. Lassen Sie sich eine neue Mail senden.",
        ),
        Message::InvitationDead => MessageText::new(
            "Diese Einladung gilt nicht mehr",
            "Sie wurde schon benutzt, wurde zurückgezogen oder ist abgelaufen. Bitten Sie um eine neue.",
        ),
        Message::SignUpClosed => MessageText::new(
            "Hier können Sie kein Konto anlegen",
            "Alle Konten legen die Betreiber dieses Dienstes an. Bitten Sie sie um eines.",
        ),
        Message::SignUpInvited => MessageText::new(
            "Sie brauchen eine Einladung",
            "Nur wer eingeladen ist, kann hier ein Konto anlegen. Öffnen Sie den Link in der Mail mit Ihrer Einladung.",
        ),
        Message::EmailVerified => MessageText::new(
            "Ihre E-Mail-Adresse ist bestätigt",
            "Machen Sie dort weiter, wo Sie begonnen haben, oder auf diesem Gerät.",
        ),
        Message::SignUpMailed => MessageText::new(
            "Sehen Sie in Ihrem Posteingang nach",
            "Wir haben Ihnen eine Mail gesendet. Darin steht, wie es weitergeht. Das kann einige Minuten dauern. Sehen Sie auch im Spam-Ordner nach.",
        ),
    },
    link: |to| match to {
        LinkTo::Start => "Zur Startseite".into(),
        LinkTo::TryAgain => "Noch einmal versuchen".into(),
        LinkTo::SignIn => "Anmelden".into(),
        LinkTo::Administration => "Zurück zur Verwaltung".into(),
        LinkTo::Account => "Ihr Konto öffnen".into(),
        LinkTo::NewMail => "Neue Mail senden lassen".into(),
        LinkTo::InvitationCode => "Ich habe den Code einer Einladung".into(),
        LinkTo::App(title) => format!("{title} öffnen"),
        LinkTo::ContinueTo(title) => format!("Weiter zu {title}"),
    },
    ago: |span| match span {
        Span::Seconds(_) => "gerade eben".into(),
        Span::Days(1) => "gestern".into(),
        span => format!("vor {}", words(span)),
    },
};

/// What the audit trail keeps of a deleted account.
fn what_stays(kept_days: Option<u32>) -> String {
    let how_long = match kept_days {
        None => "unbegrenzt".to_owned(),
        Some(1) => "einen Tag lang".to_owned(),
        Some(days) => format!("{days} Tage lang"),
    };
    format!(
        "Als Nachweis behält das Protokoll {how_long} Kennungen, Arten und Zeiten von Ereignissen, aber weder Ihren Namen noch Ihre Adressen und Netze."
    )
}

fn try_again_in(wait: Span) -> String {
    format!("Es gab zu viele Versuche. Versuchen Sie es in {} noch einmal.", words(wait))
}

/// In the dative, after "vor" and "in".
fn words(span: Span) -> String {
    let (count, one, several) = match span {
        Span::Seconds(count) => (count, "Sekunde", "Sekunden"),
        Span::Minutes(count) => (count, "Minute", "Minuten"),
        Span::Hours(count) => (count, "Stunde", "Stunden"),
        Span::Days(count) => (count, "Tag", "Tagen"),
        Span::Months(count) => (count, "Monat", "Monaten"),
        Span::Years(count) => (count, "Jahr", "Jahren"),
    };
    format!("{count} {}", if count == 1 { one } else { several })
}
