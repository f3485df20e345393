use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_STANDARD};

use super::*;
use crate::{
    clock::Timestamp,
    credential::factor::FactorKind,
    language::Language,
    mail::{DeletedBy, EndedBy, MailId},
    token::{
        cookie::{CookieMint, ReturnTarget},
        shared_secret::SharedSecret,
    },
    user::Email,
};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const HOSTILE: &str = "Firefox/<script>alert(1)</script>\r\nBcc: eve@example.com\r\n\r\n\"'>&";
const SITE: &str = "https://id.example.com/auth";

/// A mail as a mail program reads it.
struct Parsed {
    headers: BTreeMap<String, String>,
    text: String,
    html: String,
}

fn headers_and_body(source: &str) -> (BTreeMap<String, String>, &str) {
    let (head, body) = source.split_once("\r\n\r\n").expect("an empty line ends the headers");
    let unfolded = head.replace("\r\n ", " ").replace("\r\n\t", " ");
    let mut headers = BTreeMap::new();
    for line in unfolded.split("\r\n") {
        let (name, value) = line.split_once(": ").expect("a header has a name");
        let earlier = headers.insert(name.to_lowercase(), decoded_words(value));
        assert!(earlier.is_none(), "{name} is there twice");
    }
    (headers, body)
}

/// The words of a header by RFC 2047.
fn decoded_words(value: &str) -> String {
    let (mut decoded, mut rest) = (Vec::new(), value);
    while let Some((before, after)) = rest.split_once("=?utf-8?b?") {
        // White space between two encoded words is none.
        if decoded.is_empty() || !before.trim().is_empty() {
            decoded.extend_from_slice(before.as_bytes());
        }
        let (word, after) = after.split_once("?=").expect("an encoded word ends");
        decoded.extend(BASE64_STANDARD.decode(word).unwrap());
        rest = after;
    }
    decoded.extend_from_slice(rest.as_bytes());
    String::from_utf8(decoded).unwrap()
}

fn decoded_body(encoding: &str, body: &str) -> String {
    match encoding {
        "7bit" => body.to_owned(),
        "base64" => {
            String::from_utf8(BASE64_STANDARD.decode(body.replace("\r\n", "")).unwrap()).unwrap()
        }
        "quoted-printable" => {
            let joined = body.replace("=\r\n", "");
            let (mut bytes, mut rest) = (Vec::new(), joined.as_str());
            while let Some((before, after)) = rest.split_once('=') {
                bytes.extend_from_slice(before.as_bytes());
                bytes.push(u8::from_str_radix(&after[..2], 16).unwrap());
                rest = &after[2..];
            }
            bytes.extend_from_slice(rest.as_bytes());
            String::from_utf8(bytes).unwrap()
        }
        other => panic!("the encoding {other} is not safe everywhere"),
    }
}

fn parse(bytes: &[u8]) -> Parsed {
    assert!(bytes.is_ascii());
    let source = str::from_utf8(bytes).unwrap();
    assert!(!source.replace("\r\n", "").contains(['\r', '\n']), "lines end with CR LF");
    assert!(source.lines().all(|line| line.len() <= 998), "RFC 5322 limits lines");
    let (headers, body) = headers_and_body(source);
    let content_type = &headers["content-type"];
    let (kind, boundary) = content_type.split_once("; boundary=").unwrap();
    assert_eq!(kind, "multipart/alternative");
    let separator = format!("--{}", boundary.trim_matches('"'));
    let parts: Vec<_> = body.split(&separator).collect();
    let [before, text, html, end] = parts[..] else { panic!("there are two parts") };
    assert_eq!((before.trim(), end.trim()), ("", "--"));
    let part = |source: &str, kind: &str| {
        let (headers, body) = headers_and_body(source.trim_start());
        assert_eq!(headers["content-type"], kind);
        decoded_body(&headers["content-transfer-encoding"], body)
    };
    let text = part(text, "text/plain; charset=utf-8");
    let html = part(html, "text/html; charset=utf-8");
    Parsed { headers, text, html }
}

