//! What a condition may contain. Together with the largest sizes of facts, these limits bound the time of an evaluation to
//! a few milliseconds.

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use super::{
    ConditionError,
    facts::CLAIMS,
    prepare::{Kind, Part, Prepared},
    subject::Subject,
};

/// The most bytes of a condition.
const MAX_BYTES: usize = 8 << 10;
/// The most levels of nesting: checking and evaluating recurse for each, on the stack of a request thread.
pub(super) const MAX_DEPTH: usize = 48;
/// The most names, literals, operators and calls.
const MAX_PARTS: usize = 512;
/// The most calls of functions. `+` counts as one.
const MAX_CALLS: usize = 16;
/// The most parts and calls within macros, which evaluate them for each element.
const MAX_PARTS_IN_MACROS: usize = 32;
const MAX_CALLS_IN_MACROS: usize = 3;
/// The most elements that a macro goes through.
pub(super) const MAX_ELEMENTS: usize = 64;

/// Checks the length of the text of a condition.
///
/// # Errors
/// If it is too long.
pub(super) fn check_length(text: &str) -> Result<(), ConditionError> {
    if text.len() <= MAX_BYTES {
        return Ok(());
    }
    let message = format!(
        "longer than {MAX_BYTES} bytes: write less, or give users a role that says the same"
    );
    Err(ConditionError { at: 0, message })
}

/// Checks that a condition is within the limits.
///
/// # Errors
/// The part that exceeds a limit, and a message.
pub(super) fn check_limits(prepared: &Prepared) -> Result<(), Exceeded<'_>> {
    let mut count = Count { prepared, whole: Tally::default(), in_macros: Tally::default() };
    count.add(&prepared.expression, false)
}

/// The part that exceeds a limit, and a message.
pub(super) type Exceeded<'p> = (&'p IdedExpr, String);

struct Count<'p> {
    prepared: &'p Prepared,
    whole: Tally,
    in_macros: Tally,
}

#[derive(Default)]
struct Tally {
    parts: usize,
    calls: usize,
}

