//! The page on which a person on the way to an app confirms their address.

use askama::Template;

use super::{
    super::text::{FieldFault, FormError, Notice, Texts},
    PageContext,
    field::{Field, Summary},
    html,
};

/// The page on which a person on the way to an app confirms their address.
#[derive(Clone, Default)]
pub struct VerifyForApp<'a> {
    /// The title of the app.
    pub app: &'a str,
    /// The return target, passed on in the field `for`.
    pub target: &'a str,
    /// The address that the code was mailed to.
    pub address: &'a str,
    /// Whether it is a new address of the person. The account sends its mail.
    pub is_new_address: bool,
    /// The code as it was typed.
    pub code: &'a str,
    pub notice: Option<Notice>,
    pub error: Option<FormError>,
    pub code_fault: Option<FieldFault>,
}

#[derive(Template)]
#[template(path = "verify.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    view: &'a VerifyForApp<'a>,
    heading: String,
    explanation: String,
    go_on: String,
    notice: Option<&'static str>,
    summary: Summary,
    code: Field<'a>,
    query: String,
}

impl VerifyForApp<'_> {
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let mut code = Field::mail_code(t, self.code).with_fault(t, self.code_fault);
        let summary = Summary::of(t, self.error, &mut [&mut code], Some("code"));
        html(&Html {
            page,
            t,
            view: self,
            heading: (t.verify_for)(self.app),
            explanation: (t.verify_mailed)(self.address),
            go_on: (t.go_on_to)(self.app),
            notice: self.notice.map(t.notice),
            summary,
            code,
            query: PageContext::query(Some(self.target)),
        })
    }
}
