//! Replaces the PostgreSQL engine in a build without the feature `postgres`. No URL can be parsed, so other code needs no
//! conditional compilation.

use std::{fmt, sync::Arc};

use super::{
    Error, OldSchema, PostgresOptions, RestoreError, archive::Restoration, engine::Engine,
};
use crate::token::key_store::KeyStore;

/// Unknown here. The format of a backup tells whether this version can read it.
pub(super) const SCHEMA: usize = usize::MAX;

/// No value of this type exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostgresUrl {}

impl PostgresUrl {
    /// What [`Self::parse`] would accept, for error messages.
    pub(crate) const SYNTAX: &str =
        "postgres:// in a build with the feature `postgres`, which this build lacks";

    #[cfg(feature = "cli")]
    pub(crate) fn has_password(&self) -> bool {
        match *self {}
    }

    /// Accepts no URL.
    pub fn parse(_text: &str) -> Option<Self> {
        None
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

pub(super) async fn open(
    url: &PostgresUrl,
    _options: PostgresOptions,
    _old: OldSchema,
) -> Result<(Box<dyn Engine>, Arc<dyn KeyStore>), Error> {
    match *url {}
}

pub(crate) async fn ensure_database_unused(
    url: &PostgresUrl,
    _options: PostgresOptions,
) -> Result<(), RestoreError> {
    match *url {}
}

pub(crate) async fn begin_restoration(
    url: &PostgresUrl,
    _options: PostgresOptions,
    _replace: bool,
) -> Result<Box<dyn Restoration>, RestoreError> {
    match *url {}
}
