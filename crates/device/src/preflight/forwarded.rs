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
    /// An interface by which this machine would route, but that has no address yet.
    pub waits: Option<String>,
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
    if bridge.is_none() && !routes() {
        return Err(PreflightError::NotForwarded { lan: home.name, wan: internet.name });
    }
    let waiting = [&internet, &home].into_iter().find(|own| bridge.is_none() && !has_address(own));
    let waits = waiting.map(|own| own.name.clone());
    if privileges::missing(&[(CapabilitySet::NET_ADMIN, "")]).is_some() {
        return Err(PreflightError::PrivilegeToQueue);
    }
    let interfaces = [&home, &internet];
    // Packets are joined where they arrive.
    let mut names: Vec<String> = Vec::new();
    for name in interfaces.iter().flat_map(|interface| interface.with_lowers()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let offloads = names.iter().flat_map(|name| switched_on(name)).collect();
    let notes = interfaces.into_iter().filter_map(is_down).collect();
    Ok(Forwarded { home, internet, bridge, waits, offloads, notes })
}

/// Whether this machine routes between two interfaces.
pub fn routes_between(interfaces: [&Interface; 2]) -> bool {
    routes() && interfaces.into_iter().all(has_address)
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
