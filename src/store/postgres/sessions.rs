//! The table `sessions`.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    PostgresStore,
    engine::{RowCount, StatementBatch, Verdict},
    known_networks::add_known_network,
    mailing::add_mailing,
    row::session_from_row,
    statements as sql,
    value::{Value, sql_limit},
};
use crate::{
    clock::Timestamp,
    mail::Mailing,
    session::{Origin, Session, SessionId, TokenId},
    store::{
        Error, MAX_SESSIONS, ReusedToken, SessionStore, archive::UserRecord, sessions::idle_ms,
    },
    user::{User, UserId},
};

#[async_trait]
impl SessionStore for PostgresStore {
    async fn add_session(
        &self,
        user: &User,
        session: &Session,
        mailing: &Mailing,
    ) -> Result<bool, Error> {
        let (id, version) = (user.id, user.password_version);
        let (session, mailing) = (session.clone(), mailing.clone());
        self.write_user(id, false, move |change_id, record| {
            let user = &record.user;
            let may_sign_in = !user.disabled && user.password_version == version;
            may_sign_in.then(|| {
                let mut batch = StatementBatch::default();
                open_session(&mut batch, record, &session, change_id);
                add_mailing(&mut batch, &mailing);
                batch.returning(true)
            })
        })
        .await
    }

    async fn session_with_user(&self, id: SessionId) -> Result<Option<(Session, User)>, Error> {
        self.sessions.look_up(&self.engine, id.uuid()).await
    }

    async fn sessions_by_user(&self, user: UserId, now: Timestamp) -> Result<Vec<Session>, Error> {
        let rows = self.engine.read(sql::SESSIONS_BY_USER, [user.into(), now.into()]).await?;
        rows.iter().map(session_from_row).collect()
    }

    async fn renew_session(
        &self,
        session: &Session,
        token_id: TokenId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let Session { id, token_id: old, user_id, .. } = *session;
        self.write_user(user_id, false, move |change_id, _| {
            let mut batch = StatementBatch::default();
            let replaced = [id.into(), old.into(), change_id.into(), now.into()];
            batch.add(sql::END_REPLACED_TOKEN, replaced);
            let renewed = batch.add(sql::RENEW_SESSION, [id.into(), old.into(), token_id.into()]);
            Some(batch.counting(move |rows| rows.of(renewed) > 0))
        })
        .await
    }

    async fn end_reused_session(
        &self,
        reused: &ReusedToken,
        replaced_by: Timestamp,
        now: Timestamp,
        mailing: &Mailing,
    ) -> Result<bool, Error> {
        let ReusedToken { user_id, session_id, token_id } = *reused;
        let mailing = mailing.clone();
        self.write_user(user_id, false, move |change_id, _| {
            let values = || {
                let ids = [session_id.into(), user_id.into(), token_id.into()];
                Vec::from_iter(ids.into_iter().chain([replaced_by.into(), now.into()]))
            };
            let mut batch = StatementBatch::default();
            let mut token_values = values();
            token_values.push(change_id.into());
            batch.add(sql::END_TOKEN_OF_REUSED, token_values);
            let ended = batch.add(sql::END_REUSED_SESSION, values());
            add_mailing(&mut batch, &mailing);
            Some(batch.deciding(move |rows| {
                if rows.of(ended) > 0 { Verdict::Commit(true) } else { Verdict::RollBack(false) }
            }))
        })
        .await
    }

    async fn end_session(
        &self,
        user: UserId,
        id: SessionId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.write_user(user, false, move |change_id, _| {
            let mut batch = StatementBatch::default();
            batch.add(sql::END_TOKEN, [id.into(), user.into(), change_id.into(), now.into()]);
            let ended = batch.add(sql::END_SESSION, [id.into(), user.into()]);
            Some(batch.counting(move |rows| rows.of(ended) > 0))
        })
        .await
    }

    async fn end_sessions(
        &self,
        user: UserId,
        now: Timestamp,
        mailing: &Mailing,
    ) -> Result<usize, Error> {
        let mailing = mailing.clone();
        self.write_user(user, 0, move |change_id, _| {
            let mut batch = StatementBatch::default();
            let ended = end_sessions(&mut batch, user, None, change_id, now);
            add_mailing(&mut batch, &mailing);
            Some(batch.deciding(move |rows| match rows.of(ended) {
                0 => Verdict::RollBack(0),
                count => Verdict::Commit(count),
            }))
        })
        .await
    }

    async fn set_last_seen(&self, seen: &[(SessionId, Timestamp)]) -> Result<(), Error> {
        let mut seen = seen.to_vec();
        // Every instance locks rows in the same order, so that two of them do not deadlock.
        seen.sort_unstable();
        self.engine
            .maintain(move || {
                let mut batch = StatementBatch::default();
                for (id, at) in &seen {
                    batch.add(sql::SET_LAST_SEEN, [(*id).into(), (*at).into()]);
                }
                batch.returning(())
            })
            .await
    }
}

/// Adds a session for a user who signs in.
pub(super) fn open_session(
    batch: &mut StatementBatch,
    record: &UserRecord,
    session: &Session,
    change_id: Uuid,
) {
    let (id, created_at) = (record.user.id, session.created_at);
    let kept = || sql_limit(MAX_SESSIONS - 1);
    let ended = [id.into(), kept(), change_id.into(), created_at.into()];
    batch.add(sql::END_TOKENS_OF_OLDEST, ended);
    batch.add(sql::END_OLDEST_SESSIONS, [id.into(), kept()]);
    batch.add(sql::ADD_SESSION, session_values(session));
    batch.add(sql::SET_LAST_LOGIN, [id.into(), created_at.into()]);
    add_known_network(batch, &record.known_networks, session);
}

/// Ends all sessions of a user but `keep`. Returns the count of ended sessions.
pub(super) fn end_sessions(
    batch: &mut StatementBatch,
    user: UserId,
    keep: Option<SessionId>,
    change_id: Uuid,
    now: Timestamp,
) -> RowCount {
    // No session has the nil id.
    let keep: Value = keep.map_or(Uuid::nil(), SessionId::uuid).into();
    batch.add(sql::END_TOKENS, [user.into(), keep.clone(), change_id.into(), now.into()]);
    batch.add(sql::END_SESSIONS, [user.into(), keep])
}

/// The values of a session in the order of the columns.
pub(super) fn session_values(session: &Session) -> Vec<Value> {
    let Session {
        id,
        user_id,
        token_id,
        created_at,
        last_seen_at,
        expires_at,
        idle_timeout,
        origin: Origin { address, user_agent },
    } = session;
    vec![
        (*id).into(),
        (*user_id).into(),
        (*token_id).into(),
        (*created_at).into(),
        (*last_seen_at).into(),
        (*expires_at).into(),
        idle_ms(*idle_timeout).into(),
        address.to_string().into(),
        user_agent.as_str().into(),
    ]
}
