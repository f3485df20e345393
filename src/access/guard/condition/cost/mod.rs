//! The most that a condition can cost, estimated when it is parsed. A condition that could delay other requests is
//! refused.
//!
//! The unit is one CPU instruction. Every fact has a largest size, which bounds the iterations of loops and the input of
//! functions. `bench/count` checks that the estimate is above the measured cost.

mod call;

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use self::call::call_cost;
use super::{
    facts,
    prepare::{Kind, Loop, Part, Prepared},
    price,
    size::Size,
};

/// The most that a condition may cost, in instructions: less than 50 µs at four instructions per nanosecond.
pub const MAX_COST: u64 = 200_000;

/// The largest cost of a prepared condition.
///
/// # Errors
/// The smallest part that costs too much, and a message.
pub(super) fn cost(prepared: &Prepared) -> Result<u64, (&IdedExpr, String)> {
    let mut estimate = Estimate { prepared, bound: Vec::new() };
    let (cost, _) = estimate.of(&prepared.expression)?;
    estimate.within_bounds(&prepared.expression, cost + price::START)
}

struct Estimate<'p> {
    prepared: &'p Prepared,
    /// The variables of the enclosing loops.
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
            facts::MAX_PATH_BYTES,
            facts::MAX_SEGMENTS,
            facts::MAX_ROLES,
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
                    (price::FIELD + scopes, facts::size_of(variable, Some(&select.field)))
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
            Some(Part::Pattern(_) | Part::Network(_)) => (scopes, Size::SCALAR),
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
                    let size = facts::size_of(name, None);
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
            // The interpreter copies each element in and out.
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
        let (mut cost, mut sizes, mut literals) = (0u64, Vec::new(), Vec::new());
        for part in call.target.as_deref().into_iter().chain(&call.args) {
            let (own, size) = self.of(part)?;
            cost = cost.saturating_add(own);
            sizes.push(size);
            literals.push(if let Expr::Literal(literal) = &part.expr {
                Some(literal)
            } else {
                None
            });
        }
        let (own, size) = call_cost(&call.func_name, &sizes, &literals);
        Ok((cost.saturating_add(own), size))
    }
}

fn literal_size(literal: &LiteralValue) -> Size {
    match literal {
        LiteralValue::String(text) => {
            Size::text(text.inner().len()).with_slashes(text.inner().matches('/').count())
        }
        LiteralValue::Bytes(bytes) => Size::text(bytes.inner().len()),
        _ => Size::SCALAR,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Condition, MAX_COST};

    fn cost_of(text: &str) -> Result<u64, String> {
        Condition::parse(text).map(|condition| condition.cost()).map_err(|error| error.message)
    }

    #[test]
    fn a_condition_that_could_delay_other_requests_is_refused() {
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
    fn a_condition_with_too_much_nesting_is_refused() {
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
    fn usual_conditions_cost_little_enough() {
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
            let cost = cost_of(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!(cost <= MAX_COST, "{text}: {cost}");
        }
    }
}
