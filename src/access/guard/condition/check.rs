//! Checks a condition when it is parsed: unknown names, wrong types, comparisons that have one result for everybody, limits, a result
//! that is not a boolean.

use cel::{
    ExecutionError, Program, Value,
    common::ast::{EntryExpr, Expr, IdedExpr, operators},
};

use super::{
    ConditionError,
    children::children_of,
    comparison::constant_comparison,
    evaluate::Evaluation,
    facts::{REQUEST, Variables},
    limits::{MAX_DEPTH, check_limits},
    prepare::{Kind, Part, Prepared},
    sample,
    subject::Subject,
    text_value::{ExpressionValue, to_text},
};
use crate::spelling::suggest;

/// A condition that has been checked.
pub(super) struct Checked {
    pub(super) prepared: Prepared,
    /// The fields of `request` that it reads.
    pub(super) request_fields: Vec<&'static str>,
}

/// What an expression has to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// True or false: a condition.
    Truth,
    /// What can be written as a text.
    Text,
    /// A list of texts.
    TextList,
}

impl Wanted {
    fn is(self, value: &Value) -> bool {
        match self {
            Self::Truth => matches!(value, Value::Bool(_)),
            Self::Text => to_text(value).is_some(),
            Self::TextList => matches!(to_text(value), Some(ExpressionValue::List(_))),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Truth => "true or false",
            Self::Text => "a text, a number, true or false, or a list of texts",
            Self::TextList => "a list of texts",
        }
    }
}

/// Checks a condition or another expression and prepares it.
pub(super) fn check(
    subject: Subject,
    wanted: Wanted,
    program: &Program,
    text: &str,
) -> Result<Checked, ConditionError> {
    check_depth(program, text)?;
    let mut names =
        NameChecker { subject, program, text, bound: Vec::new(), request_fields: Vec::new() };
    names.check(program.expression())?;
    let mut request_fields = names.request_fields;
    request_fields.sort_unstable();
    request_fields.dedup();
    let error =
        |at: &IdedExpr, message| ConditionError { at: position(program, text, at), message };
    let prepared = Prepared::new(program.expression(), subject.pattern_limit())
        .map_err(|failed| error(failed.at, failed.message))?;
    check_limits(&prepared).map_err(|(at, message)| error(at, message))?;
    check_types(subject, wanted, &prepared, program, text)?;
    Ok(Checked { prepared, request_fields })
}

/// Checks the nesting before anything recurses.
fn check_depth(program: &Program, text: &str) -> Result<(), ConditionError> {
    let mut parts = vec![(program.expression(), 1)];
    while let Some((part, depth)) = parts.pop() {
        if depth > MAX_DEPTH {
            let message = format!(
                "nested more than {MAX_DEPTH} levels deep: write fewer operators in a row, or a list with `in`"
            );
            return Err(ConditionError { at: position(program, text, part), message });
        }
        parts.extend(children_of(part).into_iter().map(|child| (child, depth + 1)));
    }
    Ok(())
}

/// The functions that a condition may call, other than operators and macros. Each takes time in proportion to the text that it
/// reads, and its result is no longer than that: so `replace`, `join`, `format` and `indexOf` of CEL are not here.
const FUNCTIONS: &[&str] = &[
    "bool",
    "bytes",
    "charAt",
    "contains",
    "double",
    "duration",
    "dyn",
    "endsWith",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "inNetwork",
    "int",
    "lower",
    "lowerAscii",
    "matches",
    "reverse",
    "size",
    "split",
    "startsWith",
    "string",
    "substring",
    "timestamp",
    "trim",
    "type",
    "uint",
    "upperAscii",
];

/// Checks the names in a condition.
struct NameChecker<'p> {
    subject: Subject,
    program: &'p Program,
    text: &'p str,
    /// The variables of the enclosing macros.
    bound: Vec<&'p str>,
    request_fields: Vec<&'static str>,
}

