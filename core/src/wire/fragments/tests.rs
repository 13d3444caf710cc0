//! Pieces that are lost, doubled, reordered, foreign or changed.

extern crate std;
use super::*;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use proptest::{prop_assert, prop_assert_eq};
use std::vec;
use std::vec::Vec;

fn runner(seed: u8) -> TestRunner {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    TestRunner::new_with_rng(
        Config {
            cases: 500,
            failure_persistence: None,
            ..Config::default()
        },
        rng,
    )
}

/// All pieces of a frame in packets of this size.
fn pieces(frame: &[u8], packet: usize) -> Vec<Vec<u8>> {
    let cut = |index| {
        let mut bytes = vec![0; packet];
        let used = piece(frame, index, &mut bytes).unwrap();
        bytes.truncate(used);
        bytes
    };
    (0..count(frame.len(), packet).unwrap()).map(cut).collect()
}

#[test]
fn pieces_lost_doubled_reordered_and_foreign_give_the_frame_or_nothing() {
    let inputs = (
        vec(any::<u8>(), 1..900),
        20usize..240,
        vec((any::<u16>(), any::<u8>()), 0..120),
        any::<u8>(),
    );
    runner(1)
        .run(&inputs, |(frame, packet, events, other)| {
            let mut foreign = frame.clone();
            foreign[0] ^= other | 1;
            let ours = pieces(&frame, packet);
            let theirs = pieces(&foreign, packet);
            let mut buffer = vec![0; 900];
            let mut reassembly = Reassembly::new(&mut buffer);
            // The first decides which frame it is.
            let mut have = vec![false; ours.len()];
            have[0] = true;
            let mut whole = matches!(reassembly.push(&ours[0]), Ok(Poll::Ready(_)));
            prop_assert_eq!(whole, ours.len() == 1);
            for (which, kind) in events {
                let index = usize::from(which) % ours.len();
                if kind % 4 == 0 {
                    let refused = matches!(
                        reassembly.push(&theirs[index]),
                        Err(FragmentError::Foreign { .. })
                    );
                    prop_assert!(refused);
                    continue;
                }
                have[index] = true;
                match reassembly.push(&ours[index]) {
                    Ok(Poll::Ready(found)) => {
                        prop_assert_eq!(found, &frame[..]);
                        whole = true;
                    }
                    answer => {
                        prop_assert!(answer == Ok(Poll::Pending) && !have.iter().all(|have| *have))
                    }
                }
            }
            prop_assert_eq!(whole, have.iter().all(|have| *have));
            // What lacks is said again, and the foreign sender is heard once the frame is given up.
            let mut last = Ok(Poll::Pending);
            for piece in &ours {
                last = reassembly.push(piece);
            }
            prop_assert_eq!(last, Ok(Poll::Ready(&frame[..])));
            reassembly.clear();
            for (index, piece) in theirs.iter().enumerate() {
                let whole = reassembly.push(piece) == Ok(Poll::Ready(&foreign[..]));
                prop_assert_eq!(whole, index + 1 == theirs.len());
            }
            Ok(())
        })
        .unwrap();
}

/// The checksum of what ends in its own checksum is the same for all of a length: frames that are
/// mixed are refused.
#[test]
fn frames_of_one_length_that_end_in_their_checksum_never_give_a_whole_that_decodes() {
    let frames = [1u8, 2].map(|x| {
        let mut frame = vec![x; 60];
        let sum = checksum(&frame).to_le_bytes();
        frame.extend(sum);
        frame
    });
    assert_eq!(checksum(&frames[0]), checksum(&frames[1]));
    let [ours, theirs] = [&frames[0], &frames[1]].map(|frame| pieces(frame, 30));
    let mut buffer = [0; 64];
    let mut reassembly = Reassembly::new(&mut buffer);
    assert_eq!(reassembly.push(&ours[0]), Ok(Poll::Pending));
    let mixed: Vec<_> = theirs[1..]
        .iter()
        .map(|piece| reassembly.push(piece).map(|poll| poll.is_ready()))
        .collect();
    assert_eq!(mixed.last(), Some(&Err(FragmentError::Checksum)));
}

