//! Serving commands from the process that holds Doorward: `doorward serve`, or an app that embeds it.

use std::{future::pending, sync::Arc};

use super::{ReadSettings, socket::CommandSocket};
use crate::{Doorward, config};

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
                Some(socket) => socket.serve(&doorward, &*read).await,
                None => pending().await,
            }
        }
    }
}