fn mail(message: Message, language: Language) -> Mail {
    Mail {
        id: MailId::random(),
        user_id: None,
        recipient: Email::parse("Ada.O'Neil+x@example.com".into()).unwrap(),
        language,
        message,
        created_at: NOW,
        expires_at: NOW,
    }
}

/// Every message, with what its button does.
fn messages(one_time: OneTimeId) -> Vec<(Message, Action<'static>)> {
    let use_it = |purpose| Action::Use(one_time, purpose, None);
    let new_sign_in = |user_agent: &str| Message::NewSignIn {
        user_agent: user_agent.into(),
        address: "2001:db8::7".parse().unwrap(),
        at: NOW.millis(),
    };
    let invitation = |invited_by: Option<&str>| Message::Invitation {
        one_time,
        invited_by: invited_by.map(Into::into),
        expires_at: invited_by.map(|_| NOW.millis()),
    };
    vec![
        (Message::VerifyEmail { one_time, target: None }, use_it(Purpose::VerifyEmail)),
        (Message::ChangeEmail { one_time }, use_it(Purpose::ChangeEmail)),
        (Message::EmailChanged { one_time }, use_it(Purpose::RestoreEmail)),
        (Message::ResetPassword { one_time, target: None }, use_it(Purpose::ResetPassword)),
        (Message::AccountSecured { one_time, at: NOW.millis() }, use_it(Purpose::ResetPassword)),
        (Message::PasswordRemoved { one_time, at: NOW.millis() }, use_it(Purpose::ResetPassword)),
        (Message::SignIn { one_time, target: None }, use_it(Purpose::SignIn)),
        (
            Message::ProveAddress { one_time, login: "Example SSO".into() },
            Action::Code(one_time, Purpose::ProveAddress),
        ),
        (Message::HasPassword, Action::Open("/sign-in")),
        (Message::AlreadyRegistered, Action::Open("/sign-in")),
        (invitation(None), use_it(Purpose::Invitation)),
        (invitation(Some("bob@example.com")), use_it(Purpose::Invitation)),
        (new_sign_in("Mozilla/5.0 (X11; Linux) Firefox/128.0"), Action::Open("/account")),
        (new_sign_in(HOSTILE), Action::Open("/account")),
        (Message::PasswordChanged { at: NOW.millis() }, Action::Open("/forgot")),
        (Message::SessionsEnded { by: EndedBy::Reuse, at: NOW.millis() }, Action::Open("/sign-in")),
        (
            Message::SessionsEnded { by: EndedBy::Operator, at: NOW.millis() },
            Action::Open("/sign-in"),
        ),
        (
            Message::AccountDeleted { by: DeletedBy::User, kept_days: Some(395), at: NOW.millis() },
            Action::None,
        ),
        (
            Message::AccountDeleted { by: DeletedBy::Operator, kept_days: None, at: NOW.millis() },
            Action::None,
        ),
    ]
    .into_iter()
    .chain(factor_messages())
    .collect()
}

/// Every message about second factors and API keys, with what its button does.
fn factor_messages() -> Vec<(Message, Action<'static>)> {
    let at = NOW.millis();
    let mut messages = Vec::new();
    for kind in FactorKind::ALL {
        for message in [Message::FactorAdded { kind, at }, Message::FactorRemoved { kind, at }] {
            messages.push((message, Action::Open(SECURITY)));
        }
    }
    let refused = Message::FactorRefused {
        user_agent: HOSTILE.into(),
        address: "2001:db8::7".parse().unwrap(),
        at,
    };
    messages.extend([
        (Message::RecoveryCodesReplaced { at }, Action::Open(SECURITY)),
        (Message::RecoveryCodeUsed { left: 8, at }, Action::Open(SECURITY)),
        (refused, Action::Open("/forgot")),
        (Message::FactorsReset { at }, Action::Open(SECURITY)),
        (Message::FactorResetLink { at }, Action::None),
        (Message::KeyCreated { at }, Action::Open(KEYS)),
        (Message::IdentityLinked { login: "Example SSO".into(), at }, Action::Open(SECURITY)),
        (Message::IdentityUnlinked { login: "Example SSO".into(), at }, Action::Open(SECURITY)),
    ]);
    messages
}

