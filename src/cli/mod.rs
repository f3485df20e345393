//! The command line: reads the arguments, loads the settings and runs the command.

/// Prints a line to standard output. Ends the process if the reader has closed it (`doorward user list | head`).
macro_rules! print_line {
    ($($argument:tt)*) => { $crate::cli::print_line(format_args!($($argument)*)) };
}

mod client;
mod config;
mod dev;
mod guard;
mod invitation;
mod keys;
mod mail;
mod migrate;
mod password;
mod progress;
mod reload;
mod serve;
mod snippet;
mod user;
mod why;

use std::{
    fmt,
    io::{self, Write},
    path::PathBuf,
    process::{self, ExitCode},
};

use anyhow::{anyhow, bail};
use clap::{Arg, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    access::guard::{Explanation, Step},
    config::{CONFIG_VARIABLE, Settings, Sources, keys as setting_keys},
    control::{self, Reply},
    log,
};

/// Sign-up, login and guarded routes for any app, in one small binary.
#[derive(Parser)]
#[command(version, propagate_version = true, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    serve: serve::Serve,
}

const AFTER_HELP: &str = "Without a command, doorward starts the service. Every setting can also be set in doorward.toml or \
    in the environment: --token-lifetime is lifetime in [token], or DOORWARD_TOKEN_LIFETIME.";

#[derive(Subcommand)]
enum Command {
    /// Start the service (the default)
    Serve(serve::Serve),
    /// Start a service in memory for tests of an app
    Dev(dev::Dev),
    /// List, show, add, change and delete users
    #[command(subcommand)]
    User(user::User),
    /// List and test the declared guards
    #[command(subcommand)]
    Guard(guard::Guard),
    /// List, rotate and revoke the keys that sign tokens
    #[command(subcommand)]
    Keys(keys::Keys),
    /// Test the way of mail, and show what waits
    #[command(subcommand)]
    Mail(mail::Mail),
    /// Register programs that may introspect and revoke tokens
    #[command(subcommand)]
    Client(client::Client),
    /// Explain why a request or a login was refused
    Why(why::Why),
    /// Reload the guards of the running server
    Reload(reload::Reload),
    /// Print a working configuration for a proxy or an app that uses a guard
    Snippet(snippet::Snippet),
    /// Copy all data to another database; users stay logged in
    Migrate(migrate::Migrate),
    /// Print the settings in force
    Config(config::Config),
}

