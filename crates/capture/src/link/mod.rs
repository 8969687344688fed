//! Finds the IP header in a frame, by link type of tcpdump's registry (pcap-linktype(7)). Tunnels over IP are left out.

mod ether;
mod part;
mod registry;
mod wifi;
mod wrapped;

pub(crate) use part::Part;
pub(crate) use registry::Unsupported;
pub(crate) use wifi::Sent;

use crate::wire;

/// A supported link layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Ethernet,
    RawIp,
    LinuxCooked,
    LinuxCooked2,
    Loopback,
    Ppp,
    PppHdlc,
    /// PPP after a byte for the direction.
    PppWithDirection,
    PppoeSession,
    /// LLC and SNAP alone, as over ATM.
    Llc,
    WiFi,
    Radiotap,
    Prism,
    Avs,
    Nflog,
    Pflog,
    Pktap,
    /// Ethernet with this number of bytes of a switch chip's tag before its EtherType.
    SwitchTag(u8),
    /// Ethernet after a switch chip's tag of four bytes.
    SwitchTagFirst,
}

/// Reason why a frame has no readable IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoIp {
    /// Another protocol, or a cut or invalid header.
    Other,
    /// An encrypted Wi-Fi frame.
    Encrypted,
    /// The recording card found a wrong frame check sequence.
    Damaged,
    /// A Wi-Fi frame that was repeated on the air.
    Retry,
}

/// What a Wi-Fi frame has beside its first IP packet.
#[derive(Debug, Default)]
pub(crate) struct Beside<'a> {
    /// The other packets of an aggregate, for [`Link::ip_of_aggregate`].
    pub(crate) more: Option<Part<'a>>,
    /// Identity of the frame on the air, if it can be read and is for one receiver.
    pub(crate) sent: Option<Sent>,
}

impl Link {
    #[inline]
    pub(crate) const fn of(link_type: u32) -> Option<Self> {
        match link_type {
            1 => Some(Self::Ethernet),
            0 | 108 => Some(Self::Loopback),
            9 => Some(Self::Ppp),
            12 | 14 | 101 | 228 | 229 => Some(Self::RawIp),
            50 | 104 => Some(Self::PppHdlc),
            51 => Some(Self::PppoeSession),
            100 => Some(Self::Llc),
            105 => Some(Self::WiFi),
            113 => Some(Self::LinuxCooked),
            117 => Some(Self::Pflog),
            119 => Some(Self::Prism),
            127 => Some(Self::Radiotap),
            163 => Some(Self::Avs),
            204 => Some(Self::PppWithDirection),
            239 => Some(Self::Nflog),
            258 => Some(Self::Pktap),
            276 => Some(Self::LinuxCooked2),
            281 | 284 => Some(Self::SwitchTag(4)),
            282 => Some(Self::SwitchTagFirst),
            285 => Some(Self::SwitchTag(8)),
            _ => None,
        }
    }

    /// Like [`Link::of`], for link types that need a look into the frame.
    #[inline]
    pub(crate) fn of_frame(link_type: u32, frame: &[u8]) -> Option<Self> {
        match Self::of(link_type) {
            None if link_type == 149 && wrapped::is_pktap(frame) => Some(Self::Pktap),
            link => link,
        }
    }

    /// Index of the interface on the recording machine, if the frame's header has it.
    #[inline]
    pub(crate) fn interface(self, frame: &[u8]) -> Option<u32> {
        match self {
            Self::LinuxCooked2 => wire::u32_at(frame, 4),
            _ => None,
        }
    }

    /// True if the recording machine sent the frame, false if it received it.
    #[inline]
    pub(crate) fn outgoing(self, frame: &[u8]) -> Option<bool> {
        match self {
            Self::LinuxCooked => packet_type(wire::u16_at(frame, 0)?),
            Self::LinuxCooked2 => packet_type((*frame.get(10)?).into()),
            Self::PppWithDirection => Some(*frame.first()? != 0),
            Self::Nflog => wrapped::nflog_outgoing(frame),
            Self::Pktap => wrapped::pktap_outgoing(frame),
            _ => None,
        }
    }

    /// Returns the IP packet in the frame, and sets `beside`.
    #[inline]
    pub(crate) fn ip<'a>(self, frame: Part<'a>, beside: &mut Beside<'a>) -> Result<Part<'a>, NoIp> {
        match self {
            Self::Ethernet => ether::ether::<true>(frame.skip(12).ok_or(NoIp::Other)?),
            Self::RawIp => Ok(frame),
            _ => self.other_ip(frame, beside),
        }
    }

    fn other_ip<'a>(self, frame: Part<'a>, beside: &mut Beside<'a>) -> Result<Part<'a>, NoIp> {
        let found = match self {
            Self::Ethernet | Self::RawIp => return self.ip(frame, beside),
            Self::WiFi => return wifi::ieee_802_11(frame, false, beside),
            Self::Radiotap => return wifi::radiotap(frame, beside),
            Self::Prism => return wifi::prism(frame, beside),
            Self::Avs => return wifi::avs(frame, beside),
            Self::Pktap => return wrapped::pktap(frame, beside),
            Self::SwitchTag(len) => return wrapped::tagged(frame, len.into()),
            Self::SwitchTagFirst => return wrapped::tagged(frame, 4),
            // The number of the address family differs between systems. The IP version has the same information.
            Self::Loopback => frame.skip(4),
            Self::LinuxCooked => frame.skip(14).and_then(Part::split).and_then(ether::cooked),
            Self::LinuxCooked2 => {
                frame.skip(20).and_then(|rest| ether::cooked((*frame.bytes.first_chunk()?, rest)))
            }
            Self::Ppp => ether::ppp(frame),
            Self::PppHdlc => ether::hdlc(frame),
            Self::PppWithDirection => frame.skip(1).and_then(ether::ppp),
            Self::PppoeSession => ether::pppoe(frame),
            Self::Llc => ether::llc::<true>(frame),
            Self::Nflog => wrapped::nflog(frame),
            Self::Pflog => wrapped::pflog(frame),
        };
        found.ok_or(NoIp::Other)
    }

    /// Returns the next IP packet of an aggregated Wi-Fi frame, and changes `more` to what follows it.
    pub(crate) fn ip_of_aggregate<'a>(rest: Part<'a>, more: &mut Option<Part<'a>>) -> Result<Part<'a>, NoIp> {
        wifi::subframe(rest, more)
    }

    /// Returns the IP packet in an Ethernet frame if the frame's headers leave no doubt: not after MPLS labels.
    pub(crate) fn certain_ip(frame: &[u8], len: usize) -> Option<Part<'_>> {
        let frame = Part { bytes: frame, len: u32::try_from(len).ok()? };
        ether::ether::<false>(frame.skip(12)?).ok()
    }
}

/// Direction of a packet by Linux's packet type (`linux/if_packet.h`).
pub(crate) const fn packet_type(value: u16) -> Option<bool> {
    match value {
        // To this machine, to all, to a group, to another machine.
        0..=3 => Some(false),
        4 => Some(true),
        _ => None,
    }
}
