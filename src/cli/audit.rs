//! `doorward audit …`: reads, exports, proves and verifies the audit trail.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use axum::{
    body::Body,
    http::{Method, Request},
};
use http_body_util::BodyExt;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    Output, block_on, counted, exit_code::Negative, export::check_name, or_not_found, print_json,
    terminal::visible, within,
};
use crate::{
    Settings,
    audit::{Proof, Record, RecordedActor, Report, SignedCheckpoint, VerifierKey},
    backup::output::{self, UnfinishedFile},
    clock::{Clock, Timestamp},
    config::parse_duration,
    control::{AdminClient, succeed},
    event::{KINDS, KindInfo},
    http::api::admin::audit::{
        ListedEvent, ListedEvents, PublishedCheckpoint, PublishedProof, VerificationRequest,
    },
};

pub(super) const EXAMPLES: &str = "Examples:
  doorward audit list --from 7d --user ada@example.com
  doorward audit prove 019a3c5e-7b1f-7e55-a0c7-3d6a1b2c4d5e event.tlog-proof
  doorward audit verify --checkpoint checkpoints";

const PATH: &str = "/api/admin/audit";

#[derive(clap::Subcommand)]
pub(super) enum Audit {
    /// List events, the newest first
    #[command(
        after_help = "Examples:\n  doorward audit list --from 2h\n  doorward audit list --kind sign_in_failed --json"
    )]
    List {
        #[command(flatten)]
        filter: Filter,
        /// The most events
        #[arg(long, value_name = "COUNT", default_value_t = 50)]
        limit: usize,
        #[command(flatten)]
        output: Output,
    },
    /// Write events as JSON lines, the oldest first
    #[command(
        after_help = "Examples:\n  doorward audit export trail.jsonl\n  doorward audit export --format ocsf --from 2027-01-15"
    )]
    Export {
        /// File to create, readable only by you [default: standard output]
        file: Option<PathBuf>,
        #[command(flatten)]
        filter: Filter,
        /// Doorward's own fields, or those of the Open Cybersecurity Schema Framework
        #[arg(long, value_parser = ["jsonl", "ocsf"], default_value = "jsonl")]
        format: String,
    },
    /// Write a proof that an event is in the trail, which anybody can check with the public key
    #[command(
        after_help = "Examples:\n  doorward audit prove 019a3c5e-7b1f-7e55-a0c7-3d6a1b2c4d5e event.tlog-proof"
    )]
    Prove {
        /// Id of the event, as `audit list` shows it
        id: String,
        /// File to create [default: standard output]
        file: Option<PathBuf>,
    },
    /// Find what was changed, removed, moved, inserted or cut off in the database, or check a proof
    #[command(
        after_help = "Examples:\n  doorward audit verify --checkpoint checkpoints\n  doorward audit verify --proof event.tlog-proof --key doorward/0a1b2c3d4e5f6071+e5a0b2c4+AU0…"
    )]
    Verify {
        /// File with checkpoints that were kept elsewhere
        #[arg(long, value_name = "FILE", conflicts_with = "proof")]
        checkpoint: Option<PathBuf>,
        /// Check this proof instead, without the database
        #[arg(long, value_name = "FILE")]
        proof: Option<PathBuf>,
        /// The public key, as `audit key` prints it [default: that of this installation]
        #[arg(long)]
        key: Option<String>,
        #[command(flatten)]
        output: Output,
    },
    /// Print the signed state of the trail now
    #[command(after_help = "Examples:\n  doorward audit checkpoint > checkpoint")]
    Checkpoint,
    /// Print the public key that verifies checkpoints and proofs
    #[command(after_help = "Examples:\n  doorward audit key\n  doorward audit key --witness")]
    Key {
        /// The key with which this installation cosigns checkpoints of others
        #[arg(long)]
        witness: bool,
    },
}

