//! Packet captures. [`read`] turns pcap and pcapng files into parsed packets, and [`raw`] gives their frames unparsed.
//! [`analysis`] reports what happened to each flow, [`pair`] compares two capture points. [`trace`] and [`writes`]
//! extract the traffic of an application for replay. [`mod@write`] writes simulated packets as pcapng for Wireshark and
//! tcpdump. Tunnels are left out.

#![forbid(unsafe_code)]

pub mod analysis;
pub mod blame;
pub mod blocks;
mod container;
mod content;
pub mod error;
mod fragments;
pub mod frame;
pub mod input;
mod link;
pub mod log;
mod orientation;
pub mod packet;
pub mod pair;
pub mod raw;
pub mod read;
mod retries;
pub mod samples;
pub mod tcp;
pub mod trace;
mod wire;
pub mod write;
pub mod writes;

pub use analysis::{Analyzer, FlowReport, Sink, analyze, analyze_apart, follow_apart};
pub use error::CaptureError;
pub use frame::FrameHeaders;
pub use input::Input;
pub use packet::{CapturedPacket, CapturedTransport, TcpFields};
pub use raw::{RawCapture, RawFrame};
pub use read::{Capture, Skipped};
pub use trace::{RecordedFlow, read_udp_flow, udp_flow};
pub use write::{InterfaceId, PacketHeader, PcapngWriter, TcpNumbers, WriteOptions};
pub use writes::{ConnectionWrites, Write, read_tcp_writes, tcp_writes};
