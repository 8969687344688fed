//! The table of nftables. A transaction replaces it as a whole, so no packet meets half of it.

use std::net::IpAddr;

use gamelane_core::{Direction, FlowKey};
use gamelane_policy::kernel::operation::{Chain, Family, NftRule, Table, TableName};
use gamelane_policy::kernel::test::{End, GameSet, Test};
use gamelane_qdisc::classify::{Prefix, Span};
use netlink_bindings::nftables::{
    Chained, CmpOps, MetaKeys, Nfgenmsg, PayloadBase, PushExprListAttrs, PushRuleAttrs, PushSetelemListAttrs,
    Registers, Request, VerdictCode,
};
use netlink_bindings::traits::Pusher;

use super::error::Answer;
use super::{Kernel, KernelError};

impl Kernel {
    pub(super) fn load(&mut self, table: &Table) -> Result<(), Answer> {
        let header = header(table.at.family);
        let name = table.at.name.as_bytes();
        self.transaction(|batch| {
            // A table that does not exist cannot be deleted, so it is made first.
            batch.request().set_create().op_newtable_do(&header).encode().push_name_bytes(name);
            batch.request().op_deltable_do(&header).encode().push_name_bytes(name);
            batch.request().set_create().op_newtable_do(&header).encode().push_name_bytes(name);
            for set in &table.sets {
                push_set(batch, &table.at, *set);
            }
            for chain in &table.chains {
                push_chain(batch, &table.at, chain);
            }
        })
    }

    /// Adds and removes flows in the sets of games. All or nothing: if one to be removed is not there, nothing is done.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn change_games(
        &mut self,
        table: &Table,
        add: &[FlowKey],
        remove: &[FlowKey],
    ) -> Result<(), KernelError> {
        let header = header(table.at.family);
        Ok(self.transaction(|batch| {
            for set in &table.sets {
                for some in elements(*set, remove).chunks(TOGETHER) {
                    push_elements(batch.request().op_delsetelem_do(&header).encode(), &table.at, *set, some);
                }
                for some in elements(*set, add).chunks(TOGETHER) {
                    push_elements(
                        batch.request().set_create().op_newsetelem_do(&header).encode(),
                        &table.at,
                        *set,
                        some,
                    );
                }
            }
        })?)
    }

    /// Makes the sets of games hold these flows and no others, whatever they hold. No packet meets an empty set meanwhile.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn set_games(&mut self, table: &Table, games: &[FlowKey]) -> Result<(), KernelError> {
        let header = header(table.at.family);
        Ok(self.transaction(|batch| {
            for set in &table.sets {
                let name = table.at.name.as_bytes();
                // Without elements it means all.
                let mut all = batch.request().op_delsetelem_do(&header);
                all.encode().push_table_bytes(name).push_set_bytes(set.name().as_bytes());
                for some in elements(*set, games).chunks(TOGETHER) {
                    push_elements(
                        batch.request().set_create().op_newsetelem_do(&header).encode(),
                        &table.at,
                        *set,
                        some,
                    );
                }
            }
        })?)
    }

    pub(super) fn delete_table(&mut self, at: &TableName) -> Result<(), Answer> {
        self.transaction(|batch| {
            batch.request().op_deltable_do(&header(at.family)).encode().push_name_bytes(at.name.as_bytes());
        })
    }

    /// Whether the gateway's table is there.
    pub(super) fn has_table(&mut self, at: &TableName) -> bool {
        let mut request = Request::new().op_gettable_do(&header(at.family));
        request.encode().push_name_bytes(at.name.as_bytes());
        self.socket.request(&request).is_ok_and(|mut reply| reply.recv_one().is_ok())
    }

    fn transaction(&mut self, fill: impl FnOnce(&mut Chained<'static>)) -> Result<(), Answer> {
        let mut batch = Chained::new(self.socket.reserve_seq(LONGEST_BATCH));
        let mut edge = Nfgenmsg::new();
        edge.set_res_id(NFNL_SUBSYS_NFTABLES);
        batch.request().op_batch_begin_do(&edge);
        fill(&mut batch);
        batch.request().op_batch_end_do(&edge);
        let batch = batch.finalize();
        Ok(self.socket.request_chained(&batch)?.recv_all()?)
    }
}

