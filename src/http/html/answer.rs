//! The answers of all pages: HTML and redirects, with the headers that keep them safe. What does not change between
//! requests is built once.

use std::sync::OnceLock;

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use form_urlencoded::parse;

use super::view::{Branding, PageContext, SCRIPT, Style};
use crate::{
    Doorward,
    http::{
        answer::{
            CROSS_ORIGIN_RESOURCE_POLICY, DOCUMENT_MAX_AGE, NO_STORE, NOSNIFF, SAME_ORIGIN, public,
        },
        browser::site::Site,
    },
    language::Language,
    token::cookie::NamesInForce,
};

/// What all pages share.
pub(in crate::http) struct Pages {
    doorward: Doorward,
    site: Site,
    branding: Branding,
    /// The branding with the style sheet of the administration.
    admin_branding: Branding,
    /// The headers of every page but `Content-Language`. The content security policy is that of a page whose forms stay on
    /// this site.
    headers: HeaderMap,
    /// The documentation of the API, made at the first request for it.
    docs: OnceLock<FixedPage>,
}

/// A page that is the same for everybody.
pub(in crate::http) struct FixedPage {
    pub(in crate::http) html: Bytes,
    pub(in crate::http) content_security_policy: HeaderValue,
}

/// The headers on which a page depends.
pub(in crate::http) const VARY: HeaderValue = HeaderValue::from_static(
    "Cookie, Authorization, Accept, Sec-Fetch-Mode, Sec-Fetch-Dest, X-Requested-With, Accept-Language",
);
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
/// Keeps a page that opened ours from following where it leads: the URL of a redirect may contain a sign-in code.
pub(in crate::http) const CROSS_ORIGIN_OPENER_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-opener-policy");
const STRICT_ORIGIN: HeaderValue = HeaderValue::from_static("strict-origin");
/// A year.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

impl Pages {
    /// The pages of a service whose address is known.
    pub(in crate::http) fn new(doorward: Doorward) -> Self {
        let branding = branding(&doorward, Style::new);
        let admin_branding = self::branding(&doorward, Style::for_admin);
        let site = Site::new(doorward.public_base());
        let mut headers = HeaderMap::with_capacity(14);
        headers.insert(header::CONTENT_TYPE, HTML);
        headers.insert(header::CACHE_CONTROL, NO_STORE);
        headers.insert(header::VARY, VARY);
        headers.insert(header::CONTENT_SECURITY_POLICY, content_security_policy(&branding, None));
        // `no-referrer` would make browsers send `Origin: null` with our own forms.
        headers.insert(header::REFERRER_POLICY, SAME_ORIGIN);
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        headers.insert(CROSS_ORIGIN_OPENER_POLICY, SAME_ORIGIN);
        headers.insert(CROSS_ORIGIN_RESOURCE_POLICY, SAME_ORIGIN);
        if site.is_https {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, HSTS);
        }
        Self { doorward, site, branding, admin_branding, headers, docs: OnceLock::new() }
    }

    pub(in crate::http) fn doorward(&self) -> &Doorward {
        &self.doorward
    }

    pub(in crate::http) fn site(&self) -> &Site {
        &self.site
    }

    /// The names of cookies on this site.
    pub(in crate::http) fn cookie_names(&self) -> NamesInForce {
        self.doorward.cookies().names(self.site.is_https)
    }

    /// What the templates need for a page on this site.
    pub(in crate::http) fn context(&self, language: Language) -> PageContext<'_> {
        PageContext { language, branding: &self.branding, base: self.site.base_path() }
    }

    /// What the templates need for a page of the administration.
    pub(in crate::http) fn admin_context(&self, language: Language) -> PageContext<'_> {
        PageContext { branding: &self.admin_branding, ..self.context(language) }
    }

    /// The policy of a page of the administration.
    pub(in crate::http) fn admin_policy(&self) -> HeaderValue {
        content_security_policy(&self.admin_branding, None)
    }

    /// What the templates need for a page on the host of an app, where all links have to be absolute.
    pub(in crate::http) fn foreign_context(&self, language: Language) -> PageContext<'_> {
        PageContext { base: &self.site.url, ..self.context(language) }
    }

    /// A page. Its forms may lead to the origin of an app.
    pub(in crate::http) fn html(
        &self,
        status: StatusCode,
        language: Language,
        html: String,
        app_origin: Option<&str>,
    ) -> Response {
        let mut response = Response::new(html.into());
        *response.status_mut() = status;
        let headers = response.headers_mut();
        *headers = self.headers.clone();
        headers.insert(header::CONTENT_LANGUAGE, HeaderValue::from_static(language.tag()));
        if let Some(origin) = app_origin {
            let policy = content_security_policy(&self.branding, Some(origin));
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        response
    }

    /// A page on the host of an app, whose settings for HTTPS are not ours.
    pub(in crate::http) fn foreign_html(
        &self,
        status: StatusCode,
        language: Language,
        html: String,
    ) -> Response {
        let mut response = self.html(status, language, html, None);
        response.headers_mut().remove(header::STRICT_TRANSPORT_SECURITY);
        response
    }

    /// The documentation of the API, which `make` makes at the first request.
    pub(in crate::http) fn docs(&self, make: impl FnOnce(&Self) -> FixedPage) -> Response {
        let docs = self.docs.get_or_init(|| make(self));
        let mut response = self.html(StatusCode::OK, Language::English, String::new(), None);
        *response.body_mut() = docs.html.clone().into();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, docs.content_security_policy.clone());
        // It is the same for everybody.
        headers.insert(header::CACHE_CONTROL, public(DOCUMENT_MAX_AGE));
        headers.remove(header::VARY);
        response
    }

    /// A redirect after which the browser sends `GET`, whatever it sent before.
    pub(in crate::http) fn redirect(&self, location: &str) -> Response {
        let mut response = Response::new(Default::default());
        *response.status_mut() = StatusCode::SEE_OTHER;
        let location = HeaderValue::try_from(location).expect("our URLs are printable ASCII");
        let headers = response.headers_mut();
        headers.insert(header::LOCATION, location);
        for name in [
            header::CACHE_CONTROL,
            header::VARY,
            header::REFERRER_POLICY,
            header::STRICT_TRANSPORT_SECURITY,
            CROSS_ORIGIN_OPENER_POLICY,
            CROSS_ORIGIN_RESOURCE_POLICY,
        ] {
            if let Some(value) = self.headers.get(&name) {
                headers.insert(name, value.clone());
            }
        }
        response
    }

    /// A redirect to a page of this site. The path may have a query.
    pub(in crate::http) fn redirect_to_page(&self, path: &str) -> Response {
        self.redirect(&format!("{}{path}", self.site.base_path()))
    }
}

