//! A clock that is ahead for a while loses nothing, and proves nothing: random sequences of sign-ins, waits, jumps, restarts and upkeep
//! against a model, and what the jumps destroyed before.

use std::time::Duration;

use axum::http::StatusCode;
use doorward::{
    Settings,
    internals::{Internals, clock::Timestamp},
};
use serde_json::{Value, json};

use crate::{
    seed::Chance,
    sessions::refresh,
    support::{NOW, TestServer},
};

const PASSWORD: &str = "correct horse";
const HOUR: u64 = 60 * 60;
const DAY: u64 = 24 * HOUR;
const GUARDS: &str = r#"
[guards.fresh]
allow = 'request.time - session.verifiedAt < duration("10m")'
[guards.young]
allow = 'request.time - session.createdAt < duration("10m")'
"#;
/// The clock of another instance may be this far ahead.
const SKEW: i64 = 60;

fn settings(settings: Settings) -> Settings {
    settings.with("audit.retention", 1).with_toml(GUARDS)
}

/// A session as the model knows it. All times are those of the clock.
struct Expected {
    token: String,
    email: String,
    token_expires: i64,
    expires: i64,
    created: i64,
    proved: i64,
    ended: bool,
    /// Whether the clock has been behind its times. Nobody knows how they count when the clock reaches them.
    is_doubted: bool,
}

impl Expected {
    fn new(token: String, email: &str, now: i64) -> Self {
        let expires = now + 30 * DAY.cast_signed();
        let token_expires = now + DAY.cast_signed();
        let email = email.to_owned();
        Self {
            token,
            email,
            token_expires,
            expires,
            created: now,
            proved: now,
            ended: false,
            is_doubted: false,
        }
    }
}

struct World {
    server: Option<TestServer>,
    chance: Chance,
    users: u64,
    sessions: Vec<Expected>,
    /// By how much the clock is ahead.
    ahead: u64,
    jumps: usize,
    /// For how long it can stay so. Less than a day: after that, the clock is believed.
    left: u64,
}

impl World {
    fn server(&self) -> &TestServer {
        self.server.as_ref().unwrap()
    }

    fn now(&self) -> i64 {
        self.server().now().seconds()
    }

    fn any(&mut self) -> usize {
        usize::try_from(self.chance.below(self.sessions.len() as u64)).unwrap()
    }

    async fn register(&mut self) {
        self.users += 1;
        let email = format!("ada-{}@example.com", self.users);
        let token = self.server().register("Ada", &email).await.token;
        self.sessions.push(Expected::new(token, &email, self.now()));
    }

