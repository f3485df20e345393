//! The body of a request, JSON or the form of a page, parsed field by field, so that one answer lists every fault. `declared.rs`
//! has forms whose fields are stated once, and `field.rs` the types of their fields.

mod declared;
mod field;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt, mem,
    time::Duration,
};

use axum::{
    extract::{FromRef, FromRequest, Request},
    http::{HeaderMap, header},
};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use percent_encoding::percent_decode;
use serde::{
    Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::Value;
use zeroize::{Zeroize, Zeroizing};

pub(super) use self::{
    declared::{
        CurrentPassword, Flattened, FormField, FormPart, JsonForm, ObjectSchema, Others, form,
    },
    field::{CheckedLater, FieldType, FormContext, Json, NewPassword, flag, json, text, uuid},
};
use super::error::Error;
use crate::{
    Doorward,
    credential::password::Password,
    fault::{Fault, json_type},
    spelling::{is_misspelling, suggest},
    user::User,
};

/// The fields of a JSON object or of the form of a page, and the faults of those checked so far.
pub(super) struct Form {
    /// By name, so that the order in the body does not matter.
    fields: BTreeMap<String, Value>,
    /// Fields that a handler has read and the body lacks.
    missing: Vec<&'static str>,
    /// Fields that a handler has read and the body has.
    found: Vec<&'static str>,
    faults: Vec<(Cow<'static, str>, Fault)>,
}

/// The most fields of a form, and the most values in a JSON body, nested ones included. Each costs memory and time before any
/// handler looks at it.
pub(super) const MAX_FIELDS: usize = 100;

/// A field is not valid, and the form has recorded the fault.
pub(super) struct FaultRecorded;

impl Form {
    /// The fields of a query.
    pub(super) fn of_query(query: &str) -> Result<Self, Error> {
        let invalid = |fault| Error::Invalid(vec![("query".into(), fault)]);
        if has_too_many(query.split('&')) {
            return Err(invalid(Fault::TOO_MANY_FIELDS));
        }
        parse_page_form(query.as_bytes()).ok_or_else(|| invalid(Fault::INVALID_QUERY))
    }

    fn of_fields(fields: BTreeMap<String, Value>) -> Self {
        Self { fields, missing: Vec::new(), found: Vec::new(), faults: Vec::new() }
    }

    /// A field that must be present.
    pub(super) fn required<T>(
        &mut self,
        field: &'static str,
        parse: impl FnOnce(String) -> Result<T, Fault>,
    ) -> Result<T, FaultRecorded> {
        match self.optional(field, parse)? {
            Some(value) => Ok(value),
            None => self.record(field, Fault::REQUIRED),
        }
    }

    /// A field that may be absent.
    pub(super) fn optional<T>(
        &mut self,
        field: &'static str,
        parse: impl FnOnce(String) -> Result<T, Fault>,
    ) -> Result<Option<T>, FaultRecorded> {
        self.parsed(field, |sent| parse(text(sent)?))
    }

    /// A field of any JSON type that may be absent.
    pub(super) fn parsed<T>(
        &mut self,
        field: &'static str,
        parse: impl FnOnce(Value) -> Result<T, Fault>,
    ) -> Result<Option<T>, FaultRecorded> {
        match self.fields.remove(field) {
            None => {
                self.missing.push(field);
                Ok(None)
            }
            Some(sent) => {
                self.found.push(field);
                parse(sent).map(Some).or_else(|fault| self.record(field, fault))
            }
        }
    }

    /// The fields of a declared form, or an error with every fault.
    pub(super) fn read<'a, T: FormPart>(
        mut self,
        context: impl Into<FormContext<'a>>,
    ) -> Result<T, Error> {
        let fields = self.fields(context);
        let others = match T::OTHERS {
            Others::Ignored => Ok(()),
            Others::Misspelled => self.reject_misspelled(),
            Others::Refused => self.reject_unknown(),
        };
        match (fields, others) {
            (Ok(fields), Ok(())) => Ok(fields),
            _ => Err(self.into_error()),
        }
    }

    /// The fields of a declared form, for a page that has others as well.
    pub(super) fn fields<'a, T: FormPart>(
        &mut self,
        context: impl Into<FormContext<'a>>,
    ) -> Result<T, FaultRecorded> {
        T::read(self, context.into())
    }

    /// All fields, unchecked.
    #[cfg(feature = "cli")]
    pub(super) fn into_fields(mut self) -> BTreeMap<String, Value> {
        mem::take(&mut self.fields)
    }

    /// Records a fault for each unknown field that is a misspelling of a missing one. Other unknown fields are ignored.
    /// Call it after all fields have been checked.
    pub(super) fn reject_misspelled(&mut self) -> Result<(), FaultRecorded> {
        // These limit the cost of a hostile body, and how much of it the answer repeats.
        const MAX_COMPARED: usize = 64;
        const MAX_BYTES: usize = 32;
        let candidates = self.fields.keys().filter(|key| key.len() <= MAX_BYTES);
        let misspelled = candidates.take(MAX_COMPARED).filter_map(|key| {
            let meant = self.missing.iter().find(|field| is_misspelling(key, field))?;
            Some((key.clone().into(), Fault::did_you_mean(meant)))
        });
        let known = self.faults.len();
        self.faults.extend(misspelled);
        if self.faults.len() == known { Ok(()) } else { Err(FaultRecorded) }
    }

    /// As [`Self::reject_misspelled`], and records a fault for each other unknown field as well. For what narrows rights: a restriction
    /// that is written in another word must not be ignored.
    pub(super) fn reject_unknown(&mut self) -> Result<(), FaultRecorded> {
        const MAX_NAMED: usize = 8;
        self.reject_misspelled()?;
        let known: Vec<_> = self.missing.iter().chain(&self.found).copied().collect();
        let unknown = self.fields.keys().take(MAX_NAMED).map(|key| {
            let fault = match suggest(key, known.iter().copied()) {
                Some(meant) => Fault::did_you_mean(meant),
                None => Fault::unknown_field(&known),
            };
            (named(key), fault)
        });
        self.faults.extend(unknown.collect::<Vec<_>>());
        if self.fields.is_empty() { Ok(()) } else { Err(FaultRecorded) }
    }

    /// The field with the user's current password. A user without a password may omit it.
    pub(super) fn current_password(
        &mut self,
        field: &'static str,
        user: &User,
    ) -> Result<Option<Password>, FaultRecorded> {
        let parse = |sent| Ok(Password::unchecked(sent));
        match user.password_hash {
            Some(_) => self.required(field, parse).map(Some),
            None => self.optional(field, parse),
        }
    }

    /// A field as it was typed, to show it again. Not for passwords.
    pub(super) fn typed(&self, field: &str) -> String {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// The error with every recorded fault.
    pub(super) fn into_error(self) -> Error {
        Error::Invalid(self.into_faults())
    }

    /// Every recorded fault, by field.
    pub(super) fn into_faults(mut self) -> Vec<(Cow<'static, str>, Fault)> {
        mem::take(&mut self.faults)
    }

    pub(super) fn record<T>(
        &mut self,
        field: &'static str,
        fault: Fault,
    ) -> Result<T, FaultRecorded> {
        self.faults.push((field.into(), fault));
        Err(FaultRecorded)
    }
}

/// Wipes the fields that no handler has read: one of them may be a password.
impl Drop for Form {
    fn drop(&mut self) {
        for value in self.fields.values_mut() {
            if let Value::String(text) = value {
                text.zeroize();
            }
        }
    }
}

impl<S: Send + Sync> FromRequest<S> for Form
where
    Doorward: FromRef<S>,
{
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        let (headers, bytes) = read_request(request, state).await?;
        let fields = parse(&bytes, &headers)?;
        Ok(Self::of_fields(fields))
    }
}

