//! The rates that a policy shapes to, within what the router can do, and the place of a plan's buffers.

use gamelane_core::{Bitrate, Direction};
use toml::{Table, Value};

use super::expand::fill;
use super::files::{Buffers, File, Policy, Rates, Router};
use crate::text::error::Fault;
use crate::text::origin::Path;
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
    /// Puts `gateway.shape`, then the buffers. Returns a caveat if the router cannot shape to what is asked for.
    ///
    /// # Errors
    /// The policy shapes to a share of the link's rate, and a direction has none.
    pub(super) fn put(&self, values: &mut Table) -> Result<Option<String>, (Path, Fault)> {
        self.put_shares(values)?;
        let caveat = self.router.and_then(|router| limit(router, values));
        if let Some(buffers) = self.buffers {
            put_buffers(buffers, values);
        }
        Ok(caveat)
    }

    /// Puts the shares of the policy where no key gives a rate.
    fn put_shares(&self, values: &mut Table) -> Result<(), (Path, Fault)> {
        let Some(share) = self.share else { return Ok(()) };
        let rates = match self.typical {
            Some(rates) => [Some(rates.up.0), Some(rates.down.0)],
            None => rates_of(values.get("link")),
        };
        let gateway = values.entry("gateway").or_insert_with(|| Value::Table(Table::new()));
        let Value::Table(gateway) = gateway else { return Ok(()) };
        let own = gateway.entry("shape").or_insert_with(|| Value::Table(Table::new()));
        let Value::Table(own) = own else { return Ok(()) };
        for direction in Direction::BOTH {
            let Some(rate) = rates[direction.index()] else { continue };
            let shaped = || Value::String(Rate(share.of(rate)).to_string());
            own.entry(direction.name()).or_insert_with(shaped);
        }
        if !own.is_empty() {
            return Ok(());
        }
        let fault = Fault::new("this policy shapes to a share of the link's rates, and the link has none");
        let hint = "set the rates: gateway.shape = { up = \"…\", down = \"…\" }";
        Err((Path::default().key(Policy::WORD), fault.hint(hint)))
    }
}

/// Lowers `gateway.shape`, and the highest rates of autorate, to what the router does. Returns what to know about it.
fn limit(router: &Router, values: &mut Table) -> Option<String> {
    let most = router.shape.0;
    let shape = values.get("gateway").and_then(|gateway| gateway.get("shape"));
    let asked = match shape {
        Some(Value::String(both)) => [both.parse::<Rate>().ok().map(|rate| rate.0); 2],
        shape => rates_of(shape),
    };
    let [up, down] = asked.map(|rate| rate.map_or(0, Bitrate::bps));
    if up + down == 0 {
        return Some(format!("{} makes no difference here: nothing is shaped", router.title));
    }
    let given = within(asked.map(|rate| rate.unwrap_or(Bitrate::from_bps(0))), most);
    let Some(Value::Table(gateway)) = values.get_mut("gateway") else { return None };
    limit_autorate(gateway, given, most);
    if up + down <= most.bps() {
        return None;
    }
    let shaped = Direction::BOTH.into_iter().filter(|direction| asked[direction.index()].is_some());
    let text = |direction: Direction| Value::String(Rate(given[direction.index()]).to_string());
    let shape = shaped.map(|direction| (direction.name().to_owned(), text(direction))).collect();
    gateway.insert("shape".into(), Value::Table(shape));
    let mbit = |bps: u64| format!("{:.0} Mbit/s", bps as f64 / 1e6);
    Some(format!(
        "{} shapes at most {}, both directions together, and {} is asked for: it shapes to {} up and {} down",
        router.title,
        mbit(most.bps()),
        mbit(up + down),
        mbit(given[0].bps()),
        mbit(given[1].bps()),
    ))
}

/// Ends each direction's range of autorate at its part of `most`, in proportion to the shaped rates, and at most four
/// times the shaped rate as without a router.
fn limit_autorate(gateway: &mut Table, shaped: [Bitrate; 2], most: Bitrate) {
    let Some(autorate) = gateway.get_mut("autorate") else { return };
    let sum = u128::from(shaped[0].bps() + shaped[1].bps());
    let mut each = Table::new();
    for direction in Direction::BOTH {
        let own = match &*autorate {
            Value::Table(table) if table.keys().any(|key| key == "up" || key == "down") => {
                table.get(direction.name()).cloned()
            }
            other => Some(other.clone()),
        };
        let mut own = match own {
            None | Some(Value::Boolean(false)) => continue,
            Some(Value::Table(table)) => table,
            Some(_) => Table::new(),
        };
        let rate = shaped[direction.index()].bps();
        let part = (u128::from(most.bps()) * u128::from(rate) / sum).min(4 * u128::from(rate)) as u64;
        let wanted = own.get("highest").and_then(Value::as_str).and_then(|text| text.parse::<Rate>().ok());
        let highest = wanted.map_or(part, |wanted| wanted.0.bps().min(part));
        own.insert("highest".into(), Value::String(Rate(Bitrate::from_bps(highest)).to_string()));
        each.insert(direction.name().into(), Value::Table(own));
    }
    if !each.is_empty() {
        *autorate = Value::Table(each);
    }
}

/// The rates of both directions in a table with `up` and `down`.
fn rates_of(table: Option<&Value>) -> [Option<Bitrate>; 2] {
    Direction::BOTH.map(|direction| {
        let text = table?.get(direction.name())?.as_str()?;
        Some(text.parse::<Rate>().ok()?.0)
    })
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

/// Puts the buffers of a plan: `gateway.modem` and `gateway.isp`. Without a shaper they belong to the same queue as
/// `gateway.up` and `gateway.down`, so they complete those if they are given; a queue of another kind stays as it is.
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
    let given = |queue: &str| gateway.contains_key(queue);
    let up = if has_modem || shaped("up") || !given("up") { "modem" } else { "up" };
    let down = if has_isp || shaped("down") || !given("down") { "isp" } else { "down" };
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
