//! The pages that show recovery codes, once.

use askama::Template;
use percent_encoding::utf8_percent_encode;

use super::{KEPT, PageContext};

/// All recovery codes of the person.
#[derive(Clone, Copy, Template)]
#[template(path = "recovery_codes.html", whitespace = "minimize")]
pub struct RecoveryCodes<'a> {
    pub page: PageContext<'a>,
    pub codes: &'a [String],
    /// The address of the person.
    pub email: &'a str,
    /// Where they go on.
    pub go_on: &'a str,
}

/// The code in the place of one that was used.
#[derive(Clone, Copy, Template)]
#[template(path = "new_recovery_code.html", whitespace = "minimize")]
pub struct NewRecoveryCode<'a> {
    pub page: PageContext<'a>,
    pub code: &'a str,
    /// Where the person goes on.
    pub go_on: &'a str,
    /// Where they replace what they have lost.
    pub replace: Option<&'a str>,
}

impl RecoveryCodes<'_> {
    /// A file with all codes, as a `data:` URI.
    fn file(&self) -> String {
        let first = self.page.texts().factors.codes_of(&self.page.branding.name, self.email);
        let text = format!("{first}\r\n\r\n{}\r\n", self.codes.join("\r\n"));
        format!("data:text/plain;charset=utf-8,{}", utf8_percent_encode(&text, KEPT))
    }
}
