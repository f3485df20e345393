//! `[cors]`: the origins whose pages may call the API from a browser.

use super::{
    key::Key,
    value::{List, NONE, field},
};
use crate::access::guard::{AppOrigin, InvalidOrigin};

pub(super) const KEYS: &[Key] = &[Key {
    name: "cors.origins",
    purpose: "Origins whose pages may call the API with a token, such as https://app.example.com",
    value: &List {
        field: field!(cors_origins),
        parse: |text| AppOrigin::parse(text).ok(),
        collect: Some,
        show: |origins| origins.iter().map(ToString::to_string).collect(),
        allowed: || {
            format!(
                "a list of origins, such as https://app.example.com and http://localhost:5173, or {NONE}"
            )
        },
        choices: &[],
        reason: |item| AppOrigin::parse(item).err().map(|invalid| reason(item, invalid)),
        secret: false,
    },
}];

/// Why a text is not an origin that may call the API. Follows the text.
fn reason(item: &str, invalid: InvalidOrigin) -> String {
    match invalid {
        _ if item.contains('*') => {
            "would let pages of sites that you do not know use the API from their visitors' browsers: list each origin, such \
             as https://app.example.com"
                .into()
        }
        InvalidOrigin::PlainHttp => {
            "is plain HTTP: anybody on the way could change its pages. Only localhost needs no https://".into()
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use crate::Settings;

    #[test]
    fn only_exact_origins_are_allowed_and_a_refusal_says_why() {
        let read = |text: &str| {
            let settings = Settings::new().with("cors.origins", text);
            settings.check().map(|()| settings.cors_origins).map_err(|error| error.to_string())
        };
        let origins = read("https://App.example.com:443/, http://localhost:5173").unwrap();
        let origins: Vec<_> = origins.iter().map(ToString::to_string).collect();
        assert_eq!(origins, ["https://app.example.com", "http://localhost:5173"]);
        assert_eq!(read("none"), Ok(Vec::new()));
        for (text, part) in [
            ("*", "cors.origins: \"*\" would let pages of sites that you do not know"),
            ("https://a.example https://*.example.com", "\"https://*.example.com\" would let"),
            ("http://app.example.com", "\"http://app.example.com\" is plain HTTP: anybody"),
            ("https://app.example.com/path", "remove everything after the host and port"),
            ("app.example.com", "is not https:// and a host"),
            ("null", "is not https:// and a host"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
