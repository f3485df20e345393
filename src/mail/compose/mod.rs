//! How a mail is written: the letter in the language of its recipient, as text and as HTML, with the link and the code that
//! are derived from the id of its one-time secret.

use std::{
    net::IpAddr,
    time::{Duration, UNIX_EPOCH},
};

use askama::Template;
use lettre::{
    address::{Address, AddressError},
    message::{
        Mailbox, MultiPart, MultiPartKind, SinglePart,
        header::{HeaderName, HeaderValue},
    },
};

use super::{
    Composed, Contents, Mail,
    message::Message,
    text::{Attempt, Invitation, Letter, Texts},
};
use crate::{
    colour::Colour,
    session::device::Device,
    token::{
        cookie::MailedTarget,
        one_time::{OneTimeId, OneTimeMint, OneTimeSecret, Purpose},
    },
};

/// What all mails have in common.
pub struct Letterhead<'a> {
    /// What links start with: the public address of the pages. `None` if there are no pages, so that mails contain only codes.
    pub site: Option<&'a str>,
    /// The name of the service.
    pub name: &'a str,
    /// The accent colour of the service: red, green and blue.
    pub accent: [u8; 3],
    /// Whom mails are from. Without a name, the name of the service is shown.
    pub from: &'a Mailbox,
    /// Where answers go.
    pub reply_to: Option<&'a Mailbox>,
}

