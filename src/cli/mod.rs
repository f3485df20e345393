//! The command line: reads the arguments, loads the settings and runs the command.

// `print_line!` and `eprint_line!` escape what others have written.
#![warn(clippy::print_stdout, clippy::print_stderr)]

/// Prints a line to standard output. Ends the process if the reader has closed it (`doorward user list | head`).
macro_rules! print_line {
    ($($argument:tt)*) => { $crate::cli::print_line(format_args!($($argument)*)) };
}

/// Prints a line to standard error.
macro_rules! eprint_line {
    ($($argument:tt)*) => { $crate::cli::eprint_line(format_args!($($argument)*)) };
}

mod api_key;
mod audit;
mod backup;
mod client;
mod completions;
mod config;
mod dev;
mod doctor;
mod emergency;
mod exit_code;
#[cfg(test)]
mod expected;
mod export;
mod factor;
mod guard;
mod health;
mod identity;
mod import;
mod invitation;
mod keys;
mod login;
mod mail;
mod man;
mod migrate;
mod password;
mod progress;
mod reload;
mod restore;
mod serve;
mod snippet;
mod terminal;
mod user;
mod user_arguments;
mod why;

use std::{
    fmt,
    io::{self, Write},
    path::PathBuf,
    pin::Pin,
    process::{self, ExitCode},
    time::Duration,
};

use clap::{
    Arg, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand,
    error::{ContextKind, ContextValue},
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use self::{
    exit_code::{Exit, Negative, NotFound},
    terminal::{visible, visible_json},
};
use crate::{
    access::guard::{ExplainedHeader, Explanation, Step},
    config::{
        CONFIG_VARIABLE, DatabaseUrl, Settings, Sources, absolute, keys as setting_keys,
        parse_duration,
    },
    control, log,
    store::archive::DatabaseKind,
};

/// Sign-up, login and guarded routes for any app, in one small binary.
#[derive(Parser)]
#[command(name = "doorward", version = version(), propagate_version = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    serve: serve::Serve,
}

const EXAMPLES: &str = "Examples:
  doorward serve --listen 127.0.0.1:8080";

/// The version, and the schema that a start migrates databases to.
fn version() -> String {
    format!("{} (schema {})", env!("CARGO_PKG_VERSION"), DatabaseKind::Sqlite.schema())
}

