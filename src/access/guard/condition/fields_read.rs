//! What a condition reads about a caller: whether it depends on an e-mail address without checking that it is verified, and
//! whether the caller can change what it decides.

use cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};

use super::children::children_of;

/// The fields of `user` and `session` that a condition reads, as far as somebody asks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FieldsRead {
    address: bool,
    verified: bool,
    /// Whether it reads `user.roles`.
    pub(super) roles: bool,
    /// Whether it reads something that people can change by themselves: whether their address is verified, their second
    /// factors, or what their session has proved.
    pub(super) reachable: bool,
}

impl FieldsRead {
    pub(super) fn of(condition: &IdedExpr) -> Self {
        let mut read = Self::default();
        read.visit(condition);
        read
    }

    /// Whether the condition reads `user.email` or `user.domain`, and not `user.emailVerified`.
    pub(super) fn trusts_unverified_email(self) -> bool {
        self.address && !self.verified
    }

    fn visit(&mut self, expression: &IdedExpr) {
        if let Some(variable) = variable(expression) {
            // A whole variable gives access to all its fields.
            self.address |= variable == "user";
            self.reachable = true;
            return;
        }
        if let Expr::Select(select) = &expression.expr
            && let Some(variable) = variable(&select.operand)
        {
            // `has(user.email)` is always true and reads no address.
            if !select.test {
                self.field(variable, &select.field);
            }
            return;
        }
        match indexed_field(expression) {
            Some((variable, field)) => self.field(variable, field),
            None => children_of(expression).into_iter().for_each(|part| self.visit(part)),
        }
    }

    fn field(&mut self, variable: &str, name: &str) {
        match (variable, name) {
            ("user", "email" | "domain") => self.address = true,
            ("user", "roles") => self.roles = true,
            ("user", "emailVerified") => (self.verified, self.reachable) = (true, true),
            ("user", "factors")
            | ("session", "factors" | "strength" | "phishingResistant" | "verifiedAt") => {
                self.reachable = true;
            }
            _ => {}
        }
    }
}

/// The variable and the `field` of `user["field"]`.
fn indexed_field(expression: &IdedExpr) -> Option<(&str, &str)> {
    let Expr::Call(call) = &expression.expr else { return None };
    match call.args.as_slice() {
        [operand, IdedExpr { expr: Expr::Literal(LiteralValue::String(field)), .. }]
            if call.func_name == operators::INDEX =>
        {
            Some((variable(operand)?, field.inner()))
        }
        _ => None,
    }
}

/// The name of a variable about the caller.
fn variable(expression: &IdedExpr) -> Option<&str> {
    match &expression.expr {
        Expr::Ident(name) if name == "user" || name == "session" => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Condition;

    #[test]
    fn a_condition_that_reads_an_address_and_not_whether_it_is_verified_is_found() {
        for (text, trusts) in [
            (r#"user.domain == "example.com""#, true),
            (r#"user.email.endsWith("@example.com")"#, true),
            (r#"user["domain"] == "example.com""#, true),
            (r#"user.roles.exists(role, role == user.domain)"#, true),
            (r#"["a@example.com"].exists(known, known == user.email)"#, true),
            (r#"user.domain == "example.com" && has(user.emailVerified)"#, true),
            (r#"user[user.name] == "x""#, true),
            (r#"user.domain == "example.com" && user.emailVerified"#, false),
            (r#"user["emailVerified"] && user["email"] == "a@example.com""#, false),
            (r#"user.emailVerified"#, false),
            (r#""staff" in user.roles && user.name == "domain""#, false),
            (r#"has(user.email)"#, false),
        ] {
            let condition = Condition::parse(text).unwrap_or_else(|error| panic!("{error:?}"));
            assert_eq!(condition.trusts_unverified_email(), trusts, "{text}");
        }
    }

    #[test]
    fn a_condition_that_people_can_change_by_themselves_is_found() {
        for (text, reachable) in [
            ("user.emailVerified", true),
            (r#""totp" in user.factors"#, true),
            ("session.strength >= 2", true),
            (r#"session["phishingResistant"]"#, true),
            (r#"session.factors.exists(name, name == "passkey")"#, true),
            (r#"request.time - session.verifiedAt < duration("10m")"#, true),
            (r#"user[user.name] == "x""#, true),
            (r#"["strength"].all(field, field in session)"#, true),
            (r#"user.domain == "example.com" && request.method == "GET""#, false),
            (r#""staff" in user.roles && session.address == "::1""#, false),
            ("has(user.emailVerified)", false),
            ("true", false),
        ] {
            let condition = Condition::parse(text).unwrap_or_else(|error| panic!("{error:?}"));
            assert_eq!(condition.reads_reachable(), reachable, "{text}");
        }
    }
}
