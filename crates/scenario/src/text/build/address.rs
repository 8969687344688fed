//! Addresses and ports of flows. Hosts at home count up from 192.168.1.10, servers from 198.51.100.10 (RFC 5737). Each
//! flow has [`PORTS`] source ports of its own, so that flows which open many connections do not collide.

use gamelane_traffic::{App, Transport};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use gamelane_core::{Catalogued, FlowKey, Protocol};

/// Source ports of a flow.
pub(super) const PORTS: u16 = 64;
/// Most flows with distinct addresses.
pub(super) const MOST_FLOWS: usize = 1000;

/// Hosts at home, in the order in which they were first named.
#[derive(Default)]
pub(super) struct Hosts(Vec<Option<String>>);

impl Hosts {
    pub(super) fn new(names: &[String]) -> Self {
        Self(names.iter().cloned().map(Some).collect())
    }

    /// The position of a named host, which is added if new. Without a name, the position of a new host.
    pub(super) fn place(&mut self, name: Option<&str>) -> usize {
        let known = name.and_then(|name| self.0.iter().position(|host| host.as_deref() == Some(name)));
        known.unwrap_or_else(|| {
            self.0.push(name.map(String::from));
            self.0.len() - 1
        })
    }
}

/// The flow key, from home to internet.
pub(super) fn key(flow: usize, host: usize, app: App) -> FlowKey {
    let facts = &app.descriptor().facts;
    let protocol = match facts.transport {
        Transport::Udp => Protocol::Udp,
        Transport::Tcp => Protocol::Tcp,
    };
    let home = [192, 168, 1 + (host / 200) as u8, 10 + (host % 200) as u8];
    let server = [198, 51, 100, 10 + (flow % 200) as u8];
    FlowKey {
        source: address(home, 49_152 + PORTS * (flow % 256) as u16),
        destination: address(server, facts.server_port),
        protocol,
    }
}

fn address(octets: [u8; 4], port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::from(octets)), port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_flows_share_a_key_even_on_one_host() {
        let keys: BTreeSet<FlowKey> = (0..MOST_FLOWS).map(|flow| key(flow, 0, App::Game)).collect();
        assert_eq!(keys.len(), MOST_FLOWS);
    }

    #[test]
    fn hosts_are_found_again_by_name_only() {
        let mut hosts = Hosts::new(&["tv".into()]);
        assert_eq!(hosts.place(Some("phone")), 1);
        assert_eq!(hosts.place(None), 2);
        assert_eq!(hosts.place(None), 3);
        assert_eq!(hosts.place(Some("tv")), 0);
    }
}
