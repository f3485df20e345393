//! `doorward import FILE`: adds the users of another system, with their password hashes. `doorward import status` and `drop` tell and
//! delete what is left of these hashes.

mod file;
mod firebase_config;
mod provider;
mod record;
mod status;
mod system;
mod time;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    io::{self, Read},
    path::PathBuf,
};

use anyhow::{Context as _, bail};
use axum::{body::Body, http::Request};
use bytes::Bytes;
use serde::Serialize;
use zeroize::Zeroizing;

use self::{
    file::{Entry, Format, Position},
    provider::ProviderLogins,
    record::{Context, Fault, Notes, Raw, Valid},
    system::System,
};
use super::{block_on, counted, print_json, progress::ProgressLine, terminal::quoted_list};
use crate::{
    Settings,
    clock::{Clock, Timestamp},
    config::SettingsError,
    control::{AdminClient, read_all, succeed},
    credential::password::{Cost, HashCost, HashOptions, PasswordHash, ScryptCost},
    http::api::admin::import::{ImportOutcome, ImportedLine, UserRecord},
};

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Import {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    users: Option<Users>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show who has not logged in yet, and what their hashes cost
    Status(status::Status),
    /// Delete imported hashes that nobody has used
    Drop(status::Drop),
}

/// The users to import.
#[derive(clap::Args)]
struct Users {
    /// CSV, JSONL or JSON file, or - for standard input
    file: String,
    /// Read the export of firebase, django, aspnet, pocketbase, supabase or keycloak
    #[arg(long, value_name = "SYSTEM", hide_possible_values = true)]
    from: Option<System>,
    /// Format of the file: csv, jsonl or json [default: by its extension]
    #[arg(long, hide_possible_values = true)]
    format: Option<Format>,
    /// Check every line and report what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Add users as well whose roles let them administer, such as admin
    #[arg(long)]
    admin_roles: bool,
    /// Leave out bad lines instead of refusing the whole file
    #[arg(long)]
    skip_bad: bool,
    /// File with the password hash parameters of the Firebase project, as its console shows them
    #[arg(long, value_name = "FILE")]
    firebase_config: Option<PathBuf>,
    /// Cost of hashes of the form salt:hash, such as 16384,8,1
    #[arg(long, value_name = "N,R,P", value_parser = parse_scrypt)]
    scrypt: Option<ScryptCost>,
    /// Name of the system, which keeps its ids apart from the same ids of another one [default: that of --from, or import]
    #[arg(long, value_name = "NAME", value_parser = parse_source)]
    source: Option<String>,
    /// The login in the settings that a provider of the other system is, such as google=google; repeatable
    #[arg(long = "login", value_name = "PROVIDER=LOGIN", value_parser = provider::parse_login)]
    logins: Vec<(String, String)>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(super) const EXAMPLES: &str = "Examples:
  doorward import users.csv --dry-run
  doorward import users.jsonl
  doorward import realm.json --from keycloak --skip-bad";

/// The most bytes of a request. The server imports so many in one transaction, and the progress is shown after each.
const BATCH_BYTES: usize = 56 << 10;
/// The most lines of the report that have the same kind of fault.
const LINES_PER_KIND: usize = 20;

/// A user, and where they are in the file.
struct Located {
    position: Position,
    user: UserRecord,
    /// Whether `--source` decides about the id.
    is_id_derived: bool,
}

/// What a file has.
struct Contents {
    users: Vec<Located>,
    bad: Vec<Bad>,
    notes: Notes,
}

/// A bad line.
struct Bad {
    position: Position,
    fault: Fault,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary<'a> {
    file: &'a str,
    dry_run: bool,
    written: bool,
    added: usize,
    existing: usize,
    differing: Vec<DifferingUser>,
    taken: Vec<DifferingUser>,
    bad: Vec<BadLine>,
    /// How many identities were added with their users.
    identities: usize,
    identities_left_out: Vec<LeftOutIdentities>,
    ignored_fields: &'a BTreeSet<String>,
    /// Fields whose numbers were read as seconds, not as milliseconds.
    fields_in_seconds: &'a BTreeSet<&'static str>,
    /// How much longer the hashes of the file make each failed login.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_login_seconds: Option<f64>,
}

#[derive(Serialize)]
struct DifferingUser {
    position: String,
    email: String,
    fields: Vec<String>,
}

/// Identities at a provider that are not imported.
#[derive(Serialize)]
struct LeftOutIdentities {
    provider: String,
    count: usize,
    reason: &'static str,
}

#[derive(Serialize)]
struct BadLine {
    position: String,
    field: &'static str,
    problem: String,
}

impl Import {
    /// Whether it changes the database.
    pub(super) fn changes(&self) -> bool {
        match (&self.command, &self.users) {
            (Some(Command::Status(_)), _) | (None, None) => false,
            (Some(Command::Drop(drop)), _) => drop.changes(),
            (None, Some(users)) => !users.dry_run,
        }
    }