impl<'p> Count<'p> {
    fn add(&mut self, part: &'p IdedExpr, in_macro: bool) -> Result<(), Exceeded<'p>> {
        let is_call = matches!(&part.expr, Expr::Call(call) if is_counted_call(&call.func_name));
        self.tally(part, is_call, in_macro)?;
        match &part.expr {
            Expr::Call(call) => {
                match (call.func_name.as_str(), call.args.as_slice()) {
                    ("split", arguments) => self.check_split(part, arguments, in_macro)?,
                    // A text joins nothing but another text, and copies neither.
                    (operators::ADD, [one, other]) if !is_text(one) && !is_text(other) => {
                        self.check_copied(one, "`+` does not join lists")?;
                        self.check_copied(other, "`+` does not join lists")?;
                    }
                    // A claim is not copied there, and what it is compared with is no list.
                    (operators::IN, [element, _]) if !is_claim(element) => {
                        self.check_copied(element, "the left side of `in` cannot be a list")?;
                    }
                    _ => {}
                }
                let operands = call.target.as_deref().into_iter().chain(&call.args);
                operands.into_iter().try_for_each(|operand| self.add(operand, in_macro))
            }
            Expr::Select(select) => self.add(&select.operand, in_macro),
            Expr::List(list) => {
                list.elements.iter().try_for_each(|element| self.add_element(element, in_macro))
            }
            Expr::Map(map) => map.entries.iter().try_for_each(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => {
                    self.add_element(&entry.key, in_macro)?;
                    self.add_element(&entry.value, in_macro)
                }
                EntryExpr::StructField(field) => self.add_element(&field.value, in_macro),
            }),
            Expr::Ident(name) => match self.prepared.part(name) {
                Some(Part::List(_, elements)) => {
                    elements.iter().try_for_each(|element| self.add(element, in_macro))
                }
                Some(Part::Loop(a_loop)) => {
                    if in_macro {
                        return Err((
                            part,
                            "a macro inside of a macro: write two conditions that \
                             are joined by &&, or a list with `in`"
                                .into(),
                        ));
                    }
                    self.check_elements(&a_loop.range)?;
                    self.add(&a_loop.range, false)?;
                    let condition = a_loop.condition.as_ref();
                    condition.map_or(Ok(()), |condition| self.add(condition, true))?;
                    match a_loop.kind {
                        Kind::Map => self.add_element(&a_loop.body, true),
                        _ => self.add(&a_loop.body, true),
                    }
                }
                Some(Part::Pattern(_) | Part::Network(_)) | None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Adds an element of a list or map.
    fn add_element(&mut self, element: &'p IdedExpr, in_macro: bool) -> Result<(), Exceeded<'p>> {
        self.add(element, in_macro)?;
        self.check_copied(element, "a list cannot contain lists")
    }

    /// Copying a list takes many times as long as reading it.
    fn check_copied(&self, part: &'p IdedExpr, limit: &str) -> Result<(), Exceeded<'p>> {
        if is_claim(part) {
            let message = format!("{limit}, and a claim may be one: write string(…) around it");
            return Err((part, message));
        }
        if self.may_be_list(part) {
            let message = format!("{limit}: look for single elements, with `in` or exists()");
            return Err((part, message));
        }
        Ok(())
    }

    /// Whether the value may be a list or a map. The variable of a macro is neither, because lists contain none.
    fn may_be_list(&self, part: &IdedExpr) -> bool {
        if is_claim(part) {
            return true;
        }
        match &part.expr {
            Expr::List(_) | Expr::Map(_) | Expr::Struct(_) | Expr::Comprehension(_) => true,
            Expr::Ident(name) => match self.prepared.part(name) {
                Some(Part::List(..)) => true,
                Some(Part::Loop(a_loop)) => matches!(a_loop.kind, Kind::Filter | Kind::Map),
                Some(Part::Pattern(_) | Part::Network(_)) => false,
                None => Subject::is_variable(name),
            },
            Expr::Select(select) => !select.test && select.field == "roles",
            Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
                (operators::INDEX, [_, index]) => match &index.expr {
                    Expr::Literal(LiteralValue::String(field)) => field.inner() == "roles",
                    Expr::Literal(_) => false,
                    _ => true,
                },
                (operators::CONDITIONAL, [_, then, otherwise]) => {
                    self.may_be_list(then) || self.may_be_list(otherwise)
                }
                ("dyn", [value]) => self.may_be_list(value),
                ("split", _) => true,
                _ => false,
            },
            Expr::Literal(_) | Expr::Unspecified => false,
        }
    }

    fn tally(
        &mut self,
        part: &'p IdedExpr,
        is_call: bool,
        in_macro: bool,
    ) -> Result<(), Exceeded<'p>> {
        self.whole.add(is_call);
        self.whole.check(part, "a condition has", MAX_PARTS, MAX_CALLS)?;
        if in_macro {
            self.in_macros.add(is_call);
            let those = "the macros of a condition, such as exists(), contain";
            self.in_macros.check(part, those, MAX_PARTS_IN_MACROS, MAX_CALLS_IN_MACROS)?;
        }
        Ok(())
    }

    /// A text of single characters would become as many pieces.
    fn check_split(
        &self,
        part: &'p IdedExpr,
        arguments: &[IdedExpr],
        in_macro: bool,
    ) -> Result<(), Exceeded<'p>> {
        if in_macro {
            let message = "split() inside of a macro: split the text before the macro";
            return Err((part, message.into()));
        }
        let is_bounded = match arguments {
            [separator] => matches!(&separator.expr,
                Expr::Literal(LiteralValue::String(text)) if text.inner() == "/"),
            [_, most] => matches!(&most.expr,
                Expr::Literal(LiteralValue::Int(most)) if (0..=64).contains(most.inner())),
            // The type check refuses it.
            _ => true,
        };
        if is_bounded {
            return Ok(());
        }
        let message = "split() makes as many pieces as a text has bytes: split at \"/\", or say \
                       how many pieces, from 0 to 64, such as split(\",\", 8)";
        Err((part, message.into()))
    }

    fn check_elements(&self, range: &'p IdedExpr) -> Result<(), Exceeded<'p>> {
        let elements = match &range.expr {
            Expr::List(list) => list.elements.len(),
            Expr::Ident(name) => match self.prepared.part(name) {
                Some(Part::List(_, elements)) => elements.len(),
                _ => 0,
            },
            _ => 0,
        };
        if elements > MAX_ELEMENTS { Err((range, too_many_elements())) } else { Ok(()) }
    }
}

/// Whether it is a claim, or something in one: it may be a list or a map. The elements of such lists are neither.
fn is_claim(part: &IdedExpr) -> bool {
    let is_or_has_claims = |part: &IdedExpr| match &part.expr {
        Expr::Ident(name) => name == CLAIMS,
        _ => is_claim(part),
    };
    match &part.expr {
        Expr::Select(select) => !select.test && is_or_has_claims(&select.operand),
        Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::INDEX, [operand, index]) => {
                !matches!(&index.expr, Expr::Literal(LiteralValue::Int(_)))
                    && is_or_has_claims(operand)
            }
            (operators::CONDITIONAL, [_, then, otherwise]) => {
                is_or_has_claims(then) || is_or_has_claims(otherwise)
            }
            ("dyn", [value]) => is_or_has_claims(value),
            _ => false,
        },
        _ => false,
    }
}

/// Whether its value is a text, if it has one.
fn is_text(part: &IdedExpr) -> bool {
    match &part.expr {
        Expr::Literal(literal) => matches!(literal, LiteralValue::String(_)),
        Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::ADD, [one, other]) => is_text(one) || is_text(other),
            ("string", _) => true,
            _ => false,
        },
        _ => false,
    }
}

