//! Keys, and the change that each asks for.

use gamelane_core::loss::LossModel;
use gamelane_core::{Direction, Duration};
use gamelane_link::ImpairConfig;

use crate::control::{Begin, Request};

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// More delay.
    Up,
    /// Less delay.
    Down,
    /// More loss.
    Right,
    /// Less loss.
    Left,
    /// No impairment, or back to what was in force.
    Compare,
    /// No impairment.
    Reset,
    /// Leave; the impairment stays.
    Quit,
}

/// Change of the delay, each way.
pub const DELAY_STEP: Duration = Duration::from_millis(10);
/// Change of the loss, each way.
pub const LOSS_STEP_PERCENT: f64 = 1.0;

/// Returns the keys in what a terminal sent; others are ignored.
pub fn keys(mut bytes: &[u8]) -> Vec<Key> {
    let mut found = Vec::new();
    while let [first, rest @ ..] = bytes {
        let (key, len) = match (first, rest) {
            // Arrows, in the two modes of terminals.
            (0x1b, [b'[' | b'O', arrow, ..]) => {
                let key = match arrow {
                    b'A' => Some(Key::Up),
                    b'B' => Some(Key::Down),
                    b'C' => Some(Key::Right),
                    b'D' => Some(Key::Left),
                    _ => None,
                };
                (key, 3)
            }
            (b'k' | b'+', _) => (Some(Key::Up), 1),
            (b'j' | b'-', _) => (Some(Key::Down), 1),
            (b'l', _) => (Some(Key::Right), 1),
            (b'h', _) => (Some(Key::Left), 1),
            (b' ', _) => (Some(Key::Compare), 1),
            (b'r', _) => (Some(Key::Reset), 1),
            // Ctrl-C and Ctrl-D too.
            (b'q' | 3 | 4, _) => (Some(Key::Quit), 1),
            _ => (None, 1),
        };
        found.extend(key);
        bytes = &bytes[len..];
    }
    found
}

/// Returns what `key` asks for. `now` and its text `config` are in force; [`Key::Compare`] goes back to `kept`.
pub fn press(key: Key, now: &[ImpairConfig; 2], config: &str, kept: &mut Option<String>) -> Option<Request> {
    let nothing = Request { begin: Some(Begin::Nothing), set: Vec::new() };
    match key {
        Key::Up => Some(delays(now, |delay| delay + DELAY_STEP)),
        Key::Down => Some(delays(now, |delay| delay.saturating_sub(DELAY_STEP))),
        Key::Right => losses(now, LOSS_STEP_PERCENT),
        Key::Left => losses(now, -LOSS_STEP_PERCENT),
        Key::Compare if is_nothing(now) => {
            kept.take().map(|text| Request { begin: Some(Begin::Text(text)), set: Vec::new() })
        }
        Key::Compare => {
            *kept = Some(config.into());
            Some(nothing)
        }
        Key::Reset => Some(nothing),
        Key::Quit => None,
    }
}

/// Whether packets pass unimpaired.
pub fn is_nothing(now: &[ImpairConfig; 2]) -> bool {
    now.iter().all(|config| {
        let times = config.delay + config.jitter.spread;
        times.is_zero()
            && loss_percent(&config.loss) == Some(0.0)
            && config.rate.is_none()
            && config.reorder.share == 0.0
            && config.duplicate == 0.0
    })
}

/// Random loss in percent; `None` if loss is in bursts.
pub fn loss_percent(model: &LossModel) -> Option<f64> {
    match model {
        LossModel::None => Some(0.0),
        LossModel::Random(share) => Some(share * 100.0),
        LossModel::GilbertElliott { .. } => None,
    }
}

fn delays(now: &[ImpairConfig; 2], step: impl Fn(Duration) -> Duration) -> Request {
    let set = each_way(now, "delay", |config| Some(format!("{}ns", step(config.delay).as_nanos())));
    Request { begin: None, set }
}

