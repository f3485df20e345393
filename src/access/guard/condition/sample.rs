//! A sample caller and request, for checking conditions when they are declared.

use std::{net::IpAddr, time::Duration};

use super::{CallerFacts, RequestFacts};
use crate::{
    clock::Timestamp,
    credential::factor::FactorKind,
    network::ClientInfo,
    session::{Method, Methods, Session},
    user::{ApiKey, ApiKeyId, Email, KeyScopes, Name, Role, User},
};

/// A day in 2027.
pub(crate) const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A user with every optional field set.
pub(crate) fn user() -> User {
    let name = Name::from_store("Ada Lövelace".into());
    let email = Email::from_store("Ada@Example.com".into());
    let mut user = User::new(name, email, None, NOW);
    user.email_verified = true;
    user.roles = ["staff", "admin"].into_iter().filter_map(Role::parse).collect();
    user.factors = [FactorKind::Passkey, FactorKind::Totp].into_iter().collect();
    user.updated_at = NOW + A_DAY;
    user.last_login_at = Some(NOW + A_DAY);
    user
}

pub(crate) fn session(user: &User, address: IpAddr) -> Session {
    let methods = Methods::at(NOW + A_DAY, [Method::Password, Method::Totp]);
    let session = Session::new(user.id, ClientInfo::new(address, ""), NOW + A_DAY, A_DAY);
    Session { methods, ..session }
}

pub(crate) fn caller_facts() -> CallerFacts {
    let user = user();
    CallerFacts::new(&user, &session(&user, [192, 0, 2, 7].into()))
}

/// Somebody who has registered, verified an address and just signed in: with a passkey of their own, or with the password alone.
pub(crate) fn stranger_facts(has_passkey: bool) -> CallerFacts {
    let mut user = user();
    user.name = Name::from_store("Somebody".into());
    user.email = Email::from_store("somebody@elsewhere.example".into());
    user.roles = std::iter::empty::<Role>().collect();
    let method = match has_passkey {
        true => Method::Passkey,
        false => {
            user.factors = std::iter::empty::<FactorKind>().collect();
            Method::Password
        }
    };
    let now = request().time;
    let session = Session {
        methods: Methods::at(now, [method]),
        authenticated_at: now,
        ..session(&user, [203, 0, 113, 7].into())
    };
    CallerFacts::new(&user, &session)
}

/// A key of a machine that was made an hour before the sample request.
pub(crate) fn api_key() -> ApiKey {
    let created_at = NOW + A_DAY;
    ApiKey {
        id: ApiKeyId::random(),
        owner: None,
        name: "ci of the wiki".into(),
        scopes: KeyScopes::from_store("guard:wiki"),
        condition: None,
        two_factors: false,
        created_at,
        expires_at: created_at + A_DAY,
        last_used_at: None,
        revoked_at: None,
    }
}

pub(crate) fn request() -> RequestFacts<'static> {
    RequestFacts {
        method: Some("GET".into()),
        host: Some("app.example.com".into()),
        path: Some("/reports/2027".into()),
        scheme: Some("https".into()),
        address: Some([192, 0, 2, 9].into()),
        time: NOW + A_DAY + Duration::from_secs(3600),
    }
}
