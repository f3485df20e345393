//! A panic in one part of a running service ends neither that part for good nor the others.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::http::Method;
use doorward::{
    Doorward, NewUser, Settings,
    internals::{
        Internals,
        clock::{Clock, Timestamp},
        control::{AdminClient, Error},
        credential::password::Cost,
        http::api::admin::guards::Guards,
    },
};

use crate::support::NOW;

#[tokio::test]
async fn a_panic_in_upkeep_or_in_a_command_stays_there() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new()
        .with("database_url", format!("sqlite://{}/doorward.db", folder.path().display()))
        .with_cheap_passwords(Cost { memory_kib: 64, passes: 1 });
    // Whoever reads the clock next panics.
    let is_planted = Arc::new(AtomicBool::new(false));
    let planted = Arc::clone(&is_planted);
    let clock = Clock::new(move || -> Timestamp {
        assert!(!planted.swap(false, Ordering::Relaxed), "planted in the clock");
        NOW
    });
    let doorward = Doorward::open_with_clock(settings.clone(), clock).await.unwrap();
    let commands = tokio::spawn(doorward.serve_commands_with(Arc::new(|| panic!("planted"))));
    let upkeep = tokio::spawn({
        let doorward = doorward.clone();
        async move { doorward.run_upkeep().await }
    });

    // Upkeep reads the clock every second.
    is_planted.store(true, Ordering::Relaxed);
    let panicked = async {
        while is_planted.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), panicked).await.expect("upkeep runs");
    doorward.create_user(NewUser::new("Ada", "ada@example.com")).await.unwrap();

    let client = AdminClient::open(settings).await.unwrap();
    let reloaded = client.order::<Guards>(Method::POST, "/api/admin/guards/reload", &()).await;
    let Err(Error::Refused { status, reason }) = reloaded else { panic!("{reloaded:?}") };
    assert_eq!(status, 500);
    assert!(reason.starts_with("the running server has failed"), "{reason}");
    let Guards { guards } = client.get("/api/admin/guards").await.unwrap();
    assert!(guards.is_empty() && client.is_server());

    assert!(!commands.is_finished() && !upkeep.is_finished());
}
