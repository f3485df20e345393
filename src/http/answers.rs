//! The answers that the API description has as components.

use super::{
    api::{
        admin::{
            audit, guards, imported_hashes, invitations as all_invitations,
            keys::{ApiKeyInfo, ApiKeys, CreatedApiKey},
            mail, probes, sessions as sessions_of, signing_keys, users,
        },
        factor_login::{LoggedInWithFactor, PasskeyLogin},
        invitations,
        login::LoggedIn,
        look_up::Profile,
        me::{self, factors},
        passkey_origins::Origins,
        register::NewUser,
        sessions::ListedSession,
    },
    factor_challenge::FactorChallenge,
    oauth::{introspect::Introspected, well_known::Metadata},
    openapi::{self, Answers},
    webauthn::CreationOptions,
};
use crate::{
    Doorward,
    access::refusals::Refusal,
    account::{
        emergency::EmergencyReport,
        guard_check::{BrowserCheck, GuardDecision},
        refused::{RecentRefusals, RefusalPage},
        status::Status,
    },
    audit::Report,
    store::DatabaseReport,
};

/// The API description with the settings of this service.
pub(super) fn document(doorward: &Doorward) -> String {
    let mut answers = Answers::new();
    macro_rules! add {
        ($($type:ty),* $(,)?) => { $(answers.schema_of::<$type>();)* };
    }
    add!(
        Profile<'_>,
        NewUser,
        LoggedIn,
        LoggedInWithFactor,
        PasskeyLogin,
        FactorChallenge,
        CreationOptions,
        me::SignedInMe,
        me::Exported,
        me::Activity,
        ListedSession,
        invitations::ListedInvitation,
        invitations::MadeInvitation,
        factors::ListedFactors,
        factors::AddedFactor,
        factors::RecoveryCodes,
        ApiKeyInfo,
        ApiKeys,
        CreatedApiKey,
        Introspected,
        Metadata,
        Origins,
        users::Users,
        users::ShownUser,
        sessions_of::SessionInfo,
        all_invitations::InvitationInfo,
        all_invitations::MadeInvitation,
        imported_hashes::ImportedHashInfo,
        signing_keys::SigningKeys,
        guards::Guards,
        GuardDecision,
        BrowserCheck,
        audit::ListedEvents,
        audit::ListedDays,
        audit::PublishedCheckpoint,
        audit::PublishedProof,
        Report,
        RefusalPage,
        Refusal,
        RecentRefusals,
        mail::Mails,
        mail::MailRetried,
        Status,
        DatabaseReport,
        probes::ProbeResult,
        EmergencyReport,
    );
    openapi::document(doorward, answers)
}
