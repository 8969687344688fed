//! Frames that hold several segments, because their sender left the splitting to its interface (segmentation offload). Over a
//! virtual interface they arrive as they are. Queues must see the frames that would be on the wire, so they are split here as
//! Linux does it in software: `tcp_gso_segment`, `__udp_gso_segment`, `inet_gso_segment`, `ipv6_gso_segment`.

use std::ops::Range;

use gamelane_capture::FrameHeaders;
use gamelane_core::Protocol;
use gamelane_core::headers::{IPV6_HEADER, UDP_HEADER};

use crate::checksum;
use crate::frames::{FrameId, Frames};
use crate::headers::{CWR, FIN, PSH};
use crate::transfer::Segments;

/// A frame of TCP or UDP that holds several segments.
#[derive(Debug)]
pub(crate) struct Merged<'a> {
    /// Its bytes, without a VLAN tag that the kernel took out.
    bytes: &'a [u8],
    /// That tag.
    tag: &'a [u8],
    headers: FrameHeaders,
    payload: Range<usize>,
    /// Payload of each segment but the last.
    each: usize,
}

impl<'a> Merged<'a> {
    /// The frame of `bytes` that holds these segments. `None` unless they are of TCP or UDP directly over IP: not in a tunnel, nor
    /// over PPPoE. `None` also for more than [`MOST`].
    pub(crate) fn of(bytes: &'a [u8], tag: &'a [u8], segments: Segments) -> Option<Self> {
        let headers = FrameHeaders::of_ethernet(bytes)?;
        if !matches!(bytes.get(headers.ip_at - 2..headers.ip_at)?, [0x08, 0] | [0x86, 0xdd]) {
            return None;
        }
        let transport = headers.transport_at;
        let header = match headers.key.protocol {
            protocol if headers.is_fragment || protocol != segments.protocol => return None,
            Protocol::Tcp => usize::from(bytes.get(transport + 12)? >> 4) * 4,
            Protocol::Udp => UDP_HEADER as usize,
            Protocol::Other(_) => return None,
        };
        let payload = transport + header..headers.end;
        let found = Self { bytes, tag, headers, payload, each: segments.payload.get() };
        (1..=MOST).contains(&found.count()).then_some(found)
    }

    /// Number of its segments.
    pub(crate) fn count(&self) -> usize {
        self.payload.len().div_ceil(self.each)
    }

    /// Bytes of the longest frame that a segment makes.
    pub(crate) fn longest(&self) -> usize {
        self.tag.len() + self.payload.start + self.each.min(self.payload.len())
    }

    /// Makes segment `number`, counted from 0, a frame of its own. `None` if the pool is full.
    pub(crate) fn segment(&self, number: usize, frames: &mut Frames) -> Option<FrameId> {
        let start = self.payload.start + number * self.each;
        let end = (start + self.each).min(self.payload.end);
        let (addresses, rest) = self.bytes[..self.payload.start].split_at(ADDRESSES);
        let id = frames.fill([addresses, self.tag, rest, &self.bytes[start..end]])?;
        let frame = frames.bytes_mut(id);
        self.rewrite_ip(&mut frame[self.tag.len() + self.headers.ip_at..], number);
        self.rewrite_transport(&mut frame[self.tag.len() + self.headers.transport_at..], number);
        checksum::complete(frame);
        Some(id)
    }

    /// `ip` is the segment from its IP header on.
    fn rewrite_ip(&self, ip: &mut [u8], number: usize) {
        let len = ip.len();
        let header = self.headers.transport_at - self.headers.ip_at;
        if ip[0] >> 4 == 4 {
            put(ip, 2, len as u16);
            let identification = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(number as u16);
            put(ip, 4, identification);
            checksum::complete_ipv4(&mut ip[..header]);
        } else {
            put(ip, 4, (len - IPV6_HEADER as usize) as u16);
        }
    }

    /// `transport` is the segment from its TCP or UDP header on.
    fn rewrite_transport(&self, transport: &mut [u8], number: usize) {
        if self.headers.tcp.is_none() {
            return put(transport, 4, transport.len() as u16);
        }
        let (place, _) = transport[4..].split_first_chunk_mut().expect("the header was parsed");
        *place = u32::from_be_bytes(*place).wrapping_add((number * self.each) as u32).to_be_bytes();
        if number > 0 {
            transport[FLAGS] &= !CWR;
        }
        if number + 1 < self.count() {
            transport[FLAGS] &= !(FIN | PSH);
        }
    }
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Most segments: 64 KiB in pieces of 8 B, the smallest that Linux's TCP makes (`TCP_MIN_GSO_SIZE`). A virtual machine could claim
/// pieces of one byte and keep the loop busy.
const MOST: usize = 0xffff / 8;
/// Bytes of the two MAC addresses, after which a VLAN tag belongs.
const ADDRESSES: usize = 12;
/// Place of the flags in a TCP header.
const FLAGS: usize = 13;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::num::NonZeroUsize;

