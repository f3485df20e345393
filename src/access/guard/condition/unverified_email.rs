//! Finds conditions that depend on an e-mail address without checking that it is verified.

use cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};

use super::check::children_of;

/// Whether the condition reads `user.email` or `user.domain`, and not `user.emailVerified`.
pub(super) fn trusts_unverified_email(condition: &IdedExpr) -> bool {
    let mut read = Read::default();
    read.visit(condition);
    read.address && !read.verified
}

/// Whether the condition reads `user.roles`.
pub(super) fn reads_roles(condition: &IdedExpr) -> bool {
    let mut read = Read::default();
    read.visit(condition);
    read.roles
}

/// The fields of `user` that a condition reads.
#[derive(Default)]
struct Read {
    address: bool,
    verified: bool,
    roles: bool,
}

impl Read {
    fn visit(&mut self, expression: &IdedExpr) {
        match &expression.expr {
            // A whole `user` gives access to the address.
            Expr::Ident(name) => self.address |= name == "user",
            // `has(user.email)` is always true and reads no address.
            Expr::Select(select) if is_user(&select.operand) => {
                if !select.test {
                    self.field(&select.field);
                }
            }
            _ => match indexed_user_field(expression) {
                Some(field) => self.field(field),
                None => children_of(expression).into_iter().for_each(|part| self.visit(part)),
            },
        }
    }

    fn field(&mut self, name: &str) {
        self.address |= matches!(name, "email" | "domain");
        self.verified |= name == "emailVerified";
        self.roles |= name == "roles";
    }
}

/// The `field` of `user["field"]`.
fn indexed_user_field(expression: &IdedExpr) -> Option<&str> {
    let Expr::Call(call) = &expression.expr else { return None };
    match call.args.as_slice() {
        [operand, IdedExpr { expr: Expr::Literal(LiteralValue::String(field)), .. }]
            if call.func_name == operators::INDEX && is_user(operand) =>
        {
            Some(field.inner())
        }
        _ => None,
    }
}

fn is_user(expression: &IdedExpr) -> bool {
    matches!(&expression.expr, Expr::Ident(name) if name == "user")
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
}
