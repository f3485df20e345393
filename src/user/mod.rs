//! A user and the parts of one: what makes each valid, and the message when it is not.

use std::{collections::BTreeSet, fmt};

use crate::{clock::Timestamp, credential::password::PasswordHash, fault::Fault, id::id};

/// Somebody who has registered: the whole record, for use inside the process only.
///
/// It has no way onto the wire: it does not implement `Serialize`, and answers are made of their own types.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// Never changes and is never given to anybody else.
    pub id: UserId,
    /// What the user is called; not unique.
    pub name: Name,
    /// The login identifier, unique without regard to letter case.
    pub email: Email,
    /// Whether somebody has confirmed that the address is the user's. Anybody can register any address, so that an unverified
    /// one is no reason to admit its user.
    pub email_verified: bool,
    /// None for a user who registered without a password and so cannot log in with one.
    pub password_hash: Option<PasswordHash>,
    /// Tells whether the password is still the one that somebody was seen to know.
    pub password_version: PasswordVersion,
    /// What the operator has made of the user, for policies to look at.
    pub roles: Roles,
    /// A disabled user has no sessions and cannot log in.
    pub disabled: bool,
    /// When the user registered.
    pub created_at: Timestamp,
    /// When this record last changed.
    pub updated_at: Timestamp,
    /// When the user last logged in; none since registration if never.
    pub last_login_at: Option<Timestamp>,
}

impl User {
    /// Somebody who registers now.
    pub fn new(
        name: Name,
        email: Email,
        password_hash: Option<PasswordHash>,
        now: Timestamp,
    ) -> Self {
        Self {
            id: UserId::random(),
            name,
            email,
            email_verified: false,
            password_hash,
            password_version: PasswordVersion::default(),
            roles: Roles::default(),
            disabled: false,
            created_at: now,
            updated_at: now,
            last_login_at: None,
        }
    }
}

id!(
    /// Identifies a user: random, so that it tells neither number nor time of registration.
    UserId
);

/// Counts the passwords that a user has had. The same one hashed anew is not another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PasswordVersion(i64);

impl PasswordVersion {
    pub(crate) fn from_store(stored: i64) -> Self {
        Self(stored)
    }

    /// The number, for the store.
    pub fn number(self) -> i64 {
        self.0
    }
}

/// What a user is called: trimmed, 2 to 200 characters, no control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    const MIN_CHARACTERS: usize = 2;
    const MAX_CHARACTERS: usize = 200;
    /// In UTF-8.
    pub(crate) const MAX_BYTES: usize = 4 * Self::MAX_CHARACTERS;

    /// Judges what somebody sent as their name.
    pub fn parse(sent: String) -> Result<Self, Fault> {
        let trimmed = sent.trim();
        let characters = trimmed.chars().count();
        if characters < Self::MIN_CHARACTERS {
            Err(Fault::too_short(Self::MIN_CHARACTERS))
        } else if characters > Self::MAX_CHARACTERS {
            Err(Fault::too_long(Self::MAX_CHARACTERS))
        } else if trimmed.chars().any(char::is_control) {
            Err(Fault::new("Invalid name"))
        } else {
            Ok(Self(trimmed.to_owned()))
        }
    }

    /// A name that was judged before it was stored.
    pub(crate) fn from_store(stored: String) -> Self {
        Self(stored)
    }

    /// The name as it was registered.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the two are the same when letter case is left aside.
    pub fn matches_ignoring_case(&self, other: &str) -> bool {
        fn lower(text: &str) -> impl Iterator<Item = char> {
            text.chars().flat_map(char::to_lowercase)
        }
        self.0 == other || lower(&self.0).eq(lower(other))
    }
}

/// An e-mail address, kept as it was sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Email(String);

impl Email {
    pub(crate) const MAX_BYTES: usize = 254;
    const MAX_LOCAL_BYTES: usize = 64;

