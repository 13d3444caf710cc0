//! Hands the memory layout to the linker.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=memory.x");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::copy("memory.x", Path::new(&out).join("memory.x")).expect("memory.x lies beside build.rs");
    println!("cargo:rustc-link-search={out}");
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
}
