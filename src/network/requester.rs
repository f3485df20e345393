//! Who sends a request: the client, and how limits and mail treat it.

use std::net::IpAddr;

use super::Network;
use crate::{language::Language, request_id::RequestId};

/// The client of a request, as sessions and events record it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientInfo {
    /// The IP address.
    pub address: IpAddr,
    /// The `User-Agent` header, without control characters and cut to [`Self::MAX_USER_AGENT`] bytes.
    pub user_agent: String,
}

impl ClientInfo {
    /// The maximum number of stored bytes of a `User-Agent` header.
    pub const MAX_USER_AGENT: usize = 256;

    /// The client with this address and `User-Agent` header.
    pub fn new(address: IpAddr, user_agent: &str) -> Self {
        let printable: String = user_agent.chars().filter(|c| !c.is_control()).collect();
        let end = printable.floor_char_boundary(Self::MAX_USER_AGENT);
        Self { address: address.to_canonical(), user_agent: printable[..end].to_owned() }
    }
}

/// Who sends a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    pub client: ClientInfo,
    /// Whether limits per network do not apply. This is so for requests from this machine that no proxy has forwarded to a
    /// service without a public URL: that is development, where tests and tools run at full speed.
    pub exempt_from_network_limits: bool,
    /// The language of mail that the request causes.
    pub language: Language,
    /// The id of the request, which its answer and the log show; `None` if an app that embeds Doorward does not log requests.
    pub request_id: Option<RequestId>,
}

impl Requester {
    /// For an app that knows only the client. It is never exempt from the limits of its network, because a proxy may have
    /// forwarded the request.
    pub fn new(client: ClientInfo) -> Self {
        Self {
            client,
            exempt_from_network_limits: false,
            language: Language::default(),
            request_id: None,
        }
    }

    pub fn network(&self) -> Network {
        Network::at(self.client.address)
    }

    /// The network whose budgets the request is charged to; `None` if it is exempt.
    pub fn limited_network(&self) -> Option<Network> {
        (!self.exempt_from_network_limits).then(|| self.network())
    }
}
