//! Thin views of IP, UDP and TCP headers for the hot path: fields are taken where they lie, nothing is allocated, and every
//! access is checked, for the bytes come from outside. Checksums are not looked at: offload makes most of them wrong.

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
