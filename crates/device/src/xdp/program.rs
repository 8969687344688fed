//! The XDP program: about 30 instructions that give an interface's frames to the sockets of their queues and let frames for this
//! machine pass. It is attached by a link, which the kernel removes with the process, however that ends.

use std::io::{Error, Result};
use std::os::fd::RawFd;

use gamelane_core::headers::ETHERNET_HEADER;

use crate::bpf::{
    self, AttachType, Helper::RedirectMap, Instruction, Link, Map, MapType, ProgramType, Register::*,
    SharedNumber,
};

/// A program attached as long as this lives.
#[derive(Debug)]
pub(super) struct Program {
    /// Frames that it let pass to this machine.
    passed: SharedNumber,
    _link: Link,
}

impl Program {
    /// Attaches to the driver of an interface. Queue `n` goes to the `n`th of `sockets`; frames to a MAC address in `own` pass.
    pub(super) fn attach(index: u32, sockets: &[RawFd], own: &[[u8; 6]]) -> Result<Self> {
        let map = Map::create(MapType::XskMap, size_of::<u32>() as u32, sockets.len() as u32, 0)?;
        for (queue, socket) in (0_u32..).zip(sockets) {
            map.put(queue, *socket)?;
        }
        let passed = SharedNumber::new()?;
        let program = instructions(&map, passed.map(), own);
        let program = bpf::Program::load(ProgramType::Xdp, AttachType::Xdp, "gl_to_sockets", &program)?;
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

/// In C:
///
/// ```c
/// if (data + 14 > data_end) return XDP_PASS;
/// if (destination is in own) { atomic_add(&passed, 1); return XDP_PASS; }
/// return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
/// ```
fn instructions(sockets: &Map, counter: &Map, own: &[[u8; 6]]) -> Vec<Instruction> {
    // Offsets in `struct xdp_md`.
    const DATA: i16 = 0;
    const DATA_END: i16 = 4;
    const RX_QUEUE_INDEX: i16 = 16;
    const XDP_PASS: i32 = 2;
    let [low, high] = Instruction::map(R1, sockets);
    let give = [
        Instruction::load_word(R2, R1, RX_QUEUE_INDEX),
        low,
        high,
        Instruction::set(R3, XDP_PASS),
        Instruction::call(RedirectMap),
        Instruction::exit(),
    ];
    let [low, high] = Instruction::address_of(R1, counter);
    let count = [low, high, Instruction::set(R2, 1), Instruction::add_atomically(R1, 0, R2)];
    let pass = [Instruction::set(R0, XDP_PASS), Instruction::exit()];
    // Three instructions for each of `own`, below.
    let looks = 3 * own.len();
    let mut program = vec![
        Instruction::load_word(R2, R1, DATA),
        Instruction::load_word(R3, R1, DATA_END),
        Instruction::copy(R4, R2),
        Instruction::add(R4, ETHERNET_HEADER as i32),
        Instruction::skip_if_above(R4, R3, (2 + looks + give.len() + count.len()) as i16),
        Instruction::load_word(R5, R2, 0),
        Instruction::load_half(R6, R2, 4),
    ];
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

/// `XDP_FLAGS_DRV_MODE`.
const IN_DRIVER: u32 = 1 << 2;
