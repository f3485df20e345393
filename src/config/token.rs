//! `[token]`: claims, lifetime and keys of tokens.

use std::time::Duration;

use super::{
    key::Key,
    value::{Choice, Identifier, MINUTE, OptionalPath, Seconds, days, field},
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
        value: &Choice { field: field!(token.algorithm), choices: &ALGORITHMS },
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
