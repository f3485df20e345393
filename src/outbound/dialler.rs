//! Connects to a host. Its name is resolved once, all its addresses are checked, and the connection goes to an address that was
//! checked: no second look-up can lead elsewhere.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ipnet::IpNet;
use tokio::net::{TcpStream, lookup_host};

use super::{
    in_time,
    special_use::{destination, is_special_use},
};

/// The most addresses of a host that are tried, so that each has a fair part of the time.
const MAX_ADDRESSES: u32 = 8;

/// Where the addresses of a host may be.
#[derive(Clone, Copy, Debug)]
pub enum Reach<'a> {
    /// Anywhere: the operator has written the host into the settings.
    Named,
    /// Somebody else has named the host: every address must be public or in one of these networks.
    Public { allowed: &'a [IpNet] },
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The address of the host is not known.
    #[error("{host} has no address: {error}")]
    Resolve { host: String, error: io::Error },
    /// The host leads to where only the operator may lead.
    #[error(
        "{host} has the address {address}, which is not public: if it may be asked, add the address to allow_networks"
    )]
    NotPublic { host: String, address: IpAddr },
    /// No address accepts a connection. It is the error of the last one.
    #[error("{address}: {error}")]
    Connect { address: SocketAddr, error: io::Error },
}

/// Connects to the first address of a host that accepts. `limit` is the time for finding the addresses, and for all of them
/// together.
///
/// # Errors
/// If the host has no address or one that `reach` excludes, or if none of them accepts.
pub async fn connect(
    host: &str,
    port: u16,
    reach: Reach<'_>,
    limit: Duration,
) -> Result<(TcpStream, SocketAddr), ConnectError> {
    let addresses = resolve(host, port, reach, limit).await?;
    connect_to_any(host, &addresses, limit).await
}

/// The addresses of a host, all of which may be connected to.
pub(super) async fn resolve(
    host: &str,
    port: u16,
    reach: Reach<'_>,
    limit: Duration,
) -> Result<Vec<SocketAddr>, ConnectError> {
    let found = in_time(limit, lookup_host((host, port))).await;
    let addresses: Vec<_> =
        found.map_err(|error| ConnectError::Resolve { host: host.to_owned(), error })?.collect();
    check(host, &addresses, reach)?;
    Ok(addresses)
}

/// One address that is excluded excludes the host: whoever names it chooses the order of its addresses.
fn check(host: &str, addresses: &[SocketAddr], reach: Reach<'_>) -> Result<(), ConnectError> {
    let Reach::Public { allowed } = reach else { return Ok(()) };
    let is_excluded = |address: &IpAddr| {
        is_special_use(*address) && !allowed.iter().any(|network| network.contains(address))
    };
    match addresses.iter().map(|address| destination(address.ip())).find(is_excluded) {
        Some(address) => Err(ConnectError::NotPublic { host: host.to_owned(), address }),
        None => Ok(()),
    }
}

/// Connects to the first of these addresses of a host that accepts.
pub(super) async fn connect_to_any(
    host: &str,
    addresses: &[SocketAddr],
    limit: Duration,
) -> Result<(TcpStream, SocketAddr), ConnectError> {
    let error = io::ErrorKind::NotFound.into();
    let mut failure = ConnectError::Resolve { host: host.to_owned(), error };
    let count = u32::try_from(addresses.len()).unwrap_or(MAX_ADDRESSES).clamp(1, MAX_ADDRESSES);
    for address in addresses.iter().copied().take(count as usize) {
        match in_time(limit / count, TcpStream::connect(address)).await {
            Ok(stream) => return Ok((stream, address)),
            Err(error) => failure = ConnectError::Connect { address, error },
        }
    }
    Err(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    fn checked(addresses: &[&str], allowed: &[&str]) -> Result<(), String> {
        let parse = |address: &&str| SocketAddr::new(address.parse().unwrap(), 443);
        let addresses: Vec<_> = addresses.iter().map(parse).collect();
        let allowed: Vec<IpNet> = allowed.iter().map(|network| network.parse().unwrap()).collect();
        check("a.example", &addresses, Reach::Public { allowed: &allowed })
            .map_err(|error| error.to_string())
    }

    #[test]
    fn one_special_address_excludes_the_host() {
        let error = "a.example has the address 10.0.0.1, which is not public: if it may be asked, add the address to allow_networks";
        assert_eq!(checked(&["8.8.8.8", "2606:4700::1111"], &[]), Ok(()));
        for special in ["10.0.0.1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1"] {
            assert_eq!(checked(&["8.8.8.8", special], &[]), Err(error.to_owned()), "{special}");
            assert_eq!(checked(&["8.8.8.8", special], &["10.0.0.0/24"]), Ok(()), "{special}");
            assert!(checked(&[special, "10.0.1.0"], &["10.0.0.0/24"]).is_err(), "{special}");
        }
        assert_eq!(checked(&["fd00::1", "::1"], &["fd00::/8", "::1/128"]), Ok(()));
    }

    #[tokio::test]
    async fn a_name_of_this_machine_leads_here_only_if_the_operator_says_so() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let networks = ["127.0.0.0/8", "::1/128"].map(|network| network.parse().unwrap());
        // The system also reads the last three as this address.
        for host in ["localhost", "127.0.0.1", "::ffff:127.0.0.1", "127.1", "0x7f.1", "2130706433"]
        {
            let refused = connect(host, port, Reach::Public { allowed: &[] }, LIMIT).await;
            assert!(matches!(refused, Err(ConnectError::NotPublic { .. })), "{host}: {refused:?}");
            for reach in [Reach::Named, Reach::Public { allowed: &networks }] {
                let (_, address) = connect(host, port, reach, LIMIT).await.unwrap();
                assert!(address.ip().to_canonical().is_loopback());
            }
        }
        let unknown = connect("name.invalid", port, Reach::Named, LIMIT).await.unwrap_err();
        assert!(unknown.to_string().starts_with("name.invalid has no address: "), "{unknown}");
    }

    #[tokio::test]
    async fn the_next_address_is_tried() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listener.local_addr().unwrap();
        let closed = SocketAddr::from(([127, 0, 0, 1], 1));
        let (_, address) = connect_to_any("a.example", &[closed, open], LIMIT).await.unwrap();
        assert_eq!(address, open);
        let error = connect_to_any("a.example", &[closed], LIMIT).await.unwrap_err();
        assert!(matches!(error, ConnectError::Connect { address, .. } if address == closed));
        let error = connect_to_any("a.example", &[], LIMIT).await.unwrap_err();
        assert!(matches!(error, ConnectError::Resolve { .. }), "{error}");
    }
}
