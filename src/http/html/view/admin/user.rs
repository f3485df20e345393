//! The page of one user, with every order about them.

use askama::Template;

use super::{
    super::{PageContext, field::Field},
    audit::list as events_of,
    frame::Frame,
    keys::cells as key_cells,
    parts::{Cell, Confirm, List, Moment, RefusedForm, Secret, Tag},
    users::states,
};
use crate::{
    access::scope::{Scope, Scopes},
    account::{
        audit::AuditEvent,
        identity_list::IdentityInfo,
        refused::{RecentRefusals, RefusedAction},
    },
    clock::Timestamp,
    credential::factor::FactorKind,
    session::{Session, device::Device},
    user::{ApiKey, HeldFactors, User},
};

/// The most sessions on the page.
pub const MAX_USER_SESSIONS: usize = 20;
/// The most refusals on the page.
const MAX_REFUSALS: usize = 10;

/// The page of one user.
#[derive(Template)]
#[template(path = "admin/user.html", whitespace = "minimize")]
pub struct UserPage<'a> {
    pub page: PageContext<'a>,
    pub frame: Frame,
    pub now: Timestamp,
    pub user: &'a User,
    /// The sessions used last, the latest first.
    pub sessions: &'a [Session],
    /// How many sessions are not shown.
    pub more_sessions: usize,
    pub factors: &'a HeldFactors,
    /// The API keys that have not ended.
    pub keys: &'a [ApiKey],
    /// The accounts at other providers.
    pub identities: &'a [IdentityInfo],
    /// What was refused lately.
    pub refusals: &'a RecentRefusals,
    /// What has happened with the account, and the users whom that names. For those who may read the audit trail.
    pub activity: Option<(&'a [AuditEvent], &'a [User])>,
    pub min_password_length: usize,
    /// What whoever sees the page may do.
    pub scopes: Scopes,
    /// Whether they may do as much as the user.
    pub may_manage: bool,
    /// Whether they see their own account, which they cannot unlock.
    pub is_own: bool,
    /// What was just made, to be handed over.
    pub secret: Option<&'a Secret>,
    pub refused: Option<&'a RefusedForm>,
}