    /// Judges what somebody sent as their address by zod's grammar and the bounds of RFC 5321.
    pub fn parse(sent: String) -> Result<Self, Fault> {
        if is_valid_email(&sent) { Ok(Self(sent)) } else { Err(Fault::new("Invalid email")) }
    }

    /// An address that was judged before it was stored.
    pub(crate) fn from_store(stored: String) -> Self {
        Self(stored)
    }

    /// The address as it was sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form under which the address is unique and is looked up.
    pub fn key(&self) -> EmailKey {
        EmailKey::of(&self.0)
    }
}

/// An address is personal data: it stays out of whatever prints a user.
impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Email(…)")
    }
}

/// The one normal form of an address, for the unique index, look-ups and throttling alike.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EmailKey(String);

impl EmailKey {
    /// The key of anything that somebody may type as their address; it need not be a valid one.
    pub fn of(typed: &str) -> Self {
        Self(typed.to_ascii_lowercase())
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for EmailKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmailKey(…)")
    }
}

/// The roles of a user, each once and in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles(BTreeSet<Role>);

impl Roles {
    /// Roles as the store kept them: separated by spaces.
    pub(crate) fn from_store(stored: &str) -> Self {
        Self(stored.split_whitespace().map(|role| Role(role.to_owned())).collect())
    }

    /// The roles separated by spaces.
    pub fn to_text(&self) -> String {
        let roles: Vec<_> = self.iter().collect();
        roles.join(" ")
    }

    /// Each role in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(Role::as_str)
    }

    /// Adds a role; false if it was there.
    pub fn grant(&mut self, role: Role) -> bool {
        self.0.insert(role)
    }

    /// Takes a role away; false if it was not there.
    pub fn revoke(&mut self, role: &Role) -> bool {
        self.0.remove(role)
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<T: IntoIterator<Item = Role>>(roles: T) -> Self {
        Self(roles.into_iter().collect())
    }
}

/// A word that policies may ask for: up to 64 letters, digits and `_ - : . /`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Role(String);

