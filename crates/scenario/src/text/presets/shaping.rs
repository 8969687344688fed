//! The rates that a policy shapes to, within what the router can do, and the place of a plan's buffers.

use gamelane_core::{Bitrate, Direction};
use toml::{Table, Value};

use super::expand::fill;
use super::files::{Buffers, Rates, Router};
use crate::text::share::RateShare;
use crate::text::units::Rate;

/// What decides the rates of the shaper and the place of the buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct Shaping {
    /// Share of the link's rates; `None` for no shaper.
    pub(super) share: Option<RateShare>,
    /// Rates of a link that follows a trace.
    pub(super) typical: Option<Rates>,
    /// The box that shapes.
    pub(super) router: Option<&'static Router>,
    /// Those in the provider's boxes.
    pub(super) buffers: Option<&'static Buffers>,
}

impl Shaping {
    /// Puts `gateway.shape`, then the buffers. Returns a caveat if the router cannot shape to what the policy asks for.
    pub(super) fn put(&self, values: &mut Table) -> Option<String> {
        let caveat = self.put_rates(values);
        if let Some(buffers) = self.buffers {
            put_buffers(buffers, values);
        }
        caveat
    }

    fn put_rates(&self, values: &mut Table) -> Option<String> {
        let rates =
            self.typical.map_or_else(|| rates_of(values), |rates| Some([rates.up.0, rates.down.0]))?;
        let share = self.share?;
        let wanted = rates.map(|rate| share.of(rate));
        let given = match self.router {
            Some(router) => within(wanted, router.shape.0),
            None => wanted,
        };
        let text = |direction: Direction| Value::String(Rate(given[direction.index()]).to_string());
        let shape = Direction::BOTH.map(|direction| (direction.name().to_owned(), text(direction)));
        let gateway = values.entry("gateway").or_insert_with(|| Value::Table(Table::new()));
        let Value::Table(gateway) = gateway else { return None };
        let own = gateway.entry("shape").or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(own) = own {
            fill(own, &shape.into_iter().collect());
        }
        let router = self.router.filter(|_| given != wanted)?;
        let sum = |rates: [Bitrate; 2]| Rate(Bitrate::from_bps(rates[0].bps() + rates[1].bps()));
        Some(format!(
            "{} shapes at most {}, both directions together. The policy asks for {}: it shapes to {} up and {} down",
            router.title,
            router.shape,
            sum(wanted),
            Rate(given[0]),
            Rate(given[1]),
        ))
    }
}

/// The rates of `link`, if it has both.
fn rates_of(values: &Table) -> Option<[Bitrate; 2]> {
    let link = values.get("link")?;
    let rate = |key| link.get(key)?.as_str()?.parse::<Rate>().ok();
    Some([rate("up")?.0, rate("down")?.0])
}

/// Lowers the faster direction first until both fit below `most` together.
fn within(wanted: [Bitrate; 2], most: Bitrate) -> [Bitrate; 2] {
    let [slow, fast] = {
        let mut ordered = wanted.map(Bitrate::bps);
        ordered.sort_unstable();
        ordered
    };
    let level = if slow + fast <= most.bps() {
        fast
    } else if 2 * slow <= most.bps() {
        most.bps() - slow
    } else {
        most.bps() / 2
    };
    wanted.map(|rate| Bitrate::from_bps(rate.bps().min(level)))
}

/// Puts the buffers of a plan where the scenario reads them. Behind a shaper, and in the modem of a link that has one,
/// they are `gateway.modem` and `gateway.isp`. Elsewhere they are the queues of the link, `gateway.up` and
/// `gateway.down`; a queue of another kind there stays as it is.
fn put_buffers(buffers: &Buffers, values: &mut Table) {
    let kind =
        values.get("link").and_then(|link| link.get("kind")).and_then(Value::as_str).unwrap_or_default();
    let [has_modem, has_isp] = [kind == "docsis", kind == "wifi-g"];
    let gateway = values.entry("gateway").or_insert_with(|| Value::Table(Table::new()));
    let Value::Table(gateway) = gateway else { return };
    let shaped = |direction: &str| match gateway.get("shape") {
        None | Some(Value::Boolean(false)) => false,
        Some(Value::Table(each)) => !matches!(each.get(direction), None | Some(Value::Boolean(false))),
        Some(_) => true,
    };
    let up = if has_modem || shaped("up") { "modem" } else { "up" };
    let down = if has_isp || shaped("down") { "isp" } else { "down" };
    for (key, buffer) in [(up, &buffers.modem), (down, &buffers.isp)] {
        let Some(buffer) = buffer else { continue };
        let own = gateway.entry(key).or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(own) = own
            && own.get("queue").is_none_or(|queue| Some(queue) == buffer.get("queue"))
        {
            fill(own, buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_lowers_the_faster_direction_first() {
        let mbit = |up: u64, down: u64| [up, down].map(|rate| Bitrate::from_bps(rate * 1_000_000));
        let most = Bitrate::from_bps(150_000_000);
        assert_eq!(within(mbit(10, 100), most), mbit(10, 100));
        assert_eq!(within(mbit(18, 225), most), mbit(18, 132));
        assert_eq!(within(mbit(90, 270), most), mbit(75, 75));
        assert_eq!(within(mbit(270, 90), most), mbit(75, 75));
    }
}
