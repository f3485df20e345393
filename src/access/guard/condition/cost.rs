//! What a condition costs at most, estimated when it is read: a condition that could stall other requests is refused.
//!
//! The unit is one instruction. Every value has a largest size, because every fact has one; from these follow how often
//! a loop runs and how much a function reads. The prices are measured (`bench/count` holds the estimate above the count).

use std::rc::Rc;

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use super::{
    prepare::{Kind, Loop, Part, Prepared},
    scene,
};

/// What a condition may cost, in instructions: less than 50 µs on a machine that does four in a nanosecond.
pub const MAX_COST: u64 = 200_000;

/// The largest that a value can be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// As text.
    pub(super) bytes: u64,
    /// How many `/` are in it, if there is a bound.
    pub(super) slashes: Option<u64>,
    /// As a list or map.
    pub(super) items: u64,
    /// Each of its elements, keys or values.
    pub(super) item: Option<Rc<Size>>,
    /// What copying it costs, where its elements are known to differ in size.
    pub(super) copied: Option<u64>,
}

impl Size {
    /// Numbers, times, truth values.
    const SCALAR: Self = Self { bytes: 0, slashes: None, items: 0, item: None, copied: None };

    pub(super) fn text(bytes: usize) -> Self {
        Self { bytes: bytes as u64, ..Self::SCALAR }
    }

    pub(super) fn list(items: u64, item: Self) -> Self {
        Self { items, item: Some(Rc::new(item)), ..Self::SCALAR }
    }

    /// A variable with these fields.
    pub(super) fn variable(fields: impl Iterator<Item = Self>) -> Self {
        let (mut all, mut count, mut copied) = (Self::SCALAR, 0, price::COPY);
        for field in fields {
            count += 1;
            copied += price::ENTRY + field.copy();
            all = all.or(&field);
        }
        Self { copied: Some(copied), ..Self::list(count, all) }
    }

    /// The smallest that is no smaller than both.
    fn or(self, other: &Self) -> Self {
        Self {
            bytes: self.bytes.max(other.bytes),
            slashes: self.slashes.zip(other.slashes).map(|(one, two)| one.max(two)),
            items: self.items.max(other.items),
            item: match (self.item, &other.item) {
                (Some(one), Some(two)) => Some(Rc::new(Self::clone(&one).or(two))),
                (one, two) => one.or_else(|| two.clone()),
            },
            copied: None,
        }
    }

    fn item(&self) -> Self {
        self.item.as_deref().cloned().unwrap_or(Self::SCALAR)
    }

    /// All bytes in it, however deep.
    fn all_bytes(&self) -> u64 {
        self.bytes.saturating_add(self.items.saturating_mul(self.item().all_bytes_of_item()))
    }

    fn all_bytes_of_item(&self) -> u64 {
        if self.items == 0 { self.bytes } else { self.all_bytes() }
    }

    /// All elements in it, however deep.
    fn all_items(&self) -> u64 {
        match &self.item {
            Some(item) => self.items.saturating_mul(item.all_items().max(1)),
            None => 1,
        }
    }

    fn copy(&self) -> u64 {
        if let Some(copied) = self.copied {
            return copied;
        }
        let items = self.items.saturating_mul(self.item.as_ref().map_or(0, |item| item.copy()));
        (price::COPY + self.bytes / 4).saturating_add(items)
    }

    fn compare(&self, other: &Self) -> u64 {
        let items = self.items.min(other.items);
        let item = match (&self.item, &other.item) {
            (Some(one), Some(two)) => one.compare(two),
            _ => 0,
        };
        (price::COMPARE + self.bytes.min(other.bytes) / 8)
            .saturating_add(items.saturating_mul(item))
    }
}

/// Instructions, rounded up from what was counted.
mod price {
    /// Beginning to evaluate, once for the whole and once for each turn of a loop.
    pub(super) const START: u64 = 400;
    pub(super) const VARIABLE: u64 = 300;
    /// For each loop between a variable and where it is looked for.
    pub(super) const SCOPE: u64 = 60;
    pub(super) const FIELD: u64 = 900;
    pub(super) const OPERATOR: u64 = 300;
    pub(super) const ORDER: u64 = 1_600;
    pub(super) const NOT: u64 = 1_200;
    pub(super) const CALL: u64 = 2_200;
    pub(super) const LIST: u64 = 600;
    pub(super) const ENTRY: u64 = 800;
    pub(super) const COPY: u64 = 700;
    pub(super) const COMPARE: u64 = 60;
    /// Reading or writing a time or a number.
    pub(super) const CONVERSION: u64 = 6_000;
    pub(super) const PIECE: u64 = 1_300;
}

