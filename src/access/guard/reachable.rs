//! What a refused person can still reach by themselves, and whether they would be admitted then.

use std::{fmt, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CallerFacts, Guard, RequestFacts};
use crate::{
    access::factor_policy::FactorPolicy,
    clock::Timestamp,
    credential::factor::{FactorKind, Factors},
    session::{Method, Methods, Session},
    user::User,
};

/// What a person can still reach by themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reachable {
    /// They can verify their address with a mail.
    verified_email: bool,
    /// The kinds of second factors that they do not hold and can set up.
    new_factors: Factors,
    /// What everybody needs besides the condition.
    policy: FactorPolicy,
}

impl Reachable {
    /// What this user can reach, where the service sends mail or not, and offers these kinds of second factors.
    pub fn by(user: &User, sends_mail: bool, offered: &Factors, policy: FactorPolicy) -> Self {
        let new = offered.iter().filter(|kind| !user.factors.contains(*kind));
        Self {
            verified_email: sends_mail && !user.email_verified,
            new_factors: new.collect(),
            policy,
        }
    }

    /// What a user lacks in a session: the least with which `admits` and the policy are both satisfied. If only several things
    /// together suffice, the address is the first. Nothing is missing if both are satisfied, or cannot be.
    pub fn missing(
        &self,
        user: &User,
        session: &Session,
        now: Timestamp,
        admits: impl Fn(&User, &Session) -> bool,
    ) -> Option<Missing> {
        let admits =
            |user: &User, session: &Session| self.policy.admits(session) && admits(user, session);
        let verified = self.verified_email.then(|| User { email_verified: true, ..user.clone() });
        let (strongest_user, strongest_session) =
            self.strongest(verified.as_ref().unwrap_or(user), session, now);
        if !admits(&strongest_user, &strongest_session) || admits(user, session) {
            return None;
        }
        if verified.as_ref().is_some_and(|verified| admits(verified, session)) {
            return Some(Missing::VerifiedEmail);
        }
        let least = |user: &User| {
            let mut steps = self.steps(user, session, now, admits).into_iter();
            steps.find(|step| admits(&step.user, &step.session)).map(|step| step.missing)
        };
        let with_address = || verified.as_ref().and_then(least).map(|_| Missing::VerifiedEmail);
        least(user).or_else(with_address)
    }

    /// The user and the session with everything that they can prove.
    fn strongest(&self, user: &User, session: &Session, now: Timestamp) -> (User, Session) {
        let factors: Factors = user.factors.iter().chain(self.new_factors.iter()).collect();
        let second = factors.iter().map(Method::from);
        let methods = Methods::at(now, first_factors(user, session).into_iter().chain(second));
        (User { factors, ..user.clone() }, proved(session, methods, now))
    }

    /// What the person can do about their session, the least first. Each has the least that they have proved after it: they
    /// choose which of their factors they use, and a recovery code is always among them.
    fn steps(
        &self,
        user: &User,
        session: &Session,
        now: Timestamp,
        admits: impl Fn(&User, &Session) -> bool,
    ) -> Vec<Step> {
        let first = Methods::at(now, first_factors(user, session));
        let is_unmet = |ask: Ask| !ask.is_met_by(session, now);
        let step = |missing: Missing, methods: Methods| Step {
            missing,
            user: user.clone(),
            session: proved(session, methods, now),
        };
        let two = match user.factors.contains(FactorKind::Totp) {
            true => first.with(Method::Totp, now),
            false => first.with(Method::RecoveryCode, now),
        };
        let holds_any = !user.factors.is_empty();
        let again = match holds_any && session.methods.strength() >= 2 {
            true => two.clone(),
            false => first.clone(),
        };
        let mut steps = Vec::new();
        if is_unmet(Ask::Again) {
            steps.push(step(Missing::StepUp(Ask::Again), again));
        }
        if is_unmet(Ask::TwoFactors) && holds_any {
            steps.push(step(Missing::StepUp(Ask::TwoFactors), two));
        }
        if is_unmet(Ask::PhishingResistant) {
            let keys = [
                (FactorKind::SecurityKey, first.with(Method::SecurityKey, now)),
                (FactorKind::Passkey, Methods::at(now, [Method::Passkey])),
            ];
            let held = keys.into_iter().filter(|(kind, _)| user.factors.contains(*kind));
            let ask = Missing::StepUp(Ask::PhishingResistant);
            steps.extend(held.map(|(_, methods)| step(ask, methods)));
        }
        // Nobody sets up a factor to renew a sign-in that is new.
        let before = match is_unmet(Ask::Again) {
            true => first,
            false => first.at_the_latest(session.verified_at()),
        };
        let with_new = |missing: Missing, kind: FactorKind| Step {
            missing,
            user: User { factors: user.factors.iter().chain([kind]).collect(), ..user.clone() },
            session: proved(session, before.with(kind.into(), now), now),
        };
        // Where a code would be enough, any factor is asked for, also if the service offers no codes.
        let code = with_new(Missing::SecondFactor, FactorKind::Totp);
        let missing = match admits(&code.user, &code.session) {
            true => Missing::SecondFactor,
            false => Missing::Passkey,
        };
        steps.extend(self.new_factors.iter().map(|kind| with_new(missing, kind)));
        steps
    }
}

