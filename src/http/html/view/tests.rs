//! Every page and state: what all of them have in common, and their sizes.

use std::{sync::LazyLock, time::Duration};

use serde_json::json;

use super::{
    super::text::{Before, FieldFault, Follows, FormError, FormProblem, LinkTo, Message, Notice},
    branding::Contact,
    *,
};
use crate::{
    access::{
        guard::{Ask, Declaration, Guard, Missing},
        refusals::Refusal,
    },
    account::{Error as Reason, audit::AuditEvent},
    clock::Timestamp,
    event::{EventId, ExternalFailure},
    fault::FaultKind,
    federation::Preset,
    http::{account_error::Answers, form_problem::FormAnswer},
    network::ClientInfo,
    session::Session,
    user::{
        ApiKey, ApiKeyId, Email, FactorId, Identity, IdentityId, Invitation, InvitationId,
        KeyScopes, Passkey, Roles, StoredTotp, TrustedDevice, UserId,
    },
};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const LONG_NAME: &str = "Hubert Blaine Wolfeschlegelsteinhausenbergerdorff-welche-vor-altern-waren-gewissenhaft-schafers-wessen-schafe-waren-wohl-gepflege-und-sorgfaltigkeit-beschutzen-vor-angreifen-durch-ihr-raubgierig-fei";
const RIGHT_TO_LEFT: &str = "אדה לאבלייס";
const HOSTILE: &str = "\"><script>alert('1')</script>&amp;";

/// What a form is told that was refused for this reason.
fn problem_of(reason: Reason) -> FormProblem {
    match Answers::from(reason).form {
        FormAnswer::At(_, field, fault) => FormProblem::at(field, fault),
        FormAnswer::Whole(_, error) => error.into(),
        FormAnswer::Unavailable | FormAnswer::Nothing => panic!("a form is told nothing"),
    }
}

/// A field that breaks a rule.
fn broken(field: &'static str, rule: FaultKind) -> FormProblem {
    FormProblem::at(field, FieldFault::Rule(rule))
}

/// Several fields with a fault.
fn several<const N: usize>(problems: [FormProblem; N]) -> FormProblem {
    let faults = problems.into_iter().flat_map(|problem| problem.faults).collect();
    FormProblem { error: None, faults }
}

fn branding() -> Branding {
    Branding {
        name: "Acme".into(),
        logo: Some("data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCAzMiAzMiI+PGNpcmNsZSBjeD0iMTYiIGN5PSIxNiIgcj0iMTYiIGZpbGw9IiNlMDdhNWYiLz48cGF0aCBkPSJNOCAyMmw4LTE0IDggMTR6IiBmaWxsPSIjZmZmIi8+PC9zdmc+".into()),
        terms: Some("https://example.com/terms".into()),
        privacy: Some("https://example.com/privacy".into()),
        contact: Some(Contact::Mail("help@example.com".into())),
        is_development: false,
        style: Style::new([0x2b, 0x5c, 0xd9]),
    }
}

fn plain_branding() -> Branding {
    Branding {
        name: "Doorward".into(),
        logo: None,
        terms: None,
        privacy: None,
        contact: None,
        ..branding()
    }
}

const AGENTS: [&str; 5] = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0",
    "curl/8.14.1",
    "",
];

fn client(number: usize) -> ClientInfo {
    let address = match number % 2 {
        0 => format!("192.0.2.{number}"),
        _ => format!("2001:db8:85a3:8d3:1319:8a2e:370:{:x}", 0x7300 + number),
    };
    let user_agent = AGENTS[number % AGENTS.len()].into();
    ClientInfo { address: address.parse().unwrap(), user_agent }
}

static SESSIONS: LazyLock<Vec<Session>> = LazyLock::new(|| {
    let begun = |number: usize| {
        let ago = Duration::from_secs(11 * 60 * (number.min(9) as u64).pow(4));
        Session::new(UserId::random(), client(number), NOW - ago, Duration::from_secs(86_400))
    };
    (0..98).map(begun).collect()
});