    use super::*;

    const TAG: [u8; 4] = [0x81, 0, 0, 7];

    fn segments(bytes: &[u8], tag: &[u8], each: usize) -> Option<Vec<Vec<u8>>> {
        segments_of(Protocol::Tcp, bytes, tag, each)
    }

    fn segments_of(protocol: Protocol, bytes: &[u8], tag: &[u8], each: usize) -> Option<Vec<Vec<u8>>> {
        let mut frames = Frames::new(64, 2048);
        let payload = NonZeroUsize::new(each)?;
        let merged = Merged::of(bytes, tag, Segments { protocol, payload })?;
        let all = (0..merged.count().min(64)).map(|number| {
            let id = merged.segment(number, &mut frames)?;
            Some(frames.bytes(id).to_vec())
        });
        all.collect()
    }

    /// A TCP segment with a timestamp option, CWR, PSH and FIN, and ten bytes of payload.
    fn tcp() -> Vec<u8> {
        let mut frame = vec![2; ADDRESSES];
        frame.extend([8, 0, 0x45, 0, 0, 62, 0xff, 0xff, 0x40, 0, 64, 6, 9, 9, 192, 0, 2, 1, 192, 0, 2, 99]);
        frame.extend([0x9c, 0x40, 0, 80, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 2, 0x80, 0x99, 1, 0, 9, 9, 0, 0]);
        frame.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        frame.extend(b"0123456789");
        frame
    }

    #[test]
    fn segments_of_tcp_continue_each_other() {
        let all = segments(&tcp(), &TAG, 4).unwrap();
        let ip = ADDRESSES + TAG.len() + 2;
        let rows: Vec<_> = all
            .iter()
            .map(|frame| {
                assert_eq!(frame[ADDRESSES..ip - 2], TAG);
                let (len, identification) = (&frame[ip + 2..ip + 4], &frame[ip + 4..ip + 6]);
                let (sequence, flags) = (&frame[ip + 24..ip + 28], frame[ip + 33]);
                (len.to_vec(), identification.to_vec(), sequence.to_vec(), flags, frame[ip + 52..].to_vec())
            })
            .collect();
        let max = [0xff, 0xff, 0xff, 0xfe];
        assert_eq!(
            rows,
            [
                (vec![0, 56], vec![0xff, 0xff], max.to_vec(), 0x90, b"0123".to_vec()),
                (vec![0, 56], vec![0, 0], vec![0, 0, 0, 2], 0x10, b"4567".to_vec()),
                (vec![0, 54], vec![0, 1], vec![0, 0, 0, 6], 0x19, b"89".to_vec()),
            ]
        );
        for frame in all {
            let mut again = frame.clone();
            checksum::complete_ipv4(&mut again[ip..ip + 20]);
            checksum::complete(&mut again);
            assert_eq!(again, frame, "checksums are right");
        }
    }

    #[test]
    fn datagrams_over_ipv6_have_their_own_lengths() {
        let mut frame = vec![2; ADDRESSES];
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 13, 17, 64]);
        frame.extend([3; 32]);
        frame.extend([0, 1, 0, 2, 0, 13, 9, 9, b'a', b'b', b'c', b'd', b'e']);
        let all = segments_of(Protocol::Udp, &frame, &[], 3).unwrap();
        assert_eq!(segments(&frame, &[], 3), None, "TCP in a tunnel over UDP");
        let lengths = |frame: &Vec<u8>| (frame[19], frame[59], frame[62..].to_vec());
        assert_eq!(
            all.iter().map(lengths).collect::<Vec<_>>(),
            [(11, 11, b"abc".to_vec()), (10, 10, b"de".to_vec())]
        );
    }

    #[test]
    fn what_cannot_be_split_is_refused() {
        let mut fragment = tcp();
        fragment[20] = 0x20;
        let mut no_payload = tcp();
        no_payload[17] = 52;
        let mut icmp = tcp();
        icmp[23] = 1;
        let pppoe =
            [&[2; ADDRESSES][..], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 64, 0, 0x21], &tcp()[14..]].concat();
        for frame in [fragment, no_payload, icmp, pppoe] {
            assert_eq!(segments(&frame, &[], 4), None, "{frame:?}");
        }
        let mut long = tcp();
        long.resize(9014, 0);
        long[16..18].copy_from_slice(&9000_u16.to_be_bytes());
        assert_eq!(segments(&long, &[], 1), None, "thousands of segments");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_bytes_off_the_wire_matter(
            at in 0_usize..86, byte in any::<u8>(), cut in 0_usize..87, each in 1_usize..2000, tagged in any::<bool>(),
        ) {
            let mut frame = tcp();
            let places = frame.len();
            frame[at % places] = byte;
            frame.truncate(cut);
            let tag = if tagged { &TAG[..] } else { &[] };
            if let Some(all) = segments(&frame, tag, each) {
                prop_assert!(all.iter().all(|segment| segment.len() <= frame.len() + tag.len()));
            }
        }
    }
}
