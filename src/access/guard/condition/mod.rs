//! A condition in CEL: checked when it is read, decided per caller, explained when it refuses. Nobody else names CEL.

mod check;
pub mod cost;
mod evaluate;
mod explain;
mod pattern;
mod prepare;
mod scene;
mod trust;

use std::{
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
    check::Checked,
    evaluate::Case,
    pattern::{Pattern, matches},
    prepare::Prepared,
    scene::Scene,
};
pub use self::{
    explain::{Explanation, Step},
    scene::{CallerFacts, MAX_ROLES, RequestFacts, host_of, path_of},
};

/// An expression over `user`, `session` and `request` that is true or false.
pub struct Condition {
    text: String,
    prepared: Prepared,
    /// The fields of `request` that it looks at: only these are found out for it.
    request_fields: Vec<&'static str>,
    trusts_unverified_email: bool,
    cost: u64,
}

/// What is wrong with a condition, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Bytes into the text of the condition.
    pub at: usize,
    /// In words.
    pub message: String,
}

/// Why a condition is not true.
#[derive(Debug, PartialEq, Eq)]
pub enum Untrue {
    /// It is false.
    False,
    /// It could not be worked out: a missing field, an overflow. [`Condition::explain`] tells what.
    Error,
}

impl Condition {
    const MAX_BYTES: usize = 8 << 10;

    /// Reads and checks a condition.
    ///
    /// # Errors
    /// For the first thing that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Flaw> {
        if text.len() > Self::MAX_BYTES {
            let message = format!("longer than {} bytes", Self::MAX_BYTES);
            return Err(Flaw { at: 0, message });
        }
        let program = compile(text).map_err(|errors| syntax_flaw(text, &errors))?;
        let Checked { prepared, request_fields, cost } = check::check(&program, text)?;
        let trusts_unverified_email = trust::trusts_unverified_email(program.expression());
        Ok(Self { text: text.to_owned(), prepared, request_fields, cost, trusts_unverified_email })
    }

    /// The condition as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the same caller may be decided differently from one request to the next.
    pub fn looks_at_request(&self) -> bool {
        !self.request_fields.is_empty()
    }

    /// Whether it reads the user's address without asking whether it is verified: anybody can register any address.
    pub fn trusts_unverified_email(&self) -> bool {
        self.trusts_unverified_email
    }

    /// The fields of the request that it looks at; the others need not be known.
    pub fn request_fields(&self) -> &[&'static str] {
        &self.request_fields
    }

    /// What deciding costs at most, in instructions: never more than [`MAX_COST`].
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Decides.
    ///
    /// # Errors
    /// If it is not true.
    pub fn holds(&self, caller: &CallerFacts, request: &RequestFacts<'_>) -> Result<(), Untrue> {
        match self.case(caller, request).truth(&self.prepared.expression) {
            Ok(Some(true)) => Ok(()),
            Ok(Some(false)) => Err(Untrue::False),
            Ok(None) | Err(_) => Err(Untrue::Error),
        }
    }

    /// Shows every part of the condition with the value that it has, and which one made it untrue.
    pub fn explain(&self, caller: &CallerFacts, request: &RequestFacts<'_>) -> Explanation {
        explain::explain(&self.case(caller, request))
    }

    fn case<'a>(&'a self, caller: &'a CallerFacts, request: &'a RequestFacts<'a>) -> Case<'a> {
        Case::new(&self.prepared, Scene::new(caller, request))
    }
}

/// CEL's standard functions, those for strings and lists, `lower()`, and `matches()` of a compiled pattern.
static LANGUAGE: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut language = Env::stdlib();
    let extended = language
        .add_extension(extensions::strings)
        .and_then(|()| language.add_extension(extensions::lists))
        .and_then(|()| cel::add_member_overload!(language, fn lower: (CelString) -> CelString))
        .and_then(|()| {
            cel::add_member_overload!(language, fn matches: (CelString, Pattern) -> Result<CelBool>)
        });
    extended.expect("none of these is declared twice");
    Arc::new(language)
});

