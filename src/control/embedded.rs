//! Commands against an app that holds Doorward inside itself.

use std::{future::pending, sync::Arc};

use super::{Orders, ReadSettings};
use crate::{Doorward, config};

impl Doorward {
    /// Carries out the operator's commands (`doorward user list` and the others) for as long as the future is polled:
    /// spawn it beside [`Self::run_upkeep`]. Needs a tokio runtime; the socket is there when this returns.
    ///
    /// `doorward reload` is answered with an error; [`Self::serve_commands_with`] makes it possible. On PostgreSQL
    /// without `data_folder` there is no socket, and commands use the database by themselves.
    pub fn serve_commands(&self) -> impl Future<Output = ()> + Send + use<> {
        self.serve_commands_with(Arc::new(|| {
            Err(config::Error::new(
                "this app does not read its guards anew: they are those that it was started with",
            ))
        }))
    }

    /// As [`Self::serve_commands`]; `doorward reload` puts the guards of the settings in force that `read` returns.
    pub fn serve_commands_with(
        &self,
        read: Arc<ReadSettings>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let orders = self.folder().and_then(|folder| {
            let refused =
                |error: &_| tracing::warn!(%error, "commands cannot reach this server: no socket");
            Orders::listen(folder).inspect_err(refused).ok()
        });
        let doorward = self.clone();
        async move {
            match orders {
                Some(orders) => orders.take(&doorward, &*read).await,
                None => pending().await,
            }
        }
    }
}
