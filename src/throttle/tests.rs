//! Tests of all budgets together.

use std::time::{Duration, Instant};

use super::*;
use crate::network::ClientInfo;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
fn local() -> Requester {
    Requester { exempt_from_network_limits: true, ..from("127.0.0.1") }
}

fn throttle() -> (Throttle, Instant) {
    let settings = ThrottleSettings::default();
    (Throttle::new(&settings, &AccountSecret::random()), Instant::now())
}

fn from(address: &str) -> Requester {
    Requester::new(ClientInfo::new(address.parse().unwrap(), ""))
}

fn network(last: u8) -> Requester {
    from(&format!("192.0.2.{last}"))
}

/// Fails to log in until an attempt is refused, at most `max` times. Returns the number of failed attempts.
fn failures(
    throttle: &Throttle,
    email: &str,
    requester: &Requester,
    now: Instant,
    max: usize,
) -> usize {
    let email = EmailKey::of(email);
    (0..max)
        .take_while(|_| throttle.begin_guess(Guess::Password, &email, requester, now).is_ok())
        .count()
}

fn refusal(throttle: &Throttle, email: &str, requester: &Requester, now: Instant) -> Throttled {
    match throttle.begin_guess(Guess::Password, &EmailKey::of(email), requester, now) {
        Ok(attempt) => {
            attempt.cancel();
            panic!("admitted")
        }
        Err(throttled) => throttled,
    }
}

/// The right password from a network that the owner has not used.
fn succeed(throttle: &Throttle, email: &str, requester: &Requester, now: Instant) {
    throttle
        .begin_guess(Guess::Password, &EmailKey::of(email), requester, now)
        .ok()
        .unwrap()
        .succeeded();
}

#[test]
fn an_account_has_one_budget_in_any_letter_case_of_its_address() {
    let (throttle, now) = throttle();
    assert_eq!(failures(&throttle, "ada@example.com", &local(), now, 60), 60);
    assert_eq!(failures(&throttle, "ADA@Example.com", &local(), now, 200), 40);
    let refusal = refusal(&throttle, "ada@example.COM", &local(), now);
    assert_eq!(refusal, Throttled { retry_after: DAY, budget: Budget::Account });
}

#[test]
fn all_networks_together_have_100_failures_on_an_account_and_one_more_each_day() {
    let (throttle, start) = throttle();
    let mut failed = 0;
    for hour in 0..10 * 24_u32 {
        let now = start + Duration::from_secs(60 * 60) * hour;
        for network in 0..50_u32 {
            let address = std::net::Ipv4Addr::from(0x0a00_0000 + hour * 1000 + network);
            failed += failures(&throttle, "ada@example.com", &from(&address.to_string()), now, 5);
        }
        let days = usize::try_from(hour / 24).unwrap();
        assert_eq!(failed, 100 + days, "after {hour} hours");
    }
}

#[test]
fn a_successful_login_resets_the_budget_of_the_account() {
    let (throttle, now) = throttle();
    failures(&throttle, "ada@example.com", &local(), now, 99);
    succeed(&throttle, "ada@example.com", &local(), now);
    assert_eq!(failures(&throttle, "ada@example.com", &local(), now, 1000), 100);
}

#[test]
fn the_networks_of_one_subscriber_cannot_exhaust_the_budget_of_an_account() {
    let (throttle, now) = throttle();
    let mut failed = 0;
    for subnet in 0..400 {
        let requester = from(&format!("2001:db8:0:{subnet:x}::1"));
        failed += failures(&throttle, "ada@example.com", &requester, now, 1000);
    }
    assert_eq!(failed, 80, "of the whole /48");
    let owner = from("2001:db8:1::1");
    succeed(&throttle, "ada@example.com", &owner, now);
}

