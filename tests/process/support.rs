//! The binary in a folder of its own, and clients that speak HTTP to it.

use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

pub const PASSWORD: &str = "correct horse";
/// For whatever should take a moment on an idle machine and must not fail on a busy one.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Where one doorward after the other keeps its data.
pub struct Home {
    root: TempDir,
    data: PathBuf,
}

impl Home {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("data");
        Self { root, data }
    }

    /// A home whose data lies in a folder below it.
    pub fn with_data_in(folder: &str) -> Self {
        let mut home = Self::new();
        home.data = home.root.path().join(folder);
        home
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn data(&self) -> &Path {
        &self.data
    }

    pub fn database(&self) -> PathBuf {
        self.data.join("doorward.db")
    }

    pub fn signing_key(&self) -> PathBuf {
        self.data.join("signing-key.pem")
    }

    /// The binary on a free port, with cheap hashes and nothing else from the environment of the test.
    pub fn command(&self) -> Command {
        self.command_through(Command::new(env!("CARGO_BIN_EXE_doorward")))
    }

    /// The same through another program that ends up being the binary.
    pub fn command_through(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .env("DOORWARD_LISTEN", "127.0.0.1:0")
            .env("DOORWARD_DATABASE_URL", format!("sqlite://{}", self.database().display()))
            .env("DOORWARD_PASSWORD_MEMORY_KIB", "7168")
            .env("DOORWARD_PASSWORD_PASSES", "1")
            .current_dir(self.root());
        command
    }

    pub fn start(&self) -> Server {
        Server::start(self.command())
    }

    pub fn start_with(&self, arguments: &[&str]) -> Server {
        let mut command = self.command();
        command.args(arguments);
        Server::start(command)
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        let mut command = self.command();
        command.args(arguments);
        run(command)
    }
}

/// A process that has ended, and what it said.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a process that is meant to end by itself; one that does not is killed.
pub fn run(command: Command) -> Finished {
    let mut process = Process::spawn(command, |_| {});
    let status = process.wait();
    let (stdout, stderr) = process.said();
    Finished { status, stdout, stderr }
}

/// A command that has to succeed.
#[track_caller]
pub fn told(home: &Home, arguments: &[&str]) -> String {
    let Finished { status, stdout, stderr } = home.run(arguments);
    assert!(status.success(), "{arguments:?}: {stderr}");
    assert_eq!(stderr, "", "{arguments:?}");
    stdout
}

/// A command that has to fail with one line.
#[track_caller]
pub fn refused(home: &Home, arguments: &[&str]) -> String {
    let Finished { status, stdout, stderr } = home.run(arguments);
    assert!(!status.success(), "{arguments:?}: {stdout}");
    assert_eq!((stdout.as_str(), stderr.lines().count()), ("", 1), "{arguments:?}: {stderr}");
    stderr
}

/// A child process that does not outlive the test.
struct Process {
    child: Child,
    stdout: Tape,
    stderr: Tape,
}

impl Process {
    fn spawn(command: Command, on_line: impl FnMut(&str) + Send + 'static) -> Self {
        let mut process = Self::spawn_unread(command, on_line);
        process.stderr.begin();
        process
    }

    /// A process whose stderr nobody reads yet.
    fn spawn_unread(mut command: Command, on_line: impl FnMut(&str) + Send + 'static) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = Tape::record(child.stdout.take().unwrap(), on_line);
        let stderr = Tape::unread(child.stderr.take().unwrap());
        Self { child, stdout, stderr }
    }

    fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the process ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// What an ended process has said.
    fn said(&mut self) -> (String, String) {
        (self.stdout.end(), self.stderr.end())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Everything that comes out of a pipe.
struct Tape {
    text: Arc<Mutex<String>>,
    recorder: Option<JoinHandle<()>>,
    unread: Option<Box<dyn Read + Send>>,
}

impl Tape {
    fn unread(pipe: impl Read + Send + 'static) -> Self {
        Self { text: Arc::default(), recorder: None, unread: Some(Box::new(pipe)) }
    }

    /// Begins to record what nobody has read so far.
    fn begin(&mut self) {
        if let Some(pipe) = self.unread.take() {
            *self = Self::record(pipe, |_| {});
        }
    }

    fn record(
        pipe: impl Read + Send + 'static,
        mut on_line: impl FnMut(&str) + Send + 'static,
    ) -> Self {
        let text = Arc::<Mutex<String>>::default();
        let recorded = Arc::clone(&text);
        let recorder = thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while pipe.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
                let read = String::from_utf8_lossy(&line).into_owned();
                recorded.lock().unwrap().push_str(&read);
                on_line(&read);
                line.clear();
            }
        });
        Self { text, recorder: Some(recorder), unread: None }
    }

    /// The whole of it. The process at the other end must have ended.
    fn end(&mut self) -> String {
        if let Some(recorder) = self.recorder.take() {
            recorder.join().unwrap();
        }
        self.so_far()
    }

    fn so_far(&self) -> String {
        self.text.lock().unwrap().clone()
    }
}

