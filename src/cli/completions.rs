//! `doorward completions`: prints what a shell needs to complete commands and options.

use std::io;

use clap_complete::{Shell, generate};

/// Print the completions of commands and options for a shell
#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward completions bash > /etc/bash_completion.d/doorward
  doorward completions zsh > /usr/local/share/zsh/site-functions/_doorward
  doorward completions fish > ~/.config/fish/completions/doorward.fish")]
pub(super) struct Completions {
    /// Shell
    #[arg(value_enum)]
    shell: SupportedShell,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum SupportedShell {
    Bash,
    Zsh,
    Fish,
}

impl Completions {
    pub(super) fn run(&self, mut command: clap::Command) {
        let shell = match self.shell {
            SupportedShell::Bash => Shell::Bash,
            SupportedShell::Zsh => Shell::Zsh,
            SupportedShell::Fish => Shell::Fish,
        };
        let mut script = Vec::new();
        generate(shell, &mut command, "doorward", &mut script);
        // A reader that closes early, such as `head`, is no error.
        let _ = io::Write::write_all(&mut io::stdout(), &script);
    }
}
