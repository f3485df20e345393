//! The guesses of each kind of factor have a budget of their own: random sequences of right, wrong and unasked answers, of logins with
//! texts that name a budget, of waits and of unlocks against a model, on both databases.

use std::time::Duration;

use axum::http::StatusCode;
use doorward::Settings;
use serde_json::{Value, json};

use super::{ADA, ORIGIN, Person, answer_code, challenge, totp_code};
use crate::{
    postgres,
    seed::Chance,
    support::{Answer, TestServer, with_mail},
};

/// The most wrong answers of a kind in a row, and how long it takes until one is given back.
const MOST: i64 = 5;
const RECOVERY: i64 = 600;

fn with_small_budgets(settings: Settings) -> Settings {
    with_mail(settings)
        .with("public_url", ORIGIN)
        .with("throttle.account_failures", MOST.to_string())
        .with("throttle.account_recovery", format!("{RECOVERY}s"))
}

/// The budget of a kind, as the model knows it: how long it takes until all of it is given back.
#[derive(Clone, Copy, Default)]
struct Budget {
    seconds: i64,
}

impl Budget {
    fn admits(self) -> bool {
        self.seconds + RECOVERY <= MOST * RECOVERY
    }

    fn expected(self, otherwise: StatusCode) -> StatusCode {
        if self.admits() { otherwise } else { StatusCode::TOO_MANY_REQUESTS }
    }
}

#[derive(Default)]
struct Budgets {
    totp: Budget,
    recovery: Budget,
}

impl Budgets {
    fn all(&mut self) -> [&mut Budget; 2] {
        [&mut self.totp, &mut self.recovery]
    }
}

struct World {
    server: TestServer,
    chance: Chance,
    ada: Person,
    budgets: Budgets,
}

impl World {
    async fn open(server: TestServer) -> Self {
        let mut ada = Person::register(&server).await;
        ada.add_totp(&server).await;
        Self { server, chance: Chance::of_this_run(), ada, budgets: Budgets::default() }
    }

    fn wait(&mut self, seconds: u64) {
        self.server.let_pass(Duration::from_secs(seconds));
        for budget in self.budgets.all() {
            budget.seconds = (budget.seconds - i64::try_from(seconds).unwrap()).max(0);
        }
    }

    async fn answer(&self, code: &str) -> Answer {
        answer_code(&self.server, &challenge(&self.server).await, code).await
    }

    async fn guess_totp(&mut self) {
        let (secret, now) = (self.ada.totp.clone().unwrap(), self.server.now().seconds());
        let right = [now - 30, now, now + 30].map(|seconds| totp_code(&secret, seconds));
        let wrong = ["000000", "111111", "222222", "333333"];
        let wrong = wrong.into_iter().find(|code| right.iter().all(|right| right != code)).unwrap();
        let answer = self.answer(wrong).await;
        let budget = &mut self.budgets.totp;
        assert_eq!(answer.status, budget.expected(StatusCode::UNAUTHORIZED), "{}", answer.body);
        budget.seconds += if budget.admits() { RECOVERY } else { 0 };
    }

    async fn guess_recovery_code(&mut self) {
        let answer = self.answer("00000-00000-00000-00000-00000").await;
        let budget = &mut self.budgets.recovery;
        assert_eq!(answer.status, budget.expected(StatusCode::UNAUTHORIZED), "{}", answer.body);
        budget.seconds += if budget.admits() { RECOVERY } else { 0 };
    }

    async fn give_totp(&mut self) {
        // A code counts once.
        self.wait(30);
        let answer = self.answer(&self.ada.code(&self.server)).await;
        let budget = &mut self.budgets.totp;
        assert_eq!(answer.status, budget.expected(StatusCode::OK), "{}", answer.body);
        if budget.admits() {
            *budget = Budget::default();
        }
    }

    async fn give_recovery_code(&mut self) {
        let answer = self.answer(&self.ada.recovery_codes[0]).await;
        let budget = &mut self.budgets.recovery;
        assert_eq!(answer.status, budget.expected(StatusCode::OK), "{}", answer.body);
        if budget.admits() {
            *budget = Budget::default();
            let new = answer.json()["recoveryCode"].as_str().unwrap().to_owned();
            self.ada.recovery_codes[0] = new;
        }
    }

    /// Somebody types what could name a budget in the place of an address.
    async fn type_as_address(&mut self) {
        let id = &self.ada.id;
        let typed = [format!("totp codes {id}"), format!("recovery codes{id}"), id.clone()];
        for email in &typed {
            let body = json!({"email": email, "password": "wrong horse"});
            let answer = self.server.post("/api/auth/login", &body).await;
            let expected = [StatusCode::NOT_FOUND, StatusCode::TOO_MANY_REQUESTS];
            assert!(expected.contains(&answer.status), "{}", answer.body);
        }
        self.server.doorward.save_failures().await.unwrap();
    }

    /// Whoever holds a session of hers answers with codes that nobody has asked for.
    async fn answer_what_was_not_asked(&mut self) {
        let step_up = "/api/me/step-up";
        let begun = self.server.request_as(&self.ada.token, "POST", step_up, json!({})).await;
        assert_eq!(begun.json()["factors"], json!([]), "{}", begun.body);
        for code in ["000000", "00000-00000-00000-00000-00000"] {
            let answer = answer_code(&self.server, &begun.json(), code).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{}", answer.body);
        }
    }

    async fn unlock(&mut self) {
        self.server.order("POST", ADA, "/unlock", Value::Null).await;
        self.budgets = Budgets::default();
    }

    async fn do_something(&mut self) {
        match self.chance.below(20) {
            0..=6 => self.guess_totp().await,
            7..=12 => self.guess_recovery_code().await,
            13 => self.give_totp().await,
            14 => self.give_recovery_code().await,
            15 => self.type_as_address().await,
            16 | 17 => self.answer_what_was_not_asked().await,
            18 => {
                let seconds = self.chance.below(2 * RECOVERY.unsigned_abs());
                self.wait(seconds);
            }
            _ => self.unlock().await,
        }
    }
}

async fn guesses_follow_the_model(server: TestServer, steps: usize) {
    let mut world = World::open(server).await;
    for _ in 0..steps {
        world.do_something().await;
    }
}

#[tokio::test]
async fn no_more_guesses_are_compared_than_the_model_says() {
    guesses_follow_the_model(TestServer::open_with(with_small_budgets).await, 300).await;
}

#[tokio::test]
async fn no_more_guesses_are_compared_than_the_model_says_on_postgresql() {
    let Some(url) = postgres::fresh_database() else { return };
    let settings = |settings| with_small_budgets(settings).with("database_url", url);
    guesses_follow_the_model(TestServer::open_with(settings).await, 100).await;
}
