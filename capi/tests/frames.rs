//! Frames as C writes and reads them: a server takes them, and what is wrong is a number with a
//! sentence.
#![allow(clippy::multiple_unsafe_ops_per_block)]

use std::ptr::{null, null_mut};

use sordino_c::agreement::{AgentSettings, SORDINO_DIGEST_BYTES, sordino_agent_usual};
use sordino_c::frame::*;
use sordino_c::status::Status;
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::{Agreement, Millis, Pace, Period, Reply, ServerExchange};
use sordino_core::federated::small;
use sordino_core::wire::{self, Header};

/// The federation of the example in C.
#[allow(dead_code)]
#[path = "../../sim/tests/it/exported.rs"]
mod exported;

const M: usize = exported::FEATURES;

fn write(header: &FrameHeader, numbers: &[f32], room: usize) -> Result<Vec<u8>, Status> {
    let mut bytes = vec![0; room];
    let mut used = 0;
    // SAFETY: values and lists of ours.
    match unsafe {
        sordino_frame_write(
            header,
            numbers.as_ptr(),
            numbers.len(),
            bytes.as_mut_ptr(),
            room,
            &mut used,
        )
    } {
        Status::Ok => Ok(bytes[..used].to_vec()),
        status => Err(status),
    }
}

fn read(bytes: &[u8], room: usize) -> Result<(FrameHeader, Vec<f32>), Status> {
    let mut header = EMPTY;
    let mut numbers = vec![f32::NAN; room];
    // SAFETY: values and lists of ours.
    match unsafe {
        sordino_frame_read(
            bytes.as_ptr(),
            bytes.len(),
            &mut header,
            numbers.as_mut_ptr(),
            room,
        )
    } {
        Status::Ok => {
            numbers.truncate(header.len as usize);
            Ok((header, numbers))
        }
        status => {
            assert_eq!(
                (header, numbers.iter().all(|x| x.is_nan())),
                (EMPTY, true),
                "nothing changed"
            );
            Err(status)
        }
    }
}

const EMPTY: FrameHeader = FrameHeader {
    deployment: 0,
    config: 0,
    chain: 0,
    kind: 0,
    agent: 0,
    round: 0,
    attempt: 0,
    len: 0,
};

fn prefix(digest: &Digest) -> u64 {
    let mut prefix = 0;
    assert_eq!(
        // SAFETY: a digest's bytes, a value of ours.
        unsafe { sordino_prefix(digest.0.as_ptr(), &mut prefix) },
        Status::Ok
    );
    prefix
}

fn chain(before: &Digest, frame: &[u8]) -> Result<Digest, Status> {
    let mut next = [0; SORDINO_DIGEST_BYTES];
    // SAFETY: lists of ours.
    match unsafe {
        sordino_frame_chain(
            before.0.as_ptr(),
            frame.as_ptr(),
            frame.len(),
            next.as_mut_ptr(),
        )
    } {
        Status::Ok => Ok(Digest(next)),
        status => Err(status),
    }
}

fn other(agreement: &Agreement) -> Agreement {
    Agreement {
        deployment: !agreement.deployment,
        ..agreement.clone()
    }
}

/// A server's rounds 0 and 1 with agent 2, whose frames C reads and writes.
#[test]
fn a_server_takes_what_c_writes_and_refuses_it_under_another_agreement() {
    let agreement = exported::agreement().unwrap();
    let mut server = ServerExchange::new(
        &agreement,
        Pace {
            ask_again_ms: 1,
            spread_ms: 0,
        },
        [0; 8],
    );
    let mut history = agreement.digest();
    let mut theirs = agreement.digest();
    let mut taken = 0;
    let vectors: Vec<f32> = (0..2 * M as u16).map(f32::from).collect();
    for round in 0..2 {
        let mut bytes = vec![0; exported::BROADCAST_BYTES];
        let broadcast = (round > 0).then_some(&vectors[..]);
        let (len, after) = server
            .frame(round, round as u16, &theirs, broadcast, &mut bytes)
            .unwrap();
        theirs = after;
        server.begin(
            round,
            round as u16,
            theirs,
            Period {
                opened: Millis(0),
                deadline: Millis(9),
                may_close_early: false,
            },
        );
        let (header, numbers) = read(&bytes[..len], 2 * M).unwrap();
        assert_eq!(
            (header.config, header.deployment),
            (prefix(&agreement.digest()), agreement.deployment)
        );
        assert_eq!(numbers, broadcast.unwrap_or_default());
        assert_eq!(
            chain(&Digest([1; 32]), &bytes[..len]),
            Err(Status::Foreign),
            "another history"
        );
        history = chain(&history, &bytes[..len]).unwrap();
        assert_eq!(history, theirs);

        let mine = FrameHeader {
            kind: SORDINO_FRAME_UPLOAD,
            agent: 2,
            chain: prefix(&history),
            ..header
        };
        let foreign = FrameHeader {
            config: prefix(&other(&agreement).digest()),
            ..mine
        };
        let weights: Vec<f32> = (0..M as u16).map(|i| f32::from(i) * 0.125).collect();
        for (header, expected) in [(foreign, Some(Reply::NotYou)), (mine, None)] {
            let frame = write(&header, &weights, exported::UPLOAD_BYTES).unwrap();
            let (found, payload) = wire::decode(&frame, M as u32).unwrap();
            assert_eq!(
                server.given(2, &found, Millis(1)),
                expected,
                "round {round}"
            );
            let mut read = vec![0f32; M];
            payload.read(&mut read).unwrap();
            assert_eq!(read, weights);
            taken += u32::from(expected.is_none());
        }
        server.took(2);
        // The server's own frame is none that continues after itself, nor is an upload.
        assert_eq!(
            chain(&history, &write(&mine, &weights, 400).unwrap()),
            Err(Status::Foreign)
        );
    }
    assert_eq!((taken, server.answered()), (2, 1));
}

