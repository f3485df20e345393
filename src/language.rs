//! The languages that pages and mails are written in: the choice by the `Accept-Language` header, and times and numbers in words.

use chrono::{DateTime, Datelike, Utc};

/// A language that pages and mails are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English, also for everybody whose languages are not here.
    #[default]
    English,
    German,
}

impl Language {
    /// The language that an `Accept-Language` header prefers. A region does not matter: `de-AT` is German.
    pub fn negotiate(accept_language: Option<&str>) -> Self {
        let mut best = (0, Self::default());
        for range in accept_language.unwrap_or_default().split(',').take(MAX_RANGES) {
            let mut parts = range.split(';').map(str::trim);
            let Some(language) = parts.next().and_then(Self::from_range) else { continue };
            let weight = match parts.next() {
                None => 1000,
                Some(parameter) => weight(parameter),
            };
            // The first of several with the same weight wins.
            if weight > best.0 {
                best = (weight, language);
            }
        }
        best.1
    }

    fn from_range(range: &str) -> Option<Self> {
        match range.split('-').next()? {
            "*" => Some(Self::default()),
            primary if primary.eq_ignore_ascii_case("en") => Some(Self::English),
            primary if primary.eq_ignore_ascii_case("de") => Some(Self::German),
            _ => None,
        }
    }

    /// What is meant for this language, of one thing in English and one in German.
    pub fn choose<T>(self, [english, german]: [T; 2]) -> T {
        match self {
            Self::English => english,
            Self::German => german,
        }
    }

    /// The text with this value in the place of `{}`.
    pub fn fill(self, text: Text, value: &str) -> String {
        self.choose(text).replacen("{}", value, 1)
    }

    /// The value of `lang` and `Content-Language`.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// The day of a moment in milliseconds since 1970, such as `Friday, 20 November`, in UTC. For a day within half a year,
    /// which needs no year.
    pub fn day(self, millis: i64) -> String {
        let time = DateTime::from_timestamp_millis(millis).unwrap_or(DateTime::UNIX_EPOCH);
        self.day_of(time)
    }

    /// A moment in milliseconds since 1970, such as `Friday, 20 November 2026, 14:05 UTC`, for mails and sentences. Nobody knows the
    /// time zone of a reader, so the words name theirs.
    pub fn time(self, millis: i64) -> String {
        let time = DateTime::from_timestamp_millis(millis).unwrap_or(DateTime::UNIX_EPOCH);
        format!("{} {}", self.day_of(time), time.format("%Y, %H:%M UTC"))
    }

    /// A moment in milliseconds since 1970, such as `20 Nov 2026, 14:05:09 UTC`, for tables, lists and what the audit trail says: short,
    /// and exact to the second. A line breaks at most between the day and the time.
    pub fn moment(self, millis: i64) -> String {
        let time = DateTime::from_timestamp_millis(millis).unwrap_or(DateTime::UNIX_EPOCH);
        let (day, month) = (time.day(), time.month0() as usize);
        let day = match self {
            Self::English => format!("{day}\u{a0}{}", &ENGLISH_MONTHS[month][..3]),
            Self::German => format!("{day}.\u{a0}{}", GERMAN_SHORT_MONTHS[month]),
        };
        format!("{day}\u{a0}{}", time.format("%Y, %H:%M:%S\u{a0}UTC"))
    }

    fn day_of(self, time: DateTime<Utc>) -> String {
        let (weekdays, months, point) = match self {
            Self::English => (ENGLISH_WEEKDAYS, ENGLISH_MONTHS, ""),
            Self::German => (GERMAN_WEEKDAYS, GERMAN_MONTHS, "."),
        };
        let weekday = weekdays[time.weekday().num_days_from_monday() as usize];
        format!("{weekday}, {}{point} {}", time.day(), months[time.month0() as usize])
    }
}

/// A text in every language, as [`Language::choose`] takes it.
pub type Text = [&'static str; 2];

/// A number in groups of three digits, separated by thin spaces.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join("\u{202f}")
}

/// A number with its noun, in the singular or the plural.
pub fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { several })
}

/// What texts are sorted by. A German umlaut stands where its vowel stands.
pub fn sort_key(text: &str) -> String {
    let text = text.to_lowercase();
    text.replace('ä', "a").replace('ö', "o").replace('ü', "u").replace('ß', "ss")
}

const ENGLISH_WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const GERMAN_WEEKDAYS: [&str; 7] =
    ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"];
const ENGLISH_MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const GERMAN_MONTHS: [&str; 12] = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
];

const GERMAN_SHORT_MONTHS: [&str; 12] = [
    "Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez.",
];

/// Bounds the cost of a hostile header. Browsers send fewer.
const MAX_RANGES: usize = 32;

/// The weight of `q=0.8` in thousandths. One that is not valid counts as 0.
fn weight(parameter: &str) -> u16 {
    let digits = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="));
    let weight = digits.and_then(|digits| digits.trim().parse::<f32>().ok()).unwrap_or(0.0);
    if (0.0..=1.0).contains(&weight) { (weight * 1000.0).round() as u16 } else { 0 }
}

