//! Capture filters in tcpdump's language. tcpdump itself compiles them to classic BPF (`-ddd`), so they mean what its manual says.
//! The program also cuts packets to the snap length: what it returns is how many bytes the kernel keeps.

use std::process::Command;

use gamelane_device::packet::FilterInstruction;

use crate::error::LiveError;

/// Header from which a filter's offsets count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterStart {
    /// An Ethernet header.
    Ethernet,
    /// The IP header.
    Ip,
}

/// Returns a filter that takes everything, cut to `snap_len` bytes.
fn everything(snap_len: u32) -> Vec<FilterInstruction> {
    vec![FilterInstruction { code: RETURN, jump_true: 0, jump_false: 0, operand: snap_len }]
}

/// Compiles a filter; an empty one takes everything.
pub(crate) fn compile(
    filter: &str,
    start: FilterStart,
    snap_len: u32,
) -> Result<Vec<FilterInstruction>, LiveError> {
    if filter.trim().is_empty() {
        return Ok(everything(snap_len));
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
    parse(&String::from_utf8_lossy(&done.stdout)).ok_or_else(|| refused("tcpdump printed no program"))
}

/// Parses what `-ddd` prints: the number of instructions, then one instruction a line as four decimal numbers.
fn parse(text: &str) -> Option<Vec<FilterInstruction>> {
    let mut lines = text.lines();
    let count: usize = lines.next()?.trim().parse().ok()?;
    let instructions: Vec<_> = lines.map(instruction).collect::<Option<_>>()?;
    (instructions.len() == count && count > 0).then_some(instructions)
}

fn instruction(line: &str) -> Option<FilterInstruction> {
    let mut numbers = line.split_whitespace();
    Some(FilterInstruction {
        code: numbers.next()?.parse().ok()?,
        jump_true: numbers.next()?.parse().ok()?,
        jump_false: numbers.next()?.parse().ok()?,
        operand: numbers.next()?.parse().ok()?,
    })
}

/// `BPF_RET | BPF_K`.
const RETURN: u16 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_read_whole_or_not_at_all() {
        let load = FilterInstruction { code: 40, jump_true: 0, jump_false: 0, operand: 12 };
        assert_eq!(parse("2\n40 0 0 12\n6 0 0 128\n").unwrap(), [load, everything(128)[0]]);
        for cut in ["", "3\n40 0 0 12\n", "1\n40 0 0\n", "0\n", "1\n40 0 300 1\n"] {
            assert_eq!(parse(cut), None, "{cut:?}");
        }
        assert_eq!(compile(" ", FilterStart::Ip, 128).unwrap(), everything(128));
    }
}
