//! The tables of both databases. Backups, moves to another database and their checksums are made from these descriptions. A table
//! that is not moved says why.

use uuid::Uuid;

#[cfg(any(test, feature = "internals"))]
use super::engine::DatabaseKind;
use super::{
    Error, api_keys::api_key_from_row, identities::identity_from_row,
    invitations::invitation_from_row, one_time_secrets::one_time_from_row, outbox::mail_from_row,
    passkeys::passkey_from_row, recorded_event::event_from_row, row::Row,
    sessions::session_from_row, totp_secrets::totp_from_row,
    trusted_devices::trusted_device_from_row, user_record::user_from_row, value::Value,
};

/// A table whose rows are in backups and are moved to another database.
pub struct Table {
    /// Its name in the databases and in backups.
    pub name: &'static str,
    /// The first schema that has it. Older backups do not.
    pub since: usize,
    /// The column that orders the rows and identifies one of them: an id or a text.
    pub(super) key: &'static str,
    /// All columns, those that are not moved as well.
    pub columns: &'static [Column],
    /// Reads the moved columns of a row as the service does, and fails if it cannot. No such row is backed up or restored.
    pub(super) check: fn(&Row) -> Result<(), Error>,
}

pub struct Column {
    /// Its name in the databases and in backups.
    pub name: &'static str,
    pub kind: Kind,
    pub is_nullable: bool,
    pub(super) source: Source,
    /// If it refers to a user: what their deletion does to the row.
    on_deletion: Option<OnDeletion>,
    /// The schema that has added it to its table, and the value of the rows of older backups.
    addition: Option<Addition>,
}

/// What the deletion of a user does to the rows that refer to them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnDeletion {
    DeleteRow,
    KeepRow,
}

#[derive(Clone, Copy)]
struct Addition {
    schema: usize,
    default: fn() -> Value,
}

/// The type of a column. Times are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A UUID.
    Id,
    Text,
    /// A whole number.
    Number,
    Flag,
    Bytes,
}

/// Where the value of a new row comes from.
pub(super) enum Source {
    /// From the old row.
    Moved,
    /// From the address in this column, in the form that is compared.
    KeyOf(&'static str),
    /// It is the same in every row.
    Fixed(fn() -> Value),
    /// From the database. Only SQLite has the column.
    Database,
}

const fn column(name: &'static str, kind: Kind) -> Column {
    Column {
        name,
        kind,
        is_nullable: false,
        source: Source::Moved,
        on_deletion: None,
        addition: None,
    }
}

const fn id(name: &'static str) -> Column {
    column(name, Kind::Id)
}

const fn text(name: &'static str) -> Column {
    column(name, Kind::Text)
}

const fn number(name: &'static str) -> Column {
    column(name, Kind::Number)
}

const fn flag(name: &'static str) -> Column {
    column(name, Kind::Flag)
}

const fn bytes(name: &'static str) -> Column {
    column(name, Kind::Bytes)
}

impl Column {
    /// Whether the table has it in this kind of database.
    #[cfg(feature = "internals")]
    pub fn is_in(&self, database: DatabaseKind) -> bool {
        !(matches!(self.source, Source::Database) && database == DatabaseKind::Postgres)
    }

    /// The value of a row that has this column at this index.
    pub(super) fn value_in(&self, row: &Row, index: usize) -> Result<Value, Error> {
        Ok(match self.kind {
            Kind::Id => row.get::<Option<Uuid>>(index)?.into(),
            Kind::Text => row.get::<Option<String>>(index)?.into(),
            Kind::Number => row.get::<Option<i64>>(index)?.into(),
            Kind::Flag => row.get::<bool>(index)?.into(),
            Kind::Bytes => row.get::<Option<Vec<u8>>>(index)?.into(),
        })
    }

    const fn nullable(self) -> Self {
        Self { is_nullable: true, ..self }
    }

    /// The row is that of the user in this column, and is deleted with them (`deletion.rs`).
    const fn of_user(self) -> Self {
        Self { on_deletion: Some(OnDeletion::DeleteRow), ..self }
    }

    /// The row refers to the user in this column, and stays when they are deleted.
    const fn outlives_user(self) -> Self {
        Self { on_deletion: Some(OnDeletion::KeepRow), ..self }
    }

