//! Chooses packet sockets or AF_XDP by looking, before anything is changed.

use std::net::IpAddr;

use rustix::thread::CapabilitySet;

use super::error::PreflightError;
use crate::interface::{Interface, Offload, Offloads, VLAN_STRIPPING, addresses};
use crate::port::Io;
use crate::privileges;
use crate::xdp::XdpPort;

/// What the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum IoChoice {
    /// AF_PACKET, which is enough for any home link.
    Auto,
    /// AF_PACKET: any Ethernet interface.
    Packet,
    /// AF_XDP: where the driver runs XDP programs; refused with the reason elsewhere.
    Xdp,
}

/// What was chosen, and what that means for the machine.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) io: Io,
    pub(super) why: &'static str,
    pub(super) offloads: Vec<(String, Offload)>,
    pub(super) notes: Vec<String>,
}

/// Chooses for these two interfaces.
pub(super) fn choose(choice: IoChoice, interfaces: [&Interface; 2]) -> Result<Chosen, PreflightError> {
    match choice {
        IoChoice::Packet => Ok(Chosen::packet("asked for")),
        IoChoice::Auto => Ok(Chosen::packet(AUTO)),
        IoChoice::Xdp => {
            check_xdp(interfaces)?;
            Ok(Chosen::xdp(interfaces))
        }
    }
}

fn check_xdp(interfaces: [&Interface; 2]) -> Result<(), PreflightError> {
    for interface in interfaces {
        if let Some(why) = XdpPort::unfit(interface) {
            return Err(PreflightError::NoXdp { name: interface.name.clone(), why });
        }
    }
    let either = CapabilitySet::BPF | CapabilitySet::SYS_ADMIN;
    match privileges::missing(&[(either, "CAP_BPF, to give frames to AF_XDP")]) {
        Some(purpose) => Err(PreflightError::Privilege(purpose)),
        None => Ok(()),
    }
}

impl Chosen {
    const fn packet(why: &'static str) -> Self {
        Self { io: Io::Packet, why, offloads: Vec::new(), notes: Vec::new() }
    }

    fn xdp(interfaces: [&Interface; 2]) -> Self {
        let addresses = addresses().unwrap_or_default();
        let (mut offloads, mut notes) = (Vec::new(), Vec::new());
        for interface in interfaces {
            let name = &interface.name;
            if Offloads::of(name).is_ok_and(|offloads| offloads.is_on(&VLAN_STRIPPING)) {
                offloads.push((name.clone(), VLAN_STRIPPING));
            }
            let is_reached_there = |(owner, address): &(String, IpAddr)| {
                let is_link_local = matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
                owner == name && !is_link_local
            };
            if addresses.iter().any(is_reached_there) {
                notes.push(format!(
                    "{name} has an address: with AF_XDP this machine receives no broadcasts there, so others can no longer find \
                     it by ARP or neighbour discovery; --io packet keeps it reachable"
                ));
            }
        }
        Self { io: Io::Xdp, why: "asked for", offloads, notes }
    }
}

/// Why AF_PACKET is the default. `docs/gateway.md` has the measurements.
const AUTO: &str = "it carries any home link and leaves this machine reachable; --io xdp takes less processor time where the driver runs XDP";
