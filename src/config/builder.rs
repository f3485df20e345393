//! Settings for an app that embeds Doorward: read as the binary reads them, or set one by one.

use std::{ops::RangeInclusive, path::Path, sync::Arc, time::Duration};

use super::{
    Settings, SettingsError, Sources, file::SettingsFile, sections::key_by_name,
    value::show_duration,
};
use crate::access::guard::{Declaration, Guard};

/// Reads settings.
impl Settings {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the settings as the command `doorward` does: from the file that `DOORWARD_CONFIG` names, or `doorward.toml` in
    /// the current folder, or `/etc/doorward/doorward.toml`, and from the variables `DOORWARD_…`, which override the file.
    ///
    /// # Errors
    /// For the first setting that is unknown or cannot be used.
    pub fn load() -> Result<Self, SettingsError> {
        Self::from_sources(Sources::from_process(Vec::new(), None))
    }

    /// Reads the settings from a file with the syntax of `doorward.toml`. The environment is ignored.
    ///
    /// # Errors
    /// If the file cannot be read, or for the first setting in it that is unknown or cannot be used.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, SettingsError> {
        let file = Some(path.as_ref().to_owned());
        Self::from_sources(Sources { flags: Vec::new(), file, environment: Vec::new() })
    }

    /// Applies a text with the syntax of `doorward.toml`. Its `[guards]` replace those declared before.
    #[must_use]
    pub fn with_toml(self, text: &str) -> Self {
        self.change(|settings| settings.apply_file(&SettingsFile::from_text(text)).map(drop))
    }

    /// Sets any setting by its name in `doorward.toml`, such as `("limits.body", "128KiB")`.
    #[must_use]
    pub fn with(self, name: &str, value: &str) -> Self {
        self.change(|settings| key_by_name(name)?.set(settings, value, name))
    }

    fn change(mut self, change: impl FnOnce(&mut Self) -> Result<(), SettingsError>) -> Self {
        if let Err(refused) = change(&mut self) {
            self.refused.get_or_insert(refused);
        }
        self
    }
}

/// Sets values.
impl Settings {
    /// The database: `sqlite://` and a file, or `postgres://…`.
    #[must_use]
    pub fn with_database_url(self, url: &str) -> Self {
        self.with("database_url", url)
    }

    /// A SQLite file as the database. Its folder also holds the signing keys.
    #[must_use]
    pub fn with_sqlite_file(mut self, path: impl AsRef<Path>) -> Self {
        self.database = super::DatabaseUrl::Sqlite(path.as_ref().to_owned());
        self
    }

    /// The folder of the control socket, with PostgreSQL as the database.
    #[must_use]
    pub fn with_data_folder(mut self, path: impl AsRef<Path>) -> Self {
        self.data_folder = Some(path.as_ref().to_owned());
        self
    }

    /// The URL at which others reach the service, such as `https://auth.example.com`.
    #[must_use]
    pub fn with_public_url(self, url: &str) -> Self {
        self.with("public_url", url)
    }

