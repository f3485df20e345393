//! Finds comparisons that have the same result for everybody, because values of different types are compared.

use cel::{
    Value,
    common::ast::{Expr, IdedExpr, LiteralValue, operators},
};

use super::{children::children_of, evaluate::Evaluation};

/// The first such comparison, and what to write in its place. The types of literals, fields, operators and functions do not depend
/// on the caller, so those for a sample are those for everybody.
pub(super) fn constant_comparison<'p>(
    condition: &'p IdedExpr,
    evaluation: &Evaluation<'_>,
) -> Option<(&'p IdedExpr, String)> {
    let mut parts = vec![condition];
    while let Some(part) = parts.pop() {
        if let Expr::Call(call) = &part.expr
            && let [left, right] = call.args.as_slice()
            && let Some(found) = judge(&call.func_name, left, right, evaluation)
        {
            return Some((part, found));
        }
        // The first part of the text is visited first.
        parts.extend(children_of(part).into_iter().rev());
    }
    None
}

fn judge(
    operator: &str,
    left: &IdedExpr,
    right: &IdedExpr,
    evaluation: &Evaluation<'_>,
) -> Option<String> {
    let (sign, result) = match operator {
        operators::EQUALS => ("==", "never true"),
        operators::NOT_EQUALS => ("!=", "always true"),
        operators::IN => ("in", "never true"),
        _ => return None,
    };
    if is_literal(left) && is_literal(right) {
        return None;
    }
    // The one that is no literal, and what it is compared with.
    let (fact, values) = if sign == "in" {
        (left, elements(right, evaluation)?)
    } else if is_literal(left) {
        (right, vec![Compared::of(left, evaluation)?])
    } else {
        (left, vec![Compared::of(right, evaluation)?])
    };
    let expected = sure_kind(fact, evaluation)?;
    let first = values.first().filter(|_| values.iter().all(|value| value.kind != expected))?;
    let name = field_name(fact).unwrap_or_else(|| "this value".into());
    if is_literal(fact) {
        let list = field_name(right)?;
        let wanted = first.kind;
        return Some(format!(
            "… in {list} is {result}, because each of {list} is {wanted} and is compared with {expected}: compare it with {wanted}"
        ));
    }
    let advice = match (expected, sign, first.text) {
        (LIST, "==", Some(text)) => format!("write {text:?} in {name}"),
        (LIST, "!=", Some(text)) => format!("write !({text:?} in {name})"),
        _ => format!("compare it with {expected}"),
    };
    Some(format!(
        "{name} {sign} … is {result}, because {name} is {expected} and is compared with {}: {advice}",
        first.kind
    ))
}

/// What a fact is compared with.
struct Compared<'p> {
    kind: &'static str,
    /// If it is a literal text.
    text: Option<&'p str>,
}

impl<'p> Compared<'p> {
    fn of(expression: &'p IdedExpr, evaluation: &Evaluation<'_>) -> Option<Self> {
        let text = match &expression.expr {
            Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
            _ => None,
        };
        Some(Self { kind: sure_kind(expression, evaluation)?, text })
    }
}

/// What the elements of a list are, if all are known: those that are written there, or the first one of a field, whose elements are
/// of one type.
fn elements<'p>(list: &'p IdedExpr, evaluation: &Evaluation<'_>) -> Option<Vec<Compared<'p>>> {
    if let Expr::List(list) = &list.expr {
        return list.elements.iter().map(|element| Compared::of(element, evaluation)).collect();
    }
    field_name(list)?;
    match evaluation.resolve(list).ok()? {
        Value::List(values) => {
            values.first().and_then(kind).map(|kind| vec![Compared { kind, text: None }])
        }
        _ => None,
    }
}

fn is_literal(expression: &IdedExpr) -> bool {
    match &expression.expr {
        Expr::Literal(_) => true,
        Expr::List(list) => list.elements.iter().all(is_literal),
        _ => false,
    }
}