#[test]
fn one_network_has_20_failures_on_an_account_and_one_more_each_hour() {
    let (throttle, now) = throttle();
    assert_eq!(failures(&throttle, "ada@example.com", &network(1), now, 1000), 20);
    let hour = Duration::from_secs(60 * 60);
    let refusal = refusal(&throttle, "ada@example.com", &network(1), now);
    assert_eq!(refusal, Throttled { retry_after: hour, budget: Budget::AccountFromNetwork });
    assert_eq!(failures(&throttle, "ada@example.com", &network(1), now + hour * 3, 1000), 3);
    assert_eq!(failures(&throttle, "bob@example.com", &network(1), now, 1000), 20);
}

#[test]
fn a_known_network_has_its_own_budget_when_that_of_the_account_is_exhausted() {
    let (throttle, now) = throttle();
    let (ada, home) = (EmailKey::of("ada@example.com"), &from("2001:db8::1"));
    for last in 1..=21 {
        failures(&throttle, "ada@example.com", &network(last), now, 1000);
    }
    let refusal = refusal(&throttle, "ada@example.com", home, now);
    assert_eq!(refusal.budget, Budget::Account);
    assert!(throttle.may_check_known_networks(&refusal, home, now));
    let known = || throttle.begin_guess_from_known_network(Guess::Password, &ada, home, now);
    assert_eq!((0..1000).take_while(|_| known().is_ok()).count(), 20);
    let later = now + Duration::from_secs(60 * 60);
    throttle
        .begin_guess_from_known_network(Guess::Password, &ada, home, later)
        .ok()
        .unwrap()
        .succeeded();
    assert_eq!(failures(&throttle, "ada@example.com", home, later, 1000), 20);
    assert_eq!((0..1000).take_while(|_| known().is_ok()).count(), 20);
}

#[test]
fn if_one_budget_refuses_none_is_charged() {
    let (throttle, now) = throttle();
    failures(&throttle, "ada@example.com", &local(), now, 1000);
    for _ in 0..2000 {
        assert_eq!(refusal(&throttle, "ada@example.com", &network(1), now).budget, Budget::Account);
    }
    let spread = (0..1000)
        .take_while(|n| failures(&throttle, &format!("u{n}@example.com"), &network(1), now, 1) == 1)
        .count();
    assert_eq!(spread, 600, "the refusals did not charge the network");
    throttle.clear_account(&EmailKey::of("ada@example.com"), now);
    assert_eq!(failures(&throttle, "ada@example.com", &network(2), now, 1000), 20);
}

#[test]
fn known_networks_are_looked_up_only_where_that_can_help_and_at_a_limited_rate() {
    let (throttle, now) = throttle();
    let refusal = |budget| Throttled { retry_after: DAY, budget };
    assert!(throttle.may_check_known_networks(&refusal(Budget::Account), &network(1), now));
    assert!(throttle.may_check_known_networks(
        &refusal(Budget::AccountFromNetwork),
        &network(1),
        now
    ));
    assert!(!throttle.may_check_known_networks(&refusal(Budget::Network), &network(1), now));
    assert!(!throttle.may_check_known_networks(&refusal(Budget::Account), &local(), now));
    let look_up = || throttle.may_check_known_networks(&refusal(Budget::Account), &network(1), now);
    assert_eq!((0..1000).take_while(|_| look_up()).count(), 58);
}

#[test]
fn a_login_that_succeeds_or_is_cancelled_is_free() {
    let (throttle, now) = throttle();
    for _ in 0..2000 {
        succeed(&throttle, "ada@example.com", &network(1), now);
        throttle
            .begin_guess(Guess::Password, &EmailKey::of("bob@example.com"), &network(1), now)
            .ok()
            .unwrap()
            .cancel();
    }
    assert!(throttle.take_unsaved().next(10).is_none());
}

