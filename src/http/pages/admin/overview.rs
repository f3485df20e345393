//! `GET /admin`: how the service is doing.

use std::sync::Arc;

use axum::response::Response;

use super::{
    super::{
        form_refusal::{FormFailure, FormRefusal},
        view::{EmergencyDone, LoginRow, Overview, Place, RefusedForm},
    },
    AdminVisit, guards,
};
use crate::{
    Doorward,
    access::{guard::Guard, scope::Scope},
    account::{audit, emergency, order::RunEmergency, status},
    clock::Timestamp,
    config::DatabaseUrl,
    fault::Fault,
    federation::Login,
    http::{
        Error,
        admin::StatusRead,
        form::{FaultRecorded, PageForm},
    },
};

/// The days of the charts.
const DAYS: u32 = 30;

pub(in crate::http) async fn show(visit: AdminVisit<StatusRead>) -> Result<Response, Error> {
    page(&visit, None).await
}

/// `POST /admin/emergency`: everybody is signed out, the administrator too.
pub(in crate::http) async fn run_emergency(
    visit: AdminVisit<RunEmergency>,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let typed = ["passwords", "role"].map(|name| (name, form.typed(name))).to_vec();
    let role = form.optional("role", Ok).ok().flatten().unwrap_or_default();
    let passwords = form.required("passwords", |choice| {
        let whose = match &*choice {
            "role" => format!("role:{}", role.trim()),
            choice => choice.to_owned(),
        };
        emergency::parse_new_passwords(&whose).ok_or_else(|| Fault::malformed("Not valid"))
    });
    match passwords {
        Ok(passwords) => {
            let report = emergency::run(visit.doorward(), &passwords, &visit.by).await?;
            let view = EmergencyDone { page: visit.context(), report: &report };
            let mut response = visit.admin_page(&view, None);
            visit.remove_cookie(&mut response);
            Ok(response)
        }
        Err(FaultRecorded) => {
            let refusal = FormFailure::faults_of(form).refusal()?;
            let refused = visit.refused_form(typed, &refusal);
            page(&visit, Some((&refused, &refusal))).await
        }
    }
}

/// When the certificate of the server expires, if it has one.
#[cfg(feature = "cli")]
fn certificate_end(doorward: &Doorward) -> Option<Timestamp> {
    let (certificate, _) = doorward.settings().tls.pair()?;
    crate::http::server::expiry_in_file(certificate)
}

/// An app that embeds the service has connections of its own.
#[cfg(not(feature = "cli"))]
fn certificate_end(_: &Doorward) -> Option<Timestamp> {
    None
}

/// The declared logins, and what has come of sign-ins by them.
fn login_rows(doorward: &Doorward) -> Vec<LoginRow> {
    let counted = doorward.events().counts().logins();
    let row = |login: &Arc<Login>| {
        let of_login = counted.iter().find(|(name, _)| *name == login.name)?;
        let results = of_login.1.values().filter(|(_, count)| *count > 0).collect();
        Some(LoginRow { name: login.name.clone(), label: login.label.clone(), results })
    };
    doorward.logins().iter().filter_map(row).collect()
}

async fn page<S>(
    visit: &AdminVisit<S>,
    refused: Option<(&RefusedForm, &FormRefusal)>,
) -> Result<Response, Error> {
    let doorward = visit.doorward();
    let guard_set = doorward.guards();
    let may_see_guards = visit.may(Scope::GuardsRead);
    let keys = match visit.may(Scope::SigningKeysRead) {
        true => Some(doorward.keys().list().await),
        false => None,
    };
    let status = status::status(doorward).await;
    let not_ready = status.not_ready.iter().cloned();
    let warnings = guard_set.iter().filter(|_| may_see_guards).filter_map(Guard::warning);
    let days = match visit.may(Scope::AuditRead) {
        true => Some(audit::days(doorward, DAYS).await?),
        false => None,
    };
    let (refused, refusal) = refused.unzip();
    let view = Overview {
        page: visit.context(),
        frame: visit.frame(Place::Overview, refused),
        days,
        findings: not_ready.chain(warnings).collect(),
        status: &status,
        database: match &doorward.settings().database {
            DatabaseUrl::Sqlite(_) => "SQLite".into(),
            DatabaseUrl::Postgres(_) => "PostgreSQL".into(),
            DatabaseUrl::Memory(_) => "SQLite, in memory".into(),
        },
        certificate: certificate_end(doorward),
        public_url: doorward.public_base(),
        logins: login_rows(doorward),
        guards: may_see_guards.then(|| guards::rows(doorward, &guard_set)),
        signing_keys: keys.as_deref(),
        may_see_users: visit.may(Scope::UsersRead),
        may_see_mail: visit.may(Scope::MailRead),
        has_emergency: visit.may(Scope::Emergency),
        refused,
    };
    Ok(visit.admin_page(&view, refusal))
}
