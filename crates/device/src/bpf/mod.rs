//! eBPF programs that the kernel runs for frames: bpf(2). Each has a handful of instructions, written with the functions of
//! [`Instruction`], so neither a compiler nor an object file is needed. Programs, maps and links end with the values here, and so
//! with the process, however it ends. Not supported: pinning, type information of programs, and
//! instructions that no program here uses.
#![expect(unsafe_code, reason = "bpf(2) has no safe binding")]

mod btf;
mod heartbeat;
mod instruction;
mod ring;

use std::ffi::{CStr, c_int};
use std::io::{Error, ErrorKind, Result};
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering;

pub(crate) use btf::Btf;
pub use heartbeat::Heartbeat;
pub use instruction::{Helper, Instruction, Register};
pub use ring::Ring;

use crate::mapping::Mapping;

/// Kind of program, `BPF_PROG_TYPE_…`. It decides what a program gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ProgramType {
    /// Gets a frame with its metadata (`struct __sk_buff`).
    SchedCls = 3,
    /// Gets a frame as it comes from the driver (`struct xdp_md`).
    Xdp = 6,
    /// Gets the arguments of a tracepoint with their types, each as 64 bits, and may read through them.
    Tracing = 26,
}

/// Where a program is attached, `BPF_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum AttachType {
    /// At a tracepoint.
    TraceRawTp = 23,
    /// In the driver.
    Xdp = 37,
    /// Where frames arrive at an interface. Since Linux 6.6.
    TcxIngress = 46,
    /// Where frames leave by an interface. Since Linux 6.6.
    TcxEgress = 47,
}

/// A program that the kernel has verified.
#[derive(Debug)]
pub struct Program(OwnedFd);

impl Program {
    /// Loads a program into the kernel. `name` is what `bpftool prog` shows: up to 15 letters, digits and `_`.
    ///
    /// # Errors
    /// If this is not permitted, or the kernel refuses the program; the message then has the verifier's log.
    pub fn load(
        kind: ProgramType,
        attach: AttachType,
        name: &str,
        instructions: &[Instruction],
    ) -> Result<Self> {
        Self::load_for(kind, attach, name, instructions, None)
    }

    /// Loads a program for one interface, by its index. Such a program may call functions of the interface's driver, and can be
    /// attached to that interface only.
    ///
    /// # Errors
    /// As [`load`](Self::load). The system's error is `EOPNOTSUPP` if the driver has no such functions.
    pub fn load_for(
        kind: ProgramType,
        attach: AttachType,
        name: &str,
        instructions: &[Instruction],
        interface: Option<u32>,
    ) -> Result<Self> {
        let flags = if interface.is_some() { FOR_INTERFACE } else { 0 };
        let to = Load { flags, interface: interface.unwrap_or(0), ..Load::default() };
        Self::load_to(kind, attach, name, instructions, to)
    }

    fn load_to(
        kind: ProgramType,
        attach: AttachType,
        name: &str,
        instructions: &[Instruction],
        to: Load,
    ) -> Result<Self> {
        let mut attributes = Load {
            kind: kind as u32,
            instruction_count: instructions.len() as u32,
            instructions: instructions.as_ptr() as u64,
            license: LICENSE.as_ptr() as u64,
            attach: attach as u32,
            ..to
        };
        for (place, byte) in attributes.name[..15].iter_mut().zip(name.bytes()) {
            *place = byte;
        }
        // SAFETY: the attributes are those of this command; instructions and licence live through the call.
        let error = match unsafe { make(PROG_LOAD, &attributes) } {
            Ok(fd) => return Ok(Self(fd)),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::EOPNOTSUPP)) => {
                return Err(error);
            }
            Err(error) => error,
        };
        let mut log = vec![0u8; 1 << 16];
        attributes.log = log.as_mut_ptr() as u64;
        attributes.log_size = log.len() as u32;
        attributes.log_level = 1;
        // SAFETY: as above; the log has the length given, lives through the call, and only the kernel writes to it meanwhile.
        if let Ok(fd) = unsafe { make(PROG_LOAD, &attributes) } {
            return Ok(Self(fd));
        }
        let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
        let said = String::from_utf8_lossy(&log[..end]);
        Err(Error::new(error.kind(), format!("{error}; the kernel's log for {name}:\n{}", said.trim())))
    }
}

/// Number by which a program calls the kernel's function of this name ([`Instruction::call_function`]); `None` if this kernel has
/// none.
pub fn function(name: &str) -> Option<i32> {
    Btf::of_kernel().ok()?.function(name)
}

/// A program attached to an interface or a tracepoint until this is dropped.
#[derive(Debug)]
pub struct Link {
    _held: OwnedFd,
}