fn account(page: PageContext<'_>, sessions: usize) -> Account<'_> {
    Account {
        page,
        now: NOW,
        name: "Ada Lovelace",
        email: "ada@example.com",
        is_verified: true,
        pending_email: None,
        is_verification_mailed: true,
        sends_mail: false,
        has_password: true,
        confirm: Confirm::WithPassword,
        open: None,
        min_password_length: 8,
        notice: None,
        problem: FormProblem::default(),
        failed: None,
        sessions: &SESSIONS[..sessions],
        current: SESSIONS[0].id,
        apps: vec![
            AppLink { title: "Reports", url: "https://reports.example.com/" },
            AppLink { title: "Wiki", url: "https://wiki.example.org/" },
            AppLink { title: "Photos of the family", url: "https://photos.example.net/" },
        ],
        kept_days: Some(395),
        may_invite: false,
        is_admin: false,
    }
}

static INVITATIONS: LazyLock<Vec<Invitation>> = LazyLock::new(|| {
    let invitation = |number: u64| Invitation {
        id: InvitationId::random(),
        email: Email::parse("grace.hopper@example.com".into()).unwrap(),
        roles: Roles::default(),
        invited_by: None,
        is_mailed: true,
        created_at: NOW,
        expires_at: NOW + Duration::from_secs(number * 7 * 60 * 60),
        guesses: 0,
    };
    (0..30).map(invitation).collect()
});

fn invitations(page: PageContext<'_>) -> Vec<(&'static str, Invitations<'_>)> {
    let some = |count| Invitations {
        now: NOW,
        invitations: &INVITATIONS[..count],
        ..Invitations::new(page)
    };
    vec![
        ("invitations-none", Invitations::new(page)),
        ("invitations", Invitations { notice: Some(Notice::Invited), ..some(2) }),
        ("invitations-revoked", Invitations { notice: Some(Notice::InvitationRevoked), ..some(1) }),
        ("invitations-many", some(30)),
        (
            "invitations-ticket",
            Invitations {
                ticket: Some(Ticket {
                    email: "grace.hopper@example.com",
                    link: Some(
                        "https://id.example.com/sign-up?invitation=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6",
                    ),
                    code: "1234 5678",
                }),
                ..some(1)
            },
        ),
        (
            "invitations-refused",
            Invitations {
                email: "grace@example",
                problem: broken("email", FaultKind::InvalidEmail),
                ..some(1)
            },
        ),
    ]
}

/// Guards with these names and titles.
static GUARDS: LazyLock<[Guard; 3]> = LazyLock::new(|| {
    let declared =
        || Declaration { name: "app".into(), allow: "true".into(), ..Default::default() };
    [("calendar", "Calendar"), ("wiki", "Wiki of the whole company"), (HOSTILE, HOSTILE)].map(
        |(name, title)| {
            let guard = Guard::declare(declared());
            let mut guard = guard.unwrap_or_else(|_| panic!("is valid"));
            (guard.name, guard.title) = (name.into(), title.into());
            guard
        },
    )
});

fn key(number: u64, name: &str) -> ApiKey {
    ApiKey {
        id: ApiKeyId::random(),
        owner: Some(UserId::random()),
        name: name.into(),
        scopes: KeyScopes::default(),
        condition: None,
        two_factors: false,
        created_at: NOW,
        expires_at: match number % 3 {
            1 => NOW,
            _ => NOW + Duration::from_secs((number + 1) * 7 * 60 * 60),
        },
        last_used_at: (number > 0).then(|| NOW - Duration::from_secs(number * 3000)),
        revoked_at: (number % 3 == 2).then_some(NOW),
    }
}

/// Every third is valid, has expired, or was revoked.
static KEYS: LazyLock<Vec<ApiKey>> = LazyLock::new(|| {
    let names = ["Backup of the calendar", "laptop", "phone"].into_iter().cycle();
    (0..30).zip(names).map(|(number, name)| key(number, name)).collect()
});

static HOSTILE_KEY: LazyLock<ApiKey> = LazyLock::new(|| key(0, HOSTILE));

fn keys(page: PageContext<'_>) -> Vec<(&'static str, Keys<'_>)> {
    let app = |number: usize| (number % 2 == 1).then(|| "Wiki of the whole company".into());
    let none = Keys {
        now: NOW,
        is_fresh: true,
        apps: vec![&GUARDS[0], &GUARDS[1]],
        days: &[30, 90, 365],
        chosen_days: 90,
        ..Keys::new(page)
    };
    let some = |count| Keys {
        keys: KEYS[..count].iter().enumerate().map(|(at, key)| (key, app(at))).collect(),
        ..none.clone()
    };
    vec![
        ("keys-none", none.clone()),
        ("keys-no-apps", Keys { apps: Vec::new(), ..none.clone() }),
        ("keys-not-fresh", Keys { is_fresh: false, ..some(3) }),
        ("keys-revoked", Keys { notice: Some(Notice::KeyRevoked), ..some(2) }),
        (
            "keys-made",
            Keys { made: Some("dw_pat_9HqW1sXe5DrC7fTv2GbY4hNu6JmIkK0KqFJX"), ..some(1) },
        ),
        (
            "keys-refused",
            Keys {
                name: "x",
                chosen_days: 365,
                problem: broken("name", FaultKind::TooShort(2)),
                ..none.clone()
            },
        ),
        ("keys-too-many", Keys { problem: problem_of(Reason::TooManyKeys), ..some(3) }),
        ("keys-most", Keys { apps: vec![&GUARDS[1]; 20], ..some(30) }),
        (
            "keys-hostile",
            Keys {
                name: HOSTILE,
                made: Some(HOSTILE),
                apps: vec![&GUARDS[2]],
                keys: vec![(&HOSTILE_KEY, Some(HOSTILE.into()))],
                ..none
            },
        ),
    ]
}

/// A secret of a mailed link.
const SECRET: &str = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE";

fn one_time_secrets(page: PageContext<'_>) -> Vec<(&'static str, OneTimeForm<'_>)> {
    use OneTimeKind::{Reset, Restore, SignIn, Verify};
    let wrong = FieldFault::WRONG_CODE;
    let form =
        |kind, entry| OneTimeForm { kind, entry, min_password_length: 8, ..OneTimeForm::new(page) };
    let link = CodeEntry::Link { secret: SECRET, address: "ada@example.com" };
    let mailed = CodeEntry::Mailed("ada@example.com");
    let typed = CodeEntry::Typed { email: "ada@example.com" };
    let sent = |kind| OneTimeForm { notice: Some(Notice::MailSent), ..form(kind, mailed) };
    let refused = |kind, entry| OneTimeForm {
        code: "1234 5679",
        problem: FormProblem::at("code", wrong),
        ..form(kind, entry)
    };
    let sign_in = OneTimeForm { app: Some("Reports"), target: Some("abc"), ..sent(SignIn) };
    vec![
        ("reset", form(Reset, CodeEntry::Operator)),
        (
            "reset-wrong",
            OneTimeForm {
                code: "ABCD-EFGH",
                problem: several([
                    FormProblem::at("code", wrong),
                    broken("password", FaultKind::OwnNameOrEmail),
                ]),
                ..refused(Reset, CodeEntry::Operator)
            },
        ),
        ("reset-link", form(Reset, link)),
        (
            "reset-link-fault",
            OneTimeForm {
                problem: broken("password", FaultKind::TooShort(8)),
                ..form(Reset, link)
            },
        ),
        ("reset-mailed", sent(Reset)),
        ("reset-mailed-wrong", refused(Reset, mailed)),
        ("verify", form(Verify, CodeEntry::Typed { email: "" })),
        ("verify-link", form(Verify, link)),
        ("verify-wrong", refused(Verify, typed)),
        (
            "verify-taken",
            OneTimeForm { problem: FormError::EMAIL_TAKEN.into(), ..form(Verify, link) },
        ),
        ("restore-link", form(Restore, link)),
        ("code", sign_in.clone()),
        ("code-link", form(SignIn, link)),
        (
            "code-link-signed-in",
            OneTimeForm { signed_in_as: Some("bob@example.com"), ..form(SignIn, link) },
        ),
        (
            "code-wrong",
            OneTimeForm { notice: None, problem: FormProblem::at("code", wrong), ..sign_in },
        ),
        (
            "code-hostile",
            OneTimeForm {
                app: Some(HOSTILE),
                target: Some(HOSTILE),
                code: HOSTILE,
                ..form(SignIn, CodeEntry::Mailed(HOSTILE))
            },
        ),
        (
            "code-link-hostile",
            OneTimeForm {
                signed_in_as: Some(HOSTILE),
                ..form(SignIn, CodeEntry::Link { secret: HOSTILE, address: HOSTILE })
            },
        ),
        ("reset-hostile", form(Reset, CodeEntry::Link { secret: HOSTILE, address: HOSTILE })),
    ]
}

fn verifications(page: PageContext<'_>) -> Vec<(&'static str, VerifyForApp<'_>)> {
    let plain = VerifyForApp {
        page,
        app: "Reports",
        target: "abc",
        address: "ada@example.com",
        is_new_address: false,
        code: "",
        notice: None,
        problem: FormProblem::default(),
    };
    let wrong = FormProblem::at("code", FieldFault::WRONG_CODE);
    let wait = Duration::from_secs(900);
    vec![
        ("verify-for-app", plain.clone()),
        (
            "verify-for-app-sent",
            VerifyForApp { notice: Some(Notice::VerificationSent), ..plain.clone() },
        ),
        (
            "verify-for-app-wrong",
            VerifyForApp { code: "1234 5679", problem: wrong, ..plain.clone() },
        ),
        (
            "verify-for-app-throttled",
            VerifyForApp { problem: FormError::Throttled(wait).into(), ..plain.clone() },
        ),
        ("verify-for-app-new-address", VerifyForApp { is_new_address: true, ..plain.clone() }),
        ("verify-for-app-long", VerifyForApp { app: LONG_NAME, ..plain.clone() }),
        (
            "verify-for-app-hostile",
            VerifyForApp {
                app: HOSTILE,
                target: HOSTILE,
                address: HOSTILE,
                code: HOSTILE,
                ..plain
            },
        ),
    ]
}

fn mail_requests(page: PageContext<'_>) -> Vec<(&'static str, MailRequest<'_>)> {
    let forgot = MailRequest {
        page,
        kind: MailRequestKind::Forgot,
        app: None,
        target: None,
        only_without_password: false,
        email: "",
        problem: FormProblem::default(),
    };
    let sign_in = MailRequest { kind: MailRequestKind::SignIn, ..forgot.clone() };
    vec![
        ("forgot", forgot.clone()),
        (
            "forgot-fault",
            MailRequest {
                email: "ada@example",
                problem: broken("email", FaultKind::InvalidEmail),
                ..forgot.clone()
            },
        ),
        (
            "forgot-throttled",
            MailRequest {
                problem: FormError::Throttled(Duration::from_secs(600)).into(),
                email: "ada@example.com",
                ..forgot
            },
        ),
        ("code-request", sign_in.clone()),
        (
            "code-request-no-password",
            MailRequest { only_without_password: true, ..sign_in.clone() },
        ),
        ("code-request-app", MailRequest { app: Some("Reports"), target: Some("abc"), ..sign_in }),
    ]
}

fn sign_in(page: PageContext<'_>) -> SignIn<'_> {
    SignIn {
        page,
        app: None,
        email: "",
        stay: false,
        target: None,
        sends_mail: false,
        has_mail_code: false,
        passkey: None,
        signal: None,
        logins: &[],
        has_sign_up: true,
        notice: None,
        problem: FormProblem::default(),
    }
}

fn sign_ins(page: PageContext<'_>) -> Vec<(&'static str, SignIn<'_>)> {
    let plain = sign_in(page);
    let app = SignIn { app: Some("Reports"), target: Some("abc-_123"), ..plain.clone() };
    let typed = SignIn { email: "ada@example.com", stay: true, ..app.clone() };
    let refused = |problem| SignIn { problem, ..typed.clone() };
    vec![
        ("sign-in", app.clone()),
        ("sign-in-plain", plain.clone()),
        ("sign-in-mail", SignIn { sends_mail: true, has_mail_code: true, ..app.clone() }),
        ("sign-in-passkey", SignIn { passkey: Some((CHALLENGE, OPTIONS)), ..app.clone() }),
        (
            "sign-in-passkey-unknown",
            SignIn {
                passkey: Some((CHALLENGE, OPTIONS)),
                signal: Some(Signal::Unknown(OPTIONS)),
                problem: problem_of(Reason::UnknownPasskey),
                ..plain.clone()
            },
        ),
        ("sign-in-late", SignIn { notice: Some(Notice::AnswerExpired), ..plain.clone() }),
        ("sign-in-closed", SignIn { has_sign_up: false, ..plain.clone() }),
        ("sign-in-verified", SignIn { notice: Some(Notice::EmailVerified), ..plain.clone() }),
        ("sign-in-restored", SignIn { notice: Some(Notice::EmailRestored), ..plain.clone() }),
        ("sign-in-signed-out", SignIn { notice: Some(Notice::SignedOut), ..plain.clone() }),
        ("sign-in-reset", SignIn { notice: Some(Notice::PasswordReset), ..plain.clone() }),
        ("sign-in-expired", SignIn { notice: Some(Notice::SessionExpired), ..app.clone() }),
        ("sign-in-everywhere", SignIn { notice: Some(Notice::SignedOutEverywhere), ..app.clone() }),
        ("sign-in-wrong", refused(problem_of(Reason::WrongCredentials))),
        ("sign-in-throttled", refused(FormError::Throttled(Duration::from_secs(170)).into())),
        ("sign-in-unavailable", refused(FormError::UNAVAILABLE.into())),
        (
            "sign-in-empty",
            SignIn {
                problem: several([
                    broken("email", FaultKind::Required),
                    broken("password", FaultKind::Required),
                ]),
                ..plain
            },
        ),
        ("sign-in-logins", SignIn { logins: &LOGINS[..2], ..app.clone() }),
        ("sign-in-logins-long", SignIn { logins: &LOGINS, ..app.clone() }),
        ("sign-in-long", SignIn { app: Some(LONG_NAME), ..typed.clone() }),
        ("sign-in-rtl", SignIn { app: Some(RIGHT_TO_LEFT), ..typed }),
        (
            "sign-in-hostile",
            SignIn { app: Some(HOSTILE), email: HOSTILE, target: Some(HOSTILE), ..app },
        ),
    ]
}

const OPTIONS: &str = r#"{"challenge":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","timeout":300000,"rpId":"id.example.com","allowCredentials":[],"userVerification":"required"}"#;
const CHALLENGE: &str = "mS4bV1n2kq3rT5yU7iO9pA1sD3fG5hJ7kL9zX2cV4bN6mQ8wE1rT3yU5iO7pA9sD";

fn proofs(page: PageContext<'_>) -> Vec<(&'static str, Prove<'_>)> {
    let none = Prove {
        page,
        prove_for: ProveFor::SignIn,
        target: None,
        challenge: None,
        passkey: None,
        has_only_keys: false,
        has_code: false,
        has_recovery_code: false,
        has_password: false,
        has_mail_code: false,
        logins: &[],
        follows: None,
        trusts: None,
        notice: None,
        problem: FormProblem::default(),
        is_recovery: false,
    };
    let both = Prove {
        challenge: Some(CHALLENGE),
        passkey: Some(OPTIONS),
        has_code: true,
        has_recovery_code: true,
        trusts: Some(false),
        ..none.clone()
    };
    let step_up = |app, ask, ask_name| ProveFor::StepUp {
        app,
        ask,
        ask_name,
        next: None,
        before: None,
        email: "ada@example.com",
    };
    let with = |prove_for| Prove { prove_for, trusts: None, ..both.clone() };
    vec![
        ("factor", Prove { target: Some("abc"), ..both.clone() }),
        ("factor-app", Prove { passkey: None, ..both.clone() }),
        ("factor-key", Prove { has_code: false, has_only_keys: true, ..both.clone() }),
        (
            "factor-wrong",
            Prove {
                problem: FormProblem::at("code", FieldFault::WRONG_TOTP),
                trusts: Some(true),
                ..both.clone()
            },
        ),
        ("factor-used", Prove { problem: problem_of(Reason::CodeUsed), ..both.clone() }),
        (
            "factor-wrong-recovery",
            Prove {
                problem: FormProblem::at("code", FieldFault::WRONG_CODE),
                is_recovery: true,
                ..both.clone()
            },
        ),
        ("factor-refused", Prove { problem: FormError::PASSKEY_REFUSED.into(), ..both.clone() }),
        (
            "step-up-password",
            Prove {
                prove_for: step_up(None, Ask::Again, "again"),
                has_password: true,
                ..none.clone()
            },
        ),
        (
            "step-up-provider",
            Prove {
                prove_for: step_up(None, Ask::Again, "again"),
                logins: &LOGINS,
                has_mail_code: true,
                ..none.clone()
            },
        ),
        (
            "step-up-wrong",
            Prove {
                prove_for: step_up(None, Ask::Again, "again"),
                has_password: true,
                problem: FormProblem::at("password", FieldFault::WRONG_PASSWORD),
                ..none.clone()
            },
        ),
        (
            "step-up-before",
            Prove {
                prove_for: ProveFor::StepUp {
                    app: Some("Reports"),
                    ask: Ask::Again,
                    ask_name: "again",
                    next: Some("/account?open=email"),
                    before: Some(Before::Email),
                    email: "ada@example.com",
                },
                has_password: true,
                follows: Some(Follows::Code),
                ..none.clone()
            },
        ),
        (
            "step-up-again",
            Prove {
                has_password: true,
                has_code: false,
                has_recovery_code: false,
                ..with(step_up(Some("Reports"), Ask::Again, "again"))
            },
        ),
        ("step-up-two", with(step_up(Some("Reports"), Ask::TwoFactors, "two"))),
        (
            "step-up-passkey",
            Prove {
                has_code: false,
                has_recovery_code: false,
                ..with(step_up(Some(RIGHT_TO_LEFT), Ask::PhishingResistant, "phr"))
            },
        ),
        (
            "step-up-hostile",
            Prove {
                target: Some(HOSTILE),
                passkey: Some(HOSTILE),
                ..with(step_up(Some(HOSTILE), Ask::Again, "again"))
            },
        ),
    ]
}

fn passkey(number: usize, name: &str) -> Passkey {
    Passkey {
        id: FactorId::random(),
        user_id: UserId::random(),
        credential_id: Vec::new(),
        rp_id: "id.example.com".into(),
        user_handle: Vec::new(),
        public_key: Vec::new(),
        verifies_user: number % 3 != 2,
        aaguid: uuid::Uuid::nil(),
        name: name.into(),
        transports: String::new(),
        sign_count: 0,
        backup_eligible: true,
        backed_up: number.is_multiple_of(2),
        created_at: NOW - Duration::from_secs(86_400 * 400),
        last_used_at: (number % 4 < 3).then_some(NOW - Duration::from_secs(3600)),
    }
}

/// Those of most people, as many as a person holds at most, and others.
static PASSKEYS: LazyLock<[Vec<Passkey>; 3]> = LazyLock::new(|| {
    [
        vec![passkey(0, "iCloud Keychain"), passkey(2, "YubiKey 5C")],
        (0..20).map(|number| passkey(number, "Firefox on Windows")).collect(),
        vec![passkey(0, HOSTILE), passkey(1, LONG_NAME)],
    ]
});

/// One of each preset.
static LOGINS: LazyLock<Vec<LoginButton>> = LazyLock::new(|| {
    let button = |preset: Preset| LoginButton {
        name: preset.name().into(),
        label: preset.label().into(),
        preset,
    };
    let odd = LoginButton { name: "odd".into(), label: HOSTILE.into(), preset: Preset::Oidc };
    Preset::ALL.into_iter().map(button).chain([odd]).collect()
});

static IDENTITIES: LazyLock<Vec<Identity>> = LazyLock::new(|| {
    let identity = |number: usize| Identity {
        id: IdentityId::random(),
        user_id: UserId::random(),
        issuer: "https://sso.example.com".into(),
        subject: number.to_string(),
        login: "work".into(),
        display: if number == 0 { "ada@example.com".into() } else { HOSTILE.into() },
        created_at: NOW,
        last_used_at: (number == 0).then_some(NOW),
    };
    (0..5).map(identity).collect()
});

static LABELS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let label =
        |number| if number == 0 { "Example SSO" } else { "Account of Example Industries, Berlin" };
    (0..5).map(|number| label(number).to_owned()).collect()
});

