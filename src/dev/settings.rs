//! The settings of `doorward dev`: those that tests of an app may depend on are kept, the others are its own.

use std::net::SocketAddr;

use crate::{
    config::{PublicUrl, Settings},
    credential::password::Cost,
    mail::{MailSettings, parse_mailbox},
    throttle::ThrottleSettings,
};

/// The lowest cost of Argon2. A hash of it protects no password.
const LOWEST_COST: Cost = Cost { memory_kib: 8, passes: 1 };

/// The settings of `doorward dev` on this address. Guards, lifetimes, rules and looks are kept. Whatever leads out of the process is
/// not. The database and the mailbox are set at each reset.
pub(crate) fn dev_settings(
    settings: Settings,
    listen: SocketAddr,
    public_url: Option<PublicUrl>,
    throttles: bool,
) -> Settings {
    let defaults = Settings::default();
    // Every field is named, so that each new one is decided on here.
    let Settings {
        listen: _,
        metrics_listen: _,
        public_url: _,
        // Its data is not worth a certificate, and clients need no authority for it.
        tls: _,
        database: _,
        postgres: _,
        data_folder: _,
        token,
        key_file: _,
        session_lifetime,
        session_idle_timeout,
        designated_name,
        designated_segment,
        password,
        password_cost: _,
        password_threads,
        throttle,
        body_limit,
        connections,
        // It ends at once.
        stop_grace: _,
        clients,
        cors_origins,
        trusted_proxies,
        identity_headers,
        guards,
        // Their provider is set at each reset.
        logins,
        admin_roles,
        pages,
        branding,
        registration,
        registration_conflict,
        invitations,
        mail,
        notices,
        mail_code_sign_in,
        factors,
        factor_kinds,
        // They are about the public URL, which is another one.
        passkey_domain: _,
        passkey_origins: _,
        // Checkpoints and witnesses are those of the real service.
        audit: _,
        log,
        log_format,
        refused,
    } = settings;
    Settings {
        listen,
        metrics_listen: defaults.metrics_listen,
        public_url,
        tls: defaults.tls,
        database: defaults.database,
        postgres: defaults.postgres,
        data_folder: None,
        token,
        key_file: None,
        session_lifetime,
        session_idle_timeout,
        designated_name,
        designated_segment,
        password,
        password_cost: LOWEST_COST,
        password_threads,
        throttle: ThrottleSettings { unlimited: !throttles, ..throttle },
        body_limit,
        connections,
        stop_grace: defaults.stop_grace,
        clients,
        cors_origins,
        trusted_proxies,
        identity_headers,
        guards,
        logins,
        admin_roles,
        pages,
        branding,
        registration,
        registration_conflict,
        invitations,
        mail: MailSettings {
            url: None,
            from: mail.from.or_else(|| parse_mailbox("doorward@example.com")),
            reply_to: mail.reply_to,
            user: None,
            password_file: None,
            ca_file: None,
            language: mail.language,
        },
        notices,
        mail_code_sign_in,
        factors,
        factor_kinds,
        passkey_domain: None,
        passkey_origins: Vec::new(),
        audit: defaults.audit,
        log,
        log_format,
        refused,
    }
}
