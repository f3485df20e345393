//! `doorward import status` and `doorward import drop`: imported password hashes that have not been replaced, because their users
//! have not logged in.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use axum::http::Method;
use serde::Serialize;

use crate::{
    Settings,
    cli::{Output, block_on, counted, parse_time_span, print_json, progress::ProgressLine},
    clock::{Clock, Timestamp},
    control::AdminClient,
    credential::password::HashCost,
    http::api::admin::imported_hashes::{self, Dropped, ImportedHashInfo, ImportedHashes},
    user::UserId,
};

const PATH: &str = "/api/admin/imported-hashes";
/// Users of one request, which has at most 100 values. The progress is shown after each.
const BATCH: usize = 100;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  doorward import status\n  doorward import status --users --json"
)]
pub(super) struct Status {
    /// List the users, too
    #[arg(long)]
    users: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward import drop --unused-for 90d --dry-run
  doorward import drop --unused-for 90d")]
pub(super) struct Drop {
    /// Drop hashes that were imported this long ago, such as 90d
    #[arg(long, value_name = "DURATION", value_parser = parse_time_span)]
    unused_for: Duration,
    /// Report what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: Output,
}

/// What is left of the imported hashes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Left {
    users: usize,
    /// How much longer a failed login takes.
    failed_login_seconds: f64,
    hashes: Vec<Group>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<Vec<Waiting>>,
}

/// The users with one scheme and cost.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    hash: String,
    seconds: Option<f64>,
    users: usize,
    first_imported_at: Timestamp,
    last_imported_at: Timestamp,
}

/// A user who has not logged in.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Waiting {
    id: UserId,
    email: String,
    hash: String,
    imported_at: Timestamp,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DropSummary {
    dry_run: bool,
    dropped: usize,
}

impl Status {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let hashes = block_on(async { hashes(&AdminClient::open(settings).await?).await })?;
        let left = summarize(&hashes, self.users);
        if self.output.json {
            return print_json(&left);
        }
        for Group { hash, seconds, users, first_imported_at, last_imported_at } in &left.hashes {
            let [first, last] = [first_imported_at, last_imported_at].map(|time| time.to_day());
            let days = if first == last { first } else { format!("{first} to {last}") };
            let time = seconds.map_or(String::new(), |seconds| format!(", {seconds:.2} s each"));
            print_line!("{}: {hash}{time}, imported {days}", counted(*users, "user", "users"));
        }
        for Waiting { id, email, hash, imported_at } in left.waiting.iter().flatten() {
            print_line!("{id}  {email}  {hash}  imported {imported_at}");
        }
        match left.users {
            0 => print_line!("no imported password hash is left"),
            users => print_line!(
                "{} not logged in yet; meanwhile each failed login takes {:.2} s longer",
                counted(users, "imported user has", "imported users have"),
                left.failed_login_seconds
            ),
        }
        Ok(())
    }
}

impl Drop {
    /// Whether it changes the database.
    pub(super) fn changes(&self) -> bool {
        !self.dry_run
    }

    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        let imported_by = Clock::system().now() - self.unused_for;
        let mut line = ProgressLine::new();
        let dropped = block_on(async {
            let client = AdminClient::open(settings).await?;
            let unused: Vec<_> = hashes(&client)
                .await?
                .into_iter()
                .filter(|hash| hash.imported_at <= imported_by)
                .map(|hash| hash.user)
                .collect();
            if self.dry_run {
                return Ok(unused.len());
            }
            let (mut done, mut dropped) = (0, 0);
            for users in unused.chunks(BATCH) {
                let order = imported_hashes::Drop { users };
                let answer: Dropped = client.order(Method::DELETE, PATH, &order).await?;
                dropped += answer.dropped;
                done += users.len();
                line.set("dropping", done as u64, unused.len() as u64);
            }
            Ok(dropped)
        })?;
        drop(line);
        if self.output.json {
            return print_json(&DropSummary { dry_run: self.dry_run, dropped });
        }
        let would = if self.dry_run { "would be " } else { "" };
        print_line!("{} {would}dropped", counted(dropped, "password hash", "password hashes"));
        if dropped > 0 {
            print_line!(
                "these users set a password by mail or with a code from `doorward user reset-code`"
            );
        }
        Ok(())
    }
}

/// All imported hashes that are left, in the order of the addresses.
async fn hashes(client: &AdminClient) -> anyhow::Result<Vec<ImportedHashInfo>> {
    let (mut all, mut path) = (Vec::new(), PATH.to_owned());
    loop {
        let ImportedHashes { hashes, next } = client.get(&path).await?;
        all.extend(hashes);
        let Some(next) = next else { break };
        path = format!("{PATH}?after={next}");
    }
    all.sort_by(|one, other| one.email.cmp(&other.email));
    Ok(all)
}

/// The scheme and cost of a hash, which the operator gets.
fn prefix(hash: &ImportedHashInfo) -> &str {
    hash.prefix.as_ref().map_or("", |prefix| prefix.as_str())
}

fn summarize(hashes: &[ImportedHashInfo], lists_users: bool) -> Left {
    let prefixes: BTreeSet<_> = hashes.iter().map(|hash| prefix(hash).to_owned()).collect();
    let costs = HashCost::measure(prefixes);
    let name = |hash: &ImportedHashInfo| {
        costs.get(prefix(hash)).map_or_else(String::new, |cost| cost.name.clone())
    };
    let mut times: BTreeMap<&str, Vec<Timestamp>> = BTreeMap::new();
    for hash in hashes {
        times.entry(prefix(hash)).or_default().push(hash.imported_at);
    }
    let groups = costs.iter().filter_map(|(prefix, cost)| {
        let times = times.get(prefix.as_str())?;
        Some(Group {
            hash: cost.name.clone(),
            seconds: cost.time.map(|time| time.as_secs_f64()),
            users: times.len(),
            first_imported_at: *times.iter().min()?,
            last_imported_at: *times.iter().max()?,
        })
    });
    let mut groups: Vec<_> = groups.collect();
    groups
        .sort_by(|one, other| other.seconds.unwrap_or(0.0).total_cmp(&one.seconds.unwrap_or(0.0)));
    let waiting = hashes.iter().map(|hash| Waiting {
        id: hash.user,
        email: hash.email.clone(),
        hash: name(hash),
        imported_at: hash.imported_at,
    });
    Left {
        users: hashes.len(),
        failed_login_seconds: groups.first().and_then(|group| group.seconds).unwrap_or(0.0),
        waiting: lists_users.then(|| waiting.collect()),
        hashes: groups,
    }
}
