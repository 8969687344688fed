//! Capture filters in tcpdump's language, compiled to classic BPF by tcpdump itself (`-ddd`), so that they mean what its
//! manual says. The program also cuts packets to the snap length: what it returns is how much the kernel keeps.

use std::process::Command;

use crate::error::LiveError;

/// A program for the kernel: operation, jump if true, jump if false, operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) instructions: Vec<(u16, u8, u8, u32)>,
}

/// What a filter's offsets count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterStart {
    /// An Ethernet header.
    Ethernet,
    /// The IP header.
    Ip,
}

impl Filter {
    /// Takes everything, cut to so many bytes.
    pub(crate) fn everything(snap_len: u32) -> Self {
        Self { instructions: vec![(RETURN, 0, 0, snap_len)] }
    }

    /// Compiles; an empty filter takes everything.
    pub(crate) fn compile(filter: &str, start: FilterStart, snap_len: u32) -> Result<Self, LiveError> {
        if filter.trim().is_empty() {
            return Ok(Self::everything(snap_len));
        }
        let link = match start {
            FilterStart::Ethernet => "EN10MB",
            FilterStart::Ip => "RAW",
        };
        let snap_len = snap_len.to_string();
        let done = Command::new("tcpdump")
            .args(["-y", link, "-s", &snap_len, "-ddd", "--", filter])
            .output()
            .map_err(|source| LiveError::NoCompiler { filter: filter.to_owned(), source })?;
        let refused = |problem: &str| LiveError::Filter {
            filter: filter.to_owned(),
            problem: problem.trim().trim_start_matches("tcpdump: ").to_owned(),
        };
        if !done.status.success() {
            return Err(refused(&String::from_utf8_lossy(&done.stderr)));
        }
        Self::parse(&String::from_utf8_lossy(&done.stdout))
            .ok_or_else(|| refused("tcpdump's answer is no program"))
    }

    /// The number of instructions, then one a line as four decimal numbers.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let count: usize = lines.next()?.trim().parse().ok()?;
        let instructions: Vec<_> = lines
            .map(|line| {
                let mut numbers = line.split_whitespace();
                Some((
                    numbers.next()?.parse().ok()?,
                    numbers.next()?.parse().ok()?,
                    numbers.next()?.parse().ok()?,
                    numbers.next()?.parse().ok()?,
                ))
            })
            .collect::<Option<_>>()?;
        (instructions.len() == count && count > 0).then_some(Self { instructions })
    }
}

/// `BPF_RET | BPF_K`.
const RETURN: u16 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_read_whole_or_not_at_all() {
        let filter = Filter::parse("2\n40 0 0 12\n6 0 0 128\n").unwrap();
        assert_eq!(filter.instructions, [(40, 0, 0, 12), (RETURN, 0, 0, 128)]);
        for cut in ["", "3\n40 0 0 12\n", "1\n40 0 0\n", "0\n", "1\n40 0 300 1\n"] {
            assert_eq!(Filter::parse(cut), None, "{cut:?}");
        }
        assert_eq!(Filter::compile(" ", FilterStart::Ip, 128).unwrap(), Filter::everything(128));
    }
}