    async fn log_in(&mut self) {
        let session = self.any();
        let email = self.sessions[session].email.clone();
        let answer = self.server().login(&email, PASSWORD).await;
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            return;
        }
        let token = answer.json()["token"].as_str().unwrap().to_owned();
        self.sessions.push(Expected::new(token, &email, self.now()));
    }

    async fn refresh(&mut self) {
        let (session, now) = (self.any(), self.now());
        let known = &self.sessions[session];
        let token = known.token.clone();
        let answer =
            self.server().request_as(&token, "POST", "/api/auth/refresh", Value::Null).await;
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            return;
        }
        let lives = !known.ended && now < known.expires;
        assert_eq!(answer.status == StatusCode::OK, lives, "{}", answer.body);
        if lives {
            let known = &mut self.sessions[session];
            known.token = answer.json()["token"].as_str().unwrap().to_owned();
            known.token_expires = known.expires.min(now + DAY.cast_signed());
        }
    }

    async fn step_up(&mut self) {
        let (session, now) = (self.any(), self.now());
        let known = &self.sessions[session];
        let lives = !known.ended && now < known.token_expires;
        let (token, body) = (known.token.clone(), json!({"password": PASSWORD}));
        let answer = self.server().request_as(&token, "POST", "/api/me/step-up", body).await;
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            return;
        }
        assert_eq!(answer.status == StatusCode::OK, lives, "{}", answer.body);
        if lives {
            let known = &mut self.sessions[session];
            known.token = answer.json()["token"].as_str().unwrap().to_owned();
            known.token_expires = known.expires.min(now + DAY.cast_signed());
            known.proved = now;
        }
    }

    async fn log_out(&mut self) {
        let session = self.any();
        let token = self.sessions[session].token.clone();
        let answer =
            self.server().request_as(&token, "POST", "/api/auth/logout", Value::Null).await;
        if answer.status == StatusCode::NO_CONTENT {
            self.sessions[session].ended = true;
        }
    }

    async fn jump(&mut self) {
        let now = self.server().now();
        if self.ahead > 0 {
            let back = now - Duration::from_secs(self.ahead);
            self.server().set_clock(back);
            self.ahead = 0;
            return;
        }
        // Never twice to the same days, whose events would show that the clock has run there.
        let Some(ahead) = [36 * HOUR, 5 * DAY, 40 * DAY, 800 * DAY].get(self.jumps) else { return };
        (self.ahead, self.jumps) = (*ahead, self.jumps + 1);
        self.left = 20 * HOUR;
        self.server().set_clock(now + Duration::from_secs(self.ahead));
    }

    async fn wait(&mut self) {
        let bound = [60, 700, 6 * HOUR][usize::try_from(self.chance.below(3)).unwrap()];
        let seconds = self.chance.below(bound);
        if self.ahead > 0 && seconds > self.left {
            return self.jump().await;
        }
        self.left = self.left.saturating_sub(seconds);
        self.server().let_pass(Duration::from_secs(seconds));
    }

    async fn restart(&mut self) {
        let now = self.server().now();
        let server = self.server.take().unwrap();
        self.server = Some(TestServer::reopen_at(now, server.close(), settings).await);
    }

    async fn check(&mut self) {
        let now = self.now();
        for known in &mut self.sessions {
            known.is_doubted |= known.proved > now || known.created > now;
        }
        for known in &self.sessions {
            let is_admitted = !known.ended && now < known.token_expires;
            let is_recent = |time: i64| now - 600 < time && time <= now + SKEW;
            for (guard, expected) in [
                ("guard", is_admitted),
                ("fresh", is_admitted && is_recent(known.proved)),
                ("young", is_admitted && is_recent(known.created)),
            ] {
                let status = self.server().guard(guard, &known.token).await.status;
                let ahead = self.ahead;
                if guard != "guard" && known.is_doubted && expected {
                    continue;
                }
                assert_eq!(
                    status == StatusCode::OK,
                    expected,
                    "{guard} at {now}, {ahead} s ahead; expires {}, created {}, proved {}",
                    known.token_expires,
                    known.created,
                    known.proved
                );
            }
        }
    }
}

#[tokio::test]
async fn a_clock_that_is_ahead_for_a_while_loses_nothing_and_proves_nothing() {
    let mut chance = Chance::of_this_run();
    for _ in 0..6 {
        let server = TestServer::open_with(settings).await;
        let mut world = World {
            server: Some(server),
            chance: chance.split(),
            users: 0,
            sessions: Vec::new(),
            ahead: 0,
            jumps: 0,
            left: 0,
        };
        world.register().await;
        for _ in 0..80 {
            match world.chance.below(12) {
                0 => world.register().await,
                1 => world.log_in().await,
                2 | 3 => world.refresh().await,
                4 => world.step_up().await,
                5 => world.log_out().await,
                6 => world.jump().await,
                7 => world.restart().await,
                8 => {
                    let doorward = &world.server().doorward;
                    doorward.clean_up().await.unwrap();
                    doorward.tend_keys().await.unwrap();
                }
                _ => world.wait().await,
            }
            let oldest = world.sessions.len().saturating_sub(6);
            world.sessions.drain(..oldest);
            world.check().await;
        }
    }
}

