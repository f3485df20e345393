//! OAuth clients: programs that may introspect and revoke tokens, each with its own secret.

use std::fmt;

use aws_lc_rs::{constant_time::verify_slices_are_equal, digest::SHA256_OUTPUT_LEN};
use zeroize::Zeroizing;

use crate::{random::random_bytes, sha256::sha256};

/// A secret as the client receives it.
pub struct ClientSecret(Zeroizing<String>);

impl ClientSecret {
    /// A new secret of 256 random bits.
    pub fn random() -> Self {
        Self(Zeroizing::new(hex(&*random_bytes::<32>())))
    }

    /// The secret itself, to be shown once.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret(…)")
    }
}

/// The name of a client and the SHA-256 of its secret. Its text is `name:` and 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuthClient {
    name: String,
    digest: String,
}

impl OAuthClient {
    /// A client with this secret; `None` if the name is not allowed.
    pub fn new(name: &str, secret: &ClientSecret) -> Option<Self> {
        is_name(name).then(|| Self { name: name.to_owned(), digest: hex(&sha256(secret.as_str())) })
    }

    pub fn parse(text: &str) -> Option<Self> {
        let (name, digest) = text.split_once(':')?;
        let is_digest = digest.len() == 2 * SHA256_OUTPUT_LEN
            && digest.bytes().all(|digit| digit.is_ascii_hexdigit());
        (is_name(name) && is_digest)
            .then(|| Self { name: name.to_owned(), digest: digest.to_ascii_lowercase() })
    }
}

impl fmt::Display for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.digest)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OAuthClients(Vec<OAuthClient>);

impl OAuthClients {
    /// These clients; `None` if two have the same name.
    pub fn new(clients: Vec<OAuthClient>) -> Option<Self> {
        let repeated = |at: usize| clients[..at].iter().any(|other| other.name == clients[at].name);
        let differ = !(0..clients.len()).any(repeated);
        differ.then_some(Self(clients))
    }

    /// These clients and another one, which replaces a client of the same name.
    pub fn with(&self, client: OAuthClient) -> Self {
        let others = self.0.iter().filter(|other| other.name != client.name).cloned();
        Self(others.chain([client.clone()]).collect())
    }

    /// The clients in their order.
    pub fn iter(&self) -> impl Iterator<Item = &OAuthClient> {
        self.0.iter()
    }

    /// Whether the client with this name has this secret.
    pub fn authenticate(&self, name: &str, secret: &str) -> bool {
        let digest = hex(&sha256(secret));
        let client = self.0.iter().find(|client| client.name == name);
        client.is_some_and(|client| {
            verify_slices_are_equal(client.digest.as_bytes(), digest.as_bytes()).is_ok()
        })
    }
}

/// Names need no encoding in HTTP Basic, a form or a settings file.
fn is_name(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (1..=64).contains(&text.len()) && text.bytes().all(allowed)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_authenticates_with_its_own_secret_only() {
        let (secret, other) = (ClientSecret::random(), ClientSecret::random());
        let shop = OAuthClient::new("shop", &secret).unwrap();
        let clients = OAuthClients::default().with(shop);
        assert!(clients.authenticate("shop", secret.as_str()));
        for (name, tried) in
            [("shop", other.as_str()), ("shop", ""), ("Shop", secret.as_str()), ("", "")]
        {
            assert!(!clients.authenticate(name, tried), "{name}");
        }
        let renewed = clients.with(OAuthClient::new("shop", &other).unwrap());
        assert!(
            renewed.authenticate("shop", other.as_str())
                && !renewed.authenticate("shop", secret.as_str())
        );
        assert!(!format!("{secret:?}").contains(secret.as_str()));
    }

    #[test]
    fn a_client_is_read_back_from_its_text() {
        let shop = OAuthClient::new("shop-1_a.b", &ClientSecret::random()).unwrap();
        assert_eq!(OAuthClient::parse(&shop.to_string()), Some(shop.clone()));
        assert_eq!(OAuthClients::new(vec![shop.clone(), shop]), None, "two of one name");
        let digest = "0f".repeat(32);
        for bad in [
            "shop".into(),
            digest.clone(),
            format!(":{digest}"),
            format!("a b:{digest}"),
            format!("shop:{}", &digest[1..]),
            format!("shop:{digest}0"),
            format!("shop:+{}", &digest[1..]),
            format!("shop:é{}", &digest[2..]),
        ] {
            assert_eq!(OAuthClient::parse(&bad), None, "{bad}");
        }
    }
}
