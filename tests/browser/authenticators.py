"""Authenticators that Chromium simulates."""


class Device:
    """An authenticator in the browser: a screen lock with passkeys, or a security key."""

    def __init__(self, page, is_key=False):
        self._session = page.context.new_cdp_session(page)
        self._session.send("WebAuthn.enable")
        options = {
            "protocol": "ctap2",
            "ctap2Version": "ctap2_1",
            "transport": "usb" if is_key else "internal",
            "hasResidentKey": not is_key,
            "hasUserVerification": not is_key,
            "isUserVerified": not is_key,
            "automaticPresenceSimulation": True,
        }
        added = self._session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
        self._id = {"authenticatorId": added["authenticatorId"]}

    def confirm(self, enabled):
        """Whether the person confirms at once what they are asked from now on."""
        self._session.send("WebAuthn.setAutomaticPresenceSimulation", self._id | {"enabled": enabled})

    def credentials(self):
        return self._session.send("WebAuthn.getCredentials", self._id)["credentials"]

    def add(self, credential):
        """Puts a copy of a passkey into this device, as a synchronisation does."""
        self._session.send("WebAuthn.addCredential", self._id | {"credential": credential})

    def set_backup(self, credential, eligible, backed_up):
        """Changes what the device says about the backup of a passkey."""
        flags = {"backupEligibility": eligible, "backupState": backed_up}
        self._session.send(
            "WebAuthn.setCredentialProperties", self._id | {"credentialId": credential["credentialId"]} | flags
        )

    def clear(self):
        self._session.send("WebAuthn.clearCredentials", self._id)