/// Something that a person can do, and what they have proved then.
struct Step {
    missing: Missing,
    user: User,
    session: Session,
}

/// What the person proves before a second factor.
fn first_factors(user: &User, session: &Session) -> Vec<Method> {
    let proved = session.methods.first_factors();
    if !proved.is_empty() {
        proved.iter().collect()
    } else if user.has_password() {
        vec![Method::Password]
    } else {
        vec![Method::MailedCode]
    }
}

fn proved(session: &Session, methods: Methods, now: Timestamp) -> Session {
    Session { authenticated_at: now, methods, ..session.clone() }
}

/// What a refused person lacks and can reach. With it, the same request would be admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    VerifiedEmail,
    /// They hold no second factor that suffices, and can set one up.
    SecondFactor,
    /// They hold no passkey and no security key, and can add one. A code is not enough.
    Passkey,
    /// Their session has to prove more.
    StepUp(Ask),
}

/// What a session has to prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Ask {
    /// What it has proved before.
    Again,
    TwoFactors,
    /// Two factors, of which one resists phishing.
    PhishingResistant,
}

impl Ask {
    /// A session that has proved this less than this long ago is not asked for it. Otherwise a browser could go back and forth
    /// between a guard and a page which finds that nothing is missing.
    pub const MIN_AGE: Duration = Duration::from_secs(60);

    /// Its name in the URL of the page on which a person proves it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Again => "again",
            Self::TwoFactors => "two",
            Self::PhishingResistant => "phr",
        }
    }

    /// Whether a session has just proved it. The page of the step-up goes by the same rule.
    pub fn is_met_by(self, session: &Session, now: Timestamp) -> bool {
        let is_new = session.verified_at() + Self::MIN_AGE > now;
        is_new
            && match self {
                Self::Again => true,
                Self::TwoFactors => session.methods.strength() >= 2,
                Self::PhishingResistant => session.methods.acr() == "phr",
            }
    }
}

impl Missing {
    /// What operators are told about a refusal.
    pub fn sentence(self) -> String {
        format!("would be admitted {self}")
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::VerifiedEmail => "with a verified address",
            Self::SecondFactor => "with a second factor (none that suffices is set up)",
            Self::Passkey => "with a passkey (none is set up)",
            Self::StepUp(Ask::Again) => "after signing in again",
            Self::StepUp(Ask::TwoFactors) => "with two factors",
            Self::StepUp(Ask::PhishingResistant) => "with a passkey",
        })
    }
}

