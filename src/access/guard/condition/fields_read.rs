//! What a condition reads about its subject: whether it depends on an e-mail address without checking that it is verified, whether
//! the caller can change what it decides, and which claims of a provider it needs.

use cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};

use super::{children::children_of, facts::CLAIMS};

/// The fields of `user`, `session` and `claims` that a condition reads, as far as somebody asks.
#[derive(Clone, Debug, Default)]
pub struct FieldsRead {
    address: bool,
    verified: bool,
    /// Whether it reads `user.roles`, which only the operator grants.
    pub roles: bool,
    /// Whether it reads something that people can change by themselves: whether their address is verified, their second
    /// factors, or what their session has proved.
    pub reachable: bool,
    /// The fields of `claims` that it reads or asks for.
    claims: Vec<String>,
    /// Whether it may read any field of `claims`.
    all_claims: bool,
}

impl FieldsRead {
    pub(super) fn of(condition: &IdedExpr) -> Self {
        let mut read = Self::default();
        read.visit(condition);
        read
    }

    /// Whether it reads an address, and not whether it is verified. Anybody can register any address.
    pub fn trusts_unverified_email(&self) -> bool {
        self.address && !self.verified
    }

    /// Whether its value may depend on this field of `claims`.
    pub fn claim(&self, name: &str) -> bool {
        self.all_claims || self.claims.iter().any(|read| read == name)
    }

    /// Whether its value may depend on any field of `claims`.
    pub fn any_claim(&self) -> bool {
        self.all_claims || !self.claims.is_empty()
    }

    fn visit(&mut self, expression: &IdedExpr) {
        if let Some(variable) = variable(expression) {
            if variable == CLAIMS {
                self.all_claims = true;
                return;
            }
            // A whole variable gives access to all its fields.
            self.address |= variable == "user";
            self.reachable = true;
            return;
        }
        if let Expr::Select(select) = &expression.expr
            && let Some(variable) = variable(&select.operand)
        {
            match select.test {
                // It reads no address. A provider may have to be asked for the claim.
                true if variable == CLAIMS => self.claims.push(select.field.clone()),
                true => {}
                false => self.field(variable, &select.field),
            }
            return;
        }
        match indexed_field(expression) {
            Some((variable, field)) => self.field(variable, field),
            None => children_of(expression).into_iter().for_each(|part| self.visit(part)),
        }
    }

    fn field(&mut self, variable: &str, name: &str) {
        if variable == CLAIMS {
            self.claims.push(name.to_owned());
        }
        match (variable, name) {
            ("user", "email" | "domain") | (CLAIMS, "email") => self.address = true,
            // How Microsoft says it.
            (CLAIMS, "email_verified" | "xms_edov") => self.verified = true,
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

/// The name of a variable about the subject.
fn variable(expression: &IdedExpr) -> Option<&str> {
    match &expression.expr {
        Expr::Ident(name) if ["user", "session", CLAIMS].contains(&name.as_str()) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Condition, Subject};

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
            assert_eq!(condition.reads().trusts_unverified_email(), trusts, "{text}");
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
            assert_eq!(condition.reads().reachable, reachable, "{text}");
        }
    }

    #[test]
    fn the_claims_that_a_condition_depends_on_are_found() {
        for (text, read, other) in [
            (r#"claims.hd == "x""#, "hd", Some("groups")),
            (r#"claims["hd"] == "x" && has(claims.groups)"#, "groups", Some("amr")),
            (r#"claims.realm_access.roles == []"#, "realm_access", Some("roles")),
            (r#"["x"].exists(x, x in claims.groups)"#, "groups", Some("x")),
            (r#""hd" in claims"#, "hd", None),
            (r#"claims[claims.key] == "x""#, "hd", None),
        ] {
            let condition = Condition::parse_about(Subject::External, text);
            let condition = condition.unwrap_or_else(|error| panic!("{text}: {error:?}"));
            assert!(condition.reads().claim(read) && condition.reads().any_claim(), "{text}");
            assert_eq!(condition.reads().claim(other.unwrap_or("any")), other.is_none(), "{text}");
        }
        let condition = Condition::parse_about(Subject::External, "request.time.getHours() > 5");
        assert!(!condition.unwrap().reads().any_claim());
    }

    #[test]
    fn an_unverified_claim_of_an_address_is_found() {
        for (text, trusts) in [
            (r#"claims.email.endsWith("@example.com")"#, true),
            (r#"claims["email"] == "a@example.com" && claims.hd == "x""#, true),
            (r#"claims.email == "a" && claims.email_verified"#, false),
            (r#"claims.email == "a" && claims.xms_edov == true"#, false),
            ("has(claims.email)", false),
            (r#"claims.hd == "example.com""#, false),
        ] {
            let condition = Condition::parse_about(Subject::External, text);
            let condition = condition.unwrap_or_else(|error| panic!("{text}: {error:?}"));
            assert_eq!(condition.reads().trusts_unverified_email(), trusts, "{text}");
        }
    }
}