    pub(super) fn run(self, settings: Settings) -> anyhow::Result<()> {
        match (self.command, self.users) {
            (Some(Command::Status(status)), _) => status.run(settings),
            (Some(Command::Drop(drop)), _) => drop.run(settings),
            (None, Some(users)) => users.run(settings),
            (None, None) => Err(SettingsError::new("name a file").into()),
        }
    }
}

impl Users {
    fn run(self, settings: Settings) -> anyhow::Result<()> {
        let own_cost = settings.password_cost;
        let mut line = ProgressLine::new();
        let mut contents = self.read(&settings, &mut line)?;
        let entries = contents.users.len() + count_users(&contents.bad);
        find_duplicates(&mut contents.users, &mut contents.bad);
        let (outcomes, written) = block_on(self.import(settings, &mut contents, &mut line))?;
        drop(line);
        let Contents { users, mut bad, notes } = contents;
        bad.sort_by_key(|bad| bad.position.number());
        let cost = slowest_hash(&users, &outcomes, own_cost);
        self.report(&users, &outcomes, &bad, &notes, cost, written)?;
        if bad.is_empty() || self.skip_bad {
            return Ok(());
        }
        let refused = format!("{} of {entries} users cannot be imported", count_users(&bad));
        match (written, self.dry_run) {
            (_, true) => bail!("{refused}"),
            (false, false) => bail!(
                "{refused}, so nothing was changed: correct them, or leave them out with --skip-bad"
            ),
            // Somebody else has taken an id since it was checked.
            (true, false) => bail!("{refused}"),
        }
    }

    /// Finds out what comes of each user, and adds the new ones unless something is against it. Moves users whose id is
    /// somebody else's to the bad ones. Returns what came of the others, and whether they were written.
    async fn import(
        &self,
        settings: Settings,
        Contents { users, bad, .. }: &mut Contents,
        line: &mut ProgressLine,
    ) -> anyhow::Result<(Vec<ImportOutcome>, bool)> {
        // A server has to read the secrets of authenticator apps later.
        let client = AdminClient::open_to_make_secrets(settings).await?;
        let mut outcomes = Vec::new();
        // One bad line stops the import before anything is written.
        if self.dry_run || !self.skip_bad {
            outcomes = send(&client, users, self.query(false), line).await?;
            find_taken_ids(users, &mut outcomes, bad);
        }
        let writes = !self.dry_run && (bad.is_empty() || self.skip_bad);
        if writes {
            outcomes = send(&client, users, self.query(true), line).await?;
            find_taken_ids(users, &mut outcomes, bad);
        }
        Ok((outcomes, writes))
    }

    fn query(&self, writes: bool) -> ImportQuery {
        ImportQuery { writes, admin_roles: self.admin_roles }
    }