/// The largest cost of a prepared condition.
///
/// # Errors
/// The smallest part that costs too much, and the words for it.
pub(super) fn cost(prepared: &Prepared) -> Result<u64, (&IdedExpr, String)> {
    let mut estimate = Estimate { prepared, bound: Vec::new() };
    let (cost, _) = estimate.of(&prepared.expression)?;
    estimate.within_bounds(&prepared.expression, cost + price::START)
}

struct Estimate<'p> {
    prepared: &'p Prepared,
    /// The variables of the loops around the current part.
    bound: Vec<(&'p str, Size)>,
}

type Estimated<'p, T> = Result<T, (&'p IdedExpr, String)>;

impl<'p> Estimate<'p> {
    fn within_bounds(&self, part: &'p IdedExpr, cost: u64) -> Estimated<'p, u64> {
        if cost <= MAX_COST {
            return Ok(cost);
        }
        let message = format!(
            "may cost {} instructions, and a condition may cost {MAX_COST}: a path has up to {} bytes and {} segments, a \
             user up to {} roles; split(text, n) makes no more than n parts",
            if cost == u64::MAX { "any number of".into() } else { format!("up to {cost}") },
            scene::MAX_PATH_BYTES,
            scene::MAX_SEGMENTS,
            scene::MAX_ROLES,
        );
        Err((part, message))
    }

    fn of(&mut self, part: &'p IdedExpr) -> Estimated<'p, (u64, Size)> {
        let (cost, size) = match &part.expr {
            Expr::Literal(literal) => (20, literal_size(literal)),
            Expr::Ident(name) => self.variable(part, name)?,
            Expr::Select(select) => match &select.operand.expr {
                Expr::Ident(variable) if !select.test && !self.is_bound(variable) => {
                    let scopes = price::SCOPE * self.bound.len() as u64;
                    (price::FIELD + scopes, scene::size_of(variable, Some(&select.field)))
                }
                _ => {
                    let (cost, size) = self.of(&select.operand)?;
                    (cost + price::FIELD, size.item())
                }
            },
            Expr::Call(call) => self.call(call)?,
            Expr::List(list) => {
                let (cost, item) = self.all(&list.elements)?;
                let copies = (list.elements.len() as u64).saturating_mul(item.copy());
                let size = Size::list(list.elements.len() as u64, item);
                (cost.saturating_add(price::LIST).saturating_add(copies), size)
            }
            Expr::Map(map) => {
                let (mut cost, mut item) = (price::LIST, Size::SCALAR);
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else { continue };
                    for part in [&entry.key, &entry.value] {
                        let (own, size) = self.of(part)?;
                        cost = cost.saturating_add(own + price::ENTRY).saturating_add(size.copy());
                        item = item.or(&size);
                    }
                }
                (cost, Size::list(map.entries.len() as u64, item))
            }
            Expr::Comprehension(_) | Expr::Struct(_) | Expr::Unspecified => {
                (u64::MAX, Size::SCALAR)
            }
        };
        Ok((self.within_bounds(part, cost)?, size))
    }

    fn is_bound(&self, name: &str) -> bool {
        self.bound.iter().any(|(bound, _)| *bound == name)
    }

    fn all(&mut self, parts: &'p [IdedExpr]) -> Estimated<'p, (u64, Size)> {
        let (mut cost, mut size) = (0u64, Size::SCALAR);
        for part in parts {
            let (own, other) = self.of(part)?;
            cost = cost.saturating_add(own);
            size = size.or(&other);
        }
        Ok((cost, size))
    }

    fn variable(&mut self, part: &'p IdedExpr, name: &'p str) -> Estimated<'p, (u64, Size)> {
        let scopes = price::VARIABLE + price::SCOPE * self.bound.len() as u64;
        Ok(match self.prepared.part(name) {
            Some(Part::Pattern(_)) => (scopes, Size::SCALAR),
            Some(Part::List(list, elements)) => {
                let (_, item) = self.all(elements)?;
                (scopes, Size::list(list.inner().len() as u64, item))
            }
            Some(Part::Loop(a_loop)) => {
                let (cost, size) = self.a_loop(part, a_loop)?;
                (cost.saturating_add(scopes), size)
            }
            None => match self.bound.iter().rev().find(|(bound, _)| *bound == name) {
                Some((_, size)) => (scopes, size.clone()),
                None => {
                    let size = scene::size_of(name, None);
                    (scopes + size.copy(), size)
                }
            },
        })
    }

    fn a_loop(&mut self, part: &'p IdedExpr, a_loop: &'p Loop) -> Estimated<'p, (u64, Size)> {
        let (range_cost, range) = self.of(&a_loop.range)?;
        let element = if a_loop.kind == Kind::Bind { range.clone() } else { range.item() };
        self.bound.push((&a_loop.variable, element.clone()));
        let condition = a_loop.condition.as_ref().map(|condition| self.of(condition)).transpose();
        let body = self.of(&a_loop.body);
        self.bound.pop();
        let (condition_cost, _) = condition?.unwrap_or_default();
        let (body_cost, body) = body?;
        let turns = if a_loop.kind == Kind::Bind { 1 } else { range.items };
        let (taken, size) = match a_loop.kind {
            Kind::All | Kind::Exists | Kind::ExistsOne => (0, Size::SCALAR),
            // Each is copied into a value of the interpreter's and back.
            Kind::Filter => (element.copy().saturating_mul(2), Size::list(turns, element)),
            Kind::Map => (body.copy().saturating_mul(2), Size::list(turns, body)),
            Kind::Bind => (body.copy().saturating_mul(2), body),
        };
        let turn = price::START
            .saturating_add(condition_cost)
            .saturating_add(body_cost)
            .saturating_add(taken);
        let cost =
            range_cost.saturating_add(2 * price::START).saturating_add(turns.saturating_mul(turn));
        Ok((self.within_bounds(part, cost)?, size))
    }

