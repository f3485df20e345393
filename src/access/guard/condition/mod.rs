//! Conditions in CEL: checked when they are parsed, evaluated per caller, explained on request. Only this module uses CEL.

mod check;
mod children;
mod comparison;
mod evaluate;
mod explain;
mod expression;
mod facts;
mod fields_read;
mod ip_network;
mod limits;
mod pattern;
mod prepare;
pub(crate) mod sample;
mod subject;
mod text_value;

use std::{
    fmt,
    sync::{Arc, LazyLock},
    thread,
};

use cel::{
    Env, Program,
    common::types::{CelBool, CelString},
    extensions,
    parser::ParseErrors,
};

use self::{
    check::{Checked, Wanted},
    evaluate::Evaluation,
    facts::Variables,
    ip_network::{IpNetwork, in_network},
    limits::check_length,
    pattern::{Pattern, matches},
    prepare::Prepared,
};
pub use self::{
    explain::{Explanation, Step},
    expression::Expression,
    facts::{CallerFacts, RequestFacts, host_of, path_of},
    fields_read::FieldsRead,
    subject::Subject,
    text_value::ExpressionValue,
};

/// A boolean expression over the variables of its subject.
pub struct Condition {
    text: String,
    prepared: Prepared,
    /// The fields of `request` that it reads. Only these are determined.
    request_fields: Vec<&'static str>,
    fields_read: FieldsRead,
}

/// What is wrong with a condition, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct ConditionError {
    /// The position in the text of the condition, in bytes.
    pub at: usize,
    /// A description for the operator.
    pub message: String,
}

/// Why a condition is not true.
#[derive(Debug, PartialEq, Eq)]
pub enum Unsatisfied {
    /// It is false.
    False,
    /// Its evaluation failed, for example because a field is absent. [`Condition::explain`] has the error.
    Error,
}

/// Conditions with the same text are the same.
impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Condition").field(&self.text()).finish()
    }
}

impl Condition {
    /// Parses and checks a condition about the caller of a guarded request.
    ///
    /// # Errors
    /// For the first error in it.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        Self::parse_about(Subject::Caller, text)
    }

    /// Parses and checks a condition, which can read what is known about its subject.
    ///
    /// # Errors
    /// For the first error in it.
    pub fn parse_about(subject: Subject, text: &str) -> Result<Self, ConditionError> {
        check_length(text)?;
        let program = compile(text)?;
        let Checked { prepared, request_fields } =
            check::check(subject, Wanted::Truth, &program, text)?;
        let fields_read = FieldsRead::of(program.expression());
        Ok(Self { text: text.to_owned(), prepared, request_fields, fields_read })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the result depends on the request.
    pub fn reads_request(&self) -> bool {
        !self.request_fields.is_empty()
    }

    /// What it reads about its subject.
    pub fn reads(&self) -> &FieldsRead {
        &self.fields_read
    }

    /// Whether it is true for somebody who has just registered and verified an address of their own, at this host: with a passkey that
    /// they have added, or with their password alone.
    pub fn admits_stranger(&self, host: Option<&str>, has_passkey: bool) -> bool {
        let mut request = sample::request();
        if let Some(host) = host {
            request.host = Some(host.to_owned().into());
        }
        self.holds(&sample::stranger_facts(has_passkey), &request).is_ok()
    }

    /// The fields of the request that it reads. The others need not be determined.
    pub fn request_fields(&self) -> &[&'static str] {
        &self.request_fields
    }

    /// Evaluates the condition.
    ///
    /// # Errors
    /// If it is not true.
    pub fn holds(
        &self,
        caller: &CallerFacts,
        request: &RequestFacts<'_>,
    ) -> Result<(), Unsatisfied> {
        match self.evaluation(caller, request).truth(&self.prepared.expression) {
            Ok(Some(true)) => Ok(()),
            Ok(Some(false)) => Err(Unsatisfied::False),
            Ok(None) | Err(_) => Err(Unsatisfied::Error),
        }
    }

    /// The value of every part of the condition, and the part because of which it is not true.
    pub fn explain(&self, caller: &CallerFacts, request: &RequestFacts<'_>) -> Explanation {
        explain::explain(&self.evaluation(caller, request))
    }

    fn evaluation<'a>(
        &'a self,
        caller: &'a CallerFacts,
        request: &'a RequestFacts<'a>,
    ) -> Evaluation<'a> {
        Evaluation::new(&self.prepared, Variables::new(caller, request))
    }
}

