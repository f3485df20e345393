//! Ids: random UUIDs, with a type for each kind.

use uuid::Uuid;

/// The text is not a UUID with hyphens, which has 36 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a UUID")]
pub struct NotAnId;

/// Accepts only the form with hyphens: no braces, URNs or bare hexadecimal digits.
pub(crate) fn parse_hyphenated(text: &str) -> Result<Uuid, NotAnId> {
    if text.len() == 36 { Uuid::try_parse(text).map_err(|_| NotAnId) } else { Err(NotAnId) }
}

/// A kind of id, as [`id!`] declares it. The store reads and writes all of them alike.
pub(crate) trait Id: Copy {
    fn uuid(self) -> Uuid;
    fn from_uuid(id: Uuid) -> Self;
}

/// Declares a kind of id.
macro_rules! id {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(uuid::Uuid);

        impl $name {
            /// A new random id.
            pub fn random() -> Self {
                Self(uuid::Uuid::new_v4())
            }
        }

        impl $crate::id::Id for $name {
            fn uuid(self) -> uuid::Uuid {
                self.0
            }

            fn from_uuid(id: uuid::Uuid) -> Self {
                Self(id)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        $crate::json_schema::text_schema!($name { "format": "uuid" });

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::id::NotAnId;

            fn from_str(text: &str) -> Result<Self, $crate::id::NotAnId> {
                $crate::id::parse_hyphenated(text).map(Self)
            }
        }
    };
}

pub(crate) use id;

#[cfg(test)]
mod tests {
    use super::{Id, NotAnId};

    id!(
        /// Of something.
        SomeId
    );

    #[test]
    fn an_id_is_parsed_only_in_its_form_with_hyphens() {
        let id = SomeId::random();
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.to_string().to_uppercase().parse(), Ok(id));
        assert_eq!(SomeId::from_uuid(id.uuid()), id);
        assert_eq!(serde_json::from_value::<SomeId>(id.to_string().into()).unwrap(), id);
        for other in
            [format!("{{{id}}}"), format!("urn:uuid:{id}"), id.to_string().replace('-', "")]
        {
            assert_eq!(other.parse::<SomeId>(), Err(NotAnId), "{other}");
        }
    }
}
