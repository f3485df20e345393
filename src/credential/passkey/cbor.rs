//! CBOR (RFC 8949) as authenticators have to write it: definite lengths, the shortest form of each number, no tags, and no key
//! twice in a map. The order of keys is not checked: some password managers write another one.

/// How deeply arrays and maps may be nested. The standard needs four levels.
const MAX_DEPTH: u8 = 8;
/// How many entries a map may have, because each key is compared with those before it.
const MAX_ENTRIES: u64 = 64;

#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    Integer(i128),
    Bytes(&'a [u8]),
    Text(&'a str),
    Array(Vec<Self>),
    Map(Map<'a>),
    /// A simple value or a float, in its encoding.
    Other(&'a [u8]),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Map<'a>(Vec<(Value<'a>, Value<'a>)>);

impl<'a> Map<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn by_text(&self, key: &'static str) -> Option<&Value<'a>> {
        self.by_key(&Value::Text(key))
    }

    pub fn by_number(&self, key: i128) -> Option<&Value<'a>> {
        self.by_key(&Value::Integer(key))
    }

    fn by_key(&self, key: &Value<'_>) -> Option<&Value<'a>> {
        self.0.iter().find(|(other, _)| other == key).map(|(_, value)| value)
    }
}

/// The value that is the whole input.
pub fn parse(input: &[u8]) -> Option<Value<'_>> {
    let (value, rest) = parse_first(input)?;
    rest.is_empty().then_some(value)
}

/// The value at the beginning of the input, and what follows it.
pub fn parse_first(input: &[u8]) -> Option<(Value<'_>, &[u8])> {
    let mut reader = Reader { rest: input };
    let value = reader.value(MAX_DEPTH)?;
    Some((value, reader.rest))
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: u8) -> Option<Value<'a>> {
        let start = self.rest;
        let initial = self.byte()?;
        let (major, info) = (initial >> 5, initial & 0x1f);
        if major == 7 {
            let length = match info {
                // False, true, null and undefined.
                20..=23 => 0,
                // Floats.
                25..=27 => 1 << (info - 24),
                _ => return None,
            };
            self.bytes(length)?;
            return Some(Value::Other(&start[..1 + length as usize]));
        }
        let argument = self.argument(info)?;
        // An array or a map allocates for what was read, never for the length that it claims.
        match major {
            0 => Some(Value::Integer(i128::from(argument))),
            1 => Some(Value::Integer(-1 - i128::from(argument))),
            2 => self.bytes(argument).map(Value::Bytes),
            3 => str::from_utf8(self.bytes(argument)?).ok().map(Value::Text),
            4 => {
                let depth = depth.checked_sub(1)?;
                (0..argument).map(|_| self.value(depth)).collect::<Option<_>>().map(Value::Array)
            }
            5 => self.map(argument, depth.checked_sub(1)?).map(Value::Map),
            _ => None,
        }
    }

    fn map(&mut self, length: u64, depth: u8) -> Option<Map<'a>> {
        let mut map = Map(Vec::new());
        if length > MAX_ENTRIES {
            return None;
        }
        for _ in 0..length {
            let key = self.value(depth)?;
            if map.by_key(&key).is_some() {
                return None;
            }
            let value = self.value(depth)?;
            map.0.push((key, value));
        }
        Some(map)
    }

    /// The number behind the initial byte. `None` if a shorter form would have been enough.
    fn argument(&mut self, info: u8) -> Option<u64> {
        if info < 24 {
            return Some(u64::from(info));
        }
        let (length, least) = match info {
            24 => (1, 24),
            25 => (2, 1 << 8),
            26 => (4, 1 << 16),
            27 => (8, 1 << 32),
            _ => return None,
        };
        let bytes = self.bytes(length)?;
        let number = bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        (number >= least).then_some(number)
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    fn bytes(&mut self, length: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.rest = rest;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_kind_are_read() {
        let integer = |number| Some(Value::Integer(number));
        assert_eq!(parse(b"\x17"), integer(23));
        assert_eq!(parse(b"\x18\x18"), integer(24));
        assert_eq!(parse(b"\x39\x01\x00"), integer(-257));
        assert_eq!(parse(b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff"), integer(u64::MAX.into()));
        assert_eq!(parse(b"\x42\x01\x02"), Some(Value::Bytes(&[1, 2])));
        assert_eq!(parse("\u{62}é".as_bytes()), Some(Value::Text("é")));
        assert_eq!(
            parse(b"\x82\xf5\xf9\x00\x00"),
            Some(Value::Array(vec![Value::Other(b"\xf5"), Value::Other(b"\xf9\x00\x00")]))
        );
        let Some(Value::Map(map)) = parse(b"\xa2\x26\x01\x61a\x02") else { panic!("no map") };
        assert_eq!(map.by_number(-7), Some(&Value::Integer(1)));
        assert_eq!(map.by_text("a"), Some(&Value::Integer(2)));
        assert_eq!(map.by_text("b"), None);
        assert_eq!(parse_first(b"\x01\x02"), Some((Value::Integer(1), &b"\x02"[..])));
    }

    #[test]
    fn what_strict_cbor_forbids_is_refused() {
        for (input, why) in [
            (&b""[..], "nothing"),
            (b"\x01\x02", "bytes behind the value"),
            (b"\x18\x17", "a longer form than needed, one byte"),
            (b"\x19\x00\xff", "a longer form than needed, two bytes"),
            (b"\x1a\x00\x00\xff\xff", "a longer form than needed, four bytes"),
            (b"\x1b\x00\x00\x00\x00\xff\xff\xff\xff", "a longer form than needed, eight bytes"),
            (b"\x58\x01\x00", "a longer form of a length"),
            (b"\x42\x01", "fewer bytes than claimed"),
            (b"\x5f\x41\x00\xff", "an indefinite length of bytes"),
            (b"\x9f\xff", "an indefinite length of an array"),
            (b"\xbf\xff", "an indefinite length of a map"),
            (b"\x61\xff", "a text that is not UTF-8"),
            (b"\xc0\x00", "a tag"),
            (b"\xf8\x20", "an unassigned simple value"),
            (b"\xe0", "an unassigned simple value in the first byte"),
            (b"\xa2\x01\x00\x01\x00", "a key twice"),
            (b"\xa1\x01", "a key without a value"),
            (b"\x1c", "a reserved length"),
            (b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff\x00", "an array larger than the input"),
            (b"\xbb\xff\xff\xff\xff\xff\xff\xff\xff\x00", "a map larger than the input"),
            (b"\x81\x81\x81\x81\x81\x81\x81\x81\x81\x00", "nine levels"),
        ] {
            assert_eq!(parse(input), None, "{why}");
        }
        assert!(parse(b"\x81\x81\x81\x81\x81\x81\x81\x81\x00").is_some());
    }
}
