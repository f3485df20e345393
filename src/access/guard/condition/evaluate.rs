//! Evaluates a prepared condition with the CEL interpreter, but resolves variables and runs loops here.

use std::sync::{Arc, Mutex, PoisonError};

use cel::{
    Context, ExecutionError, Value,
    common::{
        ast::IdedExpr,
        types::{CelBool, CelList},
        value::{CowVal, Val},
    },
    context::VariableResolver,
};

use super::{
    LANGUAGE,
    facts::Variables,
    limits::{MAX_ELEMENTS, too_many_elements},
    prepare::{Kind, Loop, Part, Prepared},
};

/// The evaluation of a prepared condition for one caller and one request.
pub(super) struct Evaluation<'a> {
    pub(super) prepared: &'a Prepared,
    pub(super) variables: Variables<'a>,
    /// The error of the last failed loop. The interpreter reports only that its variable is undeclared.
    failure: Mutex<Option<ExecutionError>>,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(prepared: &'a Prepared, variables: Variables<'a>) -> Self {
        Self { prepared, variables, failure: Mutex::new(None) }
    }

    /// The value of the condition or a part of it.
    pub(super) fn resolve(&self, expression: &IdedExpr) -> cel::ResolveResult {
        let scope = Scope::Whole(self);
        scope.with(expression, |value| Value::try_from(value))?
    }

    /// Whether the condition or a part of it is true, without copying a value.
    pub(super) fn truth(&self, expression: &IdedExpr) -> Result<Option<bool>, ExecutionError> {
        Scope::Whole(self).truth(expression)
    }
}

/// The variables in scope of an expression: the facts, and the variables of the enclosing loops.
enum Scope<'a> {
    Whole(&'a Evaluation<'a>),
    Within { outer: &'a Scope<'a>, variable: &'a str, element: &'a (dyn Val + 'a) },
}

impl VariableResolver for Scope<'_> {
    fn resolve<'b>(&'b self, name: &str) -> Option<CowVal<'b, 'b>> {
        if let Some(part) = self.evaluation().prepared.part(name) {
            return match part {
                Part::Pattern(pattern) => Some(CowVal::Borrowed(pattern)),
                Part::Network(network) => Some(CowVal::Borrowed(network)),
                Part::List(list, _) => Some(CowVal::Borrowed(list)),
                Part::Loop(a_loop) => self.run(a_loop).map_err(|error| self.fail(error)).ok(),
            };
        }
        match self {
            Self::Whole(evaluation) => evaluation.variables.variable(name),
            Self::Within { outer, variable, element } => match name.strip_prefix(variable) {
                Some("") => Some(CowVal::Borrowed(*element)),
                // A field of the element, which shadows an outer variable of the same name.
                Some(rest) if rest.starts_with('.') => None,
                _ => outer.resolve(name),
            },
        }
    }
}

impl Scope<'_> {
    fn evaluation(&self) -> &Evaluation<'_> {
        match self {
            Self::Whole(evaluation) => evaluation,
            Self::Within { outer, .. } => outer.evaluation(),
        }
    }

    fn fail(&self, error: ExecutionError) {
        *self.evaluation().failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// The error of the loop, if a loop failed.
    fn explain(&self, error: ExecutionError) -> ExecutionError {
        let is_loop = matches!(&error, ExecutionError::UndeclaredReference(name) if self.evaluation().prepared.part(name).is_some());
        let failure =
            || self.evaluation().failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        if is_loop { failure().unwrap_or(error) } else { error }
    }

    fn with<T>(
        &self,
        expression: &IdedExpr,
        take: impl FnOnce(&dyn Val) -> T,
    ) -> Result<T, ExecutionError> {
        let mut context = Context::with_env(Arc::clone(&LANGUAGE));
        context.set_variable_resolver(self);
        let value = Value::resolve_val(expression, &context);
        value.map(|value| take(value.as_ref())).map_err(|error| self.explain(error))
    }

    /// None if the value is not a boolean.
    fn truth(&self, expression: &IdedExpr) -> Result<Option<bool>, ExecutionError> {
        self.with(expression, |value| value.downcast_ref::<CelBool>().map(|truth| *truth.inner()))
    }

    fn run<'b>(&'b self, a_loop: &'b Loop) -> Result<CowVal<'b, 'b>, ExecutionError> {
        let mut context = Context::with_env(Arc::clone(&LANGUAGE));
        context.set_variable_resolver(self);
        let range =
            Value::resolve_val(&a_loop.range, &context).map_err(|error| self.explain(error))?;
        let within = |element| Scope::Within { outer: self, variable: &a_loop.variable, element };
        let mut elements = match range.as_iterable() {
            Some(elements) => elements.iter(),
            None => return Err(wrong_type(range.as_ref(), "iterable")),
        };
        let mut taken: Vec<Box<dyn Val + 'b>> = Vec::new();
        let (mut found, mut pending) = (0, None);
        let mut count = 0;
        while let Some(element) = elements.next() {
            count += 1;
            if count > MAX_ELEMENTS {
                return Err(ExecutionError::function_error(
                    a_loop.kind.name(),
                    too_many_elements(),
                ));
            }
            let scope = within(element);
            match a_loop.kind {
                // As with `||` and `&&`, an element that decides the result overrides one that fails.
                Kind::Exists | Kind::All => match scope.decide(&a_loop.body) {
                    Ok(truth) if truth == (a_loop.kind == Kind::Exists) => {
                        return Ok(CowVal::owned(CelBool::from(truth)));
                    }
                    Ok(_) => {}
                    Err(error) => pending = Some(error),
                },
                Kind::ExistsOne => found += usize::from(scope.decide(&a_loop.body)?),
                Kind::Filter => {
                    if scope.decide(&a_loop.body)? {
                        taken.push(copy(element)?);
                    }
                }
                Kind::Map => {
                    let is_taken = match &a_loop.condition {
                        Some(condition) => scope.decide(condition)?,
                        None => true,
                    };
                    if is_taken {
                        taken.push(scope.copy(&a_loop.body)?);
                    }
                }
            }
        }
        if let Some(error) = pending {
            return Err(error);
        }
        Ok(match a_loop.kind {
            Kind::Exists => CowVal::owned(CelBool::from(false)),
            Kind::All => CowVal::owned(CelBool::from(true)),
            Kind::ExistsOne => CowVal::owned(CelBool::from(found == 1)),
            Kind::Filter | Kind::Map => CowVal::owned(CelList::from(taken)),
        })
    }

    fn decide(&self, expression: &IdedExpr) -> Result<bool, ExecutionError> {
        self.with(expression, |value| match value.downcast_ref::<CelBool>() {
            Some(truth) => Ok(*truth.inner()),
            None => Err(wrong_type(value, "bool")),
        })?
    }

    fn copy<'v>(&self, expression: &IdedExpr) -> Result<Box<dyn Val + 'v>, ExecutionError> {
        self.with(expression, copy)?
    }
}

/// A copy that borrows nothing.
fn copy<'v>(value: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError> {
    Value::try_from(value)?.try_into()
}

fn wrong_type(value: &dyn Val, want: &str) -> ExecutionError {
    ExecutionError::UnexpectedType {
        got: value.get_type().name().to_owned(),
        want: want.to_owned(),
    }
}
