//! The schema of a database, and the one that migrations make.

use super::{connection::Connection, statements as sql};
use crate::store::{Error, schema::Schema};

/// Where the type in the definition of a column ends.
const AFTER_TYPE: [&str; 6] = ["NOT", "DEFAULT", "COLLATE", "CONSTRAINT", "PRIMARY", "UNIQUE"];

/// The tables that the role may use, and their indexes.
pub(super) async fn of_database(db: &Connection) -> Result<Schema, Error> {
    let mut schema = Schema::default();
    for row in db.query(sql::SCHEMA_COLUMNS, &[]).await? {
        let (table, name, kind): (&str, &str, &str) = (row.get(0)?, row.get(1)?, row.get(2)?);
        schema.add_column(table, name, kind, row.get(3)?);
    }
    for row in db.query(sql::SCHEMA_INDEXES, &[]).await? {
        let (name, table, definition): (&str, &str, &str) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let columns = definition.split_once('(').map_or("", |(_, columns)| columns);
        let is_unique = definition.starts_with("CREATE UNIQUE");
        schema.add_index(is_unique, name, table, columns.strip_suffix(')').unwrap_or(columns));
    }
    Ok(schema)
}

/// What the migrations make in an empty database.
pub(super) fn of_migrations(migrations: &[&str]) -> Schema {
    let mut schema = Schema::default();
    for statement in migrations.iter().flat_map(|migration| statements_of(migration)) {
        add_statement(&mut schema, &words_of(statement));
    }
    schema
}

/// The statements of a migration, with comments. None of them contains a semicolon, nor does a comment.
pub(in crate::store) fn statements_of(migration: &str) -> impl Iterator<Item = &str> {
    migration.split(';').map(str::trim).filter(|statement| !statement.is_empty())
}

/// The words of a statement, without its comments.
pub(super) fn words_of(statement: &str) -> Vec<&str> {
    let lines = statement.lines().filter(|line| !line.trim_start().starts_with("--"));
    lines.flat_map(str::split_whitespace).collect()
}

fn add_statement(schema: &mut Schema, words: &[&str]) {
    match words {
        ["CREATE", "TABLE", "IF", "NOT", "EXISTS", table, definitions @ ..] => {
            let definitions = definitions.join(" ");
            let definitions = definitions.trim_start_matches("( ").trim_end_matches(" )");
            for definition in definitions.split(", ") {
                add_column(schema, table, &definition.split(' ').collect::<Vec<_>>());
            }
        }
        ["ALTER", "TABLE", table, "ADD", "COLUMN", "IF", "NOT", "EXISTS", definition @ ..] => {
            add_column(schema, table, definition);
        }
        ["CREATE", "INDEX", "IF", "NOT", "EXISTS", name, "ON", table, columns @ ..] => {
            schema.add_index(false, name, table, in_parentheses(&columns.join(" ")));
        }
        ["CREATE", "UNIQUE", "INDEX", "IF", "NOT", "EXISTS", name, "ON", table, columns @ ..] => {
            schema.add_index(true, name, table, in_parentheses(&columns.join(" ")));
        }
        ["DROP", "INDEX", "IF", "EXISTS", name] => schema.remove_index(name),
        // Statements that change rows.
        _ => {}
    }
}

fn add_column(schema: &mut Schema, table: &str, definition: &[&str]) {
    let [name, rest @ ..] = definition else { return };
    let kind: Vec<_> = rest.iter().take_while(|word| !AFTER_TYPE.contains(word)).copied().collect();
    let kind = match kind.join(" ").as_str() {
        "TIMESTAMPTZ" => "timestamp with time zone".to_owned(),
        kind => kind.to_lowercase(),
    };
    let is_nullable = !rest.windows(2).any(|words| words == ["NOT", "NULL"]);
    schema.add_column(table, name, &kind, is_nullable);
    if rest.windows(2).any(|words| words == ["PRIMARY", "KEY"]) {
        schema.add_index(true, &format!("{table}_pkey"), table, name);
    }
    for words in rest.windows(3) {
        if let ["CONSTRAINT", index, "UNIQUE"] = words {
            schema.add_index(true, index, table, name);
        }
    }
}

fn in_parentheses(columns: &str) -> &str {
    columns.trim_start_matches('(').trim_end_matches(')')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_read_from_statements() {
        let migrations = [
            "-- A comment.\nCREATE TABLE IF NOT EXISTS notes (\n    id UUID NOT NULL PRIMARY KEY,\n    key TEXT COLLATE \"C\" \
             NOT NULL CONSTRAINT notes_by_key UNIQUE,\n    at TIMESTAMPTZ\n);\nCREATE INDEX IF NOT EXISTS by_at ON notes (at, id);",
            "ALTER TABLE notes ADD COLUMN IF NOT EXISTS size BIGINT NOT NULL DEFAULT 0; DROP INDEX IF EXISTS by_at; \
             UPDATE notes SET size = 1;",
        ];
        let mut expected = Schema::default();
        for (name, kind, is_nullable) in [
            ("id", "uuid", false),
            ("key", "text", false),
            ("at", "timestamp with time zone", true),
            ("size", "bigint", false),
        ] {
            expected.add_column("notes", name, kind, is_nullable);
        }
        expected.add_index(true, "notes_pkey", "notes", "id");
        expected.add_index(true, "notes_by_key", "notes", "key");
        let made = of_migrations(&migrations);
        assert_eq!(format!("{made:?}"), format!("{expected:?}"));
    }
}