#[derive(Subcommand)]
enum Command {
    /// Start the service (the default)
    #[command(after_help = serve::EXAMPLES)]
    Serve(serve::Serve),
    /// Start a service in memory for tests of an app
    Dev(dev::Dev),
    /// List, show, add, change and delete users
    #[command(subcommand, after_help = user::EXAMPLES)]
    User(user::User),
    /// List and test the declared guards
    #[command(subcommand, after_help = guard::EXAMPLES)]
    Guard(guard::Guard),
    /// List and check the providers that people sign in with
    #[command(subcommand, after_help = login::EXAMPLES)]
    Login(login::Login),
    /// List, rotate and revoke the keys that sign tokens
    #[command(subcommand, after_help = keys::EXAMPLES)]
    Keys(keys::Keys),
    /// Make, list and revoke keys with which programs pass guards and use the admin API
    #[command(subcommand, after_help = api_key::EXAMPLES)]
    ApiKey(api_key::ApiKey),
    /// Test the way of mail, and show what waits
    #[command(subcommand, after_help = mail::EXAMPLES)]
    Mail(mail::Mail),
    /// Register programs that may introspect and revoke tokens
    #[command(subcommand, after_help = client::EXAMPLES)]
    Client(client::Client),
    /// Explain why a request or a login was refused
    Why(why::Why),
    /// Read, export, prove and verify the audit trail
    #[command(subcommand, after_help = audit::EXAMPLES)]
    Audit(audit::Audit),
    /// Make the running server read its guards and its certificate again
    Reload(reload::Reload),
    /// Print a working configuration for a proxy or an app that uses a guard
    Snippet(snippet::Snippet),
    /// Add the users of another system, with their password hashes
    #[command(after_help = import::EXAMPLES)]
    Import(import::Import),
    /// Write all users with their password hashes to a file
    #[command(after_help = export::EXAMPLES)]
    Export(export::Export),
    /// Change the schema to that of this version, or copy all data to another database
    Migrate(migrate::Migrate),
    /// Save everything to one file, while the server runs or not
    Backup(backup::Backup),
    /// Replace the contents of the database with a backup
    Restore(restore::Restore),
    /// Replace all keys and secrets and sign everybody out, after a theft of the data
    Emergency(emergency::Emergency),
    Config(config::Config),
    Doctor(doctor::Doctor),
    Health(health::Health),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    /// Whether it changes the database, which it then names: an operator may be in another folder than they think. `migrate` and
    /// `restore` name it in their reports.
    fn changes(&self) -> bool {
        match self {
            Self::User(user) => user.changes(),
            Self::Keys(keys) => keys.changes(),
            Self::ApiKey(api_key) => api_key.changes(),
            Self::Mail(mail) => mail.changes(),
            Self::Import(import) => import.changes(),
            Self::Reload(_) | Self::Emergency(_) => true,
            Self::Serve(_)
            | Self::Dev(_)
            | Self::Guard(_)
            | Self::Login(_)
            | Self::Client(_)
            | Self::Why(_)
            | Self::Audit(_)
            | Self::Snippet(_)
            | Self::Export(_)
            | Self::Migrate(_)
            | Self::Backup(_)
            | Self::Restore(_)
            | Self::Config(_)
            | Self::Doctor(_)
            | Self::Health(_)
            | Self::Completions(_)
            | Self::Man(_) => false,
        }
    }
}

/// Where a database is, without any password.
fn place(database: &DatabaseUrl) -> String {
    match database {
        DatabaseUrl::Sqlite(file) => absolute(file).display().to_string(),
        other => other.to_string(),
    }
}

/// Whether the command was asked for JSON.
fn is_json(matches: &ArgMatches) -> bool {
    let has_flag = |matches: &ArgMatches| {
        matches.try_get_one::<bool>("json").ok().flatten().is_some_and(|flag| *flag)
    };
    let mut innermost = Some(matches);
    while let Some(matches) = innermost {
        if has_flag(matches) {
            return true;
        }
        innermost = matches.subcommand().map(|(_, matches)| matches);
    }
    false
}

/// Runs the command that this process was started with.
pub fn main() -> ExitCode {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => with_hint(error).exit(),
    };
    let run = || -> anyhow::Result<()> {
        let cli = Cli::from_arg_matches(&matches)?;
        let sources = sources(&matches);
        let chosen = match cli.command.unwrap_or(Command::Serve(cli.serve)) {
            // These need no settings.
            Command::Completions(completions) => {
                completions.run(documented_command());
                return Ok(());
            }
            Command::Man(man) => return man.run(documented_command()),
            // Settings that cannot be used are its first finding.
            Command::Doctor(doctor) => return doctor.run(sources),
            other => other,
        };
        let (settings, origins) = Settings::with_origins(sources.clone())?;
        let changed = Some(&settings.database).filter(|_| chosen.changes()).map(place);
        match chosen {
            Command::Serve(serve) => serve.run(settings, &origins, sources),
            Command::Dev(dev) => dev.run(settings, &sources),
            Command::User(user) => user.run(settings),
            Command::Guard(guard) => guard.run(settings),
            Command::Login(login) => login.run(&settings),
            Command::Keys(keys) => keys.run(settings),
            Command::ApiKey(api_key) => api_key.run(settings),
            Command::Mail(mail) => mail.run(settings),
            Command::Client(client) => client.run(&settings),
            Command::Why(why) => why.run(settings),
            Command::Audit(audit) => audit.run(settings),
            Command::Reload(reload) => reload.run(settings),
            Command::Snippet(snippet) => snippet.run(&settings),
            Command::Import(import) => import.run(settings),
            Command::Export(export) => export.run(settings),
            Command::Migrate(migrate) => migrate.run(settings),
            Command::Backup(backup) => backup.run(settings),
            Command::Restore(restore) => restore.run(settings),
            Command::Emergency(emergency) => emergency.run(settings),
            Command::Config(config) => config.run(&settings, &origins),
            Command::Health(health) => health.run(&settings),
            Command::Completions(_) | Command::Doctor(_) | Command::Man(_) => {
                unreachable!("handled above")
            }
        }?;
        // Not to standard output, whose JSON and codes others read.
        if let Some(place) = changed.filter(|_| !is_json(&matches)) {
            eprint_line!("database: {place}");
        }
        Ok(())
    };
    let outcome = run();
    log::flush();
    match outcome {
        Ok(()) => Exit::Done.into(),
        Err(error) => {
            if !error.is::<Negative>() {
                eprint_line!("doorward: {error:#}");
            }
            Exit::of(&error).into()
        }
    }
}

