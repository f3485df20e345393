//! Connections to other servers: mail servers, PostgreSQL, the witness of the audit trail, providers that people sign in with, and what `doorward doctor` and
//! `doorward health` ask. Addresses are checked before anything is sent to them, certificates are verified, and the time and the size of an answer are limited.

mod dialler;
pub mod http;
mod special_use;
pub mod tls;

use std::{io, time::Duration};

use tokio::time::timeout;

pub use self::dialler::{ConnectError, Reach, connect};

async fn in_time<T>(limit: Duration, step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(limit, step).await.unwrap_or_else(|_| {
        let text = format!("no answer within {} s", limit.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
    })
}
