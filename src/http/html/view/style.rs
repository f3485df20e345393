//! The one style sheet, in the operator's colour, with its hash for the content security policy.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{colour::Colour, sha256::sha256};

/// The style sheet as it is written into each page.
pub struct Style {
    /// The text of the `<style>` element.
    pub css: String,
    /// The source that allows it, for `style-src`, such as `'sha256-…'` with its quotes.
    pub csp_hash: String,
    /// The icon of the page as a `data:` URI.
    pub icon: String,
}

const SHEET: &str = include_str!("../../../../assets/style.css");
/// What only the administration needs besides.
const ADMIN_SHEET: &str = include_str!("../../../../assets/admin.css");
/// What only the documentation of the API needs besides.
const DOCS_SHEET: &str = include_str!("../../../../assets/docs.css");

/// The backgrounds of `assets/style.css` that have the least contrast with a link.
const LIGHT: Colour = Colour([0xf4, 0xf5, 0xf7]);
const DARK: Colour = Colour([0x1b, 0x1f, 0x26]);

impl Style {
    /// The style sheet with this accent colour (red, green, blue).
    pub fn new(accent: [u8; 3]) -> Self {
        Self::of_sheets(accent, &[SHEET])
    }

    /// The style sheet of the documentation of the API.
    pub fn for_docs(accent: [u8; 3]) -> Self {
        Self::of_sheets(accent, &[SHEET, DOCS_SHEET])
    }

    /// The style sheet of the administration.
    pub fn for_admin(accent: [u8; 3]) -> Self {
        Self::of_sheets(accent, &[SHEET, ADMIN_SHEET])
    }

    fn of_sheets(accent: [u8; 3], sheets: &[&str]) -> Self {
        let accent = Colour(accent);
        let on_accent = accent.text_on_it();
        // Links and outlines take the accent too, darker or lighter if it is hard to see.
        let (on_light, on_dark) = (accent.readable_on(LIGHT), accent.readable_on(DARK));
        let css = format!(
            ":root{{--accent:{};--on-accent:{};--link:{}}}@media(prefers-color-scheme:dark){{:root{{--link:{}}}}}{}",
            accent.hex(),
            on_accent.hex(),
            on_light.hex(),
            on_dark.hex(),
            minified(&sheets.concat())
        );
        let icon = format!(
            "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%23{}'/%3E%3Cpath d='M5 13V3h6v10zm4.2-5.8a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6z' fill='%23{}'/%3E%3C/svg%3E",
            &accent.hex()[1..],
            &on_accent.hex()[1..],
        );
        Self { csp_hash: csp_hash(&css), css, icon }
    }
}

/// The source that allows this text of an element, with its quotes.
pub(super) fn csp_hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(sha256(text)))
}

/// Without line breaks, indentation and lines that are comments.
pub(super) fn without_comments(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.starts_with("/*")).collect()
}

fn minified(sheet: &str) -> String {
    let mut sheet = without_comments(sheet);
    for (long, short) in [
        (": ", ":"),
        (" {", "{"),
        ("{ ", "{"),
        ("; ", ";"),
        (", ", ","),
        (" > ", ">"),
        (" + ", "+"),
        (" (", "("),
        (";}", "}"),
    ] {
        sheet = sheet.replace(long, short);
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_on_the_accent_contrasts_more() {
        for (accent, text) in [
            ([0xff, 0xff, 0xff], "#000000"),
            ([0, 0, 0], "#ffffff"),
            ([0xff, 0xd4, 0x00], "#000000"),
            ([0x2b, 0x5c, 0xd9], "#ffffff"),
        ] {
            let css = Style::new(accent).css;
            assert!(css.contains(&format!("--on-accent:{text}")), "{accent:?}");
        }
    }

    #[test]
    fn the_hash_is_that_of_the_sheet() {
        let accent = [0x2b, 0x5c, 0xd9];
        for style in [Style::new(accent), Style::for_admin(accent), Style::for_docs(accent)] {
            let hash = STANDARD.encode(sha256(&*style.css));
            assert_eq!(style.csp_hash, format!("'sha256-{hash}'"));
            assert!(!style.css.contains("</"), "it would end the element");
        }
    }
}
