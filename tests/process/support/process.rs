//! Child processes and their output.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use super::eventually;

/// The exit status and output of a process.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a process to completion, and kills it if it does not exit in time.
pub fn run(command: Command) -> Finished {
    let mut process = Process::spawn(command, |_| {});
    let status = process.wait();
    let (stdout, stderr) = process.output();
    Finished { status, stdout, stderr }
}

/// A child process that does not outlive the test.
pub struct Process {
    pub child: Child,
    pub stdout: CapturedPipe,
    pub stderr: CapturedPipe,
}

impl Process {
    fn spawn(command: Command, on_line: impl FnMut(&str) + Send + 'static) -> Self {
        let mut process = Self::spawn_unread(command, on_line);
        process.stderr.start_reading();
        process
    }

    /// A process whose stderr is not read before `start_reading`.
    pub fn spawn_unread(mut command: Command, on_line: impl FnMut(&str) + Send + 'static) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = CapturedPipe::record(child.stdout.take().unwrap(), on_line);
        let stderr = CapturedPipe::unread(child.stderr.take().unwrap());
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

    /// The whole output of a process that has exited.
    pub fn output(&mut self) -> (String, String) {
        (self.stdout.end(), self.stderr.end())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a pipe in a thread and keeps everything that comes out of it.
pub struct CapturedPipe {
    text: Arc<Mutex<String>>,
    recorder: Option<JoinHandle<()>>,
    unread: Option<Box<dyn Read + Send>>,
}

impl CapturedPipe {
    fn unread(pipe: impl Read + Send + 'static) -> Self {
        Self { text: Arc::default(), recorder: None, unread: Some(Box::new(pipe)) }
    }

    /// Starts to read an unread pipe.
    pub fn start_reading(&mut self) {
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

    /// The whole text. The process at the other end must have exited.
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
