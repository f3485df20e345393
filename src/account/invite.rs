//! Invitations: the operator or a user makes one, and whoever holds it may register with its address.

use std::{ops::RangeInclusive, time::Duration};

use zeroize::Zeroizing;

use super::{
    Error, InvalidInput, effects,
    enumeration::on_tick,
    one_time::{charge_guess, publish_wrong_code},
    roles::parse as parse_role,
    sign_in::begin_attempt,
    user_order::check_given,
};
use crate::{
    Caller, Doorward,
    access::{policy::SignedIn, registration::RegistrationPolicy, scope::Scope},
    event::{Administrator, Event, EventKind},
    fault::{Fault, FaultKind},
    id::Id,
    language::Language,
    mail::{Mail, MailId, Message, link},
    network::Requester,
    store,
    store::Effects,
    throttle::{Guess, LoginAttempt, MailPurpose},
    token::one_time::{LinkOrCode, MAX_GUESSES, OneTimeCode, OneTimeId, OneTimeSecret, Purpose},
    user::{Email, EmailKey, Invitation, InvitationId, MAX_ROLES, Role, Roles, User, UserId},
};

/// How long an invitation is valid unless the operator says otherwise.
pub(crate) const LIFETIME: Duration = Purpose::Invitation.lifetime();
/// How long the operator may make it valid.
pub(crate) const LIFETIMES: RangeInclusive<Duration> = Duration::from_secs(5 * 60)..=days(90);

const fn days(count: u64) -> Duration {
    Duration::from_secs(count * 24 * 60 * 60)
}

/// An invitation that was made.
#[derive(Debug)]
#[non_exhaustive]
pub struct Invited {
    /// The invitation.
    pub invitation: Invitation,
    /// What its holder registers with, unless it is mailed. It cannot be read again.
    pub ticket: Option<InvitationTicket>,
}

/// What the holder of an invitation registers with.
#[derive(Debug)]
pub struct InvitationTicket {
    secret: OneTimeSecret,
    code: OneTimeCode,
    base: Option<String>,
}

impl InvitationTicket {
    /// The secret: the field `invitation` of `POST /api/user`.
    pub fn secret(&self) -> &str {
        self.secret.as_str()
    }

    /// The 8 digits that can be typed in place of the secret.
    pub fn code(&self) -> String {
        self.code.to_text()
    }

    /// The link to the sign-up page, which contains the secret; `None` without pages.
    pub fn link(&self) -> Option<Zeroizing<String>> {
        let base = self.base.as_ref()?;
        Some(Zeroizing::new(link(base, Purpose::Invitation, &self.secret)))
    }
}

/// How the invited person gets the invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// By mail, if the service sends any. The network has asked for so many mails lately.
    Mail(Language, u32),
    /// By whoever has made it.
    ByHand,
}

/// Invites the holder of an address for an administrator. It is not throttled, and replaces any invitation to the address.
async fn by_administrator(
    doorward: &Doorward,
    email: Email,
    roles: Roles,
    lifetime: Duration,
    delivery: Delivery,
    id: Option<InvitationId>,
    by: &Administrator,
) -> Result<Invited, Error> {
    if !LIFETIMES.contains(&lifetime) {
        let message = "an invitation is valid for 5 minutes to 90 days";
        let fault = Fault::new(FaultKind::InvitationLifetime, message);
        return Err(InvalidInput { field: "lifetime", fault }.into());
    }
    if let Some(id) = id
        && let Some(made) = doorward.store().invitation_by_id(id, doorward.now()).await?
    {
        let is_same = made.email == email && made.roles == roles;
        return if is_same { Ok(invited(doorward, made)) } else { Err(Error::OtherOrder) };
    }
    check_usable(doorward, &email).await?;
    let event = |kind| doorward.event_by_administrator(by, None, kind);
    let id = id.unwrap_or_else(InvitationId::random);
    let terms = InvitationTerms { id, email, roles, invited_by: by.person(), lifetime };
    add(doorward, terms, None, delivery, event).await
}

