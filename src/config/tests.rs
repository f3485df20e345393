//! Tests of reading settings from flags, variables and files.

use std::{fs, path::Path, time::Duration};

use super::*;
use crate::config::sections::key_by_name;

pub(super) fn key(name: &str) -> &'static Key {
    key_by_name(name).unwrap()
}

/// Loads settings with an empty file unless one is given.
pub(super) fn load(
    flags: &[(&str, &str)],
    variables: &[(&str, &str)],
    file: &str,
) -> Result<Settings, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("doorward.toml");
    fs::write(&path, file).unwrap();
    let sources = Sources {
        flags: flags.iter().map(|(name, value)| (key(name), value.to_string())).collect(),
        file: Some(path),
        environment: variables.iter().map(|(n, v)| (n.into(), v.into())).collect(),
    };
    let shortened = format!("{}/", folder.path().display());
    Settings::from_sources(sources).map_err(|error| error.0.replace(&shortened, ""))
}

#[test]
fn a_table_in_the_singular_is_told_from_a_setting() {
    for (file, error) in [
        (
            "[login.google]\nclient_id = 'x'",
            "doorward.toml:2:1: login.google.client_id: unknown setting: did you mean [logins.google]?",
        ),
        (
            "[guard.staff]\nallow = 'true'",
            "doorward.toml:2:1: guard.staff.allow: unknown setting: did you mean [guards.staff]?",
        ),
    ] {
        assert_eq!(load(&[], &[], file).err().as_deref(), Some(error));
    }
}

#[test]
fn flags_win_over_the_environment_over_the_file_over_the_defaults() {
    let file = "listen = \"127.0.0.1:1\"\n[token]\nlifetime = \"1h\"\n[limits]\nbody = 2048\n";
    let variables = [("DOORWARD_LISTEN", "127.0.0.1:2"), ("DOORWARD_TOKEN_LIFETIME", "2h")];
    let settings = load(&[("listen", "127.0.0.1:3")], &variables, file).unwrap();
    assert_eq!(settings.listen.port(), 3);
    assert_eq!(settings.token.lifetime, Duration::from_secs(2 * 60 * 60));
    assert_eq!(settings.body_limit, 2048);
    assert_eq!(settings.designated_name, "Miles Davis");
}

#[test]
fn every_default_is_an_allowed_value() {
    for key in keys() {
        let mut settings = Settings::default();
        key.set(&mut settings, &key.value(&Settings::default()), key.name).unwrap();
        assert_eq!(settings, Settings::default(), "{}", key.name);
    }
}

#[test]
fn an_unknown_setting_is_refused_with_its_place_and_the_nearest_name() {
    assert_eq!(
        load(&[], &[], "[token]\n  lifetme = \"1h\"\n"),
        Err("doorward.toml:2:3: token.lifetme: unknown setting: did you mean token.lifetime?"
            .into())
    );
    assert_eq!(
        load(&[], &[("DOORWARD_LISTN", "x")], ""),
        Err("DOORWARD_LISTN: unknown setting: did you mean DOORWARD_LISTEN?".into())
    );
    assert_eq!(
        load(&[], &[("DOORWARD_UNHEARD_OF", "x")], ""),
        Err("DOORWARD_UNHEARD_OF: unknown setting: every variable that begins with DOORWARD_ is a setting, so unset or \
             rename this one"
            .into())
    );
    assert_eq!(
        load(&[], &[], "unheard_of = 1\n"),
        Err("doorward.toml:1:1: unheard_of: unknown setting".into())
    );
}

