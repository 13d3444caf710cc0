//! Writes the red wines of linfa-datasets as an array of rows: eleven measurements and the quality.

use std::fmt::Write as _;
use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let wines = linfa_datasets::winequality();
    let mut text = String::from("[\n");
    for (row, quality) in wines.records.rows().into_iter().zip(&wines.targets) {
        let row: Vec<String> = row.iter().map(|x| format!("{x:?}")).collect();
        writeln!(text, "    [{}, {quality}.0],", row.join(", ")).expect("writing to a string");
    }
    text.push(']');
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(Path::new(&out).join("wines.rs"), text).expect("writing to OUT_DIR");
}
