//! Ports of a server: `"udp 7000..7500"`, `"tcp 25565"`.

use std::fmt;
use std::str::FromStr;

use super::error::Fault;
use super::from_text::in_text;
use super::keys::rule::Transport;
use super::range::{Port, Range};

/// Ports that a server listens on, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Transport protocol.
    pub transport: Transport,
    /// First port.
    pub first: u16,
    /// Last port, not below the first.
    pub last: u16,
}

impl FromStr for Ports {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        let wrong = |what: &str| Fault::new(what).allowed(EXPECTING);
        let (transport, ports) =
            text.trim().split_once(' ').ok_or_else(|| wrong("ports need a protocol and a range"))?;
        let transport = transport.parse()?;
        match ports.trim().parse()? {
            Range { low: Some(Port(first)), high: Some(Port(last)) } if 0 < first && first <= last => {
                Ok(Self { transport, first, last })
            }
            _ => Err(wrong("this is not a range of ports")),
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |port| Some(Port(port));
        write!(f, "{} {}", self.transport, Range { low: end(self.first), high: end(self.last) })
    }
}

in_text!(Ports, format!("text such as {EXPECTING}"));

const EXPECTING: &str = "\"udp 7000..7500\", \"udp 27015\", \"tcp 25565\": ports 1 to 65535";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_read_and_print() {
        for text in ["udp 7000..7500", "tcp 25565", "udp 1..65535"] {
            assert_eq!(text.parse::<Ports>().map(|ports| ports.to_string()), Ok(text.into()));
        }
        let refused = ["7000", "sctp 1", "udp", "udp 0..5", "udp 9..5", "udp 5..", "udp 70000"];
        let refused =
            refused.map(|text| format!("{text}: {}", text.parse::<Ports>().unwrap_err().on_one_line()));
        insta::assert_snapshot!(refused.join("\n"));
    }
}
