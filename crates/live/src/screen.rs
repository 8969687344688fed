//! The screen of `gamelane capture --live`: flows by how late they are now, like `top` for lag.

use gamelane_capture::analysis::Kind;
use gamelane_capture::numbers::grouped;
use gamelane_core::Protocol;

use crate::top::FlowNow;

/// What the flows are sorted by. The highest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Longest wait.
    Wait,
    /// Round trip.
    RoundTrip,
    /// Rate of both directions.
    Rate,
    /// Lost and late packets.
    Losses,
}

/// A wait from here on is called late.
const LATE_MS: f64 = 100.0;
const KEYS: &str = "q quit, s sort, p pause";
const HEAD: [&str; 2] = [
    "  flow kind       packets/s        kbit/s round trip longest wait   lost  late",
    "                    up/down       up/down    now, ms      5 s, ms   10 s  10 s",
];

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const LATE: &str = "\x1b[1;31m";
const REVERSE: &str = "\x1b[7m";
const RESET: &str = "\x1b[0m";

impl Order {
    /// The next of them, in a circle.
    pub const fn next(self) -> Self {
        match self {
            Self::Wait => Self::RoundTrip,
            Self::RoundTrip => Self::Rate,
            Self::Rate => Self::Losses,
            Self::Losses => Self::Wait,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Wait => "longest wait",
            Self::RoundTrip => "round trip",
            Self::Rate => "rate",
            Self::Losses => "losses",
        }
    }

    fn value(self, flow: &FlowNow) -> f64 {
        match self {
            Self::Wait => wait_ms(flow),
            Self::RoundTrip => ms(flow.rtt_ns).unwrap_or(0.0),
            Self::Rate => flow.bits_per_second.iter().sum(),
            Self::Losses => (flow.lost + flow.late) as f64,
        }
    }
}

/// The screen for a terminal of this many columns and lines. `seen` says how the recording goes. The addresses of a flow are below its
/// numbers.
pub fn page(
    flows: &[FlowNow],
    seen: &str,
    order: Order,
    [columns, height]: [usize; 2],
    is_paused: bool,
) -> String {
    let mut ranked: Vec<&FlowNow> = flows.iter().collect();
    ranked.sort_by(|a, b| order.value(b).total_cmp(&order.value(a)));
    let mut lines = vec![(BOLD, sentence(flows)), ("", seen.to_owned()), ("", String::new())];
    lines.extend(HEAD.map(|head| (DIM, head.to_owned())));
    let mut shown = 0;
    for flow in &ranked {
        let addresses = addresses(flow, columns);
        if lines.len() + 1 + addresses.len() >= height {
            break;
        }
        lines.push((if is_late(flow) { LATE } else { "" }, numbers(flow)));
        lines.extend(addresses.into_iter().map(|line| (DIM, line)));
        shown += 1;
    }
    lines.resize(height.saturating_sub(1).max(lines.len()), ("", String::new()));
    let rest = match ranked.len() - shown {
        0 => String::new(),
        more => format!(", {more} more below"),
    };
    let foot = match is_paused {
        true => format!("PAUSED. p goes on, {KEYS}"),
        false => format!("Sorted by {}{rest}. {KEYS}", order.name()),
    };
    lines.push((REVERSE, foot));
    // A terminal of few lines loses the last of the head.
    lines.drain(height.max(1) - 1..lines.len() - 1);
    let styled = lines.into_iter().map(|(style, line)| match style {
        "" => cut(&line, columns),
        style => format!("{style}{}{RESET}", cut(&line, columns)),
    });
    styled.collect::<Vec<_>>().join("\n")
}

/// How the games are now, in one sentence.
fn sentence(flows: &[FlowNow]) -> String {
    let games = || flows.iter().filter(|flow| flow.kind != Kind::Other);
    let count = match games().count() {
        0 if flows.is_empty() => return "No traffic in the last 10 s.".to_owned(),
        0 => return "No game seen yet.".to_owned(),
        1 => "1 game or call".to_owned(),
        more => format!("{more} games or calls"),
    };
    let late = games().filter(|flow| is_late(flow));
    let Some(worst) = late.clone().max_by(|a, b| wait_ms(a).total_cmp(&wait_ms(b))) else {
        return format!("{count}: fine, no wait of {LATE_MS} ms or more in the last 5 s");
    };
    format!("{count}, {} late: flow {} waited {} ms", late.count(), worst.flow, whole(wait_ms(worst)))
}

fn is_late(flow: &FlowNow) -> bool {
    flow.kind != Kind::Other && wait_ms(flow) >= LATE_MS
}

fn numbers(flow: &FlowNow) -> String {
    let kind = match (flow.kind, flow.key.protocol) {
        (Kind::Game, _) => "game",
        (Kind::Voice, _) => "voice",
        (Kind::ThinTcp, _) => "thin TCP",
        (Kind::Other, Protocol::Tcp) => "TCP",
        (Kind::Other, _) => "UDP",
    };
    let count = |count: u64| if count == 0 { String::new() } else { count.to_string() };
    format!(
        "{:>6} {kind:<8} {:>11} {:>13} {:>10} {:>12} {:>6} {:>5}",
        flow.flow,
        pair(flow.packets_per_second),
        pair(flow.bits_per_second.map(|rate| rate / 1e3)),
        in_ms(ms(flow.rtt_ns)),
        in_ms(ms(flow.wait_ns)),
        count(flow.lost),
        count(flow.late)
    )
}

