//! Explains a decision: the value of every part of a condition, and the part that decided.

use std::fmt::Write;

use cel::{
    Value,
    common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    evaluate::Evaluation,
    prepare::{Loop, Part, Prepared},
};

/// The parts of a condition with their values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The parts, starting with the whole condition.
    pub steps: Vec<Step>,
    /// The part because of which the condition is not true.
    pub cause: Step,
}

/// One part of a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ExplainedStep")]
pub struct Step {
    /// The nesting depth.
    pub depth: usize,
    pub text: String,
    /// The value, or the error.
    pub value: String,
}

/// The most parts in an explanation.
const MAX_STEPS: usize = 64;
/// The most characters of a text or value.
const MAX_CHARACTERS: usize = 200;

pub(super) fn explain(evaluation: &Evaluation<'_>) -> Explanation {
    let mut steps = Vec::new();
    let whole = &evaluation.prepared.expression;
    describe(whole, 0, evaluation, &mut steps);
    Explanation { steps, cause: step(cause(whole, evaluation), 0, evaluation) }
}

fn describe(
    expression: &IdedExpr,
    depth: usize,
    evaluation: &Evaluation<'_>,
    steps: &mut Vec<Step>,
) {
    let is_obvious = match &expression.expr {
        Expr::Literal(_) => true,
        Expr::Ident(name) => !matches!(evaluation.prepared.part(name), Some(Part::Loop(_))),
        _ => false,
    };
    if is_obvious || steps.len() == MAX_STEPS {
        return;
    }
    steps.push(step(expression, depth, evaluation));
    for part in evaluation.prepared.parts_of(expression) {
        describe(part, depth + 1, evaluation, steps);
    }
}

fn step(expression: &IdedExpr, depth: usize, evaluation: &Evaluation<'_>) -> Step {
    let value = match evaluation.resolve(expression) {
        Ok(value) => show(&value),
        Err(error) => format!("error: {error}"),
    };
    Step {
        depth,
        text: shorten(Writer(evaluation.prepared).write(expression)),
        value: shorten(value),
    }
}

/// The smallest part that makes the condition not true.
fn cause<'e>(expression: &'e IdedExpr, evaluation: &Evaluation<'_>) -> &'e IdedExpr {
    let is_true = |part: &IdedExpr| matches!(evaluation.truth(part), Ok(Some(true)));
    let Expr::Call(call) = &expression.expr else { return expression };
    match (call.func_name.as_str(), call.args.as_slice()) {
        (operators::LOGICAL_AND, sides) => match sides.iter().find(|side| !is_true(side)) {
            Some(untrue) => cause(untrue, evaluation),
            None => expression,
        },
        (operators::CONDITIONAL, [condition, then, otherwise]) => {
            cause(if is_true(condition) { then } else { otherwise }, evaluation)
        }
        _ => expression,
    }
}

fn shorten(text: String) -> String {
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn show(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Null => "null".into(),
        // A sign-in or a proof by a clock that was ahead counts as the oldest.
        Value::Timestamp(time) if time.timestamp() == 0 => {
            format!("{} (unknown: a clock was ahead)", time.to_rfc3339())
        }
        Value::Timestamp(time) => time.to_rfc3339(),
        Value::Duration(duration) => format!("{}s", duration.num_seconds()),
        Value::List(elements) => {
            let elements: Vec<_> = elements.iter().map(show).collect();
            format!("[{}]", elements.join(", "))
        }
        other => other.type_of().to_string(),
    }
}

/// Formats an expression as CEL.
struct Writer<'p>(&'p Prepared);

