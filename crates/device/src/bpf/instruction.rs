//! Instructions of eBPF (RFC 9669): those that programs here use.

use std::os::fd::{AsFd as _, AsRawFd as _};

use super::Map;

/// A register. A call takes its arguments from [`Register::R1`] on, returns its result in [`Register::R0`], and keeps `R6` to `R9`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are numbers")]
pub enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    /// The end of the program's 512 bytes of memory.
    R10 = 10,
}

/// A kernel function that programs may call, `BPF_FUNC_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helper {
    /// Returns nanoseconds of `CLOCK_MONOTONIC`.
    KtimeGetNs = 5,
    /// Sends a copy of a frame out of the interface with an index.
    CloneRedirect = 13,
    /// Puts a VLAN tag beside a frame, as a VLAN interface does.
    SkbVlanPush = 18,
    /// Redirects to the interface with an index: out of it, or with flag 1 as if the frame had arrived there.
    Redirect = 23,
    /// Redirects to an entry of a map, such as an AF_XDP socket.
    RedirectMap = 51,
    /// Moves the start of a frame.
    XdpAdjustHead = 44,
    /// Copies the kernel's memory to that of the program; where that cannot be read, zeros.
    ProbeReadKernel = 113,
    /// Returns a new record of a ring, or 0 if the ring is full.
    RingbufReserve = 131,
    /// Gives a record to the reader. With flag 1 it does not wake the reader.
    RingbufSubmit = 132,
}

/// An instruction. Offsets of jumps count instructions from the next one; offsets of memory are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    code: u8,
    /// Source in the upper half, destination in the lower.
    registers: u8,
    offset: i16,
    immediate: i32,
}

impl Instruction {
    const fn new(code: u8, to: Register, from: u8, offset: i16, immediate: i32) -> Self {
        // On big-endian machines the halves are swapped.
        let (to, from) =
            if cfg!(target_endian = "little") { (to as u8, from << 4) } else { ((to as u8) << 4, from) };
        Self { code, registers: to | from, offset, immediate }
    }

    /// `to = *(u32 *)(from + offset)`
    pub const fn load_word(to: Register, from: Register, offset: i16) -> Self {
        Self::new(0x61, to, from as u8, offset, 0)
    }

    /// `to = *(u16 *)(from + offset)`
    pub const fn load_half(to: Register, from: Register, offset: i16) -> Self {
        Self::new(0x69, to, from as u8, offset, 0)
    }

    /// `to = *(u64 *)(from + offset)`
    pub const fn load_double(to: Register, from: Register, offset: i16) -> Self {
        Self::new(0x79, to, from as u8, offset, 0)
    }

    /// `*(u32 *)(to + offset) = from`
    pub const fn store_word(to: Register, offset: i16, from: Register) -> Self {
        Self::new(0x63, to, from as u8, offset, 0)
    }

    /// `*(u16 *)(to + offset) = from`
    pub const fn store_half(to: Register, offset: i16, from: Register) -> Self {
        Self::new(0x6b, to, from as u8, offset, 0)
    }

    /// `*(u64 *)(to + offset) = from`
    pub const fn store_double(to: Register, offset: i16, from: Register) -> Self {
        Self::new(0x7b, to, from as u8, offset, 0)
    }

    /// `*(u32 *)(to + offset) = value`
    pub const fn store(to: Register, offset: i16, value: i32) -> Self {
        Self::new(0x62, to, 0, offset, value)
    }

    /// The lower 16 bits of `of`, in network order; the others are zero.
    pub const fn network_order(of: Register) -> Self {
        Self::new(0xdc, of, 0, 0, 16)
    }

    /// `*(u64 *)(to + offset) += from`, atomically
    pub const fn add_atomically(to: Register, offset: i16, from: Register) -> Self {
        Self::new(0xdb, to, from as u8, offset, 0)
    }

    /// `to = from`
    pub const fn copy(to: Register, from: Register) -> Self {
        Self::new(0xbf, to, from as u8, 0, 0)
    }

    /// `to = value`, sign-extended
    pub const fn set(to: Register, value: i32) -> Self {
        Self::new(0xb7, to, 0, 0, value)
    }

    /// `to += value`
    pub const fn add(to: Register, value: i32) -> Self {
        Self::new(0x07, to, 0, 0, value)
    }

    /// `to += from`
    pub const fn add_register(to: Register, from: Register) -> Self {
        Self::new(0x0f, to, from as u8, 0, 0)
    }

