//! A site of a campaign in C: what is refused changes nothing, and what it sends is what core says.
#![allow(clippy::multiple_unsafe_ops_per_block)]

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use sordino_c::frame::{
    FrameHeader, SORDINO_FRAME_BROADCAST, SORDINO_FRAME_UPLOAD, sordino_frame_chain,
    sordino_frame_marks,
};
use sordino_c::prior::{PriorNumbers, sordino_prior_attach};
use sordino_c::site::*;
use sordino_c::status::Status;
use sordino_core::wire::{self, Header, Kind, ScalarTag};

const CAMPAIGN: &str = include_str!("../examples/campaign.h");
const FRAMES: &str = include_str!("../examples/campaign_frames.h");
const FEATURES: usize = 16;
const N: usize = 5;

/// The entries of an array of a header.
fn entries<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let from = text.find(&format!(" {name}[")).unwrap();
    let (_, rest) = text[from..].split_once("{\n").unwrap();
    rest.split_once("};")
        .unwrap()
        .0
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
}

fn bytes(text: &str, name: &str) -> Vec<u8> {
    entries(text, name)
        .map(|entry| u8::from_str_radix(entry.trim_start_matches("0x"), 16).unwrap())
        .collect()
}

/// Memory as C would align it.
#[repr(align(8))]
struct Memory([u8; 12_000]);

/// What C would hold of the campaign.
struct Board {
    memory: Box<Memory>,
    agreement: Vec<u8>,
    digest: Vec<u8>,
    landmarks: Vec<f64>,
    points: Vec<f64>,
    values: Vec<f64>,
}

impl Board {
    fn new() -> Self {
        Board {
            memory: Box::new(Memory([0x5a; 12_000])),
            agreement: bytes(CAMPAIGN, "SORDINO_AGREEMENT"),
            digest: bytes(CAMPAIGN, "SORDINO_DIGEST"),
            landmarks: entries(CAMPAIGN, "SORDINO_LANDMARKS")
                .map(|entry| entry.parse().unwrap())
                .collect(),
            points: (0..2 * N).map(|i| (7 * i % 11) as f64 / 11.0).collect(),
            values: (0..N).map(|i| -20.0 - (3 * i % 7) as f64).collect(),
        }
    }

    fn len(&self) -> usize {
        sordino_site_size(self.values.len() as u32, FEATURES as u32)
    }

    fn open(&mut self) -> Result<*mut Site, Status> {
        let len = self.len();
        self.open_in(len)
    }

    fn open_in(&mut self, len: usize) -> Result<*mut Site, Status> {
        let settings = SiteSettings {
            agreement: self.agreement.as_ptr(),
            agreement_len: self.agreement.len(),
            digest: self.digest.as_ptr(),
            landmarks: self.landmarks.as_ptr(),
            landmarks_len: self.landmarks.len(),
        };
        let memory: *mut c_void = self.memory.0.as_mut_ptr().cast();
        let points = &self.points;
        let values = &self.values;
        let mut site = null_mut();
        // SAFETY: memory of `len` bytes at most, and values of ours.
        let status = unsafe {
            sordino_site_open(
                memory,
                len,
                &settings,
                points.as_ptr(),
                points.len(),
                values.as_ptr(),
                values.len(),
                &mut site,
                null_mut(),
            )
        };
        if status == Status::Ok {
            Ok(site)
        } else {
            Err(status)
        }
    }
}

/// The marks of an upload that answers a frame of the server.
fn marks(frame: &[u8]) -> FrameHeader {
    let none = FrameHeader {
        deployment: 0,
        config: 0,
        chain: 0,
        kind: 0,
        agent: 0,
        round: 0,
        attempt: 0,
        len: 0,
    };
    let mut header = none;
    assert_eq!(
        // SAFETY: values of ours.
        unsafe { sordino_frame_marks(frame.as_ptr(), frame.len(), &mut header) },
        Status::Ok
    );
    FrameHeader {
        kind: SORDINO_FRAME_UPLOAD,
        agent: 3,
        ..header
    }
}

