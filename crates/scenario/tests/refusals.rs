//! Wrong scenarios of every kind, and the full message for each. Read the snapshots: does the message suffice to correct
//! the file?

use std::path::{Path, PathBuf};

use gamelane_scenario::{Scenario, ScenarioError};

#[test]
fn values_and_units() {
    assert_page(messages(&[
        Case::edit("a rate without a unit", "up = \"1mbit\"", "up = \"1\""),
        Case::edit("a bare number for a rate", "up = \"1mbit\"", "up = 1"),
        Case::edit("a bare decimal number for a rate", "up = \"1mbit\"", "up = 1.5"),
        Case::edit("kbps", "up = \"1mbit\"", "up = \"1000kbps\""),
        Case::edit("Mbit/s", "up = \"1mbit\"", "up = \"1Mbit/s\""),
        Case::edit("a unit from nowhere", "up = \"1mbit\"", "up = \"1parsec\""),
        Case::edit("capital letters", "up = \"1mbit\"", "up = \"1Mbit\""),
        Case::edit("a rate of zero", "up = \"1mbit\"", "up = \"0mbit\""),
        Case::edit("a rate beyond all links", "up = \"1mbit\"", "up = \"99999gbit\""),
        Case::edit("a rate of many digits", "up = \"1mbit\"", "up = \"99999999999999999999999999mbit\""),
        Case::edit("an infinite rate", "up = \"1mbit\"", "up = inf"),
        Case::edit("a truth value for a rate", "up = \"1mbit\"", "up = true"),
        Case::edit("a negative duration", "duration = \"60s\"", "duration = \"-60s\""),
        Case::edit("a duration of zero", "duration = \"60s\"", "duration = \"0s\""),
        Case::edit("a duration without a unit", "duration = \"60s\"", "duration = 60"),
        Case::edit("a duration in minutes", "duration = \"60s\"", "duration = \"1m\""),
        Case::edit("a warm-up as long as the run", "seed = 1", "warmup = \"60s\""),
        Case::edit("a negative seed", "seed = 1", "seed = -1"),
        Case::edit("more players than 32 bits count", "players = 4", "players = 5000000000"),
        Case::edit("a seed in quotes", "seed = 1", "seed = \"one\""),
        Case::edit("a loss without a unit", "rtt = \"40ms\"", "loss = 0.01"),
        Case::edit("a loss of more than everything", "rtt = \"40ms\"", "loss = \"101%\""),
        Case::edit("a size in kb", "\"64KiB\"", "\"64kb\""),
        Case::edit("a time without end", "rtt = \"40ms\"", "rtt = \"99999999s\""),
        Case::edit("a time of day", "rtt = \"40ms\"", "rtt = 10:00:00"),
        Case::edit("a mtu that fits no packet", "rtt = \"40ms\"", "mtu = 40"),
    ]));
}

#[test]
fn keys_and_words() {
    assert_page(messages(&[
        Case::edit("a misspelt key", "up = \"1mbit\"", "upp = \"1mbit\""),
        Case::edit("a misspelt table", "[gateway]", "[gatway]"),
        Case::edit("a misspelt queue", "queue = \"fifo\"", "queue = \"fq-codel\""),
        Case::edit("a queue that is a number", "queue = \"fifo\"", "queue = 3"),
        Case::edit("a misspelt link", "kind = \"wired\"", "kind = \"wifi\""),
        Case::edit("a link nobody has built", "kind = \"wired\"", "kind = \"pigeon\""),
        Case::edit("a misspelt app", "app = \"bulk\"", "app = \"bulc\""),
        Case::edit("an unknown game", "model = \"quake3\"", "model = \"quake5\""),
        Case::edit("a game unlike all others", "model = \"quake3\"", "model = \"chess\""),
        Case::edit("too many players", "players = 4", "players = 100"),
        Case::edit("an app without its key", "direction = \"up\"", ""),
        Case::edit(
            "more players than a fitted model reaches",
            "model = \"quake3\"\nplayers = 4",
            "model = \"openarena\"\nplayers = 9",
        ),
        Case::edit("a game without a model", "model = \"quake3\"", ""),
        Case::edit("a flow without a name", "name = \"upload\"", ""),
        Case::edit("a misspelt key of a flow", "direction = \"up\"", "directoin = \"up\""),
        Case::edit("a misspelt key of a flow's tcp", "receive_window", "recieve_window"),
        Case::edit("a misspelt direction", "rtt = \"40ms\"", "jitter = { up = \"1ms\", dwn = \"1ms\" }"),
        Case::edit(
            "a misspelt key of bursts",
            "rtt = \"40ms\"",
            "loss = { good_to_bad = \"1%\", bad_too_good = \"9%\" }",
        ),
        Case::edit("half of the bursts", "rtt = \"40ms\"", "loss = { down = { good_to_bad = \"1%\" } }"),
        Case::edit("a delayed ACK without a unit", "congestion = \"newreno\"", "delayed_ack = 40"),
        Case::edit("a delayed ACK beyond the RFC", "congestion = \"newreno\"", "delayed_ack = \"1s\""),
        Case::edit("a window to start with of none", "congestion = \"newreno\"", "initial_window = 0"),
        Case::edit("a code point too high", "players = 4", "dscp = 64"),
        Case::edit("a misspelt code point", "players = 4", "dscp = \"EFF\""),
        Case::edit("no rate at all", "up = \"1mbit\"", ""),
        Case::text("no link at all", "name = \"household\""),
        Case::edit("a table for a word", "kind = \"wired\"", "kind = { wired = true }"),
        Case::edit("a word for a table", "up = { queue = \"fifo\", limit = \"1000p\" }", "up = \"fifo\""),
    ]));
}