    fn call(&mut self, call: &'p CallExpr) -> Estimated<'p, (u64, Size)> {
        if let (operators::CONDITIONAL, [condition, then, otherwise]) =
            (call.func_name.as_str(), call.args.as_slice())
        {
            let (condition, _) = self.of(condition)?;
            let ((then, one), (otherwise, other)) = (self.of(then)?, self.of(otherwise)?);
            return Ok((price::OPERATOR + condition + then.max(otherwise), one.or(&other)));
        }
        let (mut cost, mut sizes) = (0u64, Vec::new());
        for part in call.target.as_deref().into_iter().chain(&call.args) {
            let (own, size) = self.of(part)?;
            cost = cost.saturating_add(own);
            sizes.push(size);
        }
        let literals: Vec<_> = call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .map(|part| if let Expr::Literal(literal) = &part.expr { Some(literal) } else { None })
            .collect();
        let (own, size) = call_cost(&call.func_name, &sizes, &literals);
        Ok((cost.saturating_add(own), size))
    }
}

fn literal_size(literal: &LiteralValue) -> Size {
    match literal {
        LiteralValue::String(text) => {
            let slashes = text.inner().matches('/').count() as u64;
            Size { slashes: Some(slashes), ..Size::text(text.inner().len()) }
        }
        LiteralValue::Bytes(bytes) => Size::text(bytes.inner().len()),
        _ => Size::SCALAR,
    }
}

/// What an operator or function costs by itself, and the size of what it gives.
fn call_cost(name: &str, sizes: &[Size], literals: &[Option<&LiteralValue>]) -> (u64, Size) {
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
            // An index of a wrong type is told with a copy of the list.
            let is_usual = matches!(
                literals.get(1),
                Some(Some(LiteralValue::Int(_) | LiteralValue::String(_)))
            );
            let told = if is_usual { 0 } else { copies() };
            let hashed = 4 * other.bytes;
            let taken = if name == operators::INDEX { 0 } else { this.item().copy() };
            (price::FIELD + hashed + told.saturating_add(taken), this.item())
        }
        "size" => (call(2 * this.bytes), Size::SCALAR),
        "startsWith" | "endsWith" => (call(this.bytes.min(other.bytes) / 4), Size::SCALAR),
        "contains" => (call(8 * (this.bytes + other.bytes)), Size::SCALAR),
        "matches" => (call(16 * this.bytes), Size::SCALAR),
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
        // What remains reads a part of a time.
        _ => (call(price::CONVERSION.saturating_add(copies())), this.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Condition, MAX_COST};