/// Which events.
#[derive(clap::Args)]
pub(super) struct Filter {
    /// From this time on: 2027-01-15, 2027-01-15T08:00:00Z, or a span such as 7d for seven days ago
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    from: Option<Timestamp>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    to: Option<Timestamp>,
    /// About or by this user: e-mail address or id
    #[arg(long)]
    user: Option<String>,
    /// Of this kind, such as signed_in; `audit list --kind help` lists all kinds
    #[arg(long)]
    kind: Option<String>,
}

fn parse_time(text: &str) -> Result<Timestamp, &'static str> {
    let ago = || parse_duration(text).map(|span| Clock::system().now() - span);
    let time = Timestamp::parse(text).or_else(ago);
    time.ok_or(
        "write a day such as 2027-01-15, a time such as 2027-01-15T08:00:00Z, or a span such as 7d",
    )
}

impl Filter {
    /// The fields of a query.
    fn fields(&self) -> Vec<(&'static str, String)> {
        let Self { from, to, user, kind } = self;
        [
            ("from", from.map(|time| time.to_string())),
            ("to", to.map(|time| time.to_string())),
            ("user", user.clone()),
            ("kind", kind.clone()),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }
}

fn with_query(path: &str, fields: &[(&str, String)]) -> String {
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)))
        .collect();
    format!("{path}?{}", fields.join("&"))
}

impl Audit {
    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        match self {
            Self::List { filter: Filter { kind: Some(kind), .. }, output, .. } if kind == HELP => {
                print_kinds(&output)
            }
            Self::List { filter, limit, output } => {
                let events = block_on(list(settings, &filter, limit))?;
                if output.json {
                    return print_json(&events);
                }
                events.iter().for_each(print_event);
                Ok(())
            }
            Self::Export { file, filter, format } => {
                block_on(export(settings, file, &filter, format))
            }
            Self::Prove { id, file } => {
                let proved = block_on(async {
                    let client = AdminClient::open(settings).await?;
                    let path = format!("{}/proof", within(PATH, &id));
                    Ok(client.get::<PublishedProof>(&path).await)
                })?;
                let missing =
                    "there is no such event: `doorward audit list` shows events and their ids";
                let PublishedProof { proof, .. } = or_not_found(proved, missing)?;
                match file {
                    Some(file) => write_new(&file, proof.as_bytes()),
                    None => print_text(&proof),
                }
            }
            Self::Verify { proof: Some(proof), key, output, .. } => {
                verify_proof(settings, &proof, key, &output)
            }
            Self::Verify { checkpoint, key, output, .. } => {
                verify(settings, checkpoint.as_deref(), key, &output)
            }
            Self::Checkpoint => print_text(&published(settings)?.checkpoint),
            Self::Key { witness } => {
                let PublishedCheckpoint { key, witness_key, .. } = published(settings)?;
                print_line!("{}", if witness { witness_key } else { key });
                Ok(())
            }
        }
    }
}

/// The kind with which a command lists all kinds.
const HELP: &str = "help";

/// Prints all kinds with their meaning, as the documents list them.
fn print_kinds(output: &Output) -> anyhow::Result<()> {
    let names = KINDS.iter().map(|kind| kind.name);
    if output.json {
        return print_json(&names.collect::<Vec<_>>());
    }
    let width = names.map(str::len).max().unwrap_or_default();
    let types: Vec<_> = KINDS.iter().map(KindInfo::event_type).collect();
    let type_width = types.iter().map(|event_type| event_type.len()).max().unwrap_or_default();
    for (KindInfo { name, group, meaning, .. }, event_type) in KINDS.iter().zip(types) {
        let group = group.name();
        print_line!("{name:width$}  {event_type:type_width$}  {group:9}  {meaning}");
    }
    Ok(())
}

async fn list(
    settings: Settings,
    filter: &Filter,
    limit: usize,
) -> anyhow::Result<Vec<ListedEvent>> {
    /// The most events in one answer.
    const PAGE: usize = 500;
    let client = AdminClient::open(settings).await?;
    let (mut events, mut after) = (Vec::new(), None);
    while events.len() < limit {
        let mut fields = filter.fields();
        fields.push(("limit", (limit - events.len()).min(PAGE).to_string()));
        fields.extend(after.take().map(|after| ("after", after)));
        let page: ListedEvents = client.get(&with_query(PATH, &fields)).await?;
        events.extend(page.events);
        let Some(next) = page.next else { break };
        after = Some(next);
    }
    Ok(events)
}

