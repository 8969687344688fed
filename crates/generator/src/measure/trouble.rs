//! Why a measurement failed, or ended early.

use std::io;

use crate::client::Failure;
use crate::measure::handshake::Refusal;

/// Why nothing, or not everything, was measured.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The server refuses.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The server's proof is wrong.
    #[error(
        "the server has another key, or it is no `gamelane serve`\n  hint:    give both ends the same file with --key"
    )]
    Stranger,
    /// No address of the server accepts a connection. The text has each address with its reason.
    #[error(
        "{0}\n  hint:    is `gamelane serve` running there, does it listen on this address, and does its firewall accept this TCP port?"
    )]
    Unreached(String),
    /// The server closed the connection.
    #[error(
        "{0}\n  hint:    is `gamelane serve` running there, and does its firewall accept this TCP port? It closes a connection if \
         too many are open from one address"
    )]
    Unheard(io::Error),
    /// A stream of a load ended before its time.
    #[error(
        "a TCP stream of the load ended early: {0}\n  hint:    the server has ended, or too many connections are open from \
         this address; measure again"
    )]
    Load(io::Error),
    /// The network failed without a word.
    #[error(
        "the server was last heard after {0:.1} s\n  hint:    the network has failed, or the server's host has stopped; measure \
         again"
    )]
    Lost(f64),
    /// This host cannot send or receive.
    #[error("{0}")]
    Network(#[from] io::Error),
    /// This host's kernel cannot use the congestion control.
    #[error(
        "--congestion {0}: this host's kernel does not have it, or allows it to root only\n  allowed: {1}\n  hint:    \
         add its name to the sysctl net.ipv4.tcp_allowed_congestion_control"
    )]
    Congestion(String, String),
    /// The UDP port does not answer.
    #[error(
        "UDP port {0} of the server: {1}\n  hint:    the server's firewall must accept UDP on the ports that `gamelane serve` \
         names when it starts"
    )]
    Udp(u16, Failure),
}
