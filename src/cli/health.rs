//! `doorward health`: asks the running server whether it is ready, for containers and scripts.

use std::{io::ErrorKind, net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Output, block_on, exit_code::Negative, print_json};
use crate::{
    Settings,
    config::reachable,
    outbound::{ConnectError, http},
};

/// Ask the running server whether it is ready, such as for HEALTHCHECK in a container
#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward health
  doorward health --timeout 2 --json")]
pub(super) struct Health {
    /// Seconds to wait for the answer
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=60))]
    timeout: u64,
    #[command(flatten)]
    output: Output,
}

/// Whether a server is ready, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Readiness {
    pub(super) ready: bool,
    pub(super) url: String,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
}

impl Health {
    pub(super) fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let limit = Duration::from_secs(self.timeout);
        let address = reachable(settings.listen);
        let readiness = block_on(async { Ok(readiness(settings.scheme(), address, limit).await) })?;
        match (&readiness.message, self.output.json) {
            (_, true) => print_json(&readiness)?,
            (None, false) => print_line!("ready"),
            (Some(message), false) => print_line!("not ready: {message}"),
        }
        if readiness.ready { Ok(()) } else { Err(Negative.into()) }
    }
}

/// Asks `/readyz` at this address.
pub(super) async fn readiness(scheme: &str, address: SocketAddr, limit: Duration) -> Readiness {
    const PATH: &str = "/readyz";
    #[derive(Deserialize)]
    struct Reason {
        message: String,
    }
    let url = format!("{scheme}://{address}{PATH}");
    let message = match http::get_from_own_server(scheme, address, PATH, limit).await {
        Ok(answer) if answer.status == 200 => None,
        Ok(answer) => Some(match serde_json::from_slice::<Reason>(&answer.body) {
            Ok(Reason { message }) => message,
            Err(_) => format!("the answer has status {}", answer.status),
        }),
        Err(http::Error::Connect(ConnectError::Connect { address, error }))
            if error.kind() == ErrorKind::ConnectionRefused =>
        {
            Some(format!("nothing listens on {address} (connection refused)"))
        }
        Err(error) => Some(error.to_string()),
    };
    Readiness { ready: message.is_none(), url, message }
}
