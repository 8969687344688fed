//! Which way to frames: packet sockets or AF_XDP, decided by looking, before anything is touched.

use rustix::thread::CapabilitySet;

use crate::device::{Io, Offloads, VLAN_STRIPPING, XdpPort, addresses};
use crate::preflight::{Plan, PreflightError};

/// What the user wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum IoChoice {
    /// The one that serves best here.
    Auto,
    /// AF_PACKET: any Ethernet interface.
    Packet,
    /// AF_XDP: where the driver runs XDP programs; refused with the reason elsewhere.
    Xdp,
}

impl Plan {
    /// Chooses, and notes what that means for the machine.
    ///
    /// # Errors
    /// If it has to be AF_XDP and cannot.
    pub fn choose(&mut self, choice: IoChoice) -> Result<(), PreflightError> {
        match choice {
            IoChoice::Packet => self.why = "asked for".into(),
            IoChoice::Auto => self.why = AUTO.into(),
            IoChoice::Xdp => {
                self.check_xdp()?;
                self.io = Io::Xdp;
                self.why = "asked for".into();
                self.prepare_xdp();
            }
        }
        Ok(())
    }

    fn check_xdp(&self) -> Result<(), PreflightError> {
        for interface in [&self.home, &self.internet] {
            if let Some(why) = XdpPort::unfit(interface) {
                return Err(PreflightError::NoXdp { name: interface.name.clone(), why });
            }
        }
        let effective =
            rustix::thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
        if effective.intersects(CapabilitySet::BPF | CapabilitySet::SYS_ADMIN) {
            Ok(())
        } else {
            Err(PreflightError::Privilege("CAP_BPF, to give frames to AF_XDP"))
        }
    }

    fn prepare_xdp(&mut self) {
        let addresses = addresses().unwrap_or_default();
        for interface in [&self.home, &self.internet] {
            let name = &interface.name;
            if Offloads::of(name).is_ok_and(|offloads| offloads.is_on(&VLAN_STRIPPING)) {
                self.offloads.push((name.clone(), VLAN_STRIPPING));
            }
            let is_reached_there = |(owner, address): &(String, std::net::IpAddr)| {
                let is_link_local = matches!(address, std::net::IpAddr::V6(v6) if v6.is_unicast_link_local());
                owner == name && !is_link_local
            };
            if addresses.iter().any(is_reached_there) {
                self.notes.push(format!(
                    "{name} has an address: with AF_XDP this machine hears no broadcasts there, so others no longer find it \
                     by ARP or neighbour discovery; --io packet keeps it reachable"
                ));
            }
            if interface.is_software() {
                self.notes.push(format!(
                    "{name} is no hardware: AF_XDP does not see VLAN tags that the sender's kernel carries beside the frame; \
                     --io packet does"
                ));
            }
        }
    }
}

/// Why AF_PACKET, by default: what `docs/gateway.md` says of speed and reachability.
const AUTO: &str = "it carries any home link and leaves this machine reachable; --io xdp takes less processor time where the driver runs XDP";
