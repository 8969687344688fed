//! Names of link types that are not supported (tcpdump's registry, pcap-linktype(7)), and what helps somebody who has
//! such a file. Rare ones have no name here.

use std::fmt;

/// Shows an unsupported link type as its name and number.
pub(crate) struct Unsupported(pub(crate) u32);

/// What a frame of a link type has inside.
enum Content {
    /// Messages of a device, not network packets.
    NoIp,
    /// IP behind headers that Wireshark reads.
    Wrapped,
    /// Unknown.
    Private,
}

impl Unsupported {
    fn known(&self) -> Option<(&'static str, Content)> {
        let (name, content) = match self.0 {
            187 | 201 | 254 => ("Bluetooth HCI", Content::NoIp),
            251 | 256 | 272 => ("Bluetooth Low Energy", Content::NoIp),
            255 => ("Bluetooth baseband", Content::NoIp),
            186 | 189 | 220 | 249 | 266 | 288 | 293..=295 => ("USB", Content::NoIp),
            190 | 227 => ("CAN bus", Content::NoIp),
            210 => ("FlexRay", Content::NoIp),
            212 => ("LIN bus", Content::NoIp),
            191 | 195 | 215 | 230 | 283 => ("IEEE 802.15.4, as in Zigbee", Content::NoIp),
            261 | 262 | 287 | 297 => ("Z-Wave", Content::NoIp),
            245 | 264 => ("NFC", Content::NoIp),
            231 => ("D-Bus", Content::NoIp),
            253 => ("Linux netlink", Content::NoIp),
            271 => ("Linux vsock", Content::NoIp),
            6 => ("token ring", Content::Wrapped),
            7 | 129 => ("ARCNET", Content::Wrapped),
            8 => ("SLIP", Content::Wrapped),
            10 => ("FDDI", Content::Wrapped),
            107 => ("frame relay", Content::Wrapped),
            109 => ("OpenBSD enc", Content::Wrapped),
            123 => ("ATM, SunATM", Content::Wrapped),
            128 => ("TZSP", Content::Wrapped),
            130..=137 | 164 | 167 | 168 | 174 | 178..=181 | 183 | 194 | 200 | 232..=234 | 238 => {
                ("Juniper", Content::Wrapped)
            }
            138 => ("IP over IEEE 1394", Content::Wrapped),
            143 => ("DOCSIS", Content::Wrapped),
            182 => ("multilink frame relay", Content::Wrapped),
            192 => ("PPI", Content::Wrapped),
            197 => ("Endace ERF", Content::Wrapped),
            217 => ("GSMTAP", Content::Wrapped),
            226 => ("Solaris ipnet", Content::Wrapped),
            240 | 241 | 291 => ("netANALYZER", Content::Wrapped),
            242 => ("IP over InfiniBand", Content::Wrapped),
            247 => ("InfiniBand", Content::Wrapped),
            252 => ("Wireshark's exported PDUs", Content::Wrapped),
            147..=162 => ("private use", Content::Private),
            _ => return None,
        };
        Some((name, content))
    }

    /// What to do with such a file.
    pub(crate) const fn hint(&self) -> Hint<'_> {
        Hint(self)
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known() {
            Some((name, _)) => write!(f, "{} ({name})", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Shows what to do with a file of an unsupported link type.
pub(crate) struct Hint<'a>(&'a Unsupported);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.known() {
            Some((name, Content::NoIp)) => {
                write!(f, "{name} is no network interface; record the one that the game uses, or `any`")
            }
            Some((_, Content::Wrapped)) => f.write_str(WIRESHARK),
            Some((_, Content::Private)) | None => {
                write!(f, "{WIRESHARK}; {EDITCAP}")
            }
        }
    }
}

const WIRESHARK: &str = "if Wireshark shows IP packets in the file, `tshark -r FILE -U IP -w OUT.pcapng` writes these to a file for gamelane";

const EDITCAP: &str = "if each packet is an Ethernet frame behind N other bytes, `editcap -L -C N -T ether FILE OUT.pcapng` removes these";
