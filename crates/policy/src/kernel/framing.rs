//! Bytes that a link layer adds to each IP packet. A size table (`stab`, tc-stab(8)) starts from the length of the frame, which on
//! Ethernet includes 14 B of header. CAKE starts from the IP packet.

use gamelane_core::headers::ETHERNET_HEADER;
use gamelane_core::{Bitrate, Overhead};

/// How a discipline counts the length of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeTable {
    /// Bytes added to the length of the frame.
    pub overhead: i32,
    /// Shortest length counted.
    pub least: u32,
    /// Whether packets are cut into ATM cells.
    pub atm: bool,
}

impl SizeTable {
    /// Lengths in the table: one for each byte, so that it is exact for packets of up to this many bytes.
    pub const ENTRIES: u32 = 2048;

    /// The table for a link, where the length of a frame includes `header` bytes of its header.
    pub const fn of(overhead: Overhead, header: u32) -> Self {
        let Bytes { added, least } = Bytes::of(overhead);
        Self { overhead: added as i32 - header as i32, least, atm: matches!(overhead, Overhead::Atm { .. }) }
    }

    /// Lengths that Linux looks up: entry n is for n + 1 bytes. `None` if adding `overhead` is all (`tc_calc_size_table` of
    /// iproute2).
    pub fn entries(&self) -> Option<Vec<u16>> {
        if !self.atm && self.least == 0 {
            return None;
        }
        let counted = |bytes: u32| {
            let bytes = bytes.max(self.least);
            if self.atm { bytes.div_ceil(48) * 53 } else { bytes }
        };
        Some((1..=Self::ENTRIES).map(|bytes| counted(bytes) as u16).collect())
    }
}

/// What a link adds, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// Added to each IP packet.
    pub added: u32,
    /// Shortest in all.
    pub least: u32,
}

impl Bytes {
    /// Of a link, without the cells of ATM and the code words of PTM.
    pub const fn of(overhead: Overhead) -> Self {
        let (added, least) = match overhead {
            Overhead::None => (0, 0),
            Overhead::Ethernet => (38, 84),
            Overhead::Docsis => (18, 64),
            Overhead::Fixed { overhead } | Overhead::Atm { overhead } | Overhead::Ptm { overhead } => {
                (overhead, 0)
            }
        };
        Self { added, least }
    }
}

/// The rate that equals `rate` where a size table counts: it has no 64/65 code of PTM.
pub fn rate_by_table(rate: Bitrate, overhead: Overhead) -> Bitrate {
    match overhead {
        Overhead::Ptm { .. } => Bitrate::from_bps(rate.bps() * 64 / 65),
        _ => rate,
    }
}

/// Bytes of a frame's header that its length includes.
pub const fn header(is_ethernet: bool) -> u32 {
    if is_ethernet { ETHERNET_HEADER } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::IpLen;

    /// What the kernel counts for a frame (`__qdisc_calculate_pkt_len`).
    fn counted(table: &SizeTable, frame: u32) -> u32 {
        let len = (frame as i32 + table.overhead).max(0) as u32;
        match table.entries() {
            None => len,
            Some(entries) => u32::from(entries[(len as usize).saturating_sub(1).min(entries.len() - 1)]),
        }
    }

    #[test]
    fn a_size_table_counts_what_the_link_of_the_simulator_counts() {
        let links = [
            Overhead::None,
            Overhead::Ethernet,
            Overhead::Docsis,
            Overhead::Fixed { overhead: 44 },
            Overhead::Atm { overhead: 40 },
        ];
        for overhead in links {
            for is_ethernet in [true, false] {
                let table = SizeTable::of(overhead, header(is_ethernet));
                for len in 20..=1500 {
                    let frame = len + header(is_ethernet);
                    assert_eq!(counted(&table, frame), overhead.wire_len(IpLen(len)).0, "{overhead:?} {len}");
                }
            }
        }
    }

    #[test]
    fn the_code_words_of_ptm_are_in_the_rate() {
        let ptm = Overhead::Ptm { overhead: 30 };
        let table = SizeTable::of(ptm, header(true));
        let rate = rate_by_table(Bitrate::from_bps(10_000_000), ptm);
        for len in [64, 576, 1500] {
            let by_table = f64::from(counted(&table, len + 14)) / rate.bps() as f64;
            let by_link = f64::from(ptm.wire_len(IpLen(len)).0) / 10e6;
            assert!((by_table / by_link - 1.0).abs() < 0.01, "{len}");
        }
    }
}