impl Tally {
    fn add(&mut self, is_call: bool) {
        self.parts += 1;
        self.calls += usize::from(is_call);
    }

    fn check<'p>(
        &self,
        part: &'p IdedExpr,
        those: &str,
        max_parts: usize,
        max_calls: usize,
    ) -> Result<(), Exceeded<'p>> {
        if self.calls > max_calls {
            let message = format!(
                "{those} at most {max_calls} calls, where `+` counts as one: \
                 combine several into a list with `in` or a pattern with matches()"
            );
            return Err((part, message));
        }
        if self.parts > max_parts {
            let message = format!(
                "{those} at most {max_parts} names, literals, operators and calls: write less, or \
                 give users a role that says the same"
            );
            return Err((part, message));
        }
        Ok(())
    }
}

/// The message about a list with more elements than a macro may go through.
pub(super) fn too_many_elements() -> String {
    format!("a macro goes through at most {MAX_ELEMENTS} elements: use a shorter list, or `in`")
}

/// Whether this is a function, or the operator that makes texts and lists longer.
fn is_counted_call(name: &str) -> bool {
    name == operators::ADD || name.starts_with(|c: char| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::super::{Condition, Subject, sample};

    fn refusal(text: &str) -> String {
        match Condition::parse(text) {
            Ok(_) => panic!("{text} was accepted"),
            Err(error) => error.message,
        }
    }

    #[test]
    fn a_condition_that_could_delay_other_requests_is_refused() {
        let doubled = |times| {
            let doubled =
                (0..times).fold("request.path".to_owned(), |text, _| format!("({text} + {text})"));
            format!(r#"{doubled} == "x""#)
        };
        let many = |part: &str, times: usize, by: &str| vec![part; times].join(by);
        for (text, limit) in [
            ("user.roles.exists(a, user.roles.exists(b, a == b))", "a macro inside of a macro"),
            (
                r#"user.roles.map(a, user.roles.map(b, a + b)).size() == 1"#,
                "a macro inside of a macro",
            ),
            (r#"user.roles.exists(r, r in request.path.split("/"))"#, "split() inside of a macro"),
            (r#"request.path.split("").size() == 1"#, "as many pieces as a text has bytes"),
            (r#"request.path.split(user.name).size() == 1"#, "as many pieces as a text has bytes"),
            (r#"request.path.split("a", 65).size() == 1"#, "from 0 to 64"),
            (&doubled(5), "at most 16 calls"),
            (&many(r#"request.path.lower() == "x""#, 17, " || "), "at most 16 calls"),
            ("user.roles + user.roles == []", "`+` does not join lists"),
            (r#"user["roles"] + [] == []"#, "`+` does not join lists"),
            ("[user, user] == []", "a list cannot contain lists"),
            ("user.roles.map(r, user.roles).size() == 1", "a list cannot contain lists"),
            ("user.roles in [1, 2, 3]", "the left side of `in` cannot be a list"),
            (
                &format!("user.roles.exists(r, {})", many(r#"r.matches("x")"#, 4, " || ")),
                "at most 3 calls",
            ),
            (
                &format!("user.roles.exists(r, {})", many(r#"r == "x""#, 20, " || ")),
                "at most 32 names",
            ),
            (&format!("[{}].exists(r, r == 1)", many("1", 65, ", ")), "at most 64 elements"),
            (&format!("user.name in [{}]", many(r#""x""#, 600, ", ")), "at most 512 names"),
            (&format!("user.name == \"{}\"", "x".repeat(9000)), "longer than 8192 bytes"),
        ] {
            let message = refusal(text);
            assert!(message.contains(limit), "{text}: {message}");
        }
    }

    #[test]
    fn a_claim_may_be_a_list_and_is_not_copied() {
        for (text, limit) in [
            (
                "claims.a + claims.b == []",
                "`+` does not join lists, and a claim may be one: write string(…)",
            ),
            (r#"["x"] + claims.groups == []"#, "`+` does not join lists"),
            (r#"claims["a"] + claims.b.c == []"#, "`+` does not join lists"),
            ("[claims.a] == []", "a list cannot contain lists, and a claim may be one"),
            ("[claims] == []", "a list cannot contain lists"),
            ("[claims.a.b.c] == []", "a list cannot contain lists"),
            (r#"{"a": claims.a} == {}"#, "a list cannot contain lists"),
            ("[true ? claims.a : 1] == []", "a list cannot contain lists"),
            ("[dyn(claims).a] == []", "a list cannot contain lists"),
            ("claims.a.map(x, claims.b) == []", "a list cannot contain lists"),
            ("claims in [1]", "the left side of `in` cannot be a list"),
            ("claims.a.exists(a, claims.b.exists(b, a == b))", "a macro inside of a macro"),
            ("claims.a.split(claims.b).size() == 1", "as many pieces as a text has bytes"),
        ] {
            let error = Condition::parse_about(Subject::External, text).unwrap_err();
            assert!(
                error.message.starts_with(limit) || error.message.contains(limit),
                "{text}: {}",
                error.message
            );
        }
        for text in [
            r#"claims.tid in ["a", "b"]"#,
            r#"claims.groups.exists(g, g in ["a", "b"] && g in claims.others)"#,
            r#""team:" + claims.team == "team:x" && claims.a + "b" + claims.c == "x""#,
            r#"string(claims.a) + string(claims.b) == "x""#,
            r#"[string(claims.a), claims.groups[0]] == []"#,
            r#"claims.groups.map(g, "team:" + g) == []"#,
            "claims.groups.map(g, g + g) == [] && claims.groups.map(g, g) == []",
            "[has(claims.a)] == []",
            r#"claims.scope.split(" ", 16).exists(s, s == "x")"#,
        ] {
            let parsed = Condition::parse_about(Subject::External, text);
            assert!(parsed.is_ok(), "{text}: {:?}", parsed.err());
        }
    }

    #[test]
    fn functions_that_make_values_larger_or_compare_all_pairs_are_not_known() {
        let message = refusal(r#"request.path.replace("/", "") == "x""#);
        let start = "replace(): unknown function (there are bool, bytes, charAt, contains, ";
        assert!(message.starts_with(start), "{message}");
        for call in [
            r#"request.path.replace("", request.path)"#,
            "user.roles.join(request.path)",
            r#""%s".format([user.roles])"#,
            "request.path.indexOf(user.name)",
            "user.roles.distinct()",
            "user.roles.sortBy(a, a)",
        ] {
            let message = refusal(&format!("{call} == 1"));
            assert!(
                message.contains("unknown function") || message.contains("did you mean"),
                "{call}: {message}"
            );
        }
    }

    #[test]
    fn a_macro_over_a_longer_list_fails() {
        let caller = sample::caller_facts();
        let mut request = sample::request();
        request.path = Some("/a".repeat(32).into());
        let condition =
            Condition::parse(r#"(request.path + request.path).split("/").exists(s, s == "x")"#)
                .unwrap();
        let explanation = condition.explain(&caller, &request);
        assert!(condition.holds(&caller, &request).is_err());
        assert!(explanation.cause.value.contains("at most 64 elements"), "{explanation:?}");
    }

    #[test]
    fn a_condition_with_too_much_nesting_is_refused() {
        let nested = |times: usize| "(".repeat(times) + "true" + &")".repeat(times);
        let chained = |times: usize| vec!["1"; times].join(" - ") + " == 1";
        let negated = |times: usize| "!(".repeat(times) + "true" + &")".repeat(times);
        let chosen = |times: usize| "user.disabled ? false : ".repeat(times) + "true";
        for few in [nested(20), chained(40), negated(20), chosen(20)] {
            assert!(Condition::parse(&few).is_ok(), "{few}");
        }
        for many in [nested(3000), chained(60), chained(2000), negated(2000), chosen(300)] {
            assert!(Condition::parse(&many).is_err(), "{many}");
        }
    }

    #[test]
    fn usual_conditions_are_within_the_limits() {
        let staff: Vec<_> = (0..250).map(|n| format!(r#""user{n}@example.com""#)).collect();
        for text in [
            r#""staff" in user.roles"#,
            r#"user.roles.exists(role, role.startsWith("team:"))"#,
            r#"user.roles.exists(role, role in ["admin", "editor", "owner"])"#,
            r#"user.roles.exists(role, request.path.startsWith("/teams/" + role + "/"))"#,
            r#"["admin", "editor"].exists(role, role in user.roles)"#,
            r#"request.path.split("/").exists(part, part == "admin")"#,
            r#"request.path.split("/")[1] in user.roles"#,
            r#"request.path.startsWith("/users/" + user.id + "/")"#,
            r#"request.path.matches("^/reports/[0-9]{4}/[a-z-]+$") && user.email.matches("@example[.](com|org)$")"#,
            r#"request.method in ["GET", "HEAD"] ? true : "editor" in user.roles && request.path.startsWith("/reports/")"#,
            r#"request.time - session.createdAt < duration("8h") && request.time.getHours("Europe/Berlin") >= 8"#,
            r#"user.name.lower() == "miles davis" || user.email.lowerAscii().endsWith("@example.com")"#,
            r#"user.roles.filter(r, r != "staff").size() == 1"#,
            r#"request.path.lower().contains("/admin/") || request.host.endsWith(".internal")"#,
            &format!("user.email in [{}]", staff.join(", ")),
        ] {
            assert!(Condition::parse(text).is_ok(), "{text}: {}", refusal(text));
        }
    }
}