fn link_logins(page: PageContext<'_>) -> Vec<(&'static str, LinkLogin<'_>)> {
    let plain = LinkLogin {
        page,
        label: "Example SSO",
        display: "ada@example.com",
        target: Some("abc"),
        problem: FormProblem::default(),
    };
    vec![
        ("link-login", plain.clone()),
        (
            "link-login-taken",
            LinkLogin { problem: problem_of(Reason::IdentityTaken), ..plain.clone() },
        ),
        ("link-login-long", LinkLogin { label: LONG_NAME, display: HOSTILE, ..plain }),
    ]
}

fn prove_addresses(page: PageContext<'_>) -> Vec<(&'static str, ProveAddress<'_>)> {
    let asked = ProveAddress {
        page,
        label: "Example SSO",
        person: CHALLENGE,
        email: "ada@example.com",
        is_sent: false,
        target: Some("abc"),
        problem: FormProblem::default(),
    };
    let sent = ProveAddress { is_sent: true, ..asked.clone() };
    vec![
        ("prove-address", asked.clone()),
        (
            "prove-address-wrong",
            ProveAddress {
                problem: several([broken("email", FaultKind::Required)]),
                ..asked.clone()
            },
        ),
        ("prove-address-long", ProveAddress { label: LONG_NAME, email: HOSTILE, ..asked }),
        ("prove-address-sent", sent.clone()),
        ("prove-address-code", ProveAddress { problem: problem_of(Reason::WrongCode), ..sent }),
    ]
}

