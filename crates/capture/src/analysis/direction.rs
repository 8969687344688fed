//! Statistics of one direction of a flow from its packets only: number, sizes, gaps, DSCP and ECN marks. TCP's data is
//! left to [`tcp`](crate::tcp).

use gamelane_core::Ecn;
use smallvec::SmallVec;

use super::copies::PointIndex;
use super::silence::{SILENCE_NS, Silences};
use crate::packet::{CapturedPacket, CapturedTransport};
use crate::samples::Samples;

/// Counters of one direction during [`BIN_NS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Number of the flow.
    pub flow: u32,
    /// 0 from client to server, 1 from server to client.
    pub direction: u8,
    /// Start of the bin, since the start of the capture.
    pub t_ns: u64,
    /// Number of packets.
    pub packets: u32,
    /// IP bytes.
    pub bytes: u64,
    /// Number of packets with data that was sent before.
    pub resent: u32,
}

/// Length of a [`Bin`]. Four of them make an overlapping window of 1 s.
pub const BIN_NS: u64 = 250_000_000;

/// Statistics of one direction.
#[derive(Clone, Debug, Default)]
pub struct Direction {
    /// Number of packets; each fragment counts.
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
    /// Payload bytes above TCP or UDP.
    pub payload_bytes: u64,
    /// Number of later fragments.
    pub fragments: u64,
    /// Payload bytes of each packet that has any.
    pub sizes: Samples,
    /// Time between packets with payload, in nanoseconds.
    pub gaps: Samples,
    /// Packets by ECN field: Not-ECT, ECT(1), ECT(0), CE.
    pub ecn: [u64; 4],
    /// Packets by DSCP, in order of appearance. The last entry counts all further code points.
    pub dscp: [(u8, u64); 4],
    /// Maximum of the IP bytes in one second (four bins).
    pub peak_bytes_per_second: u64,
    /// Copies of packets that passed another point before; `None` if there were none.
    pub copies: Option<Box<Copied>>,
    /// TTL or hop limit of the latest packet; 0 without packets.
    pub hop_limit: u8,
    /// Long times without data; `None` if there were none.
    pub silences: Option<Box<Silences>>,
    /// Packets that passed the capture point twice: duplicated by the network, or seen by a mirror port.
    pub duplicates: u64,
    /// Point of the latest packet that was not a copy.
    pub(super) first_point: Option<PointIndex>,
    /// What the sender writes into the identification.
    pub(super) identification: Identification,
    last_payload_ns: Option<u64>,
    /// Sizes and gaps on their way to the distributions.
    staged: SmallVec<[(u32, u32); FEW]>,
    bin: Bin,
    bins: [u64; 4],
}

/// Copies of one direction's packets at other points.
#[derive(Clone, Debug, Default)]
pub struct Copied {
    /// Number of copies.
    pub packets: u64,
    /// Time in nanoseconds from the first sighting of a packet to its copy on the way out: the time inside the router or
    /// bridge.
    pub after: Samples,
    points: Vec<(PointIndex, Samples)>,
}

impl Copied {
    pub(super) fn saw(&mut self, point: PointIndex, after_ns: u64) {
        self.packets += 1;
        let known = self.points.iter().position(|known| known.0 == point);
        let at = known.unwrap_or(self.points.len());
        if at == self.points.len() && at < MAX_POINTS {
            self.points.push((point, Samples::default()));
        }
        if let Some((_, after)) = self.points.get_mut(at) {
            after.push(after_ns);
        }
    }

    /// Chooses the point with the longest delay of those that had most packets: the way out.
    fn settle(&mut self) {
        let most = self.points.iter().map(|(_, after)| after.count()).max().unwrap_or(0);
        let mut last = self.points.drain(..).filter(|(_, after)| after.count() * 2 > most);
        let median = |after: &Samples| after.median().unwrap_or(0.0);
        self.after = last.next().map_or_else(Samples::default, |first| {
            last.fold(first.1, |a, (_, b)| if median(&b) > median(&a) { b } else { a })
        });
    }
}

/// Whether a sender counts the identification of its packets up, as far as is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Identification {
    last: Option<u16>,
    changes: u8,
    same: u8,
}

impl Identification {
    pub(super) fn saw(&mut self, identification: u16) {
        if let Some(last) = self.last {
            let is_same = last == identification;
            self.same = self.same.saturating_add(u8::from(is_same));
            self.changes = self.changes.saturating_add(u8::from(!is_same));
        }
        self.last = Some(identification);
    }

    /// True if it mostly changes; a packet that passes twice keeps it.
    pub(super) const fn is_counted(self) -> bool {
        self.changes > 0 && self.changes >= self.same / 2
    }
}

