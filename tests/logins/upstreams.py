"""One way to be somebody at each provider, and to sign in with it."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from fakes import Apple, GitHub, Google, Microsoft, Oidc


@dataclass
class Fakes:
    """One provider of each kind, and one that attacks."""

    google: Google
    github: GitHub
    microsoft: Microsoft
    apple: Apple
    gitlab: Oidc
    oidc: Oidc
    evil: Oidc

    def all(self):
        return list(vars(self).values())


class Upstream:
    """Somebody's account at a provider. `email_verified` is what it says of an address."""

    def __init__(self, provider, login):
        self.provider, self.login = provider, login

    def become(self, subject, email=None, verified=True, **claims):
        """Whoever signs in next is this person."""
        address = {"email": email, "email_verified": verified} if email else {}
        self.choose({"sub": subject, "name": "Ada Lovelace", **address, **claims})

    def choose(self, person):
        self.provider.person = person

    def sign_in(self, visitor, query=""):
        """Goes there and comes back."""
        visitor.go(f"/sign-in/with/{self.login}{query}")
        return self.come_back(visitor)

    def come_back(self, visitor):
        return visitor.page


class GoogleUpstream(Upstream):
    def become(self, subject, email=None, verified=True, **claims):
        hosted = {"hd": email.split("@")[1]} if email and verified else {}
        super().become(subject, email, verified, **hosted, **claims)


class GitHubUpstream(Upstream):
    """The address of the profile, which anybody can type, is always that of the others."""

    def become(self, subject, email=None, verified=True, **claims):
        user = {"id": number_of(subject), "login": f"ada-{subject}", "name": "Ada Lovelace", "email": email}
        emails = [{"email": f"old.{subject}@example.net", "primary": False, "verified": True, "visibility": None}]
        if email:
            emails.append({"email": email, "primary": True, "verified": verified, "visibility": "public"})
        self.choose({"user": user, "emails": emails, "organizations": [], "teams": [], **claims})


class MicrosoftUpstream(Upstream):
    """An address counts only with a claim that says so."""

    def become(self, subject, email=None, verified=True, **claims):
        address = {"email": email, "preferred_username": email} if email else {}
        proof = {"xms_edov": True} if email and verified else {}
        tenant = {"tid": Microsoft.CONTOSO}
        self.choose({"sub": subject, "name": "Ada Lovelace", **tenant, **address, **proof, **claims})


class AppleUpstream(Upstream):
    """Says true and false in words, and comes back by a form."""

    def become(self, subject, email=None, verified=True, **claims):
        address = {"email": email, "email_verified": str(verified).lower(), "is_private_email": "false"} if email else {}
        self.choose({"sub": subject, **address, **claims})

    def come_back(self, visitor):
        if not visitor.page.url.startswith(self.provider.url):
            return visitor.page
        return visitor.submit(f"/sign-in/with/{self.login}/back")


class RealUpstream(Upstream):
    """oidc-provider asks for a login name, in each browser once."""

    def choose(self, person):
        self.subject = person.pop("sub")
        self.provider.knows(self.subject, **person)

    def come_back(self, visitor):
        if not visitor.page.url.startswith(self.provider.url):
            return visitor.page
        return visitor.submit(urlsplit(visitor.page.url).path, login=self.subject)


class ForgedUpstream(Upstream):
    def choose(self, person):
        self.person = person
        self.forge()

    def forge(self, claims=None, **chosen):
        """Lies about the person."""
        self.provider.control(claims=self.person | (claims or {}), **chosen)


def number_of(subject):
    """The number of a person at a provider that counts them."""
    return int.from_bytes(subject.encode()[-6:])


def upstreams(fakes, op, forger):
    """All of them by the name of their login."""
    found = [
        GoogleUpstream(fakes.google, "google"),
        GitHubUpstream(fakes.github, "github"),
        MicrosoftUpstream(fakes.microsoft, "microsoft"),
        AppleUpstream(fakes.apple, "apple"),
        Upstream(fakes.gitlab, "gitlab"),
        Upstream(fakes.oidc, "sso"),
        RealUpstream(op, "op"),
        ForgedUpstream(forger, "forger"),
    ]
    return {upstream.login: upstream for upstream in found}


NAMES = ("google", "github", "microsoft", "apple", "gitlab", "sso", "op", "forger")