#[test]
fn an_invitation_says_from_whom_for_what_and_until_when() {
    let one_time = OneTimeId::random();
    let letter_of = |language, invited_by: Option<&str>| {
        let invited_by = invited_by.map(str::to_owned);
        let expires_at = Some(1_795_183_500_000);
        let message = Message::Invitation { one_time, invited_by, expires_at };
        let mail = mail(message, language);
        letter(&mail, Texts::of(language), "Acme").unwrap().0.facts
    };
    assert_eq!(
        letter_of(Language::English, Some("bob@example.com")),
        [
            ("From", "bob@example.com".into()),
            ("For", "an account at Acme".into()),
            ("Valid until", "Friday, 20 November 2026, 14:05 UTC".into()),
        ]
    );
    assert_eq!(
        letter_of(Language::German, None),
        [
            ("Von", "die Betreiber von Acme".into()),
            ("Für", "ein Konto bei Acme".into()),
            ("Gilt bis", "Freitag, 20. November 2026, 14:05 UTC".into()),
        ]
    );
}

#[test]
fn an_invitation_that_an_earlier_version_has_queued_is_read() {
    let id = OneTimeId::random();
    let stored = format!(r#"{{"invitation":{{"one_time":"{id}","invited_by":null}}}}"#);
    let message = Message::Invitation { one_time: id, invited_by: None, expires_at: None };
    assert_eq!(serde_json::from_str::<Message>(&stored).unwrap(), message);
}

const LANGUAGES: [Language; 2] = [Language::English, Language::German];

/// Calls `check` with each mail in each language and with each letterhead: message, what its button does, whether there
/// are pages, and the mail.
fn for_each_mail(check: impl Fn(&Message, &Action, &OneTimeMint, bool, Parsed)) {
    let mint = OneTimeMint::new(&SharedSecret::random());
    let from: Mailbox = "no-reply@example.com".parse().unwrap();
    for language in LANGUAGES {
        for (site, name) in [(Some(SITE), "Käse & <Co>"), (None, "Acme")] {
            let letterhead =
                Letterhead { site, name, accent: [0x2b, 0x5c, 0xd9], from: &from, reply_to: None };
            for (message, action) in messages(OneTimeId::random()) {
                let mail = mail(message, language);
                let composed = compose(&mail, &mint, &letterhead).unwrap().unwrap();
                let parsed = parse(&composed.bytes);
                let again = compose(&mail, &mint, &letterhead).unwrap().unwrap();
                assert!(composed.bytes == again.bytes, "a second attempt sends the same mail");
                check(&mail.message, &action, &mint, site.is_some(), parsed);
            }
        }
    }
}

#[test]
fn a_mail_has_the_headers_of_an_automatic_message() {
    let mint = OneTimeMint::new(&SharedSecret::random());
    let (from, reply_to) = (
        "Ärzte & Co <no-reply@mail.example.com>".parse().unwrap(),
        "help@example.com".parse().unwrap(),
    );
    let letterhead = Letterhead {
        site: Some(SITE),
        name: "Käse",
        accent: [0; 3],
        from: &from,
        reply_to: Some(&reply_to),
    };
    let mail = mail(Message::HasPassword, Language::German);
    let composed = compose(&mail, &mint, &letterhead).unwrap().unwrap();
    assert_eq!(composed.envelope.from().unwrap().to_string(), "no-reply@mail.example.com");
    let recipients: Vec<&str> = composed.envelope.to().iter().map(AsRef::as_ref).collect();
    assert_eq!(recipients, ["Ada.O'Neil+x@example.com"]);
    let headers = parse(&composed.bytes).headers;
    let expected_id = format!("<{}@mail.example.com>", mail.id);
    for (name, value) in [
        ("date", "Fri, 15 Jan 2027 08:00:00 +0000"),
        ("message-id", &*expected_id),
        ("from", "Ärzte & Co <no-reply@mail.example.com>"),
        ("reply-to", "help@example.com"),
        ("to", "Ada.O'Neil+x@example.com"),
        ("subject", "Melden Sie sich bei Käse mit Ihrem Passwort an"),
        ("auto-submitted", "auto-generated"),
        ("content-language", "de"),
        ("mime-version", "1.0"),
    ] {
        assert_eq!(headers[name], value, "{name}");
    }
}

#[test]
fn a_sender_without_a_name_has_that_of_the_service() {
    let mint = OneTimeMint::new(&SharedSecret::random());
    let from = "no-reply@example.com".parse().unwrap();
    let letterhead =
        Letterhead { site: None, name: "Acme", accent: [0; 3], from: &from, reply_to: None };
    let mail = mail(Message::HasPassword, Language::English);
    let headers = parse(&compose(&mail, &mint, &letterhead).unwrap().unwrap().bytes).headers;
    assert_eq!(headers["from"], "Acme <no-reply@example.com>");
    assert!(!headers.contains_key("reply-to"));
}

#[test]
fn a_mail_has_the_link_and_the_code_of_its_one_time_secret_and_no_other() {
    for_each_mail(|message, action, mint, has_pages, mail| {
        let (link, code) = match action {
            Action::Use(id, purpose, _) => (
                Some(super::link(SITE, *purpose, &mint.secret(*id, *purpose))),
                match (purpose.has_code(), has_pages) {
                    (true, _) => Some(mint.code(*id, *purpose).to_text()),
                    (false, true) => None,
                    (false, false) => Some(mint.secret(*id, *purpose).as_str().to_owned()),
                },
            ),
            Action::Code(id, purpose) => (None, Some(mint.code(*id, *purpose).to_text())),
            Action::Open(path) => (Some(format!("{SITE}{path}")), None),
            Action::None => (None, None),
        };
        let link = link.filter(|_| has_pages);
        let links = |source: &str| source.matches("http").count();
        assert_eq!(links(&mail.text), usize::from(link.is_some()), "{message:?}");
        assert_eq!(links(&mail.html), 3 * usize::from(link.is_some()), "{message:?}");
        if let Some(link) = link {
            assert!(mail.text.contains(&format!("\r\n{link}\r\n")), "{message:?}: {}", mail.text);
            assert_eq!(mail.html.matches(&format!("href=\"{link}\"")).count(), 2, "{message:?}");
            assert!(mail.html.contains(&format!(">{link}</a>")), "{message:?}");
        }
        match &code {
            Some(code) => {
                assert!(mail.text.contains(&format!("    {code}\r\n")), "{message:?}");
                assert!(mail.html.contains(&format!(">{code}</p>")), "{message:?}");
            }
            None => assert!(!mail.html.contains("class=\"code\""), "{message:?}"),
        }
        assert_eq!(mail.text.contains("    "), code.is_some(), "{message:?}: {}", mail.text);
    });
}

#[test]
fn a_link_leads_back_to_the_app_that_the_person_came_from() {
    let secret = SharedSecret::random();
    let mint = OneTimeMint::new(&secret);
    let target = CookieMint::new(&secret).seal_mailed_target(ReturnTarget {
        guard: "reports".into(),
        url: "https://reports.example.com/q3?a=1&b=2".into(),
        attempt: None,
    });
    let from = "no-reply@example.com".parse().unwrap();
    let letterhead =
        Letterhead { site: Some(SITE), name: "Acme", accent: [0; 3], from: &from, reply_to: None };
    let one_time = OneTimeId::random();
    for (message, purpose) in [
        (Message::VerifyEmail { one_time, target: None }, Purpose::VerifyEmail),
        (Message::ResetPassword { one_time, target: None }, Purpose::ResetPassword),
        (Message::SignIn { one_time, target: None }, Purpose::SignIn),
    ] {
        let message = message.leading_to(Some(&target));
        let stored = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&stored).unwrap(), message);
        let mail = mail(message, Language::English);
        let contents = compose(&mail, &mint, &letterhead).unwrap().unwrap().contents;
        let plain = super::link(SITE, purpose, &mint.secret(one_time, purpose));
        let link = format!("{plain}&for={}", target.as_str());
        assert!(contents.text.contains(&format!("\n{link}\n")), "{}", contents.text);
        let escaped = link.replace('&', "&#38;");
        assert_eq!(contents.html.matches(&format!("href=\"{escaped}\"")).count(), 2);
        assert_eq!(contents.link, Some(link));
    }
    // A mail that was queued by an earlier version has none.
    let stored = format!(r#"{{"verify_email":{{"one_time":"{one_time}"}}}}"#);
    let message: Message = serde_json::from_str(&stored).unwrap();
    assert_eq!(message, Message::VerifyEmail { one_time, target: None });
    assert_eq!(serde_json::to_string(&message).unwrap(), stored);
}

