//! The one style sheet, in the operator's colour, with its hash for the content security policy.

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine, engine::general_purpose::STANDARD};

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

/// The backgrounds of `assets/style.css` that have the least contrast with a link.
const LIGHT: Colour = Colour([0xf4, 0xf5, 0xf7]);
const DARK: Colour = Colour([0x1b, 0x1f, 0x26]);
const BLACK: Colour = Colour([0; 3]);
const WHITE: Colour = Colour([0xff; 3]);
/// The contrast that WCAG 2.2 asks of text.
const CONTRAST: f64 = 4.5;

impl Style {
    /// The style sheet with this accent colour (red, green, blue).
    pub fn new(accent: [u8; 3]) -> Self {
        let accent = Colour(accent);
        let on_accent = if accent.contrast(BLACK) > accent.contrast(WHITE) { BLACK } else { WHITE };
        // Links and outlines take the accent too, darker or lighter if it is hard to see.
        let (on_light, on_dark) = (accent.towards(BLACK, LIGHT), accent.towards(WHITE, DARK));
        let css = format!(
            ":root{{--accent:{};--on-accent:{};--link:{}}}@media(prefers-color-scheme:dark){{:root{{--link:{}}}}}{}",
            accent.hex(),
            on_accent.hex(),
            on_light.hex(),
            on_dark.hex(),
            minified(SHEET)
        );
        let hash = STANDARD.encode(digest(&SHA256, css.as_bytes()));
        let icon = format!(
            "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%23{}'/%3E%3Cpath d='M5 13V3h6v10zm4.2-5.8a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6z' fill='%23{}'/%3E%3C/svg%3E",
            &accent.hex()[1..],
            &on_accent.hex()[1..],
        );
        Self { css, csp_hash: format!("'sha256-{hash}'"), icon }
    }
}

/// Without line breaks, indentation and lines that are comments.
fn minified(sheet: &str) -> String {
    let lines = sheet.lines().map(str::trim).filter(|line| !line.starts_with("/*"));
    let mut sheet: String = lines.collect();
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

#[derive(Clone, Copy, Debug, PartialEq)]
struct Colour([u8; 3]);

impl Colour {
    fn hex(self) -> String {
        let [red, green, blue] = self.0;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    /// The relative luminance by WCAG 2.2.
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|channel| {
            let share = f64::from(channel) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance() + 0.05, other.luminance() + 0.05);
        one.max(two) / one.min(two)
    }

    /// The colour, mixed with `end` just enough to be read on `background`.
    fn towards(self, end: Self, background: Self) -> Self {
        let mix = |step: u16| {
            let mut mixed = self.0;
            for (channel, target) in mixed.iter_mut().zip(end.0) {
                *channel =
                    ((u16::from(*channel) * (20 - step) + u16::from(target) * step) / 20) as u8;
            }
            Self(mixed)
        };
        (0..20).map(mix).find(|mixed| mixed.contrast(background) >= CONTRAST).unwrap_or(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_accent_can_be_read() {
        for red in (0..=255).step_by(15) {
            for green in (0..=255).step_by(15) {
                for blue in (0..=255).step_by(15) {
                    let accent = Colour([red, green, blue]);
                    let on_accent = accent.contrast(BLACK).max(accent.contrast(WHITE));
                    assert!(on_accent >= CONTRAST, "{accent:?}");
                    assert!(accent.towards(BLACK, LIGHT).contrast(LIGHT) >= CONTRAST);
                    assert!(accent.towards(WHITE, DARK).contrast(DARK) >= CONTRAST);
                }
            }
        }
    }

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
        let style = Style::new([0x2b, 0x5c, 0xd9]);
        let hash = STANDARD.encode(digest(&SHA256, style.css.as_bytes()));
        assert_eq!(style.csp_hash, format!("'sha256-{hash}'"));
        assert!(!style.css.contains("</"), "it would end the element");
    }
}
