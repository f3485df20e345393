"""A Doorward with an https `public_url` and two guarded apps on different domains, without a proxy."""

PUBLIC_URL = "https://auth.one.test"
APP = "https://app.one.test"
WIKI = "https://app.two.test:8443"

SETTINGS = f"""
public_url = "{PUBLIC_URL}"

[throttle]
network_failures = 100000
network_sign_ups = 100000

[guards.app]
proxy = "caddy"
origins = ["{APP}"]
allow = '!user.disabled'

[guards.wiki]
proxy = "caddy"
origins = ["{WIKI}"]
allow = '!user.disabled'

[guards.staff]
proxy = "caddy"
origins = ["{APP}"]
allow = '"staff" in user.roles'
"""
