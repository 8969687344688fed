//! Link-layer overhead: what an IP packet costs on the medium (reference/aqm.md section 5, links.md section 2; the
//! arithmetic of tc-cake).

use crate::units::{IpLen, WireLen};

/// Framing of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overhead {
    /// The rate counts IP bytes.
    #[default]
    None,
    /// Ethernet on the wire: 38 B a packet (preamble, header, FCS, gap), at least 84 B.
    Ethernet,
    /// DOCSIS: 18 B a packet, at least 64 B.
    Docsis,
    /// ATM cells of 53 B carrying 48 B, after `overhead` bytes of encapsulation (PPPoE LLC/SNAP has 40).
    Atm {
        /// Encapsulation bytes before segmentation.
        overhead: u32,
    },
    /// PTM: 64/65 encoding after `overhead` bytes of encapsulation (PPPoE has 30).
    Ptm {
        /// Encapsulation bytes before encoding.
        overhead: u32,
    },
}

impl Overhead {
    /// Bytes the medium spends on an IP packet.
    pub const fn wire_len(self, len: IpLen) -> WireLen {
        WireLen(match self {
            Self::None => len.0,
            Self::Ethernet => max(len.0 + 38, 84),
            Self::Docsis => max(len.0 + 18, 64),
            Self::Atm { overhead } => (len.0 + overhead).div_ceil(48) * 53,
            Self::Ptm { overhead } => {
                let framed = len.0 + overhead;
                framed + framed.div_ceil(64)
            }
        })
    }
}

const fn max(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atm_meets_the_worked_examples() {
        // reference/links.md section 2: PPPoA-VC (10 B) and PPPoE-LLC (40 B).
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
        assert_eq!(Overhead::Ethernet.wire_len(IpLen(28)), WireLen(84));
        assert_eq!(Overhead::Ethernet.wire_len(IpLen(1500)), WireLen(1538));
        assert_eq!(Overhead::Docsis.wire_len(IpLen(40)), WireLen(64));
        assert_eq!(Overhead::Ptm { overhead: 30 }.wire_len(IpLen(1500)), WireLen(1530 + 24));
    }
}