/// Invites the holder of an address for a user. The invited person gets no roles.
pub(crate) async fn by_user(
    doorward: &Doorward,
    caller: &Caller,
    email: Email,
    requester: &Requester,
) -> Result<Invited, Error> {
    let inviter = &*caller.user;
    if !may_be_inviter(doorward, inviter) {
        return Err(Error::MayNotInvite);
    }
    doorward.throttle().charge_invitation(inviter.id, doorward.instant())?;
    check_usable(doorward, &email).await?;
    // An invitation by the operator may grant roles, which a user must not take away.
    let earlier = doorward.store().invitation_by_email(&email.key(), doorward.now()).await?;
    if earlier.is_some_and(|earlier| earlier.invited_by != Some(inviter.id)) {
        return Err(Error::AlreadyInvited);
    }
    let mut earlier = 0;
    if doorward.sends_mail() {
        let charged = effects::charge_mail(doorward, &email, MailPurpose::ByUsers, requester);
        earlier = charged.inspect_err(|_| doorward.throttle().refund_invitation(inviter.id))?;
    }
    let delivery = Delivery::Mail(requester.language, earlier);
    let event = |kind| doorward.event_by_caller(caller, requester, kind);
    let terms = InvitationTerms {
        id: InvitationId::random(),
        email,
        roles: Roles::default(),
        invited_by: Some(inviter.id),
        lifetime: LIFETIME,
    };
    add(doorward, terms, Some(inviter), delivery, event).await
}

/// Whether this caller may invite others.
pub(crate) fn may_invite(doorward: &Doorward, caller: &Caller) -> bool {
    doorward.granted_by(&SignedIn, caller).is_ok() && may_be_inviter(doorward, &caller.user)
}

fn may_be_inviter(doorward: &Doorward, user: &User) -> bool {
    let settings = doorward.settings();
    settings.registration != RegistrationPolicy::Closed
        && settings.invitations.allows(user, doorward.now())
}

async fn check_usable(doorward: &Doorward, email: &Email) -> Result<(), Error> {
    if doorward.settings().registration == RegistrationPolicy::Closed {
        return Err(Error::RegistrationClosed);
    }
    // Where registration does not tell whether an address is taken, an invitation does not either.
    if !doorward.signs_up_silently()
        && doorward.store().user_by_email(&email.key()).await?.is_some()
    {
        return Err(Error::EmailTaken);
    }
    Ok(())
}

/// What an invitation is made with.
struct InvitationTerms {
    id: InvitationId,
    email: Email,
    roles: Roles,
    invited_by: Option<UserId>,
    lifetime: Duration,
}

/// Adds an invitation. The mail names `inviter`, if there is one.
async fn add(
    doorward: &Doorward,
    terms: InvitationTerms,
    inviter: Option<&User>,
    delivery: Delivery,
    event: impl FnOnce(EventKind) -> Event,
) -> Result<Invited, Error> {
    let InvitationTerms { id, email, roles, invited_by, lifetime } = terms;
    let now = doorward.now();
    let by_mail = match delivery {
        Delivery::Mail(language, earlier) if doorward.sends_mail() => Some((language, earlier)),
        _ => None,
    };
    let invitation = Invitation {
        id,
        email,
        roles,
        invited_by,
        is_mailed: by_mail.is_some(),
        created_at: now,
        expires_at: now + lifetime,
        guesses: 0,
    };
    let effects = match by_mail {
        Some((language, earlier)) => {
            Effects { earlier, ..letter(doorward, &invitation, inviter, language) }
        }
        None => Effects::NONE,
    };
    let roles = invitation.roles.clone();
    let effects = effects.with(event(EventKind::Invited { invitation: invitation.id, roles }));
    let secrets = doorward.one_time_secrets();
    let secret = secrets.secret(one_time_id(&invitation), Purpose::Invitation);
    doorward.store().add_invitation(&invitation, &secret.digest(), &effects).await?;
    Ok(invited(doorward, invitation))
}

/// An invitation with what its holder registers with, unless it is mailed.
fn invited(doorward: &Doorward, invitation: Invitation) -> Invited {
    let (secrets, id) = (doorward.one_time_secrets(), one_time_id(&invitation));
    let ticket = (!invitation.is_mailed).then(|| InvitationTicket {
        secret: secrets.secret(id, Purpose::Invitation),
        code: secrets.code(id, Purpose::Invitation),
        base: doorward.settings().pages.then(|| doorward.public_base()),
    });
    Invited { invitation, ticket }
}

/// The mail with an invitation.
fn letter(
    doorward: &Doorward,
    invitation: &Invitation,
    inviter: Option<&User>,
    language: Language,
) -> Effects {
    let Invitation { email, expires_at, .. } = invitation;
    let one_time = one_time_id(invitation);
    let invited_by = inviter.map(|user| user.email.as_str().to_owned());
    let expires_at_millis = Some(expires_at.millis());
    let message = Message::Invitation { one_time, invited_by, expires_at: expires_at_millis };
    // Deleting the inviter deletes the mail.
    let mail = effects::mail(doorward, inviter.map(|user| user.id), email, language, message);
    let expires_at = mail.expires_at.min(*expires_at);
    // An order that is carried out twice at the same time queues one mail.
    let id = MailId::from_uuid(invitation.id.uuid());
    Effects { mails: vec![Mail { id, expires_at, ..mail }], ..Effects::NONE }
}

