//! Parses the TCP header and its options (RFC 9293 section 3.1, RFC 7323, RFC 2018), as far as they were captured.
//! Other options are skipped.

use gamelane_tcp::Flags;

use gamelane_core::headers::TCP_HEADER;

use super::{u16_at, u32_at};
use crate::packet::TcpFields;

/// Header length in bytes without options.
const HEADER: usize = TCP_HEADER as usize;

/// Reads the header into `fields` and returns its length. The capture may cut the options. Checksum and urgent pointer
/// are not needed.
#[inline]
pub(crate) fn tcp(bytes: &[u8], fields: &mut TcpFields) -> Option<u32> {
    let header = bytes.first_chunk::<16>()?;
    let len = usize::from(header[12] >> 4) * 4;
    if len < HEADER {
        return None;
    }
    let bits = header[13];
    fields.sequence = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    fields.acknowledgment = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
    fields.window = u16::from_be_bytes([header[14], header[15]]);
    fields.flags = Flags {
        fin: bits & 1 != 0,
        syn: bits & 2 != 0,
        rst: bits & 4 != 0,
        psh: bits & 8 != 0,
        ack: bits & 16 != 0,
        ece: bits & 64 != 0,
        cwr: bits & 128 != 0,
    };
    fields.maximum_segment_size = None;
    fields.window_scale = None;
    fields.sack_permitted = false;
    fields.timestamps = None;
    fields.sack = [None; 4];
    if len > HEADER {
        options(bytes.get(HEADER..len.min(bytes.len())).unwrap_or_default(), fields);
    }
    Some(len as u32)
}

/// Reads the options. A broken or cut option ends them; the rest of the header is valid.
#[inline]
fn options(bytes: &[u8], fields: &mut TcpFields) {
    // Options of nearly every current segment: two bytes of padding, then timestamps.
    if let [1, 1, 8, 10, value @ ..] = bytes
        && value.len() == 8
    {
        fields.timestamps = u32_at(value, 0).zip(u32_at(value, 4));
        return;
    }
    any_options(bytes, fields);
}

fn any_options(mut bytes: &[u8], fields: &mut TcpFields) {
    while let [kind, rest @ ..] = bytes {
        match kind {
            0 => return,
            1 => {
                bytes = rest;
                continue;
            }
            _ => {}
        }
        let Some(&len) = rest.first() else { return };
        let Some(value) = usize::from(len).checked_sub(2).and_then(|len| rest.get(1..1 + len)) else {
            return;
        };
        match (kind, value.len()) {
            (2, 2) => fields.maximum_segment_size = u16_at(value, 0),
            (3, 1) => fields.window_scale = Some(value[0]),
            (4, 0) => fields.sack_permitted = true,
            (5, blocks) if blocks.is_multiple_of(8) => {
                for (place, block) in fields.sack.iter_mut().zip(value.chunks_exact(8)) {
                    *place = u32_at(block, 0).zip(u32_at(block, 4));
                }
            }
            (8, 8) => fields.timestamps = u32_at(value, 0).zip(u32_at(value, 4)),
            _ => {}
        }
        bytes = &rest[1 + value.len()..];
    }
}