#[test]
fn a_bad_value_is_refused_with_its_place_and_what_is_allowed() {
    assert_eq!(
        load(&[], &[("DOORWARD_LISTEN", "3000")], ""),
        Err("DOORWARD_LISTEN: \"3000\" is not an address and a port, such as 127.0.0.1:3000 or [::]:3000".into())
    );
    assert_eq!(
        load(&[("token.lifetime", "1y")], &[], ""),
        Err("--token-lifetime: \"1y\" is not a duration from 5m to 30d, such as 90m, 24h or 7d"
            .into())
    );
    assert_eq!(
        load(&[], &[], "log_format = \"xml\"\n"),
        Err("doorward.toml:1:1: log_format: \"xml\" is not auto, text or json".into())
    );
    assert_eq!(
        load(&[], &[], "\nlisten = [1]\n"),
        Err("doorward.toml:2:1: listen: \"a value of type array\" is not an address and a port, \
             such as 127.0.0.1:3000 or [::]:3000"
            .into())
    );
    for (name, value) in [
        ("designated.segment", "login"),
        ("designated.segment", "logout-everywhere"),
        ("session.lifetime", "59m"),
        ("session.lifetime", "91d"),
        ("designated.segment", "Miles"),
        ("designated.segment", ""),
        ("designated.name", "x"),
        ("password.min_length", "0"),
        ("password.max_length", "63"),
        ("password.memory_kib", "7167"),
        ("limits.body", "17MiB"),
        ("token.lifetime", "31d"),
        ("token.lifetime", "4m"),
        ("token.issuer", "a b"),
        ("token.publish_before_signing", "8d"),
        ("public_url", "auth.example.com"),
        ("public_url", "https://"),
        ("public_url", "https://auth.example.com/?x"),
        ("public_url", "https://me@auth.example.com"),
        ("clients", "shop"),
        ("log", "doorward=loud"),
    ] {
        assert!(load(&[(name, value)], &[], "").is_err(), "{name} = {value}");
    }
    assert!(load(&[("password.min_length", "129")], &[], "").is_err(), "min above max");
}

#[test]
fn a_file_that_is_not_toml_is_refused_with_line_and_column() {
    let error = load(&[], &[], "listen = \"x\"\nbody 5\n").unwrap_err();
    assert!(error.starts_with("doorward.toml:2:"), "{error}");
}

#[test]
fn a_text_without_quotes_is_refused_with_what_to_write() {
    for (line, column, name) in [
        ("listen = 127.0.0.1:3000", 10, "listen"),
        ("listen = localhost:3000 # here", 10, "listen"),
        ("token.lifetime  =  7d", 20, "token.lifetime"),
        ("log = info", 7, "log"),
        ("trusted_proxies = 10.0.0.0/8", 19, "trusted_proxies"),
    ] {
        let error = load(&[], &[], &format!("# a comment\n{line}\n")).unwrap_err();
        let place = format!("doorward.toml:2:{column}: {name}: ");
        assert_eq!(error, format!("{place}write the value in quotes: {name} = \"…\""));
    }
    let secret = load(&[], &[], "database_url = postgres://me:hunter2@db/x\n").unwrap_err();
    assert!(secret.contains("in quotes") && !secret.contains("hunter2"), "{secret}");
    let missing = load(&[], &[], "listen = # later\n").unwrap_err();
    assert_eq!(missing, "doorward.toml:1:10: listen: the value is missing");
    // Something else is wrong with these.
    for line in ["listen = \"127.0.0.1:3000", "clients = [\"a\"", "[token"] {
        let error = load(&[], &[], line).unwrap_err();
        assert!(!error.contains("in quotes") && !error.contains("missing"), "{error}");
    }
}

#[test]
fn a_setting_below_a_table_that_does_not_have_it_is_to_be_moved_up() {
    for (file, message) in [
        (
            "[token]\nlifetime = \"1h\"\nlisten = \"127.0.0.1:1\"\n",
            "doorward.toml:3:1: token.listen: unknown setting: listen is not in [token]: move it above the first [table]",
        ),
        (
            "[mail]\ntoken.lifetime = \"1h\"\n",
            "doorward.toml:2:7: mail.token.lifetime: unknown setting: token.lifetime is not in [mail]: move it above the first \
             [table], or write lifetime below [token]",
        ),
        (
            "[guards.staff]\nallow = \"true\"\npublic_url = \"https://auth.example.com\"\n",
            "doorward.toml:3:1: guards.staff.public_url: unknown setting: public_url is not of this table: move it above the \
             first [table]",
        ),
    ] {
        assert_eq!(load(&[], &[], file), Err(message.into()), "{file}");
    }
}

#[test]
fn a_public_url_ends_without_a_slash() {
    let url = |text| {
        let settings = load(&[("public_url", text)], &[], "").unwrap();
        settings.base_url(settings.listen)
    };
    assert_eq!(url("https://auth.example.com/"), "https://auth.example.com");
    assert_eq!(url("http://[::1]:3000/auth"), "http://[::1]:3000/auth");
    assert_eq!(url("auto"), "http://localhost:3000");
}

#[test]
fn a_wildcard_address_is_reached_through_loopback() {
    for (listen, reached) in [
        ("0.0.0.0:3000", "127.0.0.1:3000"),
        ("[::]:3000", "[::1]:3000"),
        ("192.0.2.7:80", "192.0.2.7:80"),
    ] {
        assert_eq!(super::reachable(listen.parse().unwrap()).to_string(), reached);
    }
}

