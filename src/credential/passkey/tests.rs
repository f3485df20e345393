//! The vectors of WebAuthn Level 3, all their single-bit changes, and each rule on its own. tests/factors compares the verdicts
//! with those of other implementations.

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::Value as Json;

use super::*;

const CHALLENGE: &[u8] = b"a challenge of at least 16 bytes";
const AAGUID: [u8; 16] = [7; 16];
const ID: &[u8] = b"the id of a credential";
const UP: u8 = 1;
const BE: u8 = 1 << 3;
const BS: u8 = 1 << 4;
const AT: u8 = 1 << 6;
const ED: u8 = 1 << 7;

fn relying_party() -> RelyingParty {
    let origins = ["https://example.org", "https://other.example"].map(str::to_owned);
    RelyingParty { id: "example.org".to_owned(), origins: origins.to_vec() }
}

// --- the vectors of the standard ------------------------------------------------------------------------------------

struct Vector {
    name: String,
    creation: Vec<u8>,
    registration: RegistrationResponse,
    challenge: Vec<u8>,
    assertion: AssertionResponse,
}

impl Vector {
    fn register(&self) -> Result<Registration, Invalid> {
        register(&relying_party(), &self.creation, &self.registration)
    }

    fn verify(&self, key: &PublicKey) -> Result<Assertion, Invalid> {
        let id = CredentialId::from_bytes(&self.registration.raw_id).unwrap();
        verify(&relying_party(), &self.challenge, key, &id, &self.assertion)
    }

    /// The key, also of a vector whose registration is refused.
    fn key(&self) -> Result<PublicKey, Invalid> {
        let data = authenticator_data(&self.registration.attestation_object)?;
        PublicKey::parse(AuthenticatorData::parse(data).unwrap().credential.unwrap().public_key)
    }
}

fn vectors() -> Vec<Vector> {
    let json = include_str!("vectors.json");
    let vectors: Vec<Json> = serde_json::from_str(json).unwrap();
    let decoded = |value: &Json| BASE64_URL_SAFE_NO_PAD.decode(value.as_str().unwrap()).unwrap();
    let vectors = vectors.iter().map(|vector| {
        let (create, get) = (&vector["registration"], &vector["authentication"]);
        let raw_id = decoded(&vector["credentialId"]);
        Vector {
            name: vector["name"].as_str().unwrap().to_owned(),
            creation: decoded(&create["challenge"]),
            registration: RegistrationResponse {
                raw_id: raw_id.clone(),
                client_data_json: decoded(&create["clientDataJSON"]),
                attestation_object: decoded(&create["attestationObject"]),
            },
            challenge: decoded(&get["challenge"]),
            assertion: AssertionResponse {
                raw_id,
                client_data_json: decoded(&get["clientDataJSON"]),
                authenticator_data: decoded(&get["authenticatorData"]),
                signature: decoded(&get["signature"]),
                user_handle: None,
            },
        }
    });
    vectors.collect()
}

#[test]
fn the_vectors_of_webauthn_level_3_are_judged_as_intended() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 15);
    for vector in &vectors {
        let refused = match vector.name.as_str() {
            "none.ES256.crossOrigin" | "none.ES256.topOrigin" => Some(Invalid::CrossOrigin),
            "packed.ES384" | "packed.ES512" | "packed.Ed448" => Some(Invalid::Algorithm),
            _ => None,
        };
        let verdict = vector.register();
        assert_eq!(verdict.as_ref().err(), refused.as_ref(), "{}", vector.name);
        let key = vector.key();
        assert_eq!(key.is_err(), refused == Some(Invalid::Algorithm), "{}", vector.name);
        let Ok(key) = key else { continue };
        assert_eq!(vector.verify(&key).err(), refused, "{}", vector.name);
        assert_eq!(PublicKey::from_bytes(&key.to_bytes()), Some(key));
        let Ok(registration) = verdict else { continue };
        assert_eq!(registration.credential_id.as_bytes(), vector.registration.raw_id);
    }
}

#[test]
fn a_registration_says_what_the_authenticator_said() {
    let vector = &vectors()[0];
    let registration = vector.register().unwrap();
    assert_eq!(registration.aaguid, uuid::uuid!("8446ccb9-ab1d-b374-750b-2367ff6f3a1f"));
    assert_eq!(registration.sign_count, 0);
    assert!(!registration.user_verified && registration.backup_eligible && registration.backed_up);
    let expected =
        Assertion { sign_count: 0, user_verified: false, backup_eligible: true, backed_up: true };
    assert_eq!(vector.verify(&registration.public_key), Ok(expected));
}

