//! The end of a takeover of an account: one order ends everything by which somebody could be in it, and lets the right person in again.

use std::time::Duration;

use super::{
    Error,
    effects::{account_secured, one_time_of},
    user_order::{Attempts, Order, require},
};
use crate::{
    Doorward,
    clock::Timestamp,
    config::parse_duration,
    event::{AccessEnded, Administrator, EventKind},
    store::{Conditional, Effects},
    token::one_time::{OneTimeSecret, Purpose},
    user::{Email, HeldFactors, User},
};

/// Which second factors are removed. Whoever has taken over an account may have added one, and a passkey signs in by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemovedFactors {
    All,
    None,
    /// Those that are not older.
    AddedWithin(Duration),
}

impl RemovedFactors {
    /// Unless the administrator says otherwise.
    pub(crate) const DEFAULT: Self = Self::AddedWithin(Duration::from_secs(30 * 24 * 60 * 60));

    /// `all`, `none`, or a time such as `30d`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "all" => Some(Self::All),
            "none" => Some(Self::None),
            _ => parse_duration(text).map(Self::AddedWithin),
        }
    }

    fn since(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::All => Some(Timestamp::from_millis(0)),
            Self::None => None,
            Self::AddedWithin(time) => Some(now - time),
        }
    }
}

/// How the person gets in again.
pub(crate) enum WayIn {
    /// They are mailed a link to set a new password.
    Mailed,
    /// The administrator gives them a code to set one, once within 30 minutes.
    Code(OneTimeSecret),
}

/// What became of an account that was secured.
pub(crate) struct SecuredAccount {
    /// As they are then.
    pub(crate) user: User,
    pub(crate) ended: AccessEnded,
    pub(crate) way_in: WayIn,
    /// The second factors that are left.
    pub(crate) factors: HeldFactors,
    /// The addresses that the account had lately. Whoever has taken it over may have changed them.
    pub(crate) earlier_emails: Vec<Email>,
}

/// Ends the sessions, API keys, trusted browsers, links, codes and invitations of a user, removes their password and the second factors
/// that were added lately, and makes the way in for the right person: a mailed link, or a code if `may_mail` is false, no mail is sent,
/// the user is disabled, or the address was changed lately and so may be a stranger's.
pub(crate) struct Secure {
    pub(crate) factors: RemovedFactors,
    pub(crate) may_mail: bool,
}

impl Order for Secure {
    type Outcome = SecuredAccount;

    async fn carry_out(
        self,
        doorward: &Doorward,
        user: &User,
        by: &Administrator,
    ) -> Result<SecuredAccount, Error> {
        let Self { factors, may_mail } = self;
        let mut attempts = Attempts::with(user);
        loop {
            let read = attempts.next(doorward).await?;
            let now = doorward.now();
            // A change of the address makes another one, which the write notices.
            let mut earlier_emails = doorward.store().earlier_emails(&read, now).await?;
            earlier_emails.retain(|email| *email != read.email);
            let is_mailed =
                may_mail && doorward.sends_mail() && !read.disabled && earlier_emails.is_empty();
            let (effects, way_in) = way_in(doorward, &read, is_mailed);
            let kind = EventKind::UserSecured { ended: None };
            let effects = effects.with(doorward.event_by_administrator(by, read.id, kind));
            let since = factors.since(now);
            let (outcome, ended) =
                doorward.store().secure_user(&read, since, now, &effects).await?;
            match outcome {
                Conditional::Gone => return Err(Error::NoSuchUser),
                Conditional::Changed => continue,
                Conditional::Done => {}
            }
            let user = require(doorward, read.id).await?;
            let factors = doorward.store().factors_of(&user, now).await?;
            return Ok(SecuredAccount { user, ended, way_in, factors, earlier_emails });
        }
    }
}

/// How a person gets in again. The link and the code are bound to the password that they replace, which is none.
fn way_in(doorward: &Doorward, read: &User, is_mailed: bool) -> (Effects, WayIn) {
    let without = User {
        password_hash: None,
        password_version: read.password_version.next(),
        ..read.clone()
    };
    if is_mailed {
        return (account_secured(doorward, &without), WayIn::Mailed);
    }
    let one_time = one_time_of(doorward, &without, Purpose::OperatorReset);
    let code = doorward.one_time_secrets().secret(one_time.id, one_time.purpose);
    (Effects { secrets: vec![one_time], ..Effects::NONE }, WayIn::Code(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factors_to_remove_are_all_none_or_those_added_lately() {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        let now = Timestamp::from_seconds(1_800_000_000);
        let since = |text: &str| RemovedFactors::parse(text).map(|factors| factors.since(now));
        assert_eq!(since("30d"), Some(RemovedFactors::DEFAULT.since(now)));
        assert_eq!(since("30d"), Some(Some(now - 30 * DAY)));
        assert_eq!(since("none"), Some(None));
        assert_eq!(since("all"), Some(Some(Timestamp::from_millis(0))));
        assert_eq!((since("lately"), since(""), since("-1d")), (None, None, None));
    }
}
