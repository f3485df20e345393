//! A caller and a request that never were, for trying conditions out.

use std::{sync::Arc, time::Duration};

use super::{CallerFacts, RequestFacts};
use crate::{
    access::caller::Caller,
    clock::Timestamp,
    session::{Origin, Session},
    user::{Email, Name, Role, User},
};

/// Some day in 2027.
pub(crate) const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);
const CLIENT: [u8; 4] = [192, 0, 2, 9];

/// Somebody with everything that a user can have.
pub(crate) fn user() -> User {
    let name = Name::from_store("Ada Lövelace".into());
    let email = Email::from_store("Ada@Example.com".into());
    let mut user = User::new(name, email, None, NOW);
    user.email_verified = true;
    user.roles = ["staff", "admin"].into_iter().filter_map(Role::parse).collect();
    user.updated_at = NOW + A_DAY;
    user.last_login_at = Some(NOW + A_DAY);
    user
}

pub(crate) fn caller_of(user: User, address: std::net::IpAddr) -> Caller {
    let session = Session::new(user.id, Origin::new(address, ""), NOW + A_DAY, A_DAY);
    Caller::new(Arc::new(user), Arc::new(session))
}

pub(crate) fn caller() -> Caller {
    caller_of(user(), [192, 0, 2, 7].into())
}

pub(crate) fn caller_facts() -> CallerFacts {
    CallerFacts::of(&caller())
}

pub(crate) fn request() -> RequestFacts<'static> {
    RequestFacts {
        method: Some("GET".into()),
        host: Some("app.example.com".into()),
        path: Some("/reports/2027".into()),
        scheme: Some("https".into()),
        address: Some(CLIENT.into()),
        time: NOW + A_DAY + Duration::from_secs(3600),
    }
}
