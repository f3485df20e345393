//! A password or a code in a command or a reply.

use std::fmt;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use zeroize::Zeroizing;

/// A secret text that is wiped from memory when it is dropped and never shown by `Debug`.
///
/// It is sent in Base64: JSON would escape some characters of a password, and the parser would unescape them into a
/// buffer that is not wiped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl From<Zeroizing<String>> for Secret {
    fn from(text: Zeroizing<String>) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&Zeroizing::new(BASE64_STANDARD.encode(self.0.as_bytes())))
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let encoded: &str = Deserialize::deserialize(deserializer)?;
        let not_text = || D::Error::custom("a secret is not UTF-8 in Base64");
        let mut bytes = Zeroizing::new(Vec::with_capacity(encoded.len()));
        BASE64_STANDARD.decode_vec(encoded, &mut bytes).map_err(|_| not_text())?;
        let text = str::from_utf8(&bytes).map_err(|_| not_text())?;
        Ok(Self(Zeroizing::new(text.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_as_it_was_sent_and_never_shown() {
        for text in ["", "correct horse", "quote \" and \\ and \n and ü", "0123456789abcdef"] {
            let secret = Secret::from(text.to_owned());
            let sent = serde_json::to_string(&secret).unwrap();
            assert!(!sent.contains('\\'), "{sent}");
            let read: Secret = serde_json::from_str(&sent).unwrap();
            assert_eq!(read.as_str(), text);
            assert_eq!(format!("{secret:?}"), "Secret(…)");
        }
        for bad in ["1", "\"=\"", "\"/w==\""] {
            assert!(serde_json::from_str::<Secret>(bad).is_err(), "{bad}");
        }
    }
}
