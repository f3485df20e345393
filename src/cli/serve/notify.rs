//! Reports to the service manager (`sd_notify`): ready, reloading, stopping, alive.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::{ffi::OsStrExt, net::UnixDatagram},
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

/// The service manager, or nobody.
pub(super) struct Notifier {
    socket: Option<UnixDatagram>,
}

impl Notifier {
    /// Connects to the service manager that has passed this socket.
    pub(super) fn connect(path: Option<OsString>) -> Self {
        let socket = path.and_then(|path| {
            let log = |error: &_| {
                let path = path.display();
                tracing::warn!(%path, %error, "cannot report to the service manager (NOTIFY_SOCKET)");
            };
            connect(&path).inspect_err(log).ok()
        });
        Self { socket }
    }

    /// The service answers requests.
    pub(super) fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nSTATUS={status}\n"));
    }

    /// The service reads its settings again. [`Self::ready`] follows.
    pub(super) fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let micros = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={micros}\n"));
    }

    /// The service finishes the running requests and ends.
    pub(super) fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=Waiting for running requests\n");
    }

    /// Reports twice in each period that the process is alive. Both this task and the worker threads of the runtime must run
    /// for that: if either hangs, the service manager hears nothing and restarts the service.
    pub(super) async fn report_alive(&self, period: Option<Duration>) {
        let Some(period) = period else { return std::future::pending().await };
        loop {
            let _ = tokio::spawn(async {}).await;
            self.send("WATCHDOG=1\n");
            tokio::time::sleep(period / 2).await;
        }
    }

    fn send(&self, message: &str) {
        if let Some(socket) = &self.socket
            && let Err(error) = socket.send(message.as_bytes())
        {
            tracing::debug!(%error, "cannot report to the service manager");
        }
    }
}

/// A path, or an abstract address, which starts with `@`.
fn connect(path: &OsStr) -> io::Result<UnixDatagram> {
    /// A service manager that does not read must not stop the service.
    const SEND_TIMEOUT: Duration = Duration::from_secs(1);
    let socket = UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(SEND_TIMEOUT))?;
    match path.as_bytes().strip_prefix(b"@") {
        None => socket.connect(path)?,
        #[cfg(target_os = "linux")]
        Some(name) => {
            use std::os::{linux::net::SocketAddrExt, unix::net::SocketAddr};
            socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?;
        }
        #[cfg(not(target_os = "linux"))]
        Some(_) => return Err(io::ErrorKind::Unsupported.into()),
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::os::{linux::net::SocketAddrExt, unix::net::SocketAddr};

    use super::*;

    #[test]
    fn an_abstract_address_is_reached() {
        let name = format!("doorward-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let manager = UnixDatagram::bind_addr(&address).unwrap();
        Notifier::connect(Some(format!("@{name}").into())).ready("here");
        let mut message = [0; 100];
        let length = manager.recv(&mut message).unwrap();
        assert_eq!(&message[..length], b"READY=1\nSTATUS=here\n");
    }

    #[test]
    fn nothing_happens_without_a_service_manager() {
        Notifier::connect(None).ready("here");
        Notifier::connect(Some("/nowhere/notify".into())).ready("here");
    }
}
