//! `/admin/users/new`: an administrator adds a user.

use axum::response::Response;

use super::{
    super::{
        form_refusal::{FormFailure, FormRefusal},
        text::Done,
        view::{NewUserPage, Place, RefusedForm},
    },
    AdminVisit,
};
use crate::{
    account::{NewUser, order::AddUser, register},
    http::{Error, form::PageForm},
};

pub(in crate::http) async fn show(visit: AdminVisit<AddUser>) -> Result<Response, Error> {
    Ok(page(&visit, None))
}

pub(in crate::http) async fn submit(
    visit: AdminVisit<AddUser>,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let typed = vec![("name", form.typed("name")), ("email", form.typed("email"))];
    let fields = (form.required("name", Ok), form.required("email", Ok));
    let added = match (fields, form.optional("password", Ok)) {
        ((Ok(name), Ok(email)), Ok(password)) => {
            let user = NewUser::new(name, email);
            let user = match password {
                Some(password) => user.password(password),
                None => user,
            };
            register::create(visit.doorward(), user, &visit.by).await.map_err(FormFailure::from)
        }
        _ => Err(FormFailure::faults_of(form)),
    };
    match added {
        Ok(user) => Ok(visit.done(&format!("/admin/users/{}", user.id), Done::UserAdded)),
        Err(failure) => {
            let refusal = failure.refusal()?;
            let refused = visit.refused_form(typed, &refusal);
            Ok(page(&visit, Some((&refused, &refusal))))
        }
    }
}

fn page(visit: &AdminVisit<AddUser>, outcome: Option<(&RefusedForm, &FormRefusal)>) -> Response {
    let refused = outcome.map(|(refused, _)| refused);
    let min_password_length = visit.doorward().settings().password_rules().min_length;
    let heading = visit.texts().admin.new_user;
    let frame = visit.frame(Place::Users, refused).headed(heading);
    let view = NewUserPage { page: visit.context(), frame, min_password_length, refused };
    let refusal = outcome.map(|(_, refusal)| refusal);
    visit.admin_page(&view, refusal)
}
