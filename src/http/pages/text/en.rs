//! The texts in English.

use super::{Device, FieldFault, FormError, LinkTo, Message, MessageText, Notice, Span, Texts};
use crate::{fault::FaultKind, http::pages::language::Language};

pub(super) static TEXTS: Texts = Texts {
    language: Language::English,
    error_prefix: "Error: ",
    problem: "There is a problem",
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

    sign_in_to: |app| format!("Sign in to {app}"),
    sign_in_heading: "Sign in",
    forgot_password: "Forgot your password?",
    new_here: "New here?",

    sign_up_heading: "Create an account",
    sign_up_for: |app| format!("Create an account to use {app}"),
    have_account: "Already have an account?",

    sign_out_heading: "Sign out?",
    sign_out_explanation: "This signs you out here and in every app on this device.",

    reset_heading: "Set a new password",
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
    verified: "Verified",
    not_verified: "Not verified",
    change: "Change",
    save_name: "Save name",
    save_email: "Save address",
    password_explanation: "A new password ends your sessions on all other devices.",
    no_password: "Your account has no password. Set one with a reset code.",
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
    end_session_of: |device| format!("End session: {device}"),
    sign_out_everywhere: "Sign out everywhere",
    sign_out_everywhere_explanation: "Ends all sessions, this one too.",
    data: "Your data",
    data_explanation: "Everything that is stored about you, as a JSON file.",
    export: "Download your data",
    delete: "Delete account",
    delete_explanation: "Deletes your account and everything stored about you, at once and for good. You lose access to all apps.",
    delete_without_password: "Your account has no password to confirm this with. Set one with a reset code first.",
    delete_confirm: "Delete my account for good",

    refused_heading: |app| format!("You have no access to {app}"),
    refused_other_heading: |app| format!("{app} refused a request"),
    refused_explanation: "You are signed in, but this account has no access to this page.",
    signed_in_as: "Signed in as",
    somebody_else: "Sign in as somebody else",
    decision: "Decision",
    decision_explanation: "Do you need access? Send this number to the people who run the service.",
    decision_link: "Details for operators",
    why: "Why this was refused",
    why_explanation: "Only operators see this.",
    guard: "Guard",
    condition: "Condition",
    part: "Part of the condition",
    value: "Value",
    cause: "Decisive",

    notice: |notice| match notice {
        Notice::SignedOut => "You are signed out.",
        Notice::SignedOutEverywhere => "You are signed out on every device.",
        Notice::SessionExpired => "Your session has ended. Sign in again.",
        Notice::PasswordReset => "Your new password is saved. Sign in with it.",
        Notice::NameChanged => "Your name is saved.",
        Notice::EmailChanged => "Your e-mail address is saved.",
        Notice::PasswordChanged => {
            "Your password is changed. You are signed out on all other devices."
        }
        Notice::SessionEnded => "The session has ended.",
    },
    form_error: |error| match error {
        FormError::WrongCredentials => {
            "E-mail address and password do not match. Check both and try again.".into()
        }
        FormError::Throttled(wait) => try_again_in(Span::to_wait(wait)),
        FormError::Unavailable => {
            "This is not possible at the moment. Please try again shortly.".into()
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
            "Enter an e-mail address such as ada@example.com.".into()
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
        FieldFault::WrongCode => "This code is wrong, was used already or has expired.".into(),
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
        Message::Internal => MessageText::new(
            "Something went wrong",
            "This is our fault. Try again. If that does not help, tell the people who run this service.",
        ),
        Message::Unavailable => {
            MessageText::new("Not available at the moment", "Please try again shortly.")
        }
        Message::AccountDeleted => MessageText::new(
            "Your account is deleted",
            "Everything that was stored about you is gone, and you are signed out everywhere.",
        ),
    },
    link: |to| match to {
        LinkTo::Start => "Go to the start page".into(),
        LinkTo::TryAgain => "Try again".into(),
        LinkTo::App(title) => format!("Open {title}"),
    },
    ago: |span| match span {
        Span::Seconds(_) => "just now".into(),
        Span::Days(1) => "yesterday".into(),
        span => format!("{} ago", words(span)),
    },
    device: |Device { program, system }| match (program, system) {
        (Some(program), Some(system)) => format!("{program} on {}", system.name()),
        (Some(program), None) => program.into(),
        (None, Some(system)) => system.name().into(),
        (None, None) => "Unknown device".into(),
    },
};

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