impl Role {
    /// Reads a role.
    pub fn parse(text: &str) -> Option<Self> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_-:./".contains(&b);
        let valid = (1..=64).contains(&text.len()) && text.bytes().all(allowed);
        valid.then(|| Self(text.to_owned()))
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_valid_email(address: &str) -> bool {
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let within_bounds = address.len() <= Email::MAX_BYTES && local.len() <= Email::MAX_LOCAL_BYTES;
    within_bounds && !address.contains("..") && is_valid_local(local) && is_valid_domain(domain)
}

fn is_valid_local(local: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_'+-.".contains(&b);
    !local.starts_with('.')
        && local.bytes().all(allowed)
        && local.bytes().last().is_some_and(|last| last != b'.' && last != b'\'')
}

fn is_valid_domain(domain: &str) -> bool {
    let Some((labels, top)) = domain.rsplit_once('.') else { return false };
    let valid_label = |label: &str| {
        label.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    labels.split('.').all(valid_label)
        && top.len() >= 2
        && top.bytes().all(|b| b.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(sent: &str) -> Result<String, String> {
        Name::parse(sent.to_owned()).map(|n| n.0).map_err(|fault| fault.message().to_owned())
    }

    #[test]
    fn a_name_of_one_character_is_refused() {
        let message = "String must contain at least 2 character(s)".to_owned();
        assert_eq!(name(""), Err(message.clone()));
        assert_eq!(name("x"), Err(message.clone()));
        assert_eq!(name("  x  "), Err(message.clone()));
        assert_eq!(name("😀"), Err(message));
    }

    #[test]
    fn a_name_is_trimmed_and_may_have_200_characters() {
        assert_eq!(name("  Miles Davis\n"), Ok("Miles Davis".into()));
        assert_eq!(name(&"é".repeat(200)), Ok("é".repeat(200)));
        assert_eq!(
            name(&"é".repeat(201)),
            Err("String must contain at most 200 character(s)".into())
        );
    }

    #[test]
    fn a_control_character_in_a_name_is_refused() {
        for bad in ["a\u{0}b", "a\nb", "a\u{1b}[31mb", "a\u{85}b"] {
            assert_eq!(name(bad), Err("Invalid name".into()), "{bad:?}");
        }
    }

    #[test]
    fn names_match_whatever_their_letter_case() {
        let miles = Name::parse("MILES davis".into()).unwrap();
        assert!(miles.matches_ignoring_case("Miles Davis"));
        assert!(!miles.matches_ignoring_case("Miles Davi"));
        assert!(Name::parse("ÉLODIE Ünal".into()).unwrap().matches_ignoring_case("élodie ünal"));
    }

    #[test]
    fn e_mail_addresses_are_judged_as_zod_3_23_judges_them() {
        let accepted = [
            "a@b.co",
            "o'brien@x.com",
            "a+b@x.com",
            "a@xn--e1afmkfd.com",
            "a@1.2.3.4.com",
            "A@B.CO",
            "a_b-c@x-y.org",
            "a@example-.com",
            "a+tag@b.co.uk",
            "'a@x.com",
            "-@x.com",
        ];
        let refused = [
            "",
            "a",
            "@",
            "a@",
            "@x.com",
            "a@b",
            "a@b.c",
            "a@localhost",
            "a@127.0.0.1",
            "a@[127.0.0.1]",
            "a@example.c0m",
            "a@example.xn--p1ai",
            "john..doe@x.com",
            ".john@x.com",
            "john.@x.com",
            "a&b@x.com",
            "a!b@x.com",
            "a#b@x.com",
            "a/b@x.com",
            "a=b@x.com",
            "a{b}@x.com",
            "a~b@x.com",
            "a%b@x.com",
            "a*b@x.com",
            "o'@x.com",
            "\"a b\"@x.com",
            "ü@x.com",
            "a@müller.de",
            "a@ex_ample.com",
            "Joe <a@x.com>",
            " a@x.com",
            "a@x.com ",
            "a@x.com\n",
            "a@@x.com",
            "a@b@x.com",
            "a@x..com",
            "a@x.com.",
            "a@-b.co",
            "a@.co",
            "a,b@x.com",
            "a\u{0}@x.com",
        ];
        for address in accepted {
            assert!(is_valid_email(address), "{address:?} should be accepted");
        }
        for address in refused {
            assert!(!is_valid_email(address), "{address:?} should be refused");
        }
    }

    #[test]
    fn e_mail_addresses_keep_the_bounds_of_rfc_5321() {
        let of_lengths = |local: usize, total: usize| {
            format!("{}@{}.com", "l".repeat(local), "d".repeat(total - local - 5))
        };
        assert!(is_valid_email(&of_lengths(64, 254)));
        assert!(!is_valid_email(&of_lengths(65, 254)));
        assert!(!is_valid_email(&of_lengths(64, 255)));
    }

    #[test]
    fn printing_a_user_shows_no_address_and_no_hash() {
        let hash = PasswordHash::from_store("$argon2id$secret".into());
        let (name, email) = (Name("Ada".into()), Email("ada@example.com".into()));
        let user = User::new(name, email, Some(hash), Timestamp::from_millis(0));
        let printed = format!("{user:?}");
        assert!(!printed.contains("example.com") && !printed.contains("argon2"), "{printed}");
    }

    #[test]
    fn roles_are_kept_once_and_in_order() {
        let role = |text| Role::parse(text).unwrap();
        let mut roles = Roles::default();
        assert!(roles.grant(role("staff")) && roles.grant(role("admin")));
        assert!(!roles.grant(role("staff")));
        assert_eq!(roles.to_text(), "admin staff");
        assert_eq!(Roles::from_store("admin staff"), roles);
        assert!(roles.revoke(&role("admin")) && !roles.revoke(&role("admin")));
        assert_eq!(roles.to_text(), "staff");
        for bad in ["", "two words", "ü", &"x".repeat(65)] {
            assert_eq!(Role::parse(bad), None, "{bad}");
        }
    }
}