#[test]
fn loopback_is_called_localhost_in_urls() {
    for (listen, expected) in [
        ("127.0.0.1:3000", "http://localhost:3000"),
        ("[::1]:3001", "http://localhost:3001"),
        ("0.0.0.0:80", "http://localhost:80"),
        ("[::]:3000", "http://localhost:3000"),
        ("127.0.0.2:3000", "http://127.0.0.2:3000"),
        ("192.0.2.7:3000", "http://192.0.2.7:3000"),
    ] {
        assert_eq!(Settings::default().base_url(listen.parse().unwrap()), expected);
    }
}

#[test]
fn a_service_that_others_reach_without_tls_is_exposed() {
    for (listen, url, proxies, exposed) in [
        ("127.0.0.1:3000", "auto", "127.0.0.0/8", false),
        ("[::1]:3000", "http://auth.example.com", "127.0.0.0/8", false),
        ("0.0.0.0:3000", "auto", "127.0.0.0/8 ::1", true),
        ("[::]:3000", "http://auth.example.com", "none", true),
        ("192.0.2.1:3000", "auto", "127.0.0.0/8", true),
        ("0.0.0.0:3000", "https://auth.example.com", "127.0.0.0/8", false),
        ("0.0.0.0:3000", "auto", "10.0.0.0/8", false),
    ] {
        let flags = [("listen", listen), ("public_url", url), ("trusted_proxies", proxies)];
        let settings = load(&flags, &[], "").unwrap();
        assert_eq!(settings.is_exposed_on(settings.listen.ip()), exposed, "{flags:?}");
    }
}

#[test]
fn localhost_is_an_address_to_listen_on() {
    let settings = load(&[("listen", "localhost:3001")], &[], "").unwrap();
    assert_eq!(settings.listen.to_string(), "127.0.0.1:3001");
    for bad in ["localhost", "localhost:", "localhost:65536", "example.com:80"] {
        assert!(load(&[("listen", bad)], &[], "").is_err(), "{bad}");
    }
}

#[test]
fn a_named_file_must_exist() {
    let sources = Sources { flags: vec![], file: Some("no/such.toml".into()), environment: vec![] };
    let error = Settings::from_sources(sources).unwrap_err().0;
    let path = std::path::absolute("no/such.toml").unwrap();
    assert!(error.starts_with(&format!("{}: ", path.display())), "{error}");
}

#[test]
fn a_secret_is_read_from_a_file_and_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("url");
    fs::write(&path, "sqlite:///srv/auth/users.db\n").unwrap();
    let path = path.to_str().unwrap();
    let settings = load(&[], &[("DOORWARD_DATABASE_URL_FILE", path)], "").unwrap();
    assert_eq!(settings.database, DatabaseUrl::Sqlite("/srv/auth/users.db".into()));
    assert_eq!(settings.folder(), Some(Path::new("/srv/auth")));

    let both = [("DOORWARD_DATABASE_URL_FILE", path), ("DOORWARD_DATABASE_URL", "sqlite://a.db")];
    assert!(load(&[], &both, "").unwrap_err().contains("set only one"));
    let error = load(&[], &[("DOORWARD_DATABASE_URL", "mysql://me:hunter2@db")], "").unwrap_err();
    assert!(!error.contains("hunter2"), "{error}");
    assert!(load(&[], &[("DOORWARD_LISTEN_FILE", path)], "").is_err(), "not a secret");
    let error = load(&[], &[], "clients = \"shop:hunter2\"\n").unwrap_err();
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn a_database_file_without_a_folder_is_in_the_current_one() {
    let url = DatabaseUrl::parse("sqlite://users.db").unwrap();
    let settings = Settings { database: url, ..Settings::default() };
    assert_eq!(settings.folder(), Some(Path::new(".")));
    for bad in ["", "sqlite:", "sqlite://", "sqlite://data/", "users.db", "sqlite://a.db?x=1"] {
        assert_eq!(DatabaseUrl::parse(bad), None, "{bad}");
    }
}

