//! A load generator that costs less than the server: one thread, one buffer, no parsing of expected answers.

use std::{
    collections::{BTreeMap, VecDeque},
    fs,
    io::{ErrorKind, Read, Write},
    net::SocketAddr,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use mio::{Events, Interest, Poll, Token, net::TcpStream};
use serde_json::json;

/// Sends requests over keep-alive connections and prints the number, statuses and latencies of the answers
#[derive(clap::Args)]
pub(crate) struct Load {
    /// The address of the server
    address: SocketAddr,
    /// A file with a JSON array of complete requests, sent in turn
    requests: PathBuf,
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// The duration in seconds
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Seconds before that which are not counted
    #[arg(long, default_value_t = 0.0)]
    warm_up: f64,
    /// Requests per second, even if earlier ones are unanswered: latency counts from when a request was due. Without it,
    /// every connection sends its next request after its answer
    #[arg(long)]
    rate: Option<f64>,
    /// Stop when every request has been sent once
    #[arg(long)]
    once: bool,
}

impl Load {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let requests: Vec<String> = serde_json::from_str(&fs::read_to_string(&self.requests)?)?;
        if requests.is_empty() {
            bail!("{}: no requests", self.requests.display());
        }
        let mut poll = Poll::new()?;
        let mut connections = Vec::new();
        for number in 0..self.connections {
            connections.push(Connection::open(self.address, &poll, number)?);
        }
        let mut run =
            Run { load: &self, requests: &requests, next: 0, outcome: Outcome::default() };
        let started = Instant::now();
        let warm = started + Duration::from_secs_f64(self.warm_up);
        let end = warm + Duration::from_secs_f64(self.seconds);
        run.go(&mut poll, &mut connections, started, warm, end)?;
        let took = warm.elapsed();
        run.drain(&mut poll, &mut connections)?;
        println!("{}", run.outcome.report(took));
        Ok(())
    }
}

struct Run<'a> {
    load: &'a Load,
    requests: &'a [String],
    next: usize,
    outcome: Outcome,
}

impl Run<'_> {
    fn go(
        &mut self,
        poll: &mut Poll,
        connections: &mut [Connection],
        started: Instant,
        warm: Instant,
        end: Instant,
    ) -> anyhow::Result<()> {
        let interval = self.load.rate.map(|rate| Duration::from_secs_f64(1.0 / rate));
        let mut due = started;
        let mut idle: VecDeque<usize> = (0..connections.len()).collect();
        let mut events = Events::with_capacity(1024);
        let mut buffer = vec![0; 64 << 10];
        loop {
            let now = Instant::now();
            if now >= end || self.is_done() && idle.len() == connections.len() {
                return Ok(());
            }
            while !self.is_done() && (interval.is_none() || due <= now) {
                let Some(number) = idle.pop_front() else { break };
                let asked = interval.map_or(now, |_| due);
                connections[number].send(self.next_request(), asked)?;
                due += interval.unwrap_or_default();
            }
            let patience = if interval.is_some() && !idle.is_empty() { due.min(end) } else { end };
            poll.poll(&mut events, Some(patience.saturating_duration_since(now)))?;
            for event in &events {
                let Token(number) = event.token();
                let connection = &mut connections[number];
                while let Some(status) = connection.receive(&mut buffer)? {
                    let now = Instant::now();
                    self.outcome.answered += 1;
                    if now >= warm {
                        self.outcome.note(status, now - connection.asked);
                    }
                    if interval.is_some() || self.is_done() {
                        idle.push_back(number);
                        break;
                    }
                    connection.send(self.next_request(), now)?;
                }
            }
        }
    }

    /// Waits for outstanding answers, so that the server has no leftover work that slows down the next load.
    fn drain(&mut self, poll: &mut Poll, connections: &mut [Connection]) -> anyhow::Result<()> {
        const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
        let end = Instant::now() + DRAIN_TIMEOUT;
        let mut events = Events::with_capacity(1024);
        let mut buffer = vec![0; 64 << 10];
        while connections.iter().any(|connection| connection.waits) && Instant::now() < end {
            poll.poll(&mut events, Some(end.saturating_duration_since(Instant::now())))?;
            for event in &events {
                let Token(number) = event.token();
                if connections[number].receive(&mut buffer)?.is_some() {
                    self.outcome.answered += 1;
                }
            }
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.load.once && self.next >= self.requests.len()
    }

    fn next_request(&mut self) -> &[u8] {
        let request = &self.requests[self.next % self.requests.len()];
        self.next += 1;
        request.as_bytes()
    }
}

