//! The digest table on this host, in this profile, against the one checked in.
//! `cargo xtask digests` compares it on a Cortex-M4F, on M0 code and in WebAssembly, and
//! regenerates it.

use std::fmt::Write as _;
use std::path::Path;

use firmware_example::operations;

#[test]
fn this_host_computes_the_bits_of_the_table() {
    let mut text = String::new();
    let all = operations::table(|row| writeln!(text, "{row}").unwrap());
    writeln!(text, "{all}").unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/digests.txt");
    let expected = std::fs::read_to_string(path).unwrap();
    for (got, want) in text.lines().zip(expected.lines()) {
        assert_eq!(
            got, want,
            "after an intended change: cargo xtask digests --write"
        );
    }
    assert_eq!(text, expected);
}

#[test]
fn one_changed_bit_changes_the_digest() {
    use sordino_core::digest::Frame;
    let of = |x: f32| {
        let mut frame = Frame::leaf();
        frame.scalars(&[1.0, x]);
        frame.end()
    };
    assert_ne!(of(0.1), of(f32::from_bits(0.1f32.to_bits() + 1)));
    assert_ne!(of(0.0), of(-0.0));
}
