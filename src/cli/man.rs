//! `doorward man`: writes the manual pages.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap_mangen::Man as Page;

/// Print the manual page, or write one page for each command into a folder
#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward man | man -l -
  doorward man --into /usr/local/share/man/man1")]
pub(super) struct Man {
    /// Write doorward.1 and a page for each command into this folder
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
}

impl Man {
    pub(super) fn run(self, mut command: clap::Command) -> anyhow::Result<()> {
        command.build();
        let Some(folder) = self.into else {
            let mut page = Vec::new();
            Page::new(command).render(&mut page)?;
            // A reader that closes early, such as `head`, is no error.
            let _ = io::stdout().write_all(&page);
            return Ok(());
        };
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        write(&folder, "doorward", &command)
    }
}

/// Writes the page of a command and those of its subcommands.
fn write(folder: &Path, name: &str, command: &clap::Command) -> anyhow::Result<()> {
    let page = Page::new(command.clone()).title(name.to_uppercase());
    let path = folder.join(format!("{name}.1"));
    let mut text = Vec::new();
    page.render(&mut text)?;
    fs::write(&path, text).with_context(|| path.display().to_string())?;
    print_line!("{}", path.display());
    for subcommand in command.get_subcommands().filter(|command| command.get_name() != "help") {
        write(folder, &format!("{name}-{}", subcommand.get_name()), subcommand)?;
    }
    Ok(())
}
