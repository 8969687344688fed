//! Two interfaces between which this kernel forwards already.

use std::net::IpAddr;

use rustix::thread::CapabilitySet;

use super::error::PreflightError;
use super::{find, is_down, switched_on};
use crate::interface::{Interface, Offload, addresses};
use crate::privileges;

/// What is known of them.
#[derive(Debug)]
pub struct Forwarded {
    /// Interface towards the home.
    pub home: Interface,
    /// Interface towards the internet.
    pub internet: Interface,
    /// The bridge that both are ports of; `None`: this machine routes.
    pub bridge: Option<String>,
    /// Offloads that are on, each with the name of its interface. They join packets.
    pub offloads: Vec<(String, Offload)>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Checks two interfaces whose queues are to be set. `sides` is what the command calls them.
///
/// # Errors
/// The first thing that is wrong.
pub fn forwarded(sides: [&'static str; 2], names: [&str; 2]) -> Result<Forwarded, PreflightError> {
    let [home, internet] = [find(sides[0], names[0])?, find(sides[1], names[1])?];
    if home.index == internet.index {
        return Err(PreflightError::Same { sides, name: names[0].into() });
    }
    let masters = [home.master(), internet.master()];
    let bridge = match &masters {
        [Some(one), Some(other)] if one == other => Some(one.clone()),
        _ => None,
    };
    for ((side, interface), master) in sides.into_iter().zip([&home, &internet]).zip(masters) {
        let name = || interface.name.clone();
        if interface.is_loopback {
            return Err(PreflightError::Loopback { side, name: name() });
        }
        if let (None, Some(master)) = (&bridge, master) {
            return Err(PreflightError::Part { side, name: name(), master });
        }
    }
    if bridge.is_none() && !(routes() && [&home, &internet].into_iter().all(has_address)) {
        return Err(PreflightError::NotForwarded { lan: home.name, wan: internet.name });
    }
    if privileges::missing(&[(CapabilitySet::NET_ADMIN, "")]).is_some() {
        return Err(PreflightError::PrivilegeToQueue);
    }
    let interfaces = [&home, &internet];
    let offloads = interfaces.into_iter().flat_map(|interface| switched_on(&interface.name)).collect();
    let notes = interfaces.into_iter().filter_map(is_down).collect();
    Ok(Forwarded { home, internet, bridge, offloads, notes })
}

/// Whether this machine forwards packets of IPv4 or IPv6.
fn routes() -> bool {
    ["ipv4/ip_forward", "ipv6/conf/all/forwarding"].into_iter().any(|key| {
        std::fs::read_to_string(format!("/proc/sys/net/{key}")).is_ok_and(|value| value.trim() == "1")
    })
}

/// Whether others can send to this machine over it. Every interface has a link-local address.
fn has_address(interface: &Interface) -> bool {
    let is_global = |address: &IpAddr| !matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
    let all = addresses().unwrap_or_default();
    all.iter().any(|(owner, address)| *owner == interface.name && is_global(address))
}
