//! The texts of mails in English.

use super::{Attempt, DeletedBy, EndedBy, Invitation, Letter, Texts, Validity};
use crate::{credential::factor::FactorKind, language::Language};

pub(super) static TEXTS: Texts = Texts {
    language: Language::English,
    link_in_full: "If the button does not work, open this link:",
    code_beside_link: "Or type this code where you are asked for it:",
    code_alone: "Type this code in the app:",
    validity_of_both: |time| format!("The link and the code work once, for {}.", words(time)),
    validity_of_link: |time| format!("The link works once, for {}.", words(time)),
    validity_of_code: |time| format!("The code works once, for {}.", words(time)),

    verify_email: |service| {
        Letter {
        subject: format!("Confirm your e-mail address for {service}"),
        heading: "Confirm your e-mail address",
        paragraphs: vec![format!(
            "An account at {service} has this address. Confirm that the address is yours."
        )],
        facts: Vec::new(),
        button: "Confirm address",
        not_you: "You did not create an account? Then do not confirm the address. You need not do anything else.".into(),
        reason: address_entered(service),
    }
    },
    change_email: |service| Letter {
        subject: format!("Confirm your new e-mail address for {service}"),
        heading: "Confirm your new e-mail address",
        paragraphs: vec![format!(
            "This is to be the new address of an account at {service}. The old address stays until you confirm the new one."
        )],
        facts: Vec::new(),
        button: "Confirm new address",
        not_you: "You did not ask for this? Then ignore this mail. Nothing changes.".into(),
        reason: address_entered(service),
    },
    email_changed: |service| {
        Letter {
        subject: format!("Your e-mail address for {service} has changed"),
        heading: "Your e-mail address has changed",
        paragraphs: vec![format!(
            "Your account at {service} has a new e-mail address. If you changed it, you need not do anything."
        )],
        facts: Vec::new(),
        button: "Undo the change",
        not_you: "You did not change it? Then undo the change at once. Your account gets this address back, you set a new password, and everybody is signed out. That is not possible once somebody has set a new password by mail at the new address.".into(),
        reason: format!("You receive this mail because this was the address of your account at {service}."),
    }
    },
    reset_password: |service| Letter {
        subject: format!("Set a new password for {service}"),
        heading: "Set a new password",
        paragraphs: vec![format!(
            "Somebody asked for a new password for your account at {service}. If it was you, set it now. After that you are signed out on every device."
        )],
        facts: Vec::new(),
        button: "Set a new password",
        not_you: "You did not ask for this? Then ignore this mail. Your password stays as it is."
            .into(),
        reason: your_account(service),
    },
    sign_in: |service| {
        Letter {
        subject: format!("Sign in to {service}"),
        heading: "Sign in",
        paragraphs: vec![format!("Somebody wants to sign in to your account at {service}. If it is you, go on here.")],
        facts: Vec::new(),
        button: "Sign in",
        not_you: "It was not you? Then ignore this mail, and give the code to nobody. Nobody gets in without it.".into(),
        reason: your_account(service),
    }
    },
    has_password: |service| Letter {
        subject: format!("Sign in to {service} with your password"),
        heading: "Sign in with your password",
        paragraphs: vec![format!(
            "Somebody asked for a code to sign in to your account at {service}. Your account has a password, so sign in with that. If you have forgotten it, ask for a new one where you sign in."
        )],
        facts: Vec::new(),
        button: "Sign in",
        not_you: "It was not you? Then ignore this mail. Nothing has changed.".into(),
        reason: your_account(service),
    },
    already_registered: |service| Letter {
        subject: format!("You already have an account at {service}"),
        heading: "You already have an account",
        paragraphs: vec![format!(
            "Somebody entered this address at {service} for another account. It already belongs to yours. If it was you, sign in. If you have forgotten your password, ask for a new one where you sign in."
        )],
        facts: Vec::new(),
        button: "Sign in",
        not_you: "It was not you? Then ignore this mail. Nothing has changed.".into(),
        reason: your_account(service),
    },
    invitation: |service, Invitation { from, until }| {
        let operator = || format!("the people who run {service}");
        let facts = [
            Some(("From", from.map_or_else(operator, str::to_owned))),
            Some(("For", format!("an account at {service}"))),
            until.map(|until| ("Valid until", until)),
        ];
        Letter {
        subject: format!("Your invitation to {service}"),
        heading: "You are invited",
        paragraphs: vec![match from {
            Some(address) => format!("{address} invites you to {service}. Create an account with this address."),
            None => format!("You are invited to {service}. Create an account with this address."),
        }],
        facts: facts.into_iter().flatten().collect(),
        button: "Create account",
        not_you: "You do not know what this is about? Then ignore this mail. No account is created without you.".into(),
        reason: format!("You receive this mail because you were invited to {service}."),
    }
    },
    new_sign_in: |service, sign_in| Letter {
        subject: format!("New sign-in to your account at {service}"),
        heading: "New sign-in",
        paragraphs: vec![format!(
            "Somebody signed in to your account at {service} from a device or network that is new to us. If it was you, you need not do anything."
        )],
        facts: facts_of_attempt(sign_in),
        button: "Show your sessions",
        not_you: "It was not you? Then end this session and change your password.".into(),
        reason: your_account(service),
    },
    password_changed: |service, time| Letter {
        subject: format!("Your password for {service} has changed"),
        heading: "Your password has changed",
        paragraphs: vec![format!(
            "The password of your account at {service} has changed. If you changed it, you need not do anything."
        )],
        facts: vec![("Time", time)],
        button: "Set a new password",
        not_you: "It was not you? Then set a new password now. That signs everybody else out."
            .into(),
        reason: your_account(service),
    },
    sessions_ended: |service, by, time| {
        Letter {
        subject: format!("You are signed out of {service}"),
        heading: "You are signed out",
        paragraphs: vec![match by {
            EndedBy::Reuse => format!(
                "A session of your account at {service} has ended, because its key was used in two places. Somebody may have copied it."
            ),
            EndedBy::Operator => format!("The people who run {service} have ended your sessions."),
        }],
        facts: vec![("Time", time)],
        button: "Sign in",
        not_you: match by {
            EndedBy::Reuse => "You do not know how this happened? Then sign in, look at your sessions and change your password.".into(),
            EndedBy::Operator => format!("You want to know why? Ask the people who run {service}."),
        },
        reason: your_account(service),
    }
    },
    account_deleted: |service, by, kept_days, time| Letter {
        subject: format!("Your account at {service} is deleted"),
        heading: "Your account is deleted",
        paragraphs: vec![
            match by {
                DeletedBy::User => format!(
                    "Your account at {service} and what was stored about you there are deleted. If you did this, you need not do anything."
                ),
                DeletedBy::Operator => format!(
                    "The people who run {service} have deleted your account and what was stored about you there."
                ),
            },
            format!(
                "What stays{} is a record of what happened to the account and when, under its id: without your name, your addresses and your devices.",
                kept_days.map(|days| format!(" for {days} days")).unwrap_or_default()
            ),
        ],
        facts: vec![("Time", time)],
        button: "",
        not_you: match by {
            DeletedBy::User => format!(
                "It was not you? Then tell the people who run {service}. Somebody else knew your password."
            ),
            DeletedBy::Operator => {
                format!("You want to know why? Ask the people who run {service}.")
            }
        },
        reason: format!(
            "You receive this mail because this was the address of your account at {service}."
        ),
    },
    factor_added: |service, kind, time| {
        let (what, heading) = match kind {
            FactorKind::Passkey => ("passkey", "Passkey added"),
            FactorKind::SecurityKey => ("security key", "Security key added"),
            FactorKind::Totp => ("authenticator app", "Authenticator app added"),
        };
        Letter {
            subject: format!("New {what} for your account at {service}"),
            heading,
            paragraphs: vec![format!(
                "Your account at {service} has a new {what}. If you added it, you need not do anything."
            )],
            facts: vec![("Time", time)],
            button: "Show your second factors",
            not_you: "It was not you? Then remove it now, end all other sessions and change your password.".into(),
            reason: your_account(service),
        }
    },
    factor_removed: |service, kind, time| {
        let (what, heading) = match kind {
            FactorKind::Passkey => ("A passkey", "Passkey removed"),
            FactorKind::SecurityKey => ("A security key", "Security key removed"),
            FactorKind::Totp => ("The authenticator app", "Authenticator app removed"),
        };
        Letter {
            subject: format!("{heading} from your account at {service}"),
            heading,
            paragraphs: vec![format!(
                "{what} of your account at {service} was removed and does not sign you in any more. If you removed it, you need not do anything."
            )],
            facts: vec![("Time", time)],
            button: "Show your second factors",
            not_you: "It was not you? Then change your password now and end all other sessions."
                .into(),
            reason: your_account(service),
        }
    },
    key_created: |service, time| {
        Letter {
        subject: format!("New API key for {service}"),
        heading: "New API key",
        paragraphs: vec![format!(
            "Your account at {service} has a new API key, with which a program gets to your apps. If you made it, you need not do anything."
        )],
        facts: vec![("Time", time)],
        button: "Show your keys",
        not_you: "It was not you? Then revoke the key now, end all other sessions and change your password.".into(),
        reason: your_account(service),
    }
    },
    recovery_codes_replaced: |service, time| {
        Letter {
        subject: format!("New recovery codes for {service}"),
        heading: "New recovery codes",
        paragraphs: vec![format!(
            "Your account at {service} has new recovery codes. The old ones do not work any more. If you made them, you need not do anything."
        )],
        facts: vec![("Time", time)],
        button: "Show your second factors",
        not_you: "It was not you? Then make new codes now, end all other sessions and change your password.".into(),
        reason: your_account(service),
    }
    },
    recovery_code_used: |service, left, time| {
        Letter {
        subject: format!("A recovery code was used at {service}"),
        heading: "A recovery code was used",
        paragraphs: vec![format!(
            "Somebody signed in to your account at {service} with your password and a recovery code. If it was you, you need not do anything. The code does not work again; you were shown a new one in its place."
        )],
        facts: vec![("Time", time), ("Recovery codes", left.to_string())],
        button: "Show your second factors",
        not_you: "It was not you? Then change your password, make new recovery codes and end all other sessions. Somebody has your password and one of your codes.".into(),
        reason: your_account(service),
    }
    },
    factor_refused: |service, attempt| {
        Letter {
        subject: format!("Sign-in refused at {service}: second factor missing"),
        heading: "Somebody may have your password",
        paragraphs: vec![format!(
            "Somebody entered the right password of your account at {service}, but not the right second factor. They were not signed in. If it was you, you need not do anything."
        )],
        facts: facts_of_attempt(attempt),
        button: "Set a new password",
        not_you: "It was not you? Then somebody knows your password. Set a new one now, also wherever else you use it."
            .into(),
        reason: your_account(service),
    }
    },
    factors_reset: |service, time| Letter {
        subject: format!("Your second factors at {service} are removed"),
        heading: "Your second factors are removed",
        paragraphs: vec![format!(
            "All second factors and recovery codes of your account at {service} were removed, with a link from the people who run {service}. You are signed out on every device. If it was you, sign in and add a new one."
        )],
        facts: vec![("Time", time)],
        button: "Add a second factor",
        not_you: format!(
            "It was not you? Then set a new password now, and tell the people who run {service}."
        ),
        reason: your_account(service),
    },
    factor_reset_link: |service, time| Letter {
        subject: format!("A link removes your second factors at {service}"),
        heading: "A link removes your second factors",
        paragraphs: vec![format!(
            "The people who run {service} have made a link that removes all second factors of your account. They give it to you themselves; it is not in this mail. It works once, for 30 minutes, and only with your password if you have one."
        )],
        facts: vec![("Time", time)],
        button: "",
        not_you: format!(
            "You did not ask for it? Then tell the people who run {service} at once. Somebody may have pretended to be you."
        ),
        reason: your_account(service),
    },
    account_secured: |service, time| Letter {
        subject: format!("Set a new password: your account at {service}"),
        heading: "Your account is secured",
        paragraphs: vec![format!(
            "The people who run {service} have secured your account, because somebody else may have used it. You are signed out on every device. Your password, your API keys, and links and codes from earlier mails do not work any more. Second factors that were added lately may be removed. Set a new password now, and then look through your second factors."
        )],
        facts: vec![("Time", time)],
        button: "Set a new password",
        not_you: format!(
            "You would like to know why, or the link does not work any more? Ask the people who run {service}."
        ),
        reason: your_account(service),
    },
    password_removed: |service, time| {
        Letter {
        subject: format!("Your password for {service} was removed: set a new one"),
        heading: "Your password was removed",
        paragraphs: vec![format!(
            "The people who run {service} have removed passwords, because somebody else may have got data of the service. Yours does not work any more, nor do your API keys, nor links and codes from earlier mails. You are signed out on every device. Set a new password now, and use another one wherever you have used the old one."
        )],
        facts: vec![("Time", time)],
        button: "Set a new password",
        not_you: "The link does not work any more? Ask for another one with “Forgot your password?” where you sign in.".into(),
        reason: your_account(service),
    }
    },
};

fn facts_of_attempt(Attempt { device, address, time }: Attempt) -> Vec<(&'static str, String)> {
    vec![("Device", device), ("Network address", address), ("Time", time)]
}

fn your_account(service: &str) -> String {
    format!("You receive this mail because your account at {service} has this address.")
}

fn address_entered(service: &str) -> String {
    format!("You receive this mail because somebody entered this address at {service}.")
}

fn words(time: Validity) -> String {
    match time {
        Validity::Days(1) => "1 day".into(),
        Validity::Days(count) => format!("{count} days"),
        Validity::Hours(1) => "1 hour".into(),
        Validity::Hours(count) => format!("{count} hours"),
        Validity::Minutes(count) => format!("{count} minutes"),
    }
}
