//! `status` as text for a terminal of 80 columns.

use gamelane_proxy::certificates::facts;
use serde_json::Value;
use std::fmt::Write as _;

/// Clients printed; `--json` prints a thousand.
const SHOWN: usize = 20;
const WIDTH: usize = 80;
const LABEL: usize = 16;

/// The document of `/status` as text.
pub(crate) fn page(status: &Value) -> String {
    let mut out = format!("{} proxy, version {}\n", text(&status["role"]), text(&status["version"]));
    let percent =
        |fraction: &Value| fraction.as_f64().map_or("-".into(), |part| format!("{:.1} %", part * 100.0));
    line(&mut out, "streams", [status["streams"].to_string()]);
    line(&mut out, "packets saved", [percent(&status["saved"]["packets"])]);
    line(&mut out, "bytes saved", [percent(&status["saved"]["bytes"])]);
    for (label, key) in [("added delay", "added"), ("acknowledged", "acknowledged")] {
        let [p50, p99] = ["p50", "p99"].map(|it| {
            let delay = &status["delay_ms"][format!("{key}_{it}")];
            format!("{it} {}", delay.as_f64().map_or("-".into(), |ms| format!("{ms:.3} ms")))
        });
        line(&mut out, label, [p50 + " ", p99]);
    }
    for session in list(&status["sessions"]) {
        let rtts = list(&session["carrier_rtt_ms"]);
        let rtts = rtts.map(|rtt| rtt.as_f64().map_or("down".into(), |ms| format!("{ms:.2} ms")));
        let up = format!("{} of {} up:", session["carriers_up"], session["carriers"]);
        line(&mut out, "carriers", std::iter::once(up).chain(separated(rtts.collect())));
    }
    for certificate in list(&status["certificates"]) {
        let left = certificate["expires_in_s"].as_i64().unwrap_or_default();
        let expiry = facts::expiry(time::Duration::seconds(left));
        let renew = if certificate["expires_soon"] == true { ": renew it" } else { "" };
        let parts = [
            text(&certificate["file"]).to_owned() + ":",
            text(&certificate["subject"]).into(),
            expiry + renew,
        ];
        line(&mut out, "certificate", parts);
    }
    if let Some(error) = status["certificates_error"].as_str() {
        line(&mut out, "renewal failed", error.split_whitespace().map(Into::into));
    }
    let handshakes = [
        ("failed", "handshakes_failed"),
        ("without a byte", "handshakes_without_byte"),
        ("late", "handshakes_late"),
        ("evicted", "handshakes_evicted"),
        ("not allowed", "unlisted"),
    ];
    let players = [
        ("evicted", "streams_evicted"),
        ("over their share", "streams_over_share"),
        ("over the limit", "streams_over_limit"),
    ];
    for (label, key, counters) in
        [("handshakes", "handshakes", &handshakes[..]), ("players", "streams", &players)]
    {
        let room = &status["doors"][key];
        let plural = if room["sources"] == 1 { "" } else { "es" };
        let counted = counters.iter().map(|(name, key)| format!("{name} {}", status["counters"][key]));
        let open = [
            format!("{} of {},", room["open"], room["limit"]),
            format!("from {} address{plural};", room["sources"]),
        ];
        line(&mut out, label, open.into_iter().chain(separated(counted.collect())));
    }
    let mut clients = list(&status["clients"]).take(SHOWN).peekable();
    if clients.peek().is_some() {
        row(&mut out, "delays in ms:", ["added p50", "p99", "acked p50", "p99", "stalls"].map(Into::into));
    }
    for client in clients {
        let (added, acknowledged) = (&client["added_delay"], &client["acknowledged"]);
        let [p50, p99, acknowledged_p50, acknowledged_p99] =
            [&added["p50_ms"], &added["p99_ms"], &acknowledged["p50_ms"], &acknowledged["p99_ms"]]
                .map(|delay| delay.as_f64().map_or("-".into(), |ms| format!("{ms:.3}")));
        let stalls = client["stalls"].to_string();
        let name = format!("client {}", text(&client["client"]));
        row(&mut out, &name, [p50, p99, acknowledged_p50, acknowledged_p99, stalls]);
    }
    out
}

