//! What can be told of a condition before anybody calls: unknown words, wrong types, a result that is no decision.

use cel::{
    ExecutionError, Program, Value,
    common::ast::{EntryExpr, Expr, IdedExpr, operators},
};

use super::{
    Flaw,
    cost::cost,
    evaluate::Case,
    prepare::Prepared,
    scene::{REQUEST, REQUEST_FIELDS, Scene, VARIABLES},
};
use crate::{access::guard::hypothetical, spelling::suggest};

/// A condition that has been checked.
pub(super) struct Checked {
    pub(super) prepared: Prepared,
    /// The fields of `request` that it looks at.
    pub(super) request_fields: Vec<&'static str>,
    /// What it costs at most.
    pub(super) cost: u64,
}

/// Checks a condition and prepares it.
pub(super) fn check(program: &Program, text: &str) -> Result<Checked, Flaw> {
    check_depth(program, text)?;
    let mut words = Words { program, text, bound: Vec::new(), request_fields: Vec::new() };
    words.check(program.expression())?;
    let mut request_fields = words.request_fields;
    request_fields.sort_unstable();
    request_fields.dedup();
    let flaw = |at: &IdedExpr, message| Flaw { at: place(program, text, at), message };
    let prepared = Prepared::new(program.expression())
        .map_err(|unprepared| flaw(unprepared.at, unprepared.message))?;
    let cost = cost(&prepared).map_err(|(at, message)| flaw(at, message))?;
    try_out(&prepared, program, text)?;
    Ok(Checked { prepared, request_fields, cost })
}

/// Whatever goes through a condition calls itself for each level, on the stack of a thread that serves requests.
fn check_depth(program: &Program, text: &str) -> Result<(), Flaw> {
    const MAX_DEPTH: usize = 48;
    let mut parts = vec![(program.expression(), 1)];
    while let Some((part, depth)) = parts.pop() {
        if depth > MAX_DEPTH {
            let message = format!("nested more than {MAX_DEPTH} levels deep");
            return Err(Flaw { at: place(program, text, part), message });
        }
        parts.extend(children_of(part).into_iter().map(|child| (child, depth + 1)));
    }
    Ok(())
}

fn children_of(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => {
            map.entries.iter().flat_map(|entry| entry_children(&entry.expr)).collect()
        }
        Expr::Struct(message) => {
            message.entries.iter().flat_map(|entry| entry_children(&entry.expr)).collect()
        }
        Expr::Comprehension(macro_call) => vec![
            &macro_call.iter_range,
            &macro_call.accu_init,
            &macro_call.loop_cond,
            &macro_call.loop_step,
            &macro_call.result,
        ],
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

fn entry_children(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
        EntryExpr::StructField(field) => vec![&field.value],
    }
}

/// Every function that a condition may call by name; operators and macros aside.
const FUNCTIONS: &[&str] = &[
    "bool",
    "bytes",
    "charAt",
    "contains",
    "distinct",
    "double",
    "duration",
    "dyn",
    "endsWith",
    "flatten",
    "format",
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
    "indexOf",
    "int",
    "join",
    "lastIndexOf",
    "lower",
    "lowerAscii",
    "matches",
    "replace",
    "reverse",
    "size",
    "slice",
    "sort",
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

/// Goes through a condition word by word.
struct Words<'p> {
    program: &'p Program,
    text: &'p str,
    /// The names that macros around the current expression have given to elements of a list.
    bound: Vec<&'p str>,
    request_fields: Vec<&'static str>,
}

