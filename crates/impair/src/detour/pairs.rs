//! Pairs of virtual Ethernet interfaces: veth(4), made over rtnetlink(7).

use std::io::{Error, Result};
use std::os::fd::{AsRawFd as _, OwnedFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// Makes a pair: `near` in this thread's network namespace, `far` in another. Both are down and take packets of up to `mtu` bytes.
/// The kernel splits what it had merged before the pair, so no frame there is longer.
pub(super) fn create(near: &str, far: &str, mtu: u32, elsewhere: &OwnedFd) -> Result<()> {
    let mut peer = LinkMessage::default();
    peer.attributes = vec![
        LinkAttribute::IfName(far.into()),
        LinkAttribute::Mtu(mtu),
        LinkAttribute::NetNsFd(elsewhere.as_raw_fd()),
    ];
    let mut link = LinkMessage::default();
    link.attributes = vec![
        LinkAttribute::IfName(near.into()),
        LinkAttribute::Mtu(mtu),
        // One segment, for every kind of segmentation (TCP, UDP, tunnels). The switches for each kind differ between kernels.
        LinkAttribute::GsoMaxSegs(1),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]),
    ];
    ask(RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)
}

/// Brings an interface of this thread's network namespace up.
pub(super) fn switch_on(index: u32) -> Result<()> {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    ask(RouteNetlinkMessage::SetLink(link), 0)
}

/// Sends a request to the kernel, in this thread's network namespace, and waits until it is done.
fn ask(what: RouteNetlinkMessage, flags: u16) -> Result<()> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(what));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
        .map_err(|error| Error::other(format!("the kernel's answer cannot be parsed: {error}")))?;
    match answer.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        NetlinkPayload::Error(_) => Ok(()),
        other => Err(Error::other(format!("the kernel sent an unexpected answer: {other:?}"))),
    }
}