/// The derived command line with one flag for each setting. The flags are not listed, because they would hide the options
/// of a command: `doorward config` explains them.
fn command() -> clap::Command {
    let command = Cli::command().arg(port()).args(setting_flags());
    // The help of `serve` has it.
    let command = command
        .mut_arg("new_signing_key", |flag| flag.hide(true))
        .mut_arg("new_audit_secret", |flag| flag.hide(true));
    command.mut_subcommands(with_settings).after_help(root_help())
}

/// The command line for manual pages and completions: the flags of settings belong to `serve` only, and are listed there.
/// Repeated for each command, they would be most of the text.
fn documented_command() -> clap::Command {
    let (global, settings): (Vec<_>, Vec<_>) =
        setting_flags().into_iter().partition(|flag| !flag.is_hide_set());
    let settings = settings.into_iter().map(|flag| flag.hide(false).global(false));
    let command = Cli::command().args(global).mut_subcommand("serve", |serve| serve.args(settings));
    command.after_help(root_help())
}

fn root_help() -> String {
    format!("{EXAMPLES}\n{}\n{SETTINGS}", exit_code::HELP)
}

/// The last line of each help text.
const SETTINGS: &str = "Every setting is a flag, such as --token-lifetime 1h: `doorward config` lists and explains them.";

/// Adds [`SETTINGS`] to the help of a command and its subcommands.
fn with_settings(command: clap::Command) -> clap::Command {
    let text = match command.get_after_help() {
        Some(examples) => format!("{examples}\n\n{SETTINGS}"),
        None => SETTINGS.to_owned(),
    };
    command.after_help(text).mut_subcommands(with_settings)
}

/// How the port is set.
const PORT_HINT: &str =
    "set the address and the port with --listen, such as --listen 127.0.0.1:8080";

/// An error that suggests `--port`, which is refused, suggests what exists.
fn with_hint(mut error: clap::Error) -> clap::Error {
    let is_port = matches!(
        error.get(ContextKind::SuggestedArg),
        Some(ContextValue::String(suggested)) if suggested == "--port"
    );
    if is_port {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![PORT_HINT.into()]));
    }
    error
}

/// A hint for `--port`, which people try first. Without it, clap suggests `--password-threads`.
fn port() -> Arg {
    let hint = |_: &str| -> Result<String, &'static str> { Err(PORT_HINT) };
    let port = Arg::new("port").long("port").value_name("PORT").hide(true).global(true);
    port.num_args(0..=1).default_missing_value("").value_parser(hint)
}

fn setting_flags() -> Vec<Arg> {
    let defaults = Settings::default();
    let file = Arg::new(CONFIG_VARIABLE)
        .long("config")
        .value_name("FILE")
        .help("Settings file [default: doorward.toml, or else /etc/doorward/doorward.toml]")
        .value_parser(clap::value_parser!(PathBuf));
    let keys = setting_keys().map(|key| {
        let help = format!("{} [default: {}]", key.help(), key.value(&defaults));
        Arg::new(key.name).long(key.flag()).value_name("VALUE").help(help).hide(true)
    });
    [file].into_iter().chain(keys).map(|flag| flag.global(true)).collect()
}

