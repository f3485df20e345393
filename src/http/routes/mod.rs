//! The table of routes: a row for each, with its method, its path, who may call it and its handler. For the API description, a row
//! says in words what the types of the handler cannot tell, and which refusals do not follow from them.

mod admin_rows;
mod api_rows;
mod page_rows;

use std::sync::Arc;

use axum::handler::Handler;

use self::{MayCall::*, Method::*};
use super::{
    app::ResponseFuture,
    description::{Answer, Operation, OperationTypes, Parameter, Shared, Tag},
    forward_auth::GuardKind,
    handler::{AnyHandler, Function},
    may_call::Arguments,
    openapi::{self, Entry},
    pages::Pages,
};
pub use super::{handler::Method, may_call::MayCall};
use crate::{Doorward, access::scope::Needs};

/// Every route of the service.
pub fn routes() -> Vec<Route> {
    let rows = [api_rows::rows(), admin_rows::rows(), page_rows::rows()];
    rows.into_iter().flatten().collect()
}

/// The API description with the settings of this service.
fn document(doorward: &Doorward) -> String {
    openapi::document(doorward, routes().into_iter().filter_map(Route::entry))
}

/// One operation of the service.
pub struct Route {
    pub method: Method,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// Who may call it. The handler enforces it by the types of its arguments.
    pub may_call: MayCall,
    /// Whether clients poll it, so that success is logged at debug level.
    pub is_polled: bool,
    /// Whether an app that embeds the service has its own.
    pub is_only_in_server: bool,
    /// Whether the handler reads the body by itself. Any other is called when the whole body has arrived.
    is_streamed: bool,
    /// What the API description says of it, unless it is a page or a guard.
    operation: Option<Operation>,
    pub(super) handler: RouteHandler,
}

/// What handles a route.
pub(super) enum RouteHandler {
    /// An endpoint for programs.
    Api(AnyHandler<Doorward>),
    /// A page for people with a browser.
    Page(AnyHandler<Arc<Pages>>),
    /// A guard, which handles every path below its own, too. It answers everybody: the answer is its decision.
    Guard(GuardKind),
}

impl Route {
    fn new(method: Method, path: &'static str, may_call: MayCall, handler: RouteHandler) -> Self {
        let (is_polled, is_only_in_server, is_streamed) = (false, false, false);
        let operation = None;
        Self {
            method,
            path,
            may_call,
            is_polled,
            is_only_in_server,
            is_streamed,
            operation,
            handler,
        }
    }

    fn polled(self) -> Self {
        Self { is_polled: true, ..self }
    }

    fn streamed(self) -> Self {
        Self { is_streamed: true, ..self }
    }

    /// Whether the handler is called when the whole body has arrived. What is read has no body that matters.
    pub(super) fn waits_for_body(&self) -> bool {
        !self.is_streamed && self.method != Get
    }

    fn only_in_server(self) -> Self {
        Self { is_only_in_server: true, ..self }
    }

    /// What the API description calls it, and its group.
    fn operation(self, id: &'static str, tag: Tag) -> Self {
        self.described(|operation| Operation { id, tag, ..operation })
    }

    /// What it does.
    fn summary(self, summary: &'static str) -> Self {
        self.described(|operation| Operation { summary, ..operation })
    }

    /// What else there is to know.
    fn description(self, description: &'static str) -> Self {
        self.described(|operation| Operation { description, ..operation })
    }

    /// What its success is.
    fn answers(self, answer: &'static str) -> Self {
        self.described(|operation| Operation { answer, ..operation })
    }

    /// What the parameter `{id}` is.
    fn id_is(self, id_is: &'static str) -> Self {
        self.described(|operation| Operation { id_is, ..operation })
    }

    /// What else it reads, which its types do not tell.
    fn takes(self, takes: &'static [Parameter]) -> Self {
        self.described(|operation| Operation { takes, ..operation })
    }

    /// The refusals that do not follow from who may call it and what it takes.
    fn refuses(self, refuses: &'static [Shared]) -> Self {
        self.described(|operation| Operation { refuses, ..operation })
    }

