//! Expressions whose value is a text or a list of texts, for headers and roles. They read what conditions read, within the same
//! limits.

use std::fmt;

use cel::Program;

use super::{
    CallerFacts, ConditionError, RequestFacts,
    check::{self, Checked, Wanted},
    compile,
    evaluate::Evaluation,
    facts::Variables,
    fields_read::FieldsRead,
    limits::check_length,
    prepare::Prepared,
    subject::Subject,
    text_value::{ExpressionValue, to_text},
};

/// An expression over the variables of its subject.
pub struct Expression {
    text: String,
    prepared: Prepared,
    request_fields: Vec<&'static str>,
    fields_read: FieldsRead,
}

/// Expressions with the same text are the same.
impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text).finish()
    }
}

impl Expression {
    /// Parses and checks an expression about the caller of a guarded request.
    ///
    /// # Errors
    /// For the first error in it.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        Self::parse_wanted(Subject::Caller, Wanted::Text, text)
    }

    /// Parses and checks an expression whose value is a list of texts.
    ///
    /// # Errors
    /// For the first error in it.
    pub fn parse_list_about(subject: Subject, text: &str) -> Result<Self, ConditionError> {
        Self::parse_wanted(subject, Wanted::TextList, text)
    }

    fn parse_wanted(subject: Subject, wanted: Wanted, text: &str) -> Result<Self, ConditionError> {
        check_length(text)?;
        let program: Program = compile(text)?;
        let Checked { prepared, request_fields } = check::check(subject, wanted, &program, text)?;
        let fields_read = FieldsRead::of(program.expression());
        Ok(Self { text: text.to_owned(), prepared, request_fields, fields_read })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The fields of the request that it reads.
    pub fn request_fields(&self) -> &[&'static str] {
        &self.request_fields
    }

    /// What it reads about its subject.
    pub fn reads(&self) -> &FieldsRead {
        &self.fields_read
    }

    /// Its value.
    ///
    /// # Errors
    /// The reason if its evaluation fails, for example because a field is absent, or the value is not a text.
    pub fn value(
        &self,
        caller: &CallerFacts,
        request: &RequestFacts<'_>,
    ) -> Result<ExpressionValue, String> {
        let evaluation = Evaluation::new(&self.prepared, Variables::new(caller, request));
        let value = evaluation.resolve(&self.prepared.expression);
        let value = value.map_err(|error| error.to_string())?;
        to_text(&value).ok_or_else(|| format!("gives {}, not a text", value.type_of()))
    }

    /// Its value, which is a list of texts.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub fn texts(
        &self,
        caller: &CallerFacts,
        request: &RequestFacts<'_>,
    ) -> Result<Vec<String>, String> {
        match self.value(caller, request)? {
            ExpressionValue::List(texts) => Ok(texts),
            ExpressionValue::Text(_) => Err("gives a single value, not a list of texts".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Result<Vec<String>, String> {
        let parsed = Expression::parse_list_about(Subject::External, text);
        let expression = parsed.unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let claims = serde_json::json!({ "hd": "x", "groups": ["a", "b"], "levels": [1] });
        let facts = CallerFacts::of_external(claims.as_object().unwrap());
        expression.texts(&facts, &RequestFacts::at(super::super::sample::NOW))
    }

    #[test]
    fn a_list_of_texts_is_written_down_read_from_a_claim_or_made_by_a_macro() {
        for (text, expected) in [
            ("[]", &[][..]),
            (r#"["staff"]"#, &["staff"]),
            ("claims.groups", &["a", "b"]),
            (r#"claims["groups"]"#, &["a", "b"]),
            (r#"claims.groups.filter(g, g != "a")"#, &["b"]),
            (r#"claims.groups.map(g, "team:" + g)"#, &["team:a", "team:b"]),
            (r#"claims.groups.map(g, g != "a", g.upperAscii())"#, &["B"]),
            (r#"claims.hd == "x" ? ["staff"] : []"#, &["staff"]),
            (r#"has(claims.teams) ? claims.teams : []"#, &[]),
            (r#"[string(claims.hd), "of:" + claims.hd]"#, &["x", "of:x"]),
            (r#""a b".split(" ", 2)"#, &["a", "b"]),
        ] {
            assert_eq!(
                texts(text).as_deref(),
                Ok(&*expected.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_cannot_be_evaluated_or_is_no_list_of_texts_has_no_value() {
        for text in [
            "claims.teams",
            "claims.hd",
            "claims.levels",
            "claims.levels.map(l, l)",
            "claims.hd.groups",
        ] {
            assert!(texts(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_never_a_list_of_texts_is_refused_with_its_place() {
        for (text, at, got) in [
            (r#""staff""#, 0, "string"),
            ("true", 0, "bool"),
            ("[1]", 0, "list"),
            (r#""a" in claims.groups"#, 4, "bool"),
            (r#"claims.groups.exists(g, g == "a")"#, 20, "bool"),
            (r#"claims.hd == "x" ? "staff" : []"#, 19, "string"),
            (r#"claims.hd == "x" ? [] : claims.hd == "y" ? ["a"] : false"#, 51, "bool"),
        ] {
            let error = Expression::parse_list_about(Subject::External, text).unwrap_err();
            assert_eq!(error.message, format!("gives {got}, not a list of texts"), "{text}");
            assert_eq!(error.at, at, "{text}");
        }
    }
}
