//! A page that is one message, such as an error.

use askama::Template;

use super::{
    super::text::{LinkTo, Message, MessageText, Texts},
    PageContext, html,
};

/// A page that is one message.
#[derive(Clone, Copy)]
pub struct MessagePage<'a> {
    pub message: Message,
    /// Where to go from here, and the address.
    pub link: Option<(LinkTo<'a>, &'a str)>,
}

#[derive(Template)]
#[template(path = "message.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    text: MessageText,
    /// The address and the words.
    link: Option<(&'a str, String)>,
}

impl MessagePage<'_> {
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let link = self.link.map(|(to, address)| (address, (t.link)(to)));
        html(&Html { page, t, text: (t.message)(self.message), link })
    }
}
