//! Client and server of conversations without a handshake.

use crate::support::script::Found;
use crate::support::{header, key, open};
use gamelane_capture::analysis::{ClientBy, TransportReport};
use gamelane_capture::{Analyzer, PcapngWriter, WriteOptions, analyze};
use gamelane_core::Protocol;

#[test]
fn a_server_that_speaks_first_from_the_same_port_is_still_the_server() {
    // Snapshots of 150 B every 50 ms from the server, commands of 60 B every 30 ms from the client, both from 27960.
    let mut writer = PcapngWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    let tap = writer.add_interface("tap").unwrap();
    let down = key("203.0.113.5:27960", "198.51.100.2:27960", Protocol::Udp);
    for at_ms in 0..5000 {
        if at_ms % 50 == 0 {
            writer.write_udp(tap, &header(down, at_ms * 1_000_000), 150).unwrap();
        }
        if at_ms % 30 == 7 {
            writer.write_udp(tap, &header(down.reverse(), at_ms * 1_000_000), 60).unwrap();
        }
    }
    let mut found = Found::default();
    let file = writer.finish_file().unwrap();
    analyze(&mut open(file).unwrap(), &mut Analyzer::default(), &mut found).unwrap();
    let [flow] = &found.flows[..] else { panic!("one flow") };
    assert_eq!((flow.key, flow.client_by), (down.reverse(), ClientBy::Traffic));
    let TransportReport::Udp { updates, .. } = &flow.transport else { panic!("UDP") };
    let [Some(up), Some(down)] = updates.as_ref() else { panic!("messages both ways") };
    assert_eq!((up.tick_ns, down.tick_ns), (30e6, 50e6));
    // The rows agree, also those of the time before the client was known.
    let packets = |direction| {
        found.bins.iter().filter(|bin| bin.direction == direction).map(|bin| bin.packets).sum::<u32>()
    };
    assert_eq!((packets(0), packets(1)), (167, 100));
    assert!(found.bins.iter().filter(|bin| bin.direction == 1).is_sorted_by_key(|bin| bin.t_ns));
}
