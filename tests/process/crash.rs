//! SIGKILL at any moment: an acknowledged registration is never lost.

use std::{
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use crate::{
    ledger::{Ledger, integrity},
    seed::Chance,
    size,
    stopwatch::Stopwatch,
    support::{Client, Home},
};

const READY_AGAIN: Duration = Duration::from_secs(10);

const WRITERS: usize = 6;
const PASSWORD_WRITERS: usize = 1;
const LOGINS: usize = 2;
const GUARDS: usize = 2;

/// Sends requests until the server is killed.
fn keep_busy<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    ledger: &'scope Ledger,
    client: &Client,
    round: u64,
    chance: &mut Chance,
) {
    for writer in 0..WRITERS {
        let client = client.clone();
        let has_password = writer < PASSWORD_WRITERS;
        scope.spawn(move || {
            let email = |number| format!("round{round}.writer{writer}.{number}@example.com");
            (0..)
                .take_while(|number| ledger.register(&client, &email(*number), has_password))
                .count()
        });
    }
    for _ in 0..LOGINS {
        let (client, mut chance) = (client.clone(), chance.split());
        scope.spawn(move || {
            while let Some(member) = ledger.any_member(chance.below(1 << 20) as usize, true) {
                if !ledger.login(&client, &member.email) {
                    return;
                }
            }
        });
    }
    for _ in 0..GUARDS {
        let (client, mut chance) = (client.clone(), chance.split());
        scope.spawn(move || {
            while let Some(member) = ledger.any_member(chance.below(1 << 20) as usize, false) {
                match client.try_guard(&member.token) {
                    Ok(answer) => assert_eq!(answer.status, 200, "{member:?}: {answer:?}"),
                    Err(_) => return,
                }
            }
        });
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed_under_load() {
    let (kills, mut chance) = (size::chosen("DOORWARD_TEST_KILLS", 30), Chance::of_this_run());
    let (home, ledger) = (Home::new(), Ledger::default());
    let begun = Instant::now();
    let mut server = home.start();
    ledger.register(&server.client, "first@example.com", true);
    let mut slowest = Duration::ZERO;
    for round in 0..kills {
        thread::scope(|scope| {
            keep_busy(scope, &ledger, &server.client, round, &mut chance);
            // This chooses the moment of the fault; nothing is waited for.
            thread::sleep(Duration::from_millis(5 + chance.below(396)));
            server.kill_now();
        });
        let killed = Stopwatch::start(&[std::process::id()]);
        server = home.start();
        killed.must_show_less_than(READY_AGAIN, "ready again");
        slowest = slowest.max(server.ready_after);
        ledger.settle(&server.client);
    }
    let load = begun.elapsed();
    let figures = ledger.compare(&server.client, 100);
    server.stop();
    ledger.compare_with_list(&home, &[]);
    assert_eq!(integrity(&home), "ok");
    println!(
        "{kills} kills: {figures:?}, 0 lost; ready again after at most {slowest:?}; {load:?} of load, {:?} in all",
        begun.elapsed()
    );
}

#[test]
fn a_first_start_that_is_killed_can_be_repeated() {
    const ROUNDS: u32 = 25;
    let usual = Home::new().start().ready_after;
    for round in 0..ROUNDS {
        let home = Home::new();
        let mut first = home.command();
        let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // This chooses the moment of the fault; nothing is waited for.
        thread::sleep(usual * round / ROUNDS);
        first.kill().unwrap();
        first.wait().unwrap();

        let server = home.start();
        let ada = server.client.register_quickly("ada@example.com");
        server.kill();
        home.start().client.must_know(&ada);
    }
    println!("{ROUNDS} first starts killed within {usual:?}");
}
