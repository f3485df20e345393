//! Random operations on every store: all give the same answers.

mod effects;

use std::{fmt::Debug, iter, time::Duration};

use doorward::internals::{
    clock::Timestamp,
    credential::password::PasswordHash,
    mail::Mail,
    network::ClientInfo,
    new_session, new_user,
    session::{Session, TokenId},
    store::{Effects, Error, PasswordCondition, Requirement, ReusedToken, SignIn, Store},
    token::one_time::{OneTime, SecretDigest},
    user::{Email, EmailKey, Invitation, Name, Role, User, UserId},
};

use crate::{edit, open_postgres, postgres, rows, size, stopwatch::Stopwatch};

/// Names and addresses that databases may treat differently: case, accents, combining marks, other scripts, quotes,
/// SQL syntax, different collation.
const NAMES: &[&str] = &[
    "Ada",
    "ADA",
    "Ädä",
    "A\u{308}da\u{308}",
    "İıſß",
    "名前",
    "a'b\"c;--",
    "x\\y%_",
    "🦀🦀",
    "zz Z",
];
const EMAILS: &[&str] = &[
    "a@example.com",
    "A@EXAMPLE.com",
    "b_c@example.com",
    "b.c@example.com",
    "b-c@example.com",
    "B+c@example.com",
    "b'c@example.com",
    "aa@example.com",
    "a1@example.com",
    "Z@example.com",
];
const ROLES: &[&str] = &["admin", "staff", "a:b", "A", "z.z/z"];

/// A random generator with a seed.
struct Chance(u64);

impl Chance {
    fn number(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.number(all.len())].clone()
    }

    fn sometimes(&mut self) -> bool {
        self.number(3) == 0
    }

    fn text(&mut self) -> String {
        let odd = ["\u{1}", "'", "ß", "\u{10ffff}", " ", "\u{200b}", "%", "\\"];
        (0..self.number(6)).map(|_| self.one_of(&odd)).collect()
    }
}

/// The records that the operations use, as the test expects them.
#[derive(Default)]
struct World {
    users: Vec<User>,
    sessions: Vec<Session>,
    one_time_secrets: Vec<OneTime>,
    mails: Vec<Mail>,
    invitations: Vec<(Invitation, SecretDigest)>,
}

struct Model<'a> {
    stores: &'a [&'a Store],
    chance: Chance,
    world: World,
    now: Timestamp,
    seed: u64,
    steps: Vec<&'static str>,
    stopwatch: Stopwatch,
}

fn outcome<T: Debug>(result: Result<T, Error>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(Error::EmailTaken) => "taken".into(),
        Err(error) => panic!("{error}"),
    }
}

/// Runs an operation on every store, asserts that the results are equal, and returns them.
macro_rules! same {
    ($model:expr, $store:ident => $question:expr) => {{
        let mut answers = Vec::new();
        for $store in $model.stores {
            let mut answer = $question.await;
            if $model.was_interrupted(&answer) {
                answer = $question.await;
            }
            answers.push(outcome(answer));
        }
        $model.agree(&answers, stringify!($question));
        answers.swap_remove(0)
    }};
}
use same;

