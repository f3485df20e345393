//! `pages` and `[branding]`: the pages for people with a browser, and how they look.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use base64::{Engine, prelude::BASE64_STANDARD};

use super::{
    Settings, SettingsError, absolute,
    key::Key,
    value::{Choice, Custom, NONE, OptionalPath, field},
};
use crate::user::Email;

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "pages",
        purpose: "Pages on which people sign in with a browser",
        value: &Choice { field: field!(pages), choices: &[("on", true), ("off", false)] },
    },
    Key {
        name: "branding.name",
        purpose: "Name of the service on its pages and in mails; none is the name in mail.from, or Doorward",
        value: &Custom {
            field: field!(branding.name),
            parse: parse_optional_name,
            show: show_text,
            allowed: || format!("{NONE}, or a name of 1 to {MAX_NAME} characters"),
            secret: false,
        },
    },
    Key {
        name: "branding.logo",
        purpose: "Logo on the pages: a PNG, SVG or WebP file of at most 3 KiB, or none",
        value: &OptionalPath { field: field!(branding.logo), target: "file" },
    },
    Key {
        name: "branding.accent",
        purpose: "Colour of buttons and links on the pages",
        value: &Custom {
            field: field!(branding.accent),
            parse: Accent::parse,
            show: Accent::to_string,
            allowed: || "a colour as # and six hexadecimal digits, such as #2b5cd9".into(),
            secret: false,
        },
    },
    Key {
        name: "branding.terms",
        purpose: "URL of the terms of use, which the pages link to",
        value: &Custom {
            field: field!(branding.terms),
            parse: parse_link,
            show: show_text,
            allowed: allowed_link,
            secret: false,
        },
    },
    Key {
        name: "branding.privacy",
        purpose: "URL of the privacy policy, which the pages link to",
        value: &Custom {
            field: field!(branding.privacy),
            parse: parse_link,
            show: show_text,
            allowed: allowed_link,
            secret: false,
        },
    },
    Key {
        name: "branding.contact",
        purpose: "Whom people ask who are refused access: an e-mail address or a URL, which the page links to",
        value: &Custom {
            field: field!(branding.contact),
            parse: parse_contact,
            show: show_contact,
            allowed: || {
                format!("{NONE}, an e-mail address, or an https:// URL, such as help@example.com")
            },
            secret: false,
        },
    },
];

impl Settings {
    /// What the service is called on its pages and in mails.
    pub(crate) fn service_name(&self) -> &str {
        let sender = || self.mail.from.as_ref().and_then(|from| from.name.as_deref());
        let sender = || sender().filter(|name| parse_name(name).is_some());
        self.branding.name.as_deref().or_else(sender).unwrap_or("Doorward")
    }
}

const MAX_NAME: usize = 60;
const MAX_LINK_BYTES: usize = 500;

/// Whose pages they are, and their looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BrandingSettings {
    /// Without one, see [`Settings::service_name`].
    pub(crate) name: Option<String>,
    pub(crate) logo: Option<PathBuf>,
    pub(crate) accent: Accent,
    pub(crate) terms: Option<String>,
    pub(crate) privacy: Option<String>,
    pub(crate) contact: Option<Contact>,
}

impl Default for BrandingSettings {
    fn default() -> Self {
        Self {
            name: None,
            logo: None,
            accent: Accent([0x2b, 0x5c, 0xd9]),
            terms: None,
            privacy: None,
            contact: None,
        }
    }
}

impl BrandingSettings {
    /// The logo as a `data:` URI.
    ///
    /// # Errors
    /// If the file cannot be read, is too large or is not an image that browsers show.
    pub(crate) fn read_logo(&self) -> Result<Option<String>, SettingsError> {
        self.logo.as_deref().map(read_logo).transpose()
    }
}

/// A colour: red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accent(pub(crate) [u8; 3]);

impl Accent {
    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| {
            digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        })?;
        let number = u32::from_str_radix(digits, 16).ok()?;
        let [_, red, green, blue] = number.to_be_bytes();
        Some(Self([red, green, blue]))
    }
}

impl fmt::Display for Accent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

fn parse_optional_name(text: &str) -> Option<Option<String>> {
    if text == NONE { Some(None) } else { parse_name(text).map(Some) }
}

fn parse_name(text: &str) -> Option<String> {
    let is_text = text.trim() == text && !text.chars().any(char::is_control);
    ((1..=MAX_NAME).contains(&text.chars().count()) && is_text).then(|| text.to_owned())
}

