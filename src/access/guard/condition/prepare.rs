//! Prepares a condition for repeated evaluation: compiles patterns and networks, builds constant lists, and extracts
//! loops, because the interpreter copies every element and intermediate result of a loop.

use cel::common::{
    ast::{
        CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, ListExpr,
        LiteralValue, MapEntryExpr, MapExpr, SelectExpr, operators,
    },
    types::{CelBool, CelDouble, CelInt, CelList, CelNull, CelString, CelUInt},
    value::Val,
};

use super::{ip_network::IpNetwork, pattern::Pattern};

/// An expression in which variables stand for patterns, networks, constant lists and loops. CEL text cannot contain their names.
pub(super) struct Prepared {
    pub(super) expression: IdedExpr,
    parts: Vec<Part>,
}

/// The parts so far.
struct Parts {
    all: Vec<Part>,
    limit: PatternLimit,
}

/// How much memory patterns may take, and with it the time in which they are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternLimit {
    /// Those of the operator: this much for each.
    Each(usize),
    /// Those of anybody: this much for all patterns of a condition.
    Together(usize),
}

impl Parts {
    /// How much memory the next pattern may take.
    fn pattern_bytes(&self) -> usize {
        match self.limit {
            PatternLimit::Each(bytes) => bytes,
            PatternLimit::Together(bytes) => self.all.iter().fold(bytes, |left, part| match part {
                Part::Pattern(pattern) => left.saturating_sub(pattern.bytes()),
                _ => left,
            }),
        }
    }
}

/// What a variable of a prepared expression stands for.
pub(super) enum Part {
    Pattern(Pattern),
    Network(IpNetwork),
    /// A list of literals, and its source.
    List(CelList<'static>, Vec<IdedExpr>),
    Loop(Box<Loop>),
}

/// A macro over the elements of a list.
pub(super) struct Loop {
    pub(super) kind: Kind,
    pub(super) range: IdedExpr,
    /// The name of an element in `condition` and `body`.
    pub(super) variable: String,
    /// The filter of a `map` with three arguments.
    pub(super) condition: Option<IdedExpr>,
    pub(super) body: IdedExpr,
}

/// The kind of macro.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Exists => "exists",
            Self::ExistsOne => "exists_one",
            Self::Filter => "filter",
            Self::Map => "map",
        }
    }
}

/// Why an expression cannot be prepared, and where.
pub(super) struct PrepareError<'e> {
    pub(super) at: &'e IdedExpr,
    pub(super) message: String,
}

