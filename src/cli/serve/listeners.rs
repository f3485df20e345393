//! The sockets that the service listens on: its own, or those that the service manager keeps open across restarts.

use std::{io, net::SocketAddr};

use anyhow::Context;
use tokio::net::{TcpListener, TcpSocket};

use crate::config::{MetricsListen, ServiceManager};

/// The name of the socket for metrics. Every other socket is for HTTP.
const METRICS: &str = "metrics";

/// The sockets for HTTP and the address of the first: those that the service manager passes, or else one on `wanted`.
pub(super) fn for_http(
    service_manager: &mut ServiceManager,
    wanted: SocketAddr,
) -> anyhow::Result<(Vec<TcpListener>, SocketAddr)> {
    let passed = service_manager.take_sockets(|name| name != METRICS)?;
    let Some((first, _)) = passed.first() else {
        let listener = listen(wanted).with_context(|| {
            format!("cannot listen on {wanted} (choose another address with --listen)")
        })?;
        let address = listener.local_addr()?;
        return Ok((vec![listener], address));
    };
    let address = *first;
    if passed.iter().all(|(address, _)| *address != wanted) {
        tracing::warn!(
            %address, listen = %wanted,
            "the service manager listens on another address than the setting listen: set listen to the same address"
        );
    }
    let adopted = passed.into_iter().map(|(_, socket)| adopt(socket));
    Ok((adopted.collect::<io::Result<_>>()?, address))
}

/// Whether only this machine can connect to these sockets.
pub(super) fn are_on_loopback(listeners: &[TcpListener]) -> bool {
    let is_loopback = |address: SocketAddr| address.ip().to_canonical().is_loopback();
    listeners.iter().all(|listener| listener.local_addr().is_ok_and(is_loopback))
}

/// The sockets for programs that watch the service. The default address is not worth a failed start: another program, or a second
/// instance, may use it.
pub(super) fn for_metrics(
    service_manager: &mut ServiceManager,
    wanted: MetricsListen,
) -> anyhow::Result<Vec<TcpListener>> {
    let passed = service_manager.take_sockets(|name| name == METRICS)?;
    if !passed.is_empty() {
        let adopted = passed.into_iter().map(|(address, socket)| {
            tracing::info!(%address, "serving metrics");
            adopt(socket)
        });
        return Ok(adopted.collect::<io::Result<_>>()?);
    }
    let (address, is_default) = match wanted {
        MetricsListen::Off => return Ok(Vec::new()),
        MetricsListen::Auto => (MetricsListen::DEFAULT, true),
        MetricsListen::At(address) => (address, false),
    };
    match listen(address) {
        Ok(listener) => {
            let address = listener.local_addr()?;
            tracing::info!(%address, "serving metrics");
            Ok(vec![listener])
        }
        Err(error) if is_default => {
            tracing::warn!(
                %address,
                %error,
                "metrics are not served: choose another address with --metrics-listen, or off"
            );
            Ok(Vec::new())
        }
        Err(error) => Err(error).with_context(|| {
            format!("cannot listen on {address} for metrics (choose another address with --metrics-listen, or off)")
        }),
    }
}

fn adopt(socket: std::net::TcpListener) -> io::Result<TcpListener> {
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    /// Connections that wait to be accepted. With the usual 128, a burst of clients is delayed by a second.
    const BACKLOG: u32 = 4096;
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
