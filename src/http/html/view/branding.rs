//! The operator's name, logo, colour and links, prepared once for all pages.

use super::Style;
pub use crate::config::Contact;

/// How the pages look, and whose they are.
pub struct Branding {
    /// The name of the service.
    pub name: String,
    /// The logo as a `data:` URI.
    pub logo: Option<String>,
    /// The address of the terms of use.
    pub terms: Option<String>,
    /// The address of the privacy policy.
    pub privacy: Option<String>,
    /// Whom people ask who need access.
    pub contact: Option<Contact>,
    /// Whether the pages say that this is a development server.
    pub is_development: bool,
    /// The style sheet, in the operator's colour.
    pub style: Style,
}
