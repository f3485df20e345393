//! Turns the code that the browser brings back into tokens, and shows the provider that it is this client who asks.

use std::{fs, path::Path};

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use form_urlencoded::{Serializer, byte_serialize};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::{
    AuthorizationAnswer, Credential, Login, ProviderError, discovery::Metadata, error::printable,
    request,
};
use crate::clock::Timestamp;

/// What a provider gives for a code. None of it is stored.
pub(super) struct Tokens {
    pub(super) access_token: Option<Zeroizing<String>>,
    pub(super) id_token: Option<String>,
    /// The time there.
    pub(super) date: Option<Timestamp>,
}

/// The form that a code is redeemed with, and the header with the secret if it is not in the form.
fn form_of(
    login: &Login,
    metadata: &Metadata,
    code: &str,
    answer: &AuthorizationAnswer<'_>,
    now: Timestamp,
) -> Result<(String, Option<Zeroizing<String>>), ProviderError> {
    let mut form = Serializer::new(String::new());
    form.append_pair("grant_type", "authorization_code")
        .append_pair("code", code)
        .append_pair("redirect_uri", answer.redirect_uri)
        .append_pair("code_verifier", answer.verifier);
    let authorization = match secret_of(login, now)? {
        Some(secret) if !metadata.posts_secret => Some(basic(&login.client_id, &secret)),
        secret => {
            form.append_pair("client_id", &login.client_id);
            if let Some(secret) = secret {
                form.append_pair("client_secret", &secret);
            }
            None
        }
    };
    Ok((form.finish(), authorization))
}

/// Asks for the tokens, once: a code that has been sent may have been used.
pub(super) async fn redeem(
    login: &Login,
    metadata: &Metadata,
    code: &str,
    answer: &AuthorizationAnswer<'_>,
    now: Timestamp,
) -> Result<Tokens, ProviderError> {
    let (form, authorization) = form_of(login, metadata, code, answer, now)?;
    let mut headers = vec![
        ("content-type", "application/x-www-form-urlencoded"),
        // Without it, GitHub answers with a form.
        ("accept", "application/json"),
    ];
    headers.extend(authorization.as_ref().map(|value| ("authorization", value.as_str())));
    let url = &metadata.token_endpoint;
    let answer = request::post(login, url, &headers, form).await?;
    let document: Value = answer.json().unwrap_or_default();
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    if let Some(error) = text("error") {
        let description = text("error_description").unwrap_or_default();
        let cause = printable(&format!("{error} {description}"));
        return Err(match error {
            // The second is what GitHub says.
            "invalid_client" | "incorrect_client_credentials" | "unauthorized_client" => {
                ProviderError::ClientRefused(cause)
            }
            _ => ProviderError::CodeRefused(cause),
        });
    }
    match answer.status {
        200 => {}
        401 => return Err(ProviderError::ClientRefused("status 401".to_owned())),
        400..500 => return Err(ProviderError::CodeRefused(format!("status {}", answer.status))),
        status => return Err(request::failed(url, status)),
    }
    Ok(Tokens {
        access_token: text("access_token").map(|token| Zeroizing::new(token.to_owned())),
        id_token: text("id_token").map(str::to_owned),
        date: answer.date(),
    })
}

/// The header that shows who asks. Both parts are encoded as in a form, so that neither has a colon.
fn basic(client_id: &str, secret: &str) -> Zeroizing<String> {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = Zeroizing::new(format!("{}:{}", encoded(client_id), encoded(secret)));
    Zeroizing::new(format!("Basic {}", BASE64_STANDARD.encode(pair.as_bytes())))
}

/// The client secret of a login. `None` if it has none.
pub(super) fn secret_of(
    login: &Login,
    now: Timestamp,
) -> Result<Option<Zeroizing<String>>, ProviderError> {
    match &login.credential {
        Credential::None => Ok(None),
        Credential::SecretFile(file) => {
            let text = read(file)?;
            let secret = text.trim_end_matches(['\r', '\n']);
            if secret.is_empty() {
                return Err(refuse(file, &"it is empty"));
            }
            Ok(Some(Zeroizing::new(secret.to_owned())))
        }
        Credential::AppleKey { team_id, key_id, key_file } => {
            let unusable = || refuse(key_file, &"it is no P-256 private key in PKCS#8 PEM form");
            let block = pem::parse(read(key_file)?.as_bytes()).map_err(|_| unusable())?;
            let block = Zeroizing::new(block.into_contents());
            let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &block);
            let key = key.map_err(|_| unusable())?;
            let issued_at = now.seconds();
            let header = json!({ "alg": "ES256", "kid": key_id });
            let claims = json!({
                "iss": team_id,
                "iat": issued_at,
                "exp": issued_at.saturating_add(300),
                "aud": login.issuer,
                "sub": login.client_id,
            });
            let part = |json: Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
            let message = format!("{}.{}", part(header), part(claims));
            let signature = key.sign(&SystemRandom::new(), message.as_bytes());
            let signature = BASE64_URL_SAFE_NO_PAD.encode(signature.map_err(|_| unusable())?);
            Ok(Some(Zeroizing::new(format!("{message}.{signature}"))))
        }
    }
}

fn read(file: &Path) -> Result<Zeroizing<String>, ProviderError> {
    fs::read_to_string(file).map(Zeroizing::new).map_err(|error| refuse(file, &error))
}

fn refuse(file: &Path, cause: &dyn std::fmt::Display) -> ProviderError {
    ProviderError::Credential(format!("{}: {cause}", file.display()))
}
