//! What is set on interfaces already.

use std::fmt;

use gamelane_policy::kernel::operation::{Handle, Operation};
use netlink_bindings::tc::{Request, Tcmsg};

use super::error::Answer;
use super::{Kernel, KernelError, Mode, Undo};

/// A queue discipline that somebody else set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The interface.
    pub device: String,
    /// Name of the discipline.
    pub kind: String,
    /// Its number.
    pub handle: Handle,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, kind, handle } = self;
        write!(
            f,
            "{device}: somebody else set its queue discipline, {kind} {handle}; the kernel's own have the number 0:"
        )
    }
}

const fn own(is_there: bool) -> There {
    if is_there { There::Own } else { There::Nothing }
}

/// What is at a place.
pub(super) enum There {
    Nothing,
    /// What an earlier run kept.
    Own,
    Foreign(Foreign),
}

impl Kernel {
    /// Makes room for `operations`: removes what an earlier run of a gateway kept, and, if allowed to `replace`, what others set.
    /// Returns what it removed of others.
    ///
    /// # Errors
    /// Something of others is there and must stay. Nothing was changed then.
    pub fn make_room(
        &mut self,
        operations: &[Operation],
        replace: bool,
    ) -> Result<Vec<Foreign>, KernelError> {
        let (mut found, mut foreign) = (Vec::new(), Vec::new());
        for undo in Undo::of(operations) {
            match self.there(&undo)? {
                There::Nothing => {}
                There::Own => found.push(undo),
                There::Foreign(one) if !replace => return Err(KernelError::Foreign(one)),
                There::Foreign(one) => {
                    foreign.push(one);
                    found.push(undo);
                }
            }
        }
        for undo in found.iter().rev() {
            self.remove(undo)?;
        }
        Ok(foreign)
    }

    /// Steps of `operations` that others have removed or replaced since, as what would undo them.
    pub fn lost(&mut self, operations: &[Operation]) -> Vec<Undo> {
        let mut all = Undo::of(operations);
        all.retain(|undo| !matches!(self.there(undo), Ok(There::Own)));
        all
    }

    /// Loads the tables of `operations` again.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn load_again(&mut self, operations: &[Operation]) -> Result<(), KernelError> {
        for operation in operations.iter().filter(|operation| matches!(operation, Operation::Table(_))) {
            self.carry_out(operation, Mode::Make)?;
        }
        Ok(())
    }

    pub(super) fn there(&mut self, undo: &Undo) -> Result<There, Answer> {
        Ok(match undo {
            Undo::Link(name) => own(self.index(name).is_ok()),
            Undo::Table(at) => own(self.has_table(at)),
            Undo::Root(device) => match self.at(device, Handle::ROOT) {
                Ok(Some(found)) if found.handle == Handle::OWN => There::Own,
                Ok(Some(found)) if found.handle.0 >> 16 != 0 => There::Foreign(found),
                // An IFB interface that is not made yet has no discipline.
                Ok(_) | Err(_) => There::Nothing,
            },
            Undo::Ingress(device) => match self.at(device, Handle::INGRESS) {
                Ok(None) | Err(_) => There::Nothing,
                Ok(Some(found)) => match self.index(&gamelane_policy::kernel::ifb_name(device)) {
                    Ok(_) => There::Own,
                    Err(_) => There::Foreign(found),
                },
            },
        })
    }

    /// The discipline at the outermost place or at the ingress of an interface.
    fn at(&mut self, device: &str, parent: Handle) -> Result<Option<Foreign>, Answer> {
        let ifindex = self.index(device)?;
        let request = Request::new().op_getqdisc_dump(&Tcmsg { ifindex, ..Tcmsg::new() });
        let mut reply = self.socket.request(&request)?;
        let mut found = None;
        while let Some((header, attributes)) = reply.recv().transpose()? {
            // Kernels before 4.5 list the disciplines of every interface.
            if header.ifindex == ifindex && header.parent == parent.0 {
                let kind =
                    attributes.get_kind().map(|kind| kind.to_string_lossy().into_owned()).unwrap_or_default();
                found = Some(Foreign { device: device.into(), kind, handle: Handle(header.handle) });
            }
        }
        Ok(found)
    }
}