    const fn from(self, source: Source) -> Self {
        Self { source, ..self }
    }

    /// The schema with this number has added the column. Rows of older backups get the default, which is also that of the
    /// migration: `text("locale").added(2, || "en".into())`. Backups for older versions are made without the column.
    const fn added(self, schema: usize, default: fn() -> Value) -> Self {
        Self { addition: Some(Addition { schema, default }), ..self }
    }

    /// Its value in the rows of a backup of this schema, if that does not have the column.
    pub fn default_before(&self, schema: usize) -> Option<Value> {
        let addition = self.addition.filter(|addition| schema < addition.schema);
        addition.map(|addition| (addition.default)())
    }
}

pub static USERS: Table = Table {
    name: "users",
    since: 1,
    key: "id",
    columns: &[
        id("id").of_user(),
        text("name"),
        text("email"),
        flag("email_verified"),
        text("password_hash").nullable(),
        number("password_version"),
        text("roles"),
        flag("disabled"),
        number("created_at"),
        number("updated_at"),
        number("last_login_at").nullable(),
        text("factors").nullable().added(2, || None::<String>.into()),
        text("login_roles").nullable().added(3, || None::<String>.into()),
        text("known_networks"),
        text("email_key").from(Source::KeyOf("email")),
    ],
    check: |row| user_from_row(row, 0).map(drop),
};

/// Sessions, including expired ones.
pub static SESSIONS: Table = Table {
    name: "sessions",
    since: 1,
    key: "id",
    columns: &[
        id("id"),
        id("user_id").of_user(),
        id("token_id"),
        number("created_at"),
        number("last_seen_at"),
        number("expires_at"),
        number("idle_ms"),
        number("authenticated_at"),
        text("methods"),
        text("address"),
        text("user_agent"),
        id("identity_id").nullable().added(3, || None::<Uuid>.into()),
        text("upstream_sid").nullable().added(3, || None::<String>.into()),
    ],
    check: |row| session_from_row(row).map(drop),
};

/// Tokens that ended before they expired.
static ENDED_TOKENS: Table = Table {
    name: "ended_tokens",
    since: 1,
    key: "token_id",
    columns: &[
        id("token_id"),
        number("ended_at"),
        // No change of the new database has ended the token.
        id("change_id").from(Source::Fixed(|| Uuid::nil().into())),
        number("number").from(Source::Database),
    ],
    check: |_| Ok(()),
};

/// One-time secrets in mails.
pub static ONE_TIME_SECRETS: Table = Table {
    name: "one_time_secrets",
    since: 1,
    key: "id",
    columns: &[
        id("id"),
        text("purpose"),
        id("user_id").of_user(),
        text("email"),
        text("user_email"),
        number("password_version"),
        bytes("digest"),
        number("expires_at"),
        number("guesses"),
        text("email_key").from(Source::KeyOf("email")),
    ],
    check: |row| one_time_from_row(row).map(drop),
};

/// Mail that waits to be sent or was given up.
static OUTBOX: Table = Table {
    name: "outbox",
    since: 1,
    key: "id",
    columns: &[
        id("id"),
        id("user_id").of_user().nullable(),
        text("recipient"),
        text("language"),
        text("message"),
        number("created_at"),
        number("expires_at"),
        number("due_at"),
        number("attempts"),
        text("failure").nullable(),
        number("given_up_at").nullable(),
        // A claim ends with the process that has made it, and mail gets a turn when it is due.
        number("claimed_until").from(Source::Fixed(|| 0.into())),
        number("turn_at").nullable().from(Source::Fixed(|| None::<i64>.into())),
    ],
    check: |row| mail_from_row(row).map(drop),
};

pub static INVITATIONS: Table = Table {
    name: "invitations",
    since: 1,
    key: "id",
    columns: &[
        id("id"),
        text("email"),
        text("roles"),
        id("invited_by").of_user().nullable(),
        flag("is_mailed"),
        number("created_at"),
        number("expires_at"),
        bytes("digest"),
        number("guesses"),
        text("email_key").from(Source::KeyOf("email")),
    ],
    check: |row| invitation_from_row(row).map(drop),
};

/// Users whose password hash was imported.
static IMPORTED_HASHES: Table = Table {
    name: "imported_hashes",
    since: 1,
    key: "user_id",
    columns: &[id("user_id").of_user(), text("prefix"), number("imported_at")],
    check: |_| Ok(()),
};

/// The schemes and costs of imported password hashes.
static FOREIGN_HASHES: Table = Table {
    name: "foreign_hashes",
    since: 1,
    key: "prefix",
    columns: &[text("prefix")],
    check: |_| Ok(()),
};

static PASSKEYS: Table = Table {
    name: "passkeys",
    since: 2,
    key: "id",
    columns: &[
        id("id"),
        id("user_id").of_user(),
        bytes("credential_id"),
        text("rp_id"),
        bytes("user_handle"),
        bytes("public_key"),
        flag("verifies_user"),
        id("aaguid"),
        text("name"),
        text("transports"),
        number("sign_count"),
        flag("backup_eligible"),
        flag("backed_up"),
        number("created_at"),
        number("last_used_at").nullable(),
    ],
    check: |row| passkey_from_row(row).map(drop),
};

/// The encrypted secrets of authenticator apps.
static TOTP_SECRETS: Table = Table {
    name: "totp_secrets",
    since: 2,
    key: "user_id",
    columns: &[
        id("user_id").of_user(),
        bytes("secret"),
        number("last_step"),
        number("created_at"),
        number("last_used_at").nullable(),
    ],
    check: |row| totp_from_row(row).map(drop),
};

/// Recovery codes that have not been used.
static RECOVERY_CODES: Table = Table {
    name: "recovery_codes",
    since: 2,
    key: "id",
    columns: &[id("id"), id("user_id").of_user(), bytes("digest"), number("created_at")],
    check: |_| Ok(()),
};

static TRUSTED_DEVICES: Table = Table {
    name: "trusted_devices",
    since: 2,
    key: "id",
    columns: &[
        id("id"),
        id("user_id").of_user(),
        number("password_version"),
        text("address"),
        text("user_agent"),
        number("created_at"),
        number("expires_at"),
    ],
    check: |row| trusted_device_from_row(row).map(drop),
};

/// The accounts of people at other providers.
static IDENTITIES: Table = Table {
    name: "identities",
    since: 3,
    key: "id",
    columns: &[
        id("id"),
        id("user_id").of_user(),
        text("issuer"),
        text("subject"),
        text("login"),
        text("display"),
        number("created_at"),
        number("last_used_at").nullable(),
    ],
    check: |row| identity_from_row(row).map(drop),
};

static API_KEYS: Table = Table {
    name: "api_keys",
    since: 3,
    key: "id",
    columns: &[
        id("id"),
        id("user_id").of_user().nullable(),
        text("name"),
        text("scopes"),
        text("condition").nullable(),
        flag("two_factors"),
        number("created_at"),
        number("expires_at"),
        number("last_used_at").nullable(),
        number("revoked_at").nullable(),
        bytes("digest"),
    ],
    check: |row| api_key_from_row(row).map(drop),
};

/// The events of the audit trail.
pub(super) static AUDIT_EVENTS: Table = Table {
    name: "audit_events",
    since: 3,
    key: "id",
    columns: &[
        id("id"),
        number("number").nullable(),
        text("kind"),
        id("subject_id").outlives_user().nullable(),
        id("actor_id").outlives_user().nullable(),
        bytes("salt"),
        bytes("personal").nullable(),
        bytes("commitment").nullable(),
        text("record"),
    ],
    check: |row| event_from_row(row).map(drop),
};

/// The hashes of the tree over them.
static AUDIT_TILES: Table = Table {
    name: "audit_tiles",
    since: 3,
    key: "path",
    columns: &[text("path"), bytes("hashes"), bytes("pruned").nullable()],
    check: |_| Ok(()),
};

/// The size and root of the tree, and of those that this installation witnesses.
static AUDIT_TREE: Table = Table {
    name: "audit_tree",
    since: 3,
    key: "log",
    columns: &[text("log"), number("size"), bytes("hash"), text("checkpoint").nullable()],
    check: |_| Ok(()),
};

/// Deleted users of whom something is to be erased from the events.
static ERASURES: Table = Table {
    name: "erasures",
    since: 3,
    key: "user_id",
    columns: &[id("user_id").outlives_user(), number("deleted_at"), number("due_at")],
    check: |_| Ok(()),
};

/// How many events there were on each day.
static AUDIT_DAYS: Table = Table {
    name: "audit_days",
    since: 3,
    key: "day_and_kind",
    columns: &[text("day_and_kind"), number("count")],
    check: |_| Ok(()),
};

/// All of them, in the order of a backup.
static TABLES: &[&Table] = &[
    &USERS,
    &SESSIONS,
    &ENDED_TOKENS,
    &ONE_TIME_SECRETS,
    &OUTBOX,
    &INVITATIONS,
    &IMPORTED_HASHES,
    &FOREIGN_HASHES,
    &PASSKEYS,
    &TOTP_SECRETS,
    &RECOVERY_CODES,
    &TRUSTED_DEVICES,
    &IDENTITIES,
    &API_KEYS,
    &AUDIT_EVENTS,
    &AUDIT_TILES,
    &AUDIT_TREE,
    &ERASURES,
    &AUDIT_DAYS,
];

/// The tables that are not moved, and that a restore empties.
pub(super) const EMPTIED_TABLES: &[&str] = &[
    // The keys of an installation are moved apart from its rows, because SQLite has them in files.
    "signing_keys",
    "cookie_secrets",
    // Codes that were used within the last minute.
    "used_codes",
    "unfinished_moves",
    // Made from the users.
    "user_terms",
    "user_terms_check",
];

/// The tables that are not moved, and that a restore leaves as they are.
pub(super) const KEPT_TABLES: &[&str] = &[
    // Other instances learn from it that everything has changed.
    "changes",
    // Failed logins, and the key of their hashes. They expire within hours, and an attack may be under way.
    "login_failures",
    "account_secrets",
];

impl Table {
    /// All tables, in the order of a backup.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        TABLES.iter().copied()
    }

