//! A user is promoted while somebody with fewer rights gives orders about them. No order passes after the promotion.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use doorward::{
    Settings, User,
    internals::{
        Internals,
        token::one_time::{OneTime, Purpose},
    },
};
use serde_json::{Value, json};

use crate::{
    postgres,
    seed::Chance,
    size,
    support::{Member, TestServer},
};

const USERS: &str = "/api/admin/users";
const ROLES: &str = r#"
[admin.helpdesk]
scopes = ["users:read", "users:write"]
"#;

/// The orders: method, path below the user, and the body of the order with this number.
type Order = (&'static str, &'static str, fn(u64) -> Value);

const ORDERS: [Order; 3] = [
    ("POST", "/password", |number| json!({"password": format!("known to the helpdesk {number}")})),
    ("PATCH", "", |number| json!({"disabled": number % 2 == 0})),
    ("POST", "/factor-reset", |_| Value::Null),
];

/// What the orders change: the record of the user, and the link that removes their factors.
async fn stored(server: &TestServer, user: &Member) -> (User, Option<OneTime>) {
    let store = server.doorward.store();
    let user = store.user_by_id(user.id.parse().unwrap()).await.unwrap().unwrap();
    let link = store.pending_one_time(&user, Purpose::FactorReset, server.now()).await.unwrap();
    (user, link)
}

/// Gives the order again and again until it is refused. Returns how often it was carried out.
async fn give(
    server: &TestServer,
    helper: &str,
    user: &Member,
    (method, below, body): Order,
    is_promoted: &AtomicBool,
) -> u64 {
    let path = format!("{USERS}/{}{below}", user.id);
    for number in 0.. {
        let is_late = is_promoted.load(Ordering::SeqCst);
        let answer = server.request_as(helper, method, &path, body(number)).await;
        if answer.status == 403 {
            assert!(answer.body.contains("this user may do more than you"), "{}", answer.body);
            return number;
        }
        assert!(answer.status.is_success(), "{method} {path}: {}", answer.body);
        assert!(!is_late, "{method} {path} was carried out after the promotion");
    }
    unreachable!("the order is refused after the promotion")
}

async fn no_order_overtakes_a_promotion(change: impl FnOnce(Settings) -> Settings) {
    let server = TestServer::open_with(|settings| change(settings.with_toml(ROLES))).await;
    let mut chance = Chance::of_this_run();
    let helper = server.register("Helper", "helper@example.com").await;
    server.order("PUT", &helper.id, "/roles/helpdesk", Value::Null).await;
    let user = server.register("Ada", "ada@example.com").await;
    for order in ORDERS {
        let mut carried_out = 0;
        for _ in 0..size::chosen("DOORWARD_TEST_RACES", 50) {
            let is_promoted = AtomicBool::new(false);
            let promoting = async {
                tokio::time::sleep(Duration::from_millis(chance.below(8))).await;
                server.order("PUT", &user.id, "/roles/admin", Value::Null).await;
                is_promoted.store(true, Ordering::SeqCst);
                stored(&server, &user).await
            };
            let ((before, link), given) =
                tokio::join!(promoting, give(&server, &helper.token, &user, order, &is_promoted));
            carried_out += given;
            let (after, left) = stored(&server, &user).await;
            assert_eq!((after, left, link), (before, None, None), "{order:?}");
            server.order("DELETE", &user.id, "/roles/admin", Value::Null).await;
            server.order("PATCH", &user.id, "", json!({"disabled": false})).await;
        }
        assert!(carried_out > 0, "{order:?} raced with no promotion");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_order_passes_after_its_subject_was_promoted_on_sqlite() {
    no_order_overtakes_a_promotion(|settings| settings).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_order_passes_after_its_subject_was_promoted_on_postgresql() {
    let Some(url) = postgres::fresh_database() else { return };
    no_order_overtakes_a_promotion(|settings| settings.with("database_url", url)).await;
}