static DEVICES: LazyLock<Vec<TrustedDevice>> = LazyLock::new(|| {
    let device = |number: usize| TrustedDevice {
        id: FactorId::random(),
        user_id: UserId::random(),
        password_version: Default::default(),
        client: client(number),
        created_at: NOW,
        expires_at: NOW + Duration::from_secs(86_400 * 29),
    };
    (0..10).map(device).collect()
});

/// An authenticator app that was never used, and one that was.
static TOTP: LazyLock<[StoredTotp; 2]> = LazyLock::new(|| {
    [None, Some(NOW)].map(|last_used_at| StoredTotp {
        user_id: UserId::random(),
        secret: Vec::new(),
        last_step: 0,
        created_at: NOW,
        last_used_at,
    })
});

/// The person whose activity is shown.
const PERSON: &str = "00000000-0000-4000-8000-000000000000";

/// Events of these kinds, each by everybody who may have caused it.
static EVENTS: LazyLock<Vec<AuditEvent>> = LazyLock::new(|| {
    let kinds = [
        ("email_change_requested", "success"),
        ("token_reused", "failure"),
        ("signed_in", "success"),
        ("sign_in_failed", "failure"),
    ];
    let actors = [
        json!({"type": "user", "id": PERSON}),
        json!({"type": "unknown"}),
        json!({"type": "operator"}),
        json!({"type": "service"}),
    ];
    let event = |number: usize| {
        let (kind, outcome) = kinds[number % 4];
        let record = json!({
            "id": "x", "at": "x", "kind": kind, "outcome": outcome, "actor": actors[number / 4 % 4],
            "address": "2001:db8:85a3:8d3:1319:8a2e:370:7348",
            "userAgent": AGENTS[number % AGENTS.len()],
        });
        AuditEvent {
            id: EventId::at(NOW - Duration::from_secs(3600 * number as u64)),
            number: None,
            record: serde_json::from_value(record).unwrap(),
        }
    };
    (0..MAX_ACTIVITY_ROWS).map(event).collect()
});

/// Nothing, and as much as the page shows.
fn activities(page: PageContext<'_>) -> Vec<(&'static str, Activity<'_>)> {
    let none = Activity {
        page,
        now: NOW,
        person: PERSON.parse().unwrap(),
        events: &[],
        is_continued: false,
        next: None,
    };
    let most = Activity {
        events: &EVENTS,
        is_continued: true,
        next: Some("00000000-0000-4000-8000-000000000000".into()),
        ..none.clone()
    };
    vec![("activity-none", none), ("activity", most)]
}

/// What a person holds at most, or what most people hold.
fn securities(page: PageContext<'_>) -> Vec<(&'static str, Security<'_>)> {
    let none = Security {
        page,
        now: NOW,
        app: None,
        needs_passkey: false,
        go_on: None,
        target: None,
        is_fresh: true,
        offers_passkeys: true,
        lacks_passkeys: false,
        offers_totp: true,
        has_keys: true,
        passkeys: &[],
        totp: None,
        recovery_codes: 0,
        devices: &[],
        identities: &[],
        labels: &[],
        logins: &[],
        signal: None,
        notice: None,
        problem: FormProblem::default(),
    };
    let some = Security {
        passkeys: &PASSKEYS[0],
        totp: Some(&TOTP[0]),
        recovery_codes: 7,
        devices: &DEVICES[..2],
        identities: &IDENTITIES[..1],
        labels: &LABELS[..1],
        logins: &LOGINS[..4],
        signal: Some(Signal::AllAccepted(OPTIONS)),
        notice: Some(Notice::PasskeyAdded),
        ..none.clone()
    };
    let most = Security {
        passkeys: &PASSKEYS[1],
        totp: Some(&TOTP[1]),
        recovery_codes: 8,
        devices: &DEVICES,
        identities: &IDENTITIES,
        labels: &LABELS,
        ..some.clone()
    };
    vec![
        ("security-none", none.clone()),
        ("security-app", Security { app: Some("Reports"), target: Some("abc"), ..none.clone() }),
        (
            "security-app-passkey",
            Security {
                app: Some("Reports"),
                needs_passkey: true,
                target: Some("abc"),
                ..none.clone()
            },
        ),
        (
            "security-recovered",
            Security {
                notice: Some(Notice::Recovered),
                go_on: Some("Reports"),
                target: Some("abc"),
                ..some.clone()
            },
        ),
        (
            "security-only-codes",
            Security { offers_passkeys: false, has_keys: false, ..none.clone() },
        ),
        (
            "security-without-passkeys",
            Security { offers_passkeys: false, lacks_passkeys: true, ..none.clone() },
        ),
        ("security", some.clone()),
        ("security-not-fresh", Security { is_fresh: false, target: Some("abc"), ..some.clone() }),
        ("security-removed", Security { signal: Some(Signal::Unknown(OPTIONS)), ..some }),
        (
            "security-refused",
            Security { problem: problem_of(Reason::TooManyPasskeys), ..none.clone() },
        ),
        ("security-most", most),
        (
            "security-hostile",
            Security { app: Some(HOSTILE), target: Some(HOSTILE), passkeys: &PASSKEYS[2], ..none },
        ),
    ]
}

