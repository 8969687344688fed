//! The classifier: the first rule that matches a packet gives its class. Rules test header fields, the behaviour of the
//! flow, and whether the packet is a pure ACK. The configuration of the queue decides what a class means
//! ([`crate::priority`], [`crate::drr`], [`crate::htb`]). Left out: payload inspection, and holding packets back until
//! a flow is known.

pub mod behaviour;
pub mod error;
pub mod flow_table;
pub mod prefix;
pub mod rule;
pub mod span;
pub mod window;

use alloc::vec::Vec;
use gamelane_core::{ClassId, Direction, FlowKey, Instant, PacketMeta};

pub use behaviour::{Behaviour, BehaviourParameters};
pub use error::RuleError;
pub use flow_table::{FlowTable, FlowTableParameters};
pub use prefix::Prefix;
pub use rule::{Conditions, Rule};
pub use span::Span;
pub use window::Rhythm;

/// Configuration of a classifier.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassifierConfig {
    /// Rules in order; the first that matches gives the class.
    pub rules: Vec<Rule>,
    /// Class of packets that no rule matches.
    pub default: ClassId,
    /// Parameters of the flow table. It is used only if a rule needs it.
    pub flows: FlowTableParameters,
}

impl ClassifierConfig {
    /// Checks the rules for a queue with this many `classes`.
    ///
    /// # Errors
    /// The first rule that contradicts itself, that an earlier rule shadows, or that names a class which does not
    /// exist.
    pub fn check(&self, classes: usize) -> Result<(), RuleError> {
        let exists = |class: ClassId| class.index() < classes;
        if !exists(self.default) {
            return Err(RuleError::NoSuchClass { rule: None, class: self.default, classes });
        }
        for (index, rule) in self.rules.iter().enumerate() {
            if !exists(rule.class) {
                return Err(RuleError::NoSuchClass {
                    rule: Some(rule.name.clone()),
                    class: rule.class,
                    classes,
                });
            }
            if let Some((one, other)) = rule.when.contradiction() {
                return Err(RuleError::Contradiction { rule: rule.name.clone(), one, other });
            }
            if let Some(earlier) = self.rules[..index].iter().find(|earlier| earlier.when.covers(&rule.when))
            {
                return Err(RuleError::Shadowed { rule: rule.name.clone(), by: earlier.name.clone() });
            }
        }
        Ok(())
    }
}

/// Classifies the packets of a gateway, both directions.
#[derive(Clone, Debug)]
pub struct Classifier {
    rules: Vec<Rule>,
    default: ClassId,
    /// `None` if no rule needs the flow table.
    flows: Option<FlowTable>,
}

impl Classifier {
    /// Makes a classifier with an empty flow table, for queues with this many `classes`.
    ///
    /// # Errors
    /// Those of [`ClassifierConfig::check`].
    pub fn new(config: &ClassifierConfig, classes: usize) -> Result<Self, RuleError> {
        config.check(classes)?;
        let watches = config.rules.iter().any(|rule| rule.when.needs_flows());
        Ok(Self {
            rules: config.rules.clone(),
            default: config.default,
            flows: watches.then(|| FlowTable::new(config.flows)),
        })
    }

    /// Returns the class of a packet that reaches the gateway at `now`; `key` is its 5-tuple. The driver must pass the
    /// packets of both directions, because a real-time flow is recognised by both.
    pub fn classify(
        &mut self,
        meta: &PacketMeta,
        key: &FlowKey,
        direction: Direction,
        now: Instant,
    ) -> ClassId {
        let flow = self.flows.as_mut().map(|flows| flows.observe(meta, key, direction, now));
        let rule = self.rules.iter().find(|rule| rule.when.matches(meta, key, direction, flow.as_ref()));
        rule.map_or(self.default, |rule| rule.class)
    }
}

#[cfg(test)]
mod tests;
