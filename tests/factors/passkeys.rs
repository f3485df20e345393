//! Gives inputs from outside to the verification of passkeys. Without arguments, it reads a ceremony per line of JSON and writes a
//! verdict for each. With `fuzz N`, it changes the test vectors N times at random, and fails if a changed assertion is accepted.

#[expect(dead_code, reason = "other tests use more of it")]
#[path = "../seed/mod.rs"]
mod seed;

use std::{
    collections::BTreeMap,
    io::{BufRead, Write},
};

use anyhow::{Context, ensure};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use doorward::internals::credential::passkey::{
    Assertion, AssertionResponse, CredentialId, Invalid, PostedAssertion, PostedRegistration,
    PublicKey, Registration, RegistrationResponse, RelyingParty, register, verify,
};
use serde_json::{Value, json};

use self::seed::Chance;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => verdicts(),
        ["fuzz", inputs] => fuzz(inputs.parse()?),
        _ => anyhow::bail!("usage: passkeys [fuzz N]"),
    }
}

fn relying_party() -> RelyingParty {
    RelyingParty { id: "example.org".to_owned(), origins: vec!["https://example.org".to_owned()] }
}

fn decoded(value: &Value) -> anyhow::Result<Vec<u8>> {
    Ok(BASE64_URL_SAFE_NO_PAD.decode(value.as_str().context("a text is missing")?)?)
}

fn encoded(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

// --- verdicts --------------------------------------------------------------------------------------------------------

fn verdicts() -> anyhow::Result<()> {
    let mut output = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        writeln!(output, "{}", verdict(serde_json::from_str(&line?)?)?)?;
    }
    Ok(output.flush()?)
}

fn verdict(mut input: Value) -> anyhow::Result<Value> {
    let challenge = decoded(&input["challenge"])?;
    let credential = input["credential"].take();
    if input["publicKey"].is_null() {
        let posted: PostedRegistration = serde_json::from_value(credential)?;
        let verdict = register(&relying_party(), &challenge, &posted.into());
        return Ok(verdict.map_or_else(refused, |registration| registered(&registration)));
    }
    let posted: PostedAssertion = serde_json::from_value(credential)?;
    let key = PublicKey::from_bytes(&decoded(&input["publicKey"])?).context("no key")?;
    let id = CredentialId::from_bytes(&decoded(&input["credentialId"])?).context("no id")?;
    let verdict = verify(&relying_party(), &challenge, &key, &id, &posted.into());
    Ok(verdict.map_or_else(refused, |assertion| asserted(&assertion)))
}

fn refused(why: Invalid) -> Value {
    json!({"refused": format!("{why:?}")})
}

fn registered(registration: &Registration) -> Value {
    json!({
        "credentialId": encoded(registration.credential_id.as_bytes()),
        "publicKey": encoded(&registration.public_key.to_bytes()),
        "aaguid": registration.aaguid.to_string(),
        "signCount": registration.sign_count,
        "userVerified": registration.user_verified,
        "backedUp": registration.backed_up,
    })
}

fn asserted(assertion: &Assertion) -> Value {
    json!({
        "signCount": assertion.sign_count,
        "userVerified": assertion.user_verified,
        "backedUp": assertion.backed_up,
    })
}

// --- fuzzing ---------------------------------------------------------------------------------------------------------

/// A credential of which both ceremonies are accepted.
struct Sample {
    registration_challenge: Vec<u8>,
    registration: RegistrationResponse,
    key: PublicKey,
    id: CredentialId,
    challenge: Vec<u8>,
    assertion: AssertionResponse,
}

fn samples() -> anyhow::Result<Vec<Sample>> {
    let vectors: Vec<Value> =
        serde_json::from_str(include_str!("../../src/credential/passkey/vectors.json"))?;
    let samples = vectors.iter().map(|vector| {
        let (create, get) = (&vector["registration"], &vector["authentication"]);
        let raw_id = decoded(&vector["credentialId"])?;
        let registration = RegistrationResponse {
            raw_id: raw_id.clone(),
            client_data_json: decoded(&create["clientDataJSON"])?,
            attestation_object: decoded(&create["attestationObject"])?,
        };
        let registration_challenge = decoded(&create["challenge"])?;
        let Ok(registered) = register(&relying_party(), &registration_challenge, &registration)
        else {
            return Ok(None);
        };
        Ok(Some(Sample {
            registration_challenge,
            registration,
            key: registered.public_key,
            id: registered.credential_id,
            challenge: decoded(&get["challenge"])?,
            assertion: AssertionResponse {
                raw_id,
                client_data_json: decoded(&get["clientDataJSON"])?,
                authenticator_data: decoded(&get["authenticatorData"])?,
                signature: decoded(&get["signature"])?,
                user_handle: None,
            },
        }))
    });
    samples.filter_map(Result::transpose).collect()
}