    fn read(&self, settings: &Settings, line: &mut ProgressLine) -> anyhow::Result<Contents> {
        let firebase = self.firebase_config.as_deref().map(firebase_config::read).transpose()?;
        if self.from == Some(System::Firebase) && firebase.is_none() {
            return Err(SettingsError::new(
                "--from firebase needs --firebase-config FILE: the console shows the parameters under Authentication, \
                 Users, Password hash parameters",
            )
            .into());
        }
        if self.from.is_none() && !self.logins.is_empty() {
            let problem = "--login names a provider of another system: name the system with --from";
            return Err(SettingsError::new(problem).into());
        }
        let logins = ProviderLogins::new(&self.logins, &settings.logins)?;
        if fs::metadata(&self.file).is_ok_and(|found| found.is_dir()) {
            bail!("{} is a folder: name a file", self.file);
        }
        let format = self.format.or_else(|| Format::of(&self.file)).ok_or_else(|| {
            SettingsError::new(format!(
                "{}: the name does not tell the format: save a spreadsheet as CSV UTF-8, or use --format \
                 csv, jsonl or json",
                self.file
            ))
        })?;
        let read = || {
            let text = file::text(read_bytes(&self.file)?)?;
            if format == Format::Csv {
                check_columns(&file::columns(&text)?, self.from)?;
            }
            file::entries(&text, format)
        };
        let entries = read().with_context(|| self.file.clone())?;
        let source = self.source.clone();
        let source = source.unwrap_or_else(|| self.from.map_or("import", System::name).to_owned());
        let hashes = HashOptions { own_cost: settings.password_cost, scrypt: self.scrypt };
        let context = Context { source, hashes, firebase, logins };
        let (total, now) = (entries.len() as u64, Clock::system().now());
        let (mut users, mut bad, mut notes) = (Vec::new(), Vec::new(), Notes::default());
        for (done, Entry { position, fields }) in (1..).zip(entries) {
            line.set("reading", done, total);
            match self.validate(fields, &context, &mut notes, now) {
                Ok(Some(Valid { user, is_id_derived })) => {
                    users.push(Located { position, user, is_id_derived });
                }
                Ok(None) => {}
                Err(faults) => bad.extend(faults.into_iter().map(|fault| Bad { position, fault })),
            }
        }
        Ok(Contents { users, bad, notes })
    }

    fn validate(
        &self,
        fields: Result<serde_json::Map<String, serde_json::Value>, String>,
        context: &Context,
        notes: &mut Notes,
        now: Timestamp,
    ) -> Result<Option<Valid>, Vec<Fault>> {
        let fields = fields.map_err(|problem| vec![Fault::new("line", problem)])?;
        let raw = match self.from {
            Some(system) => system.read(fields, now),
            None => Some(Raw::from_fields(fields, notes)),
        };
        raw.map(|raw| raw.validate(context, notes)).transpose()
    }

