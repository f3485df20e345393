//! An authenticator and an authenticator app in software. Neither shares code with the service.

use aws_lc_rs::{
    digest::{SHA256, digest},
    hmac,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

pub const ORIGIN: &str = "https://auth.example.net";
pub const RP_ID: &str = "auth.example.net";

const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;
const NEW_CREDENTIAL: u8 = 0x40;

/// A passkey in a device.
pub struct Authenticator {
    key: EcdsaKeyPair,
    id: Vec<u8>,
    user_handle: String,
    /// Whether it asks for a PIN.
    pub verifies_user: bool,
    /// Whether it is synchronised.
    pub is_backed_up: bool,
    pub origin: String,
    pub sign_count: u32,
}

impl Authenticator {
    pub fn new() -> Self {
        let pkcs8 =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new());
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.unwrap().as_ref());
        let mut id = vec![0; 16];
        aws_lc_rs::rand::fill(&mut id).unwrap();
        Self {
            key: key.unwrap(),
            id,
            user_handle: String::new(),
            verifies_user: true,
            is_backed_up: false,
            origin: ORIGIN.into(),
            sign_count: 0,
        }
    }

    /// One that does not ask for a PIN.
    pub fn security_key() -> Self {
        Self { verifies_user: false, ..Self::new() }
    }

    /// One that claims to be this one, without its key.
    pub fn forged(&self) -> Self {
        let (id, user_handle) = (self.id.clone(), self.user_handle.clone());
        Self { id, user_handle, ..Self::new() }
    }

    fn authenticator_data(&self, flags: u8, rest: &[u8]) -> Vec<u8> {
        let mut flags = flags | USER_PRESENT;
        if self.verifies_user {
            flags |= USER_VERIFIED;
        }
        if self.is_backed_up {
            flags |= BACKUP_ELIGIBLE | BACKED_UP;
        }
        let rp = digest(&SHA256, RP_ID.as_bytes());
        [rp.as_ref(), &[flags], &self.sign_count.to_be_bytes(), rest].concat()
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        json!({"type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": false})
            .to_string()
            .into_bytes()
    }

    /// What a browser returns for a new passkey.
    pub fn create(&mut self, options: &Value) -> Value {
        assert_eq!(options["rp"]["id"], RP_ID);
        self.user_handle = options["user"]["id"].as_str().unwrap().into();
        let point = self.key.public_key().as_ref();
        // {1: 2, 3: -7, -1: 1, -2: x, -3: y}
        let cose = [
            &[0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20][..],
            &point[1..33],
            &[0x22, 0x58, 0x20],
            &point[33..],
        ]
        .concat();
        let id_length = u16::try_from(self.id.len()).unwrap().to_be_bytes();
        let credential = [&[0; 16][..], &id_length, &self.id, &cose].concat();
        let data = self.authenticator_data(NEW_CREDENTIAL, &credential);
        // {"fmt": "none", "attStmt": {}, "authData": data}
        let length = u8::try_from(data.len()).unwrap();
        let object =
            [&b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58"[..], &[length], &data].concat();
        json!({
            "id": encode(&self.id), "rawId": encode(&self.id), "type": "public-key",
            "response": {
                "clientDataJSON": encode(&self.client_data("webauthn.create", options)),
                "attestationObject": encode(&object),
                "transports": ["internal"],
            },
        })
    }

    /// What a browser returns for a proof.
    pub fn get(&mut self, options: &Value) -> Value {
        self.sign_count += 1;
        let data = self.authenticator_data(0, &[]);
        let client_data = self.client_data("webauthn.get", options);
        let signed = [&data, digest(&SHA256, &client_data).as_ref()].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        json!({
            "id": encode(&self.id), "rawId": encode(&self.id), "type": "public-key",
            "response": {
                "clientDataJSON": encode(&client_data),
                "authenticatorData": encode(&data),
                "signature": encode(signature.as_ref()),
                "userHandle": self.user_handle,
            },
        })
    }
}

fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// The code of an authenticator app at this time.
pub fn totp_code(base32: &str, seconds: i64) -> String {
    let mut bits = String::new();
    for c in base32.chars() {
        let digit = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".find(c).unwrap();
        bits.push_str(&format!("{digit:05b}"));
    }
    let secret: Vec<u8> = bits
        .as_bytes()
        .chunks_exact(8)
        .map(|byte| u8::from_str_radix(str::from_utf8(byte).unwrap(), 2).unwrap())
        .collect();
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &secret);
    let tag = hmac::sign(&key, &(seconds / 30).to_be_bytes());
    let offset = usize::from(tag.as_ref()[19] & 15);
    let number = u32::from_be_bytes(tag.as_ref()[offset..offset + 4].try_into().unwrap());
    format!("{:06}", (number & 0x7fff_ffff) % 1_000_000)
}