    /// `to &= value`, sign-extended
    pub const fn and(to: Register, value: i32) -> Self {
        Self::new(0x57, to, 0, 0, value)
    }

    /// `to -= from`
    pub const fn subtract(to: Register, from: Register) -> Self {
        Self::new(0x1f, to, from as u8, 0, 0)
    }

    /// Skips `count` instructions if `left == right`.
    pub const fn skip_if_equal(left: Register, right: i32, count: i16) -> Self {
        Self::new(0x15, left, 0, count, right)
    }

    /// Skips `count` instructions if `left != right`.
    pub const fn skip_unless_equal(left: Register, right: i32, count: i16) -> Self {
        Self::new(0x55, left, 0, count, right)
    }

    /// Skips `count` instructions if `left <= right`, signed.
    pub const fn skip_if_at_most(left: Register, right: i32, count: i16) -> Self {
        Self::new(0xd5, left, 0, count, right)
    }

    /// Skips `count` instructions if `left > right`, unsigned.
    pub const fn skip_if_above(left: Register, right: Register, count: i16) -> Self {
        Self::new(0x2d, left, right as u8, count, 0)
    }

    /// Skips `count` instructions if `left == right`.
    pub const fn skip_if_same(left: Register, right: Register, count: i16) -> Self {
        Self::new(0x1d, left, right as u8, count, 0)
    }

    /// Skips `count` instructions if `left != right`.
    pub const fn skip_unless_same(left: Register, right: Register, count: i16) -> Self {
        Self::new(0x5d, left, right as u8, count, 0)
    }

    /// Skips `count` instructions if the lower 32 bits differ.
    pub const fn skip_if_other_word(left: Register, right: i32, count: i16) -> Self {
        Self::new(0x56, left, 0, count, right)
    }

    /// Skips `count` instructions.
    pub const fn skip(count: i16) -> Self {
        Self::new(0x05, Register::R0, 0, count, 0)
    }

    /// The same jump over `count` instructions.
    pub const fn over(self, count: i16) -> Self {
        Self { offset: count, ..self }
    }

    /// Calls a kernel function.
    pub const fn call(helper: Helper) -> Self {
        Self::new(0x85, Register::R0, 0, 0, helper as i32)
    }

    /// Calls a function of the kernel by the number of [`function`](super::function).
    pub const fn call_function(number: i32) -> Self {
        const PSEUDO_KFUNC_CALL: u8 = 2;
        Self::new(0x85, Register::R0, PSEUDO_KFUNC_CALL, 0, number)
    }

    /// Ends the program; `R0` is its result.
    pub const fn exit() -> Self {
        Self::new(0x95, Register::R0, 0, 0, 0)
    }

    /// `to = map`, as an argument of a call. An instruction of double length.
    pub fn map(to: Register, map: &Map) -> [Self; 2] {
        const PSEUDO_MAP: u8 = 1;
        Self::wide(to, PSEUDO_MAP, map)
    }

    /// `to` = address of the first value of `map`. An instruction of double length.
    pub fn address_of(to: Register, map: &Map) -> [Self; 2] {
        const PSEUDO_MAP_VALUE: u8 = 2;
        Self::wide(to, PSEUDO_MAP_VALUE, map)
    }

    fn wide(to: Register, what: u8, map: &Map) -> [Self; 2] {
        let map = map.as_fd().as_raw_fd();
        [Self::new(0x18, to, what, 0, map), Self::new(0, Register::R0, 0, 0, 0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn instructions_are_as_the_rfc_encodes_them() {
        let bytes = |one: Instruction| {
            let [a, b] = one.offset.to_le_bytes();
            let [c, d, e, f] = one.immediate.to_le_bytes();
            [one.code, one.registers, a, b, c, d, e, f]
        };
        // `r6 = r1`, `if r2 == 7 goto +4`, `*(u32 *)(r6 + 44) = r2`, as llvm-objdump shows them.
        assert_eq!(bytes(Instruction::copy(Register::R6, Register::R1)), [0xbf, 0x16, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes(Instruction::skip_if_equal(Register::R2, 7, 4)), [0x15, 0x02, 4, 0, 7, 0, 0, 0]);
        assert_eq!(
            bytes(Instruction::store_word(Register::R6, 44, Register::R2)),
            [0x63, 0x26, 44, 0, 0, 0, 0, 0]
        );
    }
}