/// CEL with the string extension, `lower()`, `matches()` with a compiled pattern, and `inNetwork()` with a parsed
/// network.
static LANGUAGE: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut language = Env::stdlib();
    let extended = language
        .add_extension(extensions::strings)
        .and_then(|()| cel::add_member_overload!(language, fn lower: (CelString) -> CelString))
        .and_then(|()| {
            cel::add_member_overload!(language, fn matches: (CelString, Pattern) -> Result<CelBool>)
        })
        .and_then(|()| {
            cel::add_member_overload!(language, fn in_network: (CelString, IpNetwork) -> Result<CelBool>)
        });
    extended.expect("none of these is declared twice");
    Arc::new(language)
});

/// Unicode lower case, unlike `lowerAscii` of CEL.
fn lower(this: &CelString<'_>) -> CelString<'static> {
    this.inner().to_lowercase().into()
}

fn compile(text: &str) -> Result<Program, ConditionError> {
    parse_on_thread(|| LANGUAGE.compile(text))?.map_err(|errors| syntax_error(text, &errors))
}

/// Parses on a thread with a large stack: the parser accepts 96 levels, too many for the stack of a request thread.
fn parse_on_thread<T: Send>(parse: impl FnOnce() -> T + Send) -> Result<T, ConditionError> {
    const STACK_BYTES: usize = 16 << 20;
    thread::scope(|scope| {
        let parser = thread::Builder::new().stack_size(STACK_BYTES);
        // A reload must not end a server that has run out of threads or memory.
        let parsing = parser.spawn_scoped(scope, parse).map_err(|error| ConditionError {
            at: 0,
            message: format!("cannot be parsed: no thread can be started: {error}"),
        })?;
        // Nor must a mistake in the parser.
        let panicked = |_| ConditionError { at: 0, message: "cannot be parsed".into() };
        parsing.join().map_err(panicked)
    })
}

fn syntax_error(text: &str, errors: &ParseErrors) -> ConditionError {
    let Some(first) = errors.errors.first() else {
        return ConditionError { at: 0, message: "cannot be parsed".into() };
    };
    let (line, column) = first.pos;
    let before: usize =
        text.split_inclusive('\n').take(usize::try_from(line - 1).unwrap_or(0)).map(str::len).sum();
    let in_line = text[before..].chars().take(usize::try_from(column - 1).unwrap_or(0));
    ConditionError {
        at: before + in_line.map(char::len_utf8).sum::<usize>(),
        message: first.msg.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str) -> Result<(), Unsatisfied> {
        let condition = Condition::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        condition.holds(&sample::caller_facts(), &sample::request())
    }

    #[test]
    fn a_panic_of_the_parser_is_an_error_of_the_condition() {
        let outcome: Result<(), _> = parse_on_thread(|| panic!("planted"));
        let error = outcome.unwrap_err();
        assert_eq!((error.at, error.message.as_str()), (0, "cannot be parsed"));
    }

    fn error(text: &str) -> (usize, String) {
        let error = Condition::parse(text).err().unwrap_or_else(|| panic!("{text} was accepted"));
        (error.at, error.message)
    }

    #[test]
    fn a_condition_reads_user_session_and_request() {
        for text in [
            "true",
            r#""staff" in user.roles && request.method in ["GET", "HEAD"]"#,
            r#"user.name.lower() == "ada lövelace""#,
            r#"user.domain == "example.com" && user.email.endsWith("@Example.com")"#,
            r#"user.emailVerified && user.domain == "example.com""#,
            "!user.disabled && user.id.size() == 36",
            r#"user.createdAt < request.time && request.time - user.createdAt > duration("1h")"#,
            r#"session.createdAt.getFullYear() > 2000 && session.address == "192.0.2.7""#,
            r#"request.path.startsWith("/reports/") && request.host == "app.example.com""#,
            r#"request.scheme == "https" && request.address == "192.0.2.9""#,
            r#"request.address.inNetwork("192.0.2.0/28") && !session.address.inNetwork("::/0")"#,
            r#"user.roles.exists(role, role.startsWith("st"))"#,
            r#"user.roles.filter(r, r != "staff").size() == 1"#,
            r#"user.name.matches("^Ada .*") && has(user.email)"#,
            r#"request.path.split("/")[1] == "reports""#,
            "user.lastLoginAt == null || user.lastLoginAt < request.time",
            r#""totp" in user.factors && user.factors.size() == 2"#,
            r#"session.factors == ["pwd", "totp"] && !("passkey" in session.factors)"#,
            "session.strength >= 2 && session.strength == 2 && !session.phishingResistant",
            r#"request.time - session.verifiedAt < duration("2h")"#,
            "session.verifiedAt >= session.createdAt",
        ] {
            assert_eq!(holds(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn a_condition_that_is_false_or_fails_is_not_satisfied() {
        assert_eq!(holds(r#""boss" in user.roles"#), Err(Unsatisfied::False));
        for failing in [
            r#"user.roles[7] == "staff""#,
            "9223372036854775807 + user.name.size() > 0",
            r#"int(user.name) > 1"#,
            r#"timestamp(user.name) < request.time"#,
            r#"user.name.inNetwork("10.0.0.0/8")"#,
        ] {
            assert_eq!(holds(failing), Err(Unsatisfied::Error), "{failing}");
        }
    }

    #[test]
    fn conditions_over_the_request_are_detected() {
        for (text, expected) in [
            ("user.disabled", false),
            (r#"session.address == "::1""#, false),
            ("session.strength >= 2 && session.phishingResistant", false),
            (r#"request.time - session.verifiedAt < duration("10m")"#, true),
            (r#"request.method == "GET""#, true),
            ("request.time > user.createdAt", true),
            (r#"user.roles.exists(r, r == request.path)"#, true),
        ] {
            assert_eq!(Condition::parse(text).unwrap().reads_request(), expected, "{text}");
        }
    }

    #[test]
    fn an_error_has_a_position_and_a_suggestion() {
        assert_eq!(error("user.nmae == \"x\""), (4, "user.nmae: did you mean name?".into()));
        assert_eq!(
            error("user.emailverified"),
            (4, "user.emailverified: did you mean emailVerified?".into())
        );
        assert_eq!(error("session.age < 5").0, 7);
        assert_eq!(
            error("session.strenght >= 2"),
            (7, "session.strenght: did you mean strength?".into())
        );
        assert_eq!(error("session.strength"), (7, "gives int, not true or false".into()));
        assert_eq!(error("usr.name == \"x\""), (0, "usr: did you mean user?".into()));
        assert_eq!(
            error("user.name.lowr() == \"x\""),
            (14, "lowr(): did you mean lower()?".into())
        );
        assert_eq!(
            error("true && user[\"nmae\"] == 1"),
            (12, "user.nmae: did you mean name?".into())
        );
        assert_eq!(
            error("user.roles.exists(r, x == r)").1,
            "x: unknown variable (there are user, session and request)"
        );
        assert_eq!(error("user.name"), (4, "gives string, not true or false".into()));
        assert_eq!(error("size(user.roles)"), (4, "gives int, not true or false".into()));
        assert!(
            error("user.disabled &&").1.contains("Syntax error"),
            "{:?}",
            error("user.disabled &&")
        );
        assert!(error("").1.contains("Syntax error"), "{:?}", error(""));
        assert_eq!(error("true &&\n  user.neme == 1").0, 14, "in the second line");
        assert_eq!(
            error(r#"request.address.inNetwork("10.0.0.0/33")"#),
            (26, "inNetwork(): \"10.0.0.0/33\" is not a network or an address, such as 10.0.0.0/8 or ::1".into())
        );
        assert!(error("request.address.inNetwork(user.name)").1.contains("string literal"));
        assert_eq!(error(r#"inNetwork("::1")"#).1, "write address.inNetwork(network)");
        for badly_typed in
            ["user.name + 1 == 2", "user.disabled || user.name", "user.id.contains(1)"]
        {
            let (_, message) = error(badly_typed);
            let about_types =
                ["overload", "type", "operator"].iter().any(|word| message.contains(word));
            assert!(about_types, "{badly_typed}: {message}");
        }
    }
}