struct Connection {
    stream: TcpStream,
    asked: Instant,
    /// Whether an answer is outstanding.
    waits: bool,
    /// Bytes of an incomplete answer.
    pieces: Vec<u8>,
    /// The length of the last answer, and of its head.
    usual: (usize, usize),
}

impl Connection {
    fn open(address: SocketAddr, poll: &Poll, number: usize) -> anyhow::Result<Self> {
        let stream = std::net::TcpStream::connect(address).context("cannot connect")?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        poll.registry().register(&mut stream, Token(number), Interest::READABLE)?;
        let (asked, pieces) = (Instant::now(), Vec::new());
        Ok(Self { stream, asked, waits: false, pieces, usual: (0, 0) })
    }

    fn send(&mut self, request: &[u8], asked: Instant) -> anyhow::Result<()> {
        (self.asked, self.waits) = (asked, true);
        let sent = self.stream.write(request).context("cannot send")?;
        if sent != request.len() {
            bail!("a request did not fit into the socket");
        }
        Ok(())
    }

    /// The status of an answer, once it is complete.
    fn receive(&mut self, buffer: &mut [u8]) -> anyhow::Result<Option<u16>> {
        let received = match self.stream.read(buffer) {
            Ok(0) => bail!("the server closed a connection"),
            Ok(received) => &buffer[..received],
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let (length, head) = self.usual;
        if self.pieces.is_empty() && received.len() == length && received[..head].ends_with(END) {
            self.waits = false;
            return status(received).map(Some);
        }
        self.pieces.extend_from_slice(received);
        let Some(head) = self.pieces.windows(END.len()).position(|bytes| bytes == END) else {
            return Ok(None);
        };
        let head = head + END.len();
        let Some(length) = body_length(&self.pieces[..head], &self.pieces[head..])? else {
            return Ok(None);
        };
        let length = head + length;
        if self.pieces.len() < length {
            return Ok(None);
        }
        (self.usual, self.waits) = ((length, head), false);
        let status = status(&self.pieces);
        self.pieces.clear();
        status.map(Some)
    }
}

const END: &[u8] = b"\r\n\r\n";

fn status(answer: &[u8]) -> anyhow::Result<u16> {
    let digits = answer.get(9..12).and_then(|digits| str::from_utf8(digits).ok());
    digits.and_then(|digits| digits.parse().ok()).context("not an answer")
}

/// The length of a body from its head or its last chunk; none while that is missing.
fn body_length(head: &[u8], body: &[u8]) -> anyhow::Result<Option<usize>> {
    const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
    let head = str::from_utf8(head)?.to_ascii_lowercase();
    if head.contains("transfer-encoding: chunked") {
        return Ok(body.ends_with(LAST_CHUNK).then_some(body.len()));
    }
    let line = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length = line.and_then(|length| length.trim().parse().ok());
    length.map(Some).context("an answer without a length")
}

/// Statuses, and a histogram of latencies in steps of 1 µs up to 20 ms and of 100 µs above.
#[derive(Default)]
struct Outcome {
    /// All answers, including those before and after the measured time.
    answered: u64,
    statuses: BTreeMap<u16, u64>,
    micros: BTreeMap<u64, u64>,
    fine: Vec<u64>,
}

impl Outcome {
    const FINE: usize = 20_000;

    fn note(&mut self, status: u16, took: Duration) {
        *self.statuses.entry(status).or_default() += 1;
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if self.fine.is_empty() {
            self.fine = vec![0; Self::FINE];
        }
        match self.fine.get_mut(micros as usize) {
            Some(count) => *count += 1,
            None => *self.micros.entry(micros / 100 * 100).or_default() += 1,
        }
    }

    fn report(&self, took: Duration) -> serde_json::Value {
        let count: u64 = self.statuses.values().sum();
        let quantile = |share: f64| {
            let mut left = (count as f64 * share) as u64;
            let fine = self.fine.iter().enumerate().map(|(micros, count)| (micros as u64, *count));
            let coarse = self.micros.iter().map(|(micros, count)| (*micros, *count));
            for (micros, count) in fine.chain(coarse) {
                if left < count {
                    return micros;
                }
                left -= count;
            }
            self.micros.keys().next_back().copied().unwrap_or_default()
        };
        json!({
            "answered": self.answered,
            "requests": count,
            "seconds": took.as_secs_f64(),
            "statuses": self.statuses,
            "p50": quantile(0.5),
            "p99": quantile(0.99),
            "p999": quantile(0.999),
            "max": quantile(1.0 - 1e-12),
        })
    }
}