    fn report(
        &self,
        users: &[Located],
        outcomes: &[ImportOutcome],
        bad: &[Bad],
        Notes { ignored, in_seconds, left_out }: &Notes,
        cost: Option<HashCost>,
        written: bool,
    ) -> anyhow::Result<()> {
        let (mut added, mut existing, mut identities) = (0, 0, 0);
        let (mut differing, mut taken) = (Vec::new(), Vec::new());
        for (Located { position, user, .. }, outcome) in users.iter().zip(outcomes) {
            let differs = |fields: &[String]| DifferingUser {
                position: position.to_string(),
                email: user.email.clone(),
                fields: fields.to_vec(),
            };
            match outcome {
                ImportOutcome::Added => {
                    added += 1;
                    identities += user.identities.len();
                }
                ImportOutcome::Exists => existing += 1,
                ImportOutcome::Differs { fields } => differing.push(differs(fields)),
                ImportOutcome::EmailTaken => taken.push(differs(&["id".to_owned()])),
                // Has become a bad line, or has ended the command.
                ImportOutcome::IdTaken { .. }
                | ImportOutcome::IdentityTaken { .. }
                | ImportOutcome::Administers { .. }
                | ImportOutcome::Invalid { .. }
                | ImportOutcome::Failed { .. } => {}
            }
        }
        let file = &self.file;
        if !self.json {
            let mut lines = ReportedLines::new(file);
            for Bad { position, fault } in bad {
                let Fault { field, problem } = fault;
                let kind = format!("{field}: {}", fault.kind());
                lines.print(&kind, &format!("{position}: {field}: {problem}"));
            }
            for DifferingUser { position, email, fields } in &differing {
                let text = format!("{position}: {email} exists and differs: {}", fields.join(", "));
                lines.print("exists and differs", &text);
            }
            for DifferingUser { position, email, .. } in &taken {
                let kind = "exists with another id";
                lines.print(kind, &format!("{position}: {email} {kind}"));
            }
            lines.print_rest();
            if !ignored.is_empty() {
                let names = ignored.iter().map(String::as_str);
                eprint_line!("{file}: ignored fields: {}", quoted_list(names));
            }
            for field in in_seconds {
                eprint_line!("{file}: {field}: the numbers were read as seconds since 1970");
            }
            for ((provider, reason), count) in left_out {
                let left = counted(*count, "identity", "identities");
                eprint_line!("{file}: {left} at {provider} left out: {}", reason.reason());
            }
            let would = if written { "" } else { "would be " };
            print_line!("{} {would}added", counted(added, "user", "users"));
            if identities > 0 || !left_out.is_empty() {
                let identities = counted(identities, "identity", "identities");
                let left: usize = left_out.values().sum();
                print_line!("{identities} at other providers {would}linked, {left} left out");
            }
            print_line!("{existing} exist already and were not changed");
            print_line!("{} exist and differ, and were not changed", differing.len() + taken.len());
            print_line!("{} cannot be imported", count_users(bad));
            if let Some(HashCost { name, time: Some(time) }) = cost {
                let until = if written { "takes" } else { "would take" };
                print_line!(
                    "each failed login {until} {:.2} s longer on this machine until these users have logged in \
                     ({name}): see `doorward import status`",
                    time.as_secs_f64()
                );
            }
            return Ok(());
        }
        let bad = bad.iter().map(|Bad { position, fault }| BadLine {
            position: position.to_string(),
            field: fault.field,
            problem: fault.problem.clone(),
        });
        let left_out = left_out.iter().map(|((provider, reason), count)| LeftOutIdentities {
            provider: provider.clone(),
            count: *count,
            reason: reason.reason(),
        });
        print_json(&Summary {
            file,
            dry_run: self.dry_run,
            written,
            added,
            existing,
            differing,
            taken,
            bad: bad.collect(),
            identities,
            identities_left_out: left_out.collect(),
            ignored_fields: ignored,
            fields_in_seconds: in_seconds,
            failed_login_seconds: cost.and_then(|cost| Some(cost.time?.as_secs_f64())),
        })
    }
}

fn parse_scrypt(text: &str) -> Result<ScryptCost, String> {
    let numbers: Option<Vec<u32>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some([n, r, p]) if n.is_power_of_two() => Ok(ScryptCost { n: u64::from(*n), r: *r, p: *p }),
        _ => Err("write N, r and p, such as 16384,8,1; N is a power of two".into()),
    }
}

/// Without a colon, which separates the source from the id.
fn parse_source(text: &str) -> Result<String, String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if (1..=64).contains(&text.len()) && text.chars().all(is_allowed) {
        Ok(text.to_owned())
    } else {
        Err("write 1 to 64 letters, digits and - _ .".into())
    }
}

