//! Link-layer overhead: the bytes that an IP packet takes on the medium. The arithmetic is that of `cake_overhead` in
//! Linux `net/sched/sch_cake.c`, the byte counts are those of the keywords in `tc-cake(8)`.

use crate::headers::ETHERNET_HEADER;
use crate::units::{IpLen, WireLen};

/// Framing of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overhead {
    /// No framing: the rate counts IP bytes.
    #[default]
    None,
    /// Ethernet on the wire: 38 B per packet (header 14, FCS 4, preamble 8, gap 12), at least 84 B in all.
    Ethernet,
    /// DOCSIS: 18 B per packet (Ethernet header 14, FCS 4), at least 64 B in all.
    Docsis,
    /// The same for each packet, as it is found by measuring a line.
    Fixed {
        /// Bytes per packet.
        overhead: u32,
    },
    /// ATM: cells of 53 B that each carry 48 B, after `overhead` bytes of encapsulation (40 for PPPoE LLC/SNAP).
    Atm {
        /// Encapsulation bytes per packet, added before the packet is cut into cells.
        overhead: u32,
    },
    /// PTM: one byte more for each 64 B, after `overhead` bytes of encapsulation (30 for PPPoE).
    Ptm {
        /// Encapsulation bytes per packet, added before the 64/65 encoding.
        overhead: u32,
    },
}

impl Overhead {
    /// Bytes that an IP packet of `len` takes on the medium.
    pub const fn wire_len(self, len: IpLen) -> WireLen {
        WireLen(match self {
            Self::None => len.0,
            Self::Ethernet => max(len.0 + FRAMED + PREAMBLE_AND_GAP, SHORTEST_FRAME + PREAMBLE_AND_GAP),
            Self::Docsis => max(len.0 + FRAMED, SHORTEST_FRAME),
            Self::Fixed { overhead } => len.0 + overhead,
            Self::Atm { overhead } => (len.0 + overhead).div_ceil(48) * 53,
            Self::Ptm { overhead } => {
                let framed = len.0 + overhead;
                framed + framed.div_ceil(64)
            }
        })
    }
}

/// Bytes of Ethernet header and FCS (IEEE 802.3 clause 3).
const FRAMED: u32 = ETHERNET_HEADER + 4;
/// Bytes of the shortest Ethernet frame, header and FCS included (IEEE 802.3 `minFrameSize`).
const SHORTEST_FRAME: u32 = 64;
/// Byte times on the wire around a frame: preamble and start delimiter 8, interframe gap 12.
const PREAMBLE_AND_GAP: u32 = 8 + 12;

const fn max(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::{IPV4_HEADER, TCP_HEADER, UDP_HEADER};

    #[test]
    fn atm_meets_the_worked_examples() {
        // Computed by hand as ceil((length + overhead) / 48) * 53: PPPoA-VC has 10 B of overhead, PPPoE-LLC 40 B.
        let cases = [(40, 106, 106), (73, 106, 159), (88, 159, 159), (155, 212, 265), (1500, 1696, 1749)];
        for (ip, pppoa, pppoe) in cases {
            assert_eq!(
                Overhead::Atm { overhead: 10 }.wire_len(IpLen(ip)),
                WireLen(pppoa),
                "{ip} B over PPPoA"
            );
            assert_eq!(
                Overhead::Atm { overhead: 40 }.wire_len(IpLen(ip)),
                WireLen(pppoe),
                "{ip} B over PPPoE"
            );
        }
    }

    #[test]
    fn small_frames_meet_their_floor() {
        assert_eq!(Overhead::Ethernet.wire_len(IpLen(IPV4_HEADER + UDP_HEADER)), WireLen(84));
        assert_eq!(Overhead::Ethernet.wire_len(IpLen(1500)), WireLen(1538));
        assert_eq!(Overhead::Docsis.wire_len(IpLen(IPV4_HEADER + TCP_HEADER)), WireLen(64));
        assert_eq!(Overhead::Fixed { overhead: 44 }.wire_len(IpLen(52)), WireLen(96));
        assert_eq!(Overhead::Ptm { overhead: 30 }.wire_len(IpLen(1500)), WireLen(1530 + 24));
    }
}
