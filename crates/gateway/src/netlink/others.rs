//! What others set up at an interface.

use gamelane_core::Bitrate;
use gamelane_policy::kernel::operation::Handle;
use gamelane_qdisc::Isolates;
use netlink_bindings::rt_link::Ifinfomsg;
use netlink_bindings::tc::{ActOptionsMsg, IterableActAttrs, OptionsMsg, Request, Tcmsg};

use super::error::Answer;
use super::tc::TCA_EGRESS_REDIR;
use super::{Kernel, KernelError};

/// The disciplines of an interface together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discipline {
    /// Their names, the outermost first: `htb fq_codel`.
    pub names: String,
    /// What they keep apart; `None` if that is not known.
    pub isolates: Option<Isolates>,
    /// Rate of their shaper.
    pub rate: Option<Bitrate>,
}

impl Kernel {
    /// The disciplines of `device`.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn discipline(&mut self, device: &str) -> Result<Discipline, KernelError> {
        let (kinds, mut rate) = self.disciplines(device)?;
        if rate.is_none() && kinds.iter().any(|kind| kind == "htb") {
            rate = self.htb_rate(device).unwrap_or(None);
        }
        let isolates = |kind: &str| match kind {
            "fq_codel" | "fq" | "fq_pie" | "cake" | "cake_mq" | "sfq" | "hhf" => Some(Isolates::Flows),
            "prio" | "drr" | "ets" | "qfq" => Some(Isolates::Classes),
            _ => None,
        };
        let isolates = kinds
            .iter()
            .find_map(|kind| isolates(kind))
            .or_else(|| kinds.iter().all(|kind| PLAIN.contains(&kind.as_str())).then_some(Isolates::Nothing));
        Ok(Discipline { names: kinds.join(" "), isolates, rate })
    }

    /// Interface through whose queue passes what arrives at `device`.
    pub fn redirected(&mut self, device: &str) -> Option<String> {
        let to = [Handle::INGRESS_QDISC, CLSACT_INGRESS]
            .into_iter()
            .find_map(|parent| self.target(device, parent).ok().flatten())?;
        self.name(to).ok()
    }

    /// Kinds of disciplines, the outermost first, and the rate of one that shapes itself.
    fn disciplines(&mut self, device: &str) -> Result<(Vec<String>, Option<Bitrate>), Answer> {
        let ifindex = self.index(device)?;
        let request = Request::new().op_getqdisc_dump(&Tcmsg { ifindex, ..Tcmsg::new() });
        let mut reply = self.socket.request(&request)?;
        let (mut kinds, mut rate) = (Vec::new(), None);
        while let Some((header, attributes)) = reply.recv().transpose()? {
            if header.ifindex != ifindex || header.parent == Handle::INGRESS.0 {
                continue;
            }
            let kind =
                attributes.get_kind().map(|kind| kind.to_string_lossy().into_owned()).unwrap_or_default();
            let bytes = match attributes.get_options() {
                Ok(OptionsMsg::Cake(options)) => options.get_base_rate64().ok(),
                Ok(OptionsMsg::Tbf(options)) => options.get_parms().ok().map(|own| own.rate.rate.into()),
                _ => None,
            };
            rate = rate.or(bytes.filter(|bytes| *bytes > 0).map(|bytes| Bitrate::from_bps(8 * bytes)));
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        Ok((kinds, rate))
    }

    /// Ceiling of HTB's outermost class, if there is one.
    fn htb_rate(&mut self, device: &str) -> Result<Option<Bitrate>, Answer> {
        let ifindex = self.index(device)?;
        let all = libc::NLM_F_DUMP as u16;
        let request = Request::new().set_flags(all).op_gettclass_do(&Tcmsg { ifindex, ..Tcmsg::new() });
        let mut reply = self.socket.request(&request)?;
        let mut rate = None;
        while let Some((header, attributes)) = reply.recv().transpose()? {
            let is_outermost = header.ifindex == ifindex && header.parent == Handle::ROOT.0;
            if let (true, Ok(OptionsMsg::Htb(options))) = (is_outermost, attributes.get_options())
                && let Ok(own) = options.get_parms()
            {
                let ceil = options.get_ceil64().unwrap_or_else(|_| own.ceil.rate.into());
                rate = Some(Bitrate::from_bps(8 * ceil));
            }
        }
        Ok(rate)
    }

    /// Where a filter at `parent` sends packets.
    fn target(&mut self, device: &str, parent: Handle) -> Result<Option<i32>, Answer> {
        let header = Tcmsg { ifindex: self.index(device)?, parent: parent.0, ..Tcmsg::new() };
        let request = Request::new().op_gettfilter_dump(&header);
        let mut reply = self.socket.request(&request)?;
        let mut found = None;
        while let Some((_, attributes)) = reply.recv().transpose()? {
            let actions = match attributes.get_options() {
                Ok(OptionsMsg::U32(options)) => options.get_act().ok(),
                Ok(OptionsMsg::Matchall(options)) => options.get_act().ok(),
                Ok(OptionsMsg::Flower(options)) => options.get_act().ok(),
                Ok(OptionsMsg::Basic(options)) => options.get_act().ok(),
                Ok(OptionsMsg::Bpf(options)) => options.get_act().ok(),
                _ => None,
            };
            found = found.or_else(|| mirrored_to(actions?));
        }
        Ok(found)
    }

    /// Name of an interface.
    fn name(&mut self, index: i32) -> Result<String, Answer> {
        let header = Ifinfomsg { ifi_index: index, ..Ifinfomsg::new() };
        let request = netlink_bindings::rt_link::Request::new().op_getlink_do(&header);
        let mut reply = self.socket.request(&request)?;
        let (_, attributes) = reply.recv_one()?;
        Ok(attributes.get_ifname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default())
    }
}

/// Interface to which one of the actions redirects packets: the last two numbers of `struct tc_mirred` are what it does, and where.
fn mirrored_to<'a>(mut actions: impl Iterator<Item = IterableActAttrs<'a>>) -> Option<i32> {
    actions.find_map(|action| match action.get_options() {
        Ok(ActOptionsMsg::Mirred(options)) => {
            let [does, to] = [20, 24].map(|at| options.get_parms().ok()?.get(at..at + 4)?.try_into().ok());
            (i32::from_ne_bytes(does?) == TCA_EGRESS_REDIR).then_some(i32::from_ne_bytes(to?))
        }
        _ => None,
    })
}

/// The ingress of the discipline `clsact` (`TC_H_MIN_INGRESS`).
const CLSACT_INGRESS: Handle = Handle::INGRESS_QDISC.class(0xfff2);
/// Disciplines without queues for flows or classes.
const PLAIN: [&str; 12] = [
    "pfifo",
    "bfifo",
    "pfifo_fast",
    "pfifo_head_drop",
    "codel",
    "pie",
    "red",
    "tbf",
    "htb",
    "mq",
    "noqueue",
    "netem",
];