/// Unicode lower case, unlike CEL's own `lowerAscii`.
fn lower(this: &CelString<'_>) -> CelString<'static> {
    this.inner().to_lowercase().into()
}

/// The parser stops at 96 levels, for which the stack of a thread that serves requests is too small.
fn compile(text: &str) -> Result<Program, ParseErrors> {
    const STACK_BYTES: usize = 16 << 20;
    thread::scope(|scope| {
        let parser = thread::Builder::new().stack_size(STACK_BYTES);
        let parsing = parser.spawn_scoped(scope, || LANGUAGE.compile(text));
        let parsed = parsing.expect("a thread can be started").join();
        parsed.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn syntax_flaw(text: &str, errors: &ParseErrors) -> Flaw {
    let Some(first) = errors.errors.first() else {
        return Flaw { at: 0, message: "cannot be read".into() };
    };
    let (line, column) = first.pos;
    let before: usize =
        text.split_inclusive('\n').take(usize::try_from(line - 1).unwrap_or(0)).map(str::len).sum();
    let in_line = text[before..].chars().take(usize::try_from(column - 1).unwrap_or(0));
    Flaw { at: before + in_line.map(char::len_utf8).sum::<usize>(), message: first.msg.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::guard::hypothetical;

    fn holds(text: &str) -> Result<(), Untrue> {
        let condition = Condition::parse(text).unwrap_or_else(|flaw| panic!("{text}: {flaw:?}"));
        condition.holds(&hypothetical::caller_facts(), &hypothetical::request())
    }

    fn flaw(text: &str) -> (usize, String) {
        let flaw = Condition::parse(text).err().unwrap_or_else(|| panic!("{text} was accepted"));
        (flaw.at, flaw.message)
    }

    #[test]
    fn a_condition_sees_user_session_and_request() {
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
            r#"user.roles.exists(role, role.startsWith("st"))"#,
            r#"user.roles.filter(r, r != "staff").size() == 1"#,
            r#"user.name.matches("^Ada .*") && has(user.email)"#,
            r#"request.path.split("/")[1] == "reports""#,
            "user.lastLoginAt == null || user.lastLoginAt < request.time",
        ] {
            assert_eq!(holds(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_is_false_or_fails_is_untrue() {
        assert_eq!(holds(r#""boss" in user.roles"#), Err(Untrue::False));
        for failing in [
            r#"user.roles[7] == "staff""#,
            "9223372036854775807 + user.name.size() > 0",
            r#"int(user.name) > 1"#,
            r#"timestamp(user.name) < request.time"#,
        ] {
            assert_eq!(holds(failing), Err(Untrue::Error), "{failing}");
        }
    }

    #[test]
    fn only_conditions_over_the_request_differ_between_requests() {
        for (text, looks) in [
            ("user.disabled", false),
            (r#"session.address == "::1""#, false),
            (r#"request.method == "GET""#, true),
            ("request.time > user.createdAt", true),
            (r#"user.roles.exists(r, r == request.path)"#, true),
        ] {
            assert_eq!(Condition::parse(text).unwrap().looks_at_request(), looks, "{text}");
        }
    }

    #[test]
    fn a_flaw_is_named_with_its_place_and_the_nearest_word() {
        assert_eq!(flaw("user.nmae == \"x\""), (4, "user.nmae: did you mean name?".into()));
        assert_eq!(
            flaw("user.emailverified"),
            (4, "user.emailverified: did you mean emailVerified?".into())
        );
        assert_eq!(flaw("usr.name == \"x\""), (0, "usr: did you mean user?".into()));
        assert_eq!(flaw("user.name.lowr() == \"x\""), (14, "lowr(): did you mean lower()?".into()));
        assert_eq!(
            flaw("true && user[\"nmae\"] == 1"),
            (12, "user.nmae: did you mean name?".into())
        );
        assert_eq!(
            flaw("user.roles.exists(r, x == r)").1,
            "x: unknown variable (there are user, session and request)"
        );
        assert_eq!(flaw("user.name"), (4, "gives string, not true or false".into()));
        assert_eq!(flaw("size(user.roles)"), (4, "gives int, not true or false".into()));
        assert!(
            flaw("user.disabled &&").1.contains("Syntax error"),
            "{:?}",
            flaw("user.disabled &&")
        );
        assert!(flaw("").1.contains("Syntax error"), "{:?}", flaw(""));
        assert_eq!(flaw("true &&\n  user.neme == 1").0, 14, "in the second line");
        for badly_typed in
            ["user.name + 1 == 2", "user.disabled || user.name", "user.id.contains(1)"]
        {
            let (_, message) = flaw(badly_typed);
            let about_types =
                ["overload", "type", "operator"].iter().any(|word| message.contains(word));
            assert!(about_types, "{badly_typed}: {message}");
        }
    }
}
