//! `/dev/mail`: the mail that was sent since the last reset.

use axum::{
    extract::State,
    http::{StatusCode, Uri},
};
use form_urlencoded::parse;
use serde::Serialize;

use super::Control;
use crate::{
    http::{
        Error,
        answer::{NoContent, NoStore},
    },
    mail::{Contents, SentMail},
    user::EmailKey,
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Received {
    id: String,
    to: String,
    kind: &'static str,
    subject: String,
    link: Option<String>,
    code: Option<String>,
    text: String,
    html: String,
    created_at: String,
}

impl From<SentMail> for Received {
    fn from(mail: SentMail) -> Self {
        let SentMail { id, to, created_at, contents } = mail;
        let Contents { kind, subject, text, html, link, code } = contents;
        let (id, created_at) = (id.to_string(), created_at.to_string());
        Self { id, to, kind, subject, link, code, text, html, created_at }
    }
}

/// `GET /dev/mail`, the newest first. With `?to=ADDRESS`, only mail to this address.
pub(super) async fn list(
    State(control): State<Control>,
    uri: Uri,
) -> Result<NoStore<Vec<Received>>, Error> {
    let mut mails = control.server.mails().await?;
    let mut query = parse(uri.query().unwrap_or_default().as_bytes());
    if let Some((_, to)) = query.find(|(name, _)| name == "to") {
        let to = EmailKey::of(&to);
        mails.retain(|mail| EmailKey::of(&mail.to) == to);
    }
    Ok(NoStore(StatusCode::OK, mails.into_iter().map(Received::from).collect()))
}

/// `DELETE /dev/mail`
pub(super) async fn clear(State(control): State<Control>) -> Result<NoContent, Error> {
    control.server.clear_mails().await?;
    Ok(NoContent)
}
