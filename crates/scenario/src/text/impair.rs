//! Impairment as text: the files of `profiles/`, and the options of `gamelane impair`. The words and units are those of
//! a scenario's link. Each value holds for both directions or for one.

use std::path::Path as FilePath;
use std::sync::Arc;

use gamelane_core::{Bitrate, Direction, Duration};
use gamelane_link::impair::{ImpairConfig, Jitter, JitterShape, Order, RateLimit, Reorder};
use gamelane_qdisc::Limit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::build::link::{framing, loss_model};
use super::each_way::EachWay;
use super::error::{Fault, ScenarioError};
use super::keys::link::{Loss, Overhead};
use super::origin::{Origin, Path};
use super::scenario::read;
use super::shipped;
use super::source::{Sources, instead_of_provenance};
use super::text_or_table::TextOrTable;
use super::units::{Percent, QueueLimit, Rate, Time};
use super::words::words;

/// Impairment of packets in each direction. A key that is not given changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Impair {
    /// Name for readers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Limits to know before quoting a result of this profile.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
    /// Where its numbers come from, as in a game model.
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub source: Sources,
    /// Delay of every packet.
    #[serde(default)]
    pub delay: EachWay<Time>,
    /// Variation of the delay above and below `delay`: a time, or a table with distribution and correlation.
    #[serde(default)]
    pub jitter: EachWay<JitterText>,
    /// Packet loss, at random or in bursts.
    #[serde(default)]
    pub loss: EachWay<Loss>,
    /// Share of packets that are held back so that others overtake them.
    #[serde(default)]
    pub reorder: EachWay<ReorderText>,
    /// Share of packets that arrive twice.
    #[serde(default)]
    pub duplicate: EachWay<Percent>,
    /// Rate of a bottleneck. Default: no bottleneck.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<EachWay<Rate>>,
    /// Limit of the queue at the bottleneck. Default: 1000 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<EachWay<QueueLimit>>,
    /// Bytes that the link layer of the bottleneck adds to each IP packet.
    #[serde(default)]
    pub overhead: EachWay<Overhead>,
    #[serde(skip)]
    origin: Origin,
}

/// Jitter: a time such as `"5ms"`, or a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct JitterText(TextOrTable<Time, JitterTable>);

/// Jitter as a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JitterTable {
    /// Scale of the variation: half the width of `uniform`, the standard deviation of `normal`.
    pub spread: Time,
    /// Distribution.
    #[serde(default)]
    pub shape: Shape,
    /// Distribution file of netem, instead of `shape`. Relative to the profile's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Correlation of a packet's delay with that of the packet before, below 100%.
    #[serde(default)]
    pub correlation: Percent,
    /// Lets packets with less delay overtake others.
    #[serde(default)]
    pub overtake: bool,
}

words! {
    /// Distribution of jitter.
    Shape "jitter distribution" {
        /// Uniform between minus and plus the spread.
        Uniform = "uniform",
        /// Normal; the spread is the standard deviation.
        Normal = "normal",
        /// Pareto, as in netem: many packets slightly early, few very late.
        Pareto = "pareto",
        /// A quarter normal and three quarters Pareto, as in netem.
        ParetoNormal = "paretonormal",
    }
}

#[expect(clippy::derivable_impls, reason = "`words!` takes no attribute on a variant")]
impl Default for Shape {
    fn default() -> Self {
        Self::Uniform
    }
}

/// Reordering: a share such as `"2%"`, or a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ReorderText(TextOrTable<Percent, ReorderTable>);

/// Reordering as a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReorderTable {
    /// Share of packets to hold back.
    pub share: Percent,
    /// Time for which they are held back.
    #[serde(default = "ten_milliseconds")]
    pub by: Time,
}

const fn ten_milliseconds() -> Time {
    Time(Duration::from_millis(10))
}

impl Default for JitterText {
    fn default() -> Self {
        Self(TextOrTable::Text(Time::default()))
    }
}

impl Default for ReorderText {
    fn default() -> Self {
        Self(TextOrTable::Text(Percent::default()))
    }
}

/// The names of the shipped profiles.
pub fn profiles() -> impl Iterator<Item = &'static str> {
    shipped::texts(&shipped::PROFILES, "", "toml").into_iter().map(|(name, _)| name)
}

impl Impair {
    /// Reads a profile. `overrides` are keys and values put over it, as options of a command are.
    pub fn parse(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        let hint = "a profile is keys and values such as delay = \"40ms\" and loss = \"1%\"";
        if text.parse::<toml::Table>().is_ok_and(|table| table.contains_key("provenance")) {
            let origin = Origin { file: file.into(), text: text.into(), ..Origin::default() };
            let place = Path::default().key("provenance");
            return Err(origin.refuse(&place, instead_of_provenance("delay")));
        }
        let (impair, origin) = read::<Self>(text, file, overrides, hint)?;
        Ok(Self { origin, ..impair })
    }

