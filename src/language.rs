//! The languages that pages and mails are written in, and the choice by the `Accept-Language` header.

/// A language that pages and mails are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English, also for everybody whose languages are not here.
    #[default]
    English,
    German,
}

impl Language {
    /// The language that an `Accept-Language` header prefers. A region does not matter: `de-AT` is German.
    pub fn negotiate(accept_language: Option<&str>) -> Self {
        let mut best = (0, Self::default());
        for range in accept_language.unwrap_or_default().split(',').take(MAX_RANGES) {
            let mut parts = range.split(';').map(str::trim);
            let Some(language) = parts.next().and_then(Self::from_range) else { continue };
            let weight = match parts.next() {
                None => 1000,
                Some(parameter) => weight(parameter),
            };
            // The first of several with the same weight wins.
            if weight > best.0 {
                best = (weight, language);
            }
        }
        best.1
    }

    fn from_range(range: &str) -> Option<Self> {
        match range.split('-').next()? {
            "*" => Some(Self::default()),
            primary if primary.eq_ignore_ascii_case("en") => Some(Self::English),
            primary if primary.eq_ignore_ascii_case("de") => Some(Self::German),
            _ => None,
        }
    }

    /// The value of `lang` and `Content-Language`.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }
}

/// Bounds the cost of a hostile header. Browsers send fewer.
const MAX_RANGES: usize = 32;

/// The weight of `q=0.8` in thousandths. One that is not valid counts as 0.
fn weight(parameter: &str) -> u16 {
    let digits = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="));
    let weight = digits.and_then(|digits| digits.trim().parse::<f32>().ok()).unwrap_or(0.0);
    if (0.0..=1.0).contains(&weight) { (weight * 1000.0).round() as u16 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_chooses_the_language() {
        use Language::{English, German};
        for (header, language) in [
            ("", English),
            ("*", English),
            ("fr", English),
            ("de", German),
            ("DE", German),
            ("de-AT", German),
            ("de-CH-1996", German),
            ("den", English),
            ("en-US,en;q=0.9,de;q=0.8", English),
            ("en;q=0.7,de;q=0.8", German),
            ("fr-CH, fr;q=0.9, de;q=0.7, en;q=0.8, *;q=0.5", English),
            ("fr, de;q=0.5, *;q=0.1", German),
            ("de , en", German),
            ("en,de", English),
            ("de; q=0.3 , en; q=0.2", German),
            ("de;q=0, en;q=0.1", English),
            ("de;q=0", English),
            ("de;q=2", English),
            ("de;q=x", English),
            ("de;q=NaN", English),
            (";;;,,,=,de", German),
        ] {
            assert_eq!(Language::negotiate(Some(header)), language, "{header}");
        }
        assert_eq!(Language::negotiate(None), English);
        assert_eq!(Language::negotiate(Some(&"fr,".repeat(100_000))), English);
    }
}
