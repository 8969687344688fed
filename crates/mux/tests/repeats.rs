//! Messages over datagrams, repeated until acknowledged: scripted, and under random loss and reordering.

use gamelane_core::{Duration, Instant, Seed};
use gamelane_mux::*;
use proptest::prelude::*;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn sequences(datagram: &Datagram<Length>) -> Vec<u64> {
    datagram.messages.iter().map(|message| message.sequence).collect()
}

#[test]
fn a_new_message_takes_the_unacknowledged_along() {
    let limits = RepeatLimits { after_permille: None, max_copies: 2, ..RepeatLimits::default() };
    let mut repeater = Repeater::new(limits);
    let mut datagram = Datagram::default();
    for (tick, expected) in [&[0][..], &[0, 1], &[0, 1, 2], &[1, 2, 3]].into_iter().enumerate() {
        repeater.send(Length(60), at(tick as u64 * 50)).unwrap();
        assert!(repeater.poll_datagram(None, at(tick as u64 * 50), &mut datagram));
        assert_eq!(sequences(&datagram), expected);
        assert!(!repeater.poll_datagram(None, at(tick as u64 * 50), &mut datagram));
    }
    repeater
        .handle_ack(Acknowledgement { number: 3, delay: Duration::ZERO, next: 2, above: 1 << 0 }, at(250));
    repeater.send(Length(60), at(260)).unwrap();
    repeater.poll_datagram(None, at(260), &mut datagram);
    assert_eq!((datagram.floor, sequences(&datagram)), (2, vec![2, 4]));
    assert_eq!(repeater.rtt(), Some(Duration::from_millis(100)));
}

#[test]
fn what_is_late_is_sent_again_by_itself_until_its_age() {
    let limits = RepeatLimits {
        after_permille: Some(1500),
        initial_rtt: Duration::from_millis(100),
        max_age: Duration::from_millis(400),
        ..RepeatLimits::default()
    };
    let mut repeater = Repeater::new(limits);
    let mut datagram = Datagram::default();
    repeater.send(Length(60), at(0)).unwrap();
    let mut sent = Vec::new();
    let mut now = at(0);
    while let Some(next) = repeater.poll_timeout() {
        now = now.max(next);
        assert!(repeater.poll_datagram(None, now, &mut datagram));
        sent.push((now.as_nanos() / 1_000_000, datagram.messages.len(), datagram.floor));
    }
    assert_eq!(sent, [(0, 1, 0), (150, 1, 0), (300, 1, 0), (400, 0, 1)]);
    assert_eq!((repeater.counters().timed, repeater.counters().abandoned), (2, 1));
}

#[test]
fn a_datagram_is_never_longer_than_allowed() {
    let limits = RepeatLimits { max_datagram: 300, ..RepeatLimits::default() };
    let mut repeater = Repeater::new(limits);
    let mut datagram = Datagram::default();
    assert_eq!(repeater.send(Length(300), at(0)), Err(Length(300)));
    for _ in 0..62 {
        repeater.send(Length(100), at(0)).unwrap();
    }
    assert_eq!(repeater.send(Length(1), at(0)), Err(Length(1)), "too many in flight");
    let mut carried = 0;
    while repeater.poll_datagram(None, at(0), &mut datagram) {
        assert!(datagram.wire_len() <= 300);
        carried += datagram.messages.len();
    }
    assert!(carried >= 62);
}