/// One line: when, what, who, whom, from where, and its id.
fn print_event(event: &ListedEvent) {
    let Record { id, at, kind, actor, subject, address, details, .. } = &event.record;
    let actor = match actor {
        RecordedActor::User { id } if Some(id) == subject.as_ref() => "self".to_owned(),
        RecordedActor::User { id } => format!("user {id}"),
        RecordedActor::Key { id, .. } => format!("key {id}"),
        RecordedActor::Operator { name: Some(name) } => format!("operator {name}"),
        RecordedActor::Operator { name: None } => "operator".to_owned(),
        RecordedActor::Unknown => "unknown".to_owned(),
        RecordedActor::Service => "doorward".to_owned(),
    };
    let subject = subject.as_deref().map(|user| format!("  user {user}")).unwrap_or_default();
    let address = address.as_deref().map(|address| format!("  from {address}")).unwrap_or_default();
    let details = match details.is_empty() {
        true => String::new(),
        false => format!("  {}", serde_json::Value::from(details.clone())),
    };
    print_line!("{at}  {kind}  by {actor}{subject}{address}{details}  {id}");
}

async fn export(
    settings: Settings,
    file: Option<PathBuf>,
    filter: &Filter,
    format: String,
) -> anyhow::Result<()> {
    let file = file.filter(|file| file != Path::new("-"));
    if let Some(file) = &file {
        check_name(file)?;
    }
    let client = AdminClient::open(settings).await?;
    let mut fields = filter.fields();
    fields.push(("format", format));
    let path = with_query(&format!("{PATH}/export"), &fields);
    let request = Request::builder().uri(path).body(Body::empty())?;
    let mut body = succeed(client.send(request).await?).await?.into_body();
    let mut output = match &file {
        Some(file) => {
            let created = UnfinishedFile::create(file, false);
            output::Output::File(created.with_context(|| file.display().to_string())?)
        }
        None => output::Output::Stdout(io::stdout()),
    };
    let mut lines = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            io::Error::other(format!(
                "{error}: the export is not complete; the server's log says why"
            ))
        })?;
        if let Ok(data) = frame.into_data() {
            lines += data.iter().filter(|byte| **byte == b'\n').count();
            output.write_all(&data).with_context(|| in_file(file.as_deref()))?;
        }
    }
    output.finish().with_context(|| in_file(file.as_deref()))?;
    if let Some(file) = &file {
        eprint_line!("{} in {}", counted(lines, "event", "events"), file.display());
    }
    Ok(())
}

/// Where an export goes, for errors.
fn in_file(file: Option<&Path>) -> String {
    file.map_or_else(|| "standard output".to_owned(), |file| file.display().to_string())
}

fn published(settings: Settings) -> anyhow::Result<PublishedCheckpoint> {
    block_on(async {
        let client = AdminClient::open(settings).await?;
        Ok(client.get(&format!("{PATH}/checkpoint")).await?)
    })
}

/// Whether a proof proves its event. Neither a server nor a database is needed if the key is given.
fn verify_proof(
    settings: Settings,
    file: &Path,
    key: Option<String>,
    output: &Output,
) -> anyhow::Result<()> {
    let text = read(file)?;
    let key = match key {
        Some(key) => key,
        None => published(settings)?.key,
    };
    let key: VerifierKey = key.parse()?;
    let verified = Proof::parse(&text).and_then(|proof| Ok(proof.verify(&key)?.to_owned()));
    match verified {
        Ok(record) if output.json => {
            print_json(&serde_json::from_str::<serde_json::Value>(&record)?)
        }
        Ok(record) => {
            print_line!("this event is in the trail of {}:", key.name);
            print_line!("{record}");
            Ok(())
        }
        Err(fault) => {
            print_line!("{}: {fault}", file.display());
            Err(Negative.into())
        }
    }
}

