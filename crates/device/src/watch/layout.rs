//! Where the running kernel keeps what the programs read.

use std::io::{Error, ErrorKind, Result};

use crate::bpf::Btf;

/// Offsets in bytes, and the names of reasons.
#[derive(Debug)]
pub(super) struct Layout {
    /// In `struct sk_buff`.
    pub(super) packet: Packet,
    /// In `struct net_device`.
    pub(super) index: i16,
    pub(super) namespace: i16,
    /// In `struct net`: its number.
    pub(super) number: i16,
    /// In `struct skb_shared_info`: payload of each segment, and after it the number of segments.
    pub(super) segments: i16,
    /// In `struct nf_conn`; `None` if the kernel does not track connections.
    pub(super) tracked: Option<Tracked>,
    btf: Btf,
    /// Names of the reasons of drops.
    pub(super) reasons: Vec<(u32, String)>,
}

/// Members of `struct sk_buff`.
#[derive(Debug)]
pub(super) struct Packet {
    pub(super) device: i16,
    pub(super) len: i16,
    pub(super) fragments_len: i16,
    pub(super) protocol: i16,
    pub(super) priority: i16,
    pub(super) network: i16,
    pub(super) head: i16,
    pub(super) data: i16,
    pub(super) end: i16,
    pub(super) connection: Option<i16>,
}

/// A tracked connection: the tuples of its two directions, before addresses are translated.
#[derive(Debug)]
pub(super) struct Tracked {
    /// Bytes from the connection to the source address of its first direction.
    pub(super) source: i16,
    /// Bytes from there to the source address of the other direction.
    pub(super) next: i16,
}

impl Layout {
    pub(super) fn of_kernel() -> Result<Self> {
        if cfg!(target_pointer_width = "32") {
            // There, the end of a packet is a pointer, and pointers have 4 bytes.
            return Err(Error::new(ErrorKind::Unsupported, "queues are watched on 64-bit machines only"));
        }
        Self::of(Btf::with_module("nf_conntrack")?)
    }

    fn of(btf: Btf) -> Result<Self> {
        let member = |structure: &str, member: &str| {
            offset(&btf, structure, member).ok_or_else(|| {
                Error::new(
                    ErrorKind::Unsupported,
                    format!("this kernel's `struct {structure}` has no `{member}`"),
                )
            })
        };
        let of_packet = |name| member("sk_buff", name);
        let segments = member("skb_shared_info", "gso_size")?;
        if member("skb_shared_info", "gso_segs")? != segments + 2 {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "this kernel orders `struct skb_shared_info` otherwise",
            ));
        }
        Ok(Self {
            packet: Packet {
                device: of_packet("dev")?,
                len: of_packet("len")?,
                fragments_len: of_packet("data_len")?,
                protocol: of_packet("protocol")?,
                priority: of_packet("priority")?,
                network: of_packet("network_header")?,
                head: of_packet("head")?,
                data: of_packet("data")?,
                end: of_packet("end")?,
                connection: offset(&btf, "sk_buff", "_nfct"),
            },
            index: member("net_device", "ifindex")?,
            // `possible_net_t` holds nothing but the pointer.
            namespace: member("net_device", "nd_net")?,
            number: member("net", "ns")?.saturating_add(member("ns_common", "inum")?),
            segments,
            tracked: tracked(&btf),
            reasons: reasons(&btf),
            btf,
        })
    }

    /// Number of the type of a tracepoint.
    pub(super) fn tracepoint(&self, name: &str) -> Result<u32> {
        let none = || Error::new(ErrorKind::Unsupported, "this kernel has no such tracepoint");
        self.btf.tracepoint(name).ok_or_else(none)
    }
}

/// Bytes before a member, as instructions take them.
fn offset(btf: &Btf, structure: &str, member: &str) -> Option<i16> {
    i16::try_from(btf.member(structure, member)?).ok()
}

fn tracked(btf: &Btf) -> Option<Tracked> {
    let tuple = offset(btf, "nf_conntrack_tuple_hash", "tuple")?.checked_add(offset(
        btf,
        "nf_conntrack_tuple",
        "src",
    )?)?;
    let next = btf.size("nf_conntrack_tuple_hash")?.try_into().ok()?;
    Some(Tracked { source: offset(btf, "nf_conn", "tuplehash")?.checked_add(tuple)?, next })
}

/// Reasons of the kernel, and since 7.0 those of its queues, which have numbers of their own.
fn reasons(btf: &Btf) -> Vec<(u32, String)> {
    let plain = |name: &str| name.strip_prefix("SKB_DROP_REASON_").unwrap_or(name).to_owned();
    let all = ["skb_drop_reason", "qdisc_drop_reason"].into_iter().flat_map(|name| btf.values(name));
    all.map(|(number, name)| (number, plain(&name))).collect()
}
