//! The protocol of a flow, from its signatures and its messages' numbers.

use super::application::Confidence;
use super::heard::Heard;
use super::known::Group;
use super::signature::{Means, Proof, Signature};
use crate::analysis::{FlowReport, Kind, TransportReport};

/// A protocol, or an application that its protocol names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spoken {
    pub(super) name: &'static str,
    pub(super) confidence: Confidence,
    /// What shows it, as part of a sentence.
    pub(super) sign: String,
    pub(super) means: Means,
    carries: &'static [Group],
}

impl Spoken {
    fn new(
        name: &'static str,
        confidence: Confidence,
        sign: impl Into<String>,
        carries: &'static [Group],
    ) -> Self {
        Self { name, confidence, sign: sign.into(), means: Means::Protocol, carries }
    }

    fn signed(signature: Signature, confidence: Confidence) -> Self {
        let spoken = Self::new(signature.name(), confidence, signature.sign(), carries(signature));
        Self { means: signature.means(), ..spoken }
    }

    fn family(name: &'static str, confidence: Confidence, sign: &str) -> Self {
        Self { means: Means::Family, ..Self::new(name, confidence, sign, GAME) }
    }

    /// True if an application of this group may use the protocol.
    pub(super) fn carries(&self, group: Group) -> bool {
        self.carries.contains(&group)
    }

    /// True for audio and video in real time.
    pub(super) fn is_media(&self) -> bool {
        self.carries == MEDIA
    }
}

/// Returns the protocol, if something shows it.
pub(super) fn spoken(report: &FlowReport) -> Option<Spoken> {
    let heard = &report.heard;
    let one = Signature::ALL.into_iter().filter(|signature| signature.proof() == Proof::One);
    // The answer of a server says more than the library's magic bytes.
    let one = one.rev().find(|&signature| heard.count(signature) > 0);
    one.map(|signature| Spoken::signed(signature, Confidence::Sure))
        .or_else(|| media(heard))
        .or_else(|| quic(heard))
        .or_else(|| every(heard))
        .or_else(|| channel(report))
}

/// Calls and cloud games: RTP, with what belongs to it in the same flow (RFC 7983).
fn media(heard: &Heard) -> Option<Spoken> {
    let count = |signature| heard.count(signature);
    let (rtp, beside) = (heard.media(), [Signature::Stun, Signature::Dtls, Signature::Rtcp].map(count));
    let [stun, dtls, _] = beside;
    let (all_rtp, all_beside) = (rtp.iter().sum::<u32>(), beside.iter().sum::<u32>());
    let is_most = |messages: u32| messages > 0 && messages * 5 >= heard.messages() * 4;
    if is_most(stun + count(Signature::Turn)) && count(Signature::Turn) >= SEVERAL {
        return Some(Spoken::signed(Signature::Turn, Confidence::Sure));
    }
    if !is_most(all_rtp + all_beside) {
        return None;
    }
    if stun > 0 && dtls > 0 {
        let and = if all_rtp > 0 { ", DTLS records and RTP" } else { " and DTLS records" };
        return Some(Spoken::new("webrtc", Confidence::Sure, format!("STUN messages{and}"), MEDIA));
    }
    if rtp.iter().any(|&messages| messages >= SEVERAL) {
        let is_sure = all_beside > 0 || rtp.iter().all(|&messages| messages >= SEVERAL);
        let confidence = if is_sure { Confidence::Sure } else { Confidence::Likely };
        return Some(Spoken::new("rtp", confidence, "RTP with sequence numbers that go on", MEDIA));
    }
    let signature = if is_most(stun) { Signature::Stun } else { Signature::Dtls };
    let is_sure = signature == Signature::Stun || dtls >= A_FEW;
    is_most(count(signature))
        .then(|| Spoken::signed(signature, if is_sure { Confidence::Sure } else { Confidence::Likely }))
}

/// QUIC shows itself while a connection opens.
fn quic(heard: &Heard) -> Option<Spoken> {
    let [up, down] = heard.each(Signature::Quic);
    let confidence = if up > 0 && down > 0 { Confidence::Sure } else { Confidence::Likely };
    (up + down > 0).then(|| Spoken::signed(Signature::Quic, confidence))
}

/// Protocols whose every message has the form.
fn every(heard: &Heard) -> Option<Spoken> {
    let is_it = |signature: &Signature| {
        let is_whole = matches!(signature.proof(), Proof::Every) || *signature == Signature::SteamQuery;
        is_whole && heard.count(*signature) == heard.messages() && heard.messages() > 0
    };
    let signature = Signature::ALL.into_iter().find(is_it)?;
    let is_sure = heard.each(signature).iter().all(|&messages| messages > 0) || heard.messages() >= A_FEW;
    Some(Spoken::signed(signature, if is_sure { Confidence::Sure } else { Confidence::Likely }))
}

/// Games of the Quake family, by the numbers of their messages.
fn channel(report: &FlowReport) -> Option<Spoken> {
    let TransportReport::Udp { updates, .. } = &report.transport else { return None };
    let is_usual = QUAKE_THREE.contains(&report.key.destination.port());
    if report.heard.is_deaf() && is_usual && report.kind() == Kind::Game {
        let sign = "a usual port of Quake III's engine, and packets as a game sends them";
        return Some(Spoken::family("quake3-family", Confidence::Likely, sign));
    }
    if !updates.iter().all(|updates| updates.is_some_and(|updates| updates.is_quake_numbered)) {
        return None;
    }
    if report.heard.acknowledges() {
        let sign =
            "messages that number and acknowledge each other as those of Source, GoldSrc and QuakeWorld";
        return Some(Spoken::family("source-family", Confidence::Likely, sign));
    }
    if report.heard.has_client_port() {
        let confidence = if is_usual { Confidence::Likely } else { Confidence::Possible };
        let sign = "messages numbered as those of Quake III, with a client's qport";
        return Some(Spoken::family("quake3-family", confidence, sign));
    }
    None
}

const fn carries(signature: Signature) -> &'static [Group] {
    match signature {
        Signature::Rtcp | Signature::Turn | Signature::DiscordVoice | Signature::TeamSpeak => MEDIA,
        Signature::Stun | Signature::Dtls => &[Group::Game, Group::Media],
        Signature::QuakeThree
        | Signature::SteamQuery
        | Signature::Steam
        | Signature::RakNet
        | Signature::MinecraftBedrock
        | Signature::MinecraftJava
        | Signature::Enet => GAME,
        Signature::Quic | Signature::Tls | Signature::Http | Signature::Rtmp => &[Group::Media, Group::Other],
        Signature::Dns
        | Signature::Mdns
        | Signature::Ntp
        | Signature::Dhcp
        | Signature::Ssdp
        | Signature::WireGuard
        | Signature::BitTorrent
        | Signature::Ssh => &[],
    }
}

const GAME: &[Group] = &[Group::Game];
const MEDIA: &[Group] = &[Group::Media];
/// Ports that servers of Quake III's engine choose: Quake III, Enemy Territory, OpenArena and others; Call of Duty; Jedi
/// Academy; Tremulous.
const QUAKE_THREE: [u16; 16] = [
    27_960, 27_961, 27_962, 27_963, 27_964, 27_965, 27_966, 27_967, 27_968, 27_969, 28_960, 28_961, 28_962,
    28_963, 29_070, 30_720,
];
/// Messages that go on from one another after which it is RTP.
const SEVERAL: u32 = 20;
const A_FEW: u32 = 3;
