//! Packet captures. [`read`] turns pcap and pcapng files into parsed packets, [`filter`] chooses some of them, and
//! [`raw`] gives their frames unparsed.
//! [`analysis`] reports what happened to each flow, [`names`] says what application it is, and [`pair`] compares two
//! capture points. [`trace`] and [`writes`]
//! extract the traffic of an application for replay. [`mod@write`] writes simulated packets as pcapng for Wireshark and
//! tcpdump. Tunnels are left out.

#![forbid(unsafe_code)]

pub mod analysis;
pub mod blame;
pub mod blocks;
mod container;
mod content;
#[cfg(feature = "document")]
pub mod document;
pub mod error;
#[cfg(feature = "document")]
mod facts;
pub mod filter;
mod fragments;
pub mod frame;
pub mod input;
mod link;
pub mod log;
pub mod names;
pub mod numbers;
mod only;
mod orientation;
pub mod packet;
pub mod pair;
pub mod raw;
pub mod read;
mod retries;
pub mod samples;
pub mod tcp;
#[cfg(feature = "document")]
pub mod terminal;
pub mod trace;
#[cfg(feature = "document")]
pub mod verdict;
mod wire;
pub mod write;
pub mod writes;

pub use analysis::{Analyzer, FlowReport, Sink, analyze};
pub use error::CaptureError;
pub use filter::{Filter, FilterError};
pub use frame::FrameHeaders;
pub use input::Input;
pub use only::Only;
pub use packet::{CapturedPacket, CapturedTransport, TcpFields};
pub use raw::{RawCapture, RawFrame};
pub use read::{Capture, Skipped};
pub use retries::OnAir;
pub use trace::{RecordedFlow, udp_flow};
pub use write::{InterfaceId, PacketHeader, PcapngWriter, TcpNumbers, WriteOptions};
pub use writes::{ConnectionWrites, Write, read_tcp_writes, tcp_writes};