/// The pages that set a factor up or change it, and those with recovery codes.
fn set_ups(page: PageContext<'_>) -> Vec<(&'static str, String)> {
    let add = AddPasskey {
        page,
        is_key: false,
        options: OPTIONS,
        setup: CHALLENGE,
        target: None,
        has_password: true,
        name: "",
        problem: FormProblem::default(),
    };
    let edit = EditPasskey {
        page,
        now: NOW,
        passkey: &PASSKEYS[0][0],
        typed: "iCloud Keychain",
        problem: FormProblem::default(),
    };
    let uri = "otpauth://totp/Doorward:ada.lovelace@mail.example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Doorward&algorithm=SHA1&digits=6&period=30";
    let qr = crate::credential::qr::svg_path(uri);
    let totp = SetUpTotp {
        page,
        qr: qr.as_ref(),
        secret: "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ",
        uri,
        setup: CHALLENGE,
        target: None,
        problem: FormProblem::default(),
    };
    let codes: Vec<_> = (0..8).map(|_| "7KQ2M-9XH4T-0BVC8-WNZ5R-3JYD6".to_owned()).collect();
    let go_on = "/account/security";
    let codes = RecoveryCodes { page, codes: &codes, email: "ada@example.com", go_on };
    let replace = None;
    let new = NewRecoveryCode { page, code: "7KQ2M-9XH4T-0BVC8-WNZ5R-3JYD6", go_on, replace };
    let lost = NewRecoveryCode { replace: Some("/account/security?done=recovered"), ..new };
    let remove = RemoveFactor { page, passkey: None, is_last: true };
    let short = broken("name", FaultKind::TooShort(2));
    let sign_up = SignUpPasskey {
        page,
        options: OPTIONS,
        setup: CHALLENGE,
        name: "Ada Lovelace",
        email: "ada@example.com",
        invitation: None,
        stay: false,
        target: None,
        signal: None,
        problem: FormProblem::default(),
    };
    let invited = SignUpPasskey {
        invitation: Some(InvitationEntry::Link(SECRET)),
        stay: true,
        target: Some("abc"),
        signal: Some(Signal::Unknown(OPTIONS)),
        problem: FormError::PASSKEY_REFUSED.into(),
        ..sign_up.clone()
    };
    let hostile = SignUpPasskey { name: HOSTILE, email: HOSTILE, ..sign_up.clone() };
    vec![
        ("sign-up-passkey", rendered(&sign_up)),
        ("sign-up-passkey-invited", rendered(&invited)),
        ("sign-up-passkey-hostile", rendered(&hostile)),
        ("add-passkey", rendered(&add)),
        ("add-passkey-only", rendered(&AddPasskey { has_password: false, ..add.clone() })),
        ("add-key", rendered(&AddPasskey { is_key: true, target: Some("abc"), ..add.clone() })),
        (
            "add-passkey-refused",
            rendered(&AddPasskey {
                problem: problem_of(Reason::FactorTaken),
                name: HOSTILE,
                ..add.clone()
            }),
        ),
        ("add-passkey-fault", rendered(&AddPasskey { name: "x", problem: short.clone(), ..add })),
        ("edit-passkey", rendered(&edit)),
        (
            "edit-passkey-fault",
            rendered(&EditPasskey { typed: "x", problem: short, ..edit.clone() }),
        ),
        (
            "edit-passkey-last",
            rendered(&EditPasskey { problem: problem_of(Reason::LastWayIn), ..edit }),
        ),
        ("totp", rendered(&totp)),
        (
            "totp-wrong",
            rendered(&SetUpTotp {
                problem: FormProblem::at("code", FieldFault::WRONG_TOTP),
                target: Some("abc"),
                ..totp
            }),
        ),
        ("recovery-codes", rendered(&codes)),
        ("recovery-code-new", rendered(&new)),
        ("recovery-code-lost", rendered(&lost)),
        ("remove-app", rendered(&remove)),
        (
            "remove-passkey",
            rendered(&RemoveFactor { page, passkey: Some(&PASSKEYS[2][0]), is_last: false }),
        ),
    ]
}