fn verify(
    settings: Settings,
    checkpoint: Option<&Path>,
    key: Option<String>,
    output: &Output,
) -> anyhow::Result<()> {
    let checkpoints = checkpoint.map(read).transpose()?.unwrap_or_default();
    let checkpoints = fewer(checkpoints);
    if let Some(key) = &key {
        key.parse::<VerifierKey>()?;
    }
    let request = VerificationRequest { checkpoints, key };
    let report: Report = block_on(async {
        let client = AdminClient::open(settings).await?;
        Ok(client.order(Method::POST, &format!("{PATH}/verify"), &request).await?)
    })?;
    if output.json {
        print_json(&report)?;
    } else {
        print_report(&report, checkpoint);
    }
    if report.is_intact() { Ok(()) } else { Err(Negative.into()) }
}

/// As many of these checkpoints as fit into a request: the newest one, and others at equal distances. Each is about all events
/// before it, so none of them goes without a check.
fn fewer(checkpoints: String) -> String {
    const MAX_BYTES: usize = 40 << 10;
    let all = SignedCheckpoint::parse_all(&checkpoints).unwrap_or_default();
    let step = checkpoints.len().div_ceil(MAX_BYTES);
    // What cannot be read is refused with a reason.
    if step <= 1 || all.is_empty() {
        return checkpoints;
    }
    let mut kept: Vec<_> = all.iter().rev().step_by(step).map(ToString::to_string).collect();
    kept.reverse();
    kept.concat()
}

fn print_report(report: &Report, checkpoint: Option<&Path>) {
    let Report { size, stored, waiting, marked_before, checkpoints, findings, more } = report;
    for finding in findings {
        print_line!("{finding}");
    }
    if *more > 0 {
        print_line!("and {more} more");
    }
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    if *marked_before > 0 {
        print_line!(
            "the first {} were marked with a secret that is lost: only checkpoints of then, with --key, tell whether they were changed",
            counted(count(*marked_before), "event", "events")
        );
    }
    if report.is_intact() {
        let events = counted(count(*size), "event", "events");
        let compared = match checkpoint {
            Some(_) => counted(*checkpoints, "checkpoint", "checkpoints"),
            None => "no checkpoint: give one with --checkpoint, or missing newest events are not noticed".into(),
        };
        print_line!(
            "intact: {events}, {stored} stored, {waiting} not in the tree yet; compared with {compared}"
        );
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    fs::read_to_string(file).with_context(|| file.display().to_string())
}

fn write_new(file: &Path, contents: &[u8]) -> anyhow::Result<()> {
    if file.exists() {
        bail!("{} exists: name another file, or remove it", file.display());
    }
    fs::write(file, contents).with_context(|| file.display().to_string())
}

/// Prints a text of several lines.
fn print_text(text: &str) -> anyhow::Result<()> {
    let visible: String = text.lines().map(|line| format!("{}\n", visible(line))).collect();
    Ok(io::stdout().write_all(visible.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{audit::AuditKey, token::shared_secret::SharedSecret};

    #[test]
    fn of_a_long_file_the_newest_checkpoint_and_some_older_ones_are_compared() {
        let key = AuditKey::new(&SharedSecret::random());
        let text = |sizes: std::ops::Range<u64>| -> String {
            sizes.map(|size| key.sign(size, [1; 32]).to_string()).collect()
        };
        assert_eq!(fewer(text(1..100)), text(1..100));
        let kept = fewer(text(1..10_000));
        assert!((20 << 10..64 << 10).contains(&kept.len()), "{}", kept.len());
        let kept = SignedCheckpoint::parse_all(&kept).unwrap();
        assert_eq!(kept.last().unwrap().checkpoint.size, 9999);
        assert!(kept.first().unwrap().checkpoint.size < 100);
        assert_eq!(fewer("something".into()), "something");
    }
}