    fn cost_of(text: &str) -> Result<u64, String> {
        Condition::parse(text).map(|condition| condition.cost()).map_err(|flaw| flaw.message)
    }

    #[test]
    fn a_condition_that_could_stall_others_is_refused() {
        let doubled = |times| {
            let doubled =
                (0..times).fold("request.path".to_owned(), |text, _| format!("({text} + {text})"));
            format!(r#"{doubled} == "x""#)
        };
        let all_pairs =
            r#"request.path.split("/").exists(a, request.path.split("/").exists(b, a == b))"#;
        for text in [
            all_pairs,
            r#"request.path.split("").exists(a, a == "x")"#,
            "user.roles.exists(a, user.roles.exists(b, a == b))",
            "user.roles.all(a, user.roles.all(b, user.roles.all(c, a != b || b != c)))",
            r#"user.roles.map(a, user.roles.map(b, a + b)).flatten().size() == 1"#,
            r#"user.roles.filter(a, user.roles.filter(b, a == b).size() > 0).size() == 1"#,
            "user.roles.exists_one(a, user.roles.exists_one(b, a == b))",
            "user.roles.sortBy(a, user.roles.join(a)).size() == 1",
            r#"request.path.replace("", request.path).size() == 1"#,
            r#"request.path.split("").join(request.path).size() == 1"#,
            r#""%s%s%s%s".format([user.roles, user.roles, user.roles, user.roles]) == "x""#,
            r#"user.roles.map(r, request.path.indexOf(r)).size() == 1"#,
            "[user.roles, user.roles, user.roles].map(r, r + r + r).flatten().distinct().size() == 1",
            r#"request.path.replace("a", request.path).split("a").size() == 1"#,
            r#"user.roles.exists(r, request.path.matches("x") || request.path.matches("y"))"#,
            &doubled(8),
            &doubled(12),
            &vec![r#"request.path.lower() == "x""#; 60].join(" || "),
            &format!("user.name in [{}]", vec!["user.name"; 900].join(", ")),
        ] {
            let refused = cost_of(text).expect_err(text);
            assert!(
                refused.contains("a condition may cost") || refused.contains("longer than"),
                "{text}: {refused}"
            );
        }
        assert!(cost_of(&format!("user.name == \"{}\"", "x".repeat(9000))).is_err());
    }

    #[test]
    fn a_condition_that_is_nested_too_deeply_is_refused() {
        let nested = |times: usize| "(".repeat(times) + "true" + &")".repeat(times);
        let chained = |times: usize| vec!["1"; times].join(" + ") + " == 1";
        let negated = |times: usize| "!(".repeat(times) + "true" + &")".repeat(times);
        let chosen = |times: usize| "user.disabled ? false : ".repeat(times) + "true";
        for few in [nested(20), chained(40), negated(20), chosen(20)] {
            assert!(cost_of(&few).is_ok(), "{few}");
        }
        for many in [nested(3000), chained(60), chained(2000), negated(2000), chosen(300)] {
            assert!(cost_of(&many).is_err(), "{many}");
        }
    }

    #[test]
    fn what_guards_usually_ask_costs_little_enough() {
        for text in [
            r#""staff" in user.roles"#,
            r#"user.roles.exists(role, role.startsWith("team:"))"#,
            r#"user.roles.exists(role, role in ["admin", "editor", "owner"])"#,
            r#"["admin", "editor"].exists(role, role in user.roles)"#,
            r#"request.path.split("/").exists(part, part == "admin")"#,
            r#"request.path.split("/")[1] in user.roles"#,
            r#"request.path.matches("^/reports/[0-9]{4}/[a-z-]+$") && user.email.matches("@example[.](com|org)$")"#,
            r#"request.method in ["GET", "HEAD"] ? true : "editor" in user.roles && request.path.startsWith("/reports/")"#,
            r#"request.time - session.createdAt < duration("8h") && request.time.getHours("Europe/Berlin") >= 8"#,
            r#"user.name.lower() == "miles davis" || user.email.lowerAscii().endsWith("@example.com")"#,
            r#"user.roles.filter(r, r != "staff").size() == 1"#,
            r#"request.path.lower().contains("/admin/") || request.host.endsWith(".internal")"#,
        ] {
            let cost = cost_of(text).unwrap_or_else(|flaw| panic!("{text}: {flaw}"));
            assert!(cost <= MAX_COST, "{text}: {cost}");
        }
    }
}
