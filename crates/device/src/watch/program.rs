//! The programs at the tracepoints. They differ in where their arguments are.

use std::io::{Error, Result};

use gamelane_core::headers::ETHERNET_HEADER;

use super::event::{self, What};
use super::layout::{Layout, Tracked};
use crate::bpf::Helper::{KtimeGetNs, ProbeReadKernel, RingbufReserve, RingbufSubmit};
use crate::bpf::Register::*;
use crate::bpf::{Instruction, Link, Ring, SharedNumber};

/// A tracepoint.
#[derive(Debug)]
pub(super) struct Point {
    name: &'static str,
    what: What,
    /// Which argument is the packet.
    packet: i16,
    /// Which is the reason of a drop.
    reason: Option<i16>,
}

/// What shows a queue.
pub(super) const QUEUE: [Point; 3] = [
    Point { name: "net_dev_queue", what: What::Came, packet: 0, reason: None },
    Point { name: "net_dev_start_xmit", what: What::Left, packet: 0, reason: None },
    Point { name: "kfree_skb", what: What::Dropped(0), packet: 0, reason: Some(2) },
];
/// What shows packets that are received.
pub(super) const ARRIVALS: [Point; 1] =
    [Point { name: "netif_receive_skb", what: What::Passed, packet: 0, reason: None }];

/// What a program looks for, and where it writes.
pub(super) struct Watched<'a> {
    /// Interfaces by index, two numbers of 32 bits.
    pub(super) indices: &'a SharedNumber,
    pub(super) namespace: u32,
    pub(super) ring: &'a Ring,
    pub(super) lost: &'a SharedNumber,
}

impl Point {
    pub(super) fn attach(&self, layout: &Layout, watched: &Watched<'_>) -> Result<Link> {
        let link = layout
            .tracepoint(self.name)
            .and_then(|point| Link::at_tracepoint(point, "gl_watch", &self.program(layout, watched)));
        link.map_err(|error| {
            Error::new(
                error.kind(),
                format!("the kernel's tracepoint {} cannot be watched: {error}", self.name),
            )
        })
    }

    /// In C, with the bytes of the packet and its segments by `bpf_probe_read_kernel`:
    ///
    /// ```c
    /// struct sk_buff *skb = arguments[packet];
    /// if (!skb || !skb->dev || skb->dev->ifindex is none of indices[2]) return 0;
    /// if (skb->dev->nd_net.net->ns.inum != namespace) return 0;
    /// u64 now = bpf_ktime_get_ns();
    /// struct record *record = bpf_ringbuf_reserve(ring, sizeof *record, 0);
    /// if (!record) { atomic_add(&lost, 1); return 0; }
    /// record->… = …;                                          // `event`
    /// bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
    /// ```
    fn program(&self, layout: &Layout, watched: &Watched<'_>) -> Vec<Instruction> {
        let mut body = Body::default();
        body.push([match self.reason {
            Some(argument) => Instruction::load_double(R7, R1, 8 * argument),
            None => Instruction::set(R7, 0),
        }]);
        body.push([Instruction::load_double(R6, R1, 8 * self.packet)]);
        body.leave(Instruction::skip_if_equal(R6, 0, 0));
        body.select(layout, watched);
        body.push([Instruction::call(KtimeGetNs), Instruction::copy(R8, R0)]);
        let record = event::LEN as i32;
        body.push(Instruction::map(R1, watched.ring.map()));
        body.push([Instruction::set(R2, record), Instruction::set(R3, 0), Instruction::call(RingbufReserve)]);
        let [low, high] = Instruction::address_of(R1, watched.lost.map());
        body.push([Instruction::skip_unless_equal(R0, 0, 5), low, high]);
        body.push([Instruction::set(R2, 1), Instruction::add_atomically(R1, 0, R2)]);
        body.leave(Instruction::skip(0));
        body.push([
            Instruction::store_double(R0, event::AT, R8),
            Instruction::store_double(R0, event::PACKET, R6),
            Instruction::store_word(R0, event::REASON, R7),
            Instruction::store(R0, event::WHAT, self.what.number()),
            Instruction::store_word(R0, event::INDEX, R9),
            Instruction::copy(R9, R0),
        ]);
        body.describe(layout, self.what);
        body.push([
            Instruction::copy(R1, R9),
            Instruction::set(R2, NO_WAKEUP),
            Instruction::call(RingbufSubmit),
        ]);
        body.end()
    }
}

const NO_WAKEUP: i32 = 1;

/// A program that is being written. `R6` holds the packet. `R9` holds the record once that is reserved.
#[derive(Default)]
struct Body {
    code: Vec<Instruction>,
    /// Jumps to the end.
    leaves: Vec<usize>,
}

impl Body {
    fn push<const N: usize>(&mut self, instructions: [Instruction; N]) {
        self.code.extend(instructions);
    }