#[test]
fn frames_that_are_damaged_too_long_or_of_another_format_are_refused() {
    let header = FrameHeader {
        deployment: 5,
        config: 6,
        chain: 7,
        round: 3,
        ..EMPTY
    };
    let frame = write(&header, &[0.5, -1.0, 2.0], 80).unwrap();
    assert_eq!(
        read(&frame, 3).unwrap(),
        (FrameHeader { len: 3, ..header }, vec![0.5, -1.0, 2.0])
    );
    for bit in 0..8 * frame.len() {
        let mut changed = frame.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(
            matches!(read(&changed, 3), Err(Status::Frame | Status::TooShort)),
            "{bit}"
        );
    }
    for len in 0..frame.len() {
        assert!(
            matches!(read(&frame[..len], 3), Err(Status::Frame | Status::Null)),
            "{len}"
        );
    }
    assert_eq!(read(&frame, 2), Err(Status::TooShort));
    assert_eq!(write(&header, &[1.0; 9], 40), Err(Status::TooShort));
    assert_eq!(
        write(&FrameHeader { kind: 3, ..header }, &[], 80),
        Err(Status::Range)
    );
    assert_eq!(
        write(
            &FrameHeader {
                attempt: 65_536,
                ..header
            },
            &[],
            80
        ),
        Err(Status::Range)
    );
    let mut bytes = [0; 80];
    let core = wire::decode(&frame, 3).unwrap().0;
    let len = wire::encode(core, &[1.0f64], &mut bytes).unwrap();
    assert_eq!(
        read(&bytes[..len], 3),
        Err(Status::Frame),
        "double precision"
    );
    let report = Header {
        kind: wire::Kind::Report,
        ..core
    };
    let len = wire::encode(report, &[1.0f32], &mut bytes).unwrap();
    assert_eq!(
        read(&bytes[..len], 3),
        Err(Status::Foreign),
        "no frame of a federation"
    );
    // A buffer in the list that is written, and pointers that are NULL.
    let mut memory = [0f32; 40];
    let mut used = 0;
    let inside = memory.as_mut_ptr().cast::<u8>();
    // SAFETY: 160 bytes of ours, of which the list is the first 40: what this is refused for.
    let status =
        unsafe { sordino_frame_write(&header, inside.cast(), 10, inside.add(36), 100, &mut used) };
    assert_eq!((status, used), (Status::Overlap, 0));
    // SAFETY: as above, behind the list.
    let status =
        unsafe { sordino_frame_write(&header, inside.cast(), 10, inside.add(40), 120, &mut used) };
    assert_eq!(status, Status::Ok);
    // SAFETY: NULL is admitted.
    unsafe {
        assert_eq!(
            sordino_frame_write(null(), null(), 0, inside, 100, &mut used),
            Status::Null
        );
        assert_eq!(
            sordino_frame_write(&header, null(), 0, inside, 100, null_mut()),
            Status::Null
        );
        assert_eq!(
            sordino_frame_write(&header, null(), 3, inside, 100, &mut used),
            Status::Null
        );
        assert_eq!(
            sordino_frame_read(inside, 100, null_mut(), null_mut(), 0),
            Status::Null
        );
        assert_eq!(sordino_prefix(null(), null_mut()), Status::Null);
    }
}

