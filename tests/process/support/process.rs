//! Child processes and what they print.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use super::eventually;

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

/// A child process that does not outlive the test.
pub struct Process {
    pub child: Child,
    pub stdout: Tape,
    pub stderr: Tape,
}

impl Process {
    fn spawn(command: Command, on_line: impl FnMut(&str) + Send + 'static) -> Self {
        let mut process = Self::spawn_unread(command, on_line);
        process.stderr.begin();
        process
    }

    /// A process whose stderr is not read before `begin`.
    pub fn spawn_unread(mut command: Command, on_line: impl FnMut(&str) + Send + 'static) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = Tape::record(child.stdout.take().unwrap(), on_line);
        let stderr = Tape::unread(child.stderr.take().unwrap());
        Self { child, stdout, stderr }
    }

    pub fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the process ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// What an ended process has said.
    pub fn said(&mut self) -> (String, String) {
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
pub struct Tape {
    text: Arc<Mutex<String>>,
    recorder: Option<JoinHandle<()>>,
    unread: Option<Box<dyn Read + Send>>,
}

impl Tape {
    fn unread(pipe: impl Read + Send + 'static) -> Self {
        Self { text: Arc::default(), recorder: None, unread: Some(Box::new(pipe)) }
    }

    /// Begins to record what nobody has read so far.
    pub fn begin(&mut self) {
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

    pub fn so_far(&self) -> String {
        self.text.lock().unwrap().clone()
    }
}
