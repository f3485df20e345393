//! `GET /docs`: the documentation of the API. It is made from the OpenAPI document at the first request and kept.

use std::{
    future::{Ready, ready},
    sync::Arc,
};

use axum::{extract::State, response::Response};

use super::{
    answer::{FixedPage, Pages, branding, content_security_policy},
    view::{Docs, PageContext, Style},
};
use crate::{Doorward, language::Language};

/// A handler that shows the document that `make` makes.
pub(in crate::http) fn show(
    make: fn(&Doorward) -> String,
) -> impl Fn(State<Arc<Pages>>) -> Ready<Response> + Clone {
    move |State(pages): State<Arc<Pages>>| ready(pages.docs(|pages| page(pages, make)))
}

fn page(pages: &Pages, document: fn(&Doorward) -> String) -> FixedPage {
    let branding = branding(pages.doorward(), Style::for_docs);
    let page = PageContext { branding: &branding, ..pages.context(Language::English) };
    let docs = Docs::read(&document(pages.doorward()));
    FixedPage {
        html: docs.render(page).into(),
        content_security_policy: content_security_policy(&branding, None),
    }
}