/// A doorward that serves.
pub struct Server {
    process: Process,
    pub address: SocketAddr,
    pub client: Client,
    /// From the start of the process to the first answer.
    pub ready_after: Duration,
}

impl Server {
    pub fn start(command: Command) -> Self {
        Self::try_start(command).unwrap_or_else(|refused| panic!("did not start: {refused:#?}"))
    }

    pub fn try_start(command: Command) -> Result<Self, Finished> {
        Self::try_start_through(command, true)
    }

    /// Starts one whose log nobody reads until [`Self::read_log`].
    pub fn start_unread(command: Command) -> Self {
        Self::try_start_through(command, false).unwrap_or_else(|_| panic!("did not start"))
    }

    pub fn read_log(&mut self) {
        self.process.stderr.begin();
    }

    fn try_start_through(command: Command, is_read: bool) -> Result<Self, Finished> {
        let started = Instant::now();
        let (found, address) = mpsc::channel();
        let mut process = Process::spawn_unread(command, move |line| {
            if let Some((_, address)) = line.trim_end().split_once("listens on http://") {
                let _ = found.send(address.parse::<SocketAddr>().unwrap());
            }
        });
        if is_read {
            process.stderr.begin();
        }
        match address.recv_timeout(PATIENCE) {
            Ok(address) => {
                let client = Client::of(address);
                assert_eq!(client.get("/").status, 404, "the first answer");
                Ok(Self { process, address, client, ready_after: started.elapsed() })
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                panic!("neither serves nor ends: {:?}", process.stderr.so_far())
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                process.stderr.begin();
                let status = process.wait();
                let (stdout, stderr) = process.said();
                Err(Finished { status, stdout, stderr })
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.child.id()
    }

    /// Resident memory in KiB.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process.child), signal).unwrap();
    }

    /// Waits until it has ended by itself.
    pub fn end(mut self) -> Finished {
        let status = self.process.wait();
        let (stdout, stderr) = self.process.said();
        Finished { status, stdout, stderr }
    }

    /// Asks it to stop, which it has to do well.
    pub fn stop(self) -> Finished {
        self.signal(Signal::TERM);
        let finished = self.end();
        assert!(finished.status.success(), "{finished:#?}");
        finished
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        self.kill_now();
    }

    pub fn kill_now(&mut self) {
        self.process.child.kill().unwrap();
        self.process.child.wait().unwrap();
    }

    pub fn said(&self) -> (String, String) {
        (self.process.stdout.so_far(), self.process.stderr.so_far())
    }

    /// A connection that the test writes to by hand.
    pub fn connect(&self) -> Line {
        Line::to(self.address)
    }

    /// Waits until nobody can connect any more: the server has begun to stop.
    pub fn wait_until_it_refuses(&self) {
        eventually("new connections are refused", || TcpStream::connect(self.address).is_err());
    }
}

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn field(&self, name: &str) -> String {
        self.json()[name].as_str().unwrap_or_else(|| panic!("no {name} in {self:?}")).to_owned()
    }

    /// Asserts what every error has: its status, JSON with a message, and an id.
    pub fn must_be_error(&self, status: u16) {
        assert_eq!(self.status, status, "{self:?}");
        assert!(!self.field("message").is_empty(), "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"), "{self:?}");
        assert!(self.header("x-request-id").is_some_and(|id| !id.is_empty()), "{self:?}");
    }

    /// Asserts that it is trouble of the server's own, worth another try.
    pub fn must_be_unavailable(&self) {
        self.must_be_error(503);
        let wait = self.header("retry-after").and_then(|wait| wait.parse::<u32>().ok());
        assert!(wait.is_some_and(|seconds| seconds > 0), "{self:?}");
    }
}

/// Somebody who has registered.
#[derive(Clone, Debug)]
pub struct Member {
    pub id: String,
    pub name: String,
    pub email: String,
    pub token: String,
}

/// Speaks HTTP to one server. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    agent: ureq::Agent,
    base: String,
}