fn header(family: Family) -> Nfgenmsg {
    let nfgen_family = match family {
        Family::Inet => NFPROTO_INET,
        Family::Bridge => NFPROTO_BRIDGE,
    };
    Nfgenmsg { nfgen_family, ..Nfgenmsg::new() }
}

/// Number of [`Family::hook`].
const fn hook(family: Family) -> u32 {
    match family {
        // NF_INET_POST_ROUTING
        Family::Inet => 4,
        // NF_BR_FORWARD
        Family::Bridge => 2,
    }
}

fn push_set(batch: &mut Chained<'static>, at: &TableName, set: GameSet) {
    let address = if set.0 == 4 { TYPE_IPV4 } else { TYPE_IPV6 };
    // `nft` reads types of six bits each there.
    let types = [address, TYPE_PORT, address, TYPE_PORT, TYPE_PROTOCOL];
    let kind = types.iter().fold(0, |kind, one| kind << 6 | one);
    batch
        .request()
        .set_create()
        .op_newset_do(&header(at.family))
        .encode()
        .push_table_bytes(at.name.as_bytes())
        .push_name_bytes(set.name().as_bytes())
        .push_flags(0)
        .push_key_type(kind)
        .push_key_len(2 * (set.address_len() + 4) + 4)
        .push_id(set.0.into());
}

fn elements(set: GameSet, flows: &[FlowKey]) -> Vec<Vec<u8>> {
    flows.iter().filter_map(|flow| set.element(flow)).collect()
}

fn push_elements<P: Pusher>(
    list: PushSetelemListAttrs<P>,
    at: &TableName,
    set: GameSet,
    elements: &[Vec<u8>],
) {
    let mut list =
        list.push_table_bytes(at.name.as_bytes()).push_set_bytes(set.name().as_bytes()).nested_elements();
    for element in elements {
        list = list.nested_elem().nested_key().push_value(element).end_nested().end_nested();
    }
    list.end_nested();
}

fn push_chain(batch: &mut Chained<'static>, at: &TableName, chain: &Chain) {
    let family = at.family;
    batch
        .request()
        .set_create()
        .op_newchain_do(&header(family))
        .encode()
        .push_table_bytes(at.name.as_bytes())
        .push_name_bytes(chain.name.as_bytes())
        .nested_hook()
        .push_num(hook(family))
        .push_priority(Chain::PRIORITY)
        .end_nested()
        .push_policy(ACCEPT)
        .push_type(c"filter");
    push_rule(batch, at, chain, |expressions| {
        accept(by_name(expressions, MetaKeys::Oifname, CmpOps::Neq, &chain.device))
    });
    for NftRule { tests, class, .. } in &chain.rules {
        push_rule(batch, at, chain, |mut expressions| {
            for test in tests {
                expressions = push_test(expressions, family, test);
            }
            let expressions = expressions
                .nested_elem()
                .nested_data_immediate()
                .push_dreg(REGISTER)
                .nested_data()
                .push_value(&class.0.to_ne_bytes())
                .end_nested()
                .end_nested()
                .end_nested()
                .nested_elem()
                .nested_data_meta()
                .push_key(MetaKeys::Priority as u32)
                .push_sreg(REGISTER)
                .end_nested()
                .end_nested();
            accept(expressions)
        });
    }
}

/// The expressions of a rule, to which more can be added.
type List<P> = PushExprListAttrs<P>;
type Rule<'a> = PushRuleAttrs<&'a mut Vec<u8>>;

fn push_rule(
    batch: &mut Chained<'static>,
    at: &TableName,
    chain: &Chain,
    fill: impl for<'a> FnOnce(List<Rule<'a>>) -> List<Rule<'a>>,
) {
    let mut request = batch.request().set_create().set_append().op_newrule_do(&header(at.family));
    let expressions = request
        .encode()
        .push_table_bytes(at.name.as_bytes())
        .push_chain_bytes(chain.name.as_bytes())
        .nested_expressions();
    fill(expressions).end_nested();
}

