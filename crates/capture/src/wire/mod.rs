//! Parsers of IP, UDP and TCP headers for every packet. They read fields in place, allocate nothing, and check every
//! access, because the bytes come from outside. Checksums are ignored, because with offload most captured ones are
//! wrong.

mod ip;
mod tcp;

pub(crate) use ip::{FragmentOf, Ip};
pub(crate) use tcp::tcp;

#[inline]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
