//! The letters about an account: its address, its password, its sessions and its end.

use super::{Attempt, DeletedBy, EndedBy, Invitation, Letter, Texts};

impl Texts {
    pub fn verify_email(&self, service: &str) -> Letter {
        Letter {
            subject: self.choose([
                format!("Confirm your e-mail address for {service}"),
                format!("Bestätigen Sie Ihre E-Mail-Adresse für {service}"),
            ]),
            heading: self.choose([
                "Confirm your e-mail address",
                "Bestätigen Sie Ihre E-Mail-Adresse",
            ]),
            paragraphs: vec![self.choose([
                format!(
                    "An account at {service} has this address. Confirm that the address is yours."
                ),
                format!(
                    "Ein Konto bei {service} hat diese Adresse. Bestätigen Sie, dass sie Ihnen gehört."
                ),
            ])],
            facts: Vec::new(),
            button: self.choose(["Confirm address", "Adresse bestätigen"]),
            not_you: self.say([
                "You did not create an account? Then do not confirm the address. You need not do anything else.",
                "Sie haben kein Konto angelegt? Dann bestätigen Sie die Adresse nicht. Mehr müssen Sie nicht tun.",
            ]),
            reason: self.address_entered(service),
        }
    }

    pub fn change_email(&self, service: &str) -> Letter {
        Letter {
            subject: self.choose([
                format!("Confirm your new e-mail address for {service}"),
                format!("Bestätigen Sie Ihre neue E-Mail-Adresse für {service}"),
            ]),
            heading: self.choose([
                "Confirm your new e-mail address",
                "Bestätigen Sie Ihre neue E-Mail-Adresse",
            ]),
            paragraphs: vec![self.choose([
                format!(
                    "This is to be the new address of an account at {service}. The old address stays until you confirm the new one."
                ),
                format!(
                    "Dies soll die neue Adresse eines Kontos bei {service} sein. Bis Sie die neue Adresse bestätigen, gilt die alte."
                ),
            ])],
            facts: Vec::new(),
            button: self.choose(["Confirm new address", "Neue Adresse bestätigen"]),
            not_you: self.say([
                "You did not ask for this? Then ignore this mail. Nothing changes.",
                "Sie wollten das nicht? Dann ignorieren Sie diese Mail. Es ändert sich nichts.",
            ]),
            reason: self.address_entered(service),
        }
    }

    pub fn email_changed(&self, service: &str) -> Letter {
        Letter {
            subject: self.choose([
                format!("Your e-mail address for {service} has changed"),
                format!("Ihre E-Mail-Adresse für {service} wurde geändert"),
            ]),
            heading: self.choose([
                "Your e-mail address has changed",
                "Ihre E-Mail-Adresse wurde geändert",
            ]),
            paragraphs: vec![self.choose([
                format!(
                    "Your account at {service} has a new e-mail address. If you changed it, you need not do anything."
                ),
                format!(
                    "Ihr Konto bei {service} hat eine neue E-Mail-Adresse. Wenn Sie das waren, müssen Sie nichts tun."
                ),
            ])],
            facts: Vec::new(),
            button: self.choose(["Undo the change", "Änderung rückgängig machen"]),
            not_you: self.say([
                "You did not change it? Then undo the change at once. Your account gets this address back, you set a new password, and everybody is signed out. That is not possible once somebody has set a new password by mail at the new address.",
                "Sie waren das nicht? Dann machen Sie die Änderung gleich rückgängig. Ihr Konto erhält diese Adresse zurück, Sie legen ein neues Passwort fest, und alle werden abgemeldet. Das geht nicht mehr, sobald jemand über die neue Adresse ein neues Passwort festlegt.",
            ]),
            reason: self.former_address(service),
        }
    }

    pub fn reset_password(&self, service: &str) -> Letter {
        Letter {
            subject: self.choose([
                format!("Set a new password for {service}"),
                format!("Neues Passwort für {service}"),
            ]),
            heading: self.choose(["Set a new password", "Neues Passwort festlegen"]),
            paragraphs: vec![self.choose([
                format!(
                    "Somebody asked for a new password for your account at {service}. If it was you, set it now. After that you are signed out on every device."
                ),
                format!(
                    "Jemand hat für Ihr Konto bei {service} ein neues Passwort angefordert. Wenn Sie das waren, legen Sie es jetzt fest. Danach sind Sie auf allen Geräten abgemeldet."
                ),
            ])],
            facts: Vec::new(),
            button: self.choose(["Set a new password", "Neues Passwort festlegen"]),
            not_you: self.say([
                "You did not ask for this? Then ignore this mail. Your password stays as it is.",
                "Sie waren das nicht? Dann ignorieren Sie diese Mail. Ihr Passwort bleibt, wie es ist.",
            ]),
            reason: self.your_account(service),
        }
    }

