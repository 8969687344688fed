//! Sizes of protocol headers in bytes. Sums such as `IPV4_HEADER + UDP_HEADER` replace bare numbers such as 28.
//! Link-layer overhead on the medium is in [`crate::overhead`].

/// Ethernet header without VLAN tag, preamble and FCS (IEEE 802.3 clause 3). Linux queues count it, dummynet does not.
pub const ETHERNET_HEADER: u32 = 14;
/// VLAN tag in an Ethernet header (IEEE 802.1Q).
pub const VLAN_TAG: u32 = 4;
/// PPPoE header and PPP protocol field (RFC 2516 section 4).
pub const PPPOE_HEADER: u32 = 8;
/// IPv4 header without options (RFC 791 section 3.1).
pub const IPV4_HEADER: u32 = 20;
/// IPv4 header with all options: the header length field counts up to 15 words of 4 B (RFC 791 section 3.1).
pub const IPV4_HEADER_MAX: u32 = 60;
/// IPv6 header without extension headers (RFC 8200 section 3).
pub const IPV6_HEADER: u32 = 40;
/// UDP header (RFC 768).
pub const UDP_HEADER: u32 = 8;
/// TCP header without options (RFC 9293 section 3.1).
pub const TCP_HEADER: u32 = 20;
/// TCP header with all options: the data offset counts up to 15 words of 4 B (RFC 9293 section 3.1).
pub const TCP_HEADER_MAX: u32 = 60;
/// TCP timestamps option, 10 B and two no-ops, as every segment carries it once agreed (RFC 7323 appendix A).
pub const TCP_TIMESTAMPS: u32 = 12;
