//! Child processes and their output.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Sender, channel},
    },
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
    let mut process = Process::spawn(command, |_| false);
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
    /// A process whose stderr is read up to the line at which `pauses` is true, and then not before `go_on`.
    pub fn spawn(mut command: Command, pauses: impl FnMut(&str) -> bool + Send + 'static) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = CapturedPipe::record(child.stdout.take().unwrap(), |_| false);
        let stderr = CapturedPipe::record(child.stderr.take().unwrap(), pauses);
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
    /// Dropped when the thread may go on after a pause.
    pause: Option<Sender<()>>,
}

impl CapturedPipe {
    fn record(
        pipe: impl Read + Send + 'static,
        mut pauses: impl FnMut(&str) -> bool + Send + 'static,
    ) -> Self {
        let text = Arc::<Mutex<String>>::default();
        let recorded = Arc::clone(&text);
        let (pause, end_of_pause) = channel::<()>();
        let recorder = thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while pipe.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
                let read = String::from_utf8_lossy(&line).into_owned();
                recorded.lock().unwrap().push_str(&read);
                if pauses(&read) {
                    let _ = end_of_pause.recv();
                }
                line.clear();
            }
        });
        Self { text, recorder: Some(recorder), pause: Some(pause) }
    }

    /// Ends a pause.
    pub fn go_on(&mut self) {
        self.pause = None;
    }

    /// The whole text. The process at the other end must have exited.
    fn end(&mut self) -> String {
        self.go_on();
        if let Some(recorder) = self.recorder.take() {
            recorder.join().unwrap();
        }
        self.so_far()
    }

    pub fn so_far(&self) -> String {
        self.text.lock().unwrap().clone()
    }
}
