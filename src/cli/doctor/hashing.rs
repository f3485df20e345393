//! How long a password hash takes on this machine, and whether its cost is safe.

use std::{
    fs,
    num::NonZeroUsize,
    time::{Duration, Instant},
};

use super::finding::{Kind, Report};
use crate::{
    Settings,
    credential::password::{Cost, Hasher, Password},
    network::Network,
};

/// Memory times passes of the cheapest cost that OWASP recommends for Argon2id: 7 MiB and 5 passes.
const LEAST_WORK: u64 = 7 * 1024 * 5;
/// A login that takes longer annoys people, and few of them fill the queue.
const SLOW: Duration = Duration::from_secs(1);

pub(super) async fn check(report: &mut Report, settings: &Settings) -> anyhow::Result<()> {
    let (cost, threads) = (settings.password_cost, settings.password_threads.get());
    let Cost { memory_kib, passes } = cost;
    if work(cost) < LEAST_WORK {
        report.add(
            Kind::HashWeak,
            format!("password hashes of {memory_kib} KiB and {passes} passes are weaker than OWASP recommends"),
            "remove password.memory_kib and password.passes: the defaults are 19456 KiB and 2 passes",
        );
    }
    let needed = u64::from(memory_kib) * threads as u64;
    if let Some(total) = memory_kib_of_machine()
        && needed > total / 2
    {
        report.add(
            Kind::HashMemory,
            format!(
                "{threads} passwords at a time need {} MiB, more than half of the memory of this machine ({} MiB)",
                needed >> 10,
                total >> 10
            ),
            "lower password.threads or password.memory_kib: otherwise the system ends the server when many log in",
        );
        return Ok(());
    }
    let fastest = fastest_hash(cost).await?;
    report.checked(format!(
        "password hash: {} ms, {:.0} logins a second with {threads} threads",
        fastest.as_millis(),
        threads as f64 / fastest.as_secs_f64()
    ));
    if fastest > SLOW {
        report.add(
            Kind::HashSlow,
            format!("one password hash takes {:.1} s on this machine", fastest.as_secs_f64()),
            "lower password.passes or password.memory_kib, or use a faster machine",
        );
    }
    Ok(())
}

fn work(Cost { memory_kib, passes }: Cost) -> u64 {
    u64::from(memory_kib) * u64::from(passes)
}

/// The fastest of three, because other programs may delay one.
async fn fastest_hash(cost: Cost) -> anyhow::Result<Duration> {
    let hasher = Hasher::new(cost, NonZeroUsize::MIN)?;
    let mut fastest = Duration::MAX;
    for _ in 0..3 {
        let started = Instant::now();
        let password = Password::unchecked("correct horse".into());
        hasher.hash(password, Network::LOOPBACK).await?;
        fastest = fastest.min(started.elapsed());
    }
    Ok(fastest)
}

fn memory_kib_of_machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_costs_that_owasp_recommends_are_not_weak() {
        for (memory_kib, passes) in [(47104, 1), (19456, 2), (12288, 3), (9216, 4), (7168, 5)] {
            assert!(work(Cost { memory_kib, passes }) >= LEAST_WORK);
        }
        assert!(work(Cost { memory_kib: 7168, passes: 1 }) < LEAST_WORK);
    }
}
