//! The commands. Reads the command line, loads the settings, hands over.

/// Prints a line. Whoever reads may have read enough (`doorward user list | head`): then the command is done.
macro_rules! say {
    ($($argument:tt)*) => { $crate::cli::print_line(format_args!($($argument)*)) };
}

mod client;
mod config;
mod guard;
mod keys;
mod migrate;
mod password;
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

use anyhow::bail;
use clap::{Arg, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    access::guard::{Explanation, Step},
    config::{CONFIG_VARIABLE, KEYS, Settings, Sources},
    control::{self, Order, Report},
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

const AFTER_HELP: &str = "Without a command, doorward serves. Every setting can also stand in doorward.toml or in the \
    environment: --token-lifetime is lifetime in [token], or DOORWARD_TOKEN_LIFETIME.";

#[derive(Subcommand)]
enum Command {
    /// Start the service (the default)
    Serve(serve::Serve),
    /// Look at users, add, change and remove them
    #[command(subcommand)]
    User(user::User),
    /// Look at the declared guards and try them out
    #[command(subcommand)]
    Guard(guard::Guard),
    /// Look at the keys that sign tokens, rotate and revoke them
    #[command(subcommand)]
    Keys(keys::Keys),
    /// Let another program ask about tokens
    #[command(subcommand)]
    Client(client::Client),
    /// Say why somebody was refused
    Why(why::Why),
    /// Have the running server read its guards anew
    Reload(reload::Reload),
    /// Print a working piece for a proxy or an app that asks a guard
    Snippet(snippet::Snippet),
    /// Move everything to another database: nobody has to log in again
    Migrate(migrate::Migrate),
    /// Show the settings in force
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
            Command::User(user) => user.run(settings),
            Command::Guard(guard) => guard.run(settings),
            Command::Keys(keys) => keys.run(settings),
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

/// The derived command line and one flag per setting.
fn command() -> clap::Command {
    let flags = setting_flags();
    let names: Vec<_> = flags.iter().filter_map(Arg::get_long).collect();
    let names = setting_names(&names);
    Cli::command().args(&flags).mut_subcommands(|command| match command.get_name() {
        "serve" | "config" => command,
        _ => {
            let hidden = flags.iter().map(|flag| flag.clone().hide(true));
            name_settings(command.args(hidden), &names)
        }
    })
}

fn setting_flags() -> Vec<Arg> {
    let defaults = Settings::default();
    let file = Arg::new(CONFIG_VARIABLE)
        .long("config")
        .value_name("FILE")
        .help("Settings file [default: doorward.toml, if there is one]")
        .value_parser(clap::value_parser!(PathBuf));
    let keys = KEYS.iter().map(|key| {
        Arg::new(key.name).long(key.flag()).value_name("VALUE").help(format!(
            "{} [default: {}]",
            key.help,
            key.value(&defaults)
        ))
    });
    let flags = [file].into_iter().chain(keys);
    flags.map(|flag| flag.help_heading("Settings").global(true)).collect()
}

/// All settings in a few lines, for commands whose own options would drown in an explanation of each.
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

fn name_settings(command: clap::Command, names: &str) -> clap::Command {
    let named = command.after_help(names.to_owned());
    named.mut_subcommands(|command| name_settings(command, names))
}

fn sources(matches: &ArgMatches) -> Sources {
    let typed = |key: &crate::config::Key| matches.get_one::<String>(key.name).cloned();
    let flags = KEYS.iter().filter_map(|key| Some((key, typed(key)?))).collect();
    Sources::from_process(flags, matches.get_one::<PathBuf>(CONFIG_VARIABLE).cloned())
}

fn print_line(line: fmt::Arguments<'_>) {
    if writeln!(io::stdout(), "{line}").is_err() {
        process::exit(0);
    }
}

/// For commands that do one thing and end.
fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// Gives an order and turns what is no success into an error.
async fn give(settings: Settings, order: Order) -> anyhow::Result<Report> {
    match control::give(settings, &order).await? {
        Report::NoSuchUser => {
            bail!("there is no such user: `doorward user list` shows all of them")
        }
        Report::NoSuchGuard => {
            bail!("there is no such guard: `doorward guard list` shows all of them")
        }
        Report::NoSuchKey => {
            bail!("there is no such key: `doorward keys list` shows all of them")
        }
        Report::NoSuchRefusal => {
            bail!(
                "no such refusal is remembered: only the latest are, and only while the server runs"
            )
        }
        Report::Failed(cause) => bail!("{cause}"),
        report => Ok(report),
    }
}

/// Shows a condition part by part, and which one decided against the caller.
fn print_explanation(explanation: &Explanation, refused: bool) {
    for Step { depth, text, value } in &explanation.steps {
        say!("{:indent$}{text}  =>  {value}", "", indent = 2 * (depth + 1));
    }
    if refused {
        let Step { text, value, .. } = &explanation.culprit;
        say!("\nrefused because  {text}  is  {value}");
    }
}

/// How a listing is printed.
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
}
