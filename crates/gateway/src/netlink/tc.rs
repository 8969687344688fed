//! Disciplines, classes and filters. Numbers of enumerations are those of linux/pkt_sched.h.

use gamelane_core::{Bitrate, Overhead};
use gamelane_policy::kernel::framing::{Bytes, SizeTable};
use gamelane_policy::kernel::operation::{Cake, Class, Handle, Htb, Options, Qdisc, Share, micros};
use gamelane_qdisc::AckFilterMode;
use gamelane_qdisc::cake::config::Isolation;
use gamelane_qdisc::cake::diffserv::Diffserv;
use netlink_bindings::tc::{
    PushAttrs, PushCakeAttrs, Request, TcFifoQopt, TcHtbGlob, TcHtbOpt, TcPrioQopt, TcRatespec, TcSizespec,
    TcU32Sel, Tcmsg,
};
use netlink_bindings::traits::Pusher;

use super::error::Answer;
use super::{Kernel, Mode};

impl Kernel {
    pub(super) fn set_qdisc(&mut self, qdisc: &Qdisc, mode: Mode) -> Result<(), Answer> {
        let Qdisc { device, parent, handle, sizes, options } = qdisc;
        let header = self.header(device, *parent, *handle)?;
        let request = Request::new();
        let request = match mode {
            Mode::Make => request.set_create().set_excl(),
            Mode::Change => request,
        };
        let mut request = request.op_newqdisc_do(&header);
        if let Some(sizes) = sizes {
            push_sizes(request.encode(), sizes);
        }
        push_options(request.encode(), options, mode);
        Ok(self.socket.request(&request)?.recv_ack()?)
    }

    pub(super) fn set_class(&mut self, class: &Class, mode: Mode) -> Result<(), Answer> {
        let header = self.header(&class.device, class.parent, class.handle)?;
        let request = Request::new();
        let request = match mode {
            Mode::Make => request.set_create().set_excl(),
            Mode::Change => request,
        };
        let mut request = request.op_newtclass_do(&header);
        match class.share {
            Share::Drr { quantum } => {
                request.encode().nested_options_drr().push_quantum(quantum).end_nested();
            }
            Share::Htb(rates) => {
                let options = request.encode().nested_options_htb().push_parms(htb(&rates));
                // Rates that 32 bits do not hold are in attributes of their own.
                let options =
                    if bytes(rates.rate) > MOST { options.push_rate64(bytes(rates.rate)) } else { options };
                let options =
                    if bytes(rates.ceil) > MOST { options.push_ceil64(bytes(rates.ceil)) } else { options };
                options.end_nested();
            }
        }
        Ok(self.socket.request(&request)?.recv_ack()?)
    }

    /// Sends all that arrives at `from` through the queue of `to`.
    pub(super) fn redirect(&mut self, from: &str, to: &str) -> Result<(), Answer> {
        let to = self.index(to)?;
        let header = Tcmsg { info: EVERY_FRAME, ..self.header(from, Handle::INGRESS_QDISC, Handle(0))? };
        let mut request = Request::new().set_create().op_newtfilter_do(&header);
        // `struct tc_mirred`: index, capabilities, what follows, two counts, what it does, where.
        let parameters = [0, 0, TC_ACT_STOLEN, 0, 0, TCA_EGRESS_REDIR, to].map(i32::to_ne_bytes).concat();
        request
            .encode()
            .nested_options_u32()
            .push_sel(everything())
            .array_act()
            // The kernel counts actions from 1, and this list from 0.
            .entry_nested()
            .end_nested()
            .entry_nested()
            .nested_options_mirred()
            .push_parms(&parameters)
            .end_nested()
            .end_nested()
            .end_array()
            .end_nested();
        Ok(self.socket.request(&request)?.recv_ack()?)
    }

    /// Puts packets without a class into this one.
    pub(super) fn send_rest(&mut self, device: &str, parent: Handle, class: Handle) -> Result<(), Answer> {
        let header = Tcmsg { info: EVERY_FRAME, ..self.header(device, parent, Handle(0))? };
        let mut request = Request::new().set_create().op_newtfilter_do(&header);
        request.encode().nested_options_u32().push_classid(class.0).push_sel(everything()).end_nested();
        Ok(self.socket.request(&request)?.recv_ack()?)
    }

