//! Carries a plan out by netlink (rtnetlink(7), nf_tables), without `tc` or `nft`. All or nothing: if a step fails, those before it
//! are undone.

mod counters;
mod error;
mod link;
mod look;
mod nft;
mod others;
mod tc;
mod undo;

use gamelane_policy::kernel::operation::{Family, Operation, Options, Qdisc, TableName};
use netlink_socket2::NetlinkSocket;

pub use counters::Counters;
pub use error::KernelError;
pub use look::Foreign;
pub use others::Discipline;
pub use undo::Undo;

/// Sockets to the kernel, in the network namespace of the thread that uses them first.
#[derive(Default)]
pub struct Kernel {
    socket: NetlinkSocket,
}

/// Whether something is made, or has its options changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Make,
    Change,
}

impl Kernel {
    /// Opens the sockets. Later they may no longer be opened.
    ///
    /// # Errors
    /// The kernel has no sockets for queue disciplines.
    pub fn open(&mut self) -> Result<(), KernelError> {
        self.index("lo")?;
        // A kernel without nftables says so when a table is loaded.
        self.has_table(&TableName::of(Family::Inet, ""));
        Ok(())
    }

    /// Carries out all `operations`, or none.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn apply(&mut self, operations: &[Operation]) -> Result<(), KernelError> {
        for (done, operation) in operations.iter().enumerate() {
            if let Err(error) = self.carry_out(operation, Mode::Make) {
                // The first error says more.
                let _ = self.undo_all(&Undo::of(&operations[..done]));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Turns what `before` did into what `after` says. If both have the same disciplines at the same places, no packet is lost.
    /// Otherwise those that wait are lost, and it returns true. With `replace` it may remove what others set at new places.
    ///
    /// # Errors
    /// What the kernel refused. What `before` did is in force again then.
    pub fn change(
        &mut self,
        before: &[Operation],
        after: &[Operation],
        replace: bool,
    ) -> Result<bool, KernelError> {
        let same: Vec<_> = before.iter().zip(after).collect();
        if before.len() != after.len() || !same.iter().all(|(one, other)| changes_into(one, other)) {
            self.undo_all(&Undo::of(before))?;
            return match self.make_room(after, replace).and_then(|_| self.apply(after)) {
                Ok(()) => Ok(true),
                Err(error) => {
                    self.apply(before)?;
                    Err(error)
                }
            };
        }
        for (number, (old, new)) in same.iter().enumerate() {
            if old == new {
                continue;
            }
            if let Err(error) = self.carry_out(new, Mode::Change) {
                for (old, _) in same[..number].iter().filter(|(old, new)| old != new) {
                    self.carry_out(old, Mode::Change)?;
                }
                return Err(error);
            }
        }
        Ok(false)
    }

    /// Undoes what gateways did, each step if there is something to undo. Returns the steps that did something.
    ///
    /// # Errors
    /// The first that the kernel refused. The others are carried out.
    pub fn undo_all(&mut self, all: &[Undo]) -> Result<Vec<Undo>, KernelError> {
        let (mut done, mut failed) = (Vec::new(), None);
        for undo in all.iter().rev() {
            match self.undo(undo) {
                Ok(true) => done.push(undo.clone()),
                Ok(false) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(done), Err)
    }

    fn carry_out(&mut self, operation: &Operation, mode: Mode) -> Result<(), KernelError> {
        let done = match operation {
            Operation::Ifb { name } => self.make_ifb(name),
            Operation::Qdisc(qdisc) => self.set_qdisc(qdisc, mode),
            Operation::Class(class) => self.set_class(class, mode),
            Operation::Redirect { from, to } => self.redirect(from, to),
            Operation::Rest { device, parent, class } => self.send_rest(device, *parent, *class),
            Operation::Table(table) => self.load(table),
        };
        done.map_err(|error| error.during(operation))
    }
}

/// Whether the kernel can turn one step into the other without losing packets.
fn changes_into(one: &Operation, other: &Operation) -> bool {
    match (one, other) {
        (Operation::Qdisc(one), Operation::Qdisc(other)) => {
            let place =
                |qdisc: &Qdisc| (qdisc.device.clone(), qdisc.parent, qdisc.handle, qdisc.options.kind());
            // The kernel can change a size table, but not remove it.
            place(one) == place(other)
                && flows(&one.options) == flows(&other.options)
                && one.sizes.is_some() == other.sizes.is_some()
                && !matches!((&one.options, &other.options), (Options::Htb { default: a }, Options::Htb { default: b }) if a != b)
        }
        (Operation::Class(one), Operation::Class(other)) => {
            (&one.device, one.parent, one.handle) == (&other.device, other.parent, other.handle)
        }
        (Operation::Table(one), Operation::Table(other)) => one.at == other.at,
        _ => one == other,
    }
}

/// The number of flow queues, which the kernel cannot change.
const fn flows(options: &Options) -> Option<u32> {
    match options {
        Options::FqCodel { flows, .. } | Options::FqPie { flows, .. } => Some(*flows),
        _ => None,
    }
}