impl Prepared {
    /// Prepares an expression. Its parts keep their ids.
    ///
    /// # Errors
    /// For the first pattern or network that is not valid.
    pub(super) fn new(
        expression: &IdedExpr,
        limit: PatternLimit,
    ) -> Result<Self, PrepareError<'_>> {
        let mut parts = Parts { all: Vec::new(), limit };
        let expression = prepare(expression, &mut parts)?;
        Ok(Self { expression, parts: parts.all })
    }

    /// What a variable of a prepared expression stands for.
    pub(super) fn part(&self, variable: &str) -> Option<&Part> {
        self.parts.get(variable.strip_prefix('@')?.parse::<usize>().ok()?)
    }

    /// Whether the variable stands for a compiled argument, which has no value of its own.
    pub(super) fn is_compiled(&self, variable: &str) -> bool {
        matches!(self.part(variable), Some(Part::Pattern(_) | Part::Network(_)))
    }

    /// The parts of an expression that can be evaluated on their own, in order. The body of a macro cannot, because its
    /// variable has no value outside.
    pub(super) fn parts_of<'a>(&'a self, expression: &'a IdedExpr) -> Vec<&'a IdedExpr> {
        match &expression.expr {
            Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
            Expr::Select(select) => vec![&select.operand],
            Expr::List(list) => list.elements.iter().collect(),
            Expr::Ident(name) => match self.part(name) {
                Some(Part::Loop(a_loop)) => vec![&a_loop.range],
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }
}

/// Copies an expression and replaces the parts that are not evaluated by the interpreter.
fn prepare<'e>(expression: &'e IdedExpr, parts: &mut Parts) -> Result<IdedExpr, PrepareError<'e>> {
    let prepared = match &expression.expr {
        Expr::Call(call) => Expr::Call(CallExpr {
            func_name: call.func_name.clone(),
            target: match &call.target {
                Some(target) => Some(Box::new(prepare(target, parts)?)),
                None => None,
            },
            args: match call.args.as_slice() {
                arguments if COMPILED.contains(&call.func_name.as_str()) => {
                    vec![compiled(expression, call, arguments, parts)?]
                }
                [element, list] if call.func_name == operators::IN => {
                    vec![prepare(element, parts)?, prepare_list(list, parts)?]
                }
                arguments => prepare_all(arguments, parts)?,
            },
        }),
        Expr::Select(select) => Expr::Select(SelectExpr {
            operand: Box::new(prepare(&select.operand, parts)?),
            field: select.field.clone(),
            test: select.test,
        }),
        Expr::List(list) => Expr::List(ListExpr {
            elements: prepare_all(&list.elements, parts)?,
            optional_indices: list.optional_indices.clone(),
        }),
        Expr::Map(map) => Expr::Map(MapExpr { entries: prepare_entries(&map.entries, parts)? }),
        Expr::Comprehension(comprehension) => {
            let a_loop = prepare_loop(expression, comprehension, parts)?;
            add(parts, Part::Loop(Box::new(a_loop)))
        }
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => {
            expression.expr.clone()
        }
    };
    Ok(IdedExpr { id: expression.id, expr: prepared })
}

fn prepare_all<'e>(
    expressions: &'e [IdedExpr],
    parts: &mut Parts,
) -> Result<Vec<IdedExpr>, PrepareError<'e>> {
    expressions.iter().map(|expression| prepare(expression, parts)).collect()
}

fn prepare_entries<'e>(
    entries: &'e [IdedEntryExpr],
    parts: &mut Parts,
) -> Result<Vec<IdedEntryExpr>, PrepareError<'e>> {
    let mut prepared = Vec::with_capacity(entries.len());
    for entry in entries {
        let expr = match &entry.expr {
            EntryExpr::MapEntry(map_entry) => EntryExpr::MapEntry(MapEntryExpr {
                key: prepare(&map_entry.key, parts)?,
                value: prepare(&map_entry.value, parts)?,
                optional: map_entry.optional,
            }),
            EntryExpr::StructField(_) => entry.expr.clone(),
        };
        prepared.push(IdedEntryExpr { id: entry.id, expr });
    }
    Ok(prepared)
}

/// The functions whose argument is compiled.
pub(super) const COMPILED: [&str; 2] = ["matches", "inNetwork"];

/// The compiled argument of a call of one of these functions.
fn compiled<'e>(
    expression: &'e IdedExpr,
    call: &CallExpr,
    arguments: &'e [IdedExpr],
    parts: &mut Parts,
) -> Result<IdedExpr, PrepareError<'e>> {
    let is_network = call.func_name == "inNetwork";
    let argument = if is_network { "network" } else { "pattern" };
    let [IdedExpr { id, expr: Expr::Literal(LiteralValue::String(text)) }] = arguments else {
        let message = format!(
            "{}(): the {argument} must be a string literal, because it is compiled when the condition is parsed",
            call.func_name
        );
        return Err(PrepareError { at: expression, message });
    };
    if call.target.is_none() {
        let text = if is_network { "address" } else { "text" };
        let message = format!("write {text}.{}({argument})", call.func_name);
        return Err(PrepareError { at: expression, message });
    }
    let part = if is_network {
        IpNetwork::parse(text.inner()).map(Part::Network)
    } else {
        Pattern::compile(text.inner(), parts.pattern_bytes()).map(Part::Pattern)
    };
    let part = part.map_err(|message| PrepareError { at: &arguments[0], message })?;
    Ok(IdedExpr { id: *id, expr: add(parts, part) })
}