#[test]
fn sixteen_bit_uploads_are_those_of_core_and_judged_as_there() {
    let mut settings = std::mem::MaybeUninit::uninit();
    // SAFETY: good for one value, which is written.
    let settings: AgentSettings = unsafe {
        assert_eq!(
            sordino_agent_usual(2, 6, 5, 16, settings.as_mut_ptr()),
            Status::Ok
        );
        settings.assume_init()
    };
    let header = FrameHeader {
        deployment: 5,
        config: 6,
        chain: 7,
        agent: 1,
        round: 2,
        ..EMPTY
    };
    let write = |settings: &AgentSettings, weights: &[f32], room: usize| {
        let mut bytes = [0; 128];
        let mut used = 0;
        let at = weights.as_ptr();
        let len = weights.len();
        // SAFETY: values and lists of ours; `room` is at most 128.
        let status = unsafe {
            sordino_frame_write_small(
                settings,
                &header,
                at,
                len,
                bytes.as_mut_ptr(),
                room,
                &mut used,
            )
        };
        (status, bytes[..used].to_vec())
    };
    let weights = [0.5f32; 16];
    let (status, frame) = write(&settings, &weights, 128);
    assert_eq!((status, frame.len()), (Status::Ok, small::frame_len(16)));
    let expected = wire::decode(&self::write(&header, &weights, 200).unwrap(), 16)
        .unwrap()
        .0;
    let private = sordino_core::federated::Aggregation::private(10.0, 0.5, 1.0).unwrap();
    let regions = sordino_core::domain::Regions::whole(2).unwrap();
    let parameters = sordino_core::federated::Parameters::usual(6, regions, 5, 16, private);
    let config = sordino_core::federated::Config::new(parameters).unwrap();
    let mut read = [0f32; 16];
    assert_eq!(
        small::decode(&config, expected, &frame, &mut read).map(|found| found.agent),
        Ok(1)
    );
    assert!(read.iter().all(|x| (x - 0.5).abs() <= 10.0 / 32_767.0));
    let refused =
        |settings: &AgentSettings, weights: &[f32], room| write(settings, weights, room).0;
    assert_eq!(refused(&settings, &weights[..15], 128), Status::Length);
    assert_eq!(refused(&settings, &[f32::NAN; 16], 128), Status::NotFinite);
    assert_eq!(refused(&settings, &weights, 20), Status::TooShort);
    assert_eq!(
        refused(
            &AgentSettings {
                aggregation: 1,
                ..settings
            },
            &weights,
            128
        ),
        Status::Range
    );
}

#[repr(align(8))]
struct Memory([u8; 512]);

#[test]
fn pieces_in_any_order_give_the_frame_and_others_are_refused() {
    let header = FrameHeader {
        deployment: 5,
        config: 6,
        chain: 7,
        ..EMPTY
    };
    let frames = [64, 40].map(|len| write(&header, &[1.5; 64][..len], 400).unwrap());
    let pieces = frames.each_ref().map(|frame| {
        let count = sordino_fragment_count(frame.len(), 51);
        let piece = |index| {
            let mut packet = [0; 51];
            let mut used = 0;
            // SAFETY: lists and a value of ours.
            let status = unsafe {
                sordino_fragment_write(
                    frame.as_ptr(),
                    frame.len(),
                    index,
                    packet.as_mut_ptr(),
                    51,
                    &mut used,
                )
            };
            if index < count {
                Ok(packet[..used].to_vec())
            } else {
                Err(status)
            }
        };
        assert_eq!(piece(count), Err(Status::Index));
        (0..count)
            .map(|index| piece(index).unwrap())
            .collect::<Vec<_>>()
    });
    assert!(pieces[0].len() > 5 && sordino_fragment_count(280, 9) == 0);
    let mut memory = Box::new(Memory([0x5a; 512]));
    let mut object = null_mut();
    // SAFETY: memory of that many bytes, a value of ours.
    let mut new =
        |len| unsafe { sordino_reassembly_new(memory.0.as_mut_ptr().cast(), len, &mut object) };
    assert_eq!(
        (new(SORDINO_REASSEMBLY_HEAD), new(512)),
        (Status::TooShort, Status::Ok)
    );
    let push = |piece: &[u8]| {
        let mut at = null();
        let mut len = 0;
        // SAFETY: what was built, a list and values of ours.
        let status = unsafe {
            sordino_reassembly_push(object, piece.as_ptr(), piece.len(), &mut at, &mut len)
        };
        // SAFETY: as many bytes as the library says, until its next call.
        let whole =
            (!at.is_null()).then(|| unsafe { std::slice::from_raw_parts(at, len) }.to_vec());
        (status, whole)
    };
    let (last, others) = pieces[0].split_first().unwrap();
    for piece in others.iter().rev().chain(others) {
        assert_eq!(push(piece), (Status::Pending, None));
    }
    assert_eq!(push(&pieces[1][0]), (Status::Foreign, None));
    assert_eq!(push(&last[..last.len() - 1]), (Status::Frame, None));
    assert_eq!(push(last), (Status::Ok, Some(frames[0].clone())));
    // SAFETY: what was built.
    assert_eq!(unsafe { sordino_reassembly_clear(object) }, Status::Ok);
    let came: Vec<_> = pieces[1].iter().map(|piece| push(piece)).collect();
    assert_eq!(came.last(), Some(&(Status::Ok, Some(frames[1].clone()))));
    assert!(
        came[..came.len() - 1]
            .iter()
            .all(|(status, _)| *status == Status::Pending)
    );
}