fn sources(matches: &ArgMatches) -> Sources {
    let typed = |key: &crate::config::Key| matches.get_one::<String>(key.name).cloned();
    let flags = setting_keys().filter_map(|key| Some((key, typed(key)?))).collect();
    Sources::from_process(flags, matches.get_one::<PathBuf>(CONFIG_VARIABLE).cloned())
}

fn print_line(line: fmt::Arguments<'_>) {
    if writeln!(io::stdout(), "{}", visible(&line.to_string())).is_err() {
        process::exit(0);
    }
}

#[expect(clippy::print_stderr, reason = "the text is visible")]
fn eprint_line(line: fmt::Arguments<'_>) {
    eprintln!("{}", visible(&line.to_string()));
}

/// Runs a future to completion on this thread.
fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    // A box, so that the runtime is not compiled for every command.
    let work: Pin<Box<dyn Future<Output = _>>> = Box::pin(work);
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// A path below another, for what an operator has typed: every character that has a meaning in a path is encoded.
fn within(path: &str, name: &str) -> String {
    format!("{path}/{}", utf8_percent_encode(name, NON_ALPHANUMERIC))
}

/// The answer of the API. If it knows nothing of the name, the error says how to find one.
fn or_not_found<T>(answer: Result<T, control::Error>, message: &str) -> anyhow::Result<T> {
    answer.map_err(|error| match error.is_not_found() {
        true => NotFound(message.to_owned()).into(),
        false => error.into(),
    })
}

fn no_such_user() -> anyhow::Error {
    NotFound("there is no such user: `doorward user list` shows all users".to_owned()).into()
}

/// Prints the value of each part of a condition and, for a refusal, the part that caused it.
fn print_explanation(explanation: &Explanation, refused: bool) {
    for Step { depth, text, value } in &explanation.steps {
        print_line!("{:indent$}{text}  =>  {value}", "", indent = 2 * (depth + 1));
    }
    if refused {
        let Step { text, value, .. } = &explanation.cause;
        print_line!("\nrefused because  {text}  is  {value}");
    }
}

/// Prints the headers that the app of a guard gets.
fn print_headers(headers: &[ExplainedHeader]) {
    if !headers.is_empty() {
        print_line!("\nheaders for the app");
    }
    for ExplainedHeader { name, value, error } in headers {
        match error {
            None => print_line!("  {name}: {value}"),
            Some(error) => print_line!("  {name}:  (empty, because of an error: {error})"),
        }
    }
}

/// Reads a length of time, such as `7d`.
fn parse_time_span(text: &str) -> Result<Duration, &'static str> {
    parse_duration(text).ok_or("write a number with s, m, h or d, such as 7d")
}

/// A number with a noun, in the singular or the plural.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn print_json(value: &(impl serde::Serialize + ?Sized)) -> anyhow::Result<()> {
    print_line!("{}", visible_json(&serde_json::to_string_pretty(value)?));
    Ok(())
}