    pub fn sign_in(&self, service: &str) -> Letter {
        Letter {
            subject: self.choose([
                format!("Sign in to {service}"),
                format!("Anmeldung bei {service}"),
            ]),
            heading: self.choose(["Sign in", "Anmelden"]),
            paragraphs: vec![self.choose([
                format!(
                    "Somebody wants to sign in to your account at {service}. If it is you, go on here."
                ),
                format!(
                    "Jemand möchte sich mit Ihrem Konto bei {service} anmelden. Wenn Sie das sind, geht es hier weiter."
                ),
            ])],
            facts: Vec::new(),
            button: self.choose(["Sign in", "Anmelden"]),
            not_you: self.say([
                "It was not you? Then ignore this mail, and give the code to nobody. Nobody gets in without it.",
                "Sie waren das nicht? Dann ignorieren Sie diese Mail und geben Sie den Code niemandem. Ohne ihn kommt niemand hinein.",
            ]),
            reason: self.your_account(service),
        }
    }

    pub fn has_password(&self, service: &str) -> Letter {
        Letter {
            subject: self.choose([
                format!("Sign in to {service} with your password"),
                format!("Melden Sie sich bei {service} mit Ihrem Passwort an"),
            ]),
            heading: self.choose([
                "Sign in with your password",
                "Melden Sie sich mit Ihrem Passwort an",
            ]),
            paragraphs: vec![self.choose([
                format!(
                    "Somebody asked for a code to sign in to your account at {service}. Your account has a password, so sign in with that. If you have forgotten it, ask for a new one where you sign in."
                ),
                format!(
                    "Jemand hat einen Code angefordert, um sich mit Ihrem Konto bei {service} anzumelden. Ihr Konto hat ein Passwort, melden Sie sich also damit an. Wenn Sie es vergessen haben, fordern Sie bei der Anmeldung ein neues an."
                ),
            ])],
            facts: Vec::new(),
            button: self.choose(["Sign in", "Anmelden"]),
            not_you: self.say([
                "It was not you? Then ignore this mail. Nothing has changed.",
                "Sie waren das nicht? Dann ignorieren Sie diese Mail. Es hat sich nichts geändert.",
            ]),
            reason: self.your_account(service),
        }
    }

    pub fn already_registered(&self, service: &str) -> Letter {
        Letter {
            subject: self.choose([
                format!("You already have an account at {service}"),
                format!("Sie haben schon ein Konto bei {service}"),
            ]),
            heading: self.choose(["You already have an account", "Sie haben schon ein Konto"]),
            paragraphs: vec![self.choose([
                format!(
                    "Somebody entered this address at {service} for another account. It already belongs to yours. If it was you, sign in. If you have forgotten your password, ask for a new one where you sign in."
                ),
                format!(
                    "Jemand hat diese Adresse bei {service} für ein anderes Konto angegeben. Sie gehört schon zu Ihrem Konto. Wenn Sie das waren, melden Sie sich an. Wenn Sie Ihr Passwort vergessen haben, fordern Sie bei der Anmeldung ein neues an."
                ),
            ])],
            facts: Vec::new(),
            button: self.choose(["Sign in", "Anmelden"]),
            not_you: self.say([
                "It was not you? Then ignore this mail. Nothing has changed.",
                "Sie waren das nicht? Dann ignorieren Sie diese Mail. Es hat sich nichts geändert.",
            ]),
            reason: self.your_account(service),
        }
    }

    pub fn invitation(&self, service: &str, Invitation { from, until }: Invitation<'_>) -> Letter {
        let from_words = match from {
            Some(address) => address.to_owned(),
            None => self.choose([
                format!("the people who run {service}"),
                format!("die Betreiber von {service}"),
            ]),
        };
        let account =
            self.choose([format!("an account at {service}"), format!("ein Konto bei {service}")]);
        let facts = [
            Some((self.choose(["From", "Von"]), from_words)),
            Some((self.choose(["For", "Für"]), account)),
            until.map(|until| (self.choose(["Valid until", "Gilt bis"]), until)),
        ];
        let words = match from {
            Some(address) => self.choose([
                format!("{address} invites you to {service}. Create an account with this address."),
                format!(
                    "{address} lädt Sie zu {service} ein. Legen Sie mit dieser Adresse ein Konto an."
                ),
            ]),
            None => self.choose([
                format!("You are invited to {service}. Create an account with this address."),
                format!(
                    "Sie sind zu {service} eingeladen. Legen Sie mit dieser Adresse ein Konto an."
                ),
            ]),
        };
        Letter {
            subject: self.choose([
                format!("Your invitation to {service}"),
                format!("Ihre Einladung zu {service}"),
            ]),
            heading: self.choose(["You are invited", "Sie sind eingeladen"]),
            paragraphs: vec![words],
            facts: facts.into_iter().flatten().collect(),
            button: self.choose(["Create account", "Konto anlegen"]),
            not_you: self.say([
                "You do not know what this is about? Then ignore this mail. No account is created without you.",
                "Sie wissen nicht, worum es geht? Dann ignorieren Sie diese Mail. Ohne Sie entsteht kein Konto.",
            ]),
            reason: self.choose([
                format!("You receive this mail because you were invited to {service}."),
                format!("Sie erhalten diese Mail, weil Sie zu {service} eingeladen wurden."),
            ]),
        }
    }

