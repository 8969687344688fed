//! `[link.docsis]` to the upstream.

use gamelane_core::{ByteCount, Duration};
use gamelane_link::{DocsisConfig, LinkConfig, Neighbours};

use super::Place;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::medium::Docsis;

/// The upstream of a modem, with rate, delay and loss of `link`.
pub(super) fn upstream(
    keys: Option<&Docsis>,
    link: &LinkConfig,
    place: &Place<'_>,
) -> Result<DocsisConfig, ScenarioError> {
    let plain = DocsisConfig::new(link.rate);
    let keys = keys.cloned().unwrap_or_default();
    let config = DocsisConfig {
        channel: keys.channel.map_or(plain.channel, |rate| rate.0),
        minislot: keys.minislot.map_or(plain.minislot, |span| span.0),
        map_interval: keys.map_interval.map_or(plain.map_interval, |span| span.0),
        map_lead: keys.map_lead.map_or(plain.map_lead, |time| time.0),
        delay: if link.delay.is_zero() { plain.delay } else { link.delay },
        contention: keys.contention.unwrap_or(plain.contention),
        backoff_start: keys.backoff_start.unwrap_or(plain.backoff_start),
        backoff_end: keys.backoff_end.unwrap_or(plain.backoff_end),
        tries: keys.tries.unwrap_or(plain.tries),
        concatenation: keys.concatenation.unwrap_or(plain.concatenation),
        burst: keys.burst.map_or(plain.burst, |size| size.0),
        peak: keys.peak.map(|rate| rate.0),
        loss: link.loss,
        neighbours: Neighbours {
            modems: keys.modems,
            load: keys.load.probability(),
            packet: plain.neighbours.packet,
        },
        ..plain
    };
    check(&config, place)?;
    Ok(config)
}

fn check(config: &DocsisConfig, place: &Place<'_>) -> Result<(), ScenarioError> {
    let refuse = |key: &str, message: String, allowed: &str| {
        Err(place.key(key).refuse(Fault::new(message).allowed(allowed)))
    };
    if config.channel < config.sustained {
        let message = format!("this channel is slower than `link.up`, {}", config.sustained);
        return refuse("channel", message, "`link.up` or more; requests need a part of it");
    }
    if config.map_interval > Duration::from_secs(1) {
        return refuse("map_interval", "this MAP interval is too long".into(), "up to \"1s\"");
    }
    if config.channel.bytes_in(config.minislot) == ByteCount::ZERO {
        return refuse(
            "minislot",
            format!("this minislot holds less than one byte at {}", config.channel),
            "at least the time of one byte on the channel",
        );
    }
    let slots = config.map_interval.as_nanos() / config.minislot.as_nanos();
    if config.contention == 0 {
        return refuse("contention", "without request opportunities no modem can send".into(), "1 or more");
    }
    if slots <= u64::from(config.contention) {
        let message = format!("a MAP interval has {slots} minislots, and some must remain for data");
        return refuse("contention", message, "fewer than `map_interval` / `minislot`");
    }
    if config.backoff_end > 15 {
        return refuse("backoff_end", "this backoff window is too large".into(), "0 to 15");
    }
    if config.backoff_start > config.backoff_end {
        return refuse(
            "backoff_start",
            "the first backoff window is larger than the last".into(),
            "up to `backoff_end`",
        );
    }
    if config.tries == 0 {
        return refuse("tries", "the modem needs at least one request".into(), "1 or more");
    }
    if config.burst < ByteCount(1522) {
        return refuse(
            "burst",
            "this burst is smaller than a full Ethernet frame".into(),
            "\"1522B\" or more",
        );
    }
    if config.neighbours.modems > 1000 {
        return refuse("modems", "these are too many modems".into(), "up to 1000");
    }
    if config.neighbours.modems == 0 && config.neighbours.load > 0.0 {
        return Err(place
            .key("load")
            .refuse(Fault::new("a load needs other modems").hint("set `modems` to their number")));
    }
    Ok(())
}