#[test]
fn every_bound_is_named_in_the_error_and_in_the_help() {
    for (name, allowed, help) in [
        ("token.lifetime", "a duration from 5m to 30d, such as 90m, 24h or 7d", "(5m to 30d)"),
        ("limits.body", "a size from 1KiB to 16MiB, such as 65536 or 64KiB", "(1KiB to 16MiB)"),
        ("password.threads", "a number from 1 to 256", "(1 to 256)"),
        ("token.algorithm", "ES256, EdDSA or RS256", "(ES256, EdDSA or RS256)"),
        ("password.refuse_common", "auto, true or false", "(auto, true or false)"),
        ("designated.name", "a name of 2 to 200 characters", "admits"),
        (
            "designated.segment",
            "1 to 64 of a-z, 0-9 and -, and not a route of the service under /api/auth/",
            "<segment>",
        ),
    ] {
        let wrong = load(&[(name, "")], &[], "");
        let flag = key(name).flag();
        assert_eq!(wrong, Err(format!("--{flag}: \"\" is not {allowed}")), "{name}");
        assert!(key(name).help().ends_with(help), "{}", key(name).help());
    }
}

#[test]
fn every_example_of_a_value_is_allowed() {
    for key in keys() {
        let allowed = key.value.allowed();
        let Some((_, examples)) = allowed.split_once(", such as ") else { continue };
        // The last example of a list may be followed by another alternative.
        let examples = examples.split([',', ' ']).filter(|word| !["", "or", "and"].contains(word));
        for example in examples.take_while(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
            assert!(load(&[(key.name, example)], &[], "").is_ok(), "{} = {example}", key.name);
        }
    }
}

#[test]
fn settings_that_an_app_builds_obey_the_same_bounds() {
    let settings = Settings::new()
        .with("database_url", "sqlite://shop.db")
        .with("token.lifetime", "1h")
        .with("password.min_length", 12)
        .with("password.max_length", 200)
        .with("trusted_proxies", "10.0.0.0/8")
        .with_toml("guards.reports.allow = \"'analyst' in user.roles\"");
    assert_eq!(settings.check(), Ok(()));
    let file = "database_url = \"sqlite://shop.db\"\ntrusted_proxies = [\"10.0.0.0/8\"]\n\
                token.lifetime = \"1h\"\npassword = { min_length = 12, max_length = 200 }\n\
                guards.reports.allow = \"'analyst' in user.roles\"\n";
    for key in keys() {
        let read = Settings::new().with_toml(file);
        assert_eq!(key.value(&settings), key.value(&read), "{}", key.name);
    }
    for (settings, message) in [
        (
            Settings::new().with("token.lifetime", "1m").with("limits.body", 1),
            "token.lifetime: \"1m\" is not a duration from 5m to 30d, such as 90m, 24h or 7d",
        ),
        (
            Settings::new().with("token.lifetme", "1h"),
            "token.lifetme: unknown setting: did you mean token.lifetime?",
        ),
        (
            Settings::new().with("password.min_length", "129"),
            "password.min_length: 129 is more than password.max_length, which is 128",
        ),
        (
            Settings::new().with("data_folder", "x"),
            "data_folder: \"x\" is set although the database is a SQLite file, whose folder is used: remove data_folder",
        ),
        (
            Settings::new().with_toml("guards.miles.allow = 'true'"),
            "guards.miles: /api/auth/miles is the designated route (designated.segment): choose another name",
        ),
        (
            Settings::new().with_toml("\nlisten = 1"),
            "settings:2:1: listen: \"1\" is not an address and a port, such as 127.0.0.1:3000 or [::]:3000",
        ),
    ] {
        assert_eq!(settings.check().unwrap_err().to_string(), message);
    }
}

#[cfg(not(feature = "postgres"))]
#[test]
fn without_postgresql_its_url_is_refused_with_the_name_of_the_feature() {
    let refused = load(&[("database_url", "postgres://db/doorward")], &[], "").unwrap_err();
    assert!(refused.contains("feature `postgres`"), "{refused}");
}

#[test]
fn the_page_of_settings_has_each_with_its_default_and_range() {
    let page = include_str!("../../docs/settings.md");
    let defaults = Settings::default();
    for key in keys() {
        let name = format!("`{}`", key.name);
        let is_row = |line: &&str| line.split('|').nth(1).is_some_and(|cell| cell.contains(&name));
        let row = page.lines().find(is_row).unwrap_or_else(|| panic!("{name} is missing"));
        if let Some(range) = key.value.bounds().filter(|bounds| bounds.contains(" to ")) {
            assert!(row.contains(&range), "{range}: {row}");
        }
        let depends_on_machine = key.name == "password.threads";
        for item in key.value(&defaults).split(' ').filter(|_| !depends_on_machine) {
            assert!(row.contains(item), "{item}: {row}");
        }
    }
}
