//! What a record of the audit trail knows besides, read for its words. What another version wrote may be missing.

use serde_json::{Map, Value};

use super::{EventTexts, alphabetical};
use crate::{
    audit::Record,
    clock::Timestamp,
    count::Label,
    credential::factor::FactorKind,
    event::{EventGroup, LoginRefusal, RegistrationRefusal},
    http::html::text::{counted, grouped},
    language::Language,
    session::Method,
    token::one_time::Purpose,
};

/// What a record knows besides who, whom and when.
pub struct Details<'a>(Option<&'a Map<String, Value>>);

impl<'a> Details<'a> {
    pub(super) const NONE: Self = Self(None);

    pub(super) fn of(record: &'a Record) -> Self {
        Self(Some(&record.details))
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0?.get(name)
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.as_str()
    }

    /// A number with its noun, as a sentence.
    pub(super) fn counted(&self, name: &str, one: &str, several: &str) -> Option<String> {
        self.get(name)?.as_u64().map(|count| format!("{}.", counted(count, one, several)))
    }

    /// The same, unless the number is 0: among others, it says nothing.
    pub(super) fn counted_if_any(&self, name: &str, one: &str, several: &str) -> Option<String> {
        let is_none = self.get(name).and_then(Value::as_u64) == Some(0);
        self.counted(name, one, several).filter(|_| !is_none)
    }

    /// A time in words.
    pub(super) fn moment(&self, name: &str, language: Language) -> Option<String> {
        in_words(self.text(name)?, language)
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| *value == true)
    }

    /// The texts of a list, separated by commas. `None` if there are none.
    pub(super) fn list(&self, name: &str) -> Option<String> {
        let texts: Vec<_> = self.get(name)?.as_array()?.iter().filter_map(Value::as_str).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// The names of an object, separated by commas.
    pub(super) fn names(&self, name: &str) -> Option<String> {
        let names: Vec<_> = self.get(name)?.as_object()?.keys().map(String::as_str).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// What was pruned of each group, as a sentence with the time before which it was.
    pub(super) fn pruned(
        &self,
        language: Language,
        words: impl Fn(EventGroup, &str) -> String,
    ) -> Option<String> {
        let before = self.get("before")?.as_object()?;
        let sentence = |group: EventGroup| {
            let time = before.get(group.name())?.as_str()?;
            Some(words(group, &in_words(time, language)?))
        };
        join(EventGroup::ALL.map(sentence))
    }

    /// How many events of each kind, in the order of their words.
    pub(super) fn counts(&self, texts: &EventTexts) -> Option<String> {
        let counts = self.get("counts")?.as_object()?;
        let mut words: Vec<_> = counts
            .iter()
            .filter_map(|(name, count)| {
                Some(format!("{}: {}.", texts.named(name), grouped(count.as_u64()?)))
            })
            .collect();
        words.sort_by_cached_key(|words| alphabetical(words));
        join(words.into_iter().map(Some))
    }

    pub(super) fn login_refusal(&self) -> Option<LoginRefusal> {
        labelled(self.text("reason")?)
    }

    pub(super) fn registration_refusal(&self) -> Option<RegistrationRefusal> {
        labelled(self.text("reason")?)
    }

    pub(super) fn purpose(&self) -> Option<Purpose> {
        Purpose::from_store(self.text("purpose")?)
    }

    pub(super) fn factor(&self) -> Option<FactorKind> {
        FactorKind::by_name(self.text("factor")?)
    }

    /// The words of the methods, joined by this one. `None` if there are none.
    pub(super) fn methods(
        &self,
        and: &str,
        words: impl Fn(Method) -> &'static str,
    ) -> Option<String> {
        let names = self.get("methods")?.as_array()?.iter().filter_map(Value::as_str);
        let methods: Vec<_> = names.filter_map(Method::by_name).map(words).collect();
        let (last, others) = methods.split_last()?;
        Some(match others {
            [] => (*last).into(),
            others => format!("{} {and} {last}", others.join(", ")),
        })
    }
}

fn labelled<L: Label>(label: &str) -> Option<L> {
    L::ALL.iter().copied().find(|refusal| refusal.label() == label)
}

/// The sentences that are known, in a row. `None` if there are none.
pub(super) fn join(sentences: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let sentences: Vec<_> = sentences.into_iter().flatten().collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn in_words(time: &str, language: Language) -> Option<String> {
    Timestamp::parse(time).map(|time| language.moment(time.millis()))
}
