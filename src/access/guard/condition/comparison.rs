//! Finds comparisons that have the same result for everybody, because a field is compared with values of another type.

use cel::{
    Value,
    common::ast::{Expr, IdedExpr, LiteralValue, operators},
};

use super::{check::children_of, evaluate::Evaluation};

/// What is wrong with the first such comparison, and what to write. Only fields and literals are compared here: their types do not
/// depend on the caller.
pub(super) fn constant_comparison(
    condition: &IdedExpr,
    evaluation: &Evaluation<'_>,
) -> Option<String> {
    let mut parts = vec![condition];
    while let Some(part) = parts.pop() {
        if let Expr::Call(call) = &part.expr
            && let [left, right] = call.args.as_slice()
            && let Some(found) = judge(&call.func_name, left, right, evaluation)
        {
            return Some(found);
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
    let (field, values) = match (field_name(left), field_name(right)) {
        (Some(field), None) if sign == "in" => (field, elements(right)?),
        (Some(field), None) => (field, vec![right]),
        (None, Some(field)) if sign != "in" => (field, vec![left]),
        _ => return None,
    };
    let place = if field_name(left).is_some() { left } else { right };
    let expected = kind(&evaluation.resolve(place).ok()?)?;
    let kinds: Option<Vec<_>> = values.iter().map(|value| literal_kind(value)).collect();
    let kinds = kinds.filter(|kinds| !kinds.is_empty() && !kinds.contains(&expected))?;
    let advice = match (expected, values.as_slice()) {
        (LIST, [value]) => match &value.expr {
            Expr::Literal(LiteralValue::String(text)) if sign == "==" => {
                format!("write {:?} in {field}", text.inner())
            }
            Expr::Literal(LiteralValue::String(text)) => {
                format!("write !({:?} in {field})", text.inner())
            }
            _ => format!("compare it with {expected}"),
        },
        _ => format!("compare it with {expected}"),
    };
    Some(format!(
        "{field} {sign} … is {result}, because {field} is {expected} and is compared with {}: {advice}",
        kinds[0]
    ))
}

/// The literals of a list, if it has nothing else.
fn elements(list: &IdedExpr) -> Option<Vec<&IdedExpr>> {
    match &list.expr {
        Expr::List(list) => Some(list.elements.iter().collect()),
        _ => None,
    }
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

/// Values of different kinds are never equal. Numbers of all types can be. `None` if the field may have another kind for another
/// caller.
fn kind(value: &Value) -> Option<&'static str> {
    match value {
        Value::List(_) => Some(LIST),
        Value::String(_) => Some(TEXT),
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => Some(NUMBER),
        Value::Bool(_) => Some(FLAG),
        Value::Timestamp(_) => Some(TIME),
        _ => None,
    }
}

/// The kind of a literal. `None` for everything else, and for `null`, which a field may be.
fn literal_kind(expression: &IdedExpr) -> Option<&'static str> {
    match &expression.expr {
        Expr::List(_) => Some(LIST),
        Expr::Literal(LiteralValue::String(_)) => Some(TEXT),
        Expr::Literal(LiteralValue::Int(_) | LiteralValue::UInt(_) | LiteralValue::Double(_)) => {
            Some(NUMBER)
        }
        Expr::Literal(LiteralValue::Boolean(_)) => Some(FLAG),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Condition;

    fn found(text: &str) -> Option<String> {
        Condition::parse(text)
            .unwrap_or_else(|error| panic!("{text}: {error:?}"))
            .comparison_warning
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
            ("user.email == 1", "compare it with a text"),
            (r#"session.factors == "totp""#, r#"write "totp" in session.factors"#),
            (r#"user.factors != "totp""#, r#"write !("totp" in user.factors)"#),
            (r#"session.strength == "2""#, "compare it with a number"),
            (r#"session.phishingResistant == "yes""#, "compare it with true or false"),
            (r#"session.verifiedAt != 600"#, "compare it with a time"),
            (r#"user.emailVerified in ["true", "yes"]"#, "compare it with true or false"),
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
    fn a_comparison_that_depends_on_the_caller_is_not() {
        for text in [
            r#""staff" in user.roles"#,
            r#"user.roles == ["staff"]"#,
            r#"user.email == "ada@example.com""#,
            "user.emailVerified == true",
            "user.lastLoginAt != null",
            r#"user.email in ["ada@example.com", "bob@example.com"]"#,
            r#"user.roles.exists(role, role == "staff")"#,
            "size(user.roles) == 2",
            "request.time > session.createdAt",
            "session.strength == 2",
            "session.strength in [1, 2]",
            r#""passkey" in session.factors"#,
            r#"user.name == user.email"#,
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