    /// Reads a shipped profile by name, with `overrides` put over it.
    pub fn shipped(name: &str, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        let shipped = shipped::texts(&shipped::PROFILES, "", "toml");
        let text =
            shipped.iter().find(|(known, _)| *known == name).map(|(_, text)| text).ok_or_else(|| {
                let fault = Fault::new("no such profile").one_of(name, profiles());
                Origin { file: format!("--profile {name}"), ..Origin::default() }
                    .refuse(&Path::default(), fault)
            })?;
        Self::parse(text, &format!("profiles/{name}.toml"), overrides)
    }

    /// The keys in force as text, without title, notes and sources.
    pub fn to_toml(&self) -> String {
        let plain =
            Self { title: String::new(), notes: String::new(), source: Sources::default(), ..self.clone() };
        toml::to_string(&plain).expect("every key of a profile is text or a table")
    }

    /// Checks the values against each other and reads the tables that they name. Indexed by [`Direction::index`].
    pub fn to_configs(&self) -> Result<[ImpairConfig; 2], ScenarioError> {
        let [up, down] = Direction::BOTH;
        Ok([self.config(up)?, self.config(down)?])
    }

    fn config(&self, direction: Direction) -> Result<ImpairConfig, ScenarioError> {
        let reorder = match self.reorder.towards(direction).map(|reorder| &reorder.0) {
            None => Reorder::default(),
            Some(TextOrTable::Text(share)) => {
                Reorder { share: share.probability(), by: ten_milliseconds().0 }
            }
            Some(TextOrTable::Table(table)) => Reorder { share: table.share.probability(), by: table.by.0 },
        };
        Ok(ImpairConfig {
            delay: self.delay.towards(direction).copied().unwrap_or_default().0,
            jitter: self.jitter(direction)?,
            loss: loss_model(&self.loss, direction),
            rate: self.rate(direction)?,
            reorder,
            duplicate: self.duplicate.towards(direction).copied().unwrap_or_default().probability(),
        })
    }

    fn rate(&self, direction: Direction) -> Result<Option<RateLimit>, ScenarioError> {
        let Some(Rate(rate)) = self.rate.as_ref().and_then(|rate| rate.towards(direction)) else {
            return Ok(None);
        };
        if *rate < SLOWEST {
            let fault = Fault::new("a full packet would take more than 10 s at this rate")
                .allowed("\"1200bit\" or more");
            return Err(self.refuse("rate", direction, matches!(self.rate, Some(EachWay::Split(_))), fault));
        }
        let limit = self.limit.as_ref().and_then(|limit| limit.towards(direction));
        let queue = limit.map_or(Limit::Packets(1000), |limit| limit.0);
        let overhead = framing(&self.overhead, direction).map_err(|fault| {
            self.refuse("overhead", direction, matches!(self.overhead, EachWay::Split(_)), fault)
        })?;
        Ok(Some(RateLimit { rate: *rate, queue, overhead }))
    }

    fn jitter(&self, direction: Direction) -> Result<Jitter, ScenarioError> {
        let split = matches!(self.jitter, EachWay::Split(_));
        let table = match self.jitter.towards(direction).map(|jitter| &jitter.0) {
            None => return Ok(Jitter::default()),
            Some(TextOrTable::Text(spread)) => return Ok(Jitter { spread: spread.0, ..Jitter::default() }),
            Some(TextOrTable::Table(table)) => table,
        };
        if table.correlation == Percent::ALL {
            let fault = Fault::new("a `correlation` of 100% gives every packet the delay of the first")
                .allowed("0% to below 100%");
            return Err(self.refuse("jitter", direction, split, fault));
        }
        let shape = match (&table.table, table.shape) {
            (Some(file), _) => {
                self.read_table(file).map_err(|fault| self.refuse("jitter", direction, split, fault))?
            }
            (None, Shape::Uniform) => JitterShape::Uniform,
            (None, Shape::Normal) => JitterShape::Normal,
            (None, Shape::Pareto) => JitterShape::Pareto,
            (None, Shape::ParetoNormal) => JitterShape::ParetoNormal,
        };
        let order = if table.overtake { Order::AsDelayed } else { Order::Kept };
        Ok(Jitter { spread: table.spread.0, shape, correlation: table.correlation.probability(), order })
    }