fn sign_up(page: PageContext<'_>) -> SignUp<'_> {
    SignUp {
        page,
        app: None,
        name: "",
        email: "",
        offers_passkey: false,
        signal: None,
        invitation: None,
        stay: false,
        target: None,
        min_password_length: 0,
        logins: &[],
        problem: FormProblem::default(),
    }
}

fn sign_ups(page: PageContext<'_>) -> Vec<(&'static str, SignUp<'_>)> {
    let app = SignUp {
        app: Some("Reports"),
        target: Some("abc"),
        min_password_length: 8,
        ..sign_up(page)
    };
    let typed = SignUp { name: "Ada Lovelace", email: "ada@example", ..app.clone() };
    vec![
        ("sign-up-offers-passkey", SignUp { offers_passkey: true, ..app.clone() }),
        (
            "sign-up-passkey-unknown",
            SignUp {
                offers_passkey: true,
                signal: Some(Signal::Unknown(OPTIONS)),
                problem: broken("email", FaultKind::EmailTaken),
                ..typed.clone()
            },
        ),
        ("sign-up-plain", SignUp { app: None, ..app.clone() }),
        ("sign-up", app.clone()),
        (
            "sign-up-faults",
            SignUp {
                name: LONG_NAME,
                problem: several([
                    broken("name", FaultKind::TooLong(128)),
                    broken("email", FaultKind::InvalidEmail),
                    broken("password", FaultKind::CommonPassword),
                ]),
                stay: true,
                ..typed.clone()
            },
        ),
        (
            "sign-up-taken",
            SignUp { problem: broken("email", FaultKind::EmailTaken), ..typed.clone() },
        ),
        (
            "sign-up-invited",
            SignUp {
                email: "ada@example.com",
                invitation: Some(InvitationEntry::Link(SECRET)),
                ..app.clone()
            },
        ),
        (
            "sign-up-invitation-code",
            SignUp {
                invitation: Some(InvitationEntry::Typed("1234 5679")),
                problem: FormProblem::at("invitation", FieldFault::WRONG_CODE),
                ..typed.clone()
            },
        ),
        (
            "sign-up-invitation-optional",
            SignUp { invitation: Some(InvitationEntry::Optional("")), ..typed.clone() },
        ),
        (
            "sign-up-refused",
            SignUp { problem: FormError::MAY_NOT_REGISTER.into(), ..typed.clone() },
        ),
        (
            "sign-up-throttled",
            SignUp { problem: FormError::Throttled(Duration::from_secs(3600)).into(), ..typed },
        ),
    ]
}

fn step_up() -> Confirm {
    let way = |form: &str| format!("/step-up?next=%2Faccount%3Fopen%3D{form}");
    Confirm::StepUp { email: way("email"), password: way("password"), delete: way("delete") }
}

fn accounts(page: PageContext<'_>) -> Vec<(&'static str, Account<'_>)> {
    let failed = |failed, problem| Account { failed: Some(failed), problem, ..account(page, 3) };
    vec![
        ("account", account(page, 10)),
        ("account-new", Account { apps: Vec::new(), is_verified: false, ..account(page, 1) }),
        ("account-done", Account { notice: Some(Notice::PasswordChanged), ..account(page, 3) }),
        (
            "account-address",
            Account { is_verified: false, notice: Some(Notice::EmailChanged), ..account(page, 3) },
        ),
        ("account-ended", Account { notice: Some(Notice::SessionEnded), ..account(page, 3) }),
        (
            "account-no-password",
            Account { has_password: false, confirm: Confirm::Impossible, ..account(page, 2) },
        ),
        (
            "account-no-password-mail",
            Account {
                has_password: false,
                confirm: step_up(),
                is_verified: false,
                sends_mail: true,
                ..account(page, 2)
            },
        ),
        ("account-to-confirm", Account { confirm: step_up(), ..account(page, 2) }),
        (
            "account-passkey-confirmed",
            Account {
                has_password: false,
                confirm: Confirm::Confirmed,
                open: Some(OpenForm::Delete),
                notice: Some(Notice::Confirmed),
                ..account(page, 2)
            },
        ),
        (
            "account-unverified",
            Account {
                is_verified: false,
                sends_mail: true,
                notice: Some(Notice::VerificationSent),
                ..account(page, 3)
            },
        ),
        (
            "account-pending",
            Account {
                pending_email: Some("lovelace@example.org"),
                sends_mail: true,
                notice: Some(Notice::EmailPending),
                ..account(page, 3)
            },
        ),
        (
            "account-email-cancelled",
            Account { notice: Some(Notice::EmailChangeCancelled), ..account(page, 3) },
        ),
        ("account-verified", Account { notice: Some(Notice::EmailVerified), ..account(page, 3) }),
        (
            "account-verification-throttled",
            Account {
                is_verified: false,
                sends_mail: true,
                ..failed(
                    FailedForm::Verification,
                    FormError::Throttled(Duration::from_secs(900)).into(),
                )
            },
        ),
        ("account-inviting", Account { may_invite: true, ..account(page, 3) }),
        (
            "account-throttled",
            failed(
                FailedForm::Email { typed: "lovelace@example.org" },
                FormError::Throttled(Duration::from_secs(59)).into(),
            ),
        ),
        (
            "account-long",
            Account { name: LONG_NAME, notice: Some(Notice::NameChanged), ..account(page, 3) },
        ),
        ("account-rtl", Account { name: RIGHT_TO_LEFT, ..account(page, 2) }),
        (
            "account-name",
            failed(FailedForm::Name { typed: "A" }, broken("name", FaultKind::TooShort(2))),
        ),
        (
            "account-email",
            failed(
                FailedForm::Email { typed: "lovelace@example" },
                several([
                    broken("email", FaultKind::InvalidEmail),
                    problem_of(Reason::WrongPassword),
                ]),
            ),
        ),
        (
            "account-password",
            failed(
                FailedForm::Password,
                several([
                    FormProblem::at("current", FieldFault::WRONG_PASSWORD),
                    broken("new", FaultKind::TooShort(8)),
                ]),
            ),
        ),
        ("account-delete", failed(FailedForm::Delete, problem_of(Reason::WrongPassword))),
        ("account-hostile", Account { name: HOSTILE, email: HOSTILE, ..account(page, 2) }),
    ]
}

/// A refusal with its reason.
static WHY: LazyLock<Refusal> = LazyLock::new(|| {
    let step =
        |depth, text: &str, value: &str| json!({"depth": depth, "text": text, "value": value});
    let refusal = json!({
        "id": "7f3c1d2e4b5a49788c6d0e1f2a3b4c5d",
        "refusedAt": "2027-01-15T08:00:00Z",
        "guard": "reports",
        "onlyReported": false,
        "token": "good",
        "condition": "!user.disabled && \"staff\" in user.roles && request.path.startsWith(\"/q3/\")",
        "explanation": {
            "cause": step(0, "\"staff\" in user.roles", "false"),
            "steps": [
                step(
                    0,
                    "(!user.disabled && (\"staff\" in user.roles)) && request.path.startsWith(\"/q3/\")",
                    "false",
                ),
                step(1, "!user.disabled && (\"staff\" in user.roles)", "false"),
                step(2, "!user.disabled", "true"),
                step(3, "user.disabled", "false"),
                step(2, "\"staff\" in user.roles", "false"),
                step(3, "user.roles", "[\"admin\"]"),
                step(1, "request.path.startsWith(\"/q3/\")", "error: No such key: path"),
            ],
        },
    });
    serde_json::from_value(refusal).unwrap()
});

fn refusals(page: PageContext<'_>) -> Vec<(&'static str, Refused<'_>)> {
    let refused = Refused {
        page,
        app: "Reports",
        is_own: true,
        signed_in_as: Some(("Ada Lovelace", "ada@example.com")),
        try_again: Some("https://reports.example.com/q3?a=1&b=2"),
        somebody_else: Some("https://id.example.com/sign-in?for=abc&other=1"),
        decision: "7f3c1d2e4b5a49788c6d0e1f2a3b4c5d",
        decision_link: Some("https://id.example.com/refused/7f3c1d2e4b5a49788c6d0e1f2a3b4c5d"),
        missing: None,
        why: None,
    };
    vec![
        (
            "refused-why",
            Refused {
                is_own: false,
                try_again: None,
                decision_link: None,
                missing: Some(Missing::VerifiedEmail),
                why: Some(&WHY),
                ..refused.clone()
            },
        ),
        (
            "refused-long",
            Refused { signed_in_as: Some((LONG_NAME, "ada@example.com")), ..refused.clone() },
        ),
        (
            "refused-hostile",
            Refused { app: HOSTILE, signed_in_as: Some((HOSTILE, HOSTILE)), ..refused.clone() },
        ),
        ("refused", refused),
    ]
}

type Link = Option<(LinkTo<'static>, &'static str)>;

const MESSAGES: [(&str, Message, Link); 31] = [
    ("message-bad-request", Message::BadRequest, None),
    ("message-sign-in-again", Message::SignInAgain, Some((LinkTo::SignIn, "/sign-in?other"))),
    (
        "message-sign-in-again-app",
        Message::SignInAgainForApp,
        Some((LinkTo::SignIn, "/sign-in/code?for=abc")),
    ),
    ("message-cross-site", Message::CrossSite, Some((LinkTo::TryAgain, "/sign-in"))),
    (
        "message-no-cookie",
        Message::NoCookie,
        Some((LinkTo::App("Reports"), "https://reports.example.com/")),
    ),
    (
        "message-link-used",
        Message::LinkUsed,
        Some((LinkTo::App("Reports"), "https://reports.example.com/")),
    ),
    (
        "message-form-not-sent",
        Message::FormNotSent,
        Some((LinkTo::App("Reports"), "https://reports.example.com/")),
    ),
    ("message-not-found", Message::NotFound, Some((LinkTo::Start, "/"))),
    ("message-unknown-decision", Message::UnknownDecision, Some((LinkTo::Start, "/"))),
    ("message-method", Message::MethodNotAllowed, Some((LinkTo::Start, "/"))),
    ("message-too-slow", Message::TooSlow, None),
    ("message-too-large", Message::TooLarge, None),
    ("message-not-a-form", Message::NotAForm, None),
    ("message-https", Message::HttpsNeeded, None),
    ("message-throttled", Message::Throttled(Duration::from_secs(125)), None),
    ("message-internal", Message::Internal, None),
    ("message-link-first", Message::LinkFirst, Some((LinkTo::SignIn, "/sign-in?other=1"))),
    (
        "message-elsewhere",
        Message::SignInElsewhere,
        Some((LinkTo::ContinueWith("Example SSO"), "/sign-in/with/work")),
    ),
    ("message-unavailable", Message::Unavailable, Some((LinkTo::TryAgain, "/account"))),
    (
        "message-deleted",
        Message::AccountDeleted { kept_days: Some(395) },
        Some((LinkTo::Start, "/")),
    ),
    ("message-needs-mail", Message::NeedsMail, Some((LinkTo::Start, "/"))),
    ("message-verify-dead", Message::VerifyLinkDead, Some((LinkTo::Account, "/account"))),
    ("message-restore-dead", Message::RestoreLinkDead, Some((LinkTo::SignIn, "/sign-in"))),
    ("message-reset-dead", Message::ResetLinkDead, Some((LinkTo::NewMail, "/forgot"))),
    ("message-code-dead", Message::SignInLinkDead, Some((LinkTo::NewMail, "/sign-in/code"))),
    ("message-invitation-dead", Message::InvitationDead, Some((LinkTo::SignIn, "/sign-in"))),
    ("message-sign-up-closed", Message::SignUpClosed, Some((LinkTo::SignIn, "/sign-in"))),
    (
        "message-sign-up-invited",
        Message::SignUpInvited,
        Some((LinkTo::InvitationCode, "/sign-up?invitation=")),
    ),
    ("message-sign-up-mailed", Message::SignUpMailed, Some((LinkTo::SignIn, "/sign-in"))),
    (
        "message-verified",
        Message::EmailVerified,
        Some((LinkTo::ContinueTo("Reports"), "https://reports.example.com/")),
    ),
    (
        "message-verify-dead-for-app",
        Message::VerifyLinkDead,
        Some((LinkTo::ContinueTo("Reports"), "https://reports.example.com/")),
    ),
];

/// Every page and state in a language.
fn gallery(page: PageContext<'_>) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("sign-out", rendered(&SignOut { page, target: None })),
        ("sign-out-of-app", rendered(&SignOut { page, target: Some("abc") })),
    ];
    all.extend(set_ups(page));
    all.extend(proofs(page).iter().map(|(state, view)| (*state, rendered(view))));
    all.extend(activities(page).iter().map(|(state, view)| (*state, rendered(view))));
    all.extend(securities(page).iter().map(|(state, view)| (*state, rendered(view))));
    all.extend(verifications(page).iter().map(|(state, view)| (*state, rendered(view))));
    all.extend(one_time_secrets(page).iter().map(|(state, view)| (*state, rendered(view))));
    all.extend(keys(page).iter().map(|(state, view)| (*state, rendered(view))));
    all.extend(invitations(page).iter().map(|(state, view)| (*state, rendered(view))));
    all.extend(mail_requests(page).iter().map(|(state, view)| (*state, rendered(view))));
    all.extend(sign_ins(page).iter().map(|(state, view)| (*state, rendered(view))));
    all.extend(link_logins(page).iter().map(|(state, view)| (*state, rendered(view))));
    for (state, failure) in [
        ("provider-down", ExternalFailure::Unreachable),
        ("login-not-admitted", ExternalFailure::NotAdmitted),
    ] {
        let others = if failure.is_of_provider() { &LOGINS[..] } else { &[] };
        let view = NotSignedIn {
            page,
            label: "Example SSO",
            failure,
            others,
            target: Some("abc"),
            way_back: None,
        };
        all.push((state, rendered(&view)));
    }
    for (state, email, target) in
        [("unverified", "ada@example.com", Some("abc")), ("unverified-long", HOSTILE, None)]
    {
        let view = UnverifiedAccount { page, email, person: CHALLENGE, target };
        all.push((state, rendered(&view)));
    }
    all.extend(prove_addresses(page).iter().map(|(state, view)| (*state, rendered(view))));
    all.extend(sign_ups(page).iter().map(|(state, view)| (*state, rendered(view))));
    all.extend(accounts(page).iter().map(|(state, view)| (*state, rendered(view))));
    all.extend(refusals(page).iter().map(|(state, view)| (*state, rendered(view))));
    for (state, message, link) in MESSAGES {
        all.push((state, rendered(&MessagePage { page, message, link })));
    }
    all
}