/// The form of a page, as browsers send it. A field that was left empty is missing.
pub(super) struct PageForm(pub(super) Form);

impl<S: Send + Sync> FromRequest<S> for PageForm
where
    Doorward: FromRef<S>,
{
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        let (headers, bytes) = read_request(request, state).await?;
        if !bytes.is_empty() && !is_type(&headers, "application/x-www-form-urlencoded") {
            return Err(Error::NotAForm);
        }
        if has_too_many(bytes.split(|b| *b == b'&')) {
            return Err(too_many_fields());
        }
        parse_page_form(&bytes).map(Self).ok_or(Error::Malformed)
    }
}

/// The fields of a form; `None` if one is not UTF-8 or is repeated.
fn parse_page_form(bytes: &[u8]) -> Option<Form> {
    let mut form = Form::of_fields(BTreeMap::new());
    for pair in bytes.split(|b| *b == b'&').filter(|pair| !pair.is_empty()) {
        let mut halves = pair.splitn(2, |b| *b == b'=');
        let (name, value) = (decode(halves.next()?)?, halves.next().unwrap_or_default());
        if form.fields.contains_key(&name) {
            return None;
        }
        let value = decode(value)?;
        if !value.is_empty() {
            form.fields.insert(name, Value::String(value));
        }
    }
    Some(form)
}

