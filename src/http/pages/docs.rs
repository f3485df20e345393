//! `GET /docs`: the documentation of the API. It is made from the OpenAPI document at the first request and kept.

use std::sync::Arc;

use axum::{body::Bytes, extract::State, http::HeaderValue, response::Response};

use super::{
    answer::{Pages, branding, content_security_policy},
    view::{Docs, PageContext, Style},
};
use crate::{http::api::openapi::document, language::Language};

/// The page, which is the same for everybody.
pub(super) struct DocsPage {
    pub(super) html: Bytes,
    pub(super) content_security_policy: HeaderValue,
}

impl DocsPage {
    pub(super) fn new(pages: &Pages) -> Self {
        let branding = branding(pages.doorward(), Style::for_docs);
        let page = PageContext { branding: &branding, ..pages.context(Language::English) };
        let docs = Docs::read(&document(pages.doorward()));
        Self {
            html: docs.render(&page).into(),
            content_security_policy: content_security_policy(&branding, None),
        }
    }
}

pub(super) async fn show(State(pages): State<Arc<Pages>>) -> Response {
    pages.docs()
}