/// The id that the secret of an invitation is derived from.
fn one_time_id(invitation: &Invitation) -> OneTimeId {
    OneTimeId::from_uuid(invitation.id.uuid())
}

/// A valid invitation that a person has presented.
pub(super) struct FoundInvitation<'a> {
    pub(super) invitation: Invitation,
    /// The budget that a typed code is charged to.
    pub(super) guess: Option<LoginAttempt<'a>>,
}

/// The valid invitation that a person presents with their address: its secret or its code.
pub(super) async fn find<'a>(
    doorward: &'a Doorward,
    presented: &str,
    email: &Email,
    requester: &Requester,
) -> Result<Option<FoundInvitation<'a>>, Error> {
    match LinkOrCode::parse(presented, Some(email.key())) {
        LinkOrCode::Secret(digest) => {
            let found = doorward.store().invitation_by_digest(&digest, doorward.now()).await?;
            let found = found.filter(|invitation| invitation.email.key() == email.key());
            let found = in_force(doorward, found).await?;
            Ok(found.map(|invitation| FoundInvitation { invitation, guess: None }))
        }
        LinkOrCode::Code { email, code } => {
            let guess = begin_attempt(doorward, Guess::Code, &email, requester).await?;
            match on_tick(by_code(doorward, &email, &code)).await {
                Ok(Some(invitation)) => {
                    Ok(Some(FoundInvitation { invitation, guess: Some(guess) }))
                }
                Ok(None) => {
                    drop(guess);
                    publish_wrong_code(doorward, &email, requester);
                    Ok(None)
                }
                Err(error) => {
                    // A lost database is not the caller's fault.
                    guess.cancel();
                    Err(error.into())
                }
            }
        }
    }
}

/// The work does not depend on whether the address is invited.
async fn by_code(
    doorward: &Doorward,
    email: &EmailKey,
    code: &OneTimeCode,
) -> Result<Option<Invitation>, store::Error> {
    charge_guess(doorward, Purpose::Invitation, email).await?;
    // Who has the address registered is not told that the code is right.
    let is_taken = doorward.store().user_by_email(email).await?.is_some();
    let found = doorward.store().invitation_by_email(email, doorward.now()).await?;
    let found = in_force(doorward, found).await?;
    let id = found.as_ref().map_or_else(OneTimeId::random, one_time_id);
    let is_right = doorward.one_time_secrets().code(id, Purpose::Invitation).matches(code);
    Ok(found.filter(|found| is_right && !is_taken && found.guesses <= MAX_GUESSES))
}

/// The valid invitation in a link, for a page that shows whom it is for. Nothing is used.
pub(crate) async fn peek(
    doorward: &Doorward,
    secret: &str,
) -> Result<Option<Invitation>, store::Error> {
    let digest = OneTimeSecret::unchecked(secret.to_owned()).digest();
    let found = doorward.store().invitation_by_digest(&digest, doorward.now()).await?;
    in_force(doorward, found).await
}

/// The invitation, if whoever has made it still counts: the invitations of a disabled user admit nobody, and those that grant roles
/// count while their maker may grant them.
async fn in_force(
    doorward: &Doorward,
    found: Option<Invitation>,
) -> Result<Option<Invitation>, store::Error> {
    let Some(id) = found.as_ref().and_then(|invitation| invitation.invited_by) else {
        return Ok(found);
    };
    let inviter = doorward.store().user_by_id(id).await?.filter(|inviter| !inviter.disabled);
    let Some(inviter) = inviter else { return Ok(None) };
    let admin_roles = &doorward.settings().admin_roles;
    let scopes = admin_roles.most_scopes_of(&inviter.roles);
    let may_grant = |roles: &Roles| {
        scopes.contains(Scope::InvitationsWrite) && admin_roles.may_manage(scopes, roles)
    };
    Ok(found.filter(|found| found.roles.is_empty() || may_grant(&found.roles)))
}

/// The unexpired invitations that a user has made, in the order of their addresses.
pub(crate) async fn of_user(
    doorward: &Doorward,
    user: UserId,
) -> Result<Vec<Invitation>, store::Error> {
    // More than the budget of invitations allows within their lifetime.
    const MOST: usize = 1000;
    doorward.store().invitations(Some(user), None, MOST, doorward.now()).await
}

