//! Hands the memory layout of the target to the linker.

use std::path::Path;
use std::{env, fs};

fn main() {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo names the architecture");
    let layout = if arch == "arm" { "memory-arm.x" } else { "memory-riscv.x" };
    println!("cargo:rerun-if-changed={layout}");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::copy(layout, Path::new(&out).join("memory.x")).expect("the layout lies beside build.rs");
    println!("cargo:rustc-link-search={out}");
}
