//! The page of one user, with every order about them.

use askama::Template;

use super::{
    super::{
        super::text::{AdminTexts, Texts},
        PageContext,
        field::Field,
        html,
    },
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
pub struct UserPage<'a> {
    pub now: Timestamp,
    pub user: &'a User,
    /// The sessions used last, the latest first.
    pub sessions: &'a [Session],
    /// How many sessions are not shown.
    pub more_sessions: usize,
    pub factors: &'a HeldFactors,
    /// The API keys that have not ended.
    pub keys: &'a [ApiKey],
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

#[derive(Template)]
#[template(path = "admin/user.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    a: &'static AdminTexts,
    frame: &'a Frame,
    user: &'a User,
    secret: Option<&'a Secret>,
    tags: Vec<Tag>,
    created: Moment,
    last_login: Option<Moment>,
    profile: Vec<Confirm<'a>>,
    roles: Vec<(&'a str, Option<Confirm<'a>>)>,
    grant: Option<Confirm<'a>>,
    locked: Option<String>,
    refusals: List<'a>,
    unlock: Option<Confirm<'a>>,
    sessions: List<'a>,
    more_sessions: usize,
    end_sessions: Option<Confirm<'a>>,
    factors: List<'a>,
    security: Vec<Confirm<'a>>,
    keys: List<'a>,
    activity: Option<List<'a>>,
    last: Vec<Confirm<'a>>,
}