fn every_page() -> Vec<(String, String)> {
    let (branding, plain) = (branding(), plain_branding());
    let mut all = Vec::new();
    for language in [Language::English, Language::German] {
        for (looks, branding, base) in [("", &branding, ""), ("-unbranded", &plain, "/auth")] {
            let page = PageContext { language, branding, base };
            all.extend(
                gallery(page)
                    .into_iter()
                    .map(|(state, html)| (format!("{state}-{}{looks}", language.tag()), html)),
            );
        }
    }
    all
}

#[test]
fn every_page_keeps_to_its_rules() {
    for (state, html) in every_page() {
        assert_eq!(html.matches("<h1").count(), 1, "{state}");
        assert_eq!(html.matches("<main").count(), 1, "{state}");
        assert_eq!(html.matches("<style>").count(), 1, "{state}");
        // The one script, where a passkey is asked for or password managers are told something.
        let script = format!("<script>{}</script>", SCRIPT.text);
        let needs_script = html.contains(" data-passkey=\"");
        assert_eq!(html.matches(&script).count(), usize::from(needs_script), "{state}");
        let html = html.replace(&script, "");
        for banned in ["<script", " style=\"", " onclick", "javascript:"] {
            assert!(!html.contains(banned), "{state}: {banned}");
        }
        assert!(html.contains("<meta name=\"robots\" content=\"noindex\">"), "{state}");
        let passwords = html.match_indices("type=\"password\"");
        for (start, _) in passwords {
            let input = &html[start..start + html[start..].find('>').unwrap()];
            assert!(!input.contains("value="), "{state}: a password is never sent back");
            assert!(!input.contains("maxlength"), "{state}: a pasted password is never cut");
        }
        let (mut ids, mut rest) = (Vec::new(), html.as_str());
        while let Some((_, after)) = rest.split_once(" id=\"") {
            let (id, after) = after.split_once('"').unwrap();
            assert!(!ids.contains(&id), "{state}: the id {id} is there twice");
            ids.push(id);
            rest = after;
        }
        let size = html.len() + if needs_script { script.len() } else { 0 };
        assert!(size <= 20_000, "{state} has {size} bytes");
        if state.starts_with("sign-in") && !state.contains("long") {
            // A passkey is asked for with a script and a challenge, and each provider has a mark.
            let marks = html.matches("<svg").count() * 1024;
            let most = if needs_script { 11 * 1024 } else { 9 * 1024 } + marks;
            assert!(size <= most, "{state} has {size} bytes");
        }
    }
}

fn rendered(view: &impl Template) -> String {
    html(view)
}

fn english(branding: &Branding) -> PageContext<'_> {
    PageContext { language: Language::English, branding, base: "" }
}

/// The number of times that the pages say so, and the name of the field with the focus.
fn said(html: &str, words: &str) -> (usize, Option<String>) {
    let focused = html.find(" autofocus>").map(|at| {
        let tag = &html[html[..at].rfind('<').unwrap()..at];
        let name = tag.split_once(" name=\"").map_or("summary", |(_, rest)| rest);
        name.split('"').next().unwrap_or_default().to_owned()
    });
    (html.matches(words).count(), focused)
}

#[test]
fn a_fault_is_said_once_at_its_field_and_several_have_a_summary() {
    let branding = branding();
    let page = english(&branding);
    let short = broken("password", FaultKind::TooShort(8));
    let one = SignUp { problem: short.clone(), ..sign_up(page) };
    let html = rendered(&one);
    let password = Some("password".to_owned());
    assert_eq!(said(&html, "Use at least 8 characters."), (1, password));
    assert!(!html.contains("role=\"alert\""), "{html}");
    assert!(html.contains("<title>Error: "), "{html}");
    let invalid = broken("email", FaultKind::InvalidEmail);
    let two = SignUp { problem: several([invalid, short]), ..one };
    let html = rendered(&two);
    assert_eq!(said(&html, "Use at least 8 characters."), (1, Some("summary".into())));
    assert_eq!(html.matches("role=\"alert\"").count(), 1);
    for link in ["<a href=\"#email\">E-mail address</a>", "<a href=\"#password\">Password</a>"] {
        assert!(html.contains(link), "{link}: {html}");
    }
    assert!(!html.contains("<a href=\"#name\""), "{html}");
    let whole = SignUp { problem: FormError::UNAVAILABLE.into(), ..sign_up(page) };
    let html = rendered(&whole);
    assert_eq!(said(&html, "Please try again shortly."), (1, Some("summary".into())));
    let html = rendered(&sign_up(page));
    assert_eq!(said(&html, "Error: "), (0, Some("name".into())));
}