impl Model<'_> {
    /// Whether the machine may have been too busy for the deadline of an operation. On an idle machine a store that is
    /// unavailable is an error. What it has done nevertheless, the next comparison finds.
    fn was_interrupted<T>(&self, answer: &Result<T, Error>) -> bool {
        let Err(Error::Unavailable(reason)) = answer else { return false };
        let waited = self.stopwatch.waited();
        println!("seed {}: {reason}, waited for {waited:?}", self.seed);
        waited.is_some_and(|waited| waited > Duration::from_secs(1))
    }

    fn agree(&self, answers: &[String], question: &str) {
        for answer in answers {
            assert_eq!(
                answer, &answers[0],
                "{question}, seed {}, after {:?}",
                self.seed, self.steps
            );
        }
    }

    fn user(&mut self) -> User {
        if self.world.users.is_empty() || self.chance.number(12) == 0 {
            return self.new_user();
        }
        let users = &self.world.users;
        self.chance.one_of(users)
    }

    fn new_user(&mut self) -> User {
        let name = Name::parse(self.chance.one_of(NAMES).into()).unwrap();
        let email = Email::parse(self.chance.one_of(EMAILS).into()).unwrap();
        let hash = self.chance.sometimes().then(|| self.hash());
        new_user(name, email, hash, self.now)
    }

    fn hash(&mut self) -> PasswordHash {
        PasswordHash::from_store(format!("$hash${}", self.chance.number(4)))
    }

    fn session_of(&mut self, user: &User) -> Session {
        let address = if self.chance.sometimes() {
            "2001:db8::1".parse().unwrap()
        } else {
            [192, 0, 2, 1].into()
        };
        let origin = ClientInfo::new(address, &self.chance.text());
        let lifetime = Duration::from_millis(self.chance.number(60_000) as u64 + 1);
        new_session(user.id, origin, self.now, lifetime)
    }

    fn session(&mut self) -> Session {
        if self.world.sessions.is_empty() || self.chance.number(12) == 0 {
            let user = self.user();
            return self.session_of(&user);
        }
        let sessions = &self.world.sessions;
        self.chance.one_of(sessions)
    }

    async fn step(&mut self) {
        self.now = self.now + Duration::from_millis(self.chance.number(5_000) as u64);
        let now = self.now;
        let (user, session) = (self.user(), self.session());
        let (role, hash) = (Role::parse(self.chance.one_of(ROLES)).unwrap(), self.hash());
        let key = EmailKey::of(self.chance.one_of(EMAILS));
        let effects = self.effects();
        let kinds: &[&'static str] = &[
            "add",
            "add",
            "change",
            "verify",
            "verify",
            "replace hash",
            "grant",
            "revoke",
            "set password",
            "disable",
            "secure",
            "enable",
            "delete",
            "log in",
            "log in",
            "log in",
            "renew",
            "renew",
            "reuse",
            "end",
            "end all",
            "set last seen",
            "delete expired",
            "delete endings",
            "read",
            "effects",
            "effects",
            "effects",
            "effects",
            "effects",
            "effects",
            "effects",
            "effects",
        ];
        let kind = self.chance.one_of(kinds);
        self.steps.push(kind);
        match kind {
            "add" => {
                let user = self.new_user();
                let session = self.chance.sometimes().then(|| self.session_of(&user));
                let invitation = self.chance.sometimes().then(|| self.invitation_for(&user).id);
                match &session {
                    None => drop(same!(self, store => store.add_user(&user, &effects))),
                    Some(session) => {
                        let requires = Vec::from_iter(invitation.map(Requirement::Invitation));
                        let new = SignIn::of_new_user(&user, session.clone());
                        let sign_in = SignIn { requires, ..new };
                        same!(self, store => store.sign_in(sign_in.clone(), &effects));
                    }
                }
                self.world.users.push(user);
                self.world.sessions.extend(session);
            }
            "change" => {
                let name = self.chance.sometimes().then(|| self.new_user().name);
                let email = self.chance.sometimes().then(|| self.new_user().email);
                same!(self, store => store.change_user(user.id, name.as_ref(), email.as_ref(), now, &Effects::NONE));
            }
            "verify" => {
                let verified = !self.chance.sometimes();
                let verify = |user: &mut User| user.email_verified = verified;
                drop(same!(self, store => edit(store, user.id, now, verify, &Effects::NONE)));
            }
            "replace hash" => {
                let old = self.hash();
                same!(self, store => store.replace_password_hash(user.id, &old, &hash));
            }
            "grant" => {
                drop(same!(self, store => store.grant_role(user.id, &role, now, &Effects::NONE)))
            }
            "revoke" => {
                drop(same!(self, store => store.revoke_role(user.id, &role, now, &Effects::NONE)))
            }
            "set password" => {
                let keep = self.chance.sometimes().then_some(session.id);
                let old = match self.chance.number(2) {
                    0 => PasswordCondition::Unchanged(user.password_version()),
                    _ => PasswordCondition::Unconditional,
                };
                same!(self, store => store.set_password(user.id, old.clone(), &hash, keep, now, &effects));
            }
            "disable" => {
                let disable = |user: &mut User| user.disabled = true;
                drop(same!(self, store => edit(store, user.id, now, disable, &Effects::NONE)));
            }
            "enable" => {
                let enable = |user: &mut User| user.disabled = false;
                drop(same!(self, store => edit(store, user.id, now, enable, &Effects::NONE)));
            }
            "secure" => {
                let since = self.chance.sometimes().then_some(now);
                same!(self, store => store.secure_user(&user, since, now, &effects));
            }
            "delete" if self.chance.sometimes() => {
                same!(self, store => store.delete_user(user.id, now, &Effects::NONE));
            }
            "log in" => {
                let session = self.session_of(&user);
                same!(self, store => store.add_session(&user, &session, &effects));
                self.world.sessions.push(session);
            }
            "renew" => {
                let token_id = TokenId::random();
                let renewed = same!(self, store => store.renew_session(&session, token_id, now));
                if renewed == "true" {
                    let mut session = session;
                    session.token_id = token_id;
                    self.world.sessions.push(session);
                }
            }
            "reuse" => {
                let Session { id: session_id, user_id, token_id, .. } = session;
                let expires_at = now + Duration::from_millis(self.chance.number(20_000) as u64)
                    - Duration::from_millis(10_000);
                let reused = ReusedToken { user_id, session_id, token_id, expires_at };
                let replaced_by = now - Duration::from_millis(self.chance.number(20_000) as u64);
                same!(self, store => store.end_reused_session(&reused, replaced_by, now, &effects));
            }
            "end" => drop(
                same!(self, store => store.end_session(user.id, session.id, now, &Effects::NONE)),
            ),
            "end all" => drop(same!(self, store => store.end_sessions(user.id, now, &effects))),
            "set last seen" => {
                drop(same!(self, store => store.set_last_seen(&[(session.id, now)])))
            }
            "delete expired" => drop(same!(self, store => store.delete_expired(now, 100))),
            "delete endings" => {
                let before = Timestamp::from_millis(now.millis() - 30_000);
                same!(self, store => store.delete_endings(before, 100));
            }
            "effects" => self.effects_step(&user, &effects).await,
            _ => {
                same!(self, store => store.user_by_id(user.id));
                same!(self, store => store.user_by_email(&key));
                same!(self, store => store.users(Some(&key), 3));
                same!(self, store => store.has_users());
                same!(self, store => store.session_with_user(session.id));
                same!(self, store => store.sessions_by_user(user.id, now));
            }
        }
    }

    /// Compares every row of the stores.
    async fn compare(&self) {
        same!(self, store => rows(store));
        same!(self, store => store.mail_queue(None, 1000));
    }
}