/// A table of texts with a column for each language: English, German. A row that lacks one does not compile. A text is a field of the
/// struct; a text with parameters, which stand in braces in it, is a method. Tables of parts of the pages come with the struct.
macro_rules! texts {
    (
        $(#[$struct_doc:meta])*
        pub struct $Texts:ident $(with ($($part:ident: $Part:ident),+))? {
            $($(#[$text_doc:meta])* $text:ident: $english:expr, $german:expr;)+
        }

        impl $Same:ident {
            $(
                $(#[$fn_doc:meta])*
                $name:ident($($parameter:ident: $type:ty),+): $in_english:literal, $in_german:literal;
            )+
        }
    ) => {
        $(#[$struct_doc])*
        pub struct $Texts {
            pub language: Language,
            $($(pub $part: $Part,)+)?
            $($(#[$text_doc])* pub $text: &'static str,)+
        }

        impl $Same {
            pub(super) const ENGLISH: Self = Self {
                language: Language::English,
                $($($part: $Part::ENGLISH,)+)?
                $($text: $english,)+
            };

            pub(super) const GERMAN: Self = Self {
                language: Language::German,
                $($($part: $Part::GERMAN,)+)?
                $($text: $german,)+
            };

            $(
                $(#[$fn_doc])*
                pub fn $name(&self, $($parameter: $type),+) -> String {
                    match self.language {
                        Language::English => format!($in_english),
                        Language::German => format!($in_german),
                    }
                }
            )+
        }
    };
}

/// A table of texts of which one is chosen by what has happened, or is about to: an enum with a text for each variant in each language.
macro_rules! enum_texts {
    (
        $(#[$enum_doc:meta])*
        pub enum $Enum:ident {
            $($(#[$doc:meta])* $variant:ident: $english:expr, $german:expr;)+
        }
    ) => {
        $(#[$enum_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Enum {
            $($(#[$doc])* $variant,)+
        }

        impl $Enum {
            pub fn in_words(self, language: $crate::language::Language) -> &'static str {
                language.choose(match self {
                    $(Self::$variant => [$english, $german],)+
                })
            }
        }
    };
}

pub(crate) use enum_texts;
pub(crate) use texts;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_words_and_names_its_zone() {
        for (millis, english, german) in [
            (
                1_795_183_500_000,
                "Friday, 20 November 2026, 14:05 UTC",
                "Freitag, 20. November 2026, 14:05 UTC",
            ),
            (
                -1,
                "Wednesday, 31 December 1969, 23:59 UTC",
                "Mittwoch, 31. Dezember 1969, 23:59 UTC",
            ),
            (
                951_782_400_000,
                "Tuesday, 29 February 2000, 00:00 UTC",
                "Dienstag, 29. Februar 2000, 00:00 UTC",
            ),
        ] {
            assert_eq!(Language::English.time(millis), english);
            assert_eq!(Language::German.time(millis), german);
        }
        assert_eq!(Language::English.day(1_795_183_500_000), "Friday, 20 November");
        assert_eq!(Language::German.day(1_795_183_500_000), "Freitag, 20. November");
    }

    #[test]
    fn numbers_are_in_groups_of_three() {
        for (number, words) in
            [(0, "0"), (999, "999"), (1000, "1\u{202f}000"), (1_234_567, "1\u{202f}234\u{202f}567")]
        {
            assert_eq!(grouped(number), words);
        }
    }

    #[test]
    fn a_noun_agrees_with_its_number() {
        for (number, words) in [(0, "0 keys"), (1, "1 key"), (1000, "1\u{202f}000 keys")] {
            assert_eq!(counted(number, "key", "keys"), words);
        }
    }

    #[test]
    fn the_header_chooses_the_language() {
        use Language::{English, German};
        for (header, language) in [
            ("", English),
            ("*", English),
            ("fr", English),
            ("de", German),
            ("DE", German),
            ("de-AT", German),
            ("de-CH-1996", German),
            ("den", English),
            ("en-US,en;q=0.9,de;q=0.8", English),
            ("en;q=0.7,de;q=0.8", German),
            ("fr-CH, fr;q=0.9, de;q=0.7, en;q=0.8, *;q=0.5", English),
            ("fr, de;q=0.5, *;q=0.1", German),
            ("de , en", German),
            ("en,de", English),
            ("de; q=0.3 , en; q=0.2", German),
            ("de;q=0, en;q=0.1", English),
            ("de;q=0", English),
            ("de;q=2", English),
            ("de;q=x", English),
            ("de;q=NaN", English),
            (";;;,,,=,de", German),
        ] {
            assert_eq!(Language::negotiate(Some(header)), language, "{header}");
        }
        assert_eq!(Language::negotiate(None), English);
        assert_eq!(Language::negotiate(Some(&"fr,".repeat(100_000))), English);
    }

    #[test]
    fn a_moment_in_a_table_has_its_second_and_breaks_once() {
        let said = |language: Language, seconds: i64| {
            language.moment(seconds * 1000).replace('\u{a0}', "~")
        };
        assert_eq!(said(Language::English, 1_795_183_509), "20~Nov~2026, 14:05:09~UTC");
        assert_eq!(said(Language::German, 1_795_183_509), "20.~Nov.~2026, 14:05:09~UTC");
        assert_eq!(said(Language::German, 0), "1.~Jan.~1970, 00:00:00~UTC");
    }
}