/// Revokes an invitation that a user has made. Returns false if they have made no such one.
pub(crate) async fn revoke_own(
    doorward: &Doorward,
    user: UserId,
    id: InvitationId,
    requester: &Requester,
) -> Result<bool, store::Error> {
    let is_own = of_user(doorward, user).await?.iter().any(|invitation| invitation.id == id);
    let kind = EventKind::InvitationRevoked { invitation: id };
    let effects = doorward.event_by_user(user, requester, kind).into();
    Ok(is_own && doorward.store().delete_invitation(id, &effects).await?)
}

/// Up to `limit` unexpired invitations after this address, and the address after which the next page starts, if there may be one.
pub(crate) async fn page(
    doorward: &Doorward,
    after: Option<&EmailKey>,
    limit: usize,
) -> Result<(Vec<Invitation>, Option<EmailKey>), store::Error> {
    let page = doorward.store().invitations(None, after, limit, doorward.now()).await?;
    let next = page.last().filter(|_| page.len() == limit).map(|last| last.email.key());
    Ok((page, next))
}

/// Revokes the invitation with this id or to this address, for an administrator. Returns false if there is none.
pub(crate) async fn revoke(
    doorward: &Doorward,
    id_or_email: &str,
    by: &Administrator,
) -> Result<bool, store::Error> {
    let id = match id_or_email.parse() {
        Ok(id) => id,
        Err(_) => {
            let email = EmailKey::of(id_or_email);
            match doorward.store().invitation_by_email(&email, doorward.now()).await? {
                Some(invitation) => invitation.id,
                None => return Ok(false),
            }
        }
    };
    let kind = EventKind::InvitationRevoked { invitation: id };
    let effects = doorward.event_by_administrator(by, None, kind).into();
    doorward.store().delete_invitation(id, &effects).await
}

/// An invitation to be made. The values are checked then.
#[derive(Clone, Debug)]
pub struct NewInvitation {
    email: String,
    roles: Vec<String>,
    lifetime: Duration,
    by_hand: bool,
}

impl NewInvitation {
    /// An invitation to this address, valid for 7 days. It is mailed if the service sends mail.
    pub fn new(email: impl Into<String>) -> Self {
        Self { email: email.into(), roles: Vec::new(), lifetime: LIFETIME, by_hand: false }
    }

    /// Adds a role that the new user gets.
    #[must_use]
    pub fn role(mut self, role: impl Into<String>) -> Self {
        self.roles.push(role.into());
        self
    }

    /// How long it is valid: 5 minutes to 90 days.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// No mail is sent, whether the service sends any or not. Registering with it does not verify the address.
    #[must_use]
    pub fn by_hand(mut self) -> Self {
        self.by_hand = true;
        self
    }
}

/// Makes the invitation for an administrator.
pub(crate) async fn make(
    doorward: &Doorward,
    invitation: NewInvitation,
    by: &Administrator,
) -> Result<Invited, Error> {
    make_once(doorward, invitation, None, by).await
}

/// Invites somebody by an order that may arrive twice. One with an id that exists was carried out before, and its invitation is
/// returned again.
pub(crate) async fn make_once(
    doorward: &Doorward,
    invitation: NewInvitation,
    id: Option<InvitationId>,
    by: &Administrator,
) -> Result<Invited, Error> {
    let NewInvitation { email, roles, lifetime, by_hand } = invitation;
    check_given(&roles.iter().filter_map(|role| Role::parse(role)).collect(), by)?;
    let email = Email::parse(email).map_err(InvalidInput::new("email"))?;
    let roles = roles.iter().map(|role| parse_role(role)).collect::<Result<Roles, _>>()?;
    if roles.iter().count() > MAX_ROLES {
        return Err(Error::TooManyRoles);
    }
    let delivery = match by_hand {
        true => Delivery::ByHand,
        false => Delivery::Mail(doorward.settings().mail.language, 0),
    };
    by_administrator(doorward, email, roles, lifetime, delivery, id, by).await
}

impl Doorward {
    /// Invites the holder of an e-mail address, as `doorward user invite` does. An invitation admits unless registration is
    /// closed. It replaces an earlier one to the same address.
    ///
    /// # Errors
    /// If a value is invalid, a user has the address or registration is closed.
    pub async fn invite(&self, invitation: NewInvitation) -> Result<Invited, Error> {
        make(self, invitation, &Administrator::APP).await
    }

    /// Revokes the invitation with this id or to this address, as `doorward user uninvite` does. Returns false if there is
    /// none.
    ///
    /// # Errors
    /// If the database cannot be used.
    pub async fn revoke_invitation(&self, id_or_email: &str) -> Result<bool, store::Error> {
        revoke(self, id_or_email, &Administrator::APP).await
    }
}
