//! The page about a request that a guard refused.

use askama::Template;
use percent_encoding::utf8_percent_encode;

use super::{super::text::LinkTo, KEPT, PageContext, branding::Contact};
use crate::access::{
    guard::{Explanation, Missing},
    refusals::Refusal,
};

/// The page about a request that a guard refused, for the person who was refused and for operators. It is also served on
/// the host of the app, so all its links are absolute there.
#[derive(Clone, Template)]
#[template(path = "refused.html", whitespace = "minimize")]
pub struct Refused<'a> {
    pub page: PageContext<'a>,
    /// The title of the app.
    pub app: &'a str,
    /// Whether the person who sees the page was refused.
    pub is_own: bool,
    /// The name and the e-mail address of the person who sees the page.
    pub signed_in_as: Option<(&'a str, &'a str)>,
    /// The address of the app with which the person can try again.
    pub try_again: Option<&'a str>,
    /// The address of the sign-in page for another account. Without one, the person is not signed in.
    pub somebody_else: Option<&'a str>,
    /// The id of the decision.
    pub decision: &'a str,
    /// The address of the page about the decision, for operators. That page itself has none.
    pub decision_link: Option<&'a str>,
    /// What the person lacks and can reach, for them and for operators.
    pub missing: Option<Missing>,
    /// The refusal with its reason. Only operators may see it.
    pub why: Option<&'a Refusal>,
}

impl Refused<'_> {
    fn heading(&self) -> String {
        let t = self.page.texts();
        match self.is_own {
            true => t.refused_heading(self.app),
            false => t.refused_other_heading(self.app),
        }
    }

    /// The parts of the condition with their values.
    fn explanation(&self) -> Option<&Explanation> {
        self.why?.explanation.as_ref()
    }

    /// Whom the person can ask: the address of the link and its words. A mail has the id of the decision in its subject.
    fn contact(&self) -> Option<(String, &str)> {
        let contact = self.page.branding.contact.as_ref()?;
        Some(match contact {
            Contact::Mail(address) => {
                let subject = self.page.texts().access_subject(self.app, self.decision);
                let subject = utf8_percent_encode(&subject, KEPT);
                (format!("mailto:{address}?subject={subject}"), address)
            }
            Contact::Link(url) => (url.clone(), url.trim_start_matches("https://")),
        })
    }
}

/// What indents a part of a condition. Deeper parts are indented no further: the table has to fit on a phone.
pub(super) fn indentation(depth: usize) -> String {
    const MAX_DEPTH: usize = 8;
    "  ".repeat(depth.min(MAX_DEPTH))
}
