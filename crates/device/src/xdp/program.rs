//! The XDP program: about 60 instructions that give an interface's frames to the sockets of their queues and let frames for this
//! machine pass. It puts a VLAN tag that the sender's kernel carries beside a frame into the frame. The kernel removes the program
//! with the process, however that ends, because a link attaches it.

use std::io::{Error, Result};
use std::os::fd::RawFd;

use gamelane_core::headers::{ETHERNET_HEADER, VLAN_TAG};

use crate::bpf::{
    self, AttachType, Heartbeat,
    Helper::{RedirectMap, XdpAdjustHead},
    Instruction, Link, Map, MapType, ProgramType,
    Register::*,
    SharedNumber,
};
use crate::interface::Interface;

/// A program attached as long as this lives.
#[derive(Debug)]
pub(super) struct Program {
    /// Frames that it let pass to this machine.
    passed: SharedNumber,
    _link: Link,
}

impl Program {
    /// Attaches to the driver of an interface. Queue `n` goes to the `n`th of `sockets`; frames to a MAC address in `own` pass.
    pub(super) fn attach(
        interface: &Interface,
        sockets: &[RawFd],
        own: &[[u8; 6]],
        heartbeat: &Heartbeat,
    ) -> Result<Self> {
        let index = interface.index;
        let map = Map::create(MapType::XskMap, size_of::<u32>() as u32, sockets.len() as u32, 0)?;
        for (queue, socket) in (0_u32..).zip(sockets) {
            map.put(queue, *socket)?;
        }
        let passed = SharedNumber::new()?;
        let load = |reader, bound_to| {
            let program = instructions(&map, passed.map(), own, heartbeat, reader);
            bpf::Program::load_for(ProgramType::Xdp, AttachType::Xdp, "gl_to_sockets", &program, bound_to)
        };
        // Hardware has its stripping of tags switched off ([`crate::VLAN_STRIPPING`]).
        let reader = interface.is_software().then(tag_reader).flatten();
        let program = match load(reader, reader.map(|_| index)) {
            // The driver of `tun` shows no tags. Its frames come from a program, and have none beside them.
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => load(None, None),
            loaded => loaded,
        }?;
        let link = Link::create(&program, index, AttachType::Xdp, IN_DRIVER);
        let link = link.map_err(|error| match error.raw_os_error() {
            Some(libc::EBUSY | libc::EEXIST) => Error::other("another XDP program is attached to it"),
            Some(libc::EOPNOTSUPP) => Error::other("its driver runs no XDP programs, or not with the offloads that are on"),
            _ => Error::new(
                error.kind(),
                format!(
                    "its driver refuses an XDP program: {error}\n  hint:    a smaller MTU or fewer \
                     offloads may help; a veth pair needs as many receive queues here as the other end has send queues"
                ),
            ),
        })?;
        Ok(Self { passed, _link: link })
    }

    /// Frames that passed to this machine so far.
    pub(super) fn passed(&self) -> u64 {
        self.passed.load()
    }
}

/// The kernel's function that reads the VLAN tag beside a frame, since Linux 6.8.
pub(super) fn tag_reader() -> Option<i32> {
    bpf::function("bpf_xdp_metadata_rx_vlan_tag")
}

