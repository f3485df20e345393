//! A page that is one message, such as an error.

use askama::Template;

use super::{
    super::text::{LinkTo, Message},
    PageContext,
};

/// A page that is one message.
#[derive(Clone, Copy, Template)]
#[template(path = "message.html", whitespace = "minimize")]
pub struct MessagePage<'a> {
    pub page: PageContext<'a>,
    pub message: Message,
    /// Where to go from here, and the address.
    pub link: Option<(LinkTo<'a>, &'a str)>,
}
