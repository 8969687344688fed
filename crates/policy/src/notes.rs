//! Notes for the owner of a policy: where a gateway of real frames does less than the scenario suggests.

use gamelane_core::Direction;
use gamelane_scenario::Model;
use gamelane_stage::FollowerConfig;

/// Returns all notes on a model.
pub(super) fn notes(model: &Model) -> Vec<String> {
    let is_shaped = |direction: Direction| model.access.shape[direction.index()].is_some();
    let unshaped = Direction::BOTH.into_iter().filter(|direction| !is_shaped(*direction)).map(|direction| {
        let name = direction.name();
        format!(
            "`gateway.{name}` is not shaped: unless the interface itself is the bottleneck, the queue builds up behind it, where \
             this policy has no effect; set `gateway.shape.{name}` a little below the link's rate"
        )
    });
    let [up, down] = model.gateway.voap.map_or([false; 2], |voap| voap.data);
    let steered = [(up, Direction::Up), (down, Direction::Down)].into_iter();
    let steered = steered.filter(|(steered, direction)| *steered && !is_shaped(*direction)).map(|(_, direction)| {
        let name = direction.name();
        format!(
            "`gateway.voap` steers by the queueing delay of `{name}`, and that queue stays almost empty without `shape.{name}`"
        )
    });
    unshaped.chain(steered).chain(unheard(&model.gateway.autorate)).collect()
}

/// Signals that shapers should follow and that do not exist here.
fn unheard(autorate: &[Option<FollowerConfig>; 2]) -> Vec<String> {
    let mut notes = Vec::new();
    let hears = autorate.iter().flatten().map(|config| config.hears);
    let (probes, backlog) = hears
        .clone()
        .fold((false, false), |(probes, backlog), hears| (probes | hears.probes, backlog | hears.backlog));
    if probes {
        notes.push(
            "`gateway.autorate` sends no probes here: a bridge has no address to which answers could go. Without TCP timestamps or a \
             numbered game or call, the rate stays where it is"
                .into(),
        );
    }
    if backlog {
        notes.push("`gateway.autorate` gets no `backlog` here: no modem reports its queue".into());
    }
    if hears.into_iter().any(|hears| !hears.tcp && !hears.game) {
        notes.push(
            "`gateway.autorate` has no signal that exists here, so the rate will never move: add \"tcp\" to its `signals`, or omit \
             `signals`"
                .into(),
        );
    }
    notes
}
