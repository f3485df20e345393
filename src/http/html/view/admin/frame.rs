//! What every page of the administration has: its place in the navigation, its heading, and what just happened.

use super::{super::PageContext, parts::RefusedForm};
use crate::{
    access::scope::{Scope, Scopes},
    http::html::text::{AdminTexts, Done},
};

/// A page in the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Overview,
    Users,
    Invitations,
    Guards,
    Refusals,
    Audit,
    Keys,
    SigningKeys,
    Mail,
}

impl Place {
    pub const ALL: [Self; 9] = [
        Self::Overview,
        Self::Users,
        Self::Invitations,
        Self::Guards,
        Self::Refusals,
        Self::Audit,
        Self::Keys,
        Self::SigningKeys,
        Self::Mail,
    ];

    pub fn path(self) -> &'static str {
        match self {
            Self::Overview => "/admin",
            Self::Users => "/admin/users",
            Self::Invitations => "/admin/invitations",
            Self::Guards => "/admin/guards",
            Self::Refusals => "/admin/refusals",
            Self::Audit => "/admin/audit",
            Self::Keys => "/admin/keys",
            Self::SigningKeys => "/admin/signing-keys",
            Self::Mail => "/admin/mail",
        }
    }

    /// What one needs to see it.
    pub fn scope(self) -> Scope {
        match self {
            Self::Overview => Scope::StatusRead,
            Self::Users => Scope::UsersRead,
            Self::Invitations => Scope::InvitationsRead,
            Self::Guards | Self::Refusals => Scope::GuardsRead,
            Self::Audit => Scope::AuditRead,
            Self::Keys => Scope::KeysRead,
            Self::SigningKeys => Scope::SigningKeysRead,
            Self::Mail => Scope::MailRead,
        }
    }

    /// The pages that somebody with these scopes may see.
    pub fn visible(scopes: Scopes) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |place| scopes.contains(place.scope()))
    }

    pub fn words(self, a: &AdminTexts) -> &'static str {
        match self {
            Self::Overview => a.overview,
            Self::Users => a.users,
            Self::Invitations => a.invitations,
            Self::Guards => a.guards,
            Self::Refusals => a.refusals,
            Self::Audit => a.audit,
            Self::Keys => a.keys,
            Self::SigningKeys => a.signing_keys,
            Self::Mail => a.mail,
        }
    }
}

/// A link of the navigation.
pub(super) struct NavigationLink {
    pub(super) path: &'static str,
    pub(super) words: &'static str,
    pub(super) is_current: bool,
}

/// What every page of the administration has.
pub struct Frame {
    pub(super) heading: String,
    pub(super) links: Vec<NavigationLink>,
    pub(super) notice: Option<&'static str>,
    pub(super) error: Option<String>,
    has_faults: bool,
}

impl Frame {
    /// A page for somebody with these scopes.
    pub fn new(page: &PageContext<'_>, scopes: Scopes, place: Place) -> Self {
        let a = &page.texts().admin;
        let link = |other: Place| NavigationLink {
            path: other.path(),
            words: other.words(a),
            is_current: other == place,
        };
        Self {
            heading: place.words(a).into(),
            links: Place::visible(scopes).map(link).collect(),
            notice: None,
            error: None,
            has_faults: false,
        }
    }

    pub fn headed(self, heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), ..self }
    }

    /// Says what was done.
    pub fn done(self, page: &PageContext<'_>, done: Option<Done>) -> Self {
        Self { notice: done.map(|done| done.in_words(page.language)), ..self }
    }

    /// Says what was not done.
    pub fn refused(self, refused: Option<&RefusedForm>) -> Self {
        Self {
            error: refused.and_then(|refused| refused.error.clone()),
            has_faults: refused.is_some(),
            ..self
        }
    }

    /// Whether a form was refused.
    pub(super) fn is_refusal(&self) -> bool {
        self.has_faults
    }
}