/// Why a mail cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ComposeError {
    /// The recipient has an address that no mail can be sent to.
    #[error("the address of the recipient cannot be used")]
    Recipient(#[source] AddressError),
    #[error("the mail cannot be written")]
    Headers(#[source] lettre::error::Error),
}

/// Writes a mail; `None` if it says nothing. The bytes of a mail are the same each time, so that a second attempt to send it
/// sends the same mail.
///
/// # Errors
/// See [`ComposeError`].
pub fn compose(
    mail: &Mail,
    one_time_secrets: &OneTimeMint,
    letterhead: &Letterhead<'_>,
) -> Result<Option<Composed>, ComposeError> {
    let texts = Texts::of(mail.language);
    let Some((letter, action)) = letter(mail, texts, letterhead.name) else {
        return Ok(None);
    };
    let subject = letter.subject.clone();
    let view = View::new(letter, action, texts, one_time_secrets, letterhead);
    let text = Text { view: &view }.render().expect("a template writes into a string");
    let html = Html { view: &view }.render().expect("a template writes into a string");
    let (local, domain) = mail.recipient.as_str().rsplit_once('@').unwrap_or_default();
    let recipient = Address::new(local, domain).map_err(ComposeError::Recipient)?;
    let from = Mailbox {
        name: letterhead.from.name.clone().or_else(|| Some(letterhead.name.to_owned())),
        email: letterhead.from.email.clone(),
    };
    let message_id = format!("<{}@{}>", mail.id, from.email.domain());
    let created_at = u64::try_from(mail.created_at.millis()).unwrap_or(0);
    let mut builder = lettre::Message::builder()
        .date(UNIX_EPOCH + Duration::from_millis(created_at))
        .message_id(Some(message_id))
        .from(from)
        .to(recipient.into())
        .subject(subject.clone())
        .raw_header(header("Auto-Submitted", "auto-generated"))
        .raw_header(header("Content-Language", texts.language.tag()));
    if let Some(reply_to) = letterhead.reply_to {
        builder = builder.reply_to(reply_to.clone());
    }
    let parts = MultiPart::builder()
        .kind(MultiPartKind::Alternative)
        .boundary(format!("=_{}", mail.id))
        .singlepart(SinglePart::plain(text.clone()))
        .singlepart(SinglePart::html(html.clone()));
    let message = builder.multipart(parts).map_err(ComposeError::Headers)?;
    let (link, code) = (view.link.clone(), view.code.as_ref().map(|(_, code)| code.clone()));
    let kind = mail.message.name();
    let contents = Contents { kind, subject, text, html, link, code };
    let (envelope, bytes) = (message.envelope().clone(), message.formatted());
    Ok(Some(Composed { envelope, bytes, contents }))
}

/// The link with which a person uses a one-time secret on the pages at this address.
pub fn link(site: &str, purpose: Purpose, secret: &OneTimeSecret) -> String {
    let path = match purpose {
        Purpose::VerifyEmail | Purpose::ChangeEmail => "/verify?code=",
        Purpose::RestoreEmail => "/restore-email?code=",
        Purpose::ResetPassword | Purpose::OperatorReset => "/reset?code=",
        Purpose::SignIn => "/sign-in/code/use?code=",
        Purpose::Invitation => "/sign-up?invitation=",
        Purpose::FactorReset => "/factors/reset?code=",
        // Only its code is used.
        Purpose::ProveAddress => "/sign-in",
    };
    format!("{}{path}{}", site.trim_end_matches('/'), secret.as_str())
}

fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

/// What the button of a mail does.
enum Action<'a> {
    /// Leads to the page that uses a one-time secret, and from there back to an app.
    Use(OneTimeId, Purpose, Option<&'a MailedTarget>),
    /// There is no button: a person who waits on a page types the code there.
    Code(OneTimeId, Purpose),
    /// Leads to a page.
    Open(&'static str),
    /// There is no button.
    None,
}

fn letter<'a>(mail: &'a Mail, texts: &Texts, service: &str) -> Option<(Letter, Action<'a>)> {
    let time = |at: &i64| mail.language.time(*at);
    let attempt = |user_agent: &str, address: &IpAddr, at: &i64| Attempt {
        device: Device::of(user_agent).in_words(mail.language),
        address: address.to_string(),
        time: time(at),
    };
    Some(match &mail.message {
        Message::VerifyEmail { one_time, target } => {
            let action = Action::Use(*one_time, Purpose::VerifyEmail, target.as_ref());
            (texts.verify_email(service), action)
        }
        Message::ChangeEmail { one_time } => {
            (texts.change_email(service), Action::Use(*one_time, Purpose::ChangeEmail, None))
        }
        Message::EmailChanged { one_time } => {
            (texts.email_changed(service), Action::Use(*one_time, Purpose::RestoreEmail, None))
        }
        Message::ResetPassword { one_time, target } => {
            let action = Action::Use(*one_time, Purpose::ResetPassword, target.as_ref());
            (texts.reset_password(service), action)
        }
        Message::SignIn { one_time, target } => {
            let action = Action::Use(*one_time, Purpose::SignIn, target.as_ref());
            (texts.sign_in(service), action)
        }
        Message::HasPassword => (texts.has_password(service), Action::Open("/sign-in")),
        Message::AlreadyRegistered => (texts.already_registered(service), Action::Open("/sign-in")),
        Message::Invitation { one_time, invited_by, expires_at } => {
            let until = expires_at.as_ref().map(time);
            let invitation = Invitation { from: invited_by.as_deref(), until };
            let letter = texts.invitation(service, invitation);
            (letter, Action::Use(*one_time, Purpose::Invitation, None))
        }
        Message::NewSignIn { user_agent, address, at } => {
            let sign_in = attempt(user_agent, address, at);
            (texts.new_sign_in(service, sign_in), Action::Open("/account"))
        }
        Message::PasswordChanged { at } => {
            (texts.password_changed(service, time(at)), Action::Open("/forgot"))
        }
        Message::SessionsEnded { by, at } => {
            (texts.sessions_ended(service, *by, time(at)), Action::Open("/sign-in"))
        }
        Message::AccountDeleted { by, kept_days, at } => {
            (texts.account_deleted(service, *by, *kept_days, time(at)), Action::None)
        }
        Message::FactorAdded { kind, at } => {
            (texts.factor_added(service, *kind, time(at)), Action::Open(SECURITY))
        }
        Message::FactorRemoved { kind, at } => {
            (texts.factor_removed(service, *kind, time(at)), Action::Open(SECURITY))
        }
        Message::RecoveryCodesReplaced { at } => {
            (texts.recovery_codes_replaced(service, time(at)), Action::Open(SECURITY))
        }
        Message::RecoveryCodeUsed { left, at } => {
            (texts.recovery_code_used(service, *left, time(at)), Action::Open(SECURITY))
        }
        Message::FactorRefused { user_agent, address, at } => {
            let refused = attempt(user_agent, address, at);
            (texts.factor_refused(service, refused), Action::Open("/forgot"))
        }
        Message::FactorsReset { at } => {
            (texts.factors_reset(service, time(at)), Action::Open(SECURITY))
        }
        Message::FactorResetLink { at } => {
            (texts.factor_reset_link(service, time(at)), Action::None)
        }
        Message::ProveAddress { one_time, login } => {
            (texts.prove_address(service, login), Action::Code(*one_time, Purpose::ProveAddress))
        }
        Message::IdentityLinked { login, at } => {
            (texts.identity_linked(service, login, time(at)), Action::Open(SECURITY))
        }
        Message::IdentityUnlinked { login, at } => {
            (texts.identity_unlinked(service, login, time(at)), Action::Open(SECURITY))
        }
        Message::KeyCreated { at } => (texts.key_created(service, time(at)), Action::Open(KEYS)),
        Message::AccountSecured { one_time, at } => {
            let letter = texts.account_secured(service, time(at));
            (letter, Action::Use(*one_time, Purpose::ResetPassword, None))
        }
        Message::PasswordRemoved { one_time, at } => {
            let letter = texts.password_removed(service, time(at));
            (letter, Action::Use(*one_time, Purpose::ResetPassword, None))
        }
        Message::Nothing => return None,
    })
}

/// The page on which a person changes their second factors.
const SECURITY: &str = "/account/security";

/// The page on which a person revokes their API keys.
const KEYS: &str = "/account/keys";

/// Everything that the templates show.
struct View<'a> {
    language: &'static str,
    name: &'a str,
    accent: String,
    on_accent: String,
    accent_on_light: String,
    accent_on_dark: String,
    letter: Letter,
    link: Option<String>,
    link_in_full: &'static str,
    code: Option<(&'static str, String)>,
    validity: Option<String>,
}

impl<'a> View<'a> {
    fn new(
        letter: Letter,
        action: Action<'_>,
        texts: &Texts,
        one_time_secrets: &OneTimeMint,
        letterhead: &Letterhead<'a>,
    ) -> Self {
        // The operator decides how long an invitation is valid.
        let lifetime = match action {
            Action::Use(_, Purpose::Invitation, _) | Action::Open(_) | Action::None => None,
            Action::Use(_, purpose, _) | Action::Code(_, purpose) => Some(purpose.lifetime()),
        };
        let has_code = !matches!(action, Action::Use(_, purpose, _) if !purpose.has_code());
        let (link, code) = match (action, letterhead.site) {
            (Action::Use(id, purpose, target), site) => {
                let secret = one_time_secrets.secret(id, purpose);
                let code = match has_code {
                    true => Some(one_time_secrets.code(id, purpose).to_text()),
                    // Without pages there is no link, and an app takes the secret itself.
                    false => site.is_none().then(|| secret.as_str().to_owned()),
                };
                let back = target.map(|target| format!("&for={}", target.as_str()));
                let back = back.unwrap_or_default();
                (site.map(|site| link(site, purpose, &secret) + &back), code)
            }
            (Action::Code(id, purpose), _) => {
                (None, Some(one_time_secrets.code(id, purpose).to_text()))
            }
            (Action::Open(path), Some(site)) => {
                (Some(format!("{}{path}", site.trim_end_matches('/'))), None)
            }
            (Action::Open(_), None) | (Action::None, _) => (None, None),
        };
        let words = if link.is_some() { texts.code_beside_link } else { texts.code_alone };
        let validity = lifetime.map(|lifetime| {
            let time = texts.span(lifetime.into());
            match (&link, has_code) {
                (Some(_), true) => texts.validity_of_both(&time),
                (Some(_), false) => texts.validity_of_link(&time),
                (None, _) => texts.validity_of_code(&time),
            }
        });
        let accent = Colour(letterhead.accent);
        Self {
            language: texts.language.tag(),
            name: letterhead.name,
            accent: accent.hex(),
            on_accent: accent.text_on_it().hex(),
            accent_on_light: accent.readable_on(LIGHT).hex(),
            accent_on_dark: accent.readable_on(DARK).hex(),
            link,
            link_in_full: texts.link_in_full,
            code: code.map(|code| (words, code)),
            validity,
            letter,
        }
    }
}

/// The backgrounds of the text in `templates/mail.html`.
const LIGHT: Colour = Colour::WHITE;
const DARK: Colour = Colour([0x1b, 0x1f, 0x26]);

#[derive(Template)]
#[template(path = "mail.html", whitespace = "minimize")]
struct Html<'a> {
    view: &'a View<'a>,
}

#[derive(Template)]
#[template(path = "mail.txt")]
struct Text<'a> {
    view: &'a View<'a>,
}

impl Text<'_> {
    /// The text in lines of at most 76 characters, unless a word is longer.
    fn wrapped(&self, text: &str) -> String {
        const WIDTH: usize = 76;
        let (mut wrapped, mut width) = (String::with_capacity(text.len()), 0);
        for word in text.split(' ') {
            let length = word.chars().count();
            if width > 0 {
                let fits = width + 1 + length <= WIDTH;
                wrapped.push(if fits { ' ' } else { '\n' });
                width = if fits { width + 1 } else { 0 };
            }
            wrapped.push_str(word);
            width += length;
        }
        wrapped
    }
}

#[cfg(test)]
mod tests;