    /// Reads a distribution file of `tc`, as in `/usr/lib/tc`: numbers in 1/8192 of the spread, comments after `#`.
    fn read_table(&self, file: &str) -> Result<JitterShape, Fault> {
        let beside = FilePath::new(&self.origin.file).parent().unwrap_or(FilePath::new(""));
        let path = beside.join(file);
        let text = self
            .origin
            .files
            .text(&path)
            .map_err(|error| Fault::new(format!("{} cannot be read: {error}", path.display())))?;
        let words =
            text.lines().flat_map(|line| line.split('#').next().unwrap_or_default().split_whitespace());
        let numbers: Result<Vec<i16>, _> = words.map(str::parse).collect();
        let allowed = "2 to 65536 whole numbers from -32768 to 32767, as in /usr/lib/tc/normal.dist";
        let wrong = || {
            Fault::new(format!("{} is not a distribution table of netem", path.display())).allowed(allowed)
        };
        let mut numbers = numbers.map_err(|_| wrong())?;
        if !(2..=65_536).contains(&numbers.len()) {
            return Err(wrong());
        }
        numbers.sort_unstable();
        let quantiles: Arc<[f64]> = numbers.into_iter().map(|number| f64::from(number) / 8192.0).collect();
        Ok(JitterShape::Table(quantiles))
    }

    fn refuse(&self, key: &str, direction: Direction, split: bool, fault: Fault) -> ScenarioError {
        let path = Path::default().key(key);
        self.origin.refuse(&if split { path.key(direction.name()) } else { path }, fault)
    }
}

const SLOWEST: Bitrate = Bitrate::from_bps(1200);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::source::figures;
    use gamelane_core::loss::LossModel;

    fn overrides(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    #[test]
    fn shipped_profiles_are_read_and_say_where_they_come_from() {
        for (name, text) in shipped::texts(&shipped::PROFILES, "", "toml") {
            let impair = Impair::shipped(name, &[]).unwrap();
            impair.to_configs().unwrap();
            let figures = figures(&text.parse().unwrap(), &["title", "notes", "source"]);
            impair.source.check(&figures).unwrap_or_else(|fault| panic!("{name}: {fault}"));
            assert!(!impair.title.is_empty() && impair.notes.len() > 40, "{name}");
            let again = Impair::parse(&impair.to_toml(), "again.toml", &[]).unwrap();
            assert_eq!(again.to_configs().unwrap(), impair.to_configs().unwrap(), "{name}");
        }
    }

    #[test]
    fn options_go_over_a_profile_and_one_direction_at_a_time() {
        let set =
            overrides(&[("delay", "10ms"), ("delay.up", "40ms"), ("loss", "1%"), ("reorder.down", "2%")]);
        let [up, down] = Impair::shipped("dsl", &set).unwrap().to_configs().unwrap();
        assert_eq!((up.delay, down.delay), (Duration::from_millis(40), Duration::from_millis(10)));
        assert_eq!((up.loss, down.loss), (LossModel::Random(0.01), LossModel::Random(0.01)));
        assert_eq!((up.reorder.share, down.reorder.share), (0.0, 0.02));
        assert!(up.rate.is_some(), "the profile's rate stays");
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_key() {
        let refused = |pairs: &[(&str, &str)]| {
            let read = Impair::parse("", "nothing", &overrides(pairs)).and_then(|impair| impair.to_configs());
            read.unwrap_err().to_string()
        };
        insta::assert_snapshot!(
            [
                refused(&[("delay", "40")]),
                refused(&[("losss", "1%")]),
                refused(&[("loss", "101%")]),
                refused(&[("rate.up", "1bit")]),
                refused(&[("jitter", "{ spread = \"5ms\", correlation = \"100%\" }")]),
                refused(&[("jitter", "{ spread = \"5ms\", shape = \"gauss\" }")]),
                refused(&[("jitter", "{ spread = \"5ms\", table = \"nowhere.dist\" }")]),
                Impair::shipped("dls", &[]).unwrap_err().to_string(),
                Impair::parse("delay = '1ms'\nprovenance = 'capture'", "own.toml", &[])
                    .unwrap_err()
                    .to_string(),
            ]
            .join("\n\n")
        );
    }

    #[test]
    fn a_table_of_netem_is_read_in_its_scale() {
        let folder = std::env::temp_dir().join(format!("gamelane-table-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("own.dist"), "# a comment\n 8192 -8192\n0 # more\n").unwrap();
        let text = "jitter = { spread = \"4ms\", table = \"own.dist\" }";
        let file = folder.join("profile.toml");
        let [up, _] = Impair::parse(text, file.to_str().unwrap(), &[]).unwrap().to_configs().unwrap();
        assert_eq!(up.jitter.shape, JitterShape::Table([-1.0, 0.0, 1.0].into()));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
