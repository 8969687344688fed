//! Everything that can be known to be wrong before anything is touched.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::Path;

use gamelane_core::{Bitrate, Direction};
use rustix::thread::CapabilitySet;

use crate::device::{Interface, Io, OFFLOADS, Offload, Offloads, addresses};
use crate::io::IoChoice;
use crate::policy::Policy;

/// What a gateway would do to this machine.
#[derive(Debug)]
pub struct Plan {
    /// Towards the home.
    pub home: Interface,
    /// Towards the internet.
    pub internet: Interface,
    /// Offloads that are on and will be switched off, by the name of the interface.
    pub offloads: Vec<(String, Offload)>,
    /// The way to frames.
    pub io: Io,
    /// Why that one.
    pub why: String,
    /// What its owner should know.
    pub notes: Vec<String>,
}

/// What would be done to this machine by whoever turns frames of one interface aside.
#[derive(Debug)]
pub struct Alone {
    /// Whose frames.
    pub interface: Interface,
    /// Offloads that are on and will be switched off, by the name of the interface.
    pub offloads: Vec<(String, Offload)>,
    /// What its owner should know.
    pub notes: Vec<String>,
}

/// Why a gateway cannot be.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// No such interface.
    #[error("{side} {name}: {error}\n  hint:    `ip -br link` lists the interfaces there are")]
    Missing {
        /// As the command calls it: `--lan`, say.
        side: &'static str,
        /// As given.
        name: String,
        /// What the kernel said.
        error: std::io::Error,
    },
    /// Not Ethernet.
    #[error(
        "{side} {name}: this is no Ethernet interface, so there are no frames to bridge\n  hint:    name the \
             Ethernet interface that a tunnel or PPP runs over"
    )]
    NotEthernet {
        /// As the command calls it: `--lan`, say.
        side: &'static str,
        /// As given.
        name: String,
    },
    /// Both the same.
    #[error("{} and {} are both {name}: a bridge has two ends", sides[0], sides[1])]
    Same {
        /// As the command calls them.
        sides: [&'static str; 2],
        /// The interface.
        name: String,
    },
    /// Somebody else forwards its frames.
    #[error(
        "{side} {name}: it is part of {master}, which forwards its frames already\n  hint:    `ip link set {name} \
             nomaster` takes it out"
    )]
    Enslaved {
        /// As the command calls it: `--lan`, say.
        side: &'static str,
        /// As given.
        name: String,
        /// A bridge or bond.
        master: String,
    },
    /// Alone it is the wrong one.
    #[error(
        "{side} {name}: it is part of {master}, which forwards its frames\n  hint:    `{master}` itself is what this \
             machine sends by"
    )]
    Part {
        /// As the command calls it.
        side: &'static str,
        /// As given.
        name: String,
        /// A bridge or bond.
        master: String,
    },
    /// Not from this machine to others.
    #[error(
        "{side} {name}: Linux takes packets from 127.0.0.1 only if they never left its own hands, so they cannot be \
             turned aside\n  hint:    put one end into a network namespace of its own, and name the interface that leads there"
    )]
    Loopback {
        /// As the command calls it.
        side: &'static str,
        /// As given.
        name: String,
    },
    /// The user's own way in.
    #[error(
        "{side} {name}: you are logged in over it, from {client}: a mistake would lock you out\n  hint:    use the \
             console or another interface, or say --allow-login-interface"
    )]
    Login {
        /// As the command calls it: `--lan`, say.
        side: &'static str,
        /// As given.
        name: String,
        /// Where the user comes from.
        client: IpAddr,
    },
    /// AF_XDP was asked for.
    #[error("--io xdp: {name}: {why}")]
    NoXdp {
        /// The interface.
        name: String,
        /// Why it cannot be, and what helps.
        why: String,
    },
    /// Not allowed.
    #[error(
        "this needs {0}\n  hint:    run it as root, or `setcap cap_net_raw,cap_net_admin+ep` on the program; \
             for --io xdp cap_bpf, too"
    )]
    Privilege(&'static str),
    /// Not allowed.
    #[error(
        "this needs {0}\n  hint:    run it as root, or `setcap cap_net_raw,cap_net_admin,cap_sys_admin+ep` on the program"
    )]
    PrivilegeAlone(&'static str),
    /// The policy was made for another link.
    #[error(
        "`gateway.shape.{direction}`: {shape} is above the {speed} of {name}: this policy is for another link\n  \
             hint:    the queue would form below the gateway; shape to a little less than the link really has"
    )]
    AnotherLink {
        /// `up` or `down`.
        direction: &'static str,
        /// As the policy has it.
        shape: Bitrate,
        /// Of the interface.
        speed: Bitrate,
        /// It.
        name: String,
    },
}