#[test]
fn both_parts_say_the_same_and_nothing_that_a_stranger_chose() {
    for_each_mail(|message, _, _, _, mail| {
        let subject = &mail.headers["subject"];
        assert!(!subject.is_empty() && !subject.contains(['\r', '\n']), "{subject}");
        assert!(!mail.headers.contains_key("bcc"), "{message:?}");
        for banned in ["<script", "alert", "eve@example.com", "<Co>", "<img", "url(", "javascript"]
        {
            assert!(!mail.html.contains(banned), "{message:?}: {banned}");
        }
        assert!(!mail.text.contains("alert") && !mail.text.contains("&#"), "{}", mail.text);
        let is_named =
            mail.text.starts_with("Käse & <Co>\r\n") || mail.text.starts_with("Acme\r\n");
        assert!(is_named, "{}", mail.text);
        let is_link = |line: &str| line.starts_with("https://");
        let is_narrow = |line: &str| line.chars().count() <= 76 || is_link(line);
        assert!(mail.text.lines().all(is_narrow), "{}", mail.text);
        assert!(!mail.text.contains("\r\n\r\n\r\n"), "{}", mail.text);
        let mut shown = mail.html.clone();
        for (escaped, plain) in [("&#60;", "<"), ("&#62;", ">"), ("&#39;", "'"), ("&#38;", "&")] {
            shown = shown.replace(escaped, plain);
        }
        let paragraphs = mail.text.split("\r\n\r\n").skip(1);
        for paragraph in paragraphs.filter(|paragraph| !paragraph.contains("http")) {
            for line in paragraph.trim().lines() {
                let words = line.split(": ").last().unwrap().trim();
                assert!(shown.contains(words), "{message:?}: {words}\n{shown}");
            }
        }
        if let Message::NewSignIn { user_agent, .. } | Message::FactorRefused { user_agent, .. } =
            message
        {
            assert!(mail.text.contains("2001:db8::7"), "{}", mail.text);
            let times =
                ["Friday, 15 January 2027, 08:00 UTC", "Freitag, 15. Januar 2027, 08:00 UTC"];
            assert!(times.iter().any(|time| mail.text.contains(time)), "{}", mail.text);
            assert!(user_agent != HOSTILE || mail.text.contains("Firefox"), "{}", mail.text);
        }
    });
}