#[test]
fn a_network_has_600_failures_over_all_accounts_and_local_development_any_number() {
    let (throttle, now) = throttle();
    let spread = |requester: &Requester| {
        let fails = |n| failures(&throttle, &format!("u{n}@example.com"), requester, now, 1);
        (0..1000).take_while(|n| fails(*n) == 1).count()
    };
    assert_eq!(spread(&network(1)), 600);
    assert_eq!(spread(&network(2)), 600);
    assert_eq!(spread(&local()), 1000);
    assert_eq!(spread(&from("127.0.0.1")), 600, "through a proxy");
}

#[test]
fn reset_codes_and_logins_of_a_network_share_its_600_failures() {
    let (throttle, now) = throttle();
    assert_eq!(
        (0..1000).take_while(|_| throttle.charge_reset(&network(1), now).is_ok()).count(),
        600
    );
    assert_eq!(failures(&throttle, "ada@example.com", &network(1), now, 1), 0);
    assert!(throttle.charge_reset(&network(2), now).is_ok());
    assert!((0..1000).all(|_| throttle.charge_reset(&local(), now).is_ok()));
}

#[test]
fn a_network_may_sign_up_1000_users_in_a_burst_and_local_development_any_number() {
    let (throttle, now) = throttle();
    let sign_ups = |requester: &Requester| {
        (0..2000).take_while(|_| throttle.charge_sign_up(requester, now).is_ok()).count()
    };
    assert_eq!(sign_ups(&network(1)), 1000);
    assert_eq!(sign_ups(&local()), 2000);
}

#[test]
fn an_address_gets_seven_mails_at_once_and_each_purpose_has_one_of_its_own() {
    use MailPurpose::{ByUsers, MissingFactor, WrongFactor};
    let quarter = Duration::from_secs(15 * 60);
    let count = |throttle: &Throttle, purpose, now| {
        let email = EmailKey::of("ada@example.com");
        (0..100).take_while(|_| throttle.charge_mail(&email, purpose, now).is_ok()).count()
    };
    for first in MailPurpose::ALL {
        let (throttle, now) = throttle();
        let has_one = [ByUsers, WrongFactor, MissingFactor].contains(&first);
        let expected = if has_one { 1 } else { 2 };
        let mut sent = count(&throttle, first, now);
        assert_eq!(sent, expected, "{first:?}");
        for other in MailPurpose::ALL {
            let more = count(&throttle, other, now);
            assert!(other == first || more >= 1, "{first:?}, then {other:?}");
            sent += more;
        }
        assert_eq!(sent, 7, "{first:?} first");
        let refusal = throttle.charge_mail(&EmailKey::of("ada@example.com"), first, now);
        assert_eq!(refusal, Err(Throttled { retry_after: quarter, budget: Budget::Mails }));
        assert_eq!(count(&throttle, ByUsers, now + quarter), 1);
        throttle.clear_mails(&EmailKey::of("Ada+1@example.com"));
        assert_eq!(count(&throttle, first, now), expected, "its owner has used a link");
    }
}

#[test]
fn a_user_gives_300_right_answers_at_once_and_refused_ones_do_not_count() {
    let (throttle, now) = throttle();
    let (ada, bob) = (UserId::random(), UserId::random());
    let begin = |now| throttle.begin_answer(ada, now);
    for _ in 0..1000 {
        begin(now).unwrap().refused();
    }
    // One whose client has left is dropped, and counts.
    let accepted = (0..1000).take_while(|_| begin(now).map(drop).is_ok()).count();
    assert_eq!(accepted, 300);
    let wait = Duration::from_secs(10);
    let refused = begin(now).map(RightAnswer::refused);
    assert_eq!(refused, Err(Throttled { retry_after: wait, budget: Budget::Answers }));
    assert!(throttle.begin_answer(bob, now).is_ok());
    // Of those that were begun together, all count.
    let together: Vec<_> = (0..5).map(|_| begin(now + wait).unwrap()).collect();
    drop(together);
    let refused = begin(now + wait).map(RightAnswer::refused);
    assert_eq!(refused, Err(Throttled { retry_after: 5 * wait, budget: Budget::Answers }));
}

