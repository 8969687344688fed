//! What happens outside of the queues, said in the log: an interface loses its link or has another MTU, frames are lost before or
//! after the queues.

use gamelane_core::{Direction, Duration, Instant};
use gamelane_device::{Engine, Interface};

use crate::gateway::Gateway;

/// What was said last.
pub(super) struct Outside {
    seen: [Seen; 2],
    losses: [[Loss; KINDS.len()]; 2],
}

/// An interface, when it was looked at last.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Seen {
    is_up: bool,
    has_link: bool,
    mtu: u32,
}

impl Seen {
    const fn of(interface: &Interface) -> Self {
        Self { is_up: interface.is_up, has_link: interface.has_link, mtu: interface.mtu }
    }
}

/// Lost frames of one kind and direction.
#[derive(Clone, Copy, Default)]
struct Loss {
    told: u64,
    told_at: Option<Instant>,
}

impl Outside {
    pub(super) fn new(engine: &Engine) -> Self {
        let seen = Direction::BOTH.map(|direction| Seen::of(engine.interface(direction)));
        Self { seen, losses: Default::default() }
    }

    /// Looks, and says what is new.
    pub(super) fn look(&mut self, engine: &mut Engine, gateway: &Gateway, now: Instant) {
        for direction in Direction::BOTH {
            let now = Seen::of(engine.interface(direction));
            let before = std::mem::replace(&mut self.seen[direction.index()], now);
            if before != now {
                say_change(engine, direction, before);
            }
        }
        let counters = engine.counters();
        for direction in Direction::BOTH {
            let (index, account) = (direction.index(), gateway.account(direction));
            let counts =
                [counters.too_long[index], counters.ring[index].dropped, account.no_room, account.not_sent];
            let out = &engine.interface(direction.reverse()).name;
            for ((loss, count), kind) in self.losses[index].iter_mut().zip(counts).zip(KINDS) {
                loss.look(count, now, |new| {
                    let name = if kind.is_out { out } else { &engine.interface(direction).name };
                    let frames = if new == 1 { "frame" } else { "frames" };
                    tracing::warn!("{name}: {new} {frames} lost: {}\n  hint:    {}", kind.why, kind.remedy);
                });
            }
        }
    }
}

impl Loss {
    /// Calls `say` with the number that is new, at most once in [`SILENCE`].
    fn look(&mut self, count: u64, now: Instant, say: impl FnOnce(u64)) {
        let is_quiet = self.told_at.is_some_and(|told| now.saturating_since(told) < SILENCE);
        if count > self.told && !is_quiet {
            say(count - self.told);
            *self = Self { told: count, told_at: Some(now) };
        }
    }
}

fn say_change(engine: &Engine, direction: Direction, before: Seen) {
    let Interface { name, mtu, is_up, has_link, .. } = engine.interface(direction);
    if (before.is_up, before.has_link) != (*is_up, *has_link) {
        match (is_up, has_link) {
            (false, _) => {
                tracing::warn!(
                    "{name}: it was switched off\n  hint:    `ip link set {name} up` switches it on"
                );
            }
            (true, false) => tracing::warn!("{name}: no link; nothing passes until its other end is back"),
            (true, true) => tracing::info!("{name}: it has a link"),
        }
    }
    if before.mtu != *mtu {
        tracing::info!("{name}: its MTU is now {mtu} B; it was {} B", before.mtu);
        let most = engine.most_mtu(direction);
        if *mtu > most {
            tracing::warn!(
                "{name}: AF_XDP's memory holds packets of up to {most} B; longer ones are lost\n  hint:    start the gateway again"
            );
        }
        let [one, other] = Direction::BOTH.map(|direction| engine.interface(direction));
        if one.mtu != other.mtu {
            tracing::warn!(
                "{} takes packets of up to {} B and {} of up to {} B; packets too long for the other side are lost\n  hint:    \
                 give both the same MTU",
                one.name,
                one.mtu,
                other.name,
                other.mtu
            );
        }
    }
}

/// How frames are lost outside of the queues.
struct Kind {
    why: &'static str,
    remedy: &'static str,
    /// They are lost where they leave, not where they arrive.
    is_out: bool,
}

/// In the order of the counters in [`Outside::look`].
const KINDS: [Kind; 4] = [
    Kind {
        why: "they are too long, or hold several segments and cannot be split",
        remedy: "switch segmentation offload off at their sender: `ethtool -K IF tso off gso off tx-udp-segmentation off`",
        is_out: false,
    },
    Kind {
        why: "the kernel dropped them, because the gateway was late",
        remedy: "other programs may need the processor (`gamelane-gateway status` shows how late it is), or a sender merges datagrams: \
                 `ethtool -K IF tx-udp-segmentation off` there",
        is_out: false,
    },
    Kind {
        why: "no memory was left for them",
        remedy: "give it more with --memory, or the queues a lower limit",
        is_out: false,
    },
    Kind {
        why: "the interface where they leave refused them",
        remedy: "it is down, or its MTU is smaller than the other side's",
        is_out: true,
    },
];

/// Time until the same kind of loss is said again.
const SILENCE: Duration = Duration::from_secs(60);