/// An HTTPS URL, or none.
fn parse_link(text: &str) -> Option<Option<String>> {
    if text == NONE {
        return Some(None);
    }
    let rest = text.strip_prefix("https://")?;
    let has_host = rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[');
    let is_plain = rest.bytes().all(|b| b.is_ascii_graphic() && !br#""<>\"#.contains(&b));
    (has_host && is_plain && text.len() <= MAX_LINK_BYTES).then(|| Some(text.to_owned()))
}

fn show_text(text: &Option<String>) -> String {
    text.clone().unwrap_or_else(|| NONE.into())
}

/// Whom people ask who are refused access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contact {
    /// An e-mail address that a link can contain as it is.
    Mail(String),
    /// An HTTPS URL.
    Link(String),
}

fn parse_contact(text: &str) -> Option<Option<Contact>> {
    if text == NONE {
        return Some(None);
    }
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"@.-_+".contains(&b);
    match Email::parse(text.to_owned()) {
        Ok(email) if text.bytes().all(is_plain) => {
            Some(Some(Contact::Mail(email.as_str().to_owned())))
        }
        _ => parse_link(text)?.map(|url| Some(Contact::Link(url))),
    }
}

fn show_contact(contact: &Option<Contact>) -> String {
    match contact {
        None => NONE.into(),
        Some(Contact::Mail(text) | Contact::Link(text)) => text.clone(),
    }
}

fn allowed_link() -> String {
    format!("{NONE}, or an https:// URL, such as https://example.com/terms")
}

/// Each page contains the logo, and has to stay small.
const MAX_LOGO_BYTES: usize = 3 << 10;

fn read_logo(path: &Path) -> Result<String, SettingsError> {
    let refuse = |cause: &dyn fmt::Display| {
        SettingsError(format!("branding.logo: {}: {cause}", absolute(path).display()))
    };
    // The size is checked first, so that a large file is not read.
    let length = fs::metadata(path).map_err(|error| refuse(&error))?.len();
    if length > MAX_LOGO_BYTES as u64 {
        let maximum = MAX_LOGO_BYTES >> 10;
        return Err(refuse(&format!("has {length} bytes: at most {maximum} KiB are allowed")));
    }
    let bytes = fs::read(path).map_err(|error| refuse(&error))?;
    let kind = image_kind(&bytes).ok_or_else(|| refuse(&"is not a PNG, SVG or WebP image"))?;
    Ok(format!("data:image/{kind};base64,{}", BASE64_STANDARD.encode(&bytes)))
}

/// The subtype of an image, by its content.
fn image_kind(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some("png");
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some("webp");
    }
    let text = str::from_utf8(bytes).ok()?.trim_start_matches('\u{feff}').trim_start();
    let is_xml = ["<svg", "<?xml", "<!--", "<!DOCTYPE svg"].iter().any(|s| text.starts_with(s));
    (is_xml && text.contains("<svg")).then_some("svg+xml")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::load;

    #[test]
    fn an_accent_has_six_hexadecimal_digits() {
        assert_eq!(Accent::parse("#0aF9ff"), Some(Accent([0x0a, 0xf9, 0xff])));
        assert_eq!(Accent([0x0a, 0xf9, 0xff]).to_string(), "#0af9ff");
        for bad in ["", "#", "0af9ff", "#0af9f", "#0af9ff0", "#0af9fg", "red", "#+af9ff", "#ää"] {
            assert_eq!(Accent::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn links_are_https() {
        for good in ["https://example.com", "https://example.com/a?b=c#d", "https://[::1]/"] {
            assert_eq!(parse_link(good), Some(Some(good.to_owned())));
        }
        assert_eq!(parse_link("none"), Some(None));
        for bad in [
            "",
            "example.com",
            "http://example.com",
            "javascript:alert(1)",
            "https://",
            "https:///x",
            "https://a b",
            "https://a\"b",
            "https://ä.example",
        ] {
            assert_eq!(parse_link(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_contact_is_an_address_or_a_link() {
        let address = Contact::Mail("help+access@example.com".into());
        assert_eq!(parse_contact("help+access@example.com"), Some(Some(address)));
        let link = Contact::Link("https://example.com/help".into());
        assert_eq!(parse_contact("https://example.com/help"), Some(Some(link)));
        assert_eq!(parse_contact("none"), Some(None));
        for bad in [
            "",
            "help",
            "http://example.com",
            "a b@example.com",
            "a?cc=b@example.com",
            "javascript:1",
        ] {
            assert_eq!(parse_contact(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_name_is_that_of_the_sender_unless_it_is_set() {
        let named = |file: &str| load(&[], &[], file).unwrap().service_name().to_owned();
        assert_eq!(named(""), "Doorward");
        assert_eq!(named("mail.from = 'shop@example.com'"), "Doorward");
        assert_eq!(named("mail.from = 'Käse & Co. <shop@example.com>'"), "Käse & Co.");
        let both = "mail.from = 'Shop <shop@example.com>'\nbranding.name = 'Example'";
        assert_eq!(named(both), "Example");
        let long = format!("mail.from = '{} <shop@example.com>'", "x".repeat(61));
        assert_eq!(named(&long), "Doorward", "too long for a page");
    }

    #[test]
    fn a_name_is_short_and_printable() {
        assert_eq!(parse_name("Käse & Co."), Some("Käse & Co.".into()));
        for bad in ["", " x", "a\nb", &"x".repeat(61)] {
            assert_eq!(parse_name(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_logo_is_recognised_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logo.png");
        let read = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            read_logo(&path).map_err(|error| {
                error.to_string().replace(&folder.path().display().to_string(), "…")
            })
        };
        assert_eq!(read(b"\x89PNG\r\n\x1a\n"), Ok("data:image/png;base64,iVBORw0KGgo=".into()));
        for (svg, kind) in [
            (&b"<svg/>"[..], "svg+xml"),
            (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- x --><svg></svg>", "svg+xml"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "webp"),
        ] {
            let start = format!("data:image/{kind};base64,");
            assert!(read(svg).unwrap().starts_with(&start), "{kind}");
        }
        for bad in [&b""[..], b"GIF89a", b"<html><svg/></html>", b"<?xml?><html/>", b"\xff\xd8"] {
            let error = "branding.logo: …/logo.png: is not a PNG, SVG or WebP image";
            assert_eq!(read(bad), Err(error.into()));
        }
        assert_eq!(
            read(&[b' '; 3073]),
            Err("branding.logo: …/logo.png: has 3073 bytes: at most 3 KiB are allowed".into())
        );
        let missing = read_logo(&folder.path().join("none.svg")).unwrap_err().to_string();
        assert!(missing.contains("none.svg: "), "{missing}");
    }
}
