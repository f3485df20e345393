//! The start page of the administration: how the service is doing.

use askama::Template;

use super::{
    super::{super::text::grouped, PageContext, field::Field},
    chart::Chart,
    frame::Frame,
    guards::{GuardRow, list as guard_list},
    parts::{Cell, Choice, Confirm, List, RefusedForm},
    signing_keys::list as key_list,
};
use crate::{
    account::{audit::DayCounts, status::Status},
    clock::Timestamp,
    doorward::TrailTrouble,
    token::signing_keys::KeyInfo,
};

/// How the service is doing.
#[derive(Template)]
#[template(path = "admin/overview.html", whitespace = "minimize")]
pub struct Overview<'a> {
    pub page: PageContext<'a>,
    pub frame: Frame,
    pub status: &'a Status,
    /// What an operator has to look after, in English.
    pub findings: Vec<String>,
    /// The kind of the database.
    pub database: String,
    /// When the certificate expires, if the service has one.
    pub certificate: Option<Timestamp>,
    pub public_url: String,
    /// What happened on each of the last 30 days, the oldest first. For those who may read the audit trail.
    pub days: Option<Vec<DayCounts>>,
    pub logins: Vec<LoginRow>,
    /// For those who may see guards.
    pub guards: Option<Vec<GuardRow<'a>>>,
    /// For those who may see signing keys.
    pub signing_keys: Option<&'a [KeyInfo]>,
    /// Whether the figures lead to the lists of users and mail.
    pub may_see_users: bool,
    pub may_see_mail: bool,
    /// Whether the administrator may replace and revoke everything.
    pub has_emergency: bool,
    pub refused: Option<&'a RefusedForm>,
}

/// A login, and what has come of sign-ins by it since the server started.
pub struct LoginRow {
    pub name: String,
    pub label: String,
    /// Each result that there was, with its number.
    pub results: Vec<(&'static str, u64)>,
}

/// A number.
struct Figure {
    words: &'static str,
    value: String,
    path: Option<&'static str>,
}

impl Overview<'_> {
    /// What `doorward doctor` has found.
    fn doctor(&self) -> &[String] {
        self.status.doctor.as_ref().map_or(&[], |report| &report.findings)
    }

    /// When the figures were counted.
    fn counted(&self) -> Option<String> {
        let t = self.page.texts();
        self.status.sizes_at.map(|at| t.admin.counted_at(&t.language.moment(at.millis())))
    }

    /// What has come of sign-ins at other providers. The reasons have the words of the metrics and of `docs/logins.md`.
    fn logins(&self) -> Option<List<'static>> {
        let t = self.page.texts();
        let row = |LoginRow { name, label, results }: &LoginRow| {
            let (done, failed): (Vec<_>, Vec<_>) =
                results.iter().partition(|(result, _)| *result == "success");
            let count = |results: &[(&str, u64)]| grouped(results.iter().map(|(_, n)| n).sum());
            let reasons: Vec<_> =
                failed.iter().map(|(result, n)| format!("{result} {}", grouped(*n))).collect();
            vec![
                Cell::Noted(label.clone(), name.clone()),
                Cell::Text(count(&done)),
                Cell::Noted(count(&failed), reasons.join(", ")),
            ]
        };
        let columns = vec![t.admin.login, t.admin.sign_ins, t.admin.failed_sign_ins];
        let rows: Vec<_> = self.logins.iter().map(row).collect();
        (!rows.is_empty()).then(|| List::new(columns, rows, ""))
    }

    fn guards(&self) -> Option<List<'_>> {
        self.guards.as_ref().map(|guards| guard_list(guards, &self.page, self.page.texts()))
    }

    fn signing_keys(&self) -> Option<List<'_>> {
        self.signing_keys.map(|keys| key_list(keys, None, self.page.texts()))
    }

    fn figures(&self) -> Vec<Figure> {
        let a = &self.page.texts().admin;
        let Some(sizes) = self.status.sizes else { return Vec::new() };
        let figure =
            |words, value: u64, path: Option<_>| Figure { words, value: grouped(value), path };
        let (users, mail) = (
            self.may_see_users.then_some("/admin/users"),
            self.may_see_mail.then_some("/admin/mail"),
        );
        vec![
            figure(a.users, sizes.users, users),
            figure(a.open_sessions, sizes.sessions, None),
            figure(a.mail_waiting, sizes.mail_waiting, mail),
            figure(a.mail_given_up, sizes.mail_given_up, mail),
        ]
    }

    fn charts(&self) -> Vec<Chart> {
        let t = self.page.texts();
        let Some(days) = &self.days else { return Vec::new() };
        let chart = |words, of: fn(&DayCounts) -> u64| {
            Chart::new(t, words, &days.iter().map(of).collect::<Vec<_>>())
        };
        let a = &t.admin;
        vec![
            chart(a.sign_ins, |day| day.sign_ins),
            chart(a.failed_sign_ins, |day| day.failed_sign_ins),
            chart(a.sign_ups, |day| day.sign_ups),
        ]
    }

    fn emergency(&self) -> Option<Confirm<'_>> {
        if !self.has_emergency {
            return None;
        }
        let a = &self.page.texts().admin;
        let (chosen, fault) = RefusedForm::typed(self.refused, "passwords");
        let passwords = Choice {
            name: "passwords",
            label: a.emergency_passwords,
            values: vec![
                ("all", a.emergency_all),
                ("role", a.emergency_of_role),
                ("none", a.emergency_none),
            ],
            chosen,
            fault,
        };
        let role = Field {
            is_optional: true,
            hint: Some(a.emergency_role_hint.into()),
            ..Field::new("role", "role", a.role, "text", "off")
        };
        let action = format!("{}/admin/emergency", self.page.base);
        let emergency = Confirm::new(action, a.emergency, a.emergency_question)
            .danger()
            .refused(self.refused)
            .choice(passwords)
            .field(role);
        Some(emergency)
    }

    /// What is wrong with what protects the audit trail, for those who may read it.
    fn troubles(&self) -> impl Iterator<Item = String> {
        let t = self.page.texts();
        let troubles = self.status.audit_troubles.iter().filter(|_| self.days.is_some());
        troubles.map(|TrailTrouble { part, since, .. }| {
            t.admin.trail_trouble(*part, &t.language.moment(since.millis()))
        })
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let t = self.page.texts();
        let (a, status) = (&t.admin, self.status);
        let at = |time: Timestamp| t.language.moment(time.millis());
        let mut facts = vec![
            (a.version, format!("Doorward {} (schema {})", status.version, status.schema)),
            (a.public_address, self.public_url.clone()),
            (a.started, at(status.started_at)),
            (a.database, self.database.clone()),
        ];
        if let Some(bytes) = status.free_bytes {
            facts.push((a.free_space, format!("{} MB", grouped(bytes / 1_000_000))));
        }
        facts.push((a.last_backup, status.last_backup_at.map_or_else(|| a.never.into(), at)));
        let doctor = status.doctor.as_ref().map(|report| report.at);
        facts.push((a.last_doctor, doctor.map_or_else(|| a.never.into(), at)));
        if let Some(expires) = self.certificate {
            facts.push((a.certificate_until, at(expires)));
        }
        facts
    }
}
