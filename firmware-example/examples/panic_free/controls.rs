//! Ways to panic, each of which must be found.

use core::hint::black_box;

use super::device::{Memory, is, some};

pub(super) fn run(memory: &mut Memory) {
    let a = some(&mut memory.a);
    let b = some(&mut memory.b);
    let n = black_box(7usize);
    if const { is("control: an index that nobody checked") } {
        black_box(a[n]);
    }
    if const { is("control: a range that nobody checked") } {
        black_box(&a[n..][..n]);
    }
    if const { is("control: slices of different lengths") } {
        a.copy_from_slice(b);
    }
    if const { is("control: an integer division") } {
        black_box(n / black_box(n));
    }
    if const { is("control: an unwrap") } {
        black_box(a.get(n).unwrap());
    }
}
