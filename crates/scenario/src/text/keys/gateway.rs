//! `[gateway]`: the queues at both ends of the link, and what else the gateway does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::autorate::Autorate;
use super::behaviour::Detector;
use super::class::Class;
use super::queue::Queue;
use super::rule::Rule;
use super::voap::Voap;
use crate::text::each_way::EachWay;
use crate::text::switch::Switch;
use crate::text::units::Rate;

/// The queues of the link; a direction left out is a FIFO of 1000 packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// In front of the uplink, in the home gateway.
    #[serde(default)]
    pub up: Queue,
    /// In front of the downlink, at the provider's end; behind a shaper, or with kind `wifi-g`, in the home gateway.
    #[serde(default)]
    pub down: Queue,
    /// Rate the gateway shapes to, so that its queues are the ones that fill. Left out or `false`: not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<EachWay<Switch<Rate>>>,
    /// In the modem, where that is not the gateway: below `shape.up` or with kind `docsis`, there a FIFO of one second.
    #[serde(default, skip_serializing_if = "Queue::is_plain")]
    pub modem: Queue,
    /// At the provider's end, where `down` is not: above `shape.down` or with kind `wifi-g`.
    #[serde(default, skip_serializing_if = "Queue::is_plain")]
    pub isp: Queue,
    /// In each station and relay of kind `wifi-g`.
    #[serde(default, skip_serializing_if = "Queue::is_plain")]
    pub station: Queue,
    /// Flows that go first, by name: they make a class for `priority`, `drr` and `htb`. Other queues do not read it, nor the
    /// classes and rules below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Vec<String>>,
    /// Classes of your own instead, most urgent first; what no rule takes goes to the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Vec<Class>>,
    /// Which packets go to which class. The first that matches decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Vec<Rule>>,
    /// What counts as real time for `behaviour` in a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detector: Option<Detector>,
    /// Lowers TCP windows to keep the queue short. Left out or `false`: no. `true`: with the parameters of the paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voap: Option<Switch<Voap>>,
    /// Follows a link whose rate varies: `shape` is where it begins. Left out or `false`: the shaper keeps its rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autorate: Option<EachWay<Switch<Autorate>>>,
}