#[test]
fn keys_that_do_not_go_together() {
    assert_page(messages(&[
        Case::edit("a limit of zero packets", "limit = \"1000p\"", "limit = \"0p\""),
        Case::edit("a limit of zero bytes", "limit = \"1000p\"", "limit = \"0B\""),
        Case::edit("a limit without a unit", "limit = \"1000p\"", "limit = 1000"),
        Case::edit("a target for a FIFO", "limit = \"1000p\"", "target = \"5ms\""),
        Case::edit("an update for CoDel", "queue = \"fifo\"", "queue = \"codel\", update = \"15ms\""),
        Case::edit("a quantum for PIE", "queue = \"fifo\"", "queue = \"pie\", quantum = \"300B\""),
        Case::edit("no flow queues", "queue = \"fifo\"", "queue = \"fq_codel\", flows = 0"),
        Case::edit(
            "bytes for a fixed overhead",
            "rtt = \"40ms\"",
            "overhead = { kind = \"ethernet\", bytes = 40 }",
        ),
        Case::edit(
            "alpha above beta",
            "[gateway]",
            "[gateway]\nvoap = { alpha = \"20ms\", beta = \"15ms\" }",
        ),
        Case::edit("a step of nothing", "[gateway]", "[gateway]\nvoap = { step = 0 }"),
        Case::edit("a window of one segment", "[gateway]", "[gateway]\nvoap = { floor = 1 }"),
        Case::edit("a period without end", "[gateway]", "[gateway]\nvoap = { period = \"0ms\" }"),
        Case::edit("a period of no kind", "[gateway]", "[gateway]\nvoap = { period = \"rrt\" }"),
        Case::edit(
            "autorate without a shaper",
            "[gateway]",
            "[gateway]\nautorate = { down = { highest = \"20mbit\" } }",
        ),
        Case::edit(
            "autorate that begins too high",
            "[gateway]",
            "[gateway]\nshape = { up = \"900kbit\" }\nautorate = { up = { highest = \"500kbit\" } }",
        ),
        Case::edit(
            "autorate that hears nothing",
            "[gateway]",
            "[gateway]\nshape = { up = \"900kbit\" }\nautorate = { up = { signals = [] } }",
        ),
        Case::edit(
            "probes through no flow",
            "[gateway]",
            "[gateway]\nshape = { up = \"900kbit\" }\nautorate = { up = { signals = [\"probe\"] } }",
        ),
        Case::edit(
            "probes nobody sends",
            "players = 4",
            "players = 4\n[[flow]]\nname = \"probes\"\napp = \"probe\"",
        ),
        Case::edit(
            "a detector nobody asks",
            "[gateway]",
            "[gateway]\ndetector = { slowest = 5 }\nclass = [{ name = \"a\" }, { name = \"b\" }]",
        ),
        Case::edit("data that goes nowhere", "[gateway]", "[gateway]\nvoap = { data = \"dwon\" }"),
        Case::edit("a misspelt threshold", "[gateway]", "[gateway]\nvoap = { aplha = \"5ms\" }"),
        Case::edit("a codec for an upload", "direction = \"up\"", "direction = \"up\"\ncodec = \"g711\""),
        Case::edit("tcp for a game", "players = 4", "tcp = { ecn = true }"),
        Case::edit("a host that does not exist", "host = \"phone\"", "host = \"phnoe\""),
        Case::edit("a host like no other", "host = \"phone\"", "host = \"fridge\""),
        Case::edit("a host listed twice", "\"phone\"]", "\"console\"]"),
        Case::edit("two flows of one name", "name = \"upload\"", "name = \"quake3\""),
        Case::edit("a name with a blank", "name = \"upload\"", "name = \"my upload\""),
        Case::edit("a stop before the start", "start = \"10s\"", "start = \"10s\"\nstop = \"5s\""),
        Case::edit("a model and a trace", "players = 4", "trace = \"m.pcap\""),
        Case::edit("an address for a model's client", "players = 4", "client = \"10.0.0.1\""),
        Case::edit("a client of no kind", "players = 4", "client = \"pktgne\""),
        Case::flow(
            "a packet too large",
            "app = \"udp\"\ndirection = \"up\"\nrate = \"1mbit\"\nsize = \"1500B\"",
        ),
        Case::flow(
            "a range of packet sizes",
            "app = \"udp\"\nrate = \"1mbit\"\nsize = { min = \"1B\", max = \"2B\" }",
        ),
        Case::flow("a trace of nothing", "app = \"trace\""),
        Case::flow("a cloud game without a model", "app = \"cloud\""),
        Case::flow("an unknown cloud game", "app = \"cloud\"\nmodel = \"quake3\""),
        Case::flow("frames that never come", "app = \"cloud\"\nmodel = \"rome\"\nfps = 0"),
        Case::flow("video at modem speed", "app = \"cloud\"\nmodel = \"rome\"\nrate = \"56kbit\""),
        Case::edit("peers of a player", "players = 4", "peers = 3"),
        Case::edit("more peers than players", "players = 4", "players = 4\nrole = \"host\"\npeers = 4"),
        Case::edit("a role of no kind", "players = 4", "role = \"hots\""),
        Case::flow("a web flow without a length", "app = \"web\""),
        Case::flow("a web flow with two lengths", "app = \"web\"\nsize = \"1MiB\"\nlasting = \"3s\""),
        Case::flow("a range upside down", "app = \"web\"\nlasting = { min = \"5s\", max = \"1s\" }"),
        Case::flow("video rates out of order", "app = \"dash\"\nrates = [\"1mbit\", \"500kbit\"]"),
        Case::flow("a buffer for a cycle", "app = \"dash\"\nbuffer = \"5s\""),
        Case::flow("a gap for an adaptive player", "app = \"dash\"\nrequests = \"adaptive\"\ngap = \"5s\""),
    ]));
}

