//! Published vectors of each scheme, and hashes that are refused.

use std::sync::Arc;

use super::*;

fn options() -> HashOptions {
    HashOptions { scrypt: Some(ScryptCost { n: 16384, r: 16, p: 1 }), ..HashOptions::default() }
}

fn imported(text: &str) -> PasswordHash {
    PasswordHash::import(text, &options()).unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

fn matches(stored: &str, password: &str) -> bool {
    let hash = ForeignHash::parse(stored).unwrap();
    hash.matches(&Password::unchecked(password.into()), &mut Backend::default()).unwrap()
}

/// Each with its password and the form in which it is stored.
const VECTORS: &[(&str, &str, &str)] = &[
    // jBCrypt, and PHP's variant of the same hash.
    (
        "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe",
        "a",
        "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe",
    ),
    (
        "$2y$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe",
        "a",
        "$2y$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe",
    ),
    (
        "bcrypt$$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe",
        "a",
        "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe",
    ),
    // The README of Firebase's own implementation.
    (
        "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
        "user1password",
        "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
    ),
    // ASP.NET Core's own tests: version 2, and version 3 with SHA-1, SHA-256 and SHA-512.
    (
        "AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggHIVY0sdEUfdyeM+E1LtH1uJg==",
        "my password",
        "$pbkdf2-sha1$i=1000,l=32$AAECAwQFBgcICQoLDA0ODw$rpAhDA39MskNvTWLm4IByFWNLHRFH3cnjPhNS7R9biY",
    ),
    (
        "AQAAAAAAAAD6AAAAEAhftMyfTJylOlZT+eEotFXd1elee8ih5WsjXaR3PA9M",
        "my password",
        "$pbkdf2-sha1$i=250,l=16$CF+0zJ9MnKU6VlP54Si0VQ$3dXpXnvIoeVrI12kdzwPTA",
    ),
    (
        "AQAAAAIAAAAyAAAAEOMwvh3+FZxqkdMBz2ekgGhwQ4B6pZWND6zgESBuWiHw",
        "my password",
        "$pbkdf2-sha512$i=50,l=16$4zC+Hf4VnGqR0wHPZ6SAaA$cEOAeqWVjQ+s4BEgbloh8A",
    ),
    (
        "AQAAAAEAA9CQAAAAIESkQuj2Du8Y+kbc5lcN/W/3NiAZFEm11P27nrSN5/tId+bR1SwV8CO1Jd72r4C08OLvplNlCDc3oQZ8efcW+jQ=",
        "my password",
        "$pbkdf2-sha256$i=250000,l=32$RKRC6PYO7xj6RtzmVw39b/c2IBkUSbXU/buetI3n+0g$d+bR1SwV8CO1Jd72r4C08OLvplNlCDc3oQZ8efcW+jQ",
    ),
    // The documentation of passlib.
    (
        "$bcrypt-sha256$v=2,t=2b,r=12$n79VH.0Q2TMWmt3Oqt9uku$Kq4Noyk3094Y2QlB8NdRT8SvGiI4ft2",
        "password",
        "$bcrypt-sha256$v=2,t=2b,r=12$n79VH.0Q2TMWmt3Oqt9uku$Kq4Noyk3094Y2QlB8NdRT8SvGiI4ft2",
    ),
    // Made with Python's hashlib.
    (
        "scrypt$1024$saltsalt$8$2$pgTH35FeNNXwG5ureqpnYYJY0IcDBi+8uqpoevyM6R0p5y0FtO7u9wFlWZoW9aIR04Ew38ZtIoH1F3i/a+EqlQ==",
        "correct horse",
        "$scrypt$ln=10,r=8,p=2$c2FsdHNhbHQ$pgTH35FeNNXwG5ureqpnYYJY0IcDBi+8uqpoevyM6R0p5y0FtO7u9wFlWZoW9aIR04Ew38ZtIoH1F3i/a+EqlQ",
    ),
    (
        "scrypt:1024:8:2$saltsalt$a604c7df915e34d5f01b9bab7aaa67618258d08703062fbcbaaa687afc8ce91d29e72d05b4eeeef70165599a16f5a211d38130dfc66d2281f51778bf6be12a95",
        "correct horse",
        "$scrypt$ln=10,r=8,p=2$c2FsdHNhbHQ$pgTH35FeNNXwG5ureqpnYYJY0IcDBi+8uqpoevyM6R0p5y0FtO7u9wFlWZoW9aIR04Ew38ZtIoH1F3i/a+EqlQ",
    ),
    (
        "pbkdf2_sha256$1000$saltsalt$qQDPSZa3Ormyy9oK1Pu0ZLLwP2Svzmx3yu8OvDdq/J0=",
        "correct horse",
        "$pbkdf2-sha256$i=1000,l=32$c2FsdHNhbHQ$qQDPSZa3Ormyy9oK1Pu0ZLLwP2Svzmx3yu8OvDdq/J0",
    ),
    (
        "pbkdf2:sha256:1000$saltsalt$a900cf4996b73ab9b2cbda0ad4fbb464b2f03f64afce6c77caef0ebc376afc9d",
        "correct horse",
        "$pbkdf2-sha256$i=1000,l=32$c2FsdHNhbHQ$qQDPSZa3Ormyy9oK1Pu0ZLLwP2Svzmx3yu8OvDdq/J0",
    ),
];

#[test]
fn published_vectors_are_verified_in_the_form_in_which_they_are_stored() {
    for (text, password, stored) in VECTORS {
        assert_eq!(imported(text).as_phc(), *stored);
        assert!(matches(stored, password), "{text}");
        for wrong in ["", "my passwore", &format!("{password} ")] {
            assert!(!matches(stored, wrong), "{text}");
        }
        // What is exported can be imported again.
        assert_eq!(imported(stored).as_phc(), *stored);
    }
}

const BCRYPT: &str = "m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe";

#[test]
fn a_hash_that_costs_too_much_is_refused() {
    let hash = "c2FsdHNhbHQ$pgTH35FeNNXwG5ureqpnYYJY0IcDBi+8uqpoevyM6R0";
    for text in [
        format!("$2b$15${BCRYPT}"),
        format!("$scrypt$ln=18,r=8,p=1${hash}"),
        format!("$scrypt$ln=14,r=8,p=17${hash}"),
        format!("$scrypt$ln=17,r=8,p=3${hash}"),
        format!("$pbkdf2-sha256$i=2000001${hash}"),
        format!("$argon2id$v=19$m=131073,t=1,p=1${hash}"),
        format!("$argon2id$v=19$m=65536,t=17,p=1${hash}"),
        format!(
            "$fbscrypt$v=1,n=18,r=8,p=1,ss=Bw==,sk=pgTH35FeNNXwG5ureqpnYYJY0IcDBi+8uqpoevyM6R0=${hash}"
        ),
    ] {
        let refused = PasswordHash::import(&text, &options());
        assert!(matches!(refused, Err(HashFault::TooCostly(_))), "{text}: {refused:?}");
    }
    for text in [
        format!("$2b$14${BCRYPT}"),
        format!("$scrypt$ln=17,r=8,p=1${hash}").replace("ln=17,r=8", "ln=16,r=8"),
        format!("$pbkdf2-sha256$i=2000000${hash}"),
        format!("$argon2id$v=19$m=102400,t=2,p=8${hash}"),
        format!("$argon2d$m=102400,t=2,p=8${hash}"),
    ] {
        imported(&text);
    }
    // The operator has chosen the cost of our own hashes.
    let own_cost = Cost { memory_kib: 262_144, passes: 2 };
    let text = format!("$argon2id$v=19$m=262144,t=2,p=1${hash}");
    assert!(PasswordHash::import(&text, &HashOptions { own_cost, scrypt: None }).is_ok());
}

#[test]
fn a_damaged_or_weak_hash_is_refused_without_showing_it() {
    for text in [
        "",
        "plain text",
        "$",
        "$2b$",
        "$2b$10$",
        "$2b$10$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfx",
        "$2b$+9$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe",
        "$2b$03$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe",
        "$2b$10$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfx\u{fc}",
        "$2x$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe",
        "$scrypt$ln=0,r=8,p=1$c2FsdA$pgTH35FeNNXwG5ureqpnYYJY0IcDBi+8uqpoevyM6R0",
        "$scrypt$ln=63,r=8,p=1$c2FsdA$pgTH35FeNNXwG5ureqpnYYJY0IcDBi+8uqpoevyM6R0",
        "$scrypt$ln=14,r=4294967295,p=4294967295$c2FsdA$pgTH35FeNNXwG5ureqpnYYJY0IcDBi+8uqpoevyM6R0",
        "$scrypt$ln=14,r=8,p=1$c2FsdA$cGg",
        "$pbkdf2-sha256$i=0$c2FsdA$pgTH35FeNNXwG5ureqpnYYJY0IcDBi+8uqpoevyM6R0",
        "$pbkdf2-sha256$i=1000,l=16$c2FsdA$pgTH35FeNNXwG5ureqpnYYJY0IcDBi+8uqpoevyM6R0",
        "$argon2id$v=19$m=1,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2g",
        "AQAAAAIAAAAyAAAAEOMwvh3",
        "AQAAAAkAAAAyAAAAEOMwvh3+FZxqkdMBz2ekgGhwQ4B6pZWND6zgESBuWiHw",
        "AQAAAAIAAAAy/////+MwvhF+FZxqkdMBz2ekgGhwQ4B6pZWND6zgESBuWiHw",
        "md5$salt$5f4dcc3b5aa765d61d8327deb882cf99",
        "scrypt$1000$salt$8$1$pgTH35FeNNXwG5ureqpnYYJY0IcDBi+8uqpoevyM6R0",
        "xyz:123",
    ] {
        let fault = PasswordHash::import(text, &options()).expect_err(text);
        assert!(text.len() < 8 || !fault.to_string().contains(text), "{fault}");
    }
    let bare = "c2a1:a604c7df915e34d5f01b9bab7aaa67618258d08703062fbcbaaa687afc8ce91d";
    let fault = PasswordHash::import(bare, &HashOptions::default()).unwrap_err();
    assert_eq!(fault.to_string(), "it needs --scrypt N,R,P");
    imported(bare);
}

#[test]
fn bcrypt_ignores_what_follows_72_bytes() {
    let long = "0123456789".repeat(8);
    // Made by the crate itself, whose vectors are those of jBCrypt.
    let mut key = [0; 72];
    key.copy_from_slice(&long.as_bytes()[..72]);
    let salt = [7; 16];
    let output = ::bcrypt::bcrypt(4, salt, &key);
    let stored = format!("$django-bcrypt-sha256$r=4${}${}", encode(&salt), encode(&output[..23]));
    let ForeignHash::Bcrypt(mut hash) = ForeignHash::parse(&stored).unwrap() else { panic!() };
    hash.ignore_first_hash();
    assert!(hash.matches(long.as_bytes()) && hash.matches(&long.as_bytes()[..72]));
    assert!(!hash.matches(&long.as_bytes()[..71]));
}

#[test]
fn the_prefix_of_a_hash_is_its_scheme_and_cost() {
    for (hash, prefix) in [
        (format!("$2b$10${BCRYPT}"), Some("$2b$10$")),
        ("$scrypt$ln=14,r=8,p=1$c2FsdA$aGFzaA".into(), Some("$scrypt$ln=14,r=8,p=1$")),
        (
            "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA".into(),
            Some("$argon2id$v=19$m=65536,t=3,p=4$"),
        ),
        ("$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA".into(), None),
        ("".into(), None),
        ("garbage".into(), None),
        ("$garbage".into(), None),
    ] {
        assert_eq!(PasswordHash::from_store(hash).foreign_prefix(), prefix);
    }
}

#[test]
fn every_scheme_has_a_decoy_and_the_slowest_is_used() {
    for (_, _, stored) in VECTORS {
        let prefix = imported(stored).foreign_prefix().unwrap().to_owned();
        assert_eq!(Decoy::slowest_of_each_scheme(&[prefix]).len(), 1, "{stored}");
    }
    let prefixes = [
        "$django-bcrypt-sha256$r=9$",
        "$2b$12$",
        "$bcrypt-sha256$v=2,t=2b,r=9$",
        "$pbkdf2-sha512$i=210000,l=64$",
        "$argon2i$v=16$m=65536,t=3,p=4$",
    ]
    .map(str::to_owned);
    let decoys: Vec<_> =
        Decoy::slowest_of_each_scheme(&prefixes).into_iter().map(Arc::new).collect();
    assert_eq!(decoys.len(), prefixes.len());
    assert_eq!(slowest(&decoys).unwrap().prefix(), "$2b$12$");
}
