//! Lets frames pass between two interfaces while the program that forwards them stands still: a program in the kernel where frames
//! arrive at each. It ends with this process. A forwarder that stops for seconds, by a fault or a debugger, would otherwise cut the
//! link for that time.

use std::io::Result;

use crate::bpf::{
    AttachType, Heartbeat,
    Helper::{CloneRedirect, Redirect},
    Instruction, Link,
    Register::*,
};

/// Programs at two interfaces, attached as long as this lives.
#[derive(Debug)]
pub(crate) struct Bypass {
    _links: [Link; 2],
}

impl Bypass {
    /// Attaches the programs. `ends` are the indices of the interfaces.
    ///
    /// # Errors
    /// The kernel is older than Linux 6.6, or this process may not load programs.
    pub(crate) fn between(ends: [u32; 2], heartbeat: &Heartbeat) -> Result<Self> {
        let [one, other] = ends;
        let attach =
            |from, to| Link::at("gl_bypass", AttachType::TcxIngress, from, &instructions(to, heartbeat));
        Ok(Self { _links: [attach(one, other)?, attach(other, one)?] })
    }
}

/// In C:
///
/// ```c
/// if (skb->pkt_type == PACKET_HOST) return TCX_NEXT;
/// if (at work) return TCX_NEXT;
/// if (skb->pkt_type == PACKET_OTHERHOST) return bpf_redirect(to, 0);
/// bpf_clone_redirect(skb, to, 0);      // a broadcast: this machine gets it too
/// return TCX_NEXT;
/// ```
fn instructions(to: u32, heartbeat: &Heartbeat) -> Vec<Instruction> {
    let broadcast = [
        Instruction::copy(R1, R6),
        Instruction::set(R2, to as i32),
        Instruction::set(R3, 0),
        Instruction::call(CloneRedirect),
    ];
    let next = [Instruction::set(R0, NEXT), Instruction::exit()];
    let other = [
        Instruction::set(R1, to as i32),
        Instruction::set(R2, 0),
        Instruction::call(Redirect),
        Instruction::exit(),
    ];
    let passes = [
        Instruction::load_word(R2, R6, PACKET_TYPE),
        Instruction::skip_if_equal(R2, OTHER_HOST, (broadcast.len() + next.len()) as i16),
    ];
    let to_next = passes.len() + broadcast.len();
    let at_work = heartbeat.skip_if_at_work(to_next as i16);
    let begin = [
        Instruction::copy(R6, R1),
        Instruction::load_word(R2, R1, PACKET_TYPE),
        Instruction::skip_if_equal(R2, HOST, (at_work.len() + to_next) as i16),
    ];
    [&begin[..], &at_work, &passes, &broadcast, &next, &other].concat()
}

/// Offset in `struct __sk_buff`.
const PACKET_TYPE: i16 = 4;
/// `PACKET_HOST` and `PACKET_OTHERHOST` of linux/if_packet.h.
const HOST: i32 = 0;
const OTHER_HOST: i32 = 3;
/// `TCX_NEXT`: continue as if this program were not there.
const NEXT: i32 = -1;