impl UserPage<'_> {
    fn tags(&self) -> Vec<Tag> {
        states(self.user, self.page.texts())
    }

    fn created(&self) -> Moment {
        Moment::past(self.page.texts(), self.user.created_at, self.now)
    }

    /// A registration that has begun a session is a sign-in, which an earlier version did not record.
    fn last_sign_in(&self) -> Option<Moment> {
        let begun = self.sessions.iter().map(|session| session.created_at).max();
        let last = self.user.last_login_at.or(begun);
        last.map(|at| Moment::past(self.page.texts(), at, self.now))
    }

    fn may_write(&self) -> bool {
        self.may_manage && self.scopes.contains(Scope::UsersWrite)
    }

    /// An order, which is sent to the route with the name of its form.
    fn order(&self, form: &str, label: &'static str, question: &str) -> Confirm<'_> {
        let action = format!("{}/admin/users/{}/{form}", self.page.base, self.user.id);
        let refused = self.refused.filter(|refused| refused.form == form);
        Confirm::new(action, label, question).refused(refused)
    }

    /// The orders about the name and the address.
    fn profile_orders(&self) -> Vec<Confirm<'_>> {
        if !self.may_write() {
            return Vec::new();
        }
        let t = self.page.texts();
        let (a, user) = (&t.admin, self.user);
        let name = Field { autocomplete: "off", ..Field::name(t, user.name.as_str()) };
        let email = Field { autocomplete: "off", ..Field::email(t, user.email.as_str()) };
        let change = self.order("change", t.change, "").field(name).field(email);
        let verify = match user.email_verified {
            true => self.order("verify", a.unverify, a.unverify_question).with("verified", "false"),
            false => self.order("verify", a.verify, a.verify_question).with("verified", "true"),
        };
        vec![change, verify]
    }

    /// Each role, and the order that revokes it.
    fn roles(&self) -> impl Iterator<Item = (&str, Option<Confirm<'_>>)> {
        let t = self.page.texts();
        self.user.roles.iter().map(move |role| {
            let revoke = || self.order("revoke", t.revoke, t.admin.revoke_role_question);
            (role, self.may_write().then(|| revoke().about(role).with("role", role)))
        })
    }

    fn grant(&self) -> Option<Confirm<'_>> {
        let a = &self.page.texts().admin;
        let role = Field {
            hint: Some(a.role_hint.into()),
            ..Field::new("role", "role", a.role, "text", "off")
        };
        let grant = || self.order("grant", a.grant, a.grant_question);
        self.may_write().then(|| grant().field(role))
    }

    fn unlock(&self) -> Option<Confirm<'_>> {
        let a = &self.page.texts().admin;
        let unlock = || self.order("unlock", a.unlock, a.unlock_question);
        (self.may_write() && !self.is_own).then(unlock)
    }

    fn end_sessions(&self) -> Option<Confirm<'_>> {
        let a = &self.page.texts().admin;
        let end = || self.order("end-sessions", a.end_sessions, a.end_sessions_question).danger();
        (self.may_write() && !self.sessions.is_empty()).then(end)
    }

    /// The orders about the password and the factors.
    fn security_orders(&self) -> Vec<Confirm<'_>> {
        if !self.may_write() {
            return Vec::new();
        }
        let t = self.page.texts();
        let (a, user) = (&t.admin, self.user);
        let new_password = Field::new_password(t, self.min_password_length);
        let reset_code = self.order("reset-code", a.reset_code, a.reset_code_question);
        let set_password = self.order("password", a.set_password, a.set_password_question);
        let set_password = set_password.field(new_password);
        let mut orders = vec![reset_code, set_password];
        if user.has_password() {
            let question = a.require_new_password_question;
            let require = self.order("require-new-password", a.require_new_password, question);
            orders.push(require.danger());
        }
        if !user.factors.is_empty() {
            orders.push(self.order("factor-reset", a.factor_reset, a.factor_reset_question));
        }
        let secure = self.order("secure", a.secure, a.secure_question).danger();
        let secure = secure.tick("by-hand", a.secure_by_hand);
        orders.push(match user.factors.is_empty() {
            true => secure,
            false => secure.tick("all-factors", a.secure_all_factors),
        });
        orders
    }

    /// The orders that end the account, or let it begin again.
    fn last_orders(&self) -> Vec<Confirm<'_>> {
        let a = &self.page.texts().admin;
        let mut orders = Vec::new();
        if self.may_write() {
            orders.push(match self.user.disabled {
                true => self.order("enable", a.enable, a.enable_question),
                false => self.order("disable", a.disable, a.disable_question).danger(),
            });
        }
        if self.may_manage && self.scopes.contains(Scope::UsersDelete) {
            orders.push(self.order("delete", a.delete, a.delete_question).danger());
        }
        orders
    }

    fn activity(&self) -> Option<List<'_>> {
        let (events, users) = self.activity?;
        Some(events_of(events, users, &self.page, self.page.texts(), self.now))
    }

    /// How many failed sign-ins count against the account.
    fn locked(&self) -> Option<String> {
        let budget = &self.refusals.throttle.from_everywhere;
        let a = &self.page.texts().admin;
        (budget.used > 0).then(|| a.failures_counted(budget.used, budget.size))
    }

    fn refusal_list(&self) -> List<'_> {
        let (base, t) = (self.page.base, self.page.texts());
        let a = &t.admin;
        let row = |refused: &crate::account::refused::RecentRefusal| {
            let what = match &refused.action {
                RefusedAction::Login { reason, network } => {
                    Cell::Noted(a.sign_in.into(), format!("{reason} ({network})"))
                }
                RefusedAction::Guard { guard, decision, only_reported } => {
                    let path = format!("{base}/admin/refusals/{decision}");
                    let reported = if *only_reported { a.only_reported_tag } else { a.refused_tag };
                    match self.scopes.contains(Scope::GuardsRead) {
                        true => Cell::Link(path, guard.clone(), reported.into()),
                        false => Cell::Noted(guard.clone(), reported.into()),
                    }
                }
            };
            vec![what, Cell::Time(Moment::past(t, refused.refused_at, self.now))]
        };
        let rows = self.refusals.refused.iter().take(MAX_REFUSALS).map(row).collect();
        List::new(vec![a.refused_what, a.time], rows, a.nothing_refused)
    }

    fn session_list(&self) -> List<'_> {
        let t = self.page.texts();
        let row = |session: &Session| {
            let device = Device::of(&session.client.user_agent).in_words(t.language);
            let end = || {
                let end = self.order("end-session", t.end_session, t.admin.end_session_question);
                Cell::Confirm(end.about(&*device).with("session", session.id.to_string()))
            };
            let end = if self.may_write() { end() } else { Cell::Nothing };
            vec![
                Cell::Text(device.clone()),
                Cell::Text(session.client.address.to_string()),
                Cell::Time(Moment::past(t, session.last_seen_at, self.now)),
                end,
            ]
        };
        let columns = vec![t.device_column, t.address_column, t.last_used_column, t.action_column];
        List::new(columns, self.sessions.iter().map(row).collect(), t.admin.no_sessions)
    }

    fn key_list(&self) -> List<'_> {
        let t = self.page.texts();
        let a = &t.admin;
        let row = |key: &ApiKey| {
            let [name, scopes, last_used] = key_cells(key, t, self.now);
            vec![name, scopes, last_used, Cell::Time(Moment::end(t, key.expires_at, self.now))]
        };
        let columns = vec![a.key, a.scopes, t.last_used_column, a.validity];
        List::new(columns, self.keys.iter().map(row).collect(), a.no_user_keys)
    }

    fn identity_list(&self) -> List<'_> {
        let t = self.page.texts();
        let a = &t.admin;
        let row = |identity: &IdentityInfo| {
            let remove = || {
                let remove = self.order("remove-login", t.factors.remove, a.remove_login_question);
                let about = remove.about(&*identity.display).danger();
                Cell::Confirm(about.with("identity", identity.id.to_string()))
            };
            let used = match identity.last_used_at {
                Some(at) => Cell::Time(Moment::past(t, at, self.now)),
                None => Cell::Text(a.never.into()),
            };
            vec![
                Cell::Noted(identity.display.clone(), identity.label.clone()),
                Cell::Time(Moment::past(t, identity.created_at, self.now)),
                used,
                if self.may_write() { remove() } else { Cell::Nothing },
            ]
        };
        let columns = vec![a.other_account, a.linked, t.last_used_column, t.action_column];
        List::new(columns, self.identities.iter().map(row).collect(), a.no_logins)
    }

    fn factor_list(&self) -> List<'_> {
        let t = self.page.texts();
        let f = &t.factors;
        let used = |at: Option<Timestamp>| match at {
            Some(at) => Cell::Time(Moment::past(t, at, self.now)),
            None => Cell::Text(t.admin.never.into()),
        };
        let passkeys = self.factors.passkeys.iter().map(|passkey| {
            let kind = if passkey.kind() == FactorKind::Passkey { f.passkey } else { f.key };
            vec![
                Cell::Noted(passkey.name.clone(), kind.into()),
                Cell::Time(Moment::past(t, passkey.created_at, self.now)),
                used(passkey.last_used_at),
            ]
        });
        let totp = self.factors.totp.iter().map(|totp| {
            vec![
                Cell::Text(f.app.into()),
                Cell::Time(Moment::past(t, totp.created_at, self.now)),
                used(totp.last_used_at),
            ]
        });
        let columns = vec![t.admin.factor, t.admin.created, t.last_used_column];
        List::new(columns, passkeys.chain(totp).collect(), t.admin.no_factors)
    }
}
