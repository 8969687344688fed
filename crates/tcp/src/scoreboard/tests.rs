//! Compares the scoreboard with definitions that are computed from scratch.

use super::*;
use crate::segment::SackBlock;
use gamelane_core::Duration;
use proptest::prelude::*;
use std::vec;
use std::vec::Vec;

const MSS: ByteCount = ByteCount(100);

fn board(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::new(1);
    for index in 0..segments {
        push(&mut board, index, 100);
    }
    board
}

fn push(board: &mut Scoreboard, millis: u64, len: u64) {
    let start = board.next();
    let sent_at = Instant::from_millis(millis);
    board.push(Sent {
        start,
        end: start + len,
        sent_at,
        push: false,
        fin: false,
        sacked: false,
        lost: false,
        resent: false,
        ambiguous: false,
        bundled: 0,
    });
}

/// SACK block of the segments numbered `first..end`.
fn block(first: u64, end: u64) -> SackBlock {
    SackBlock { start: 1 + first * 100, end: 1 + end * 100 }
}

fn lost(board: &Scoreboard) -> Vec<u64> {
    board.segments.iter().filter(|sent| sent.lost).map(|sent| (sent.start - 1) / 100).collect()
}

#[test]
fn more_than_two_segments_sacked_above_mean_lost() {
    let mut board = board(10);
    assert_eq!(board.sack([block(2, 4)]), ByteCount(200));
    board.detect_losses(MSS);
    assert!(lost(&board).is_empty());
    assert_eq!(board.sack([block(2, 5)]), ByteCount(100));
    board.detect_losses(MSS);
    assert_eq!(lost(&board), [0, 1]);
    assert_eq!(board.pipe(), ByteCount(500));
}

#[test]
fn three_runs_sacked_above_mean_lost_however_small() {
    let mut board = Scoreboard::new(1);
    for index in 0..8 {
        push(&mut board, index, 10);
    }
    let at = |index: u64| SackBlock { start: 1 + index * 10, end: 11 + index * 10 };
    board.sack([at(2), at(4)]);
    board.detect_losses(MSS);
    assert!(!board.front_is_lost());
    board.sack([at(6), at(4), at(2)]);
    board.detect_losses(MSS);
    let lost: Vec<bool> = board.segments.iter().map(|sent| sent.lost).collect();
    assert_eq!(lost, [true, true, false, false, false, false, false, false]);
    assert!(board.front_is_lost());
    board.resend(0, true, Instant::ZERO);
    assert!(!board.front_is_lost());
}

#[test]
fn forward_acknowledgement_counts_the_distance() {
    let mut board = board(10);
    // Of the segments up to the highest received one, all but the last three are lost.
    board.sack([block(2, 3)]);
    board.lose_far_below_sacked(3);
    assert!(lost(&board).is_empty());
    board.sack([block(3, 4)]);
    board.lose_far_below_sacked(3);
    assert_eq!(lost(&board), [0]);
    board.sack([block(7, 8)]);
    board.lose_far_below_sacked(3);
    assert_eq!(lost(&board), [0, 1, 4]);
}

#[test]
fn rules_one_three_and_four_choose_in_turn() {
    let mut board = board(10);
    board.sack([block(2, 3), block(5, 8)]);
    board.detect_losses(MSS);
    assert_eq!(lost(&board), [0, 1, 3, 4]);
    let mut resent = Vec::new();
    while let Some(index) = board.next_lost() {
        resent.push(index);
        board.resend(index, true, Instant::ZERO);
    }
    assert_eq!(resent, [0, 1, 3, 4]);
    assert_eq!(board.next_below_sacked(), None);
    board.sack([block(9, 10)]);
    assert_eq!(board.next_below_sacked(), Some(8));
    assert_eq!(board.last_unsacked(), Some(8));
}

#[test]
fn a_receiver_that_goes_back_on_its_word_is_believed_no_more() {
    let mut board = board(4);
    board.sack([block(0, 2)]);
    board.mark_all_lost();
    assert_eq!(board.next_lost(), Some(0));
    assert_eq!(board.pipe(), ByteCount::ZERO);
    // The receiver may SACK the same data again.
    assert_eq!(board.sack([block(0, 2)]), ByteCount(200));
}

#[test]
fn the_round_trip_is_that_of_the_oldest_segment_sent_once() {
    let mut board = board(4);
    assert_eq!(board.acknowledge(201).sent_at, Some(Instant::from_millis(0)));
    board.resend(0, true, Instant::from_millis(9));
    assert_eq!(board.acknowledge(401).sent_at, None);
}

