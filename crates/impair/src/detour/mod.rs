//! The detour of one interface's frames while it is impaired: off the interface, over the path, and back to where they were going.
//! The path is the same bridge as between two interfaces.
//!
//! ```text
//! this machine's sockets, addresses, routes                  the network
//!        |            ^                                       ^        |
//!   out by eth0   in at eth0                             out by eth0   in at eth0
//!        v            |                                       |        v
//!       glN-host ===== lan ---- the bridge ---- wan ===== glN-net
//!                     (a namespace without a name)
//! ```
//!
//! Programs, namespace and pairs last as long as descriptors of this process, so the kernel removes them however it ends. If the
//! process lives but stands still, the programs let frames pass after a second (`Heartbeat::PATIENCE`).

mod pairs;
mod programs;

use std::os::fd::OwnedFd;

use anyhow::{Context as _, bail};
use gamelane_device::bpf::{AttachType, Heartbeat, Link};
use gamelane_device::{CHECKSUMS, Interface, Offloads, Presence, namespace};

use programs::Places;

/// Diverts the frames of one interface while it lives. The thread that makes it stays in the namespace of the path.
#[derive(Debug)]
pub struct Detour {
    places: Places,
    /// Ends of the path: towards this machine, towards the network.
    ends: [Interface; 2],
    alive: Heartbeat,
    links: Vec<Link>,
    /// Of the impaired interface.
    presence: Presence,
    outside: OwnedFd,
    inside: OwnedFd,
}

impl Detour {
    /// Makes the path beside an interface. No frame is diverted yet.
    pub fn beside(interface: &Interface) -> anyhow::Result<Self> {
        let outside = namespace::current()?;
        let inside = namespace::create().context("no network namespace for the path")?;
        let process = std::process::id();
        let near = ["host", "net"].map(|side| format!("gl{process}-{side}"));
        let mut indices = [0; 2];
        for ((near, far), index) in near.iter().zip(ENDS).zip(&mut indices) {
            pairs::create(near, far, interface.mtu, &inside)
                .with_context(|| format!("no pair of virtual interfaces {near} and {far}"))?;
            namespace::be_silent(near).with_context(|| format!("{near}: cannot switch IPv6 off"))?;
            // Hardware would fill in checksums. On the path nothing does, so the kernel has to.
            Offloads::of(near)?
                .switch(&CHECKSUMS, false)
                .with_context(|| format!("{near}: cannot switch {} off", CHECKSUMS.name))?;
            *index = Interface::find(near)?.index;
        }
        let [host, net] = indices;
        let places = Places { interface: interface.index, host, net };
        let links = vec![
            Link::at("gl_to_host", AttachType::TcxIngress, host, &programs::to_host(places))?,
            Link::at("gl_to_net", AttachType::TcxIngress, net, &programs::to_net(places))?,
            Link::at("gl_onto_path", AttachType::TcxEgress, host, &programs::onto_path())?,
            Link::at("gl_onto_path", AttachType::TcxEgress, net, &programs::onto_path())?,
        ];
        for index in indices {
            pairs::switch_on(index)?;
        }
        let presence = Presence::of(interface.index)?;
        namespace::enter(&inside)?;
        let [lan, wan] = ENDS.map(Interface::find);
        let ends = [lan?, wan?];
        for end in &ends {
            pairs::switch_on(end.index)?;
        }
        Ok(Self {
            places,
            ends,
            alive: Heartbeat::new().context("no memory for programs")?,
            links,
            presence,
            outside,
            inside,
        })
    }

    /// Interfaces between which frames must be forwarded: towards this machine, towards the network.
    pub fn ends(&self) -> [Interface; 2] {
        self.ends.clone()
    }

    /// Diverts frames from now on. The caller must forward them.
    pub fn begin(&mut self) -> anyhow::Result<()> {
        let Self { places, alive, links, .. } = self;
        let (leaving, arriving) = (programs::leaving(*places, alive), programs::arriving(*places, alive));
        self.alive.beat();
        namespace::enter(&self.outside)?;
        let interface = self.places.interface;
        links.push(Link::at("gl_arriving", AttachType::TcxIngress, interface, &arriving)?);
        links.push(Link::at("gl_leaving", AttachType::TcxEgress, interface, &leaving)?);
        namespace::enter(&self.inside)?;
        Ok(())
    }

    /// Tells the programs that frames are being forwarded. Call it more often than once a second; it makes no system call.
    pub fn is_alive(&self) {
        self.alive.beat();
    }

    /// Whether the impaired interface still exists.
    pub fn lasts(&self) -> bool {
        self.presence.lasts()
    }
}

impl Drop for Detour {
    /// Removes programs in reverse order, so that those which divert frames go first.
    fn drop(&mut self) {
        while self.links.pop().is_some() {}
    }
}

/// Tries everything in a namespace of its own, to find out whether this machine can do it.
///
/// # Errors
/// What is missing, with a hint.
pub fn check() -> anyhow::Result<()> {
    let tried = std::thread::spawn(|| {
        let inside = namespace::create().context("no network namespaces")?;
        namespace::enter(&inside)?;
        pairs::create(ENDS[0], ENDS[1], 1500, &inside).context("no pairs of virtual interfaces (veth)")?;
        // Only kernels with traffic control have `tc_index`, by which programs recognise frames.
        if !std::path::Path::new("/proc/thread-self/net/psched").exists() {
            bail!("this kernel was built without traffic control (CONFIG_NET_SCHED)");
        }
        let alive = Heartbeat::new().context("no programs for frames (bpf)")?;
        let index = Interface::find(ENDS[0])?.index;
        let places = Places { interface: index, host: index, net: index };
        Link::at("gl_arriving", AttachType::TcxIngress, index, &programs::arriving(places, &alive))?;
        Link::at("gl_leaving", AttachType::TcxEgress, index, &programs::leaving(places, &alive))?;
        Ok(())
    });
    tried.join().unwrap_or_else(|_| bail!("the thread that tried it panicked"))
}

/// Names of the ends in the namespace of the path.
const ENDS: [&str; 2] = ["lan", "wan"];