async fn run(stores: &[&Store], seed: u64, steps: usize) {
    let now = Timestamp::from_millis(1_800_000_000_123 + seed as i64);
    let chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let server = postgres::SERVER.get().and_then(Option::as_ref).map(|server| server.child.id());
    let processes: Vec<_> = iter::once(std::process::id()).chain(server).collect();
    let stopwatch = Stopwatch::start(&processes);
    let world = World::default();
    let mut model = Model { stores, chance, world, now, seed, steps: Vec::new(), stopwatch };
    for _ in 0..steps {
        model.step().await;
    }
    model.compare().await;
    for user in model.world.users.clone() {
        same!(model, store => store.delete_user(user.id, model.now, &Effects::NONE));
    }
    for mail in model.world.mails.clone() {
        same!(model, store => store.delete_mail(mail.id));
    }
    same!(model, store => store.delete_endings(model.now + Duration::from_secs(1), 10_000));
    same!(model, store => store.delete_expired(model.now + Duration::from_secs(100), 10_000));
    model.compare().await;
}

#[tokio::test]
async fn both_stores_give_the_same_answers() {
    let Some(url) = postgres::fresh_database() else { return };
    let postgres = open_postgres(&url).await;
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap();
    for seed in 1..=size::chosen("DOORWARD_TEST_SEQUENCES", 40) {
        run(&[&sqlite, &postgres], seed, 60).await;
    }
}

#[tokio::test]
async fn an_address_with_a_null_character_is_never_found() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap();
    let key = EmailKey::of("a\0@example.com");
    assert_eq!(sqlite.user_by_email(&key).await.unwrap(), None);
    let Some(url) = postgres::fresh_database() else { return };
    let postgres = open_postgres(&url).await;
    assert_eq!(postgres.user_by_email(&key).await.unwrap(), None);
    assert_eq!(postgres.user_by_id(UserId::random()).await.unwrap(), None);
}
