//! What can go wrong with a live capture, said so that the reader knows what to do. Hints stand on a line of their own.

use std::io::Error;
use std::path::PathBuf;

/// Why an interface cannot be recorded, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The process may not open packet sockets.
    #[error(
        "{interface}: recording an interface needs the privilege CAP_NET_RAW, which this user does not have\n\
         hint: run the same command with sudo (the privileges are dropped as soon as the interface is open), or record \
         elsewhere with `tcpdump -i {interface} -s 128 -w game.pcap` and give game.pcap to `gamelane analyze`"
    )]
    NotPermitted {
        /// The interface asked for.
        interface: String,
    },
    /// There is no such interface.
    #[error(
        "{interface}: no such interface; there are {}\nhint: `any` records all of them", known.join(", ")
    )]
    NoInterface {
        /// The interface asked for.
        interface: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// The interface was taken away while it was recorded.
    #[error(
        "{interface}: the interface has gone\nhint: record `any`, which survives interfaces that come and go"
    )]
    Gone {
        /// The interface.
        interface: String,
    },
    /// The filter is not in tcpdump's language.
    #[error(
        "--filter {filter}: {problem}\nhint: `man pcap-filter` has the language; `udp port 27960` is an example"
    )]
    Filter {
        /// As given.
        filter: String,
        /// What tcpdump says.
        problem: String,
    },
    /// The program that compiles filters is missing.
    #[error(
        "--filter {filter}: filters are compiled by tcpdump, which cannot be run: {source}\n\
         hint: `apt-get install tcpdump`, or leave the filter out: what is no game's is told apart anyway"
    )]
    NoCompiler {
        /// As given.
        filter: String,
        /// The system's reason.
        source: Error,
    },
    /// The system refused something else.
    #[error("{interface}: {what}: {source}")]
    System {
        /// The interface.
        interface: String,
        /// What was tried.
        what: &'static str,
        /// The system's reason.
        source: Error,
    },
    /// The recording cannot be written.
    #[error(
        "{}: {source}; the {packets} packets before are kept in whole files\n\
         hint: make room, or bound the recording with --rotate-size and --keep, or store less of each packet with \
         --snaplen 128",
        path.display()
    )]
    Output {
        /// The file.
        path: PathBuf,
        /// Packets in all files.
        packets: u64,
        /// The system's reason.
        source: Error,
    },
    /// Not on this system.
    #[error(
        "{interface}: interfaces can be recorded on Linux only\n\
         hint: record with `tcpdump -i {interface} -s 128 -w game.pcap` and give game.pcap to `gamelane analyze`"
    )]
    Unsupported {
        /// The interface asked for.
        interface: String,
    },
}