#[test]
fn games_over_tcp() {
    let game = |title, keys: &str| Case::flow(title, &format!("app = \"mmo\"\n{keys}"));
    let tcp = |title, keys: &str| {
        Case::flow(title, &format!("app = \"mmo\"\nmodel = \"anarchy-online\"\ntcp = {{ {keys} }}"))
    };
    assert_page(messages(&[
        game("neither model nor trace", ""),
        game("a game over UDP", "model = \"quake3\""),
        game("a model and a trace", "model = \"anarchy-online\"\ntrace = \"m.pcap\""),
        game("no players", "model = \"anarchy-online\"\nconnections = 0"),
        game(
            "a multiplexer without streams",
            "model = \"anarchy-online\"\ncarriage = \"mux\"\nconnections = 0",
        ),
        game("more carriers than players", "model = \"anarchy-online\"\ncarriage = \"mux\"\ncarriers = 200"),
        game("carriers for direct connections", "model = \"anarchy-online\"\ncarriers = 2"),
        game(
            "paths of their own for players who share one",
            "model = \"anarchy-online\"\ncarriage = \"streams\"\npaths = \"model\"",
        ),
        game("a carriage nobody has", "model = \"anarchy-online\"\ncarriage = \"pigeon\""),
        Case::flow("connections for a page", "app = \"web\"\nsize = \"1MiB\"\nconnections = 3"),
        Case::flow(
            "more connections than a flow has ports",
            "app = \"bulk\"\ndirection = \"up\"\nconnections = 65",
        ),
        Case::flow(
            "fewer bytes than connections",
            "app = \"bulk\"\ndirection = \"up\"\nconnections = 3\nsize = \"2B\"",
        ),
        Case::flow("bundling on a bulk flow", "app = \"bulk\"\ndirection = \"up\"\ntcp = { rdb = true }"),
        tcp("DSACK without SACK", "recovery = \"newreno\", dsack = true"),
        tcp("DSACK with bundling", "rdb = true, dsack = true"),
        tcp("a fixed timer without its time", "timer = \"fixed\""),
        tcp("a fixed time nobody reads", "fixed_rto = \"300ms\""),
        tcp("a parameter of another timer", "modified_in_flight = 4"),
        tcp("a parameter of no bundling", "rdb_segments = 1"),
        tcp("no segments to bundle", "rdb = true, rdb_segments = 0"),
        tcp("never thin", "thin_below = 0"),
        Case::edit("bundling everywhere", "seed = 1", "seed = 1\ntcp.rdb = true"),
    ]));
}

