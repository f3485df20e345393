//! Serving commands from the process that holds Doorward: `doorward serve`, or an app that embeds it.

use std::{future::pending, sync::Arc};

use super::socket::CommandSocket;
use crate::{
    Doorward,
    config::{self, ReadSettings},
    supervisor::supervise,
};

impl Doorward {
    /// Executes the operator's commands (`doorward user list` and the others) for as long as the future is polled. Spawn
    /// it beside [`Self::run_upkeep`]. Needs a tokio runtime. The socket exists when this function returns.
    ///
    /// `doorward reload` is answered with an error; use [`Self::serve_commands_with`] to support it. On PostgreSQL without
    /// `data_folder` there is no socket, and commands use the database directly.
    pub fn serve_commands(&self) -> impl Future<Output = ()> + Send + use<> {
        self.serve_commands_with(Arc::new(|| {
            Err(config::SettingsError::new(
                "this app cannot reload its guards: restart it to change them",
            ))
        }))
    }

    /// As [`Self::serve_commands`]. `doorward reload` calls `read` and applies the guards of the returned settings.
    pub fn serve_commands_with(
        &self,
        read: Arc<ReadSettings>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let socket = self.folder().and_then(|folder| {
            let log = |error: &_| {
                tracing::warn!(%error, "commands cannot reach this server: the socket cannot be created");
            };
            CommandSocket::listen(folder).inspect_err(log).ok()
        });
        let doorward = self.clone();
        async move {
            match socket {
                Some(socket) => {
                    supervise("commands", || socket.serve(&doorward, &read)).await;
                }
                None => pending().await,
            }
        }
    }
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::*;
    use crate::{
        Settings, config::DatabaseUrl, control::AdminClient, http::api::admin::guards::Guards,
        supervisor::planted,
    };

    #[tokio::test]
    async fn commands_are_executed_after_a_panic_while_waiting_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let database = DatabaseUrl::Sqlite(folder.path().join("doorward.db"));
        let settings = Settings { database, ..Settings::default() };
        let doorward = Doorward::open(settings.clone()).await.unwrap();
        planted::panic_in("commands");
        let serving = tokio::spawn(doorward.serve_commands());
        let client = AdminClient::open(settings).await.unwrap();
        let Guards { guards } = client.get("/api/admin/guards").await.unwrap();
        assert!(guards.is_empty() && client.is_server(), "{guards:?}");
        assert!(!planted::is_pending() && !serving.is_finished());
    }
}
