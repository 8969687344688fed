//! The contract of a link: who may put a packet on the medium, and what becomes of it. A link has *ports*, one for each
//! queue that feeds it: a wired link has one, an 802.11 channel one for the access point and one for each station.

use alloc::boxed::Box;
use gamelane_core::{Instant, PacketMeta};
use gamelane_qdisc::Backlog;

use crate::docsis::DocsisUpstream;
use crate::trace::TraceLink;
use crate::wifi::Dcf;
use crate::wired::WiredLink;

/// A queue's place at a link, from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortId(pub u16);

impl PortId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What became of a packet put on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flight {
    /// It reaches the other end then.
    Arrives(Instant),
    /// The link lost it.
    Lost,
    /// It is still with its port (a collision, a frame error, a part sent) and is what the port's next grant is for.
    Kept,
}

/// A medium. It knows nothing of packets until one is put on it, so that the queue decides at the last moment which one
/// that is (late binding).
///
/// A driver tells of every change of what waits at a port with [`Link::backlog_changed`], asks [`Link::poll_grant`] until
/// `None`, and answers each grant with [`Link::start`], or with `backlog_changed` if the port has nothing after all.
pub trait Link {
    /// What waits at `port`, a packet the port keeps included.
    fn backlog_changed(&mut self, port: PortId, waiting: Backlog, now: Instant);

    /// The port that may send one packet now; call until `None`.
    fn poll_grant(&mut self, now: Instant) -> Option<PortId>;

    /// `port`, which holds the grant, sends `frame`.
    fn start(&mut self, port: PortId, frame: &PacketMeta, now: Instant) -> Flight;

    /// When [`Link::poll_grant`] is worth asking again; `None` while nothing waits.
    fn poll_timeout(&self) -> Option<Instant>;
}

/// A link chosen at run time. The set is closed, so a match replaces a virtual call.
#[derive(Debug)]
pub enum AnyLink {
    /// Fixed rate, one port. Also a shaper, with no delay.
    Wired(WiredLink),
    /// DOCSIS upstream, one port.
    Docsis(Box<DocsisUpstream>),
    /// An 802.11 channel, a port for each sender.
    Wifi(Box<Dcf>),
    /// A rate that follows a trace, one port.
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