#[test]
fn links_and_what_stands_around_them() {
    let link = |title, link: &str| Case::edit(title, "kind = \"wired\"", link);
    let gateway = |title, link: &str, gateway: &str| {
        let text = HOUSEHOLD.replacen("kind = \"wired\"", link, 1);
        Case::text(title, &text.replacen("[gateway]", &format!("[gateway]\n{gateway}"), 1))
    };
    assert_page(messages(&[
        link("docsis keys on a wire", "kind = \"wired\"\ndocsis = { modems = 5 }"),
        link("a trace for a modem", "kind = \"docsis\"\ntrace = \"x.trace\""),
        link("overhead for a modem", "kind = \"docsis\"\noverhead = \"ethernet\""),
        link("jitter for a modem", "kind = \"docsis\"\njitter = \"1ms\""),
        link("a misspelt docsis key", "kind = \"docsis\"\ndocsis = { modem = 5 }"),
        link("a channel below the modem's rate", "kind = \"docsis\"\ndocsis = { channel = \"500kbit\" }"),
        link("no room for data", "kind = \"docsis\"\ndocsis = { contention = 80 }"),
        link("no opportunities", "kind = \"docsis\"\ndocsis = { contention = 0 }"),
        link("minislots too small", "kind = \"docsis\"\ndocsis = { minislot = \"1ns\" }"),
        link("a backoff upside down", "kind = \"docsis\"\ndocsis = { backoff_start = 9 }"),
        link("a burst below a frame", "kind = \"docsis\"\ndocsis = { burst = \"1500B\" }"),
        link("load by nobody", "kind = \"docsis\"\ndocsis = { load = \"10%\" }"),
        link("zero stations", "kind = \"wifi-g\"\nwifi = { stations = [] }"),
        link("an unknown station", "kind = \"wifi-g\"\nwifi = { stations = [{ host = \"phnoe\" }] }"),
        link("a rate 802.11g has not", "kind = \"wifi-g\"\nwifi = { rate = \"55mbit\" }"),
        link("a rate for no relay", "kind = \"wifi-g\"\nwifi = { relay_rate = \"54mbit\" }"),
        link("no attempts", "kind = \"wifi-g\"\nwifi = { attempts = 0 }"),
        link("no trace", "kind = \"trace\""),
        link("a trace that is missing", "kind = \"trace\"\ntrace = { down = \"nowhere.trace\" }"),
        gateway("a shaper above the link", "kind = \"wired\"", "shape = { up = \"2mbit\" }"),
        gateway("a shaper above the modem's rate", "kind = \"docsis\"", "shape = \"5mbit\""),
        gateway("a shaper before the radio", "kind = \"wifi-g\"", "shape = { down = \"5mbit\" }"),
        gateway("a modem nobody has", "kind = \"wired\"", "modem = { queue = \"pie\" }"),
        gateway("a station on a wire", "kind = \"wired\"", "station = { limit = \"50p\" }"),
        gateway("a provider without a queue", "kind = \"docsis\"", "isp = { limit = \"50p\" }"),
        gateway("a target for a modem's FIFO", "kind = \"docsis\"", "modem = { target = \"5ms\" }"),
    ]));
}

#[test]
fn what_goes_first() {
    let gateway = |title, gateway: &str| {
        let text = HOUSEHOLD.replacen("up = { queue = \"fifo\", limit = \"1000p\" }\n", gateway, 1);
        assert_ne!(text, HOUSEHOLD, "{title}");
        Case::text(title, &text)
    };
    assert_page(messages(&[
        gateway("nothing goes first", "up = { queue = \"priority\" }\n"),
        gateway("a flow nobody runs", "up = { queue = \"priority\" }\npriority = [\"quak3\"]\n"),
        gateway("a flow twice", "up = { queue = \"priority\" }\npriority = [\"quake3\", \"quake3\"]\n"),
        gateway("all flows", "up = { queue = \"priority\" }\npriority = [\"quake3\", \"upload\"]\n"),
        gateway("ACKs of a FIFO", "up = { queue = \"fifo\", acks = \"filter\" }\n"),
        gateway("ACKs first in CAKE", "up = { queue = \"cake\", acks = \"prioritise\" }\n"),
        gateway("packets for CAKE", "up = { queue = \"cake\", limit = \"100p\" }\n"),
        gateway("an interval for DualPI2", "up = { queue = \"dualpi2\", interval = \"100ms\" }\n"),
        gateway(
            "priority at the provider's end",
            "shape = { down = \"10mbit\" }\nisp = { queue = \"priority\" }\n",
        ),
    ]));
}

