//! The private rooms, and private parts of [`Doorward`], for the tests and benchmarks of this repository. Nothing in here is
//! stable.

use std::{sync::Arc, time::Duration};

use self::{
    access::{caller::WorkDone, guard::GuardSet, refusals::Refusal},
    clock::{Clock, Timestamp},
    credential::password::PasswordHash,
    network::ClientInfo,
    session::Session,
    store::Store,
    token::{
        cookie::CookieMint,
        feed::Feed,
        one_time::OneTimeMint,
        signing_keys::{self, SigningKeys},
    },
    user::{Email, Name, User, UserId},
};
use crate::{Doorward, OpenError, Settings, doorward::MissingKey};

pub mod access {
    pub use crate::access::*;
}
pub mod backup {
    pub use crate::backup::*;
}
pub mod clock {
    pub use crate::clock::*;
}
pub mod config {
    pub use crate::config::*;
}
pub mod control {
    pub use crate::control::*;
}
pub mod credential {
    pub use crate::credential::*;
}
pub mod data_folder {
    pub use crate::data_folder::*;
}
pub mod event {
    pub use crate::event::*;
}
pub mod http {
    pub use crate::http::*;
}
pub mod id {
    pub use crate::id::*;
}
pub mod language {
    pub use crate::language::*;
}
pub mod log {
    pub use crate::log::*;
}
pub mod mail {
    pub use crate::mail::*;
}
pub mod network {
    pub use crate::network::*;
}
pub mod session {
    pub use crate::session::*;
}
pub mod store {
    pub use crate::store::*;
}
pub mod throttle {
    pub use crate::throttle::*;
}
pub mod token {
    pub use crate::token::*;
}
pub mod user {
    pub use crate::user::*;
}

/// Private methods of [`Doorward`], by their own names.
pub trait Internals: Sized {
    /// As [`Doorward::open`], with this clock.
    fn open_with_clock(
        settings: Settings,
        clock: Clock,
    ) -> impl Future<Output = Result<Self, OpenError>> + Send;

    fn store(&self) -> &Store;
    fn keys(&self) -> &SigningKeys;
    fn feed(&self) -> &Feed;
    fn cookies(&self) -> &CookieMint;
    fn one_time_secrets(&self) -> &OneTimeMint;
    fn replace_guards(&self, guards: Arc<GuardSet>);
    fn refusal(&self, id: &str) -> Option<Refusal>;
    fn work_done(&self) -> WorkDone;
    fn tend_keys(&self) -> impl Future<Output = Result<(), signing_keys::Error>> + Send;
    fn clean_up(&self) -> impl Future<Output = Result<(), store::Error>> + Send;
}

// In here, `self.store()` is the method of `Doorward` itself: it has precedence over the trait's.
impl Internals for Doorward {
    async fn open_with_clock(settings: Settings, clock: Clock) -> Result<Self, OpenError> {
        Self::open_with(settings, MissingKey::Refuse, clock).await
    }

    fn store(&self) -> &Store {
        self.store()
    }

    fn keys(&self) -> &SigningKeys {
        self.keys()
    }

    fn feed(&self) -> &Feed {
        self.feed()
    }

    fn cookies(&self) -> &CookieMint {
        self.cookies()
    }

    fn one_time_secrets(&self) -> &OneTimeMint {
        self.one_time_secrets()
    }

    fn replace_guards(&self, guards: Arc<GuardSet>) {
        self.replace_guards(guards);
    }

    fn refusal(&self, id: &str) -> Option<Refusal> {
        self.refusal(id)
    }

    fn work_done(&self) -> WorkDone {
        self.work_done()
    }

    async fn tend_keys(&self) -> Result<(), signing_keys::Error> {
        self.tend_keys().await
    }

    async fn clean_up(&self) -> Result<(), store::Error> {
        self.clean_up().await
    }
}

/// A user who registers now.
pub fn new_user(
    name: Name,
    email: Email,
    password_hash: Option<PasswordHash>,
    now: Timestamp,
) -> User {
    User::new(name, email, password_hash, now)
}

/// A session that starts now.
pub fn new_session(
    user_id: UserId,
    client: ClientInfo,
    now: Timestamp,
    lifetime: Duration,
) -> Session {
    Session::new(user_id, client, now, lifetime)
}
