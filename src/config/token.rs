//! `[token]`: claims, lifetime and keys of tokens.

use std::time::Duration;

use super::{
    Settings,
    key::Key,
    value::{Choice, Identifier, MINUTE, OptionalPath, Seconds, Value, days, field},
};
use crate::token::Algorithm;

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "token.lifetime",
        purpose: "How long a token is valid",
        value: &Seconds {
            field: field!(token.lifetime),
            range: Duration::from_secs(5 * MINUTE.as_secs())..=days(30),
            examples: "90m, 24h or 7d",
        },
    },
    Key {
        name: "token.issuer",
        purpose: "Issuer of the tokens (`iss`); changing it signs out every user",
        value: &Identifier { field: field!(token.issuer), length: 1..=200 },
    },
    Key {
        name: "token.audience",
        purpose: "Audience of the tokens (`aud`); changing it signs out every user",
        value: &Identifier { field: field!(token.audience), length: 1..=200 },
    },
    Key {
        name: "token.publish_before_signing",
        purpose: "How long a new key is published before it signs; at least as long as verifiers cache the key set",
        value: &Seconds {
            field: field!(token.publish_before_signing),
            range: Duration::ZERO..=days(7),
            examples: "1m or 1h",
        },
    },
    Key {
        name: "token.algorithm",
        purpose: "Signature algorithm of keys that are generated from now on",
        value: &SignatureAlgorithm(Choice { field: field!(token.algorithm), choices: &ALGORITHMS }),
    },
    Key {
        name: "token.key_file",
        purpose: "File with your own keys, PKCS#8 in PEM: the first signs, the others only verify",
        value: &OptionalPath { field: field!(key_file), target: "file" },
    },
];

const ALGORITHMS: [(&str, Algorithm); 3] = {
    let [first, second, third] = Algorithm::ALL;
    [(first.name(), first), (second.name(), second), (third.name(), third)]
};

/// An algorithm by its registered name. The name of one that is not supported is not a misspelling.
struct SignatureAlgorithm(Choice<Algorithm>);

impl Value for SignatureAlgorithm {
    fn set(&self, settings: &mut Settings, text: &str) -> Option<()> {
        self.0.set(settings, text)
    }

    fn show(&self, settings: &Settings) -> String {
        self.0.show(settings)
    }

    fn allowed(&self) -> String {
        self.0.allowed()
    }

    fn bounds(&self) -> Option<String> {
        self.0.bounds()
    }

    fn suggestion(&self, typed: &str) -> Option<&'static str> {
        // Of names that differ in a digit or a letter, each is another algorithm.
        let same = |name: &&str| name.eq_ignore_ascii_case(typed);
        ALGORITHMS.iter().map(|(name, _)| *name).find(same)
    }

    fn refusal(&self, typed: &str) -> Option<String> {
        let upper = typed.to_ascii_uppercase();
        let why = match upper.as_str() {
            "HS256" | "HS384" | "HS512" => {
                "whoever can verify such a token can make one, because both need the same secret"
            }
            "NONE" => "anybody could make such a token",
            "RS384" | "RS512" | "ES384" | "ES512" | "ES256K" | "PS256" | "PS384" | "PS512" => {
                "fewer verifiers support it, and it protects no better"
            }
            _ => return None,
        };
        Some(format!("\"{typed}\" is not supported: {why}: choose {}", self.allowed()))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::tests::load;

    #[test]
    fn an_algorithm_that_is_not_supported_is_refused_with_the_reason() {
        let error = |name| load(&[("token.algorithm", name)], &[], "").unwrap_err();
        assert_eq!(
            error("HS256"),
            "--token-algorithm: \"HS256\" is not supported: whoever can verify such a token can make one, because both \
             need the same secret: choose ES256, EdDSA or RS256"
        );
        for name in ["none", "PS256", "ES384"] {
            let error = error(name);
            assert!(error.ends_with(": choose ES256, EdDSA or RS256"), "{error}");
            assert!(!error.contains("did you mean"), "{error}");
        }
        assert!(error("es256").ends_with(": did you mean ES256?"));
    }
}