    /// Adds a jump to the end.
    fn leave(&mut self, jump: Instruction) {
        self.leaves.push(self.code.len());
        self.code.push(jump);
    }

    /// Copies `len` bytes of the kernel from `R3` to the record.
    fn copy_to_record(&mut self, at: i16, len: u32) {
        self.push([
            Instruction::copy(R1, R9),
            Instruction::add(R1, at.into()),
            Instruction::set(R2, len as i32),
            Instruction::call(ProbeReadKernel),
        ]);
    }

    /// Leaves unless the packet is at a watched interface, whose index is then in `R9`.
    fn select(&mut self, layout: &Layout, watched: &Watched<'_>) {
        self.push([Instruction::load_double(R8, R6, layout.packet.device)]);
        self.leave(Instruction::skip_if_equal(R8, 0, 0));
        self.push([Instruction::load_word(R9, R8, layout.index)]);
        self.push(Instruction::address_of(R1, watched.indices.map()));
        self.push([
            Instruction::load_word(R2, R1, 0),
            Instruction::skip_if_same(R9, R2, 2),
            Instruction::load_word(R2, R1, 4),
        ]);
        self.leave(Instruction::skip_unless_same(R9, R2, 0));
        self.push([
            Instruction::load_double(R1, R8, layout.namespace),
            Instruction::load_word(R1, R1, layout.number),
        ]);
        self.leave(Instruction::skip_if_other_word(R1, watched.namespace as i32, 0));
    }

    /// Fills the record with what is known of the packet. Uses `R7` and `R8`.
    fn describe(&mut self, layout: &Layout, what: What) {
        let packet = &layout.packet;
        if what == What::Passed {
            // The network header is not set yet; the data begin there.
            self.push([Instruction::load_double(R7, R6, packet.data)]);
        } else {
            self.push([
                // R7 = head + network_header
                Instruction::load_double(R7, R6, packet.head),
                Instruction::load_half(R1, R6, packet.network),
                Instruction::add_register(R7, R1),
            ]);
        }
        self.push([
            // R8 = len - (R7 - data)
            Instruction::load_word(R8, R6, packet.len),
            Instruction::load_double(R1, R6, packet.data),
            Instruction::add_register(R8, R1),
            Instruction::subtract(R8, R7),
            Instruction::store_word(R9, event::IP_LEN, R8),
            Instruction::load_word(R1, R6, packet.fragments_len),
            Instruction::subtract(R8, R1),
            Instruction::store_word(R9, event::LINEAR, R8),
            Instruction::load_word(R1, R6, packet.priority),
            Instruction::store_word(R9, event::PRIORITY, R1),
            // skb_shinfo(skb)->gso_size, gso_segs
            Instruction::load_double(R3, R6, packet.head),
            Instruction::load_word(R1, R6, packet.end),
            Instruction::add_register(R3, R1),
            Instruction::add(R3, layout.segments.into()),
        ]);
        self.copy_to_record(event::SEGMENTS, 4);
        self.connection(layout.packet.connection.zip(layout.tracked.as_ref()));
        self.push([
            Instruction::store(R9, event::FRAME, 0),
            Instruction::store(R9, event::FRAME + 4, 0),
            Instruction::store(R9, event::FRAME + 8, 0),
            Instruction::load_half(R1, R6, packet.protocol),
            Instruction::store_half(R9, event::FRAME + 12, R1),
            Instruction::copy(R3, R7),
        ]);
        self.copy_to_record(event::FRAME + ETHERNET_HEADER as i16, event::SNAP as u32);
    }

    /// Writes where the packet came from before Linux translated addresses; zeros if it does not track the packet's connection.
    fn connection(&mut self, known: Option<(i16, &Tracked)>) {
        let zeros = [0, 4, 8, 12, 16].map(|offset| Instruction::store(R9, event::SOURCE + offset, 0));
        self.push(zeros);
        let Some((member, tracked)) = known else { return };
        self.push([
            // The lowest three bits say which direction this is (`enum ip_conntrack_info`).
            Instruction::load_double(R3, R6, member),
            Instruction::copy(R1, R3),
            Instruction::and(R1, 7),
            Instruction::and(R3, !7),
            Instruction::skip_if_equal(R3, 0, 7),
            Instruction::skip_if_at_most(R1, ORIGINAL, 1),
            Instruction::add(R3, tracked.next.into()),
            Instruction::add(R3, tracked.source.into()),
        ]);
        self.copy_to_record(event::SOURCE, event::SOURCE_LEN as u32);
    }

    fn end(mut self) -> Vec<Instruction> {
        let end = self.code.len();
        for at in self.leaves {
            self.code[at] = self.code[at].over((end - at - 1) as i16);
        }
        self.code.extend([Instruction::set(R0, 0), Instruction::exit()]);
        self.code
    }
}

/// Up to this number (`IP_CT_NEW`), the packet goes as the connection's first.
const ORIGINAL: i32 = 2;
