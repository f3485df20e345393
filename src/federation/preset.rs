//! The providers whose behaviour is known, and what each of them does differently.

use serde::Deserialize;

/// How a provider behaves.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    Google,
    GitHub,
    Microsoft,
    Apple,
    GitLab,
    /// Any that speaks OpenID Connect.
    Oidc,
}

/// What is known of a preset. One row of the table in [`Preset::facts`].
pub(super) struct Facts {
    name: &'static str,
    label: &'static str,
    issuer: Option<&'static str>,
    /// What it is always asked for.
    pub(super) scopes: &'static [&'static str],
    /// Whether it tells when people have proved who they are, and lets us ask that they do it again.
    tells_auth_time: bool,
    /// Whether it sends a person back at once, without a question, if it is asked to.
    answers_at_once: bool,
    /// Whether it answers with a form that its page posts.
    uses_form_post: bool,
    /// Whether the secret belongs into the body of the token request. Otherwise its discovery document says so.
    pub(super) posts_secret: bool,
    /// Whether it has a document with more about a person that can be relied on. Microsoft's has an address that nobody
    /// has verified and whose words look as if somebody had.
    pub(super) has_userinfo: bool,
    /// Another issuer that its tokens may name.
    alias: Alias,
}

/// Another name of an issuer. The first is the one that is stored.
enum Alias {
    None,
    /// The issuer without `https://`.
    WithoutScheme,
    Is(&'static str),
}

const OIDC: Facts = Facts {
    name: "oidc",
    label: "OpenID Connect",
    issuer: None,
    scopes: &["openid", "email", "profile"],
    tells_auth_time: true,
    answers_at_once: true,
    uses_form_post: false,
    posts_secret: false,
    has_userinfo: true,
    alias: Alias::None,
};

const GITLAB: Facts =
    Facts { name: "gitlab", label: "GitLab", issuer: Some("https://gitlab.com"), ..OIDC };

const GOOGLE: Facts = Facts {
    name: "google",
    label: "Google",
    issuer: Some("https://accounts.google.com"),
    tells_auth_time: false,
    posts_secret: true,
    alias: Alias::WithoutScheme,
    ..OIDC
};

const MICROSOFT: Facts = Facts {
    name: "microsoft",
    label: "Microsoft",
    issuer: Some("https://login.microsoftonline.com"),
    posts_secret: true,
    has_userinfo: false,
    ..OIDC
};

const APPLE: Facts = Facts {
    name: "apple",
    label: "Apple",
    issuer: Some("https://appleid.apple.com"),
    scopes: &["openid", "email", "name"],
    tells_auth_time: false,
    answers_at_once: false,
    uses_form_post: true,
    posts_secret: true,
    has_userinfo: false,
    // Apple swapped the two in June 2025.
    alias: Alias::Is("https://account.apple.com"),
};

/// OAuth alone: what is not said here is in `github.rs`.
const GITHUB: Facts = Facts {
    name: "github",
    label: "GitHub",
    issuer: Some("https://github.com"),
    scopes: &["user:email"],
    tells_auth_time: false,
    answers_at_once: false,
    posts_secret: true,
    has_userinfo: false,
    ..OIDC
};

impl Preset {
    pub const ALL: [Self; 6] =
        [Self::Google, Self::GitHub, Self::Microsoft, Self::Apple, Self::GitLab, Self::Oidc];

    pub(super) fn facts(self) -> &'static Facts {
        match self {
            Self::Google => &GOOGLE,
            Self::GitHub => &GITHUB,
            Self::Microsoft => &MICROSOFT,
            Self::Apple => &APPLE,
            Self::GitLab => &GITLAB,
            Self::Oidc => &OIDC,
        }
    }

    /// Its name in the settings.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// What buttons call it.
    pub fn label(self) -> &'static str {
        self.facts().label
    }

    /// Where it is, unless the settings say otherwise. `None` if they must.
    pub fn issuer(self) -> Option<&'static str> {
        self.facts().issuer
    }

    /// The issuer under which the identities of the provider at this place are stored. `None` if each tenant has its own.
    pub fn stored_issuer(self, place: &str) -> Option<String> {
        match self {
            Self::Microsoft => None,
            Self::GitHub => Some(format!("{}/login/oauth", place.trim_end_matches('/'))),
            _ => Some(place.to_owned()),
        }
    }

    /// Whether its subjects exist at the public provider alone. Others run GitHub and GitLab, too, and count their people from 1.
    pub fn has_one_place(self) -> bool {
        matches!(self, Self::Google | Self::Apple)
    }

    /// Whether it tells when people have proved who they are, so that they can be sent there to prove it again.
    pub fn tells_auth_time(self) -> bool {
        self.facts().tells_auth_time
    }

    /// Whether it sends people back at once, without a question, if it is asked to (`prompt=none`).
    pub fn answers_at_once(self) -> bool {
        self.facts().answers_at_once
    }

    /// Whether people come back by a form that its page posts, without the cookies of this site.
    pub fn uses_form_post(self) -> bool {
        self.facts().uses_form_post
    }

    /// The other name by which its tokens may call this issuer.
    pub(super) fn alias_of(self, issuer: &str) -> Option<String> {
        match self.facts().alias {
            Alias::None => None,
            Alias::WithoutScheme => Some(issuer.split_once("://")?.1.to_owned()),
            // Another name of the public one, not of a server in its place.
            Alias::Is(other) => (self.issuer() == Some(issuer)).then(|| other.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_preset_has_its_name() {
        for preset in Preset::ALL {
            assert_eq!(Preset::by_name(preset.name()), Some(preset));
            assert_eq!(serde_json::from_value::<Preset>(preset.name().into()).unwrap(), preset);
        }
        assert_eq!(Preset::by_name("Google"), None);
    }

    #[test]
    fn identities_are_stored_under_the_issuer_that_github_names_and_under_none_of_microsoft() {
        let stored = |preset: Preset, place: &str| preset.stored_issuer(place);
        let expected = Some("https://github.com/login/oauth".to_owned());
        assert_eq!(stored(Preset::GitHub, "https://github.com"), expected);
        assert_eq!(stored(Preset::Microsoft, "https://login.microsoftonline.com"), None);
        let own = "https://git.example.com/x/";
        assert_eq!(stored(Preset::GitLab, own).as_deref(), Some(own));
    }

    #[test]
    fn google_and_apple_have_two_names_and_others_one() {
        let alias =
            |preset: Preset| preset.alias_of(preset.issuer().unwrap_or("https://x.example"));
        assert_eq!(alias(Preset::Google).unwrap(), "accounts.google.com");
        assert_eq!(alias(Preset::Apple).unwrap(), "https://account.apple.com");
        for preset in [Preset::GitHub, Preset::Microsoft, Preset::GitLab, Preset::Oidc] {
            assert_eq!(alias(preset), None);
        }
        assert_eq!(Preset::Apple.alias_of("https://apple.example"), None);
    }
}