#[test]
fn any_bytes_are_refused_or_taken_without_a_panic_and_no_frame_comes_of_a_changed_piece() {
    let inputs = (
        vec(any::<u8>(), 1..300),
        12usize..80,
        any::<u16>(),
        1u8..,
        vec(any::<u8>(), 0..40),
    );
    runner(2)
        .run(&inputs, |(frame, packet, place, change, noise)| {
            let Some(count) = count(frame.len(), packet) else {
                return Ok(());
            };
            let mut buffer = vec![0; 300];
            let mut reassembly = Reassembly::new(&mut buffer);
            prop_assert!(
                !matches!(reassembly.push(&noise), Ok(Poll::Ready(_)))
                    || noise.first() == Some(&FORMAT)
            );
            reassembly.clear();
            let mut sent = pieces(&frame, packet);
            let changed = &mut sent[usize::from(place) % count];
            let at = usize::from(place / 7) % changed.len();
            changed[at] ^= change;
            for piece in &sent {
                if let Ok(Poll::Ready(found)) = reassembly.push(piece) {
                    prop_assert_eq!(found, &frame[..]);
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn packets_are_as_long_as_asked_for_and_no_longer() {
    for frame_len in 1..700 {
        let frame: Vec<u8> = (0..frame_len).map(|i| i as u8).collect();
        for packet in [10, 16, 51, 115, 222] {
            let Some(count) = count(frame_len, packet) else {
                assert!(frame_len > COUNT_MAX * (packet - OVERHEAD));
                continue;
            };
            let sent = pieces(&frame, packet);
            assert_eq!(sent.len(), count);
            assert!(
                sent.iter()
                    .all(|piece| (OVERHEAD + 1..=packet).contains(&piece.len()))
            );
            assert_eq!(
                sent.iter()
                    .map(|piece| piece.len() - OVERHEAD)
                    .sum::<usize>(),
                frame_len
            );
        }
    }
    let refused = |frame: &[u8], packet: usize, index| piece(frame, index, &mut vec![0; packet]);
    assert!(matches!(
        refused(&[1; 20], 15, 4),
        Err(FragmentError::Piece { .. })
    ));
    assert!(matches!(
        refused(&[1; 20], OVERHEAD, 0),
        Err(FragmentError::Piece { .. })
    ));
    assert!(matches!(
        refused(&[], 50, 0),
        Err(FragmentError::Piece { .. })
    ));
    assert!(matches!(
        refused(&vec![1; FRAME_MAX + 1], 4096, 0),
        Err(FragmentError::Piece { .. })
    ));
}

#[test]
fn a_frame_that_the_buffer_cannot_hold_or_that_would_never_end_is_refused() {
    let sent = pieces(&[7; 40], 30);
    let mut buffer = [0; 39];
    let mut reassembly = Reassembly::new(&mut buffer);
    assert_eq!(
        reassembly.push(&sent[0]),
        Err(FragmentError::Buffer {
            len: 39,
            needed: 40
        })
    );
    // Five bytes in four pieces of two: the fourth would be empty.
    assert_eq!(
        reassembly.push(&[FORMAT, 0, 0, 0, 0, 5, 0, 4, 0, 1, 2]),
        Err(FragmentError::Format)
    );
    assert_eq!(
        reassembly.push(&[FORMAT, 0, 0, 0, 0, 5, 0, 0, 0, 1, 2]),
        Err(FragmentError::Format)
    );
    assert_eq!(
        reassembly.push(&[FORMAT, 0, 0, 0, 0, 5, 0, 3, 0, 1, 2]),
        Ok(Poll::Pending)
    );
}