/// In C:
///
/// ```c
/// if (standing still) return XDP_PASS;
/// if (data + 14 > data_end) return XDP_PASS;
/// if (destination is in own) { atomic_add(&passed, 1); return XDP_PASS; }
/// if (bpf_xdp_metadata_rx_vlan_tag(ctx, &protocol, &tag) == 0) {       // with `reader`
///     if (bpf_xdp_adjust_head(ctx, -4)) return XDP_PASS;
///     if (data + 18 > data_end) return XDP_PASS;
///     move the addresses to the front; after them, protocol and htons(tag)
/// }
/// return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
/// ```
fn instructions(
    sockets: &Map,
    counter: &Map,
    own: &[[u8; 6]],
    heartbeat: &Heartbeat,
    tag_reader: Option<i32>,
) -> Vec<Instruction> {
    let [low, high] = Instruction::map(R1, sockets);
    let redirect = [
        Instruction::load_word(R2, R6, RX_QUEUE_INDEX),
        low,
        high,
        Instruction::set(R3, XDP_PASS),
        Instruction::call(RedirectMap),
        Instruction::exit(),
    ];
    let pass = [Instruction::set(R0, XDP_PASS), Instruction::exit()];
    let mut give = vec![Instruction::copy(R6, R1)];
    if let Some(reader) = tag_reader {
        give.extend(put_tag_in(reader, redirect.len() as i16));
        give.extend(redirect);
        give.extend(pass);
    } else {
        give.extend(redirect);
    }
    let [low, high] = Instruction::address_of(R1, counter);
    let count = [low, high, Instruction::set(R2, 1), Instruction::add_atomically(R1, 0, R2)];
    // Three instructions for each of `own`, below.
    let looks = 3 * own.len();
    let mut program = vec![Instruction::copy(R6, R1)];
    program.extend(heartbeat.skip_if_at_work(pass.len() as i16));
    program.extend(pass);
    program.extend([
        Instruction::copy(R1, R6),
        Instruction::load_word(R2, R1, DATA),
        Instruction::load_word(R3, R1, DATA_END),
        Instruction::copy(R4, R2),
        Instruction::add(R4, ETHERNET_HEADER as i32),
        Instruction::skip_if_above(R4, R3, (2 + looks + give.len() + count.len()) as i16),
        Instruction::load_word(R5, R2, 0),
        Instruction::load_half(R6, R2, 4),
    ]);
    for (place, [a, b, c, d, e, f]) in own.iter().enumerate() {
        let after = looks - 3 * (place + 1);
        program.extend([
            Instruction::skip_if_other_word(R5, i32::from_ne_bytes([*a, *b, *c, *d]), 2),
            Instruction::skip_if_other_word(R6, i32::from(u16::from_ne_bytes([*e, *f])), 1),
            Instruction::skip((after + give.len()) as i16),
        ]);
    }
    program.extend(give);
    program.extend(count);
    program.extend(pass);
    program
}

/// Puts the tag beside the frame of `R6` into it, if there is one. Goes on behind the next `then` instructions if it cannot.
fn put_tag_in(reader: i32, then: i16) -> Vec<Instruction> {
    /// Places in the program's memory.
    const PROTOCOL: i16 = -8;
    const TAG: i16 = -6;
    let [first, second, third] =
        [0, 4, 8].map(|at| [Instruction::load_word(R5, R2, at + 4), Instruction::store_word(R2, at, R5)]);
    let insert = [
        &first[..],
        &second,
        &third,
        &[
            Instruction::load_half(R5, R10, PROTOCOL),
            Instruction::store_half(R2, 12, R5),
            Instruction::load_half(R5, R10, TAG),
            Instruction::network_order(R5),
            Instruction::store_half(R2, 14, R5),
        ],
    ]
    .concat();
    let missed = insert.len() as i16 + then;
    let make_room = [
        Instruction::copy(R1, R6),
        Instruction::set(R2, -(VLAN_TAG as i32)),
        Instruction::call(XdpAdjustHead),
        Instruction::skip_if_other_word(R0, 0, 5 + missed),
        Instruction::load_word(R2, R6, DATA),
        Instruction::load_word(R3, R6, DATA_END),
        Instruction::copy(R4, R2),
        Instruction::add(R4, (ETHERNET_HEADER + VLAN_TAG) as i32),
        Instruction::skip_if_above(R4, R3, missed),
    ];
    let ask = [
        Instruction::store(R10, PROTOCOL, 0),
        Instruction::copy(R2, R10),
        Instruction::add(R2, PROTOCOL.into()),
        Instruction::copy(R3, R10),
        Instruction::add(R3, TAG.into()),
        Instruction::call_function(reader),
        Instruction::skip_if_other_word(R0, 0, (make_room.len() + insert.len()) as i16),
    ];
    [&ask[..], &make_room, &insert].concat()
}

// Offsets in `struct xdp_md`.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const RX_QUEUE_INDEX: i16 = 16;
const XDP_PASS: i32 = 2;
/// `XDP_FLAGS_DRV_MODE`.
const IN_DRIVER: u32 = 1 << 2;

#[cfg(test)]
mod tests {
    use super::*;

    /// The verifier refuses code that nothing reaches, and reads beyond the frame.
    #[test]
    fn the_kernel_accepts_the_program_without_tags_too() {
        if let Err(error) = Map::create(MapType::Array, 8, 1, 0) {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "no eBPF here: {error}");
            return;
        }
        let sockets = Map::create(MapType::XskMap, 4, 1, 0).unwrap();
        let (passed, heartbeat) = (SharedNumber::new().unwrap(), Heartbeat::new().unwrap());
        for own in [&[[2, 0, 0, 0, 0, 1]][..], &[[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]]] {
            let program = instructions(&sockets, passed.map(), own, &heartbeat, None);
            bpf::Program::load(ProgramType::Xdp, AttachType::Xdp, "test", &program).unwrap();
        }
    }
}
