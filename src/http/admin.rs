//! Who administers the service: the operator on this machine, a user whose role allows it, or the holder of an API key. A handler
//! that takes `Admin<N>` runs only for somebody who has what `N` needs.

use std::{fmt, marker::PhantomData, net::IpAddr, ops::Deref, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts};

use super::{
    bearer::{credentials, identify, refuse},
    client_ip::requester,
    error::{Challenge, Error},
};
use crate::{
    Caller, Doorward,
    access::{
        api_key::{KeyError, RefusedKey},
        guard::RequestFacts,
        key_fault::KeyFault,
        refusals::{DecisionId, Refused, RefusedBy},
        scope::{Needs, Scope, Scopes},
    },
    account::proof::is_fresh,
    config::ReadSettings,
    credential::api_key::KEY_PREFIX,
    doorward::LacksFactor,
    event::{Administrator, Right},
    network::Requester,
    request_id::RequestId,
};

/// The operator on this machine. Only the socket in the data folder and commands without a server put it into a request, so no
/// client on a network is one.
#[derive(Clone)]
pub struct Operator {
    pub administrator: Administrator,
    /// How the settings are read again.
    pub read_settings: Arc<ReadSettings>,
}

/// Declares a type for each scope that reads. What changes something is an order (`account/order.rs`).
macro_rules! reads {
    ($($scope:ident),+) => {
        $(pub(super) enum $scope {}

        impl Needs for $scope {
            const SCOPE: Scope = Scope::$scope;
            const FRESH: bool = false;
        })+
    };
}

reads!(
    UsersRead,
    InvitationsRead,
    AuditRead,
    GuardsRead,
    SigningKeysRead,
    MailRead,
    KeysRead,
    StatusRead
);

/// Somebody who has what `N` needs: an order, or a scope that reads. Only the extractor constructs it.
pub(super) struct Admin<N>(Administrator, Scopes, PhantomData<N>);

/// The operator on this machine. What it guards is of no use to anybody else, or gives away every secret.
pub(super) struct OperatorOnly(Operator);

impl<N> Admin<N> {
    /// Everything that they may do.
    pub(super) fn scopes(&self) -> Scopes {
        self.1
    }
}

impl<N> Deref for Admin<N> {
    type Target = Administrator;

    fn deref(&self) -> &Administrator {
        &self.0
    }
}

impl<N: Needs> fmt::Debug for Admin<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Admin").field(&N::SCOPE).field(&self.0).finish()
    }
}

impl Deref for OperatorOnly {
    type Target = Operator;

    fn deref(&self) -> &Operator {
        &self.0
    }
}

impl<N: Needs> FromRequestParts<Doorward> for Admin<N> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, doorward: &Doorward) -> Result<Self, Error> {
        let Identified { administrator, scopes, person } =
            identify_administrator(parts, doorward, N::SCOPE).await?;
        match person {
            Some(caller) if N::FRESH && !is_fresh(doorward, &caller.user, &caller.session) => {
                Err(Error::SignInAgain)
            }
            _ => Ok(Self(administrator, scopes, PhantomData)),
        }
    }
}

impl FromRequestParts<Doorward> for OperatorOnly {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &Doorward) -> Result<Self, Error> {
        // The route does not exist for anybody else.
        operator(parts).map(Self).ok_or(Error::NotFound)
    }
}

/// The operator, if the request is theirs, with the id of the request.
fn operator(parts: &Parts) -> Option<Operator> {
    let mut operator = parts.extensions.get::<Operator>()?.clone();
    operator.administrator.request_id = parts.extensions.get::<RequestId>().copied();
    Some(operator)
}

/// Somebody who may do something.
struct Identified {
    administrator: Administrator,
    /// Everything that they may do.
    scopes: Scopes,
    /// The user, if they are signed in. A key was made after a sign-in, for what its scopes say.
    person: Option<Caller>,
}

/// The name of the policy in the list of refusals.
const POLICY: &str = "Admin";