fn one_per_algorithm() -> [Vector; 3] {
    ["none.ES256", "packed.EdDSA", "packed.RS256"]
        .map(|name| vectors().into_iter().find(|vector| vector.name == name).unwrap())
}

/// Calls with each single-bit change of the bytes.
fn each_changed_bit(bytes: &[u8], mut judge: impl FnMut(&[u8], usize)) {
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        judge(&changed, bit);
    }
}

#[test]
fn every_single_bit_change_of_an_assertion_is_refused() {
    for vector in one_per_algorithm() {
        let (rp, key) = (relying_party(), vector.key().unwrap());
        let id = CredentialId::from_bytes(&vector.assertion.raw_id).unwrap();
        let mut judged = 0;
        let parts: [fn(&mut AssertionResponse) -> &mut Vec<u8>; 4] = [
            |response| &mut response.raw_id,
            |response| &mut response.client_data_json,
            |response| &mut response.authenticator_data,
            |response| &mut response.signature,
        ];
        for part in parts {
            let mut response = vector.assertion.clone();
            each_changed_bit(part(&mut vector.assertion.clone()), |changed, bit| {
                *part(&mut response) = changed.to_vec();
                let verdict = verify(&rp, &vector.challenge, &key, &id, &response);
                assert!(verdict.is_err(), "bit {bit} of {}: {response:02x?}", vector.name);
                judged += 1;
            });
        }
        each_changed_bit(&vector.challenge, |challenge, _| {
            let verdict = verify(&rp, challenge, &key, &id, &vector.assertion);
            assert_eq!(verdict, Err(Invalid::Challenge));
        });
        each_changed_bit(&key.to_bytes(), |key, bit| {
            let Some(key) = PublicKey::from_bytes(key) else { return };
            let verdict = verify(&rp, &vector.challenge, &key, &id, &vector.assertion);
            assert_eq!(verdict, Err(Invalid::Signature), "bit {bit} of the key");
        });
        assert!(judged > 1500, "{judged}");
    }
}

/// Nothing signs the rest: the model, the counter, the flags, and fields of the client data that nobody reads.
#[test]
fn every_single_bit_change_of_a_registration_is_refused_or_registers_the_same_key() {
    let vector = &vectors()[0];
    let registered = vector.register().unwrap();
    let judge = |response: &RegistrationResponse, bit: usize| {
        let Ok(changed) = register(&relying_party(), &vector.creation, response) else {
            return 0;
        };
        assert_eq!(changed.credential_id, registered.credential_id, "bit {bit}");
        assert_eq!(changed.public_key, registered.public_key, "bit {bit}");
        1
    };
    let mut response = vector.registration.clone();
    let mut accepted = 0;
    each_changed_bit(&vector.registration.attestation_object, |changed, bit| {
        response.attestation_object = changed.to_vec();
        accepted += judge(&response, bit);
    });
    // 128 bits of the model, 32 of the counter, UV, BS and two flags without a meaning, and the letters of `none`: as any other
    // format, it is ignored.
    assert!((164..=196).contains(&accepted), "{accepted}");
    let mut response = vector.registration.clone();
    each_changed_bit(&vector.registration.client_data_json, |changed, bit| {
        response.client_data_json = changed.to_vec();
        judge(&response, bit);
    });
}

#[test]
fn a_part_of_an_attestation_object_and_bytes_behind_it_are_refused() {
    let vector = &vectors()[0];
    let mut response = vector.registration.clone();
    for length in 0..vector.registration.attestation_object.len() {
        response.attestation_object.clone_from(&vector.registration.attestation_object);
        response.attestation_object.truncate(length);
        let verdict = register(&relying_party(), &vector.creation, &response);
        assert_eq!(verdict, Err(Invalid::AttestationObject), "{length} bytes");
    }
    response.attestation_object.clone_from(&vector.registration.attestation_object);
    response.attestation_object.push(0);
    let verdict = register(&relying_party(), &vector.creation, &response);
    assert_eq!(verdict, Err(Invalid::AttestationObject));
}

// --- each rule ------------------------------------------------------------------------------------------------------