fn read_bytes(file: &str) -> io::Result<Vec<u8>> {
    if file != "-" {
        return fs::read(file);
    }
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The slowest of the hashes that are added and are not ours.
fn slowest_hash(users: &[Located], outcomes: &[ImportOutcome], own_cost: Cost) -> Option<HashCost> {
    let added = users.iter().zip(outcomes).filter(|(_, outcome)| **outcome == ImportOutcome::Added);
    let hashes = added.filter_map(|(located, _)| located.user.hash.as_ref());
    let prefixes = hashes.filter_map(|hash| PasswordHash::foreign_scheme(hash.as_str(), own_cost));
    HashCost::measure(prefixes.collect()).into_values().max_by_key(|cost| cost.time)
}

/// Refuses a file without addresses as a whole, because every line would be bad.
fn check_columns(names: &[String], system: Option<System>) -> anyhow::Result<()> {
    let is_email = |name: &String| match system {
        Some(System::Aspnet) => name.eq_ignore_ascii_case("email"),
        Some(_) => name == "email",
        None => record::field_of(name) == Some("email"),
    };
    if names.iter().any(is_email) {
        return Ok(());
    }
    let columns = quoted_list(names.iter().map(String::as_str));
    match system {
        Some(system) => bail!(
            "no column is called email, as in an export of {}: export it too, or leave out --from. The columns are {columns}",
            system.name()
        ),
        None => bail!(
            "no column is called email: name the columns in the first line, or the system with --from. The columns are \
             {columns}"
        ),
    }
}

/// The lines of the report about users. Of each kind only the first ones are printed.
struct ReportedLines<'a> {
    file: &'a str,
    counts: BTreeMap<String, usize>,
}

impl<'a> ReportedLines<'a> {
    fn new(file: &'a str) -> Self {
        Self { file, counts: BTreeMap::new() }
    }

    fn print(&mut self, kind: &str, line: &str) {
        let count = self.counts.entry(kind.to_owned()).or_default();
        *count += 1;
        if *count <= LINES_PER_KIND {
            eprint_line!("{}:{line}", self.file);
        }
    }

    /// Says how many lines were not printed.
    fn print_rest(self) {
        for (kind, count) in self.counts {
            if let Some(more @ 1..) = count.checked_sub(LINES_PER_KIND) {
                eprint_line!("{}: {kind}: {more} more; --json lists all", self.file);
            }
        }
    }
}

/// The number of bad entries. An entry may have several faults.
fn count_users(bad: &[Bad]) -> usize {
    bad.iter().map(|bad| bad.position.number()).collect::<BTreeSet<_>>().len()
}

/// Moves users to the bad ones whose id somebody with another address has, as if it came from two systems, and those with an identity of
/// somebody else.
fn find_taken_ids(users: &mut Vec<Located>, outcomes: &mut Vec<ImportOutcome>, bad: &mut Vec<Bad>) {
    let mut untaken = Vec::with_capacity(outcomes.len());
    let mut checked = outcomes.drain(..);
    users.retain(|Located { position, is_id_derived, .. }| match checked.next() {
        Some(ImportOutcome::IdTaken { email: owner }) => {
            let apart = if *is_id_derived {
                "if the file is from another system than theirs, name it with --source; "
            } else {
                ""
            };
            let problem = format!(
                "is that of another user: {owner} has it: {apart}if this is their former address, leave the line out"
            );
            bad.push(Bad { position: *position, fault: Fault::new("id", problem) });
            false
        }
        Some(ImportOutcome::IdentityTaken { email: owner }) => {
            let problem = format!(
                "one is that of another user: {owner} has it: remove it from the line, or leave the line out"
            );
            bad.push(Bad { position: *position, fault: Fault::new("identities", problem) });
            false
        }
        Some(ImportOutcome::Administers { roles }) => {
            let roles = quoted_list(roles.iter().map(String::as_str));
            let problem = format!(
                "{roles} lets this user administer: add --admin-roles if they are to, or leave the role out"
            );
            bad.push(Bad { position: *position, fault: Fault::new("roles", problem) });
            false
        }
        outcome => {
            untaken.extend(outcome);
            true
        }
    });
    drop(checked);
    *outcomes = untaken;
}

