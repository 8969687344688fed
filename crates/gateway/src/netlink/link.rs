//! IFB interfaces.

use netlink_bindings::rt_link::{Ifinfomsg, Request};

use super::Kernel;
use super::error::Answer;
use crate::status::LinkStatus;

impl Kernel {
    /// Number of an interface.
    pub(super) fn index(&mut self, name: &str) -> Result<i32, Answer> {
        let mut request = Request::new().op_getlink_do(&Ifinfomsg::new());
        request.encode().push_ifname_bytes(name.as_bytes());
        Ok(self.socket.request(&request)?.recv_one()?.0.ifi_index)
    }

    /// Number of an interface; 0, which is none's, if there is no such interface.
    pub fn number(&mut self, name: &str) -> u32 {
        self.index(name).map_or(0, i32::cast_unsigned)
    }

    /// Condition of an interface; `None` if there is no such interface.
    pub fn link(&mut self, name: &str) -> Option<LinkStatus> {
        let mut request = Request::new().op_getlink_do(&Ifinfomsg::new());
        request.encode().push_ifname_bytes(name.as_bytes());
        let mut reply = self.socket.request(&request).ok()?;
        let (header, attributes) = reply.recv_one().ok()?;
        let has = |flag: libc::c_int| header.ifi_flags & flag as u32 != 0;
        Some(LinkStatus {
            up: has(libc::IFF_UP),
            link: has(libc::IFF_RUNNING),
            mtu: attributes.get_mtu().ok()?,
        })
    }

    /// Makes an IFB interface, unless it is there, and switches it on.
    pub(super) fn make_ifb(&mut self, name: &str) -> Result<(), Answer> {
        let up = libc::IFF_UP as u32;
        let mut header = Ifinfomsg { ifi_flags: up, ifi_change: up, ..Ifinfomsg::new() };
        if let Ok(index) = self.index(name) {
            header.ifi_index = index;
            let request = Request::new().op_setlink_do(&header);
            return Ok(self.socket.request(&request)?.recv_ack()?);
        }
        let mut request = Request::new().set_create().set_excl().op_newlink_do(&header);
        request.encode().push_ifname_bytes(name.as_bytes()).nested_linkinfo().push_kind(c"ifb").end_nested();
        Ok(self.socket.request(&request)?.recv_ack()?)
    }

    /// Removes an interface.
    pub(super) fn remove_link(&mut self, name: &str) -> Result<(), Answer> {
        let header = Ifinfomsg { ifi_index: self.index(name)?, ..Ifinfomsg::new() };
        let request = Request::new().op_dellink_do(&header);
        Ok(self.socket.request(&request)?.recv_ack()?)
    }
}
