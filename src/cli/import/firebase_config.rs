//! Reads the password hash parameters of a Firebase project, as its console shows them.

use std::{fs, path::Path};

use anyhow::{Context, bail};

use crate::credential::password::FirebaseKeys;

pub(super) fn read(file: &Path) -> anyhow::Result<FirebaseKeys> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    parse(&text).with_context(|| file.display().to_string())
}

/// Reads lines such as `rounds: 8,`.
fn parse(text: &str) -> anyhow::Result<FirebaseKeys> {
    let value = |name: &str| {
        let lines = text.split(['\n', '{', '}', ',']).filter_map(|line| line.split_once(':'));
        let found = lines.map(|(name, value)| (name.trim(), value.trim().trim_matches('"')));
        let found = found.map(|(key, value)| (key.trim_matches('"'), value));
        found.clone().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned()).with_context(
            || format!("{name} is missing: copy all lines of hash_config from the console"),
        )
    };
    if !value("algorithm")?.eq_ignore_ascii_case("SCRYPT") {
        bail!("algorithm: only SCRYPT, Firebase's own, is supported");
    }
    let (rounds, mem_cost) = (value("rounds")?.parse(), value("mem_cost")?.parse());
    let rounds = rounds.ok().context("rounds is not a number")?;
    let mem_cost = mem_cost.ok().context("mem_cost is not a number")?;
    let (key, separator) = (value("base64_signer_key")?, value("base64_salt_separator")?);
    FirebaseKeys::parse(&key, &separator, rounds, mem_cost)
        .context("base64_signer_key or base64_salt_separator is not Base64")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_the_console_shows_them() {
        let text = "hash_config {\n  algorithm: SCRYPT,\n  base64_signer_key: jxspr8Ki0RYycVU8zykb==,\n  \
                    base64_salt_separator: Bw==,\n  rounds: 8,\n  mem_cost: 14,\n}\n";
        let text = text.replace("zykb==", "zykbdA==");
        parse(&text).unwrap();
        for missing in ["algorithm: SCRYPT,", "rounds: 8,", "mem_cost: 14,"] {
            assert!(parse(&text.replace(missing, "")).is_err(), "{missing}");
        }
        assert!(parse(&text.replace("SCRYPT", "BCRYPT")).is_err());
        assert!(parse(&text.replace("jxsp", "!")).is_err());
    }
}