fn fuzz(inputs: u64) -> anyhow::Result<()> {
    let (rp, samples) = (relying_party(), samples()?);
    ensure!(samples.len() == 10, "ten vectors are accepted");
    for sample in &samples {
        let verdict = verify(&rp, &sample.challenge, &sample.key, &sample.id, &sample.assertion);
        verdict.context("the unchanged assertion")?;
    }
    let mut chance = Chance::of_this_run();
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    for number in 0..inputs {
        let sample = &samples[at(&mut chance, samples.len())];
        let outcome = match chance.below(3) {
            0 => {
                let mut response = sample.registration.clone();
                match chance.below(4) {
                    0 => change(&mut response.client_data_json, &mut chance),
                    1 => response.attestation_object = random_object(&mut chance),
                    _ => change(&mut response.attestation_object, &mut chance),
                }
                register(&rp, &sample.registration_challenge, &response).map(|registration| {
                    assert_eq!(registration.credential_id.as_bytes(), response.raw_id);
                    let stored = registration.public_key.to_bytes();
                    assert_eq!(PublicKey::from_bytes(&stored), Some(registration.public_key));
                })
            }
            1 => {
                let mut response = sample.assertion.clone();
                let changed = match chance.below(4) {
                    0 => &mut response.raw_id,
                    1 => &mut response.client_data_json,
                    2 => &mut response.authenticator_data,
                    _ => &mut response.signature,
                };
                let before = changed.clone();
                change(changed, &mut chance);
                let is_same = *changed == before;
                let verdict = verify(&rp, &sample.challenge, &sample.key, &sample.id, &response);
                ensure!(
                    verdict.is_err() || is_same,
                    "input {number}: a changed assertion is accepted: {response:02x?}"
                );
                verdict.map(drop)
            }
            _ => {
                let mut key = sample.key.to_bytes();
                change(&mut key, &mut chance);
                PublicKey::from_bytes(&key).ok_or(Invalid::PublicKey).and_then(|key| {
                    verify(&rp, &sample.challenge, &key, &sample.id, &sample.assertion).map(drop)
                })
            }
        };
        let outcome = outcome.map_or_else(|why| format!("{why:?}"), |()| "accepted".to_owned());
        *outcomes.entry(outcome).or_default() += 1;
    }
    println!("{}", serde_json::to_string(&outcomes)?);
    Ok(())
}

fn at(chance: &mut Chance, length: usize) -> usize {
    usize::try_from(chance.below(length.max(1) as u64)).expect("it is below a length")
}

fn byte(chance: &mut Chance) -> u8 {
    u8::try_from(chance.below(256)).expect("it is below 256")
}

/// Changes up to four places: a bit, a byte, a run of bytes, or the end.
fn change(bytes: &mut Vec<u8>, chance: &mut Chance) {
    for _ in 0..=chance.below(4) {
        let place = at(chance, bytes.len());
        match chance.below(7) {
            0 | 1 if !bytes.is_empty() => bytes[place] ^= 1 << chance.below(8),
            2 if !bytes.is_empty() => bytes[place] = byte(chance),
            3 => bytes.insert(place, byte(chance)),
            4 if !bytes.is_empty() => drop(bytes.remove(place)),
            5 => bytes.truncate(place),
            _ => {
                let end = (place + at(chance, 40)).min(bytes.len());
                let run = bytes[place.min(end)..end].to_vec();
                let place = at(chance, bytes.len());
                bytes.splice(place..place, run);
            }
        }
    }
}

/// An attestation object whose parts are well-formed CBOR, but arbitrary.
fn random_object(chance: &mut Chance) -> Vec<u8> {
    let mut object = vec![0xa3];
    for key in ["fmt", "attStmt", "authData"] {
        object.push(0x60 | u8::try_from(key.len()).expect("the keys are short"));
        object.extend(key.as_bytes());
        random_value(&mut object, 10, chance);
    }
    object
}

fn random_value(output: &mut Vec<u8>, depth: u8, chance: &mut Chance) {
    let length = byte(chance) % 24;
    match chance.below(if depth == 0 { 4 } else { 7 }) {
        0 => output.push(length),
        1 => output.push(0x20 | length),
        2 => {
            output.push(0x40 | length);
            output.extend((0..length).map(|_| byte(chance)));
        }
        3 => {
            output.push(0x60 | length);
            output.extend((0..length).map(|_| b'a' + byte(chance) % 26));
        }
        4 => output.push(0xf4 | (length % 4)),
        5 => {
            output.push(0x80 | (length % 4));
            (0..length % 4).for_each(|_| random_value(output, depth - 1, chance));
        }
        _ => {
            output.push(0xa0 | (length % 4));
            (0..length % 4 * 2).for_each(|_| random_value(output, depth - 1, chance));
        }
    }
}
