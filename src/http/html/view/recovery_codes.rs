//! The pages that show recovery codes, once.

use askama::Template;
use percent_encoding::utf8_percent_encode;

use super::{
    super::text::{FactorTexts, Texts},
    KEPT, PageContext, html,
};

/// All recovery codes of the person.
#[derive(Clone, Copy)]
pub struct RecoveryCodes<'a> {
    pub codes: &'a [String],
    /// The address of the person.
    pub email: &'a str,
    /// Where they go on.
    pub go_on: &'a str,
}

/// The code in the place of one that was used.
#[derive(Clone, Copy)]
pub struct NewRecoveryCode<'a> {
    pub code: &'a str,
    /// Where the person goes on.
    pub go_on: &'a str,
    /// Where they replace what they have lost.
    pub replace: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "recovery_codes.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    f: &'static FactorTexts,
    heading: &'static str,
    explanation: &'static str,
    codes: Vec<&'a str>,
    /// A file with all codes, as a `data:` URI.
    file: Option<String>,
    replace: Option<&'a str>,
    go_on: &'a str,
    go_on_words: &'static str,
}

impl RecoveryCodes<'_> {
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let f = &t.factors;
        let first = (f.codes_of)(&page.branding.name, self.email);
        let text = format!("{first}\r\n\r\n{}\r\n", self.codes.join("\r\n"));
        let file = format!("data:text/plain;charset=utf-8,{}", utf8_percent_encode(&text, KEPT));
        html(&Html {
            page,
            t,
            f,
            heading: f.codes_heading,
            explanation: f.codes_explanation,
            codes: self.codes.iter().map(|code| &**code).collect(),
            file: Some(file),
            replace: None,
            go_on: self.go_on,
            go_on_words: f.codes_saved,
        })
    }
}

impl NewRecoveryCode<'_> {
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let f = &t.factors;
        html(&Html {
            page,
            t,
            f,
            heading: f.new_code_heading,
            explanation: f.new_code_explanation,
            codes: vec![self.code],
            file: None,
            replace: self.replace,
            go_on: self.go_on,
            go_on_words: f.go_on,
        })
    }
}