impl<'p> NameChecker<'p> {
    fn check(&mut self, expression: &'p IdedExpr) -> Result<(), ConditionError> {
        match &expression.expr {
            Expr::Unspecified | Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.variable(expression, name).map(|()| {
                // A whole variable gives access to every field.
                if name == REQUEST {
                    self.request_fields.extend(self.subject.fields(REQUEST).unwrap_or_default());
                }
            }),
            Expr::Select(select) => self.field(expression, &select.operand, &select.field),
            Expr::Call(call) => {
                if call.func_name == operators::INDEX
                    && let [operand, index] = call.args.as_slice()
                    && let Expr::Literal(cel::common::ast::LiteralValue::String(field)) =
                        &index.expr
                {
                    return self.field(expression, operand, field.inner());
                }
                self.function(expression, &call.func_name)?;
                call.target.iter().try_for_each(|target| self.check(target))?;
                call.args.iter().try_for_each(|argument| self.check(argument))
            }
            Expr::List(list) => list.elements.iter().try_for_each(|element| self.check(element)),
            Expr::Map(map) => map.entries.iter().try_for_each(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => {
                    self.check(&entry.key)?;
                    self.check(&entry.value)
                }
                EntryExpr::StructField(field) => self.check(&field.value),
            }),
            Expr::Struct(message) => {
                Err(self.error(expression, format!("{}: unknown type", message.type_name)))
            }
            Expr::Comprehension(macro_call) => {
                self.check(&macro_call.iter_range)?;
                self.check(&macro_call.accu_init)?;
                let outside = self.bound.len();
                self.bound.extend([macro_call.iter_var.as_str(), macro_call.accu_var.as_str()]);
                self.bound.extend(macro_call.iter_var2.as_deref());
                self.check(&macro_call.loop_cond)?;
                self.check(&macro_call.loop_step)?;
                self.check(&macro_call.result)?;
                self.bound.truncate(outside);
                Ok(())
            }
        }
    }

    fn variable(&self, expression: &IdedExpr, name: &str) -> Result<(), ConditionError> {
        if self.bound.contains(&name) || self.subject.fields(name).is_some() {
            return Ok(());
        }
        let variables: Vec<_> = self.subject.variables().iter().map(|(known, _)| *known).collect();
        let all = match variables.split_last() {
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        };
        let message = if Subject::Caller.fields(name).is_some() {
            format!("{name}: cannot be read {} (there are {all})", self.subject.moment())
        } else {
            match suggest(name, variables.into_iter()) {
                Some(meant) => format!("{name}: did you mean {meant}?"),
                None => format!("{name}: unknown variable (there are {all})"),
            }
        };
        Err(self.error(expression, message))
    }

    fn field(
        &mut self,
        expression: &IdedExpr,
        of: &'p IdedExpr,
        field: &str,
    ) -> Result<(), ConditionError> {
        let Expr::Ident(variable) = &of.expr else { return self.check(of) };
        self.variable(of, variable)?;
        let fields = self.subject.fields(variable);
        let Some(fields) = fields.filter(|_| !self.bound.contains(&variable.as_str())) else {
            return Ok(());
        };
        if self.subject.is_open(variable) {
            return Ok(());
        }
        let Some(known) = fields.iter().find(|known| **known == field) else {
            return Err(self.error(expression, self.unreadable_field(variable, field, fields)));
        };
        if variable == REQUEST {
            self.request_fields.push(known);
        }
        Ok(())
    }

    fn unreadable_field(&self, variable: &str, field: &str, fields: &[&'static str]) -> String {
        let all = fields.join(", ");
        let elsewhere = Subject::Caller.fields(variable).unwrap_or_default();
        if elsewhere.contains(&field) {
            let moment = self.subject.moment();
            return format!("{variable}.{field}: cannot be read {moment} ({variable} has {all})");
        }
        match suggest(field, fields.iter().copied()) {
            Some(meant) => format!("{variable}.{field}: did you mean {meant}?"),
            None => format!("{variable}.{field}: unknown field ({variable} has {all})"),
        }
    }

    fn function(&self, expression: &IdedExpr, name: &str) -> Result<(), ConditionError> {
        let is_operator = !name.starts_with(|c: char| c.is_ascii_alphabetic());
        if is_operator || FUNCTIONS.contains(&name) {
            return Ok(());
        }
        let message = match suggest(name, FUNCTIONS.iter().copied()) {
            Some(meant) => format!("{name}(): did you mean {meant}()?"),
            None => format!("{name}(): unknown function (there are {})", FUNCTIONS.join(", ")),
        };
        Err(self.error(expression, message))
    }

    fn error(&self, expression: &IdedExpr, message: String) -> ConditionError {
        ConditionError { at: position(self.program, self.text, expression), message }
    }
}

/// Evaluates every part of the condition for a sample of its subject. This also finds type errors in parts that are rarely
/// evaluated.
fn check_types(
    subject: Subject,
    wanted: Wanted,
    prepared: &Prepared,
    program: &Program,
    text: &str,
) -> Result<(), ConditionError> {
    let (caller, request) = (subject.sample_facts(), sample::request());
    let evaluation = Evaluation::new(prepared, Variables::new(&caller, &request));
    let whole = &prepared.expression;
    let mut parts = vec![whole];
    while let Some(part) = parts.pop() {
        if matches!(&part.expr, Expr::Ident(name) if prepared.is_compiled(name)) {
            continue;
        }
        let outcome = evaluation.resolve(part);
        if let Err(error) = &outcome
            && is_type_error(error)
        {
            return Err(ConditionError {
                at: position(program, text, part),
                message: error.to_string(),
            });
        }
        if std::ptr::eq(part, whole)
            && let Ok(value) = outcome
            && !wanted.is(&value)
        {
            let message = format!("gives {}, not {}", value.type_of(), wanted.name());
            return Err(ConditionError { at: position(program, text, part), message });
        }
        parts.extend(prepared.parts_of(part));
    }
    if subject == Subject::External
        && let Some((part, got)) = wrong_result(wanted, whole, prepared, &evaluation)
    {
        let message = format!("gives {got}, not {}", wanted.name());
        return Err(ConditionError { at: position(program, text, part), message });
    }
    match constant_comparison(program.expression(), &evaluation) {
        Some((part, message)) => Err(ConditionError { at: position(program, text, part), message }),
        None => Ok(()),
    }
}