#[test]
fn classes_and_rules() {
    // Replaces the household's upstream queue, and appends tables to the file.
    let household = |title, up: &str, tables: &str| {
        let text = HOUSEHOLD.replacen("up = { queue = \"fifo\", limit = \"1000p\" }\n", up, 1);
        assert_ne!(text, HOUSEHOLD, "{title}");
        Case::text(title, &format!("{text}\n{tables}"))
    };
    let rules = |title, rules: &str| household(title, DRR, &format!("{CLASSES}{rules}"));
    let tree = |title, tables: &str| household(title, HTB, tables);
    assert_page(messages(&[
        rules("a rule for no class", "[[gateway.rule]]\nclass = \"gmae\"\nprotocol = \"udp\""),
        rules("a rule that asks for nothing", "[[gateway.rule]]\nclass = \"game\""),
        rules("a class nobody is put in", ""),
        rules(
            "a rule behind a wider one",
            "[[gateway.rule]]\nclass = \"game\"\nprotocol = \"udp\"\n\
             [[gateway.rule]]\nname = \"port\"\nclass = \"game\"\nprotocol = \"udp\"\nport = 27960",
        ),
        rules(
            "a flow in two rules",
            "[[gateway.rule]]\nname = \"one\"\nclass = \"game\"\nflows = [\"quake3\"]\n\
             [[gateway.rule]]\nname = \"two\"\nclass = \"rest\"\nflows = [\"quake3\"]",
        ),
        rules("a flow nobody runs", "[[gateway.rule]]\nclass = \"game\"\nflows = [\"quake4\"]"),
        rules("no flows", "[[gateway.rule]]\nclass = \"game\"\nflows = []"),
        rules(
            "a flow and an address",
            "[[gateway.rule]]\nclass = \"game\"\nflows = [\"quake3\"]\naddress = \"10.0.0.1\"",
        ),
        rules("ACKs over UDP", "[[gateway.rule]]\nclass = \"game\"\nprotocol = \"udp\"\nack = true"),
        rules("large ACKs", "[[gateway.rule]]\nclass = \"game\"\nack = true\nsize = \"500B..\""),
        rules("ports upside down", "[[gateway.rule]]\nclass = \"game\"\nport = \"27970..27960\""),
        rules("a port nobody uses", "[[gateway.rule]]\nclass = \"game\"\nport = 27961"),
        rules("an address nobody has", "[[gateway.rule]]\nclass = \"game\"\naddress = \"10.0.0.0/8\""),
        rules("a code point nobody sets", "[[gateway.rule]]\nclass = \"game\"\ndscp = \"EF\""),
        rules("a port that is none", "[[gateway.rule]]\nclass = \"game\"\nport = 70000"),
        rules("any port", "[[gateway.rule]]\nclass = \"game\"\nport = \"..\""),
        rules("an address that is none", "[[gateway.rule]]\nclass = \"game\"\naddress = \"quake3\""),
        rules("a prefix too long", "[[gateway.rule]]\nclass = \"game\"\nsource = \"10.0.0.0/33\""),
        rules("a transport nobody has", "[[gateway.rule]]\nclass = \"game\"\nprotocol = \"upd\""),
        rules("a behaviour nobody has", "[[gateway.rule]]\nclass = \"game\"\nbehaviour = \"realtime\""),
        rules("a rule for bare bytes", "[[gateway.rule]]\nclass = \"game\"\nsize = 200"),
        rules("half a regularity", "[[gateway.rule]]\nclass = \"game\"\ngap_deviation = \"..0.5\""),
        rules("a misspelt condition", "[[gateway.rule]]\nclass = \"game\"\nprot = \"udp\""),
        household("rules without classes", DRR, "[[gateway.rule]]\nclass = \"game\"\nprotocol = \"udp\""),
        household("classes and priorities", "up = { queue = \"drr\" }\npriority = [\"quake3\"]\n", CLASSES),
        household("classes and ACKs", "up = { queue = \"drr\", acks = \"filter\" }\n", CLASSES),
        household(
            "two classes of one name",
            DRR,
            "[[gateway.class]]\nname = \"a\"\n[[gateway.class]]\nname = \"a\"",
        ),
        household("a class with a blank", DRR, "[[gateway.class]]\nname = \"my games\""),
        household("a class in a class", DRR, "[[gateway.class]]\nname = \"a\"\nqueue = \"priority\""),
        household("no quantum", DRR, "[[gateway.class]]\nname = \"a\"\nquantum = \"0B\""),
        household("nothing goes first", DRR, ""),
        tree("a class without a rate", "[[gateway.class]]\nname = \"a\""),
        tree("a class of nothing", "[[gateway.class]]\nname = \"a\"\nrate = \"0%\""),
        tree("a rate of bare digits", "[[gateway.class]]\nname = \"a\"\nrate = 200"),
        tree(
            "a ceiling below the rate",
            "[[gateway.class]]\nname = \"a\"\nrate = \"50%\"\nceil = { up = \"400kbit\" }",
        ),
        tree("a ceiling above the link", "[[gateway.class]]\nname = \"a\"\nrate = \"50%\"\nceil = \"2mbit\""),
        tree("more than there is", "[[gateway.class]]\nname = \"a\"\nrate = \"1100kbit\""),
        tree(
            "more than the parent has",
            "[[gateway.class]]\nname = \"a\"\nrate = \"50%\"\n\
             [[gateway.class]]\nname = \"b\"\nparent = \"a\"\nrate = \"60%\"",
        ),
        tree("a parent nobody is", "[[gateway.class]]\nname = \"a\"\nparent = \"b\"\nrate = \"10%\""),
        tree(
            "a parent behind its child",
            "[[gateway.class]]\nname = \"a\"\nparent = \"b\"\nrate = \"10%\"\n\
             [[gateway.class]]\nname = \"b\"\nrate = \"20%\"",
        ),
        tree("a priority there is not", "[[gateway.class]]\nname = \"a\"\nrate = \"10%\"\npriority = 8"),
        tree(
            "a rule for a parent",
            "[[gateway.class]]\nname = \"a\"\nrate = \"20%\"\n\
             [[gateway.class]]\nname = \"b\"\nparent = \"a\"\nrate = \"10%\"\n\
             [[gateway.rule]]\nclass = \"a\"\nprotocol = \"udp\"",
        ),
        household(
            "classes above the link",
            "up = { queue = \"htb\", bandwidth = \"2mbit\" }\npriority = [\"quake3\"]\n",
            "",
        ),
        Case {
            set: vec![("gateway.class.gmae.rate".into(), "20%".into())],
            ..household("a class that is not there to set", DRR, CLASSES)
        },
        Case {
            set: vec![("gateway.rule.udp.class".into(), "game".into())],
            ..household("a rule that is not there to set", DRR, CLASSES)
        },
    ]));
}

