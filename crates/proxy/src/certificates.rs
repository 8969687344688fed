//! The pair's own certificate authority (`gamelane-proxy certificates`): [`folder`] has the files and what changes them, [`facts`]
//! reads a certificate, [`command`] is the command line. Leaves out revocation lists: to shut out an end whose key was stolen, change
//! the authority.

pub mod command;
pub mod facts;
pub mod folder;
mod whole;

pub use folder::make;

/// The name that every far end's certificate has. A near end expects it unless `tls.name` asks for one far end.
pub const FAR_NAME: &str = "far.gamelane";
