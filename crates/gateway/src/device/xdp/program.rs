//! The program in the kernel that gives an interface's frames to the sockets of their queues, and lets those for this machine
//! itself pass: a few instructions, put together here (`Documentation/bpf/standardization/instruction-set.rst`). It is
//! attached by a link, which the kernel takes away with the last descriptor of it, however the process ends.

use std::ffi::CStr;
use std::io::{Error, Result};
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering;

use libc::c_long;

use super::super::mapping::Mapping;

/// A program that is attached as long as this lives.
#[derive(Debug)]
pub(super) struct Program {
    /// Frames it let pass to this machine.
    passed: Mapping,
    _link: OwnedFd,
}

impl Program {
    /// Attaches to an interface, in its driver, where queue `n` has the `n`th of `sockets`. Frames to one of `own` pass.
    pub(super) fn attach(index: u32, sockets: &[RawFd], own: &[[u8; 6]]) -> Result<Self> {
        let map = create_map(XSKMAP, c"gamelane_xsk", size_of::<u32>(), sockets.len(), 0)?;
        for (queue, socket) in (0_u32..).zip(sockets) {
            put(&map, queue, *socket)?;
        }
        let counter = create_map(ARRAY, c"gamelane_own", size_of::<u64>(), 1, MMAPABLE)?;
        let passed = Mapping::of(&counter, 0, size_of::<u64>())?;
        let program = load(&instructions(&map, &counter, own))?;
        let link = Link {
            program: program.as_raw_fd() as u32,
            interface: index,
            attach_type: ATTACH_XDP,
            flags: IN_DRIVER,
        };
        let link = call(LINK_CREATE, &link).map_err(|error| match error.raw_os_error() {
            Some(libc::EBUSY | libc::EEXIST) => Error::other("another XDP program is attached to it"),
            Some(libc::EOPNOTSUPP) => Error::other("its driver runs no XDP programs, or not with the offloads that are on"),
            _ => Error::new(
                error.kind(),
                format!(
                    "its driver refuses an XDP program: {error}\n  hint:    with this MTU, perhaps, or with other \
                     offloads on; a veth pair needs as many receive queues here as the other end has to send"
                ),
            ),
        })?;
        Ok(Self { passed, _link: link })
    }

    /// Frames that passed to this machine so far.
    pub(super) fn passed(&self) -> u64 {
        self.passed.shared_long(0).load(Ordering::Relaxed)
    }
}

/// An instruction: operation, registers (destination in the lower half), offset, immediate.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instruction(u8, u8, i16, i32);

/// In C:
///
/// ```c
/// if (data + 14 > data_end) return XDP_PASS;
/// if (destination is in own) { atomic_add(&passed, 1); return XDP_PASS; }
/// return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
/// ```
fn instructions(sockets: &OwnedFd, counter: &OwnedFd, own: &[[u8; 6]]) -> Vec<Instruction> {
    const CTX: u8 = 1;
    const LOAD_32: u8 = 0x61;
    const LOAD_16: u8 = 0x69;
    const LOAD_MAP: u8 = 0x18;
    const MOVE: u8 = 0xbf;
    const MOVE_VALUE: u8 = 0xb7;
    const ADD_VALUE: u8 = 0x07;
    const ATOMIC_64: u8 = 0xdb;
    const CALL: u8 = 0x85;
    const EXIT: u8 = 0x95;
    const IF_GREATER: u8 = 0x2d;
    const IF_OTHER_32: u8 = 0x56;
    const GO: u8 = 0x05;
    const XDP_PASS: i32 = 2;
    const REDIRECT_MAP: i32 = 51;
    let registers = |to: u8, from: u8| from << 4 | to;
    let pass = [Instruction(MOVE_VALUE, 0, 0, XDP_PASS), Instruction(EXIT, 0, 0, 0)];
    let count_and_pass = [
        Instruction(LOAD_MAP, registers(1, 2), 0, counter.as_raw_fd()),
        Instruction(0, 0, 0, 0),
        Instruction(MOVE_VALUE, 2, 0, 1),
        Instruction(ATOMIC_64, registers(1, 2), 0, 0),
    ];
    let mut program = vec![
        Instruction(LOAD_32, registers(2, CTX), 0, 0),
        Instruction(LOAD_32, registers(3, CTX), 4, 0),
        Instruction(MOVE, registers(4, 2), 0, 0),
        Instruction(ADD_VALUE, 4, 0, 14),
        // Over what follows to `pass`, at the end.
        Instruction(IF_GREATER, registers(4, 3), (2 + 3 * own.len() + 6 + 4) as i16, 0),
        Instruction(LOAD_32, registers(5, 2), 0, 0),
        Instruction(LOAD_16, registers(6, 2), 4, 0),
    ];
    for (place, [a, b, c, d, e, f]) in own.iter().enumerate() {
        let after = 3 * (own.len() - place - 1);
        program.extend([
            Instruction(IF_OTHER_32, 5, 2, i32::from_ne_bytes([*a, *b, *c, *d])),
            Instruction(IF_OTHER_32, 6, 1, i32::from(u16::from_ne_bytes([*e, *f]))),
            Instruction(GO, 0, (after + 6) as i16, 0),
        ]);
    }
    program.extend([
        Instruction(LOAD_32, registers(2, CTX), 16, 0),
        Instruction(LOAD_MAP, registers(1, 1), 0, sockets.as_raw_fd()),
        Instruction(0, 0, 0, 0),
        Instruction(MOVE_VALUE, 3, 0, XDP_PASS),
        Instruction(CALL, 0, 0, REDIRECT_MAP),
        Instruction(EXIT, 0, 0, 0),
    ]);
    program.extend(count_and_pass);
    program.extend(pass);
    program
}