    pub fn new_sign_in(&self, service: &str, sign_in: Attempt) -> Letter {
        Letter {
            subject: self.choose([
                format!("New sign-in to your account at {service}"),
                format!("Neue Anmeldung mit Ihrem Konto bei {service}"),
            ]),
            heading: self.choose(["New sign-in", "Neue Anmeldung"]),
            paragraphs: vec![self.choose([
                format!(
                    "Somebody signed in to your account at {service} from a device or network that is new to us. If it was you, you need not do anything."
                ),
                format!(
                    "Jemand hat sich mit Ihrem Konto bei {service} angemeldet, von einem Gerät oder aus einem Netz, das wir noch nicht kennen. Wenn Sie das waren, müssen Sie nichts tun."
                ),
            ])],
            facts: self.attempt(sign_in),
            button: self.choose(["Show your sessions", "Ihre Sitzungen ansehen"]),
            not_you: self.say([
                "It was not you? Then end this session and change your password.",
                "Sie waren das nicht? Dann beenden Sie diese Sitzung und ändern Sie Ihr Passwort.",
            ]),
            reason: self.your_account(service),
        }
    }

    pub fn password_changed(&self, service: &str, time: String) -> Letter {
        Letter {
            subject: self.choose([
                format!("Your password for {service} has changed"),
                format!("Ihr Passwort für {service} wurde geändert"),
            ]),
            heading: self.choose(["Your password has changed", "Ihr Passwort wurde geändert"]),
            paragraphs: vec![self.choose([
                format!(
                    "The password of your account at {service} has changed. If you changed it, you need not do anything."
                ),
                format!(
                    "Das Passwort Ihres Kontos bei {service} wurde geändert. Wenn Sie das waren, müssen Sie nichts tun."
                ),
            ])],
            facts: self.at(time),
            button: self.choose(["Set a new password", "Neues Passwort festlegen"]),
            not_you: self.say([
                "It was not you? Then set a new password now. That signs everybody else out.",
                "Sie waren das nicht? Dann legen Sie jetzt ein neues Passwort fest. Das meldet alle anderen ab.",
            ]),
            reason: self.your_account(service),
        }
    }

    pub fn sessions_ended(&self, service: &str, by: EndedBy, time: String) -> Letter {
        let (words, not_you) = match by {
            EndedBy::Reuse => (
                self.choose([
                    format!(
                        "A session of your account at {service} has ended, because its key was used in two places. Somebody may have copied it."
                    ),
                    format!(
                        "Eine Sitzung Ihres Kontos bei {service} wurde beendet, weil ihr Schlüssel an zwei Stellen benutzt wurde. Vielleicht hat ihn jemand kopiert."
                    ),
                ]),
                self.say([
                    "You do not know how this happened? Then sign in, look at your sessions and change your password.",
                    "Sie können sich das nicht erklären? Dann melden Sie sich an, sehen Sie Ihre Sitzungen durch und ändern Sie Ihr Passwort.",
                ]),
            ),
            EndedBy::Operator => (
                self.choose([
                    format!("The people who run {service} have ended your sessions."),
                    format!("Die Betreiber von {service} haben Ihre Sitzungen beendet."),
                ]),
                self.ask_why(service),
            ),
        };
        Letter {
            subject: self.choose([
                format!("You are signed out of {service}"),
                format!("Sie sind bei {service} abgemeldet"),
            ]),
            heading: self.choose(["You are signed out", "Sie sind abgemeldet"]),
            paragraphs: vec![words],
            facts: self.at(time),
            button: self.choose(["Sign in", "Anmelden"]),
            not_you,
            reason: self.your_account(service),
        }
    }