/// The kind of the value of an expression. `None` if it may be of another kind for another caller, and for `null`, which a field may
/// be.
fn sure_kind(expression: &IdedExpr, evaluation: &Evaluation<'_>) -> Option<&'static str> {
    let is_typed = match &expression.expr {
        Expr::Literal(_) | Expr::Select(_) => true,
        Expr::List(_) => return Some(LIST),
        Expr::Call(call) if call.func_name == operators::INDEX => field_name(expression).is_some(),
        Expr::Call(call) => ![operators::CONDITIONAL, "dyn"].contains(&call.func_name.as_str()),
        _ => false,
    };
    if !is_typed {
        return None;
    }
    kind(&evaluation.resolve(expression).ok()?)
}

/// The name of a field of a variable, such as `user.roles`.
fn field_name(expression: &IdedExpr) -> Option<String> {
    let (operand, field) = match &expression.expr {
        Expr::Select(select) if !select.test => (&*select.operand, select.field.as_str()),
        Expr::Call(call) if call.func_name == operators::INDEX => match call.args.as_slice() {
            [operand, IdedExpr { expr: Expr::Literal(LiteralValue::String(field)), .. }] => {
                (operand, field.inner())
            }
            _ => return None,
        },
        _ => return None,
    };
    match &operand.expr {
        Expr::Ident(variable) => Some(format!("{variable}.{field}")),
        _ => None,
    }
}

const LIST: &str = "a list";
const TEXT: &str = "a text";
const NUMBER: &str = "a number";
const FLAG: &str = "true or false";
const TIME: &str = "a time";
const DURATION: &str = "a duration";

/// Values of different kinds are never equal. Numbers of all types can be.
fn kind(value: &Value) -> Option<&'static str> {
    match value {
        Value::List(_) => Some(LIST),
        Value::String(_) => Some(TEXT),
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => Some(NUMBER),
        Value::Bool(_) => Some(FLAG),
        Value::Timestamp(_) => Some(TIME),
        Value::Duration(_) => Some(DURATION),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Condition, Expression, Subject};

    fn found(text: &str) -> Option<String> {
        Condition::parse(text).err().map(|error| error.message)
    }

    #[test]
    fn a_field_that_is_compared_with_another_type_is_found() {
        assert_eq!(
            found(r#"user.roles == "staff""#).unwrap(),
            r#"user.roles == … is never true, because user.roles is a list and is compared with a text: write "staff" in user.roles"#
        );
        for (text, part) in [
            (r#""staff" == user["roles"] || user.emailVerified"#, r#"write "staff" in user.roles"#),
            (r#"user.emailVerified && user.roles != "banned""#, "user.roles != … is always true"),
            (r#"user.emailVerified == "true""#, "compare it with true or false"),
            (r#"user.createdAt == "2027-01-15""#, "compare it with a time"),
            (r#"user.lastLoginAt == "2027-01-15""#, "compare it with a time"),
            ("user.email == 1", "compare it with a text"),
            (r#"session.factors == "totp""#, r#"write "totp" in session.factors"#),
            (r#"user.factors != "totp""#, r#"write !("totp" in user.factors)"#),
            (r#"session.strength == "2""#, "compare it with a number"),
            (r#"session.phishingResistant == "yes""#, "compare it with true or false"),
            (r#"session.verifiedAt != 600"#, "compare it with a time"),
            (r#"user.emailVerified in ["true", "yes"]"#, "compare it with true or false"),
            (r#"user.roles in ["staff", "admin"]"#, "look for single elements"),
            ("1 in user.roles", "each of user.roles is a text and is compared with a number"),
            ("user.emailVerified in user.roles", "is never true"),
            (r#"size(user.roles) == "2""#, "this value is a number and is compared with a text"),
            (r#"user.email.lowerAscii() == ["a"]"#, "this value is a text"),
            ("request.time - session.verifiedAt == 600", "this value is a duration"),
            ("user.email == user.roles", "user.email is a text and is compared with a list"),
            (
                r#"user.roles.exists(role, role == "x") && request.method == 7"#,
                "request.method == …",
            ),
        ] {
            let found = found(text).unwrap_or_else(|| panic!("{text}"));
            assert!(found.contains(part), "{found}");
        }
    }

    #[test]
    fn an_order_of_different_types_is_found() {
        for text in [
            r#"session.strength < "2""#,
            "user.email >= 5",
            r#"user.roles > "staff""#,
            r#"user.createdAt < "2027-01-15""#,
            r#"request.time - session.verifiedAt < 600"#,
            r#"user.emailVerified && user.lastLoginAt <= "2027""#,
            r#""staff" in user.email"#,
        ] {
            assert!(found(text).is_some(), "{text}");
        }
    }

    #[test]
    fn every_subject_and_every_expression_refuses_it_with_the_place() {
        for (subject, text) in [
            (Subject::Caller, r#"user.emailVerified &&  user.roles == "staff""#),
            (Subject::Registrant, r#"user.domain != "" && user.email == 1"#),
            (Subject::Inviter, r#"user.emailVerified && user.roles == "staff""#),
            (Subject::Key, r#"key.name != "" && request.method == true"#),
        ] {
            let error = Condition::parse_about(subject, text).unwrap_err();
            assert!(text[error.at..].starts_with("=="), "{text}: {error:?}");
        }
        let header = Expression::parse(r#"user.roles == "staff" ? "yes" : "no""#);
        assert!(header.is_err_and(|error| error.message.contains("is never true")));
    }

    #[test]
    fn a_comparison_that_depends_on_the_caller_is_not() {
        for text in [
            r#""staff" in user.roles"#,
            r#"user.roles == ["staff"]"#,
            r#"user.email == "ada@example.com""#,
            "user.emailVerified == true",
            "user.lastLoginAt != null",
            r#"user.email in ["ada@example.com", "bob@example.com"]"#,
            r#"user.email in ["ada@example.com", 7]"#,
            r#"user.roles.exists(role, role == "staff")"#,
            r#"user.roles.exists_one(role, role.startsWith("a"))"#,
            r#"user.roles.filter(role, role != "x") == ["y"]"#,
            r#"user.roles.map(role, size(role)) == [1]"#,
            "size(user.roles) == 2",
            "size(user.roles) == 2.0",
            "request.time > session.createdAt",
            "session.strength == 2",
            "session.strength in [1, 2]",
            r#""passkey" in session.factors"#,
            r#"user.name == user.email"#,
            r#"user.name in user.roles"#,
            r#"user.email.split("@", 2)[1] == "example.com""#,
            r#"(user.emailVerified ? user.name : "") == "x""#,
            r#"request.time.getHours() == 9 && (user.emailVerified && true) == true"#,
            r#"request.time - session.verifiedAt == duration("10m")"#,
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
