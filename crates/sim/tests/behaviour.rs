//! Detection of games and calls by behaviour alone (`gamelane_qdisc::classify`), with every traffic model and with recorded
//! games. The snapshots are the confusion matrix.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;

use gamelane_capture::Capture;
use gamelane_core::{AckKind, ClassId, Direction, Duration, FlowId, FlowKey, Instant, PacketMeta, Seed};
use gamelane_qdisc::classify::{Behaviour, BehaviourParameters, FlowTable, FlowTableParameters};
use gamelane_scenario::{Model, Scenario};
use gamelane_sim::payload::connection_key;
use gamelane_sim::{Household, Passed, Tap};

/// Flows that are games or calls, then flows that are not.
const REAL_TIME: usize = 7 * 5 + 4;

/// Seven games with five numbers of players, TEACUP's client, a recorded match and two calls; then all other models.
fn scenario() -> String {
    let mut text = String::from(
        "name = \"behaviour\"\nquestion = \"Which flows are games?\"\nduration = \"20s\"\n\
         [link]\ndown = \"50mbit\"\nup = \"20mbit\"\nrtt = \"40ms\"\n\
         [gateway]\nup = { queue = \"fq_codel\" }\ndown = { queue = \"fq_codel\" }\n",
    );
    let mut flow = |name: &str, keys: &str| write!(text, "[[flow]]\nname = \"{name}\"\n{keys}\n").unwrap();
    for model in ["quake3", "quake4", "hldm", "hl2dm", "hlcs", "cssource", "et"] {
        for players in [2, 4, 8, 16, 32] {
            let keys = format!("app = \"game\"\nmodel = \"{model}\"\nplayers = {players}");
            flow(&format!("{model}-{players}"), &keys);
        }
    }
    flow("pktgen", "app = \"game\"\nmodel = \"quake3\"\nclient = \"pktgen\"");
    flow("match", "app = \"game\"\ntrace = \"captures/openarena-4p-srv.pcapng\"\nclient = \"10.77.0.2\"");
    flow("g711", "app = \"voip\"\ncodec = \"g711\"");
    flow("g729", "app = \"voip\"\ncodec = \"g729\"");
    flow("upload", "app = \"bulk\"\ndirection = \"up\"");
    flow("download", "app = \"bulk\"\ndirection = \"down\"");
    flow("file", "app = \"bulk\"\ndirection = \"down\"\nsize = \"1MiB\"\nstart = \"10s\"");
    flow("web", "app = \"web\"\nlasting = { min = \"1s\", max = \"6s\" }");
    flow("pages", "app = \"web\"\nevery = \"1s\"\nsize = { min = \"2KiB\", max = \"9KiB\" }");
    flow("video", "app = \"dash\"");
    flow("adaptive", "app = \"dash\"\nrequests = \"adaptive\"");
    flow("slow-video", "app = \"dash\"\nrates = [\"100kbit\"]\nchunk = \"1s\"\nrequests = \"adaptive\"");
    flow("udp-up", "app = \"udp\"\ndirection = \"up\"\nrate = \"500kbit\"\nsize = \"1000B\"");
    flow("udp-small", "app = \"udp\"\ndirection = \"down\"\nrate = \"64kbit\"\nsize = \"100B\"");
    text
}

fn model() -> Model {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/behaviour.toml");
    let scenario = Scenario::parse(&scenario(), &file.to_string_lossy(), &[]);
    scenario.and_then(|scenario| scenario.to_model()).unwrap_or_else(|error| panic!("{error}"))
}

#[derive(Clone, Copy, Default)]
struct Verdicts {
    packets: u64,
    real_time: u64,
    first: Option<Instant>,
    last: Behaviour,
}

impl Verdicts {
    fn add(&mut self, behaviour: Behaviour, at: Instant) {
        self.packets += 1;
        self.last = behaviour;
        if behaviour == Behaviour::RealTime {
            self.real_time += 1;
            self.first = self.first.or(Some(at));
        }
    }
}

/// Shows the detector each packet as it reaches the gateway, before its queue.
struct Gateway {
    keys: Vec<FlowKey>,
    table: FlowTable,
    flows: Vec<Verdicts>,
}

impl Gateway {
    fn observe(&mut self, packet: &Passed) {
        let Passed { at, tap, direction, meta, payload } = packet;
        if *tap != Tap::before(*direction) {
            return;
        }
        let upstream = connection_key(self.keys[meta.flow.index()], payload.connection);
        let key = match direction {
            Direction::Up => upstream,
            Direction::Down => upstream.reverse(),
        };
        assert_eq!(key.protocol, meta.protocol);
        let behaviour = self.table.observe(meta, &key, *direction, *at).behaviour;
        let verdicts = &mut self.flows[meta.flow.index()];
        verdicts.add(behaviour, *at);
    }
}

