//! What undoes a plan, in words that another process can be given.

use std::fmt;
use std::str::FromStr;

use gamelane_policy::kernel::ifb_name;
use gamelane_policy::kernel::operation::{Family, Handle, Operation, Qdisc, TableName};
use netlink_bindings::tc::{Request, Tcmsg};

use super::error::Answer;
use super::look::There;
use super::{Kernel, KernelError};

/// A step that undoes others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undo {
    /// Removes the outermost discipline of an interface; its default takes over.
    Root(String),
    /// Removes the discipline `ingress` of an interface, and its filters.
    Ingress(String),
    /// Removes an interface.
    Link(String),
    /// Removes the gateway's table.
    Table(TableName),
}

impl Undo {
    /// What undoes `operations`, in their order. To be done backwards.
    pub fn of(operations: &[Operation]) -> Vec<Self> {
        let one = |operation: &Operation| match operation {
            Operation::Ifb { name } => Some(Self::Link(name.clone())),
            Operation::Qdisc(Qdisc { device, parent: Handle::ROOT, .. }) => Some(Self::Root(device.clone())),
            Operation::Qdisc(Qdisc { device, parent: Handle::INGRESS, .. }) => {
                Some(Self::Ingress(device.clone()))
            }
            Operation::Table(table) => Some(Self::Table(table.at.clone())),
            _ => None,
        };
        operations.iter().filter_map(one).collect()
    }

    /// What undoes any plan between two interfaces, in the order of plans.
    pub fn any(lan: &str, wan: &str) -> Vec<Self> {
        let mut all = vec![
            Self::Link(ifb_name(wan)),
            Self::Root(wan.into()),
            Self::Root(lan.into()),
            Self::Ingress(wan.into()),
        ];
        all.extend([Family::Inet, Family::Bridge].map(|family| Self::Table(TableName::of(family, wan))));
        all
    }
}

impl fmt::Display for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(device) => write!(f, "root={device}"),
            Self::Ingress(device) => write!(f, "ingress={device}"),
            Self::Link(name) => write!(f, "link={name}"),
            Self::Table(at) => write!(f, "table={at}"),
        }
    }
}

impl FromStr for Undo {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (what, of) = text.split_once('=').ok_or(())?;
        let table = |of: &str| {
            let (family, name) = of.split_once(' ')?;
            let family = [Family::Inet, Family::Bridge].into_iter().find(|own| own.name() == family)?;
            Some(TableName { family, name: name.into() })
        };
        match what {
            "root" => Ok(Self::Root(of.into())),
            "ingress" => Ok(Self::Ingress(of.into())),
            "link" => Ok(Self::Link(of.into())),
            "table" => table(of).map(Self::Table).ok_or(()),
            _ => Err(()),
        }
    }
}

impl Kernel {
    /// Carries out one step, if what it removes is a gateway's. Returns true if there was something.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn undo(&mut self, undo: &Undo) -> Result<bool, KernelError> {
        match self.there(undo)? {
            There::Own => self.remove(undo),
            There::Nothing | There::Foreign(_) => Ok(false),
        }
    }

    /// Removes what is there, whoever set it.
    pub(super) fn remove(&mut self, undo: &Undo) -> Result<bool, KernelError> {
        let done = match undo {
            Undo::Root(device) => self.remove_qdisc(device, Handle::ROOT),
            Undo::Ingress(device) => self.remove_qdisc(device, Handle::INGRESS),
            Undo::Link(name) => self.remove_link(name),
            Undo::Table(at) => self.delete_table(at),
        };
        match done {
            Ok(()) => Ok(true),
            Err(answer) if answer.is_absent() => Ok(false),
            Err(answer) => Err(answer.into()),
        }
    }

    fn remove_qdisc(&mut self, device: &str, parent: Handle) -> Result<(), Answer> {
        let header = Tcmsg { ifindex: self.index(device)?, parent: parent.0, ..Tcmsg::new() };
        let request = Request::new().op_delqdisc_do(&header);
        Ok(self.socket.request(&request)?.recv_ack()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_survives_being_written_and_read() {
        for undo in [
            Undo::Root("eth0".into()),
            Undo::Ingress("ppp=0".into()),
            Undo::Link("gl-eth0".into()),
            Undo::Table(TableName::of(Family::Bridge, "eth0.7")),
        ] {
            assert_eq!(undo.to_string().parse(), Ok(undo));
        }
        assert_eq!("table=ip gamelane".parse::<Undo>(), Err(()));
    }
}
