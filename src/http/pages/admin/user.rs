//! `GET /admin/users/{id}`: one user, with their sessions, factors, roles and refusals.

use std::cmp::Reverse;

use axum::response::Response;

use super::{
    super::{
        form_refusal::{FormFailure, FormRefusal},
        view::{MAX_USER_SESSIONS, Place, RefusedForm, Secret, UserPage},
    },
    AdminVisit,
    audit::users_of,
};
use crate::{
    access::scope::Scope,
    account::{audit, identity_list, keys, refused, sessions},
    http::{Error, admin::UsersRead, path_id::PathId},
    user::{User, UserId},
};

/// The most events on the page of a user.
const MAX_EVENTS: usize = 10;

/// The id in the path of a page.
pub(in crate::http) type UserPath = PathId<UserId>;

pub(in crate::http) async fn show(
    visit: AdminVisit<UsersRead>,
    id: UserPath,
) -> Result<Response, Error> {
    let user = visit.user(id).await?;
    page(&visit, &user, Outcome::default()).await
}

/// What just happened with the user.
#[derive(Default)]
pub(super) struct Outcome<'a> {
    /// What was just made, to be handed over.
    pub(super) secret: Option<&'a Secret>,
    pub(super) refused: Option<(&'a RefusedForm, &'a FormRefusal)>,
}

impl<S> AdminVisit<S> {
    /// The user with the id in the path.
    pub(in crate::http) async fn user(&self, id: UserPath) -> Result<User, Error> {
        self.doorward().user_by_id(id.valid()?).await?.ok_or(Error::NotFound)
    }

    /// The page of a user, with the form that was refused.
    pub(super) async fn refused_order(
        &self,
        user: &User,
        typed: Vec<(&'static str, String)>,
        failure: FormFailure,
    ) -> Result<Response, Error> {
        let refusal = failure.refusal().map_err(|error| self.in_words(error))?;
        let refused = self.refused_form(typed, &refusal);
        let refused = Some((&refused, &refusal));
        page(self, user, Outcome { refused, ..Outcome::default() }).await
    }
}

pub(super) async fn page<S>(
    visit: &AdminVisit<S>,
    user: &User,
    outcome: Outcome<'_>,
) -> Result<Response, Error> {
    let doorward = visit.doorward();
    let mut sessions = sessions::list(doorward, user.id).await?;
    sessions.sort_by_key(|session| Reverse(session.last_seen_at));
    let more_sessions = sessions.len().saturating_sub(MAX_USER_SESSIONS);
    sessions.truncate(MAX_USER_SESSIONS);
    let factors = doorward.store().factors_of(user, doorward.now()).await?;
    let keys = keys::valid_of_user(doorward, user.id).await?;
    let identities = identity_list::list(doorward, user.id).await?;
    let refusals = refused::of_user(doorward, &user.id.to_string()).await?;
    let activity = match visit.may(Scope::AuditRead) {
        true => {
            let page = audit::activity_of(doorward, user.id, None, MAX_EVENTS).await?;
            let users = users_of(visit, &page.events).await?;
            Some((page.events, users))
        }
        false => None,
    };
    let Outcome { secret, refused } = outcome;
    let (refused, refusal) = refused.unzip();
    let view = UserPage {
        page: visit.context(),
        frame: visit.frame(Place::Users, refused).headed(user.name.as_str()),
        now: doorward.now(),
        user,
        sessions: &sessions,
        more_sessions,
        factors: &factors,
        keys: &keys,
        identities: &identities,
        refusals: &refusals.ok_or(Error::NotFound)?,
        activity: activity.as_ref().map(|(events, users)| (&**events, &**users)),
        min_password_length: doorward.settings().password_rules().min_length,
        scopes: visit.scopes,
        may_manage: visit.by.may_manage(&user.roles),
        is_own: visit.caller.user.id == user.id,
        secret,
        refused,
    };
    Ok(visit.admin_page(&view, refusal))
}
