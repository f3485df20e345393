//! The words of the pages. A text stands in one place in every language, so that a missing translation does not compile: in a table
//! ([`texts!`](crate::language::texts)), or in a match as an array with an element for each language.

mod admin;
mod done;
mod emergency;
mod examples;
mod factors;
mod keys;
mod logins;
mod message;
mod missing;
mod notice;
mod pages;
mod problem;
mod time;

pub use self::{
    admin::AdminTexts,
    done::Done,
    factors::{Before, FactorTexts, Follows},
    keys::KeyTexts,
    logins::LoginTexts,
    message::Message,
    notice::{LinkTo, Notice},
    pages::Texts,
    time::Span,
};
use crate::language::Language;
pub use crate::{
    http::form_problem::{FieldFault, FormError, FormProblem},
    language::{counted, grouped},
};

impl Texts {
    pub fn of(language: Language) -> &'static Self {
        match language {
            Language::English => &Self::ENGLISH,
            Language::German => &Self::GERMAN,
        }
    }
}