/// Formats one line per flow, and the matrix.
fn confusion(behaviour: BehaviourParameters) -> String {
    let model = model();
    let mut gateway = Gateway {
        keys: model.flows.iter().map(|flow| flow.key).collect(),
        table: FlowTable::new(FlowTableParameters { behaviour, ..FlowTableParameters::default() }),
        flows: vec![Verdicts::default(); model.flows.len()],
    };
    for packet in &Household::with_packets(&model, Seed(1), ()).run().packets {
        gateway.observe(packet);
    }
    let flows = gateway.flows;
    let mut text = String::new();
    let mut matrix = [[0; 2]; 2];
    for (index, (flow, verdicts)) in model.flows.iter().zip(&flows).enumerate() {
        let said = verdicts.last == Behaviour::RealTime;
        matrix[usize::from(index >= REAL_TIME)][usize::from(!said)] += 1;
        let first = verdicts.first.map_or("never".into(), |at| format!("{} ms", at.as_nanos() / 1_000_000));
        let percent = verdicts.real_time * 100 / verdicts.packets.max(1);
        writeln!(
            text,
            "{:<12} {:>7} packets, {percent:>3} % of them real-time, first {first}, last {:?}",
            flow.name, verdicts.packets, verdicts.last
        )
        .unwrap();
    }
    writeln!(text, "\n                   said real-time   said other").unwrap();
    for (name, row) in ["games and calls", "everything else"].iter().zip(matrix) {
        writeln!(text, "{name:<18} {:>14} {:>12}", row[0], row[1]).unwrap();
    }
    text
}

#[test]
fn games_and_calls_are_told_from_the_rest() {
    insta::assert_snapshot!(confusion(BehaviourParameters::default()));
}

/// Bounds wide enough for a role-playing game over TCP.
fn wide() -> BehaviourParameters {
    BehaviourParameters {
        protocol: None,
        slowest_packets_per_second: 2,
        widest_gap_deviation_percent: 300,
        ..BehaviourParameters::default()
    }
}

/// With wide bounds, the detector takes other flows for thin streams too. The snapshot shows which.
#[test]
fn behaviour_within_wide_bounds() {
    insta::assert_snapshot!(confusion(wide()));
}

/// The value of the transport protocol: without it, the detector has only sizes and times.
#[test]
fn behaviour_without_a_look_at_the_transport() {
    insta::assert_snapshot!(confusion(BehaviourParameters {
        protocol: None,
        ..BehaviourParameters::default()
    }));
}

/// The verdict on each conversation at the end of a capture, and the time of the first verdict "game" in milliseconds.
fn captured(name: &str, behaviour: BehaviourParameters) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(name);
    let mut table = FlowTable::new(FlowTableParameters { behaviour, ..FlowTableParameters::default() });
    // By client port, in order of appearance.
    let mut seen: Vec<(u16, Instant, Verdicts)> = Vec::new();
    let mut began = None;
    for packet in Capture::open(&file).unwrap() {
        let packet = packet.unwrap();
        let at = Instant::from_nanos(packet.at_ns - *began.get_or_insert(packet.at_ns));
        // The server has the lower port, or the lower address of two alike.
        let end = |end: SocketAddr| (end.port(), end.ip());
        let up = end(packet.key.destination) < end(packet.key.source);
        let (direction, client) =
            if up { (Direction::Up, packet.key.source) } else { (Direction::Down, packet.key.destination) };
        let meta = PacketMeta {
            sent_at: at,
            queued_at: at,
            waited: Duration::ZERO,
            flow: FlowId(0),
            flow_hash: packet.key.hash(),
            hosts: packet.key.host_hashes(),
            len: packet.ip_len,
            protocol: packet.key.protocol,
            ecn: packet.ecn,
            dscp: packet.dscp,
            class: ClassId::default(),
            ack: AckKind::NotPure,
            ack_number: 0,
        };
        let place = seen.iter().position(|(port, ..)| *port == client.port()).unwrap_or_else(|| {
            seen.push((client.port(), at, Verdicts::default()));
            seen.len() - 1
        });
        seen[place].2.add(table.observe(&meta, &packet.key, direction, at).behaviour, at);
    }
    let mut text = String::new();
    for (number, (_, first_packet, verdicts)) in seen.iter().enumerate() {
        let first = verdicts.first.map_or("never".into(), |at| {
            format!("{} ms", at.saturating_since(*first_packet).as_nanos() / 1_000_000)
        });
        let percent = verdicts.real_time * 100 / verdicts.packets;
        writeln!(
            text,
            "{name} {number}: {:>6} packets, {percent:>3} % of them real-time, first after {first}, last {:?}",
            verdicts.packets, verdicts.last
        )
        .unwrap();
    }
    text
}

#[test]
fn recorded_games() {
    let any = BehaviourParameters { protocol: None, ..BehaviourParameters::default() };
    let mut text = String::new();
    for name in ["openarena-4p-cli.pcapng.gz", "openarena-4p-srv.pcapng.gz"] {
        text += &captured(name, BehaviourParameters::default());
    }
    for (title, parameters) in
        [("any transport", any), ("any transport, from 2 packets a second, gaps to 300 %", wide())]
    {
        writeln!(text, "\n{title}").unwrap();
        for name in ["thin-tcp-lan-cli.pcapng.gz", "thin-tcp-wan-cli.pcapng.gz"] {
            text += &captured(name, parameters);
        }
    }
    insta::assert_snapshot!(text);
}