fn client_data(kind: &str) -> String {
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(CHALLENGE);
    format!(
        r#"{{"type":"{kind}","challenge":"{challenge}","origin":"https://example.org","crossOrigin":false}}"#
    )
}

/// A key of an authenticator.
fn key_pair() -> EcdsaKeyPair {
    EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap()
}

fn cose(pair: &EcdsaKeyPair) -> Vec<u8> {
    let point = pair.public_key().as_ref();
    let (start, x, y) = (b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20", &point[1..33], &point[33..]);
    [start, x, b"\x22\x58\x20", y].concat()
}

fn rsa(n: &[u8], e: &[u8]) -> Vec<u8> {
    let head = |length: usize| u16::try_from(length).unwrap().to_be_bytes();
    let start = b"\xa4\x01\x03\x03\x39\x01\x00\x20\x59";
    let exponent = [&[0x21, 0x40 | u8::try_from(e.len()).unwrap()], e].concat();
    [start, &head(n.len())[..], n, &exponent].concat()
}

fn new_credential(cose: &[u8]) -> Vec<u8> {
    let length = u16::try_from(ID.len()).unwrap().to_be_bytes();
    [&AAGUID[..], &length, ID, cose].concat()
}

fn data(flags: u8, behind: &[u8]) -> Vec<u8> {
    let rp_id_hash = sha256("example.org");
    [rp_id_hash.as_ref(), &[flags, 0, 0, 0, 9], behind].concat()
}

fn attestation_object(data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).unwrap().to_be_bytes();
    // A length of less than 256 has a shorter form.
    let head = if length[0] == 0 { vec![0x58, length[1]] } else { [&[0x59], &length[..]].concat() };
    [b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData", &head[..], data].concat()
}

fn registered(client_data: &str, data: &[u8]) -> Result<Registration, Invalid> {
    let response = RegistrationResponse {
        raw_id: ID.to_vec(),
        client_data_json: client_data.as_bytes().to_vec(),
        attestation_object: attestation_object(data),
    };
    register(&relying_party(), CHALLENGE, &response)
}

fn with_data(data: &[u8]) -> Result<Registration, Invalid> {
    registered(&client_data("webauthn.create"), data)
}

fn with_key(cose: &[u8]) -> Result<Registration, Invalid> {
    with_data(&data(UP | AT, &new_credential(cose)))
}

#[test]
fn client_data_of_another_ceremony_challenge_or_place_are_refused() {
    let (good, pair) = (client_data("webauthn.create"), key_pair());
    let data = data(UP | AT, &new_credential(&cose(&pair)));
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(CHALLENGE);
    for (from, to, verdict) in [
        ("", "", None),
        ("https://example.org", "https://other.example", None),
        (r#","crossOrigin":false"#, "", None),
        ("}", r#","later":{"x":[1]}}"#, None),
        ("{", "\u{feff}{", None),
        ("{", "\u{feff}\u{feff}{", Some(Invalid::ClientData)),
        (".create", ".get", Some(Invalid::Type)),
        (".create", ".Create", Some(Invalid::Type)),
        (challenge.as_str(), "AAAA", Some(Invalid::Challenge)),
        (challenge.as_str(), &format!("{challenge}="), Some(Invalid::Challenge)),
        ("https://example.org", "http://example.org", Some(Invalid::Origin)),
        ("https://example.org", "https://example.org/", Some(Invalid::Origin)),
        ("https://example.org", "https://example.org:8443", Some(Invalid::Origin)),
        ("https://example.org", "https://a.example.org", Some(Invalid::Origin)),
        ("false", "true", Some(Invalid::CrossOrigin)),
        ("}", r#","topOrigin":"https://example.com"}"#, Some(Invalid::CrossOrigin)),
        ("}", r#","type":"webauthn.create"}"#, Some(Invalid::ClientData)),
        ("false", "0", Some(Invalid::ClientData)),
        ("origin", "place", Some(Invalid::ClientData)),
        ("}", "}x", Some(Invalid::ClientData)),
        ("{", "[", Some(Invalid::ClientData)),
    ] {
        let changed = good.replacen(from, to, 1);
        assert_eq!(registered(&changed, &data).err(), verdict, "{changed}");
    }
}

#[test]
fn authenticator_data_that_break_a_rule_are_refused() {
    let pair = key_pair();
    let credential = new_credential(&cose(&pair));
    let extended = |extensions: &[u8]| [&credential, extensions].concat();
    for (data, verdict) in [
        (data(UP | AT, &credential), None),
        (data(UP | AT | BE, &credential), None),
        (data(UP | AT | BE | BS, &credential), None),
        (data(UP | AT | ED, &extended(b"\xa1\x6bcredProtect\x02")), None),
        (data(AT, &credential), Some(Invalid::UserPresence)),
        (data(UP | AT | BS, &credential), Some(Invalid::BackupFlags)),
        (data(UP, b""), Some(Invalid::NoCredential)),
        (data(UP, &credential), Some(Invalid::AuthenticatorData)),
        (data(UP | AT, b""), Some(Invalid::AuthenticatorData)),
        (data(UP | AT, &new_credential(b"\x01")), Some(Invalid::AuthenticatorData)),
        (data(UP | AT, &extended(b"\0")), Some(Invalid::AuthenticatorData)),
        (data(UP | AT, &extended(b"\xa0")), Some(Invalid::AuthenticatorData)),
        (data(UP | AT | ED, &credential), Some(Invalid::AuthenticatorData)),
        (data(UP | AT | ED, &extended(b"\x80")), Some(Invalid::AuthenticatorData)),
        (data(UP | AT | ED, &extended(b"\xa0\0")), Some(Invalid::AuthenticatorData)),
        (data(UP | AT, &credential)[..36].to_vec(), Some(Invalid::AuthenticatorData)),
    ] {
        assert_eq!(with_data(&data).err(), verdict, "{data:02x?}");
    }
    let mut other = data(UP | AT, &credential);
    other[0] ^= 1;
    assert_eq!(with_data(&other), Err(Invalid::RelyingParty));
    let mut other = data(UP | AT, &credential);
    // The first byte of the id.
    other[55] ^= 1;
    assert_eq!(with_data(&other), Err(Invalid::CredentialId));
}

#[test]
fn an_id_has_1_to_1023_bytes() {
    assert_eq!(CredentialId::from_bytes(&[]), None);
    assert!(CredentialId::from_bytes(&[0; 1023]).is_some());
    assert_eq!(CredentialId::from_bytes(&[0; 1024]), None);
    let credential =
        [&AAGUID[..], &1024_u16.to_be_bytes(), &[1; 1024], &cose(&key_pair())].concat();
    let response = RegistrationResponse {
        raw_id: vec![1; 1024],
        client_data_json: client_data("webauthn.create").into_bytes(),
        attestation_object: attestation_object(&data(UP | AT, &credential)),
    };
    assert_eq!(register(&relying_party(), CHALLENGE, &response), Err(Invalid::CredentialId));
}

#[test]
fn a_key_of_another_algorithm_off_its_curve_or_too_short_is_refused() {
    let good = cose(&key_pair());
    assert_eq!(with_key(&good).err(), None);
    let changed = |at: usize, to: u8| {
        let mut cose = good.clone();
        cose[at] = to;
        with_key(&cose).err()
    };
    // ES384 and ES256K, another type, another curve, another point.
    let es384 = [&good[..3], b"\x03\x38\x22", &good[5..]].concat();
    let es256k = [&good[..3], b"\x03\x38\x2e", &good[5..]].concat();
    assert_eq!(with_key(&es384).err(), Some(Invalid::Algorithm));
    assert_eq!(with_key(&es256k).err(), Some(Invalid::Algorithm));
    assert_eq!(changed(2, 1), Some(Invalid::PublicKey));
    assert_eq!(changed(6, 2), Some(Invalid::PublicKey));
    assert_eq!(changed(20, good[20] ^ 1), Some(Invalid::PublicKey));
    // The point at infinity and a compressed one.
    let (start, rest) = good.split_at(10);
    assert_eq!(
        with_key(&[start, &[0; 32], &rest[32..35], &[0; 32]].concat()).err(),
        Some(Invalid::PublicKey)
    );
    assert_eq!(
        with_key(&[start, &rest[..32], b"\x22\xf5"].concat()).err(),
        Some(Invalid::PublicKey)
    );

    let modulus = |bytes: usize, first: u8| {
        let mut n = vec![0xab; bytes];
        n[0] = first;
        n
    };
    for (n, e, verdict) in [
        (modulus(256, 0x80), &b"\x01\x00\x01"[..], None),
        (modulus(1024, 0xff), b"\x01\x00\x01", None),
        (modulus(256, 0x80), b"\x03", None),
        (modulus(256, 0x7f), b"\x01\x00\x01", Some(Invalid::PublicKey)),
        (modulus(257, 0), b"\x01\x00\x01", Some(Invalid::PublicKey)),
        (modulus(1025, 1), b"\x01\x00\x01", Some(Invalid::PublicKey)),
        (modulus(256, 0x80), b"\x01", Some(Invalid::PublicKey)),
        (modulus(256, 0x80), b"\x04", Some(Invalid::PublicKey)),
        (modulus(256, 0x80), b"\x00\x03", Some(Invalid::PublicKey)),
        (modulus(256, 0x80), b"", Some(Invalid::PublicKey)),
        (modulus(256, 0x80), b"\x01\x00\x00\x00\x01", Some(Invalid::PublicKey)),
    ] {
        assert_eq!(with_key(&rsa(&n, e)).err(), verdict, "{} bytes, e = {e:02x?}", n.len());
    }
    let mut even = modulus(256, 0x80);
    even[255] = 0xaa;
    assert_eq!(with_key(&rsa(&even, b"\x03")).err(), Some(Invalid::PublicKey));
}

#[test]
fn a_statement_is_read_and_ignored() {
    let object = attestation_object(&data(UP | AT, &new_credential(&cose(&key_pair()))));
    let with = |from: &[u8], to: &[u8]| {
        let at = object.windows(from.len()).position(|window| window == from).unwrap();
        let object = [&object[..at], to, &object[at + from.len()..]].concat();
        let response = RegistrationResponse {
            raw_id: ID.to_vec(),
            client_data_json: client_data("webauthn.create").into_bytes(),
            attestation_object: object,
        };
        register(&relying_party(), CHALLENGE, &response).err()
    };
    let refused = Some(Invalid::AttestationObject);
    assert_eq!(with(b"none\x67attStmt\xa0", b"some\x67attStmt\xa1\x63sig\x41\0"), None);
    assert_eq!(with(b"none\x67attStmt\xa0", b"none\x67attStmt\xa1\x63sig\x41\0"), refused);
    assert_eq!(with(b"none\x67attStmt\xa0", b"some\x67attStmt\xa1\x63sig\x5f\xff"), refused);
    assert_eq!(with(b"\x67attStmt\xa0", b"\x67attStmt\x80"), refused);
    assert_eq!(with(b"\x64none", b"\x44none"), refused);
    assert_eq!(with(b"authData", b"authdata"), refused);
}

#[test]
fn a_falling_counter_and_changed_backup_flags_are_accepted() {
    let pair = key_pair();
    let registration = with_key(&cose(&pair)).unwrap();
    assert_eq!((registration.sign_count, registration.backup_eligible), (9, false));
    let mut data = data(UP | BE | BS, b"");
    data[36] = 3;
    let client_data_json = client_data("webauthn.get").into_bytes();
    let signed = [&data[..], &sha256(&client_data_json)].concat();
    let signature = pair.sign(&SystemRandom::new(), &signed).unwrap().as_ref().to_vec();
    let response = AssertionResponse {
        raw_id: ID.to_vec(),
        client_data_json,
        authenticator_data: data,
        signature,
        user_handle: Some(vec![1]),
    };
    let judged = |id: &CredentialId, key: &PublicKey, response: &AssertionResponse| {
        verify(&relying_party(), CHALLENGE, key, id, response)
    };
    let (id, key) = (&registration.credential_id, &registration.public_key);
    let assertion = judged(id, key, &response).unwrap();
    assert_eq!(assertion.sign_count, 3);
    assert!(assertion.backup_eligible && assertion.backed_up && !assertion.user_verified);

    let other = CredentialId::from_bytes(b"another id").unwrap();
    assert_eq!(judged(&other, key, &response), Err(Invalid::CredentialId));
    let other = with_key(&cose(&key_pair())).unwrap().public_key;
    assert_eq!(judged(id, &other, &response), Err(Invalid::Signature));
    let create = client_data("webauthn.create").into_bytes();
    let response = AssertionResponse { client_data_json: create, ..response };
    assert_eq!(judged(id, key, &response), Err(Invalid::Type));
}
