//! Patterns of `matches()`, compiled when the condition is parsed. A pattern becomes a complete DFA, so a search takes the
//! same few instructions per byte for every pattern and text.

use std::{any::Any, fmt, sync::Arc};

use cel::{
    ExecutionError,
    common::{
        types::{CelBool, CelString, Type},
        value::{StaticVal, Val},
    },
};
use regex_automata::{
    Input,
    dfa::{Automaton, StartKind, dense},
    nfa::thompson,
    util::syntax,
};

/// A compiled pattern: a CEL value for `matches()` only.
#[derive(Clone)]
pub(super) struct Pattern {
    text: Arc<str>,
    automaton: Arc<dense::DFA<Vec<u32>>>,
}

impl Pattern {
    const MAX_NESTING: u32 = 50;

    /// Compiles a pattern. It and its compilation take at most so many bytes.
    ///
    /// # Errors
    /// A message, if it is not a valid pattern or takes too much memory.
    pub(super) fn compile(text: &str, most_bytes: usize) -> Result<Self, String> {
        let syntax = syntax::Config::new().nest_limit(Self::MAX_NESTING);
        if let Err(error) = syntax::parse_with(text, &syntax) {
            return Err(format!("matches(): not a valid pattern: {}", last_line(&error)));
        }
        let limits = dense::Config::new()
            .start_kind(StartKind::Unanchored)
            .dfa_size_limit(Some(most_bytes))
            .determinize_size_limit(Some(most_bytes));
        let automaton = dense::Builder::new()
            .syntax(syntax)
            .thompson(thompson::Config::new().nfa_size_limit(Some(most_bytes)))
            .configure(limits)
            .build(text);
        match automaton {
            Ok(automaton) => Ok(Self { text: text.into(), automaton: Arc::new(automaton) }),
            Err(error) if error.to_string().contains("word boundar") => Err(
                "matches(): a Unicode word boundary cannot be compiled: write (?-u:\\b) instead of \\b"
                    .into(),
            ),
            Err(_) => {
                let most = match most_bytes >> 20 {
                    0 => format!("{} KiB", most_bytes >> 10),
                    most => format!("{most} MiB"),
                };
                Err(format!(
                    "matches(): the pattern takes more than {most}: repeat less, or write [a-z0-9_] or (?-u:\\w) instead \
                     of \\w"
                ))
            }
        }
    }

    /// How much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.automaton.memory_usage()
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// The parser's message contains a drawing. Its last line is the error.
fn last_line(error: &impl fmt::Display) -> String {
    let drawn = error.to_string();
    let last = drawn.trim_end().lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

/// The CEL function `matches`: whether the pattern occurs anywhere in the text.
pub(super) fn matches(this: &CelString<'_>, pattern: &Pattern) -> Result<CelBool, ExecutionError> {
    let input = Input::new(this.inner()).earliest(true);
    match pattern.automaton.try_search_fwd(&input) {
        Ok(found) => Ok(found.is_some().into()),
        Err(error) => Err(ExecutionError::function_error("matches", error.to_string())),
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

static PATTERN: Type = Type::new_unspecified_type("pattern");

impl Val for Pattern {
    fn get_type(&self) -> &Type {
        &PATTERN
    }

    fn cel_type() -> &'static Type {
        &PATTERN
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Pattern {}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST_BYTES: usize = 1 << 20;

    fn finds(pattern: &str, text: &str) -> bool {
        let pattern = Pattern::compile(pattern, MOST_BYTES)
            .unwrap_or_else(|error| panic!("{pattern}: {error}"));
        *matches(&CelString::from(text), &pattern).unwrap().inner()
    }

    #[test]
    fn a_pattern_is_found_anywhere_in_the_text() {
        for (pattern, text) in [
            ("b+", "abbc"),
            ("^/reports/[0-9]{4}$", "/reports/2027"),
            (r"^\d+$", "٣"),
            ("(?i)STRASSE|straße", "Straße"),
            (r"\w+@\w+", "ada@example"),
            (r"(?-u:\b)x(?-u:\b)", "a x b"),
            ("", ""),
        ] {
            assert!(finds(pattern, text), "{pattern} in {text}");
        }
        for (pattern, text) in [("^b", "ab"), ("a{3}", "aa"), (r"^\d$", "x"), ("a.c", "a\nc")] {
            assert!(!finds(pattern, text), "{pattern} in {text}");
        }
    }

    #[test]
    fn an_invalid_or_too_large_pattern_is_refused() {
        for (pattern, message) in [
            ("(", "matches(): not a valid pattern: unclosed group"),
            (&"(".repeat(60), "not a valid pattern"),
            ("(a{1000}){1000}", "more than 1 MiB"),
            ("(a|b)*a(a|b){40}", "more than 1 MiB"),
            (r"^\w{2,200}$", "more than 1 MiB"),
            (r"\bstaff\b", r"(?-u:\b)"),
        ] {
            let error = Pattern::compile(pattern, MOST_BYTES).map(|_| ()).unwrap_err();
            assert!(error.contains(message), "{pattern}: {error}");
        }
    }
}