proptest! {
    #[test]
    fn datagrams_survive_the_wire(
        number in 0..varint::MAX,
        floor in 0..1_000_000_u64,
        ack in prop::option::of((0..varint::MAX, 0..1_000_000_u64, 0..varint::MAX, 0..varint::MAX)),
        messages in prop::collection::vec((0..60_u64, prop::collection::vec(any::<u8>(), 0..100)), 0..10),
    ) {
        let mut sequence = floor;
        let messages: Vec<Message<Vec<u8>>> = messages
            .into_iter()
            .map(|(skip, body)| {
                let message = Message { sequence: sequence + skip, body };
                sequence = message.sequence + 1;
                message
            })
            .collect();
        let ack = ack.map(|(number, micros, next, above)| Acknowledgement {
            number,
            delay: Duration::from_micros(micros),
            next,
            above,
        });
        let datagram = Datagram { number, floor, ack, messages };
        let mut bytes = Vec::new();
        datagram.put(&mut bytes, |body, out| out.extend_from_slice(body));
        prop_assert_eq!(bytes.len(), datagram.wire_len());
        let read = datagram::parse(&bytes).expect("ours");
        prop_assert_eq!((read.number, read.floor, read.ack), (number, floor, ack));
        let bodies: Vec<_> = read
            .messages
            .iter()
            .map(|message| (message.sequence, &bytes[message.body.start..][..message.body.length.0 as usize]))
            .collect();
        let expected: Vec<_> =
            datagram.messages.iter().map(|message| (message.sequence, &message.body[..])).collect();
        prop_assert_eq!(bodies, expected);
    }

    /// Two ends over a network that reorders. It also loses, except in its last 30 s. Messages arrive once and in order.
    /// If the sender repeats by the timer and gives nothing up, all of them arrive.
    #[test]
    fn every_message_arrives_once_and_in_order(
        seed in any::<u64>(),
        loss_permille in 0..500_u64,
        jitter_ms in 0..200_u64,
        every_ms in 5..300_u64,
        after in prop::option::of(0..2500_u32),
        ack_delay in 0..60_u64,
        gives_up in any::<bool>(),
    ) {
        let mut random = Seed(seed).stream("network");
        // Without the timer, only giving up makes room for the last message.
        let max_age = Duration::from_secs(if gives_up || after.is_none() { 10 } else { 3600 });
        let limits = RepeatLimits { after_permille: after, max_age, ..RepeatLimits::default() };
        let mut repeater = Repeater::new(limits);
        let mut collector = Collector::new(Duration::from_millis(ack_delay));
        let (mut forth, mut back) = (Vec::new(), Vec::new());
        let (mut written, mut read) = (0_u64, Vec::new());
        let mut datagram = Datagram::default();
        let last = 200;
        for ms in 0..last * every_ms + 30_000 {
            let now = at(ms);
            let loss_permille = if ms < last * every_ms { loss_permille } else { 0 };
            if ms % every_ms == 0 && written < last && repeater.send(Length(written as u32 % 200), now).is_ok() {
                written += 1;
            }
            while repeater.poll_datagram(None, now, &mut datagram) {
                prop_assert!(datagram.wire_len() <= 1200);
                if random.below(1000) >= loss_permille {
                    forth.push((ms + 50 + random.below(jitter_ms + 1), datagram.clone()));
                }
            }
            for (_, mut datagram) in forth.extract_if(.., |(due, _)| *due <= ms) {
                collector.handle_datagram(&mut datagram, now);
            }
            while let Some(message) = collector.poll_message() {
                prop_assert_eq!(message.body.0 as u64, message.sequence % 200);
                read.push(message.sequence);
            }
            if let Some(ack) = collector.poll_ack(false, now)
                && random.below(1000) >= loss_permille
            {
                back.push((ms + 50 + random.below(jitter_ms + 1), ack));
            }
            for (_, ack) in back.extract_if(.., |(due, _)| *due <= ms) {
                repeater.handle_ack(ack, now);
            }
            prop_assert!(collector.holding() <= 63 && repeater.unacknowledged() <= 62);
        }
        prop_assert!(read.is_sorted_by(|one, next| one < next));
        if after.is_some() {
            prop_assert_eq!(repeater.unacknowledged(), 0);
        }
        // The next datagram tells the receiver which messages were given up, so send one that arrives.
        let now = at(last * every_ms + 30_000);
        repeater.send(Length(0), now).expect("room");
        repeater.poll_datagram(None, now, &mut datagram);
        collector.handle_datagram(&mut datagram, now);
        read.extend(std::iter::from_fn(|| collector.poll_message()).map(|message| message.sequence));
        let written = written + 1;
        let counters = collector.counters();
        prop_assert_eq!(read.len() as u64 + counters.lost, written, "{:?} {:?}", counters, repeater.counters());
        prop_assert_eq!(counters.beyond, 0);
        prop_assert!(counters.lost <= repeater.counters().abandoned);
        if after.is_some() && !gives_up {
            prop_assert_eq!((counters.lost, repeater.counters().abandoned), (0, 0));
        }
    }
}