    fn header(&mut self, device: &str, parent: Handle, handle: Handle) -> Result<Tcmsg, Answer> {
        Ok(Tcmsg { ifindex: self.index(device)?, parent: parent.0, handle: handle.0, ..Tcmsg::new() })
    }
}

fn push_options<P: Pusher>(attributes: PushAttrs<P>, options: &Options, mode: Mode) {
    let is_new = mode == Mode::Make;
    match *options {
        Options::Pfifo { limit } => drop(attributes.nested_options_pfifo(&TcFifoQopt { limit })),
        Options::Bfifo { bytes: limit } => drop(attributes.nested_options_bfifo(&TcFifoQopt { limit })),
        Options::Codel { limit, target, interval, ecn } => drop(
            attributes
                .nested_options_codel()
                .push_limit(limit)
                .push_target(micros(target))
                .push_interval(micros(interval))
                .push_ecn(ecn.into())
                .end_nested(),
        ),
        Options::Pie { limit, target, update, ecn } => drop(
            attributes
                .nested_options_pie()
                .push_limit(limit)
                .push_target(micros(target))
                .push_tupdate(micros(update))
                .push_ecn(ecn.into())
                .end_nested(),
        ),
        Options::FqCodel { limit, flows, quantum, target, interval, ecn } => {
            let inner = attributes.nested_options_fq_codel();
            let inner = if is_new { inner.push_flows(flows) } else { inner };
            inner
                .push_limit(limit)
                .push_quantum(quantum)
                .push_target(micros(target))
                .push_interval(micros(interval))
                .push_ecn(ecn.into())
                .end_nested();
        }
        Options::FqPie { limit, flows, quantum, target, update, ecn } => {
            let inner = attributes.nested_options_fq_pie();
            let inner = if is_new { inner.push_flows(flows) } else { inner };
            inner
                .push_limit(limit)
                .push_quantum(quantum)
                .push_target(micros(target))
                .push_tupdate(micros(update))
                .push_ecn(ecn.into())
                .end_nested();
        }
        Options::Cake(ref cake) => drop(push_cake(attributes.nested_options_cake(), cake).end_nested()),
        Options::DualPi2(options) => drop(
            attributes
                .nested_options_dualpi2()
                .push_limit(options.limit)
                .push_target(micros(options.target))
                .push_tupdate(micros(options.update))
                .push_alpha(options.alpha)
                .push_beta(options.beta)
                .push_coupling(options.coupling)
                .push_step_thresh_us(micros(options.step))
                .push_c_protection(options.classic_percent)
                .end_nested(),
        ),
        Options::Prio { bands } => {
            let options = TcPrioQopt { bands: bands.into(), priomap: [bands - 1; 16] };
            attributes.nested_options_prio(&options);
        }
        Options::Drr => drop(attributes.push_kind(c"drr")),
        Options::Htb { .. } if !is_new => drop(attributes.push_kind(c"htb")),
        Options::Htb { default } => {
            let global = TcHtbGlob {
                version: HTB_VERSION,
                rate2quantum: 10,
                defcls: default.into(),
                ..TcHtbGlob::new()
            };
            attributes.nested_options_htb().push_init(global).end_nested();
        }
        Options::Ingress => drop(attributes.push_kind(c"ingress")),
    }
}