/// Returns `None` if neither way has random loss.
fn losses(now: &[ImpairConfig; 2], step: f64) -> Option<Request> {
    let set = each_way(now, "loss", |config| {
        let percent = (loss_percent(&config.loss)? + step).clamp(0.0, 100.0);
        // Rounded, so that 1.1 + 1 becomes 2.1.
        Some(format!("{}%", (percent * 1e5).round() / 1e5))
    });
    (!set.is_empty()).then_some(Request { begin: None, set })
}

fn each_way(
    now: &[ImpairConfig; 2],
    key: &str,
    value: impl Fn(&ImpairConfig) -> Option<String>,
) -> Vec<(String, String)> {
    let pairs = Direction::BOTH.into_iter().zip(now);
    pairs
        .filter_map(|(direction, config)| Some((format!("{key}.{}", direction.name()), value(config)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_scenario::Impair;

    /// The impairment after keys, as text.
    fn after(start: &str, keys: &[Key]) -> String {
        let mut impair = Impair::parse(start, "test", &[]).unwrap();
        let mut kept = None;
        for key in keys {
            let now = impair.to_configs().unwrap();
            let Some(request) = press(*key, &now, &impair.to_toml(), &mut kept) else { continue };
            impair = match &request.begin {
                None => Impair::parse(&impair.to_toml(), "test", &request.set).unwrap(),
                Some(Begin::Nothing) => Impair::parse("", "test", &[]).unwrap(),
                Some(Begin::Text(text)) => Impair::parse(text, "test", &[]).unwrap(),
                Some(Begin::Profile(_)) => unreachable!("no key has a profile"),
            };
        }
        let [up, down] = impair.to_configs().unwrap().map(|config| {
            let loss = loss_percent(&config.loss).map_or("bursts".into(), |percent| format!("{percent:.3}"));
            format!("{} {loss}", config.delay.as_nanos())
        });
        format!("{up}, {down}")
    }

    #[test]
    fn keys_change_each_way_from_where_it_is() {
        assert_eq!(after("", &[Key::Up, Key::Up, Key::Right]), "20000000 1.000, 20000000 1.000");
        assert_eq!(after("delay = { up = \"25ms\" }", &[Key::Down]), "15000000 0.000, 0 0.000");
        assert_eq!(after("loss = \"0.3%\"", &[Key::Right, Key::Right, Key::Left]), "0 1.300, 0 1.300");
        assert_eq!(after("loss = \"99.5%\"", &[Key::Right]), "0 100.000, 0 100.000");
        assert_eq!(after("", &[Key::Left, Key::Down]), "0 0.000, 0 0.000");
    }

    #[test]
    fn bursts_are_left_as_they_are() {
        let bursts = "loss = { good_to_bad = \"1%\", bad_to_good = \"25%\" }";
        assert_eq!(after(bursts, &[Key::Right, Key::Up]), "10000000 bursts, 10000000 bursts");
    }

    #[test]
    fn comparing_comes_back_to_what_was() {
        let start = "delay = { up = \"25ms\" }\nloss = \"2%\"";
        assert_eq!(after(start, &[Key::Compare]), "0 0.000, 0 0.000");
        assert_eq!(after(start, &[Key::Compare, Key::Compare]), "25000000 2.000, 0 2.000");
        assert_eq!(after(start, &[Key::Reset, Key::Compare]), "0 0.000, 0 0.000");
    }

    #[test]
    fn what_terminals_send_is_told_apart() {
        assert_eq!(
            keys(b"\x1b[A\x1bOB\x1b[C\x1b[D q"),
            [Key::Up, Key::Down, Key::Right, Key::Left, Key::Compare, Key::Quit]
        );
        assert_eq!(keys(b"\x1b[Zx\x1b"), []);
        assert_eq!(keys(b"\x03"), [Key::Quit]);
    }
}
