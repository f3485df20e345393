//! What a service manager such as systemd passes to the process: sockets to listen on, where to report the state, and how
//! often to report that the process is alive.

use std::{
    ffi::{OsStr, OsString},
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::OwnedFd,
    process,
    time::Duration,
};

use listenfd::ListenFd;

use super::SettingsError;

/// What the service manager has passed. Empty if the process was started by something else.
#[derive(Default)]
pub(crate) struct ServiceManager {
    /// Where notifications go (`NOTIFY_SOCKET`).
    pub(crate) notify_socket: Option<OsString>,
    /// The service manager ends the process if it hears nothing for this long (`WATCHDOG_USEC`).
    pub(crate) watchdog: Option<Duration>,
    /// Sockets and their names (`LISTEN_FDS`, `LISTEN_FDNAMES`).
    sockets: Vec<(String, TcpListener)>,
}

impl ServiceManager {
    /// Takes what the service manager has passed to this process. Must be called before other threads are started, because
    /// it removes the variables that announce the sockets. A second call finds no sockets.
    ///
    /// # Errors
    /// If a socket is not a TCP socket that listens.
    pub(crate) fn take(environment: &[(OsString, OsString)]) -> Result<Self, SettingsError> {
        let mut passed = ListenFd::from_env();
        let names = text(environment, "LISTEN_FDNAMES").unwrap_or_default();
        let mut names = names.split(':');
        let mut sockets = Vec::new();
        for index in 0..passed.len() {
            let name = names.next().unwrap_or_default().to_owned();
            let refuse = |cause: &dyn std::fmt::Display| {
                SettingsError::new(format!(
                    "socket {} of the service manager (\"{name}\"): {cause}: use ListenStream= with an address and a \
                     port, and Accept=no",
                    index + 1
                ))
            };
            let socket = passed.take_tcp_listener(index).map_err(|error| refuse(&error))?;
            let socket = socket.ok_or_else(|| refuse(&"not a socket"))?;
            let socket = listening(socket).ok_or_else(|| refuse(&"it is a connection"))?;
            sockets.push((name, socket));
        }
        let notify_socket = value(environment, "NOTIFY_SOCKET").map(OsStr::to_owned);
        Ok(Self { notify_socket, watchdog: watchdog(environment, process::id()), sockets })
    }

    /// Takes the sockets whose names satisfy the condition, with their addresses.
    pub(crate) fn take_sockets(
        &mut self,
        is_wanted: impl Fn(&str) -> bool,
    ) -> std::io::Result<Vec<(SocketAddr, TcpListener)>> {
        let sockets = self.sockets.extract_if(.., |(name, _)| is_wanted(name));
        sockets.map(|(_, socket)| Ok((socket.local_addr()?, socket))).collect()
    }
}

/// The socket, unless it is a connection, which `Accept=yes` passes.
fn listening(socket: TcpListener) -> Option<TcpListener> {
    let stream = TcpStream::from(OwnedFd::from(socket));
    let is_connected = stream.peer_addr().is_ok();
    (!is_connected).then(|| TcpListener::from(OwnedFd::from(stream)))
}

/// How often the process has to report, if the service manager expects it of the process with this id.
fn watchdog(environment: &[(OsString, OsString)], own_id: u32) -> Option<Duration> {
    if let Some(id) = text(environment, "WATCHDOG_PID")
        && id.parse() != Ok(own_id)
    {
        return None;
    }
    let micros = text(environment, "WATCHDOG_USEC")?.parse().ok().filter(|micros| *micros > 0)?;
    Some(Duration::from_micros(micros))
}

fn value<'e>(environment: &'e [(OsString, OsString)], name: &str) -> Option<&'e OsStr> {
    let (_, value) = environment.iter().find(|(variable, _)| variable == name)?;
    Some(value).filter(|value| !value.is_empty()).map(OsString::as_os_str)
}

fn text<'e>(environment: &'e [(OsString, OsString)], name: &str) -> Option<&'e str> {
    value(environment, name)?.to_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_is_that_of_this_process() {
        let watchdog = |variables: &[(&str, &str)]| {
            let variables: Vec<_> = variables.iter().map(|(n, v)| (n.into(), v.into())).collect();
            watchdog(&variables, 42).map(|period| period.as_millis())
        };
        let period = ("WATCHDOG_USEC", "3000000");
        assert_eq!(watchdog(&[period]), Some(3000));
        assert_eq!(watchdog(&[period, ("WATCHDOG_PID", "42")]), Some(3000));
        assert_eq!(watchdog(&[period, ("WATCHDOG_PID", "43")]), None);
        assert_eq!(watchdog(&[("WATCHDOG_PID", "42")]), None);
        for odd in ["", "0", "-1", "soon"] {
            assert_eq!(watchdog(&[("WATCHDOG_USEC", odd)]), None);
        }
    }

    #[test]
    fn a_connection_is_not_a_socket_that_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        // Kept open: closing it resets the connection, which then has no peer.
        let listener = listening(listener);
        assert!(listener.is_some());
        assert!(listening(TcpListener::from(OwnedFd::from(client))).is_none());
    }
}
