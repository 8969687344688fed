//! Programs that the kernel runs for frames: bpf(2). They are a handful of instructions each, written down with
//! [`Instruction`]'s functions, and need neither compiler nor object file. Programs, maps and links end with the values here,
//! so with the process too, however it ends. Left out: pinning, BTF, and what is not used of the instruction set.

mod instruction;

use std::ffi::c_int;
use std::io::{Error, Result};
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering;

pub use instruction::{Helper, Instruction, Register};

use super::mapping::Mapping;

/// What a program is about, `BPF_PROG_TYPE_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ProgramType {
    /// A frame, with its metadata (`struct __sk_buff`).
    SchedCls = 3,
    /// A frame as it comes from the driver (`struct xdp_md`).
    Xdp = 6,
}

/// Where a program is hooked in, `BPF_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum AttachType {
    /// Where the driver has a frame.
    Xdp = 37,
    /// Where frames come in at an interface. Since Linux 6.6.
    TcxIngress = 46,
    /// Where frames leave by an interface. Since Linux 6.6.
    TcxEgress = 47,
}

/// A program the kernel has checked.
#[derive(Debug)]
pub struct Program(OwnedFd);

impl Program {
    /// Hands a program to the kernel. `name` is what `bpftool prog` shows: up to 15 letters, digits and `_`.
    ///
    /// # Errors
    /// If it is not permitted, or is refused; the message has the kernel's reason then.
    pub fn load(
        kind: ProgramType,
        attach: AttachType,
        name: &str,
        instructions: &[Instruction],
    ) -> Result<Self> {
        let mut attributes = Load {
            kind: kind as u32,
            instruction_count: instructions.len() as u32,
            instructions: instructions.as_ptr() as u64,
            license: LICENSE.as_ptr() as u64,
            attach: attach as u32,
            ..Load::default()
        };
        for (place, byte) in attributes.name[..15].iter_mut().zip(name.bytes()) {
            *place = byte;
        }
        // SAFETY: the attributes are those of this command; instructions and licence live through the call.
        let error = match unsafe { make(PROG_LOAD, &attributes) } {
            Ok(fd) => return Ok(Self(fd)),
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => return Err(error),
            Err(error) => error,
        };
        let mut log = vec![0u8; 1 << 16];
        attributes.log = log.as_mut_ptr() as u64;
        attributes.log_size = log.len() as u32;
        attributes.log_level = 1;
        // SAFETY: as above; the log is as long as is said, lives through the call, and only the kernel writes to it then.
        if let Ok(fd) = unsafe { make(PROG_LOAD, &attributes) } {
            return Ok(Self(fd));
        }
        let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
        let said = String::from_utf8_lossy(&log[..end]);
        Err(Error::new(error.kind(), format!("{error}; the kernel says of {name}:\n{}", said.trim())))
    }
}

/// A program hooked in at an interface, until this is dropped.
#[derive(Debug)]
pub struct Link {
    _held: OwnedFd,
}

impl Link {
    /// Hooks a program in at the interface of this number in this thread's network namespace, before others there.
    ///
    /// # Errors
    /// Of kind `InvalidInput` if the kernel has no such hooks.
    pub fn first(program: &Program, interface: u32, attach: AttachType) -> Result<Self> {
        Self::create(program, interface, attach, BEFORE)
    }

    /// Hooks a program in with flags of this kind of hook.
    ///
    /// # Errors
    /// Of kind `InvalidInput` if the kernel has no such hooks.
    pub fn create(program: &Program, interface: u32, attach: AttachType, flags: u32) -> Result<Self> {
        let program = program.0.as_raw_fd();
        let attributes = LinkCreate { program, interface, attach: attach as u32, flags, rest: [0; 2] };
        // SAFETY: the attributes are those of this command, and hold no pointers.
        Ok(Self { _held: unsafe { make(LINK_CREATE, &attributes) }? })
    }
}

/// What a map holds, `BPF_MAP_TYPE_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MapType {
    /// Values by their place.
    Array = 2,
    /// Sockets of AF_XDP by their place.
    XskMap = 17,
}

