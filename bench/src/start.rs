//! The time from the launch of a program to its first answer.

use std::{
    ffi::OsString,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::bail;

/// Starts a program, polls it until it answers, prints the milliseconds that took, and stops it
#[derive(clap::Args)]
pub(crate) struct Start {
    /// The address on which it listens
    address: SocketAddr,
    /// The path to request
    #[arg(long, default_value = "/api/user/x")]
    path: String,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

impl Start {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        const START_TIMEOUT: Duration = Duration::from_secs(60);
        let started = Instant::now();
        let mut program = Command::new(&self.program[0]);
        program.args(&self.program[1..]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = program.spawn()?;
        while !self.answers() {
            if let Some(status) = running.try_wait()? {
                bail!("the program ended: {status}");
            }
            if started.elapsed() > START_TIMEOUT {
                running.kill()?;
                bail!("no answer");
            }
            thread::sleep(Duration::from_micros(100));
        }
        println!("{}", started.elapsed().as_secs_f64() * 1000.0);
        running.kill()?;
        running.wait()?;
        Ok(())
    }

    fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(self.address) else { return false };
        let request = format!("GET {} HTTP/1.1\r\nhost: bench\r\n\r\n", self.path);
        let mut answer = [0; 12];
        stream.write_all(request.as_bytes()).is_ok()
            && stream.read_exact(&mut answer).is_ok()
            && answer.starts_with(b"HTTP/1.")
    }
}
