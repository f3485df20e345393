//! Tells the hasher which imported password hashes there are, so that failed logins do not reveal who has one.

use std::time::Duration;

use super::Doorward;
use crate::store;

impl Doorward {
    /// Reads the schemes of imported hashes.
    pub(crate) async fn read_foreign_hashes(&self) -> Result<(), store::Error> {
        let prefixes = self.store().foreign_hashes().await?;
        self.hasher().set_foreign_hashes(&prefixes);
        Ok(())
    }

    /// Reads the schemes as other instances import them, and forgets those that no user has any more.
    pub(super) async fn maintain_foreign_hashes(&self) {
        const INTERVAL: Duration = Duration::from_secs(60);
        /// It reads all users.
        const INTERVALS_PER_CLEANING: usize = 60;
        for round in 0_usize.. {
            let outcome = async {
                if round % INTERVALS_PER_CLEANING == 0 && self.hasher().has_decoy() {
                    self.store().forget_unused_foreign_hashes().await?;
                }
                self.read_foreign_hashes().await
            };
            if let Err(error) = outcome.await {
                tracing::debug!(%error, "cannot read the schemes of imported password hashes");
            }
            // If too many passwords wait, the next round tries again.
            let _ = self.hasher().measure_decoys().await;
            tokio::time::sleep(INTERVAL).await;
        }
    }
}
