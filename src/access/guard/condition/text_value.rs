//! Values of expressions as text.

use cel::Value;

/// The value of an expression as text.
#[derive(Debug, PartialEq, Eq)]
pub enum ExpressionValue {
    Text(String),
    List(Vec<String>),
}

/// The text of a value, unless it is of another type.
pub(super) fn to_text(value: &Value) -> Option<ExpressionValue> {
    let text = match value {
        Value::String(text) => text.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::List(elements) => {
            let text = |element: &Value| match element {
                Value::String(text) => Some(text.to_string()),
                _ => None,
            };
            return elements.iter().map(text).collect::<Option<_>>().map(ExpressionValue::List);
        }
        _ => return None,
    };
    Some(ExpressionValue::Text(text))
}
