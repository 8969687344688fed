//! Packet captures. [`read`] turns pcap and pcapng files into parsed packets, [`trace`] picks a game's UDP flow out of
//! them, [`mod@write`] makes pcapng files that Wireshark opens from packets a simulator made up.

#![forbid(unsafe_code)]

mod container;
pub mod error;
pub mod read;
pub mod trace;
pub mod write;

pub use error::CaptureError;
pub use read::{Capture, CapturedPacket, CapturedTransport, TcpFields};
pub use trace::{RecordedFlow, read_udp_flow, udp_flow};
pub use write::{InterfaceId, PacketHeader, PcapngWriter, TcpNumbers, WriteOptions};
