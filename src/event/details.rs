//! What a record of the audit trail knows besides who, whom and when, read for a sentence. What another version wrote may be missing.

use serde_json::{Map, Value};

use super::{EventGroup, ExternalFailure, LoginRefusal, RegistrationRefusal};
use crate::{
    clock::Timestamp,
    count::Label,
    credential::factor::FactorKind,
    language::{Language, Text, counted},
    session::Method,
    token::one_time::Purpose,
};

/// The details of a record.
#[derive(Clone, Copy)]
pub struct Details<'a>(&'a Map<String, Value>);

impl<'a> Details<'a> {
    pub(super) fn of(details: &'a Map<String, Value>) -> Self {
        Self(details)
    }

    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str()
    }

    pub(super) fn is(self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| *value == true)
    }

    /// A number with its noun, as a sentence.
    pub(super) fn counted(
        self,
        name: &str,
        language: Language,
        one: Text,
        several: Text,
    ) -> Option<String> {
        let count = self.0.get(name)?.as_u64()?;
        Some(format!("{}.", counted(count, language.choose(one), language.choose(several))))
    }

    /// A number with its noun, as a sentence. A number that is 0 says nothing.
    pub(super) fn counted_if_any(
        self,
        name: &str,
        language: Language,
        one: Text,
        several: Text,
    ) -> Option<String> {
        let is_none = self.0.get(name).and_then(Value::as_u64) == Some(0);
        self.counted(name, language, one, several).filter(|_| !is_none)
    }

    /// A time in words.
    pub(super) fn moment(self, name: &str, language: Language) -> Option<String> {
        in_words(self.text(name)?, language)
    }

    /// The texts of a list, separated by commas. `None` if there are none.
    pub(super) fn list(self, name: &str) -> Option<String> {
        let texts: Vec<_> =
            self.0.get(name)?.as_array()?.iter().filter_map(Value::as_str).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// The names of an object, separated by commas. `None` if there are none.
    pub(super) fn names(self, name: &str) -> Option<String> {
        let names: Vec<_> = self.0.get(name)?.as_object()?.keys().map(String::as_str).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// The numbers of an object, with their names.
    pub(super) fn counts(self, name: &str) -> Option<impl Iterator<Item = (&'a str, u64)>> {
        let counts = self.0.get(name)?.as_object()?;
        Some(counts.iter().filter_map(|(name, count)| Some((name.as_str(), count.as_u64()?))))
    }

    /// The time of each group of events in an object, in words.
    pub(super) fn group_times(
        self,
        name: &str,
        language: Language,
    ) -> Option<impl Iterator<Item = (EventGroup, String)>> {
        let times = self.0.get(name)?.as_object()?;
        let time = move |group: EventGroup| {
            Some((group, in_words(times.get(group.name())?.as_str()?, language)?))
        };
        Some(EventGroup::ALL.into_iter().filter_map(time))
    }

    pub(super) fn login_refusal(self) -> Option<LoginRefusal> {
        labelled(self.text("reason")?)
    }

    pub(super) fn registration_refusal(self) -> Option<RegistrationRefusal> {
        labelled(self.text("reason")?)
    }

    pub(super) fn external_failure(self) -> Option<ExternalFailure> {
        labelled(self.text("reason")?)
    }

    pub(super) fn purpose(self) -> Option<Purpose> {
        Purpose::from_store(self.text("purpose")?)
    }

    pub(super) fn factor(self) -> Option<FactorKind> {
        FactorKind::by_name(self.text("factor")?)
    }

    pub(super) fn methods(self) -> Vec<Method> {
        let names = self.0.get("methods").and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).filter_map(Method::by_name).collect()
    }
}

fn labelled<L: Label>(label: &str) -> Option<L> {
    L::ALL.iter().copied().find(|refusal| refusal.label() == label)
}

fn in_words(time: &str, language: Language) -> Option<String> {
    Timestamp::parse(time).map(|time| language.moment(time.millis()))
}

/// The sentences that are known, in a row. `None` if there are none.
pub(super) fn join(sentences: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let sentences: Vec<_> = sentences.into_iter().flatten().collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}
