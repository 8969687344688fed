//! Checks before a run: finds everything that is known to be wrong, and changes nothing. The result is a [`Plan`] for two
//! interfaces, or [`Alone`] for one.

mod error;
mod forwarded;
mod io;
mod login;

use rustix::thread::CapabilitySet;

use crate::interface::{Interface, OFFLOADS, Offload, Offloads};
use crate::port::Io;
use crate::privileges;
pub use error::PreflightError;
pub use forwarded::{Forwarded, forwarded, routes_between};
pub use io::IoChoice;
use login::login_over;

/// What a bridge between two interfaces will do to this machine.
#[derive(Debug)]
pub struct Plan {
    /// Interface towards the home.
    pub home: Interface,
    /// Interface towards the internet.
    pub internet: Interface,
    /// Offloads that are on and will be switched off, each with the name of its interface.
    pub offloads: Vec<(String, Offload)>,
    /// How frames are received and sent.
    pub io: Io,
    /// Why by that.
    pub why: &'static str,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// What a program that diverts the frames of one interface will do to this machine.
#[derive(Debug)]
pub struct Alone {
    /// The interface.
    pub interface: Interface,
    /// Offloads that are on and will be switched off, each with the name of its interface.
    pub offloads: Vec<(String, Offload)>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Checks two interfaces for a bridge between them. `sides` is what the command calls them.
///
/// # Errors
/// The first thing that is wrong.
pub fn interfaces(
    sides: [&'static str; 2],
    names: [&str; 2],
    io: IoChoice,
    allow_login: bool,
) -> Result<Plan, PreflightError> {
    let same = || PreflightError::Same { sides, name: names[0].into() };
    if names[0] == names[1] {
        return Err(same());
    }
    let [home, internet] = [ethernet(sides[0], names[0])?, ethernet(sides[1], names[1])?];
    if home.index == internet.index {
        return Err(same());
    }
    let mut notes = Vec::new();
    for (side, interface) in sides.into_iter().zip([&home, &internet]) {
        let name = || interface.name.clone();
        if let Some(master) = interface.master() {
            return Err(PreflightError::Enslaved { side, name: name(), master });
        }
        check_login(side, &interface.name, allow_login)?;
        notes.extend(is_down(interface));
    }
    if home.mtu != internet.mtu {
        notes.push(format!(
            "{} takes packets of up to {} B and {} of up to {} B: packets too long for the other side are lost, as at any bridge",
            home.name, home.mtu, internet.name, internet.mtu
        ));
    }
    let needed = [
        (CapabilitySet::NET_RAW, "CAP_NET_RAW, to receive and send frames"),
        (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN, to see frames for others and to switch offloads"),
    ];
    if let Some(purpose) = privileges::missing(&needed) {
        return Err(PreflightError::Privilege(purpose));
    }
    let mut offloads: Vec<_> =
        [&home, &internet].into_iter().flat_map(|interface| switched_on(&interface.name)).collect();
    let chosen = io::choose(io, [&home, &internet])?;
    offloads.extend(chosen.offloads);
    notes.extend(chosen.notes);
    Ok(Plan { home, internet, offloads, io: chosen.io, why: chosen.why, notes })
}

/// Checks one interface whose frames are to be diverted. `side` is what the command calls it.
///
/// # Errors
/// The first thing that is wrong.
pub fn alone(side: &'static str, name: &str, allow_login: bool) -> Result<Alone, PreflightError> {
    let found = find(side, name)?;
    if found.is_loopback {
        return Err(PreflightError::Loopback { side, name: name.into() });
    }
    if !found.is_ethernet() {
        return Err(PreflightError::NotEthernet { side, name: name.into() });
    }
    if let Some(master) = found.master() {
        return Err(PreflightError::Part { side, name: name.into(), master });
    }
    check_login(side, name, allow_login)?;
    let needed = [
        (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN, for a network namespace and programs in the kernel"),
        (CapabilitySet::NET_RAW, "CAP_NET_RAW, to receive and send frames"),
        (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN, to make interfaces and to attach programs"),
    ];
    if let Some(purpose) = privileges::missing(&needed) {
        return Err(PreflightError::PrivilegeAlone(purpose));
    }
    // The kernel can split what other offloads merged. What LRO merged it cannot restore.
    let offloads = switched_on(name).into_iter().filter(|(_, offload)| offload.name == "lro").collect();
    Ok(Alone { notes: is_down(&found).into_iter().collect(), interface: found, offloads })
}

fn find(side: &'static str, name: &str) -> Result<Interface, PreflightError> {
    Interface::find(name).map_err(|error| PreflightError::Missing { side, name: name.into(), error })
}

fn ethernet(side: &'static str, name: &str) -> Result<Interface, PreflightError> {
    let found = find(side, name)?;
    if found.is_ethernet() { Ok(found) } else { Err(PreflightError::NotEthernet { side, name: name.into() }) }
}

fn check_login(side: &'static str, name: &str, allow_login: bool) -> Result<(), PreflightError> {
    match login_over(name) {
        Some(client) if !allow_login => Err(PreflightError::Login { side, name: name.into(), client }),
        _ => Ok(()),
    }
}

fn is_down(interface: &Interface) -> Option<String> {
    let name = &interface.name;
    (!interface.is_up).then(|| format!("{name} is down: nothing passes until `ip link set {name} up`"))
}

/// Offloads of an interface that are on.
fn switched_on(name: &str) -> Vec<(String, Offload)> {
    let Ok(offloads) = Offloads::of(name) else { return Vec::new() };
    OFFLOADS
        .into_iter()
        .filter(|offload| offloads.is_on(offload))
        .map(|offload| (name.into(), offload))
        .collect()
}