#[test]
fn every_message_has_its_own_subject_in_each_language() {
    let service = "Acme";
    let mut subjects = Vec::new();
    for language in LANGUAGES {
        for (message, _) in messages(OneTimeId::random()) {
            let mail = mail(message, language);
            let (letter, _) = letter(&mail, Texts::of(language), service).unwrap();
            assert!(letter.subject.contains(service), "{}", letter.subject);
            assert!(letter.subject.chars().count() <= 60, "{}", letter.subject);
            subjects.push(letter.subject);
        }
    }
    subjects.sort_unstable();
    subjects.dedup();
    assert_eq!(subjects.len(), 2 * 29);
}

#[test]
fn nothing_is_no_mail() {
    let mint = OneTimeMint::new(&SharedSecret::random());
    let from = "no-reply@example.com".parse().unwrap();
    let letterhead =
        Letterhead { site: None, name: "Acme", accent: [0; 3], from: &from, reply_to: None };
    let mail = mail(Message::Nothing, Language::English);
    assert!(compose(&mail, &mint, &letterhead).unwrap().is_none());
}

#[test]
fn every_address_of_a_user_can_be_written_to() {
    for address in ["a@b.co", "o'neil@example.com", "_x-y+z.1@sub.example-site.org"] {
        let email = Email::parse(address.into()).unwrap();
        let (local, domain) = email.as_str().rsplit_once('@').unwrap();
        assert!(Address::new(local, domain).is_ok(), "{address}");
    }
}