fn contribution(
    site: *mut Site,
    marks: &FrameHeader,
    opening: &[u8],
    room: usize,
) -> Result<Vec<u8>, Status> {
    let mut frame = vec![0; room];
    let mut written = 0;
    // SAFETY: what `open` wrote, and values of ours.
    let status = unsafe {
        sordino_site_contribution(
            site,
            marks,
            opening.as_ptr(),
            opening.len(),
            frame.as_mut_ptr(),
            frame.len(),
            &mut written,
        )
    };
    frame.truncate(written);
    if status == Status::Ok {
        Ok(frame)
    } else {
        Err(status)
    }
}

#[test]
fn a_site_that_no_campaign_has_is_refused() {
    let refused = |change: fn(&mut Board)| {
        let mut board = Board::new();
        change(&mut board);
        board.open().unwrap_err()
    };
    assert_eq!(refused(|board| board.digest[3] ^= 1), Status::Agreement);
    assert_eq!(refused(|board| board.agreement[0] = 1), Status::Agreement);
    assert_eq!(
        refused(|board| board.agreement.truncate(50)),
        Status::Agreement
    );
    assert_eq!(
        refused(|board| board.landmarks[5] += 1e-12),
        Status::Agreement
    );
    assert_eq!(
        refused(|board| board.landmarks.truncate(30)),
        Status::Length
    );
    assert_eq!(refused(|board| board.points.truncate(9)), Status::Length);
    assert_eq!(refused(|board| board.points[2] = 1.5), Status::Range);
    assert_eq!(
        refused(|board| board.points[2] = f64::NAN),
        Status::NotFinite
    );
    assert_eq!(
        refused(|board| board.values[2] = f64::INFINITY),
        Status::NotFinite
    );
    let few = |board: &mut Board| {
        board.values.truncate(2);
        board.points.truncate(4);
        // As much memory as more of them would take.
        board.open_in(11_000).unwrap_err()
    };
    assert_eq!(
        (
            few(&mut Board::new()),
            sordino_site_size(2, 16),
            sordino_site_size(3, 257)
        ),
        (Status::Range, 0, 0)
    );
    let mut board = Board::new();
    let short = board.len() - 1;
    assert_eq!(board.open_in(short).unwrap_err(), Status::TooShort);
    // SAFETY: NULL is what a program may give.
    let none = unsafe {
        let memory = board.memory.0.as_mut_ptr().cast();
        sordino_site_open(
            memory,
            short,
            null(),
            null(),
            0,
            null(),
            0,
            null_mut(),
            null_mut(),
        )
    };
    assert_eq!(none, Status::Null);
    assert!(board.open().is_ok());
}