/// Whoever sends a request, if they have the scope. A refusal is recorded.
async fn identify_administrator(
    parts: &Parts,
    doorward: &Doorward,
    scope: Scope,
) -> Result<Identified, Error> {
    if let Some(operator) = operator(parts) {
        let administrator = operator.administrator;
        return Ok(Identified { administrator, scopes: Scopes::all(), person: None });
    }
    let requester = requester(parts, doorward);
    let request = RequestFacts {
        method: Some(parts.method.as_str().into()),
        path: Some(parts.uri.path().into()),
        address: Some(requester.client.address),
        ..RequestFacts::at(doorward.now())
    };
    if let Ok(sent) = credentials("bearer", &parts.headers)
        && sent.starts_with(KEY_PREFIX)
    {
        return identify_key(sent, doorward, scope, &requester, &request).await;
    }
    let caller = identify(doorward, &parts.headers).await;
    let caller = caller.map_err(|error| refuse(doorward, POLICY, error))?;
    let (scopes, missing) = match doorward.scopes_of(&caller, &request) {
        Ok(scopes) => (scopes, None),
        Err(LacksFactor { missing }) => (Scopes::NONE, missing),
    };
    if !scopes.contains(scope) {
        let refused = Refused::caller(RefusedBy::Policy(POLICY), &caller, missing, doorward.now());
        let challenge = missing.map_or(Challenge::InsufficientScope, Challenge::Missing);
        let decision = record_refusal(doorward, refused, &requester);
        return Err(Error::Unauthorized(challenge, Some(decision)));
    }
    let right = Right::of_session(caller.session.id, &caller.user);
    let authority = doorward.settings().admin_roles.authority(scopes, right);
    let administrator = Administrator::by_right(authority, &requester);
    Ok(Identified { administrator, scopes, person: Some(caller) })
}

fn record_refusal(doorward: &Doorward, refused: Refused, requester: &Requester) -> DecisionId {
    let sender = || (Some(requester.client.clone()), requester.request_id);
    doorward.record_refusal_of(refused, sender)
}

/// The holder of an API key, if the key has the scope and its own condition is true. That of a person has no scope that they do
/// not have themselves at that moment.
async fn identify_key(
    sent: &[u8],
    doorward: &Doorward,
    scope: Scope,
    requester: &Requester,
    request: &RequestFacts<'_>,
) -> Result<Identified, Error> {
    let refuse = |refused: RefusedKey| {
        let challenge = match refused.fault {
            KeyFault::NoScope | KeyFault::Condition => Challenge::InsufficientScope,
            _ => Challenge::InvalidToken,
        };
        let refused = Refused::key(RefusedBy::Policy(POLICY), refused, doorward.now());
        Error::Unauthorized(challenge, Some(record_refusal(doorward, refused, requester)))
    };
    let holder = match doorward.key_holder(sent).await {
        Ok(holder) => holder,
        Err(KeyError::Refused(refused)) => return Err(refuse(refused)),
        Err(KeyError::Store(error)) => return Err(error.into()),
    };
    let named: Scopes = holder.key.scopes.iter().filter_map(Scope::by_name).collect();
    let scopes = match holder.caller(requester.client.clone()) {
        None => named,
        Some(owner) => {
            named.intersection(doorward.settings().admin_roles.scopes_of(&owner, request))
        }
    };
    if !scopes.contains(scope) {
        return Err(refuse(holder.refused(KeyFault::NoScope)));
    }
    let checked = doorward.api_keys().check_condition(&holder, None, |_| request.clone());
    checked.map_err(refuse)?;
    let right = Right::of_key(holder.key.id, holder.owner.as_deref());
    let authority = doorward.settings().admin_roles.authority(scopes, right);
    let administrator = Administrator::by_right(authority, requester);
    Ok(Identified { administrator, scopes, person: None })
}

/// What a signed-in user may do at a page, as if they opened it from this address.
pub(super) fn scopes_at(
    doorward: &Doorward,
    caller: &Caller,
    path: &str,
    address: IpAddr,
) -> Scopes {
    let request = RequestFacts {
        method: Some("GET".into()),
        path: Some(path.into()),
        address: Some(address),
        ..RequestFacts::at(doorward.now())
    };
    doorward.scopes_of(caller, &request).unwrap_or(Scopes::NONE)
}
