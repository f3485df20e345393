//! Expressions whose value is a text, for headers. They read what conditions read, within the same limits.

use cel::Program;

use super::{
    CallerFacts, ConditionError, RequestFacts,
    check::{self, Checked, Wanted},
    compile,
    evaluate::Evaluation,
    facts::Variables,
    limits::check_length,
    prepare::Prepared,
    subject::Subject,
    text_value::{ExpressionValue, to_text},
};

/// An expression over `user`, `session` and `request`.
pub struct Expression {
    text: String,
    prepared: Prepared,
    request_fields: Vec<&'static str>,
}

impl Expression {
    /// Parses and checks an expression about the caller of a guarded request.
    ///
    /// # Errors
    /// For the first error in it.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        check_length(text)?;
        let program: Program = compile(text)?;
        let Checked { prepared, request_fields } =
            check::check(Subject::Caller, Wanted::Text, &program, text)?;
        Ok(Self { text: text.to_owned(), prepared, request_fields })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The fields of the request that it reads.
    pub fn request_fields(&self) -> &[&'static str] {
        &self.request_fields
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
}
