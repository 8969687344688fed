//! The log of a tap. It starts with a line of text that names the format. Each record is a byte for kind and direction, then numbers
//! in LEB128. A record that is cut short ends the log: the writer was killed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use gamelane_core::{Direction, DropReason, Instant};

/// First line of a log; the number is its schema.
pub const MAGIC: &[u8] = b"gamelane-gateway decisions 1\n";

/// A call of the engine, or a result of the call before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Time of all that follows.
    Now(Instant),
    /// `handle_timeout`.
    Timeout,
    /// `handle_frame` of the next frame of the pcapng. Frames are numbered from 0.
    Arrived(Direction),
    /// `poll_transmit` gave this frame. The pcapng's next frame is how it left.
    Left(Direction, u64),
    /// `poll_transmit` gave no frame.
    Nothing(Direction),
    /// The call before dropped this frame. The pcapng's next frame is its content.
    Dropped(Direction, u64, DropReason),
    /// `no_room`.
    NoRoom(Direction),
    /// `not_sent`.
    NotSent(Direction),
    /// The policy with this number is in force from here on.
    Reloaded(u64),
    /// Number of events missing here.
    Lost(u64),
    /// `stood_still`.
    StoodStill,
    /// The frame that arrives next has this many packets (Linux's queues).
    Large(u32),
    /// Address and port at home of the frame that arrives next, which has the router's.
    Home(SocketAddr),
    /// The frame that leaves next does so past the shaper (Linux's queues).
    Past,
    /// The gateway ended.
    End,
}

/// Longest record in bytes.
pub const LONGEST: usize = 1 + 1 + 16 + 2;

/// Appends an event.
pub fn write(log: &mut Vec<u8>, event: Event) {
    let mut tag = |kind: u8, direction: Direction| log.push(kind << 1 | direction.index() as u8);
    let any = Direction::Up;
    match event {
        Event::Now(now) => {
            tag(NOW, any);
            number(log, now.as_nanos());
        }
        Event::Timeout => tag(TIMEOUT, any),
        Event::Arrived(direction) => tag(ARRIVED, direction),
        Event::Left(direction, frame) => {
            tag(LEFT, direction);
            number(log, frame);
        }
        Event::Nothing(direction) => tag(NOTHING, direction),
        Event::Dropped(direction, frame, reason) => {
            tag(DROPPED, direction);
            number(log, frame);
            log.push(reason.index() as u8);
        }
        Event::NoRoom(direction) => tag(NO_ROOM, direction),
        Event::NotSent(direction) => tag(NOT_SENT, direction),
        Event::Reloaded(policy) => {
            tag(RELOADED, any);
            number(log, policy);
        }
        Event::Lost(events) => {
            tag(LOST, any);
            number(log, events);
        }
        Event::StoodStill => tag(STOOD_STILL, any),
        Event::Large(packets) => {
            tag(LARGE, any);
            number(log, packets.into());
        }
        Event::Home(home) => {
            tag(HOME, any);
            let address = match home.ip() {
                IpAddr::V4(address) => (4, u128::from(u32::from(address)).to_be_bytes()),
                IpAddr::V6(address) => (6, u128::from(address).to_be_bytes()),
            };
            log.push(address.0);
            log.extend(address.1);
            log.extend(home.port().to_be_bytes());
        }
        Event::Past => tag(PAST, any),
        Event::End => tag(END, any),
    }
}

