//! `GET /docs`: the documentation of the API. It is made from the OpenAPI document at the first request and kept.

use std::sync::Arc;

use axum::{extract::State, response::Response};

use super::{
    answer::{FixedPage, Pages, branding, content_security_policy},
    view::{Docs, PageContext, Style},
};
use crate::{http::openapi::document, language::Language};

pub(in crate::http) async fn show(State(pages): State<Arc<Pages>>) -> Response {
    pages.docs(page)
}

fn page(pages: &Pages) -> FixedPage {
    let branding = branding(pages.doorward(), Style::for_docs);
    let page = PageContext { branding: &branding, ..pages.context(Language::English) };
    let docs = Docs::read(&document(pages.doorward()));
    FixedPage {
        html: docs.render(page).into(),
        content_security_policy: content_security_policy(&branding, None),
    }
}
