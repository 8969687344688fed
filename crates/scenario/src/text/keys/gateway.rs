//! `[gateway]`: the queues at both ends of the link, and the other functions of the gateway.

use std::mem;

use gamelane_core::Direction;
use gamelane_link::LinkKind;
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

/// The queues at both ends of the link, and the other functions of the gateway. A queue that is not given is a FIFO of
/// 1000 packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// Queue in front of the uplink, in the home gateway.
    #[serde(default)]
    pub up: Queue,
    /// Queue in front of the downlink, at the provider. With `shape.down`, or with kind `wifi-g`, it is in the home
    /// gateway.
    #[serde(default)]
    pub down: Queue,
    /// Rate that the gateway shapes to. Set it below the rate of the link, so that packets queue in the gateway.
    /// Default, or `false`: no shaper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<EachWay<Switch<Rate>>>,
    /// Queue in the modem, upstream. With `shape.up` or kind `docsis` it is a second queue; else it takes the place of
    /// `up`. With `docsis`, its default limit is one second at `link.up`.
    #[serde(default, skip_serializing_if = "Queue::is_plain")]
    pub modem: Queue,
    /// Queue at the provider, downstream. With `shape.down` or kind `wifi-g` it is a second queue, and `down` is in the
    /// home gateway; else it takes the place of `down`.
    #[serde(default, skip_serializing_if = "Queue::is_plain")]
    pub isp: Queue,
    /// Queue in each station and relay of kind `wifi-g`.
    #[serde(default, skip_serializing_if = "Queue::is_plain")]
    pub station: Queue,
    /// What to send first: flows by name, or `game` for all that behaves like a game or a call (`voip` means the same).
    /// They form one class and all others another, for `priority`, `drr` and `htb`. Other queues ignore this key and the
    /// two below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Vec<String>>,
    /// Your own classes instead of `priority`, the most urgent first. Packets that match no rule go to the last class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Vec<Class>>,
    /// Rules that assign packets to classes. The first rule that matches decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Vec<Rule>>,
    /// Bounds of a real-time flow, for rules with `behaviour`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detector: Option<Detector>,
    /// VoAP: lowers TCP windows to keep the queue short. `true` takes the parameters of the paper. Default, or `false`:
    /// off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voap: Option<Switch<Voap>>,
    /// Autorate: adapts the shaper to a link whose rate varies, starting at `shape`. Default, or `false`: the shaper
    /// keeps its rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autorate: Option<EachWay<Switch<Autorate>>>,
}

impl Gateway {
    /// Moves `modem` to `up` if upstream has only one queue and `up` is not given. The same for `isp` and `down`.
    pub(crate) fn settle(&mut self, kind: LinkKind) {
        let has_two = |direction| {
            self.shape
                .as_ref()
                .and_then(|shape| shape.towards(direction))
                .is_some_and(|rate| rate.on().is_some())
        };
        let [two_up, two_down] = Direction::BOTH.map(has_two);
        let own = Queue::default();
        if !two_up && kind != LinkKind::Docsis && self.up == own {
            self.up = mem::take(&mut self.modem);
        }
        if !two_down && kind != LinkKind::WifiG && self.down == own {
            self.down = mem::take(&mut self.isp);
        }
    }
}