impl UserPage<'_> {
    pub fn render(&self, page: &PageContext<'_>, frame: &Frame) -> String {
        let t = page.texts();
        let a = &t.admin;
        let user = self.user;
        let may_write = self.may_manage && self.scopes.contains(Scope::UsersWrite);
        let order = |form: &'static str, label, question: &str| {
            let action = format!("{}/admin/users/{}/{form}", page.base, user.id);
            Confirm::new(action, label, question)
        };
        let fill = |form, field| RefusedForm::fill(self.refused, form, field);
        let writing = |mut orders: Vec<_>| {
            orders.retain(|_| may_write);
            orders
        };
        let change = order("change", t.change, "")
            .field(fill(
                "change",
                Field { autocomplete: "off", ..Field::name(t, user.name.as_str()) },
            ))
            .field(fill(
                "change",
                Field { autocomplete: "off", ..Field::email(t, user.email.as_str()) },
            ));
        let verify = match user.email_verified {
            true => order("verify", a.unverify, a.unverify_question).with("verified", "false"),
            false => order("verify", a.verify, a.verify_question).with("verified", "true"),
        };
        let role = Field::new("role", "role", a.role, "text", "off");
        let role = Field { hint: Some(a.role_hint.into()), ..role };
        let new_password = Field::new_password(t, self.min_password_length);
        let reset_code = order("reset-code", a.reset_code, a.reset_code_question);
        let set_password = order("password", a.set_password, a.set_password_question)
            .field(fill("password", new_password));
        let mut security = vec![reset_code, set_password];
        if user.has_password() {
            let question = a.require_new_password_question;
            security.push(order("require-new-password", a.require_new_password, question).danger());
        }
        if !user.factors.is_empty() {
            security.push(order("factor-reset", a.factor_reset, a.factor_reset_question));
        }
        let secure = order("secure", a.secure, a.secure_question).danger();
        let secure = secure.tick("by-hand", a.secure_by_hand);
        security.push(match user.factors.is_empty() {
            true => secure,
            false => secure.tick("all-factors", a.secure_all_factors),
        });
        let mut last = writing(vec![match user.disabled {
            true => order("enable", a.enable, a.enable_question),
            false => order("disable", a.disable, a.disable_question).danger(),
        }]);
        if self.may_manage && self.scopes.contains(Scope::UsersDelete) {
            last.push(order("delete", a.delete, a.delete_question).danger());
        }
        html(&Html {
            page,
            t,
            a,
            frame,
            user,
            secret: self.secret,
            tags: states(user, t),
            created: Moment::past(t, user.created_at, self.now),
            last_login: self.last_sign_in().map(|at| Moment::past(t, at, self.now)),
            profile: writing(vec![change, verify]),
            roles: user
                .roles
                .iter()
                .map(|role| {
                    let revoke = order("revoke", t.revoke, a.revoke_role_question);
                    (role, may_write.then(|| revoke.about(role).with("role", role)))
                })
                .collect(),
            grant: may_write
                .then(|| order("grant", a.grant, a.grant_question).field(fill("grant", role))),
            locked: self.locked(a),
            refusals: self.refusal_list(page, t),
            unlock: (may_write && !self.is_own)
                .then(|| order("unlock", a.unlock, a.unlock_question)),
            sessions: self.session_list(t, may_write, &order),
            more_sessions: self.more_sessions,
            end_sessions: (may_write && !self.sessions.is_empty())
                .then(|| order("end-sessions", a.end_sessions, a.end_sessions_question).danger()),
            factors: self.factor_list(t),
            security: writing(security),
            keys: self.key_list(t),
            activity: self
                .activity
                .map(|(events, users)| events_of(events, users, page, t, self.now)),
            last,
        })
    }

    /// A registration that has begun a session is a sign-in, which an earlier version did not record.
    fn last_sign_in(&self) -> Option<Timestamp> {
        let begun = self.sessions.iter().map(|session| session.created_at).max();
        self.user.last_login_at.or(begun)
    }

    /// How many failed sign-ins count against the account.
    fn locked(&self, a: &AdminTexts) -> Option<String> {
        let budget = &self.refusals.throttle.from_everywhere;
        (budget.used > 0).then(|| (a.failures_counted)(budget.used, budget.size))
    }

    fn refusal_list(&self, page: &PageContext<'_>, t: &'static Texts) -> List<'static> {
        let a = &t.admin;
        let row = |refused: &crate::account::refused::RecentRefusal| {
            let what = match &refused.action {
                RefusedAction::Login { reason, network } => {
                    Cell::Noted(a.sign_in.into(), format!("{reason} ({network})"))
                }
                RefusedAction::Guard(refusal) => {
                    let path = format!("{}/admin/refusals/{}", page.base, refusal.id);
                    let reported =
                        if refusal.only_reported { a.only_reported_tag } else { a.refused_tag };
                    match self.scopes.contains(Scope::GuardsRead) {
                        true => Cell::Link(path, refusal.guard.clone(), reported.into()),
                        false => Cell::Noted(refusal.guard.clone(), reported.into()),
                    }
                }
            };
            vec![what, Cell::Time(Moment::past(t, refused.time, self.now))]
        };
        let rows = self.refusals.refused.iter().take(MAX_REFUSALS).map(row).collect();
        List::new(vec![a.refused_what, a.time], rows, a.nothing_refused)
    }

    fn session_list<'c>(
        &self,
        t: &'static Texts,
        may_write: bool,
        order: &impl Fn(&'static str, &'static str, &str) -> Confirm<'c>,
    ) -> List<'c> {
        let row = |session: &Session| {
            let device = Device::of(&session.client.user_agent).in_words(t.language);
            let end = || {
                let end = order("end-session", t.end_session, t.admin.end_session_question);
                Cell::Confirm(end.about(&*device).with("session", session.id.to_string()))
            };
            let end = if may_write { end() } else { Cell::Nothing };
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

    fn key_list(&self, t: &'static Texts) -> List<'static> {
        let a = &t.admin;
        let row = |key: &ApiKey| {
            let [name, scopes, last_used] = key_cells(key, t, self.now);
            vec![name, scopes, last_used, Cell::Time(Moment::end(t, key.expires_at, self.now))]
        };
        let columns = vec![a.key, a.scopes, t.last_used_column, a.validity];
        List::new(columns, self.keys.iter().map(row).collect(), a.no_user_keys)
    }

    fn factor_list(&self, t: &'static Texts) -> List<'static> {
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
