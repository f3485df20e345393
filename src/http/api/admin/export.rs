//! `GET /api/admin/export`: all users, one JSON object in each line.

use axum::{
    body::Body,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;

use crate::{
    Doorward,
    account::{
        export::{Hashes, UserExport, write_users},
        order::ExportUsers,
    },
    event::{Actor, Administrator},
    http::{
        Error,
        admin::{Admin, UsersRead},
        answer::NO_STORE,
        description::JsonLines,
        spooled::{self, JSON_LINES},
        standing::Standing,
    },
};

/// Only the operator on the machine gets the password hashes, as in a backup.
pub(in crate::http) async fn export(
    State(doorward): State<Doorward>,
    admin: Admin<ExportUsers>,
    standing: Standing<Admin<UsersRead>, Doorward>,
) -> Result<JsonLines, Error> {
    let hashes = match admin.actor {
        Actor::Operator(_) => Hashes::Included,
        Actor::User(_) | Actor::Key { .. } | Actor::Unknown | Actor::Service => Hashes::LeftOut,
    };
    if doorward.folder().is_none() {
        let streamed = stream_users(&doorward, hashes, &admin).await?;
        return Ok(JsonLines(standing.guard(streamed)));
    }
    let by = Administrator::clone(&admin);
    let answer = spooled::answer(&doorward, "export", move |doorward, output| {
        Box::pin(async move {
            let written = write_users(doorward, hashes, &by, output).await;
            written.map_err(|error| error.to_string())
        })
    });
    Ok(JsonLines(standing.guard(answer.await?)))
}

/// Answers with users as they are read. PostgreSQL without a data folder has no place for a whole export, and a slow receiver keeps
/// no log from being reset there.
async fn stream_users(
    doorward: &Doorward,
    hashes: Hashes,
    by: &Administrator,
) -> Result<Response, Error> {
    let export = UserExport::begin(doorward, hashes, by).await?;
    let lines = stream::try_unfold(export, async |mut export| {
        let lines = export.next_lines().await?;
        Ok::<_, crate::store::Error>(lines.map(|lines| (Bytes::from(lines), export)))
    });
    let headers = [(header::CONTENT_TYPE, JSON_LINES), (header::CACHE_CONTROL, NO_STORE)];
    Ok((headers, Body::from_stream(lines)).into_response())
}
