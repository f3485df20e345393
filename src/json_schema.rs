//! JSON Schemas of types that are one text in JSON. Those of structs and enums are derived.

/// Declares the schema of a type that is a text in JSON: what is known of it besides that. A type with a name is a component of the
/// API description, and any other stands where it is used.
macro_rules! text_schema {
    ($type:ident { $($rest:tt)* }) => {
        $crate::json_schema::text_schema!($type, stringify!($type), true, { $($rest)* });
    };
    ($type:ident as $name:literal { $($rest:tt)* }) => {
        $crate::json_schema::text_schema!($type, $name, false, { $($rest)* });
    };
    ($type:ident, $name:expr, $is_inline:literal, { $($rest:tt)* }) => {
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                $is_inline
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn schema_id() -> std::borrow::Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($type)).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", $($rest)* })
            }
        }
    };
}

pub(crate) use text_schema;
