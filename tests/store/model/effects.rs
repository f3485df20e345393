//! Random operations on one-time secrets, mail and invitations.

use std::time::Duration;

use doorward::internals::{
    language::Language,
    mail::{Mail, MailId, Message},
    store::{Effects, OneTimeUse, Requirement, SessionStart, SignIn, SignInUser},
    token::one_time::{OneTime, OneTimeId, OneTimeSecret, Purpose},
    user::{Email, Invitation, InvitationId, Role, User},
};

use super::{EMAILS, Model, ROLES, outcome, same};

const PURPOSES: &[Purpose] = &[
    Purpose::VerifyEmail,
    Purpose::ChangeEmail,
    Purpose::RestoreEmail,
    Purpose::ResetPassword,
    Purpose::OperatorReset,
    Purpose::FactorReset,
    Purpose::SignIn,
];
const LEASE: Duration = Duration::from_secs(10);

impl Model<'_> {
    fn email(&mut self) -> Email {
        Email::parse(self.chance.one_of(EMAILS).into()).unwrap()
    }

    /// Mail and one-time secrets for a user, or none.
    pub(super) fn effects(&mut self) -> Effects {
        let (mut mails, mut secrets) = (Vec::new(), Vec::new());
        if self.chance.sometimes() {
            let user = self.user();
            mails.push(self.mail_to(&user));
            secrets.extend((0..self.chance.number(3)).map(|_| self.new_one_time(&user)));
        }
        self.world.mails.extend(mails.iter().cloned());
        self.world.one_time_secrets.extend(secrets.iter().cloned());
        let earlier = u32::try_from(self.chance.number(3)).unwrap();
        Effects { mails, secrets, earlier, ..Effects::NONE }
    }

    fn mail_to(&mut self, user: &User) -> Mail {
        let messages = [
            Message::Nothing,
            Message::SignIn { one_time: OneTimeId::random(), target: None },
            Message::PasswordChanged { at: self.now.millis() },
            Message::Invitation {
                one_time: OneTimeId::random(),
                invited_by: Some(self.chance.text()),
                expires_at: Some(self.now.millis()),
            },
        ];
        let lifetime = Duration::from_millis(self.chance.number(60_000) as u64);
        Mail {
            id: MailId::random(),
            user_id: (!self.chance.sometimes()).then_some(user.id),
            recipient: user.email.clone(),
            language: self.chance.one_of(&[Language::English, Language::German]),
            message: self.chance.one_of(&messages),
            created_at: self.now,
            expires_at: self.now + lifetime,
        }
    }

    fn new_one_time(&mut self, user: &User) -> OneTime {
        let id = OneTimeId::random();
        let email = if self.chance.sometimes() { self.email() } else { user.email.clone() };
        let lifetime = Duration::from_millis(self.chance.number(60_000) as u64);
        OneTime {
            id,
            purpose: self.chance.one_of(PURPOSES),
            user_id: user.id,
            email,
            user_email: user.email.clone(),
            password_version: user.password_version(),
            digest: OneTimeSecret::unchecked(id.to_string()).digest(),
            expires_at: self.now + lifetime,
            guesses: 0,
        }
    }

    fn one_time(&mut self, user: &User) -> OneTime {
        if self.world.one_time_secrets.is_empty() || self.chance.number(12) == 0 {
            return self.new_one_time(user);
        }
        let one_time_secrets = &self.world.one_time_secrets;
        self.chance.one_of(one_time_secrets)
    }

    fn mail(&mut self) -> MailId {
        let mails = &self.world.mails;
        if mails.is_empty() { MailId::random() } else { self.chance.one_of(mails).id }
    }

    fn new_invitation(&mut self, user: &User) -> Invitation {
        let lifetime = Duration::from_millis(self.chance.number(60_000) as u64);
        Invitation {
            id: InvitationId::random(),
            email: self.email(),
            roles: Role::parse(self.chance.one_of(ROLES)).into_iter().collect(),
            invited_by: self.chance.sometimes().then_some(user.id),
            is_mailed: self.chance.sometimes(),
            created_at: self.now,
            expires_at: self.now + lifetime,
            guesses: 0,
        }
    }

    /// An invitation that may be to the address of this user.
    pub(super) fn invitation_for(&mut self, user: &User) -> Invitation {
        let mut latest = self.world.invitations.iter().rev().map(|(invitation, _)| invitation);
        let fitting = latest.find(|invitation| invitation.email.key() == user.email.key());
        let invitation = fitting.cloned().filter(|_| !self.chance.sometimes());
        invitation.unwrap_or_else(|| self.new_invitation(user))
    }

    /// A sign-in with a secret, which may be for something else.
    fn sign_in_with(&mut self, one_time: &OneTime, user: &User) -> SignIn {
        let mut session = self.session_of(user);
        session.user_id = one_time.user_id;
        self.world.sessions.push(session.clone());
        let (id, password_version) = (one_time.user_id, one_time.password_version);
        SignIn {
            user: SignInUser::Known { id, password_version },
            start: SessionStart::New(session),
            requires: vec![Requirement::MailedCode(Box::new(one_time.clone()))],
            new_trusted_device: None,
        }
    }

    fn usage(&mut self, one_time: &OneTime) -> OneTimeUse {
        let mut purpose = one_time.purpose;
        if self.chance.number(8) == 0 {
            purpose = self.chance.one_of(PURPOSES);
        }
        match purpose {
            Purpose::ChangeEmail => OneTimeUse::ChangeEmail,
            Purpose::RestoreEmail => OneTimeUse::RestoreEmail(self.hash()),
            Purpose::ResetPassword => OneTimeUse::ResetPassword(self.hash()),
            Purpose::OperatorReset => OneTimeUse::OperatorReset(self.hash()),
            Purpose::FactorReset => OneTimeUse::ResetFactors,
            Purpose::SignIn => OneTimeUse::FirstFactor,
            _ => OneTimeUse::VerifyEmail,
        }
    }

    pub(super) async fn effects_step(&mut self, user: &User, effects: &Effects) {
        let now = self.now;
        let (one_time, mail) = (self.one_time(user), self.mail());
        let later = now + Duration::from_millis(self.chance.number(20_000) as u64);
        let kinds: &[&'static str] = &[
            "use", "use", "use", "use", "sign in", "sign in", "replace", "delete", "queue",
            "queue", "claim", "claim", "release", "fail", "give up", "retry", "send", "invite",
            "invite", "uninvite", "guess", "guess", "read",
        ];
        let kind = self.chance.one_of(kinds);
        self.steps.push(kind);
        match kind {
            "use" => {
                let usage = self.usage(&one_time);
                same!(self, store => store.use_one_time(&one_time, usage.clone(), effects, now));
            }
            "sign in" => {
                let sign_in = self.sign_in_with(&one_time, user);
                same!(self, store => store.sign_in(sign_in.clone(), effects));
            }
            "replace" => {
                let purpose = one_time.purpose;
                same!(self, store => store.replace_one_time(user.id, purpose, effects));
            }
            "delete" => drop(same!(self, store => store.delete_one_time(one_time.id))),
            "queue" => drop(same!(self, store => store.queue_mail(effects))),
            "claim" => {
                let limit = self.chance.number(4);
                same!(self, store => store.claim_mail(now, LEASE, limit));
            }
            "release" => drop(same!(self, store => store.release_mail(mail))),
            "fail" => {
                let failure = self.chance.text();
                same!(self, store => store.postpone_mail(mail, later, &failure));
            }
            "give up" => {
                drop(same!(self, store => store.give_up_mail(mail, "no", now, &Effects::NONE)))
            }
            "retry" => drop(same!(self, store => store.retry_mail(now))),
            "send" => drop(same!(self, store => store.delete_mail(mail))),
            "invite" => {
                let invitation = self.new_invitation(user);
                let digest = OneTimeSecret::unchecked(invitation.id.to_string()).digest();
                same!(self, store => store.add_invitation(&invitation, &digest, effects));
                self.world.invitations.push((invitation, digest));
            }
            "uninvite" => {
                let id = self.invitation_for(user).id;
                same!(self, store => store.delete_invitation(id, &Effects::NONE));
            }
            "guess" => {
                let (mut purpose, key) = (one_time.purpose, self.email().key());
                if self.chance.sometimes() {
                    purpose = Purpose::Invitation;
                }
                same!(self, store => store.charge_guess(purpose, &key, now));
            }
            _ => self.read_mailings(user, &one_time, mail).await,
        }
    }

    async fn read_mailings(&mut self, user: &User, one_time: &OneTime, mail: MailId) {
        let (now, purpose, key) = (self.now, one_time.purpose, self.email().key());
        same!(self, store => store.one_time_by_digest(purpose, &one_time.digest));
        same!(self, store => store.one_time_secrets_by_email(purpose, &key, now));
        for purpose in [Purpose::ChangeEmail, Purpose::VerifyEmail] {
            same!(self, store => store.pending_one_time(user, purpose, now));
        }
        same!(self, store => store.mail_queue(Some(mail), 3));
        same!(self, store => store.invitation_by_email(&key, now));
        same!(self, store => store.invitations(None, Some(&key), 3, now));
        same!(self, store => store.invitations(Some(user.id), None, 3, now));
        let invitations = &self.world.invitations;
        if !invitations.is_empty() {
            let (_, digest) = self.chance.one_of(invitations);
            same!(self, store => store.invitation_by_digest(&digest, now));
        }
    }
}