#[test]
fn an_opening_of_another_campaign_round_or_form_is_refused_and_the_next_is_answered() {
    let mut board = Board::new();
    let site = board.open().unwrap();
    let [frame, opening, next, later] =
        ["FRAME_0", "OPENING_0", "FRAME_1", "OPENING_1"].map(|name| bytes(FRAMES, name));
    let marks = marks(&frame);
    let room = wire::frame_len_max(ScalarTag::F64, FEATURES + 1);
    // The chain of the frame is that of the history with it.
    let sent = contribution(site, &marks, &opening, room).unwrap();
    let (header, payload) = wire::decode(&sent, 100).unwrap();
    let mut numbers = [0.0; FEATURES + 1];
    payload.read(&mut numbers).unwrap();
    assert_eq!(
        (header.kind, header.agent, header.round, header.scalar),
        (Kind::Upload, 3, 0, ScalarTag::F64)
    );
    assert!(numbers.iter().any(|x| *x != 0.0));

    let refused =
        |marks: &FrameHeader, opening: &[u8]| contribution(site, marks, opening, room).unwrap_err();
    assert_eq!(
        refused(&FrameHeader { round: 1, ..marks }, &opening),
        Status::Foreign
    );
    assert_eq!(
        refused(
            &FrameHeader {
                chain: marks.chain ^ 1,
                ..marks
            },
            &opening
        ),
        Status::Foreign
    );
    assert_eq!(
        refused(
            &FrameHeader {
                deployment: 1,
                ..marks
            },
            &opening
        ),
        Status::Foreign
    );
    assert_eq!(
        refused(
            &FrameHeader {
                kind: SORDINO_FRAME_BROADCAST,
                ..marks
            },
            &opening
        ),
        Status::Foreign
    );
    assert_eq!(refused(&marks, &later), Status::Foreign);
    assert_eq!(refused(&marks, &frame), Status::Foreign);
    assert_eq!(
        refused(&marks, &opening[..opening.len() - 1]),
        Status::Frame
    );
    let opened = |change: fn(Header) -> Header, numbers: &[f64]| {
        let (header, _) = wire::decode(&opening, 100).unwrap();
        let mut bytes = vec![0; wire::frame_len_max(ScalarTag::F64, numbers.len())];
        let used = wire::encode(change(header), numbers, &mut bytes).unwrap();
        bytes.truncate(used);
        bytes
    };
    // A round that has no release, in both.
    let beyond = opened(|header| Header { round: 2, ..header }, &[1.0; FEATURES + 2]);
    assert_eq!(
        refused(&FrameHeader { round: 2, ..marks }, &beyond),
        Status::Foreign
    );
    assert_eq!(
        refused(&marks, &opened(|header| header, &[1.0; FEATURES + 1])),
        Status::Frame
    );
    assert_eq!(
        refused(&marks, &opened(|header| header, &[1.0; FEATURES + 3])),
        Status::TooShort
    );
    assert_eq!(
        refused(&marks, &opened(|header| header, &[-1.0; FEATURES + 2])),
        Status::Range
    );
    assert_eq!(
        refused(&marks, &opened(|header| header, &[f64::NAN; FEATURES + 2])),
        Status::NotFinite
    );
    assert_eq!(
        contribution(site, &marks, &opening, 60).unwrap_err(),
        Status::TooShort
    );
    // SAFETY: a frame that lies in the object, and one that lies in the opening.
    let inside = unsafe {
        let at = site.cast::<u8>();
        let mut written = 0;
        sordino_site_contribution(
            site,
            &marks,
            opening.as_ptr(),
            opening.len(),
            at,
            room,
            &mut written,
        )
    };
    let mut both = opening.clone();
    // SAFETY: as above.
    let over = unsafe {
        let at = both.as_mut_ptr();
        let len = both.len();
        let mut written = 0;
        sordino_site_contribution(site, &marks, at, len, at, len, &mut written)
    };
    assert_eq!([inside, over], [Status::Overlap; 2]);

    // Nothing was changed, and the next release is of the same values.
    assert_eq!(contribution(site, &marks, &opening, room).unwrap(), sent);
    let (header, _) = wire::decode(&next, 100).unwrap();
    let marks = FrameHeader {
        round: 1,
        chain: header.chain,
        ..marks
    };
    assert_ne!(contribution(site, &marks, &later, room).unwrap(), sent);
}

/// The file in a row of numbers, and where C is told that its parts are.
fn file(
    site: *mut Site,
    history: &[u8],
    frame: &[u8],
    room: usize,
) -> Result<(Vec<f32>, PriorNumbers), Status> {
    let mut numbers = vec![0.0; room];
    let mut found = PriorNumbers {
        dim: 0,
        lengthscale: 0.0,
        self_test: 0.0,
        landmarks: null(),
        landmarks_len: 0,
        weights: null(),
        weights_len: 0,
        covariance: null(),
        covariance_len: 0,
        factor: null(),
        factor_len: 0,
    };
    let at = numbers.as_mut_ptr();
    let frame_at = frame.as_ptr();
    // SAFETY: what `open` wrote, and values of ours.
    let status = unsafe {
        sordino_site_file(
            site,
            history.as_ptr(),
            frame_at,
            frame.len(),
            at,
            room,
            &mut found,
        )
    };
    if status == Status::Ok {
        Ok((numbers, found))
    } else {
        Err(status)
    }
}