fn create_map(kind: u32, name: &CStr, value: usize, entries: usize, flags: u32) -> Result<OwnedFd> {
    let map = Map {
        kind,
        key_bytes: size_of::<u32>() as u32,
        value_bytes: value as u32,
        entries: entries as u32,
        flags,
        inner: 0,
        node: 0,
        name: padded(name),
    };
    call(MAP_CREATE, &map)
}

fn put(map: &OwnedFd, key: u32, value: RawFd) -> Result<()> {
    let element = Element {
        map: map.as_raw_fd() as u32,
        padding: 0,
        key: (&raw const key) as u64,
        value: (&raw const value) as u64,
        flags: 0,
    };
    // SAFETY: key and value live through the call and have the sizes the map was made for; the kernel only reads them.
    unsafe { bpf(MAP_UPDATE, &element) }.map(|_| ())
}

fn load(instructions: &[Instruction]) -> Result<OwnedFd> {
    let program = Load {
        kind: PROGRAM_XDP,
        count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: c"MIT OR Apache-2.0".as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
        version: 0,
        flags: 0,
        name: padded(c"gamelane"),
        interface: 0,
        attach_type: ATTACH_XDP,
    };
    call(PROGRAM_LOAD, &program)
}

/// A command of bpf(2) that makes something.
fn call<T>(command: c_long, attributes: &T) -> Result<OwnedFd> {
    // SAFETY: what the attributes given by this module point to (instructions, a license) lives through the call.
    let made = unsafe { bpf(command, attributes) }?;
    // SAFETY: these commands answer with a descriptor, which was just made and nobody else knows.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

/// bpf(2).
///
/// # Safety
///
/// `T` is how the command's part of `union bpf_attr` begins, and what it points to is valid for the command.
unsafe fn bpf<T>(command: c_long, attributes: &T) -> Result<RawFd> {
    // SAFETY: the kernel reads as many bytes as it is told there are, and the caller vouches for what is in them.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>()) };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result as RawFd) }
}

fn padded(name: &CStr) -> [u8; 16] {
    let mut padded = [0; 16];
    for (place, byte) in padded.iter_mut().zip(name.to_bytes()) {
        *place = *byte;
    }
    padded
}

// Parts of `union bpf_attr`, each without padding, so that every byte the kernel reads is written.

#[repr(C)]
struct Map {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
    inner: u32,
    node: u32,
    name: [u8; 16],
}

#[repr(C)]
struct Element {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
}

#[repr(C)]
struct Link {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

const MAP_CREATE: c_long = 0;
const MAP_UPDATE: c_long = 2;
const PROGRAM_LOAD: c_long = 5;
const LINK_CREATE: c_long = 28;
const ARRAY: u32 = 2;
const XSKMAP: u32 = 17;
const MMAPABLE: u32 = 1 << 10;
const PROGRAM_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// `XDP_FLAGS_DRV_MODE`.
const IN_DRIVER: u32 = 1 << 2;
