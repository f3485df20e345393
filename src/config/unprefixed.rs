//! Variables with the name of a setting and without the prefix, which are not read. Other programs have such variables, too.

use std::ffi::OsString;

use super::{
    Settings,
    key::{Key, VARIABLE_PREFIX},
    sections::key_by_name,
    sources::{Origin, Origins},
};

/// The settings whose names other documents and services use without a prefix.
const COMMON: [&str; 5] = ["token.lifetime", "listen", "database_url", "mail.url", "public_url"];

/// The variables that look like one of these settings: nothing else sets it, and it could have their value.
pub(crate) fn unprefixed_variables(
    environment: &[(OsString, OsString)],
    origins: &Origins,
) -> Vec<(String, &'static Key)> {
    let common = COMMON.into_iter().filter_map(|name| key_by_name(name).ok());
    let is_default = |key: &&'static Key| origins.of(key) == Origin::Default;
    let looks_meant = |key: &'static Key| {
        let name = key.variable().strip_prefix(VARIABLE_PREFIX)?.to_owned();
        let value = environment.iter().find(|(other, _)| other.to_str() == Some(&name))?.1.to_str();
        let is_valid = key.set(&mut Settings::default(), value?, &name).is_ok();
        is_valid.then_some((name, key))
    };
    common.filter(is_default).filter_map(looks_meant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Sources;

    fn found(variables: &[(&str, &str)]) -> Vec<String> {
        let environment: Vec<_> =
            variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let sources = Sources { flags: Vec::new(), file: None, environment: environment.clone() };
        let (_, origins) = Settings::with_origins(sources).unwrap();
        let found = unprefixed_variables(&environment, &origins);
        found.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_variable_without_the_prefix_is_found_unless_the_setting_is_set_or_cannot_have_its_value() {
        let all = [
            ("TOKEN_LIFETIME", "1h"),
            ("LISTEN", "127.0.0.1:8080"),
            ("DATABASE_URL", "sqlite://x.db"),
            ("MAIL_URL", "smtp://mail.example.com"),
            ("PUBLIC_URL", "https://auth.example.com"),
        ];
        assert_eq!(found(&all), all.map(|(name, _)| name));
        assert_eq!(found(&[("DATABASE_URL", "mysql://shop"), ("LISTEN_FDS", "1")]), [""; 0]);
        let set = ("DOORWARD_DATABASE_URL", "sqlite://y.db");
        assert_eq!(found(&[("DATABASE_URL", "sqlite://x.db"), set]), [""; 0]);
    }
}
