//! Reads a password from the terminal or from a pipe. Other users can see arguments, so there is no option for it.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, bail};
use rustix::{
    io::{read, retry_on_intr},
    termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr},
};
use zeroize::Zeroizing;

/// The most bytes that are read. A buffer of this size is never reallocated, which would leave an unwiped copy.
const MAX_BYTES: usize = 32 << 10;

/// Reads a password. An empty one is an error.
pub(super) fn required() -> anyhow::Result<Zeroizing<String>> {
    match optional()? {
        Some(password) => Ok(password),
        None => bail!("no password was given: nothing has changed"),
    }
}

/// Reads a password, or none if the input is empty.
pub(super) fn optional() -> anyhow::Result<Option<Zeroizing<String>>> {
    let password = if io::stdin().is_terminal() { from_terminal()? } else { from_pipe()? };
    Ok((!password.is_empty()).then_some(password))
}

/// Reads from standard input without the buffer of [`io::stdin`], which is not wiped.
fn read_stdin(bytes: &mut [u8]) -> io::Result<usize> {
    Ok(retry_on_intr(|| read(io::stdin(), &mut *bytes))?)
}

/// Reads standard input, without the line end.
fn from_pipe() -> anyhow::Result<Zeroizing<String>> {
    let mut bytes = Zeroizing::new(vec![0; MAX_BYTES]);
    let mut length = 0;
    loop {
        match read_stdin(&mut bytes[length..]).context("standard input")? {
            0 if length == MAX_BYTES => bail!("the password is too long: nothing has changed"),
            0 => break,
            count => length += count,
        }
    }
    let text = text(&bytes[..length])?;
    let line = text.strip_suffix('\n').unwrap_or(text);
    Ok(Zeroizing::new(line.strip_suffix('\r').unwrap_or(line).to_owned()))
}

fn text(bytes: &[u8]) -> anyhow::Result<&str> {
    str::from_utf8(bytes).context("the password is not UTF-8")
}

fn from_terminal() -> anyhow::Result<Zeroizing<String>> {
    let _echo_off = EchoOff::begin()?;
    let password = prompt("Password: ")?;
    if !password.is_empty() && *prompt("Repeat the password: ")? != *password {
        bail!("the passwords differ: nothing has changed");
    }
    Ok(password)
}

/// Reads a line key by key: the terminal neither shows nor edits it.
fn prompt(prompt: &str) -> anyhow::Result<Zeroizing<String>> {
    const INTERRUPT: u8 = 0x03;
    const END: u8 = 0x04;
    const BACKSPACES: [u8; 2] = [0x08, 0x7f];
    const CLEAR: u8 = 0x15;
    let mut screen = io::stderr();
    write!(screen, "{prompt}")?;
    let mut typed = Zeroizing::new(Vec::with_capacity(MAX_BYTES));
    loop {
        let mut key = Zeroizing::new([0]);
        match (read_stdin(&mut *key)?, key[0]) {
            (0, _) | (_, INTERRUPT | END) => {
                writeln!(screen)?;
                bail!("nothing has changed");
            }
            (_, b'\r' | b'\n') => break,
            (_, CLEAR) => typed.clear(),
            (_, key) if BACKSPACES.contains(&key) => remove_character(&mut typed),
            (_, key) if typed.len() < MAX_BYTES => typed.push(key),
            _ => {}
        }
    }
    writeln!(screen)?;
    Ok(Zeroizing::new(text(&typed)?.to_owned()))
}

fn remove_character(typed: &mut Vec<u8>) {
    let is_continuation = |byte: u8| byte & 0b1100_0000 == 0b1000_0000;
    while typed.pop().is_some_and(is_continuation) {}
}

/// A terminal that does not show what is typed. Its modes are restored when this is dropped.
struct EchoOff {
    before: Termios,
}

impl EchoOff {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut changed = before.clone();
        // Without ISIG, Ctrl-C is read as a key: a signal would end the process without restoring the modes.
        changed.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        // `Flush` discards what was typed before the prompt.
        tcsetattr(io::stdin(), OptionalActions::Flush, &changed)?;
        Ok(Self { before })
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backspace_removes_a_whole_character() {
        let mut typed = "aé→".as_bytes().to_vec();
        for left in ["aé", "a", "", ""] {
            remove_character(&mut typed);
            assert_eq!(typed, left.as_bytes());
        }
    }
}
