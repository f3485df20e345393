//! QR codes as a path that a page draws inline, so that no picture has to be served.

use std::fmt::Write as _;

use fast_qr::{ECL, QRBuilder};

/// The light modules that a QR code needs on each side.
const QUIET_ZONE: usize = 4;

/// The dark modules of a QR code, for `<svg viewBox="0 0 size size"><path d=path>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QrPath {
    /// Modules per side, with the quiet zone.
    pub size: usize,
    pub path: String,
}

/// The QR code of a text; `None` if the text is too long for one.
pub fn svg_path(text: &str) -> Option<QrPath> {
    let code = QRBuilder::new(text).ecl(ECL::M).build().ok()?;
    let mut path = String::new();
    for row in 0..code.size {
        let mut column = 0;
        for run in code[row].chunk_by(|one, other| one.value() == other.value()) {
            if run[0].value() {
                let (x, y) = (column + QUIET_ZONE, row + QUIET_ZONE);
                write!(path, "M{x} {y}h{}v1h-{}z", run.len(), run.len()).ok()?;
            }
            column += run.len();
        }
    }
    Some(QrPath { size: code.size + 2 * QUIET_ZONE, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_its_three_finder_patterns_and_a_quiet_zone() {
        let QrPath { size, path } = svg_path("otpauth://totp/a:b?secret=GEZDGNBVGY3TQOJQ").unwrap();
        // Version 3 has 29 modules.
        assert_eq!(size, 37);
        assert!(path.starts_with("M4 4h7v1h-7z"), "{path}");
        assert!(path.contains("M26 4h7v1h-7z") && path.contains("M4 32h7v1h-7z"), "{path}");
        let numbers = path.split(|c: char| !c.is_ascii_digit());
        let largest = numbers.filter_map(|number| number.parse::<usize>().ok()).max();
        assert_eq!(largest, Some(32));
    }

    #[test]
    fn a_text_that_is_too_long_has_no_code() {
        assert!(svg_path(&"x".repeat(2331)).is_some());
        assert_eq!(svg_path(&"x".repeat(2332)), None);
    }
}