impl<'p> Words<'p> {
    fn check(&mut self, expression: &'p IdedExpr) -> Result<(), Flaw> {
        match &expression.expr {
            Expr::Unspecified | Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.variable(expression, name).map(|()| {
                // A variable that stands alone may be looked at in every way.
                if name == REQUEST {
                    self.request_fields.extend(REQUEST_FIELDS);
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
                Err(self.flaw(expression, format!("{}: unknown type", message.type_name)))
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

    fn variable(&self, expression: &IdedExpr, name: &str) -> Result<(), Flaw> {
        let known = self.bound.contains(&name) || VARIABLES.iter().any(|(known, _)| *known == name);
        if known {
            return Ok(());
        }
        let message = match suggest(name, VARIABLES.iter().map(|(known, _)| *known)) {
            Some(meant) => format!("{name}: did you mean {meant}?"),
            None => format!("{name}: unknown variable (there are user, session and request)"),
        };
        Err(self.flaw(expression, message))
    }

    fn field(&mut self, expression: &IdedExpr, of: &'p IdedExpr, field: &str) -> Result<(), Flaw> {
        let Expr::Ident(variable) = &of.expr else { return self.check(of) };
        self.variable(of, variable)?;
        let fields = VARIABLES.iter().find(|(known, _)| known == variable);
        let Some((_, fields)) = fields.filter(|_| !self.bound.contains(&variable.as_str())) else {
            return Ok(());
        };
        let Some(known) = fields.iter().find(|known| **known == field) else {
            let message = match suggest(field, fields.iter().copied()) {
                Some(meant) => format!("{variable}.{field}: did you mean {meant}?"),
                None => {
                    let all = fields.join(", ");
                    format!("{variable}.{field}: unknown field ({variable} has {all})")
                }
            };
            return Err(self.flaw(expression, message));
        };
        if variable == REQUEST {
            self.request_fields.push(known);
        }
        Ok(())
    }

    fn function(&self, expression: &IdedExpr, name: &str) -> Result<(), Flaw> {
        let is_operator = !name.starts_with(|c: char| c.is_ascii_alphabetic());
        if is_operator || FUNCTIONS.contains(&name) {
            return Ok(());
        }
        let message = match suggest(name, FUNCTIONS.iter().copied()) {
            Some(meant) => format!("{name}(): did you mean {meant}()?"),
            None => format!("{name}(): unknown function"),
        };
        Err(self.flaw(expression, message))
    }

    fn flaw(&self, expression: &IdedExpr, message: String) -> Flaw {
        Flaw { at: place(self.program, self.text, expression), message }
    }
}

/// Runs every part of the condition on a made-up caller: a wrong type shows even where a real call rarely comes.
fn try_out(prepared: &Prepared, program: &Program, text: &str) -> Result<(), Flaw> {
    let (caller, request) = (hypothetical::caller_facts(), hypothetical::request());
    let case = Case::new(prepared, Scene::new(&caller, &request));
    let whole = &prepared.expression;
    let mut parts = vec![whole];
    while let Some(part) = parts.pop() {
        // A pattern is no value by itself.
        if matches!(&part.expr, Expr::Ident(name) if prepared.is_pattern(name)) {
            continue;
        }
        let outcome = case.resolve(part);
        if let Err(error) = &outcome
            && is_about_types(error)
        {
            return Err(Flaw { at: place(program, text, part), message: error.to_string() });
        }
        if std::ptr::eq(part, whole)
            && let Ok(value) = outcome
            && !matches!(value, Value::Bool(_))
        {
            let message = format!("gives {}, not true or false", value.type_of());
            return Err(Flaw { at: place(program, text, part), message });
        }
        parts.extend(prepared.parts_of(part));
    }
    Ok(())
}

/// Errors that a condition has whoever calls, as opposed to those that depend on a value.
fn is_about_types(error: &ExecutionError) -> bool {
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

/// Where an expression stands, in bytes; the parser counts characters.
fn place(program: &Program, text: &str, expression: &IdedExpr) -> usize {
    let (start, _) = program.source_info().offset_for(expression.id).unwrap_or_default();
    text.char_indices().nth(start as usize).map_or(0, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_function_exists_in_the_language() {
        let (caller, request) = (hypothetical::caller_facts(), hypothetical::request());
        for name in FUNCTIONS.iter().filter(|name| **name != "matches") {
            let known = [format!("{name}(user)"), format!("user.{name}()")].iter().any(|call| {
                let program = super::super::LANGUAGE.compile(call).unwrap();
                let Ok(prepared) = Prepared::new(program.expression()) else { return false };
                let case = Case::new(&prepared, Scene::new(&caller, &request));
                !matches!(
                    case.resolve(&prepared.expression),
                    Err(ExecutionError::UndeclaredReference(_))
                )
            });
            assert!(known, "{name}");
        }
    }
}