/// Decodes a name or a value. `form_urlencoded` would leave an unwiped copy of a password behind.
fn decode(encoded: &[u8]) -> Option<String> {
    let mut decoded = Zeroizing::new(Vec::with_capacity(encoded.len()));
    for (index, part) in encoded.split(|b| *b == b'+').enumerate() {
        if index > 0 {
            decoded.push(b' ');
        }
        decoded.extend(percent_decode(part));
    }
    str::from_utf8(&decoded).ok()?;
    String::from_utf8(mem::take(&mut *decoded)).ok()
}

/// The headers and the whole body of a request.
async fn read_request<S>(
    request: Request,
    state: &S,
) -> Result<(HeaderMap, Zeroizing<Vec<u8>>), Error>
where
    Doorward: FromRef<S>,
{
    let limit = Doorward::from_ref(state).settings().body_limit;
    let (head, body) = request.into_parts();
    let bytes = read(body, &head.headers, limit).await?;
    Ok((head.headers, bytes))
}

/// Reads the body of a request into memory that is wiped.
pub(super) async fn with_whole_body<S>(request: Request, state: &S) -> Result<Request, Error>
where
    Doorward: FromRef<S>,
{
    let limit = Doorward::from_ref(state).settings().body_limit;
    let (head, body) = request.into_parts();
    let bytes = read(body, &head.headers, limit).await?;
    Ok(Request::from_parts(head, Bytes::from_owner(bytes).into()))
}

/// Time for a whole body to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads a whole body into memory that is wiped when it is dropped, because most bodies contain a password.
pub(super) async fn read(
    body: axum::body::Body,
    headers: &HeaderMap,
    limit: usize,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok());
    if declared.is_some_and(|length: u64| length > limit as u64) {
        return Err(Error::TooLarge);
    }
    let mut body = Limited::new(body, limit);
    let whole = async {
        let mut bytes = Zeroizing::new(Vec::new());
        while let Some(frame) = body.frame().await {
            // Each frame is dropped at once, because the server can wipe its buffer only while it is not shared. A buffer
            // that the server has released is wiped here.
            if let Ok(data) = frame?.into_data() {
                append(&mut bytes, &data);
                if let Ok(mut data) = data.try_into_mut() {
                    data.zeroize();
                }
            }
        }
        Ok::<_, axum::BoxError>(bytes)
    };
    match tokio::time::timeout(BODY_TIMEOUT, whole).await {
        Err(_) => Err(Error::TooSlow),
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Error::TooLarge),
        // The client disconnected, or its chunks are malformed.
        Ok(Err(_)) => Err(invalid_json()),
    }
}

/// Like `extend_from_slice`, which leaves an unwiped copy behind when it reallocates.
fn append(bytes: &mut Zeroizing<Vec<u8>>, data: &[u8]) {
    if bytes.capacity() - bytes.len() < data.len() {
        let mut larger = Zeroizing::new(Vec::with_capacity(2 * bytes.len() + data.len()));
        larger.extend_from_slice(bytes);
        *bytes = larger;
    }
    bytes.extend_from_slice(data);
}

fn parse(bytes: &[u8], headers: &HeaderMap) -> Result<BTreeMap<String, Value>, Error> {
    if bytes.is_empty() {
        return Ok(BTreeMap::new());
    }
    if !is_type(headers, "application/json") {
        return Err(Error::NotJson);
    }
    if has_too_many(json_values(bytes)) {
        return Err(too_many_fields());
    }
    if let Some(key) = repeated_key(bytes) {
        return Err(Error::Invalid(vec![(named(&key), Fault::REPEATED)]));
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(fields)) => Ok(fields.into_iter().collect()),
        Ok(other) => Err(Error::Invalid(vec![(
            "body".into(),
            Fault::wrong_type("object", json_type(&other)),
        )])),
        Err(_) => Err(invalid_json()),
    }
}