/// The operator's looks, with the style sheet that `style` makes for the accent colour.
pub(in crate::http) fn branding(doorward: &Doorward, style: fn([u8; 3]) -> Style) -> Branding {
    let settings = &doorward.settings().branding;
    Branding {
        name: doorward.settings().service_name().to_owned(),
        logo: doorward.logo().map(str::to_owned),
        terms: settings.terms.clone(),
        privacy: settings.privacy.clone(),
        contact: settings.contact.clone(),
        is_development: doorward.settings().is_development(),
        style: style(settings.accent.0),
    }
}

/// Chrome applies `form-action` to the redirects after a form too, so it names the app that the form leads back to.
pub(in crate::http) fn content_security_policy(
    branding: &Branding,
    app_origin: Option<&str>,
) -> HeaderValue {
    let (space, origin) = app_origin.map_or(("", ""), |origin| (" ", origin));
    let policy = format!(
        "default-src 'none'; style-src {}; img-src data:; form-action 'self'{space}{origin}; \
         frame-ancestors 'none'; base-uri 'none'",
        branding.style.csp_hash
    );
    HeaderValue::try_from(policy).expect("a hash and an origin are ASCII")
}

/// Allows the one script on a page that has it.
pub(in crate::http) fn allow_script(page: &mut Response) {
    let policy = page.headers().get(header::CONTENT_SECURITY_POLICY);
    let policy = policy.and_then(|policy| policy.to_str().ok()).unwrap_or_default();
    let policy = format!("{policy}; script-src {}", SCRIPT.csp_hash);
    let policy = HeaderValue::try_from(policy).expect("a hash is ASCII");
    page.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
}

/// Whether the query of a URL contains the secret of a mailed link.
pub(in crate::http) fn has_secret(query: &str) -> bool {
    parse(query.as_bytes()).any(|(name, _)| name == "code" || name == "invitation")
}

/// Keeps the URL of a page out of the `Referer` header of every request that the page causes, even of those to this site.
/// The origin stays, because browsers send `Origin: null` with the forms of a page without a referrer.
pub(in crate::http) fn hide_url(page: &mut Response) {
    page.headers_mut().insert(header::REFERRER_POLICY, STRICT_ORIGIN);
}