    /// With the number of days for which the audit trail keeps what happened; `None` is for ever.
    pub fn account_deleted(
        &self,
        service: &str,
        by: DeletedBy,
        kept_days: Option<u32>,
        time: String,
    ) -> Letter {
        let (words, not_you) = match by {
            DeletedBy::User => (
                self.choose([
                    format!(
                        "Your account at {service} and what was stored about you there are deleted. If you did this, you need not do anything."
                    ),
                    format!(
                        "Ihr Konto bei {service} und was dort über Sie gespeichert war, sind gelöscht. Wenn Sie das waren, müssen Sie nichts tun."
                    ),
                ]),
                self.choose([
                    format!(
                        "It was not you? Then tell the people who run {service}. Somebody else knew your password."
                    ),
                    format!(
                        "Sie waren das nicht? Dann sagen Sie es den Betreibern von {service}. Jemand kannte Ihr Passwort."
                    ),
                ]),
            ),
            DeletedBy::Operator => (
                self.choose([
                    format!(
                        "The people who run {service} have deleted your account and what was stored about you there."
                    ),
                    format!(
                        "Die Betreiber von {service} haben Ihr Konto gelöscht und was dort über Sie gespeichert war."
                    ),
                ]),
                self.ask_why(service),
            ),
        };
        let kept = kept_days.map(|days| self.for_days(days)).unwrap_or_default();
        let what_stays = self.choose([
            format!(
                "What stays{kept} is a record of what happened to the account and when, under its id: without your name, your addresses and your devices."
            ),
            format!(
                "Was{kept} bleibt, ist ein Protokoll, das unter der Kennung des Kontos festhält, was wann geschah: ohne Ihren Namen, Ihre Adressen und Ihre Geräte."
            ),
        ]);
        Letter {
            subject: self.choose([
                format!("Your account at {service} is deleted"),
                format!("Ihr Konto bei {service} ist gelöscht"),
            ]),
            heading: self.choose(["Your account is deleted", "Ihr Konto ist gelöscht"]),
            paragraphs: vec![words, what_stays],
            facts: self.at(time),
            button: "",
            not_you,
            reason: self.former_address(service),
        }
    }

    pub fn account_secured(&self, service: &str, time: String) -> Letter {
        Letter {
            subject: self.choose([
                format!("Set a new password: your account at {service}"),
                format!("Neues Passwort nötig: Ihr Konto bei {service}"),
            ]),
            heading: self.choose(["Your account is secured", "Ihr Konto ist gesichert"]),
            paragraphs: vec![self.choose([
                format!(
                    "The people who run {service} have secured your account, because somebody else may have used it. You are signed out on every device. Your password, your API keys, and links and codes from earlier mails do not work any more. Second factors that were added lately may be removed. Set a new password now, and then look through your second factors."
                ),
                format!(
                    "Die Betreiber von {service} haben Ihr Konto gesichert, weil möglicherweise jemand anders es benutzt hat. Sie sind auf allen Geräten abgemeldet. Ihr Passwort, Ihre API-Schlüssel sowie Links und Codes aus früheren Mails gelten nicht mehr. Zweite Faktoren, die vor Kurzem hinzugekommen sind, können entfernt sein. Legen Sie jetzt ein neues Passwort fest und sehen Sie danach Ihre zweiten Faktoren durch."
                ),
            ])],
            facts: self.at(time),
            button: self.choose(["Set a new password", "Neues Passwort festlegen"]),
            not_you: self.choose([
                format!(
                    "You would like to know why, or the link does not work any more? Ask the people who run {service}."
                ),
                format!(
                    "Sie möchten wissen, warum, oder der Link gilt nicht mehr? Fragen Sie die Betreiber von {service}."
                ),
            ]),
            reason: self.your_account(service),
        }
    }

    pub fn password_removed(&self, service: &str, time: String) -> Letter {
        Letter {
            subject: self.choose([
                format!("Your password for {service} was removed: set a new one"),
                format!("Ihr Passwort bei {service} wurde entfernt: neues festlegen"),
            ]),
            heading: self.choose(["Your password was removed", "Ihr Passwort wurde entfernt"]),
            paragraphs: vec![self.choose([
                format!(
                    "The people who run {service} have removed passwords, because somebody else may have got data of the service. Yours does not work any more, nor do your API keys, nor links and codes from earlier mails. You are signed out on every device. Set a new password now, and use another one wherever you have used the old one."
                ),
                format!(
                    "Die Betreiber von {service} haben Passwörter entfernt, weil möglicherweise Daten des Dienstes in fremde Hände gelangt sind. Ihr Passwort, Ihre API-Schlüssel sowie Links und Codes aus früheren Mails gelten nicht mehr. Sie sind auf allen Geräten abgemeldet. Legen Sie jetzt ein neues Passwort fest, und ändern Sie das alte überall, wo Sie es sonst noch benutzen."
                ),
            ])],
            facts: self.at(time),
            button: self.choose(["Set a new password", "Neues Passwort festlegen"]),
            not_you: self.say([
                "The link does not work any more? Ask for another one with “Forgot your password?” where you sign in.",
                "Der Link gilt nicht mehr? Fordern Sie auf der Anmeldeseite mit „Passwort vergessen?“ einen neuen an.",
            ]),
            reason: self.your_account(service),
        }
    }
}