#[test]
fn the_file_of_a_campaign_is_read_after_its_last_frame_and_no_other() {
    let mut board = Board::new();
    let site = board.open().unwrap();
    let mut history = board.digest.clone();
    for name in ["FRAME_0", "FRAME_1", "FRAME_2"] {
        let frame = bytes(FRAMES, name);
        let before = history.clone();
        // SAFETY: values of ours.
        let status = unsafe {
            sordino_frame_chain(
                before.as_ptr(),
                frame.as_ptr(),
                frame.len(),
                history.as_mut_ptr(),
            )
        };
        assert_eq!(status, Status::Ok);
    }
    let frame = bytes(FRAMES, "FILE_2");
    let room = 2 + 3 * FEATURES + FEATURES * (FEATURES + 1) / 2;
    let (numbers, found) = file(site, &history, &frame, room).unwrap();
    let lens = (
        found.landmarks_len,
        found.weights_len,
        found.covariance_len,
        found.factor_len,
    );
    assert_eq!(
        (found.dim, lens),
        (
            2,
            (2 * FEATURES, FEATURES, FEATURES * (FEATURES + 1) / 2, 0)
        )
    );
    let (at, part) = (numbers.as_ptr(), |skip: usize| numbers[skip..].as_ptr());
    assert_eq!(
        (found.lengthscale, found.self_test, at),
        (numbers[0], numbers[1], numbers.as_ptr())
    );
    let parts = (found.landmarks, found.weights, found.covariance);
    assert_eq!(
        parts,
        (part(2), part(2 + 2 * FEATURES), part(2 + 3 * FEATURES))
    );
    assert!(
        found.factor.is_null()
            && numbers[2..34]
                .iter()
                .zip(&board.landmarks)
                .all(|(x, p)| *x == *p as f32)
    );

    let refused =
        |history: &[u8], frame: &[u8], room| file(site, history, frame, room).unwrap_err();
    assert_eq!(refused(&board.digest, &frame, room), Status::Foreign);
    assert_eq!(
        refused(&history, &bytes(FRAMES, "OPENING_1"), room),
        Status::Foreign
    );
    assert_eq!(
        refused(&history, &frame[..frame.len() - 1], room),
        Status::Frame
    );
    assert_eq!(refused(&history, &frame, room - 1), Status::TooShort);
    let changed = |change: fn(Header) -> Header, numbers: &[f32]| {
        let (header, _) = wire::decode(&frame, 1000).unwrap();
        let mut bytes = vec![0; wire::frame_len_max(ScalarTag::F32, numbers.len())];
        let used = wire::encode(change(header), numbers, &mut bytes).unwrap();
        bytes.truncate(used);
        bytes
    };
    assert_eq!(
        refused(
            &history,
            &changed(
                |header| Header {
                    deployment: 1,
                    ..header
                },
                &numbers
            ),
            room
        ),
        Status::Foreign
    );
    assert_eq!(
        refused(
            &history,
            &changed(
                |header| Header {
                    config: 1,
                    ..header
                },
                &numbers
            ),
            room
        ),
        Status::Foreign
    );
    assert_eq!(
        refused(&history, &changed(|header| header, &numbers[1..]), room),
        Status::Length
    );
    assert_eq!(
        refused(
            &history,
            &changed(|header| header, &[&numbers[..], &[0.0]].concat()),
            room
        ),
        Status::TooShort
    );
    // The numbers themselves are judged where the file is attached.
    let unknown = changed(|header| header, &[&[f32::NAN], &numbers[1..]].concat());
    let (_numbers, unknown) = file(site, &history, &unknown, room).unwrap();
    let attached = |numbers: &PriorNumbers| {
        let mut memory = Box::new(Memory([0; 12_000]));
        let mut prior = null_mut();
        // SAFETY: memory and values of ours.
        unsafe {
            sordino_prior_attach(
                memory.0.as_mut_ptr().cast(),
                12_000,
                numbers,
                null_mut(),
                0,
                &mut prior,
                null_mut(),
            )
        }
    };
    assert_eq!(
        (attached(&unknown), attached(&found)),
        (Status::Range, Status::Ok)
    );
}
