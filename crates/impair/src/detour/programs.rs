//! Programs in the kernel that divert frames of the impaired interface. Each has about a dozen instructions.
//!
//! A frame that has been on the impaired path passes the interface's hooks again, and must not be diverted twice. On the way out the
//! program recognises it by the interface where it arrived, the inner pair. On the way in the kernel forgets that, but keeps
//! `tc_index`, sixteen bits that only old queue disciplines used. Packet marks (`skb->mark`) are not used, because policy routing and
//! VPNs need them.
//!
//! Frames of IEEE 802.1X, which carry Wi-Fi keys, are let pass: without them there is no network.

use gamelane_device::bpf::{Heartbeat, Helper, Instruction, Register};
use {Helper::*, Register::*};

/// Indices of the interface, and of the ends of the pairs beside it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    /// The impaired interface.
    pub(super) interface: u32,
    /// End of the path for this machine's frames.
    pub(super) host: u32,
    /// End of the path for the network's frames.
    pub(super) net: u32,
}

/// Program where frames leave by the interface: diverts to `host`, except frames from the path.
pub(super) fn leaving(places: Places, alive: &Heartbeat) -> Vec<Instruction> {
    let is_ours = Instruction::load_word(R2, R1, INGRESS_INTERFACE);
    aside(places.host, is_ours, places.net as i32, &[], alive)
}

/// Program where frames arrive at the interface: diverts to `net`, except frames from the path, whose `tc_index` it resets.
pub(super) fn arriving(places: Places, alive: &Heartbeat) -> Vec<Instruction> {
    let is_ours = Instruction::load_word(R2, R1, TC_INDEX);
    let undo = [Instruction::set(R2, 0), Instruction::store_word(R6, TC_INDEX, R2)];
    aside(places.net, is_ours, OURS, &undo, alive)
}

/// Program at this machine's end of the path: frames continue as if they had arrived at the interface.
pub(super) fn to_host(places: Places) -> Vec<Instruction> {
    let [set, store] = mark(R1);
    let [a, b, c, d] = redirect(places.interface, AS_IF_IT_CAME_IN);
    vec![set, store, a, b, c, d]
}

/// Program at the network's end of the path: frames leave by the interface.
pub(super) fn to_net(places: Places) -> Vec<Instruction> {
    redirect(places.interface, 0).to_vec()
}

/// Program where frames enter the path: lets only diverted frames in, none that this machine sends there itself.
pub(super) fn onto_path() -> Vec<Instruction> {
    vec![
        Instruction::load_word(R2, R1, TC_INDEX),
        Instruction::set(R0, NEXT),
        Instruction::skip_if_equal(R2, OURS, 1),
        Instruction::set(R0, DROP),
        Instruction::exit(),
    ]
}

/// Diverts frames to `to` while the process is alive. Frames for which `load` sets `R2` to `ours` pass, after `undo`.
fn aside(to: u32, load: Instruction, ours: i32, undo: &[Instruction], alive: &Heartbeat) -> Vec<Instruction> {
    let divert = [&mark(R6)[..], &redirect(to, 0)].concat();
    let pass = [Instruction::set(R0, NEXT), Instruction::exit()];
    // Frames pass unimpaired while the process stands still.
    let at_work = alive.skip_if_at_work(pass.len() as i16);
    let before_undo = at_work.len() + pass.len() + divert.len();
    let mut all = vec![
        Instruction::copy(R6, R1),
        load,
        Instruction::skip_if_equal(R2, ours, (2 + before_undo) as i16),
        Instruction::load_word(R2, R1, PROTOCOL),
        Instruction::skip_if_equal(R2, EAPOL, (before_undo + undo.len()) as i16),
    ];
    all.extend(at_work);
    all.extend(pass);
    all.extend(divert);
    all.extend(undo);
    all.extend(pass);
    all
}

fn mark(frame: Register) -> [Instruction; 2] {
    [Instruction::set(R2, OURS), Instruction::store_word(frame, TC_INDEX, R2)]
}

fn redirect(to: u32, flags: i32) -> [Instruction; 4] {
    [
        Instruction::set(R1, to as i32),
        Instruction::set(R2, flags),
        Instruction::call(Redirect),
        Instruction::exit(),
    ]
}

/// Offsets in `struct __sk_buff`.
const PROTOCOL: i16 = 16;
const INGRESS_INTERFACE: i16 = 36;
const TC_INDEX: i16 = 44;
/// EtherType of IEEE 802.1X, in network order.
const EAPOL: i32 = 0x888e_u16.to_be() as i32;
/// Value of `tc_index` for diverted frames; nothing else is likely to use it.
const OURS: i32 = 0x676c;
/// `TCX_NEXT`: continue as if this program were not there.
const NEXT: i32 = -1;
const DROP: i32 = 2;
/// `BPF_F_INGRESS`
const AS_IF_IT_CAME_IN: i32 = 1;
