//! A password from whoever sits at the terminal, or from a pipe. Never from the command line, which others can read.

use std::io::{self, IsTerminal, Read, Write};

use anyhow::{Context, bail};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use crate::control::Secret;

/// A password that has to be given.
pub(super) fn required() -> anyhow::Result<Secret> {
    match optional()? {
        Some(password) => Ok(password),
        None => bail!("no password was given: nothing has changed"),
    }
}

/// A password, or none if nothing is typed or piped in.
pub(super) fn optional() -> anyhow::Result<Option<Secret>> {
    let password = if io::stdin().is_terminal() { asked_for()? } else { piped()? };
    Ok((!password.is_empty()).then(|| Secret(password.to_string())))
}

/// Standard input without the end of its line.
fn piped() -> anyhow::Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::new());
    io::stdin().read_to_string(&mut text).context("standard input")?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(Zeroizing::new(line.strip_suffix('\r').unwrap_or(line).to_owned()))
}

fn asked_for() -> anyhow::Result<Zeroizing<String>> {
    let _silence = Silence::begin()?;
    let password = answer_to("Password: ")?;
    if !password.is_empty() && *answer_to("Once more: ")? != *password {
        bail!("that was another password: nothing has changed");
    }
    Ok(password)
}

/// What is typed up to the end of the line, key by key: the terminal neither shows nor edits it.
fn answer_to(prompt: &str) -> anyhow::Result<Zeroizing<String>> {
    const INTERRUPT: u8 = 0x03;
    const END: u8 = 0x04;
    const BACKSPACES: [u8; 2] = [0x08, 0x7f];
    const CLEAR: u8 = 0x15;
    let (mut input, mut screen) = (io::stdin().lock(), io::stderr());
    write!(screen, "{prompt}")?;
    let mut typed = Zeroizing::new(Vec::with_capacity(4096));
    loop {
        let mut key = [0];
        match (input.read(&mut key)?, key[0]) {
            (0, _) | (_, INTERRUPT | END) => {
                writeln!(screen)?;
                bail!("nothing has changed");
            }
            (_, b'\r' | b'\n') => break,
            (_, CLEAR) => typed.clear(),
            (_, key) if BACKSPACES.contains(&key) => remove_character(&mut typed),
            (_, key) => typed.push(key),
        }
    }
    writeln!(screen)?;
    Ok(Zeroizing::new(str::from_utf8(&typed).context("the password is not UTF-8")?.to_owned()))
}

fn remove_character(typed: &mut Vec<u8>) {
    let is_continued = |byte: u8| byte & 0b1100_0000 == 0b1000_0000;
    while typed.pop().is_some_and(is_continued) {}
}

/// A terminal that shows nothing of what is typed, and is as it was before when this is dropped.
struct Silence {
    before: Termios,
}

impl Silence {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        // Without signals: one would leave the terminal as it is.
        silent.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        // Whatever was typed before the question is no answer to it.
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self { before })
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_character_is_taken_back() {
        let mut typed = "aé→".as_bytes().to_vec();
        for left in ["aé", "a", "", ""] {
            remove_character(&mut typed);
            assert_eq!(typed, left.as_bytes());
        }
    }
}
