//! Which class a packet belongs to: the first rule that matches, by header fields, by how the flow behaves, or by being a
//! pure ACK. The classifier only names a class; what a class means is the queue's configuration ([`crate::priority`],
//! [`crate::drr`], [`crate::htb`]). Left out: payload inspection and anything that keeps a packet waiting for a verdict.

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

/// What a classifier is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassifierConfig {
    /// In order; the first that matches decides.
    pub rules: Vec<Rule>,
    /// Class of what no rule matches.
    pub default: ClassId,
    /// How flows are watched, if a rule asks for it.
    pub flows: FlowTableParameters,
}

impl ClassifierConfig {
    /// Finds rules that contradict themselves, can never match because an earlier one takes all of theirs, or name a
    /// class that is not one of the `classes` there are.
    ///
    /// # Errors
    /// The first such rule, with the other one where there is one.
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

/// Classifies the packets of both directions of one gateway.
#[derive(Clone, Debug)]
pub struct Classifier {
    rules: Vec<Rule>,
    default: ClassId,
    /// Only if a rule asks how flows behave.
    flows: Option<FlowTable>,
}

impl Classifier {
    /// A classifier that has seen nothing, for queues with `classes` classes.
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

    /// The class of a packet that reaches the gateway at `now`. `key` is its 5-tuple, `direction` the way it goes: flows
    /// are watched both ways, so packets of both directions must come by here.
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
