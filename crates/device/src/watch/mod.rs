//! Sees each packet at the queues of Linux, whatever their discipline is and whoever set them: when it came to the queue, when it
//! left, and when it was dropped. Programs at tracepoints of the kernel write a record for each into a ring; this process reads
//! them when it likes. Nothing about the queues changes.
//!
//! | tracepoint | the packet |
//! |---|---|
//! | `net_dev_queue` | comes to the interface's queue |
//! | `net_dev_start_xmit` | leaves it: the driver gets it |
//! | `kfree_skb` | was dropped, with a reason |
//! | `netif_receive_skb` | was received, where nothing queues what is received |
//!
//! The tracepoints `qdisc_enqueue` and `qdisc_dequeue` are not used: an empty FQ-CoDel lets packets pass by them, and of several that
//! leave at once they show the first.
//!
//! The programs are made here of instructions, with the places of members from the kernel's type information (`bpf::btf`). Neither a
//! compiler nor an object file is needed. [`Event`] is what a record says.

mod event;
mod layout;
mod program;

use std::io::{Error, ErrorKind, Result};
use std::os::linux::fs::MetadataExt as _;

pub use event::{Event, What};

use crate::bpf::{Link, Ring, SharedNumber};
use crate::clock::Clock;
use layout::Layout;

/// Programs that watch interfaces until this is dropped.
#[derive(Debug)]
pub struct Watch {
    ring: Ring,
    /// Records that found the ring full.
    lost: SharedNumber,
    queues: SharedNumber,
    reasons: Vec<(u32, String)>,
    clock: Clock,
    _links: Vec<Link>,
}

impl Watch {
    /// Watches two queues, by the index of their interfaces in this thread's network namespace, and what others receive. An index of
    /// zero is none. `clock` gives the times of events.
    ///
    /// # Errors
    /// The kernel has no type information (CONFIG_DEBUG_INFO_BTF) or is not understood, or this process may not watch it.
    pub fn start(queues: [u32; 2], arrivals: [u32; 2], clock: Clock) -> Result<Self> {
        Self::open(queues, arrivals, clock).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => Error::new(
                error.kind(),
                "this process may not watch the kernel's packets (root, or CAP_BPF with CAP_PERFMON)",
            ),
            _ => error,
        })
    }

    fn open(queues: [u32; 2], arrivals: [u32; 2], clock: Clock) -> Result<Self> {
        let layout = Layout::of_kernel()?;
        let (ring, lost) = (Ring::new(RING)?, SharedNumber::new()?);
        let namespace = std::fs::metadata("/proc/thread-self/ns/net")?.st_ino() as u32;
        let (own, others) = (SharedNumber::new()?, SharedNumber::new()?);
        own.store(pair(queues));
        others.store(pair(arrivals));
        let mut links = Vec::new();
        let arrivals = if others.load() == 0 { &[][..] } else { &program::ARRIVALS };
        for (indices, points) in [(&own, &program::QUEUE[..]), (&others, arrivals)] {
            let watched = program::Watched { indices, namespace, ring: &ring, lost: &lost };
            for point in points {
                links.push(point.attach(&layout, &watched)?);
            }
        }
        Ok(Self { ring, lost, queues: own, reasons: layout.reasons, clock, _links: links })
    }

    /// Watches other queues from now on.
    pub fn turn_to(&self, queues: [u32; 2]) {
        self.queues.store(pair(queues));
    }

    /// Takes what happened since the last call, in order, each with the kernel's name of its reason if it is a drop.
    pub fn drain(&mut self, mut take: impl FnMut(&Event<'_>, Option<&str>)) {
        let Self { ring, clock, reasons, .. } = self;
        ring.drain(|record| {
            if let Some(event) = Event::read(record, clock) {
                let name = match event.what {
                    What::Dropped(number) => name(reasons, number),
                    _ => None,
                };
                take(&event, name);
            }
        });
    }

    /// Events lost because the ring was full.
    pub fn lost(&self) -> u64 {
        self.lost.load()
    }

    /// The kernel's name for the reason of a drop, such as `QDISC_OVERLIMIT`.
    pub fn reason(&self, number: u32) -> Option<&str> {
        name(&self.reasons, number)
    }
}

fn name(reasons: &[(u32, String)], number: u32) -> Option<&str> {
    reasons.iter().find(|(own, _)| *own == number).map(|(_, name)| name.as_str())
}

/// Two numbers in one, in the order in which programs find them in memory.
fn pair([first, second]: [u32; 2]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

/// Bytes of the ring: 20 ms of 1 Gbit/s in packets of 1500 B take 0.6 MB, in packets of 300 B 3 MB.
const RING: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::process::Command;

    use super::*;
    use crate::{Headers, Interface, namespace};

    /// A namespace whose loopback is up, for this thread; `None` on a machine that cannot watch.
    fn alone() -> Option<Watch> {
        let inside = namespace::create().and_then(|made| namespace::enter(&made));
        let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
        let watch = inside
            .and(up)
            .and_then(|_| Watch::start([Interface::find("lo")?.index, 0], [0; 2], Clock::start()));
        match watch {
            Ok(watch) => Some(watch),
            Err(error) => {
                assert!(std::env::var("CI").as_deref() != Ok("true"), "{error}");
                eprintln!("skipped: {error}");
                None
            }
        }
    }

    #[test]
    fn a_packet_is_seen_as_it_comes_and_leaves_and_not_those_of_other_namespaces() {
        // Its loopback interface has the same index.
        let outside = namespace::current().unwrap();
        let Some(mut watch) = alone() else { return };
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&[7; 30], socket.local_addr().unwrap()).unwrap();
        let inside = namespace::current().unwrap();
        namespace::enter(&outside).unwrap();
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        other.send_to(&[8; 30], other.local_addr().unwrap()).unwrap();
        namespace::enter(&inside).unwrap();
        let mut seen = Vec::new();
        let lo = Interface::find("lo").unwrap().index;
        watch.drain(|event, _| {
            let headers = Headers::parse_start(event.frame, event.len);
            assert_eq!(event.frame.last(), Some(&7));
            let port = socket.local_addr().unwrap().port();
            assert_eq!(headers.key().unwrap().source.port(), port);
            seen.push((event.packet, event.what, event.len, event.interface, event.segments));
        });
        let packet = seen[0].0;
        assert_eq!(seen, [(packet, What::Came, 58, lo, None), (packet, What::Left, 58, lo, None)]);
        assert_eq!(watch.lost(), 0);
    }

    #[test]
    fn what_does_not_fit_the_ring_is_counted() {
        let Some(mut watch) = alone() else { return };
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let packets = RING / event::LEN;
        for _ in 0..packets {
            socket.send_to(&[7; 30], socket.local_addr().unwrap()).unwrap();
        }
        let mut seen = 0;
        watch.drain(|_, _| seen += 1);
        // Each packet comes and leaves, and is dropped at the socket when that is full.
        let lost = watch.lost();
        assert!(lost > 0 && seen > 0 && seen + lost >= 2 * packets as u64, "{seen} {lost}");
        socket.send_to(&[7; 30], socket.local_addr().unwrap()).unwrap();
        watch.drain(|_, _| seen += 1);
        assert_eq!(watch.lost(), lost, "there is room again");
    }

    #[test]
    fn reasons_have_names() {
        let Some(watch) = alone() else { return };
        assert_eq!(watch.reason(2), Some("NOT_SPECIFIED"));
        assert!(watch.reasons.iter().any(|(_, name)| name == "QDISC_DROP"), "{:?}", watch.reasons);
        assert_eq!(watch.reason(1 << 20), None);
    }
}