const DRR: &str = "up = { queue = \"drr\" }\n";
const HTB: &str = "up = { queue = \"htb\" }\n";
const CLASSES: &str = "[[gateway.class]]\nname = \"game\"\n[[gateway.class]]\nname = \"rest\"\n";

#[test]
fn parameters_of_queues_of_several_parts() {
    let up = |title, keys: &str| Case::edit(title, "up = { queue = \"fifo\", limit = \"1000p\" }", keys);
    assert_page(messages(&[
        up("CAKE above the link", "up = { queue = \"cake\", bandwidth = \"2mbit\" }"),
        up("CAKE that sends nothing", "up = { queue = \"cake\", bandwidth = \"15bit\" }"),
        up("tins nobody has", "up = { queue = \"cake\", tins = \"diffserv5\" }"),
        up("isolation of no kind", "up = { queue = \"cake\", isolation = \"dual-host\" }"),
        up("no round trip", "up = { queue = \"cake\", rtt = \"0ms\" }"),
        up("CAKE behind address translation", "up = { queue = \"cake\", nat = true }"),
        up("CAKE by firewall marks", "up = { queue = \"cake\", fwmark = 255 }"),
        up("CAKE that measures the link", "up = { queue = \"cake\", autorate-ingress = true }"),
        up("CAKE with large packets", "up = { queue = \"cake\", no_split_gso = true }"),
        up("tins as in tc", "up = { queue = \"cake\", diffserv4 = true }"),
        up("isolation as in tc", "up = { queue = \"cake\", dual-srchost = true }"),
        up("egress as in tc", "up = { queue = \"cake\", egress = true }"),
        up("no wash as in tc", "up = { queue = \"cake\", nowash = true }"),
        up("memory as in tc", "up = { queue = \"cake\", memlimit = \"4MiB\" }"),
        up("ACKs as in tc", "up = { queue = \"cake\", ack-filter = true }"),
        up("framing as in tc", "up = { queue = \"cake\", mpu = 64 }"),
        up("ingress of FQ-CoDel", "up = { queue = \"fq_codel\", ingress = true }"),
        up("tins of DualPI2", "up = { queue = \"dualpi2\", tins = \"diffserv3\" }"),
        up("a coupling of CAKE", "up = { queue = \"cake\", coupling = 2.0 }"),
        up("no coupling", "up = { queue = \"dualpi2\", coupling = 0.0 }"),
        up("a gain upside down", "up = { queue = \"dualpi2\", alpha = -0.1 }"),
        up("a gain in quotes", "up = { queue = \"dualpi2\", beta = \"3.2\" }"),
        up("a ramp upside down", "up = { queue = \"dualpi2\", step = \"2ms..1ms\" }"),
        up("a ramp without an end", "up = { queue = \"dualpi2\", step = \"1ms..\" }"),
        up("nothing for Classic", "up = { queue = \"dualpi2\", classic_share = \"0%\" }"),
        up("two schedulers", "up = { queue = \"dualpi2\", classic_share = \"10%\", time_shift = \"50ms\" }"),
        up("windows switched on by a word", "voap = \"on\""),
        up(
            "a rate of its own under autorate",
            "up = { queue = \"cake\", bandwidth = \"800kbit\" }\nshape = { up = \"900kbit\" }\nautorate = { up = {} }",
        ),
        up("a shaper that is merely on", "shape = true"),
    ]));
}

