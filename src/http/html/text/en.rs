//! The texts in English.

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
    language: Language::English,
    error_prefix: "Error: ",
    problem: "Check these fields:",
    development: "Development server: data is in memory and passwords are not protected.",
    terms: "Terms",
    privacy: "Privacy",
    name: "Name",
    email: "E-mail address",
    password: "Password",
    new_password: "New password",
    new_password_hint: |minimum| {
        format!("At least {minimum} characters. A few unrelated words are easy to remember.")
    },
    stay: "Stay signed in",
    stay_hint: "Only on a device that nobody else uses.",
    sign_in: "Sign in",
    sign_up: "Create account",
    sign_out: "Sign out",
    back_to_account: "Back to your account",
    back_to_sign_in: "Back to sign-in",
    mail_code: "Code from the mail",
    mail_code_hint: "8 digits.",
    code_mailed: |address| format!("Type the code from the mail to {address}."),
    code_typed: "Type the code from the mail, and the address that it was sent to.",
    nothing_arrived: "Nothing arrived? Look in the spam folder too.",
    send_again: "Send it again",

    sign_in_to: |app| format!("Sign in to {app}"),
    sign_in_heading: "Sign in",
    forgot_password: "Forgot your password?",
    sign_in_by_mail: "Sign in with a code by mail",
    sign_in_with_it: "Sign in with it",
    new_here: "New here?",

    sign_up_heading: "Create an account",
    sign_up_for: |app| format!("Create an account to use {app}"),
    have_account: "Already have an account?",
    invitation_code: "Code of your invitation",
    invitation_code_hint: "Only if somebody has invited you. 8 digits.",
    invited_address: "Your invitation is for this address.",

    sign_out_heading: "Sign out?",
    sign_out_explanation: "This signs you out here and in every app on this device.",

    forgot_explanation: "We mail you a link and a code with which you set a new password.",
    send_mail: "Send mail",
    have_reset_code: "I have a reset code",
    code_sign_in_heading: "Sign in with a code",
    code_sign_in_explanation: "We mail you a link and a code.",
    only_without_password: "This is for accounts without a password.",
    sign_in_link: |address| {
        format!("You sign in as {address}. Go on only if this is your account.")
    },
    sign_in_instead: |address| {
        format!("This browser is signed in as {address}. That ends when you go on.")
    },
    verify_heading: "Confirm your e-mail address",
    verify_link: |address| format!("Confirm that {address} is your address."),
    confirm_address: "Confirm address",
    verify_for: |app| format!("Confirm your address to go on to {app}"),
    verify_mailed: |address| {
        format!(
            "We mailed a code to {address}. Type it here, or open the link in the mail on any device."
        )
    },
    link_opened: "Opened the link in the mail?",
    go_on_to: |app| format!("Go on to {app}"),
    not_your_address: "Not your address?",
    change_address: "Change it",
    restore_heading: "Undo the change of your address",
    restore_link: |address| format!("{address} becomes the address of your account again."),
    restore_explanation: "Set a new password as well, because somebody else may know the old one. After that you are signed out on every device.",
    restore: "Undo the change",

    reset_heading: "Set a new password",
    reset_link: |address| format!("Set a new password for {address}."),
    reset_ends_sessions: "After that you are signed out on every device.",
    reset_explanation: |operator| {
        format!(
            "Ask the people who run {operator} for a reset code. It works once. After that you are signed out on every device."
        )
    },
    code: "Reset code",
    code_hint: "As you received it.",
    set_password: "Set password",

    account_heading: "Your account",
    apps: "Your apps",
    apps_explanation: "Open them without signing in again.",
    no_apps: "There are no apps for you yet. Apps appear here as soon as you are given access.",
    profile: "Profile",
    profile_explanation: "Apps that you use see your name and e-mail address.",
    verified: "Confirmed",
    not_verified: "Not confirmed",
    verification_mailed: |address| {
        format!("We sent a mail to {address}. Open its link, or type its code.")
    },
    verification_offered: |address| {
        format!("{address} is not confirmed. We can send a mail with a link and a code to it.")
    },
    pending_email: |address| {
        format!(
            "{address} becomes your address when you confirm it. We sent a mail there. Open its link, or type its code."
        )
    },
    cancel_change: "Cancel the change",
    change: "Change",
    save_name: "Save name",
    save_email: "Save address",
    password_explanation: "A new password ends your sessions on all other devices.",
    no_password: "Your account has no password. Set one with a reset code.",
    no_password_but_mail: "Your account has no password. We can mail you a link to set one.",
    current_password: "Current password",
    confirm_password: "Your password, to confirm",
    change_password: "Change password",
    sessions: "Sessions",
    sessions_explanation: "Where you are signed in. End each session that you do not recognise, then change your password.",
    only_this_session: "You are signed in on this device only.",
    more_sessions: |count| {
        format!("And {count} more, used longer ago. “Sign out everywhere” ends them too.")
    },
    device_column: "Device",
    address_column: "Address",
    last_used_column: "Last used",
    action_column: "Action",
    this_session: "This device",
    end_session: "End",
    end_session_of: |device| format!("End: {device}"),
    sign_out_everywhere: "Sign out everywhere",
    sign_out_everywhere_explanation: "Ends all sessions, this one too.",
    invitations: "Invitations",
    invitations_explanation: "Whoever you invite can create an account with the address that you enter.",
    invite: "Invite",
    hand_over: |address| {
        format!("Give this link to {address}. It works once, and is not shown again.")
    },
    valid_until: |day| format!("Valid until {day}"),
    still_valid: |span| format!("Valid for {}", words(span)),
    more_invitations: "There are more. They appear when others are revoked or used.",
    open_invitations: "Not used yet",
    show_invitations: "Invite people",
    revoke: "Revoke",
    revoke_invitation_of: |address| format!("Revoke: {address}"),
    data: "Your data",
    data_explanation: "Everything that is stored about you, as a JSON file.",
    export: "Download your data",
    delete: "Delete account",
    delete_explanation: |kept_days| {
        format!(
            "Deletes your account and what is stored about you, at once and for good, with your access to all apps. {}",
            what_stays(kept_days)
        )
    },
    delete_without_password: "Your account has no password to confirm this with. Set one first.",
    delete_confirm: "Delete my account for good",

    refused_heading: |app| format!("You have no access to {app}"),
    refused_other_heading: |app| format!("{app} refused a request"),
    refused_explanation: "You are signed in, but this account has no access to this page.",
    missing: |missing| match missing {
        Missing::VerifiedEmail => "This would be admitted with a confirmed e-mail address.",
        Missing::SecondFactor => {
            "This would be admitted with a second factor. None that suffices is set up."
        }
        Missing::Passkey => "This would be admitted with a passkey. None is set up.",
        Missing::StepUp(Ask::Again) => "This would be admitted after signing in again.",
        Missing::StepUp(Ask::TwoFactors) => "This would be admitted with two factors.",
        Missing::StepUp(Ask::PhishingResistant) => "This would be admitted with a passkey.",
    },
    signed_in_as: "Signed in as",
    somebody_else: "Sign in as somebody else",
    decision: "Decision",
    need_access: "Do you need access?",
    ask_operators: "Send this number to the people who run the service.",
    access_subject: |app, decision| format!("Access to {app} (decision {decision})"),
    decision_link: "Details for operators",
    why: "Why this was refused",
    why_explanation: "Only operators see this.",
    guard: "Guard",
    condition: "Condition",
    part: "Part of the condition",
    value: "Value",
    cause: "Decisive",

    factors: factors::en::TEXTS,
    activity: activity::en::TEXTS,
    admin: admin::en::TEXTS,
    keys: keys::en::TEXTS,

    notice: |notice| match notice {
        Notice::SignedOut => "You are signed out.",
        Notice::SignedOutEverywhere => "You are signed out on every device.",
        Notice::SessionExpired => "Your session has ended. Sign in again.",
        Notice::FactorsReset => {
            "Your second factors are removed. Sign in, and add new ones to your account."
        }
        Notice::PasswordReset => "Your new password is saved. Sign in with it.",
        Notice::NameChanged => "Your name is saved.",
        Notice::EmailChanged => "Your e-mail address is saved.",
        Notice::PasswordChanged => {
            "Your password is changed. You are signed out on all other devices."
        }
        Notice::SessionEnded => "The session has ended.",
        Notice::MailSent => {
            "If this address has an account, a mail is on its way. It may take a few minutes."
        }
        Notice::VerificationSent => "A mail is on its way. It may take a few minutes.",
        Notice::EmailVerified => "Your e-mail address is confirmed.",
        Notice::EmailPending => {
            "We sent a mail to your new address. Open its link, or type its code below."
        }
        Notice::EmailChangeCancelled => "Your e-mail address stays as it is.",
        Notice::EmailRestored => {
            "Your old e-mail address and your new password are saved. Sign in with them."
        }
        Notice::Invited => "The invitation is on its way.",
        Notice::InvitationRevoked => "The invitation is revoked.",
        Notice::KeyRevoked => "The key is revoked.",
        Notice::AnswerExpired => "That took too long. Please sign in again.",
        Notice::Confirmed => "It is you. Go on within the next 10 minutes.",
        Notice::Recovered => {
            "You used a recovery code. Below, remove what you have lost, and add something new in its place."
        }
        Notice::PasskeyAdded => "The passkey is added.",
        Notice::KeyAdded => "The security key is added.",
        Notice::AppAdded => "The authenticator app is set up.",
        Notice::PasskeyRenamed => "The name is saved.",
        Notice::FactorRemoved => "It is removed.",
        Notice::DeviceRemoved => "The browser is no longer trusted.",
    },
    form_error: |error| {
        match error {
        FormError::WrongCredentials => {
            "E-mail address and password do not match. Check both and try again.".into()
        }
        FormError::Throttled(wait) => try_again_in(Span::to_wait(wait)),
        FormError::Unavailable => {
            "This is not possible at the moment. Please try again shortly.".into()
        }
        FormError::EmailTaken => "This address already has an account.".into(),
        FormError::MayNotRegister => {
            "You cannot create an account with these details. Ask the people who run this service for an invitation.".into()
        }
        FormError::PasskeyRefused => "This passkey was not accepted. Try again, or use another way.".into(),
        FormError::PasskeyNeeded => "Only a passkey or a security key is enough here.".into(),
        FormError::UnknownPasskey => {
            "This passkey is not known here. It may have been removed. Sign in another way.".into()
        }
        FormError::FactorTaken => "This is set up already.".into(),
        FormError::TooManyPasskeys => "You cannot have more passkeys. Remove one first.".into(),
        FormError::UserChanged => {
            "Somebody has changed this user in the meantime. Look again, and repeat it.".into()
        }
        FormError::RegistrationClosed => {
            "Nobody can create an account: the setting registration is \"closed\".".into()
        }
        FormError::TooManyKeys => "You cannot have more keys. Revoke one first.".into(),
        FormError::LastWayIn => {
            "This is the last way to sign in to your account. Set a password or add another passkey first.".into()
        }
    }
    },
    field_fault: |fault| match fault {
        FieldFault::Rule(FaultKind::Required) => "Fill in this field.".into(),
        FieldFault::Rule(FaultKind::TooShort(minimum)) => {
            format!("Use at least {minimum} {}.", characters(minimum))
        }
        FieldFault::Rule(FaultKind::TooLong(maximum)) => {
            format!("Use at most {maximum} {}.", characters(maximum))
        }
        FieldFault::Rule(FaultKind::InvalidEmail) => {
            concat!("Enter an e-mail address such as ", examples::email!(), ".").into()
        }
        FieldFault::Rule(FaultKind::InvalidName) => {
            "This name has characters that are not allowed.".into()
        }
        FieldFault::Rule(FaultKind::CommonPassword) => {
            "Many people use this password. Choose another one.".into()
        }
        FieldFault::Rule(FaultKind::OwnNameOrEmail) => {
            "The password must not be your name or e-mail address.".into()
        }
        FieldFault::Rule(FaultKind::EmailTaken) => "This address already has an account.".into(),
        FieldFault::Rule(FaultKind::Malformed) => "This value is not valid.".into(),
        FieldFault::WrongPassword => "This is not your current password.".into(),
        FieldFault::InvalidRole => "Use 1 to 64 letters, digits and _ - : . /".into(),
        FieldFault::NoScope => "Choose what the key is for.".into(),
        FieldFault::InvalidCondition => "This condition is not valid.".into(),
        FieldFault::InvalidKeyDays => "Enter a number of days from 1 to 3660.".into(),
        FieldFault::TooManyRoles => "A user cannot have more roles. Revoke one first.".into(),
        FieldFault::InvalidDays => "Enter a number of days from 1 to 90.".into(),
        FieldFault::AlreadyInvited => "Somebody else has invited this address already.".into(),
        FieldFault::WrongCode => "This code is wrong, was used already or has expired.".into(),
        FieldFault::WrongTotp => {
            "This code is wrong. The app shows a new one every 30 seconds.".into()
        }
        FieldFault::UsedCode => "This code was used already. Wait for the next one.".into(),
    },
    message: |message| match message {
        Message::BadRequest => MessageText::new(
            "This request is not valid",
            "Your browser sent something that cannot be read. Go back and try again.",
        ),
        Message::CrossSite => MessageText::new(
            "This came from another site",
            "For your safety, forms are accepted only from these pages themselves. Open the page and try again.",
        ),
        Message::NoCookie => MessageText::new(
            "Your browser kept no cookie",
            "Signing in needs cookies. Allow cookies for this site, then open it again.",
        ),
        Message::LinkUsed => MessageText::new(
            "This sign-in link is no longer valid",
            "It works once and for one minute. Open the app again. While you are signed in, this needs no password.",
        ),
        Message::FormNotSent => MessageText::new(
            "Your form was not sent",
            "You were given access only while it was on its way. Go back and send it again, or reload this page.",
        ),
        Message::NotFound => {
            MessageText::new("There is no such page", "Check the address. The page may have moved.")
        }
        Message::UnknownDecision => MessageText::new(
            "This decision is not known",
            "Only the latest decisions are kept, and not across a restart. Try to open the app again for a new number.",
        ),
        Message::MethodNotAllowed => MessageText::new(
            "This cannot be done here",
            "The page exists, but it does not accept this kind of request.",
        ),
        Message::NotPermitted => MessageText::new(
            "You may not do this",
            "You administer this service, but your roles do not include this. Ask somebody who may change them.",
        ),
        Message::TooSlow => MessageText::new(
            "The request took too long",
            "It did not arrive in time. Check your connection and try again.",
        ),
        Message::TooLarge => MessageText::new(
            "This is too much text",
            "What you sent is larger than allowed. Go back and shorten it.",
        ),
        Message::NotAForm => {
            MessageText::new("This request is not a form", "Open the page and send its form.")
        }
        Message::HttpsNeeded => MessageText::new(
            "HTTPS is needed",
            "Signing in on this address is not safe without HTTPS. If you run this service: set public_url to its https address.",
        ),
        Message::Throttled(wait) => MessageText {
            heading: "Too many attempts",
            explanation: try_again_in(Span::to_wait(wait)),
        },
        Message::SignInAgain => MessageText::new(
            "Sign in again",
            "Your last sign-in is too long ago for this change. Sign in again, and then repeat it within 10 minutes.",
        ),
        Message::SignInAgainForApp => MessageText::new(
            "Sign in again",
            "Your last sign-in is too long ago for this app. Sign in again, and you are led to it.",
        ),
        Message::Internal => MessageText::new(
            "Something went wrong",
            "This is our fault. Try again. If that does not help, tell the people who run this service.",
        ),
        Message::Unavailable => {
            MessageText::new("Not available at the moment", "Please try again shortly.")
        }
        Message::AccountDeleted { kept_days } => MessageText {
            heading: "Your account is deleted",
            explanation: format!(
                "Your account and what was stored about you are deleted, and you are signed out everywhere. {}",
                what_stays(kept_days)
            ),
        },
        Message::NeedsMail => {
            MessageText::new("This service sends no mail", "Ask the people who run it for help.")
        }
        Message::VerifyLinkDead => MessageText::new(
            "This link is no longer valid",
            "It was used already or has expired. Your account shows whether your address is confirmed, and sends you a new mail.",
        ),
        Message::FactorResetLinkDead => MessageText::new(
            "This link is no longer valid",
            "It was used already, was replaced or has expired. Ask the people who run this service for a new one.",
        ),
        Message::RestoreLinkDead => MessageText::new(
            "This link is no longer valid",
            "It was used already or has expired. If you cannot get into your account, ask the people who run this service for help.",
        ),
        Message::ResetLinkDead => MessageText::new(
            "This link is no longer valid",
            "It works once and for one hour, and not after the password has changed. Have a new mail sent.",
        ),
        Message::SignInLinkDead => MessageText::new(
            "This link is no longer valid",
            "It works once and for 10 minutes. Have a new mail sent.",
        ),
        Message::InvitationDead => MessageText::new(
            "This invitation is no longer valid",
            "It was used already, was revoked or has expired. Ask whoever invited you for a new one.",
        ),
        Message::SignUpClosed => MessageText::new(
            "New accounts are not possible here",
            "The people who run this service create all accounts. Ask them for one.",
        ),
        Message::SignUpInvited => MessageText::new(
            "You need an invitation",
            "Only people with an invitation can create an account here. Open the link in the mail with your invitation.",
        ),
        Message::EmailVerified => MessageText::new(
            "Your e-mail address is confirmed",
            "Go on where you began, or on this device.",
        ),
        Message::SignUpMailed => MessageText::new(
            "Look into your mail",
            "We sent you a mail that says how to go on. It may take a few minutes. Look in the spam folder too.",
        ),
    },
    link: |to| match to {
        LinkTo::Start => "Go to the start page".into(),
        LinkTo::TryAgain => "Try again".into(),
        LinkTo::SignIn => "Sign in".into(),
        LinkTo::Administration => "Back to the administration".into(),
        LinkTo::Account => "Open your account".into(),
        LinkTo::NewMail => "Have a new mail sent".into(),
        LinkTo::InvitationCode => "I have the code of an invitation".into(),
        LinkTo::App(title) => format!("Open {title}"),
        LinkTo::ContinueTo(title) => format!("Continue to {title}"),
    },
    ago: |span| match span {
        Span::Seconds(_) => "just now".into(),
        Span::Days(1) => "yesterday".into(),
        span => format!("{} ago", words(span)),
    },
};

/// What the audit trail keeps of a deleted account.
fn what_stays(kept_days: Option<u32>) -> String {
    let how_long = match kept_days {
        None => "without a limit".to_owned(),
        Some(1) => "for a day".to_owned(),
        Some(days) => format!("for {days} days"),
    };
    format!(
        "As a proof, the audit trail keeps ids, kinds and times of events {how_long}, but no name, address or network of yours."
    )
}

fn try_again_in(wait: Span) -> String {
    format!("There were too many attempts. Try again in {}.", words(wait))
}

fn characters(count: usize) -> &'static str {
    if count == 1 { "character" } else { "characters" }
}

fn words(span: Span) -> String {
    let (count, unit) = match span {
        Span::Seconds(count) => (count, "second"),
        Span::Minutes(count) => (count, "minute"),
        Span::Hours(count) => (count, "hour"),
        Span::Days(count) => (count, "day"),
        Span::Months(count) => (count, "month"),
        Span::Years(count) => (count, "year"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
