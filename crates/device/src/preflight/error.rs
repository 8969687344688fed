//! Why interfaces cannot be used, each with a hint.

use std::net::IpAddr;

/// Why a program cannot use its interfaces. `side` is what its command calls the interface, such as `--lan`.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// There is no such interface.
    #[error("{side} {name}: {error}\n  hint:    `ip -br link` lists the interfaces there are")]
    Missing {
        /// What the command calls it.
        side: &'static str,
        /// Name as given.
        name: String,
        /// What the kernel said.
        error: std::io::Error,
    },
    /// It is not Ethernet.
    #[error(
        "{side} {name}: this is not an Ethernet interface, so it has no frames to bridge\n  hint:    name the Ethernet \
             interface that the tunnel or PPP runs over"
    )]
    NotEthernet {
        /// What the command calls it.
        side: &'static str,
        /// Name as given.
        name: String,
    },
    /// Both sides are the same interface.
    #[error("{} and {} are both {name}\n  hint:    a bridge needs two interfaces", sides[0], sides[1])]
    Same {
        /// What the command calls them.
        sides: [&'static str; 2],
        /// The interface.
        name: String,
    },
    /// A bridge or bond forwards its frames already.
    #[error(
        "{side} {name}: it is part of {master}, which forwards its frames already\n  hint:    `ip link set {name} \
             nomaster` takes it out"
    )]
    Enslaved {
        /// What the command calls it.
        side: &'static str,
        /// Name as given.
        name: String,
        /// The bridge or bond.
        master: String,
    },
    /// This kernel forwards nothing between them.
    #[error(
        "this kernel forwards nothing between {lan} and {wan}\n  hint:    make them ports of one bridge (`ip link set {lan} master br0`), \
             let this machine route (`sysctl net.ipv4.ip_forward=1`), or use --engine user, which forwards by itself"
    )]
    NotForwarded {
        /// Interface towards the home.
        lan: String,
        /// Interface towards the internet.
        wan: String,
    },
    /// The bridge or bond is what this machine sends by, not its part.
    #[error(
        "{side} {name}: it is part of {master}, which forwards its frames\n  hint:    name {master} itself: this \
             machine sends by that"
    )]
    Part {
        /// What the command calls it.
        side: &'static str,
        /// Name as given.
        name: String,
        /// The bridge or bond.
        master: String,
    },
    /// It is the loopback interface.
    #[error(
        "{side} {name}: packets of the loopback interface cannot be diverted: Linux accepts 127.0.0.1 only from packets that \
             never left it\n  hint:    put one end into a network namespace of its own, and name the interface that leads there"
    )]
    Loopback {
        /// What the command calls it.
        side: &'static str,
        /// Name as given.
        name: String,
    },
    /// The user's own connection runs over it.
    #[error(
        "{side} {name}: you are logged in over it, from {client}, and a mistake would lock you out\n  hint:    use the \
             console or another interface, or add --allow-login-interface"
    )]
    Login {
        /// What the command calls it.
        side: &'static str,
        /// Name as given.
        name: String,
        /// Address the user comes from.
        client: IpAddr,
    },
    /// AF_XDP was asked for and is not possible.
    #[error("--io xdp: {name}: {why}")]
    NoXdp {
        /// The interface.
        name: String,
        /// The reason and a hint.
        why: String,
    },
    /// A privilege is missing, for a bridge between two interfaces.
    #[error(
        "this needs {0}\n  hint:    run it as root, or `setcap cap_net_raw,cap_net_admin+ep` on the program; \
             for --io xdp also cap_bpf"
    )]
    Privilege(&'static str),
    /// A privilege is missing, for setting the kernel's queues.
    #[error("this needs CAP_NET_ADMIN, to set the kernel's queues\n  hint:    run it as root")]
    PrivilegeToQueue,
    /// A privilege is missing, for diverting frames of one interface.
    #[error(
        "this needs {0}\n  hint:    run it as root, or `setcap cap_net_raw,cap_net_admin,cap_sys_admin+ep` on the program"
    )]
    PrivilegeAlone(&'static str),
}

impl PreflightError {
    /// Whether the command is right, and this machine lacks a privilege or cannot do AF_XDP.
    pub const fn is_of_machine(&self) -> bool {
        matches!(
            self,
            Self::Privilege(_) | Self::PrivilegeAlone(_) | Self::PrivilegeToQueue | Self::NoXdp { .. }
        )
    }
}
