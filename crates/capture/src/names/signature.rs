//! Protocols that a payload may show.

/// A protocol with a signature in its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signature {
    /// STUN: the checks of ICE (RFC 8489).
    Stun,
    /// Data through a TURN relay (RFC 8656).
    Turn,
    /// DTLS (RFC 6347, RFC 9147).
    Dtls,
    /// RTCP (RFC 3550 section 6).
    Rtcp,
    /// A long header of QUIC (RFC 9000 section 17.2).
    Quic,
    /// Messages out of band of Quake III and its many relatives (ioquake3 `code/server/sv_main.c`).
    QuakeThree,
    /// Query of a game server that Steam lists, or its answer (Valve, "Server queries").
    SteamQuery,
    /// Valve's networking libraries and the Steam client.
    Steam,
    /// RakNet (`RakPeer.cpp`).
    RakNet,
    /// RakNet with the answer of a Minecraft Bedrock server.
    MinecraftBedrock,
    /// Handshake of Minecraft Java.
    MinecraftJava,
    /// ENet (`protocol.h`).
    Enet,
    /// Discord's voice servers: IP discovery (Discord, "Voice connections"), and the ping in nDPI's capture of Discord.
    DiscordVoice,
    /// TeamSpeak 3.
    TeamSpeak,
    /// DNS (RFC 1035).
    Dns,
    /// Multicast DNS (RFC 6762).
    Mdns,
    /// NTP (RFC 5905).
    Ntp,
    /// DHCP (RFC 2131).
    Dhcp,
    /// SSDP of UPnP.
    Ssdp,
    /// WireGuard (Donenfeld, "WireGuard", section 5.4).
    WireGuard,
    /// BitTorrent: connections, DHT and uTP (BEP 3, BEP 5, BEP 29).
    BitTorrent,
    /// TLS (RFC 8446).
    Tls,
    /// HTTP/1 without encryption (RFC 9112).
    Http,
    /// SSH (RFC 4253 section 4.2).
    Ssh,
    /// RTMP (Adobe, "RTMP", section 5.2).
    Rtmp,
}

/// What a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// One application.
    Application,
    /// Games with the same engine.
    Family,
    /// A protocol that many applications use.
    Protocol,
}

/// How a signature names a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// One packet: nothing else begins so.
    One,
    /// Every packet: the bytes alone prove little.
    Every,
    /// Together with others of its kind.
    Joint,
}

impl Signature {
    /// All signatures, each at its own index.
    pub const ALL: [Self; 25] = [
        Self::Stun,
        Self::Turn,
        Self::Dtls,
        Self::Rtcp,
        Self::Quic,
        Self::QuakeThree,
        Self::SteamQuery,
        Self::Steam,
        Self::RakNet,
        Self::MinecraftBedrock,
        Self::MinecraftJava,
        Self::Enet,
        Self::DiscordVoice,
        Self::TeamSpeak,
        Self::Dns,
        Self::Mdns,
        Self::Ntp,
        Self::Dhcp,
        Self::Ssdp,
        Self::WireGuard,
        Self::BitTorrent,
        Self::Tls,
        Self::Http,
        Self::Ssh,
        Self::Rtmp,
    ];

    /// Name of the application, or else of the protocol. A name that is also the word of a shipped preset means that preset.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stun => "stun",
            Self::Turn => "turn",
            Self::Dtls => "dtls",
            Self::Rtcp => "rtcp",
            Self::Quic => "quic",
            Self::QuakeThree => "quake3-family",
            Self::SteamQuery => "steam-query",
            Self::Steam => "steam",
            Self::RakNet => "raknet",
            Self::MinecraftBedrock => "minecraft-bedrock",
            Self::MinecraftJava => "minecraft-java",
            Self::Enet => "enet",
            Self::DiscordVoice => "discord-voice",
            Self::TeamSpeak => "teamspeak",
            Self::Dns => "dns",
            Self::Mdns => "mdns",
            Self::Ntp => "ntp",
            Self::Dhcp => "dhcp",
            Self::Ssdp => "ssdp",
            Self::WireGuard => "wireguard",
            Self::BitTorrent => "bittorrent",
            Self::Tls => "tls",
            Self::Http => "http",
            Self::Ssh => "ssh",
            Self::Rtmp => "rtmp",
        }
    }

    /// The sign, as part of a sentence.
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Stun => "STUN messages",
            Self::Turn => "data through a TURN relay",
            Self::Dtls => "DTLS records",
            Self::Rtcp => "RTCP reports",
            Self::Quic => "QUIC's long headers",
            Self::QuakeThree => "a message out of band with a word of Quake III",
            Self::SteamQuery => "queries of a server that Steam lists",
            Self::Steam => "a message of Steam's networking",
            Self::RakNet => "RakNet's magic bytes",
            Self::MinecraftBedrock => "the answer of a Minecraft Bedrock server",
            Self::MinecraftJava => "the handshake of Minecraft Java",
            Self::Enet => "ENet's request to connect",
            Self::DiscordVoice => "a message to a voice server of Discord",
            Self::TeamSpeak => "TeamSpeak's first message",
            Self::Dns => "DNS messages",
            Self::Mdns => "multicast DNS messages",
            Self::Ntp => "NTP messages",
            Self::Dhcp => "DHCP messages",
            Self::Ssdp => "SSDP messages",
            Self::WireGuard => "WireGuard messages",
            Self::BitTorrent => "a message of BitTorrent",
            Self::Tls => "a TLS hello",
            Self::Http => "HTTP without encryption",
            Self::Ssh => "the greeting of SSH",
            Self::Rtmp => "the handshake of RTMP",
        }
    }

    pub(super) const fn proof(self) -> Proof {
        match self {
            Self::Stun | Self::Turn | Self::Dtls | Self::Rtcp | Self::Quic | Self::SteamQuery => Proof::Joint,
            Self::Dns | Self::Mdns | Self::Ntp | Self::Dhcp | Self::Ssdp | Self::WireGuard => Proof::Every,
            _ => Proof::One,
        }
    }

    /// What the name means.
    pub(super) const fn means(self) -> Means {
        match self {
            Self::Steam
            | Self::SteamQuery
            | Self::MinecraftBedrock
            | Self::MinecraftJava
            | Self::DiscordVoice
            | Self::TeamSpeak
            | Self::BitTorrent => Means::Application,
            Self::QuakeThree => Means::Family,
            _ => Means::Protocol,
        }
    }

    /// Index in [`Signature::ALL`].
    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signature_is_at_its_index_under_a_name_of_its_own() {
        assert!(Signature::ALL.iter().enumerate().all(|(at, signature)| signature.index() == at));
        let mut names = Signature::ALL.map(Signature::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