/// How many events the trail has.
async fn events(server: &TestServer) -> usize {
    // Gives all events a place in the tree, without which none is deleted.
    server.ordered("GET", "/api/admin/audit/checkpoint", Value::Null).await;
    let listed = server.ordered("GET", "/api/admin/audit?limit=100", Value::Null).await;
    listed["events"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_start_days_ahead_deletes_neither_events_nor_sessions_nor_keys_and_a_day_later_it_is_believed()
 {
    let at_once = |all: Settings| settings(all).with("token.publish_before_signing", "0s");
    let server = TestServer::open_with(at_once).await;
    let ada = server.register("Ada", "ada@example.com").await;
    server.rotate_keys().await;
    server.doorward.tend_keys().await.unwrap();
    let (before, keys) = (events(&server).await, server.signing_keys().await.len());
    let ahead = NOW + Duration::from_secs(60 * DAY);
    let server = TestServer::reopen_at(ahead, server.close(), at_once).await;
    // Several starts make no day.
    for _ in 0..3 {
        server.register("Bob", &format!("bob-{}@example.com", server.now().seconds())).await;
        server.let_pass(Duration::from_secs(HOUR));
        server.doorward.tend_keys().await.unwrap();
        server.doorward.clean_up().await.unwrap();
    }
    assert_eq!(events(&server).await, before + 3);
    let server = TestServer::reopen_at(NOW, server.close(), at_once).await;
    assert_eq!(server.signing_keys().await.len(), keys);
    assert!(refresh(&server, &ada.token).await.is_some(), "its session and its key are there");
    // If the clock was right, it goes on.
    let server = TestServer::reopen_at(ahead, server.close(), at_once).await;
    server.run_for(Duration::from_secs(5 * DAY)).await;
    server.doorward.tend_keys().await.unwrap();
    server.doorward.clean_up().await.unwrap();
    assert!(events(&server).await < before + 3);
    assert_eq!(server.signing_keys().await.len(), keys - 1);
}

#[tokio::test]
async fn a_jump_of_hours_that_no_event_shows_deletes_nothing_that_has_not_expired() {
    for ahead in [13, 25, 36, 47] {
        let server = TestServer::open_with(settings).await;
        // For a month, something happens every day.
        for day in 0..30 {
            server.register("Ada", &format!("ada-{day}@example.com")).await;
            server.let_pass(Duration::from_secs(DAY));
        }
        let ada = server.register("Ada", "ada@example.com").await;
        server.doorward.clean_up().await.unwrap();
        events(&server).await;
        let right = server.now();
        let server = TestServer::reopen_at(
            right + Duration::from_secs(ahead * HOUR),
            server.close(),
            settings,
        )
        .await;
        for _ in 0..2 {
            server.doorward.clean_up().await.unwrap();
            server.let_pass(Duration::from_secs(2 * HOUR));
        }
        let server = TestServer::reopen_at(right, server.close(), settings).await;
        let kept: Vec<_> =
            server.ordered("GET", "/api/admin/audit?limit=100", Value::Null).await["events"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|event| event["kind"] == "registered")
                .cloned()
                .collect();
        assert!(refresh(&server, &ada.token).await.is_some());
        let day = kept.iter().map(|event| event["at"].as_str().unwrap()).min().unwrap();
        let last = (right - Duration::from_secs(DAY)).to_string();
        assert!(day <= last.as_str(), "{ahead} h ahead: {day} is the oldest");
    }
}

#[tokio::test]
async fn a_token_made_by_a_clock_ahead_is_not_fresh_until_a_step_up() {
    let server = TestServer::open_with(settings).await;
    server.set_clock(NOW + Duration::from_secs(3 * DAY));
    let ada = server.register("Ada", "ada@example.com").await;
    assert_eq!(server.guard("fresh", &ada.token).await.status, StatusCode::OK);
    // The clock is corrected while the service runs.
    server.set_clock(Timestamp::from_seconds(NOW.seconds()));
    assert_eq!(server.guard("guard", &ada.token).await.status, StatusCode::OK);
    assert_eq!(server.guard("fresh", &ada.token).await.status, StatusCode::UNAUTHORIZED);
    let body = json!({"password": PASSWORD});
    let stepped = server.request_as(&ada.token, "POST", "/api/me/step-up", body).await.json();
    let token = stepped["token"].as_str().unwrap();
    assert_eq!(server.guard("fresh", token).await.status, StatusCode::OK);
    assert_eq!(server.guard("guard", &ada.token).await.status, StatusCode::UNAUTHORIZED);
}