/// The output format.
#[derive(Args)]
struct Output {
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    /// Each command and subcommand with the words that call it.
    fn all_commands() -> Vec<(Vec<String>, clap::Command)> {
        fn collect(
            words: &[String],
            command: &clap::Command,
            all: &mut Vec<(Vec<String>, clap::Command)>,
        ) {
            all.push((words.to_vec(), command.clone()));
            for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
                collect(&[words, &[sub.get_name().to_owned()]].concat(), sub, all);
            }
        }
        let mut root = command();
        root.build();
        let mut all = Vec::new();
        collect(&["doorward".to_owned()], &root, &mut all);
        assert!(all.len() > 30, "not all commands are found");
        all
    }

    #[test]
    fn every_command_leaves_an_event_or_says_why_it_leaves_none() {
        let without_parts = |command: &clap::Command| {
            let is_called = command.get_arguments().any(clap::Arg::is_positional);
            command.get_subcommands().all(|sub| sub.get_name() == "help") || is_called
        };
        let all = all_commands().into_iter().filter(|(words, command)| {
            words.len() > 1 && words[1] != "help" && without_parts(command)
        });
        let all: BTreeSet<_> = all.map(|(words, _)| words[1..].join(" ")).collect();
        assert_eq!(expected::commands(), all);
    }

    /// The lines of a text on a screen of 100 columns.
    fn screen_lines(text: &str) -> usize {
        text.lines().map(|line| line.chars().count().div_ceil(100).max(1)).sum()
    }

    /// The words of the call of doorward in an example of a shell.
    fn words(example: &str) -> Vec<String> {
        let call = &example[example.find("doorward ").expect("the example calls doorward")..];
        // An explanation follows after a gap.
        let call = call.split("   ").next().unwrap_or(call);
        let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
        for character in call.chars().chain([' ']) {
            match (character, quote) {
                ('"' | '\'', None) => quote = Some(character),
                (_, Some(open)) if open == character => quote = None,
                ('|' | '>', None) => break,
                (' ', None) if word.is_empty() => {}
                (' ', None) => words.push(std::mem::take(&mut word)),
                _ => word.push(character),
            }
        }
        words
    }

    #[test]
    fn the_help_of_every_command_fits_one_screen() {
        for (mut words, _) in all_commands() {
            words.push("--help".to_owned());
            let help = command().try_get_matches_from(&words).unwrap_err().to_string();
            assert!(screen_lines(&help) <= 40, "{words:?}: {} lines\n{help}", screen_lines(&help));
        }
    }

    #[test]
    fn every_command_has_examples_that_the_real_parser_accepts() {
        for (name, called) in all_commands() {
            let help = called.get_after_help().map(ToString::to_string).unwrap_or_default();
            let (_, examples) = help.split_once("Examples:\n").unwrap_or_default();
            let examples: Vec<_> =
                examples.lines().take_while(|line| line.starts_with("  ")).collect();
            assert!((1..=3).contains(&examples.len()), "{name:?} has no examples: {help}");
            for example in examples {
                let words = words(example);
                assert!(words.starts_with(&name), "{name:?}: {example}");
                if let Err(error) = command().try_get_matches_from(&words) {
                    panic!("{example}: {error}");
                }
            }
        }
    }

    #[test]
    fn the_documented_command_line_has_all_settings_once() {
        let command = documented_command();
        command.clone().debug_assert();
        let serve = command.find_subcommand("serve").unwrap();
        for key in setting_keys() {
            let flag = serve.get_arguments().find(|flag| flag.get_long() == Some(&key.flag()));
            assert!(flag.is_some_and(|flag| !flag.is_hide_set()), "{}", key.name);
        }
        assert!(command.get_arguments().all(|flag| flag.get_long() != Some("token-lifetime")));
    }

    #[test]
    fn the_error_for_port_names_listen() {
        for arguments in [&["doorward", "--port", "80"][..], &["doorward", "serve", "--port=80"]] {
            let error = command().try_get_matches_from(arguments).unwrap_err().to_string();
            assert!(error.contains("--listen 127.0.0.1:8080"), "{error}");
        }
    }

    #[test]
    fn no_error_suggests_port() {
        for arguments in [
            &["doorward", "--prot", "80"][..],
            &["doorward", "serve", "--prot=80"],
            &["doorward", "--ports", "80"],
            &["doorward", "user", "list", "--por", "80"],
        ] {
            let error = command().try_get_matches_from(arguments).unwrap_err();
            let error = with_hint(error).to_string();
            assert!(error.contains("tip: set the address and the port with --listen"), "{error}");
            assert!(!error.contains("'--port'"), "{error}");
        }
    }
}