impl Link {
    /// Loads a program and attaches it to the interface with this index in this thread's network namespace, before other programs
    /// there.
    ///
    /// # Errors
    /// What the kernel refuses; a kernel without this attach type is named.
    pub fn at(name: &str, attach: AttachType, interface: u32, program: &[Instruction]) -> Result<Self> {
        let program = Program::load(ProgramType::SchedCls, attach, name, program).map_err(|error| {
            Error::new(error.kind(), format!("the kernel does not load a program for frames (bpf): {error}"))
        })?;
        Self::create(&program, interface, attach, BEFORE).map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => {
                let running = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
                Error::other(format!(
                    "this needs Linux 6.6 or later, to attach programs to interfaces (tcx); this is {}",
                    running.trim()
                ))
            }
            kind => {
                Error::new(kind, format!("the kernel does not attach a program to an interface: {error}"))
            }
        })
    }

    /// Loads a program and attaches it to a tracepoint, by the number of its type in the kernel's type information. It sees all network
    /// namespaces.
    ///
    /// # Errors
    /// What the kernel refuses: the program, or this process's privileges (CAP_BPF and CAP_PERFMON).
    pub fn at_tracepoint(number: u32, name: &str, program: &[Instruction]) -> Result<Self> {
        let to = Load { attach_type_id: number, ..Load::default() };
        let program = Program::load_to(ProgramType::Tracing, AttachType::TraceRawTp, name, program, to)?;
        // The program knows its tracepoint.
        let attributes = RawTracepointOpen { name: 0, program: program.0.as_raw_fd(), padding: 0 };
        // SAFETY: the attributes are those of this command, and hold no pointers.
        Ok(Self { _held: unsafe { make(RAW_TRACEPOINT_OPEN, &attributes) }? })
    }

    /// Attaches a program with flags of this attach type.
    ///
    /// # Errors
    /// Of kind `InvalidInput` if the kernel does not have this attach type.
    pub fn create(program: &Program, interface: u32, attach: AttachType, flags: u32) -> Result<Self> {
        let program = program.0.as_raw_fd();
        let attributes = LinkCreate { program, interface, attach: attach as u32, flags, rest: [0; 2] };
        // SAFETY: the attributes are those of this command, and hold no pointers.
        Ok(Self { _held: unsafe { make(LINK_CREATE, &attributes) }? })
    }
}

/// Kind of map, `BPF_MAP_TYPE_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MapType {
    /// Values by index.
    Array = 2,
    /// AF_XDP sockets by index.
    XskMap = 17,
    /// A ring of records. It has no keys and values; its size is in bytes.
    RingBuf = 27,
}

/// Values that programs share with this process, by index from 0.
#[derive(Debug)]
pub struct Map(OwnedFd);

impl Map {
    /// Makes a map of `entries` values of `value` bytes, all zeros.
    pub fn create(kind: MapType, value: u32, entries: u32, flags: u32) -> Result<Self> {
        let key = if kind == MapType::RingBuf { 0 } else { 4 };
        let attributes = MapCreate { kind: kind as u32, key, value, entries, flags };
        // SAFETY: the attributes are those of this command, and hold no pointers.
        unsafe { make(MAP_CREATE, &attributes) }.map(Self)
    }

    /// Stores a descriptor in a map of descriptors.
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

/// A number that this process shares with programs.
#[derive(Debug)]
pub struct SharedNumber {
    map: Map,
    memory: Mapping,
}

impl SharedNumber {
    /// Makes a number that is zero.
    pub fn new() -> Result<Self> {
        let map = Map::create(MapType::Array, size_of::<u64>() as u32, 1, MMAPABLE)?;
        let memory = Mapping::of(&map.0, 0, size_of::<u64>())?;
        Ok(Self { map, memory })
    }

    /// The map whose first value it is.
    pub const fn map(&self) -> &Map {
        &self.map
    }

    /// Reads it, without a system call.
    pub fn load(&self) -> u64 {
        self.memory.shared_long(0).load(Ordering::Relaxed)
    }

    /// Sets it, without a system call.
    pub fn store(&self, value: u64) {
        self.memory.shared_long(0).store(value, Ordering::Relaxed);
    }
}

/// Calls bpf(2) with a command that returns a new descriptor.
///
/// # Safety
///
/// As for [`bpf`]; the command returns a new descriptor.
unsafe fn make<T>(command: c_int, attributes: &T) -> Result<OwnedFd> {
    // SAFETY: the caller's promise.
    let made = unsafe { bpf(command, attributes) }?;
    // SAFETY: the descriptor was just made, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

/// Calls bpf(2).
///
/// # Safety
///
/// `attributes` are those of the command. Its pointers point to what the command expects, throughout the call.
unsafe fn bpf<T>(command: c_int, attributes: &T) -> Result<RawFd> {
    // SAFETY: the attributes live through the call and the size is theirs; the rest is the caller's promise.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>() as libc::c_uint)
    };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result as RawFd) }
}

// Parts of `union bpf_attr`. None has padding, so every byte that the kernel reads is initialised.

/// Attributes of `BPF_PROG_LOAD`.
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
    /// Type information of the program's own: none.
    types: [u32; 2],
    type_records: u64,
    type_counts: [u32; 2],
    line_records: u64,
    line_count: u32,
    /// Type of the kernel to which it is attached.
    attach_type_id: u32,
}

/// Attributes of `BPF_LINK_CREATE`.
#[derive(Debug)]
#[repr(C)]
struct LinkCreate {
    program: c_int,
    interface: u32,
    attach: u32,
    flags: u32,
    /// Relative to which other program, and at which revision.
    rest: [u64; 2],
}

/// Attributes of `BPF_RAW_TRACEPOINT_OPEN`.
#[derive(Debug)]
#[repr(C)]
struct RawTracepointOpen {
    name: u64,
    program: c_int,
    padding: u32,
}

/// Attributes of `BPF_MAP_CREATE`.
#[derive(Debug)]
#[repr(C)]
struct MapCreate {
    kind: u32,
    key: u32,
    value: u32,
    entries: u32,
    flags: u32,
}

/// Attributes of `BPF_MAP_UPDATE_ELEM`.
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
const RAW_TRACEPOINT_OPEN: c_int = 17;
const LINK_CREATE: c_int = 28;
const MMAPABLE: u32 = 1 << 10;
/// `BPF_F_XDP_DEV_BOUND_ONLY`.
const FOR_INTERFACE: u32 = 1 << 6;
const BEFORE: u32 = 1 << 3;
/// The kernel lets its functions be called only under a licence that it knows to be compatible with its own. MIT is.
const LICENSE: &CStr = c"Dual MIT/GPL";