#[test]
fn rate_traces() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rate-traces");
    std::fs::create_dir_all(&folder).unwrap();
    let trace = |title, text: &str| {
        let name = format!("{}.trace", title).replace(' ', "-");
        std::fs::write(folder.join(&name), text).unwrap();
        let link = format!("kind = \"trace\"\ntrace = {{ down = \"{name}\" }}");
        let household = HOUSEHOLD.replacen("kind = \"wired\"", &link, 1);
        Case::text(title, &household.replacen("down = \"12mbit\"\n", "", 1))
    };
    let both =
        HOUSEHOLD.replacen("kind = \"wired\"", "kind = \"trace\"\ntrace = { down = \"fine.trace\" }", 1);
    std::fs::write(folder.join("fine.trace"), "1\n2\n").unwrap();
    assert_page(messages_in(
        &folder,
        &[
            trace("an empty trace", ""),
            trace("a trace that goes backwards", "5\n3\n"),
            trace("a trace of words", "5\nfive\n"),
            trace("a trace that never begins", "0\n"),
            trace("rates without an end", "0 1000\n100 2000\n"),
            trace("rates that are all zero", "0 0\n100 end\n"),
            Case::text("a trace and a rate", &both),
        ],
    ));
}

#[test]
fn overrides() {
    assert_page(messages(&[
        Case::set("an unknown key", "link.upp", "2mbit"),
        Case::set("an unknown table", "lnik.up", "2mbit"),
        Case::set("an unknown flow", "flow.quake4.players", "2"),
        Case::set("an unknown key of a flow", "flow.quake3.player", "2"),
        Case::set("a flow and no key", "flow.quake3", "2"),
        Case::set("a value without a unit", "link.up", "2"),
        Case::set("a queue nobody has", "gateway.*.queue", "red"),
        Case::set("a key that does not apply", "gateway.up.target", "5ms"),
        Case::set("a game nobody has", "flow.*.model", "quake5"),
        Case::set("every flow off", "flow.*.enabled", "false"),
        Case::set("no key", "", "1"),
        Case::set("a key with holes", "link..up", "1mbit"),
        Case::set("a value inside a value", "link.up.rate", "1mbit"),
        Case::set("a seed of many digits", "seed", "99999999999999999999"),
        Case::set("half a jitter", "link.jitter.upp", "1ms"),
    ]));
}

#[test]
fn files() {
    let folder = folder_with_captures();
    let capture = |title, name: &str| {
        Case::edit(title, "model = \"quake3\"\nplayers = 4", format!("trace = \"{name}\""))
    };
    assert_page(messages_in(
        &folder,
        &[
            capture("a capture that is missing", "nowhere.pcapng"),
            capture("a capture cut off", "truncated.pcapng"),
            capture("a file that is no capture", "household.toml"),
            capture("an empty capture", "empty.pcap"),
            capture("a folder for a capture", "."),
            capture("a client who is not in the capture", "match.pcapng\"\nclient = \"10.9.9.9"),
            Case::flow("a capture without TCP", "app = \"mmo\"\ntrace = \"match.pcapng\""),
            Case {
                set: vec![("link.kind".into(), "trace".into()), ("link.trace.down".into(), "lte-lik".into())],
                ..Case::text("a rate trace that does not ship", HOUSEHOLD)
            },
            Case::edit("a model file that is missing", "model = \"quake3\"", "model = \"own.toml\""),
            Case::edit("a model file that is none", "model = \"quake3\"", "model = \"household.toml\""),
        ],
    ));
}