/// Prepares a list that is only read. A list of literals is built once.
fn prepare_list<'e>(
    expression: &'e IdedExpr,
    parts: &mut Parts,
) -> Result<IdedExpr, PrepareError<'e>> {
    if let Expr::List(list) = &expression.expr
        && list.optional_indices.is_empty()
        && let Some(values) = list.elements.iter().map(constant).collect::<Option<Vec<_>>>()
    {
        let part = Part::List(CelList::from(values), list.elements.clone());
        return Ok(IdedExpr { id: expression.id, expr: add(parts, part) });
    }
    prepare(expression, parts)
}

fn constant(expression: &IdedExpr) -> Option<Box<dyn Val>> {
    let Expr::Literal(literal) = &expression.expr else { return None };
    Some(match literal {
        LiteralValue::Boolean(truth) => Box::new(CelBool::from(*truth.inner())),
        LiteralValue::Double(number) => Box::new(CelDouble::from(*number.inner())),
        LiteralValue::Int(number) => Box::new(CelInt::from(*number.inner())),
        LiteralValue::UInt(number) => Box::new(CelUInt::from(*number.inner())),
        LiteralValue::String(text) => Box::new(CelString::from(text.inner().to_owned())),
        LiteralValue::Null => Box::new(CelNull),
        LiteralValue::Bytes(_) => return None,
    })
}

/// Recognises a macro by its expansion, because the parser keeps nothing else of it.
fn prepare_loop<'e>(
    whole: &'e IdedExpr,
    comprehension: &'e ComprehensionExpr,
    parts: &mut Parts,
) -> Result<Loop, PrepareError<'e>> {
    let ComprehensionExpr { accu_init, loop_step, iter_range, iter_var, .. } = comprehension;
    let (kind, condition, body) = match (&accu_init.expr, &loop_step.expr) {
        (Expr::Literal(LiteralValue::Boolean(starts)), Expr::Call(step)) => {
            let kind = if *starts.inner() { Kind::All } else { Kind::Exists };
            (kind, None, step.args.get(1))
        }
        (Expr::Literal(LiteralValue::Int(_)), Expr::Call(step)) => {
            (Kind::ExistsOne, None, step.args.first())
        }
        (Expr::List(_), Expr::Call(step)) if step.func_name == operators::CONDITIONAL => {
            let taken = step.args.get(1).and_then(appended);
            match taken.map(|taken| &taken.expr) {
                Some(Expr::Ident(taken)) if taken == iter_var => {
                    (Kind::Filter, None, step.args.first())
                }
                _ => (Kind::Map, step.args.first(), taken),
            }
        }
        (Expr::List(_), Expr::Call(_)) => (Kind::Map, None, appended(loop_step)),
        _ => (Kind::Map, None, None),
    };
    let Some(body) = body else {
        return Err(PrepareError { at: whole, message: "unknown macro".into() });
    };
    Ok(Loop {
        kind,
        range: prepare_list(iter_range, parts)?,
        variable: iter_var.clone(),
        condition: condition.map(|condition| prepare(condition, parts)).transpose()?,
        body: prepare(body, parts)?,
    })
}

/// The `x` of `@result + [x]`.
fn appended(step: &IdedExpr) -> Option<&IdedExpr> {
    let Expr::Call(call) = &step.expr else { return None };
    match call.args.as_slice() {
        [_, IdedExpr { expr: Expr::List(list), .. }] if call.func_name == operators::ADD => {
            list.elements.first()
        }
        _ => None,
    }
}

fn add(parts: &mut Parts, part: Part) -> Expr {
    parts.all.push(part);
    Expr::Ident(format!("@{}", parts.all.len() - 1))
}