impl Direction {
    /// Adds a packet. Returns the bin that ended before it.
    #[inline]
    pub(super) fn handle(&mut self, packet: &CapturedPacket, at_ns: u64) -> Option<Bin> {
        self.packets += 1;
        self.bytes += u64::from(packet.ip_len.0);
        self.hop_limit = packet.hop_limit;
        self.ecn[ecn_index(packet.ecn)] += 1;
        self.count_dscp(packet.dscp);
        if packet.transport == CapturedTransport::LaterFragment {
            self.fragments += 1;
        } else if packet.payload_len > 0 {
            self.payload_bytes += u64::from(packet.payload_len);
            let gap_ns = self.last_payload_ns.map(|last| at_ns.saturating_sub(last));
            self.stage(packet.payload_len, gap_ns);
            if let Some(gap_ns) = gap_ns.filter(|&gap_ns| gap_ns >= SILENCE_NS) {
                let before = self.payload_bytes - u64::from(packet.payload_len);
                self.silences.get_or_insert_default().add(at_ns, gap_ns, before);
            }
            self.last_payload_ns = Some(at_ns);
        }
        let ended = self.turn(at_ns);
        self.bin.packets += 1;
        self.bin.bytes += u64::from(packet.ip_len.0);
        ended
    }

    /// True if the current bin has many packets.
    #[inline]
    pub(super) const fn is_dense(&self) -> bool {
        self.bin.packets >= DENSE
    }

    /// Counts the last packet as resent if `resent` is true.
    pub(super) fn count_resent(&mut self, resent: bool) {
        self.bin.resent += u32::from(resent);
    }

    /// Adds a size and the gap before it. They wait side by side, because with many flows each distribution is a cache
    /// miss.
    #[inline]
    fn stage(&mut self, size: u32, gap_ns: Option<u64>) {
        let word = match gap_ns.map(u32::try_from) {
            Some(Ok(word)) if word != NO_GAP => word,
            None => NO_GAP,
            Some(_) => {
                // The order matters: a distribution that begins to count in buckets has all earlier values.
                self.unstage();
                gap_ns.into_iter().for_each(|gap_ns| self.gaps.push(gap_ns));
                NO_GAP
            }
        };
        if self.staged.len() == self.staged.capacity() {
            self.make_room();
        }
        self.staged.push((size, word));
    }

    #[cold]
    fn make_room(&mut self) {
        if self.staged.len() >= MANY {
            return self.unstage();
        }
        self.staged.reserve_exact(self.staged.len() * 3);
    }

    /// Brings the distributions up to date.
    #[cold]
    pub(super) fn unstage(&mut self) {
        self.sizes.extend(self.staged.iter().map(|&(size, _)| size.into()));
        let gaps = self.staged.iter().filter(|(_, gap_ns)| *gap_ns != NO_GAP);
        self.gaps.extend(gaps.map(|&(_, gap_ns)| gap_ns.into()));
        self.staged.clear();
    }

    /// Completes the distributions, after the last packet.
    pub(super) fn settle(&mut self) {
        self.unstage();
        self.staged = SmallVec::new();
        if let Some(copies) = &mut self.copies {
            copies.settle();
        }
    }

    /// Returns the last bin, at the end of the flow.
    pub(super) fn last_bin(&mut self) -> Option<Bin> {
        self.close_bin();
        (self.bin.packets > 0).then_some(self.bin)
    }

    fn turn(&mut self, at_ns: u64) -> Option<Bin> {
        let start = at_ns - at_ns % BIN_NS;
        if self.bin.packets > 0 && start <= self.bin.t_ns {
            return None;
        }
        let ended = self.last_bin();
        // Bins without packets may lie between. Four of them empty the second.
        let passed = ((start - self.bin.t_ns.min(start)) / BIN_NS).min(4) as usize;
        self.bins.rotate_left(passed);
        self.bins[4 - passed..].fill(0);
        self.bin = Bin { t_ns: start, ..Bin::default() };
        ended
    }

    fn close_bin(&mut self) {
        self.bins[3] = self.bin.bytes;
        if let Some(silences) = &mut self.silences {
            silences.passed(self.bin.t_ns, self.payload_bytes);
        }
        self.peak_bytes_per_second = self.peak_bytes_per_second.max(self.bins.iter().sum());
    }

    fn count_dscp(&mut self, dscp: u8) {
        for (n, (known, count)) in self.dscp.iter_mut().enumerate() {
            if *count == 0 || *known == dscp || n == 3 {
                *known = if *count == 0 { dscp } else { *known };
                *count += 1;
                return;
            }
        }
    }
}

/// Gap of a packet that has none, or a longer one.
const NO_GAP: u32 = u32::MAX;
/// Sizes and gaps that wait without an allocation.
const FEW: usize = 4;
/// Sizes and gaps that may wait. The list grows four times at once.
const MANY: usize = 64;
/// Packets in a bin so far from which it is dense: after these, less than 25 ms lie between two on average.
const DENSE: u32 = 10;
/// Number of points whose copies are timed.
const MAX_POINTS: usize = 4;

const fn ecn_index(ecn: Ecn) -> usize {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}