/// The first result of an expression that is never what is wanted, and its type. What reads a claim has no value for a sample, so the
/// branches of `?:` are looked at one by one, and of operators and macros only what they always give.
fn wrong_result<'e>(
    wanted: Wanted,
    part: &'e IdedExpr,
    prepared: &Prepared,
    evaluation: &Evaluation<'_>,
) -> Option<(&'e IdedExpr, String)> {
    if let Expr::Call(call) = &part.expr
        && call.func_name == operators::CONDITIONAL
        && let [_, then, otherwise] = call.args.as_slice()
    {
        let wrong = |branch| wrong_result(wanted, branch, prepared, evaluation);
        return wrong(then).or_else(|| wrong(otherwise));
    }
    let got = match evaluation.resolve(part) {
        Ok(value) => (!wanted.is(&value)).then(|| value.type_of().to_string()),
        Err(_) => sure_type(part, prepared)
            .filter(|got| (*got == "bool") != (wanted == Wanted::Truth))
            .map(str::to_owned),
    };
    got.map(|got| (part, got))
}

/// `bool` or `list`, if the value is always of this type.
fn sure_type(part: &IdedExpr, prepared: &Prepared) -> Option<&'static str> {
    const TRUTHS: [&str; 13] = [
        operators::EQUALS,
        operators::NOT_EQUALS,
        operators::LESS,
        operators::LESS_EQUALS,
        operators::GREATER,
        operators::GREATER_EQUALS,
        operators::LOGICAL_AND,
        operators::LOGICAL_OR,
        operators::LOGICAL_NOT,
        operators::IN,
        "startsWith",
        "endsWith",
        "contains",
    ];
    match &part.expr {
        Expr::Call(call) if TRUTHS.contains(&call.func_name.as_str()) => Some("bool"),
        Expr::List(_) => Some("list"),
        Expr::Ident(name) => match prepared.part(name)? {
            Part::Loop(a_loop) => match a_loop.kind {
                Kind::All | Kind::Exists | Kind::ExistsOne => Some("bool"),
                Kind::Filter | Kind::Map => Some("list"),
            },
            _ => None,
        },
        _ => None,
    }
}

/// Whether the error occurs for every caller, rather than for particular values.
fn is_type_error(error: &ExecutionError) -> bool {
    use ExecutionError::{
        InvalidArgumentCount, NoSuchOverload, NotSupportedAsMethod, UndeclaredReference,
        UnexpectedType, UnsupportedBinaryOperator, UnsupportedIndex, UnsupportedTargetType,
        ValuesNotComparable,
    };
    matches!(
        error,
        InvalidArgumentCount { .. }
            | NoSuchOverload(_)
            | NotSupportedAsMethod { .. }
            | UndeclaredReference(_)
            | UnexpectedType { .. }
            | UnsupportedBinaryOperator(..)
            | UnsupportedIndex(..)
            | UnsupportedTargetType { .. }
            | ValuesNotComparable(..)
    )
}

/// The position of an expression in bytes. The parser counts characters.
fn position(program: &Program, text: &str, expression: &IdedExpr) -> usize {
    let (start, _) = program.source_info().offset_for(expression.id).unwrap_or_default();
    text.char_indices().nth(start as usize).map_or(0, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::{super::prepare::COMPILED, *};

    #[test]
    fn every_listed_function_exists_in_the_language() {
        let (caller, request) = (sample::caller_facts(), sample::request());
        for name in FUNCTIONS.iter().filter(|name| !COMPILED.contains(name)) {
            let known = [format!("{name}(user)"), format!("user.{name}()")].iter().any(|call| {
                let program = super::super::LANGUAGE.compile(call).unwrap();
                let limit = Subject::Caller.pattern_limit();
                let Ok(prepared) = Prepared::new(program.expression(), limit) else { return false };
                let evaluation = Evaluation::new(&prepared, Variables::new(&caller, &request));
                !matches!(
                    evaluation.resolve(&prepared.expression),
                    Err(ExecutionError::UndeclaredReference(_))
                )
            });
            assert!(known, "{name}");
        }
    }
}
