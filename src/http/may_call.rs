//! Who may call a route. A handler says it by the type of an argument, which only the extractor makes:
//!
//! | argument | whom it lets through | anybody else | whoever lacks a second factor that everybody needs |
//! |---|---|---|---|
//! | none of these, [`Visit`] | anybody | | is let through |
//! | [`Bearer`] | a user with a token, to their own account | 401 | is let through |
//! | [`Refreshing`] | a user with a token, which may have expired | 401 | is let through |
//! | [`Inviter`] | a user with a token, to invite others | 401 | 401 |
//! | [`Admin`] | the operator, a user with a token, or an API key, who has what an order or a list needs: a scope, and for a user perhaps a recent sign-in | 401 | 401 |
//! | [`OperatorOnly`] | the operator | 404 | |
//! | [`AuthenticatedClient`] | an OAuth client | 401 | |
//! | [`SignedInVisit`], [`SignedInForm`] | a person with a session cookie, to their own account | to sign in and back | is let through |
//! | [`InviterVisit`] | a person with a session cookie, to invite others | to the account | to the account |
//! | [`AdminVisit`], [`LiveAdminVisit`] | a person with a session cookie, who has what an order or a page needs | to sign in or a step-up and back, or 404, or 403 | to the account |
//!
//! A [`Standing`] asks again as long as the request lasts. The routes of apps that embed the service have [`Only`](super::only::Only).
//! Guards decide in `forward_auth`: by a token, by the cookie of an app (`AppRequest`) or by an API key (`SentKey`). A second factor is
//! asked for in `doorward/admission.rs` alone.

use axum::{
    extract::{Path, RawQuery, Request, State},
    http::HeaderMap,
};
use schemars::JsonSchema;

use super::{
    admin::{Admin, OperatorOnly},
    api::{admin::Named, refresh::Refreshing},
    bearer::{Bearer, Inviter},
    description::{Requested, Schemas},
    form::{JsonForm, PageForm},
    oauth::{AuthenticatedClient, TokenField},
    pages::{
        SignedInForm, SignedInVisit, Visit,
        account::InviterVisit,
        admin::{AdminVisit, LiveAdminVisit},
    },
    path_id::PathId,
    query::Query,
    standing::Standing,
};
use crate::{
    access::{
        policy::Policy,
        scope::{Needs, Scope},
    },
    network::Requester,
};

/// Who may call a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayCall {
    Anyone,
    /// A user: with a token in the API, with a session cookie on a page.
    SignedIn,
    /// A user who may invite others.
    Inviter,
    /// An OAuth client, with its name and secret.
    Client,
    /// An administrator with the scope: the operator on the machine, a user whose role has it, or an API key.
    Admin(Scope),
    /// An administrator with the scope, who has signed in lately if they are a person.
    Fresh(Scope),
    /// The operator on the machine.
    Operator,
}

impl MayCall {
    /// Whoever has what this order, or whatever else, needs.
    pub(super) const fn whoever_has<N: Needs>() -> Self {
        if N::FRESH { Self::Fresh(N::SCOPE) } else { Self::Admin(N::SCOPE) }
    }
}

/// An argument of a handler.
pub(super) trait Argument {
    /// Whom it lets through.
    const MAY_CALL: MayCall;

    /// Adds what it takes of a request.
    fn describe(_: &mut Requested, _: &mut Schemas) {}
}

/// The arguments of a handler, as axum names them: a marker, and the type of each.
pub(super) trait Arguments {
    /// Whom the first that does not let everybody through lets through.
    const MAY_CALL: MayCall;

    /// Adds what they take of a request.
    fn describe(request: &mut Requested, schemas: &mut Schemas);
}

macro_rules! arguments {
    ($($argument:ident),*) => {
        impl<M, $($argument: Argument),*> Arguments for (M, $($argument,)*) {
            const MAY_CALL: MayCall = first_limit(&[$($argument::MAY_CALL),*]);

            fn describe(_request: &mut Requested, _schemas: &mut Schemas) {
                $($argument::describe(_request, _schemas);)*
            }
        }
    };
}

arguments!();
arguments!(A);
arguments!(A, B);
arguments!(A, B, C);
arguments!(A, B, C, D);
arguments!(A, B, C, D, E);
arguments!(A, B, C, D, E, F);
arguments!(A, B, C, D, E, F, G);

const fn first_limit(arguments: &[MayCall]) -> MayCall {
    match arguments {
        [] => MayCall::Anyone,
        [MayCall::Anyone, others @ ..] => first_limit(others),
        [limit, ..] => *limit,
    }
}

macro_rules! lets_through {
    ($($may_call:expr => [$($parameter:tt)*] $argument:ty $(, $describe:expr)?;)+) => {
        $(impl<$($parameter)*> Argument for $argument {
            const MAY_CALL: MayCall = $may_call;

            $(fn describe(request: &mut Requested, schemas: &mut Schemas) {
                ($describe)(request, schemas);
            })?
        })+
    };
}

lets_through! {
    MayCall::Anyone => [S] State<S>;
    MayCall::Anyone => [T] Path<T>;
    MayCall::Anyone => [T, R] Result<Path<T>, R>;
    MayCall::Anyone => [T] Named<T>;
    MayCall::Anyone => [T] PathId<T>;
    MayCall::Anyone => [] RawQuery;
    MayCall::Anyone => [T: JsonSchema] Query<T>, Requested::add_query::<T>;
    MayCall::Anyone => [] HeaderMap;
    MayCall::Anyone => [] Requester;
    MayCall::Anyone => [] Request;
    MayCall::Anyone => [T: JsonSchema] JsonForm<T>, Requested::add_json::<T>;
    MayCall::Anyone => [] PageForm;
    MayCall::Anyone => [] TokenField, Requested::add_form::<TokenField>;
    MayCall::Anyone => [] Visit;
    MayCall::SignedIn => [P: Policy] Bearer<P>;
    MayCall::SignedIn => [] Refreshing;
    MayCall::SignedIn => [] SignedInVisit;
    MayCall::SignedIn => [] SignedInForm;
    MayCall::Inviter => [] Inviter;
    MayCall::Inviter => [] InviterVisit;
    MayCall::Client => [] AuthenticatedClient;
    MayCall::whoever_has::<N>() => [N: Needs] Admin<N>;
    MayCall::whoever_has::<N>() => [N: Needs] AdminVisit<N>;
    MayCall::whoever_has::<N>() => [N: Needs] LiveAdminVisit<N>;
    MayCall::Operator => [] OperatorOnly;
    G::MAY_CALL => [G: Argument, S] Standing<G, S>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::admin::AuditRead;

    #[test]
    fn the_first_argument_that_does_not_let_everybody_through_decides() {
        assert_eq!(first_limit(&[]), MayCall::Anyone);
        assert_eq!(first_limit(&[MayCall::Anyone, MayCall::Anyone]), MayCall::Anyone);
        let arguments = [MayCall::Anyone, MayCall::SignedIn, MayCall::Operator];
        assert_eq!(first_limit(&arguments), MayCall::SignedIn);
        type Handler = ((), State<()>, Standing<Admin<AuditRead>, ()>, JsonForm<()>);
        assert_eq!(<Handler as Arguments>::MAY_CALL, MayCall::Admin(Scope::AuditRead));
    }
}
