//! What the kernel refused.

use std::io::Error;

use gamelane_policy::kernel::operation::{Operation, Qdisc};
use gamelane_policy::kernel::refused::USER;
use netlink_socket2::ReplyError;

use super::Foreign;

/// Why a plan could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The kernel lacks a discipline, or nftables.
    #[error(
        "{place}: this kernel has no {module}\n  hint:    `modprobe {module}` says why; --engine user needs no module; {USER}"
    )]
    NoModule {
        /// The interface, or the table.
        place: String,
        /// Name of the module.
        module: String,
    },
    /// Somebody else's settings are there.
    #[error("{0}\n  hint:    --replace removes them; at the end they do not come back")]
    Foreign(Foreign),
    /// A step failed.
    #[error("the kernel refused `{line}`: {error}")]
    Step {
        /// What was to be done, as a line for a shell.
        line: String,
        /// What the kernel said.
        error: String,
    },
    /// Something else failed.
    #[error("{0}")]
    Other(String),
}

/// An answer of the kernel: what it said, and its number.
#[derive(Debug)]
pub(super) struct Answer {
    number: Option<i32>,
    text: String,
}

impl Answer {
    /// Whether what was to be removed is not there.
    pub(super) fn is_absent(&self) -> bool {
        matches!(self.number, Some(libc::ENOENT | libc::ENODEV))
    }

    /// The error of a step.
    pub(super) fn during(self, operation: &Operation) -> KernelError {
        // ENOENT for a new discipline: its module is neither there nor loads.
        if let (Some(libc::ENOENT), Operation::Qdisc(Qdisc { device, options, .. })) =
            (self.number, operation)
        {
            return KernelError::NoModule {
                place: device.clone(),
                module: format!("sch_{}", options.kind()),
            };
        }
        // The library reports a socket that cannot be opened as error 1, whatever the reason.
        if let (Some(libc::EPERM | libc::EPROTONOSUPPORT | libc::EOPNOTSUPP), Operation::Table(table)) =
            (self.number, operation)
        {
            return KernelError::NoModule {
                place: format!("table {}", table.at),
                module: "nf_tables".into(),
            };
        }
        let line = operation.to_string().lines().next().unwrap_or_default().to_owned();
        KernelError::Step { line, error: self.text }
    }
}

impl From<ReplyError> for Answer {
    fn from(error: ReplyError) -> Self {
        let said = error
            .ext_ack()
            .and_then(|attributes| Some(attributes.get_msg().ok()?.to_string_lossy().into_owned()));
        let error = error.as_io_error();
        let text = said.map_or_else(|| error.to_string(), |said| format!("{error}: {said}"));
        Self { number: error.raw_os_error(), text }
    }
}

impl From<Error> for Answer {
    fn from(error: Error) -> Self {
        Self { number: error.raw_os_error(), text: error.to_string() }
    }
}

impl From<Answer> for KernelError {
    fn from(answer: Answer) -> Self {
        Self::Other(answer.text)
    }
}
