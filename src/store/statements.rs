//! How statements are written: in SQL that SQLite, PostgreSQL and compatible distributed databases have in common. They stand in
//! the file of the rule that uses them. The tests hold all of them to this.

/// Declares the statements of a file, and a list of them for the tests. Parameters are numbered: `$1`, `$2`, ….
macro_rules! statements {
    ($($(#[$attribute:meta])* $name:ident = $sql:expr;)*) => {
        $($(#[$attribute])* pub(in crate::store) const $name: &str = $sql;)*
        #[cfg(test)]
        pub(in crate::store) const STATEMENTS: &[(&str, &str)] = &[$((stringify!($name), $name)),*];
    };
}

/// The parameters of a statement with [`BATCH_IDS`] ids.
macro_rules! ids {
    () => {
        "($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
    };
}

pub(super) use ids;
pub(super) use statements;

use super::value::Value;

/// The number of ids that one query looks up.
pub(super) const BATCH_IDS: usize = 16;

/// The values of a statement with [`ids!`] for up to [`BATCH_IDS`] ids. Its number of parameters is fixed, so ids repeat.
pub(super) fn repeated_ids(ids: &[impl Copy + Into<Value>]) -> Vec<Value> {
    ids.iter().cycle().take(BATCH_IDS).map(|id| (*id).into()).collect()
}

/// A query by id, whose result has the id in its first column.
#[derive(Clone, Copy)]
pub(super) struct Lookup {
    /// The statement for one id.
    pub(super) one: &'static str,
    /// The statement for [`BATCH_IDS`] ids.
    pub(super) many: &'static str,
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, BTreeSet},
        fs,
        path::Path,
    };

    use rusqlite::Connection;

    use super::{super::*, *};

    /// All portable statements, by the file that they are in.
    const ALL: &[(&str, &[(&str, &str)])] = &[
        ("api_keys", api_keys::STATEMENTS),
        ("archive", archive::STATEMENTS),
        ("audit", audit::STATEMENTS),
        ("counts", counts::STATEMENTS),
        ("credentials", credentials::STATEMENTS),
        ("deletion", deletion::STATEMENTS),
        ("effects", effects::STATEMENTS),
        ("emergency", emergency::STATEMENTS),
        ("ended_tokens", ended_tokens::STATEMENTS),
        ("erasures", erasures::STATEMENTS),
        ("event_times", event_times::STATEMENTS),
        ("factors", factors::STATEMENTS),
        ("identities", identities::STATEMENTS),
        ("imported_hashes", imported_hashes::STATEMENTS),
        ("imports", imports::STATEMENTS),
        ("invitations", invitations::STATEMENTS),
        ("known_networks", known_networks::STATEMENTS),
        ("login_failures", login_failures::STATEMENTS),
        ("one_time_secrets", one_time_secrets::STATEMENTS),
        ("outbox", outbox::STATEMENTS),
        ("passkeys", passkeys::STATEMENTS),
        ("pruning", pruning::STATEMENTS),
        ("recorded_event", recorded_event::STATEMENTS),
        ("recovery_codes", recovery_codes::STATEMENTS),
        ("rights", rights::STATEMENTS),
        ("secure", secure::STATEMENTS),
        ("session_proofs", session_proofs::STATEMENTS),
        ("sessions", sessions::STATEMENTS),
        ("totp_secrets", totp_secrets::STATEMENTS),
        ("trusted_devices", trusted_devices::STATEMENTS),
        ("used_codes", used_codes::STATEMENTS),
        ("user_record", user_record::STATEMENTS),
        ("user_terms", user_terms::STATEMENTS),
        ("users", users::STATEMENTS),
    ];

    #[test]
    fn the_statements_of_every_file_are_tested() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
        let mut files: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .filter(|path| fs::read_to_string(path).unwrap().contains("\nstatements! {"))
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        files.sort();
        assert_eq!(files, ALL.iter().map(|(file, _)| *file).collect::<Vec<_>>());
    }

    /// Words that some engines do not know or that need a session, each with the reason.
    const BANNED: &[(&str, &str)] = &[
        ("SAVEPOINT", "not in Spanner and Aurora DSQL"),
        ("LOCK TABLE", "not in CockroachDB and Aurora DSQL"),
        ("ADVISORY", "not in CockroachDB, and needs a session"),
        ("LISTEN", "needs a session; not in CockroachDB, nor behind a pooler"),
        ("NOTIFY", "not in CockroachDB"),
        ("SET SESSION", "needs a session"),
        ("SET LOCAL", "needs a session"),
        ("TEMPORARY", "needs a session"),
        ("TEMP TABLE", "needs a session"),
        ("PREPARE", "needs a session"),
        ("SERIAL", "a sequence: a hot spot, and not in Spanner"),
        ("SEQUENCE", "a hot spot"),
        ("AS IDENTITY", "a hot spot"),
        ("JSONB", "operators differ"),
        ("[]", "arrays differ"),
        ("ARRAY", "arrays differ"),
        ("ANY(", "arrays differ"),
        ("CITEXT", "an extension"),
        ("EXTENSION", "not in Aurora DSQL"),
        ("TRIGGER", "not in Spanner and Aurora DSQL"),
        ("FUNCTION", "not in Spanner"),
        ("CREATE TYPE", "not in Spanner and Aurora DSQL"),
        ("REFERENCES", "no foreign keys in Aurora DSQL"),
        ("TRUNCATE", "not in Aurora DSQL"),
        ("::", "PostgreSQL only"),
        ("ILIKE", "PostgreSQL only"),
        ("RANDOM()", "ids are created in Rust"),
        ("GEN_RANDOM_UUID", "ids are created in Rust"),
        ("NOW()", "CURRENT_TIMESTAMP is the standard"),
        ("WITH ", "writing in a common table expression differs"),
        ("SKIP LOCKED", "not in Spanner"),
        ("CONCURRENTLY", "not in a transaction"),
    ];

    #[test]
    fn a_batch_has_as_many_parameters_as_ids() {
        assert_eq!(ids!().split(',').count(), BATCH_IDS);
    }

    fn banned_words(sql: &str) -> Vec<&'static str> {
        let sql = sql.to_uppercase();
        BANNED.iter().filter(|(word, _)| sql.contains(word)).map(|(word, _)| *word).collect()
    }

    fn assert_portable(name: &str, sql: &str) {
        assert_eq!(banned_words(sql), Vec::<&str>::new(), "{name}");
        assert!(!sql.contains(';'), "{name}: more than one statement");
    }

    /// All portable statements, each with its name or its table.
    fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
        ALL.iter()
            .flat_map(|(_, statements)| *statements)
            .copied()
            .chain(archive::made_statements())
            .chain(deletion::made_statements())
    }

    #[test]
    fn every_statement_is_portable() {
        for (name, sql) in all() {
            assert_portable(name, sql);
            assert!(!sql.contains("FOR UPDATE"), "{name}: only PostgreSQL locks");
        }
        #[cfg(feature = "postgres")]
        for (name, sql) in postgres::STATEMENTS {
            assert_portable(name, sql);
        }
    }

    #[test]
    fn sqlite_knows_every_statement() {
        let db = Connection::open_in_memory().unwrap();
        for migration in sqlite::MIGRATIONS {
            db.execute_batch(migration).unwrap();
        }
        for (name, sql) in all() {
            let statement =
                sqlite::prepare(&db, sql).unwrap_or_else(|error| panic!("{name}: {error}"));
            let highest = (1..=17).rev().find(|number| sql.contains(&format!("${number}")));
            assert_eq!(statement.parameter_count(), highest.unwrap_or(0), "{name}");
        }
    }

    /// A statement that displaced another one would be parsed again and again.
    #[test]
    fn a_connection_to_sqlite_keeps_every_parsed_statement() {
        // Those of the engine: transactions, the query of a locked user, ended tokens.
        const OF_ENGINE: usize = 16;
        let count = all().count();
        assert!(count + OF_ENGINE <= sqlite::CACHED_STATEMENTS, "{count} portable statements");
    }

    /// The columns of each table of a schema.
    fn tables(migrations: &[&str]) -> BTreeMap<String, Vec<String>> {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let mut tables = BTreeMap::new();
        for migration in migrations {
            let mut lines = migration.lines().filter(|line| !line.starts_with("--"));
            while let Some(line) = lines.next() {
                let Some(name) = line.strip_prefix("CREATE TABLE ") else { continue };
                let name = name.trim_start_matches("IF NOT EXISTS ").trim_end_matches(" (");
                let columns = lines.by_ref().take_while(|line| !line.starts_with(')'));
                let columns = columns.map(|line| words(line).swap_remove(0)).collect();
                tables.insert(name.to_owned(), columns);
            }
        }
        tables
    }

    /// The names of the indexes of a schema. The key of a table has no name.
    fn indexes<'a>(migrations: &[&'a str]) -> BTreeSet<&'a str> {
        let lines = migrations.iter().flat_map(|migration| migration.lines());
        let statements = lines.filter(|line| !line.starts_with("--"));
        let name = |line: &'a str| {
            let constraint = || line.split_once(" CONSTRAINT ");
            let (_, name) = line.split_once(" INDEX ").or_else(constraint)?;
            name.trim_start_matches("IF NOT EXISTS ").split_whitespace().next()
        };
        statements.filter_map(name).collect()
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn both_schemas_have_the_same_tables_columns_and_indexes() {
        let (mut embedded, mut shared) = (tables(sqlite::MIGRATIONS), tables(postgres::MIGRATIONS));
        // What only one of the engines needs.
        for table in ["changes", "signing_keys", "cookie_secrets"] {
            assert!(shared.remove(table).is_some(), "{table}");
        }
        let ended_tokens = embedded.get_mut("ended_tokens").unwrap();
        assert_eq!(ended_tokens.remove(0), "number");
        assert_eq!(embedded, shared);
        assert!(embedded.len() > 10 && embedded["users"].len() > 10, "{embedded:?}");
        let mut shared = indexes(postgres::MIGRATIONS);
        for index in ["changes_by_time", "ended_tokens_by_change"] {
            assert!(shared.remove(index), "{index}");
        }
        assert_eq!(indexes(sqlite::MIGRATIONS), shared);
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn every_migration_is_portable_and_can_be_run_again() {
        let statements = postgres::MIGRATIONS.iter().flat_map(|file| postgres::statements_of(file));
        for statement in statements.chain([postgres::CREATE_VERSIONS_TABLE]) {
            let code: String = statement
                .lines()
                .filter(|line| !line.starts_with("--"))
                .collect::<Vec<_>>()
                .join(" ");
            assert_eq!(banned_words(&code), Vec::<&str>::new(), "{code}");
            let can_be_run_again = [
                "CREATE TABLE IF NOT EXISTS ",
                "CREATE INDEX IF NOT EXISTS ",
                "CREATE UNIQUE INDEX IF NOT EXISTS ",
                "DROP INDEX IF EXISTS ",
            ];
            let adds_column = code.trim().starts_with("ALTER TABLE ")
                && code.contains(" ADD COLUMN IF NOT EXISTS ");
            // Aurora DSQL adds no column with a default or a constraint.
            assert!(
                !(adds_column && (code.contains("DEFAULT") || code.contains("NULL"))),
                "{code}"
            );
            let is_allowed =
                adds_column || can_be_run_again.iter().any(|start| code.trim().starts_with(start));
            assert!(is_allowed, "{code}");
        }
    }

    /// Statements that are not portable, each with the banned words in it. A word that is misspelled in [`BANNED`] is found in
    /// none of them.
    const NOT_PORTABLE: &[(&str, &[&str])] = &[
        ("savepoint before_insert", &["SAVEPOINT"]),
        ("lock table users in exclusive mode", &["LOCK TABLE"]),
        ("select pg_advisory_xact_lock(1)", &["ADVISORY"]),
        ("listen changes", &["LISTEN"]),
        ("notify changes, 'x'", &["NOTIFY"]),
        ("set session statement_timeout = 10", &["SET SESSION"]),
        ("set local statement_timeout = 10", &["SET LOCAL"]),
        ("create temporary table t (id uuid)", &["TEMPORARY"]),
        ("create temp table t (id uuid)", &["TEMP TABLE"]),
        ("prepare by_id as select 1", &["PREPARE"]),
        ("create table t (id bigserial, u uuid references users)", &["SERIAL", "REFERENCES"]),
        ("create sequence numbers", &["SEQUENCE"]),
        ("create table t (id bigint generated always as identity)", &["AS IDENTITY"]),
        ("create table t (facts jsonb, names text[])", &["JSONB", "[]"]),
        ("select id::text from users where id = any($1)", &["ANY(", "::"]),
        ("select array_agg(id) from users", &["ARRAY"]),
        ("create extension citext", &["CITEXT", "EXTENSION"]),
        ("create trigger t before insert on users execute function f()", &["TRIGGER", "FUNCTION"]),
        ("create type mood as enum ('sad')", &["CREATE TYPE"]),
        ("truncate users", &["TRUNCATE"]),
        ("select 1 from users where name ilike 'a%'", &["ILIKE"]),
        ("select random()", &["RANDOM()"]),
        ("select gen_random_uuid()", &["GEN_RANDOM_UUID"]),
        ("select now()", &["NOW()"]),
        ("with d as (delete from users returning id) select id from d", &["WITH "]),
        ("select id from users for update skip locked", &["SKIP LOCKED"]),
        ("create index concurrently i on users (name)", &["CONCURRENTLY"]),
    ];

    #[test]
    fn every_banned_word_is_found_in_a_statement_that_is_not_portable() {
        for (sql, expected) in NOT_PORTABLE {
            assert_eq!(banned_words(sql), *expected, "{sql}");
        }
        for (word, _) in BANNED {
            let is_found = NOT_PORTABLE.iter().any(|(_, expected)| expected.contains(word));
            assert!(is_found, "{word} has no example");
        }
    }
}
