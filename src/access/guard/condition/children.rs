//! The parts of an expression.

use cel::common::ast::{EntryExpr, Expr, IdedExpr};

/// The direct parts of an expression as it was parsed.
pub(super) fn children_of(expression: &IdedExpr) -> Vec<&IdedExpr> {
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