/// Moves users to the bad ones whose address, id or identity an earlier one has.
fn find_duplicates(users: &mut Vec<Located>, bad: &mut Vec<Bad>) {
    let (mut emails, mut ids, mut identities) = (HashMap::new(), HashMap::new(), HashMap::new());
    users.retain(|Located { position, user, .. }| {
        let email = user.email.to_ascii_lowercase();
        let keys = user
            .identities
            .iter()
            .map(|identity| (identity.issuer.clone(), identity.subject.clone()));
        let keys: Vec<_> = keys.collect();
        let identity = keys.iter().find_map(|key| identities.get(key));
        let earlier =
            [("email", emails.get(&email)), ("id", ids.get(&user.id)), ("identities", identity)];
        let found = earlier.into_iter().find_map(|(field, at)| Some((field, *at?)));
        if let Some((field, at)) = found {
            let at: Position = at;
            let has = if field == "identities" { "has one that is" } else { "is" };
            let problem = format!("{has} the same as that of {}: remove one of them", at.named());
            bad.push(Bad { position: *position, fault: Fault::new(field, problem) });
            return false;
        }
        emails.insert(email, *position);
        ids.insert(user.id.clone(), *position);
        identities.extend(keys.into_iter().map(|key| (key, *position)));
        true
    });
}

/// How the server imports.
#[derive(Clone, Copy)]
struct ImportQuery {
    /// Whether it adds users, or only finds out what would come of each.
    writes: bool,
    admin_roles: bool,
}

/// Finds out what comes of each user, and adds the new ones if asked to.
async fn send(
    client: &AdminClient,
    users: &[Located],
    query: ImportQuery,
    progress: &mut ProgressLine,
) -> anyhow::Result<Vec<ImportOutcome>> {
    let (mut outcomes, total) = (Vec::with_capacity(users.len()), users.len() as u64);
    let step = if query.writes { "importing" } else { "checking" };
    let mut users = users.iter().map(|located| &located.user).peekable();
    while users.peek().is_some() {
        let (mut batch, mut sent) = (Zeroizing::new(Vec::with_capacity(2 * BATCH_BYTES)), 0);
        while let Some(user) = users.peek() {
            let line = Zeroizing::new(serde_json::to_vec(user)?);
            if batch.len() + line.len() > BATCH_BYTES && sent > 0 {
                break;
            }
            batch.extend_from_slice(&line);
            batch.push(b'\n');
            sent += 1;
            users.next();
        }
        let imported = import_batch(client, batch, sent, query).await.with_context(|| {
            let done = outcomes.len();
            format!("stopped after {done} of {total} users: run the same command again to continue")
        });
        outcomes.extend(imported?);
        progress.set(step, outcomes.len() as u64, total);
    }
    Ok(outcomes)
}

/// Sends users, one in each line, and returns what came of each.
async fn import_batch(
    client: &AdminClient,
    batch: Zeroizing<Vec<u8>>,
    sent: usize,
    query: ImportQuery,
) -> anyhow::Result<Vec<ImportOutcome>> {
    let ImportQuery { writes, admin_roles } = query;
    let path = format!("/api/admin/import?check={}&adminRoles={admin_roles}", !writes);
    let request = Request::post(path).body(Body::from(Bytes::from_owner(batch)))?;
    let answer = read_all(succeed(client.send(request).await?).await?).await?;
    let lines = answer.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let outcomes = lines.map(|line| {
        Ok(match serde_json::from_slice::<ImportedLine>(line)?.outcome {
            ImportOutcome::Failed { problem } => bail!("{problem}"),
            ImportOutcome::Invalid { problem } => {
                bail!("{problem}: do the command and the server have the same version?")
            }
            outcome => outcome,
        })
    });
    let outcomes: Vec<_> = outcomes.collect::<anyhow::Result<_>>()?;
    match outcomes.len() == sent {
        true => Ok(outcomes),
        false => bail!("the answer has {} of {sent} users", outcomes.len()),
    }
}

#[cfg(test)]
mod tests;
