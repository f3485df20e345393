//! A TCP connection for raw bytes.

use std::{
    io::{ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    thread,
    time::Duration,
};

use super::{Answer, PATIENCE};

/// Sends raw bytes and parses the responses.
pub struct RawConnection {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl RawConnection {
    pub fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream, unread: Vec::new() }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// Sends to a server that may close the connection meanwhile.
    pub fn send_ignoring_errors(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref());
    }

    /// Repeats the bytes until the server closes the connection.
    pub fn send_until_closed(&mut self, bytes: impl AsRef<[u8]>) {
        while self.stream.write_all(bytes.as_ref()).is_ok() {}
    }

    /// Closes the sending half.
    pub fn shut_down_writing(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Sends these bytes one by one from another thread until the server closes the connection.
    pub fn send_slowly(&self, bytes: &'static [u8], pause: Duration) {
        let mut stream = self.stream.try_clone().unwrap();
        thread::spawn(move || {
            for byte in bytes.iter().cycle() {
                if stream.write_all(&[*byte]).is_err() {
                    return;
                }
                thread::sleep(pause);
            }
        });
    }

    /// The next answer, including 1xx; none if the connection closes before it is complete.
    pub fn answer(&mut self) -> Option<Answer> {
        loop {
            if let Some((answer, length)) = parse(&self.unread) {
                self.unread.drain(..length);
                return Some(answer);
            }
            if !self.read_more() {
                return None;
            }
        }
    }

    /// Reads to the end of the connection. True if no further answer came.
    pub fn is_closed(&mut self) -> bool {
        while self.read_more() {}
        self.unread.is_empty()
    }

    /// Whether there is something to read now.
    pub fn has_more(&self) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let has_more = self.stream.peek(&mut [0]).is_ok();
        self.stream.set_nonblocking(false).unwrap();
        has_more
    }

    /// Whether the server has closed the connection by now.
    pub fn was_closed(&mut self) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let mut bytes = [0; 4096];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() != ErrorKind::WouldBlock,
            }
        }
    }

    /// False at the end of the connection. A server that neither sends nor closes fails the test.
    fn read_more(&mut self) -> bool {
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes) {
            Ok(0) => false,
            Ok(length) => {
                self.unread.extend_from_slice(&bytes[..length]);
                true
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("still open"),
            Err(_) => false,
        }
    }
}

/// The answer at the start of these bytes, and its length.
fn parse(bytes: &[u8]) -> Option<(Answer, usize)> {
    let end_of_head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end_of_head]).into_owned();
    let mut lines = head.trim_end().lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().unwrap();
    let header = |line: &str| line.split_once(": ").map(|(n, v)| (n.to_owned(), v.to_owned()));
    let headers: Vec<_> = lines.filter_map(header).collect();
    let mut answer = Answer { status, headers, body: String::new() };
    let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
    let body = bytes.get(end_of_head..end_of_head + length)?;
    answer.body = String::from_utf8_lossy(body).into_owned();
    Some((answer, end_of_head + length))
}