fn push_cake<P: Pusher>(attributes: PushCakeAttrs<P>, cake: &Cake) -> PushCakeAttrs<P> {
    let Bytes { added, least } = Bytes::of(cake.overhead);
    let attributes = attributes
        .push_base_rate64(cake.bandwidth.map_or(0, bytes))
        .push_diffserv_mode(match cake.diffserv {
            Diffserv::Three => 0,
            Diffserv::Four => 1,
            Diffserv::Eight => 2,
            Diffserv::BestEffort => 3,
            Diffserv::Precedence => 4,
        })
        .push_flow_mode(match cake.isolation {
            Isolation::Blind => 0,
            Isolation::Sources => 1,
            Isolation::Destinations => 2,
            Isolation::Hosts => 3,
            Isolation::Flows => 4,
            Isolation::DualSource => 5,
            Isolation::DualDestination => 6,
            Isolation::Triple => 7,
        })
        .push_ack_filter(match cake.ack_filter {
            AckFilterMode::Off => 0,
            AckFilterMode::Conservative => 1,
            AckFilterMode::Aggressive => 2,
        })
        .push_ingress(cake.ingress.into())
        .push_wash(cake.wash.into())
        .push_rtt(micros(cake.rtt))
        .push_split_gso(1)
        .push_atm(match cake.overhead {
            Overhead::Atm { .. } => 1,
            Overhead::Ptm { .. } => 2,
            _ => 0,
        })
        .push_overhead(added)
        .push_mpu(least);
    // A kernel that tracks no connections refuses the option, even to switch it off.
    let attributes = if cake.nat { attributes.push_nat(1) } else { attributes };
    match cake.memory {
        Some(memory) => attributes.push_memory(memory),
        None => attributes,
    }
}

fn push_sizes<P: Pusher>(attributes: PushAttrs<P>, sizes: &SizeTable) {
    let entries = sizes.entries();
    let mut base = TcSizespec {
        overhead: sizes.overhead,
        linklayer: if sizes.atm { TC_LINKLAYER_ATM } else { TC_LINKLAYER_ETHERNET },
        mpu: sizes.least,
        ..TcSizespec::new()
    };
    if entries.is_some() {
        base.cell_align = -1;
        base.mtu = SizeTable::ENTRIES - 1;
        base.tsize = SizeTable::ENTRIES;
    }
    let table = attributes.nested_stab().push_base(base);
    match entries {
        None => table.end_nested(),
        Some(entries) => {
            table.push_data(&entries.into_iter().flat_map(u16::to_ne_bytes).collect::<Vec<_>>()).end_nested()
        }
    };
}

/// Matches every packet. More kernels have `u32` than `matchall`.
fn everything() -> TcU32Sel {
    TcU32Sel { flags: TC_U32_TERMINAL, nkeys: 1, ..TcU32Sel::new() }
}

fn htb(rates: &Htb) -> TcHtbOpt {
    let spec = |rate: Bitrate| TcRatespec {
        rate: bytes(rate).min(MOST) as u32,
        linklayer: TC_LINKLAYER_ETHERNET as u8,
        ..TcRatespec::new()
    };
    TcHtbOpt {
        rate: spec(rates.rate),
        ceil: spec(rates.ceil),
        buffer: ticks(rates.burst, rates.rate),
        cbuffer: ticks(rates.cburst, rates.ceil),
        quantum: rates.quantum,
        prio: rates.priority.into(),
        ..TcHtbOpt::new()
    }
}

/// Bytes per second, as the kernel takes rates.
const fn bytes(rate: Bitrate) -> u64 {
    rate.bps() / 8
}

/// Time to send `count` bytes, in the kernel's ticks of 64 ns (`PSCHED_SHIFT`). Whole microseconds, as `tc` counts.
fn ticks(count: u32, rate: Bitrate) -> u32 {
    let micros = u64::from(count) * 1_000_000 / bytes(rate).max(1);
    u32::try_from(micros * 1000 / 64).unwrap_or(u32::MAX)
}

/// Largest rate in bytes per second in a field of 32 bits.
const MOST: u64 = u32::MAX as u64;
/// Priority 1, and `ETH_P_ALL` in network order.
const EVERY_FRAME: u32 = 1 << 16 | 0x0003_u16.to_be() as u32;
const TC_U32_TERMINAL: u8 = 1;
const TC_ACT_STOLEN: i32 = 4;
pub(super) const TCA_EGRESS_REDIR: i32 = 1;
const TC_LINKLAYER_ETHERNET: u32 = 1;
const TC_LINKLAYER_ATM: u32 = 2;
/// `TC_HTB_PROTOVER`
const HTB_VERSION: u32 = 3;