impl Guard {
    /// What a user lacks whom the guard has just refused. Caches nothing. A condition that reads nothing of what can be
    /// reached is not evaluated again.
    pub fn missing(
        &self,
        user: &User,
        session: &Session,
        request: &RequestFacts<'_>,
        reachable: &Reachable,
    ) -> Option<Missing> {
        if reachable.policy.admits(session) && !self.condition.reads().reachable {
            return None;
        }
        reachable.missing(user, session, request.time, |user, session| {
            self.condition.holds(&CallerFacts::new(user, session), request).is_ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::guard::{Declaration, Memo, sample};

    const PASSWORD: &[Method] = &[Method::Password];
    const TWO: &[Method] = &[Method::Password, Method::Totp];
    const AN_HOUR: u64 = 60 * 60;

    /// Who is refused: what they hold, what they have proved, and how many seconds ago.
    struct Refused {
        is_verified: bool,
        holds: &'static [FactorKind],
        proved: &'static [Method],
        age: u64,
    }

    /// Somebody who has signed in with a password an hour ago.
    const SOMEBODY: Refused =
        Refused { is_verified: true, holds: &[], proved: PASSWORD, age: AN_HOUR };

    /// Where they are refused.
    struct Service {
        sends_mail: bool,
        offers: &'static [FactorKind],
        policy: FactorPolicy,
    }

    const SERVICE: Service = Service {
        sends_mail: true,
        offers: &[FactorKind::Passkey, FactorKind::Totp],
        policy: FactorPolicy::Optional,
    };

    fn missing(allow: &str, refused: &Refused, service: &Service) -> Option<Missing> {
        let declaration =
            Declaration { name: "app".into(), allow: allow.into(), ..Declaration::default() };
        let guard = Guard::declare(declaration).unwrap_or_else(|_| panic!("{allow}"));
        let user = User {
            email_verified: refused.is_verified,
            factors: refused.holds.iter().copied().collect(),
            ..sample::user()
        };
        let (memo, request) = (Memo::default(), sample::request());
        let verified_at = request.time - Duration::from_secs(refused.age);
        let session = Session {
            methods: Methods::at(verified_at, refused.proved.iter().copied()),
            authenticated_at: verified_at,
            ..sample::session(&user, [192, 0, 2, 7].into())
        };
        let decision = guard.decide(&user, &session, &memo, &request);
        let offered = service.offers.iter().copied().collect();
        let reachable = Reachable::by(&user, service.sends_mail, &offered, service.policy);
        let missing = guard.missing(&user, &session, &request, &reachable);
        assert_eq!(guard.decide(&user, &session, &memo, &request), decision, "{allow}");
        missing
    }

    #[test]
    fn a_verified_address_is_missing_only_if_it_can_be_reached_and_suffices() {
        let verified = Some(Missing::VerifiedEmail);
        for (allow, is_verified, sends_mail, expected) in [
            ("user.emailVerified", false, true, verified),
            (r#"user.emailVerified && "staff" in user.roles"#, false, true, verified),
            (r#"user["emailVerified"] && request.method == "GET""#, false, true, verified),
            (r#"user["email" + "Verified"]"#, false, true, verified),
            ("user.emailVerified", false, false, None),
            ("user.emailVerified", true, true, None),
            (r#"user.emailVerified && "boss" in user.roles"#, false, true, None),
            (r#"user.emailVerified && request.method == "POST""#, false, true, None),
            (r#"user.emailVerified && user.roles[9] == """#, false, true, None),
            ("user.disabled", false, true, None),
            ("!user.emailVerified && user.disabled", false, true, None),
        ] {
            let refused = Refused { is_verified, ..SOMEBODY };
            let service = Service { sends_mail, ..SERVICE };
            assert_eq!(missing(allow, &refused, &service), expected, "{allow}");
        }
    }

    #[test]
    fn the_least_that_suffices_is_missing() {
        use FactorKind::{Passkey, SecurityKey, Totp};
        const AGAIN: Option<Missing> = Some(Missing::StepUp(Ask::Again));
        const TWO_FACTORS: Option<Missing> = Some(Missing::StepUp(Ask::TwoFactors));
        const PHR: Option<Missing> = Some(Missing::StepUp(Ask::PhishingResistant));
        const ENROL: Option<Missing> = Some(Missing::SecondFactor);
        const ADD_PASSKEY: Option<Missing> = Some(Missing::Passkey);
        const STRONG: &str = "session.strength >= 2";
        const RESISTS: &str = "session.phishingResistant";
        const FRESH: &str = r#"request.time - session.verifiedAt < duration("10m")"#;
        const BOTH: &str =
            r#"session.strength >= 2 && request.time - session.verifiedAt < duration("10m")"#;
        /// A condition; what the user holds, what their session has proved, how many seconds ago; and what is missing.
        type Case = (&'static str, &'static [FactorKind], &'static [Method], u64, Option<Missing>);
        let cases: &[Case] = &[
            // Age.
            (FRESH, &[], PASSWORD, AN_HOUR, AGAIN),
            (FRESH, &[Totp], TWO, AN_HOUR, AGAIN),
            (FRESH, &[], TWO, AN_HOUR, AGAIN),
            (FRESH, &[], &[], AN_HOUR, AGAIN),
            (FRESH, &[Passkey], &[Method::Passkey], AN_HOUR, AGAIN),
            // Strength.
            (STRONG, &[], PASSWORD, AN_HOUR, ENROL),
            (STRONG, &[], PASSWORD, 0, ENROL),
            (STRONG, &[Totp], PASSWORD, AN_HOUR, TWO_FACTORS),
            (STRONG, &[Totp], PASSWORD, 0, TWO_FACTORS),
            (STRONG, &[SecurityKey], PASSWORD, 0, TWO_FACTORS),
            (STRONG, &[Passkey], PASSWORD, 0, TWO_FACTORS),
            (RESISTS, &[Totp, Passkey], PASSWORD, AN_HOUR, PHR),
            (RESISTS, &[Totp, Passkey], TWO, AN_HOUR, PHR),
            (RESISTS, &[Totp, SecurityKey], TWO, 0, PHR),
            // Two factors could be a password and a recovery code.
            (RESISTS, &[Passkey], PASSWORD, 0, PHR),
            (RESISTS, &[Totp], TWO, 0, ADD_PASSKEY),
            (RESISTS, &[], PASSWORD, 0, ADD_PASSKEY),
            // Both.
            (BOTH, &[], PASSWORD, AN_HOUR, ENROL),
            (BOTH, &[Totp], PASSWORD, AN_HOUR, TWO_FACTORS),
            (BOTH, &[Totp], TWO, AN_HOUR, AGAIN),
            (
                r#"session.phishingResistant && request.time - session.verifiedAt < duration("10m")"#,
                &[Totp, Passkey],
                &[Method::Passkey],
                AN_HOUR,
                PHR,
            ),
            // Names.
            (r#""passkey" in session.factors"#, &[SecurityKey, Passkey, Totp], TWO, 0, PHR),
            (r#""totp" in session.factors"#, &[Totp], PASSWORD, AN_HOUR, TWO_FACTORS),
            (r#""totp" in session.factors"#, &[], PASSWORD, 0, ENROL),
            (r#""passkey" in user.factors"#, &[Totp], TWO, 0, ADD_PASSKEY),
            (r#""key" in user.factors"#, &[Totp], TWO, 0, None),
            // A trusted browser is no factor that one has at hand.
            (
                r#"!("device" in session.factors)"#,
                &[Totp],
                &[Method::Password, Method::TrustedDevice],
                AN_HOUR,
                AGAIN,
            ),
            (RESISTS, &[Passkey, Totp], &[Method::Password, Method::TrustedDevice], 0, PHR),
            // Alternatives: the least.
            (
                r#"session.strength >= 2 || request.time - session.verifiedAt < duration("10m")"#,
                &[Totp],
                PASSWORD,
                AN_HOUR,
                AGAIN,
            ),
            // Nothing suffices.
            (r#"session.strength >= 2 && "boss" in user.roles"#, &[Totp], PASSWORD, AN_HOUR, None),
            ("session.strength >= 3", &[Totp], PASSWORD, AN_HOUR, None),
            ("session.verifiedAt > request.time", &[Totp], TWO, AN_HOUR, None),
            // No session is asked for what it has just proved.
            (r#"request.time - session.verifiedAt < duration("30s")"#, &[], PASSWORD, 59, None),
            (r#"request.time - session.verifiedAt < duration("30s")"#, &[], PASSWORD, 60, AGAIN),
            (
                r#"request.time - session.verifiedAt < duration("30s")"#,
                &[Passkey],
                &[Method::Passkey],
                59,
                None,
            ),
        ];
        for (allow, holds, proved, age, expected) in cases {
            let refused = Refused { holds, proved, age: *age, ..SOMEBODY };
            let found = missing(allow, &refused, &SERVICE);
            assert_eq!(found, *expected, "{allow} {holds:?} {proved:?} {age}");
        }
    }

    #[test]
    fn the_address_comes_first_if_several_things_are_missing() {
        let both = "user.emailVerified && session.strength >= 2";
        let unverified = Refused { is_verified: false, holds: &[FactorKind::Totp], ..SOMEBODY };
        assert_eq!(missing(both, &unverified, &SERVICE), Some(Missing::VerifiedEmail));
        let verified = Refused { is_verified: true, ..unverified };
        let then = Some(Missing::StepUp(Ask::TwoFactors));
        assert_eq!(missing(both, &verified, &SERVICE), then);
        let unverified = Refused { is_verified: false, holds: &[FactorKind::Totp], ..SOMEBODY };
        let without_mail = Service { sends_mail: false, ..SERVICE };
        assert_eq!(missing(both, &unverified, &without_mail), None);
        let either = "user.emailVerified || session.strength >= 2";
        assert_eq!(missing(either, &unverified, &SERVICE), Some(Missing::VerifiedEmail));
        assert_eq!(missing(either, &unverified, &without_mail), then);
    }

    #[test]
    fn a_factor_can_be_set_up_only_if_it_is_offered() {
        let none = Service { offers: &[], ..SERVICE };
        assert_eq!(missing("session.strength >= 2", &SOMEBODY, &none), None);
        let codes = Service { offers: &[FactorKind::Totp], ..SERVICE };
        let enrol = Some(Missing::SecondFactor);
        assert_eq!(missing("session.strength >= 2", &SOMEBODY, &codes), enrol);
        assert_eq!(missing("session.phishingResistant", &SOMEBODY, &codes), None);
        // Any second factor is enough, and only passkeys are offered.
        let passkeys = Service { offers: &[FactorKind::Passkey], ..SERVICE };
        assert_eq!(missing("session.strength >= 2", &SOMEBODY, &passkeys), enrol);
    }

    #[test]
    fn where_a_second_factor_is_required_a_condition_that_is_true_is_not_enough() {
        let required = Service { policy: FactorPolicy::Required, ..SERVICE };
        let holder = || Refused { holds: &[FactorKind::Totp], ..SOMEBODY };
        let enrol = Some(Missing::SecondFactor);
        let step_up = Some(Missing::StepUp(Ask::TwoFactors));
        for allow in ["true", r#""staff" in user.roles"#] {
            assert_eq!(missing(allow, &SOMEBODY, &required), enrol, "{allow}");
            assert_eq!(missing(allow, &holder(), &required), step_up, "{allow}");
            assert_eq!(missing(allow, &SOMEBODY, &SERVICE), None, "{allow}");
        }
        assert_eq!(missing(r#""boss" in user.roles"#, &SOMEBODY, &required), None);
        let unverified = Refused { is_verified: false, ..holder() };
        let address = Some(Missing::VerifiedEmail);
        assert_eq!(missing("user.emailVerified", &unverified, &required), address);
        let fresh = r#"request.time - session.verifiedAt < duration("10m")"#;
        assert_eq!(missing(fresh, &holder(), &required), step_up);
        let strong = Refused { proved: TWO, ..holder() };
        let again = Some(Missing::StepUp(Ask::Again));
        assert_eq!(missing(fresh, &strong, &required), again);
    }

    #[test]
    fn what_is_missing_is_said_in_words() {
        for (missing, sentence) in [
            (Missing::VerifiedEmail, "would be admitted with a verified address"),
            (
                Missing::SecondFactor,
                "would be admitted with a second factor (none that suffices is set up)",
            ),
            (Missing::Passkey, "would be admitted with a passkey (none is set up)"),
            (Missing::StepUp(Ask::Again), "would be admitted after signing in again"),
            (Missing::StepUp(Ask::TwoFactors), "would be admitted with two factors"),
            (Missing::StepUp(Ask::PhishingResistant), "would be admitted with a passkey"),
        ] {
            assert_eq!(missing.sentence(), sentence);
        }
    }
}
