//! The page of the provider of `doorward dev`, on which a developer says who signs in. It is in English, as what developers read is.

use askama::Template;

use super::PageContext;

/// The page of the provider of `doorward dev`. Its forms are sent to where it is, with its query.
#[derive(Clone, Template)]
#[template(path = "dev_login.html", whitespace = "minimize")]
pub struct DevLogin<'a> {
    pub page: PageContext<'a>,
    /// What the login is called.
    pub label: &'a str,
    /// Names and addresses to choose from.
    pub users: &'a [(String, String)],
    pub typed: TypedPerson,
    pub problem: Option<String>,
}

/// What was typed, to be shown again.
#[derive(Clone, Default)]
pub struct TypedPerson {
    pub sub: String,
    pub email: String,
    pub name: String,
    pub claims: String,
    pub is_unverified: bool,
}