fn addresses(flow: &FlowNow, columns: usize) -> Vec<String> {
    let (client, server) = (flow.key.source, flow.key.destination);
    let line = format!("       {client} > {server}");
    if line.len() <= columns {
        return vec![line];
    }
    vec![format!("       {client}"), format!("       > {server}")]
}

fn pair(up_and_down: [f64; 2]) -> String {
    up_and_down
        .map(|value| if value > 0.0 && value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") })
        .join("/")
}

fn in_ms(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(ms) if ms >= 100.0 || ms == 0.0 => whole(ms),
        Some(ms) => format!("{ms:.1}"),
    }
}

fn whole(ms: f64) -> String {
    grouped(ms.round() as u64)
}

fn wait_ms(flow: &FlowNow) -> f64 {
    ms(flow.wait_ns).unwrap_or(0.0)
}

fn ms(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / 1e6)
}

fn cut(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line.to_owned();
    }
    line.chars().take(columns.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use gamelane_core::FlowKey;

    use super::*;

    fn flow(number: u32, wait_ms: Option<f64>) -> FlowNow {
        let client = format!("192.168.1.{}:50000", number % 250).parse().unwrap();
        let server = "203.0.113.77:27015".parse().unwrap();
        FlowNow {
            flow: number,
            key: FlowKey { source: client, destination: server, protocol: Protocol::Udp },
            kind: Kind::Game,
            packets_per_second: [33.3, 20.0],
            bits_per_second: [26_400.0, 96_000.0],
            rtt_ns: None,
            wait_ns: wait_ms.map(|ms| (ms * 1e6) as u64),
            lost: 0,
            late: 0,
        }
    }

    fn lines(flows: &[FlowNow], order: Order, size: [usize; 2]) -> Vec<String> {
        let page = page(flows, "eth0 0:01", order, size, false);
        let plain =
            [BOLD, DIM, LATE, REVERSE, RESET].iter().fold(page, |page, style| page.replace(style, ""));
        plain.split('\n').map(str::to_owned).collect()
    }

    #[test]
    fn each_order_puts_its_highest_first() {
        let other = FlowNow { kind: Kind::Other, rtt_ns: Some(300_000_000), ..flow(2, None) };
        let flows = [
            FlowNow { lost: 1, ..flow(0, Some(80.0)) },
            flow(1, Some(900.0)),
            other,
            FlowNow { bits_per_second: [9e6, 0.0], ..flow(3, None) },
        ];
        let mut order = Order::Wait;
        let first = [(); 4].map(|()| {
            let line = lines(&flows, order, [80, 24])[5].clone();
            order = order.next();
            line.split_whitespace().next().unwrap().to_owned()
        });
        assert_eq!(first, ["1", "2", "3", "0"]);
        assert_eq!(order, Order::Wait);
    }

    #[test]
    fn the_numbers_stand_under_their_heads_and_fit() {
        let busy = FlowNow {
            packets_per_second: [99_999.0; 2],
            bits_per_second: [9.9e8; 2],
            rtt_ns: Some(1_234_500_000),
            lost: 99_999,
            late: 9999,
            ..flow(123_456, Some(12_345.6))
        };
        let shown = lines(&[busy], Order::Wait, [80, 24]);
        assert_eq!(shown.len(), 24);
        assert_eq!(
            shown[5],
            "123456 game     99999/99999 990000/990000      1,235       12,346  99999  9999"
        );
        assert_eq!([3, 4, 5].map(|at| shown[at].len()), [78; 3]);
    }

    #[test]
    fn long_addresses_take_a_line_each_and_what_does_not_fit_is_counted() {
        let wide = "[2001:db8:1234:5678:9abc:def0:1234:5678]";
        let [source, destination] = ["50000", "27015"].map(|port| format!("{wide}:{port}").parse().unwrap());
        let key = FlowKey { source, destination, protocol: Protocol::Udp };
        let flows: Vec<FlowNow> =
            (0..9).map(|n| FlowNow { key, ..flow(n, Some(50.0 - f64::from(n))) }).collect();
        let shown = lines(&flows, Order::Wait, [80, 24]);
        assert_eq!(shown[6..8], [format!("       {wide}:50000"), format!("       > {wide}:27015")]);
        assert_eq!(shown[23], "Sorted by longest wait, 3 more below. q quit, s sort, p pause");
        assert_eq!(shown.len(), 24);
        let one = format!("       {wide}:50000 > {wide}:27015");
        assert!(lines(&flows, Order::Wait, [110, 24]).contains(&one));
    }

    #[test]
    fn a_tiny_terminal_gets_what_fits() {
        for height in [1, 3, 8] {
            let shown = lines(&[flow(1, Some(5.0)), flow(2, Some(4.0))], Order::Wait, [30, height]);
            assert_eq!(shown.len(), height);
            assert!(shown.iter().all(|line| line.chars().count() <= 30), "{shown:?}");
        }
    }

    #[test]
    fn the_sentence_says_how_the_games_are() {
        let other = FlowNow { kind: Kind::Other, ..flow(9, Some(5000.0)) };
        assert_eq!(sentence(&[]), "No traffic in the last 10 s.");
        assert_eq!(sentence(&[other]), "No game seen yet.");
        let fine = sentence(&[flow(1, Some(20.0)), other]);
        assert_eq!(fine, "1 game or call: fine, no wait of 100 ms or more in the last 5 s");
        let late = sentence(&[flow(1, Some(1250.0)), flow(2, None), flow(3, Some(100.0))]);
        assert_eq!(late, "3 games or calls, 2 late: flow 1 waited 1,250 ms");
    }
}
