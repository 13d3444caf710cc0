//! Seeded edits: bytes, and pieces that mean something to the format.

use sordino_core::random::Stream;

/// What an input is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Lines, numbers, separators.
    Text,
    /// Little-endian numbers, variable-length integers, lengths.
    Binary,
}

/// Characters that mean something, numbers at the edges.
const PIECES: [&str; 28] = [
    "=",
    "[",
    "]",
    "\"",
    "\n",
    ",",
    "#",
    "-",
    "1e999",
    "nan",
    "-inf",
    "0",
    "9223372036854775807",
    "-1",
    "0.5",
    "true",
    "\u{0}",
    "\u{1F600}",
    "[x]\n",
    "\r",
    "4294967296",
    "1e-320",
    "{",
    "}",
    "\"\"",
    "\u{feff}",
    "18446744073709551616",
    ".",
];

/// Bytes at the edges of integers, floats and lengths.
const EDGES: [&[u8]; 12] = [
    &[0],
    &[0xff],
    &[0x7f],
    &[0x80],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    &[0, 0, 0, 0, 0, 0, 0xf0, 0x7f],
    &[0, 0, 0, 0, 0, 0, 0xf8, 0x7f],
    &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xef, 0x7f],
    &[0, 0, 0x80, 0x7f],
    &[1, 0, 0, 0, 0, 0, 0, 0],
    &[
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    ],
];

/// One of the inputs.
fn pick<'a>(inputs: &'a [Vec<u8>], stream: &mut Stream) -> &'a [u8] {
    &inputs[stream.below(inputs.len() as u32) as usize]
}

/// One to four edits of one of the inputs; now and then a piece of another.
///
/// **Panics**: if there is no input.
pub fn mutate(inputs: &[Vec<u8>], form: Form, stream: &mut Stream) -> Vec<u8> {
    let mut bytes = pick(inputs, stream).to_vec();
    for _ in 0..=stream.below(4) {
        let at = stream.below(bytes.len() as u32 + 1) as usize;
        let end = (at + stream.below(12) as usize).min(bytes.len());
        match stream.below(8) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..at, piece(form, stream))),
            2 => drop(bytes.splice(at..end, piece(form, stream))),
            3 => {
                let copy = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, copy));
            }
            4 => bytes
                .iter_mut()
                .skip(at)
                .take(1)
                .for_each(|byte| *byte = stream.below(256) as u8),
            5 => {
                let other = pick(inputs, stream);
                let from = stream.below(other.len() as u32 + 1) as usize;
                let to = (from + stream.below(64) as usize).min(other.len());
                drop(bytes.splice(at..end, other[from..to].iter().copied()));
            }
            6 if form == Form::Text => lines(&mut bytes, stream),
            6 => bytes
                .iter_mut()
                .skip(at)
                .take(1)
                .for_each(|byte| *byte ^= 1 << stream.below(8)),
            _ if form == Form::Text => number(&mut bytes, at, stream),
            _ => {
                let edge = EDGES[stream.below(EDGES.len() as u32) as usize];
                bytes
                    .iter_mut()
                    .skip(at)
                    .zip(edge)
                    .for_each(|(byte, edge)| *byte = *edge);
            }
        }
    }
    bytes
}

fn piece(form: Form, stream: &mut Stream) -> Vec<u8> {
    match form {
        Form::Text => PIECES[stream.below(PIECES.len() as u32) as usize]
            .bytes()
            .collect(),
        Form::Binary => EDGES[stream.below(EDGES.len() as u32) as usize].to_vec(),
    }
}

/// A line dropped, doubled, or exchanged with another.
fn lines(bytes: &mut Vec<u8>, stream: &mut Stream) {
    let mut lines: Vec<Vec<u8>> = bytes
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let one = stream.below(lines.len() as u32) as usize;
    let other = stream.below(lines.len() as u32) as usize;
    match stream.below(3) {
        0 => drop(lines.remove(one)),
        1 => lines.insert(other, lines[one].clone()),
        _ => lines.swap(one, other),
    }
    *bytes = lines.join(&b'\n');
}

/// The number at or after a place becomes one at an edge.
fn number(bytes: &mut Vec<u8>, at: usize, stream: &mut Stream) {
    const NUMBERS: [&str; 12] = [
        "0",
        "-0.0",
        "1",
        "2",
        "-1",
        "0.999",
        "1e308",
        "5e-324",
        "64",
        "65",
        "1000000",
        "9223372036854775807",
    ];
    let Some(from) = bytes
        .iter()
        .skip(at)
        .position(u8::is_ascii_digit)
        .map(|offset| at + offset)
    else {
        return;
    };
    let to = bytes[from..]
        .iter()
        .position(|byte| !byte.is_ascii_digit() && !b".-+e".contains(byte))
        .map_or(bytes.len(), |offset| from + offset);
    let new = NUMBERS[stream.below(NUMBERS.len() as u32) as usize];
    drop(bytes.splice(from..to, new.bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_a_function_of_the_stream_and_change_most_inputs() {
        let inputs = [b"a = 1\nb = 22\n".to_vec(), vec![0; 40]];
        for form in [Form::Text, Form::Binary] {
            let edited = |seed: u64| mutate(&inputs, form, &mut Stream::from_seed(seed));
            assert!((0..200).all(|seed| edited(seed) == edited(seed)));
            let changed = (0..200)
                .filter(|seed| !inputs.contains(&edited(*seed)))
                .count();
            assert!(changed > 150, "{changed}");
        }
        assert!(!mutate(&[Vec::new()], Form::Binary, &mut Stream::from_seed(1)).len() > 0);
    }
}
