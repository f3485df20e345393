//! What a schema consists of. A start compares the tables of the database with what its migrations make, so that it refuses a
//! database that something else has made or changed.

use std::collections::BTreeSet;

use super::Error;

/// How many differences an error names.
const MAX_NAMED: usize = 3;

/// Columns and indexes, each as a line of text in the same form for all that is compared.
#[derive(Debug, Default)]
pub(super) struct Schema {
    /// Such as `users.email text not null`.
    columns: BTreeSet<String>,
    /// Such as `unique index users_by_email_key on users (email_key)`.
    indexes: BTreeSet<String>,
}

impl Schema {
    pub(super) fn add_column(&mut self, table: &str, name: &str, kind: &str, is_nullable: bool) {
        let nullable = if is_nullable { "" } else { " not null" };
        self.columns.insert(format!("{table}.{name} {kind}{nullable}"));
    }

    pub(super) fn add_index(&mut self, is_unique: bool, name: &str, table: &str, columns: &str) {
        let unique = if is_unique { "unique " } else { "" };
        self.indexes.insert(format!("{unique}index {name} on {table} ({columns})"));
    }

    #[cfg(feature = "postgres")]
    pub(super) fn remove_index(&mut self, name: &str) {
        let (index, unique) = (format!("index {name} on "), format!("unique index {name} on "));
        self.indexes.retain(|line| !line.starts_with(&index) && !line.starts_with(&unique));
    }

    /// Checks the schema of a database, which says that it has this number. Everything of `expected` must be there, and no
    /// other column of the tables of `newest`. If a migration to it can be interrupted, its columns may be there. Other
    /// tables and indexes belong to others.
    pub(super) fn check(
        &self,
        number: usize,
        expected: &Self,
        newest: &Self,
        can_be_interrupted: bool,
    ) -> Result<(), UnknownSchema> {
        let missing_columns = expected.columns.difference(&self.columns);
        let missing = missing_columns.chain(expected.indexes.difference(&self.indexes));
        let tables: BTreeSet<_> = newest.columns.iter().map(|line| table_of(line)).collect();
        let unexpected = self.columns.iter().filter(|line| {
            tables.contains(table_of(line))
                && !expected.columns.contains(*line)
                && !(can_be_interrupted && newest.columns.contains(*line))
        });
        let differences: Vec<_> = missing
            .map(|line| format!("{line} is missing"))
            .chain(unexpected.map(|line| format!("{line} is not known")))
            .collect();
        if differences.is_empty() { Ok(()) } else { Err(UnknownSchema { number, differences }) }
    }
}

/// The table of a column.
fn table_of(line: &str) -> &str {
    line.split('.').next().unwrap_or_default()
}

/// The tables of the database are not what any version of Doorward has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnknownSchema {
    number: usize,
    differences: Vec<String>,
}

impl std::fmt::Display for UnknownSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { number, differences } = self;
        let named = differences[..differences.len().min(MAX_NAMED)].join(", ");
        let more = match differences.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        match number {
            0 => write!(
                f,
                "the database has tables with the names of doorward's that doorward has not made ({named}{more}): give doorward \
                 a database of its own"
            ),
            _ => write!(
                f,
                "the tables of the database differ from schema {number} of doorward ({named}{more}): undo what has changed \
                 them, or restore a backup; nothing was changed"
            ),
        }
    }
}

impl std::error::Error for UnknownSchema {}

impl From<UnknownSchema> for Error {
    fn from(error: UnknownSchema) -> Self {
        Self::Failed(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(columns: &[&str], indexes: &[&str]) -> Schema {
        let set = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        Schema { columns: set(columns), indexes: set(indexes) }
    }

    #[test]
    fn a_schema_has_everything_that_is_expected_and_no_other_column() {
        let old =
            schema(&["users.id uuid not null", "users.name text"], &["index a on users (name)"]);
        let new = schema(
            &["users.id uuid not null", "users.name text", "users.locale text"],
            &["index a on users (name)", "index b on users (locale)"],
        );
        let check = |live: &Schema, number| {
            let expected = if number == 1 { &old } else { &new };
            let checked = live.check(number, expected, &new, true);
            checked.map_err(|unknown| unknown.differences.join(", "))
        };
        assert_eq!(check(&old, 1), Ok(()));
        assert_eq!(check(&new, 2), Ok(()));
        assert_eq!(check(&new, 1), Ok(()), "an interrupted migration");
        assert!(new.check(1, &old, &new, false).is_err());
        assert_eq!(
            check(&old, 2),
            Err("users.locale text is missing, index b on users (locale) is missing".into())
        );
        let others = schema(
            &["users.id uuid not null", "users.name text", "notes.text text"],
            &["index a on users (name)", "unique index c on users (id)"],
        );
        assert_eq!(check(&others, 1), Ok(()), "tables and indexes of others");
        let changed = schema(
            &["users.id uuid not null", "users.name text not null", "users.age bigint"],
            &["index a on users (id)"],
        );
        assert_eq!(
            check(&changed, 1),
            Err("users.name text is missing, index a on users (name) is missing, users.age bigint is not known, \
                 users.name text not null is not known"
                .into())
        );
    }

    #[test]
    fn an_error_names_a_few_differences() {
        let live = Schema::default();
        let columns = ["a.a x", "a.b x", "a.c x", "a.d x"];
        let expected = schema(&columns, &[]);
        let error = live.check(7, &expected, &expected, false).unwrap_err().to_string();
        assert!(error.contains(
            "schema 7 of doorward (a.a x is missing, a.b x is missing, a.c x is missing and 1 more)"
        ));
    }
}