impl Client {
    fn of(address: SocketAddr) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .timeout_global(Some(PATIENCE))
            .max_idle_connections(64)
            .max_idle_connections_per_host(64)
            .build();
        Self { agent: config.into(), base: format!("http://{address}") }
    }

    pub fn try_get(&self, path: &str, authorization: Option<&str>) -> Result<Answer, ureq::Error> {
        let mut request = self.agent.get(format!("{}{path}", self.base));
        if let Some(value) = authorization {
            request = request.header("Authorization", value);
        }
        read(request.call()?)
    }

    pub fn try_post(&self, path: &str, body: &Value) -> Result<Answer, ureq::Error> {
        let request = self.agent.post(format!("{}{path}", self.base));
        read(request.header("Content-Type", "application/json").send(body.to_string())?)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.try_get(path, None).unwrap()
    }

    /// Any request of somebody who is signed in.
    pub fn request(&self, method: &str, path: &str, token: &str, body: &Value) -> Answer {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("Authorization", format!("Bearer {token}"))
            .header("Content-Type", "application/json")
            .body(body.to_string())
            .unwrap();
        let request =
            self.agent.configure_request(request).allow_non_standard_methods(true).build();
        read(self.agent.run(request).unwrap()).unwrap()
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.try_post(path, body).unwrap()
    }

    pub fn try_guard(&self, token: &str) -> Result<Answer, ureq::Error> {
        self.try_get("/api/auth/guard", Some(&format!("Bearer {token}")))
    }

    /// The status that the guard answers to a token.
    pub fn guard(&self, token: &str) -> u16 {
        self.try_guard(token).unwrap().status
    }

    pub fn login(&self, email: &str, password: &str) -> Answer {
        self.post("/api/auth/login", &json!({"email": email, "password": password}))
    }

    pub fn profile(&self, id: &str) -> Answer {
        self.get(&format!("/api/user/{id}"))
    }

    /// Tries to register somebody without a password, which costs no hash.
    pub fn try_to_register(&self, email: &str) -> Answer {
        self.post("/api/user", &json!({"name": name_for(email), "email": email}))
    }

    /// Registers somebody without a password.
    pub fn register_quickly(&self, email: &str) -> Member {
        member(email, &self.try_to_register(email))
    }

    /// Registers somebody with [`PASSWORD`].
    pub fn register(&self, email: &str) -> Member {
        let body = json!({"name": name_for(email), "email": email, "password": PASSWORD});
        member(email, &self.post("/api/user", &body))
    }

    /// Asserts that a member is known by id and by token.
    pub fn must_know(&self, member: &Member) {
        let profile = self.profile(&member.id);
        assert_eq!(profile.status, 200, "{member:?}: {profile:?}");
        assert_eq!(profile.json(), json!({"id": member.id, "name": member.name}));
        assert_eq!(self.guard(&member.token), 200, "{member:?}");
    }
}

/// What a token or the feed says.
pub fn claims_of(token: &str) -> Value {
    let claims = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap()
}

/// A name that tells whose it is, so that a record with parts of two users would show.
pub fn name_for(email: &str) -> String {
    format!("Name of {email}")
}

/// The member that a registration made.
pub fn member(email: &str, answer: &Answer) -> Member {
    assert_eq!(answer.status, 201, "{answer:?}");
    Member {
        id: answer.field("id"),
        name: name_for(email),
        email: email.to_owned(),
        token: answer.field("token"),
    }
}

fn read(mut response: ureq::http::Response<ureq::Body>) -> Result<Answer, ureq::Error> {
    let body = response.body_mut().read_to_string()?;
    let headers = response.headers().iter();
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers = headers.map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect();
    Ok(Answer { status: response.status().as_u16(), headers, body })
}

/// A bare connection.
pub struct Line {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Line {
    fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream, unread: Vec::new() }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// Sends to a server that may stop listening half-way.
    pub fn send_if_it_listens(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref());
    }

    /// Sends the same again and again until the server closes the connection.
    pub fn send_until_it_is_closed(&mut self, bytes: impl AsRef<[u8]>) {
        while self.stream.write_all(bytes.as_ref()).is_ok() {}
    }

    /// Says that nothing more will be sent.
    pub fn hang_up(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Sends these bytes one by one for as long as the server listens, from a thread of its own.
    pub fn dribble(&self, bytes: &'static [u8], pause: Duration) {
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

    /// The next answer, of any status from 100 on; none if the connection ends before it does.
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

    /// Whether the connection ends without another answer.
    pub fn is_closed(&mut self) -> bool {
        while self.read_more() {}
        self.unread.is_empty()
    }

    /// Whether something can be read already.
    pub fn has_more(&self) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let has_more = self.stream.peek(&mut [0]).is_ok();
        self.stream.set_nonblocking(false).unwrap();
        has_more
    }

    /// Whether the server has closed the connection already.
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

/// An answer at the beginning of these bytes, and its length.
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

/// Waits for a condition.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let given_up = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < given_up, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Holds something to a time. It may be tried three times, because a machine that is busy with other tests can delay
/// anything.
#[track_caller]
pub fn must_take_less_than(limit: Duration, what: &str, mut try_it: impl FnMut(usize) -> Duration) {
    let mut times = Vec::new();
    while times.len() < 3 {
        let took = try_it(times.len());
        println!("{what}: {took:?}");
        if took < limit {
            return;
        }
        times.push(took);
    }
    panic!("{what}: {times:?}");
}

/// Whether a program can be run here.
pub fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}