fn accept<P: Pusher>(expressions: List<P>) -> List<P> {
    expressions
        .nested_elem()
        .nested_data_immediate()
        .push_dreg(Registers::RegVerdict as u32)
        .nested_data()
        .nested_verdict()
        .push_code(VerdictCode::Accept as u32)
        .end_nested()
        .end_nested()
        .end_nested()
        .end_nested()
}

fn push_test<P: Pusher>(expressions: List<P>, family: Family, test: &Test) -> List<P> {
    let load = |base: PayloadBase, offset, len| Field { base: base as u32, offset, len };
    match test {
        Test::NotFrom(device) => by_name(expressions, MetaKeys::Iifname, CmpOps::Neq, device),
        Test::Version(version) => match family {
            Family::Inet => {
                let protocol = if *version == 4 { libc::AF_INET } else { libc::AF_INET6 } as u8;
                compare(meta(expressions, MetaKeys::Nfproto), CmpOps::Eq, &[protocol])
            }
            Family::Bridge => {
                let protocol = if *version == 4 { libc::ETH_P_IP } else { libc::ETH_P_IPV6 } as u16;
                compare(meta(expressions, MetaKeys::Protocol), CmpOps::Eq, &protocol.to_be_bytes())
            }
        },
        Test::Protocol(protocol) => {
            compare(meta(expressions, MetaKeys::L4Proto), CmpOps::Eq, &[protocol.number()])
        }
        Test::Address(end, prefix) => {
            let bytes = octets(prefix.address);
            let first = if prefix.address.is_ipv4() { 12 } else { 8 };
            let offset = first + if *end == End::Source { 0 } else { bytes.len() as u32 };
            let expressions =
                field(expressions, &load(PayloadBase::NetworkHeader, offset, bytes.len() as u32));
            let mask = mask(prefix, bytes.len());
            let value: Vec<u8> = bytes.iter().zip(&mask).map(|(byte, mask)| byte & mask).collect();
            compare(masked(expressions, &mask), CmpOps::Eq, &value)
        }
        Test::Port(end, span) => {
            let offset = if *end == End::Source { 0 } else { 2 };
            within(expressions, &load(PayloadBase::TransportHeader, offset, 2), *span)
        }
        Test::Length(version, span) => {
            let offset = if *version == 4 { 2 } else { 4 };
            within(expressions, &load(PayloadBase::NetworkHeader, offset, 2), *span)
        }
        // Upper six bits of a byte, or of the traffic class, which begins in the middle of one.
        Test::Dscp(4, span) => {
            let expressions = field(expressions, &load(PayloadBase::NetworkHeader, 1, 1));
            between(masked(expressions, &[0xfc]), [span.low << 2], [span.high << 2])
        }
        Test::Dscp(_, span) => {
            let expressions = field(expressions, &load(PayloadBase::NetworkHeader, 0, 2));
            let bytes = |value: u8| (u16::from(value) << 6).to_be_bytes();
            between(masked(expressions, &[0x0f, 0xc0]), bytes(span.low), bytes(span.high))
        }
        Test::Game(version, direction) => is_game(expressions, GameSet(*version), *direction),
        Test::AckAlone => {
            let expressions = field(expressions, &load(PayloadBase::TransportHeader, 13, 1));
            compare(masked(expressions, &[0x3f]), CmpOps::Eq, &[0x10])
        }
    }
}

/// Looks a packet's flow up: address and port at home, those of the other end, protocol, in registers of four bytes.
fn is_game<P: Pusher>(expressions: List<P>, set: GameSet, direction: Direction) -> List<P> {
    let len = set.address_len();
    let first = if set.0 == 4 { 12 } else { 8 };
    let ends = match direction {
        Direction::Up => [0, 1],
        Direction::Down => [1, 0],
    };
    let (mut register, mut expressions) = (Registers::Reg3200 as u32, expressions);
    for end in ends {
        let address = Field { base: PayloadBase::NetworkHeader as u32, offset: first + end * len, len };
        let port = Field { base: PayloadBase::TransportHeader as u32, offset: 2 * end, len: 2 };
        for field in [address, port] {
            expressions = field_to(expressions, register, &field);
            register += field.len.div_ceil(4);
        }
    }
    expressions
        .nested_elem()
        .nested_data_meta()
        .push_key(MetaKeys::L4Proto as u32)
        .push_dreg(register)
        .end_nested()
        .end_nested()
        .nested_elem()
        .nested_data_lookup()
        .push_set_bytes(set.name().as_bytes())
        // The bindings (0.3.5) give the set's number the place of the register (`NFTA_LOOKUP_SREG`, 2).
        .push_set_id(Registers::Reg3200 as u32)
        .end_nested()
        .end_nested()
}

