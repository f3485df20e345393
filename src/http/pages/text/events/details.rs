//! What a record of the audit trail knows besides, read for its words. What another version wrote may be missing.

use serde_json::{Map, Value};

use crate::{
    audit::Record,
    count::Label,
    credential::factor::FactorKind,
    event::{EventGroup, EventName, LoginRefusal, RegistrationRefusal},
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

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.as_u64()
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

    /// What was pruned of each group, as a sentence with the day before which it was.
    pub(super) fn pruned(&self, words: impl Fn(EventGroup, &str) -> String) -> Option<String> {
        let before = self.get("before")?.as_object()?;
        let sentences: Vec<_> = EventGroup::ALL
            .into_iter()
            .filter_map(|group| {
                let time = before.get(group.name())?.as_str()?;
                Some(words(group, time.split_once('T')?.0))
            })
            .collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    /// How many events of each kind, as words.
    pub(super) fn counts(&self, kind: impl Fn(EventName) -> &'static str) -> Option<String> {
        let counts = self.get("counts")?.as_object()?;
        let mut words: Vec<_> = counts
            .iter()
            .filter_map(|(name, count)| Some((name, count.as_u64()?)))
            .map(|(name, count)| {
                let words = EventName::parse(name)
                    .map_or_else(|| capitalised(&name.replace('_', " ")), |name| kind(name).into());
                format!("{words}: {count}.")
            })
            .collect();
        words.sort_unstable();
        (!words.is_empty()).then(|| words.join(" "))
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

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
