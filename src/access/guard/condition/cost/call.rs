//! What each operator and function costs.

use cel::common::ast::{LiteralValue, operators};

use super::super::{price, size::Size};

/// The cost of an operator or function without its arguments, and the size of its result.
pub(super) fn call_cost(
    name: &str,
    sizes: &[Size],
    literals: &[Option<&LiteralValue>],
) -> (u64, Size) {
    let size = |number: usize| sizes.get(number).unwrap_or(&Size::SCALAR);
    let text_literal = |number: usize| match literals.get(number) {
        Some(Some(LiteralValue::String(text))) => Some(text.inner()),
        _ => None,
    };
    let (this, other) = (size(0), size(1));
    let call = |more: u64| price::CALL.saturating_add(more);
    let copies = || sizes.iter().fold(0u64, |all, size| all.saturating_add(size.copy()));
    match name {
        operators::LOGICAL_AND | operators::LOGICAL_OR | operators::NOT_STRICTLY_FALSE => {
            (price::OPERATOR, Size::SCALAR)
        }
        operators::EQUALS | operators::NOT_EQUALS => {
            (price::OPERATOR.saturating_add(this.compare(other)), Size::SCALAR)
        }
        operators::IN => {
            let each = this.compare(&other.item());
            (price::OPERATOR.saturating_add(other.items.saturating_mul(each)), Size::SCALAR)
        }
        operators::LOGICAL_NOT => (price::NOT, Size::SCALAR),
        operators::NEGATE => (price::NOT.saturating_add(copies()), Size::SCALAR),
        operators::ADD => {
            let sum = Size {
                bytes: this.bytes.saturating_add(other.bytes),
                items: this.items.saturating_add(other.items),
                slashes: this.slashes.zip(other.slashes).map(|(one, two)| one.saturating_add(two)),
                ..this.clone().or(other)
            };
            (price::OPERATOR.saturating_add(copies()), sum)
        }
        operators::SUBSTRACT | operators::MULTIPLY | operators::DIVIDE | operators::MODULO => {
            (price::OPERATOR.saturating_add(copies()), Size::SCALAR)
        }
        operators::LESS
        | operators::LESS_EQUALS
        | operators::GREATER
        | operators::GREATER_EQUALS => (price::ORDER.saturating_add(copies()), Size::SCALAR),
        operators::INDEX | operators::OPT_INDEX | operators::OPT_SELECT => {
            // The error for an index of a wrong type holds a copy of the list.
            let is_usual = matches!(
                literals.get(1),
                Some(Some(LiteralValue::Int(_) | LiteralValue::String(_)))
            );
            let reported = if is_usual { 0 } else { copies() };
            let hashed = 4 * other.bytes;
            let taken = if name == operators::INDEX { 0 } else { this.item().copy() };
            (price::FIELD + hashed + reported.saturating_add(taken), this.item())
        }
        "size" => (call(2 * this.bytes), Size::SCALAR),
        "startsWith" | "endsWith" => (call(this.bytes.min(other.bytes) / 4), Size::SCALAR),
        "contains" => (call(8 * (this.bytes + other.bytes)), Size::SCALAR),
        "matches" => (call(16 * this.bytes), Size::SCALAR),
        // An address has few bytes. Longer texts are not one, which is found after as many bytes.
        "inNetwork" => (call(60 * this.bytes), Size::SCALAR),
        "lower" => {
            (call(60 * this.bytes), Size { bytes: this.bytes.saturating_mul(2), ..this.clone() })
        }
        "lowerAscii" | "upperAscii" | "trim" => (call(8 * this.bytes), this.clone()),
        "reverse" => (call((30 * this.bytes).saturating_add(2 * this.copy())), this.clone()),
        "charAt" | "substring" => (call(40 * this.bytes), this.clone()),
        "indexOf" | "lastIndexOf" => {
            let each = 50u64.saturating_add(other.bytes.saturating_mul(2));
            let read = 20 * (this.bytes + other.bytes);
            (call(read.saturating_add(this.bytes.saturating_mul(each))), Size::SCALAR)
        }
        "replace" => {
            let sought = text_literal(1).map_or(0, |text| text.len() as u64);
            let times = this.bytes.checked_div(sought).unwrap_or(this.bytes + 1);
            let bytes = this.bytes.saturating_add(times.saturating_mul(size(2).bytes));
            let work = (40 * this.bytes).saturating_add(times.saturating_mul(150));
            (call(work.saturating_add(bytes / 4)), Size { bytes, ..Size::SCALAR })
        }
        "split" => {
            let separator = text_literal(1).unwrap_or_default();
            let mut pieces = match separator.len() as u64 {
                0 => this.bytes + 1,
                length => this.bytes / length + 1,
            };
            if let (true, Some(slashes)) = (separator.contains('/'), this.slashes) {
                pieces = pieces.min(slashes + 1);
            }
            if let Some(Some(LiteralValue::Int(most))) = literals.get(2) {
                pieces = u64::try_from(*most.inner()).map_or(pieces, |most| pieces.min(most));
            }
            let work = (8 * this.bytes).saturating_add(pieces.saturating_mul(price::PIECE));
            (call(work), Size::list(pieces, Size { items: 0, item: None, ..this.clone() }))
        }
        "join" => {
            let separators = this.items.saturating_mul(other.bytes);
            let bytes = this.all_bytes().saturating_add(separators);
            (
                call(this.items.saturating_mul(250).saturating_add(bytes / 2)),
                Size { bytes, ..Size::SCALAR },
            )
        }
        "format" => {
            let arguments = other.all_bytes().saturating_add(other.all_items().saturating_mul(500));
            let bytes =
                (this.bytes.saturating_mul(110)).saturating_add(arguments.saturating_mul(2));
            let work = bytes.saturating_mul(10).saturating_add(other.all_items() * 1_500);
            (call(work), Size { bytes, ..Size::SCALAR })
        }
        "flatten" => {
            let mut item = this.item();
            while let Some(inner) = item.item.take() {
                item = Size::clone(&inner).or(&Size { items: 0, item: None, ..item });
            }
            (call(this.copy().saturating_mul(2)), Size::list(this.all_items(), item))
        }
        "distinct" => {
            let pairs = this.items.saturating_mul(this.items) / 2;
            let compared = pairs.saturating_mul(this.item().compare(&this.item()) + 30);
            (call(compared.saturating_add(this.copy())), this.clone())
        }
        "slice" => (call(this.copy()), this.clone()),
        "sort" | "@sortByAssociatedKeys" => {
            let keys = if other.items > 0 { other.item() } else { this.item() };
            let rounds = u64::from(64 - this.items.leading_zeros());
            let compared =
                this.items.saturating_mul(rounds + 1).saturating_mul(keys.compare(&keys));
            (call(compared.saturating_add(this.copy().saturating_mul(2))), this.clone())
        }
        "string" => {
            let bytes = this.bytes.max(400);
            (call(price::CONVERSION + this.bytes), Size { bytes, ..this.clone() })
        }
        "bytes" | "dyn" => (call(this.copy()), this.clone()),
        "double" | "timestamp" | "duration" => {
            (call(price::CONVERSION + 100 * this.bytes), Size::SCALAR)
        }
        "bool" | "int" | "type" | "uint" => {
            (call(price::CONVERSION + 20 * this.bytes), Size::SCALAR)
        }
        // The remaining functions read a part of a time.
        _ => (call(price::CONVERSION.saturating_add(copies())), this.clone()),
    }
}