#[derive(Clone, Debug)]
enum Step {
    Push(u64),
    Acknowledge(u64),
    Sack(u64, u64),
    DetectLosses,
    DetectForward,
    MarkFrontLost,
    Resend,
    ResendBelowSacked,
    Rescue,
    RestartResending,
    MarkAllLost,
    UnmarkLost,
    ResendJoined(u64),
    Extend(u64),
    LoseByTime,
    ResendLostByTime,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1..=100u64).prop_map(Step::Push),
        2 => (0..300u64).prop_map(Step::Acknowledge),
        6 => (0..1000u64, 1..400u64).prop_map(|(start, len)| Step::Sack(start, len)),
        4 => Just(Step::DetectLosses),
        1 => Just(Step::DetectForward),
        1 => Just(Step::MarkFrontLost),
        3 => Just(Step::Resend),
        1 => Just(Step::ResendBelowSacked),
        1 => Just(Step::Rescue),
        1 => Just(Step::RestartResending),
        1 => Just(Step::MarkAllLost),
        1 => Just(Step::UnmarkLost),
        1 => (1..400u64).prop_map(Step::ResendJoined),
        1 => (1..100u64).prop_map(Step::Extend),
        2 => Just(Step::LoseByTime),
        2 => Just(Step::ResendLostByTime),
    ]
}

fn apply(board: &mut Scoreboard, step: &Step) {
    match *step {
        Step::Push(len) => push(board, 0, len),
        Step::Acknowledge(by) => {
            let ack = (board.una() + by).min(board.next());
            board.acknowledge(ack);
        }
        Step::Sack(start, len) => {
            let start = board.una() + start;
            board.sack([SackBlock { start, end: start + len }]);
        }
        Step::DetectForward => board.lose_far_below_sacked(3),
        Step::DetectLosses => board.detect_losses(MSS),
        Step::MarkFrontLost if !board.is_empty() => board.mark_lost(0),
        Step::Resend => resend(board, Scoreboard::next_lost),
        Step::ResendBelowSacked => resend(board, Scoreboard::next_below_sacked),
        Step::Rescue => {
            if let Some(index) = board.last_unsacked() {
                board.resend(index, false, Instant::ZERO);
            }
        }
        Step::RestartResending => board.restart_resending(),
        Step::MarkAllLost => board.mark_all_lost(),
        Step::UnmarkLost => board.unmark_lost(),
        Step::ResendJoined(room) => {
            if let Some(index) = board.next_lost() {
                let count = board.joinable(index, room, usize::MAX);
                board.join(index, count);
                board.resend(index, true, Instant::ZERO);
            }
        }
        Step::LoseByTime => {
            board.lose_by_time(Duration::ZERO, Instant::from_millis(5));
        }
        Step::ResendLostByTime => resend(board, Scoreboard::next_lost_by_time),
        Step::Extend(bytes) if board.back().is_some_and(|last| !last.sacked) => {
            board.extend_last(bytes, false)
        }
        Step::Extend(_) => {}
        Step::MarkFrontLost => {}
    }
}

fn resend(board: &mut Scoreboard, choose: fn(&mut Scoreboard) -> Option<usize>) {
    if let Some(index) = choose(board) {
        board.resend(index, true, Instant::ZERO);
    }
}

/// RFC 6675 section 4, `IsLost`, as the text defines it.
fn is_lost(board: &Scoreboard, index: usize) -> bool {
    let above: Vec<&Sent> = board.segments.iter().skip(index + 1).collect();
    let bytes: u64 = above.iter().filter(|sent| sent.sacked).map(|sent| sent.sequence_len()).sum();
    let runs = (0..above.len()).filter(|&i| above[i].sacked && !(i > 0 && above[i - 1].sacked)).count();
    bytes > 2 * MSS.bytes() || runs >= 3
}

proptest! {
    #[test]
    fn running_sums_equal_their_definitions(
        steps in proptest::collection::vec(step(), 1..200),
        segments: bool,
    ) {
        let mut board = Scoreboard::new(1);
        let weight = if segments { Weight::Segments { mss: MSS.bytes() } } else { Weight::Bytes };
        board.weigh(weight);
        board.watch_deliveries();
        board.begin_ack(Instant::from_millis(3));
        for step in &steps {
            apply(&mut board, step);
            let count = board.segments.iter().filter(|sent| sent.sacked).count();
            prop_assert_eq!(board.sacked_segments() as usize, count);
            let pipe: u64 = board.segments.iter().map(|sent| sent.pipe(weight)).sum();
            prop_assert_eq!(board.pipe, pipe);
            let edge = (board.lost_below - board.front) as usize;
            let above: Vec<&Sent> = board.segments.iter().skip(edge).collect();
            let sacked: u64 = above.iter().filter(|s| s.sacked).map(|s| weight.of(s.sequence_len())).sum();
            prop_assert_eq!(board.sacked_above, sacked);
            let flight = board.segments.iter().map(|sent| weight.of(sent.sequence_len())).sum();
            prop_assert_eq!(board.outstanding(), ByteCount(flight));
            let runs = (0..above.len()).filter(|&i| above[i].sacked && !(i > 0 && above[i - 1].sacked));
            prop_assert_eq!(board.runs_above as usize, runs.count());
            if matches!(step, Step::DetectLosses) && weight == Weight::Bytes {
                for (index, sent) in board.segments.iter().enumerate() {
                    prop_assert!(sent.sacked || sent.lost || !is_lost(&board, index));
                }
            }
        }
    }
}