/// Runs the command that this process was started with.
pub fn main() -> ExitCode {
    let matches = command().get_matches();
    let run = || -> anyhow::Result<()> {
        let cli = Cli::from_arg_matches(&matches)?;
        let sources = sources(&matches);
        let settings = Settings::from_sources(sources.clone())?;
        match cli.command.unwrap_or(Command::Serve(cli.serve)) {
            Command::Serve(serve) => serve.run(settings, sources),
            Command::Dev(dev) => dev.run(settings, &sources),
            Command::User(user) => user.run(settings),
            Command::Guard(guard) => guard.run(settings),
            Command::Keys(keys) => keys.run(settings),
            Command::Mail(mail) => mail.run(settings),
            Command::Client(client) => client.run(&settings),
            Command::Why(why) => why.run(settings),
            Command::Reload(reload) => reload.run(settings),
            Command::Snippet(snippet) => snippet.run(&settings),
            Command::Migrate(migrate) => migrate.run(settings),
            Command::Config(config) => config.run(&settings),
        }
    };
    let outcome = run();
    log::flush();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("doorward: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The derived command line with one flag for each setting.
fn command() -> clap::Command {
    let flags = setting_flags();
    let names: Vec<_> = flags.iter().filter_map(Arg::get_long).collect();
    let names = setting_names(&names);
    Cli::command().arg(port()).args(&flags).mut_subcommands(|command| match command.get_name() {
        "serve" | "config" => command,
        _ => {
            let hidden = flags.iter().map(|flag| flag.clone().hide(true));
            with_setting_names(command.args(hidden), &names)
        }
    })
}

/// A hint for `--port`, which people try first. Without it, clap suggests `--password-threads`.
fn port() -> Arg {
    let hint = |_: &str| -> Result<String, &'static str> {
        Err("set the address and the port with --listen, such as --listen 127.0.0.1:8080")
    };
    let port = Arg::new("port").long("port").value_name("PORT").hide(true).global(true);
    port.num_args(0..=1).default_missing_value("").value_parser(hint)
}

fn setting_flags() -> Vec<Arg> {
    let defaults = Settings::default();
    let file = Arg::new(CONFIG_VARIABLE)
        .long("config")
        .value_name("FILE")
        .help("Settings file [default: doorward.toml, if it exists]")
        .value_parser(clap::value_parser!(PathBuf));
    let keys = setting_keys().map(|key| {
        Arg::new(key.name).long(key.flag()).value_name("VALUE").help(format!(
            "{} [default: {}]",
            key.help(),
            key.value(&defaults)
        ))
    });
    let flags = [file].into_iter().chain(keys);
    flags.map(|flag| flag.help_heading("Settings").global(true)).collect()
}

/// The names of all settings in a few lines. Their full help would hide the options of a command.
fn setting_names(names: &[&str]) -> String {
    const WIDTH: usize = 100;
    let mut text = String::from("Settings (`doorward config --help` explains them):");
    let mut column = WIDTH;
    for name in names {
        if column + name.len() + 3 > WIDTH {
            text.push_str("\n ");
            column = 1;
        }
        text.push_str(" --");
        text.push_str(name);
        column += name.len() + 3;
    }
    text
}

/// Lists the settings at the end of the help text of a command and its subcommands.
fn with_setting_names(command: clap::Command, names: &str) -> clap::Command {
    let named = command.after_help(names.to_owned());
    named.mut_subcommands(|command| with_setting_names(command, names))
}

fn sources(matches: &ArgMatches) -> Sources {
    let typed = |key: &crate::config::Key| matches.get_one::<String>(key.name).cloned();
    let flags = setting_keys().filter_map(|key| Some((key, typed(key)?))).collect();
    Sources::from_process(flags, matches.get_one::<PathBuf>(CONFIG_VARIABLE).cloned())
}

fn print_line(line: fmt::Arguments<'_>) {
    if writeln!(io::stdout(), "{line}").is_err() {
        process::exit(0);
    }
}

/// Runs a future to completion on this thread.
fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// Runs a command of the operator. The reply is a success.
async fn run(settings: Settings, command: control::Command) -> anyhow::Result<Reply> {
    reject_failure(control::run(settings, &command).await?)
}

/// Turns the reply of a failed command into an error.
fn reject_failure(reply: Reply) -> anyhow::Result<Reply> {
    match reply {
        Reply::NoSuchUser => {
            bail!("there is no such user: `doorward user list` shows all users")
        }
        Reply::NoSuchInvitation => {
            bail!("there is no such invitation: `doorward user invitations` shows all invitations")
        }
        Reply::NoSuchGuard => {
            bail!("there is no such guard: `doorward guard list` shows all guards")
        }
        Reply::NoSuchKey => {
            bail!("there is no such key: `doorward keys list` shows all keys")
        }
        Reply::NoSuchRefusal => {
            bail!("there is no such refusal: the server keeps only the latest ones, until it stops")
        }
        Reply::Failed(cause) => bail!("{cause}"),
        reply => Ok(reply),
    }
}

/// The error for a reply that does not belong to the command.
fn unexpected_reply() -> anyhow::Error {
    anyhow!("unexpected reply: does the running server have another version?")
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

/// A number with a noun, in the singular or the plural.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn print_json(value: &(impl serde::Serialize + ?Sized)) -> anyhow::Result<()> {
    print_line!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}

/// The output format.
#[derive(Args)]
struct Output {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn the_error_for_port_names_listen() {
        for arguments in [&["doorward", "--port", "80"][..], &["doorward", "serve", "--port=80"]] {
            let error = command().try_get_matches_from(arguments).unwrap_err().to_string();
            assert!(error.contains("--listen 127.0.0.1:8080"), "{error}");
        }
    }
}
