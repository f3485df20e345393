//! Sessions: the table `sessions`.

use std::time::Duration;

use uuid::Uuid;

use super::{
    Error, Store,
    columns::{SESSION_COLUMN_COUNT, session_columns, user_columns},
    effects::{Effects, add_effects},
    known_networks::add_known_network,
    row::Row,
    session_proofs::{END_REPLACED_TOKEN, kept},
    statements::{Lookup, ids, statements},
    user_record::{UserRecord, user_from_row},
    value::{Value, sql_limit},
    write::{RowCount, StatementBatch, Verdict},
};
use crate::{
    clock::Timestamp,
    event::EventKind,
    id::Id,
    network::ClientInfo,
    session::{ExternalSession, Methods, Session, SessionId, TokenId},
    throttle::KnownNetworks,
    user::{IdentityId, User, UserId},
};

macro_rules! insert_session {
    () => {
        concat!(
            "INSERT INTO sessions (",
            session_columns!(""),
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
        )
    };
}

/// The unexpired session of a token that was replaced at or before $4. One that has expired ($6) and is not among the ended
/// tokens was replaced longer ago than those are kept.
macro_rules! reused {
    () => {
        "id = $1 AND user_id = $2 AND token_id <> $3 AND expires_at > $5 AND (EXISTS \
         (SELECT 1 FROM ended_tokens e WHERE e.token_id = $3 AND e.ended_at <= $4) OR ($6 <= $5 AND NOT EXISTS \
         (SELECT 1 FROM ended_tokens e WHERE e.token_id = $3)))"
    };
}

/// The sessions of the user $1 that are not newer than the one with the number $2 from the newest, which is 0. An index has them in
/// this order, so that nothing is sorted.
macro_rules! not_newer {
    () => {
        "user_id = $1 AND (created_at, id) <= (SELECT created_at, id FROM sessions WHERE user_id = $1 \
         ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET $2)"
    };
}

statements! {
    ADD_SESSION = insert_session!();
    SESSION_WITH_USER = concat!(
        "SELECT ", session_columns!("s."), ", ", user_columns!("u."), " FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = $1"
    );
    SESSIONS_WITH_USERS = concat!(
        "SELECT ", session_columns!("s."), ", ", user_columns!("u."), " FROM sessions s JOIN users u ON u.id = s.user_id \
         WHERE s.id IN ", ids!()
    );
    SESSIONS_BY_USER = concat!(
        "SELECT ", session_columns!("s."), " FROM sessions s WHERE s.user_id = $1 AND s.expires_at > $2 \
         ORDER BY s.created_at, s.id"
    );
    SESSION_TOKENS = "SELECT token_id FROM sessions ORDER BY id";
    END_TOKEN =
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $3, $4 FROM sessions \
         WHERE id = $1 AND user_id = $2 ON CONFLICT (token_id) DO NOTHING";
    END_SESSION = "DELETE FROM sessions WHERE id = $1 AND user_id = $2";
    /// The tokens of all sessions of a user but one.
    END_TOKENS =
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $3, $4 FROM sessions \
         WHERE user_id = $1 AND id <> $2 ON CONFLICT (token_id) DO NOTHING";
    END_SESSIONS = "DELETE FROM sessions WHERE user_id = $1 AND id <> $2";
    END_TOKENS_OF_OLDEST = concat!(
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $3, $4 FROM sessions WHERE ",
        not_newer!(), " ON CONFLICT (token_id) DO NOTHING"
    );
    END_OLDEST_SESSIONS = concat!("DELETE FROM sessions WHERE ", not_newer!());
    NEWEST_USER_AGENTS =
        "SELECT user_agent FROM sessions WHERE user_id = $1 AND expires_at > $2 ORDER BY created_at DESC, id DESC LIMIT $3";
    STEP_UP_SESSION =
        "UPDATE sessions SET token_id = $3, authenticated_at = $4, methods = $5 WHERE id = $1 AND token_id = $2";
    RENEW_SESSION =
        "UPDATE sessions SET token_id = $3 WHERE id = $1 AND token_id = $2 AND authenticated_at = $4";
    END_TOKEN_OF_REUSED = concat!(
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $7, $5 FROM sessions WHERE ",
        reused!(), " ON CONFLICT (token_id) DO NOTHING"
    );
    END_REUSED_SESSION = concat!("DELETE FROM sessions WHERE ", reused!());
    SET_LAST_LOGIN = "UPDATE users SET last_login_at = $2 WHERE id = $1";
    SET_LAST_SEEN = "UPDATE sessions SET last_seen_at = $2 WHERE id = $1";
    /// Those that began at another provider are kept until they have expired at $3.
    DELETE_EXPIRED_SESSIONS =
        "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at <= $1 \
         AND (identity_id IS NULL OR expires_at <= $3) LIMIT $2)";
}