/// A field of a packet.
struct Field {
    base: u32,
    offset: u32,
    len: u32,
}

fn field<P: Pusher>(expressions: List<P>, field: &Field) -> List<P> {
    field_to(expressions, REGISTER, field)
}

fn field_to<P: Pusher>(expressions: List<P>, register: u32, field: &Field) -> List<P> {
    expressions
        .nested_elem()
        .nested_data_payload()
        .push_dreg(register)
        .push_base(field.base)
        .push_offset(field.offset)
        .push_len(field.len)
        .end_nested()
        .end_nested()
}

fn within<P: Pusher>(expressions: List<P>, of: &Field, span: Span<u16>) -> List<P> {
    between(field(expressions, of), span.low.to_be_bytes(), span.high.to_be_bytes())
}

/// Compares big-endian numbers.
fn between<const N: usize, P: Pusher>(expressions: List<P>, low: [u8; N], high: [u8; N]) -> List<P> {
    if low == high {
        return compare(expressions, CmpOps::Eq, &low);
    }
    compare(compare(expressions, CmpOps::Gte, &low), CmpOps::Lte, &high)
}

fn meta<P: Pusher>(expressions: List<P>, key: MetaKeys) -> List<P> {
    expressions
        .nested_elem()
        .nested_data_meta()
        .push_key(key as u32)
        .push_dreg(REGISTER)
        .end_nested()
        .end_nested()
}

fn by_name<P: Pusher>(expressions: List<P>, key: MetaKeys, how: CmpOps, device: &str) -> List<P> {
    let mut name = [0; IFNAMSIZ];
    name.iter_mut().zip(device.bytes()).for_each(|(place, byte)| *place = byte);
    compare(meta(expressions, key), how, &name)
}

fn masked<P: Pusher>(expressions: List<P>, mask: &[u8]) -> List<P> {
    if mask.iter().all(|byte| *byte == 0xff) {
        return expressions;
    }
    expressions
        .nested_elem()
        .nested_data_bitwise()
        .push_sreg(REGISTER)
        .push_dreg(REGISTER)
        .push_len(mask.len() as u32)
        .nested_mask()
        .push_value(mask)
        .end_nested()
        .nested_xor()
        .push_value(&vec![0; mask.len()])
        .end_nested()
        .end_nested()
        .end_nested()
}

fn compare<P: Pusher>(expressions: List<P>, how: CmpOps, with: &[u8]) -> List<P> {
    expressions
        .nested_elem()
        .nested_data_cmp()
        .push_sreg(REGISTER)
        .push_op(how as u32)
        .nested_data()
        .push_value(with)
        .end_nested()
        .end_nested()
        .end_nested()
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// The bytes of a netmask.
fn mask(prefix: &Prefix, len: usize) -> Vec<u8> {
    let ones = |byte: usize| (usize::from(prefix.len)).saturating_sub(8 * byte).min(8);
    (0..len).map(|byte| !(0xff_u16 >> ones(byte)) as u8).collect()
}

/// `NFT_REG_1`, which holds 16 bytes.
const REGISTER: u32 = Registers::Reg1 as u32;
const IFNAMSIZ: usize = 16;
/// Elements in one message, which has a length of 16 bits and one answer.
const TOGETHER: usize = 500;
// Types of `nft` (datatype.h).
const TYPE_IPV4: u32 = 7;
const TYPE_IPV6: u32 = 8;
const TYPE_PROTOCOL: u32 = 12;
const TYPE_PORT: u32 = 13;
const NFPROTO_INET: u8 = 1;
const NFPROTO_BRIDGE: u8 = 7;
const NFNL_SUBSYS_NFTABLES: u16 = 10;
/// `NF_ACCEPT`
const ACCEPT: u32 = 1;
/// More messages than any table needs.
const LONGEST_BATCH: u32 = 65_536;