/// Holds that each field of these views shows the fault of its name.
fn show_their_faults<V: Template + Clone>(
    views: Vec<(&'static str, V)>,
    refuse: impl Fn(&mut V, FormProblem),
) {
    for (state, view) in views {
        let html = rendered(&view);
        for input in html.split("<input id=\"").skip(1) {
            let (_, name) = input.split_once(" name=\"").unwrap();
            let name = name.split('"').next().unwrap().to_owned();
            let mut refused = view.clone();
            refuse(&mut refused, FormProblem::at(name.clone(), FieldFault::WRONG_CODE));
            let html = rendered(&refused);
            assert_eq!(html.matches("-fault\">This code is wrong").count(), 1, "{state}: {name}");
        }
    }
}

#[test]
fn every_field_shows_the_fault_of_its_name() {
    let branding = branding();
    let page = english(&branding);
    show_their_faults(sign_ins(page), |view, problem| view.problem = problem);
    show_their_faults(prove_addresses(page), |view, problem| view.problem = problem);
    show_their_faults(sign_ups(page), |view, problem| view.problem = problem);
    show_their_faults(mail_requests(page), |view, problem| view.problem = problem);
    show_their_faults(verifications(page), |view, problem| view.problem = problem);
    show_their_faults(one_time_secrets(page), |view, problem| view.problem = problem);
    show_their_faults(keys(page), |view, problem| view.problem = problem);
    show_their_faults(invitations(page), |view, problem| view.problem = problem);
    show_their_faults(proofs(page), |view, problem| {
        (view.problem, view.is_recovery) = (problem, !view.has_code);
    });
    for (failed, names) in [
        (FailedForm::Name { typed: "" }, vec!["name"]),
        (FailedForm::Email { typed: "" }, vec!["email", "password"]),
        (FailedForm::Password, vec!["current", "new"]),
        (FailedForm::Delete, vec!["password"]),
    ] {
        for name in names {
            let problem = FormProblem::at(name, FieldFault::WRONG_CODE);
            let view = Account { problem, failed: Some(failed), ..account(page, 3) };
            let html = rendered(&view);
            assert_eq!(html.matches("-fault\">This code is wrong").count(), 1, "{name}");
        }
    }
    for (state, html) in set_ups(page) {
        let is_refused = state.ends_with("-fault") || state.ends_with("-wrong");
        assert_eq!(html.contains("-fault\">"), is_refused, "{state}");
    }
}

#[test]
fn a_taken_address_leads_to_sign_in_with_the_address_and_back_to_the_app() {
    let branding = branding();
    let page = english(&branding);
    let taken = SignUp {
        email: "ada+1@example.com",
        problem: broken("email", FaultKind::EmailTaken),
        ..sign_up(page)
    };
    let html = rendered(&SignUp { target: Some("abc"), ..taken });
    for part in [
        "<button class=\"link\" form=\"sign-in-with\">Sign in with it</button>",
        "<form id=\"sign-in-with\" method=\"post\" action=\"/sign-in\">",
        "<input type=\"hidden\" name=\"email\" value=\"ada+1@example.com\">",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    let hidden = "<input type=\"hidden\" name=\"for\" value=\"abc\">";
    assert_eq!(html.matches(hidden).count(), 2, "in both forms: {html}");
    let html = rendered(&sign_up(page));
    assert!(!html.contains("Sign in with it"), "{html}");
}

#[test]
fn a_refusal_offers_to_try_again_then_the_contact_and_last_another_account() {
    let branding = branding();
    let page = english(&branding);
    let (_, refused) = refusals(page).pop().unwrap();
    let html = rendered(&refused);
    let subject = "Access%20to%20Reports%20%28decision%207f3c1d2e4b5a49788c6d0e1f2a3b4c5d%29";
    let contact = format!("href=\"mailto:help@example.com?subject={subject}\"");
    let order = [
        "href=\"https://reports.example.com/q3?a=1&#38;b=2\">Try again<",
        &contact,
        "<code>7f3c1d2e4b5a49788c6d0e1f2a3b4c5d</code>",
        "other=1\">Sign in as somebody else<",
        "</main>",
    ];
    let places: Vec<_> = order.iter().map(|part| html.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{places:?}: {html}");
    let last = &html[places[3]..places[4]];
    assert_eq!(last.matches("href").count(), 0, "nothing follows it: {last}");
}

#[test]
fn a_condition_without_parts_has_no_table_of_them() {
    let branding = branding();
    let mut why = WHY.clone();
    why.explanation.as_mut().unwrap().steps.clear();
    let (_, refused) = refusals(english(&branding)).pop().unwrap();
    assert!(rendered(&Refused { why: Some(&WHY), ..refused.clone() }).contains("<tbody>"));
    let html = rendered(&Refused { why: Some(&why), ..refused });
    assert!(html.contains("in user.roles = false") && !html.contains("<tbody>"), "{html}");
}

#[test]
fn an_invitation_says_in_words_how_long_it_is_valid() {
    let branding = branding();
    let page = english(&branding);
    for (hours, validity) in [
        (0, "Valid for 0 seconds (15~Jan~2027, 08:00:00~UTC)"),
        (5, "Valid for 5 hours (15~Jan~2027, 13:00:00~UTC)"),
        (25, "Valid until 16~Jan~2027, 09:00:00~UTC"),
        (7 * 24, "Valid until 22~Jan~2027, 08:00:00~UTC"),
    ] {
        let expires_at = NOW + Duration::from_secs(hours * 60 * 60);
        let invitation = Invitation { expires_at, ..INVITATIONS[0].clone() };
        let view = Invitations { now: NOW, invitations: &[invitation], ..Invitations::new(page) };
        // No line breaks where a tilde stands.
        let html = rendered(&view).replace('\u{a0}', "~");
        assert!(html.contains(&format!(">{validity}</time>")), "{validity}: {html}");
    }
}

#[test]
fn every_time_is_exact_in_the_text() {
    let mut found = 0;
    for (state, html) in every_page() {
        for (at, _) in html.match_indices("<time ") {
            let (tag, rest) = html[at..].split_once('>').unwrap();
            assert!(!tag.contains(" title="), "{state}: a phone shows no title");
            let text: String = rest.chars().take(100).collect();
            assert!(text.contains("UTC"), "{state}: {text}");
            found += 1;
        }
    }
    assert!(found > 0);
}

#[test]
fn links_start_with_the_base_path() {
    let branding = plain_branding();
    let page = PageContext { language: Language::English, branding: &branding, base: "/auth" };
    for (state, html) in gallery(page) {
        if state.starts_with("message") {
            continue;
        }
        for attribute in [" href=\"/", " action=\"/"] {
            for (start, _) in html.match_indices(attribute) {
                let path = &html[start + attribute.len() - 1..];
                assert!(path.starts_with("/auth/"), "{state}: {}", &path[..20]);
            }
        }
    }
}

#[test]
fn a_return_target_is_passed_on() {
    let branding = plain_branding();
    let view = SignIn { target: Some("a&b=\"c"), ..sign_in(english(&branding)) };
    let html = rendered(&view);
    assert!(html.contains("name=\"for\" value=\"a&#38;b=&#34;c\""), "{html}");
    assert!(html.contains("href=\"/sign-up?for=a%26b%3D%22c\""), "{html}");
}

#[test]
fn the_largest_account_page_with_the_largest_logo_has_20_kilobytes_at_most() {
    let logo = format!("data:image/svg+xml;base64,{}", "A".repeat((3 << 10) / 3 * 4));
    let branding = Branding { logo: Some(logo), ..branding() };
    for language in [Language::English, Language::German] {
        let page = PageContext { language, branding: &branding, base: "" };
        let account = Account {
            pending_email: Some("lovelace@example.org"),
            sends_mail: true,
            may_invite: true,
            ..account(page, 98)
        };
        let html = rendered(&account);
        assert!(html.contains("92"), "says that there are more");
        assert!(html.len() <= 20_000, "{language:?}: {} bytes", html.len());
    }
}