    /// The table with this name, if this schema has it.
    pub fn by_name(name: &str, schema: usize) -> Option<&'static Self> {
        Self::all().find(|table| table.name == name && table.since <= schema)
    }

    /// The names of the tables that are not moved.
    #[cfg(feature = "internals")]
    pub fn not_moved() -> impl Iterator<Item = &'static str> {
        EMPTIED_TABLES.iter().chain(KEPT_TABLES).copied()
    }

    /// The columns that are moved, in the order of a record's values.
    pub fn moved_columns(&self) -> impl Iterator<Item = &'static Column> + use<> {
        self.columns.iter().filter(|column| matches!(column.source, Source::Moved))
    }

    /// The columns with the user whose row it is.
    pub fn columns_of_user(&self) -> impl Iterator<Item = &'static Column> + use<> {
        self.columns.iter().filter(|column| column.on_deletion == Some(OnDeletion::DeleteRow))
    }
}

/// A table to which a schema has added a column.
#[cfg(test)]
pub static GROWN: Table = Table {
    name: "grown",
    since: 1,
    key: "id",
    columns: &[id("id"), text("name"), text("locale").added(3, || "en".into())],
    check: |_| Ok(()),
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Else a table with rows about users could be forgotten when one of them is deleted.
    #[test]
    fn every_id_that_may_be_that_of_a_user_says_what_their_deletion_does() {
        const OF_OTHERS: &[&str] = &["id", "token_id", "change_id", "aaguid", "identity_id"];
        for table in Table::all() {
            let ids = table.columns.iter().filter(|column| column.kind == Kind::Id);
            for column in ids.filter(|column| !OF_OTHERS.contains(&column.name)) {
                let is_said = column.on_deletion.is_some();
                assert!(is_said, "{}.{}: `of_user` or `outlives_user`?", table.name, column.name);
            }
        }
    }

    #[test]
    #[cfg(feature = "postgres")]
    fn both_databases_have_the_same_number_of_schemas() {
        assert_eq!(DatabaseKind::Sqlite.schema(), DatabaseKind::Postgres.schema());
    }
}