#[test]
fn what_only_a_real_kernel_runs() {
    let own = "congestion = \"newreno\"";
    assert_page(messages_of(
        Path::new(""),
        &[
            Case::edit("BBR in a flow", own, "congestion = \"bbr\""),
            Case::flow(
                "BBR for all flows",
                "app = \"bulk\"\ndirection = \"down\"\n[tcp]\ncongestion = \"bbr\"",
            ),
            Case::set("BBR on the command line", "flow.upload.tcp.congestion", "bbr"),
        ],
        |scenario| scenario.to_model().map(drop).and_then(|()| scenario.check_simulated()),
    ));
    let bbr = ("flow.upload.tcp.congestion".to_owned(), "bbr".to_owned());
    let off = [bbr, ("flow.upload.enabled".to_owned(), "false".to_owned())];
    Scenario::parse(HOUSEHOLD, "household.toml", &off).unwrap().check_simulated().unwrap();
}

#[test]
fn texts_that_are_not_toml() {
    assert_page(messages(&[
        Case::text("empty", ""),
        Case::text("only comments", "# name = \"household\"\n\n"),
        Case::text("not TOML at all", "<scenario><link up=\"1mbit\"/></scenario>"),
        Case::text("JSON", "{ \"name\": \"household\" }"),
        Case::text("an unclosed string", "name = \"household\nquestion = \"?\""),
        Case::text("a key twice", "name = \"a\"\nname = \"b\""),
        Case::text("no flow", "name = \"a\"\n[link]\nup = \"1mbit\"\ndown = \"1mbit\""),
    ]));
}

#[track_caller]
fn assert_page(page: String) {
    // A test's thread has its path as its name: `refusals::files`.
    let thread = std::thread::current();
    let name = thread.name().and_then(|path| path.rsplit("::").next()).unwrap_or_default();
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, page);
    });
}

struct Case {
    title: &'static str,
    text: String,
    set: Vec<(String, String)>,
}

impl Case {
    fn text(title: &'static str, text: &str) -> Self {
        Self { title, text: text.into(), set: Vec::new() }
    }

    /// The household with the first `before` replaced.
    fn edit(title: &'static str, before: &str, after: impl AsRef<str>) -> Self {
        assert!(HOUSEHOLD.contains(before), "{title}: {before}");
        Self::text(title, &HOUSEHOLD.replacen(before, after.as_ref(), 1))
    }

    /// The household with a third flow.
    fn flow(title: &'static str, keys: &str) -> Self {
        Self::text(title, &format!("{HOUSEHOLD}\n[[flow]]\nname = \"third\"\n{keys}\n"))
    }

    fn set(title: &'static str, key: &str, value: &str) -> Self {
        Self { set: vec![(key.into(), value.into())], ..Self::text(title, HOUSEHOLD) }
    }
}

fn messages(cases: &[Case]) -> String {
    messages_in(Path::new(""), cases)
}

fn messages_in(folder: &Path, cases: &[Case]) -> String {
    messages_of(folder, cases, |scenario| scenario.to_model().map(drop))
}

fn messages_of(
    folder: &Path,
    cases: &[Case],
    check: impl Fn(&Scenario) -> Result<(), ScenarioError>,
) -> String {
    let file = folder.join("household.toml");
    let refusal = |case: &Case| -> ScenarioError {
        Scenario::parse(&case.text, file.to_str().unwrap(), &case.set)
            .and_then(|scenario| check(&scenario))
            .err()
            .unwrap_or_else(|| panic!("{} was accepted", case.title))
    };
    let page: Vec<String> =
        cases.iter().map(|case| format!("# {}\n{}\n", case.title, refusal(case))).collect();
    let folder = folder.to_str().unwrap();
    let page = page.join("\n");
    if folder.is_empty() { page } else { page.replace(folder, "FOLDER") }
}

fn folder_with_captures() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("refusals");
    std::fs::create_dir_all(&folder).unwrap();
    let shipped =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/captures/openarena-4p-srv.pcapng");
    let capture = std::fs::read(shipped).unwrap();
    std::fs::write(folder.join("match.pcapng"), &capture).unwrap();
    std::fs::write(folder.join("truncated.pcapng"), &capture[..100_001]).unwrap();
    std::fs::write(folder.join("empty.pcap"), b"").unwrap();
    std::fs::write(folder.join("household.toml"), HOUSEHOLD).unwrap();
    folder
}

const HOUSEHOLD: &str = include_str!("../../../scenarios/household.toml");