/// The start of a key that somebody has chosen.
fn named(key: &str) -> Cow<'static, str> {
    const MAX_CHARACTERS: usize = 64;
    key.chars().take(MAX_CHARACTERS).collect::<String>().into()
}

/// A key that an object has twice. Whoever reads the body on its way may see the other value.
fn repeated_key(json: &[u8]) -> Option<String> {
    struct Keys;

    impl<'de> Visitor<'de> for Keys {
        type Value = Option<String>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<String>, A::Error> {
            let (mut keys, mut repeated) = (BTreeSet::new(), None);
            while let Some((key, IgnoredAny)) = map.next_entry::<String, _>()? {
                if let Some(twice) = keys.replace(key) {
                    repeated.get_or_insert(twice);
                }
            }
            Ok(repeated)
        }
    }

    serde_json::Deserializer::from_slice(json).deserialize_map(Keys).ok().flatten()
}

fn has_too_many<T>(mut fields: impl Iterator<Item = T>) -> bool {
    fields.nth(MAX_FIELDS).is_some()
}

fn too_many_fields() -> Error {
    Error::Invalid(vec![("body".into(), Fault::TOO_MANY_FIELDS)])
}

/// One item for each value in JSON: commas outside of texts separate them.
fn json_values(bytes: &[u8]) -> impl Iterator<Item = ()> {
    let (mut in_text, mut is_escaped) = (false, false);
    let is_comma = move |b: &u8| {
        match (in_text, is_escaped, b) {
            (true, true, _) => is_escaped = false,
            (true, false, b'\\') => is_escaped = true,
            (_, _, b'"') => in_text = !in_text,
            _ => {}
        }
        !in_text && *b == b','
    };
    std::iter::once(()).chain(bytes.iter().copied().filter(is_comma).map(drop))
}

fn invalid_json() -> Error {
    Error::Invalid(vec![("body".into(), Fault::INVALID_JSON)])
}

/// Whether a body has this content type. A missing content type counts as the expected one.
pub(super) fn is_type(headers: &HeaderMap, expected: &str) -> bool {
    headers.get_all(header::CONTENT_TYPE).iter().all(|value| {
        let essence = value.to_str().ok().and_then(|value| value.split(';').next());
        essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(expected))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_has_each_key_once() {
        let repeated = |json: &str| repeated_key(json.as_bytes());
        for json in [r#"{"allow":"a","scopes":[],"allow":"b"}"#, r#"{"allow":1,"\u0061llow":{}}"#] {
            assert_eq!(repeated(json).as_deref(), Some("allow"), "{json}");
        }
        let nested = r#"{"a":{"b":1},"b":{"a":[{"a":1}]}}"#;
        for json in [nested, "{}", "[1,1]", "null", "{\"a\":1,\"a\"", ""] {
            assert_eq!(repeated(json), None, "{json}");
        }
    }

    #[test]
    fn the_form_of_a_page_is_decoded() {
        let fields = |form: &str| {
            let mut form = parse_page_form(form.as_bytes())?;
            Some(Value::from_iter(mem::take(&mut form.fields)))
        };
        assert_eq!(fields(""), Some(json!({})));
        assert_eq!(fields("a=1&b=2"), Some(json!({"a": "1", "b": "2"})));
        assert_eq!(fields("a=x+y%2Bz%26%3D&&b=="), Some(json!({"a": "x y+z&=", "b": "="})));
        assert_eq!(fields("%61=%C3%A4%0D%0A"), Some(json!({"a": "ä\r\n"})));
        assert_eq!(fields("a=&b&=c"), Some(json!({"": "c"})), "empty values are missing");
        assert_eq!(fields("a=%&b=%zz"), Some(json!({"a": "%", "b": "%zz"})), "as browsers read it");
        assert_eq!(fields("a=1&a=2"), None, "repeated");
        assert_eq!(fields("a=%ff"), None, "not UTF-8");
    }
}
