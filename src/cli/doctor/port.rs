//! The ports: whether another program has them.

use std::{fs, io::ErrorKind, net::SocketAddr, net::TcpListener, time::Duration};

use super::finding::{Kind, Report};
use crate::{
    Settings,
    config::{MetricsListen, reachable},
    outbound::http,
};

/// Checks the ports that a server needs at its start, if none runs. Otherwise only that of metrics, without which it starts.
pub(super) async fn check(report: &mut Report, settings: &Settings, is_stopped: bool) {
    if is_stopped {
        check_free(report, "listen", settings.listen);
    }
    match settings.metrics_listen {
        MetricsListen::Off => {}
        MetricsListen::At(address) if is_stopped => check_free(report, "metrics.listen", address),
        MetricsListen::At(address) => check_metrics(report, address).await,
        MetricsListen::Auto => check_metrics(report, MetricsListen::DEFAULT).await,
    }
}

fn check_free(report: &mut Report, setting: &str, address: SocketAddr) {
    let taken = TcpListener::bind(address).err().is_some_and(|e| e.kind() == ErrorKind::AddrInUse);
    if !taken {
        report.checked(format!("{setting}: no other program listens on {address}"));
        return;
    }
    let owner = owner(address.port());
    // systemd listens for a service with a socket unit, and starts it at the first connection.
    if owner.as_ref().is_some_and(|owner| owner.pid == 1) {
        report.checked(format!("{setting}: systemd listens on {address}"));
        return;
    }
    add(report, setting, address, owner);
}

/// Whether somebody else answers where the server would serve metrics.
async fn check_metrics(report: &mut Report, address: SocketAddr) {
    const LIMIT: Duration = Duration::from_secs(5);
    let address = reachable(address);
    let answer = http::get_from_own_server("http", address, "/metrics", LIMIT).await;
    let is_doorward = |body: &[u8]| String::from_utf8_lossy(body).contains("doorward_");
    match answer {
        Ok(answer) if is_doorward(&answer.body) => {
            report.checked(format!("metrics at {address}"));
        }
        Ok(_) => add(report, "metrics.listen", address, owner(address.port())),
        // Nobody listens, or not with HTTP: the start has logged it.
        Err(_) => {}
    }
}

fn add(report: &mut Report, setting: &str, address: SocketAddr, owner: Option<Owner>) {
    let program = owner.map_or_else(
        || "another program".to_owned(),
        |Owner { pid, name }| format!("{name} (process {pid})"),
    );
    report.add(
        Kind::PortTaken,
        format!("{program} listens on {address}, which {setting} names"),
        format!(
            "stop it, or choose another port; `ss -ltnp sport = :{}` names it to root",
            address.port()
        ),
    );
}

/// A process that listens.
struct Owner {
    pid: u32,
    name: String,
}

/// The process that listens on a port, as far as this user may know.
fn owner(port: u16) -> Option<Owner> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
        .map(|table| fs::read_to_string(table).unwrap_or_default());
    let sockets: Vec<_> = tables
        .iter()
        .flat_map(|table| table.lines())
        .filter_map(|line| listening(line, port))
        .collect();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let pids = processes.filter_map(|process| process.file_name().to_str()?.parse::<u32>().ok());
    let has_socket = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut targets = files.filter_map(|file| fs::read_link(file.path()).ok());
        targets.any(|target| sockets.iter().any(|socket| target.to_str() == Some(socket)))
    };
    // The first process of systemd also counts where it has passed the socket on.
    let pid = pids.filter(has_socket).min()?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(Owner { pid, name: name.trim_end().to_owned() })
}

/// The socket of a line of `/proc/net/tcp`, as links to it are called, if it listens on this port.
fn listening(line: &str, port: u16) -> Option<String> {
    const LISTEN: &str = "0A";
    let mut fields = line.split_whitespace().skip(1);
    let (_, of_line) = fields.next()?.rsplit_once(':')?;
    let state = fields.nth(1)?;
    let inode = fields.nth(5)?;
    let is_it = state == LISTEN && u16::from_str_radix(of_line, 16) == Ok(port);
    is_it.then(|| format!("socket:[{inode}]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listening_socket_is_found_in_the_table_of_the_kernel() {
        let line = "   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100";
        assert_eq!(listening(line, 3000).as_deref(), Some("socket:[4711]"));
        assert_eq!(listening(line, 3001), None);
        assert_eq!(listening(&line.replace(" 0A ", " 01 "), 3000), None, "connected");
        assert_eq!(listening("  sl  local_address rem_address   st", 3000), None);
    }

    #[test]
    fn a_port_that_another_program_has_is_found_with_its_name() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let mut report = Report::default();
        check_free(&mut report, "listen", address);
        assert_eq!(report.names(), ["port-taken"]);
        let finding = report.findings()[0].to_string();
        assert!(finding.contains(&format!("(process {})", std::process::id())), "{finding}");
        drop(taken);
        let mut report = Report::default();
        check_free(&mut report, "listen", address);
        assert!(report.names().is_empty());
    }
}