/// Takes the first event from `log`; `None` at its end, and if the rest is not an event.
pub fn read(log: &mut &[u8]) -> Option<Event> {
    let mut rest = *log;
    let tag = byte(&mut rest)?;
    let direction = Direction::BOTH[usize::from(tag & 1)];
    let event = match tag >> 1 {
        NOW => Event::Now(Instant::from_nanos(read_number(&mut rest)?)),
        TIMEOUT => Event::Timeout,
        ARRIVED => Event::Arrived(direction),
        LEFT => Event::Left(direction, read_number(&mut rest)?),
        NOTHING => Event::Nothing(direction),
        DROPPED => {
            let frame = read_number(&mut rest)?;
            Event::Dropped(direction, frame, *DropReason::ALL.get(usize::from(byte(&mut rest)?))?)
        }
        NO_ROOM => Event::NoRoom(direction),
        NOT_SENT => Event::NotSent(direction),
        RELOADED => Event::Reloaded(read_number(&mut rest)?),
        LOST => Event::Lost(read_number(&mut rest)?),
        END => Event::End,
        STOOD_STILL => Event::StoodStill,
        LARGE => Event::Large(read_number(&mut rest)?.try_into().ok()?),
        HOME => {
            let version = byte(&mut rest)?;
            let (address, after) = rest.split_first_chunk()?;
            let (port, after) = after.split_first_chunk()?;
            rest = after;
            let address = u128::from_be_bytes(*address);
            let ip = match version {
                4 => IpAddr::from(Ipv4Addr::from(u32::try_from(address).ok()?)),
                6 => IpAddr::from(Ipv6Addr::from(address)),
                _ => return None,
            };
            Event::Home(SocketAddr::new(ip, u16::from_be_bytes(*port)))
        }
        PAST => Event::Past,
        _ => return None,
    };
    *log = rest;
    Some(event)
}

fn number(log: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        log.push(value as u8 | 0x80);
        value >>= 7;
    }
    log.push(value as u8);
}

fn read_number(log: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let part = byte(log)?;
        value |= u64::from(part & 0x7f) << shift;
        if part < 0x80 {
            return Some(value);
        }
    }
    None
}

fn byte(log: &mut &[u8]) -> Option<u8> {
    let (first, rest) = log.split_first()?;
    *log = rest;
    Some(*first)
}

const NOW: u8 = 0;
const TIMEOUT: u8 = 1;
const ARRIVED: u8 = 2;
const LEFT: u8 = 3;
const NOTHING: u8 = 4;
const DROPPED: u8 = 5;
const NO_ROOM: u8 = 6;
const NOT_SENT: u8 = 7;
const RELOADED: u8 = 8;
const LOST: u8 = 9;
const END: u8 = 10;
const STOOD_STILL: u8 = 11;
const LARGE: u8 = 12;
const HOME: u8 = 13;
const PAST: u8 = 14;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event() -> impl Strategy<Value = Event> {
        let direction = || prop::sample::select(Direction::BOTH.to_vec());
        let reason = prop::sample::select(DropReason::ALL.to_vec());
        prop_oneof![
            any::<u64>().prop_map(|at| Event::Now(Instant::from_nanos(at))),
            Just(Event::Timeout),
            direction().prop_map(Event::Arrived),
            (direction(), any::<u64>()).prop_map(|(way, frame)| Event::Left(way, frame)),
            direction().prop_map(Event::Nothing),
            (direction(), any::<u64>(), reason).prop_map(|(way, frame, why)| Event::Dropped(way, frame, why)),
            direction().prop_map(Event::NoRoom),
            direction().prop_map(Event::NotSent),
            any::<u64>().prop_map(Event::Reloaded),
            any::<u64>().prop_map(Event::Lost),
            Just(Event::StoodStill),
            any::<u32>().prop_map(Event::Large),
            any::<std::net::SocketAddrV4>().prop_map(|home| Event::Home(home.into())),
            any::<(Ipv6Addr, u16)>().prop_map(|home| Event::Home(home.into())),
            Just(Event::Past),
            Just(Event::End),
        ]
    }

    proptest! {
        #[test]
        fn events_come_back_and_a_cut_record_is_none(events in prop::collection::vec(event(), 1..50), cut in 1_usize..4) {
            let mut log = Vec::new();
            let mut whole = 0;
            for event in &events {
                whole = log.len();
                write(&mut log, *event);
                prop_assert!(log.len() - whole <= LONGEST);
            }
            let mut rest = &log[..];
            let back: Vec<Event> = std::iter::from_fn(|| read(&mut rest)).collect();
            prop_assert_eq!(&back, &events);
            let mut rest = &log[..whole.max(log.len().saturating_sub(cut))];
            prop_assert_eq!(std::iter::from_fn(|| read(&mut rest)).count(), events.len() - 1);
        }

        #[test]
        fn any_bytes_are_read_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut rest = &bytes[..];
            while read(&mut rest).is_some() {}
        }
    }
}
