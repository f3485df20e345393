//! How a person has proved who they are.

use std::collections::BTreeSet;

/// A way to prove who one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Method {
    /// The password.
    Password,
    /// A code, a link or an invitation that was mailed to the address.
    MailedCode,
}

impl Method {
    const ALL: [Self; 2] = [Self::Password, Self::MailedCode];

    /// Its name by RFC 8176, in the claim `amr` and in the store. A mailed code is a one-time password.
    pub fn name(self) -> &'static str {
        match self {
            Self::Password => "pwd",
            Self::MailedCode => "otp",
        }
    }
}

/// The ways in which a person has proved who they are, each at most once. There is none if they have registered without a
/// password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Methods(BTreeSet<Method>);

impl Methods {
    /// Stored methods, separated by spaces. A later version may have stored others, which are left out.
    pub(crate) fn from_store(stored: &str) -> Self {
        let by_name = |name| Method::ALL.into_iter().find(|method| method.name() == name);
        stored.split_whitespace().filter_map(by_name).collect()
    }

    /// The names of the methods separated by spaces.
    pub fn to_text(&self) -> String {
        self.names().join(" ")
    }

    /// The names of the methods.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|method| method.name()).collect()
    }

    /// Whether this is one of them.
    pub fn contains(&self, method: Method) -> bool {
        self.0.contains(&method)
    }
}

impl From<Method> for Methods {
    fn from(method: Method) -> Self {
        Self([method].into())
    }
}

impl FromIterator<Method> for Methods {
    fn from_iter<T: IntoIterator<Item = Method>>(methods: T) -> Self {
        Self(methods.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_read_as_they_were_stored() {
        let all: Methods = Method::ALL.into_iter().collect();
        assert_eq!(all.to_text(), "pwd otp");
        assert_eq!(Methods::from_store(&all.to_text()), all);
        assert_eq!(Methods::from_store(" telepathy pwd"), Method::Password.into());
        assert_eq!(Methods::from_store(""), Methods::default());
    }
}
