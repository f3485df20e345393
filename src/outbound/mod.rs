//! Connections to other servers: mail servers, PostgreSQL, and the witness of the audit trail, and what `doorward doctor` and `doorward health` ask. Certificates are
//! verified, and the time of each step and the size of an answer are limited.

pub mod http;
pub mod tls;

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The address of the host is not known.
    #[error("{0}")]
    Resolve(String),
    /// No address accepts a connection. It is the error of the last one.
    #[error("{address}: {error}")]
    Connect { address: SocketAddr, error: io::Error },
}

/// Connects to the first address of a host that accepts. `limit` is the time for finding the addresses and for each of them.
///
/// # Errors
/// If the host has no address, or none of them accepts.
pub async fn connect(
    host: &str,
    port: u16,
    limit: Duration,
) -> Result<(TcpStream, SocketAddr), ConnectError> {
    let found = timeout(limit, lookup_host((host, port))).await;
    let addresses = found
        .map_err(|_| format!("no address of {host} within {} s", limit.as_secs()))
        .and_then(|found| found.map_err(|error| format!("{host} has no address: {error}")))
        .map_err(ConnectError::Resolve)?;
    let mut failure = ConnectError::Resolve(format!("{host} has no address"));
    for address in addresses {
        match in_time(limit, TcpStream::connect(address)).await {
            Ok(stream) => return Ok((stream, address)),
            Err(error) => failure = ConnectError::Connect { address, error },
        }
    }
    Err(failure)
}

async fn in_time<T>(limit: Duration, step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(limit, step).await.unwrap_or_else(|_| {
        let text = format!("no answer within {} s", limit.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
    })
}