/// Adds a label and parts, which continue on the next line where the terminal ends. No part is broken.
fn line(out: &mut String, label: &str, parts: impl IntoIterator<Item = String>) {
    let _ = write!(out, "{label:<LABEL$}");
    let mut column = LABEL;
    for part in parts {
        let width = 1 + part.chars().count();
        if column + width > WIDTH && column > LABEL {
            let _ = write!(out, "\n{:LABEL$}", "");
            column = LABEL;
        }
        let _ = write!(out, " {part}");
        column += width;
    }
    out.push('\n');
}

/// Adds a row of the table of clients. A name that is too wide, such as an IPv6 address, has a line of its own.
fn row(out: &mut String, name: &str, [a, b, c, d, e]: [String; 5]) {
    let name = if name.len() > 28 { format!("{name}\n{:28}", "") } else { format!("{name:28}") };
    let _ = writeln!(out, "{name}{a:>12}{b:>10}{c:>12}{d:>10}{e:>8}");
}

fn separated(mut parts: Vec<String>) -> Vec<String> {
    let last = parts.len().saturating_sub(1);
    parts[..last].iter_mut().for_each(|part| part.push(','));
    parts
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_line_is_wider_than_a_terminal_and_one_address_is_singular() {
        let client = |client: &str| {
            let delays = json!({ "p50_ms": 10_485.76, "p99_ms": null });
            json!({ "client": client, "added_delay": delays, "acknowledged": delays, "stalls": 1_234_567 })
        };
        let big = 18_446_744_073_709_551_615_u64;
        let names = ["failed", "without_byte", "late", "evicted"].map(|name| format!("handshakes_{name}"));
        let mut counters: serde_json::Map<String, Value> =
            names.into_iter().map(|name| (name, big.into())).collect();
        for name in ["unlisted", "streams_evicted", "streams_over_share", "streams_over_limit"] {
            counters.insert(name.into(), big.into());
        }
        let status = json!({
            "role": "near", "version": "0.1.0", "streams": 3,
            "saved": { "packets": -1.5, "bytes": null },
            "delay_ms": { "added_p50": 0.066, "added_p99": 10_485.76 },
            "sessions": [{ "carriers_up": 16, "carriers": 16, "carrier_rtt_ms": vec![1000.25; 16] }],
            "certificates": [{
                "file": "authority.pem", "subject": "CN=gamelane authority 5adc9f90", "expires_in_s": 31_535_999,
                "expires_soon": true
            }],
            "certificates_error": "`tls.certificate` in /etc/gamelane/near.toml: holds no certificate\n  given:   near.pem\n  \
                                   hint:    `gamelane-proxy certificates add DIR NAME --near` makes one",
            "doors": {
                "handshakes": { "open": 0, "limit": 256, "sources": 0 },
                "streams": { "open": 1, "limit": 20_000, "sources": 1 },
            },
            "counters": counters,
            "clients": [client("203.0.113.255:65535"), client("[2001:db8:1111:2222:3333:4444:5555:6666]:65535")],
        });
        let page = page(&status);
        assert!(page.lines().all(|line| line.chars().count() <= WIDTH), "{page}");
        assert!(page.contains("\nplayers          1 of 20000, from 1 address; evicted "), "{page}");
        assert!(page.contains("\nhandshakes       0 of 256, from 0 addresses; failed "), "{page}");
        assert!(
            page.contains("CN=gamelane authority 5adc9f90\n                 expires in 365 days: renew it\n"),
            "{page}"
        );
        assert!(page.contains("\nrenewal failed   `tls.certificate` in "), "{page}");
        assert!(
            page.contains(
                "\nclient 203.0.113.255:65535     10485.760         -   10485.760         - 1234567\n"
            ),
            "{page}"
        );
    }
}