    /// The media type of a body that the handler reads by itself.
    fn reads(self, media_type: &'static str) -> Self {
        self.described(|operation| Operation { reads: Some(media_type), ..operation })
    }

    fn described(self, change: impl FnOnce(Operation) -> Operation) -> Self {
        Self { operation: self.operation.map(change), ..self }
    }

    /// What the API description has of it.
    fn entry(self) -> Option<(&'static str, Entry)> {
        let entry = match (self.handler, self.operation) {
            (RouteHandler::Guard(kind), _) => Entry::Guard(kind),
            (_, Some(operation)) => Entry::Operation(self.method, self.may_call, operation),
            (_, None) => return None,
        };
        Some((self.path, entry))
    }

    #[cfg(feature = "internals")]
    pub fn is_page(&self) -> bool {
        matches!(self.handler, RouteHandler::Page(_))
    }

    #[cfg(feature = "internals")]
    pub fn is_guard(&self) -> bool {
        matches!(self.handler, RouteHandler::Guard(_))
    }
}

fn api<T: Arguments, H>(method: Method, path: &'static str, may_call: MayCall, handler: H) -> Route
where
    H: Handler<T, Doorward, Future = ResponseFuture> + Function<T, Answer: Answer>,
{
    debug_assert_eq!(may_call, T::MAY_CALL, "{path}: the table, and what the handler enforces");
    let types = OperationTypes {
        request: T::describe,
        answers: <H::Answer as Answer>::describe,
        can_fail: <H::Answer as Answer>::CAN_FAIL,
    };
    let route = Route::new(method, path, may_call, RouteHandler::Api(AnyHandler::new(handler)));
    Route { operation: Some(Operation::of(types)), ..route }
}

fn page<T: Arguments>(
    method: Method,
    path: &'static str,
    may_call: MayCall,
    handler: impl Handler<T, Arc<Pages>, Future = ResponseFuture>,
) -> Route {
    debug_assert_eq!(may_call, T::MAY_CALL, "{path}: the table, and what the handler enforces");
    Route::new(method, path, may_call, RouteHandler::Page(AnyHandler::new(handler)))
}

/// Whoever has what this order needs.
fn to<O: Needs>() -> MayCall {
    MayCall::whoever_has::<O>()
}

fn guard(path: &'static str, kind: GuardKind) -> Route {
    Route::new(Any, path, Anyone, RouteHandler::Guard(kind))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{access::guard::RESERVED_NAMES, http::paths::GUARD_PREFIX};

    #[test]
    fn every_route_below_the_prefix_of_guards_reserves_its_name() {
        let below = routes().into_iter().filter_map(|route| route.path.strip_prefix(GUARD_PREFIX));
        let names = below.filter_map(|rest| rest.split('/').next());
        let names: BTreeSet<_> = names.filter(|name| !name.starts_with('{')).collect();
        assert_eq!(names, BTreeSet::from(RESERVED_NAMES));
    }

    #[cfg(feature = "cli")]
    #[test]
    fn only_routes_of_the_development_server_have_its_prefix() {
        let prefix = crate::http::dev::PREFIX.trim_end_matches('/');
        assert!(!routes().iter().any(|route| route.path.starts_with(prefix)));
    }

    #[test]
    fn every_operation_has_an_id_of_its_own_and_says_what_it_does() {
        let operations: Vec<_> = routes().into_iter().filter_map(|route| route.operation).collect();
        let ids: BTreeSet<_> = operations.iter().map(|operation| operation.id).collect();
        assert_eq!(ids.len(), operations.len());
        assert!(operations.iter().all(|operation| !operation.summary.is_empty()));
    }

    #[test]
    fn no_two_routes_have_the_same_method_and_path() {
        let routes = routes();
        let distinct: BTreeSet<_> =
            routes.iter().map(|route| (route.method.as_str(), route.path)).collect();
        assert_eq!(distinct.len(), routes.len());
    }
}
