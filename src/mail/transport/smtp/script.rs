//! A mail server for tests that follows a script.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    sync::mpsc,
    thread,
};

use Turn::{AfterMail, Close, CloseAfterMail, Endless, EndlessAfterMail, Reply, Silence};

/// What the server does after a line from the client, or after the connection.
#[derive(Clone, Copy)]
pub(crate) enum Turn {
    /// Sends this.
    Reply(&'static str),
    /// Reads the mail up to the dot, and sends this.
    AfterMail(&'static str),
    /// Reads the mail up to the dot, and closes the connection.
    CloseAfterMail,
    /// Sends this again and again until the client has closed the connection.
    Endless(&'static str),
    /// Reads the mail up to the dot, and sends this again and again.
    EndlessAfterMail(&'static str),
    /// Closes the connection.
    Close,
    /// Sends nothing until the client has closed the connection.
    Silence,
}

/// What is heard of a server that is silent from then on.
pub(crate) const SILENT: &str = "<silent>";

pub(crate) const HELLO: [Turn; 2] =
    [Reply("220 mail ready\r\n"), Reply("250-mail\r\n250 AUTH PLAIN LOGIN\r\n")];
pub(crate) const OK: Turn = Reply("250 ok\r\n");
pub(crate) const GO: Turn = Reply("354 go on\r\n");

/// A server that follows one script per connection. Returns its port and what it reads.
pub(crate) fn server(scripts: Vec<Vec<Turn>>) -> (u16, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (heard, lines) = mpsc::channel();
    thread::spawn(move || {
        for script in scripts {
            let (stream, _) = listener.accept().unwrap();
            let mut writer = stream.try_clone().unwrap();
            let mut reader = BufReader::new(stream);
            let mut read = || {
                let mut line = String::new();
                let count = reader.read_line(&mut line).unwrap_or(0);
                let _ = heard.send(line.trim_end().to_owned());
                (count > 0).then_some(line)
            };
            for (turn, action) in script.into_iter().enumerate() {
                // The server speaks first, and sends one reply after the mail.
                let is_after_mail =
                    matches!(action, AfterMail(_) | CloseAfterMail | EndlessAfterMail(_));
                if turn > 0 && !is_after_mail && read().is_none() {
                    break;
                }
                match action {
                    Reply(text) => writer.write_all(text.as_bytes()).unwrap(),
                    AfterMail(_) | CloseAfterMail | EndlessAfterMail(_) => {
                        while read().is_some_and(|line| line != ".\r\n") {}
                        match action {
                            AfterMail(text) => writer.write_all(text.as_bytes()).unwrap(),
                            EndlessAfterMail(text) => write_endlessly(&mut writer, text),
                            _ => break,
                        }
                    }
                    Endless(text) => write_endlessly(&mut writer, text),
                    Close => break,
                    Silence => {
                        let _ = heard.send(SILENT.into());
                        while read().is_some() {}
                    }
                }
            }
        }
    });
    (port, lines)
}

fn write_endlessly(writer: &mut impl Write, text: &str) {
    let text = text.repeat(1000);
    while writer.write_all(text.as_bytes()).is_ok() {}
}