/// Looks at everything and touches nothing.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(
    lan: &str,
    wan: &str,
    policy: &Policy,
    io: IoChoice,
    allow_login: bool,
) -> Result<Plan, PreflightError> {
    let mut plan = interfaces(["--lan", "--wan"], [lan, wan], allow_login)?;
    plan.choose(io)?;
    plan.notes.splice(..0, policy.notes.iter().cloned());
    let internet = &plan.internet;
    for direction in Direction::BOTH {
        let shape = policy.lanes[direction.index()].shape.as_ref().map(|shape| shape.rate);
        if let (Some(shape), Some(speed)) = (shape, speed(&internet.name))
            && shape > speed
        {
            let (direction, name) = (direction.name(), internet.name.clone());
            return Err(PreflightError::AnotherLink { direction, shape, speed, name });
        }
    }
    Ok(plan)
}

/// The same for whoever bridges two interfaces, under whatever policy: `sides` are what the command calls them.
///
/// # Errors
/// The first thing that is wrong.
pub fn interfaces(
    sides: [&'static str; 2],
    names: [&str; 2],
    allow_login: bool,
) -> Result<Plan, PreflightError> {
    let same = || PreflightError::Same { sides, name: names[0].into() };
    if names[0] == names[1] {
        return Err(same());
    }
    let [home, internet] = [interface(sides[0], names[0])?, interface(sides[1], names[1])?];
    if home.index == internet.index {
        return Err(same());
    }
    let mut notes = Vec::new();
    for (side, interface) in sides.into_iter().zip([&home, &internet]) {
        if let Some(master) = master(&interface.name) {
            return Err(PreflightError::Enslaved { side, name: interface.name.clone(), master });
        }
        if !allow_login && let Some(client) = login_over(&interface.name) {
            return Err(PreflightError::Login { side, name: interface.name.clone(), client });
        }
        if !interface.is_up {
            notes.push(format!("{} is down: nothing passes until `ip link set {0} up`", interface.name));
        }
    }
    if home.mtu != internet.mtu {
        notes.push(format!(
            "{} takes packets of {} B and {} of {} B: longer ones than the other side takes are lost, as at any bridge",
            home.name, home.mtu, internet.name, internet.mtu
        ));
    }
    let effective =
        rustix::thread::capabilities(None).map(|sets| sets.effective).unwrap_or(CapabilitySet::empty());
    for (needed, name) in [
        (CapabilitySet::NET_RAW, "CAP_NET_RAW, to receive and send frames"),
        (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN, to see frames for others and to switch offloads"),
    ] {
        if !effective.contains(needed) {
            return Err(PreflightError::Privilege(name));
        }
    }
    let offloads = [&home, &internet].into_iter().flat_map(|interface| on(&interface.name)).collect();
    Ok(Plan { home, internet, offloads, io: Io::Packet, why: String::new(), notes })
}

/// The same for whoever turns frames of one interface aside.
///
/// # Errors
/// The first thing that is wrong.
pub fn alone(side: &'static str, name: &str, allow_login: bool) -> Result<Alone, PreflightError> {
    let found =
        Interface::find(name).map_err(|error| PreflightError::Missing { side, name: name.into(), error })?;
    if found.is_loopback {
        return Err(PreflightError::Loopback { side, name: name.into() });
    }
    if !found.is_ethernet {
        return Err(PreflightError::NotEthernet { side, name: name.into() });
    }
    if let Some(master) = master(name) {
        return Err(PreflightError::Part { side, name: name.into(), master });
    }
    if !allow_login && let Some(client) = login_over(name) {
        return Err(PreflightError::Login { side, name: name.into(), client });
    }
    let mut notes = Vec::new();
    if !found.is_up {
        notes.push(format!("{name} is down: nothing passes until `ip link set {name} up`"));
    }
    let effective =
        rustix::thread::capabilities(None).map(|sets| sets.effective).unwrap_or(CapabilitySet::empty());
    for (needed, what) in [
        (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN, for a network namespace and programs in the kernel"),
        (CapabilitySet::NET_RAW, "CAP_NET_RAW, to receive and send frames"),
        (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN, to make interfaces and to hook programs in"),
    ] {
        if !effective.contains(needed) {
            return Err(PreflightError::PrivilegeAlone(what));
        }
    }
    // The others can be taken apart again; frames that the hardware put together may not be as they were.
    let offloads = on(name).into_iter().filter(|(_, offload)| offload.name == "lro").collect();
    Ok(Alone { interface: found, offloads, notes })
}

impl Plan {
    /// What would be done, for people.
    pub fn describe(&self, policy: &Policy) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "policy {} ({})", policy.name, policy.hash);
        for (side, interface) in [("lan", &self.home), ("wan", &self.internet)] {
            let _ = writeln!(
                text,
                "{side} {}: receive and send every frame by {}, promiscuous while running",
                interface.name, self.io
            );
        }
        for (name, offload) in &self.offloads {
            let _ = writeln!(text, "{name}: switch {} off, and on again at the end", offload.name);
        }
        for direction in Direction::BOTH {
            let lane = &policy.lanes[direction.index()];
            let shape =
                lane.shape.as_ref().map_or("not shaped".into(), |shape| format!("shaped to {}", shape.rate));
            let follows = policy.autorate[direction.index()].map_or(String::new(), |config| {
                format!(", follows the link from {} to {}", config.law.lowest, config.law.highest)
            });
            let _ = writeln!(
                text,
                "{}: {}, {shape}{follows}",
                direction.name(),
                crate::status::kind(&lane.queue)
            );
        }
        if let Some(voap) = &policy.voap {
            let _ = writeln!(text, "voap: alpha {}, beta {}", voap.alpha, voap.beta);
        }
        for rule in policy.classifier.iter().flat_map(|config| &config.rules) {
            let _ = writeln!(text, "class {}: {}", rule.class.0, rule.name);
        }
        text
    }
}

fn interface(side: &'static str, name: &str) -> Result<Interface, PreflightError> {
    let found =
        Interface::find(name).map_err(|error| PreflightError::Missing { side, name: name.into(), error })?;
    if found.is_ethernet { Ok(found) } else { Err(PreflightError::NotEthernet { side, name: name.into() }) }
}

fn on(name: &str) -> Vec<(String, Offload)> {
    let Ok(offloads) = Offloads::of(name) else { return Vec::new() };
    OFFLOADS
        .into_iter()
        .filter(|offload| offloads.is_on(offload))
        .map(|offload| (name.into(), offload))
        .collect()
}

fn master(name: &str) -> Option<String> {
    let link = std::fs::read_link(Path::new("/sys/class/net").join(name).join("master")).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}

/// What the interface itself can, if it says.
fn speed(name: &str) -> Option<Bitrate> {
    let text = std::fs::read_to_string(Path::new("/sys/class/net").join(name).join("speed")).ok()?;
    let mbit: u64 = text.trim().parse().ok()?;
    Some(Bitrate::from_bps(mbit * 1_000_000))
}

/// Where the user is logged in from, if over this interface. `sudo` hides the variable, so the processes above are asked too.
fn login_over(name: &str) -> Option<IpAddr> {
    let (client, server) = ssh_connection()?;
    addresses().ok()?.iter().any(|(owner, address)| owner == name && *address == server).then_some(client)
}

fn ssh_connection() -> Option<(IpAddr, IpAddr)> {
    if let Ok(value) = std::env::var("SSH_CONNECTION") {
        return parse_connection(&value);
    }
    let mut process = std::os::unix::process::parent_id();
    for _ in 0..32 {
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let connection = environment
            .split(|byte| *byte == 0)
            .find_map(|variable| variable.strip_prefix(b"SSH_CONNECTION="))
            .and_then(|value| parse_connection(std::str::from_utf8(value).ok()?));
        if connection.is_some() {
            return connection;
        }
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        process = status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())?;
        if process <= 1 {
            return None;
        }
    }
    None
}

/// `client port server port`, as sshd writes it; a mapped IPv4 address counts as IPv4.
fn parse_connection(value: &str) -> Option<(IpAddr, IpAddr)> {
    let mut words = value.split_whitespace();
    let mut address = || Some(words.next()?.parse::<IpAddr>().ok()?.to_canonical());
    let client = address()?;
    let _port = words.next()?;
    let server = words.next()?.parse::<IpAddr>().ok()?.to_canonical();
    Some((client, server))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sshd_says_who_and_where() {
        let connection = parse_connection("203.0.113.9 51234 192.0.2.1 22").unwrap();
        assert_eq!(connection, ("203.0.113.9".parse().unwrap(), "192.0.2.1".parse().unwrap()));
        assert_eq!(parse_connection("203.0.113.9 51234"), None);
    }
}
