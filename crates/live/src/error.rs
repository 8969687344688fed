//! Errors of a live capture. Each says what to do; hints have a line of their own.

use std::io::Error;
use std::path::PathBuf;

/// Why an interface cannot be recorded, or why the recording ended.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The process lacks the privilege for packet sockets.
    #[error(
        "{interface}: recording an interface needs the privilege CAP_NET_RAW, which this process does not have\n  hint:    \
         run the same command with sudo (the privileges are dropped as soon as the interface is open), or record \
         elsewhere with `tcpdump -i {interface} -s 128 -w game.pcap` and give game.pcap to `gamelane analyze`"
    )]
    NotPermitted {
        /// The interface asked for.
        interface: String,
    },
    /// There is no such interface.
    #[error(
        "{interface}: no such interface; there are {}\n  hint:    `any` records all of them", known.join(", ")
    )]
    NoInterface {
        /// The interface asked for.
        interface: String,
        /// Existing interfaces.
        known: Vec<String>,
    },
    /// The interface was removed while it was recorded.
    #[error(
        "{interface}: the interface was removed\n  hint:    record `any`, which goes on when interfaces come and go"
    )]
    Gone {
        /// The interface.
        interface: String,
    },
    /// The filter is not in tcpdump's language.
    #[error(
        "--filter {filter}: {problem}\n  hint:    `man pcap-filter` describes the language; `udp port 27960` is an example"
    )]
    Filter {
        /// Filter as given.
        filter: String,
        /// What tcpdump reports.
        problem: String,
    },
    /// The program that compiles filters is missing.
    #[error(
        "--filter {filter}: filters are compiled by tcpdump, which cannot be run: {source}\n  hint:    \
         `apt-get install tcpdump`, or omit the filter: the analysis recognises games anyway"
    )]
    NoCompiler {
        /// Filter as given.
        filter: String,
        /// Error of the system.
        source: Error,
    },
    /// A system call failed.
    #[error("{interface}: {what}: {source}")]
    System {
        /// The interface.
        interface: String,
        /// What the call was for.
        what: &'static str,
        /// Error of the system.
        source: Error,
    },
    /// The recording cannot be written.
    #[error(
        "{}: {source}; the {packets} packets before it are kept in complete files\n  hint:    \
         make room, or bound the recording with --rotate-size and --keep, or store less of each packet with \
         --snaplen 128",
        path.display()
    )]
    Output {
        /// The file.
        path: PathBuf,
        /// Packets in all files.
        packets: u64,
        /// Error of the system.
        source: Error,
    },
}