    /// Networks or addresses of proxies whose headers about a request are trusted.
    #[must_use]
    pub fn with_trusted_proxies<'p>(self, networks: impl IntoIterator<Item = &'p str>) -> Self {
        let networks: Vec<_> = networks.into_iter().collect();
        let networks = if networks.is_empty() { "none".into() } else { networks.join(" ") };
        self.with("trusted_proxies", &networks)
    }

    /// How long a token is valid, in whole seconds.
    #[must_use]
    pub fn with_token_lifetime(self, lifetime: Duration) -> Self {
        self.with("token.lifetime", &show_duration(lifetime))
    }

    /// The issuer of the tokens (`iss`).
    #[must_use]
    pub fn with_token_issuer(self, issuer: &str) -> Self {
        self.with("token.issuer", issuer)
    }

    /// The audience of the tokens (`aud`).
    #[must_use]
    pub fn with_token_audience(self, audience: &str) -> Self {
        self.with("token.audience", audience)
    }

    /// A file with your own signing keys, PKCS#8 in PEM.
    #[must_use]
    pub fn with_key_file(mut self, path: impl AsRef<Path>) -> Self {
        self.key_file = Some(path.as_ref().to_owned());
        self
    }

    /// The maximum lifetime of a session, in whole seconds.
    #[must_use]
    pub fn with_session_lifetime(self, lifetime: Duration) -> Self {
        self.with("session.lifetime", &show_duration(lifetime))
    }

    /// How long a browser stays signed in without a request, in whole seconds, unless its user chose to stay signed in.
    #[must_use]
    pub fn with_session_idle_timeout(self, timeout: Duration) -> Self {
        self.with("session.idle_timeout", &show_duration(timeout))
    }

    /// The name that [`Designated`](crate::Designated) admits.
    #[must_use]
    pub fn with_designated_name(self, name: &str) -> Self {
        self.with("designated.name", name)
    }

    /// The last path segment of the designated route, `/api/auth/<segment>`.
    #[must_use]
    pub fn with_designated_segment(self, segment: &str) -> Self {
        self.with("designated.segment", segment)
    }

    /// The lengths of a new password, in characters.
    #[must_use]
    pub fn with_password_length(self, characters: RangeInclusive<usize>) -> Self {
        self.with("password.min_length", &characters.start().to_string())
            .with("password.max_length", &characters.end().to_string())
    }

    /// Whether common passwords and the user's own name or e-mail address are refused as passwords.
    #[must_use]
    pub fn with_common_passwords_refused(self, refused: bool) -> Self {
        self.with("password.refuse_common", &refused.to_string())
    }

    /// What a password hash costs: memory in KiB and passes over it.
    #[must_use]
    pub fn with_password_cost(self, memory_kib: u32, passes: u32) -> Self {
        self.with("password.memory_kib", &memory_kib.to_string())
            .with("password.passes", &passes.to_string())
    }

    /// How many passwords are hashed at the same time.
    #[must_use]
    pub fn with_password_threads(self, threads: usize) -> Self {
        self.with("password.threads", &threads.to_string())
    }

    /// How many logins in a row may fail on one account, from all networks together. Each failure expires after
    /// `recovery`.
    #[must_use]
    pub fn with_account_failures(self, failures: u32, recovery: Duration) -> Self {
        self.with("throttle.account_failures", &failures.to_string())
            .with("throttle.account_recovery", &show_duration(recovery))
    }

    /// How many logins may fail on one account from one network. Each failure expires after `recovery`.
    #[must_use]
    pub fn with_account_failures_per_network(self, failures: u32, recovery: Duration) -> Self {
        self.with("throttle.account_failures_per_network", &failures.to_string())
            .with("throttle.network_recovery", &show_duration(recovery))
    }

    /// How many logins and reset codes of one network may fail on all accounts. One failure expires each second.
    #[must_use]
    pub fn with_network_failures(self, failures: u32) -> Self {
        self.with("throttle.network_failures", &failures.to_string())
    }

    /// How many users one network may sign up in an hour.
    #[must_use]
    pub fn with_network_sign_ups(self, sign_ups: u32) -> Self {
        self.with("throttle.network_sign_ups", &sign_ups.to_string())
    }

    /// How many mails one network can ask for in an hour, and as many more by sign-ups.
    #[must_use]
    pub fn with_network_mails(self, mails: u32) -> Self {
        self.with("throttle.network_mails", &mails.to_string())
    }

    /// The maximum size of a request body in bytes.
    #[must_use]
    pub fn with_body_limit(self, bytes: usize) -> Self {
        self.with("limits.body", &bytes.to_string())
    }

    /// The name of the service on its pages.
    #[must_use]
    pub fn with_branding_name(self, name: &str) -> Self {
        self.with("branding.name", name)
    }

    /// The logo on the pages: a PNG, SVG or WebP file of at most 3 KiB.
    #[must_use]
    pub fn with_branding_logo(mut self, path: impl AsRef<Path>) -> Self {
        self.branding.logo = Some(path.as_ref().to_owned());
        self
    }

    /// The colour of buttons and links on the pages, such as `#2b5cd9`.
    #[must_use]
    pub fn with_branding_accent(self, colour: &str) -> Self {
        self.with("branding.accent", colour)
    }

    /// The URL of the terms of use, which the pages link to.
    #[must_use]
    pub fn with_branding_terms(self, url: &str) -> Self {
        self.with("branding.terms", url)
    }

    /// The URL of the privacy policy, which the pages link to.
    #[must_use]
    pub fn with_branding_privacy(self, url: &str) -> Self {
        self.with("branding.privacy", url)
    }

    /// Who may register: `open`, `invited`, `closed`, or a condition in CEL about the person who registers, such as
    /// `user.domain == 'example.com'`.
    #[must_use]
    pub fn with_registration(self, policy: &str) -> Self {
        self.with("registration", policy)
    }

    /// What somebody is told who registers with a taken address: `tell`, or `silent`, which needs mail.
    #[must_use]
    pub fn with_registration_conflict(self, conflict: &str) -> Self {
        self.with("registration_conflict", conflict)
    }

    /// Which users with a verified address may invite others: a condition in CEL, such as `'staff' in user.roles`.
    #[must_use]
    pub fn with_invitations_allowed(self, condition: &str) -> Self {
        self.with("invitations.allow", condition)
    }

    /// Where mail is handed over: `smtps://HOST`, `smtp://HOST`, or `file:FOLDER` for development. Needs
    /// [`Self::with_mail_from`].
    #[must_use]
    pub fn with_mail_url(self, url: &str) -> Self {
        self.with("mail.url", url)
    }

    /// Whom mail is from: an address, or a name and an address, such as `Example <mail@example.com>`.
    #[must_use]
    pub fn with_mail_from(self, sender: &str) -> Self {
        self.with("mail.from", sender)
    }

    /// Where answers to mail go, if not to the sender.
    #[must_use]
    pub fn with_mail_reply_to(self, mailbox: &str) -> Self {
        self.with("mail.reply_to", mailbox)
    }

    /// The user at the mail server, and the file with their password.
    #[must_use]
    pub fn with_mail_user(mut self, user: &str, password_file: impl AsRef<Path>) -> Self {
        self.mail.password_file = Some(password_file.as_ref().to_owned());
        self.with("mail.user", user)
    }

    /// A file with certificates (PEM) that are trusted for the mail server besides those of the system.
    #[must_use]
    pub fn with_mail_ca_file(mut self, path: impl AsRef<Path>) -> Self {
        self.mail.ca_file = Some(path.as_ref().to_owned());
        self
    }

    /// Declares a guard at `/api/auth/<name>` with a condition in CEL, such as `'analyst' in user.roles`. A guard of the
    /// same name is replaced. [`Self::with_toml`] declares guards with further options.
    #[must_use]
    pub fn with_guard(self, name: &str, condition: &str) -> Self {
        self.change(|settings| {
            let (name, allow) = (name.to_owned(), condition.to_owned());
            let place = format!("guards.{name}");
            let guard = Guard::declare(Declaration { name, allow, ..Declaration::default() })
                .map_err(|invalid| SettingsError(format!("{place}: {}", invalid.message())))?;
            Arc::make_mut(&mut settings.guards).add(guard);
            Ok(())
        })
    }
}

/// For Doorward's own tests and benchmarks.
#[cfg(feature = "internals")]
impl Settings {
    /// This cost for password hashes, which may be below the bounds, and one thread.
    #[must_use]
    pub fn with_cheap_passwords(mut self, cost: super::Cost) -> Self {
        self.password_cost = cost;
        self.password_threads = std::num::NonZeroUsize::MIN;
        self
    }

    /// The last path segment of the designated route.
    pub fn designated_segment(&self) -> &str {
        &self.designated_segment
    }

    /// The declared guards.
    pub fn guards(&self) -> Arc<crate::access::guard::GuardSet> {
        Arc::clone(&self.guards)
    }

    /// The database.
    pub fn database(&self) -> &super::DatabaseUrl {
        &self.database
    }

    /// Another database, whose URL may have a password.
    #[must_use]
    pub fn with_database(mut self, database: super::DatabaseUrl) -> Self {
        self.database = database;
        self
    }
}
