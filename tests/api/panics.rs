//! A panic in one part of a running service ends neither that part for good nor the others.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use doorward::{
    Doorward, NewUser, Settings,
    internals::{
        Internals,
        clock::{Clock, Timestamp},
        control::{self, Command, Reply},
        credential::password::Cost,
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

    let run = |command| control::run(settings.clone(), command);
    let reply = run(&Command::ReloadGuards).await.unwrap();
    let Reply::Failed(cause) = reply else { panic!("{reply:?}") };
    assert!(cause.starts_with("the running server has failed"), "{cause}");
    let reply = run(&Command::ListGuards).await.unwrap();
    assert!(matches!(reply, Reply::Guards(_)), "{reply:?}");

    assert!(!commands.is_finished() && !upkeep.is_finished());
}
