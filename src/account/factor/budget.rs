//! How often a code may be wrong: 100 times in a row for each kind. Every guess is counted in the database before it is
//! compared, so the number holds over restarts and for all instances together.

use crate::{
    Doorward,
    account::{Error, sign_in::publish_failed},
    network::Requester,
    store,
    throttle::{AccountChange, AccountKey, Counted},
    user::User,
};

/// The budget of one kind of factor of a user. A new password does not refill it: else whoever reads the mail could guess on.
#[derive(Clone, Copy)]
pub(in crate::account) enum Budget {
    Totp,
    RecoveryCode,
}

/// NIST SP 800-63B-4, section 3.2.2.
const MOST_FAILURES: u32 = 100;

impl Budget {
    const ALL: [Self; 2] = [Self::Totp, Self::RecoveryCode];

    async fn account(self, doorward: &Doorward, user: &User) -> Result<AccountKey, store::Error> {
        let counted = match self {
            Self::Totp => Counted::TotpCodes(user.id),
            Self::RecoveryCode => Counted::RecoveryCodes(user.id),
        };
        Ok(doorward.store().account_secret().await?.key_of(counted))
    }

    /// Counts an answer as wrong.
    pub(super) async fn charge(
        self,
        doorward: &Doorward,
        user: &User,
        requester: &Requester,
    ) -> Result<(), Error> {
        let settings = &doorward.settings().throttle;
        if settings.unlimited {
            return Ok(());
        }
        let (most, recovery) =
            (settings.account_failures.min(MOST_FAILURES), settings.account_recovery);
        let account = self.account(doorward, user).await?;
        let charged = doorward.store().charge_failure(account, most, recovery, doorward.now());
        charged.await?.map_err(|retry_after| {
            let refused = doorward.throttle().refuse_factor(retry_after);
            publish_failed(doorward, refused.into(), Some(user.id), &user.email.key(), requester);
            refused.into()
        })
    }

    /// Forgets the answers that were wrong.
    pub(super) async fn forget(self, doorward: &Doorward, user: &User) -> Result<(), store::Error> {
        let account = self.account(doorward, user).await?;
        let cleared = AccountChange { account, cleared: true, failures: 0 };
        let recovery = doorward.settings().throttle.account_recovery;
        doorward.store().save_failures(&[cleared], recovery, doorward.now()).await
    }
}

/// What the wrong factors of a user are counted under.
pub(in crate::account) async fn code_accounts(
    doorward: &Doorward,
    user: &User,
) -> Result<Vec<AccountKey>, store::Error> {
    let mut accounts = Vec::new();
    for budget in Budget::ALL {
        accounts.push(budget.account(doorward, user).await?);
    }
    Ok(accounts)
}
