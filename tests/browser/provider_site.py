"""Doorward on plain HTTP with mail, and other providers that sign whoever a test wants in."""

from fakes import SECRET, GitHub, Google, Microsoft, Oidc
from loopback_site import LoopbackSite
from upstreams import GitHubUpstream, GoogleUpstream, MicrosoftUpstream, Upstream

SETTINGS = """
[logins.{name}]
client_id = "doorward"
client_secret_file = "{secret}"
issuer = "{issuer}"
{more}
"""
MORE = {"microsoft": 'tenant = "common"', "sso": 'preset = "oidc"\nlabel = "Example SSO"'}


class ProviderSite(LoopbackSite):
    def __init__(self, folder):
        self.upstreams = {
            "google": GoogleUpstream(Google(), "google"),
            "github": GitHubUpstream(GitHub(), "github"),
            "microsoft": MicrosoftUpstream(Microsoft(), "microsoft"),
            "sso": Upstream(Oidc(), "sso"),
        }
        secret = folder.parent / "upstream.secret"
        secret.write_text(SECRET)
        tables = [
            SETTINGS.format(name=name, secret=secret, issuer=upstream.provider.url, more=MORE.get(name, ""))
            for name, upstream in self.upstreams.items()
        ]
        super().__init__(folder, with_mail=True, more="".join(tables))

    def stop(self):
        super().stop()
        for upstream in self.upstreams.values():
            upstream.provider.__exit__()
