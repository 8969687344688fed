//! What the kernel does with frames of the interface while it is impaired, as programs of a dozen instructions.
//!
//! A frame that has been on the impaired path comes past the interface's hooks again. On the way out it is known by where it
//! came in, the inner pair. On the way in the kernel forgets that, but not `tc_index`, sixteen bits that only queue disciplines
//! of old used. So marks (`skb->mark`), which policy routing and VPNs need, are left alone.
//!
//! Frames by which a machine gets onto a network (IEEE 802.1X, so Wi-Fi's keys) are let pass: without them there is none to be
//! impaired.

use gamelane_gateway::device::bpf::{Helper, Instruction, Register, SharedNumber};
use {Helper::*, Register::*};

/// Frames are turned aside only for so long after the process last showed that it is alive: then they pass as ever.
pub(super) const PATIENCE_NS: i32 = 1_000_000_000;

/// Kernel's numbers of the interface, and of the ends of the pairs beside it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    /// What is impaired.
    pub(super) interface: u32,
    /// Where this machine's frames go onto the path, and come off it.
    pub(super) host: u32,
    /// The network's.
    pub(super) net: u32,
}

/// Where frames leave by the interface: aside to `host`, but those from the path go on.
pub(super) fn leaving(places: Places, alive: &SharedNumber) -> Vec<Instruction> {
    let is_ours = Instruction::load_word(R2, R1, INGRESS_INTERFACE);
    aside(places.host, is_ours, places.net as i32, &[], alive)
}

/// Where frames come in at the interface: aside to `net`, but those from the path go on, and what told them apart is undone.
pub(super) fn arriving(places: Places, alive: &SharedNumber) -> Vec<Instruction> {
    let is_ours = Instruction::load_word(R2, R1, TC_INDEX);
    let undo = [Instruction::set(R2, 0), Instruction::store_word(R6, TC_INDEX, R2)];
    aside(places.net, is_ours, OURS, &undo, alive)
}

/// Where frames come off the path on this machine's side: in at the interface.
pub(super) fn to_host(places: Places) -> Vec<Instruction> {
    let [set, store] = mark(R1);
    let [a, b, c, d] = redirect(places.interface, AS_IF_IT_CAME_IN);
    vec![set, store, a, b, c, d]
}

/// Where frames come off the path on the network's side: out by the interface.
pub(super) fn to_net(places: Places) -> Vec<Instruction> {
    redirect(places.interface, 0).to_vec()
}

/// Where frames go onto the path: only those turned aside, none that a program of this machine sends there by itself.
pub(super) fn onto_path() -> Vec<Instruction> {
    vec![
        Instruction::load_word(R2, R1, TC_INDEX),
        Instruction::set(R0, NEXT),
        Instruction::skip_if_equal(R2, OURS, 1),
        Instruction::set(R0, DROP),
        Instruction::exit(),
    ]
}

/// Turns frames aside to `to` while the process is alive. Those for which `load` makes `R2` to `ours` go on, after `undo`.
fn aside(
    to: u32,
    load: Instruction,
    ours: i32,
    undo: &[Instruction],
    alive: &SharedNumber,
) -> Vec<Instruction> {
    let mark = mark(R6);
    let redirect = redirect(to, 0);
    let turned = mark.len() + redirect.len();
    let [low, high] = Instruction::address_of(R1, alive.map());
    let tail = turned + undo.len();
    let age = [
        Instruction::call(KtimeGetNs),
        low,
        high,
        Instruction::load_double(R1, R1, 0),
        Instruction::subtract(R0, R1),
        Instruction::skip_if_greater(R0, PATIENCE_NS, tail as i16),
    ];
    let mut all = vec![
        Instruction::copy(R6, R1),
        load,
        Instruction::skip_if_equal(R2, ours, (2 + age.len() + turned) as i16),
        Instruction::load_word(R2, R1, PROTOCOL),
        Instruction::skip_if_equal(R2, EAPOL, (age.len() + tail) as i16),
    ];
    all.extend(age);
    all.extend(mark);
    all.extend(redirect);
    all.extend(undo);
    all.extend([Instruction::set(R0, NEXT), Instruction::exit()]);
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

/// Of `struct __sk_buff`.
const PROTOCOL: i16 = 16;
const INGRESS_INTERFACE: i16 = 36;
const TC_INDEX: i16 = 44;
/// An EtherType, as it lies in memory.
const EAPOL: i32 = 0x888e_u16.to_be() as i32;
/// A value of `tc_index` that nothing else is likely to choose.
const OURS: i32 = 0x676c;
/// `TCX_NEXT`: as if this program were not there.
const NEXT: i32 = -1;
const DROP: i32 = 2;
/// `BPF_F_INGRESS`
const AS_IF_IT_CAME_IN: i32 = 1;