const BY_ID: Lookup = Lookup { one: SESSION_WITH_USER, many: SESSIONS_WITH_USERS };

/// The number of sessions that one user can have.
pub const MAX_SESSIONS: usize = 100;

/// A token that was used after its session had replaced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReusedToken {
    pub user_id: UserId,
    pub session_id: SessionId,
    pub token_id: TokenId,
    /// When the token expires.
    pub expires_at: Timestamp,
}

impl Store {
    /// The tokens of all sessions.
    pub(crate) async fn session_tokens(&self) -> Result<Vec<TokenId>, Error> {
        let rows = self.read(SESSION_TOKENS, []).await?;
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// The session with this id, and its user.
    pub async fn session_with_user(&self, id: SessionId) -> Result<Option<(Session, User)>, Error> {
        let row = self.engine.row_by_id(BY_ID, id.uuid()).await?;
        row.map(|row| {
            let user = user_from_row(&row, SESSION_COLUMN_COUNT)?;
            Ok((session_from_row(&row)?.of_holder(&user.factors), user))
        })
        .transpose()
    }

    /// A user's sessions that have not expired, the oldest first.
    pub async fn sessions_by_user(
        &self,
        user: UserId,
        now: Timestamp,
    ) -> Result<Vec<Session>, Error> {
        let rows = self.read(SESSIONS_BY_USER, [user.into(), now.into()]).await?;
        rows.iter().map(session_from_row).collect()
    }

    /// The programs of a user's newest sessions that have not expired, at most `limit`, the newest first.
    pub async fn newest_user_agents(
        &self,
        user: UserId,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<String>, Error> {
        let values = [user.into(), now.into(), sql_limit(limit)];
        let rows = self.read(NEWEST_USER_AGENTS, values).await?;
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Replaces the valid token of a session. Returns false if the session has ended, its token was already replaced, or it has
    /// other proofs than the caller knows.
    pub async fn renew_session(
        &self,
        session: &Session,
        token_id: TokenId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let Session { id, token_id: old, user_id, authenticated_at, .. } = *session;
        self.write_user(user_id, false, move |change_id, _| {
            let mut batch = StatementBatch::default();
            let replaced = [id.into(), old.into(), change_id.into(), now.into()];
            batch.add(END_REPLACED_TOKEN, replaced);
            let values = [id.into(), old.into(), token_id.into(), authenticated_at.into()];
            let renewed = batch.add(RENEW_SESSION, values);
            Some(batch.deciding(move |rows| match rows.of(renewed) {
                0 => Verdict::RollBack(false),
                _ => Verdict::Commit(true),
            }))
        })
        .await
    }

    /// Ends a session because a token was used again that the session replaced at or before `replaced_by`. Returns false if
    /// the session has ended, the token is still valid, or the token was replaced later; else queues the mail.
    pub async fn end_reused_session(
        &self,
        reused: &ReusedToken,
        replaced_by: Timestamp,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let ReusedToken { user_id, session_id, token_id, expires_at } = *reused;
        let effects = effects.clone();
        self.revoke_from_user(user_id, false, move |change_id, _| {
            let values = || {
                let ids = [session_id.into(), user_id.into(), token_id.into()];
                let times = [replaced_by.into(), now.into(), expires_at.into()];
                Vec::from_iter(ids.into_iter().chain(times))
            };
            let mut batch = StatementBatch::default();
            let mut token_values = values();
            token_values.push(change_id.into());
            batch.add(END_TOKEN_OF_REUSED, token_values);
            let ended = batch.add(END_REUSED_SESSION, values());
            add_effects(&mut batch, &effects);
            Some(batch.deciding(move |rows| {
                if rows.of(ended) > 0 { Verdict::Commit(true) } else { Verdict::RollBack(false) }
            }))
        })
        .await
    }

    /// Ends one session of a user. Returns false if they have no such session.
    pub async fn end_session(
        &self,
        user: UserId,
        id: SessionId,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let effects = effects.clone();
        self.revoke_from_user(user, false, move |change_id, _| {
            let mut batch = StatementBatch::default();
            add_effects(&mut batch, &effects);
            batch.add(END_TOKEN, [id.into(), user.into(), change_id.into(), now.into()]);
            let ended = batch.add(END_SESSION, [id.into(), user.into()]);
            Some(batch.deciding(move |rows| {
                if rows.of(ended) > 0 { Verdict::Commit(true) } else { Verdict::RollBack(false) }
            }))
        })
        .await
    }

    /// Ends all sessions of a user and returns their number. Queues the mail unless it is 0.
    pub async fn end_sessions(
        &self,
        user: UserId,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<usize, Error> {
        let effects = effects.clone();
        self.revoke_from_user(user, 0, move |change_id, _| {
            let mut batch = StatementBatch::default();
            let ended = end_sessions(&mut batch, user, None, change_id, now);
            add_effects(&mut batch, &effects);
            let write = batch.deciding(move |rows| match rows.of(ended) {
                0 => Verdict::RollBack(0),
                count => Verdict::Commit(count),
            });
            Some(write.complete_events(|ended, kind| {
                if let EventKind::SessionsEnded { count } = kind {
                    *count = Some(*ended);
                }
            }))
        })
        .await
    }

    /// Sets when sessions were last used. This is not counted in [`Store::changes`], because no decision depends on it.
    pub async fn set_last_seen(&self, seen: &[(SessionId, Timestamp)]) -> Result<(), Error> {
        let mut seen = seen.to_vec();
        // Every instance locks rows in the same order, so that two of them do not deadlock.
        seen.sort_unstable();
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            for (id, at) in &seen {
                batch.add(SET_LAST_SEEN, [(*id).into(), (*at).into()]);
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
    batch.add(END_TOKENS_OF_OLDEST, ended);
    batch.add(END_OLDEST_SESSIONS, [id.into(), kept()]);
    batch.add(SET_LAST_LOGIN, [id.into(), created_at.into()]);
    insert_session(batch, &record.known_networks, session);
}

/// Adds a session and its network.
pub(super) fn insert_session(batch: &mut StatementBatch, known: &KnownNetworks, session: &Session) {
    batch.add(ADD_SESSION, session_values(session));
    add_known_network(batch, known, session);
}

/// Gives a session that has proved more a new token. Returns the count of changed sessions.
pub(super) fn step_up(
    batch: &mut StatementBatch,
    session: &Session,
    replaces: TokenId,
    change_id: Uuid,
) -> RowCount {
    let (id, now) = (session.id, session.authenticated_at);
    batch.add(END_REPLACED_TOKEN, [id.into(), replaces.into(), change_id.into(), now.into()]);
    let values = [
        id.into(),
        replaces.into(),
        session.token_id.into(),
        now.into(),
        session.methods.to_store().into(),
    ];
    batch.add(STEP_UP_SESSION, values)
}

/// Ends all sessions of a user but `keep`. Returns the count of ended sessions.
pub(super) fn end_sessions(
    batch: &mut StatementBatch,
    user: UserId,
    keep: Option<SessionId>,
    change_id: Uuid,
    now: Timestamp,
) -> RowCount {
    batch.add(END_TOKENS, [user.into(), kept(keep), change_id.into(), now.into()]);
    batch.add(END_SESSIONS, [user.into(), kept(keep)])
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
        authenticated_at,
        methods,
        client: ClientInfo { address, user_agent },
        external,
    } = session;
    let external = external.as_ref();
    vec![
        (*id).into(),
        (*user_id).into(),
        (*token_id).into(),
        (*created_at).into(),
        (*last_seen_at).into(),
        (*expires_at).into(),
        idle_ms(*idle_timeout).into(),
        (*authenticated_at).into(),
        methods.to_store().into(),
        address.to_string().into(),
        user_agent.as_str().into(),
        external.map(|external| external.identity.uuid()).into(),
        external.and_then(|external| external.session_id.clone()).into(),
    ]
}

/// Reads the columns of a session, which come first.
pub(super) fn session_from_row(row: &Row) -> Result<Session, Error> {
    Ok(Session {
        id: row.get(0)?,
        user_id: row.get(1)?,
        token_id: row.get(2)?,
        created_at: row.get(3)?,
        last_seen_at: row.get(4)?,
        expires_at: row.get(5)?,
        idle_timeout: idle_timeout_from_ms(row.get(6)?),
        authenticated_at: row.get(7)?,
        methods: Methods::from_store(row.get(8)?, row.get(3)?),
        client: ClientInfo { address: row.parsed(9)?, user_agent: row.get(10)? },
        external: match row.get::<Option<Uuid>>(11)? {
            None => None,
            Some(id) => {
                let identity = IdentityId::from_uuid(id);
                Some(ExternalSession { identity, session_id: row.get(12)? })
            }
        },
    })
}

/// The column `idle_ms`: the idle timeout in milliseconds, 0 for none.
fn idle_ms(idle_timeout: Option<Duration>) -> i64 {
    idle_timeout.map_or(0, |timeout| i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX))
}

/// The idle timeout in the column `idle_ms`.
fn idle_timeout_from_ms(millis: i64) -> Option<Duration> {
    u64::try_from(millis).ok().filter(|millis| *millis > 0).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::{super::sqlite::unbounded_steps, *};

    /// They run with each login. With a mail server, the last one does, too.
    #[test]
    fn a_login_sorts_no_sessions() {
        for sql in [END_TOKENS_OF_OLDEST, END_OLDEST_SESSIONS, NEWEST_USER_AGENTS] {
            assert_eq!(unbounded_steps(sql), [""; 0], "{sql}");
        }
    }
}
