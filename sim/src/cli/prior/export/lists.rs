//! Lists of numbers, as text that is read back to the bit.

/// Numbers in lines, so that they are read back to the bit.
pub(super) fn numbers(list: &[f32]) -> String {
    lines(list, "")
}

/// The same in C, of type `float`.
pub(super) fn floats(list: &[f32]) -> String {
    lines(list, "f")
}

fn lines(list: &[f32], suffix: &str) -> String {
    list.chunks(8)
        .map(|line| format!("    {},\n", row(line, suffix)))
        .collect()
}

/// Numbers of a row.
pub(super) fn row(list: &[f32], suffix: &str) -> String {
    let row: Vec<String> = list.iter().map(|x| format!("{x:?}{suffix}")).collect();
    row.join(", ")
}