#[test]
fn addresses_of_one_mailbox_share_the_budget_of_mail_and_no_other() {
    let (throttle, now) = throttle();
    let charge = |email: &str| throttle.charge_mail(&EmailKey::of(email), MailPurpose::SignUp, now);
    let sent = (0..1000).filter(|n| charge(&format!("Ada+{n}@Example.com")).is_ok()).count();
    assert_eq!(sent, 2);
    assert!(charge("ada@example.com").is_err());
    assert!(charge("ada@example.org").is_ok() && charge("bob+ada@example.com").is_ok());
    // No mailbox is empty.
    assert!(charge("+1@example.com").is_ok() && charge("+2@example.com").is_ok());
    failures(&throttle, "ada@example.com", &local(), now, 1000);
    assert_eq!(failures(&throttle, "ada+1@example.com", &local(), now, 1000), 100);
}

#[test]
fn a_network_can_ask_for_60_mails_and_as_many_by_sign_ups() {
    let (throttle, now) = throttle();
    let requests = (0..1000).take_while(|_| throttle.charge_mail_request(&network(1), now).is_ok());
    assert_eq!(requests.count(), 60);
    let sign_up = || {
        throttle.charge_sign_up(&network(1), now)?;
        throttle.charge_sign_up_mail(&network(1), now)
    };
    let earlier: Vec<_> = (0..1000).filter_map(|_| sign_up().ok()).collect();
    assert_eq!(earlier, (0..60).collect::<Vec<_>>());
    assert_eq!(sign_up().unwrap_err().budget, Budget::SignUpMails);
    let without_mail = (0..2000).take_while(|_| throttle.charge_sign_up(&network(1), now).is_ok());
    assert_eq!(without_mail.count(), 940, "a refused sign-up is charged to none");
    throttle.refund_mail_request(&network(1));
    throttle.charge_mail_request(&network(1), now).unwrap();
    assert!((0..1000).all(|_| throttle.charge_sign_up_mail(&local(), now).is_ok()));
}

#[test]
fn changes_that_were_not_saved_are_taken_again() {
    let (throttle, now) = throttle();
    for email in ["ada@example.com", "bob@example.com", "eve@example.com"] {
        failures(&throttle, email, &local(), now, 2);
    }
    let mut unsaved = throttle.take_unsaved();
    assert_eq!(unsaved.next(2).unwrap().len(), 2);
    unsaved.saved(2);
    drop(unsaved);
    assert_eq!(throttle.take_unsaved().next(10).unwrap().len(), 1);
}

#[test]
fn an_account_is_unlocked_for_all_networks_and_a_mark_of_another_instance_counts_once() {
    let (throttle, now) = throttle();
    let ada = EmailKey::of("ada@example.com");
    let spend = || {
        (0..10).map(|last| failures(&throttle, "ada@example.com", &network(last), now, 50)).sum()
    };
    let used = || throttle.account_usage(&ada, now);
    assert_eq!(spend(), 100);
    assert_eq!((used().from_everywhere.used, used().from_networks.len()), (100, 5));
    throttle.unlock(&ada, now);
    assert_eq!((used().from_everywhere.used, used().from_networks.len()), (0, 0));

    let mut spent: usize = spend();
    let (account, time) = (
        throttle.accounts.key_of(Counted::Passwords(&ada)),
        Timestamp::from_seconds(1_800_000_000),
    );
    let mark = StoredFailures { account, recovered_at: time, is_unlock: true };
    // Each instance reads it once a second for some seconds.
    for second in 0..10 {
        throttle.merge(&[mark], now, time + Duration::from_secs(second));
        spent += spend();
    }
    assert_eq!(spent, 200, "once before the mark and once after it");
    throttle.merge(&[StoredFailures { recovered_at: time + DAY, ..mark }], now, time + DAY);
    assert_eq!(spend(), 100, "another mark");
}