/// Memory that programs share, by number from zero.
#[derive(Debug)]
pub struct Map(OwnedFd);

impl Map {
    /// Of `entries` values of `value` bytes, all zeros.
    pub fn create(kind: MapType, value: u32, entries: u32, flags: u32) -> Result<Self> {
        let attributes = MapCreate { kind: kind as u32, key: 4, value, entries, flags };
        // SAFETY: the attributes are those of this command, and hold no pointers.
        unsafe { make(MAP_CREATE, &attributes) }.map(Self)
    }

    /// Puts a descriptor at a place of a map that holds such.
    pub fn put(&self, key: u32, value: RawFd) -> Result<()> {
        let attributes = MapUpdate {
            map: self.0.as_raw_fd(),
            padding: 0,
            key: (&raw const key) as u64,
            value: (&raw const value) as u64,
            flags: 0,
        };
        // SAFETY: key and value live through the call and are of four bytes, as in all maps of descriptors; the kernel only
        // reads them.
        unsafe { bpf(MAP_UPDATE, &attributes) }.map(|_| ())
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A number that this process and programs share.
#[derive(Debug)]
pub struct SharedNumber {
    map: Map,
    memory: Mapping,
}

impl SharedNumber {
    /// Zero.
    pub fn new() -> Result<Self> {
        let map = Map::create(MapType::Array, size_of::<u64>() as u32, 1, MMAPABLE)?;
        let memory = Mapping::of(&map.0, 0, size_of::<u64>())?;
        Ok(Self { map, memory })
    }

    /// The map it is the first value of.
    pub const fn map(&self) -> &Map {
        &self.map
    }

    /// What it is. No system call.
    pub fn load(&self) -> u64 {
        self.memory.shared_long(0).load(Ordering::Relaxed)
    }

    /// Sets it. No system call.
    pub fn store(&self, value: u64) {
        self.memory.shared_long(0).store(value, Ordering::Relaxed);
    }
}

/// A command that makes something.
///
/// # Safety
///
/// As for [`bpf`]; the command answers with a new descriptor.
unsafe fn make<T>(command: c_int, attributes: &T) -> Result<OwnedFd> {
    // SAFETY: the caller's promise.
    let made = unsafe { bpf(command, attributes) }?;
    // SAFETY: it was just made, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

/// bpf(2).
///
/// # Safety
///
/// `attributes` are those of the command, and its pointers are to what the command expects, for as long as it takes.
unsafe fn bpf<T>(command: c_int, attributes: &T) -> Result<RawFd> {
    // SAFETY: the attributes live through the call and the size is theirs; the rest is the caller's promise.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>() as libc::c_uint)
    };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result as RawFd) }
}

// Parts of `union bpf_attr`, each without padding, so that every byte the kernel reads is written.

/// Of `BPF_PROG_LOAD`.
#[derive(Debug, Default)]
#[repr(C)]
struct Load {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach: u32,
}

/// Of `BPF_LINK_CREATE`.
#[derive(Debug)]
#[repr(C)]
struct LinkCreate {
    program: c_int,
    interface: u32,
    attach: u32,
    flags: u32,
    /// Relative to which other, and at which revision.
    rest: [u64; 2],
}

/// Of `BPF_MAP_CREATE`.
#[derive(Debug)]
#[repr(C)]
struct MapCreate {
    kind: u32,
    key: u32,
    value: u32,
    entries: u32,
    flags: u32,
}

/// Of `BPF_MAP_UPDATE_ELEM`.
#[derive(Debug)]
#[repr(C)]
struct MapUpdate {
    map: c_int,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

const MAP_CREATE: c_int = 0;
const MAP_UPDATE: c_int = 2;
const PROG_LOAD: c_int = 5;
const LINK_CREATE: c_int = 28;
const MMAPABLE: u32 = 1 << 10;
const BEFORE: u32 = 1 << 3;
const LICENSE: &std::ffi::CStr = c"MIT OR Apache-2.0";
