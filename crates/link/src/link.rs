//! The trait of every link: it decides which queue may send a packet, and when that packet arrives. A link has *ports*,
//! one for each queue that feeds it. A wired link has one port. An 802.11 channel has one for the access point and one
//! for each station.

use alloc::boxed::Box;
use gamelane_core::{Instant, PacketMeta};
use gamelane_qdisc::Backlog;

use crate::docsis::DocsisUpstream;
use crate::trace::TraceLink;
use crate::wifi::Dcf;
use crate::wired::WiredLink;

/// Number of a link's port, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortId(pub u16);

impl PortId {
    /// The number as a table index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Result of putting a packet on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flight {
    /// The packet reaches the far end at this time.
    Arrives(Instant),
    /// The link lost the packet.
    Lost,
    /// The packet stays at its port after a collision, a frame error, or because only a part was sent. The next grant
    /// of the port is for this packet.
    Kept,
}

/// A medium. It sees a packet only when the packet is put on it. So the queue chooses the packet at the last moment
/// (late binding).
///
/// A driver reports every change of a port's backlog with [`Link::backlog_changed`]. It calls [`Link::poll_grant`]
/// until that returns `None`. It answers each grant with [`Link::start`], or with `backlog_changed` if the queue of the
/// port returned no packet.
pub trait Link {
    /// Learns the backlog of `port`, including a packet that the port keeps.
    fn backlog_changed(&mut self, port: PortId, waiting: Backlog, now: Instant);

    /// Returns a port that may send one packet now. Call it until it returns `None`.
    fn poll_grant(&mut self, now: Instant) -> Option<PortId>;

    /// Sends `frame` from `port`, which must have the grant.
    fn start(&mut self, port: PortId, frame: &PacketMeta, now: Instant) -> Flight;

    /// Time of the next call of [`Link::poll_grant`]; `None` while no packet waits.
    fn poll_timeout(&self) -> Option<Instant>;
}

/// A link chosen at run time. The set is closed, so a match replaces a virtual call.
#[derive(Debug)]
pub enum AnyLink {
    /// A link of fixed rate, with one port. Without delay it is a shaper.
    Wired(WiredLink),
    /// A DOCSIS upstream, with one port.
    Docsis(Box<DocsisUpstream>),
    /// An 802.11 channel, with one port for each sender.
    Wifi(Box<Dcf>),
    /// A link whose rate follows a trace, with one port.
    Trace(TraceLink),
}

macro_rules! each {
    ($self:ident, $link:ident => $call:expr) => {
        match $self {
            AnyLink::Wired($link) => $call,
            AnyLink::Docsis($link) => $call,
            AnyLink::Wifi($link) => $call,
            AnyLink::Trace($link) => $call,
        }
    };
}

impl Link for AnyLink {
    fn backlog_changed(&mut self, port: PortId, waiting: Backlog, now: Instant) {
        each!(self, link => link.backlog_changed(port, waiting, now));
    }

    fn poll_grant(&mut self, now: Instant) -> Option<PortId> {
        each!(self, link => link.poll_grant(now))
    }

    fn start(&mut self, port: PortId, frame: &PacketMeta, now: Instant) -> Flight {
        each!(self, link => link.start(port, frame, now))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        each!(self, link => link.poll_timeout())
    }
}

impl From<WiredLink> for AnyLink {
    fn from(link: WiredLink) -> Self {
        Self::Wired(link)
    }
}

impl From<DocsisUpstream> for AnyLink {
    fn from(link: DocsisUpstream) -> Self {
        Self::Docsis(Box::new(link))
    }
}

impl From<Dcf> for AnyLink {
    fn from(link: Dcf) -> Self {
        Self::Wifi(Box::new(link))
    }
}

impl From<TraceLink> for AnyLink {
    fn from(link: TraceLink) -> Self {
        Self::Trace(link)
    }
}