impl Writer<'_> {
    fn write(&self, expression: &IdedExpr) -> String {
        match &expression.expr {
            Expr::Ident(name) => match self.0.part(name) {
                Some(Part::Pattern(pattern)) => format!("{:?}", pattern.text()),
                Some(Part::Network(network)) => format!("{:?}", network.text()),
                Some(Part::List(_, elements)) => format!("[{}]", self.write_all(elements)),
                Some(Part::Loop(a_loop)) => self.write_loop(a_loop),
                None => name.clone(),
            },
            Expr::Literal(literal) => write_literal(literal),
            Expr::Select(select) if select.test => {
                format!("has({}.{})", self.write(&select.operand), select.field)
            }
            Expr::Select(select) => format!("{}.{}", self.write(&select.operand), select.field),
            Expr::List(list) => format!("[{}]", self.write_all(&list.elements)),
            Expr::Call(call) => self.write_call(call),
            Expr::Comprehension(_) | Expr::Map(_) | Expr::Struct(_) | Expr::Unspecified => {
                "{…}".into()
            }
        }
    }

    fn write_all(&self, expressions: &[IdedExpr]) -> String {
        let written: Vec<_> = expressions.iter().map(|expression| self.write(expression)).collect();
        written.join(", ")
    }

    fn write_call(&self, call: &CallExpr) -> String {
        let name = call.func_name.as_str();
        let nested = |expression| self.nested(expression);
        match (name, call.args.as_slice()) {
            (operators::CONDITIONAL, [condition, then, otherwise]) => {
                format!("{} ? {} : {}", nested(condition), nested(then), nested(otherwise))
            }
            (operators::LOGICAL_NOT, [operand]) => format!("!{}", nested(operand)),
            (operators::NEGATE, [operand]) => format!("-{}", nested(operand)),
            (operators::INDEX, [operand, index]) => {
                format!("{}[{}]", nested(operand), self.write(index))
            }
            (operators::IN, [element, list]) => format!("{} in {}", nested(element), nested(list)),
            (_, sides) if name.starts_with('_') && name.ends_with('_') => {
                let sides: Vec<_> = sides.iter().map(nested).collect();
                sides.join(&format!(" {} ", name.trim_matches('_')))
            }
            (_, arguments) => {
                let mut written = String::new();
                if let Some(target) = &call.target {
                    let _ = write!(written, "{}.", nested(target));
                }
                let _ = write!(written, "{name}({})", self.write_all(arguments));
                written
            }
        }
    }

    /// An operand, in parentheses if it is itself an operation.
    fn nested(&self, expression: &IdedExpr) -> String {
        let is_operator = matches!(&expression.expr, Expr::Call(call)
            if call.func_name.starts_with('_') && call.func_name != operators::INDEX
                || call.func_name == operators::IN);
        let written = self.write(expression);
        if is_operator { format!("({written})") } else { written }
    }

    fn write_loop(&self, a_loop: &Loop) -> String {
        let name = a_loop.kind.name();
        format!("{}.{name}({}, …)", self.nested(&a_loop.range), a_loop.variable)
    }
}

fn write_literal(literal: &LiteralValue) -> String {
    match literal {
        LiteralValue::Boolean(truth) => truth.inner().to_string(),
        LiteralValue::Double(number) => number.inner().to_string(),
        LiteralValue::Int(number) => number.inner().to_string(),
        LiteralValue::UInt(number) => format!("{}u", number.inner()),
        LiteralValue::String(text) => format!("{:?}", text.inner()),
        LiteralValue::Null => "null".into(),
        LiteralValue::Bytes(_) => "b\"…\"".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Condition, sample};

    fn explain(text: &str) -> (Vec<String>, String) {
        let condition = Condition::parse(text).unwrap();
        let explanation = condition.explain(&sample::caller_facts(), &sample::request());
        let line = |step: &super::Step| {
            format!("{}{} = {}", "  ".repeat(step.depth), step.text, step.value)
        };
        (explanation.steps.iter().map(line).collect(), line(&explanation.cause))
    }

    #[test]
    fn an_explanation_has_the_value_of_every_part_and_the_first_untrue_one() {
        let (steps, cause) =
            explain(r#"!user.disabled && "boss" in user.roles && user.roles[9] == """#);
        assert_eq!(
            steps,
            [
                r#"(!user.disabled && ("boss" in user.roles)) && (user.roles[9] == "") = false"#,
                r#"  !user.disabled && ("boss" in user.roles) = false"#,
                "    !user.disabled = true",
                "      user.disabled = false",
                r#"    "boss" in user.roles = false"#,
                r#"      user.roles = ["admin", "staff"]"#,
                r#"  user.roles[9] == "" = error: Index out of bounds: Int(9)"#,
                "    user.roles[9] = error: Index out of bounds: Int(9)",
                r#"      user.roles = ["admin", "staff"]"#,
            ]
        );
        assert_eq!(cause, r#""boss" in user.roles = false"#);
    }

    #[test]
    fn a_time_that_a_clock_ahead_has_made_unknown_is_called_so() {
        let shown = |seconds| {
            let time = chrono::DateTime::from_timestamp(seconds, 0).unwrap();
            super::show(&cel::Value::Timestamp(time.fixed_offset()))
        };
        assert_eq!(shown(0), "1970-01-01T00:00:00+00:00 (unknown: a clock was ahead)");
        assert_eq!(shown(1_800_000_000), "2027-01-15T08:00:00+00:00");
    }

    #[test]
    fn conditions_are_formatted_as_written() {
        for text in [
            r#"user.name.lower() == "miles davis""#,
            r#"user.roles.exists(r, …)"#,
            r#"(user.disabled ? user.name : user.email) == "x""#,
            r#"request.method in ["GET", "HEAD"]"#,
            r#"has(user.email)"#,
            r#"request.address.inNetwork("192.0.2.0/24")"#,
            r#"request.path.substring(1, 3) != "ab""#,
        ] {
            let source = text.replace('…', "r == \"x\"");
            assert_eq!(explain(&source).0[0].split(" = ").next(), Some(text));
        }
    }
}
